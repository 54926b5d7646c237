/** What hwcrypt speed writes in other tools' layouts, read back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Measurement } from '#src/bench/model.js';
import { importOne, importResults, qemuLine, qemuTable } from '#src/interop/index.js';
import { only } from './fixtures.js';

const TABLE = `The 'numbers' are in 1000s of bytes per second processed.
type             16 bytes   1024 bytes
aes-128-cbc      10000.00k   100000.00k
`;

function measurement(parts: Partial<Measurement>): Measurement {
  return {
    algorithm: 'aes-128-cbc',
    algorithmText: 'aes-128-cbc',
    operation: 'encrypt',
    requestBytes: 512,
    bytesPerSecond: 100 * 2 ** 20,
    basis: 'elapsed',
    status: 'ok',
    estimated: false,
    doubts: [],
    ...parts,
  };
}

test('the options line says driver and direction; a name in lower case is EVP all the same', () => {
  const run = (options: string) => only(importOne(`version: 3.0.19\noptions: ${options}\n${TABLE}`).runs);
  const own = run('hwcrypt 0.1.0 driver=afalg:cbc(aes-generic) operation=decrypt');
  assert.deepEqual(own.doubts, []);
  for (const { doubts, driver, kernelDriver, operation, basis } of own.measurements) {
    assert.deepEqual(doubts, []);
    assert.deepEqual(
      [driver, kernelDriver, operation, basis],
      ['afalg', 'cbc(aes-generic)', 'decrypt', 'elapsed'],
    );
  }
  const bare = run('hwcrypt 0.1.0');
  assert.deepEqual(bare.measurements[0]?.doubts, []);
  assert.equal(bare.measurements[0]?.driver, undefined);
  assert.deepEqual(
    bare.doubts.map(({ code }) => code),
    ['OPERATION_UNKNOWN'],
  );
  // OpenSSL's own options are no such line, whatever they hold.
  const theirs = run('bn(64,64) hwcrypt 0.1.0 driver=afalg');
  assert.equal(theirs.measurements[0]?.driver, undefined);
  assert.equal(theirs.measurements[0]?.doubts[0]?.code, 'NOT_EVP');
});

test('its command line means elapsed time, and parts of a second are read', () => {
  const set = importOne(`$ hwcrypt speed -seconds 0.25 --driver libcrypto,afalg aes-128-cbc -decrypt
Doing aes-128-cbc for 0.25s on 16 size blocks: 156250 aes-128-cbc's in 0.25s
Doing aes-128-cbc for 0.25s on 1024 size blocks: 24414 aes-128-cbc's in 0.25s
${TABLE}`);
  const own = only(set.runs);
  assert.deepEqual(own.doubts, []);
  for (const { doubts, operation, basis, elapsedNs } of own.measurements) {
    assert.deepEqual([doubts, operation, basis, elapsedNs], [[], 'decrypt', 'elapsed', 250_000_000]);
  }
  const raw = importOne(
    '$ hwcrypt speed -mr\n+DT:AES-128-CBC:0.5:16\n+R:100:AES-128-CBC:0.500000\n+H:16\n+F:25:AES-128-CBC:3200.00\n',
  );
  assert.deepEqual(only(raw.runs).measurements[0]?.doubts, []);
});

test('what is added below a table says nothing new; a comment that is another’s heading stays one', () => {
  const section = `# aes-128-cbc, encrypt: MB/s of 10^6 bytes, median of the rounds; ratio to libcrypto
# request  libcrypto    CPU   node   ratio   CPU
#    16 B       143!   7.06  13.5!  0.095x  80.4
`;
  const plot = '\nMB/s\n  |\n10+  A...\n  ++-+-\n 16 B 1 KiB\n\n# libcrypto is never slower than node\n';
  const header = 'version: 3.0.19\noptions: hwcrypt 0.1.0 driver=node operation=encrypt\n';
  const { sets, unread } = importResults(
    `${header}${TABLE}\n${section}${plot}\n${section}\n# the second board\n$ openssl speed -elapsed -evp aes-128-cbc\n${TABLE}`,
  );
  assert.deepEqual(unread, []);
  const { runs, skipped } = only(sets);
  assert.deepEqual(skipped, []);
  assert.deepEqual(
    runs.map(({ label }) => label),
    ['aes-128-cbc', 'the second board'],
  );
});

test('the lines of other drivers are runs of their own, in either order of the two outputs', () => {
  const counts = `Doing aes-128-cbc for 0.25s on 16 size blocks: 156250 aes-128-cbc's in 0.25s
  node: 17856 of 16 bytes in 0.24s
  afalg:cbc(aes-generic): 100 of 16 bytes in 0.25s
Doing aes-128-cbc for 0.25s on 1024 size blocks: 24414 aes-128-cbc's in 0.25s
  node: 2538 of 1024 bytes in 0.25s
  afalg:cbc(aes-generic): 90 of 1024 bytes in 0.25s
`;
  const table = `version: 3.0.19\noptions: hwcrypt 0.1.0 driver=libcrypto:default operation=decrypt\n${TABLE}`;
  for (const text of [counts + table, table + counts]) {
    const { sets, unread } = importResults(text);
    assert.deepEqual(unread, []);
    const { runs, skipped } = only(sets);
    assert.deepEqual(skipped, []);
    assert.deepEqual(
      runs.map(({ label, measurements: [first, second] }) => [
        ...[label, first?.driver, first?.kernelDriver, first?.operation, first?.basis],
        ...[first?.requests, first?.elapsedNs, second?.requestBytes, second?.requests],
      ]),
      [
        ['aes-128-cbc', 'libcrypto', 'default', 'decrypt', 'elapsed', 156250, 250_000_000, 1024, 24414],
        ['node', 'node', undefined, 'decrypt', 'elapsed', 17856, 240_000_000, 1024, 2538],
        [
          'afalg:cbc(aes-generic)',
          'afalg',
          'cbc(aes-generic)',
          'decrypt',
          'elapsed',
          100,
          250_000_000,
          1024,
          90,
        ],
      ],
    );
  }
  // Of another program such a line would be anything.
  assert.equal(importResults(counts + TABLE).unread.length, 4);
});

test('QEMU’s lines and tables', () => {
  assert.equal(qemuLine(measurement({})), 'enc(aes-128-cbc) chunk 512 bytes 100.00 MB/sec \n');
  assert.equal(
    qemuLine(measurement({ algorithm: 'hmac-sha256', operation: 'mac' })),
    'hmac(sha256): chunk 512 bytes 100.00 MB/sec\n',
  );
  const { bytesPerSecond, ...failed } = measurement({});
  assert.equal(qemuLine(failed), '');

  const sizes = [512, 4096];
  const column = (driver: string, kernelDriver: string, factor: number) => ({
    driver,
    kernelDriver,
    measurements: sizes.map((requestBytes) =>
      measurement({ requestBytes, bytesPerSecond: factor * requestBytes * 2 ** 20, operation: 'decrypt' }),
    ),
  });
  const text = qemuTable('dec(aes-128-cbc)', [
    column('afalg', 'cbc-aes-aesni', 1),
    column('libcrypto', 'default', 0.5),
  ]);
  const set = importOne(text);
  assert.equal(set.tool, 'qemu benchmark-crypto');
  assert.deepEqual(
    set.runs.flatMap(({ measurements }) =>
      measurements.map((own) => [
        own.driver,
        own.kernelDriver,
        own.operation,
        own.requestBytes,
        own.bytesPerSecond,
      ]),
    ),
    [
      ['afalg', 'cbc-aes-aesni', 'decrypt', 512, 512 * 2 ** 20],
      ['afalg', 'cbc-aes-aesni', 'decrypt', 4096, 4096 * 2 ** 20],
      ['libcrypto', 'default', 'decrypt', 512, 256 * 2 ** 20],
      ['libcrypto', 'default', 'decrypt', 4096, 2048 * 2 ** 20],
    ],
  );
  assert.ok(set.runs.every(({ measurements }) => measurements.every(({ doubts }) => doubts.length === 0)));
});
