/**
 * Several threads at once, each with sessions of its own: for a kernel driver that is as many request sockets with a request in
 * flight on each, which is what an engine with a queue needs to be fast (QAT with one request at a time is slower than software).
 */
import { Worker } from 'node:worker_threads';
import type { Operation } from '../model.js';
import type { Round, Runner } from './runner.js';

/** What a worker is told at its start. Algorithms and drivers by name: objects do not go from thread to thread. */
export interface WorkerTask {
  readonly algorithm: string;
  readonly operation: Operation;
  readonly requestBytes: number;
  /** `afalg`, `afalg:virtio_crypto_aes_cbc`. */
  readonly driver: string;
}

export type WorkerOrder = { readonly warmUpNs: number } | { readonly roundNs: number };

export type WorkerAnswer =
  | { readonly ready: true }
  | { readonly round: Round }
  | { readonly error: { readonly message: string; readonly code?: string } };

export class ParallelRunner implements Runner {
  readonly #workers: Worker[];

  private constructor(workers: Worker[]) {
    this.#workers = workers;
  }

  /** @throws what opening a session threw in the first worker that failed. */
  static async start(task: WorkerTask, count: number): Promise<ParallelRunner> {
    const file = new URL('./worker.js', import.meta.url);
    const runner = new ParallelRunner(
      Array.from({ length: count }, () => new Worker(file, { workerData: task })),
    );
    try {
      await Promise.all(runner.#workers.map((worker) => answer(worker)));
    } catch (error) {
      await runner.close();
      throw error;
    }
    return runner;
  }

  async warmUp(ns: number): Promise<void> {
    await this.#all({ warmUpNs: ns });
  }

  /** Requests of all threads. They start and end together but for a message's way, so the longest time is the round's. */
  async round(ns: number): Promise<Round> {
    const answers = await this.#all({ roundNs: ns });
    let requestsPerNs = 0;
    let elapsedNs = 0;
    for (const given of answers) {
      if (!('round' in given)) continue;
      requestsPerNs += given.round.requests / given.round.elapsedNs;
      elapsedNs = Math.max(elapsedNs, given.round.elapsedNs);
    }
    return { requests: Math.round(requestsPerNs * elapsedNs), elapsedNs };
  }

  /** With several in flight a request's own time says how long the queue is, not how fast the driver: it is not told. */
  async latency(): Promise<undefined> {
    return undefined;
  }

  #all(order: WorkerOrder): Promise<WorkerAnswer[]> {
    return Promise.all(
      this.#workers.map((worker) => {
        const answered = answer(worker);
        worker.postMessage(order);
        return answered;
      }),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

/** The next message of a worker, or what ended it. */
function answer(worker: Worker): Promise<WorkerAnswer> {
  return new Promise((resolve, reject) => {
    const done = (action: () => void): void => {
      worker.off('message', onMessage);
      worker.off('error', onError);
      worker.off('exit', onExit);
      action();
    };
    const onMessage = (message: WorkerAnswer): void =>
      done(() => {
        if ('error' in message) {
          const { message: text, code } = message.error;
          reject(Object.assign(new Error(text), code === undefined ? {} : { code }));
        } else resolve(message);
      });
    const onError = (error: Error): void => done(() => reject(error));
    const onExit = (): void => done(() => reject(new Error('a worker thread ended')));
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.on('exit', onExit);
  });
}
