/** Results compared: what the field reports come to, and what holds for any results. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  compare,
  compareKdfs,
  crossover,
  type Pair,
  predictNs,
  type SubjectComparison,
  setLabels,
} from '#src/bench/comparison/index.js';
import type { Measurement, ResultSet } from '#src/bench/model.js';
import { importResults } from '#src/interop/index.js';
import { hasCases } from '../interop/fixtures.js';
import { curve, GNUBEE, MT7628, MT7688, QEMU, row, run, set } from './results.js';

const read = (source: string, text: string): ResultSet[] => [...importResults(text, { source }).sets];

function only<T>(list: readonly T[]): T {
  assert.equal(list.length, 1);
  return list[0]!;
}

function pairOf(comparisons: readonly SubjectComparison[], algorithm: string, operation?: string): Pair {
  return only(
    only(
      comparisons.filter(
        ({ subject }) =>
          subject.algorithm === algorithm && (operation === undefined || subject.operation === operation),
      ),
    ).pairs,
  );
}

function ratio({ ratios }: Pair, requestBytes: number): string {
  return only(ratios.filter((at) => at.requestBytes === requestBytes)).ratio.toFixed(2);
}

/** What the tests below say of a report's numbers, they say of the whole report too, where it is at hand. */
function reports(
  files: readonly (readonly [string, string])[],
  what: (comparisons: SubjectComparison[], whole: boolean) => void,
): void {
  what(compare(files.flatMap(([name, text]) => read(name, text))), false);
  if (!hasCases) return;
  const folder = join(import.meta.dirname, '../../../../../shared/cases/reports');
  what(compare(files.flatMap(([name]) => read(name, readFileSync(join(folder, name), 'utf8')))), true);
}

test('MT7688: 15.5 times at 8192 bytes and 0.22 at 16; what was printed would be hundreds of times', () => {
  reports(
    [
      ['mt7688-software.txt', MT7688.software],
      ['mt7688-mtk-aes.txt', MT7688.engine],
    ],
    (found) => {
      const pair = pairOf(found, 'aes-128-cbc', 'encrypt');
      assert.deepEqual([pair.baseline.label, pair.other.label], ['software', 'mtk-aes']);
      assert.equal(ratio(pair, 16), '0.22');
      assert.equal(ratio(pair, 8192), '15.54');
      const large = pair.ratios.at(-1)!;
      assert.ok(large.claimedRatio! > 410 && large.claimedRatio! < 430, `${large.claimedRatio}`);
      assert.ok(large.estimated);
      assert.equal(pair.crossover.kind, 'crosses');
      assert.deepEqual(pair.crossover.crossings[0]!.between, [64, 256]);
      assert.ok(
        pair.doubts.some(
          ({ side, doubt, sizes }) =>
            side === 'other' && doubt.code === 'CPU_TIME_DIVISOR' && sizes.includes(8192),
        ),
      );
      // Of the kernel's time the text says nothing, so that only the process's own is compared.
      assert.ok(pair.cpu.every(({ scope }) => scope === 'user'));
      assert.ok(pair.cpu.at(-1)!.freed > 0.99);
    },
  );
});

test('MT7628: 0.33 and 0.38 times at 16 bytes, 16.2 and 18.2 at 8192, crossover between 16 and 64', () => {
  for (const [mode, small, large] of [
    ['ecb', '0.33', '16.19'],
    ['cbc', '0.38', '18.17'],
  ] as const) {
    reports(
      [
        [`mt7628-aes-256-${mode}-software.txt`, MT7628[mode].software],
        [`mt7628-aes-256-${mode}-cryptodev.txt`, MT7628[mode].engine],
      ],
      (found) => {
        const pair = pairOf(found, `aes-256-${mode}`, 'encrypt');
        assert.deepEqual([ratio(pair, 16), ratio(pair, 8192)], [small, large]);
        const crossing = only(pair.crossover.crossings);
        assert.deepEqual([crossing.between, crossing.above], [[16, 64], 'faster']);
        assert.ok(crossing.estimateBytes > 16 && crossing.estimateBytes < 64);
        assert.equal(pair.crossover.kind, 'crosses');
      },
    );
  }
});

