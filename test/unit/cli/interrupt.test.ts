/** What is left behind when things end badly: nothing under the target's name but what was there before. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ended, hwcrypt, program, scratch, shell, start } from './helpers.js';

const folder = scratch();
const PASSPHRASE = ['-aes-128-cbc', '-pbkdf2', '-k', 'a'];

async function until(what: () => boolean): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (what()) return;
    await sleep(25);
  }
  throw new Error('it did not come to pass');
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGKILL'] as const) {
  test(`${signal} in mid-write`, async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    const target = join(home, 'out');
    writeFileSync(target, 'old');
    // Slowly, so that the disk is not filled.
    // In the folder that is removed: SIGQUIT may leave a core there.
    const child = start(['enc', ...PASSPHRASE, '-out', target], {
      stdio: ['pipe', 'ignore', 'pipe'],
      cwd: folder,
    });
    const end = ended(child);
    let stderr = '';
    child.stderr?.on('data', (data) => {
      stderr += data;
    });
    child.stdin?.on('error', () => {});
    child.stdin?.write(Buffer.alloc(1_000_000));
    await until(() => readdirSync(home).length === 2);
    child.kill(signal);
    const { signal: by } = await end;
    child.stdin?.destroy();
    assert.equal(by, signal);
    assert.equal(stderr, '');
    assert.equal(readFileSync(target, 'utf8'), 'old');
    if (signal !== 'SIGKILL') assert.deepEqual(readdirSync(home), ['out']);
  });
}

test('a closed pipe: one line, status 1, and no waiting for input that does not come', () => {
  const begin = Date.now();
  const result = shell(
    `exec 3< <(head -c 1000000 /dev/zero; exec sleep 20 2> /dev/null); hwcrypt enc ${PASSPHRASE.join(' ')} <&3 | head -c 1; echo \${PIPESTATUS[0]}`,
  );
  assert.equal(result.stdout, 'S1\n');
  assert.equal(result.stderr, 'hwcrypt: enc: cannot write standard output: broken pipe\n');
  assert.ok(Date.now() - begin < 15_000);
});

test('closed pipes of commands that print text are nobody’s concern', () => {
  for (const command of ['list', 'enc -list', 'dgst -list', '--help']) {
    const result = shell(`exec 3> >(:); sleep 0.2; hwcrypt ${command} >&3`);
    assert.equal(result.stderr, '', command);
    assert.equal(result.status, 1, command);
  }
});

test('closed pipes of commands that make data or find something out are told', () => {
  writeFileSync(join(folder, 'SUMS'), `${'0'.repeat(64)}  /dev/null\n`);
  const sums = join(folder, 'SUMS');
  for (const command of [
    'rand 10',
    'rand -hex 10',
    'enc -none -in SUMS',
    'enc -aes-128-cbc -K 00 -iv 00 -P',
    'dgst SUMS',
    'dgst -binary SUMS',
    'dgst --json SUMS',
    'dgst -c SUMS',
    'dgst -c --json SUMS',
  ]) {
    const line = command.replace('SUMS', sums);
    const result = shell(`exec 3> >(:); sleep 0.2; hwcrypt ${line} >&3`);
    const [name] = command.split(' ');
    const last = result.stderr.trimEnd().split('\n').at(-1);
    assert.equal(last, `hwcrypt: ${name}: cannot write standard output: broken pipe`, command);
    assert.equal(result.status, 1, command);
  }
});

test('a full disk: what was there stays, nothing else does', (t) => {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const mounted = program('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]);
  if (mounted.status !== 0) {
    t.skip('mounting a small file system needs root');
    return;
  }
  try {
    writeFileSync(join(disk, 'out'), 'old');
    writeFileSync(join(folder, 'large'), Buffer.alloc(4_000_000));
    const result = hwcrypt(['enc', ...PASSPHRASE, '-in', join(folder, 'large'), '-out', join(disk, 'out')]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /^hwcrypt: enc: cannot write \S+\/out: no space left on device\n$/);
    assert.deepEqual(readdirSync(disk), ['out']);
    assert.equal(readFileSync(join(disk, 'out'), 'utf8'), 'old');
    const random = hwcrypt(['rand', '-out', join(disk, 'random'), '4M']);
    assert.equal(random.status, 1);
    assert.deepEqual(readdirSync(disk), ['out']);
  } finally {
    program('umount', [disk]);
  }
});

test('full standard output', () => {
  for (const command of ['list', 'dgst /dev/null', 'rand 10', 'enc -none', 'dgst -binary /dev/null']) {
    const result = shell(`hwcrypt ${command} > /dev/full`, { input: 'x' });
    const name = command.split(' ')[0];
    assert.equal(
      result.stderr,
      `hwcrypt: ${name}: cannot write standard output: no space left on device\n`,
      command,
    );
    assert.equal(result.status, 1, command);
  }
});

test('secrets are taken off the command line while the work goes on', async () => {
  const child = start(['enc', '-aes-128-cbc', '-pbkdf2', '-k', 'hunter2-hunter2'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const end = ended(child);
  const cmdline = `/proc/${child.pid}/cmdline`;
  if (existsSync(cmdline)) {
    await until(() => !readFileSync(cmdline, 'utf8').includes('hunter2'));
    assert.match(readFileSync(cmdline, 'utf8'), /^hwcrypt enc/);
  }
  child.stdin?.end();
  assert.equal((await end).status, 0);
});
