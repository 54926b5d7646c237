/** Who serves or changes an image has it alone: by flock(2), as another process sees it. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockExclusively, lockShared } from '#src/linux/flock.js';
import { ended, hwcrypt, scratch, start } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const PASS = ['-pass', 'pass:p'];
const CHEAP = ['--pbkdf-memory', '64', '--pbkdf-force-iterations', '4', '--offset', '1M'];

const format = (...args: string[]) =>
  hwcrypt(['luks', 'format', path('img'), '--size', '1M', ...CHEAP, ...PASS, ...args]);
const write = () => hwcrypt(['luks', 'write', path('img'), ...PASS], { input: 'text' });
const changeKey = () =>
  hwcrypt(['luks', 'change-key', path('img'), ...PASS, '--new-pass', 'pass:p', ...CHEAP.slice(0, 4)]);

const BUSY = /^hwcrypt: luks [a-z-]+: cannot change \S+: it is served or being changed by another process\n$/;

/** Runs while an image is served. */
async function whileServed(args: readonly string[], work: () => void): Promise<void> {
  const child = start(['luks', 'serve', path('img'), '--socket', path('s'), ...PASS, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  try {
    work();
  } finally {
    child.kill('SIGTERM');
    await ended(child);
  }
}

test('a served image is neither written nor formatted nor given other keys, and stays as it was', async () => {
  assert.equal(format().stderr, '');
  const before = readFileSync(path('img'));
  for (const args of [[], ['--read-only']]) {
    await whileServed(args, () => {
      for (const refused of [format('--force'), write(), changeKey()]) {
        assert.equal(refused.status, 1);
        assert.match(refused.stderr, BUSY);
      }
    });
    assert.ok(readFileSync(path('img')).equals(before));
  }
  assert.equal(write().stderr, '', 'free again');
});

test('what is being written is neither served nor changed; what is read may be read by more', () => {
  const fd = openSync(path('img'), 'r');
  try {
    assert.equal(lockExclusively(fd), undefined);
    for (const refused of [format('--force'), write(), changeKey()]) assert.match(refused.stderr, BUSY);
    const serve = hwcrypt(['luks', 'serve', path('img'), '--read-only', '--socket', path('t'), ...PASS]);
    assert.match(serve.stderr, /cannot serve \S+: it is served or being changed by another process/);
    assert.equal(lockShared(fd), undefined);
    const other = openSync(path('img'), 'r');
    assert.equal(lockShared(other), undefined);
    closeSync(other);
  } finally {
    closeSync(fd);
  }
});

test('with the header elsewhere it is the data that is held', () => {
  writeFileSync(path('data'), Buffer.alloc(2 ** 20));
  const fd = openSync(path('data'), 'r');
  try {
    assert.equal(lockExclusively(fd), undefined);
    const args = ['luks', 'format', path('data'), '--header', path('h'), ...CHEAP.slice(0, 4), ...PASS];
    assert.match(hwcrypt(args).stderr, BUSY);
  } finally {
    closeSync(fd);
  }
});
