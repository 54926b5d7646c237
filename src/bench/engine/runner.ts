/**
 * A contestant at one size: requests one after another on this thread. `ParallelRunner` does the same in several threads.
 *
 * The clock is read once a batch, not once a request: a batch is as many requests as take some milliseconds.
 */
import type { Latency } from '../model.js';
import { clockCostNs, nowNs } from './clock.js';
import { quantile } from './statistics.js';
import type { Workload } from './workload.js';

export interface Round {
  readonly requests: number;
  readonly elapsedNs: number;
}

/** What the engine does with a contestant. */
export interface Runner {
  /** Works for about that long and finds out how many requests go into a batch. */
  warmUp(ns: number): Promise<void>;
  /** Works for at least that long. */
  round(ns: number): Promise<Round>;
  /** Times single requests for about that long; undefined where there are too few to tell. */
  latency(ns: number): Promise<Latency | undefined>;
  close(): Promise<void> | void;
}

/** How long a batch takes: long against the clock, short against a round. */
const BATCH_NS = 4e6;
/** Ninety-nine in a hundred is nothing to be told from fewer. */
const LEAST_SAMPLES = 100;
const MOST_SAMPLES = 20_000;

export class LocalRunner implements Runner {
  readonly #workload: Workload;
  #batch = 1;

  constructor(workload: Workload) {
    this.#workload = workload;
  }

  async warmUp(ns: number): Promise<void> {
    this.warmUpNow(ns);
  }

  async round(ns: number): Promise<Round> {
    return this.roundNow(ns);
  }

  async latency(ns: number): Promise<Latency | undefined> {
    const workload = this.#workload;
    const cost = clockCostNs();
    const samples: number[] = [];
    const end = nowNs() + ns;
    for (let at = nowNs(); at < end && samples.length < MOST_SAMPLES; ) {
      workload.request();
      const next = nowNs();
      samples.push(Math.max(0, next - at - cost));
      at = next;
    }
    if (samples.length < LEAST_SAMPLES) return undefined;
    return {
      p50Ns: Math.round(quantile(samples, 0.5)),
      p90Ns: Math.round(quantile(samples, 0.9)),
      p99Ns: Math.round(quantile(samples, 0.99)),
    };
  }

  /** As `warmUp`, without a promise, for a worker's own loop. */
  warmUpNow(ns: number): void {
    const start = nowNs();
    let batch = 1;
    for (;;) {
      const before = nowNs();
      this.#run(batch);
      const took = nowNs() - before;
      if (took < BATCH_NS) batch = took > BATCH_NS / 64 ? Math.ceil((batch * BATCH_NS) / took) : batch * 16;
      else if (took > 4 * BATCH_NS) batch = Math.max(1, Math.floor((batch * BATCH_NS) / took));
      if (nowNs() - start >= ns) break;
    }
    this.#batch = batch;
  }

  roundNow(ns: number): Round {
    const batch = this.#batch;
    const start = nowNs();
    let requests = 0;
    let elapsedNs = 0;
    do {
      this.#run(batch);
      requests += batch;
      elapsedNs = nowNs() - start;
    } while (elapsedNs < ns);
    return { requests, elapsedNs };
  }

  #run(count: number): void {
    const workload = this.#workload;
    for (let i = 0; i < count; i++) workload.request();
  }

  close(): void {
    this.#workload.close();
  }
}