test('GnuBee: 3.5 times for aes-cbc 128, 2.6 for aes-xts 512, 0.67 to 1.02 for serpent and twofish', () => {
  reports(
    [
      ['gnubee-before.txt', GNUBEE.before],
      ['gnubee-after-eip93.txt', GNUBEE.after],
    ],
    (found) => {
      const at = (algorithm: string) => ratio(pairOf(found, algorithm, 'encrypt'), 65_536);
      assert.equal(Number(at('aes-128-cbc')).toFixed(1), '3.5');
      assert.equal(Number(at('aes-256-xts')).toFixed(1), '2.6');
      const others = found
        .filter(
          ({ subject }) => /serpent|twofish/.test(subject.algorithm!) && subject.operation === 'encrypt',
        )
        .map(({ pairs }) => only(only(pairs).ratios).ratio);
      assert.equal(Math.min(...others).toFixed(2), '0.67');
      assert.equal(Math.max(...others).toFixed(2), '1.02');
      const { crossover: course, ratios } = pairOf(found, 'aes-128-cbc', 'encrypt');
      assert.deepEqual([course.kind, course.reason], ['unknown', 'ONE_COMMON_SIZE']);
      // Both sides count a pass too many; the slower one gains more by it.
      assert.ok(only(ratios).correctedRatio! > only(ratios).ratio);
    },
  );
});

test('QEMU: sha256 crosses between 1 and 2 KiB, hmac between 2 and 4, cbc(aes128) wins everywhere', () => {
  for (const baseline of ['afalg', 'nettle']) {
    const above = baseline === 'afalg' ? 'slower' : 'faster';
    const files = [read('qemu.txt', QEMU)];
    if (hasCases) {
      const folder = join(import.meta.dirname, '../../../../../shared/cases/reports');
      files.push(read('qemu.txt', readFileSync(join(folder, 'qemu-afalg-nettle.txt'), 'utf8')));
    }
    for (const sets of files) {
      const found = compare(sets, { baseline: ({ driver }) => driver === baseline });
      const sha = only(pairOf(found, 'sha256').crossover.crossings);
      assert.deepEqual([sha.between, sha.above], [[1024, 2048], above]);
      // At 2 KiB they are one percent apart.
      assert.deepEqual(sha.surelyBetween, [1024, 4096]);
      const mac = only(pairOf(found, 'hmac-sha256').crossover.crossings);
      assert.deepEqual([mac.between, mac.above], [[2048, 4096], above]);
      assert.equal(
        pairOf(found, 'aes-128-cbc').crossover.kind,
        baseline === 'afalg' ? 'never-faster' : 'always-faster',
      );
    }
  }
});

test('only sizes that both have are compared; a missing one is not made up', () => {
  const pair = only(
    only(compare([curve('a', { 16: 100, 256: 100 }), curve('b', { 64: 400, 256: 50 })])).pairs,
  );
  assert.deepEqual(
    pair.ratios.map(({ requestBytes }) => requestBytes),
    [256],
  );
  assert.equal(pair.crossover.reason, 'ONE_COMMON_SIZE');
  const apart = only(only(compare([curve('a', { 16: 100 }), curve('b', { 64: 400 })])).pairs);
  assert.deepEqual([apart.ratios, apart.crossover.reason], [[], 'NO_COMMON_SIZE']);
});

test('courses: up, down, to and fro, always, never, even, even at first', () => {
  const flat = curve('a', { 16: 100, 64: 100, 256: 100, 1024: 100 });
  const course = (...rates: [number, number, number, number]) =>
    only(
      only(compare([flat, curve('b', { 16: rates[0], 64: rates[1], 256: rates[2], 1024: rates[3] })])).pairs,
    ).crossover;
  const places = (...rates: [number, number, number, number]) =>
    course(...rates).crossings.map(({ between, above }) => [...between, above]);
  assert.deepEqual(places(50, 80, 150, 300), [[64, 256, 'faster']]);
  assert.deepEqual(places(300, 150, 80, 50), [[64, 256, 'slower']]);
  assert.deepEqual(places(50, 150, 80, 150), [
    [16, 64, 'faster'],
    [64, 256, 'slower'],
    [256, 1024, 'faster'],
  ]);
  assert.equal(course(50, 150, 80, 150).kind, 'several');
  assert.equal(course(120, 150, 180, 150).kind, 'always-faster');
  assert.equal(course(20, 50, 80, 90).kind, 'never-faster');
  assert.equal(course(98, 101, 99, 104).kind, 'even');
  assert.deepEqual(course(98, 101, 150, 200), { kind: 'always-faster', crossings: [], evenAt: [16, 64] });
  // To and fro around 1 within the noise: only the stretch is known.
  assert.deepEqual(
    course(50, 102, 98, 200).crossings.map(({ between, surelyBetween }) => [between, surelyBetween]),
    [
      [
        [16, 1024],
        [16, 1024],
      ],
    ],
  );
});

