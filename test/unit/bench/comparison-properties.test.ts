/** What holds for any numbers: the fit finds the line that made them, brackets bracket, and nothing but numbers comes out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compare, crossover, fitLine, ratios, type Series } from '#src/bench/comparison/index.js';
import { importResults } from '#src/interop/index.js';
import { Random } from '../../helpers/random.js';
import { fixture, fixtures } from '../interop/fixtures.js';
import { row, run, set } from './results.js';

const SIZES = [16, 64, 256, 1024, 4096, 16_384, 65_536];

const sizes = fc
  .uniqueArray(fc.integer({ min: 1, max: 1 << 20 }), { minLength: 4, maxLength: 12 })
  // Sizes within a few percent of each other say nothing of the slope.
  .filter((list) => Math.max(...list) > 16 * Math.min(...list))
  .map((list) => list.sort((a, b) => a - b));

function points(list: readonly number[], time: (bytes: number, index: number) => number) {
  return list.map((requestBytes, index) => ({ requestBytes, nsPerRequest: time(requestBytes, index) }));
}

/** A course of rates as series; only what the analysis looks at. */
function seriesOf(rates: readonly (readonly [number, number])[]): Series {
  return compare([set('x', [run(rates.map(([size, rate]) => row(size, rate)))])])[0]!.series[0]!;
}

test('without noise the fit is the line itself', () => {
  fc.assert(
    fc.property(
      sizes,
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      fc.double({ min: 1e-3, max: 1e4, noNaN: true }),
      (list, a, b) => {
        const { line, problem } = fitLine(points(list, (n) => a + b * n));
        assert.equal(problem, undefined);
        const scale = a + b * list[0]!;
        assert.ok(Math.abs(line!.fixedNs - a) <= 1e-6 * scale, `${line!.fixedNs} for ${a}`);
        assert.ok(Math.abs(line!.nsPerByte - b) * list[0]! <= 1e-6 * scale, `${line!.nsPerByte} for ${b}`);
        assert.ok(line!.largestResidual < 1e-6);
      },
    ),
  );
});

test('with noise the line is found within its errors', () => {
  // A generator of its own: the draws of fast-check lean to the extremes, and a share of cases is what is asserted.
  const random = new Random('fit');
  const uniform = () => (random.word() + 0.5) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  let far = 0;
  let veryFar = 0;
  const cases = 2000;
  for (let i = 0; i < cases; i++) {
    const [a, b, sigma] = [100 * 500 ** uniform(), 0.1 * 2000 ** uniform(), random.pick([0.001, 0.01, 0.03])];
    const { line, problem } = fitLine(points(SIZES, (n) => (a + b * n) * (1 + sigma * normal())));
    assert.notEqual(problem, 'POOR_FIT');
    for (const off of [
      Math.abs(line!.fixedNs - a) / line!.fixedNsError,
      Math.abs(line!.nsPerByte - b) / line!.nsPerByteError,
    ]) {
      if (off > 3) far++;
      if (off > 8) veryFar++;
    }
  }
  // Student's t with 5 degrees of freedom is beyond 3 in three of a hundred cases, beyond 8 in one of two thousand.
  assert.ok(far / (2 * cases) < 0.05, `${far} of ${2 * cases}`);
  assert.ok(veryFar / (2 * cases) < 0.003, `${veryFar} of ${2 * cases}`);
});

test('small sizes count as much as large ones: half the fixed cost is seen', () => {
  const { line } = fitLine(points(SIZES, (n) => 5000 + 2 * n + (n === 65_536 ? 2000 : 0)));
  assert.ok(Math.abs(line!.fixedNs - 5000) < 100, `${line!.fixedNs}`);
});

test('a fit says when it means nothing', () => {
  assert.deepEqual(fitLine([]), { sizes: 0, problem: 'FEW_SIZES' });
  assert.equal(fitLine(points([16, 64], (n) => n)).problem, 'FEW_SIZES');
  assert.equal(fitLine(points([16, 16, 64], (n) => n)).problem, 'FEW_SIZES');
  assert.equal(fitLine(points(SIZES, (n) => 100 + 1e6 / n)).problem, 'NO_COST_PER_BYTE');
  assert.equal(fitLine(points([64, 128, 256], (n) => 10 * n - 500)).problem, 'NEGATIVE_FIXED_COST');
  assert.equal(fitLine(points(SIZES, (n) => (n === 1024 ? 10 : 1) * (500 + n))).problem, 'POOR_FIT');
});

