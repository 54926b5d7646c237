/** `createCipheriv` and `createDecipheriv`: node:crypto's cipher objects over a driver's sessions. */
import type { TransformCallback, TransformOptions } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

import type { AeadAlgorithm, CipherAlgorithm } from '../algorithms.js';
import { copyOf, lengthOf } from '../drivers/buffers.js';
import type { AeadSession, CipherSession, Direction } from '../drivers/driver.js';
import { checkIv, checkKey } from '../drivers/parameters.js';
import { checkHalves } from '../drivers/xts.js';
import { AuthenticationError, nodeError, nodeRangeError, nodeTypeError } from '../errors.js';
import type { Route } from '../routing/router.js';
import { count, type Tally } from '../routing/stats.js';
import {
  type BinaryLike,
  binaryBytes,
  type Data,
  dataBytes,
  type NonSharedBuffer,
  stringOption,
  uintOption,
} from './arguments.js';
import { type Feeder, feederFor, SectorFeeder } from './blocks.js';
import { shortGcmTag } from './deprecations.js';
import { LazyTransform } from './lazy-transform.js';
import { tagNotSet } from './openssl-errors.js';

const EMPTY = Buffer.alloc(0);
const NONE = new Uint8Array(0);

export interface CipherStreamOptions extends Omit<TransformOptions, 'encoding'> {
  /** Length of the tag in bytes; required for CCM and OCB, as in node:crypto. */
  authTagLength?: number | undefined;
  /** Encoding of a key that is given as text. */
  encoding?: string | undefined;
  /** Drivers for this object alone: `afalg`, `afalg:virtio_crypto_aes_cbc`, or several in the order to try. */
  driver?: string | readonly string[] | undefined;
  /**
   * XTS: bytes in a sector. The text may then come in any pieces; each sector is a data unit of its own, whose IV is that of
   * the sector before plus one (dm-crypt's plain64: a little-endian number in the first eight bytes).
   */
  sectorSize?: number | undefined;
}

export interface AadOptions {
  plaintextLength?: number | undefined;
  encoding?: string | undefined;
}

const invalidState = (operation: string): Error =>
  nodeError('ERR_CRYPTO_INVALID_STATE', `Invalid state for operation ${operation}`);

/** node:crypto says this, without a code, when a cipher is in no state to take data. The code and the reason are ours. */
function unsupportedState(why?: string): Error {
  const text = 'Trying to add data in unsupported state';
  return nodeError('ERR_CRYPTO_INVALID_STATE', why === undefined ? text : `${text}: ${why}`);
}

/** What node:crypto says, without a code, in `final` of a message that an `update` was refused of. */
const incomplete = (): Error =>
  nodeError('ERR_CRYPTO_INVALID_STATE', 'Unsupported state or unable to authenticate data');

/** Longest piece that `update` takes, less the cipher's block: node:crypto hands lengths to OpenSSL as C ints. */
const MAX_UPDATE = 2 ** 31 - 1;

function tooLong(length: number): Error {
  return length > MAX_UPDATE
    ? nodeRangeError('ERR_OUT_OF_RANGE', 'data is too long')
    : unsupportedState('the data is too long for one update');
}

