/**
 * Whatever comes in: no importer throws anything but the typed error, none hangs, and nothing that is no print comes out.
 *
 * A test of time would be a test of the machine; what is checked is that the work grows with the input and not with its square, by the
 * share of two runs in one process, with room for a machine that is busy with something else.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { doubtsOf, type ResultSet } from '#src/bench/model.js';
import {
  importResults,
  readJson,
  writeCryptsetup,
  writeCsv,
  writeJson,
  writeKcapiRaw,
  writeOpenssl,
  writeOpensslMr,
} from '#src/interop/index.js';
import { fixture, fixtures, text } from './fixtures.js';

/** Control characters, marks of direction, half characters. */
const UNSEEN = /[\p{Cc}\p{Cs}\u200b-\u200f\u202a-\u202e\u2066-\u2069]/u;

function check(value: unknown, where: string): void {
  if (typeof value === 'string') {
    if (UNSEEN.test(value)) assert.fail(`${where}: ${JSON.stringify(value)}`);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value) || value < 0) assert.fail(`${where}: ${value}`);
  } else if (value === undefined) {
    assert.fail(`${where} is undefined, not absent`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, own] of Object.entries(value)) check(own, `${where}.${key}`);
  }
}

/** Reads, and checks what must be so of any result. `full`: also that it is what the schema describes, and can be written. */
function read(input: string | Uint8Array, full = false): number {
  const { sets, unread } = importResults(input);
  if (!full) {
    // The quick half of `check`, for the many.
    const all = JSON.stringify([sets, unread]);
    if (/\\u[0-9a-f]{4}|[\u007f-\u009f\u202a-\u202e]/.test(all)) assert.fail(all.slice(0, 400));
    return all.length;
  }
  check(sets, 'sets');
  check(unread, 'unread');
  assert.deepEqual(readJson(writeJson(sets)), sets);
  for (const set of sets) {
    writeCsv(set);
    for (const run of set.runs) {
      for (const own of [writeOpenssl(run), writeOpensslMr(run)])
        assert.doesNotMatch(own.stdout, /undefined|NaN/);
      assert.doesNotMatch(writeCryptsetup(run) + writeKcapiRaw(run), /undefined|NaN/);
    }
  }
  return 0;
}

/** What a reader may say of a text that is cut off: what it says of the whole, or a doubt. */
function checkCut(name: string, whole: ResultSet[], cut: ResultSet[]): void {
  const all = whole.flatMap(({ runs }) => runs.flatMap(({ measurements }) => measurements));
  for (const run of cut.flatMap(({ runs }) => runs)) {
    for (const own of run.measurements) {
      if (doubtsOf(run, own).some(({ code }) => ADMITTED.has(code))) continue;
      const same = all.some(
        (other) =>
          other.algorithm === own.algorithm &&
          other.requestBytes === own.requestBytes &&
          other.operation === own.operation &&
          other.status === own.status &&
          near(other.claimedBytesPerSecond, own.claimedBytesPerSecond) &&
          near(other.bytesPerSecond, own.bytesPerSecond),
      );
      if (!same) assert.fail(`${name}: ${JSON.stringify(own)}`);
    }
  }
}

/** Doubts that say that the text was not enough. */
const ADMITTED = new Set([
  'SIZE_UNKNOWN',
  'OPERATION_UNKNOWN',
  'CPU_TIME_NO_COUNTS',
  'ALGORITHM_UNKNOWN',
  'UNIT_ASSUMED',
  'CLAIM_MISMATCH',
]);

function near(a: number | null | undefined, b: number | null | undefined): boolean {
  return typeof a === 'number' && typeof b === 'number' ? Math.abs(a - b) <= 0.02 * a : a === b;
}

test('every fixture, cut after every byte: nothing is thrown, nothing unseen is let out, and no figure is read from half a number', () => {
  for (const name of fixtures) {
    const whole = fixture(name);
    const { sets } = importResults(whole);
    let start = 0;
    const lines: number[] = [0];
    for (let end = 0; end <= whole.length; end++) {
      // The lines before the cut decide what it cuts; the whole from its beginning every so often.
      read(whole.subarray(end % 29 === 0 ? 0 : start, end), end % 97 === 0);
      // Half a number ends within the last line; the lines above it give it its meaning.
      if (end % 3 === 0) checkCut(name, [...sets], [...importResults(whole.subarray(0, end)).sets]);
      if (whole[end] === 0x0a) {
        lines.push(end + 1);
        start = lines.at(-4) ?? 0;
      }
    }
  }
});

