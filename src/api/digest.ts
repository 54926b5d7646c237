/** `createHash` and `createHmac`: node:crypto's digest objects over a driver's sessions. */
import type { TransformCallback, TransformOptions } from 'node:stream';

import type { HashAlgorithm } from '../algorithms.js';
import { lengthOf } from '../drivers/buffers.js';
import type { DigestSession } from '../drivers/driver.js';
import { nodeError, nodeTypeError } from '../errors.js';
import { count, type Tally } from '../routing/stats.js';
import { checkUint32, type Data, dataBytes, encoded, type NonSharedBuffer } from './arguments.js';
import { LazyTransform } from './lazy-transform.js';
import { notXof } from './openssl-errors.js';

export interface DigestStreamOptions extends TransformOptions {
  /** Length in bytes of the digest of an extendable hash (SHAKE). */
  outputLength?: number | undefined;
  /** Drivers for this object alone. */
  driver?: string | readonly string[] | undefined;
}

/** `options.outputLength`, a number of bytes; undefined where none was named. */
export function lengthOption(options: unknown): number | undefined {
  // Anything but an object is no options, as in node:crypto.
  if (typeof options !== 'object') return undefined;
  const named = (options as { outputLength?: unknown } | null)?.outputLength;
  return named === undefined ? undefined : checkUint32(named, 'options.outputLength');
}

/** The same, checked against the algorithm. */
export function outputLength(algorithm: HashAlgorithm, options: unknown): number | undefined {
  const length = lengthOption(options);
  if (length !== undefined && !algorithm.xof && length !== algorithm.digestBytes) throw notXof();
  return length;
}

const finalized = (): Error => nodeError('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
const destroyed = (method: string): Error =>
  nodeError('ERR_STREAM_DESTROYED', `Cannot call ${method} after the object was destroyed`);
const updateFailed = (): Error => nodeError('ERR_CRYPTO_HASH_UPDATE_FAILED', 'Hash update failed');

/** A session, and where its requests are counted. */
export interface DigestWork {
  readonly session: DigestSession;
  readonly tally: Tally;
}

// Nothing of an object's own can be seen but what node:crypto's shows: programs write them into logs.
abstract class DigestObject extends LazyTransform {
  #session: DigestSession | undefined;
  #finalized = false;
  #destroyed = false;
  readonly #tally: Tally;
  /** Of the session that is gone. */
  #driver: string;

  constructor({ session, tally }: DigestWork, options: TransformOptions | null | undefined) {
    super(options as TransformOptions);
    this.#session = session;
    this.#tally = tally;
    this.#driver = session.driver;
  }

  /** The driver that does the work, with its kernel driver where one was pinned. */
  get driver(): string {
    return this.#session?.driver ?? this.#driver;
  }

  /** Where its requests are counted. */
  protected get tally(): Tally {
    return this.#tally;
  }

  /** Until the digest has been made, by `digest` or by the end of the stream. */
  protected get session(): DigestSession | undefined {
    return this.#session;
  }

  /** `digest` was called. The end of the stream does not count: after it `digest` may be called once. */
  protected get finalized(): boolean {
    return this.#finalized;
  }
  protected set finalized(value: boolean) {
    this.#finalized = value;
  }

  /** A digest of less than what was written must not look like one, and an empty one least of all. */
  protected checkDestroyed(method: string): void {
    if (this.#destroyed) throw destroyed(method);
  }

  override _transform(chunk: Data, encoding: string, callback: TransformCallback): void {
    try {
      this.update(chunk, encoding);
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback();
  }

  override _flush(callback: TransformCallback): void {
    try {
      this.push(this.digestAtEnd());
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback();
  }

  update(data: Data, inputEncoding?: string | null): this {
    // In node:crypto's order: the state comes before the type of the data.
    if (this.#finalized) throw finalized();
    const input = dataBytes(data, inputEncoding);
    this.checkDestroyed('update');
    if (this.#session === undefined) throw updateFailed();
    this.#session.update(input);
    count(this.#tally, lengthOf(input));
    return this;
  }

  abstract digest(outputEncoding?: string | null): NonSharedBuffer | string;

  /** What the stream gives at its end. */
  protected abstract digestAtEnd(): NonSharedBuffer;

  /** The digest out of the session, which is closed. */
  protected takeDigest(session: DigestSession, length: number): NonSharedBuffer {
    this.#session = undefined;
    const output = Buffer.allocUnsafe(length);
    try {
      session.digest(output);
    } finally {
      this.#driver = session.driver;
      session.close();
    }
    return output;
  }

  /** Frees what is held natively, for an object that will not be taken to `digest`. */
  [Symbol.dispose](): void {
    if (this.#session === undefined) return;
    this.#destroyed = true;
    this.#session.close();
    this.#session = undefined;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this[Symbol.dispose]();
    callback(error);
  }
}

export class Hash extends DigestObject {
  readonly #length: number;
  /** The digest that the stream gave at its end. */
  #ended: NonSharedBuffer | undefined;

  constructor(work: DigestWork, length: number, options: TransformOptions | null | undefined) {
    super(work, options);
    this.#length = length;
  }

  /** The digest, as a Buffer or as text. The object takes no data after it. */
  digest(): NonSharedBuffer;
  digest(outputEncoding: string): string;
  digest(outputEncoding?: string | null): NonSharedBuffer | string {
    if (this.finalized) throw finalized();
    this.checkDestroyed('digest');
    // As text first, since an object may do anything while it becomes text.
    const encoding = outputEncoding && `${outputEncoding}`;
    const { session } = this;
    const result = session === undefined ? this.#ended : this.takeDigest(session, this.#length);
    if (result === undefined) throw finalized();
    this.finalized = true;
    this.#ended = undefined;
    return encoded(result, encoding);
  }

  protected override digestAtEnd(): NonSharedBuffer {
    const { session } = this;
    if (session === undefined) throw finalized();
    this.#ended = this.takeDigest(session, this.#length);
    // A copy, since whoever reads the stream may write into what he gets.
    return Buffer.from(this.#ended);
  }

  /** A second Hash in the same state. Its length may be another one, for an extendable hash. */
  copy(options?: DigestStreamOptions): Hash {
    this.checkDestroyed('copy');
    const { session } = this;
    if (this.finalized || session === undefined) throw finalized();
    const algorithm = session.algorithm as HashAlgorithm;
    const length = outputLength(algorithm, options);
    return new Hash(
      { session: session.clone(), tally: this.tally },
      length ?? algorithm.digestBytes,
      options,
    );
  }
}

export class Hmac extends DigestObject {
  /** The MAC, as a Buffer or as text; empty when it is asked for again or after the stream, as in node:crypto. */
  digest(): NonSharedBuffer;
  digest(outputEncoding: string): string;
  digest(outputEncoding?: string | null): NonSharedBuffer | string {
    // Any text at all asks for text then, even one that is no encoding.
    this.checkDestroyed('digest');
    if (this.finalized) return outputEncoding && outputEncoding !== 'buffer' ? '' : Buffer.alloc(0);
    const encoding = outputEncoding && `${outputEncoding}`;
    const { session } = this;
    const result = session === undefined ? Buffer.alloc(0) : this.#take(session);
    this.finalized = true;
    return encoded(result, encoding);
  }

  protected override digestAtEnd(): NonSharedBuffer {
    return this.session === undefined ? Buffer.alloc(0) : this.#take(this.session);
  }

  #take(session: DigestSession): NonSharedBuffer {
    return this.takeDigest(session, session.algorithm.digestBytes);
  }
}

export const invalidDigest = (name: string): Error =>
  nodeTypeError('ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);