function invalidTagLength(length: number): TypeError {
  return nodeTypeError('ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${length}`);
}

/** Who does it where a driver refused, see `Router.instead`. */
export type Instead = (failed: Route, error: unknown) => Route | undefined;

/** The work behind a cipher object: a plain cipher's, or an AEAD's. */
interface Engine {
  readonly driver: string;
  readonly blockBytes: number;
  update(input: Uint8Array): NonSharedBuffer;
  final(): NonSharedBuffer;
  close(): void;
}

class PlainEngine implements Engine {
  readonly blockBytes: number;
  readonly feeder: Feeder;
  readonly #session: CipherSession;
  readonly #tally: Tally;

  constructor(
    route: Route,
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
    sectorBytes: number | undefined,
  ) {
    const session = route.driver.cipher(algorithm, direction, key, iv, route.options);
    this.#session = session;
    this.#tally = route.tally;
    this.blockBytes = algorithm.blockBytes;
    this.feeder =
      sectorBytes === undefined
        ? feederFor(session)
        : new SectorFeeder(session, iv as Uint8Array, sectorBytes);
  }

  get driver(): string {
    return this.#session.driver;
  }

  update(input: Uint8Array): NonSharedBuffer {
    count(this.#tally, lengthOf(input));
    return this.feeder.update(input);
  }

  final(): NonSharedBuffer {
    // A message of which a piece was lost has no end, whatever the mode still holds back of it.
    if (!this.#session.usable) throw unsupportedState('an update of this message failed');
    return this.feeder.final();
  }

  close(): void {
    this.#session.close();
  }
}

/** Longest CCM message with a nonce of that many bytes (RFC 3610: the length field has 15 - n bytes). */
function ccmLimit(ivBytes: number): number {
  const lengthBytes = 15 - ivBytes;
  return lengthBytes < 4 ? 2 ** (8 * lengthBytes) - 1 : 2 ** 31 - 1;
}

/**
 * AEAD. Where the driver takes a message in pieces, pieces go through as they come. Where it does not (CCM, OCB, and everything
 * over AF_ALG) the message is collected: CCM is done in its one `update`, as node:crypto has it; for the rest the text
 * comes out of `final`.
 */
class AeadEngine implements Engine {
  readonly blockBytes: number;
  readonly algorithm: AeadAlgorithm;
  /** The tag: written by `final` when encrypting, set by the caller when decrypting. */
  tag: Uint8Array | undefined;
  /** What `setAuthTag` insists on; undefined for GCM where no length was named. */
  readonly fixedTagBytes: number | undefined;
  readonly #ccm: boolean;
  readonly #encrypt: boolean;
  readonly #iv: Uint8Array;
  readonly #incremental: boolean;
  #open: (tagBytes: number) => AeadSession;
  /** A session of the next driver, where this one refused the message; undefined where the error is the answer. */
  readonly #other: (error: unknown) => AeadSession | undefined;
  /** Kept only for drivers that must be told the tag's length before they get the key. */
  readonly #key: Uint8Array | undefined;
  #session: AeadSession;
  #route: Route;
  #aad: Uint8Array[] = [];
  #text: Uint8Array[] = [];
  #begun = false;
  #started = false;
  #plaintextLength: number | undefined;
  #ccmState: 'waiting' | 'done' | 'forged' | 'refused' = 'waiting';

  constructor(
    route: Route,
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array,
    tagBytes: number | undefined,
    instead: Instead,
  ) {
    this.algorithm = algorithm;
    // As OpenSSL has it: OCB works in blocks, the others in bytes.
    this.blockBytes = algorithm.mode === 'ocb' ? algorithm.cipherBlockBytes : 1;
    this.fixedTagBytes = tagBytes;
    this.#encrypt = direction === 'encrypt';
    this.#ccm = algorithm.mode === 'ccm';
    this.#iv = copyOf(iv);
    let secret = key;
    const opener =
      (by: Route) =>
      (bytes: number): AeadSession =>
        by.driver.aead(algorithm, direction, secret, { ...by.options, tagBytes: bytes });
    this.#open = opener(route);
    const session = this.#open(tagBytes ?? algorithm.defaultTagBytes);
    this.#session = session;
    this.#incremental = session.incremental;
    this.#route = route;
    this.#other = (error) => {
      const next = instead(this.#route, error);
      if (next === undefined) return undefined;
      this.#route = next;
      this.#open = opener(next);
      return this.#open(this.#session.tagBytes);
    };
    // A collected message is done at its end: the key may be needed then, for the length of its tag or for another driver.
    if (!this.#incremental && (route.driver.restricted || (!this.#encrypt && tagBytes === undefined))) {
      secret = copyOf(key);
      this.#key = secret;
    }
  }

  get driver(): string {
    return this.#session.driver;
  }

  /**
   * Additional data comes too late once text has been handed over; not for OCB, which authenticates the two apart. CCM
   * has it in one piece: of several, node:crypto would authenticate the last.
   */
  get #takesAad(): boolean {
    if (this.algorithm.mode === 'ocb') return true;
    return !this.#begun && !(this.#ccm && this.#aad.length > 0);
  }

  addAad(data: Uint8Array, plaintextLength: number | undefined): boolean {
    if (this.#ccm) {
      if (plaintextLength === undefined) {
        throw nodeTypeError('ERR_MISSING_ARGS', 'options.plaintextLength required for CCM mode with AAD');
      }
      this.#checkCcmLength(plaintextLength);
    }
    if (!this.#ccm && lengthOf(data) === 0) return true;
    if (!this.#takesAad) return false;
    this.#plaintextLength = plaintextLength;
    // A copy: the caller may reuse the buffer before the data is needed.
    this.#aad.push(copyOf(data));
    return true;
  }

  update(input: Uint8Array): NonSharedBuffer {
    if (this.#ccm) return this.#ccmUpdate(input);
    const length = lengthOf(input);
    if (length > 0) this.#begun = true;
    if (!this.#incremental) {
      if (length > 0) this.#text.push(copyOf(input));
      return EMPTY;
    }
    if (length === 0) return EMPTY;
    this.#start();
    const output = Buffer.allocUnsafe(length);
    this.#session.update(input, output);
    count(this.#route.tally, length);
    return output;
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#session.begin(this.#iv);
    for (const piece of this.#aad) this.#session.aad(piece);
  }

  final(): NonSharedBuffer {
    if (this.#ccm) return this.#ccmFinal();
    if (!this.#encrypt && this.tag === undefined) throw new AuthenticationError();
    if (this.#incremental) {
      this.#start();
      if (this.#encrypt) this.#finishEncrypting();
      else this.#session.finish(this.tag as Uint8Array);
      return EMPTY;
    }
    return this.#whole(join(this.#text));
  }

  #finishEncrypting(): void {
    const tag = Buffer.allocUnsafe(this.#session.tagBytes);
    this.#session.finish(tag);
    this.tag = tag;
  }

  #whole(text: Uint8Array): NonSharedBuffer {
    for (;;) {
      try {
        return this.#wholeBy(text);
      } catch (error) {
        const other = this.#other(error);
        if (other === undefined) throw error;
        this.#session.close();
        this.#session = other;
      }
    }
  }

  #wholeBy(text: Uint8Array): NonSharedBuffer {
    const aad = join(this.#aad);
    const output = Buffer.allocUnsafe(lengthOf(text));
    if (this.#encrypt) {
      const tag = Buffer.allocUnsafe(this.#session.tagBytes);
      this.#session.seal(this.#iv, aad, text, output, tag);
      this.tag = tag;
    } else {
      const tag = this.tag as Uint8Array;
      if (tag.length !== this.#session.tagBytes) {
        this.#session.close();
        this.#session = this.#open(tag.length);
      }
      this.#session.open(this.#iv, aad, text, tag, output);
    }
    count(this.#route.tally, lengthOf(text));
    return output;
  }

  #checkCcmLength(length: number): void {
    if (length > ccmLimit(this.#iv.length)) {
      throw nodeRangeError('ERR_CRYPTO_INVALID_MESSAGELEN', 'Invalid message length');
    }
  }

  #ccmUpdate(input: Uint8Array): NonSharedBuffer {
    const length = lengthOf(input);
    this.#checkCcmLength(length);
    const announced = this.#plaintextLength;
    // An empty piece is no text yet. For node:crypto it is the whole text, or a new one behind that which there was.
    if (length === 0) {
      this.#begun = true;
      return EMPTY;
    }
    if (this.#ccmState !== 'waiting') {
      this.#ccmState = this.#ccmState === 'forged' ? 'forged' : 'refused';
      throw unsupportedState('CCM takes its whole text in one update');
    }
    if (announced !== undefined && announced !== length) {
      this.#ccmState = 'refused';
      throw unsupportedState(`plaintextLength is ${announced}, the text has ${length} bytes`);
    }
    this.#begun = true;
    if (!this.#encrypt && this.tag === undefined) {
      this.#ccmState = 'forged';
      return EMPTY;
    }
    try {
      const output = this.#whole(input);
      this.#ccmState = 'done';
      return output;
    } catch (error) {
      if (!(error instanceof AuthenticationError)) throw error;
      // node:crypto tells only in final(), and nothing of the text until then.
      this.#ccmState = 'forged';
      return EMPTY;
    }
  }

  #ccmFinal(): NonSharedBuffer {
    if (this.#ccmState === 'forged') throw new AuthenticationError();
    if (this.#ccmState === 'refused') throw this.#encrypt ? incomplete() : new AuthenticationError();
    if (this.#ccmState === 'waiting') {
      if (this.#encrypt && !this.#begun) throw tagNotSet();
      // node:crypto takes any tag for a message of which it saw no text. An empty text has a tag like any other.
      if (!this.#encrypt && this.tag === undefined) throw new AuthenticationError();
      if (this.#plaintextLength) throw this.#encrypt ? incomplete() : new AuthenticationError();
      this.#whole(NONE);
    }
    return EMPTY;
  }

  close(): void {
    this.#session.close();
    this.#key?.fill(0);
    this.#text = [];
    this.#aad = [];
  }
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 0) return NONE;
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

/** The normalised name, which the type declarations leave out. */
const encodingOf = (decoder: StringDecoder): string => (decoder as unknown as { encoding: string }).encoding;

/** What both directions have in common. */
abstract class CipherObject extends LazyTransform {
  // Private all of it, so that a log shows no more of a cipher than node:crypto's.
  readonly #work: PlainEngine | AeadEngine;
  #engine: PlainEngine | AeadEngine | undefined;
  #decoder: StringDecoder | undefined;
  #encoding: string | undefined;
  #waiting: ((error?: Error | null) => void)[] | undefined;

  constructor(engine: PlainEngine | AeadEngine, options: CipherStreamOptions | null | undefined) {
    super(options as TransformOptions);
    this.#work = engine;
    this.#engine = engine;
  }

  /** The engine while the message is in progress; undefined from `final` (or a failure) on. */
  protected get engine(): PlainEngine | AeadEngine | undefined {
    return this.#engine;
  }
  protected set engine(engine: PlainEngine | AeadEngine | undefined) {
    this.#engine = engine;
  }

  /** An AEAD's, also when the message is done. */
  protected get aead(): AeadEngine | undefined {
    return this.#work instanceof AeadEngine ? this.#work : undefined;
  }

  /** The driver that does the work, with its kernel driver where one was pinned: `afalg:virtio_crypto_aes_cbc`. */
  get driver(): string {
    return this.#work.driver;
  }

  override _transform(chunk: Data, encoding: string, callback: TransformCallback): void {
    try {
      this.push(this.update(chunk, encoding));
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback();
  }

  override _flush(callback: TransformCallback): void {
    try {
      this.push(this.final());
    } catch (error) {
      callback(error as Error);
      return;
    }
    callback();
  }

  /** Takes the next piece of the message; returns what is ready of the result, as a Buffer or as text. */
  update(data: Data, inputEncoding?: string | null): NonSharedBuffer;
  update(data: Data, inputEncoding: string | null | undefined, outputEncoding: string): string;
  update(
    data: Data,
    inputEncoding?: string | null,
    outputEncoding?: string | null,
  ): NonSharedBuffer | string {
    const input = dataBytes(data, inputEncoding);
    const { engine } = this;
    if (engine === undefined) throw unsupportedState();
    if (lengthOf(input) > MAX_UPDATE - engine.blockBytes) throw tooLong(lengthOf(input));
    const output = engine.update(input);
    if (outputEncoding && outputEncoding !== 'buffer') return this.#text(outputEncoding).write(output);
    return output;
  }

  /** Ends the message: the rest of the result. The object takes no data after it. */
  final(): NonSharedBuffer;
  final(outputEncoding: string): string;
  final(outputEncoding?: string | null): NonSharedBuffer | string {
    const { engine } = this;
    if (engine === undefined) throw nodeError('ERR_CRYPTO_INVALID_STATE', 'Invalid state');
    this.engine = undefined;
    let output: NonSharedBuffer;
    let failure: Error | null = null;
    try {
      output = engine.final();
    } catch (error) {
      failure = error as Error;
      // Of a message that was refused there is no tag. (node:crypto gives what was in its memory.)
      if (this.aead) this.aead.tag = undefined;
      throw error;
    } finally {
      engine.close();
      this.#ended(failure);
    }
    if (outputEncoding && outputEncoding !== 'buffer') return this.#text(outputEncoding).end(output);
    return output;
  }

  /** Switches PKCS#7 padding of the block modes; on unless switched off. */
  setAutoPadding(autoPadding?: boolean): this {
    const { engine } = this;
    if (engine === undefined) throw invalidState('setAutoPadding');
    if (engine instanceof PlainEngine) {
      // Without an argument it is off, as in node:crypto, whatever its manual says: what was written so must be read so.
      engine.feeder.padding = Boolean(autoPadding);
    }
    return this;
  }

  /** Additional data that is authenticated and not encrypted; before the first `update`. */
  setAAD(buffer: BinaryLike, options?: AadOptions): this {
    const encoding = stringOption(options, 'encoding');
    const plaintextLength = uintOption(options, 'plaintextLength');
    const data = binaryBytes(buffer, 'aadbuf', encoding);
    const { aead } = this;
    if (aead === undefined || this.engine === undefined || !aead.addAad(data, plaintextLength)) {
      throw invalidState('setAAD');
    }
    return this;
  }

  /** Frees what is held natively and wipes the key, for an object that will not be taken to `final`. */
  [Symbol.dispose](): void {
    this.engine?.close();
    this.engine = undefined;
    this.#ended(null);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#ended(error);
    this[Symbol.dispose]();
    callback(error);
  }

  /** Has `settle` called when the message ends, well or not. */
  protected whenEnded(settle: (error?: Error | null) => void): void {
    this.#waiting ??= [];
    this.#waiting.push(settle);
  }

  #ended(error: Error | null): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    for (const settle of waiting) settle(error);
  }

  #text(encoding: string): StringDecoder {
    if (this.#decoder !== undefined && encoding === this.#encoding) return this.#decoder;
    // It throws for an encoding that it does not know.
    const decoder = new StringDecoder(encoding as BufferEncoding);
    this.#decoder ??= decoder;
    if (encodingOf(decoder) !== encodingOf(this.#decoder)) {
      throw nodeError('ERR_INTERNAL_ASSERTION', 'Cannot change encoding');
    }
    this.#encoding = encoding;
    return this.#decoder;
  }
}

export class Cipheriv extends CipherObject {
  /** The tag of an AEAD, after `final`. */
  getAuthTag(): NonSharedBuffer {
    const tag = this.engine === undefined ? this.aead?.tag : undefined;
    if (tag === undefined) throw invalidState('getAuthTag');
    // A copy each time, as node:crypto gives it.
    return Buffer.from(tag);
  }

  /**
   * The tag of an AEAD used as a stream, as soon as it is there, which saves finding the event to ask for it in.
   * Rejects with the stream's error where it fails, and with ERR_CRYPTO_INVALID_STATE where it is destroyed first.
   */
  getAuthTagAsync(): Promise<NonSharedBuffer> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error | null): void => {
        if (error) {
          reject(error);
          return;
        }
        try {
          resolve(this.getAuthTag());
        } catch (caught) {
          reject(caught);
        }
      };
      if (this.engine === undefined || this.aead === undefined) settle();
      else this.whenEnded(settle);
    });
  }
}

export class Decipheriv extends CipherObject {
  /** The tag that the message must have; before `final`, for CCM before `update`. */
  setAuthTag(buffer: BinaryLike, encoding?: string): this {
    const tag = binaryBytes(buffer, 'buffer', encoding);
    const { aead } = this;
    if (aead === undefined || this.engine === undefined || aead.tag !== undefined) {
      throw invalidState('setAuthTag');
    }
    const length = lengthOf(tag);
    const { fixedTagBytes, algorithm } = aead;
    if (fixedTagBytes === undefined ? !algorithm.tagBytes.includes(length) : length !== fixedTagBytes) {
      throw invalidTagLength(length);
    }
    if (fixedTagBytes === undefined && length < algorithm.defaultTagBytes) shortGcmTag();
    aead.tag = copyOf(tag);
    return this;
  }
}

/** A request whose arguments have been turned into bytes. */
export interface CipherObjectRequest {
  readonly instead: Instead;
  readonly route: Route;
  readonly algorithm: CipherAlgorithm | AeadAlgorithm;
  /** The algorithm as it was asked for. */
  readonly name: string;
  readonly direction: Direction;
  readonly key: Uint8Array;
  readonly iv: Uint8Array | null;
  /** `options.authTagLength` */
  readonly tagBytes: number | undefined;
}

export function makeCipher(
  request: CipherObjectRequest,
  options: CipherStreamOptions | null | undefined,
): Cipheriv | Decipheriv {
  const { route, instead, algorithm, name, direction, key, iv } = request;
  const sectorBytes = sectorLength(algorithm, options);
  // In node:crypto's order: the IV, then the tag's length, then the key.
  checkIv(algorithm, iv);
  const tagBytes = algorithm.kind === 'aead' ? tagLength(algorithm, name, request.tagBytes) : undefined;
  checkKey(algorithm, key);
  if (algorithm.mode === 'xts') checkHalves(direction, key);
  let by = route;
  let engine: PlainEngine | AeadEngine;
  for (;;) {
    try {
      engine =
        algorithm.kind === 'aead'
          ? new AeadEngine(by, algorithm, direction, key, iv as Uint8Array, tagBytes, instead)
          : new PlainEngine(by, algorithm, direction, key, iv, sectorBytes);
      break;
    } catch (error) {
      const next = instead(by, error);
      if (next === undefined) throw error;
      by = next;
    }
  }
  return direction === 'encrypt' ? new Cipheriv(engine, options) : new Decipheriv(engine, options);
}

/** `options.authTagLength` checked for an AEAD; undefined where any length will do (GCM). */
function tagLength(algorithm: AeadAlgorithm, name: string, given: number | undefined): number | undefined {
  if (given === undefined) {
    if (algorithm.mode === 'gcm') return undefined;
    if (algorithm.mode === 'chacha20-poly1305') return 16;
    throw nodeTypeError('ERR_CRYPTO_INVALID_AUTH_TAG', `authTagLength required for ${name}`);
  }
  if (!algorithm.tagBytes.includes(given)) throw invalidTagLength(given);
  return given;
}

/** `options.sectorSize`, which only XTS knows: a whole number of cipher blocks. */
function sectorLength(
  algorithm: CipherAlgorithm | AeadAlgorithm,
  options: CipherStreamOptions | null | undefined,
): number | undefined {
  const given = uintOption(options, 'sectorSize');
  if (given === undefined) return undefined;
  if (algorithm.mode !== 'xts' || given === 0 || given % algorithm.cipherBlockBytes !== 0) {
    const why =
      algorithm.mode === 'xts'
        ? `must be a multiple of ${algorithm.cipherBlockBytes}`
        : `is for XTS, not for ${algorithm.name}`;
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The property 'options.sectorSize' ${why}. Received ${given}`,
    );
  }
  return given;
}
