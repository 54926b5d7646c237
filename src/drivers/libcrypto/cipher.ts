/** Cipher sessions over an EVP_CIPHER_CTX with OpenSSL's own padding switched off. */
import type { CipherAlgorithm } from '../../algorithms.js';
import { nodeRangeError } from '../../errors.js';
import { address } from '../../linux/ffi.js';
import { bytes, copyOf, pair, part, unaliased } from '../buffers.js';
import { addLittleEndian } from '../chain.js';
import type { CipherSession, Direction } from '../driver.js';
import { checkIv, checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import { checkUnit } from '../xts.js';
import { type Evp, INPUT, IV, KEY, LENGTH, MAX_CALL, OUTPUT, opensslError, SMALL } from './evp.js';

/** Largest piece that one EVP call takes and that ends on a block of any cipher. */
const PIECE = MAX_CALL;

export class LibcryptoCipher extends SessionBase implements CipherSession {
  readonly driver = 'libcrypto';
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  readonly partialBlocks = true;
  readonly #evp: Evp;
  readonly #ctx: number;
  readonly #xts: boolean;
  /** RC4 has no IV to begin anew with: only its key does that, so it is kept. */
  readonly #held: { key: Uint8Array } | undefined;
  /** ChaCha20's counter, which OpenSSL does not tell: where it began, and how far it is. */
  #counter: { readonly start: Uint8Array; bytes: number } | undefined;
  #lengthCell: Uint8Array | undefined;

  constructor(
    evp: Evp,
    handle: number,
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
  ) {
    super();
    const keyBytes = checkKey(algorithm, key);
    const ivBytes = checkIv(algorithm, iv);
    this.#evp = evp;
    this.algorithm = algorithm;
    this.direction = direction;
    this.#xts = algorithm.mode === 'xts';

    const box = evp.cipherContexts.acquire(evp.cipherCtxNew);
    const ctx = box.handle;
    if (ctx === 0) throw opensslError(evp, 'EVP_CIPHER_CTX_new failed');
    this.#ctx = ctx;
    const held = algorithm.mode === 'stream' && ivBytes === 0 ? { key: copyOf(key) } : undefined;
    this.#held = held;
    this.borrow(() => {
      held?.key.fill(0);
      evp.cipherContexts.release(box);
      evp.wipe();
    });
    this.#countFrom(iv);
    const { scratch } = evp;
    const encrypt = direction === 'encrypt' ? 1 : 0;
    scratch.bytes.set(key, KEY);
    if (ivBytes > 0) scratch.bytes.set(iv as Uint8Array, IV);
    const ivAddress = ivBytes > 0 ? scratch.address + IV : 0;
    // A key of another than the default length is announced between choosing the cipher and setting the key.
    const ok =
      algorithm.keyRange === undefined
        ? evp.cipherInit(ctx, handle, scratch.address + KEY, ivAddress, encrypt, 0)
        : evp.cipherInit(ctx, handle, 0, 0, encrypt, 0) === 1 && evp.cipherSetKeyLength(ctx, keyBytes) === 1
          ? evp.cipherInit(ctx, 0, scratch.address + KEY, ivAddress, encrypt, 0)
          : 0;
    scratch.bytes.fill(0, KEY, KEY + keyBytes);
    if (ok !== 1) {
      const error = opensslError(evp, `cannot initialise ${algorithm.name}`);
      this.close();
      throw error;
    }
    if (algorithm.blockBytes > 1) evp.cipherSetPadding(ctx, 0);
  }

  /** Not for XTS, whose data units have rules about their length. */
  get stage(): Uint8Array | undefined {
    return this.#xts ? undefined : this.#evp.stage;
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    if (this.#counter) this.#counter.bytes += length;
    const evp = this.#evp;
    const { scratch } = evp;
    if (length <= SMALL) {
      const at = scratch.address;
      scratch.bytes.set(input, INPUT);
      const ok = evp.cipherUpdateAt(this.#ctx, at + OUTPUT, at + LENGTH, at + INPUT, length);
      if (ok !== 1 || scratch.length[0] !== length) throw this.#broken();
      Uint8Array.prototype.set.call(output, evp.result(length));
      return;
    }
    const source = unaliased(input, output, length);
    if (length <= PIECE) {
      const ok = evp.cipherUpdate(this.#ctx, output, scratch.address + LENGTH, source, length);
      if (ok !== 1 || scratch.length[0] !== length) throw this.#broken();
      return;
    }
    for (let at = 0; at < length; at += PIECE) {
      const size = Math.min(PIECE, length - at);
      const ok = evp.cipherUpdate(
        this.#ctx,
        part(output, at, size),
        scratch.address + LENGTH,
        part(source, at, size),
        size,
      );
      if (ok !== 1 || scratch.length[0] !== size) throw this.#broken();
    }
  }

  updateStaged(length: number): Uint8Array {
    this.ready();
    if (
      !Number.isInteger(length) ||
      length < 1 ||
      length > SMALL ||
      length % this.algorithm.blockBytes !== 0
    ) {
      throw nodeRangeError('ERR_OUT_OF_RANGE', `The value of "length" is out of range. Received ${length}`);
    }
    if (this.#counter) this.#counter.bytes += length;
    const evp = this.#evp;
    const { address: at, length: done } = evp.scratch;
    const ok = evp.cipherUpdateAt(this.#ctx, at + OUTPUT, at + LENGTH, at + INPUT, length);
    if (ok !== 1 || done[0] !== length) throw this.#broken();
    return evp.result(length);
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    // `scratch` belongs to synchronous calls; several asynchronous ones may be under way in other sessions.
    this.#lengthCell ??= Buffer.allocUnsafeSlow(8);
    const cell = this.#lengthCell;
    const source = unaliased(input, output, length);
    await this.busy([input, output], async () => {
      if (this.#counter) this.#counter.bytes += length;
      for (let at = 0; at < length; at += PIECE) {
        const size = Math.min(PIECE, length - at);
        const to = part(output, at, size);
        const from = part(source, at, size);
        const { value } = await this.#evp.cipherUpdate.promise(this.#ctx, to, address(cell), from, size);
        if (value !== 1) throw opensslError(this.#evp, `${this.algorithm.name} failed`);
      }
    });
  }

  updateUnits(input: Uint8Array, output: Uint8Array, unitBytes: number, ivs: Uint8Array): void {
    this.ready();
    const { ivBytes, blockBytes, minBytes = 1 } = this.algorithm;
    if (ivBytes === 0 || unitBytes < minBytes || unitBytes % blockBytes !== 0 || unitBytes > PIECE) {
      throw nodeRangeError(
        'ERR_OUT_OF_RANGE',
        `The value of "unitBytes" is out of range. Received ${unitBytes}`,
      );
    }
    const length = pair(input, output, unitBytes);
    bytes(ivs, 'ivs', (length / unitBytes) * ivBytes);
    if (length === 0) return;
    const source = unaliased(input, output, length);
    const { cipherInit, cipherUpdateAt, scratch } = this.#evp;
    const [ctx, done] = [this.#ctx, scratch.address + LENGTH];
    // By addresses: handing over a view for each sector would take longer than a short sector does.
    let [from, to, iv] = [address(source), address(output), address(ivs)];
    for (const end = from + length; from < end; from += unitBytes, to += unitBytes, iv += ivBytes) {
      if (cipherInit(ctx, 0, 0, iv, -1, 0) !== 1 || cipherUpdateAt(ctx, to, done, from, unitBytes) !== 1) {
        throw this.#broken();
      }
    }
    // What is known by its address must not be collected before here.
    pair(source, output);
    bytes(ivs, 'ivs');
  }

  restart(iv: Uint8Array | null, key?: Uint8Array): void {
    this.ready();
    const ivBytes = checkIv(this.algorithm, iv);
    const evp = this.#evp;
    const { scratch } = evp;
    if (ivBytes > 0) scratch.bytes.set(iv as Uint8Array, IV);
    const ivAddress = ivBytes > 0 ? scratch.address + IV : 0;
    this.#countFrom(iv);
    const next = key ?? this.#held?.key;
    if (next === undefined) {
      if (evp.cipherInit(this.#ctx, 0, 0, ivAddress, -1, 0) !== 1) throw this.#broken();
      return;
    }
    const keyBytes = checkKey(this.algorithm, next);
    if (key !== undefined && this.#held) {
      this.#held.key.fill(0);
      this.#held.key = copyOf(key);
    }
    if (this.algorithm.keyRange && evp.cipherSetKeyLength(this.#ctx, keyBytes) !== 1) throw this.#broken();
    scratch.bytes.set(next, KEY);
    const ok = evp.cipherInit(this.#ctx, 0, scratch.address + KEY, ivAddress, -1, 0);
    scratch.bytes.fill(0, KEY, KEY + keyBytes);
    if (ok !== 1) throw this.#broken();
  }

  chain(): Uint8Array | null {
    this.ready();
    const { ivBytes, handover, cipherBlockBytes } = this.algorithm;
    if (!handover || ivBytes === 0) return null;
    if (this.#counter) {
      const value = copyOf(this.#counter.start);
      addLittleEndian(value, 8, Math.floor(this.#counter.bytes / cipherBlockBytes));
      return value;
    }
    const { scratch } = this.#evp;
    if (this.#evp.cipherUpdatedIv(this.#ctx, scratch.address + IV, ivBytes) !== 1) throw this.#broken();
    return copyOf(part(scratch.bytes, IV, ivBytes));
  }

  #countFrom(iv: Uint8Array | null): void {
    if (this.algorithm.mode === 'stream' && iv !== null) this.#counter = { start: copyOf(iv), bytes: 0 };
  }

  #check(input: Uint8Array, output: Uint8Array): number {
    const length = pair(input, output, this.algorithm.blockBytes);
    if (this.#xts) checkUnit(this.driver, length);
    return length;
  }

  #broken(): Error {
    return this.fail(opensslError(this.#evp, `${this.algorithm.name} failed`));
  }
}
