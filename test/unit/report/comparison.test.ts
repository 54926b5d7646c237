/** Comparisons as text, plot, JSON and CSV: what is in them, how wide they are, and that nothing but words and numbers is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compare, compareKdfs } from '#src/bench/comparison/index.js';
import type { ResultSet } from '#src/bench/model.js';
import { importResults } from '#src/interop/index.js';
import { comparisonCsv, comparisonJson } from '#src/report/comparison/data.js';
import { comparisonText } from '#src/report/comparison/index.js';
import { throughputPlot } from '#src/report/plot.js';
import { curve, GNUBEE, MT7628, MT7688, QEMU, row, run, set } from '../bench/results.js';
import { fixture, fixtures } from '../interop/fixtures.js';

const read = (...files: [string, string][]): ResultSet[] =>
  files.flatMap(([source, text]) => importResults(text, { source }).sets);

const mt7688 = read(['mt7688-software.txt', MT7688.software], ['mt7688-mtk-aes.txt', MT7688.engine]);
const gnubee = read(['gnubee-before.txt', GNUBEE.before], ['gnubee-after.txt', GNUBEE.after]);

interface Shape {
  readonly columns?: number;
  readonly ascii?: boolean;
  readonly plot?: boolean;
}

function text(sets: readonly ResultSet[], { columns = 80, ascii = false, plot = false }: Shape = {}): string {
  return comparisonText(compare(sets), sets, { columns, ascii, plot });
}

const widest = (out: string): number => Math.max(...out.split('\n').map((line) => [...line].length));

test('a curve: letters, verdict, figures beside what was printed, the fits, the notes', () => {
  const out = text(mt7688);
  assert.match(out, /^A {2}software: mt7688-software\.txt, openssl speed\nB {2}mtk-aes: mt7688-mtk-aes\.txt/);
  assert.match(out, /^aes-128-cbc, encryption\n-{23}\nBelow about 8\d B software is faster/m);
  assert.match(out, /^request +A MB\/s +B MB\/s +B printed +B\/A$/m);
  assert.match(out, /^ +16 B +~6\.63 +~1\.47 +\S+ +0\.22x$/m);
  assert.match(out, /^ +8 KiB +~8\.06 +~125 +\S+ +15\.5x$/m);
  assert.match(
    out,
    /^B {2}1\d\.\d us a request \(± .* %\), 6\.\d+ ns a byte \(± .* %\): about\s+\d+ MB\/s\s+for/m,
  );
  assert.match(out, /^What the figures stand on:$/m);
  assert.match(out, /^B: divided by 0\.11 s of user CPU time/m);
});

test('a matrix: who wins how many, a line for each, corrected where the tool counts too much', () => {
  const out = text(gnubee);
  assert.match(out, /^Requests of 64 KiB\n-+\nafter is faster in 4 of 10 \(2\.5x to 3\.5x\): aes-128-cbc/m);
  assert.match(out, /^aes-128-cbc, encryption +11\.8 +41\.2 +3\.48x +3\.70x$/m);
  assert.match(out, /^serpent-256-cbc, encryption +9\.65 +9\.86 +1\.02= +1\.02=$/m);
  // Once each, however many subjects there are.
  assert.equal(out.match(/too high by \(n\+1\)\/n/g)?.length, 1);
});

test('a single subject of one size has its sentence', () => {
  const out = text([curve('a', { 64: 1e6 }), curve('b', { 64: 2e6 })]);
  assert.match(out, /^b is 2\.0x as fast as a at 64 B\.$/m);
});

test('what only one has, and what has no size in common, is said', () => {
  const out = text([
    set('a', [run([row(16, 5), row(16, 5, { algorithm: 'sha256', operation: 'digest' })])]),
    curve('b', { 64: 2e6 }),
  ]);
  assert.match(out, /^No size in common: a has 16 B, b 64 B\.$/m);
  assert.match(out, /^Only in a: sha256\.$/m);
});

test('it fits: 80 columns, and 40', () => {
  for (const sets of [
    mt7688,
    gnubee,
    read(['qemu.txt', QEMU]),
    read(['s.txt', MT7628.cbc.software], ['e.txt', MT7628.cbc.engine]),
    read(['rows.txt', fixture('openssl-evp-rows.txt').toString()]),
  ]) {
    for (const plot of [false, true]) {
      assert.ok(widest(text(sets, { plot })) <= 80, text(sets, { plot }));
    }
  }
  // A matrix's line needs the name, two figures and a ratio.
  for (const sets of [mt7688, read(['qemu.txt', QEMU])]) {
    const out = text(sets, { columns: 40, plot: true });
    assert.ok(widest(out) <= 44, out);
  }
});

test('more series than there is room for fall into several tables', () => {
  const sets = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name, i) =>
    curve(name, { 16: 1e6 * (i + 1), 64: 4e6 * (i + 1) }),
  );
  const out = text(sets);
  assert.ok(widest(out) <= 80);
  assert.equal(out.match(/^request +A MB\/s/gm)?.length, 2);
  for (const letter of ['B', 'C', 'D', 'E', 'F', 'G']) assert.match(out, new RegExp(` ${letter}/A`));
});

test('key derivations beside each other', () => {
  const sets = ['cryptsetup-noafalg.txt', 'cryptsetup-collapsed.txt'].flatMap(
    (source) => importResults(fixture(source), { source }).sets,
  );
  const out = comparisonText(compare(sets), sets, {
    columns: 80,
    ascii: true,
    plot: false,
    kdfs: compareKdfs(sets),
  });
  assert.match(out, /^A {2}noafalg: cryptsetup-noafalg\.txt/);
  assert.match(
    out,
    /^Key derivation\n-+\niterations a second +A +B +B\/A\nPBKDF2 sha1, 256 bits +\d+ +\d+ +0\.\d+x$/m,
  );
  assert.match(
    out,
    /^iterations and memory in 2000 ms +A +B\nargon2i, 256 bits +4 x \d+ MiB, \d thr\. +4 x \d+ MiB/m,
  );
  assert.ok(widest(out) <= 80, out);
});

test('CPU time is in a table of its own where all of it is known', () => {
  const cpu = { requests: 1000, userNs: 4000, systemNs: 12_000 };
  const out = text([curve('a', { 16: 1e6, 64: 2e6 }, cpu), curve('b', { 16: 2e6, 64: 4e6 })]);
  assert.match(out, /^CPU time, user and system, ns a byte:\nrequest +A\n +16 B +1\.00\n +64 B +0\.25$/m);
  assert.doesNotMatch(text(mt7688), /CPU time, user and system/);
});

test('ASCII alone where nothing else is shown', () => {
  const out = text(read(['qemu.txt', QEMU]), { ascii: true, plot: true });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the range of ASCII
  assert.match(out, /^[\x00-\x7f]*$/);
  assert.match(out, /\+- /);
});

test('the plot: letters at the points, sizes below, rates on the left; nothing where there is nothing to draw', () => {
  const curves = [
    { letter: 'A', points: [16, 64, 1024].map((requestBytes) => ({ requestBytes, bytesPerSecond: 5e6 })) },
    {
      letter: 'B',
      points: [16, 64, 1024].map((requestBytes) => ({ requestBytes, bytesPerSecond: requestBytes * 1e5 })),
    },
  ];
  const out = throughputPlot(curves, { columns: 80, ascii: true });
  assert.equal(out.match(/A/g)?.length, 3);
  assert.equal(out.match(/(?<!M)B(?!\/s)/g)?.length, 6, 'three points, and three sizes with their unit');
  assert.match(out, /16 B +64 B +1 KiB$/m);
  assert.match(out, /^ *100[+|]/m);
  assert.ok(widest(out) <= 80);
  assert.equal(throughputPlot([], { columns: 80, ascii: true }), '');
  assert.equal(throughputPlot(curves, { columns: 20, ascii: true }), '');
  assert.equal(
    throughputPlot([{ letter: 'A', points: [{ requestBytes: 1, bytesPerSecond: 1 }] }], {
      columns: 80,
      ascii: true,
    }),
    '',
  );
});

test('points that coincide are a star', () => {
  const points = [16, 64].map((requestBytes) => ({ requestBytes, bytesPerSecond: 5e6 }));
  const out = throughputPlot(
    [
      { letter: 'A', points },
      { letter: 'B', points },
    ],
    { columns: 60, ascii: true },
  );
  assert.equal(out.match(/\*/g)?.length, 2, out);
});

