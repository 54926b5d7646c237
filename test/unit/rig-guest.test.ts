/**
 * The promise of the rig: what the command writes and how it ends comes back as it was, and the guest always ends,
 * however its runner does. Each test boots a guest of its own.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GuestKind, projectFolder, runInGuest, unavailable } from '../../rig/index.js';

// Spaces and commas: what else tears option lists apart would.
const folder = realpathSync(mkdtempSync(`${tmpdir()}/hwcrypt rig,test-`));
after(() => rmSync(folder, { recursive: true, force: true }));

function skipUnless(kind: GuestKind): { skip?: string } {
  const reason = unavailable(kind);
  return reason === undefined ? {} : { skip: reason };
}

interface Runner {
  readonly child: ChildProcess;
  /** Holds the name of nothing but this run's processes and files. */
  readonly mark: string;
  readonly output: () => string;
  readonly errors: () => string;
  readonly status: Promise<number | NodeJS.Signals | null>;
  /** Until the command has written this. */
  readonly says: (text: string) => Promise<void>;
}

function rig(context: TestContext, ...args: string[]): Runner {
  const mark = mkdtempSync(`${folder}/run-`);
  const child = spawn(process.execPath, [`${projectFolder}/build/rig/main.js`, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // The guest's files are in there, and the path of one is an argument of its process: so it can be found.
    env: { ...process.env, TMPDIR: mark },
  });
  context.after(() => child.kill('SIGKILL'));
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const status = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on('close', (code, signal) => resolve(signal ?? code));
  });
  const says = async (text: string) => {
    while (!output.includes(text)) {
      assert.equal(child.exitCode, null, `the run ended: ${errors}`);
      await sleep(50);
    }
  };
  return { child, mark, status, output: () => output, errors: () => errors, says };
}

/** Processes with the mark in their command line, those that have ended and wait for their parent left out. */
function alive(mark: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark);
      } catch {
        return false;
      }
    });
}

async function assertGone(mark: string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline && (alive(mark).length > 0 || readdirSync(mark).length > 0)) await sleep(50);
  assert.deepEqual(alive(mark), [], 'processes that are left');
  assert.deepEqual(readdirSync(mark), [], 'files that are left');
}

for (const kind of ['uml', 'qemu'] as const) {
  describe(`a command in ${kind}`, { ...skipUnless(kind), concurrency: 2 }, () => {
    test('its output, status and surroundings', async () => {
      const resultsFolder = `${folder}/results ${kind}`;
      const script = [
        'pwd; cat /etc/modprobe.d/*; printf %s "$X"',
        'ls /sys/module/dm_mod >/dev/null && echo " loaded"',
        'head -c 300000 /dev/zero | tr "\\0" x',
        'echo to stderr >&2',
        'echo kept >"$HWCRYPT_RESULTS/file"',
        // Left running with the command's output open: the guest must not wait for it.
        'sleep 1000 &',
        'kill -9 $$',
      ].join('\n');
      const result = await runInGuest({
        kind,
        command: ['sh', '-c', script],
        env: { X: "it's 1 + 1" },
        modules: ['dm-mod'],
        modprobeConf: ['blacklist a', 'blacklist b'],
        resultsFolder,
        output: 'capture',
        timeoutSeconds: 150,
      });
      assert.equal(result.outcome, 'exited', `${result.message}\n${result.console}`);
      assert.equal(result.status, 128 + 9);
      assert.equal(
        result.stdout,
        `${projectFolder}\nblacklist a\nblacklist b\nit's 1 + 1 loaded\n${'x'.repeat(300_000)}`,
      );
      assert.equal(result.stderr, 'to stderr\n');
      assert.equal(readFileSync(`${resultsFolder}/file`, 'utf8'), 'kept\n');
    });

    test('ends with its runner, even one that is killed', async (context) => {
      const run = rig(context, kind, '--', 'sh', '-c', 'echo started; sleep 1000');
      await run.says('started');
      assert.notDeepEqual(alive(run.mark), []);
      run.child.kill('SIGKILL');
      assert.equal(await run.status, 'SIGKILL');
      await assertGone(run.mark);
    });

    test('a panic of its kernel is status 125, with the kernel’s last words', async (context) => {
      const run = rig(context, kind, '--', 'sh', '-c', 'echo c >/proc/sysrq-trigger; sleep 1000');
      assert.equal(await run.status, 125);
      assert.match(run.errors(), /the guest died under the command\n(?:.*\n)*.*Kernel panic/);
      await assertGone(run.mark);
    });
  });
}

describe('a uml guest ends', { ...skipUnless('uml'), concurrency: 2 }, () => {
  test('when its time is up: status 124', async (context) => {
    const run = rig(context, 'uml', '--timeout', '3', '--', 'sleep', '1000');
    assert.equal(await run.status, 124);
    assert.match(run.errors(), /ended after 3 s/);
    await assertGone(run.mark);
  });

  test('when it does not reach the command: status 125', async (context) => {
    const run = rig(context, 'uml', '--boot-timeout', '0.2', '--', 'true');
    assert.equal(await run.status, 125);
    assert.match(run.errors(), /did not reach the command within 0.2 s/);
    await assertGone(run.mark);
  });

  test('when its runner gets SIGINT: status 130', async (context) => {
    const run = rig(context, 'uml', '--', 'sh', '-c', 'echo started; sleep 1000');
    await run.says('started');
    run.child.kill('SIGINT');
    assert.equal(await run.status, 130);
    await assertGone(run.mark);
  });

  test('when its runner gets SIGTERM, be it still booting: status 143', async (context) => {
    const run = rig(context, 'uml', '--', 'sleep', '1000');
    while (alive(run.mark).length === 0) await sleep(20);
    run.child.kill('SIGTERM');
    assert.equal(await run.status, 143);
    await assertGone(run.mark);
  });

  test('when a module is not there: status 125, and the command does not run', async (context) => {
    const run = rig(context, 'uml', '--module', 'no_such_module', '--', 'echo', 'ran');
    assert.equal(await run.status, 125);
    assert.match(run.errors(), /modprobe no_such_module: .*not found/);
    assert.equal(run.output(), '');
  });

  test('when it reboots, instead of running the command again and again', async (context) => {
    const run = rig(
      context,
      'uml',
      '--',
      'sh',
      '-c',
      'echo started; sleep 1; echo b >/proc/sysrq-trigger; sleep 1000',
    );
    assert.equal(await run.status, 125);
    assert.match(run.errors(), /rebooted/);
    assert.equal(run.output(), 'started\n');
    await assertGone(run.mark);
  });
});

test('npm run demo shows every driver at work, the kernel’s in a guest', {
  ...skipUnless('uml'),
  timeout: 120_000,
}, async () => {
  const args = ['build/rig/demo.js', '-q', '-aes-128-ctr', '-in', 'LICENSE'];
  const child = spawn(process.execPath, args, { cwd: projectFolder, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const status = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(status, 0, output);
  for (const driver of ['libcrypto', 'node', 'afalg'])
    assert.match(output, new RegExp(`^${driver} .* equal$`, 'm'), output);
  assert.doesNotMatch(output, /WRONG/);
});
