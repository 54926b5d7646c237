/**
 * The chaining value of a cipher mode, carried by us from one request to the next: what a driver that splits a message
 * must send as the IV of the second piece. Some kernel drivers do not write it back, so nobody relies on that they do.
 *
 * Sources: NIST SP 800-38A (CBC, CFB, OFB, CTR); RFC 8439 and OpenSSL's EVP_chacha20 for ChaCha20.
 */
import type { CipherAlgorithm } from '../algorithms.js';
import { copyOf } from './buffers.js';
import type { Direction } from './driver.js';

/** Adds `blocks` (a whole number below 2^53) to a big-endian counter of any width, in place; it wraps at its end. */
export function addBigEndian(counter: Uint8Array, blocks: number): void {
  let carry = blocks;
  for (let i = counter.length - 1; i >= 0 && carry > 0; i--) {
    const sum = (counter[i] as number) + (carry % 256);
    counter[i] = sum & 0xff;
    carry = Math.floor(carry / 256) + (sum >> 8);
  }
}

/** The same for a little-endian counter in the first `width` bytes. */
export function addLittleEndian(counter: Uint8Array, width: number, blocks: number): void {
  let carry = blocks;
  for (let i = 0; i < width && carry > 0; i++) {
    const sum = (counter[i] as number) + (carry % 256);
    counter[i] = sum & 0xff;
    carry = Math.floor(carry / 256) + (sum >> 8);
  }
}

function copyBlock(to: Uint8Array, from: Uint8Array, at: number): void {
  // A loop, since `set(subarray())` costs ten times as much for 16 bytes.
  for (let i = 0; i < to.length; i++) to[i] = from[at + i] as number;
}

/** How the chaining value of a mode is got. */
type Rule = 'none' | 'output' | 'input' | 'xor' | 'counter' | 'chacha';

function ruleOf(algorithm: CipherAlgorithm, direction: Direction): Rule {
  switch (algorithm.mode) {
    case 'cbc':
    case 'cfb':
      // The last block of ciphertext, whichever side it is on.
      return direction === 'encrypt' ? 'output' : 'input';
    case 'ofb':
      // The last block of key stream, which is what the two sides differ by.
      return 'xor';
    case 'ctr':
      return 'counter';
    case 'stream':
      return algorithm.ivBytes === 16 && algorithm.cipherBlockBytes === 64 ? 'chacha' : 'none';
    default:
      return 'none';
  }
}

/**
 * One message's chain. For every piece: send `iv`, and call `before` ahead of the operation (it saves what working in
 * place would overwrite) and `after` when the output is there. Pieces are whole blocks, except the last of a message.
 */
export class Chain {
  /** What goes with the next piece. The caller's memory, changed in place; empty for a mode without one. */
  readonly iv: Uint8Array;
  readonly #rule: Rule;
  readonly #block: number;
  readonly #saved: Uint8Array;
  #ended = false;

  /** `iv` must have `algorithm.ivBytes` bytes, and the first value in it. */
  constructor(algorithm: CipherAlgorithm, direction: Direction, iv: Uint8Array) {
    this.iv = iv;
    this.#rule = ruleOf(algorithm, direction);
    this.#block = algorithm.cipherBlockBytes;
    this.#saved = new Uint8Array(this.#rule === 'input' || this.#rule === 'xor' ? iv.length : 0);
  }

  /** True after a piece that was no whole number of blocks: nothing can follow in this message. */
  get ended(): boolean {
    return this.#ended;
  }

  /** A new message: `iv` has been overwritten with its first value. */
  restart(): void {
    this.#ended = false;
  }

  /**
   * How many bytes the next piece may have at most. Only ChaCha20's 32-bit counter sets a limit: kernel drivers wrap it where
   * OpenSSL carries into the next word, so a piece ends there.
   */
  limit(bytes: number): number {
    if (this.#rule !== 'chacha') return bytes;
    const iv = this.iv;
    const counter =
      ((iv[0] as number) | ((iv[1] as number) << 8) | ((iv[2] as number) << 16)) +
      (iv[3] as number) * 0x100_0000;
    return Math.min(bytes, (0x1_0000_0000 - counter) * 64);
  }

  before(input: Uint8Array, at: number, size: number): void {
    if (this.#saved.length > 0 && size >= this.#block) copyBlock(this.#saved, input, at + size - this.#block);
  }

  after(output: Uint8Array, at: number, size: number): void {
    if (this.#rule === 'none' || size === 0) return;
    if (size % this.#block !== 0) {
      this.#ended = true;
      return;
    }
    const last = at + size - this.#block;
    switch (this.#rule) {
      case 'output':
        copyBlock(this.iv, output, last);
        break;
      case 'input':
        copyBlock(this.iv, this.#saved, 0);
        break;
      case 'xor':
        for (let i = 0; i < this.iv.length; i++) {
          this.iv[i] = (this.#saved[i] as number) ^ (output[last + i] as number);
        }
        break;
      case 'counter':
        addBigEndian(this.iv, size / this.#block);
        break;
      case 'chacha':
        addLittleEndian(this.iv, 8, size / 64);
        break;
    }
  }
}

/**
 * The chaining value of a stream in pieces of any length, followed from outside, for drivers whose library carries the stream itself
 * and does not tell. `before` and `after` go around every call.
 */
export class ChainFollower {
  readonly #rule: Rule;
  readonly #block: number;
  readonly #register: Uint8Array;
  /** The end of the input, which working in place overwrites; in a call at most as long as the register. */
  readonly #saved: Uint8Array;
  #total = 0;

  /** `iv` is copied. */
  constructor(algorithm: CipherAlgorithm, direction: Direction, iv: Uint8Array) {
    // A shift register that takes in less than a block at a time holds the same after a block.
    const { mode } = algorithm;
    this.#rule = ruleOf(
      mode === 'cfb8' || mode === 'cfb1' ? { ...algorithm, mode: 'cfb' } : algorithm,
      direction,
    );
    this.#block = algorithm.cipherBlockBytes;
    this.#register = copyOf(iv);
    // Of the copy: the caller's view may say anything about its length.
    const { length } = this.#register;
    this.#saved = new Uint8Array(this.#rule === 'input' || this.#rule === 'xor' ? length : 0);
  }

  before(input: Uint8Array, length: number): void {
    const saved = this.#saved;
    const fresh = Math.min(saved.length, length);
    for (let i = 0; i < fresh; i++) saved[i] = input[length - fresh + i] as number;
  }

  after(output: Uint8Array, length: number): void {
    this.#total += length;
    if (this.#rule === 'counter' || this.#rule === 'chacha' || this.#rule === 'none') return;
    const register = this.#register;
    const fresh = Math.min(register.length, length);
    const from = register.length - fresh;
    register.copyWithin(0, fresh);
    for (let i = 0; i < fresh; i++) {
      const out = output[length - fresh + i] as number;
      const into = this.#saved[i] as number;
      register[from + i] = this.#rule === 'output' ? out : this.#rule === 'input' ? into : into ^ out;
    }
  }

  /** A copy. At a block boundary; where the stream stands within a block, there is no such value. */
  value(): Uint8Array {
    const value = copyOf(this.#register);
    const blocks = Math.floor(this.#total / this.#block);
    if (this.#rule === 'counter') addBigEndian(value, blocks);
    if (this.#rule === 'chacha') addLittleEndian(value, 8, blocks);
    return value;
  }
}
