/** Elapsed and CPU time, the engines' interrupts, and what reading the clock itself costs. */
import { readEngineInterrupts } from '../../linux/engine-interrupts.js';

/** Monotonic nanoseconds. A number: 2^53 ns are 104 days after boot or process start, which is what hrtime counts from. */
export function nowNs(): number {
  return Number(process.hrtime.bigint());
}

/** CPU time of this process, all its threads together, in nanoseconds (the kernel counts microseconds or ticks). */
export interface CpuTimes {
  readonly userNs: number;
  readonly systemNs: number;
}

export function cpuTimes(): CpuTimes {
  const { user, system } = process.cpuUsage();
  return { userNs: user * 1000, systemNs: system * 1000 };
}

export function cpuBetween(start: CpuTimes, end: CpuTimes): CpuTimes {
  return { userNs: end.userNs - start.userNs, systemNs: end.systemNs - start.systemNs };
}

/** What is read while measuring. Tests put a machine of their own in its place. */
export interface Instruments {
  /** Monotonic nanoseconds. */
  now(): number;
  cpu(): CpuTimes;
  /** How often the crypto engines have interrupted so far; undefined where no line of /proc/interrupts is an engine's. */
  interrupts(): number | undefined;
}

export const INSTRUMENTS: Instruments = {
  now: nowNs,
  cpu: cpuTimes,
  interrupts: () => readEngineInterrupts(),
};

const costs = new WeakMap<() => number, number>();

/**
 * What one reading of a clock adds to a span between two of them, in nanoseconds: the median distance of readings that follow one
 * another at once. It is taken off each latency; a round's two readings do not matter.
 */
export function clockCostNs(now: () => number = nowNs): number {
  const known = costs.get(now);
  if (known !== undefined) return known;
  const distances = new Float64Array(2001);
  for (let pass = 0; pass < 3; pass++) {
    for (let i = 0; i < distances.length; i++) {
      const start = now();
      distances[i] = now() - start;
    }
  }
  distances.sort();
  const cost = distances[distances.length >> 1]!;
  costs.set(now, cost);
  return cost;
}
