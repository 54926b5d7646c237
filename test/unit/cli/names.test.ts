/** File names that are awkward, and lists that have them: never another file than the one that is meant. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hwcrypt, noCoreutils, program, scratch, shell } from './helpers.js';

const cwd = scratch();
/** `é.txt` in Latin-1, and the file that Node's decoding of it would lead to. */
const LATIN = "$'\\xe9.txt'";
const OTHER = '\ufffd.txt';

function untouched(): void {
  assert.equal(readFileSync(join(cwd, OTHER), 'utf8'), 'another');
}

test('a name that is not UTF-8 is refused, and no other file is read or written', () => {
  writeFileSync(join(cwd, OTHER), 'another');
  writeFileSync(join(cwd, 'plain'), 'text');
  shell(`printf text > ${LATIN}; ln -s ${LATIN} link`, { cwd });
  for (const line of [
    `enc -aes-128-cbc -pbkdf2 -k x -in ${LATIN}`,
    `enc -aes-128-cbc -pbkdf2 -k x -in plain -out ${LATIN}`,
    'enc -aes-128-cbc -pbkdf2 -k x -in plain -out link',
    `enc -aes-128-cbc -pbkdf2 -kfile ${LATIN} -in plain`,
    `enc -aes-128-cbc -pbkdf2 -pass file:${LATIN} -in plain`,
    `enc --explain ${LATIN}`,
    `dgst ${LATIN}`,
    `dgst -out ${LATIN} plain`,
    `dgst -c ${LATIN}`,
    `rand -out ${LATIN} 4`,
    `demo -in ${LATIN}`,
  ]) {
    const { status, stdout, stderr } = shell(`hwcrypt ${line}`, { cwd });
    assert.equal(status, 1, line);
    assert.equal(stdout, '', line);
    assert.match(stderr, /^hwcrypt: [^\n]*its name is not UTF-8[^\n]*\n$/, line);
    untouched();
  }
  // In a list, for that file alone.
  const list = shell(`sha256sum ${LATIN} plain | hwcrypt dgst -c`, { cwd });
  assert.match(list.stdout, /FAILED open or read\nplain: OK\n$/);
  assert.match(list.stderr, /its name is not UTF-8/);
  // Standard input and output do it.
  const text = shell(`hwcrypt dgst --sum < ${LATIN}`, { cwd });
  assert.match(text.stdout, /^982d9e3e/);
  assert.equal(readdirSync(cwd).length, 4);
});

test('an empty name is called empty', () => {
  for (const argv of [
    ['enc', '-aes-128-cbc', '-pbkdf2', '-k', 'x', '-in', ''],
    ['enc', '-aes-128-cbc', '-pbkdf2', '-k', 'x', '-in', 'plain', '-out', ''],
    ['enc', '-aes-128-cbc', '-pbkdf2', '-kfile', '', '-in', 'plain'],
    ['dgst', ''],
    ['dgst', '-c', ''],
    ['rand', '-out', '', '4'],
    ['demo', '-in', ''],
  ]) {
    const { status, stderr } = hwcrypt(argv, { cwd });
    assert.equal(status, 1, argv.join(' '));
    assert.match(stderr, /^hwcrypt: [^\n]*: the file name is empty\n$/, argv.join(' '));
  }
});

const AWKWARD = [
  'back\\slash',
  'carriage\rreturn',
  'new\nline',
  'all\\\r\n',
  ' blank ',
  '*star',
  '\\',
  'end\r',
];

test('awkward names are escaped as sha256sum does, and read back', { skip: noCoreutils }, () => {
  for (const name of AWKWARD) writeFileSync(join(cwd, name), name);
  for (const [own, theirs] of [
    [['--sum'], []],
    [['--tag'], ['--tag']],
    [['--sum', '-z'], ['--zero']],
    [
      ['--tag', '-z'],
      ['--tag', '--zero'],
    ],
  ] as const) {
    const list = hwcrypt(['dgst', ...own, ...AWKWARD], { cwd }).stdout;
    assert.equal(list, program('sha256sum', [...theirs, '--', ...AWKWARD], { cwd }).stdout, own.join(' '));
    const checked = hwcrypt(['dgst', '-c'], { cwd, input: list });
    assert.equal(checked.status, 0, checked.stderr);
    assert.equal(checked.stdout.match(/: OK\n/g)?.length, AWKWARD.length);
    if (own.length === 1) {
      assert.equal(checked.stdout, program('sha256sum', ['-c'], { cwd, input: list }).stdout);
    }
  }
  // Every form with NULs can be checked, by -z or by what is in it.
  for (const form of [['-sha512'], ['-sha512', '-r']]) {
    const list = hwcrypt(['dgst', ...form, '-z', ...AWKWARD], { cwd }).stdout;
    for (const check of [['-c'], ['-c', '-z']]) {
      const { status, stderr } = hwcrypt(['dgst', ...check, '-sha512'], { cwd, input: list });
      assert.equal(status, 0, `${form.join(' ')}: ${stderr}`);
    }
  }
});

test('lists of MACs: a key is asked for, and checks them', () => {
  const check = (input: string, ...argv: string[]) => hwcrypt(['dgst', '-c', ...argv], { cwd, input });
  const cmac = ['-mac', 'CMAC', '-macopt', 'cipher:aes-128-cbc', '-macopt', 'key:sixteen bytes ok'];
  for (const form of [[], ['--tag']]) {
    const list = hwcrypt(['dgst', '-hmac', 'k', ...form, 'plain'], { cwd }).stdout;
    const without = check(list);
    assert.equal(without.status, 1);
    assert.match(without.stderr, /no properly formatted.*\(it has HMACs, .* give -hmac KEY\)\n$/);
    assert.equal(check(list, '-hmac', 'k').stdout, 'plain: OK\n');
    assert.match(check(list, '-hmac', 'wrong').stdout, /^plain: FAILED/);
    const other = hwcrypt(['dgst', ...cmac, ...form, 'plain'], { cwd }).stdout;
    assert.match(check(other).stderr, /it has CMACs.*give -mac CMAC/);
    assert.equal(check(other, ...cmac).stdout, 'plain: OK\n');
  }
  const hashes = hwcrypt(['dgst', '--tag', 'plain'], { cwd }).stdout;
  assert.match(check(hashes, '-hmac', 'k').stderr, /hashes without a key: leave out -hmac/);
});
