/**
 * Cipher sessions over an AF_ALG skcipher: for each request one sendmsg (operation, IV and data) and one read.
 *
 * A longer message is sent in pieces whose chain we carry (`Chain`): every piece names its own IV, since some drivers do
 * not write theirs back and the kernel would restart from the first one.
 */
import type { CipherAlgorithm } from '../../algorithms.js';
import { DriverError, HwcryptError, type Reason } from '../../errors.js';
import {
  ALG_OP_DECRYPT,
  ALG_OP_ENCRYPT,
  address,
  encodeRequest,
  hostAbi,
  libc,
  putIovec,
  type RequestLayout,
  requestLayout,
} from '../../linux/index.js';
import { pair, unaliased } from '../buffers.js';
import { Chain } from '../chain.js';
import type { CipherSession, Direction } from '../driver.js';
import { checkIv, checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import { checkHalves } from '../xts.js';
import type { Facts } from './facts.js';
import { type Limits, patiently, patientlyAsync, type Resources, unavailable } from './tfm.js';

const abi = hostAbi();
const { MSG_NOSIGNAL, POLLIN, POLLOUT } = libc;

/** Below this the copy of sendmsg is cheaper on this thread than a second trip to the pool. */
const SEND_HERE_BYTES = 16_384;

export interface CipherContext {
  readonly driver: string;
  readonly limits: Limits;
  /** Does the kernel steal ciphertext in XTS (Linux 5.4 and later)? */
  readonly stealing: boolean;
  readonly facts: () => Facts;
}

export class AfalgCipher extends SessionBase implements CipherSession {
  readonly driver: string;
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  readonly partialBlocks = false;
  readonly #context: CipherContext;
  readonly #held: Resources;
  /** msghdr, iovec, control messages; the IV that `#chain` carries lies in it. */
  readonly #request: Uint8Array;
  readonly #view: DataView;
  readonly #message: number;
  readonly #layout: RequestLayout;
  readonly #chain: Chain;
  readonly #xts: boolean;
  #pieceBytes: number;
  /** Keeps the caller's memory alive while the pool works on its address. */
  protected inUse: readonly Uint8Array[] = [];

  /** Takes over `held`, whose key is set and whose operation socket is open. */
  constructor(
    context: CipherContext,
    held: Resources,
    algorithm: CipherAlgorithm,
    direction: Direction,
    iv: Uint8Array | null,
  ) {
    super();
    this.driver = context.driver;
    this.algorithm = algorithm;
    this.direction = direction;
    this.#context = context;
    this.#held = held;
    this.#xts = algorithm.mode === 'xts';
    this.#pieceBytes = context.limits.pieceBytes;
    const shape = { ivBytes: algorithm.ivBytes, aead: false, iovecs: 1 };
    this.#request = new Uint8Array(requestLayout(abi, shape).bytes);
    this.#view = new DataView(this.#request.buffer);
    this.#message = address(this.#request);
    const operation = direction === 'encrypt' ? ALG_OP_ENCRYPT : ALG_OP_DECRYPT;
    this.#layout = encodeRequest(this.#request, this.#message, operation, shape, abi);
    const at = Math.max(0, this.#layout.iv);
    this.#chain = new Chain(algorithm, direction, this.#request.subarray(at, at + algorithm.ivBytes));
    if (iv) this.#chain.iv.set(iv);
    this.own(() => held.close());
  }

  get requestBytes(): number {
    return this.#xts ? this.#context.limits.requestBytes : this.#pieceBytes;
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    // The kernel copies a piece before it writes any output: only what is sent in several needs an input of its own.
    const source = length <= this.#pieceBytes ? input : unaliased(input, output, length);
    const from = address(source);
    const to = address(output);
    for (let at = 0; at < length; ) {
      const size = this.#next(length - at);
      this.#chain.before(source, at, size);
      putIovec(this.#view, this.#layout.iovec, 0, from + at, size, abi);
      const { op } = this.#held;
      let sent = libc.sendmsg(op, this.#message, MSG_NOSIGNAL);
      if (sent < 0) sent = this.#sendAgain(sent);
      if (sent !== size) {
        this.#shrink('sendmsg', sent, size);
        continue;
      }
      let got = libc.read(op, to + at, size);
      if (got < 0) got = this.#readAgain(got, to + at, size);
      if (got !== size) got = this.#short(got, size);
      this.#chain.after(output, at, got);
      at += got;
    }
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    const source = length <= this.#pieceBytes ? input : unaliased(input, output, length);
    this.inUse = [source, output];
    await this.busy([input, output], async () => {
      try {
        const from = address(source);
        const to = address(output);
        for (let at = 0; at < length; ) {
          const size = this.#next(length - at);
          this.#chain.before(source, at, size);
          putIovec(this.#view, this.#layout.iovec, 0, from + at, size, abi);
          const { op } = this.#held;
          const sent =
            size <= SEND_HERE_BYTES
              ? this.#sendAgain(libc.sendmsg(op, this.#message, MSG_NOSIGNAL))
              : await patientlyAsync(() => libc.sendmsgAsync(op, this.#message, MSG_NOSIGNAL));
          if (sent !== size) {
            this.#shrink('sendmsg', sent, size);
            continue;
          }
          const offset = at;
          let got = await patientlyAsync(() => libc.readAsync(op, to + offset, size));
          if (got !== size) got = this.#short(got, size);
          this.#chain.after(output, at, got);
          at += got;
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
      const reason = this.#held.rekey(key, this.#context.facts);
      if (reason)
        throw this.fail(unavailable(this.#held.tfm.target, `new key for ${this.algorithm.name}`, reason));
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
    const { algorithm } = this;
    const length = pair(input, output, algorithm.blockBytes);
    if (length === 0) return 0;
    if (this.#xts) {
      const { limits, stealing } = this.#context;
      if (length < 16) throw new HwcryptError('PARTIAL_BLOCK', 'an XTS data unit is at least 16 bytes long');
      if (length % 16 !== 0 && !stealing) {
        throw new HwcryptError(
          'PARTIAL_BLOCK',
          `${this.driver}: kernels before Linux 5.4 take XTS data units of whole blocks only, this one has ${length} bytes`,
        );
      }
      if (length > limits.requestBytes) {
        const message = `an XTS data unit cannot be split, and the kernel takes at most ${limits.requestBytes} bytes in one request; this one has ${length}`;
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

  /** Size of the next piece of `left` bytes: whole blocks unless it is the last. */
  #next(left: number): number {
    if (this.#xts) return left;
    const most = this.#chain.limit(this.#pieceBytes);
    if (left <= most) return left;
    return most - (most % this.algorithm.cipherBlockBytes) || Math.min(left, this.algorithm.cipherBlockBytes);
  }

  #sendAgain(result: number): number {
    const { op } = this.#held;
    return patiently(result, op, POLLOUT, () => libc.sendmsg(op, this.#message, MSG_NOSIGNAL));
  }

  #readAgain(result: number, to: number, size: number): number {
    const { op } = this.#held;
    return patiently(result, op, POLLIN, () => libc.read(op, to, size));
  }

  #failed(call: 'sendmsg' | 'read', errno: number, size: number): DriverError {
    const reason: Reason = this.#held.tfm.explain(call, errno, { bytes: size });
    return this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }

  /**
   * The kernel took less than a piece, or answered with less. The rest would have to be sent without an IV and relies on the
   * driver's write-back, so start anew on a fresh socket with smaller pieces.
   */
  #shrink(call: 'sendmsg' | 'read', result: number, size: number): void {
    if (result < 0) throw this.#failed(call, result, size);
    const { cipherBlockBytes } = this.algorithm;
    const smaller = result - (result % cipherBlockBytes);
    if (this.#xts || smaller < cipherBlockBytes || smaller >= size) {
      const message = `the kernel ${call === 'read' ? 'answered with' : 'took'} ${result} of ${size} bytes`;
      throw this.fail(
        new DriverError(this.driver, this.algorithm.name, {
          code: this.#xts ? 'MESSAGE_TOO_LARGE' : 'SYSTEM_ERROR',
          message,
          syscall: call,
        }),
      );
    }
    const reason = this.#held.reopen();
    if (reason) throw this.fail(new DriverError(this.driver, this.algorithm.name, reason));
    this.#pieceBytes = smaller;
  }

  /** A read that gave fewer bytes than the request has: how many of them can be kept. */
  #short(result: number, size: number): number {
    this.#shrink('read', result, size);
    // In place the input behind the last whole block has been overwritten, so only whole blocks may be missing.
    if (result % this.algorithm.cipherBlockBytes !== 0) {
      throw this.fail(
        new DriverError(this.driver, this.algorithm.name, {
          code: 'SYSTEM_ERROR',
          message: `the kernel answered with ${result} of ${size} bytes, which is no whole number of blocks`,
          syscall: 'read',
        }),
      );
    }
    return result;
  }
}
