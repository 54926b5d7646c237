/**
 * Messages in pieces of any length over functions that take only whole blocks before the last call.
 *
 * nettle counts a block that was begun as used up. So before one is begun its state is saved, and when more of it comes,
 * it is done again from there, with the bytes that it had before.
 */
import { lengthOf, part } from '../buffers.js';
import type { Memory, Part } from './memory.js';

const { set } = Uint8Array.prototype;

/** Sizes of what a `Pieces` takes of a `Memory`. */
export function pieceSizes(blockBytes: number, stateBytes: number): number[] {
  return [blockBytes, blockBytes, stateBytes];
}

export class Pieces {
  readonly #blockBytes: number;
  readonly #state: Part;
  readonly #input: Part;
  readonly #output: Part;
  readonly #saved: Part;
  readonly #crypt: (length: number, to: number, from: number) => void;
  /** Bytes of the block that was begun. */
  #begun = 0;

  /** `state` is everything that `crypt` changes besides its output. */
  constructor(
    memory: Memory,
    blockBytes: number,
    state: Part,
    crypt: (length: number, to: number, from: number) => void,
  ) {
    this.#blockBytes = blockBytes;
    this.#state = state;
    this.#input = memory.take(blockBytes);
    this.#output = memory.take(blockBytes);
    this.#saved = memory.take(lengthOf(state.bytes));
    this.#crypt = crypt;
  }

  /** A new message. */
  restart(): void {
    this.#begun = 0;
  }

  /** The state at the last block border. */
  get state(): Uint8Array {
    return this.#begun > 0 ? this.#saved.bytes : this.#state.bytes;
  }

  /** Goes on with the block that was begun. Returns how many of the `length` bytes went into it. */
  head(input: Uint8Array, output: Uint8Array, length: number): number {
    const begun = this.#begun;
    if (begun === 0) return 0;
    const taken = Math.min(length, this.#blockBytes - begun);
    this.#state.bytes.set(this.#saved.bytes);
    this.#block(input, output, 0, taken);
    return taken;
  }

  /** Begins a block with `length` bytes from `at` on, fewer than it has. */
  tail(input: Uint8Array, output: Uint8Array, at: number, length: number): void {
    if (length === 0) return;
    this.#saved.bytes.set(this.#state.bytes);
    this.#block(input, output, at, length);
  }

  #block(input: Uint8Array, output: Uint8Array, at: number, length: number): void {
    const begun = this.#begun;
    this.#input.bytes.set(part(input, at, length), begun);
    this.#crypt(begun + length, this.#output.address, this.#input.address);
    set.call(output, part(this.#output.bytes, begun, length), at);
    this.#begun = (begun + length) % this.#blockBytes;
  }
}
