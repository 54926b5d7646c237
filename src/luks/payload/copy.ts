/**
 * A range of a volume to a file or a pipe, or a file into a volume, by all cores.
 *
 * Room `luks`. Each thread takes the next chunk, reads it, works on it and writes it, with descriptors of its own process: no byte goes from
 * thread to thread, and memory is one chunk a thread. Where the output is a pipe, whose order counts, a thread waits for its turn
 * to write. Short ranges are worked on here, since a thread takes some 50 ms to start.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

import { type HwcryptCode, HwcryptError } from '../../errors.js';
import type { Fallback } from '../../routing/router.js';
import { CELL, CELLS, CHUNK_BYTES, type ChunkTask, type CopyTask, runChunks } from './chunks.js';

const ALONE_BYTES = 8 * CHUNK_BYTES;
/** More threads than this wait for the memory, not for the CPU. */
const MAX_THREADS = 16;
const PROGRESS_MS = 100;

export type ChunkAnswer =
  | { readonly doneBy: readonly string[] }
  | { readonly error: { readonly message: string; readonly code?: string } }
  /** On the way. */
  | { readonly fallback: Fallback };

export interface CopyOptions {
  /** Hears how many bytes are done. */
  readonly progress?: ((bytes: number) => void) | undefined;
  /** Hears when work goes to another driver than the one that was asked for, of each thread's. */
  readonly onFallback?: (fallback: Fallback) => void;
  /** Threads. */
  readonly most?: number;
}

/** @returns who did the work, each once @throws HwcryptError: the first thing that went wrong in any thread */
export async function copy(
  task: CopyTask,
  key: Uint8Array,
  options: CopyOptions = {},
): Promise<readonly string[]> {
  const { progress, onFallback = () => {}, most = Math.min(MAX_THREADS, availableParallelism()) } = options;
  const shared: ChunkTask = {
    ...task,
    key: new SharedArrayBuffer(key.length),
    cells: new SharedArrayBuffer(CELLS * 4),
  };
  const ownKey = new Uint8Array(shared.key);
  ownKey.set(key);
  const cells = new Int32Array(shared.cells);
  const told = (): void => progress?.(Math.min(task.bytes, (cells[CELL.done] as number) * CHUNK_BYTES));
  try {
    const threads = Math.min(most, Math.ceil(task.bytes / CHUNK_BYTES));
    if (task.bytes <= ALONE_BYTES || threads < 2) return await inPieces(shared, told, onFallback);
    const timer = setInterval(told, PROGRESS_MS);
    const running = Array.from({ length: threads }, () => thread(shared, cells, onFallback));
    const settled = await Promise.allSettled(running);
    clearInterval(timer);
    return [
      ...new Set(
        settled.flatMap((result) => {
          if (result.status === 'rejected') throw result.reason;
          return result.value;
        }),
      ),
    ];
  } finally {
    ownKey.fill(0);
  }
}

type Hear = (fallback: Fallback) => void;

/** On this thread, which may be interrupted between pieces. */
async function inPieces(task: ChunkTask, told: () => void, hear: Hear): Promise<readonly string[]> {
  const chunks = runChunks(task, hear);
  for (;;) {
    const step = chunks.next();
    if (step.done) return step.value;
    told();
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function thread(task: ChunkTask, cells: Int32Array, hear: Hear): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: task });
    const fail = (error: Error): void => {
      Atomics.store(cells, CELL.stop, 1);
      // Whoever waits for a turn that does not come.
      Atomics.notify(cells, CELL.turn);
      reject(error);
    };
    let answered = false;
    worker.on('message', (answer: ChunkAnswer) => {
      if ('fallback' in answer) {
        hear(answer.fallback);
        return;
      }
      answered = true;
      if ('doneBy' in answer) resolve(answer.doneBy);
      else {
        const { message, code } = answer.error;
        fail(code === undefined ? new Error(message) : new HwcryptError(code as HwcryptCode, message));
      }
    });
    worker.once('error', (error: Error) => fail(error));
    worker.once('exit', () => {
      // The first that has nothing left to do must not stop the others.
      if (!answered) fail(new Error('a worker thread ended'));
    });
  });
}
