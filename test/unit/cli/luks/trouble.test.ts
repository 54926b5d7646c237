/** A full disk, a reader that goes away, and signals in the middle: the exit status, what is left behind, and what still opens. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { noCryptsetup } from '../../../helpers/luks.js';
import { ended, hwcrypt, MAIN, scratch, shell, start } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const KDF = ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'];
const MADE = ['--offset', '1M', ...KDF];
const PASS = ['-pass', 'pass:p'];
const HEADER_BYTES = 2 ** 20;
const noStrace =
  spawnSync('strace', ['-f', 'true']).status === 0 ? false : 'strace is not installed, or may not trace';

const byCryptsetup = (image: string, passphrase: string): boolean =>
  spawnSync('cryptsetup', ['open', '--test-passphrase', '--key-file', '-', image], { input: passphrase })
    .status === 0;

/** There is no room from write number `count` on. */
function full(count: number, ...args: string[]): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(
    'strace',
    [
      ...['-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64'],
      ...['-e', `inject=pwrite64:error=ENOSPC:when=${count}+`, process.execPath, MAIN, 'luks', ...args],
    ],
    { timeout: 60_000 },
  );
  return { status, stderr: String(stderr) };
}

test('a full disk is told of in a line; no half output is left, and the old passphrase opens', {
  skip: noCryptsetup || noStrace,
}, () => {
  assert.equal(hwcrypt(['luks', 'format', path('img'), '--size', '256K', ...MADE, ...PASS]).stderr, '');
  writeFileSync(path('in'), Buffer.alloc(100_000, 1));
  const before = readFileSync(path('img'));
  for (const [count, name, ...args] of [
    [2, 'format', path('new'), '--size', '64K', ...MADE, ...PASS],
    [1, 'open', path('img'), '-o', path('out'), ...PASS],
    [1, 'change-key', path('img'), ...KDF, ...PASS, '--new-pass', 'pass:q'],
    [1, 'write', path('img'), '-in', path('in'), ...PASS],
  ] as const) {
    const { status, stderr } = full(count, name as string, ...(args as string[]));
    assert.equal(status, 1, stderr);
    assert.match(
      stderr,
      new RegExp(`^hwcrypt: luks ${name}: cannot write [^\\n]+: no space left on device\\n$`),
    );
    assert.ok(readFileSync(path('img')).equals(before), String(name));
  }
  // The second copy of the header: the first one is written, and is the new one.
  assert.equal(full(3, 'change-key', path('img'), ...KDF, ...PASS, '--new-pass', 'pass:q').status, 1);
  assert.ok(byCryptsetup(path('img'), 'p') || byCryptsetup(path('img'), 'q'));
  assert.deepEqual(readdirSync(folder).sort(), ['img', 'in']);
});

test('a reader that goes away: one line, no trace', () => {
  assert.equal(
    hwcrypt(['luks', 'format', path('large'), '--size', '200M', ...MADE, '--force', ...PASS]).stderr,
    '',
  );
  const { stdout, stderr } = shell(
    `hwcrypt luks open large -o - -pass pass:p | head -c 10 | wc -c; echo \${PIPESTATUS[0]}`,
    { cwd: folder },
  );
  assert.equal(stdout, '10\n1\n');
  assert.equal(stderr, 'hwcrypt: luks open: cannot write standard output: broken pipe\n');
});

test('told to stop in the middle: it dies of the signal, leaves no file, and no header is touched', async () => {
  // Long enough, whatever the machine: an image of nothing but a hole, and a key derivation of hours.
  truncateSync(path('large'), 4 * 2 ** 30);
  const headerNow = (): Buffer => shell(`head -c ${HEADER_BYTES} large`, { cwd: folder }).bytes;
  const header = headerNow();
  const files = readdirSync(folder).sort();
  const slow = ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '2000000000'];
  for (const [signal, ...args] of [
    ['SIGINT', 'open', path('large'), '-o', path('out'), ...PASS],
    ['SIGTERM', 'format', path('new'), '--size', '64K', '--offset', '1M', ...slow, ...PASS],
  ] as const) {
    const child = start(['luks', ...args], { stdio: 'ignore' });
    while (readdirSync(folder).length === files.length)
      await new Promise((resolve) => setTimeout(resolve, 10));
    child.kill(signal);
    assert.deepEqual(await ended(child), { status: null, signal }, args[0]);
    assert.deepEqual(readdirSync(folder).sort(), files);
  }
  // In place, from a pipe that does not end.
  const child = start(['luks', 'write', path('large'), ...PASS], { stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin?.on('error', () => {});
  await new Promise((resolve) => child.stdin?.write(Buffer.alloc(3 * 2 ** 20, 7), resolve));
  const written = (): boolean => {
    const { bytes } = hwcrypt(['luks', 'cat', path('large'), '--length', '1', ...PASS]);
    return bytes[0] === 7;
  };
  while (!written());
  child.kill('SIGTERM');
  assert.deepEqual(await ended(child), { status: null, signal: 'SIGTERM' });
  assert.ok(headerNow().equals(header));
});
