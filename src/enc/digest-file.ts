/**
 * A whole file through a hash or a MAC, the next piece being read while this one is hashed.
 *
 * Room `enc`.
 */
import type { DigestSession } from '../drivers/driver.js';
import type { Input } from '../files/io.js';
import { BUFFER_BYTES } from './pipeline.js';

/** Two buffers, made once for as many files as there are. */
export class FileDigester {
  #buffers: [Uint8Array, Uint8Array] | undefined;

  /** Feeds everything from the input to the session; returns the number of bytes. */
  async update(
    input: Input,
    session: DigestSession,
    progress?: (bytes: number, total: number | undefined) => void,
  ): Promise<number> {
    this.#buffers ??= [new Uint8Array(BUFFER_BYTES), new Uint8Array(BUFFER_BYTES)];
    let [current, other] = this.#buffers;
    let total = 0;
    if (input.seekable && (input.size ?? BUFFER_BYTES) < BUFFER_BYTES) {
      // A small file: a trip to the thread pool would cost more than reading it.
      for (;;) {
        const piece = input.readNow(current);
        if (piece === 0) return total;
        session.update(current.subarray(0, piece));
        total += piece;
      }
    }
    progress?.(0, input.size);
    let pending = input.read(current, 0, BUFFER_BYTES);
    for (;;) {
      const bytes = await pending;
      if (bytes === 0) return total;
      total += bytes;
      [current, other] = [other, current];
      pending = input.read(current, 0, BUFFER_BYTES);
      try {
        session.update(other.subarray(0, bytes));
      } catch (error) {
        pending.catch(() => {});
        throw error;
      }
      progress?.(total, input.size);
    }
  }
}