test('the spread of the rounds decides what is even', () => {
  const course = (spread: number) => {
    const rounds = { rounds: { count: 5, spread } };
    return only(
      only(compare([curve('a', { 16: 100, 64: 100 }, rounds), curve('b', { 16: 103, 64: 108 }, rounds)]))
        .pairs,
    ).crossover.kind;
  };
  assert.equal(course(0.01), 'always-faster');
  assert.equal(course(0.2), 'even');
});

test('failed, unavailable and zero rows are kept apart, and no speed is made of them', () => {
  const { series, baseline, pairs } = only(
    compare([
      set('a', [
        run([
          row(16, undefined, { status: 'failed' }),
          row(64, undefined, { status: 'unavailable' }),
          row(256, undefined, { claimedBytesPerSecond: 5e6 }),
          row(1024, 0),
          row(undefined, 7),
        ]),
      ]),
      curve('b', { 16: 100 }),
    ]),
  );
  assert.deepEqual(
    series[0]!.leftOut.map(({ reason }) => reason),
    ['FAILED', 'UNAVAILABLE', 'NO_ELAPSED_FIGURE', 'NO_FIGURE', 'SIZE_UNKNOWN'],
  );
  assert.deepEqual(series[0]!.points, []);
  assert.equal(baseline!.label, 'b');
  assert.equal(only(pairs).crossover.reason, 'NO_COMMON_SIZE');
});

test('a text that leaves the operation open is compared with each, and marked', () => {
  const open: Partial<Measurement> = { algorithm: 'aes-128-cbc' };
  const { operation: _, ...rest } = row(16, 100);
  const both = set('both', [run([row(16, 50), row(16, 80, { operation: 'decrypt' })])]);
  const found = compare([both, set('open', [run([{ ...rest, ...open }])])]);
  assert.deepEqual(
    found.map(({ subject, series }) => [subject.operation, series.map(({ operationOpen }) => operationOpen)]),
    [
      ['encrypt', [false, true]],
      ['decrypt', [false, true]],
    ],
  );
  const alone = only(compare([set('open', [run([rest])])]));
  assert.deepEqual([alone.subject.operation, alone.series[0]!.operationOpen], [undefined, false]);
});

test('what is not the same is not compared: key lengths, names that mean nothing', () => {
  const { algorithm: _, ...nameless } = row(16, 100, { algorithmText: 'evp' });
  assert.equal(
    compare([set('a', [run([nameless])]), set('b', [run([nameless])])]).flatMap(({ pairs }) => pairs).length,
    0,
  );
  assert.equal(
    compare([curve('a', { 16: 1 }, { keyBits: 128 }), curve('b', { 16: 1 }, { keyBits: 256 })]).length,
    2,
  );
  assert.equal(compare([curve('a', { 16: 1 }, { keyBits: 128 }), curve('b', { 16: 1 })]).length, 1);
});

test('series of one run: drivers, processes at once, repetitions', () => {
  const { series } = only(
    compare([
      set('a', [
        run([
          row(16, 1, { driver: 'libcrypto' }),
          row(16, 2, { driver: 'afalg', kernelDriver: 'cbc-aes-aesni' }),
          row(16, 3, { driver: 'afalg', kernelDriver: 'cbc-aes-eip93' }),
          row(16, 4, { driver: 'libcrypto', parallel: 4 }),
          row(16, 5, { driver: 'libcrypto' }),
        ]),
      ]),
    ]),
  );
  assert.deepEqual(
    series.map(({ label }) => label),
    ['libcrypto', 'libcrypto (2)', 'afalg cbc-aes-aesni', 'afalg cbc-aes-eip93', 'libcrypto 4 at once'],
  );
});

test('labels: what tells sources apart', () => {
  assert.deepEqual(setLabels(['mt7628-cbc-software.txt', 'mt7628-cbc-engine.txt']), ['software', 'engine']);
  assert.deepEqual(setLabels(['before.json', 'before-2.json']), ['before', 'before-2']);
  assert.deepEqual(setLabels(['run-1.txt', 'run-2.txt']), ['run-1', 'run-2']);
  assert.deepEqual(setLabels(['a.txt', 'a.txt', '-']), ['a', 'a (2)', 'stdin']);
  assert.deepEqual(setLabels(['.txt', '']), ['.txt', '']);
});