test('every fixture, with random edits', () => {
  const inputs = fixtures.map((name) => text(name));
  const pieces = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.constantFrom(
      '\n',
      '\r',
      '|',
      ':',
      'k',
      ' ',
      '0',
      '999999999999999999999',
      '-1',
      '.',
      ',',
      'inf',
      'nan',
      '\u0000',
      '\u001b[2J',
      '<td>',
      '&#27;',
      '> ',
      '=\n',
      '+F:',
      'Doing ',
      'b',
      'MiB/s',
    ),
  );
  const edit = fc.tuple(fc.nat(3000), fc.nat(40), pieces);
  fc.assert(
    fc.property(
      fc.constantFrom(...inputs),
      fc.array(edit, { minLength: 1, maxLength: 6 }),
      (input, edits) => {
        let out = input;
        for (const [at, gone, piece] of edits) {
          const from = at % (out.length + 1);
          out = out.slice(0, from) + piece + out.slice(from + gone);
        }
        read(out, true);
      },
    ),
    { numRuns: 400 },
  );
});

test('two fixtures, dealt line by line', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...fixtures),
      fc.constantFrom(...fixtures),
      fc.array(fc.boolean(), { maxLength: 80 }),
      (a, b, order) => {
        const [first, second] = [text(a).split('\n'), text(b).split('\n')];
        const out = order.map((turn) => (turn ? first : second).shift() ?? '');
        read([...out, ...first, ...second].join('\n'), true);
      },
    ),
    { numRuns: 100 },
  );
});

test('words of the formats, in any order', () => {
  const words = fc.constantFrom(
    ...'Doing aes-128-cbc for 3s on 16 size blocks: 300 aes-128-cbc\'s in 3.00s type bytes 64 evp 1.00k 2.00k infk 0.00 +F:22:a:1.00 +H:16 +DT:a:3:16 +R:1:a:1.0 Got: from Forked child engine "x" set. Invalid aes-cbc 128b 1.0 MiB/s N/A PBKDF2-sha1 argon2i iterations, # Algorithm | Key Encryption enc(aes-128-cbc) chunk 512 MB/sec hash(sha256): Testing NULL cipher: Encrypting in chunks of bytes: done. SM3(G) |e| 4096 bytes| ops/s , \n \n \n < > & ; = *'.split(
      ' ',
    ),
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 60 }), (list) => {
      read(list.join(' ').replaceAll(' \n ', '\n'), true);
    }),
    { numRuns: 1000 },
  );
});

test('bytes of any kind', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      read(bytes, true);
    }),
    { numRuns: 1000 },
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (input) => {
      read(input, true);
    }),
    { numRuns: 1000 },
  );
});

/** A text of about so many characters. */
function lines(length: number, line: (n: number) => string): string {
  const out: string[] = [];
  for (let n = 0, size = 0; size < length; n++) {
    const own = line(n);
    out.push(own);
    size += own.length + 1;
  }
  return out.join('\n');
}

const repeat = (piece: string) => (length: number) => piece.repeat(Math.ceil(length / piece.length));
const each = (line: (n: number) => string) => (length: number) => lines(length, line);

