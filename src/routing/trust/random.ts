/** Random numbers that come out the same again from a seed, so that whatever was found with them can be found again. */
import { createCipheriv } from 'node:crypto';

/** Longer runs of bytes are made by AES, which is a hundred times faster than word by word. */
const SHORT_BYTES = 2048;

/**
 * Bob Jenkins' small fast generator (sfc32), seeded from a number and a label, so that what is drawn under one label does not depend
 * on what was drawn under another.
 */
export class SeededRandom {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed 0 … 2^32 - 1 */
  constructor(label: string, seed: number) {
    // FNV-1a over the label.
    let hash = 0x811c9dc5;
    for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193) >>> 0;
    this.#a = seed >>> 0;
    this.#b = hash;
    this.#c = 0x9e3779b9;
    for (let i = 0; i < 12; i++) this.word();
  }

  /** 0 … 2^32 - 1. */
  word(): number {
    const sum = (this.#a + this.#b + this.#counter++) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) >>> 0;
    this.#c = (this.#c + sum) >>> 0;
    return sum;
  }

  /** `least` … `most`, both included. */
  integer(least: number, most: number): number {
    return least + Math.floor((this.word() / 2 ** 32) * (most - least + 1));
  }

  bytes(length: number): Uint8Array {
    if (length > SHORT_BYTES) {
      const stream = createCipheriv('aes-128-ctr', this.bytes(16), this.bytes(16));
      const bytes = stream.update(Buffer.alloc(length));
      return new Uint8Array(bytes.buffer, bytes.byteOffset, length);
    }
    const words = new Uint32Array(Math.ceil(length / 4));
    for (let i = 0; i < words.length; i++) words[i] = this.word();
    return new Uint8Array(words.buffer, 0, length);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)]!;
  }

  /** Lengths that add up to `total`, each a multiple of `unit` but for the last, which takes what is left. */
  pieces(total: number, unit: number, most = Number.POSITIVE_INFINITY): number[] {
    const list: number[] = [];
    for (let left = total; left > 0; ) {
      // As many short pieces as long ones: the logarithm of the length is uniform.
      const scale = 2 ** this.integer(0, Math.max(1, Math.ceil(Math.log2(left / unit + 1))));
      const wanted = Math.max(1, Math.floor(scale * (0.5 + this.word() / 2 ** 32))) * unit;
      const piece = Math.min(wanted, left, Math.max(unit, Math.floor(most / unit) * unit));
      list.push(piece);
      left -= piece;
    }
    return list;
  }
}
