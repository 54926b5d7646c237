/** AEAD sessions over a gcry_cipher_hd_t: GCM, CCM, OCB, ChaCha20-Poly1305. */
import { timingSafeEqual } from 'node:crypto';

import type { AeadAlgorithm } from '../../algorithms.js';
import { AuthenticationError, HwcryptError, type Reason } from '../../errors.js';
import type { NativeFunction } from '../../linux/ffi.js';
import { AeadSessionBase } from '../aead.js';
import { bytes, lengthOf, outputBytes, pair, part, unaliased } from '../buffers.js';
import type { AeadSession, Direction } from '../driver.js';
import { checkIv, checkKey, checkTagBytes } from '../parameters.js';
import type { CipherId } from './cipher.js';
import {
  broken,
  codeOf,
  DRIVER,
  GCRYCTL,
  type Gcrypt,
  GPG_ERR,
  MAX_CALL,
  NOTHING,
  reasonOf,
  refused,
} from './library.js';

/** The whole tag of GCM and Poly1305, which libgcrypt does not give in every length that they may be cut to. */
const WHOLE_TAG_BYTES = 16;

/** Additional data up to this long is worked on by this thread, in an asynchronous call too. */
const AAD_HERE_BYTES = 4096;

export class GcryptAead extends AeadSessionBase implements AeadSession {
  readonly driver = DRIVER;
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  /** CCM must be told the lengths first, and OCB which piece is the last one. */
  readonly incremental: boolean;
  readonly #gcrypt: Gcrypt;
  readonly #handle: number;
  readonly #encrypt: boolean;
  readonly #crypt: NativeFunction;
  readonly #tag = new Uint8Array(WHOLE_TAG_BYTES);

  constructor(
    gcrypt: Gcrypt,
    { algo, mode }: CipherId,
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    tagBytes: number,
  ) {
    super();
    checkKey(algorithm, key);
    this.tagBytes = checkTagBytes(algorithm, tagBytes);
    this.#gcrypt = gcrypt;
    this.algorithm = algorithm;
    this.direction = direction;
    this.#encrypt = direction === 'encrypt';
    this.#crypt = this.#encrypt ? gcrypt.encrypt : gcrypt.decrypt;
    this.incremental = algorithm.mode === 'gcm' || algorithm.mode === 'chacha20-poly1305';

    const box = gcrypt.ciphers.acquire(() => {
      const { handle, error } = gcrypt.handle((cell) => gcrypt.cipherOpen(cell, algo, mode, 0));
      if (handle === 0) throw refused(algorithm, reasonOf(gcrypt, error, algorithm.name));
      return handle;
    });
    this.#handle = box.handle;
    this.borrow(() => gcrypt.ciphers.release(box));
    const reason = this.#setTagBytes() ?? this.#setKey(key);
    if (reason) {
      this.close();
      throw refused(algorithm, reason);
    }
  }