test('JSON: the documented fields, and numbers only', () => {
  const json = JSON.parse(comparisonJson(compare(mt7688), mt7688, [])) as {
    sources: { tool: string }[];
    subjects: {
      algorithm: string;
      baseline: string;
      series: { label: string; points: { doubts: string[] }[]; fit: { sizes: number } }[];
      pairs: {
        other: string;
        ratios: { requestBytes: number; ratio: number }[];
        crossover: { kind: string; crossings: { between: number[] }[] };
        verdict: string;
      }[];
    }[];
    notes: { code: string; labels: string[] }[];
  };
  const [subject] = json.subjects;
  assert.deepEqual([subject!.algorithm, subject!.baseline], ['aes-128-cbc', 'software']);
  const [pair] = subject!.pairs;
  assert.equal(pair!.ratios.at(-1)!.ratio.toFixed(2), '15.54');
  assert.deepEqual(pair!.crossover.crossings[0]!.between, [64, 256]);
  assert.match(pair!.verdict, /^Below about/);
  assert.ok(subject!.series[1]!.points.every(({ doubts }) => doubts.includes('CPU_TIME_DIVISOR')));
  assert.ok(json.notes.some(({ code, labels }) => code === 'CPU_TIME_DIVISOR' && labels[0] === 'mtk-aes'));
});