test('CPU time for each byte, and what is freed', () => {
  const rates = (userNs: number, systemNs?: number): Partial<Measurement> => ({
    requests: 1000,
    userNs,
    ...(systemNs === undefined ? {} : { systemNs }),
  });
  const freed = (a: Partial<Measurement>, b: Partial<Measurement>) =>
    only(only(compare([curve('a', { 1000: 100 }, a), curve('b', { 1000: 100 }, b)])).pairs).cpu;
  assert.deepEqual(freed(rates(1e6, 1e6), rates(1e5, 4e5)), [
    { requestBytes: 1000, baselineNsPerByte: 2, otherNsPerByte: 0.5, freed: 0.75, scope: 'user+system' },
  ]);
  assert.deepEqual(freed(rates(1e6, 1e6), rates(1e5)), [], 'part of it is not compared with all of it');
  assert.deepEqual(freed(rates(0, 0), rates(1e5, 0)), []);
});

test('key derivations: rates have a ratio, parameters have none', () => {
  const found = compareKdfs(
    read(
      'a.txt',
      'PBKDF2-sha256     4000000 iterations per second for 256-bit key\nargon2id      4 iterations, 500000 memory, 4 parallel threads (CPUs) for 256-bit key (requested 2000 ms time)\n',
    ).concat(
      read(
        'b.txt',
        'PBKDF2-sha256      125000 iterations per second for 256-bit key\nPBKDF2-whirlpool      N/A\nargon2id      4 iterations, 26000 memory, 4 parallel threads (CPUs) for 256-bit key (requested 2000 ms time)\n',
      ),
    ),
  );
  assert.deepEqual(
    found.map(({ kdf, hash, rows }) => [kdf, hash, rows.map(({ label, ratio }) => [label, ratio])]),
    [
      [
        'pbkdf2',
        'sha256',
        [
          ['a', undefined],
          ['b', 0.03125],
        ],
      ],
      [
        'argon2id',
        undefined,
        [
          ['a', undefined],
          ['b', undefined],
        ],
      ],
      ['pbkdf2', 'whirlpool', [['b', undefined]]],
    ],
  );
});

test('a lead that the fits would end outside of what was measured is told as an extrapolation', () => {
  const line = (fixedNs: number, nsPerByte: number) =>
    Object.fromEntries(
      [1024, 2048, 4096, 8192].map((size) => [
        size,
        (size * 1e9) / predictNs({ fixedNs, nsPerByte } as Parameters<typeof predictNs>[0], size),
      ]),
    );
  const course = crossover(
    only(only(compare([curve('a', line(500, 10))])).series),
    only(only(compare([curve('b', line(5000, 2))])).series),
  );
  assert.equal(course.kind, 'always-faster');
  assert.ok(Math.abs(course.extrapolatedBytes! - 562.5) < 1);
});

test('series without a size in common with the baseline are compared with each other', () => {
  const sets = [
    curve('disk', { 65536: 100 }),
    curve('software', { 16: 100, 64: 100, 256: 100 }),
    curve('engine', { 16: 50, 64: 100, 256: 200 }),
    curve('later', { 65536: 200 }),
    curve('odd', { 17: 1 }),
  ];
  const shape = (found: readonly SubjectComparison[]) =>
    found.map(({ apartFrom, pairs }) => [
      apartFrom?.label,
      pairs.map(({ baseline, other, ratios }) => `${other.label}/${baseline.label} ${ratios.length}`),
    ]);
  assert.deepEqual(shape(compare(sets)), [
    [undefined, ['software/disk 0', 'later/disk 1', 'odd/disk 0']],
    ['disk', ['engine/software 3']],
  ]);
  assert.equal(compare(sets)[1]!.pairs[0]!.crossover.kind, 'crosses');
  // The one that was asked for stays; the rest are compared too.
  assert.deepEqual(shape(compare(sets, { baseline: ({ label }) => label === 'engine' })), [
    [undefined, ['disk/engine 0', 'software/engine 3', 'odd/engine 0']],
    ['engine', ['later/disk 1']],
  ]);
  // One size in common with the baseline, and more with each other: both are told.
  const [disk, software, engine] = [
    curve('disk', { 256: 10 }),
    curve('software', { 16: 100, 256: 100 }),
    curve('engine', { 16: 50, 256: 200 }),
  ];
  assert.deepEqual(shape(compare([disk, software, engine])), [
    [undefined, ['software/disk 1', 'engine/disk 1']],
    ['disk', ['engine/software 2']],
  ]);
  // Somebody who is compared with the baseline already may be what another has a size in common with.
  assert.deepEqual(
    shape(compare([curve('a', { 16: 1 }), curve('b', { 16: 1, 64: 1 }), curve('c', { 64: 2 })])),
    [
      [undefined, ['b/a 1']],
      ['a', ['c/b 1']],
    ],
  );
});
