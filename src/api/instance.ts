/**
 * An instance of hwcrypt: the whole API over one order of drivers. `open()` makes one; the module's own functions use a
 * default instance, made at the first call.
 */
import {
  type CipherMode,
  createCipheriv as nodeCreateCipheriv,
  createDecipheriv as nodeCreateDecipheriv,
  createHash as nodeCreateHash,
  createHmac as nodeCreateHmac,
  getCipherInfo as nodeGetCipherInfo,
  getCiphers as nodeGetCiphers,
  getHashes as nodeGetHashes,
  hash as nodeHash,
  randomBytes as nodeRandomBytes,
} from 'node:crypto';
import { isAnyArrayBuffer } from 'node:util/types';

import {
  type AeadAlgorithm,
  type Algorithm,
  algorithms,
  type CipherAlgorithm,
  cipherLike,
  findAlgorithm,
  type HashAlgorithm,
  hashAlgorithm,
  hmacOf,
  type MacAlgorithm,
} from '../algorithms.js';
import { copyOf, lengthOf, wipe } from '../drivers/buffers.js';
import type { Direction, DriverName, Probe } from '../drivers/driver.js';
import { checkTagBytes } from '../drivers/parameters.js';
import { optionsOf } from '../drivers/registry.js';
import { checkHalves } from '../drivers/xts.js';
import { nodeError, nodeTypeError, shown } from '../errors.js';
import type { Bar } from '../routing/health.js';
import { openProfile } from '../routing/profile.js';
import {
  type Explanation,
  type Fallback,
  lasting,
  POLICIES,
  type Policy,
  type Route,
  Router,
  type RouterOptions,
} from '../routing/router.js';
import { count, type DriverStats, Stats } from '../routing/stats.js';
import {
  type BinaryLike,
  binaryBytes,
  checkString,
  checkUint32,
  type Data,
  dataBytes,
  encoded,
  invalidType,
  ivBytes,
  type KeyLike,
  keyBytes,
  type NonSharedBuffer,
  resultBuffer,
  stringOption,
  uintOption,
} from './arguments.js';
import { type Cipheriv, type CipherStreamOptions, type Decipheriv, makeCipher } from './cipher.js';
import { xofWithoutLength } from './deprecations.js';
import { type DigestStreamOptions, Hash, Hmac, invalidDigest, lengthOption, outputLength } from './digest.js';
import {
  aeadOnce,
  aeadOnceAsync,
  cipherOnce,
  cipherOnceAsync,
  digestOnce,
  digestOnceAsync,
  macOnce,
  OneShot,
  SessionCache,
} from './one-shot.js';

export interface OpenOptions {
  /**
   * Drivers in the order in which they are tried, each `name` or `name:kernelDriver`. One name alone pins it: what it
   * cannot do is an error. Default: every driver, libcrypto first.
   */
  drivers?: string | readonly string[] | undefined;
  /**
   * How a driver is chosen among them. `order` (the default): the first that can. `fastest`: by the size of the request, whoever
   * takes the least time by the profile that `hwcrypt calibrate` wrote; `cpu`: the least CPU time. What was not measured is left to
   * software. `hardware`: an engine, where one does it. `library`: neither kernel nor engine.
   */
  policy?: Policy | undefined;
  /** With `fastest` or `cpu`: what has not been measured yet is measured beside, in a thread, at its first use. */
  calibrate?: boolean | undefined;
  /**
   * Every so many requests the result of the kernel or an engine is compared with a library's; 1: all of them. A wrong one is put right, and
   * the driver gets no more work for the algorithm. Default 0, never: only its first use is proved.
   */
  verify?: number | undefined;
  /** The file with this machine's costs and quarantines. Default: hwcrypt's own in the XDG state folder. `null`: none. */
  profile?: string | null | undefined;
  /** Hears of each fallback, once an algorithm; without it a process warning tells. */
  onFallback?: ((fallback: Fallback) => void) | undefined;
}

export interface OneShotOptions {
  /** Drivers for this call alone. */
  driver?: string | readonly string[] | undefined;
  /** A buffer for the result; the returned Buffer is a view of it. */
  output?: Uint8Array | undefined;
}

export interface CipherOneShotOptions extends OneShotOptions {
  /** Additional authenticated data of an AEAD. */
  aad?: BinaryLike | undefined;
  /** Tag length of an AEAD in bytes; default 16. */
  authTagLength?: number | undefined;
  /** PKCS#7 padding of ECB and CBC; default on. */
  autoPadding?: boolean | undefined;
}

export interface DigestOneShotOptions extends OneShotOptions {
  /** Length in bytes of the digest of an extendable hash (SHAKE). */
  outputLength?: number | undefined;
}

