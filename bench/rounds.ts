/**
 * Interleaved rounds: everything that is compared runs in the same process, turn by turn, so that what the machine is
 * doing besides hits all alike. What counts is the median of the rounds' ratios, not any single time.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { median } from '#src/bench/engine/statistics.js';

export interface Compared {
  /** Median nanoseconds a call of ours and of theirs. */
  readonly oursNs: number;
  readonly theirsNs: number;
  /** Medians over rounds of theirs / ours: above 1, ours is faster. */
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
}

/**
 * A side starts with a clean heap and runs long enough to pay for its own garbage: node:crypto makes native objects for
 * every message, and in short rounds their collection would be charged to whoever runs next.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export interface RoundOptions {
  readonly rounds?: number;
  /** How long one side runs in one round. */
  readonly roundMs?: number;
}

function time(work: () => void, count: number): number {
  collect();
  const start = process.hrtime.bigint();
  for (let i = 0; i < count; i++) work();
  return Number(process.hrtime.bigint() - start) / count;
}

/** How many calls fill `ms`, after a warm-up of the same length. */
function calibrate(work: () => void, ms: number): number {
  let count = 1;
  for (;;) {
    const ns = time(work, count) * count;
    if (ns > ms * 5e5) return Math.max(1, Math.round((count * ms * 1e6) / ns));
    count *= 4;
  }
}

export function compare(ours: () => void, theirs: () => void, options: RoundOptions = {}): Compared {
  const { rounds = 11, roundMs = 200 } = options;
  for (let i = 0; i < 2; i++) {
    calibrate(ours, 100);
    calibrate(theirs, 100);
  }
  const oursCount = calibrate(ours, roundMs);
  const theirsCount = calibrate(theirs, roundMs);
  const a: number[] = [];
  const b: number[] = [];
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes from round to round.
    if (round % 2 === 0) a.push(time(ours, oursCount));
    b.push(time(theirs, theirsCount));
    if (round % 2 === 1) a.push(time(ours, oursCount));
  }
  const ratios = a.map((value, i) => b[i]! / value);
  return {
    oursNs: median(a),
    theirsNs: median(b),
    ratio: median(ratios),
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
  };
}
