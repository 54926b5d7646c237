/** What is written, against what the tools themselves print; and hwcrypt's own JSON. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { type Measurement, RESULTS_SCHEMA, type ResultSet, type Run } from '#src/bench/model.js';
import {
  cryptsetupCipherLine,
  cryptsetupKdfLine,
  importResults,
  readJson,
  writeCryptsetup,
  writeCsv,
  writeJson,
  writeKcapiRaw,
  writeOpenssl,
  writeOpensslMr,
} from '#src/interop/index.js';
import { fixed } from '#src/interop/numbers.js';
import { fixtures, only, setOf, text } from './fixtures.js';

const run = promisify(execFile);

function measurement(parts: Partial<Measurement>): Measurement {
  return {
    algorithm: 'aes-128-cbc',
    algorithmText: 'aes-128-cbc',
    basis: 'elapsed',
    status: 'ok',
    estimated: false,
    doubts: [],
    ...parts,
  };
}

function runOf(measurements: readonly Measurement[], kdfs: Run['kdfs'] = []): Run {
  return { label: 'x', measurements, kdfs, doubts: [], notes: [] };
}

test('openssl text: what was read is written as it was', () => {
  const whole = text('openssl-crlf.txt').replaceAll('\r', '');
  const own = only(setOf('openssl-crlf.txt').runs);
  const header = (key: string): string => new RegExp(`^${key}: (.*)$`, 'm').exec(whole)![1]!;
  const { stderr, stdout } = writeOpenssl(own, {
    version: header('version'),
    builtOn: header('built on'),
    options: header('options'),
    compiler: header('compiler'),
    cpuInfo: header('CPUINFO'),
  });
  assert.equal(stderr + stdout, whole);
});

test('openssl -mr: what was read is written as it was', () => {
  for (const name of ['openssl-3.0-mr.txt', 'openssl-3.0-mr-aead.txt']) {
    const { stderr, stdout } = writeOpensslMr(only(setOf(name).runs));
    assert.equal(stderr + stdout, text(name));
  }
});

test('openssl: this machine’s own output, text and -mr, by -elapsed', { timeout: 60_000 }, async (t) => {
  const version = await run('openssl', ['version']).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
  if (!version?.startsWith('OpenSSL 3.')) return t.skip(`no openssl 3: ${version}`);
  const options = ['speed', '-elapsed', '-seconds', '1', '-bytes', '1024', '-evp', 'aes-128-cbc'];
  const [plain, raw] = await Promise.all([run('openssl', options), run('openssl', [...options, '-mr'])]);

  const { sets, unread } = importResults(plain.stderr + plain.stdout);
  assert.deepEqual(unread, []);
  const [own] = only(only(sets).runs).measurements;
  assert.deepEqual(
    [own!.algorithm, own!.requestBytes, own!.basis, own!.status],
    ['aes-128-cbc', 1024, 'elapsed', 'ok'],
  );
  const header = (key: string): string => new RegExp(`^${key}: (.*)$`, 'm').exec(plain.stdout)![1]!;
  const written = writeOpenssl(only(only(sets).runs), {
    version: header('version'),
    builtOn: header('built on'),
    options: header('options'),
    compiler: header('compiler'),
    cpuInfo: header('CPUINFO'),
  });
  // 3.2 and later say `ops`; the rest is the same. The figure itself is printed to the precision that it is read with.
  if (version.startsWith('OpenSSL 3.0')) assert.equal(written.stderr, plain.stderr);
  assert.equal(written.stdout, plain.stdout);

  // -mr prints the seconds to a millionth.
  const mr = writeOpensslMr(only(only(importResults(raw.stderr + raw.stdout).sets).runs));
  assert.equal(mr.stderr, raw.stderr);
  assert.equal(mr.stdout, raw.stdout);
});

test('openssl: slow, failed and missing figures', () => {
  const { stdout } = writeOpenssl(
    runOf([
      measurement({ requestBytes: 16, bytesPerSecond: 10_000 }),
      measurement({ requestBytes: 64, bytesPerSecond: 10_001 }),
      measurement({ requestBytes: 1024, status: 'failed' }),
      measurement({
        algorithm: 'sha256',
        algorithmText: 'sha256',
        requestBytes: 64,
        bytesPerSecond: 1234567.125,
      }),
    ]),
  );
  assert.equal(
    stdout,
    `The 'numbers' are in 1000s of bytes per second processed.
type             16 bytes     64 bytes   1024 bytes
aes-128-cbc      10000.00        10.00k        0.00 
sha256               0.00      1234.57k        0.00 
`,
  );
  // What is written is read again.
  assert.deepEqual(
    only(only(importResults(stdout).sets).runs).measurements.map(({ status }) => status),
    ['ok', 'ok', 'failed', 'failed', 'ok', 'failed'],
  );
});

test('%.2f and %.1f are C’s: exact, ties to even', () => {
  const values = [
    0,
    0.005,
    0.015,
    0.125,
    0.375,
    1.005,
    2.5,
    1234567.125,
    1e15 + 0.375,
    99999.995,
    12345.675,
    1e21,
  ];
  const c = execFileSync('printf', ['%.2f\\n', ...values.map(String)], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });
  // The shell's printf may calculate with more digits than a double; only exact values are the same in both.
  const exact = values.map((value) => [0.125, 0.375, 2.5, 1234567.125, 0].includes(value));
  for (const [index, line] of c.trim().split('\n').entries())
    if (exact[index]) assert.equal(fixed(values[index]!, 2), line);
  assert.equal(fixed(0.125, 2), '0.12');
  assert.equal(fixed(0.375, 2), '0.38');
  assert.equal(fixed(2.5, 0), '2');
  assert.equal(fixed(3.5, 0), '4');
  assert.equal(fixed(1.005, 2), '1.00');
  assert.equal(fixed(Number.POSITIVE_INFINITY, 2), 'inf');
});

test('cryptsetup: rows, N/A, key derivation', { timeout: 60_000 }, async (t) => {
  assert.equal(
    cryptsetupCipherLine('aes-cbc', 128, 11.3 * 2 ** 20, 2458.2 * 2 ** 20),
    '        aes-cbc        128b        11.3 MiB/s      2458.2 MiB/s',
  );
  assert.equal(
    cryptsetupCipherLine('serpent-xts', 512),
    '    serpent-xts        512b               N/A               N/A',
  );
  const whole = text('cryptsetup-noafalg.txt');
  const own = only(setOf('cryptsetup-noafalg.txt').runs);
  assert.equal(writeCryptsetup(own), whole.slice(whole.indexOf('# Tests')));
  assert.equal(cryptsetupKdfLine({ ...own.kdfs[0]!, status: 'unavailable' }), 'PBKDF2-sha1          N/A');
  assert.equal(cryptsetupKdfLine({ ...own.kdfs[5]!, status: 'unavailable' }), 'argon2i    N/A');

  // A whole table comes back as it was read.
  const table = `${writeCryptsetup(only(setOf('cryptsetup-collapsed.txt').runs))}`;
  assert.equal(writeCryptsetup(only(only(importResults(table).sets).runs)), table);
  assert.match(table, /^# {5}Algorithm \| {7}Key \| {6}Encryption \| {6}Decryption$/m);

  const live = await run('cryptsetup', ['benchmark', '--pbkdf', 'pbkdf2', '--hash', 'sha256'], {
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, LC_ALL: 'C' },
  }).catch(() => undefined);
  if (!live) return t.diagnostic('no cryptsetup here');
  assert.equal(writeCryptsetup(only(only(importResults(live.stdout).sets).runs)), live.stdout);
});

test('cryptsetup: of several sizes the one nearest to its own, and only what it has names for', () => {
  const table = writeCryptsetup(
    runOf([
      measurement({ operation: 'encrypt', requestBytes: 512, bytesPerSecond: 1 * 2 ** 20 }),
      measurement({ operation: 'encrypt', requestBytes: 32_768, bytesPerSecond: 2 * 2 ** 20 }),
      measurement({ operation: 'decrypt', requestBytes: 4096, bytesPerSecond: 3 * 2 ** 20 }),
      measurement({ algorithm: 'sha256', algorithmText: 'sha256', operation: 'digest', bytesPerSecond: 1 }),
      measurement({
        algorithm: 'aes-256-xts',
        algorithmText: 'aes-256-xts',
        operation: 'encrypt',
        bytesPerSecond: 4 * 2 ** 20,
      }),
    ]),
  );
  assert.deepEqual(table.split('\n').slice(2, -1), [
    '        aes-cbc        128b         2.0 MiB/s         3.0 MiB/s',
    '        aes-xts        512b         4.0 MiB/s               N/A',
  ]);
});

test('kcapi-speed -r', () => {
  const raw = text('kcapi-raw.txt');
  assert.equal(
    writeKcapiRaw(only(setOf('kcapi-raw.txt').runs)),
    `${raw.split('\n').slice(0, 2).join('\n')}\n`,
  );
  const lines = writeKcapiRaw(
    runOf([
      measurement({
        operation: 'encrypt',
        requestBytes: 16,
        bytesPerSecond: 1600.9,
        kernelDriver: 'cbc(aes-generic)',
      }),
      measurement({
        algorithm: 'aes-256-xts',
        operation: 'decrypt',
        requestBytes: 512,
        bytesPerSecond: 5120,
        driver: 'afalg',
      }),
      measurement({
        algorithm: 'hmac-sha256',
        operation: 'mac',
        requestBytes: 64,
        bytesPerSecond: 64,
        driver: 'afalg',
      }),
    ]),
  );
  assert.equal(
    lines,
    'AES(cbc-aes-generic) CBC(cbc-aes-generic) 128,e,16,1600,100\nAES(afalg) XTS(afalg) 256,d,512,5120,10\nHMAC SHA-256(afalg),d,64,64,1\n',
  );
  assert.deepEqual(
    only(only(importResults(lines).sets).runs).measurements.map(
      ({ algorithm, operation, bytesPerSecond }) => [algorithm, operation, bytesPerSecond],
    ),
    [
      ['aes-128-cbc', 'encrypt', 1600],
      ['aes-256-xts', 'decrypt', 5120],
      ['hmac-sha256', 'mac', 64],
    ],
  );
});

test('JSON: every fixture comes back as it went', () => {
  for (const name of fixtures) {
    const { sets } = importResults(text(name), { source: name });
    if (sets.length === 0) continue;
    assert.deepEqual(readJson(writeJson(sets)), sets, name);
    const [first] = sets;
    assert.deepEqual(importResults(`\ufeff${writeJson(first!)}`).sets, [first], name);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: a file that is about to be broken has no type
type Loose = Record<string, any>;

test('JSON: what is wrong is named, with its place; what is unknown is left out', () => {
  const [set] = importResults(text('kcapi-raw.txt')).sets as [ResultSet];
  const change = (edit: (copy: Loose) => void): string => {
    const copy = JSON.parse(writeJson(set)) as Loose;
    edit(copy);
    return JSON.stringify(copy);
  };
  const refuses = (json: string, message: RegExp): void => {
    assert.throws(() => readJson(json), { name: 'HwcryptError', code: 'INPUT_FILE', message });
  };
  refuses('{"format":"hwcrypt-results"', /not whole JSON/);
  refuses('[1]', /\[0\]: no object/);
  refuses('{}', /format is not "hwcrypt-results"/);
  refuses(
    change((copy) => (copy['version'] = 2)),
    /version 2 is newer/,
  );
  refuses(
    change((copy) => delete copy['runs']),
    /the file: has no "runs"/,
  );
  refuses(
    change((copy) => (copy['tool'] = 'x')),
    /the file\.tool: is none of hwcrypt, /,
  );
  refuses(
    change((copy) => (copy['runs'][0].measurements[0].requestBytes = -1)),
    /runs\[0\]\.measurements\[0\]\.requestBytes: is below 0/,
  );
  refuses(
    change((copy) => (copy['runs'][0].measurements[0].requestBytes = 1.5)),
    /no whole number/,
  );
  refuses(
    change((copy) => (copy['runs'][0].measurements[0].estimated = 0)),
    /neither true nor false/,
  );
  refuses(
    change((copy) => (copy['runs'] = {})),
    /no list/,
  );
  const more = change((copy) => {
    copy['more'] = 1;
    copy['runs'][0].more = { a: 1 };
    copy['source'] = 'a\u001b[31mb';
  });
  assert.deepEqual(readJson(more), [{ ...set, source: 'a[31mb' }]);
  assert.deepEqual(readJson(more.replace('"more":1', '"__proto__":{"a":1}')), [{ ...set, source: 'a[31mb' }]);
});

test('JSON: nothing but the typed error, whatever the text', () => {
  const whole = writeJson(setOf('kcapi-raw.txt'));
  fc.assert(
    fc.property(fc.nat(whole.length), fc.string({ maxLength: 4 }), fc.nat(3), (at, insert, gone) => {
      const edited = whole.slice(0, at) + insert + whole.slice(at + gone);
      try {
        for (const set of readJson(edited)) assert.equal(set.format, 'hwcrypt-results');
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'INPUT_FILE', String(error));
      }
    }),
    { numRuns: 500 },
  );
});

test('the schema is a schema: every name that it refers to is there, and it describes what is written', () => {
  const names = new Set(Object.keys(RESULTS_SCHEMA.$defs ?? {}));
  for (const [, name] of JSON.stringify(RESULTS_SCHEMA).matchAll(/"#\/\$defs\/(\w+)"/g))
    assert.ok(names.has(name!), name);
  assert.equal(RESULTS_SCHEMA.$schema, 'https://json-schema.org/draft/2020-12/schema');
});

test('CSV: a line each, quoted where needed, no formulas', () => {
  const set: ResultSet = {
    ...setOf('cryptsetup-collapsed.txt'),
    source: 'a "b", c.txt',
  };
  const lines = writeCsv(set).split('\r\n');
  assert.equal(lines.at(-1), '');
  assert.equal(lines.length, 1 + 18 + 7 + 1);
  const columns = lines[0]!.split(',');
  assert.ok(lines[1]!.startsWith('"a ""b"", c.txt",cryptsetup benchmark,'));
  const row = lines[1]!.replace(/^"(?:[^"]|"")*"/, 'x').split(',');
  assert.equal(row.length, columns.length);
  assert.equal(row[columns.indexOf('algorithm')], 'aes-128-cbc');
  assert.equal(row[columns.indexOf('doubts')], 'OVERSTATED_N_PLUS_1 REQUEST_SIZE_UNLIKE_USE');
  const infinite = writeCsv(setOf('openssl-user-time.txt')).split('\r\n').at(-2)!.split(',');
  assert.equal(infinite[columns.indexOf('claimed_bytes_per_second')], 'inf');
  const formula = writeCsv({
    ...set,
    runs: [{ ...set.runs[0]!, label: '=1+1', kdfs: [], measurements: [set.runs[0]!.measurements[0]!] }],
  });
  assert.match(formula, /,'=1\+1,/);
});
