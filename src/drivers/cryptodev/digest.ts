/**
 * Hash and MAC sessions over CIOCCRYPT: a whole message is one ioctl (flags 0), a piece of one is one with UPDATE, and
 * FINAL fetches the digest. CIOCCPHASH copies a hash in progress into a second session.
 *
 * An UPDATE of no bytes is a FINAL to the module, so nothing is sent for one.
 */
import type { HashAlgorithm, MacAlgorithm } from '../../algorithms.js';
import { DriverError } from '../../errors.js';
import {
  address,
  COP_FLAG,
  CPHASH_OP_BYTES,
  cryptOpLayout,
  DIGEST_MAX,
  hostAbi,
  libc,
  putWord,
} from '../../linux/index.js';
import { bytes, lengthOf, outputBytes, part, wipe } from '../buffers.js';
import type { DigestSession } from '../driver.js';
import { checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import { type Holder, IOCTL, unavailable } from './device.js';
import { PIECE_BYTES, Staging, sharedStaging, straight } from './staging.js';

const abi = hostAbi();
const OP = cryptOpLayout(abi);

type Work = Generator<void, void, number>;

export interface DigestContext {
  /** Is this a 32-bit program on a 64-bit kernel? */
  readonly compat: boolean;
  /** The key as it is handed to the kernel (an empty or very long one is replaced by an equivalent). */
  readonly kernelKey: (key: Uint8Array) => Uint8Array;
}

export class CryptodevDigest extends SessionBase implements DigestSession {
  readonly algorithm: HashAlgorithm | MacAlgorithm;
  readonly #context: DigestContext;
  readonly #held: Holder;
  /** struct crypt_op, and behind it the digest: of the longest that the module has, whatever it takes the algorithm for. */
  readonly #request = new Uint8Array(OP.bytes + DIGEST_MAX);
  readonly #view = new DataView(this.#request.buffer);
  readonly #address = address(this.#request);
  #driver = '';
  #fd = -1;
  #alignMask = 0;
  /** `empty`: nothing hashed. `open`: data sent with UPDATE. `done`: digest() was called. */
  #state: 'empty' | 'open' | 'done' = 'empty';
  /** Keeps the caller's memory alive while the pool works on its address. */
  protected inUse: Uint8Array | undefined;

  /** Takes over `held`, whose key is set. */
  constructor(context: DigestContext, held: Holder, algorithm: HashAlgorithm | MacAlgorithm) {
    super();
    this.algorithm = algorithm;
    this.#context = context;
    this.#held = held;
    putWord(this.#view, OP.mac, this.#address + OP.bytes, abi);
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
    this.#view.setUint32(OP.ses, session.ses, abi.littleEndian);
  }

  protected override ready(): void {
    super.ready();
    const reason = this.#held.session.barred;
    if (reason) throw this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }

  update(data: Uint8Array): void {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    this.#unfinished();
    if (length > 0) this.#run(this.#hash(data, length, false, sharedStaging));
  }

  async updateAsync(data: Uint8Array): Promise<void> {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    this.#unfinished();
    if (length === 0) return;
    await this.busy([data], () => this.#runAsync(data, this.#hash(data, length, false, new Staging())));
  }

  digest(output: Uint8Array): void {
    this.ready();
    this.#unfinished();
    const size = this.#checkOutput(output);
    // Flags of 0 begin and end: the digest of nothing.
    this.#put(0, 0, this.#state === 'open' ? COP_FLAG.FINAL : 0);
    this.#heed(libc.ioctl(this.#fd, IOCTL.CIOCCRYPT, this.#address), 0);
    this.#fetch(output, size);
  }

  once(data: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    const size = this.#checkOutput(output);
    this.#state = 'empty';
    this.#run(this.#hash(data, length, true, sharedStaging));
    this.#fetch(output, size);
  }

  async onceAsync(data: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    const size = this.#checkOutput(output);
    this.#state = 'empty';
    await this.busy([data, output], async () => {
      await this.#runAsync(data, this.#hash(data, length, true, new Staging()));
      this.#fetch(output, size);
    });
  }

  restart(key?: Uint8Array): void {
    this.ready();
    if (key !== undefined && this.algorithm.kind === 'mac') {
      checkKey(this.algorithm, key);
      const given = this.#context.kernelKey(key);
      const reason = this.#held.rekey(given, true);
      if (given !== key) wipe(given);
      if (reason) {
        throw this.fail(unavailable(this.#held.session.target, `new key for ${this.algorithm.name}`, reason));
      }
      this.#bind();
    }
    // The next request says RESET.
    this.#state = 'empty';
  }

  clone(): CryptodevDigest {
    this.ready();
    const twin = this.#held.twin();
    if (twin.reason) throw this.#cannotCopy(twin.reason);
    const { session } = twin.value;
    if (this.#state === 'open') {
      const cell = new Uint8Array(CPHASH_OP_BYTES);
      const view = new DataView(cell.buffer);
      view.setUint32(0, session.ses, abi.littleEndian);
      view.setUint32(4, this.#held.session.ses, abi.littleEndian);
      const result = libc.ioctl(this.#fd, IOCTL.CIOCCPHASH, address(cell));
      if (result < 0) {
        const reason = session.failed('CIOCCPHASH', result, { compat: this.#context.compat });
        twin.value.close();
        throw this.#cannotCopy(reason);
      }
    }
    const copy = new CryptodevDigest(this.#context, twin.value, this.algorithm);
    copy.#state = this.#state;
    return copy;
  }

  #cannotCopy(reason: ConstructorParameters<typeof DriverError>[2]): DriverError {
    return new DriverError(this.driver, `cannot copy a state of ${this.algorithm.name}`, reason);
  }

  #checkOutput(output: Uint8Array): number {
    const { digestBytes } = this.algorithm;
    outputBytes(output, 'output', digestBytes);
    return digestBytes;
  }

  #unfinished(): void {
    if (this.#state === 'done') throw new Error('digest() was called: restart() the session first');
  }

  #put(from: number, size: number, flags: number): void {
    const view = this.#view;
    view.setUint16(OP.flags, flags, abi.littleEndian);
    view.setUint32(OP.len, size, abi.littleEndian);
    putWord(view, OP.src, from, abi);
  }

  /** Hashes `length` bytes and, where `last`, leaves the digest behind the request. */
  *#hash(data: Uint8Array, length: number, last: boolean, staging: Staging): Work {
    const from = length > 0 ? address(data) : 0;
    let at = 0;
    do {
      const size = Math.min(PIECE_BYTES, length - at);
      const ends = last && at + size === length;
      const begins = this.#state === 'empty';
      const flags =
        begins && ends ? 0 : (ends ? COP_FLAG.FINAL : COP_FLAG.UPDATE) | (begins ? COP_FLAG.RESET : 0);
      // Nothing is written to data, so there is no destination to be aligned.
      if (straight(from + at, 0, size, this.#alignMask)) this.#put(from + at, size, flags);
      else {
        const staged = staging.reserve(size, this.#alignMask);
        staged.memory.set(part(data, at, size));
        this.#put(staged.address, size, flags);
      }
      const result = yield;
      this.#heed(result, size);
      this.#state = 'open';
      at += size;
    } while (at < length);
  }

  #run(work: Work): void {
    for (let step = work.next(); !step.done; ) {
      step = work.next(libc.ioctl(this.#fd, IOCTL.CIOCCRYPT, this.#address));
    }
  }

  async #runAsync(data: Uint8Array, work: Work): Promise<void> {
    this.inUse = data;
    try {
      for (let step = work.next(); !step.done; ) {
        step = work.next(await libc.ioctlAsync(this.#fd, IOCTL.CIOCCRYPT, this.#address));
      }
    } finally {
      this.inUse = undefined;
    }
  }

  #fetch(output: Uint8Array, size: number): void {
    part(output, 0, size).set(this.#request.subarray(OP.bytes, OP.bytes + size));
    this.#state = 'done';
  }

  #heed(result: number, size: number): void {
    if (result >= 0) return;
    const reason = this.#held.session.failed('CIOCCRYPT', result, { bytes: size });
    throw this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }
}
