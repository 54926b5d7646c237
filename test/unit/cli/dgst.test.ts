import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command } from '#src/cli/commands/dgst.js';
import { failure, hwcrypt, noCoreutils, noOpenssl, program, scratch } from './helpers.js';

const cwd = scratch();
const dgst = (args: readonly string[], input: string | Uint8Array = '') =>
  hwcrypt(['dgst', ...args], { cwd, input });
const openssl = (args: readonly string[], input: string | Uint8Array = '') =>
  program('openssl', ['dgst', ...args], { cwd, input });
const sha256sum = (args: readonly string[], input: string | Uint8Array = '') =>
  program('sha256sum', args, { cwd, input, env: { LC_ALL: 'C' } });

const NAMES = [
  'plain',
  'large',
  'empty',
  'with blank',
  'line\nbreak',
  'back\\slash',
  'both\\\n',
  '(brackets) = x',
];
for (const name of NAMES) writeFileSync(join(cwd, name), name === 'empty' ? '' : `content of ${name}`);
writeFileSync(join(cwd, 'large'), randomBytes(700_001));
mkdirSync(join(cwd, 'folder'));

test('digests, MACs and formats as openssl prints them', { skip: noOpenssl }, () => {
  for (const args of [
    [],
    ['-sha256'],
    ['-SHA512', '-r'],
    ['-md5', '-hex'],
    ['-sha1', '-binary'],
    ['-sha512-256'],
    ['-sha3-384'],
    ['-shake128'],
    ['-shake256', '-xoflen', '40'],
    ['-blake2b512'],
    ['-blake2s256'],
    ['-rmd160'],
    ['-sm3'],
    ['-md5-sha1'],
    ['-hmac', 'key'],
    ['-sha256', '-hmac', 'kéy', '-r'],
    ['-sha3-512', '-mac', 'HMAC', '-macopt', 'hexkey:00ff'],
    ['-sha1', '-mac', 'hmac', '-macopt', 'key:text'],
    ['-mac', 'cmac', '-macopt', 'cipher:aes-128-cbc', '-macopt', 'hexkey:00112233445566778899aabbccddeeff'],
  ]) {
    const label = args.join(' ');
    const files = ['plain', 'large', 'empty', 'line\nbreak', 'back\\slash'];
    assert.deepEqual(dgst([...args, ...files]).bytes, openssl([...args, ...files]).bytes, label);
    if (args.length < 4) continue;
    // OpenSSL names the MAC only in front of a file.
    assert.deepEqual(dgst(args, 'piped').bytes, openssl(args, 'piped').bytes, `${label} from a pipe`);
  }
  assert.deepEqual(dgst([], 'piped').bytes, openssl([], 'piped').bytes);
  const colons = openssl(['-sha256', '-c', 'plain']).stdout;
  assert.equal(dgst(['-sha256', '-colons', 'plain']).stdout, colons);
});

test('formats as sha256sum prints them', { skip: noCoreutils }, () => {
  for (const [ours, theirs] of [
    [['--sum'], []],
    [['--tag'], ['--tag']],
    [['--sum', '-z'], ['-z']],
    [
      ['--tag', '--zero'],
      ['--tag', '-z'],
    ],
  ] as const) {
    assert.deepEqual(dgst([...ours, ...NAMES]).bytes, sha256sum([...theirs, ...NAMES]).bytes, ours.join(' '));
  }
  assert.equal(dgst(['--sum'], 'piped').stdout, sha256sum([], 'piped').stdout);
  assert.equal(
    dgst(['-md5', '--tag', 'plain']).stdout,
    program('md5sum', ['--tag', 'plain'], { cwd }).stdout,
  );
  assert.equal(
    dgst(['-blake2b512', '--tag', 'plain']).stdout,
    program('b2sum', ['--tag', 'plain'], { cwd }).stdout,
  );
});

/** With coreutils' name and its words for a cause replaced by ours, since those may differ. */
function comparable(stderr: string): string {
  return stderr
    .replaceAll('sha256sum: ', 'hwcrypt: dgst: ')
    .replaceAll("'standard input'", 'standard input')
    .replace(/cannot open (.*) for reading: n/g, '$1: N');
}

