/** AEAD sessions over an EVP_CIPHER_CTX: GCM, CCM, OCB, ChaCha20-Poly1305. */
import type { AeadAlgorithm } from '../../algorithms.js';
import { AuthenticationError, HwcryptError } from '../../errors.js';
import { address } from '../../linux/ffi.js';
import { AeadSessionBase } from '../aead.js';
import { bytes, checkedLength, lengthOf, outputBytes, pair, part, unaliased } from '../buffers.js';
import type { AeadSession, Direction } from '../driver.js';
import { checkIv, checkKey, checkTagBytes } from '../parameters.js';
import { wrongWay } from '../session.js';
import {
  CTRL_SET_IVLEN,
  CTRL_SET_TAG,
  type Evp,
  INPUT,
  IV,
  KEY,
  LENGTH,
  MAX_CALL,
  OUTPUT,
  opensslError,
  SMALL,
  TAG,
} from './evp.js';

/** The engine's own: a subclass may have ideas. */
const { set } = Uint8Array.prototype;

export class LibcryptoAead extends AeadSessionBase implements AeadSession {
  readonly driver = 'libcrypto';
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  /** CCM needs the length first, and OCB holds back bytes: neither can be streamed byte for byte. */
  readonly incremental: boolean;
  readonly messageBytes?: number;
  readonly #evp: Evp;
  readonly #ctx: number;
  readonly #tagParams: number;
  readonly #appended: number[] = [];
  readonly #encrypt: boolean;
  readonly #ccm: boolean;
  /** CCM alone: OpenSSL works the nonce's length into the key schedule, so another length takes the key again. */
  readonly #key: Uint8Array | undefined;
  #ivBytes: number;
  #lengthCell: Uint8Array | undefined;

