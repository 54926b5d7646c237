/**
 * Room `api`: what programs import, in node:crypto's shape. May import `routing`, `drivers`, `algorithms`, `errors`.
 *
 * The functions here are those of a default instance over every driver; `open()` makes others.
 */
import type { BinaryLike, Data, KeyLike, NonSharedBuffer } from './arguments.js';
import {
  Cipheriv as CipherivClass,
  type CipherStreamOptions,
  Decipheriv as DecipherivClass,
} from './cipher.js';
import { classCalled } from './deprecations.js';
import { type DigestStreamOptions, Hash as HashClass, Hmac as HmacClass } from './digest.js';
import {
  type CipherInfo,
  type CipherOneShotOptions,
  type DigestOneShotOptions,
  type HashOptions,
  Hwcrypt,
  type OneShotOptions,
} from './instance.js';

let shared: Hwcrypt | undefined;

/** The instance behind the module's own functions. */
export function defaultInstance(): Hwcrypt {
  shared ??= new Hwcrypt();
  return shared;
}

/**
 * node:crypto's classes may be called with `new` or without, with the arguments of the `create…` functions. The proxy gives the
 * exported name that behaviour, and leaves `instanceof` and the prototype what they are.
 */
function callable<C extends { prototype: object }, A extends unknown[], R extends object>(
  target: C,
  make: (...args: A) => R,
  called: () => void = () => {},
): C & ((...args: A) => R) & (new (...args: A) => R) {
  const proxy = new Proxy(target, {
    apply: (_target, _this, args) => {
      called();
      return make(...(args as A));
    },
    construct: (_target, args, newTarget) => {
      called();
      const object = make(...(args as A));
      // A class that extends this one: what it adds is on its own prototype.
      return newTarget === proxy ? object : Object.setPrototypeOf(object, newTarget.prototype);
    },
  }) as C & ((...args: A) => R) & (new (...args: A) => R);
  // So that `cipher.constructor === Cipheriv`, as everywhere.
  Object.defineProperty(target.prototype, 'constructor', {
    value: proxy,
    configurable: true,
    enumerable: false,
    writable: true,
  });
  return proxy;
}

export function createCipheriv(
  algorithm: string,
  key: KeyLike,
  iv: BinaryLike | null,
  options?: CipherStreamOptions | null,
): CipherivClass {
  return defaultInstance().createCipheriv(algorithm, key, iv, options);
}

export function createDecipheriv(
  algorithm: string,
  key: KeyLike,
  iv: BinaryLike | null,
  options?: CipherStreamOptions | null,
): DecipherivClass {
  return defaultInstance().createDecipheriv(algorithm, key, iv, options);
}

export function createHash(algorithm: string, options?: DigestStreamOptions | null): HashClass {
  return defaultInstance().createHash(algorithm, options);
}

export function createHmac(algorithm: string, key: KeyLike, options?: DigestStreamOptions | null): HmacClass {
  return defaultInstance().createHmac(algorithm, key, options);
}

export function hash(
  algorithm: string,
  data: Data,
  outputEncoding: 'buffer',
  options?: DigestOneShotOptions,
): NonSharedBuffer;
export function hash(
  algorithm: string,
  data: Data,
  outputEncoding?: string,
  options?: DigestOneShotOptions,
): string;
export function hash(algorithm: string, data: Data, options: HashOptions): NonSharedBuffer | string;
export function hash(
  algorithm: string,
  data: Data,
  outputEncoding?: string | HashOptions,
  options?: DigestOneShotOptions,
): NonSharedBuffer | string {
  return defaultInstance().hash(algorithm, data, outputEncoding as string, options);
}

export function randomBytes(
  size: number,
  callback: (error: Error | null, bytes: NonSharedBuffer) => void,
): void;
export function randomBytes(size: number): NonSharedBuffer;
export function randomBytes(
  size: number,
  callback?: (error: Error | null, bytes: NonSharedBuffer) => void,
): NonSharedBuffer | undefined {
  if (callback === undefined) return defaultInstance().randomBytes(size);
  defaultInstance().randomBytes(size, callback);
  return undefined;
}

export function getCiphers(): string[] {
  return defaultInstance().getCiphers();
}

export function getHashes(): string[] {
  return defaultInstance().getHashes();
}

export function getCipherInfo(
  nameOrNid: string | number,
  options?: { keyLength?: number | undefined; ivLength?: number | undefined },
): CipherInfo | undefined {
  return defaultInstance().getCipherInfo(nameOrNid, options);
}

export function encrypt(
  algorithm: string,
  key: KeyLike,
  iv: BinaryLike | null,
  data: Data,
  options?: CipherOneShotOptions,
): NonSharedBuffer {
  return defaultInstance().encrypt(algorithm, key, iv, data, options);
}

export function decrypt(
  algorithm: string,
  key: KeyLike,
  iv: BinaryLike | null,
  data: Data,
  options?: CipherOneShotOptions,
): NonSharedBuffer {
  return defaultInstance().decrypt(algorithm, key, iv, data, options);
}

export function encryptAsync(
  algorithm: string,
  key: KeyLike,
  iv: BinaryLike | null,
  data: Data,
  options?: CipherOneShotOptions,
): Promise<NonSharedBuffer> {
  return defaultInstance().encryptAsync(algorithm, key, iv, data, options);
}

export function decryptAsync(
  algorithm: string,
  key: KeyLike,
  iv: BinaryLike | null,
  data: Data,
  options?: CipherOneShotOptions,
): Promise<NonSharedBuffer> {
  return defaultInstance().decryptAsync(algorithm, key, iv, data, options);
}

export function digest(algorithm: string, data: Data, options?: DigestOneShotOptions): NonSharedBuffer {
  return defaultInstance().digest(algorithm, data, options);
}

export function digestAsync(
  algorithm: string,
  data: Data,
  options?: DigestOneShotOptions,
): Promise<NonSharedBuffer> {
  return defaultInstance().digestAsync(algorithm, data, options);
}

export function hmac(algorithm: string, key: KeyLike, data: Data, options?: OneShotOptions): NonSharedBuffer {
  return defaultInstance().hmac(algorithm, key, data, options);
}

export function hmacAsync(
  algorithm: string,
  key: KeyLike,
  data: Data,
  options?: OneShotOptions,
): Promise<NonSharedBuffer> {
  return defaultInstance().hmacAsync(algorithm, key, data, options);
}

export const Cipheriv = callable(CipherivClass, createCipheriv);
export const Decipheriv = callable(DecipherivClass, createDecipheriv);
export const Hash = callable(HashClass, createHash, () => classCalled('Hash'));
export const Hmac = callable(HmacClass, createHmac, () => classCalled('Hmac'));

// The names are types as well, as node:crypto's classes are.
export type Cipheriv = CipherivClass;
export type Decipheriv = DecipherivClass;
export type Hash = HashClass;
export type Hmac = HmacClass;

export type { BinaryLike, Data, KeyLike, NonSharedBuffer } from './arguments.js';
export type { AadOptions, CipherStreamOptions } from './cipher.js';
export type { DigestStreamOptions } from './digest.js';
export {
  type CipherInfo,
  type CipherOneShotOptions,
  type DigestOneShotOptions,
  type DriverReport,
  type HashOptions,
  Hwcrypt,
  type OneShotOptions,
  type OpenOptions,
  open,
} from './instance.js';
