/**
 * The cipher as a stream over buffers of any length: blocks cut to size, PKCS#7 padding put on and taken off.
 *
 * Room `enc`. Everything happens in place. What does not make a block yet is kept and put in front of the next piece,
 * for which the caller leaves `HEADROOM` bytes free before it and `TAILROOM` behind it; so no byte is copied but those few.
 */
import type { CipherAlgorithm } from '../algorithms.js';
import type { CipherSession } from '../drivers/driver.js';
import { HwcryptError } from '../errors.js';
import { counted } from '../files/io.js';

/** Bytes that must be free in front of what is given to `update` and `final`. More than two blocks of any cipher. */
export const HEADROOM = 64;
/** Bytes that must be free behind it. */
export const TAILROOM = 64;

export const BAD_DECRYPT =
  'bad decrypt: wrong passphrase, key, cipher or key derivation, or the input is damaged';

/** Part of a buffer. */
export interface Region {
  readonly start: number;
  readonly end: number;
}

/** Works in place on part of a buffer and says which part of it is ready. */
export interface Transform {
  update(buffer: Uint8Array, start: number, end: number): Region;
  /** Ends the stream; the rest is put at `start`. */
  final(buffer: Uint8Array, start: number): Region;
}

export interface CipherTransformOptions {
  /** PKCS#7 padding for block modes; ignored for stream modes, as OpenSSL does. */
  readonly padding: boolean;
}

export class CipherTransform implements Transform {
  readonly #session: CipherSession;
  readonly #block: number;
  /** What a request must be a multiple of, until the last. */
  readonly #unit: number;
  readonly #padded: boolean;
  readonly #decrypting: boolean;
  readonly #carry = new Uint8Array(HEADROOM);
  #carried = 0;
  #total = 0;

  constructor(session: CipherSession, options: CipherTransformOptions) {
    const { algorithm } = session;
    this.#session = session;
    this.#block = algorithm.blockBytes;
    this.#unit = session.partialBlocks ? algorithm.blockBytes : algorithm.cipherBlockBytes;
    this.#padded = options.padding && this.#block > 1;
    this.#decrypting = session.direction === 'decrypt';
  }

  update(buffer: Uint8Array, start: number, end: number): Region {
    const from = start - this.#carried;
    buffer.set(this.#carry.subarray(0, this.#carried), from);
    this.#total += end - start;
    const length = end - from;
    // When decrypting, the last whole block may be the padding: it waits until it is known what follows.
    const reserve = this.#decrypting && this.#padded && length > 0 ? 1 : 0;
    const ready = Math.max(0, Math.floor((length - reserve) / this.#unit) * this.#unit);
    this.#carry.set(buffer.subarray(from + ready, end), 0);
    this.#carried = length - ready;
    if (ready > 0) {
      const view = buffer.subarray(from, from + ready);
      this.#session.update(view, view);
    }
    return { start: from, end: from + ready };
  }

  final(buffer: Uint8Array, start: number): Region {
    const carried = this.#carried;
    this.#carried = 0;
    buffer.set(this.#carry.subarray(0, carried), start);
    this.#carry.fill(0);
    if (this.#block === 1) {
      return this.#run(buffer, start, carried);
    }
    if (!this.#decrypting) {
      if (!this.#padded) {
        if (carried > 0) this.#wrongLength('bad encrypt');
        return { start, end: start };
      }
      const pad = this.#block - carried;
      buffer.fill(pad, start + carried, start + this.#block);
      return this.#run(buffer, start, this.#block);
    }
    if (!this.#padded) {
      if (carried > 0) this.#wrongLength('bad decrypt');
      return { start, end: start };
    }
    if (carried !== this.#block) this.#wrongLength('bad decrypt');
    this.#run(buffer, start, this.#block);
    const end = start + this.#block;
    const pad = paddingBytes(buffer.subarray(start, end));
    if (pad === 0) {
      buffer.fill(0, start, end);
      throw new HwcryptError('BAD_DECRYPT', BAD_DECRYPT);
    }
    return { start, end: end - pad };
  }

  #run(buffer: Uint8Array, start: number, length: number): Region {
    if (length > 0) {
      const view = buffer.subarray(start, start + length);
      this.#session.update(view, view);
    }
    return { start, end: start + length };
  }

  #wrongLength(what: 'bad encrypt' | 'bad decrypt'): never {
    throw wrongFinalBlock(what, this.#total, this.#session.algorithm);
  }
}

/** A message that is not whole blocks, in OpenSSL's words and with the numbers. */
export function wrongFinalBlock(
  what: 'bad encrypt' | 'bad decrypt',
  bytes: number,
  { name, blockBytes }: CipherAlgorithm,
): HwcryptError {
  const cause =
    bytes === 0
      ? 'there is no ciphertext'
      : `${counted(bytes, 'byte')}, not a multiple of ${blockBytes}, the block of ${name}`;
  return new HwcryptError('BAD_DECRYPT', `${what}: wrong final block length: ${cause}`);
}

/** Length of the PKCS#7 padding at the end of a block, or 0 where it is wrong. */
export function paddingBytes(block: Uint8Array): number {
  const pad = block[block.length - 1] ?? 0;
  if (pad === 0 || pad > block.length) return 0;
  for (let i = block.length - pad; i < block.length; i++) {
    if (block[i] !== pad) return 0;
  }
  return pad;
}