  /** OCB works the tag's length into the nonce, and libgcrypt has three of them. */
  #setTagBytes(): Reason | undefined {
    if (this.algorithm.mode !== 'ocb') return undefined;
    const length = new Uint8Array(Int32Array.of(this.tagBytes).buffer);
    const error = this.#gcrypt.cipherControl(this.#handle, GCRYCTL.SET_TAGLEN, length, length.length);
    if (error === 0) return undefined;
    return {
      code: 'BAD_TAG_LENGTH',
      message: `libgcrypt ${this.#gcrypt.version} has no OCB tags of ${this.tagBytes} bytes`,
      cure: 'use the libcrypto driver, or tags of 8, 12 or 16 bytes',
    };
  }

  #setKey(key: Uint8Array): Reason | undefined {
    const error = this.#gcrypt.cipherSetKey(this.#handle, key, lengthOf(key));
    return error === 0 ? undefined : reasonOf(this.#gcrypt, error, this.algorithm.name);
  }

  rekey(key: Uint8Array): void {
    this.ready();
    checkKey(this.algorithm, key);
    const reason = this.#setKey(key);
    if (reason) throw this.fail(refused(this.algorithm, reason));
  }

  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void {
    this.ready();
    const length = this.checkMessage('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    this.#start(iv, lengthOf(aad), length);
    this.#aad(aad);
    this.#text(text, output, length);
    this.#writeTag(tag);
  }

  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.checkMessage('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    this.#start(iv, lengthOf(aad), length);
    this.#aad(aad);
    this.#text(text, output, length);
    if (!this.#rightTag(tag)) throw forged(output, length);
  }

  async sealAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Promise<void> {
    this.ready();
    const length = this.checkMessage('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    this.#start(iv, lengthOf(aad), length);
    await this.busy([aad, text, output, tag], async () => {
      await this.#aadAsync(aad);
      await this.#textAsync(text, output, length);
      this.#writeTag(tag);
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
    const length = this.checkMessage('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    this.#start(iv, lengthOf(aad), length);
    await this.busy([aad, text, output, tag], async () => {
      await this.#aadAsync(aad);
      await this.#textAsync(text, output, length);
      if (this.#rightTag(tag)) return;
      // A forged message is no failure of the driver: the session goes on, unless it was closed meanwhile.
      if (this.life === 'busy') this.life = 'ready';
      throw forged(output, length);
    });
  }

  begin(iv: Uint8Array): void {
    this.#incrementalOnly();
    checkIv(this.algorithm, iv);
    this.#start(iv, 0, 0);
  }

  aad(data: Uint8Array): void {
    this.#incrementalOnly();
    bytes(data, 'aad');
    this.#aad(data);
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.#incrementalOnly();
    const length = pair(input, output);
    if (length > 0) this.#text(input, output, length);
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.#incrementalOnly();
    const length = pair(input, output);
    if (length > 0) await this.busy([input, output], () => this.#textAsync(input, output, length));
  }

  finish(tag: Uint8Array): void {
    this.#incrementalOnly();
    if (this.#encrypt) {
      outputBytes(tag, 'tag', this.tagBytes);
      this.#writeTag(tag);
      return;
    }
    checkTagBytes(this.algorithm, lengthOf(bytes(tag, 'tag')));
    if (!this.#rightTag(tag)) throw new AuthenticationError();
  }

  /** A new message. Refuses what libgcrypt does not take before anything is done. */
  #start(iv: Uint8Array, aadBytes: number, length: number): void {
    const { algorithm } = this;
    const ivBytes = lengthOf(iv);
    const refusal = this.#gcrypt.cipherSetIv(this.#handle, iv, ivBytes);
    if (codeOf(refusal) === GPG_ERR.INV_LENGTH) {
      throw refused(algorithm, {
        code: 'ALGORITHM_NOT_OFFERED',
        message: `libgcrypt ${this.#gcrypt.version} takes no nonce of ${ivBytes} bytes for ${algorithm.name}`,
        cure: `use the libcrypto driver, or a nonce of ${algorithm.ivBytes} bytes`,
      });
    }
    this.#demand(refusal);
    if (algorithm.mode !== 'ccm') return;
    // uint64_t each, whatever the machine's word is.
    const lengths = new Uint8Array(
      BigUint64Array.of(BigInt(length), BigInt(aadBytes), BigInt(this.tagBytes)).buffer,
    );
    this.#demand(this.#gcrypt.cipherControl(this.#handle, GCRYCTL.SET_CCM_LENGTHS, lengths, lengths.length));
  }

  #aad(aad: Uint8Array): void {
    const length = lengthOf(aad);
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      const piece = size === length ? aad : part(aad, at, size);
      this.#demand(this.#gcrypt.cipherAuthenticate(this.#handle, piece, size));
    }
  }

  async #aadAsync(aad: Uint8Array): Promise<void> {
    const length = lengthOf(aad);
    if (length <= AAD_HERE_BYTES) {
      this.#aad(aad);
      return;
    }
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      const piece = part(aad, at, size);
      this.#demand((await this.#gcrypt.cipherAuthenticate.promise(this.#handle, piece, size)).value);
    }
  }

  #text(text: Uint8Array, output: Uint8Array, length: number): void {
    if (length === 0) {
      this.#noText();
      return;
    }
    const source = unaliased(text, output, length);
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      const whole = size === length;
      const to = whole ? output : part(output, at, size);
      const from = whole ? source : part(source, at, size);
      if (at + size === length) this.#last();
      this.#demand(this.#crypt(this.#handle, to, size, from, size));
    }
  }

  async #textAsync(text: Uint8Array, output: Uint8Array, length: number): Promise<void> {
    if (length === 0) {
      this.#noText();
      return;
    }
    const source = unaliased(text, output, length);
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      if (at + size === length) this.#last();
      const { value: error } = await this.#crypt.promise(
        this.#handle,
        part(output, at, size),
        size,
        part(source, at, size),
        size,
      );
      this.#demand(error);
    }
  }

  /** OCB treats the end of the text unlike the rest of it. */
  #last(): void {
    if (this.algorithm.mode !== 'ocb') return;
    this.#demand(this.#gcrypt.cipherControl(this.#handle, GCRYCTL.FINALIZE, null, 0));
  }

  /** OCB makes its tag at the end of the text, so an empty one must come to its end too. */
  #noText(): void {
    if (this.algorithm.mode !== 'ocb') return;
    this.#last();
    this.#demand(this.#crypt(this.#handle, this.#tag, 0, NOTHING, 0));
  }

  /** Made of what was sealed or opened, into `#tag`. */
  #makeTag(): void {
    const length = this.incremental ? WHOLE_TAG_BYTES : this.tagBytes;
    this.#demand(this.#gcrypt.cipherGetTag(this.#handle, this.#tag, length));
  }

  #writeTag(tag: Uint8Array): void {
    this.#makeTag();
    for (let i = 0; i < this.tagBytes; i++) tag[i] = this.#tag[i]!;
  }

  #rightTag(tag: Uint8Array): boolean {
    this.#makeTag();
    const length = lengthOf(tag);
    return timingSafeEqual(part(tag, 0, length), part(this.#tag, 0, length));
  }

  #incrementalOnly(): void {
    this.ready();
    if (!this.incremental) {
      throw new HwcryptError(
        'SESSION_UNUSABLE',
        `${DRIVER}: ${this.algorithm.name} takes a message in one piece only`,
      );
    }
  }

  /** Within an asynchronous call it is for `busy` to mark the session. */
  #demand(error: number): void {
    if (error !== 0) throw this.fail(broken(this.#gcrypt, this.algorithm, error));
  }
}

/** Nothing of a forged message is left. */
function forged(output: Uint8Array, length: number): AuthenticationError {
  Uint8Array.prototype.fill.call(output, 0, 0, length);
  return new AuthenticationError();
}