  constructor(
    evp: Evp,
    handle: number,
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    tagBytes: number,
  ) {
    super();
    checkKey(algorithm, key);
    this.tagBytes = checkTagBytes(algorithm, tagBytes);
    this.#evp = evp;
    this.algorithm = algorithm;
    this.direction = direction;
    this.#encrypt = direction === 'encrypt';
    this.#ccm = algorithm.mode === 'ccm';
    this.incremental = algorithm.mode === 'gcm' || algorithm.mode === 'chacha20-poly1305';
    // OpenSSL takes a CCM message in one call, whose length is an int.
    if (this.#ccm) this.messageBytes = MAX_CALL;
    const kept = this.#ccm ? new Uint8Array(algorithm.keyBytes) : undefined;
    this.#key = kept;

    const box = evp.cipherContexts.acquire(evp.cipherCtxNew);
    const ctx = box.handle;
    if (ctx === 0) throw opensslError(evp, 'EVP_CIPHER_CTX_new failed');
    this.#ctx = ctx;
    this.borrow(() => {
      kept?.fill(0);
      evp.cipherContexts.release(box);
      evp.wipe();
    });
    this.#ivBytes = algorithm.ivBytes;
    this.#tagParams = evp.tagParams(tagBytes);
    kept?.set(key);
    const encrypt = this.#encrypt ? 1 : 0;
    // GCM and ChaCha20-Poly1305 take all at once, their usual nonce being OpenSSL's default; CCM and OCB must know the lengths
    // of nonce and tag before the key.
    const ok = this.incremental
      ? this.#setKey(key, handle, encrypt)
      : evp.cipherInit(ctx, handle, 0, 0, encrypt, 0) === 1 &&
        evp.cipherCtrl(ctx, CTRL_SET_IVLEN, this.#ivBytes, 0) === 1 &&
        evp.cipherCtrl(ctx, CTRL_SET_TAG, tagBytes, 0) === 1 &&
        this.#setKey(key);
    if (!ok) {
      const error = opensslError(evp, `cannot initialise ${algorithm.name}`);
      this.close();
      throw error;
    }
  }

  rekey(key: Uint8Array): void {
    this.ready();
    checkKey(this.algorithm, key);
    this.#key?.set(key);
    if (!this.#setKey(key)) throw this.#broken();
  }

  #setKey(key: Uint8Array, handle = 0, encrypt = -1): boolean {
    const { scratch } = this.#evp;
    const keyBytes = this.algorithm.keyBytes;
    scratch.bytes.set(key, KEY);
    const ok = this.#evp.cipherInit(this.#ctx, handle, scratch.address + KEY, 0, encrypt, 0);
    scratch.bytes.fill(0, KEY, KEY + keyBytes);
    return ok === 1;
  }

  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void {
    this.ready();
    const length = this.#check('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    this.#start(iv, length);
    this.#aad(aad);
    const done = this.#text(text, output, length);
    if (done < 0 || !this.#final(output, done, length)) throw this.#broken();
    this.#getTag(tag);
  }

  sealAppended(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = checkedLength(text, 'text');
    const { tagBytes } = this;
    outputBytes(output, 'output', length + tagBytes);
    if (length > SMALL || length === 0 || !this.incremental) {
      this.seal(iv, aad, text, output, part(output, length, tagBytes));
      return;
    }
    // The same as `seal`, written out, in memory of ours: here a view more or less can be measured.
    if (!this.#encrypt) throw wrongWay(this.driver, this.direction, 'encrypt');
    const evp = this.#evp;
    const ctx = this.#ctx;
    const { address, bytes: memory } = evp.scratch;
    const ivBytes = checkIv(this.algorithm, iv);
    const aadBytes = checkedLength(aad, 'aad');
    if (ivBytes !== this.#ivBytes) this.#setIvBytes(ivBytes);
    memory.set(iv, IV);
    if (evp.cipherInit(ctx, 0, 0, address + IV, -1, 0) !== 1) throw this.#broken();
    if (aadBytes > 0) this.#aad(aad);
    memory.set(text, INPUT);
    const to = address + OUTPUT;
    if (
      evp.cipherUpdateAt(ctx, to, address + LENGTH, address + INPUT, length) !== 1 ||
      evp.cipherFinal(ctx, to + length, address + LENGTH) !== 1 ||
      evp.cipherGetParams(ctx, this.#appendedParams(length)) !== 1
    )
      throw this.#broken();
    set.call(output, evp.result(length + tagBytes));
  }

  /** What asks for a tag right behind a short text, by the text's length. */
  #appendedParams(length: number): number {
    this.#appended[length] ??= this.#evp.tagParams(this.tagBytes, OUTPUT + length);
    return this.#appended[length];
  }

  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    this.#start(iv, length, tag);
    this.#aad(aad);
    const done = this.#text(text, output, length);
    if (done < 0 || !this.#final(output, done, length)) throw this.#forged(output, length);
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
    await this.busy([aad, text, output, tag], async () => {
      this.#start(iv, length);
      await this.#aadAsync(aad);
      const done = await this.#textAsync(text, output, length);
      if (done < 0 || !this.#final(output, done, length))
        throw opensslError(this.#evp, `${this.algorithm.name} failed`);
      this.#getTag(tag);
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
    await this.busy([aad, text, output, tag], async () => {
      this.#start(iv, length, tag);
      await this.#aadAsync(aad);
      const done = await this.#textAsync(text, output, length);
      if (done < 0 || !this.#final(output, done, length)) {
        // A forged message is no failure of the driver: the session goes on.
        if (this.life === 'busy') this.life = 'ready';
        throw this.#forged(output, length);
      }
    });
  }

  begin(iv: Uint8Array): void {
    this.ready();
    if (!this.incremental) throw this.#whole();
    checkIv(this.algorithm, iv);
    this.#start(iv, 0);
  }

  aad(data: Uint8Array): void {
    this.ready();
    if (!this.incremental) throw this.#whole();
    bytes(data, 'aad');
    this.#aad(data);
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    if (!this.incremental) throw this.#whole();
    const length = pair(input, output);
    if (length > 0 && this.#text(input, output, length) < 0) throw this.#broken();
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    if (!this.incremental) throw this.#whole();
    const length = pair(input, output);
    if (length === 0) return;
    await this.busy([input, output], async () => {
      if ((await this.#textAsync(input, output, length)) < 0)
        throw opensslError(this.#evp, `${this.algorithm.name} failed`);
    });
  }

  finish(tag: Uint8Array): void {
    this.ready();
    if (!this.incremental) throw this.#whole();
    if (this.#encrypt) {
      outputBytes(tag, 'tag', this.tagBytes);
      if (!this.#final(undefined, 0, 0)) throw this.#broken();
      this.#getTag(tag);
      return;
    }
    checkTagBytes(this.algorithm, checkedLength(tag, 'tag'));
    this.#setTag(tag);
    if (!this.#final(undefined, 0, 0)) {
      this.#evp.errClear();
      throw new AuthenticationError();
    }
  }

  #check(
    direction: Direction,
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
  ): number {
    const length = this.checkMessage(direction, iv, aad, text, output);
    if (this.messageBytes !== undefined && Math.max(length, lengthOf(aad)) > this.messageBytes) {
      throw new HwcryptError(
        'MESSAGE_TOO_LARGE',
        `libcrypto: ${this.algorithm.name} takes at most ${this.messageBytes} bytes in one message`,
      );
    }
    return length;
  }

  /** Sets the nonce, and for CCM and OCB the tag (decryption) or its length, and for CCM the length of the text. */
  #start(iv: Uint8Array, length: number, tag?: Uint8Array): void {
    const evp = this.#evp;
    const { scratch } = evp;
    const ivBytes = lengthOf(iv);
    scratch.bytes.set(iv, IV);
    if (ivBytes !== this.#ivBytes) this.#setIvBytes(ivBytes);
    if (evp.cipherInit(this.#ctx, 0, 0, scratch.address + IV, -1, 0) !== 1) throw this.#broken();
    if (!this.incremental && this.#encrypt) {
      if (evp.cipherCtrl(this.#ctx, CTRL_SET_TAG, this.tagBytes, 0) !== 1) throw this.#broken();
    }
    if (tag) this.#setTag(tag);
    if (this.#ccm && evp.cipherUpdate(this.#ctx, 0, scratch.address + LENGTH, 0, length) !== 1)
      throw this.#broken();
  }

  #setTag(tag: Uint8Array): void {
    const { scratch } = this.#evp;
    scratch.bytes.set(tag, TAG);
    if (this.#evp.cipherCtrl(this.#ctx, CTRL_SET_TAG, lengthOf(tag), scratch.address + TAG) !== 1)
      throw this.#broken();
  }

  #getTag(tag: Uint8Array): void {
    const { scratch } = this.#evp;
    // The same as EVP_CTRL_AEAD_GET_TAG, which OpenSSL would first translate into this: 50 ns less.
    if (this.#evp.cipherGetParams(this.#ctx, this.#tagParams) !== 1) throw this.#broken();
    const from = scratch.bytes;
    for (let i = 0; i < this.tagBytes; i++) tag[i] = from[TAG + i]!;
  }

  #aad(aad: Uint8Array): void {
    const length = lengthOf(aad);
    if (length === 0) return;
    const evp = this.#evp;
    const { scratch } = evp;
    if (length <= SMALL) {
      scratch.bytes.set(aad, INPUT);
      if (evp.cipherUpdate(this.#ctx, 0, scratch.address + LENGTH, scratch.address + INPUT, length) !== 1)
        throw this.#broken();
      return;
    }
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      if (evp.cipherUpdate(this.#ctx, 0, scratch.address + LENGTH, part(aad, at, size), size) !== 1)
        throw this.#broken();
    }
  }

  async #aadAsync(aad: Uint8Array): Promise<void> {
    const length = lengthOf(aad);
    if (length <= 4096) {
      this.#aad(aad);
      return;
    }
    const cell = this.#cell();
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      const { value } = await this.#evp.cipherUpdate.promise(
        this.#ctx,
        0,
        address(cell),
        part(aad, at, size),
        size,
      );
      if (value !== 1) throw opensslError(this.#evp, `${this.algorithm.name} failed`);
    }
  }

  /** The text. Returns how many bytes came out (fewer than `length` for OCB), or -1 on failure (for CCM: a wrong tag). */
  #text(text: Uint8Array, output: Uint8Array, length: number): number {
    const evp = this.#evp;
    const { scratch } = evp;
    // CCM makes and checks its tag in this call, so it is needed for an empty text too.
    if (length === 0 && !this.#ccm) return 0;
    if (length <= SMALL) {
      const at = scratch.address;
      if (length > 0) scratch.bytes.set(text, INPUT);
      if (evp.cipherUpdateAt(this.#ctx, at + OUTPUT, at + LENGTH, at + INPUT, length) !== 1) return -1;
      const done = scratch.length[0]!;
      if (done > 0) set.call(output, evp.result(done));
      return done;
    }
    const source = unaliased(text, output, length);
    if (length <= MAX_CALL) {
      const ok = evp.cipherUpdate(this.#ctx, output, scratch.address + LENGTH, source, length);
      return ok === 1 ? scratch.length[0]! : -1;
    }
    let done = 0;
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      const to = part(output, done, size);
      if (evp.cipherUpdate(this.#ctx, to, scratch.address + LENGTH, part(source, at, size), size) !== 1)
        return -1;
      done += scratch.length[0]!;
    }
    return done;
  }

  async #textAsync(text: Uint8Array, output: Uint8Array, length: number): Promise<number> {
    if (length <= SMALL) return this.#text(text, output, length);
    const cell = this.#cell();
    const source = unaliased(text, output, length);
    let done = 0;
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      const { value } = await this.#evp.cipherUpdate.promise(
        this.#ctx,
        part(output, done, size),
        address(cell),
        part(source, at, size),
        size,
      );
      if (value !== 1) return -1;
      done += new Int32Array(cell.buffer, cell.byteOffset, 1)[0]!;
    }
    return done;
  }

  /** Ends the message. True where everything came out (and, decrypting, the tag was right). */
  #final(output: Uint8Array | undefined, done: number, length: number): boolean {
    // CCM has done it all in `#text`, and refuses a final call after decryption.
    if (this.#ccm) return done === length;
    const evp = this.#evp;
    const { scratch } = evp;
    if (evp.cipherFinal(this.#ctx, scratch.address + OUTPUT, scratch.address + LENGTH) !== 1) return false;
    const rest = scratch.length[0]!;
    if (done + rest !== length) return false;
    for (let i = 0; i < rest; i++) output![done + i] = scratch.bytes[OUTPUT + i]!;
    return true;
  }

  #cell(): Uint8Array {
    this.#lengthCell ??= Buffer.allocUnsafeSlow(8);
    return this.#lengthCell;
  }

  #forged(output: Uint8Array, length: number): AuthenticationError {
    this.#evp.errClear();
    Uint8Array.prototype.fill.call(output, 0, 0, length);
    return new AuthenticationError();
  }

  #setIvBytes(ivBytes: number): void {
    if (this.#evp.cipherCtrl(this.#ctx, CTRL_SET_IVLEN, ivBytes, 0) !== 1) throw this.#broken();
    this.#ivBytes = ivBytes;
    if (this.#key && !this.#setKey(this.#key)) throw this.#broken();
  }

  #whole(): Error {
    return new HwcryptError(
      'SESSION_UNUSABLE',
      `libcrypto: ${this.algorithm.name} takes a message in one piece only`,
    );
  }

  #broken(): Error {
    return this.fail(opensslError(this.#evp, `${this.algorithm.name} failed`));
  }
}
