/**
 * From a stream of pieces of any length to the whole blocks that a driver's session works on, and back: buffering,
 * PKCS#7 padding, and the half-used keystream block of a stream mode whose driver takes whole blocks only.
 */
import { copyOf, lengthOf, part } from '../drivers/buffers.js';
import { addLittleEndian } from '../drivers/chain.js';
import type { CipherSession } from '../drivers/driver.js';
import { HwcryptError } from '../errors.js';
import type { NonSharedBuffer } from './arguments.js';
import { badDecrypt, wrongFinalBlockLength } from './openssl-errors.js';

/** Above this a piece is not copied to join it to what was left over; two calls cost less than the copy. */
const JOIN_BYTES = 4096;

const EMPTY = Buffer.alloc(0);

/** PKCS#7 (RFC 5652, 6.3): the bytes that fill the last block, always at least one. Writes `block[used …]`. */
export function pad(block: Uint8Array, used: number): void {
  block.fill(block.length - used, used);
}

/**
 * Length of the text in a padded last block, or -1 where the padding is wrong. Looks at every byte whatever it finds, so
 * that the time taken does not tell how much of the padding was right.
 */
export function unpaddedLength(block: Uint8Array): number {
  const size = block.length;
  const count = block[size - 1]!;
  let wrong = Number(count === 0 || count > size);
  for (let i = 0; i < size; i++) {
    const inside = Number(i >= size - count);
    wrong |= inside & Number(block[i] !== count);
  }
  return wrong ? -1 : size - count;
}

/** What both kinds of feeder look like to the cipher objects. */
export interface Feeder {
  /** Bytes that come out of the next `update` with that many bytes going in. */
  update(input: Uint8Array): NonSharedBuffer;
  final(): NonSharedBuffer;
  /** Padding can be switched until `final`. */
  padding: boolean;
}

/** Block modes (ECB, CBC): whole blocks go through as they are full, the rest waits. */
export class BlockFeeder implements Feeder {
  padding = true;
  readonly #session: CipherSession;
  readonly #block: number;
  readonly #encrypt: boolean;
  readonly #rest: Uint8Array;
  #restLength = 0;

  constructor(session: CipherSession) {
    this.#session = session;
    this.#block = session.algorithm.blockBytes;
    this.#encrypt = session.direction === 'encrypt';
    // Decryption keeps a whole block back until it knows that another follows: the last one holds the padding.
    this.#rest = new Uint8Array(2 * this.#block);
  }

