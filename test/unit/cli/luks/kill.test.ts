/** kill -9 in front of the writes of a command: strace ends the process there. What a flush leaves open is cut in luks/change.test. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { noCryptsetup } from '../../../helpers/luks.js';
import { Random } from '../../../helpers/random.js';
import { hwcrypt, MAIN, scratch } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const CHEAP = ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'];
const skip =
  noCryptsetup ||
  (spawnSync('strace', ['-f', 'true']).status === 0 ? false : 'strace is not installed, or may not trace');

const byCryptsetup = (image: string, passphrase: string): boolean =>
  spawnSync('cryptsetup', ['open', '--test-passphrase', '--key-file', '-', image], { input: passphrase })
    .status === 0;

/** Is ended in front of its call number `count`. @returns was it, or did it come to its end before? */
function killed(call: string, count: number, args: readonly string[]): boolean {
  const inject = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`];
  const { status, signal, stderr } = spawnSync(
    'strace',
    [...inject, '-e', `inject=${call}:signal=KILL:when=${count}`, process.execPath, MAIN, ...args],
    { timeout: 60_000 },
  );
  if (signal === 'SIGKILL') return true;
  assert.equal(status, 0, String(stderr));
  return false;
}

test('change-key, in front of a write: the old or the new passphrase opens', {
  skip,
}, () => {
  const make = [
    'luks',
    'format',
    path('first'),
    '--size',
    '64K',
    '--offset',
    '1M',
    ...CHEAP,
    '-pass',
    'pass:old',
  ];
  assert.equal(hwcrypt(make).stderr, '');
  const args = ['luks', 'change-key', path('image'), ...CHEAP, '-pass', 'pass:old', '--new-pass', 'pass:new'];
  // In front of the header's first copy, of its second, and of what overwrites the old key. In front of each byte: luks/change.test.
  for (const count of [2, 3, 4]) {
    copyFileSync(path('first'), path('image'));
    assert.ok(killed('pwrite64', count, args), `write ${count}`);
    assert.ok(byCryptsetup(path('image'), 'old') || byCryptsetup(path('image'), 'new'), `write ${count}`);
  }
  copyFileSync(path('first'), path('image'));
  assert.equal(hwcrypt(args).stderr, '');
  assert.ok(byCryptsetup(path('image'), 'new') && !byCryptsetup(path('image'), 'old'));
});

test('add-key and remove-key, between the two copies of the header: what opened opens', { skip }, () => {
  const make = ['luks', 'format', path('pair'), '--size', '64K', '--offset', '2M', ...CHEAP];
  assert.equal(hwcrypt([...make, '-pass', 'pass:old', '-pass', 'pass:other']).stderr, '');
  for (const [count, ...args] of [
    [3, 'add-key', ...CHEAP, '-pass', 'pass:old', '--new-pass', 'pass:new'],
    [2, 'remove-key', '-pass', 'pass:other'],
  ] as const) {
    copyFileSync(path('pair'), path('image'));
    const [name, ...rest] = args;
    assert.ok(
      killed('pwrite64', count, ['luks', name as string, path('image'), ...(rest as string[])]),
      name,
    );
    assert.ok(byCryptsetup(path('image'), 'old'), name);
  }
});

test('write: the header and what lies around the range are as they were', { skip }, () => {
  const make = [
    'luks',
    'format',
    path('disk'),
    '--size',
    '256K',
    '--offset',
    '1M',
    ...CHEAP,
    '-pass',
    'pass:p',
  ];
  assert.equal(hwcrypt(make).stderr, '');
  writeFileSync(path('in'), new Random('kill').bytes(20_000));
  const before = readFileSync(path('disk'));
  const args = ['luks', 'write', path('disk'), '-in', path('in'), '--offset', '10000', '-pass', 'pass:p'];
  // The whole sectors, after the first one.
  assert.ok(killed('pwrite64', 2, args));
  const after = readFileSync(path('disk'));
  const [from, to] = [2 ** 20 + 8192, 2 ** 20 + 32_768];
  assert.ok(after.subarray(0, from).equals(before.subarray(0, from)));
  assert.ok(after.subarray(to).equals(before.subarray(to)));
  assert.ok(byCryptsetup(path('disk'), 'p'));
});

test('format in the place of an image: that one is there until the new one is, and it can be done again', {
  skip,
}, () => {
  const make = (passphrase: string): string[] => [
    ...['luks', 'format', path('twice'), '--force', '--size', '64K', '--offset', '1M', ...CHEAP],
    ...['-pass', `pass:${passphrase}`],
  ];
  assert.equal(hwcrypt(make('old')).stderr, '');
  const before = readFileSync(path('twice'));
  for (const [call, count] of [
    ['pwrite64', 3],
    ['rename', 1],
  ] as const) {
    assert.ok(killed(call, count, make('new')), `${call} ${count}`);
    assert.ok(readFileSync(path('twice')).equals(before), `${call} ${count}`);
  }
  // A file of zeros and keys that nobody has heard of, beside it, for its owner to remove.
  assert.equal(readdirSync(folder).filter((name) => /^\.twice\.[0-9a-f]{12}\.tmp$/.test(name)).length, 2);
  assert.equal(hwcrypt(make('new')).stderr, '');
  assert.ok(byCryptsetup(path('twice'), 'new'));
});
