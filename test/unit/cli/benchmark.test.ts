/** `hwcrypt benchmark` on this machine: what scripts and our own importer read, what is refused, how it ends. No figure is looked at. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { command } from '#src/cli/commands/benchmark.js';
import { getDriver } from '#src/drivers/registry.js';
import { importOne, readJson } from '#src/interop/index.js';
import { ended, failure, hwcrypt, shell, start } from './helpers.js';

const QUICK = ['--seconds', '0.01'];

test('one cipher: cryptsetup’s lines to the byte, and only comments beside them', () => {
  const { status, stdout, stderr } = hwcrypt(['benchmark', '-c', 'aes-xts-plain64', '-s', '512', ...QUICK]);
  assert.deepEqual([status, stderr], [0, '']);
  const lines = stdout.split('\n');
  assert.equal(lines[0], '# Tests are approximate using memory only (no storage IO).');
  assert.ok(lines.includes('# Algorithm |       Key |      Encryption |      Decryption'), stdout);
  const rows = lines.filter((line) => line !== '' && !line.startsWith('#'));
  assert.equal(rows.length, 1);
  assert.match(rows[0]!, /^ {4}aes-xts {8}512b {2}[ \d]{8}\.\d MiB\/s {2}[ \d]{8}\.\d MiB\/s$/);
  assert.ok(
    lines.every((line) => line.length <= 80),
    stdout,
  );
  assert.match(stdout, /^# Done by:\n#.* \(software\): aes-xts 512$/m);
});

test('without the kernel, Serpent and Twofish are by the library that has them, and that is said', (t) => {
  if (!getDriver('gcrypt').probe().available) return t.skip('there is no libgcrypt here');
  if (getDriver('afalg').probe().available) return t.skip('the kernel has them');
  const { status, stdout } = hwcrypt(['benchmark', '--no-kdf', '--seconds', '0.001']);
  assert.equal(status, 0);
  const rows = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  assert.deepEqual([rows.length, rows.filter((row) => /N\/A/.test(row))], [12, []]);
  assert.match(stdout, /^# +gcrypt +libgcrypt-\S+ \(software\): aes-cbc 128, serpent-cbc 128,/m);
  assert.match(
    stdout,
    /^# In the table by gcrypt: serpent-cbc 128, twofish-cbc 128, (.|\n)*since this OpenSSL has no\b/m,
  );
  const named = ['-c', 'serpent-xts', '-s', '512', ...QUICK, '--driver'];
  const gcrypt = hwcrypt(['benchmark', ...named, 'gcrypt']);
  assert.match(gcrypt.stdout, /^ *serpent-xts +512b +[\d.]+ MiB\/s +[\d.]+ MiB\/s$/m);
  const libcrypto = hwcrypt(['benchmark', ...named, 'libcrypto']);
  assert.equal(libcrypto.status, 1);
  assert.match(libcrypto.stderr, /this OpenSSL has no serpent-256-xts/);
});

test('our importer reads the table as cryptsetup’s, and nothing else into it', () => {
  const { stdout } = hwcrypt(['benchmark', '-c', 'aes-cbc', '-s', '128', ...QUICK]);
  const set = importOne(stdout);
  assert.equal(set.tool, 'cryptsetup benchmark');
  assert.deepEqual(
    set.runs.map(({ measurements }) =>
      measurements.map(({ algorithm, operation, status }) => [algorithm, operation, status]),
    ),
    [
      [
        ['aes-128-cbc', 'encrypt', 'ok'],
        ['aes-128-cbc', 'decrypt', 'ok'],
      ],
    ],
  );
  assert.deepEqual([set.skipped, set.notes, set.runs[0]!.notes], [[], [], []]);
});

test('JSON is a result set: every size, both ways, and who did it', () => {
  const { stdout, status } = hwcrypt(['benchmark', '-c', 'aes-cbc', '-s', '128', '--json', ...QUICK]);
  assert.equal(status, 0);
  const [set] = readJson(stdout);
  const own = set!.runs.find(({ label }) => label === 'libcrypto')!;
  assert.equal(own.command, `hwcrypt benchmark -c aes-cbc -s 128 --json ${QUICK.join(' ')}`);
  assert.deepEqual(
    own.measurements.map(({ operation, requestBytes, kernelDriver }) => [
      operation,
      requestBytes,
      kernelDriver,
    ]),
    ['encrypt', 'decrypt'].flatMap((operation) =>
      [512, 4096, 65536].map((bytes) => [operation, bytes, 'default']),
    ),
  );
});

test('PBKDF2 alone', () => {
  const known = hwcrypt(['benchmark', '-h', 'sha256', '-s', '512']);
  assert.equal(known.status, 0, known.stderr);
  assert.match(
    known.stdout,
    /^# Tests .*\nPBKDF2-sha256 {2,8}\d+ iterations per second for 512-bit key\n(?:# ~ PBKDF2-.*\n)*$/,
  );
  const unknown = hwcrypt(['benchmark', '--hash', 'nonsense']);
  assert.deepEqual([unknown.status, unknown.stdout.split('\n')[1]], [1, 'PBKDF2-nonsense      N/A']);
});

test('Argon2 alone, in little time and memory', () => {
  const argv = [
    'benchmark',
    '--pbkdf',
    'argon2id',
    '-i',
    '20',
    '--pbkdf-memory',
    '1024',
    '--pbkdf-parallel',
    '1',
  ];
  const { stdout, status } = hwcrypt([...argv, '--json']);
  assert.equal(status, 0);
  const [set] = readJson(stdout);
  const [kdf] = set!.runs[0]!.kdfs;
  assert.deepEqual(
    [kdf?.kdf, kdf?.memoryKiB, kdf?.threads, kdf?.targetMs, kdf?.keyBits],
    ['argon2id', 1024, 1, 20, 256],
  );
  const text = hwcrypt(argv).stdout;
  assert.match(
    text,
    /^argon2id {4} *\d+ iterations, {2}1024 memory, 1 parallel threads \(CPUs\) for 256-bit key \(requested 20 ms time\)$/m,
  );
  assert.equal(importOne(text).runs[0]!.kdfs[0]!.memoryKiB, 1024);
});

for (const [argv, status, message] of [
  ['-c|aes xts', 2, /-c takes a cipher as cryptsetup names it .*not "aes xts"/],
  ['-c|foo', 1, /^Cipher foo \(with 256 bits key\) is not available\./],
  ['-s|77', 2, /-s takes a multiple of 8 bits, not 77/],
  ['-s|0', 2, /-key-size takes a whole number, 8 to 4096/],
  ['--seconds|0', 2, /--seconds takes a number above 0/],
  ['--seconds|soon', 2, /--seconds takes a number above 0, not "soon"/],
  ['--pbkdf|scrypt', 2, /--pbkdf takes pbkdf2, argon2i, argon2id, not "scrypt"/],
  ['--pbkdf|argon2i|-h|sha1', 2, /-h has no effect beside --pbkdf argon2i/],
  ['-h|sha1|-c|aes-xts', 2, /-h has no effect beside -c/],
  ['--disk|--no-kdf', 2, /--no-kdf has no effect beside --disk/],
  ['--disk|-s|128', 2, /-s has no effect beside --disk without -c/],
  ['--disk|--driver|afalg', 2, /--driver has no effect beside --disk/],
  ['--driver|nobody|-c|aes-xts', 2, /there is no driver "nobody"/],
  ['disk.img', 2, /unexpected argument "disk.img"/],
] as const) {
  test(`refused: ${argv.replaceAll('|', ' ')}`, async () => {
    const failed = await failure(command, argv.split('|'));
    assert.match(failed.message, message);
    assert.equal(failed.status, status);
  });
}

test('a reader that goes away is no error worth a word', () => {
  const { stderr } = shell(`hwcrypt benchmark -c aes-cbc ${QUICK.join(' ')} | true`);
  assert.equal(stderr, '');
});

test('Ctrl-C prints what is finished, at once, and exits 130', async () => {
  const child = start(['benchmark', '--pbkdf', 'argon2id', '-i', '600000']);
  let text = '';
  child.stdout?.on('data', (data) => {
    text += data;
  });
  await once(child.stdout!, 'data');
  child.kill('SIGINT');
  assert.deepEqual(await ended(child), { status: 130, signal: null });
  assert.match(text, /^# Tests are .*\n# interrupted: what is above was finished\n$/);
});
