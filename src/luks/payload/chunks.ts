/** What each thread of a copy does: the next chunk, until there is none. Room `luks`. */
import fs from 'node:fs';

import { HwcryptError } from '../../errors.js';
import { systemMessage } from '../../files/io.js';
import { type Fallback, Router, type RouterOptions } from '../../routing/router.js';
import { Payload, type PayloadFile } from './payload.js';
import type { PayloadPlan } from './plan.js';

export const CHUNK_BYTES = 1024 * 1024;

/** Cells of the memory that the threads share. */
export const CELL = { next: 0, turn: 1, stop: 2, done: 3 } as const;
export const CELLS = 4;

/** Who shall do the work, as it goes from thread to thread. */
export type Routing = Pick<RouterOptions, 'drivers' | 'policy' | 'verify'>;

export interface CopyTask {
  readonly direction: 'read' | 'write';
  readonly plan: PayloadPlan;
  readonly volume: PayloadFile;
  /** Of the volume. */
  readonly offset: number;
  readonly bytes: number;
  /** What is written to, or read from. */
  readonly file: PayloadFile & {
    /** Where in it the range begins; undefined for one that is read or written in order. */
    readonly offset?: number;
    /** It is a new file of that length: zeros need not be written. */
    readonly sparse?: boolean;
  };
  readonly routing: Routing;
}

/** What a thread gets. */
export interface ChunkTask extends CopyTask {
  readonly key: SharedArrayBuffer;
  readonly cells: SharedArrayBuffer;
}

/** Runs of zeros as long as this are left out of a sparse file. */
const HOLE_BYTES = 64 * 1024;
const ZEROS = Buffer.alloc(HOLE_BYTES);
const RETRY_MS = 2;

/** Yields after each chunk, and returns who did the work. @param hear of fallbacks */
export function* runChunks(
  task: ChunkTask,
  hear: (fallback: Fallback) => void,
): Generator<void, readonly string[]> {
  const { direction, plan, volume, offset, bytes, file, routing } = task;
  const cells = new Int32Array(task.cells);
  const router = new Router({ ...routing, onFallback: hear });
  const payload = new Payload(plan, volume, new Uint8Array(task.key), router);
  const memory = Buffer.alloc(CHUNK_BYTES);
  try {
    // On a grid of the volume's, so that no sector belongs to two threads.
    const first = Math.floor(offset / CHUNK_BYTES);
    for (;;) {
      const index = Atomics.add(cells, CELL.next, 1);
      const start = Math.max(offset, (first + index) * CHUNK_BYTES);
      const end = Math.min(offset + bytes, (first + index + 1) * CHUNK_BYTES);
      if (start >= end || Atomics.load(cells, CELL.stop) === 1) return payload.doneBy;
      const view = memory.subarray(0, end - start);
      const at = file.offset === undefined ? undefined : file.offset + start - offset;
      if (direction === 'read') {
        payload.read(view, start);
        if (at === undefined && !awaitTurn(cells, index)) return payload.doneBy;
        if (file.sparse && at !== undefined) writeSparse(file, view, at);
        else writeFully(file, view, at);
        if (at === undefined) passTurn(cells, index);
      } else {
        readFully(file, view, at as number);
        payload.write(view, start);
      }
      Atomics.add(cells, CELL.done, 1);
      yield;
    }
  } finally {
    memory.fill(0);
    payload.close();
  }
}

function awaitTurn(cells: Int32Array, index: number): boolean {
  for (;;) {
    const turn = Atomics.load(cells, CELL.turn);
    if (turn === index) return true;
    if (Atomics.load(cells, CELL.stop) === 1) return false;
    // With an end, since the notice that everything stops may come just before.
    Atomics.wait(cells, CELL.turn, turn, 100);
  }
}

function passTurn(cells: Int32Array, index: number): void {
  Atomics.store(cells, CELL.turn, index + 1);
  Atomics.notify(cells, CELL.turn);
}

type File = ChunkTask['file'];

function writeSparse(file: File, view: Buffer, at: number): void {
  let from = 0;
  for (let i = 0; i < view.length; i += HOLE_BYTES) {
    const piece = view.subarray(i, i + HOLE_BYTES);
    if (!piece.equals(piece.length === HOLE_BYTES ? ZEROS : ZEROS.subarray(0, piece.length))) continue;
    if (i > from) writeFully(file, view.subarray(from, i), at + from);
    from = i + piece.length;
  }
  if (from < view.length) writeFully(file, view.subarray(from), at + from);
}

function writeFully({ fd, name }: File, view: Buffer, at: number | undefined): void {
  let done = 0;
  while (done < view.length) {
    try {
      done += fs.writeSync(fd, view, done, view.length - done, at === undefined ? null : at + done);
    } catch (error) {
      // A pipe that somebody else has made non-blocking.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
        continue;
      }
      throw new HwcryptError('OUTPUT_FILE', `cannot write ${name}: ${systemMessage(error)}`, {
        cause: error,
      });
    }
  }
}

function readFully({ fd, name }: File, view: Buffer, at: number): void {
  let done = 0;
  try {
    while (done < view.length) {
      const some = fs.readSync(fd, view, done, view.length - done, at + done);
      if (some === 0) throw new Error('it has become shorter');
      done += some;
    }
  } catch (error) {
    throw new HwcryptError('INPUT_FILE', `cannot read ${name}: ${systemMessage(error)}`, { cause: error });
  }
}
