/**
 * What unlocking costs: PBKDF2's rate, and the parameters of Argon2 that take a given time, searched for as cryptsetup does.
 *
 * Source of the procedure: lib/crypto_backend/pbkdf_check.c of cryptsetup. Unlike there, PBKDF2 is timed by the clock on the wall and not
 * by CPU time: it is a person who waits.
 */
import { freemem, totalmem } from 'node:os';
import { setImmediate as breathe } from 'node:timers/promises';

import { type Argon2, type Argon2Cost, type Argon2Kind, argon2, pbkdf2, pbkdf2By } from '../kdf/index.js';
import { nowNs } from './engine/clock.js';
import { NOISY_SPREAD } from './engine/measure.js';
import { median, middleSpread, spread } from './engine/statistics.js';
import type { Doubt, KdfMeasurement } from './model.js';

/** What cryptsetup derives from when it measures. */
const PASSWORD = Buffer.from('foobarfo');
const PBKDF2_SALT = Buffer.from('0123456789abcdef');
const ARGON2_SALT = Buffer.from('0123456789abcdef0123456789abcdef');

/** The rounds of PBKDF2 last about this long together; cryptsetup's only one lasts half of it or more. */
const PBKDF2_NS = 1e9;
const PBKDF2_ROUNDS = 5;
const PBKDF2_FIRST = 1 << 13;
/** A time from which the next can be worked out. */
const PBKDF2_TELLING_NS = 30e6;

/** Iterations a second for a key of that many bits. `unavailable` where this OpenSSL lacks the hash; undefined after `signal`. */
export async function measurePbkdf2(
  hash: string,
  keyBits: number,
  signal?: AbortSignal,
): Promise<KdfMeasurement | undefined> {
  const common = { kdf: 'pbkdf2' as const, algorithmText: `PBKDF2-${hash}`, hash, keyBits, doubts: [] };
  if (pbkdf2By(hash) === undefined) return { ...common, status: 'unavailable' };
  const timed = async (iterations: number): Promise<number | undefined> => {
    if (signal?.aborted) return undefined;
    const start = nowNs();
    const key = await unlessAborted(pbkdf2(hash, PASSWORD, PBKDF2_SALT, iterations, keyBits / 8), signal);
    return key && nowNs() - start;
  };
  let iterations = PBKDF2_FIRST;
  for (;;) {
    const ns = await timed(iterations);
    if (ns === undefined) return undefined;
    if (ns >= PBKDF2_TELLING_NS) {
      iterations = Math.ceil((iterations * PBKDF2_NS) / PBKDF2_ROUNDS / ns);
      break;
    }
    iterations *= 8;
  }
  const times: number[] = [];
  while (times.length < PBKDF2_ROUNDS) {
    const ns = await timed(iterations);
    if (ns === undefined) return undefined;
    times.push(ns);
  }
  const rates = times.map((ns) => (iterations * 1e9) / ns);
  const middle = middleSpread(rates);
  const share = Math.round(middle * 100);
  const doubts: Doubt[] =
    middle > NOISY_SPREAD
      ? [{ code: 'NOISY', text: `PBKDF2-${hash}: the middle half of the rounds lies ${share} % apart` }]
      : [];
  return {
    ...common,
    iterationsPerSecond: Math.round(median(rates)),
    iterations: iterations * times.length,
    elapsedNs: times.reduce((sum, ns) => sum + ns, 0),
    rounds: { count: times.length, spread: Math.round(spread(rates) * 1e4) / 1e4 },
    status: 'ok',
    doubts,
  };
}

export interface Argon2Target {
  /** What a derivation shall take. */
  readonly targetMs: number;
  /** At most; see `argon2Limits`. */
  readonly memoryKiB: number;
  readonly threads: number;
}

/** cryptsetup's limits: 1 GiB, half of the memory, what is free; a thread for each CPU, four at most. */
export function argon2Limits(
  cpus: number,
  wanted: { readonly memoryKiB?: number | undefined; readonly threads?: number | undefined } = {},
  total = totalmem(),
  free = freemem(),
): { readonly memoryKiB: number; readonly threads: number } {
  const room = Math.floor(Math.min(total / 2, free) / 1024);
  return {
    memoryKiB: Math.max(LEAST_MEMORY, Math.min(wanted.memoryKiB ?? 1 << 20, room)),
    threads: Math.max(1, Math.min(wanted.threads ?? 4, 4, cpus)),
  };
}

const LEAST_MEMORY = 32;
const LEAST_ITERATIONS = 4;
/** Where a search begins and what it does not go below, unless there is less. */
const FIRST_MEMORY = 64 * 1024;
/** Long enough to work out from it what the target takes. */
const TELLING_MS = 250;
const CLOSE_FROM = 0.95;
const CLOSE_TO = 1.1;
/** A machine that is busy with other things never gets close; cryptsetup would go on. */
const MOST_STEPS = 6;

