/**
 * AEAD sessions over CIOCAUTHCRYPT: one message is one ioctl. Nothing can be split or streamed.
 *
 * The tag stands right behind the text, in what is read and in what is written, and the module pins room for it in either direction.
 * So a message is copied into memory of ours and worked on in place, which the module says is its better way too. The caller's
 * output never holds text that was not authenticated.
 */
import type { AeadAlgorithm } from '../../algorithms.js';
import { AuthenticationError, DriverError, HwcryptError, UnavailableError } from '../../errors.js';
import {
  address,
  COP_DECRYPT,
  COP_ENCRYPT,
  cryptAuthOpLayout,
  ERRNO,
  hostAbi,
  IV_MAX,
  libc,
  pageSize,
  putWord,
} from '../../linux/index.js';
import { WholeAeadSessionBase } from '../aead.js';
import { bytes, lengthOf, outputBytes, part, wipe } from '../buffers.js';
import type { AeadSession, Direction } from '../driver.js';
import { kernelIvBytes, nonceProblem, putNonce } from '../kernel-nonce.js';
import { checkKey } from '../parameters.js';
import { type Holder, IOCTL, unavailable } from './device.js';
import { MESSAGE_BYTES, type Staged, Staging, sharedStaging } from './staging.js';

const abi = hostAbi();
const OP = cryptAuthOpLayout(abi);

/** The module copies the additional data into one page of the kernel's. */
let aadBytes: number | undefined;
const mostAad = (): number => {
  aadBytes ??= pageSize();
  return aadBytes;
};

export class CryptodevAead extends WholeAeadSessionBase implements AeadSession {
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  protected readonly interfaceName = '/dev/crypto';
  readonly messageBytes = MESSAGE_BYTES;
  readonly #held: Holder;
  readonly #encrypt: boolean;
  readonly #compat: boolean;
  /** struct crypt_auth_op, and behind it the IV. */
  readonly #request = new Uint8Array(OP.bytes + IV_MAX);
  readonly #view = new DataView(this.#request.buffer);
  readonly #address = address(this.#request);
  #driver = '';
  #fd = -1;
  /** Keeps the caller's memory alive while the pool works on its address. */
  protected inUse: readonly Uint8Array[] = [];

  /** Takes over `held`. `compat`: is this a 32-bit program on a 64-bit kernel? */
  constructor(
    held: Holder,
    algorithm: AeadAlgorithm,
    direction: Direction,
    tagBytes: number,
    compat: boolean,
  ) {
    super();
    this.algorithm = algorithm;
    this.direction = direction;
    this.tagBytes = tagBytes;
    this.#held = held;
    this.#encrypt = direction === 'encrypt';
    this.#compat = compat;
    this.#view.setUint16(OP.op, this.#encrypt ? COP_ENCRYPT : COP_DECRYPT, abi.littleEndian);
    this.#view.setUint32(OP.ivLen, kernelIvBytes(algorithm), abi.littleEndian);
    putWord(this.#view, OP.iv, this.#address + OP.bytes, abi);
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
    this.#view.setUint32(OP.ses, session.ses, abi.littleEndian);
  }

  protected override ready(): void {
    super.ready();
    const reason = this.#held.session.barred;
    if (reason) throw this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }

  rekey(key: Uint8Array): void {
    this.ready();
    checkKey(this.algorithm, key);
    const reason = this.#held.rekey(key);
    if (reason) {
      throw this.fail(unavailable(this.#held.session.target, `new key for ${this.algorithm.name}`, reason));
    }
    this.#bind();
  }

  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void {
    this.ready();
    const length = this.#check('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    const staged = this.#prepare(iv, aad, text, length, undefined, sharedStaging);
    this.#outcome(libc.ioctl(this.#fd, IOCTL.CIOCAUTHCRYPT, this.#address), length);
    this.#give(staged, length, output, tag);
  }

  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    const staged = this.#prepare(iv, aad, text, length, tag, sharedStaging);
    const genuine = this.#outcome(libc.ioctl(this.#fd, IOCTL.CIOCAUTHCRYPT, this.#address), length);
    if (!genuine) throw this.#forged(staged, length, output);
    this.#give(staged, length, output);
  }

  async sealAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Promise<void> {
    this.ready();
    const length = this.#check('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    await this.busy([aad, text, tag, output], async () => {
      this.inUse = [aad];
      const staged = this.#prepare(iv, aad, text, length, undefined, new Staging());
      this.#outcome(await libc.ioctlAsync(this.#fd, IOCTL.CIOCAUTHCRYPT, this.#address), length);
      this.inUse = [];
      this.#give(staged, length, output, tag);
    });
  }

