/** The command `selftest`: what it prints, its exit status, wrong arguments, Ctrl-C, a closed pipe. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ended, hwcrypt, shell, start } from './helpers.js';

async function until(what: () => boolean): Promise<void> {
  for (let i = 0; i < 1200; i++) {
    if (what()) return;
    await sleep(25);
  }
  throw new Error('it did not come to pass');
}

/** Has the process a handler for the signal? */
function catches(pid: number, signal: number): boolean {
  const mask = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return ((BigInt(`0x${mask ?? 0}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

describe('selftest', () => {
  test('two libraries agree: a table, what was not tried, and the last line', () => {
    const { status, stdout, stderr } = hwcrypt([
      ...[
        'selftest',
        '--driver',
        'node,libcrypto',
        '--seconds',
        '1',
        '--seed',
        '5',
        'aes-128-cbc',
        'serpent-256-cbc',
      ],
    ]);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    assert.match(stdout, /^driver +algorithms +requests +bytes +different +compared with$/m);
    assert.match(stdout, /^libcrypto +1 +\d+ +[\d.]+ \w+ +0 +node \(1\)$/m);
    assert.match(stdout, /^node +1 +\d+ +[\d.]+ \w+ +0 +libcrypto \(1\)$/m);
    assert.match(stdout, /^not tried: node: serpent-256-cbc: /m);
    assert.match(stdout, /^all equal: \d+ requests in \d+\.\d s \(seed 5\)\n$/m);
  });

  test('JSON has the same', () => {
    const run = hwcrypt([
      'selftest',
      '--driver=node',
      '--seconds=0.2',
      '--seed=7',
      'sha256',
      'hmac-sha1',
      '--json',
    ]);
    assert.equal(run.status, 0);
    const found = JSON.parse(run.stdout);
    assert.equal(found.seed, 7);
    assert.deepEqual(found.failures, []);
    assert.equal(found.interrupted, false);
    assert.deepEqual(found.tried.map(({ algorithm }: { algorithm: string }) => algorithm).sort(), [
      'hmac-sha1',
      'sha256',
    ]);
    for (const one of found.tried) {
      assert.equal(one.reference, 'libcrypto');
      assert.ok(one.requests > 0 && one.equal);
    }
  });

  test('nothing to compare is no success', () => {
    const { status, stdout } = hwcrypt([
      'selftest',
      '--driver',
      'node',
      '--seconds',
      '0.2',
      'serpent-256-cbc',
    ]);
    assert.equal(status, 1);
    assert.match(stdout, /^not tried: node: serpent-256-cbc: .+\nnothing was compared/m);
  });

  test('wrong arguments are met with one line and status 2', () => {
    for (const [args, message] of [
      [['aes-129-cbc'], /no algorithm or family "aes-129-cbc" \(did you mean .*aes-128-cbc/],
      [['--seconds', '0'], /--seconds takes a number above 0, not "0"/],
      [['--seconds', 'x'], /--seconds takes/],
      [['--seed', '-1'], /-seed takes/],
      [['--seed', '4294967296'], /-seed takes/],
      [['--driver', 'nonesuch'], /no driver "nonesuch"/],
      [['--frobnicate'], /frobnicate/],
    ] as const) {
      const run = hwcrypt(['selftest', ...args]);
      assert.equal(run.status, 2, `${args}: ${run.stderr}`);
      assert.match(run.stderr, message);
      assert.equal(run.stderr.trimEnd().split('\n').length, 1);
      assert.equal(run.stdout, '');
    }
  });

  test('a kernel name stands for its algorithms', () => {
    const run = hwcrypt(['selftest', '--driver=node', '--seconds=0.2', '--json', 'cbc(aes)']);
    assert.deepEqual(
      JSON.parse(run.stdout)
        .tried.map(({ algorithm }: { algorithm: string }) => algorithm)
        .sort(),
      ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc'],
    );
  });

  test('Ctrl-C prints what was tried', async () => {
    const child = start(['selftest', '--driver', 'node', '--seconds', '100', 'aes-128-cbc', 'sha256'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    child.stdout!.on('data', (chunk) => {
      stdout += chunk;
    });
    const end = ended(child);
    // SIGINT has a handler of Node's own from the start; SIGHUP has one only with the command's.
    await until(() => catches(child.pid!, constants.signals.SIGHUP));
    await sleep(300);
    child.kill('SIGINT');
    const { status, signal } = await end;
    assert.deepEqual({ status, signal }, { status: 130, signal: null });
    // On a machine that is busy that may be too short for anything.
    assert.match(stdout, /^(?:all equal: \d+ requests interrupted after|nothing was compared)/m);
  });

  test('a closed pipe ends it', () => {
    const { stderr } = shell(
      `hwcrypt selftest --driver node --seconds 0.2 sha256 | true; echo "\${PIPESTATUS[0]}" >&2`,
    );
    assert.match(stderr, /^1\n$/);
  });
});
