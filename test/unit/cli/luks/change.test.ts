/** `luks format`, `write`, `add-key`, `change-key` and `remove-key` as a user calls them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command as addKey } from '#src/cli/commands/luks/add-key.js';
import { command as format } from '#src/cli/commands/luks/format.js';
import { command as write } from '#src/cli/commands/luks/write.js';
import { noCryptsetup } from '../../../helpers/luks.js';
import { Random } from '../../../helpers/random.js';
import { failure, hwcrypt, scratch, shell } from '../helpers.js';

const COMMANDS = { format, 'add-key': addKey, write };
const folder = scratch();
const path = (name: string): string => join(folder, name);
const CHEAP = ['--pbkdf-memory', '64', '--pbkdf-force-iterations', '4'];
/** A header that is quickly written. */
const TIGHT = ['--offset', '1M'];

const byCryptsetup = (image: string, passphrase: string, ...more: string[]): boolean =>
  spawnSync('cryptsetup', ['open', '--test-passphrase', '--key-file', '-', ...more, image], {
    input: passphrase,
  }).status === 0;

test('a day in the life of an image', { skip: noCryptsetup }, () => {
  const image = path('disk');
  const made = hwcrypt([
    'luks',
    'format',
    image,
    '--size',
    '3M',
    ...TIGHT,
    ...CHEAP,
    '--label',
    'two words',
    '-v',
    '-pass',
    'pass:one',
    '-pass',
    'pass:two',
  ]);
  assert.match(made.stderr, /^\S+: LUKS2 [0-9a-f-]{36}, keyslots 0, 1\n$/);
  assert.equal(statSync(image).size, 4 * 2 ** 20);
  assert.equal(statSync(image).mode & 0o777, 0o600);
  assert.ok(byCryptsetup(image, 'one') && byCryptsetup(image, 'two'));
  assert.match(hwcrypt(['luks', 'inspect', image]).stdout, /Label: +two words/);

  const plain = Buffer.from(new Random('write').bytes(2_000_003));
  writeFileSync(path('plain'), plain);
  assert.equal(
    hwcrypt(['luks', 'write', image, '-in', path('plain'), '--offset', '1001', '-pass', 'pass:two']).stderr,
    '',
  );
  const piped = shell(`hwcrypt luks write disk --offset 2500000 -pass pass:one < <(head -c 100000 plain)`, {
    cwd: folder,
  });
  assert.equal(piped.stderr, '');
  const whole = hwcrypt(['luks', 'cat', image, '-pass', 'pass:one']).bytes;
  assert.ok(whole.subarray(1001, 1001 + plain.length).equals(plain));
  assert.ok(whole.subarray(2_500_000, 2_600_000).equals(plain.subarray(0, 100_000)));

  const key = (command: string, ...args: string[]): string =>
    hwcrypt(['luks', command, image, ...args]).stderr;
  assert.equal(key('change-key', ...CHEAP, '-pass', 'pass:two', '--new-pass', 'pass:deux'), '');
  assert.equal(key('remove-key', '-pass', 'pass:one', '-v'), 'keyslot: 0\n');
  writeFileSync(path('key'), Buffer.from([0, 10, 13, 255]));
  assert.equal(
    key('add-key', ...CHEAP, '-pass', 'pass:deux', '--new-key-file', path('key'), '-v'),
    'keyslot: 0\n',
  );
  assert.ok(byCryptsetup(image, 'deux') && !byCryptsetup(image, 'one') && !byCryptsetup(image, 'two'));
  assert.equal(hwcrypt(['luks', 'cat', image, '--key-file', path('key'), '--length', '1']).bytes.length, 1);
  assert.equal(key('remove-key', '-pass', 'pass:deux', '--kill-slot', '0'), '');
  assert.match(key('remove-key', '-pass', 'pass:deux'), /the last one/);
  assert.ok(hwcrypt(['luks', 'cat', image, '-pass', 'pass:deux']).bytes.equals(whole));
});

