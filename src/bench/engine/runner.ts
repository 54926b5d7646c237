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
  /** Works for about that long, and at least one request, and finds out how many requests go into a batch. */
  warmUp(ns: number): Promise<Round>;
  /** Works for at least that long. */
  round(ns: number): Promise<ThreadedRound>;
  /** Times single requests for about that long; undefined where there are too few to tell. */
  latency(ns: number): Promise<Latency | undefined>;
  /** Is what the timed sessions give still right? Throws what the driver throws. */
  verify(): Promise<boolean>;
  close(): Promise<void> | void;
}

export interface ThreadedRound extends Round {
  /** Each thread's part, where several work at once. */
  readonly threads?: readonly Round[];
}

/** How long a batch takes: long against the clock, short against a round. */
const BATCH_NS = 4e6;
/** Ninety-nine in a hundred is nothing to be told from fewer. */
const LEAST_SAMPLES = 100;
const MOST_SAMPLES = 20_000;

export class LocalRunner implements Runner {
  readonly #workload: Workload;
  readonly #now: () => number;
  #batch = 1;
  /** Of one request, by the last batch of the warm-up. */
  #requestNs = 0;

  constructor(workload: Workload, now: () => number = nowNs) {
    this.#workload = workload;
    this.#now = now;
  }

  async warmUp(ns: number): Promise<Round> {
    return this.warmUpNow(ns);
  }

  async round(ns: number): Promise<Round> {
    return this.roundNow(ns);
  }

  async latency(ns: number): Promise<Latency | undefined> {
    if (this.#requestNs * LEAST_SAMPLES > ns) return undefined;
    const workload = this.#workload;
    const now = this.#now;
    const cost = clockCostNs(now);
    const samples: number[] = [];
    const end = now() + ns;
    for (let at = now(); at < end && samples.length < MOST_SAMPLES; ) {
      workload.request();
      const next = now();
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

  async verify(): Promise<boolean> {
    return this.verifyNow();
  }

  /** As `warmUp`, without a promise, for a worker's own loop. */
  warmUpNow(ns: number): Round {
    const start = this.#now();
    let batch = 1;
    let requests = 0;
    let elapsedNs = 0;
    for (;;) {
      const before = this.#now();
      this.#run(batch);
      const after = this.#now();
      const took = after - before;
      requests += batch;
      elapsedNs = after - start;
      this.#requestNs = took / batch;
      // A batch that did not reach its length says by how much; one that the clock hardly saw does not.
      if (took < BATCH_NS / 64) batch *= 16;
      else if (took < BATCH_NS || took > 4 * BATCH_NS)
        batch = Math.max(1, Math.round((batch * BATCH_NS) / took));
      if (elapsedNs >= ns) break;
    }
    // The warm-up may have ended in mid-growth; a round shall not be longer by a batch that is.
    this.#batch = Math.max(1, Math.min(batch, Math.ceil(BATCH_NS / Math.max(this.#requestNs, 1))));
    return { requests, elapsedNs };
  }

  roundNow(ns: number): Round {
    const batch = this.#batch;
    const now = this.#now;
    const start = now();
    let requests = 0;
    let elapsedNs = 0;
    do {
      this.#run(batch);
      requests += batch;
      elapsedNs = now() - start;
    } while (elapsedNs < ns);
    return { requests, elapsedNs };
  }

  verifyNow(): boolean {
    return this.#workload.verify() && this.#workload.check();
  }

  #run(count: number): void {
    const workload = this.#workload;
    for (let i = 0; i < count; i++) workload.request();
  }

  close(): void {
    this.#workload.close();
  }
}