  update(input: Uint8Array): NonSharedBuffer {
    const block = this.#block;
    const length = lengthOf(input);
    const waiting = this.#restLength;
    const total = waiting + length;
    const keepLast = !this.#encrypt && this.padding ? 1 : 0;
    const ready = total - keepLast < 0 ? 0 : total - keepLast - ((total - keepLast) % block);
    if (ready === 0) {
      this.#rest.set(input, waiting);
      this.#restLength = total;
      return EMPTY;
    }
    const output = Buffer.allocUnsafe(ready);
    // How much of `input` is used now; never negative, since at most one block waits.
    const used = ready - waiting;
    if (waiting === 0) {
      this.#session.update(used === length ? input : part(input, 0, used), output);
    } else if (used === 0) {
      output.set(this.#rest.subarray(0, waiting));
      this.#session.update(output, output);
    } else if (used <= JOIN_BYTES) {
      output.set(this.#rest.subarray(0, waiting));
      output.set(part(input, 0, used), waiting);
      this.#session.update(output, output);
    } else {
      const head = (block - (waiting % block)) % block;
      const joined = waiting + head;
      output.set(this.#rest.subarray(0, waiting));
      if (head > 0) output.set(part(input, 0, head), waiting);
      const first = part(output, 0, joined);
      this.#session.update(first, first);
      this.#session.update(part(input, head, used - head), part(output, joined, ready - joined));
    }
    const left = total - ready;
    if (left > 0) this.#rest.set(part(input, used, left), 0);
    this.#restLength = left;
    return output;
  }

  final(): NonSharedBuffer {
    const block = this.#block;
    const left = this.#restLength;
    this.#restLength = 0;
    const rest = this.#rest;
    if (!this.padding) {
      if (left === 0) return EMPTY;
      // A whole block was kept back if padding was switched off only after some input.
      if (left % block !== 0) throw wrongFinalBlockLength();
      const whole = Buffer.allocUnsafe(left);
      whole.set(rest.subarray(0, left));
      this.#session.update(whole, whole);
      rest.fill(0);
      return whole;
    }
    if (this.#encrypt) {
      const last = Buffer.allocUnsafe(left - (left % block) + block);
      last.set(rest.subarray(0, left));
      last.fill(last.length - left, left);
      this.#session.update(last, last);
      rest.fill(0);
      return last;
    }
    if (left === 0 || left % block !== 0) throw wrongFinalBlockLength();
    const last = Buffer.allocUnsafe(left);
    last.set(rest.subarray(0, left));
    this.#session.update(last, last);
    const text = unpaddedLength(last.subarray(left - block));
    if (text < 0) {
      last.fill(0);
      throw badDecrypt();
    }
    return last.subarray(0, left - block + text);
  }
}

/** Stream modes whose driver takes any length at any time. */
export class StreamFeeder implements Feeder {
  padding = true;
  readonly #session: CipherSession;

  constructor(session: CipherSession) {
    this.#session = session;
  }

  update(input: Uint8Array): NonSharedBuffer {
    const length = lengthOf(input);
    if (length === 0) return EMPTY;
    const output = Buffer.allocUnsafe(length);
    this.#session.update(input, output);
    return output;
  }

  final(): NonSharedBuffer {
    return EMPTY;
  }
}

/**
 * Stream modes over a driver that takes whole blocks only (AF_ALG). A part of a block is run as a whole one filled up
 * with zeros: what comes out behind the part is keystream, kept for the bytes to come.
 */
export class PartialBlockFeeder implements Feeder {
  padding = true;
  readonly #session: CipherSession;
  readonly #block: number;
  readonly #encrypt: boolean;
  /** CFB feeds ciphertext back, so once a split block is full the session is told what it really was. */
  readonly #cfb: boolean;
  readonly #keystream: Uint8Array;
  readonly #cipherBlock: Uint8Array;
  #used: number;

  constructor(session: CipherSession) {
    this.#session = session;
    this.#block = session.algorithm.cipherBlockBytes;
    this.#encrypt = session.direction === 'encrypt';
    this.#cfb = session.algorithm.mode === 'cfb';
    this.#keystream = new Uint8Array(this.#block);
    this.#cipherBlock = new Uint8Array(this.#block);
    this.#used = this.#block;
  }

  update(input: Uint8Array): NonSharedBuffer {
    const length = lengthOf(input);
    if (length === 0) return EMPTY;
    const block = this.#block;
    const output = Buffer.allocUnsafe(length);
    let at = this.#fromKeystream(input, output, 0, length);
    const whole = length - at - ((length - at) % block);
    if (whole > 0) {
      this.#session.update(part(input, at, whole), part(output, at, whole));
      at += whole;
    }
    if (at < length) {
      // Zeros in, keystream out; in CFB this also moves the session to the block's end, with a wrong value of it.
      this.#keystream.fill(0);
      this.#session.update(this.#keystream, this.#keystream);
      this.#used = 0;
      this.#fromKeystream(input, output, at, length);
    }
    return output;
  }

  #fromKeystream(input: Uint8Array, output: Uint8Array, start: number, length: number): number {
    let at = start;
    const keystream = this.#keystream;
    while (this.#used < this.#block && at < length) {
      const given = input[at]!;
      const made = given ^ keystream[this.#used]!;
      output[at] = made;
      this.#cipherBlock[this.#used] = this.#encrypt ? made : given;
      this.#used++;
      at++;
      if (this.#cfb && this.#used === this.#block) this.#session.restart(this.#cipherBlock);
    }
    return at;
  }

  final(): NonSharedBuffer {
    return EMPTY;
  }
}

/**
 * XTS: the message is one data unit and comes in one piece. node:crypto takes more, and begins each anew under the same
 * IV, so that equal pieces give equal ciphertext and a stream cannot be read by anybody else: that is refused here.
 */
export class UnitFeeder implements Feeder {
  padding = true;
  readonly #session: CipherSession;
  #done = false;

  constructor(session: CipherSession) {
    this.#session = session;
  }

  update(input: Uint8Array): NonSharedBuffer {
    const length = lengthOf(input);
    if (length === 0) return EMPTY;
    if (this.#done) {
      throw new HwcryptError(
        'XTS_STREAMING',
        'XTS takes a data unit in one update; a second one would be encrypted under the same tweak (name options.sectorSize for a stream of sectors)',
      );
    }
    if (length < this.#session.algorithm.cipherBlockBytes) {
      throw new HwcryptError(
        'PARTIAL_BLOCK',
        'Trying to add data in unsupported state: an XTS data unit is at least 16 bytes long',
      );
    }
    const output = Buffer.allocUnsafe(length);
    this.#session.update(input, output);
    this.#done = true;
    return output;
  }

  final(): NonSharedBuffer {
    return EMPTY;
  }
}

/** XTS over consecutive sectors: a data unit each, under the IV of the one before plus one (plain64 of dm-crypt). */
export class SectorFeeder implements Feeder {
  padding = true;
  readonly #session: CipherSession;
  readonly #sector: number;
  readonly #iv: Uint8Array;
  readonly #rest: Uint8Array;
  #restLength = 0;
  #first = true;

  constructor(session: CipherSession, iv: Uint8Array, sectorBytes: number) {
    this.#session = session;
    this.#sector = sectorBytes;
    this.#iv = copyOf(iv);
    this.#rest = new Uint8Array(sectorBytes);
  }

  update(input: Uint8Array): NonSharedBuffer {
    const size = this.#sector;
    const length = lengthOf(input);
    const total = this.#restLength + length;
    const ready = total - (total % size);
    if (ready === 0) {
      this.#rest.set(input, this.#restLength);
      this.#restLength = total;
      return EMPTY;
    }
    const output = Buffer.allocUnsafe(ready);
    // One copy: then every sector is worked on in place, wherever the pieces were cut.
    output.set(this.#rest.subarray(0, this.#restLength));
    const used = ready - this.#restLength;
    output.set(part(input, 0, used), this.#restLength);
    for (let at = 0; at < ready; at += size) {
      if (!this.#first) {
        addLittleEndian(this.#iv, 8, 1);
        this.#session.restart(this.#iv);
      }
      this.#first = false;
      const unit = part(output, at, size);
      this.#session.update(unit, unit);
    }
    this.#restLength = total - ready;
    if (this.#restLength > 0) this.#rest.set(part(input, used, this.#restLength));
    return output;
  }

  final(): NonSharedBuffer {
    this.#rest.fill(0);
    if (this.#restLength > 0) {
      throw new HwcryptError(
        'PARTIAL_BLOCK',
        `the message ends ${this.#restLength} bytes into a sector of ${this.#sector}`,
      );
    }
    return EMPTY;
  }
}

/** The feeder that fits a session. */
export function feederFor(session: CipherSession): Feeder {
  const { algorithm } = session;
  if (algorithm.mode === 'xts') return new UnitFeeder(session);
  if (algorithm.blockBytes > 1) return new BlockFeeder(session);
  if (session.partialBlocks || algorithm.cipherBlockBytes === 1) return new StreamFeeder(session);
  return new PartialBlockFeeder(session);
}