test('CSV: a line for each ratio', () => {
  const lines = comparisonCsv(compare(gnubee)).trimEnd().split('\r\n');
  assert.equal(lines.length, 11);
  assert.match(lines[1]!, /^aes-128-cbc,encrypt,128,65536,before,after,11848908\.8,41209036\.8,3\.47/);
  const formula = comparisonCsv(compare([curve('=1+1', { 1: 5 }), curve('b', { 1: 6 })]));
  assert.match(formula, /,'=1\+1,/);
});

test('whatever was read, the text holds words and numbers, and no line is wider than what cannot be broken', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...fixtures), fc.double({ min: 0, max: 1, noNaN: true })), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.constantFrom(30, 40, 80, 200),
      fc.boolean(),
      (list, columns, plot) => {
        const sets = list.flatMap(([name, share]) => {
          const bytes = fixture(name);
          const end = share < 0.5 ? bytes.length : Math.ceil(bytes.length * share);
          return importResults(bytes.subarray(0, end), { source: name }).sets;
        });
        const found = compare(sets);
        for (const out of [
          comparisonText(found, sets, { columns, ascii: false, plot }),
          comparisonJson(found, sets, []),
          comparisonCsv(found),
        ])
          assert.doesNotMatch(out, /\bNaN\b|Infinity|undefined|\[object/);
      },
    ),
    { numRuns: 60 },
  );
});

test('hostile figures and names: no endless line, nothing but numbers', () => {
  const rate = fc.oneof(
    fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, 5e-324, 1e-3, 1, 1e18, 1e300),
  );
  const curves = fc.dictionary(fc.constantFrom('0', '1', '16', '8192', '9007199254740991'), rate);
  fc.assert(
    fc.property(curves, curves, fc.string({ maxLength: 200 }), (a, b, name) => {
      const sets = [curve(name, a), curve(`${name}x`, b, { userNs: 1e-300, systemNs: 0, requests: 3 })];
      const found = compare(sets);
      const out = comparisonText(found, sets, { columns: 80, ascii: true, plot: true });
      assert.doesNotMatch(out.replaceAll(name, ''), /\bNaN\b|Infinity|undefined/);
      assert.ok(out.length < 100_000);
    }),
    { numRuns: 300 },
  );
});

test('a baseline of their own for those that share no size with the first', () => {
  const sets = [
    curve('disk', { 65536: 100 }),
    curve('software', { 16: 100, 64: 100, 256: 100 }),
    curve('engine', { 16: 50, 64: 100, 256: 200 }),
  ];
  const out = text(sets);
  assert.match(
    out,
    /^aes-128-cbc, encryption, beside software\n-+\nengine has no size in common with disk, and is compared with software\.\nBelow about/m,
  );
  assert.match(out, /^request +B MB\/s +C MB\/s +C\/B$/m);
  const csv = comparisonCsv(compare(sets));
  assert.equal(csv.match(/,software,engine,/g)?.length, 3);
  const parsed = JSON.parse(comparisonJson(compare(sets), sets, [])) as {
    subjects: { baseline: string; apartFrom?: string }[];
  };
  assert.deepEqual(
    parsed.subjects.map(({ baseline, apartFrom }) => [baseline, apartFrom]),
    [
      ['disk', undefined],
      ['software', 'disk'],
    ],
  );
});

test('in ASCII the doubts are ASCII too', () => {
  const doubts = [{ code: 'FROM_COUNTS' as const, text: 'counts × size, the tool’s own …' }];
  const sets = [
    curve('a', { 16: 100, 64: 100, 256: 100 }, { doubts }),
    curve('b', { 16: 50, 64: 100, 256: 9 }),
  ];
  assert.match(text(sets), /counts × size, the tool’s own …/);
  const out = text(sets, { ascii: true });
  assert.match(out, /counts x size, the tool's own \.\.\./);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  assert.match(out, /^[\x00-\x7f]*$/);
});
