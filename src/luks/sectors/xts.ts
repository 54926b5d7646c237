/**
 * XTS of many sectors out of a few large requests in a simpler mode: what an engine, which is dear per request, can do well, and what one
 * without XTS can do at all.
 *
 * Room `luks`. C = E1(P ^ T) ^ T for each block, where T is E2(number of the sector), doubled in GF(2^128) from block to block (IEEE
 * 1619-2007, 5.3; data units of whole blocks only, as sectors are). E1 of all blocks is one request in ECB. CBC decrypts them too: its
 * result is that of ECB but for the ciphertext before, which is taken off again by XOR.
 *
 * The doubled numbers are made anew for the second XOR. To keep them would take as much memory as the data, and to read that back takes
 * longer. Over words of 32 bits each XOR of 1 MiB takes V8 some 0.5 ms, and bytes would take ten times as long; WebAssembly would need the
 * data in memory of its own, and save a share of what no engine would notice: at 200 MB/s that is 5 ms.
 */
import { endianness } from 'node:os';

import type { CipherSession } from '../../drivers/driver.js';

/** What is handed over at once. The driver may cut it, where its interface takes less. */
export const BATCH_BYTES = 1024 * 1024;

/**
 * The words below are the machine's own. No big-endian machine that Node runs on is without XTS in its libcrypto, and none has an
 * engine that needs this.
 */
export const CAN_BATCH = endianness() === 'LE';

const BLOCK = 16;
const NO_CHAIN = new Uint8Array(BLOCK);

export class BatchedXts {
  /** E1, or its inverse: ECB, or CBC that decrypts. */
  readonly #blocks: CipherSession;
  /** E2, in ECB. */
  readonly #tweaks: CipherSession;
  readonly #sectorBytes: number;
  readonly #chained: boolean;
  /** Where data lies at an address that words cannot have. */
  #aligned: Uint8Array | undefined;
  /** CBC: a block of zeros, and what is given to the driver. */
  #given: Uint8Array | undefined;

  /** Both sessions are closed with this. */
  constructor(blocks: CipherSession, tweaks: CipherSession, sectorBytes: number) {
    this.#blocks = blocks;
    this.#tweaks = tweaks;
    this.#sectorBytes = sectorBytes;
    this.#chained = blocks.algorithm.mode === 'cbc';
  }

  /** Who does the blocks; with a `+` between several. */
  get driver(): string {
    return this.#blocks.driver;
  }

  /** The mode that it is made of. */
  get mode(): 'ecb' | 'cbc' {
    return this.#chained ? 'cbc' : 'ecb';
  }

  /**
   * In place. When it throws, what is in `data` is neither one thing nor the other.
   * @param numbers the IVs of the sectors, from the start of a buffer on; they become the tweaks
   */
  run(data: Uint8Array, numbers: Uint8Array): void {
    this.#tweaks.update(numbers, numbers);
    const sectorBytes = this.#sectorBytes;
    const most = Math.max(1, Math.floor(BATCH_BYTES / sectorBytes)) * sectorBytes;
    for (let at = 0; at < data.length; at += most) {
      const batch = data.subarray(at, at + most);
      const [first, count] = [at / sectorBytes, batch.length / sectorBytes];
      const tweaks = new Int32Array(numbers.buffer, numbers.byteOffset + first * BLOCK, count * (BLOCK / 4));
      if (batch.byteOffset % 4 === 0) this.#batch(batch, tweaks);
      else {
        this.#aligned ??= new Uint8Array(BATCH_BYTES);
        const copy = this.#aligned.subarray(0, batch.length);
        copy.set(batch);
        this.#batch(copy, tweaks);
        batch.set(copy);
      }
    }
  }

  close(): void {
    this.#blocks.close();
    this.#tweaks.close();
    this.#aligned?.fill(0);
    this.#given?.fill(0);
  }

  #batch(data: Uint8Array, tweaks: Int32Array): void {
    const words = new Int32Array(data.buffer, data.byteOffset, data.length / 4);
    const sectorWords = this.#sectorBytes / 4;
    if (!this.#chained) {
      whiten(words, words, tweaks, sectorWords);
      this.#blocks.update(data, data);
      whiten(words, words, tweaks, sectorWords);
      return;
    }
    this.#given ??= new Uint8Array(BLOCK + BATCH_BYTES);
    const { buffer } = this.#given;
    whiten(words, new Int32Array(buffer, BLOCK, words.length), tweaks, sectorWords);
    this.#blocks.restart(NO_CHAIN);
    this.#blocks.update(this.#given.subarray(BLOCK, BLOCK + data.length), data);
    unchain(words, new Int32Array(buffer, 0, words.length), tweaks, sectorWords);
  }
}

/**
 * XORs each block of each sector with its tweak.
 * @param from may be `to`
 * @param tweaks the first of each sector, four words each
 */
export function whiten(from: Int32Array, to: Int32Array, tweaks: Int32Array, sectorWords: number): void {
  for (let at = 0, i = 0; at < from.length; i += 4) {
    let [a, b, c, d] = [tweaks[i]!, tweaks[i + 1]!, tweaks[i + 2]!, tweaks[i + 3]!];
    for (const end = at + sectorWords; at < end; at += 4) {
      to[at] = from[at]! ^ a;
      to[at + 1] = from[at + 1]! ^ b;
      to[at + 2] = from[at + 2]! ^ c;
      to[at + 3] = from[at + 3]! ^ d;
      // What runs over at the top comes in at the bottom as x^7 + x^2 + x + 1.
      const over = (d >> 31) & 0x87;
      d = (d << 1) | (c >>> 31);
      c = (c << 1) | (b >>> 31);
      b = (b << 1) | (a >>> 31);
      a = (a << 1) ^ over;
    }
  }
}

/** The same in place, and with the ciphertext of the block before, in one go. */
function unchain(words: Int32Array, before: Int32Array, tweaks: Int32Array, sectorWords: number): void {
  for (let at = 0, i = 0; at < words.length; i += 4) {
    let [a, b, c, d] = [tweaks[i]!, tweaks[i + 1]!, tweaks[i + 2]!, tweaks[i + 3]!];
    for (const end = at + sectorWords; at < end; at += 4) {
      words[at]! ^= a ^ before[at]!;
      words[at + 1]! ^= b ^ before[at + 1]!;
      words[at + 2]! ^= c ^ before[at + 2]!;
      words[at + 3]! ^= d ^ before[at + 3]!;
      const over = (d >> 31) & 0x87;
      d = (d << 1) | (c >>> 31);
      c = (c << 1) | (b >>> 31);
      b = (b << 1) | (a >>> 31);
      a = (a << 1) ^ over;
    }
  }
}
