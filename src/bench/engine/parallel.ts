/**
 * Several threads at once, each with sessions of its own: for a kernel driver that is as many request sockets with a request in
 * flight on each, which is what an engine with a queue needs to be fast (QAT with one request at a time is slower than software).
 *
 * The threads are started once and serve every contestant and size in turn, since a thread takes its time to load what it needs: some
 * 60 ms on a PC, seconds on a router.
 */
import { Worker } from 'node:worker_threads';
import type { Operation } from '../model.js';
import type { Round, Runner, ThreadedRound } from './runner.js';

/** What a worker shall make requests of. Algorithms and drivers by name: objects do not go from thread to thread. */
export interface WorkerTask {
  readonly algorithm: string;
  readonly operation: Operation;
  readonly requestBytes: number;
  readonly aadBytes?: number;
  /** `afalg`, `afalg:virtio_crypto_aes_cbc`. */
  readonly driver: string;
}

/** `id` tells the sessions of one task from those of another. */
export type WorkerOrder =
  | { readonly id: number; readonly open: WorkerTask }
  | { readonly id: number; readonly warmUpNs: number }
  | { readonly id: number; readonly roundNs: number }
  | { readonly id: number; readonly verify: true }
  | { readonly id: number; readonly close: true }
  /** Close everything and end. */
  | { readonly end: true };

export type WorkerAnswer =
  | { readonly done: true }
  | { readonly round: Round }
  | { readonly right: boolean }
  | { readonly error: { readonly message: string; readonly code?: string } };

/** A thread that is told to end and does not is ended after so long. */
const FAREWELL_MS = 5000;

/** One thread: an order at a time. */
class Thread {
  readonly #worker: Worker;
  #waiting: { resolve(answer: WorkerAnswer): void; reject(error: Error): void } | undefined;
  /** What ended it. */
  #failure: Error | undefined;
  readonly #ended: Promise<void>;

  constructor() {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { execArgv: [] });
    this.#worker.on('message', (answer: WorkerAnswer) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(answer);
    });
    // Without a listener of its own an error in a thread would be the end of the process.
    this.#worker.on('error', (error) =>
      this.#fail(error instanceof Error ? error : new Error(String(error))),
    );
    this.#ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#fail(new Error('a worker thread ended'));
        resolve();
      });
    });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
  }

  /** @throws what the order came to in the thread, or what ended the thread. */
  async tell(order: WorkerOrder): Promise<WorkerAnswer> {
    const answer = await new Promise<WorkerAnswer>((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      else {
        this.#waiting = { resolve, reject };
        this.#worker.postMessage(order);
      }
    });
    if (!('error' in answer)) return answer;
    const { message, code } = answer.error;
    throw Object.assign(new Error(message), code === undefined ? {} : { code });
  }

  /** Lets it close its sessions first: what a thread that is merely stopped has open stays open in the process. */
  async end(): Promise<void> {
    if (!this.#failure) this.#worker.postMessage({ end: true } satisfies WorkerOrder);
    const late = setTimeout(() => void this.#worker.terminate(), FAREWELL_MS);
    await this.#ended;
    clearTimeout(late);
  }
}

export class ThreadPool {
  readonly #threads: readonly Thread[];
  #nextId = 0;

  constructor(count: number) {
    this.#threads = Array.from({ length: count }, () => new Thread());
  }

  /** Sessions for a task in every thread. @throws what opening them threw in the first thread that failed. */
  async open(task: WorkerTask): Promise<Runner> {
    const id = this.#nextId++;
    const runner = new ParallelRunner(this.#threads, id);
    try {
      await all(this.#threads, { id, open: task });
    } catch (error) {
      await runner.close();
      throw error;
    }
    return runner;
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}

/** Everybody's answer; also where one fails all are waited for, or the rest would work on while others are timed. */
async function all(threads: readonly Thread[], order: WorkerOrder): Promise<WorkerAnswer[]> {
  const settled = await Promise.allSettled(threads.map((thread) => thread.tell(order)));
  return settled.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

class ParallelRunner implements Runner {
  readonly #threads: readonly Thread[];
  readonly #id: number;

  constructor(threads: readonly Thread[], id: number) {
    this.#threads = threads;
    this.#id = id;
  }

  async warmUp(ns: number): Promise<Round> {
    return summed(roundsOf(await all(this.#threads, { id: this.#id, warmUpNs: ns })));
  }

  async round(ns: number): Promise<ThreadedRound> {
    const threads = roundsOf(await all(this.#threads, { id: this.#id, roundNs: ns }));
    return { ...summed(threads), threads };
  }

  /** With several in flight a request's own time says how long the queue is, not how fast the driver: it is not told. */
  async latency(): Promise<undefined> {
    return undefined;
  }

  async verify(): Promise<boolean> {
    const answers = await all(this.#threads, { id: this.#id, verify: true });
    return answers.every((answer) => 'right' in answer && answer.right);
  }

  async close(): Promise<void> {
    // A thread that ended has closed what it could.
    await all(this.#threads, { id: this.#id, close: true }).catch(() => {});
  }
}

function roundsOf(answers: readonly WorkerAnswer[]): Round[] {
  return answers.flatMap((answer) => ('round' in answer ? [answer.round] : []));
}

/**
 * Everybody's requests, over the time in which they would have been made at the sum of everybody's rates: the threads start and end
 * together but for a message's way and a batch.
 */
export function summed(rounds: readonly Round[]): Round {
  const requests = rounds.reduce((sum, round) => sum + round.requests, 0);
  const perNs = rounds.reduce((sum, round) => sum + round.requests / round.elapsedNs, 0);
  return { requests, elapsedNs: requests / perNs };
}