test('lists of every kind are checked as sha256sum checks them', { skip: noCoreutils }, () => {
  const sums = sha256sum(NAMES).stdout;
  const tags = sha256sum(['--tag', ...NAMES]).stdout;
  const good = sha256sum(['plain', 'empty']).stdout;
  const mixed =
    `${good}# a comment\n\nno checksum at all\n${good.toUpperCase().replaceAll('PLAIN', 'plain').replaceAll('EMPTY', 'empty')}` +
    `${good.replace(/^./, (digit) => (digit === '0' ? '1' : '0')).replace(/\n.*/s, '\n')}` +
    `${good.split('\n')[0]?.replace('plain', 'missing')}\n  ${good.split('\n')[0]}\n`;
  const lists: Record<string, string> = {
    sums,
    tags,
    good,
    mixed,
    crlf: good.replaceAll('\n', '\r\n'),
    star: good.replaceAll('  ', ' *'),
    single: good.replaceAll('  ', ' '),
    unterminated: good.trimEnd(),
    openssl: openssl(['plain', 'with blank', '(brackets) = x']).stdout,
    'openssl -r': openssl(['-r', 'plain', 'with blank']).stdout,
    nothing: 'nothing\nhere\n',
    empty: '',
    missing: good.replace('plain', 'gone1').replace('empty', 'gone2'),
    md5: program('md5sum', ['--tag', 'plain'], { cwd }).stdout + good,
  };
  for (const [name, list] of Object.entries(lists)) {
    for (const options of [[], ['--quiet'], ['--status'], ['--strict'], ['--ignore-missing'], ['--warn']]) {
      if (name !== 'mixed' && options.length > 0 && name !== 'missing') continue;
      const label = `${name} ${options.join(' ')}`;
      const theirs = sha256sum(['-c', ...options], list);
      const ours = dgst(['-sha256', '-c', ...options], list);
      assert.equal(ours.stdout, theirs.stdout, label);
      assert.equal(ours.status, theirs.status, label);
      if (options[0] === '--warn') continue;
      const told = comparable(ours.stderr).replace(/ \((?:its digests|for digits).*\)/, '');
      assert.equal(told, comparable(theirs.stderr), label);
    }
  }
});

test('without a digest given, a tagged line says which', () => {
  const list = ['-md5', '-sha1', '-sha512', '-sha3-256', '-blake2b512'].flatMap((digest) => [
    dgst([digest, '--tag', 'plain']).stdout,
    dgst([digest, 'plain']).stdout,
  ]);
  const checked = dgst(['-c', '--strict'], list.join(''));
  assert.equal(checked.stdout, 'plain: OK\n'.repeat(10));
  assert.equal(checked.status, 0);
  const keyed = dgst(['-sha1', '-hmac', 'k', 'plain']).stdout;
  assert.equal(dgst(['-c', '-hmac', 'k'], keyed).stdout, 'plain: OK\n');
  assert.equal(dgst(['-c', '-hmac', 'K'], keyed).stdout, 'plain: FAILED\n');
  assert.equal(dgst(['-c'], keyed).status, 1);
});

test('a list of another digest is met with advice', () => {
  const list = dgst(['-md5', '--sum', 'plain']).stdout;
  const { stderr, status } = dgst(['-c'], list);
  assert.equal(status, 1);
  assert.match(stderr, /no properly formatted checksum lines found \(its digests have 32 digits: give -md5/);
  assert.match(dgst(['-c', 'plain']).stderr, /for digits with colons use -colons/);
});

test('unreadable files are named, the others are done', () => {
  const { stdout, stderr, status } = dgst(['--sum', 'gone', 'folder', 'plain']);
  assert.equal(status, 1);
  assert.match(stdout, /^[0-9a-f]{64} {2}plain\n$/);
  assert.equal(
    stderr,
    'hwcrypt: dgst: cannot open gone for reading: no such file or directory\n' +
      'hwcrypt: dgst: cannot read folder: it is a directory\n',
  );
});

test('a file for the result, JSON, a pinned driver', () => {
  assert.equal(dgst(['-sha256', '-r', '-out', 'result', 'plain']).stdout, '');
  const printed = dgst(['-sha256', '-r', 'plain']).stdout;
  assert.equal(readFileSync(join(cwd, 'result'), 'utf8'), printed);
  const [found] = JSON.parse(dgst(['--json', 'plain']).stdout) as { digest: string }[];
  assert.equal(found?.digest, printed.slice(0, 64));
  assert.equal(dgst(['-sha256', '-r', '--driver', 'node', 'plain']).stdout, printed);
  const checked = JSON.parse(dgst(['-c', '--json'], printed).stdout) as unknown;
  assert.deepEqual(checked, [{ file: 'plain', status: 'OK' }]);
});

test('a wrong command line: one line, status 2', async () => {
  const cases: [args: string, message: RegExp][] = [
    ['-sha257 plain', /did you mean -sha256/],
    ['-digest nope plain', /unknown message digest: nope/],
    ['-xoflen 4 plain', /sha256 has a fixed length/],
    ['-shake128 -hmac k plain', /there is no HMAC of shake128/],
    ['-mac HMAC plain', /needs a key/],
    ['-mac KMAC -macopt key:x plain', /-mac KMAC is not supported/],
    ['-mac HMAC -macopt hexkey:0 plain', /an even number of hex digits/],
    ['-mac HMAC -macopt hexkay:00 plain', /-macopt is one of/],
    ['-mac CMAC -macopt key:x plain', /-mac CMAC needs a cipher/],
    ['-mac CMAC -macopt cipher:aes-128-cbc -macopt key:secret plain', /has 16 bytes, this one 6/],
    ['-sign key plain', /signatures are not supported/],
    [
      '-mac HMAC -macopt key:x -macopt cipher:aes-128-cbc plain',
      /-macopt cipher: has no effect beside -mac HMAC/,
    ],
    ['-sha1 -mac HMAC -macopt key:x -macopt digest:md5 plain', /digest: has no effect beside -sha1/],
  ];
  for (const [args, message] of cases) {
    const found = await failure(command, args.split(' '));
    assert.match(found.message, message, args);
    assert.doesNotMatch(found.message, /\n|secret/, args);
    assert.equal(found.status, 2, args);
  }
});
