/** `luks inspect`, `open` and `cat` as a user calls them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CHEAP, format, noCryptsetup, PASSPHRASE, SMALL } from '../../../helpers/luks.js';
import { Random } from '../../../helpers/random.js';
import { hwcrypt, scratch, shell } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const noQemu = spawnSync('qemu-img', ['--version']).error
  ? 'qemu-img is not installed: it is what this test compares with'
  : false;
const PASS = ['-pass', `pass:${PASSPHRASE}`];

function encryptByQemu(options: string): void {
  let stderr = '';
  // It times its key derivation, and gives up where the clock's ticks were too few.
  for (let i = 0; i < 5; i++) {
    const result = spawnSync('qemu-img', [
      ...['convert', '--object', `secret,id=s,data=${PASSPHRASE}`, '-f', 'raw', '-O', 'luks'],
      ...['-o', `key-secret=s,iter-time=100,${options}`, path('plain'), path('q.luks')],
    ]);
    if (result.status === 0) return;
    stderr = String(result.stderr);
  }
  throw new Error(stderr);
}

test('what qemu-img encrypts is decrypted: whole, in part, from a pipe', { skip: noQemu }, () => {
  const plain = Buffer.from(new Random('qemu').bytes(9 * 2 ** 20));
  plain.fill(0, 2 ** 20, 3 * 2 ** 20);
  writeFileSync(path('plain'), plain);
  for (const options of [
    'cipher-alg=aes-256,cipher-mode=xts,ivgen-alg=plain64',
    'cipher-alg=aes-128,cipher-mode=cbc,ivgen-alg=essiv,ivgen-hash-alg=sha256',
  ]) {
    encryptByQemu(options);
    const opened = hwcrypt(['luks', 'open', path('q.luks'), '-o', path('out'), '-v', ...PASS]);
    assert.equal(opened.stderr, 'keyslot: 0\nbytes  : 9437184\ndriver : libcrypto\n');
    assert.ok(readFileSync(path('out')).equals(plain), options);
    assert.equal(statSync(path('out')).mode & 0o777, 0o600);
    const part = hwcrypt(['luks', 'cat', path('q.luks'), '--offset', '1000001', '--length', '3M', ...PASS]);
    assert.ok(part.bytes.equals(plain.subarray(1000001, 1000001 + 3 * 2 ** 20)));
  }
  const piped = shell(`hwcrypt luks open q.luks -pass 'pass:${PASSPHRASE}' | cmp - plain && echo same`, {
    cwd: folder,
  });
  assert.equal(piped.stdout, 'same\n', piped.stderr);
  const closed = shell(
    `hwcrypt luks cat q.luks -pass 'pass:${PASSPHRASE}' | head -c 10 | wc -c; echo \${PIPESTATUS[0]}`,
    { cwd: folder },
  );
  assert.equal(closed.stdout, '10\n1\n', closed.stderr);
});

test('a detached header, a key file with every byte in it, and inspect', { skip: noCryptsetup }, () => {
  const secret = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  writeFileSync(path('key'), Buffer.concat([Buffer.from('xx'), secret, Buffer.from('yy')]));
  writeFileSync(path('data'), Buffer.alloc(2 ** 20));
  writeFileSync(path('header'), '');
  truncateSync(path('header'), 4 * 2 ** 20);
  const { status, stderr } = spawnSync('cryptsetup', [
    ...['luksFormat', '--batch-mode', ...CHEAP.argon2id, ...SMALL, '--header', path('header')],
    ...['--keyfile-offset', '2', '--keyfile-size', '256', path('data'), path('key')],
  ]);
  assert.equal(status, 0, String(stderr));
  const at = [path('data'), '--header', path('header')];
  const key = ['--key-file', path('key'), '--keyfile-offset', '2', '--keyfile-size', '256'];
  const cat = hwcrypt(['luks', 'cat', ...at, ...key]);
  assert.equal(cat.bytes.length, 2 ** 20, cat.stderr);
  const text = hwcrypt(['luks', 'inspect', ...at]).stdout;
  assert.match(text, /PBKDF:\s+argon2id/);
  assert.match(text, /aes-256-xts by libcrypto: yes/);
  const json = JSON.parse(hwcrypt(['luks', 'inspect', '--json', ...at]).stdout);
  assert.equal(json.header.version, 2);
  assert.equal(json.header.keyslots[0].kdf.memoryKiB, 64);
  assert.ok(Buffer.from(json.header.keyslots[0].kdf.salt, 'base64').length === 32);
  assert.deepEqual(
    json.judgements.filter(({ verdict }: { verdict: string }) => verdict === 'warning'),
    [],
  );
});

test('wrong command lines, wrong passphrases and no images: one line, and no output file', {
  skip: noCryptsetup,
}, () => {
  format(path('img'), 8 * 2 ** 20, [...CHEAP.pbkdf2, ...SMALL]);
  writeFileSync(path('none'), 'no image');
  const before = readFileSync(path('img'));
  const open = ['luks', 'open', path('img'), '-o', path('never')];
  for (const [args, status, says] of [
    [['luks'], 2, /Usage: hwcrypt luks COMMAND/],
    [['luks', 'opne'], 2, /unknown command "luks opne" \(did you mean luks open\?\)/],
    [['luks', 'open'], 2, /no image is given/],
    [['luks', 'inspect', path('img'), 'more'], 2, /one argument too many/],
    [['luks', 'inspect', path('none')], 1, /is no LUKS image/],
    [['luks', 'inspect', path('absent')], 1, /cannot open .*absent for reading: no such file/],
    [['luks', 'inspect', folder], 1, /neither a file nor a block device/],
    [[...open, '-pass', 'pass:wrong'], 1, /no keyslot opens with this passphrase/],
    [[...open, ...PASS, '--key-slot', '7'], 1, /keyslot 7 is not in use/],
    [[...open, ...PASS, '--key-slot', '99'], 2, /0 to 31/],
    [[...open, ...PASS, '--key-file', path('img')], 2, /has no effect beside/],
    [[...open, '--keyfile-size', '3'], 2, /no effect without/],
    [[...open, ...PASS, '--driver', 'nobody'], 2, /there is no driver "nobody"/],
    [['luks', 'cat', path('img'), ...PASS, '--offset', '1T'], 2, /the plaintext has \d+ bytes/],
    [['luks', 'cat', path('img'), ...PASS, '--length', '1.5M'], 2, /takes a number of bytes/],
    [['luks', 'open', path('img'), '-o', path('img'), ...PASS], 1, /img/],
  ] as const) {
    const result = hwcrypt(args);
    assert.equal(result.status, status, `${args.join(' ')}: ${result.stderr}`);
    assert.match(result.stderr, says);
    if (args.length > 1) assert.equal(result.stderr.split('\n').length, 2, result.stderr);
    assert.ok(!result.stderr.includes('wrong'), result.stderr);
  }
  assert.ok(!existsSync(path('never')));
  assert.ok(readFileSync(path('img')).equals(before));
});
