/** Hash and HMAC sessions over a gcry_md_hd_t, CMAC sessions over a gcry_mac_hd_t. */
import type { HashAlgorithm, MacAlgorithm } from '../../algorithms.js';
import { DriverError, type UnavailableError } from '../../errors.js';
import { checkedLength, lengthOf, outputBytes, part } from '../buffers.js';
import type { DigestSession } from '../driver.js';
import { checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import {
  broken,
  DRIVER,
  GCRYCTL,
  type Gcrypt,
  MAX_CALL,
  MD_FLAG_HMAC,
  NOTHING,
  reasonOf,
  refused,
} from './library.js';

/** What all three do the same way. Methods named `native…` return libgcrypt's error, 0 for none. */
abstract class GcryptDigest<A extends HashAlgorithm | MacAlgorithm>
  extends SessionBase
  implements DigestSession
{
  readonly driver = DRIVER;
  readonly algorithm: A;
  readonly #gcrypt: Gcrypt;
  /** False from `digest` until `restart`: libgcrypt would take more data without a word, and lose it. */
  protected open = true;

  constructor(gcrypt: Gcrypt, algorithm: A) {
    super();
    this.#gcrypt = gcrypt;
    this.algorithm = algorithm;
  }

  protected get gcrypt(): Gcrypt {
    return this.#gcrypt;
  }

  protected abstract nativeUpdate(data: Uint8Array, length: number): number;
  protected abstract nativeUpdateAsync(data: Uint8Array, length: number): Promise<number>;
  protected abstract nativeDigest(output: Uint8Array, length: number): number;
  protected abstract nativeReset(): number;
  protected abstract nativeSetKey(key: Uint8Array, length: number): number;
  abstract clone(): DigestSession;

  update(data: Uint8Array): void {
    this.ready();
    const length = checkedLength(data, 'data');
    this.#unfinished();
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      this.#demand(this.nativeUpdate(size === length ? data : part(data, at, size), size));
    }
  }

  async updateAsync(data: Uint8Array): Promise<void> {
    this.ready();
    const length = checkedLength(data, 'data');
    this.#unfinished();
    if (length === 0) return;
    await this.busy([data], async () => {
      for (let at = 0; at < length; at += MAX_CALL) {
        const size = Math.min(MAX_CALL, length - at);
        const error = await this.nativeUpdateAsync(part(data, at, size), size);
        if (error !== 0) throw broken(this.#gcrypt, this.algorithm, error);
      }
    });
  }

  digest(output: Uint8Array): void {
    this.ready();
    this.#unfinished();
    const length = this.outputLength(output);
    this.open = false;
    if (length > 0) this.#demand(this.nativeDigest(output, length));
  }

  restart(key?: Uint8Array): void {
    this.ready();
    if (key === undefined || this.algorithm.kind === 'hash') this.#demand(this.nativeReset());
    else {
      checkKey(this.algorithm, key);
      const error = this.setKey(key);
      if (error) throw this.fail(error);
    }
    this.open = true;
  }

  once(data: Uint8Array, output: Uint8Array): void {
    this.restart();
    this.update(data);
    this.digest(output);
  }

  async onceAsync(data: Uint8Array, output: Uint8Array): Promise<void> {
    this.restart();
    await this.updateAsync(data);
    this.digest(output);
  }

  /** A new key, which begins a new message; the error where it is not taken. */
  protected setKey(key: Uint8Array): UnavailableError | undefined {
    const length = lengthOf(key);
    const error = this.nativeSetKey(length === 0 ? NOTHING : key, length);
    if (error === 0) return undefined;
    return refused(this.algorithm, reasonOf(this.#gcrypt, error, this.algorithm.name));
  }

  protected outputLength(output: Uint8Array): number {
    const { algorithm } = this;
    if (algorithm.kind === 'hash' && algorithm.xof) return checkedLength(output, 'output');
    outputBytes(output, 'output', algorithm.digestBytes);
    return algorithm.digestBytes;
  }

  #unfinished(): void {
    if (!this.open) throw new Error('digest() was called: restart() the session first');
  }

  #demand(error: number): void {
    if (error !== 0) throw this.fail(broken(this.#gcrypt, this.algorithm, error));
  }
}

/** A hash, or its HMAC: an HMAC as a flag of a hash can be copied, which a gcry_mac_hd_t cannot. */
export class GcryptMd extends GcryptDigest<HashAlgorithm | MacAlgorithm> {
  readonly #algo: number;
  readonly #handle: number;
  readonly #xof: boolean;

  /** With `copied`, in the state of that handle; else with `key`, where it is an HMAC. `algo` is libgcrypt's id of the hash. */
  constructor(
    gcrypt: Gcrypt,
    algo: number,
    algorithm: HashAlgorithm | MacAlgorithm,
    key: Uint8Array | undefined,
    copied?: number,
  ) {
    super(gcrypt, algorithm);
    if (key !== undefined) checkKey(algorithm as MacAlgorithm, key);
    this.#algo = algo;
    this.#xof = algorithm.kind === 'hash' && algorithm.xof;
    const flags = algorithm.kind === 'mac' ? MD_FLAG_HMAC : 0;
    const box = gcrypt.digests.acquire(() => {
      const { handle, error } = gcrypt.handle((cell) =>
        copied === undefined ? gcrypt.mdOpen(cell, algo, flags) : gcrypt.mdCopy(cell, copied),
      );
      if (handle === 0) throw refused(algorithm, reasonOf(gcrypt, error, algorithm.name));
      return handle;
    });
    this.#handle = box.handle;
    this.borrow(() => gcrypt.digests.release(box));
    const error = key === undefined ? undefined : this.setKey(key);
    if (error) {
      this.close();
      throw error;
    }
  }

  protected nativeUpdate(data: Uint8Array, length: number): number {
    this.gcrypt.mdWrite(this.#handle, data, length);
    return 0;
  }

  protected async nativeUpdateAsync(data: Uint8Array, length: number): Promise<number> {
    await this.gcrypt.mdWrite.promise(this.#handle, data, length);
    return 0;
  }

  protected nativeDigest(output: Uint8Array, length: number): number {
    if (this.#xof) return this.gcrypt.mdExtract(this.#handle, this.#algo, output, length);
    this.gcrypt.copy(output, this.gcrypt.mdRead(this.#handle, this.#algo), length);
    return 0;
  }

  protected nativeReset(): number {
    this.gcrypt.mdReset(this.#handle);
    return 0;
  }

  protected nativeSetKey(key: Uint8Array, length: number): number {
    return this.gcrypt.mdSetKey(this.#handle, key, length);
  }

  clone(): GcryptMd {
    this.ready();
    const copy = new GcryptMd(this.gcrypt, this.#algo, this.algorithm, undefined, this.#handle);
    copy.open = this.open;
    return copy;
  }

  override once(data: Uint8Array, output: Uint8Array): void {
    const length = checkedLength(data, 'data');
    if (this.#xof || this.algorithm.kind === 'mac' || length > MAX_CALL) {
      super.once(data, output);
      return;
    }
    this.ready();
    this.outputLength(output);
    this.gcrypt.mdBuffer(this.#algo, output, length === 0 ? NOTHING : data, length);
    // As after every other way to a digest.
    this.open = false;
  }
}

export class GcryptCmac extends GcryptDigest<MacAlgorithm> {
  readonly #handle: number;
  /** A size_t: room for the tag, and how long it was. */
  readonly #length = new BigUint64Array(1);
  readonly #lengthBytes = new Uint8Array(this.#length.buffer);

  constructor(gcrypt: Gcrypt, algo: number, algorithm: MacAlgorithm, key: Uint8Array) {
    super(gcrypt, algorithm);
    checkKey(algorithm, key);
    const box = gcrypt.macs.acquire(() => {
      const { handle, error } = gcrypt.handle((cell) => gcrypt.macOpen(cell, algo, 0, 0));
      if (handle === 0) throw refused(algorithm, reasonOf(gcrypt, error, algorithm.name));
      return handle;
    });
    this.#handle = box.handle;
    this.borrow(() => gcrypt.macs.release(box));
    const error = this.setKey(key);
    if (error) {
      this.close();
      throw error;
    }
  }

  protected nativeUpdate(data: Uint8Array, length: number): number {
    return this.gcrypt.macWrite(this.#handle, data, length);
  }

  protected async nativeUpdateAsync(data: Uint8Array, length: number): Promise<number> {
    return (await this.gcrypt.macWrite.promise(this.#handle, data, length)).value;
  }

  protected nativeDigest(output: Uint8Array, length: number): number {
    this.#length[0] = BigInt(length);
    return this.gcrypt.macRead(this.#handle, output, this.#lengthBytes);
  }

  protected nativeReset(): number {
    return this.gcrypt.macControl(this.#handle, GCRYCTL.RESET, null, 0);
  }

  protected nativeSetKey(key: Uint8Array, length: number): number {
    // A key does not end the message before it.
    return this.gcrypt.macSetKey(this.#handle, key, length) || this.nativeReset();
  }

  clone(): DigestSession {
    this.ready();
    throw new DriverError(DRIVER, `cannot copy ${this.algorithm.name}`, {
      code: 'ALGORITHM_NOT_OFFERED',
      message: 'libgcrypt has no function that copies a MAC',
    });
  }
}
