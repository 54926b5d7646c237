/** Cipher sessions over a gcry_cipher_hd_t, which carries the stream itself. */
import type { CipherAlgorithm } from '../../algorithms.js';
import type { NativeFunction } from '../../linux/ffi.js';
import { copyOf, lengthOf, pair, part, unaliased, wipe } from '../buffers.js';
import { ChainFollower } from '../chain.js';
import type { CipherSession, Direction } from '../driver.js';
import { checkIv, checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import { checkHalves, checkUnit } from '../xts.js';
import {
  broken,
  codeOf,
  DRIVER,
  GCRYCTL,
  type Gcrypt,
  GPG_ERR,
  MAX_CALL,
  reasonOf,
  refused,
} from './library.js';

/** libgcrypt's id of a cipher and of its mode. */
export interface CipherId {
  readonly algo: number;
  readonly mode: number;
}

/** What a session that begins anew must have for itself. */
interface Kept {
  /** RC4 has no IV to begin anew with: only its key does that. */
  key: Uint8Array | undefined;
  /** XTS: libgcrypt moves on to the next data unit by itself, where each of ours has the IV as set. */
  unit: Uint8Array | undefined;
}

export class GcryptCipher extends SessionBase implements CipherSession {
  readonly driver = DRIVER;
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  readonly partialBlocks = true;
  readonly #gcrypt: Gcrypt;
  readonly #handle: number;
  readonly #crypt: NativeFunction;
  readonly #kept: Kept = { key: undefined, unit: undefined };
  readonly #xts: boolean;
  /** May a key be one of those that libgcrypt calls weak? Versions that do not know the question set no such key. */
  readonly #anyKey: boolean;
  #chain: ChainFollower | undefined;

  constructor(
    gcrypt: Gcrypt,
    { algo, mode }: CipherId,
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
  ) {
    super();
    this.#gcrypt = gcrypt;
    this.algorithm = algorithm;
    this.direction = direction;
    this.#xts = algorithm.mode === 'xts';
    this.#crypt = direction === 'encrypt' ? gcrypt.encrypt : gcrypt.decrypt;
    this.#check(key, iv);

    const box = gcrypt.ciphers.acquire(() => {
      const { handle, error } = gcrypt.handle((cell) => gcrypt.cipherOpen(cell, algo, mode, 0));
      if (handle === 0) throw refused(algorithm, reasonOf(gcrypt, error, algorithm.name));
      return handle;
    });
    this.#handle = box.handle;
    const kept = this.#kept;
    this.borrow(() => {
      wipe(kept.key);
      gcrypt.ciphers.release(box);
    });
    this.#anyKey = gcrypt.cipherControl(this.#handle, GCRYCTL.SET_ALLOW_WEAK_KEY, null, 1) === 0;
    const error = this.#setKey(key) || this.#setIv(iv);
    if (error !== 0) {
      this.close();
      throw refused(algorithm, reasonOf(gcrypt, error, algorithm.name));
    }
  }

  /** @throws Node's errors for wrong lengths, OpenSSL's for two equal halves */
  #check(key: Uint8Array, iv: Uint8Array | null): void {
    checkKey(this.algorithm, key);
    checkIv(this.algorithm, iv);
    if (this.#xts) checkHalves(this.direction, key);
  }

  /** 0, or libgcrypt's error. */
  #setKey(key: Uint8Array): number {
    const error = this.#gcrypt.cipherSetKey(this.#handle, key, lengthOf(key));
    // DES and Blowfish: where weak keys are allowed it is set all the same, and this is for information.
    if (error !== 0 && !(codeOf(error) === GPG_ERR.WEAK_KEY && this.#anyKey)) return error;
    if (this.algorithm.mode === 'stream' && this.algorithm.ivBytes === 0 && key !== this.#kept.key) {
      wipe(this.#kept.key);
      this.#kept.key = copyOf(key);
    }
    return 0;
  }

  #setIv(iv: Uint8Array | null): number {
    const { ivBytes, mode, handover } = this.algorithm;
    if (iv === null || ivBytes === 0) return 0;
    this.#chain = handover ? new ChainFollower(this.algorithm, this.direction, iv) : undefined;
    if (this.#xts) this.#kept.unit = copyOf(iv);
    const set = mode === 'ctr' ? this.#gcrypt.cipherSetCounter : this.#gcrypt.cipherSetIv;
    return set(this.#handle, iv, ivBytes);
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#length(input, output);
    if (length === 0) return;
    const source = unaliased(input, output, length);
    const begun = this.#beginUnit();
    if (begun !== 0) throw this.fail(broken(this.#gcrypt, this.algorithm, begun));
    this.#chain?.before(source, length);
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      const whole = size === length;
      const to = whole ? output : part(output, at, size);
      const from = whole ? source : part(source, at, size);
      const error = this.#crypt(this.#handle, to, size, from, size);
      if (error !== 0) throw this.fail(broken(this.#gcrypt, this.algorithm, error));
    }
    this.#chain?.after(output, length);
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = this.#length(input, output);
    if (length === 0) return;
    const source = unaliased(input, output, length);
    await this.busy([input, output], async () => {
      const begun = this.#beginUnit();
      if (begun !== 0) throw broken(this.#gcrypt, this.algorithm, begun);
      this.#chain?.before(source, length);
      for (let at = 0; at < length; at += MAX_CALL) {
        const size = Math.min(MAX_CALL, length - at);
        const { value: error } = await this.#crypt.promise(
          this.#handle,
          part(output, at, size),
          size,
          part(source, at, size),
          size,
        );
        if (error !== 0) throw broken(this.#gcrypt, this.algorithm, error);
      }
      this.#chain?.after(output, length);
    });
  }

  restart(iv: Uint8Array | null, key?: Uint8Array): void {
    this.ready();
    const next = key ?? this.#kept.key;
    if (key !== undefined) this.#check(key, iv);
    else checkIv(this.algorithm, iv);
    let error = next === undefined ? 0 : this.#setKey(next);
    if (error !== 0)
      throw this.fail(refused(this.algorithm, reasonOf(this.#gcrypt, error, this.algorithm.name)));
    error = this.#setIv(iv);
    if (error !== 0) throw this.fail(broken(this.#gcrypt, this.algorithm, error));
  }

  chain(): Uint8Array | null {
    this.ready();
    return this.#chain?.value() ?? null;
  }

  #length(input: Uint8Array, output: Uint8Array): number {
    const length = pair(input, output, this.algorithm.blockBytes);
    if (this.#xts) checkUnit(this.driver, length);
    return length;
  }

  #beginUnit(): number {
    const { unit } = this.#kept;
    return unit === undefined ? 0 : this.#gcrypt.cipherSetIv(this.#handle, unit, lengthOf(unit));
  }
}
