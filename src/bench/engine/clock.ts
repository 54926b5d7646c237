/** Elapsed and CPU time, and what reading the clock itself costs. */

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

export function cpuSince(start: CpuTimes): CpuTimes {
  const end = cpuTimes();
  return { userNs: end.userNs - start.userNs, systemNs: end.systemNs - start.systemNs };
}

let cost: number | undefined;

/**
 * What one reading of `nowNs` adds to a span between two of them, in nanoseconds: the median distance of readings that follow one
 * another at once. It is taken off each latency; a round's two readings do not matter.
 */
export function clockCostNs(): number {
  if (cost !== undefined) return cost;
  const distances = new Float64Array(2001);
  for (let pass = 0; pass < 3; pass++) {
    for (let i = 0; i < distances.length; i++) {
      const start = nowNs();
      distances[i] = nowNs() - start;
    }
  }
  distances.sort();
  cost = distances[distances.length >> 1]!;
  return cost;
}
