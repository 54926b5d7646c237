/**
 * node:crypto's shape, as far as hwcrypt has it: what the API's tests are written against, so that the same test runs over
 * node:crypto itself and over hwcrypt with any driver.
 */
import type { Transform } from 'node:stream';
import { type OpenOptions, open } from '#src/api/index.js';
import * as hwcrypt from '#src/index.js';

/** A cipher or digest object with every method that one of them has. Results are Buffers or text, as asked for. */
export interface ApiObject extends Transform {
  readonly driver?: string;
  update(data: unknown, inputEncoding?: unknown): Buffer & string & this;
  update(data: unknown, inputEncoding: unknown, outputEncoding: unknown): string;
  final(): Buffer;
  final(outputEncoding: unknown): string;
  setAAD(data: unknown, options?: unknown): this;
  setAutoPadding(autoPadding?: unknown): this;
  getAuthTag(): Buffer;
  getAuthTagAsync(): Promise<Buffer>;
  setAuthTag(tag: unknown, encoding?: unknown): this;
  digest(): Buffer;
  digest(outputEncoding: unknown): string;
  copy(options?: unknown): this;
}

export interface ApiCipherInfo {
  name: string;
  nid?: number;
  mode: string;
  keyLength: number;
  ivLength?: number;
  blockSize?: number;
}

type Maker = ((...args: unknown[]) => ApiObject) & (new (...args: unknown[]) => ApiObject);

/** Arguments are of any type on purpose: wrong ones are tested too. */
export interface CryptoApi {
  createCipheriv(name: unknown, key: unknown, iv: unknown, options?: unknown): ApiObject;
  createDecipheriv(name: unknown, key: unknown, iv: unknown, options?: unknown): ApiObject;
  createHash(name: unknown, options?: unknown): ApiObject;
  createHmac(name: unknown, key: unknown, options?: unknown): ApiObject;
  hash(name: unknown, data: unknown, outputEncoding?: unknown): string & Buffer;
  randomBytes(size: unknown, callback?: unknown): Buffer;
  getCiphers(): string[];
  getHashes(): string[];
  getCipherInfo(nameOrNid: unknown, options?: unknown): ApiCipherInfo | undefined;
  readonly Cipheriv?: Maker;
  readonly Decipheriv?: Maker;
  readonly Hash?: Maker;
  readonly Hmac?: Maker;
}

/** hwcrypt as a program sees it that imports it in the place of node:crypto. */
export const wholeModule = hwcrypt as unknown as CryptoApi;

/** hwcrypt with drivers of its own. An instance has no classes. */
export function instance(options: OpenOptions): CryptoApi {
  return open(options) as unknown as CryptoApi;
}