/** Third argument of `hash` where the running Node takes options there (from 24 on). */
export interface HashOptions extends DigestOneShotOptions {
  outputEncoding?: string | undefined;
}

export interface CipherInfo {
  name: string;
  /** OpenSSL's number of it; 0 (`NID_undef`) where OpenSSL has none. */
  nid: number;
  mode: CipherMode;
  keyLength: number;
  ivLength?: number | undefined;
  blockSize?: number | undefined;
}

/** What a driver is like on this machine, for `drivers()`. */
export interface DriverReport {
  readonly name: DriverName;
  readonly probe: Probe;
}

type CipherLike = CipherAlgorithm | AeadAlgorithm;

/** A mode as node:crypto calls it, which knows no widths of CFB. */
function nodeMode({ mode }: CipherLike): CipherMode {
  if (mode === 'cfb1' || mode === 'cfb8') return 'cfb';
  return mode === 'chacha20-poly1305' ? 'stream' : mode;
}

type Options = Readonly<Record<string, unknown>> | null | undefined;

const NONE = new Uint8Array(0);

/** Wipes a key that is a copy of ours (out of a KeyObject), not one that the caller still holds. */
function done(given: unknown, key: Uint8Array): void {
  if (typeof given === 'object' && !ArrayBuffer.isView(given) && !isAnyArrayBuffer(given)) wipe(key);
}

/** An order of drivers, and what one-shot calls found out about each name under it. */
interface Way {
  readonly router: Router;
  readonly ciphers: Map<string, OneShot<CipherLike>>;
  lastName: string;
  lastCipher: OneShot<CipherLike> | undefined;
  readonly hashes: Map<string, OneShot<HashAlgorithm>>;
  lastHashName: string;
  lastHash: OneShot<HashAlgorithm> | undefined;
  readonly macs: Map<string, OneShot<MacAlgorithm>>;
}

let hashOptions: boolean | undefined;

/** Does the running Node take an object as the third argument of `hash`? Older ones refuse it. */
function takesHashOptions(): boolean {
  if (hashOptions === undefined) {
    try {
      nodeHash('sha1', '', {} as never);
      hashOptions = true;
    } catch {
      hashOptions = false;
    }
  }
  return hashOptions;
}

/** Every spelling of every algorithm is some hundreds; of mixed case there is no end, so what is kept is bounded. */
const MAX_NAMES = 1000;
const MAX_WAYS = 100;

/** What `explain` is about unless told: what `openssl enc` asks for at a time. */
export const DEFAULT_REQUEST_BYTES = 8192;

export class Hwcrypt {
  readonly #way: Way;
  readonly #onFallback: ((fallback: Fallback) => void) | undefined;
  readonly #routing: RouterOptions;
  readonly #stats = new Stats();
  /** Does this instance choose among all drivers? Then names that only node:crypto knows go there. */
  readonly #everything: boolean;
  readonly #ways = new Map<string, Way>();
  readonly #cache = new SessionCache();
  readonly #ciphers = new Map<string, CipherLike>();

  constructor(options: OpenOptions = {}) {
    if (options === null || typeof options !== 'object')
      throw invalidType('options', 'of type object', options);
    this.#routing = { ...routingOptions(options), stats: this.#stats };
    if (options.onFallback !== undefined && typeof options.onFallback !== 'function')
      throw invalidType('options.onFallback', 'of type function', options.onFallback);
    this.#onFallback = options.onFallback;
    this.#everything = options.drivers === undefined;
    this.#way = this.#makeWay(options.drivers);
  }

  #makeWay(drivers: unknown): Way {
    if (
      drivers !== undefined &&
      typeof drivers !== 'string' &&
      !(Array.isArray(drivers) && drivers.every((name) => typeof name === 'string'))
    ) {
      const wrong = Array.isArray(drivers) ? drivers.find((one) => typeof one !== 'string') : drivers;
      throw invalidType('driver', 'of type string or an array of strings', wrong);
    }
    const router = new Router({
      ...this.#routing,
      ...(drivers === undefined ? {} : { drivers: drivers as string | string[] }),
      ...(this.#onFallback ? { onFallback: this.#onFallback } : {}),
    });
    return {
      router,
      lastName: '',
      lastCipher: undefined,
      lastHashName: '',
      lastHash: undefined,
      ciphers: new Map(),
      hashes: new Map(),
      macs: new Map(),
    };
  }

