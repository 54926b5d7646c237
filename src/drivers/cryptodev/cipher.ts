/**
 * Cipher sessions over CIOCCRYPT: one ioctl a request.
 *
 * We carry the chaining value (`Chain`) and name it in each request: some drivers do not write theirs back (COP_FLAG_WRITE_IV).
 * What the module does not take is made up for here, so that any length equals OpenSSL's: the last bytes of XTS, which the kernel
 * can steal and the module refuses, and those of a stream mode on drivers that want whole blocks.
 */
import type { CipherAlgorithm } from '../../algorithms.js';
import { DriverError, HwcryptError } from '../../errors.js';
import {
  address,
  COP_DECRYPT,
  COP_ENCRYPT,
  COP_FLAG,
  cryptOpLayout,
  ERRNO,
  hostAbi,
  IV_MAX,
  libc,
  putWord,
} from '../../linux/index.js';
import { copyOf, pair, part } from '../buffers.js';
import { Chain } from '../chain.js';
import type { CipherSession, Direction } from '../driver.js';
import { checkIv, checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import { checkHalves } from '../xts.js';
import { type Holder, IOCTL, unavailable } from './device.js';
import { aligned, PIECE_BYTES, REQUEST_BYTES, Staging, sharedStaging, straight } from './staging.js';

const abi = hostAbi();
const OP = cryptOpLayout(abi);
const BLOCK = 16;

/** Requests of a message: each `yield` is one ioctl to be made, whose result comes back. */
type Work = Generator<void, void, number>;

export class CryptodevCipher extends SessionBase implements CipherSession {
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  readonly partialBlocks = false;
  readonly #held: Holder;
  /** struct crypt_op, and behind it the IV, which `#chain` carries. */
  readonly #request = new Uint8Array(OP.bytes + IV_MAX);
  readonly #view = new DataView(this.#request.buffer);
  readonly #address = address(this.#request);
  readonly #chain: Chain;
  readonly #xts: boolean;
  #driver = '';
  #fd = -1;
  #alignMask = 0;
  /** Was a part of a block refused, as by drivers that take CTR for a block mode? */
  #wholeBlocks = false;
  /** Keeps the caller's memory alive while the pool works on its address. */
  protected inUse: readonly Uint8Array[] = [];

  /** Takes over `held`. */
  constructor(held: Holder, algorithm: CipherAlgorithm, direction: Direction, iv: Uint8Array | null) {
    super();
    this.algorithm = algorithm;
    this.direction = direction;
    this.#held = held;
    this.#xts = algorithm.mode === 'xts';
    this.#chain = new Chain(
      algorithm,
      direction,
      this.#request.subarray(OP.bytes, OP.bytes + algorithm.ivBytes),
    );
    this.#view.setUint16(OP.op, direction === 'encrypt' ? COP_ENCRYPT : COP_DECRYPT, abi.littleEndian);
    putWord(this.#view, OP.iv, algorithm.ivBytes > 0 ? this.#address + OP.bytes : 0, abi);
    if (iv) this.#chain.iv.set(iv);
    this.#bind();
    this.own(() => held.close());
  }

  get driver(): string {
    return this.#driver;
  }

  #bind(): void {
    const { session } = this.#held;
    this.#driver = session.label;
    this.#fd = session.device.fd;
    this.#alignMask = session.alignMask;
    this.#wholeBlocks = false;
    this.#view.setUint32(OP.ses, session.ses, abi.littleEndian);
  }

  protected override ready(): void {
    super.ready();
    const reason = this.#held.session.barred;
    if (reason) throw this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    const from = address(input);
    const to = address(output);
    if (
      length <= this.requestBytes &&
      !crosses(from, to, length) &&
      this.#isStraight(from, to, length) &&
      !(this.#xts && length % BLOCK !== 0)
    ) {
      this.#chain.before(input, 0, length);
      this.#put(from, to, length);
      const result = libc.ioctl(this.#fd, IOCTL.CIOCCRYPT, this.#address);
      if (result >= 0) {
        this.#chain.after(output, 0, length);
        return;
      }
      this.#heed(result, length);
    }
    const work = this.#work(input, output, length, sharedStaging);
    for (let step = work.next(); !step.done; ) {
      step = work.next(libc.ioctl(this.#fd, IOCTL.CIOCCRYPT, this.#address));
    }
  }

  get requestBytes(): number {
    return this.#xts ? REQUEST_BYTES : PIECE_BYTES;
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    await this.busy([input, output], async () => {
      this.inUse = [input, output];
      try {
        const work = this.#work(input, output, length, new Staging());
        for (let step = work.next(); !step.done; ) {
          step = work.next(await libc.ioctlAsync(this.#fd, IOCTL.CIOCCRYPT, this.#address));
        }
      } finally {
        this.inUse = [];
      }
    });
  }

  restart(iv: Uint8Array | null, key?: Uint8Array): void {
    this.ready();
    checkIv(this.algorithm, iv);
    if (key !== undefined) {
      checkKey(this.algorithm, key);
      if (this.#xts) checkHalves(this.direction, key);
      const reason = this.#held.rekey(key);
      if (reason) {
        throw this.fail(unavailable(this.#held.session.target, `new key for ${this.algorithm.name}`, reason));
      }
      this.#bind();
    }
    if (iv) this.#chain.iv.set(iv);
    this.#chain.restart();
  }

  chain(): Uint8Array | null {
    this.ready();
    const { ivBytes, handover } = this.algorithm;
    if (!handover || ivBytes === 0) return null;
    if (this.#chain.ended) throw this.#ended();
    return Uint8Array.from(this.#chain.iv);
  }

  #ended(): HwcryptError {
    return new HwcryptError(
      'PARTIAL_BLOCK',
      `${this.driver}: the message ended with a part of a block; restart() the session`,
    );
  }

  #check(input: Uint8Array, output: Uint8Array): number {
    const length = pair(input, output, this.algorithm.blockBytes);
    if (length === 0) return 0;
    if (this.#xts) {
      if (length < BLOCK) {
        throw new HwcryptError('PARTIAL_BLOCK', 'an XTS data unit is at least 16 bytes long');
      }
      if (length > REQUEST_BYTES) {
        const message = `an XTS data unit cannot be split, and ${REQUEST_BYTES} bytes is the most that /dev/crypto surely takes in one request; this one has ${length}`;
        throw new HwcryptError('MESSAGE_TOO_LARGE', `${this.driver}: ${message}`, {
          reason: {
            code: 'MESSAGE_TOO_LARGE',
            message,
            cure: 'use the libcrypto driver, or smaller data units',
          },
        });
      }
    } else if (this.#chain.ended) throw this.#ended();
    return length;
  }

  /** Does this go to the driver in one request as it is? */
  #isStraight(from: number, to: number, length: number): boolean {
    if (this.#wholeBlocks && length % this.algorithm.cipherBlockBytes !== 0) return false;
    return straight(from, to, length, this.#alignMask);
  }

  /** What changes from request to request. The module writes the flags back with its own, so they count among it. */
  #put(from: number, to: number, size: number): void {
    const view = this.#view;
    // The module would find that out by itself from 1.7 on; before, it handed the driver what it does not take.
    const flags = aligned(from, to, this.#alignMask) ? 0 : COP_FLAG.NO_ZC;
    view.setUint16(OP.flags, flags, abi.littleEndian);
    view.setUint32(OP.len, size, abi.littleEndian);
    putWord(view, OP.src, from, abi);
    putWord(view, OP.dst, to, abi);
  }

  *#work(input: Uint8Array, output: Uint8Array, length: number, staging: Staging): Work {
    if (this.#xts && length % BLOCK !== 0) {
      yield* this.#stealing(input, output, length, staging);
      return;
    }
    const to = address(output);
    const source = crosses(address(input), to, length) ? copyOf(input) : input;
    const from = address(source);
    for (let at = 0; at < length; ) {
      const size = this.#next(length - at);
      this.#chain.before(source, at, size);
      if (this.#isStraight(from + at, to + at, size)) {
        this.#put(from + at, to + at, size);
        const result = yield;
        if (result < 0) {
          this.#heed(result, size);
          continue;
        }
      } else {
        const staged = staging.reserve(size + BLOCK, this.#alignMask);
        staged.memory.set(part(source, at, size));
        yield* this.#inPlace(staged.address, staged.memory, size);
        part(output, at, size).set(staged.memory.subarray(0, size));
      }
      this.#chain.after(output, at, size);
      at += size;
    }
  }

  /** Works on the first `size` bytes of memory of ours, made up to whole blocks where the driver wants them. */
  *#inPlace(at: number, memory: Uint8Array, size: number): Work {
    const rest = size % this.algorithm.cipherBlockBytes;
    for (;;) {
      const padding = this.#wholeBlocks && rest !== 0 ? this.algorithm.cipherBlockBytes - rest : 0;
      memory.fill(0, size, size + padding);
      this.#put(at, at, size + padding);
      const result = yield;
      if (result >= 0) return;
      this.#heed(result, size);
    }
  }

  /**
   * XTS with ciphertext stealing (IEEE 1619, 5.3.2) out of whole data units: the last whole block is worked on a second time
   * under its neighbour's tweak, which takes a second request of the whole unit.
   */
  *#stealing(input: Uint8Array, output: Uint8Array, length: number, staging: Staging): Work {
    const rest = length % BLOCK;
    const full = length - rest;
    const { memory, address: at } = staging.reserve(full + BLOCK, this.#alignMask);
    memory.set(part(input, 0, full));
    const tail = copyOf(part(input, full, rest));
    const encrypt = this.direction === 'encrypt';
    const last = memory.subarray(full - BLOCK, full);
    const extra = memory.subarray(full, full + BLOCK);
    // To decrypt, the last whole block belongs to the tweak behind its own place.
    if (!encrypt) extra.set(last);
    yield* this.#inPlace(at, memory, encrypt ? full : full + BLOCK);
    part(output, 0, full - BLOCK).set(memory.subarray(0, full - BLOCK));
    const given = copyOf(encrypt ? last : extra);
    const joined = encrypt ? extra : last;
    joined.set(tail);
    joined.set(given.subarray(rest), rest);
    yield* this.#inPlace(at, memory, encrypt ? full + BLOCK : full);
    part(output, full - BLOCK, BLOCK).set(joined);
    part(output, full, rest).set(given.subarray(0, rest));
  }

  /** Size of the next piece of `left` bytes: whole blocks unless it is the last. */
  #next(left: number): number {
    if (this.#xts) return left;
    if (left > PIECE_BYTES) return PIECE_BYTES;
    const rest = left % this.algorithm.cipherBlockBytes;
    // The tail of a message by itself, so that only it is copied.
    return this.#wholeBlocks && rest !== 0 && left > rest ? left - rest : left;
  }

  /** After a request failed: returns where it is to be made again in whole blocks. */
  #heed(result: number, size: number): void {
    const { cipherBlockBytes, blockBytes } = this.algorithm;
    if (result === -ERRNO.EINVAL && blockBytes === 1 && size % cipherBlockBytes !== 0 && !this.#wholeBlocks) {
      this.#wholeBlocks = true;
      return;
    }
    const { session } = this.#held;
    const reason = session.failed('CIOCCRYPT', result, { bytes: size });
    throw this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }
}

/** Does the output lie over a part of the input that is still to be read? By address: two buffers may share memory. */
function crosses(from: number, to: number, length: number): boolean {
  return from !== to && from < to + length && to < from + length;
}