test('a header of its own', { skip: noCryptsetup }, () => {
  const args = [path('data'), '--header', path('header'), '-pass', 'pass:p'];
  assert.equal(
    hwcrypt(['luks', 'format', ...args, '--size', '64K', '--sector-size', '512', ...CHEAP]).stderr,
    '',
  );
  assert.equal(statSync(path('data')).size, 65536);
  assert.ok(byCryptsetup(path('data'), 'p', '--header', path('header')));
  assert.equal(hwcrypt(['luks', 'cat', ...args]).bytes.length, 65536);
  assert.equal(hwcrypt(['luks', 'add-key', ...args, ...CHEAP, '--new-pass', 'pass:q']).stderr, '');
  assert.ok(byCryptsetup(path('data'), 'q', '--header', path('header')));
});

test('what may be wrong is said before anything is written', async () => {
  mkdirSync(path('quiet'));
  const image = path('quiet/image');
  writeFileSync(image, 'somebody wants this');
  truncateSync(image, 2 * 2 ** 20);
  writeFileSync(path('small'), Buffer.alloc(4096));
  const before = readFileSync(image);
  const make = ['luks', 'format', image, ...TIGHT, ...CHEAP, '-pass', 'pass:secret'];
  for (const [args, status, says] of [
    [make, 1, /is not empty, and all of it would be lost \(--force\)/],
    [[...make, '--sector-size', '1000'], 2, /512, 1024, 2048 or 4096/],
    [[...make, '--cipher', 'aes-xts-nonsense'], 1, /is not supported/],
    [[...make, '--key-size', '511'], 1, /is not supported/],
    [[...make, '--label', 'x'.repeat(48)], 2, /longer than 47 bytes/],
    [[...make, '--uuid', 'x'], 2, /is no UUID/],
    [
      ['luks', 'format', image, ...CHEAP, '--offset', '36K', '-pass', 'pass:secret'],
      2,
      /the header takes from/,
    ],
    [
      ['luks', 'format', image, ...CHEAP, '--offset', '1000000', '-pass', 'pass:secret'],
      2,
      /multiple of 4096/,
    ],
    [[...make, '--size', '1000'], 2, /multiple of the sector/],
    [[...make, '--force', '--pbkdf', 'scrypt'], 2, /argon2id, argon2i, pbkdf2/],
    [[...make, '--force', '--pbkdf-parallel', '9'], 2, /1 to 4/],
    [[...make, '--force', '--pbkdf', 'pbkdf2'], 2, /no effect with pbkdf2/],
    [[...make, '--hash', 'nohash'], 1, /hash nohash is not supported/],
    [['luks', 'format', path('absent'), '-pass', 'pass:secret'], 2, /is not there: --size/],
    [['luks', 'format', path('small'), '-pass', 'pass:secret'], 2, /the header alone takes/],
    [
      ['luks', 'format', path('no/folder'), '--size', '1M', ...CHEAP, '-pass', 'pass:secret'],
      1,
      /no\/folder/,
    ],
    [['luks', 'add-key', image, '-pass', 'pass:secret'], 1, /is no LUKS image/],
    [['luks', 'write', image, '-pass', 'pass:secret', '-in', path('small')], 1, /is no LUKS image/],
  ] as const) {
    const [, name, ...rest] = args;
    const result = await failure(COMMANDS[name as keyof typeof COMMANDS], rest);
    assert.match(result.message, says);
    assert.equal(result.status, status, result.message);
    assert.ok(!/\n|secret/.test(result.message), result.message);
  }
  const said = hwcrypt(make);
  assert.deepEqual([said.status, said.stderr.split('\n').length], [1, 2], said.stderr);
  assert.ok(readFileSync(image).equals(before));
  assert.deepEqual(readdirSync(path('quiet')), ['image']);
  assert.equal(hwcrypt([...make, '--force']).status, 0);
});