/**
 * The next parameters to try when these took `ms`: the work is passes times memory, memory comes first, and passes make up for what cannot be had of
 * it. Undefined where nothing would change.
 */
export function nextArgon2Cost(
  cost: Argon2Cost,
  ms: number,
  targetMs: number,
  limits: { readonly leastMemoryKiB: number; readonly mostMemoryKiB: number },
): Argon2Cost | undefined {
  const passes = (cost.iterations * targetMs) / ms;
  const work = passes * cost.memoryKiB;
  let { iterations, memoryKiB } = cost;
  if (ms > targetMs) {
    iterations = Math.floor(passes);
    if (iterations < LEAST_ITERATIONS) {
      iterations = LEAST_ITERATIONS;
      memoryKiB = Math.max(limits.leastMemoryKiB, Math.floor(work / LEAST_ITERATIONS));
    }
  } else {
    memoryKiB = Math.max(limits.leastMemoryKiB, Math.floor(work / iterations));
    if (memoryKiB > limits.mostMemoryKiB) {
      memoryKiB = limits.mostMemoryKiB;
      iterations = Math.max(LEAST_ITERATIONS, Math.floor(work / memoryKiB));
    }
  }
  return iterations === cost.iterations && memoryKiB === cost.memoryKiB
    ? undefined
    : { ...cost, iterations, memoryKiB };
}

/**
 * Parameters with which a derivation takes `targetMs` here. `unavailable` where it fails, as without memory; undefined after `signal`.
 * @param by for tests
 */
export async function measureArgon2(
  kind: Argon2Kind,
  keyBits: number,
  target: Argon2Target,
  signal?: AbortSignal,
  by: Argon2 = argon2(),
): Promise<KdfMeasurement | undefined> {
  const { targetMs, threads } = target;
  const mostMemoryKiB = Math.max(target.memoryKiB, 8 * threads);
  const leastMemoryKiB = Math.max(8 * threads, Math.min(FIRST_MEMORY, mostMemoryKiB));
  const common = { kdf: kind, algorithmText: kind, keyBits, targetMs };
  const doubts: Doubt[] =
    by.threaded || threads === 1
      ? []
      : [
          {
            code: 'ONE_THREAD',
            text: `${by.name} has one thread: with libargon2 installed ${threads} would work at once, as in an unlock, and more memory would fit into the time`,
          },
        ];
  const attempt = async (cost: Argon2Cost): Promise<number | undefined> => {
    // Between two derivations a signal's handler gets its turn.
    await breathe();
    if (signal?.aborted) return undefined;
    const derived = await unlessAborted(
      by.derive(kind, PASSWORD, ARGON2_SALT, cost, Math.max(4, keyBits / 8)),
      signal,
    );
    return derived && Math.max(1, derived.elapsedNs / 1e6);
  };
  let cost: Argon2Cost = { iterations: LEAST_ITERATIONS, memoryKiB: leastMemoryKiB, threads };
  let ms: number | undefined;
  try {
    // First something that takes a telling time at all …
    for (;;) {
      ms = await attempt(cost);
      if (ms === undefined) return undefined;
      if (ms >= Math.min(TELLING_MS, targetMs / 2)) break;
      const factor = Math.min(16, TELLING_MS / ms);
      const next =
        cost.memoryKiB < mostMemoryKiB
          ? { ...cost, memoryKiB: Math.min(mostMemoryKiB, Math.ceil(cost.memoryKiB * factor)) }
          : { ...cost, iterations: Math.ceil(cost.iterations * factor) };
      if (next.memoryKiB === cost.memoryKiB && next.iterations === cost.iterations) break;
      cost = next;
    }
    // … then closer from step to step.
    for (let step = 0; step < MOST_STEPS; step++) {
      if (ms >= targetMs * CLOSE_FROM && ms <= targetMs * CLOSE_TO) break;
      const next = nextArgon2Cost(cost, ms, targetMs, { leastMemoryKiB, mostMemoryKiB });
      if (next === undefined) break;
      cost = next;
      ms = await attempt(cost);
      if (ms === undefined) return undefined;
    }
  } catch (error) {
    // An allocation that fails is this machine's answer; anything else is a fault.
    if ((error as { code?: unknown }).code !== 'KDF_FAILED') throw error;
    return { ...common, status: 'unavailable', doubts };
  }
  return { ...common, ...cost, elapsedNs: Math.round(ms * 1e6), status: 'ok', doubts };
}

/** A derivation cannot be stopped half-way; after `signal` nobody waits for it. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return work;
  let stop: (() => void) | undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop) signal.removeEventListener('abort', stop);
    if (signal.aborted) work.catch(() => {});
  }
}
