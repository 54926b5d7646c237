/** Hash sessions over an EVP_MD_CTX, MAC sessions over an EVP_MAC_CTX. */
import type { HashAlgorithm, MacAlgorithm } from '../../algorithms.js';
import { checkedLength, lengthOf, outputBytes, part } from '../buffers.js';
import type { DigestSession } from '../driver.js';
import { checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import { type Evp, INPUT, KEY, LENGTH, MAX_SCRATCH_KEY, OUTPUT, opensslError, SMALL } from './evp.js';

/** Digests that are shorter than this are read out of scratch memory byte by byte. */
const SHORT_OUTPUT = 64;

/** The engine's own: a Buffer's is the same, a subclass may have ideas. */
const { set } = Uint8Array.prototype;

/** What a hash and a MAC do in their own way. */
abstract class LibcryptoDigest<A extends HashAlgorithm | MacAlgorithm>
  extends SessionBase
  implements DigestSession
{
  readonly driver = 'libcrypto';
  readonly algorithm: A;
  /** Not to be seen where a session gets into a log: everybody's short messages go through its memory. */
  readonly #evp: Evp;
  /** False from `digest` until `restart`: OpenSSL would go on from an undefined state. */
  protected open = true;

  constructor(evp: Evp, algorithm: A) {
    super();
    this.#evp = evp;
    this.algorithm = algorithm;
  }

  protected get evp(): Evp {
    return this.#evp;
  }

  protected abstract nativeUpdate(data: Uint8Array | number, length: number): number;
  protected abstract nativeUpdateAsync(data: Uint8Array, length: number): Promise<number>;
  protected abstract nativeFinal(output: Uint8Array, length: number): number;
  abstract restart(key?: Uint8Array): void;
  abstract clone(): DigestSession;

  update(data: Uint8Array): void {
    this.ready();
    const length = checkedLength(data, 'data');
    this.#unfinished();
    if (length === 0) return;
    const { scratch } = this.evp;
    let ok: number;
    if (length <= SMALL) {
      scratch.bytes.set(data, INPUT);
      ok = this.nativeUpdate(scratch.address + INPUT, length);
    } else ok = this.nativeUpdate(data, length);
    if (ok !== 1) throw this.broken();
  }

  async updateAsync(data: Uint8Array): Promise<void> {
    this.ready();
    const length = checkedLength(data, 'data');
    this.#unfinished();
    if (length === 0) return;
    await this.busy([data], async () => {
      if ((await this.nativeUpdateAsync(part(data, 0, length), length)) !== 1)
        throw opensslError(this.evp, `${this.algorithm.name} failed`);
    });
  }

  digest(output: Uint8Array): void {
    this.ready();
    this.#unfinished();
    const length = this.checkOutput(output);
    this.open = false;
    if (this.nativeFinal(output, length) !== 1) throw this.broken();
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

  protected checkOutput(output: Uint8Array): number {
    const { algorithm } = this;
    if (algorithm.kind === 'hash' && algorithm.xof) return checkedLength(output, 'output');
    outputBytes(output, 'output', algorithm.digestBytes);
    return algorithm.digestBytes;
  }

  #unfinished(): void {
    if (!this.open) throw new Error('digest() was called: restart() the session first');
  }

  protected broken(): Error {
    return this.fail(opensslError(this.evp, `${this.algorithm.name} failed`));
  }
}

export class LibcryptoHash extends LibcryptoDigest<HashAlgorithm> {
  readonly #ctx: number;
  readonly #md: number;

  constructor(evp: Evp, handle: number, algorithm: HashAlgorithm) {
    super(evp, algorithm);
    const box = evp.mdContexts.acquire(evp.mdCtxNew);
    const ctx = box.handle;
    if (ctx === 0) throw opensslError(evp, 'EVP_MD_CTX_new failed');
    this.#ctx = ctx;
    this.#md = handle;
    this.borrow(() => {
      evp.mdContexts.release(box);
      evp.wipe();
    });
    if (evp.digestInit(ctx, handle, 0) !== 1) {
      const error = opensslError(evp, `cannot initialise ${algorithm.name}`);
      this.close();
      throw error;
    }
  }

  protected nativeUpdate(data: Uint8Array | number, length: number): number {
    return this.evp.digestUpdate(this.#ctx, data, length);
  }

  protected async nativeUpdateAsync(data: Uint8Array, length: number): Promise<number> {
    return (await this.evp.digestUpdate.promise(this.#ctx, data, length)).value;
  }

  protected nativeFinal(output: Uint8Array, length: number): number {
    if (this.algorithm.xof) return length === 0 ? 1 : this.evp.digestFinalXof(this.#ctx, output, length);
    return this.evp.digestFinal(this.#ctx, output, 0);
  }

  restart(): void {
    this.ready();
    if (this.evp.digestInit(this.#ctx, this.#md, 0) !== 1) throw this.broken();
    this.open = true;
  }

  clone(): LibcryptoHash {
    this.ready();
    const copy = new LibcryptoHash(this.evp, this.#md, this.algorithm);
    if (this.evp.mdCtxCopy(copy.#ctx, this.#ctx) !== 1) {
      copy.close();
      throw opensslError(this.evp, `cannot copy ${this.algorithm.name}`);
    }
    copy.open = this.open;
    return copy;
  }

  override once(data: Uint8Array, output: Uint8Array): void {
    if (this.algorithm.xof) {
      super.once(data, output);
      return;
    }
    this.ready();
    const length = checkedLength(data, 'data');
    const size = this.checkOutput(output);
    const { evp } = this;
    const { scratch } = evp;
    const short = length <= SMALL;
    if (short) scratch.bytes.set(data, INPUT);
    // Through scratch, since a short output may be a view that V8 keeps in its own heap and is slow to hand over.
    if (short && size <= SHORT_OUTPUT) {
      const { address } = scratch;
      if (evp.digestAt(address + INPUT, length, address + OUTPUT, 0, this.#md, 0) !== 1) throw this.broken();
      set.call(output, evp.result(size));
      return;
    }
    const from = short ? scratch.address + INPUT : data;
    const to = size <= SHORT_OUTPUT ? scratch.address + OUTPUT : output;
    if (evp.digest(from, length, to, 0, this.#md, 0) !== 1) throw this.broken();
    if (size <= SHORT_OUTPUT) set.call(output, evp.result(size));
  }
}

export class LibcryptoMac extends LibcryptoDigest<MacAlgorithm> {
  readonly #ctx: number;

  /** With `copyOf`, a context of this algorithm, in that one's state; else with `key`, over the hash or cipher `over`. */
  constructor(
    evp: Evp,
    handle: number,
    algorithm: MacAlgorithm,
    over: string,
    key: Uint8Array | undefined,
    copyOf?: number,
  ) {
    super(evp, algorithm);
    if (key !== undefined) checkKey(algorithm, key);
    const { pool, make } =
      copyOf === undefined
        ? evp.macs(
            handle,
            algorithm.construction === 'hmac' ? 'digest' : 'cipher',
            over,
            algorithm.keyBytes ?? 1,
          )
        : { pool: evp.macCopies, make: () => evp.macCtxDup(copyOf) };
    const box = pool.acquire(make);
    if (box.handle === 0) throw opensslError(evp, `cannot initialise ${algorithm.name}`);
    this.#ctx = box.handle;
    this.borrow(() => {
      pool.release(box);
      evp.wipe();
    });
    if (key !== undefined && this.#init(key) !== 1) {
      const error = this.broken();
      this.close();
      throw error;
    }
  }

  #init(key: Uint8Array): number {
    const { scratch } = this.evp;
    const length = lengthOf(key);
    if (length > MAX_SCRATCH_KEY) return this.evp.macInit(this.#ctx, part(key, 0, length), length, 0);
    // A null key would mean "the key as it was", so an empty one needs an address all the same.
    scratch.bytes.set(key, KEY);
    const ok = this.evp.macInit(this.#ctx, scratch.address + KEY, length, 0);
    scratch.bytes.fill(0, KEY, KEY + length);
    return ok;
  }

  protected nativeUpdate(data: Uint8Array | number, length: number): number {
    return this.evp.macUpdate(this.#ctx, data, length);
  }

  protected async nativeUpdateAsync(data: Uint8Array, length: number): Promise<number> {
    return (await this.evp.macUpdate.promise(this.#ctx, data, length)).value;
  }

  protected nativeFinal(output: Uint8Array, length: number): number {
    const { scratch } = this.evp;
    const ok = this.evp.macFinal(this.#ctx, scratch.address + OUTPUT, scratch.address + LENGTH, length);
    if (ok === 1) set.call(output, this.evp.result(length));
    return ok;
  }

  restart(key?: Uint8Array): void {
    this.ready();
    if (key !== undefined) checkKey(this.algorithm, key);
    const ok = key === undefined ? this.evp.macInit(this.#ctx, 0, 0, 0) : this.#init(key);
    if (ok !== 1) throw this.broken();
    this.open = true;
  }

  clone(): LibcryptoMac {
    this.ready();
    const copy = new LibcryptoMac(this.evp, 0, this.algorithm, '', undefined, this.#ctx);
    copy.open = this.open;
    return copy;
  }
}