/** What a reader that goes back, or looks ahead without end, would take the square of its length for. */
const LONG: Record<string, (length: number) => string> = {
  'one letter': repeat('a'),
  'opening brackets': repeat('<'),
  'opening parentheses': repeat('('),
  cells: repeat('<td>'),
  'cells, a line each': each(() => '<table><tr><td>1.00k'),
  escapes: repeat('\u001b['),
  'quote marks': repeat('> '),
  digits: repeat('1'),
  dots: repeat('1.'),
  colons: repeat('a: '),
  hexadecimal: repeat('0f'),
  base64: repeat('aB3/'),
  addresses: repeat('a@'),
  blanks: repeat(' '),
  'blank lines': repeat('\n'),
  values: repeat('1.00k '),
  'rows in one line': repeat('aes-128-cbc 1.00k 2.00k '),
  beginnings: repeat(' Doing aes-128-cbc for 1 '),
  'soft breaks': each(() => `${'=41'.repeat(20)}=`),
  'steps, open': each(() => 'Doing aes-128-cbc for 3s on 16 size blocks: '),
  'steps of many sizes': each(
    (n) => `Doing aes-128-cbc for 3s on ${n + 1} size blocks: 1 aes-128-cbc's in 3.00s`,
  ),
  'steps of many names': each((n) => `Doing x${n} for 3s on 16 size blocks: 1 x${n}'s in 3.00s`),
  'rows of one name': each(() => 'aes-128-cbc 1.00k 2.00k 3.00k 4.00k 5.00k'),
  'rows of many labels': each((n) => `x${n} aes-128-cbc 1.00k 2.00k 3.00k 4.00k 5.00k note`),
  'rows without names': (length) => `type 16 bytes 64 bytes\n${lines(length, () => '1.00k 2.00k')}`,
  'rows that are cut': (length) =>
    `type 16 bytes 64 bytes 256 bytes\n${lines(length, () => 'aes-128-cbc 1.00k 2.0')}`,
  'headers that go on': each(() => 'type 16 bytes 64 bytes 25'),
  commands: each(() => '$ openssl speed -evp aes-128-cbc'),
  mentions: each(() => 'I typed openssl speed -evp aes-128-cbc there'),
  headings: each((n) => `## heading ${n}`),
  prose: each((n) => `some words that are no line of any benchmark, number ${n}`),
  '-mr, announced': each((n) => `+DT:x${n}:3:16`),
  '-mr, many names': each((n) => `+F:22:x${n}:1.00:2.00`),
  'children of -multi': each((n) => `Got: +F:22:x${n}:1.00:2.00 from 1`),
  'engine errors': each(() => '40:error:4000006D:engine routines:dynamic_load:init failed:x'),
  'disk rows': each((n) => `aes-cbc 128b 1.0 MiB/s x${n}`),
  'disk rows in one line': repeat('aes-cbc 128b 1.0 MiB/s 2.0 MiB/s '),
  'QEMU’s tables': each((n) => `chunk MB/sec(d${n}:x)\n512 1.00`),
  'chunks, open': each(() => 'Encrypting in chunks of 512 bytes: '),
  json: (length) => `{"format":"hwcrypt-results","x":${'['.repeat(length)}`,
};

for (const [name, make] of Object.entries(LONG)) {
  test(`long: ${name}`, { timeout: 60_000 }, () => {
    const time = (length: number): number => {
      const input = make(length);
      const start = process.cpuUsage().user;
      try {
        importResults(input);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'INPUT_FILE');
      }
      return process.cpuUsage().user - start;
    };
    time(10_000);
    const [short, long] = [time(20_000), time(160_000)];
    // Eight times as long: eight times the time, or sixty-four for a square. Below a twentieth of a second it is only noise.
    assert.ok(
      long < 40_000 || long < 28 * Math.max(short, 4000),
      `${short} µs for an eighth, ${long} µs for the whole`,
    );
  });
}

test('five megabytes: one line, random words, and a text of real lines', { timeout: 60_000 }, () => {
  const size = 5 * 2 ** 20;
  assert.equal(importResults('x'.repeat(size)).unread.length, 1);
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48271) % 0x7fffffff;
    return seed % below;
  };
  const words = lines(size, () => Array.from({ length: 8 }, () => random(1e9).toString(36)).join(' '));
  assert.deepEqual(importResults(words).sets, []);
  const table = text('openssl-crlf.txt');
  const log = lines(size / 8, (n) => `kernel: line ${n} of a log that somebody pasted along`);
  assert.equal(importResults(`${log}\n${table}`).sets[0]!.runs[0]!.measurements.length, 6);
});

test('so many lines are read, and what comes after is named; lines that hold nothing do not count', () => {
  const table = text('openssl-crlf.txt');
  const row = 'aes-256-cbc      10000.00k    20000.00k';
  const log = (count: number): string => `${'\n'.repeat(20)}words of a log\n`.repeat(count);
  assert.equal(importResults(`${log(19_900)}${table}`).sets[0]!.runs[0]!.measurements.length, 6);
  const { sets, unread } = importResults(`${log(20_000)}${row}\n${table}`);
  assert.deepEqual(sets, []);
  assert.match(unread.at(-1)!.reason, /a text has 20000 lines at most/);
  assert.equal(unread.at(-1)!.line, 20_000 * 21 + 1);
  // What is measured is bounded, however long the text: these are ten times as many lines that each give figures.
  const measured = (rows: number): number =>
    importResults(`type 16 bytes 64 bytes\n${`${row}\n`.repeat(rows)}`)
      .sets.flatMap(({ runs }) => runs)
      .reduce((sum, { measurements }) => sum + measurements.length, 0);
  assert.equal(measured(200_000), measured(20_000));
});
