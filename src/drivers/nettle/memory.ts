/** Memory for nettle's contexts: outside of V8's heap, so that it stays where it is, in parts that begin on cache lines. */
import { address } from '../../linux/ffi.js';
import { part } from '../buffers.js';

const LINE = 64;

/** A part of a `Memory`: where it is, for nettle and for us. */
export interface Part {
  readonly address: number;
  readonly bytes: Uint8Array;
}

const round = (bytes: number): number => (bytes + LINE - 1) & -LINE;

/** One block of memory for all that a session has. It holds keys: whoever has it calls `wipe` in the end. */
export class Memory {
  readonly #bytes: Uint8Array;
  readonly #address: number;
  #used = 0;

  /** Room for parts of these sizes, in bytes, to be taken in this order. */
  constructor(sizes: readonly number[]) {
    const total = sizes.reduce((sum, size) => sum + round(size), 0);
    const roomy = new Uint8Array(total + LINE);
    this.#bytes = part(roomy, -address(roomy) & (LINE - 1), total);
    this.#address = address(this.#bytes);
  }

  take(size: number): Part {
    const at = this.#used;
    if (at + round(size) > this.#bytes.length) throw new Error('more parts than there is memory for');
    this.#used += round(size);
    return { address: this.#address + at, bytes: part(this.#bytes, at, size) };
  }

  /** Takes over everything that is in another block of the same shape. */
  copyFrom(other: Memory): void {
    this.#bytes.set(other.#bytes);
  }

  wipe(): void {
    this.#bytes.fill(0);
  }
}
