/** The commands that have no peer to be compared with, and what all of them have in common. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { command as rand } from '#src/cli/commands/rand.js';
import type { Inventory } from '#src/report/index.js';
import { failure, hwcrypt, noOpenssl, ROOT, scratch } from './helpers.js';

const cwd = scratch();

test('version and help', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  assert.equal(hwcrypt(['--version']).stdout, `hwcrypt ${version}\n`);
  const help = hwcrypt(['--help']);
  assert.equal(help.status, 0);
  for (const name of ['list', 'enc', 'dgst', 'rand', 'speed', 'demo']) {
    assert.match(help.stdout, new RegExp(`^ {2}${name} `, 'm'));
    const own = hwcrypt([name, '-help']);
    assert.equal(own.status, 0);
    assert.match(own.stdout, new RegExp(`^Usage: hwcrypt ${name} `));
    assert.ok(
      own.stdout.split('\n').every((line) => [...line].length <= 88),
      name,
    );
  }
  assert.equal(hwcrypt(['help', 'rand']).stdout, hwcrypt(['rand', '--help']).stdout);
});

test('no command, or none that exists', () => {
  const none = hwcrypt([]);
  assert.equal(none.status, 2);
  assert.match(none.stderr, /^Usage: hwcrypt COMMAND/);
  const wrong = hwcrypt(['lsit']);
  assert.equal(wrong.status, 2);
  assert.equal(wrong.stderr, 'hwcrypt: unknown command "lsit" (did you mean list?)\n');
  for (const argv of [
    ['--version', 'x'],
    ['help', 'rand', 'x'],
  ]) {
    const extra = hwcrypt(argv);
    assert.equal(extra.status, 2);
    assert.equal(extra.stderr, 'hwcrypt: unexpected argument "x" (see hwcrypt --help)\n');
  }
  assert.match(hwcrypt(['constructor']).stderr, /unknown command "constructor" \(see hwcrypt --help\)/);
});

test('list: drivers, a matrix, the kernel; no colour and nothing cut off in a pipe', () => {
  const { stdout, status, stderr } = hwcrypt(['list']);
  assert.equal(status, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /^driver +there +what it is/);
  assert.match(stdout, /^node +yes +node:crypto of Node/m);
  assert.match(stdout, /^aes-128-cbc +/m);
  assert.match(stdout, /^des-cbc .*weak \[\d+\]$/m);
  assert.match(stdout, /^\[1\] /m);
  assert.match(stdout, /^Linux .*implementations by priority/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours would be such
  assert.doesNotMatch(stdout, /\u001b/);
  assert.doesNotMatch(stdout, /…$/m);
});

test('list --json has the documented shape; topics narrow it down', () => {
  const all = JSON.parse(hwcrypt(['list', '--json']).stdout) as Inventory;
  assert.ok(all.drivers?.some(({ name, available }) => name === 'node' && available));
  const cbc = all.algorithms?.find(({ name }) => name === 'aes-128-cbc');
  assert.equal(cbc?.kind, 'cipher');
  assert.equal(cbc?.drivers.node?.supported, true);
  assert.equal(cbc?.drivers.node?.hardware, 'no');
  assert.ok(Array.isArray(all.kernel?.implementations));
  for (const entry of all.kernel?.implementations ?? []) {
    assert.match(entry.hardware, /^(yes|no|unknown)$/);
    assert.ok(entry.evidence.length > 0, entry.kernelDriver);
  }
  const hashes = JSON.parse(hwcrypt(['list', 'hashes', '--json']).stdout) as Inventory;
  assert.ok(hashes.algorithms?.every(({ kind }) => kind === 'hash'));
  assert.equal(hashes.kernel, undefined);
  const drivers = hwcrypt(['list', 'drivers']).stdout;
  assert.doesNotMatch(drivers, /aes-128-cbc/);
  const wrong = hwcrypt(['list', 'hases']);
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /did you mean hashes/);
});

test('rand: forms and lengths as openssl rand has them', async () => {
  assert.match(hwcrypt(['rand', '-hex', '20']).stdout, /^[0-9a-f]{40}\n$/);
  assert.match(hwcrypt(['rand', '-base64', '50']).stdout, /^[A-Za-z0-9+/]{64}\n[A-Za-z0-9+/]{3}=\n$/);
  assert.equal(hwcrypt(['rand', '3K']).bytes.length, 3072);
  assert.equal(hwcrypt(['rand', '1000001']).bytes.length, 1_000_001);
  assert.equal(hwcrypt(['rand', '-base64', '1M']).bytes.length, 21_845 * 65 + 25);
  assert.notEqual(
    hwcrypt(['rand', '-hex', '20']).stdout,
    hwcrypt(['rand', '-hex', '20', '--driver', 'node']).stdout,
  );
  const target = join(cwd, 'random');
  assert.equal(hwcrypt(['rand', '-out', target, '100']).status, 0);
  assert.equal(statSync(target).size, 100);
  assert.equal(statSync(target).mode & 0o777, 0o600);
  for (const args of [
    ['rand'],
    ['rand', '0'],
    ['rand', '-1'],
    ['rand', '1', '2'],
    ['rand', '4X'],
    ['rand', '9999999T'],
  ]) {
    const found = await failure(rand, args.slice(1));
    assert.equal(found.status, 2, args.join(' '));
  }
});

test('demo: old ciphers are compared with what openssl does when it is told of them', {
  skip: noOpenssl,
}, () => {
  const { stdout, stderr, status } = hwcrypt(['demo', '-q', '-rc4', '-in', join(ROOT, 'LICENSE')]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^libcrypto +legacy .* equal$/m);
  assert.match(stdout, /^openssl enc .* reference$/m);
  // Neither openssl nor node:crypto: one line that says so, and nothing of OpenSSL's numbers.
  const alone = hwcrypt(['demo', '-q', '-rc4', '-in', join(ROOT, 'LICENSE')], { env: { PATH: '/nowhere' } });
  assert.equal(alone.status, 1);
  assert.match(alone.stderr, /^hwcrypt: demo: nobody to compare rc4 with: .*legacy provider\)\n$/);
  const extra = hwcrypt(['demo', 'file']);
  assert.equal(extra.status, 2);
  assert.equal(extra.stderr, 'hwcrypt: demo: unexpected argument "file" (a file is given with -in)\n');
});

test('demo: every driver that is there, the results equal, nothing left behind', () => {
  const file = join(cwd, 'file');
  writeFileSync(file, Buffer.alloc(3_000_000, 'demo'));
  // A folder of its own: other tests run the demo too.
  const temporary = mkdtempSync(join(tmpdir(), 'hwcrypt-test-'));
  const left = () => readdirSync(temporary);
  const { stdout, status } = hwcrypt(['demo', '-in', file], { env: { TMPDIR: temporary } });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^Encrypting .*\(3\.00 MB\) with aes-256-cbc on Linux/m);
  assert.match(stdout, /^node +default +no +.* ms +.* MB\/s +equal$/m);
  assert.match(stdout, /every result is, byte for byte, that of (openssl enc|node:crypto)\./);
  assert.deepEqual(left(), []);
  const json = JSON.parse(hwcrypt(['demo', '-in', file, '-aes-128-ctr', '--json']).stdout) as {
    cipher: string;
    outcomes: { equal?: boolean; problem?: string }[];
  };
  assert.equal(json.cipher, 'aes-128-ctr');
  assert.ok(json.outcomes.every(({ equal, problem }) => equal === true || problem !== undefined));
  // A file of a few bytes takes no time that could be called a rate, but some.
  writeFileSync(file, 'few');
  const small = hwcrypt(['demo', '-q', '-in', file]).stdout;
  assert.doesNotMatch(small, /0\.00 MB\/s/);
  assert.ok(
    small.split('\n').every((line) => line.length <= 80),
    small,
  );
  assert.match(hwcrypt(['demo', '-in', join(cwd, 'gone')]).stderr, /^hwcrypt: demo: there is no file/);
});
