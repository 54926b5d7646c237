/** What the commands for images say where something is amiss, and the one that keeps a passphrase. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hwcrypt, MAIN, scratch, shell } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const PASS = ['-pass', 'pass:p'];
const KDF = ['--pbkdf-memory', '64', '--pbkdf-force-iterations', '4'];
const format = (name: string, ...args: string[]) =>
  hwcrypt(['luks', 'format', path(name), '--size', '1M', '--offset', '1M', ...KDF, ...PASS, ...args]);

test('the key derivation alone is changed, and the passphrase stays', () => {
  assert.equal(format('img').stderr, '');
  const change = (...args: string[]) =>
    hwcrypt(['luks', 'change-key', path('img'), ...PASS, ...KDF.slice(2), ...args]);
  assert.equal(change('--keep-passphrase', '--pbkdf-memory', '128').stderr, '');
  assert.match(hwcrypt(['luks', 'inspect', path('img')]).stdout, /Memory:\s+128/);
  assert.equal(hwcrypt(['luks', 'cat', path('img'), '--length', '1', ...PASS]).status, 0);
  assert.equal(change('--keep-passphrase', '--new-pass', 'pass:q').status, 2);
});

test('without a terminal it is the new passphrase that is missed', () => {
  const { stderr } = shell(
    `setsid -w "$NODE" "$MAIN" luks change-key ${path('img')} -pass pass:p </dev/null`,
    {
      env: { NODE: process.execPath, MAIN: MAIN },
    },
  );
  assert.match(stderr, /give it with --new-pass file:NAME.* or --new-key-file FILE/);
});

test('places where no socket can be', () => {
  const serve = (socket: string) =>
    hwcrypt(['luks', 'serve', path('img'), '--socket', socket, ...PASS]).stderr;
  assert.match(serve(path('nope/x')), /there is no directory \S+nope\n$/);
  writeFileSync(path('plain'), 'x');
  assert.match(serve(path('plain')), /something is there that is no socket/);
  assert.equal(readFileSync(path('plain'), 'utf8'), 'x');
});

test('ciphers that give away what lies on the disk are warned of', () => {
  const { status, stderr } = format('weak', '--cipher', 'aes-cbc-plain64', '-s', '256');
  assert.equal(status, 0);
  assert.match(stderr, /aes-cbc-plain64 gives away/);
});

test('an image that ends where its data begins has none', () => {
  writeFileSync(path('cut'), readFileSync(path('img')).subarray(0, 2 ** 20));
  assert.match(
    hwcrypt(['luks', 'inspect', path('cut')]).stdout.replace(/\s+/g, ' '),
    /there are 0 bytes of data/,
  );
});

test('options are called as they were given', () => {
  assert.match(
    format('other', '--sector-size', '513').stderr,
    /--sector-size takes 512, 1024, 2048 or 4096, not 513/,
  );
});

test('a plan for what has no header', () => {
  writeFileSync(path('empty'), '');
  writeFileSync(path('zeros'), Buffer.alloc(2 ** 20));
  writeFileSync(
    path('Benchmark'),
    '#     Algorithm |       Key |      Encryption |      Decryption\n        aes-xts        256b       8.0 MiB/s       8.0 MiB/s\n',
  );
  const plan = (name: string) => hwcrypt(['luks', 'plan', path('Benchmark'), '--for', path(name)]);
  assert.match(plan('empty').stderr, /empty is empty/);
  const { stdout } = plan('zeros');
  assert.match(
    stdout.replace(/\s+/g, ' '),
    /no LUKS header: unencrypted, plain dm-crypt, or its header is lost/,
  );
  assert.match(stdout.replace(/\s+#? ?/g, ' '), /if it is unencrypted: there is no LUKS header/);
});