  async openAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    tag: Uint8Array,
    output: Uint8Array,
  ): Promise<void> {
    this.ready();
    const length = this.#check('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    await this.busy([aad, text, tag, output], async () => {
      this.inUse = [aad];
      const staged = this.#prepare(iv, aad, text, length, tag, new Staging());
      const result = await libc.ioctlAsync(this.#fd, IOCTL.CIOCAUTHCRYPT, this.#address);
      this.inUse = [];
      if (this.#outcome(result, length)) {
        this.#give(staged, length, output);
        return;
      }
      // A forged message is no failure of the session; close() may have been called meanwhile.
      if (this.life === 'busy') this.life = 'ready';
      throw this.#forged(staged, length, output);
    });
  }

  #check(
    direction: Direction,
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
  ): number {
    const { algorithm } = this;
    const length = this.checkMessage(direction, iv, aad, text, output);
    const aadLength = lengthOf(aad);
    const problem = nonceProblem(algorithm, lengthOf(iv));
    if (problem) {
      throw new UnavailableError(
        'ALGORITHM_UNAVAILABLE',
        'cryptodev',
        `${this.driver}: ${algorithm.name}`,
        problem,
      );
    }
    if (aadLength > mostAad()) {
      throw this.#tooLarge(
        `/dev/crypto takes at most ${mostAad()} bytes of additional data, a page of memory; here are ${aadLength}`,
      );
    }
    const total = aadLength + length + this.tagBytes;
    if (total > MESSAGE_BYTES) {
      throw this.#tooLarge(
        `a message cannot be split, and ${MESSAGE_BYTES} bytes is the most that /dev/crypto surely takes at once; this one has ${total}`,
      );
    }
    return length;
  }

  #tooLarge(message: string): HwcryptError {
    return new HwcryptError('MESSAGE_TOO_LARGE', `${this.driver}: ${message}`, {
      reason: { code: 'MESSAGE_TOO_LARGE', message, cure: 'use the libcrypto driver, or smaller messages' },
    });
  }

  /** Copies a message, to open with its tag, and fills the request. The module changes lengths and the tag's address in it. */
  #prepare(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    length: number,
    tag: Uint8Array | undefined,
    staging: Staging,
  ): Staged {
    const view = this.#view;
    const { tagBytes } = this;
    const staged = staging.reserve(length + tagBytes, this.#held.session.alignMask);
    if (length > 0) staged.memory.set(part(text, 0, length));
    if (tag) staged.memory.set(tag, length);
    putNonce(this.algorithm, iv, this.#request, OP.bytes);
    const aadLength = lengthOf(aad);
    view.setUint16(OP.flags, 0, abi.littleEndian);
    view.setUint32(OP.len, tag ? length + tagBytes : length, abi.littleEndian);
    view.setUint32(OP.authLen, aadLength, abi.littleEndian);
    putWord(view, OP.authSrc, aadLength > 0 ? address(aad) : 0, abi);
    putWord(view, OP.src, staged.address, abi);
    putWord(view, OP.dst, staged.address, abi);
    putWord(view, OP.tag, 0, abi);
    view.setUint32(OP.tagLen, tagBytes, abi.littleEndian);
    return staged;
  }

  #give({ memory }: Staged, length: number, output: Uint8Array, tag?: Uint8Array): void {
    if (length > 0) part(output, 0, length).set(memory.subarray(0, length));
    if (tag) part(tag, 0, this.tagBytes).set(memory.subarray(length, length + this.tagBytes));
  }

  #forged({ memory }: Staged, length: number, output: Uint8Array): AuthenticationError {
    wipe(memory.subarray(0, length));
    Uint8Array.prototype.fill.call(output, 0, 0, length);
    return new AuthenticationError();
  }

  /** False for a wrong tag. */
  #outcome(result: number, length: number): boolean {
    if (result >= 0) return true;
    if (result === -ERRNO.EBADMSG && !this.#encrypt) return false;
    const reason = this.#held.session.failed('CIOCAUTHCRYPT', result, {
      bytes: length,
      compat: this.#compat,
    });
    throw this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }
}
