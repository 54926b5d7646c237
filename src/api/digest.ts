/** `createHash` and `createHmac`: node:crypto's digest objects over a driver's sessions. */
import type { TransformCallback, TransformOptions } from 'node:stream';

import type { HashAlgorithm } from '../algorithms.js';
import type { DigestSession } from '../drivers/driver.js';
import { nodeError, nodeTypeError } from '../errors.js';
import { checkUint32, type Data, dataBytes, encoded } from './arguments.js';
import { LazyTransform } from './lazy-transform.js';
import { notXof } from './openssl-errors.js';

export interface DigestStreamOptions extends TransformOptions {
  /** Length in bytes of the digest of an extendable hash (SHAKE). */
  outputLength?: number;
  /** Drivers for this object alone. */
  driver?: string | readonly string[];
}

/** `options.outputLength` checked against the algorithm; undefined where none was named. */
export function outputLength(algorithm: HashAlgorithm, options: unknown): number | undefined {
  const named = (options as { outputLength?: unknown } | null | undefined)?.outputLength;
  if (named === undefined) return undefined;
  const length = checkUint32(named, 'options.outputLength');
  if (!algorithm.xof && length !== algorithm.digestBytes) throw notXof();
  return length;
}

const finalized = (): Error => nodeError('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');

abstract class DigestObject extends LazyTransform {
  protected session: DigestSession | undefined;
  readonly driver: string;

  constructor(session: DigestSession, options: TransformOptions | undefined) {
    super(options);
    this.session = session;
    this.driver = session.driver;
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
      this.push(this.digest());
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback();
  }

  update(data: Data, inputEncoding?: string | null): this {
    // In node:crypto's order: the state comes before the type of the data.
    if (this.session === undefined) throw finalized();
    this.session.update(dataBytes(data, inputEncoding));
    return this;
  }

  abstract digest(outputEncoding?: string | null): Buffer | string;

  /** Frees what is held natively, for an object that will not be taken to `digest`. */
  [Symbol.dispose](): void {
    this.session?.close();
    this.session = undefined;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this[Symbol.dispose]();
    callback(error);
  }
}

export class Hash extends DigestObject {
  readonly #length: number;

  constructor(session: DigestSession, length: number, options: TransformOptions | undefined) {
    super(session, options);
    this.#length = length;
  }

  /** The digest, as a Buffer or as text. The object takes no data after it. */
  digest(): Buffer;
  digest(outputEncoding: string): string;
  digest(outputEncoding?: string | null): Buffer | string {
    const { session } = this;
    if (session === undefined) throw finalized();
    this.session = undefined;
    const output = Buffer.allocUnsafe(this.#length);
    try {
      session.digest(output);
    } finally {
      session.close();
    }
    return encoded(output, outputEncoding);
  }

  /** A second Hash in the same state. Its length may be another one, for an extendable hash. */
  copy(options?: DigestStreamOptions): Hash {
    const { session } = this;
    if (session === undefined) throw finalized();
    const algorithm = session.algorithm as HashAlgorithm;
    const length = outputLength(algorithm, options);
    return new Hash(session.clone(), length ?? algorithm.digestBytes, options);
  }
}

export class Hmac extends DigestObject {
  /** The MAC, as a Buffer or as text; empty when it is asked for again, as in node:crypto. */
  digest(): Buffer;
  digest(outputEncoding: string): string;
  digest(outputEncoding?: string | null): Buffer | string {
    const { session } = this;
    if (session === undefined) return encoded(Buffer.alloc(0), outputEncoding);
    this.session = undefined;
    const output = Buffer.allocUnsafe(session.algorithm.digestBytes);
    try {
      session.digest(output);
    } finally {
      session.close();
    }
    return encoded(output, outputEncoding);
  }
}

export const invalidDigest = (name: string): Error =>
  nodeTypeError('ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);