  /** The drivers of a call: the instance's own, or those of `options.driver`. */
  #wayFor(options: Options): Way {
    const spec = options?.['driver'];
    if (spec === undefined) return this.#way;
    const key = typeof spec === 'string' ? spec : Array.isArray(spec) ? spec.join('\n') : '';
    let way = this.#ways.get(key);
    if (way === undefined) {
      way = this.#makeWay(spec);
      // A program names a handful; one that makes names up shall not fill the memory with them.
      if (this.#ways.size >= MAX_WAYS) this.#ways.delete(this.#ways.keys().next().value as string);
      this.#ways.set(key, way);
    }
    return way;
  }

  #shot<A extends Algorithm>(way: Way, map: Map<string, OneShot<A>>, name: string, algorithm: A): OneShot<A> {
    const route = way.router.route(algorithm);
    const shot = new OneShot(algorithm, route, this.#cache);
    if (map.size < MAX_NAMES && lasting(route)) map.set(name, shot);
    return shot;
  }

  /** The next driver that may try what `shot`'s refused; undefined where `error` is the answer. */
  #instead<A extends Algorithm>(shot: OneShot<A>, options: Options, error: unknown): OneShot<A> | undefined {
    const { algorithm } = shot;
    const route = this.#wayFor(options).router.instead(algorithm, shot.route, error);
    // Not kept: whoever sends such requests often does better to name the other driver.
    return route && new OneShot(algorithm, route, this.#cache);
  }

