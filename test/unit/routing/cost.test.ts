/** What a request costs by the measured points, and where the cheapest driver changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Border, borders, type CostCurve, NOISE_SHARE, pick, predict } from '#src/routing/cost.js';

const SIZES = [16, 64, 256, 1024, 4096, 16_384, 65_536, 1_048_576];

function line(fixedNs: number, nsPerByte: number, sizes: readonly number[] = SIZES): CostCurve {
  return sizes.map((requestBytes) => {
    const elapsedNs = fixedNs + nsPerByte * requestBytes;
    return { requestBytes, elapsedNs, cpuNs: elapsedNs / 2 };
  });
}

const points = (...list: readonly (readonly [bytes: number, ns: number])[]): CostCurve =>
  list.map(([requestBytes, elapsedNs]) => ({ requestBytes, elapsedNs, cpuNs: elapsedNs }));

test('between two points, and beyond the ends, by the line through the nearest two', () => {
  const curve = points([16, 100], [64, 148], [1024, 2068]);
  for (const [bytes, ns] of [
    [16, 100],
    [40, 124],
    [64, 148],
    [544, 1108],
    [1024, 2068],
    [2048, 4116],
    [1, 85],
    [0, 84],
  ] as const) {
    assert.ok(Math.abs(predict(curve, bytes, 'elapsedNs') - ns) < 1e-9, `${bytes} bytes`);
  }
  assert.equal(predict(line(10, 1), 16, 'cpuNs'), 13);
});

test('a line that would go below nothing stops there, and one that falls at an end goes on level', () => {
  assert.equal(predict(points([100, 10], [200, 1000]), 1, 'elapsedNs'), 0);
  assert.equal(predict(points([100, 10], [200, 5]), 400, 'elapsedNs'), 5);
  assert.equal(predict(points([100, 10], [200, 5]), 50, 'elapsedNs'), 10);
  assert.equal(predict(points([100, 10]), 5000, 'elapsedNs'), 10);
  assert.equal(predict([], 16, 'elapsedNs'), Number.POSITIVE_INFINITY);
});

test('the border lies where the lines meet, and the larger size belongs to who wins there', () => {
  const found = borders([line(1000, 130), line(370_000, 12)], 'elapsedNs');
  assert.deepEqual(found, [
    { fromBytes: 0, index: 0 },
    { fromBytes: Math.ceil(369_000 / 118), index: 1 },
  ]);
  assert.deepEqual(
    [0, 16, 3127, 3128, 2 ** 40].map((bytes) => pick(found, bytes)),
    [0, 0, 0, 1, 1],
  );
});

test('by CPU time it may lie elsewhere', () => {
  const engine = SIZES.map((requestBytes) => ({
    requestBytes,
    elapsedNs: 370_000 + 12 * requestBytes,
    cpuNs: 20_000 + requestBytes,
  }));
  const software = line(1000, 130);
  assert.ok(borders([software, engine], 'cpuNs')[1]!.fromBytes < 400);
  assert.ok(borders([software, engine], 'elapsedNs')[1]!.fromBytes > 3000);
});

test('who cannot be chosen is not, and nobody at all gives no border', () => {
  assert.deepEqual(borders([undefined, [], line(5, 1)], 'elapsedNs'), [{ fromBytes: 0, index: 2 }]);
  assert.deepEqual(borders([undefined, []], 'elapsedNs'), []);
  assert.equal(pick([], 16), -1);
});

test('noise makes no border: who is cheaper by less than the share is not asked', () => {
  assert.deepEqual(borders([line(1000, 1), line(990, 0.99)], 'elapsedNs'), [{ fromBytes: 0, index: 0 }]);
  // To and fro within the share.
  const wavy = SIZES.map((requestBytes, i) => {
    const ns = (1000 + requestBytes) * (i % 2 ? 1.015 : 0.985);
    return { requestBytes, elapsedNs: ns, cpuNs: ns };
  });
  assert.deepEqual(borders([line(1000, 1), wavy], 'elapsedNs'), [{ fromBytes: 0, index: 0 }]);
  // A third as good as the winner does not take its place, nor move the border.
  assert.deepEqual(borders([line(1000, 130), line(370_000, 12), line(369_000, 11.95)], 'elapsedNs'), [
    { fromBytes: 0, index: 0 },
    { fromBytes: 3128, index: 1 },
  ]);
});

test('a step in a curve gives two borders', () => {
  // As a driver that splits at 64 KiB: dear just above.
  const stepped = points([16, 500], [65_536, 10_000], [65_552, 40_000], [1_048_576, 100_000]);
  const found = borders([points([16, 600], [1_048_576, 300_000]), stepped], 'elapsedNs');
  assert.deepEqual(
    found.map(({ index }) => index),
    [1, 0, 1],
  );
  assert.ok(found[1]!.fromBytes > 65_536 && found[1]!.fromBytes <= 65_552, `${found[1]!.fromBytes}`);
});

test('a request that costs no CPU time at all', () => {
  const free = points([16, 0], [64, 0]);
  assert.deepEqual(borders([line(1, 1), free], 'cpuNs'), [{ fromBytes: 0, index: 1 }]);
  assert.deepEqual(borders([free, free], 'cpuNs'), [{ fromBytes: 0, index: 0 }]);
});

const anyCurve = fc
  .uniqueArray(
    fc.record({
      requestBytes: fc.integer({ min: 1, max: 500 }),
      elapsedNs: fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.double({ min: 0, max: 1e6, noNaN: true })),
    }),
    { selector: ({ requestBytes }) => requestBytes, minLength: 1, maxLength: 6 },
  )
  .map(
    (list): CostCurve =>
      list.sort((a, b) => a.requestBytes - b.requestBytes).map((own) => ({ ...own, cpuNs: own.elapsedNs })),
  );
const anyCurves = fc.array(fc.option(anyCurve, { nil: undefined, freq: 5 }), { maxLength: 5 });

function sound(found: readonly Border[], count: number): void {
  for (const [i, { fromBytes, index }] of found.entries()) {
    assert.ok(Number.isInteger(fromBytes) && index >= 0 && index < count);
    if (i === 0) assert.equal(fromBytes, 0);
    else {
      assert.ok(fromBytes > found[i - 1]!.fromBytes);
      assert.notEqual(index, found[i - 1]!.index);
    }
  }
}

test('property: whatever was measured, the choice is nowhere dearer than the cheapest by more than the share', () => {
  fc.assert(
    fc.property(anyCurves, (curves) => {
      const found = borders(curves, 'elapsedNs');
      sound(found, curves.length);
      const known = curves.filter((curve) => curve !== undefined);
      if (known.length === 0) return assert.deepEqual(found, []);
      const least = Math.min(...known.map((curve) => curve[0]!.requestBytes));
      const most = 64 * Math.max(...known.map((curve) => curve.at(-1)!.requestBytes));
      const sizes = new Set([least, most, ...found.flatMap(({ fromBytes }) => [fromBytes - 1, fromBytes])]);
      for (let bytes = least; bytes < 600; bytes += 3) sizes.add(bytes);
      for (const curve of known) for (const { requestBytes } of curve) sizes.add(requestBytes);
      for (const bytes of sizes) {
        if (bytes < least || bytes > most) continue;
        const costs = curves.map((curve) => (curve ? predict(curve, bytes, 'elapsedNs') : Infinity));
        const cheapest = Math.min(...costs);
        const own = costs[pick(found, bytes)]!;
        const tolerated = cheapest + NOISE_SHARE * Math.max(cheapest, 1);
        assert.ok(own <= tolerated * (1 + 1e-9), `${bytes}: ${own} ${cheapest}`);
      }
    }),
    { numRuns: 300 },
  );
});

test('property: no border could be left out, and of equals the first is taken', () => {
  const anyLine = fc
    .tuple(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 1, max: 200 }))
    .map(([fixed, perByte]) => line(fixed, perByte));
  fc.assert(
    fc.property(fc.array(anyLine, { minLength: 1, maxLength: 5 }), (curves) => {
      const found = borders(curves, 'elapsedNs');
      sound(found, curves.length);
      const end = 64 * SIZES.at(-1)!;
      const ends = [...found.slice(1).map(({ fromBytes }) => fromBytes), end];
      const tolerable = (index: number, bytes: number): boolean => {
        const least = Math.min(...curves.map((curve) => predict(curve, bytes, 'elapsedNs')));
        return predict(curves[index]!, bytes, 'elapsedNs') <= least * (1 + NOISE_SHARE * 0.99);
      };
      // They are straight from end to end, so a choice that is tolerable at both ends of a stretch is so in between.
      for (const [i, { fromBytes, index }] of found.entries()) {
        const stretch = [Math.max(fromBytes, SIZES[0]!), ends[i]!];
        const next = found[i + 1];
        if (next) assert.ok(![ends[i]!, ends[i + 1]!].every((bytes) => tolerable(index, bytes)));
        for (let first = 0; first < index; first++) {
          if (found.length === 1) assert.ok(!stretch.every((bytes) => tolerable(first, bytes)));
        }
      }
      // A copy of a curve behind it changes nothing.
      assert.deepEqual(borders([...curves, curves[0]!], 'elapsedNs'), found);
    }),
    { numRuns: 300 },
  );
});

test('property: the prediction goes through the points and is never negative', () => {
  fc.assert(
    fc.property(anyCurve, fc.integer({ min: 0, max: 2 ** 31 }), (curve, bytes) => {
      for (const { requestBytes, elapsedNs } of curve) {
        const found = predict(curve, requestBytes, 'elapsedNs');
        assert.ok(Math.abs(found - elapsedNs) <= 1e-9 * Math.max(1, elapsedNs));
      }
      const found = predict(curve, bytes, 'elapsedNs');
      assert.ok(found >= 0 && Number.isFinite(found));
    }),
    { numRuns: 300 },
  );
});
