/** What is read of cryptsetup, kcapi-speed, QEMU and cryptodev, and of a text that holds several of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detect, importOne, importResults, withoutExtraPass } from '#src/interop/index.js';
import { codes, find, fixture, only, rate, setOf, text } from './fixtures.js';

const MIB = 2 ** 20;

function run(input: string) {
  return only(only(importResults(input).sets).runs);
}

test('cryptsetup: every kind of row', () => {
  const own = only(setOf('cryptsetup-collapsed.txt').runs);
  assert.equal(own.measurements.length, 18);
  assert.equal(own.kdfs.length, 7);
  assert.equal(own.command, 'cryptsetup benchmark');
  assert.ok(
    own.measurements.every(
      ({ requestBytes, driver, basis }) =>
        requestBytes === 65_536 && driver === 'afalg' && basis === 'elapsed',
    ),
  );
  // The tool counts both halves of an XTS key.
  assert.equal(find(own, { algorithm: 'aes-128-xts', operation: 'encrypt' }).keyBits, 256);
  const [pbkdf2] = own.kdfs;
  assert.deepEqual(pbkdf2, {
    kdf: 'pbkdf2',
    algorithmText: 'PBKDF2-sha1',
    hash: 'sha1',
    keyBits: 256,
    iterationsPerSecond: Math.round(72_979 * 0.7),
    status: 'ok',
    doubts: [],
    line: 3,
  });
  const argon2 = own.kdfs.at(-1)!;
  assert.deepEqual(
    [argon2.kdf, argon2.iterations, argon2.threads, argon2.keyBits, argon2.targetMs, argon2.algorithmText],
    ['argon2id', 4, 4, 256, 2000, 'argon2id'],
  );
  assert.ok(codes(own).includes('REQUEST_SIZE_UNLIKE_USE'));
});

test('cryptsetup: versions and locales', () => {
  const narrow = only(setOf('cryptsetup-1x-narrow.txt').runs);
  assert.equal(narrow.measurements.length, 4);
  const wide = only(setOf('cryptsetup-adiantum.txt').runs);
  assert.equal(wide.measurements[0]!.algorithmText, 'xchacha20,aes-adiantum');
  assert.deepEqual(codes(wide.measurements[0]!), ['ALGORITHM_UNKNOWN']);
  assert.ok(
    rate(only(setOf('cryptsetup-comma.txt').runs), { algorithm: 'aes-128-cbc', operation: 'decrypt' }) >
      1000 * MIB,
  );
  assert.equal(only(setOf('cryptsetup-bold.txt').runs).measurements[0]!.algorithm, 'aes-256-cbc');

  const translated = setOf('cryptsetup-translated.txt');
  const all = translated.runs.flatMap(({ measurements }) => measurements);
  assert.equal(
    find(translated, { algorithm: 'aes-256-cbc', operation: 'decrypt' }).bytesPerSecond,
    1830 * MIB,
  );
  assert.deepEqual(
    all.filter(({ status }) => status === 'unavailable').map(({ algorithm }) => algorithm),
    ['serpent-128-cbc', 'serpent-128-cbc'],
  );
  const kdfs = translated.runs.flatMap((own) => own.kdfs);
  assert.deepEqual(
    kdfs.map(({ hash, iterationsPerSecond, status }) => [hash, iterationsPerSecond, status]),
    [
      ['sha256', 1_234_567, 'ok'],
      ['sha256', 1_234_567, 'ok'],
      ['sha256', 1_234_567, 'ok'],
      ['whirlpool', undefined, 'unavailable'],
    ],
  );
  for (const word of ['N/A', 'N/D', '(nicht zutreffend)', 'Н/Д', '不可用', '計測値なし']) {
    const [row] = run(`    serpent-xts        512b ${word.padStart(17)} ${word.padStart(17)}\n`).measurements;
    assert.deepEqual(
      [row!.status, row!.bytesPerSecond, row!.claimedBytesPerSecond],
      ['unavailable', undefined, undefined],
      word,
    );
  }
});

test('cryptsetup: no AF_ALG, in two languages; a cipher that is not there', () => {
  for (const name of ['cryptsetup-noafalg.txt', 'cryptsetup-de-noafalg.txt']) {
    const { sets, unread } = importResults(fixture(name));
    const own = only(only(sets).runs);
    assert.deepEqual(codes(own), ['NO_KERNEL_INTERFACE']);
    assert.equal(own.kdfs.length, 7);
    assert.equal(own.measurements.length, 0);
    assert.deepEqual(unread, []);
  }
  assert.deepEqual(only(setOf('cryptsetup-de-noafalg.txt').runs).notes, ['exit status 1']);
  const missing = only(setOf('cryptsetup-option.txt').runs);
  assert.deepEqual(
    missing.measurements.map(({ algorithm, keyBits, operation, status }) => [
      algorithm,
      keyBits,
      operation,
      status,
    ]),
    [
      ['aes-256-xts', 512, 'encrypt', 'unavailable'],
      ['aes-256-xts', 512, 'decrypt', 'unavailable'],
    ],
  );
  // The module's name in a list of modules is no complaint.
  assert.deepEqual(importResults('algif_skcipher         16384  0\n').sets, []);
});

test('cryptsetup: columns of others, rows without a name, tables of one direction', () => {
  const { sets } = importResults(fixture('cryptsetup-extra-column.txt'));
  const set = only(sets);
  assert.deepEqual(only(set.runs).notes, ['aes-cbc 256b: some_engine 6.1']);
  assert.deepEqual(
    [only(set.skipped).line, only(set.skipped).reason],
    [2, 'two rates without a name and a key size'],
  );

  const two = run(`# encryption:
#  Algorithm | Key |  Encryption
 serpent-xts   512b   144.7 MiB/s
     aes-xts   256b   128.4 MiB/s
# decryption:
#  Algorithm | Key  | Decryption
     aes-xts   256b   118.4 MiB/s
`);
  assert.deepEqual(
    two.measurements.map(({ algorithm, operation, bytesPerSecond }) => [
      algorithm,
      operation,
      bytesPerSecond! / MIB,
    ]),
    [
      ['serpent-256-xts', 'encrypt', 144.7],
      ['aes-128-xts', 'encrypt', 128.4],
      ['aes-128-xts', 'decrypt', 118.4],
    ],
  );
  const [bare] = run('aes-xts   256b   118.4 MiB/s\n').measurements;
  assert.equal(bare!.operation, undefined);
  assert.ok(codes(bare!).includes('OPERATION_UNKNOWN'));
  const pair = setOf('cryptsetup-pair.txt');
  assert.equal(pair.runs.length, 2);
});

test('cryptsetup: the pass that is counted and not timed', () => {
  // What the tool prints for a true rate: n passes of 1 MiB, the n-th being the first to end after a second.
  for (let real = 1.05; real < 90; real *= 1.07) {
    const n = Math.ceil(real);
    const claimed = (n + 1) / (n / real);
    const corrected = withoutExtraPass(claimed * MIB)! / MIB;
    // Just below a whole number of MiB two n fit, and the lower one is given.
    assert.ok(
      corrected < real * (1 + 1e-9) && corrected > real * (1 - 1 / n ** 2 - 1e-9),
      `${real}: ${corrected}`,
    );
  }
  const [slow, fast] = ['11.3', '2458.2'].map(
    (printed) => run(`aes-cbc 128b ${printed} MiB/s ${printed} MiB/s\n`).measurements[0]!,
  );
  const [doubt] = slow!.doubts;
  assert.equal(doubt!.code, 'OVERSTATED_N_PLUS_1');
  assert.equal(doubt!.correctedBytesPerSecond!.toFixed(0), ((11.3 * 11 * MIB) / 12).toFixed(0));
  assert.deepEqual(fast!.doubts, []);
});

test('kcapi-speed: pretty, retyped, raw, absent drivers', () => {
  const [sm3, sha] = setOf('kcapi-pretty.txt').runs;
  assert.equal(sm3!.command, 'kcapi-speed -c sm3 -t 5');
  const [row] = sm3!.measurements;
  assert.deepEqual(
    [
      row!.algorithm,
      row!.operation,
      row!.driverHint,
      row!.requestBytes,
      row!.bytesPerSecond,
      row!.claimedBytesPerSecond,
    ],
    ['sm3', 'digest', 'G', 256, 11_914 * 256, 3_500_000],
  );
  assert.deepEqual(codes(row!), ['UNPADDED_DECIMALS']);
  assert.equal(row!.doubts[0]!.correctedBytesPerSecond, 3_050_000);
  const [whole, absent] = sha!.measurements;
  assert.deepEqual([whole!.requestBytes, whole!.bytesPerSecond], [65_536, 414 * 65_536]);
  assert.deepEqual(
    [absent!.algorithm, absent!.status, absent!.kernelDriver],
    ['sha256', 'unavailable', 'sha256-ssse3'],
  );
  assert.equal(only(only(setOf('kcapi-retyped.txt').runs).measurements).operation, 'digest');

  const raw = only(setOf('kcapi-raw.txt').runs).measurements;
  assert.deepEqual(
    raw.map(({ algorithm, operation, bytesPerSecond, status }) => [
      algorithm,
      operation,
      bytesPerSecond,
      status,
    ]),
    [
      ['aes-128-cbc', 'encrypt', 2_050_000, 'ok'],
      ['aes-128-cbc', 'decrypt', 2_050_000, 'ok'],
      ['aes-128-cbc', undefined, undefined, 'unavailable'],
    ],
  );
});

test('kcapi-speed: names, units, and rows that do not add up', () => {
  const [xts, gcm, drbg, mac, few, wrong, aio] =
    run(`AES(AESNI) XTS(ASM) 256 |e|   65536 bytes|               1.5 GB/s|16021 ops/s
AES(G) GCM(G) 256       |d|      16 bytes|             999 B/s|62 ops/s
CTR AES-256 DRBG PR     |d|     128 bytes|             12.34 MB/s|96406 ops/s
HMAC SHA-256(MV-CESA)   |d|      64 bytes|             500.03 kB/s|7813 ops/s
AES(G) CBC(G) 128       |e| 1048576 bytes|             5.87 MB/s|5 ops/s
AES(G) CBC(G) 192       |e|    4096 bytes|             9.99 MB/s|500 ops/s
`).measurements;
  assert.deepEqual([xts!.algorithm, xts!.keyBits, xts!.driverHint], ['aes-256-xts', 256, 'AESNI ASM']);
  assert.equal(xts!.doubts[0]!.correctedBytesPerSecond, 1.05e9);
  assert.deepEqual([gcm!.algorithm, gcm!.operation], ['aes-256-gcm', 'decrypt']);
  assert.equal(drbg!.operation, 'random');
  assert.deepEqual([mac!.algorithm, mac!.operation], ['hmac-sha256', 'mac']);
  // Five operations with their fraction cut off say less than the printed rate.
  assert.deepEqual([few!.bytesPerSecond, codes(few!)], [5.87e6, ['FEW_REQUESTS']]);
  assert.deepEqual(codes(wrong!), ['CLAIM_MISMATCH']);
  assert.equal(aio, undefined);
  const { skipped } = only(
    importResults(
      'AES(G) CBC(G) 128       |e|    4096 bytes|\nAES(G) ECB(G) 128 |e| 16 bytes| 1.20 MB/s|75000 ops/s\n',
    ).sets,
  );
  assert.equal(only(skipped).line, 1);
});

test('QEMU: messages of all its versions', () => {
  const own = run(`# enc(aes-128-cbc) chunk 512 bytes 123.45 MB/sec
# dec(aes-128-cbc) chunk 512 bytes 223.45 MB/sec
ok 1 /crypto/cipher/cbc-aes-128/chunk-512
(MSG: hash(sha256): chunk 512 bytes 397123456.78 MB/sec)
# hash(sha384): chunk 512 bytes 378.73 MB/sec
# hmac(sha256): chunk 512 bytes 12.34 MB/sec
cbc(aes256): Testing chunk_size 1024 bytes done: 1858.82 MB in 5.00 secs: 371.76 MB/sec
# hmac(sha256):
# Testing chunk_size 2048 bytes
# done: 904.80 MB in 5.00 secs:
# 180.96 MB/sec
/crypto/benchmark/hash/sha1/bufsize-512: Hash 2 GB chunk size 512 bytes 555.55 MB/sec OK
/crypto/cipher/ctr-aes-128/chunk-4096: Enc chunk 4096 bytes 111.11 MB/sec Dec chunk 4096 bytes 112.12 MB/sec OK
`);
  assert.deepEqual(
    own.measurements.map(({ algorithm, operation, requestBytes, bytesPerSecond }) => [
      algorithm,
      operation,
      requestBytes,
      bytesPerSecond! / MIB,
    ]),
    [
      ['aes-128-cbc', 'encrypt', 512, 123.45],
      ['aes-128-cbc', 'decrypt', 512, 223.45],
      ['sha256', 'digest', 512, 397123456.78 / MIB],
      ['sha384', 'digest', 512, 378.73],
      ['hmac-sha256', 'mac', 512, 12.34],
      ['aes-256-cbc', 'encrypt', 1024, 371.76],
      ['hmac-sha256', 'mac', 2048, 180.96],
      ['sha1', 'digest', 512, 555.55],
      ['aes-128-ctr', 'encrypt', 4096, 111.11],
      ['aes-128-ctr', 'decrypt', 4096, 112.12],
    ],
  );
  assert.deepEqual(codes(own.measurements[2]!), ['UNIT_MISLABELLED']);
  // Rates of other programs, with nothing near that says of what.
  assert.deepEqual(importResults('standard memcpy : 1785.8 MB/sec\nchunk 512 bytes 12.00 MB/sec\n').sets, []);
});

test('QEMU: a table is its title’s, and no other', () => {
  const table = 'chunk_size(bytes)   MB/sec(afalg:x-y)  MB/sec(nettle)\n512   93.03   185.87\n';
  const set = only(
    importResults(`*sha256*\n${table}\nsome words\nand more\nand more\nand more\n${table}`).sets,
  );
  const own = set.runs[0]!.measurements;
  assert.deepEqual(
    own.map(({ algorithm, driver, kernelDriver }) => [algorithm, driver, kernelDriver]),
    [
      ['sha256', 'afalg', 'x-y'],
      [undefined, 'afalg', 'x-y'],
    ],
  );
  assert.ok(codes(own[1]!).includes('ALGORITHM_UNKNOWN'));
});

test('cryptodev: both units, titles lost, drivers named, failures', () => {
  const own = only(setOf('cryptodev-speed.txt').runs);
  assert.deepEqual([own.label, own.measurements.length], ['AES-128-CBC', 8]);
  assert.ok(
    own.measurements.every(
      ({ algorithm, operation, elapsedNs }) =>
        algorithm === 'aes-128-cbc' && operation === 'encrypt' && elapsedNs === 5e9,
    ),
  );

  const set = only(
    importResults(`Testing NULL cipher:
\tEncrypting in chunks of 512 bytes: done. 1.23 GiB in 5.00 secs: 0.25 GiB/sec
Testing AES-128-CBC cipher:
\tEncrypting in chunks of 512 bytes: done. 110.86 MiB in 5.00 secs: 22.17 MiB/sec
\tEncrypting in chunks of 1024 bytes: ioctl(CIOCCRYPT): Invalid argument
\tEncrypting in chunks of 2048 bytes: done. 110.86
MiB in 5.00 secs: 22.17 MiB/sec
requested hash CRYPTO_SHA2_256, got sha256 with driver mv-sha256
\tEncrypting in chunks of 256 bytes: done. 900.86 KB in 5.00 secs: 180.17 KB/sec
Testing AES128 with SHA1 Hash:
requested hash CRYPTO_SHA1, got hmac(sha1) with driver hmac(sha1-generic)
\tEncrypting in chunks of 256 bytes: done. 110.86 MB in 5.00 secs: 99.99 MB/sec
\tEncrypting in chunks of 1024 bytes: do`).sets,
  );
  const [none, aes, sha, both] = set.runs.map(({ measurements }) => measurements);
  assert.deepEqual(codes(none![0]!), ['INTERFACE_ONLY']);
  assert.equal(none![0]!.bytesPerSecond, 0.25 * 2 ** 30);
  assert.deepEqual(
    aes!.map(({ status, bytesPerSecond }) => [status, bytesPerSecond]),
    [
      ['ok', 22.17 * MIB],
      ['failed', undefined],
      ['ok', 22.17 * MIB],
    ],
  );
  assert.deepEqual(
    [sha![0]!.algorithm, sha![0]!.kernelDriver, sha![0]!.bytesPerSecond],
    ['sha256', 'mv-sha256', 180_170],
  );
  assert.equal(both![0]!.operation, 'cipher+mac');
  assert.ok(codes(both![0]!).includes('CLAIM_MISMATCH'));
  assert.deepEqual(
    set.skipped.map(({ line }) => line),
    [5, 13],
  );
  // Without its title this may be AES or NULL.
  const untitled = only(importResults(text('cryptodev-speed.txt').split('\n').slice(1).join('\n')).sets);
  assert.ok(
    only(untitled.runs).measurements.every(
      (measurement) =>
        measurement.algorithm === undefined && codes(measurement).includes('ALGORITHM_UNKNOWN'),
    ),
  );
});

test('several tools in one text', () => {
  const names = [
    'cryptodev-speed.txt',
    'openssl-crlf.txt',
    'cryptsetup-collapsed.txt',
    'kcapi-pretty.txt',
    'report-qemu-tables.txt',
  ];
  const page = names.map((name) => `Notes on ${name.split('-')[0]}\n\n${text(name)}`).join('\nAnd then:\n');
  assert.deepEqual(detect(page), [
    'cryptodev speed',
    'openssl speed',
    'cryptsetup benchmark',
    'kcapi-speed',
    'qemu benchmark-crypto',
  ]);
  const { sets } = importResults(page);
  for (const [index, name] of names.entries()) {
    const alone = setOf(name);
    assert.deepEqual(
      sets[index]!.runs.flatMap(({ measurements }) =>
        measurements.map(({ algorithm, requestBytes, bytesPerSecond }) => [
          algorithm,
          requestBytes,
          bytesPerSecond,
        ]),
      ),
      alone.runs.flatMap(({ measurements }) =>
        measurements.map(({ algorithm, requestBytes, bytesPerSecond }) => [
          algorithm,
          requestBytes,
          bytesPerSecond,
        ]),
      ),
      name,
    );
  }
  assert.throws(() => importOne(page), {
    code: 'INPUT_FILE',
    message: /the output of several tools: cryptodev speed, openssl speed/,
  });
  assert.throws(() => importOne('nothing here', { source: '/home/someone/notes.txt' }), {
    code: 'INPUT_FILE',
    message: 'notes.txt holds no known benchmark output',
  });
  assert.deepEqual(detect(''), []);
});

test('lines that nobody reads are named, and not more of them than anybody reads', () => {
  const { sets, unread } = importResults(`${text('kcapi-retyped.txt')}\nsome words\n\n-----\nmore words\n`);
  assert.equal(sets.length, 1);
  assert.deepEqual(
    unread.map(({ line, text: own }) => [line, own]),
    [
      [3, 'some words'],
      [6, 'more words'],
    ],
  );
  const many = importResults('a line of words\n'.repeat(5000)).unread;
  assert.equal(many.length, 2001);
  assert.equal(many.at(-1)!.reason, '3000 more lines after this one are not listed');
});

test('facts of the machine, without its name', () => {
  const machine = (input: string) =>
    only(importResults(`${input}\n${text('kcapi-retyped.txt')}`).sets).machine;
  assert.deepEqual(machine('Linux berlin-nas 5.10.0-8-arm64 #1 SMP Debian aarch64 GNU/Linux'), {
    kernel: '5.10.0-8-arm64',
  });
  assert.deepEqual(machine('Linux 4.9.156-14 (berlin) \t01/28/18 \t_aarch64_\t(6 CPU)'), {
    kernel: '4.9.156-14',
    architecture: 'aarch64',
    cpus: 6,
  });
  assert.deepEqual(machine('system type\t\t: MediaTek MT7621 ver:1 eco:3'), {
    model: 'MediaTek MT7621 ver:1 eco:3',
  });
  // Two machines in one text: neither's.
  assert.deepEqual(machine('Linux a 5.10.1 #1\nLinux b 6.6.1 #1'), {});
});
