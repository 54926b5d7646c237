/** The search for Argon2's parameters, on a machine whose speed is known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argon2Limits, measureArgon2, measurePbkdf2, nextArgon2Cost } from '#src/bench/kdf.js';
import { HwcryptError } from '#src/errors.js';
import type { Argon2, Argon2Cost } from '#src/kdf/index.js';

const LIMITS = { leastMemoryKiB: 65536, mostMemoryKiB: 1 << 20 };
const cost = (iterations: number, memoryKiB: number): Argon2Cost => ({ iterations, memoryKiB, threads: 2 });

test('memory comes first, then passes; the other way round when it is too slow', () => {
  assert.deepEqual(nextArgon2Cost(cost(4, 65536), 500, 2000, LIMITS), cost(4, 262144));
  assert.deepEqual(nextArgon2Cost(cost(4, 65536), 50, 2000, LIMITS), cost(10, 1 << 20));
  assert.deepEqual(nextArgon2Cost(cost(8, 1 << 20), 4000, 2000, LIMITS), cost(4, 1 << 20));
  assert.deepEqual(nextArgon2Cost(cost(4, 1 << 20), 4000, 2000, LIMITS), cost(4, 1 << 19));
  assert.deepEqual(nextArgon2Cost(cost(4, 131072), 400_000, 2000, LIMITS), cost(4, 65536));
  assert.equal(nextArgon2Cost(cost(4, 65536), 400_000, 2000, LIMITS), undefined);
});

test('limits: half of the memory, what is free, 1 GiB; the CPUs, four', () => {
  const GIB = 2 ** 30;
  assert.deepEqual(argon2Limits(8, {}, 16 * GIB, 12 * GIB), { memoryKiB: 1 << 20, threads: 4 });
  assert.deepEqual(argon2Limits(2, {}, GIB, GIB), { memoryKiB: 1 << 19, threads: 2 });
  assert.deepEqual(argon2Limits(1, {}, GIB, GIB / 8), { memoryKiB: 1 << 17, threads: 1 });
  assert.deepEqual(argon2Limits(8, { memoryKiB: 4096, threads: 3 }, GIB, GIB), {
    memoryKiB: 4096,
    threads: 3,
  });
});

/** Takes `nsPerKiB` a pass; nothing is computed. */
function machine(
  nsPerKiB: number,
  most = Number.POSITIVE_INFINITY,
): Argon2 & { readonly tried: Argon2Cost[] } {
  const tried: Argon2Cost[] = [];
  return {
    name: 'hash-wasm',
    threaded: false,
    tried,
    async derive(_kind, _password, _salt, own, keyBytes) {
      tried.push(own);
      if (own.memoryKiB > most) throw new HwcryptError('KDF_FAILED', 'no memory');
      return { key: Buffer.alloc(keyBytes), elapsedNs: own.iterations * own.memoryKiB * nsPerKiB };
    },
  };
}

const TARGET = { targetMs: 2000, memoryKiB: 1 << 20, threads: 1 };

test('parameters come within a few steps to what takes the time asked for, fast machine or slow', async () => {
  for (const nsPerKiB of [20, 200, 2000, 7000]) {
    const by = machine(nsPerKiB);
    const found = await measureArgon2('argon2id', 256, TARGET, undefined, by);
    const ms = found!.elapsedNs! / 1e6;
    assert.ok(ms > 1880 && ms < 2210, `${nsPerKiB}: ${ms} ms`);
    assert.ok(found!.memoryKiB! <= 1 << 20 && found!.iterations! >= 4);
    assert.ok(by.tried.length < 8, `${by.tried.length} derivations`);
    assert.deepEqual(found!.doubts, []);
  }
});

test('a machine that is too slow gets the least that cryptsetup would take', async () => {
  const found = await measureArgon2('argon2i', 256, TARGET, undefined, machine(100_000));
  assert.deepEqual([found!.iterations, found!.memoryKiB, found!.status], [4, 65536, 'ok']);
  const small = await measureArgon2('argon2i', 256, { ...TARGET, memoryKiB: 1024 }, undefined, machine(2000));
  assert.equal(small!.memoryKiB, 1024);
});

test('one thread where several would work is said; no memory is N/A; an interruption gives nothing', async () => {
  const doubted = await measureArgon2('argon2id', 256, { ...TARGET, threads: 4 }, undefined, machine(200));
  assert.deepEqual(
    doubted!.doubts.map(({ code }) => code),
    ['ONE_THREAD'],
  );
  const poor = await measureArgon2('argon2id', 256, TARGET, undefined, machine(200, 1000));
  assert.equal(poor!.status, 'unavailable');
  const aborted = AbortSignal.abort();
  assert.equal(await measureArgon2('argon2id', 256, TARGET, aborted, machine(200)), undefined);
  assert.equal(await measurePbkdf2('sha256', 256, aborted), undefined);
});

test('an interruption does not wait for a derivation that is under way', async () => {
  const controller = new AbortController();
  const never: Argon2 = { name: 'hash-wasm', threaded: false, derive: () => new Promise(() => {}) };
  const measured = measureArgon2('argon2id', 256, TARGET, controller.signal, never);
  setTimeout(() => controller.abort(), 20);
  assert.equal(await measured, undefined);
});

test('a hash that OpenSSL lacks is N/A', async () => {
  const found = await measurePbkdf2('nonsense', 256);
  assert.deepEqual(
    [found!.status, found!.algorithmText, found!.keyBits],
    ['unavailable', 'PBKDF2-nonsense', 256],
  );
});

test('PBKDF2 is the median of rounds, and says how they spread', async () => {
  const found = await measurePbkdf2('sha256', 256);
  assert.equal(found!.rounds?.count, 5);
  assert.ok(found!.rounds!.spread >= 0 && found!.iterationsPerSecond! > 0);
});