  #route(algorithm: Algorithm, options: Options): Route {
    return this.#wayFor(options).router.route(algorithm);
  }

  /** True where a name that hwcrypt's table lacks may be left to node:crypto: it is among the drivers that may be asked. */
  #leaveToNode(options: Options): boolean {
    return this.#wayFor(options).router.order.some(
      ({ driver, kernelDriver }) => driver.name === 'node' && kernelDriver === undefined,
    );
  }

  #cipherLike(name: string): CipherLike | undefined {
    const known = this.#ciphers.get(name);
    if (known) return known;
    const found = cipherLike(name);
    if (found && this.#ciphers.size < MAX_NAMES) this.#ciphers.set(name, found);
    return found;
  }

  // --- node:crypto's shape -------------------------------------------------------------------------------------------

  /**
   * As node:crypto's `createCipheriv`, and knows more algorithms.
   * @throws what node:crypto throws; UnavailableError where no driver can do it.
   */
  createCipheriv(
    algorithm: string,
    key: KeyLike,
    iv: BinaryLike | null,
    options?: CipherStreamOptions | null,
  ): Cipheriv {
    return this.#make('encrypt', algorithm, key, iv, options) as Cipheriv;
  }

  /** As node:crypto's `createDecipheriv`. */
  createDecipheriv(
    algorithm: string,
    key: KeyLike,
    iv: BinaryLike | null,
    options?: CipherStreamOptions | null,
  ): Decipheriv {
    return this.#make('decrypt', algorithm, key, iv, options) as Decipheriv;
  }

  #make(
    direction: Direction,
    name: string,
    givenKey: KeyLike,
    givenIv: BinaryLike | null,
    options: CipherStreamOptions | null | undefined,
  ): Cipheriv | Decipheriv {
    checkString(name, 'cipher');
    const encoding = options == null ? undefined : stringOption(options, 'encoding');
    const key = keyBytes(givenKey, encoding);
    const iv = ivBytes(givenIv);
    const tagBytes = uintOption(options, 'authTagLength');
    const found = this.#cipherLike(name);
    if (found === undefined) {
      if (this.#leaveToNode(options as Options)) {
        return leftToNode(direction, name, givenKey, givenIv, options) as Cipheriv | Decipheriv;
      }
      throw nodeError('ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
    }
    try {
      const { router } = this.#wayFor(options as Options);
      const route = router.route(found);
      const instead = (failed: Route, error: unknown) => router.instead(found, failed, error);
      return makeCipher({ route, instead, algorithm: found, name, direction, key, iv, tagBytes }, options);
    } finally {
      done(givenKey, key);
    }
  }

  createHash(algorithm: string, options?: DigestStreamOptions | null): Hash {
    checkString(algorithm, 'algorithm');
    const found = hashAlgorithm(algorithm);
    if (found === undefined) {
      if (this.#leaveToNode(options as Options)) {
        return mark(nodeCreateHash(algorithm, options as never)) as unknown as Hash;
      }
      lengthOption(options);
      throw new Error('Digest method not supported');
    }
    const length = outputLength(found, options);
    if (length === undefined && found.xof) xofWithoutLength();
    const route = this.#route(found, options as Options);
    const session = route.driver.hash(found, route.options);
    return new Hash({ session, tally: route.tally }, length ?? found.digestBytes, options ?? undefined);
  }

  createHmac(algorithm: string, key: KeyLike, options?: DigestStreamOptions | null): Hmac {
    checkString(algorithm, 'hmac');
    const encoding = options == null ? undefined : stringOption(options, 'encoding');
    const secret = keyBytes(key, encoding);
    const found = hmacOf(algorithm);
    if (found === undefined) {
      if (this.#leaveToNode(options as Options)) {
        return mark(nodeCreateHmac(algorithm, key as never, options as never)) as unknown as Hmac;
      }
      throw invalidDigest(algorithm);
    }
    try {
      const route = this.#route(found, options as Options);
      const session = route.driver.mac(found, secret, route.options);
      return new Hmac({ session, tally: route.tally }, options ?? undefined);
    } finally {
      done(key, secret);
    }
  }

  /** One-shot hash, as node:crypto's `hash`: hexadecimal text unless another encoding is named. */
  hash(
    algorithm: string,
    data: Data,
    outputEncoding: 'buffer',
    options?: DigestOneShotOptions,
  ): NonSharedBuffer;
  hash(algorithm: string, data: Data, outputEncoding?: string, options?: DigestOneShotOptions): string;
  hash(algorithm: string, data: Data, options: HashOptions): NonSharedBuffer | string;
  hash(
    algorithm: string,
    data: Data,
    outputEncoding?: string | HashOptions,
    options?: DigestOneShotOptions,
  ): NonSharedBuffer | string {
    checkString(algorithm, 'algorithm');
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
      throw invalidType('input', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
    }
    let encoding: unknown = outputEncoding;
    let given: DigestOneShotOptions | undefined = options;
    if (outputEncoding !== undefined && typeof outputEncoding !== 'string' && takesHashOptions()) {
      if (typeof outputEncoding !== 'object' || outputEncoding === null || Array.isArray(outputEncoding)) {
        throw invalidType('options', 'of type object', outputEncoding);
      }
      given = outputEncoding;
      encoding = outputEncoding.outputEncoding ?? undefined;
    }
    encoding = encoding === undefined ? 'hex' : encoding === '' ? 'utf8' : encoding;
    if (typeof encoding !== 'string') throw invalidType('outputEncoding', 'of type string', encoding);
    if (encoding.toLowerCase() !== 'buffer' && !Buffer.isEncoding(encoding)) {
      throw nodeTypeError(
        'ERR_INVALID_ARG_VALUE',
        `The argument 'outputEncoding' is invalid. Received ${shown(encoding)}`,
      );
    }
    const length = given?.outputLength;
    if (length !== undefined) checkUint32(length, 'outputLength');
    const found = hashAlgorithm(algorithm);
    if (found === undefined) {
      if (!this.#leaveToNode(given as Options)) {
        throw new Error(`Digest method ${algorithm} is not supported`);
      }
      if (length === undefined) return nodeHash(algorithm, data as string, encoding as 'hex');
    } else if (length === undefined) {
      if (found.xof) xofWithoutLength();
    } else if (!found.xof && length !== found.digestBytes) {
      throw new Error(`Output length ${length} is invalid for ${algorithm}, which does not support XOF`);
    }
    return encoded(this.digest(algorithm, data, given), encoding);
  }

  /** Random bytes: the first driver's own generator (libcrypto's is Node's). With a callback, off the event loop. */
  randomBytes(size: number, callback: (error: Error | null, bytes: NonSharedBuffer) => void): void;
  randomBytes(size: number): NonSharedBuffer;
  randomBytes(
    size: number,
    callback?: (error: Error | null, bytes: NonSharedBuffer) => void,
  ): NonSharedBuffer | undefined {
    const source = this.#random();
    // Node's own function does the checks, and the work unless another generator was asked for.
    if (source === undefined) {
      if (callback === undefined) return nodeRandomBytes(size);
      nodeRandomBytes(size, callback);
      return undefined;
    }
    nodeRandomBytes(typeof size === 'number' && size > 0 && size <= 2 ** 31 - 1 ? 0 : size);
    if (callback !== undefined && typeof callback !== 'function') {
      throw invalidType('callback', 'of type function', callback);
    }
    const bytes = Buffer.allocUnsafeSlow(size);
    if (callback === undefined) {
      source(bytes);
      return bytes;
    }
    setImmediate(() => {
      let error: Error | null = null;
      try {
        source(bytes);
      } catch (caught) {
        error = caught as Error;
      }
      callback(error, bytes);
    });
    return undefined;
  }

  /** The generator that was asked for by naming drivers; undefined where Node's will do. */
  #random(): ((output: Uint8Array) => void) | undefined {
    if (this.#everything) return undefined;
    for (const choice of this.#way.router.order) {
      const { driver } = choice;
      if (driver.name === 'node' || driver.name === 'libcrypto') return undefined;
      if (driver.random && driver.probe().available) {
        return (output) => driver.random?.(output, optionsOf(choice));
      }
    }
    return undefined;
  }

  /** Names of all ciphers that can be made here, sorted, without other spellings than node:crypto's own. */
  getCiphers(): string[] {
    const own = [...algorithms('cipher'), ...algorithms('aead')]
      .filter((algorithm) => this.#can(algorithm))
      .map(({ name }) => name);
    const all = new Set(own);
    if (this.#everything) for (const name of nodeGetCiphers()) all.add(name);
    else for (const name of nodeGetCiphers()) if (this.#can(this.#cipherLike(name))) all.add(name);
    return [...all].sort();
  }

  /** Names of all hashes that can be made here. */
  getHashes(): string[] {
    const all = new Set(
      algorithms('hash')
        .filter((algorithm) => this.#can(algorithm))
        .map(({ name }) => name),
    );
    for (const name of nodeGetHashes()) {
      if (this.#everything || this.#can(hashAlgorithm(name))) all.add(name);
    }
    return [...all].sort();
  }

  #can(algorithm: Algorithm | undefined): boolean {
    if (algorithm === undefined) return false;
    return this.#way.router.order.some(
      (choice) =>
        choice.driver.probe().available && choice.driver.supports(algorithm, optionsOf(choice)).supported,
    );
  }

  /** As node:crypto's `getCipherInfo`; also for ciphers that only another driver has. */
  getCipherInfo(
    nameOrNid: string | number,
    options?: { keyLength?: number | undefined; ivLength?: number | undefined },
  ): CipherInfo | undefined {
    // Node ends the process over a negative zero.
    const asked = nameOrNid === 0 ? 0 : nameOrNid;
    const known = nodeGetCipherInfo(asked as string, options);
    if (known !== undefined || typeof nameOrNid !== 'string') return known as CipherInfo | undefined;
    const found = this.#cipherLike(nameOrNid);
    if (found === undefined || !this.#can(found)) return undefined;
    const { keyLength, ivLength } = options ?? {};
    if (keyLength !== undefined && keyLength !== found.keyBytes) return undefined;
    if (ivLength !== undefined && ivLength !== found.ivBytes) return undefined;
    return {
      mode: nodeMode(found),
      name: found.name,
      nid: 0,
      ...(found.kind === 'cipher' && found.mode !== 'stream' ? { blockSize: found.blockBytes } : {}),
      ...(found.ivBytes > 0 ? { ivLength: found.ivBytes } : {}),
      keyLength: found.keyBytes,
    };
  }

  // --- one call, one message -----------------------------------------------------------------------------------------

  /**
   * Encrypts one message. An AEAD's result is the ciphertext followed by the tag (RFC 5116).
   * ECB and CBC are padded unless `autoPadding` is false; XTS takes one data unit.
   */
  encrypt(
    algorithm: string,
    key: KeyLike,
    iv: BinaryLike | null,
    data: Data,
    options?: CipherOneShotOptions,
  ): NonSharedBuffer {
    return this.#once('encrypt', algorithm, key, iv, data, options);
  }

  /** Decrypts what `encrypt` made. @throws AuthenticationError for a wrong tag, ERR_OSSL_BAD_DECRYPT for wrong padding. */
  decrypt(
    algorithm: string,
    key: KeyLike,
    iv: BinaryLike | null,
    data: Data,
    options?: CipherOneShotOptions,
  ): NonSharedBuffer {
    return this.#once('decrypt', algorithm, key, iv, data, options);
  }

  #cipherShot(name: string, options: Options): OneShot<CipherLike> {
    const way = this.#wayFor(options);
    // A program mostly repeats itself, and the same literal is the same string: no need to look it up.
    if (way.lastCipher !== undefined && way.lastName === name) return way.lastCipher;
    const known = way.ciphers.get(name);
    if (known !== undefined) {
      way.lastName = name;
      way.lastCipher = known;
      return known;
    }
    checkString(name, 'cipher');
    const found = this.#cipherLike(name);
    if (found === undefined) throw nodeError('ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
    return this.#shot(way, way.ciphers, name, found);
  }

  #once(
    direction: Direction,
    name: string,
    givenKey: KeyLike,
    givenIv: BinaryLike | null,
    data: Data,
    options: CipherOneShotOptions | undefined,
  ): NonSharedBuffer {
    let shot = this.#cipherShot(name, options as Options);
    // The options first: what runs code of the caller's (their getters, a KeyObject's) may take the data's memory away, so
    // the data is looked at when all of that is over.
    let output: unknown;
    let givenAad: BinaryLike | undefined;
    let tagBytes = 0;
    let padding = true;
    if (options !== undefined && options !== null) {
      output = options.output;
      if (isAead(shot)) {
        givenAad = options.aad;
        tagBytes = tagOption(shot.algorithm, options);
      } else padding = paddingOption(shot.algorithm as CipherAlgorithm, options);
    } else if (isAead(shot)) tagBytes = shot.algorithm.defaultTagBytes;
    const key = keyBytes(givenKey);
    if (shot.algorithm.mode === 'xts') checkHalves(direction, key);
    const iv = ivBytes(givenIv);
    const aad = givenAad === undefined ? NONE : binaryBytes(givenAad, 'options.aad');
    const input = dataBytes(data);
    let result: NonSharedBuffer;
    for (;;) {
      try {
        result = isAead(shot)
          ? aeadOnce(shot, direction, key, iv ?? NONE, input, aad, tagBytes, output)
          : cipherOnce(shot as OneShot<CipherAlgorithm>, direction, key, iv, input, padding, output);
        break;
      } catch (error) {
        const other = this.#instead(shot, options as Options, error);
        if (other === undefined) throw error;
        shot = other;
      }
    }
    count(shot.route.tally, lengthOf(input));
    if (key !== givenKey) done(givenKey, key);
    return result;
  }

  /** As `encrypt`, off the event loop. The arguments are copied first and may be changed at once. */
  async encryptAsync(
    algorithm: string,
    key: KeyLike,
    iv: BinaryLike | null,
    data: Data,
    options?: CipherOneShotOptions,
  ): Promise<NonSharedBuffer> {
    return this.#onceAsync('encrypt', algorithm, key, iv, data, options);
  }

  /** As `decrypt`, off the event loop. */
  async decryptAsync(
    algorithm: string,
    key: KeyLike,
    iv: BinaryLike | null,
    data: Data,
    options?: CipherOneShotOptions,
  ): Promise<NonSharedBuffer> {
    return this.#onceAsync('decrypt', algorithm, key, iv, data, options);
  }

  async #onceAsync(
    direction: Direction,
    name: string,
    givenKey: KeyLike,
    givenIv: BinaryLike | null,
    data: Data,
    options: CipherOneShotOptions | undefined,
  ): Promise<NonSharedBuffer> {
    let shot = this.#cipherShot(name, options as Options);
    const output = options?.output;
    const tagBytes = isAead(shot) ? tagOption(shot.algorithm, options) : 0;
    const padding = !isAead(shot) && paddingOption(shot.algorithm as CipherAlgorithm, options ?? {});
    const givenAad = isAead(shot) ? options?.aad : undefined;
    // A second driver may have to do it, when the caller has long changed what he gave.
    const own = shot.route.driver.restricted ? copyOf : (bytes: Uint8Array): Uint8Array => bytes;
    const key = own(keyBytes(givenKey));
    if (shot.algorithm.mode === 'xts') checkHalves(direction, key);
    const aad = givenAad === undefined ? NONE : own(binaryBytes(givenAad, 'options.aad'));
    const iv = ivBytes(givenIv);
    const request = { direction, key, iv: iv && own(iv), data: own(dataBytes(data)), output };
    for (;;) {
      try {
        const result = await (isAead(shot)
          ? aeadOnceAsync(shot, request, aad, tagBytes)
          : cipherOnceAsync(shot as OneShot<CipherAlgorithm>, request, padding));
        count(shot.route.tally, lengthOf(request.data));
        return result;
      } catch (error) {
        const other = this.#instead(shot, options as Options, error);
        if (other === undefined) throw error;
        shot = other;
      }
    }
  }

  /** Undefined for a name that the table lacks. */
  #hashShot(name: string, options: Options): OneShot<HashAlgorithm> | undefined {
    const way = this.#wayFor(options);
    if (way.lastHash !== undefined && way.lastHashName === name) return way.lastHash;
    const known = way.hashes.get(name);
    if (known !== undefined) {
      way.lastHashName = name;
      way.lastHash = known;
      return known;
    }
    checkString(name, 'algorithm');
    const found = hashAlgorithm(name);
    return found && this.#shot(way, way.hashes, name, found);
  }

  /** Hashes one message. */
  digest(algorithm: string, data: Data, options?: DigestOneShotOptions): NonSharedBuffer {
    const shot = this.#hashShot(algorithm, options as Options);
    if (shot === undefined) return this.#foreignDigest(algorithm, dataBytes(data), options);
    const { digestBytes } = shot.algorithm;
    const output =
      options === undefined
        ? Buffer.allocUnsafe(digestBytes)
        : resultBuffer(outputLength(shot.algorithm, options) ?? digestBytes, options?.output);
    const input = dataBytes(data);
    digestOnce(shot, input, output);
    count(shot.route.tally, lengthOf(input));
    return output;
  }

  /** As `digest`, off the event loop. */
  async digestAsync(algorithm: string, data: Data, options?: DigestOneShotOptions): Promise<NonSharedBuffer> {
    const shot = this.#hashShot(algorithm, options as Options);
    if (shot === undefined) return this.#foreignDigest(algorithm, dataBytes(data), options);
    const length = outputLength(shot.algorithm, options) ?? shot.algorithm.digestBytes;
    const output = options?.output;
    const { driver, options: pinned } = shot.route;
    const input = dataBytes(data);
    count(shot.route.tally, lengthOf(input));
    return digestOnceAsync(driver.hash(shot.algorithm, pinned), input, length, output);
  }

  #foreignDigest(
    algorithm: string,
    input: Uint8Array,
    options: DigestOneShotOptions | undefined,
  ): NonSharedBuffer {
    if (!this.#leaveToNode(options as Options)) throw new Error('Digest method not supported');
    const result = nodeCreateHash(algorithm, options as never)
      .update(input)
      .digest();
    if (options?.output === undefined) return result;
    const output = resultBuffer(result.length, options.output);
    output.set(result);
    return output;
  }

  #macShot(name: string, options: Options): OneShot<MacAlgorithm> {
    const way = this.#wayFor(options);
    const known = way.macs.get(name);
    if (known !== undefined) return known;
    checkString(name, 'hmac');
    const found = hmacOf(name) ?? findAlgorithm(name);
    if (found?.kind !== 'mac') throw invalidDigest(name);
    return this.#shot(way, way.macs, name, found);
  }

  /** HMAC of one message over a hash; for CMAC name it: `cmac-aes-128`. */
  hmac(algorithm: string, key: KeyLike, data: Data, options?: OneShotOptions): NonSharedBuffer {
    const shot = this.#macShot(algorithm, options as Options);
    checkMacLength(shot.algorithm, options);
    const output = resultBuffer(shot.algorithm.digestBytes, options?.output);
    const secret = keyBytes(key);
    const input = dataBytes(data);
    macOnce(shot, secret, input, output);
    count(shot.route.tally, lengthOf(input));
    done(key, secret);
    return output;
  }

  /** As `hmac`, off the event loop. */
  async hmacAsync(
    algorithm: string,
    key: KeyLike,
    data: Data,
    options?: OneShotOptions,
  ): Promise<NonSharedBuffer> {
    const shot = this.#macShot(algorithm, options as Options);
    checkMacLength(shot.algorithm, options);
    const output = options?.output;
    const secret = keyBytes(key);
    const input = dataBytes(data);
    const session = shot.route.driver.mac(shot.algorithm, secret, shot.route.options);
    count(shot.route.tally, lengthOf(input));
    done(key, secret);
    return digestOnceAsync(session, input, shot.algorithm.digestBytes, output);
  }

  // --- what can be read back -----------------------------------------------------------------------------------------

  /** The drivers of this instance in their order, and whether each is there. */
  drivers(): DriverReport[] {
    return this.#way.router.order.map(({ driver }) => ({ name: driver.name, probe: driver.probe() }));
  }

  /** Who would do an algorithm's work, and who was passed over. @throws UnavailableError where nobody can. */
  route(algorithm: string, options?: { driver?: string | readonly string[] }): Route {
    const found = findAlgorithm(algorithm);
    if (found === undefined) throw nodeError('ERR_CRYPTO_UNKNOWN_CIPHER', `Unknown algorithm ${algorithm}`);
    return this.#route(found, options as Options);
  }

  /**
   * Who would do a request of so many bytes, and why; what the others would take, where it was measured.
   * @throws UnavailableError where nobody can do it
   */
  explain(
    algorithm: string,
    options: {
      /** Default: 8 KiB. */
      bytes?: number | undefined;
      direction?: Direction | undefined;
      driver?: string | readonly string[] | undefined;
    } = {},
  ): Explanation {
    checkString(algorithm, 'algorithm');
    if (options === null || typeof options !== 'object')
      throw invalidType('options', 'of type object', options);
    const { direction = 'encrypt' } = options;
    if (direction !== 'encrypt' && direction !== 'decrypt') {
      throw nodeTypeError(
        'ERR_INVALID_ARG_VALUE',
        `The property 'options.direction' must be encrypt or decrypt. Received ${shown(direction)}`,
      );
    }
    const found = findAlgorithm(algorithm);
    if (found === undefined) throw nodeError('ERR_CRYPTO_UNKNOWN_CIPHER', `Unknown algorithm ${algorithm}`);
    const bytes = uintOption(options, 'bytes') ?? DEFAULT_REQUEST_BYTES;
    return this.#wayFor(options as Options).router.explain(found, bytes, direction);
  }

  /** What each driver was given so far, by algorithm, and what became of it. */
  stats(): DriverStats[] {
    return this.#stats.all();
  }

  /** Drivers that get no work for an algorithm at the moment: they gave a wrong result, or keep failing. */
  quarantined(): Bar[] {
    return this.#way.router.bars();
  }

  /** Looks at the drivers anew: a module may have been loaded since. */
  reprobe(): void {
    this.#cache.clear();
    for (const way of [this.#way, ...this.#ways.values()]) {
      way.router.reset();
      way.lastCipher = undefined;
      way.lastHash = undefined;
      for (const map of [way.ciphers, way.hashes, way.macs]) map.clear();
    }
  }

  /** Closes what is kept for one-shot calls and wipes its keys. The instance can be used again afterwards. */
  close(): void {
    this.#cache.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** @throws TypeError, RangeError for options that mean nothing */
function routingOptions(options: OpenOptions): RouterOptions {
  const { policy, calibrate, profile } = options;
  if (policy !== undefined && !POLICIES.includes(policy)) {
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The property 'options.policy' must be one of ${POLICIES.join(', ')}. Received ${shown(policy)}`,
    );
  }
  if (calibrate !== undefined && typeof calibrate !== 'boolean')
    throw invalidType('options.calibrate', 'of type boolean', calibrate);
  if (profile != null && typeof profile !== 'string')
    throw invalidType('options.profile', 'of type string or null', profile);
  const verify = uintOption(options as Options, 'verify');
  return {
    ...(policy === undefined ? {} : { policy }),
    ...(calibrate === undefined ? {} : { calibrate }),
    ...(verify === undefined ? {} : { verify }),
    ...(profile === undefined ? {} : { profile: openProfile({ path: profile ?? '' }) }),
  };
}

function isAead(shot: OneShot<CipherLike>): shot is OneShot<AeadAlgorithm> {
  return shot.algorithm.kind === 'aead';
}

function tagOption(algorithm: AeadAlgorithm, options: CipherOneShotOptions | undefined): number {
  return checkTagBytes(algorithm, uintOption(options, 'authTagLength') ?? algorithm.defaultTagBytes);
}

/** A MAC has one length: whoever asks for another must not get this one. */
function checkMacLength(algorithm: MacAlgorithm, options: object | undefined): void {
  const length = uintOption(options, 'outputLength');
  if (length !== undefined && length !== algorithm.digestBytes) {
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The property 'options.outputLength' is invalid: ${algorithm.name} has ${algorithm.digestBytes} bytes`,
    );
  }
}

/**
 * `options.autoPadding` of a plain cipher.
 * @throws TypeError ERR_INVALID_ARG_VALUE for what only an AEAD has: whoever gives `aad` believes it to be authenticated.
 */
function paddingOption(algorithm: CipherAlgorithm, options: CipherOneShotOptions): boolean {
  for (const name of ['aad', 'authTagLength'] as const) {
    if (options[name] == null) continue;
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The property 'options.${name}' is invalid: ${algorithm.name} authenticates nothing`,
    );
  }
  const padding: unknown = options.autoPadding;
  if (padding === undefined) return true;
  if (typeof padding !== 'boolean') throw invalidType('options.autoPadding', 'of type boolean', padding);
  return padding;
}

/** node:crypto's own object for a name that hwcrypt's table lacks (key wrap, ARIA …), marked as such. */
function leftToNode(
  direction: Direction,
  name: string,
  key: unknown,
  iv: unknown,
  options: unknown,
): unknown {
  const make = direction === 'encrypt' ? nodeCreateCipheriv : nodeCreateDecipheriv;
  return mark((make as unknown as (...args: unknown[]) => object)(name, key, iv, options ?? undefined));
}

function mark<T extends object>(object: T): T & { driver: string } {
  return Object.assign(object, { driver: 'node' });
}

/** An instance with its own order of drivers. @throws TypeError ERR_INVALID_ARG_VALUE for a driver that does not exist. */
export function open(options?: OpenOptions): Hwcrypt {
  return new Hwcrypt(options);
}
