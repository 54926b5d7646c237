/** Who takes part and for how long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAlgorithm } from '#src/algorithms.js';
import {
  clockCostNs,
  contestant,
  countPoints,
  lacks,
  pointSeconds,
  presentContestants,
  requirePresent,
  SPEED_SIZES,
  secondsWithin,
} from '#src/bench/engine/index.js';
import { cbc } from './fakes.js';

test('names and pins', () => {
  const pinned = contestant('afalg:cbc(aes-generic)');
  assert.equal(pinned.driver.name, 'afalg');
  assert.equal(pinned.kernelDriver, 'cbc(aes-generic)');
  assert.equal(pinned.label, 'afalg:cbc(aes-generic)');
  assert.throws(() => contestant('padlock'), { code: 'ERR_INVALID_ARG_VALUE' });
});

test('those that are there, and why the others are not', () => {
  const { contestants, absent } = presentContestants();
  assert.ok(contestants.some(({ label }) => label === 'node'));
  for (const { reason } of absent) assert.ok(reason.message);
  assert.doesNotThrow(() => requirePresent([contestant('node')], [cbc]));
  const serpent = findAlgorithm('serpent-128-cbc')!;
  assert.ok(lacks(contestant('node'), serpent));
  assert.throws(() => requirePresent([contestant('node')], [serpent]), { code: 'ALGORITHM_UNAVAILABLE' });
  // What one can do is measured; what it lacks is told at its place.
  assert.doesNotThrow(() => requirePresent([contestant('node')], [serpent, cbc]));
});

test('one algorithm over any usual number of drivers stays below half a minute', () => {
  for (const drivers of [1, 2, 3, 4, 6, 8]) {
    const points = drivers * SPEED_SIZES.length;
    const seconds = secondsWithin(26, points);
    assert.ok(points * pointSeconds(seconds) <= 26, `${drivers} drivers`);
    assert.ok(seconds <= 3);
  }
  assert.equal(secondsWithin(26, 6), 3);
  assert.equal(secondsWithin(0, 6), 0.05);
  const node = contestant('node');
  assert.equal(countPoints([{ algorithm: cbc, operation: 'encrypt' }], [node], [16, 17, 32]), 2);
  assert.equal(countPoints([{ algorithm: cbc, operation: 'encrypt', sizes: [64] }], [node], [16]), 1);
});

test('the clock is calibrated by what it shows itself', () => {
  let ns = 0;
  const clock = (): number => {
    ns += 25;
    return ns;
  };
  assert.equal(clockCostNs(clock), 25);
  assert.ok(clockCostNs() >= 0);
});