test('a bracket brackets: the ratio is on different sides of 1 at its ends, and the estimate is between', () => {
  const rate = fc.double({ min: 1e3, max: 1e11, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(rate, fc.double({ min: 0.2, max: 5, noNaN: true })), { minLength: 1, maxLength: 7 }),
      (list) => {
        const baseline = seriesOf(list.map(([own], i) => [SIZES[i]!, own]));
        const other = seriesOf(list.map(([own, factor], i) => [SIZES[i]!, own * factor]));
        const at = new Map(ratios(baseline, other).map((own) => [own.requestBytes, own]));
        const course = crossover(baseline, other);
        for (const { between, surelyBetween, above, estimateBytes } of course.crossings) {
          const [low, high] = between.map((size) => at.get(size)!.ratio) as [number, number];
          assert.ok(above === 'faster' ? low <= 1 && high >= 1 : low >= 1 && high <= 1);
          assert.ok(estimateBytes >= between[0] && estimateBytes <= between[1]);
          assert.ok(surelyBetween[0] <= between[0] && surelyBetween[1] >= between[1]);
          assert.ok(surelyBetween.every((size) => at.get(size)!.outcome !== 'even'));
        }
        const outcomes = new Set([...at.values()].map(({ outcome }) => outcome));
        if (at.size > 1) {
          assert.equal(course.crossings.length > 0, outcomes.has('faster') && outcomes.has('slower'));
          if (course.kind === 'always-faster') assert.ok(!outcomes.has('slower') && outcomes.has('faster'));
          if (course.kind === 'never-faster') assert.ok(outcomes.has('slower') && !outcomes.has('faster'));
          if (course.kind === 'even') assert.deepEqual([...outcomes], ['even']);
        }
        // Seen from the other side it is the same place.
        const back = crossover(other, baseline);
        assert.deepEqual(
          back.crossings.map(({ between }) => between),
          course.crossings.map(({ between }) => between),
        );
      },
    ),
    { numRuns: 500 },
  );
});

test('nothing but numbers comes out, whatever the numbers that go in', () => {
  const number = fc.oneof(
    fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, 5e-324, 1e-9, 1, 1e9, 1e300, Number.MAX_VALUE),
  );
  const optional = fc.option(number, { nil: undefined });
  const measurement = fc
    .record({
      size: fc.option(fc.oneof(fc.constantFrom(0, 1, 16, 64, 8192), fc.nat()), { nil: undefined }),
      rate: optional,
      claimed: fc.option(number),
      user: optional,
      system: optional,
      requests: fc.option(fc.nat(), { nil: undefined }),
      spread: optional,
      driver: fc.constantFrom(undefined, 'a', 'b'),
    })
    .map(({ size, rate, claimed, user, system, requests, spread, driver }) =>
      row(size, rate, {
        claimedBytesPerSecond: claimed,
        ...(user === undefined ? {} : { userNs: user }),
        ...(system === undefined ? {} : { systemNs: system }),
        ...(requests === undefined ? {} : { requests }),
        ...(spread === undefined ? {} : { rounds: { count: 3, spread } }),
        ...(driver === undefined ? {} : { driver }),
      }),
    );
  fc.assert(
    fc.property(fc.array(fc.array(measurement, { maxLength: 12 }), { maxLength: 3 }), (runs) => {
      numbersOnly(
        compare([
          set(
            'x',
            runs.map((list) => run(list)),
          ),
        ]),
      );
    }),
    { numRuns: 500 },
  );
});

test('any number of points: none is an argument of a function that takes only so many', () => {
  const many = Array.from({ length: 150_000 }, (_, i) => i + 1);
  const { line } = fitLine(points(many, (n) => 1000 + n));
  assert.ok(Math.abs(line!.fixedNs - 1000) < 1e-3);
  const other = { points: seriesOf([[1, 2]]).points };
  assert.equal(crossover(other, seriesOf(many.slice(0, 1000).map((n) => [n, n]))).reason, 'ONE_COMMON_SIZE');
});

test('any number of repetitions: each has a name of its own', () => {
  const { series } = compare([set('x', [run(Array.from({ length: 3000 }, () => row(16, 5)))])])[0]!;
  assert.equal(new Set(series.map(({ label }) => label)).size, 3000);
});

test('texts of all formats, whole and cut off, are compared with each other', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...fixtures), fc.double({ min: 0, max: 1, noNaN: true })), {
        minLength: 1,
        maxLength: 3,
      }),
      (list) => {
        const sets = list.flatMap(([name, share]) => {
          const text = fixture(name);
          return importResults(text.subarray(0, Math.ceil(text.length * (share < 0.5 ? 1 : share))), {
            source: name,
          }).sets;
        });
        const found = compare(sets);
        numbersOnly(found);
        for (const { series } of found) {
          assert.equal(new Set(series.map(({ label }) => label)).size, series.length, 'labels are unique');
          for (const { points: list } of series) {
            const own = list.map(({ requestBytes }) => requestBytes);
            assert.deepEqual(
              own,
              [...new Set(own)].sort((a, b) => a - b),
            );
          }
        }
      },
    ),
    { numRuns: 100 },
  );
});

function numbersOnly(value: unknown, where = ''): void {
  if (typeof value === 'number') assert.ok(Number.isFinite(value), `${where} is ${value}`);
  else if (value === undefined) assert.fail(`${where} is undefined, not absent`);
  else if (typeof value === 'object' && value !== null)
    for (const [key, own] of Object.entries(value)) numbersOnly(own, `${where}.${key}`);
}
