/**
 * What programs pass, turned into bytes, with node:crypto's own errors for what it would refuse.
 *
 * Source of the messages: what Node 20 answers (compared call by call in test/unit/api).
 */

import { KeyObject } from 'node:crypto';
import { isAnyArrayBuffer, isDataView, isUint8Array } from 'node:util/types';

import { bytes, lengthOf, outputBytes, part } from '../drivers/buffers.js';
import { nodeRangeError, nodeTypeError, received, shown } from '../errors.js';

/**
 * What results are: a Buffer over memory that is not shared. Node's declarations have a global type of this name from late
 * 2025 on, and a Buffer with a type argument from 2024 on; taken from a function of theirs it fits whichever are installed.
 */
export type NonSharedBuffer = ReturnType<typeof Buffer.alloc>;

/** What node:crypto takes for data. */
export type Data = string | ArrayBufferView;
/** What it takes for an IV or for input that may also be an ArrayBuffer. */
export type BinaryLike = Data | ArrayBufferLike;
/** What it takes for a key. */
export type KeyLike = BinaryLike | KeyObject | CryptoKeyLike;
/** A WebCrypto key. The global type is not in every environment's declarations. */
export interface CryptoKeyLike {
  readonly type: string;
  readonly algorithm: object;
}

const BINARY = 'of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView';
const DATA = 'of type string or an instance of Buffer, TypedArray, or DataView';
const KEY =
  'of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey';

export function invalidType(name: string, expected: string, value: unknown): TypeError {
  const what = name.includes('.') ? 'property' : 'argument';
  return nodeTypeError(
    'ERR_INVALID_ARG_TYPE',
    `The "${name}" ${what} must be ${expected}. ${received(value)}`,
  );
}

export function checkString(value: unknown, name: string): asserts value is string {
  if (typeof value !== 'string') throw invalidType(name, 'of type string', value);
}

type Getter<T> = (view: ArrayBufferView) => T;

/** The engine's own getters: a property set on a view, or a subclass, may say anything. */
function getters(prototype: object): {
  buffer: Getter<ArrayBufferLike>;
  at: Getter<number>;
  size: Getter<number>;
} {
  const get = <T>(name: string): Getter<T> => {
    const getter = Object.getOwnPropertyDescriptor(prototype, name)?.get as () => T;
    return Function.prototype.call.bind(getter) as Getter<T>;
  };
  return { buffer: get('buffer'), at: get('byteOffset'), size: get('byteLength') };
}
const ofTypedArray = getters(Object.getPrototypeOf(Uint8Array.prototype) as object);
const ofDataView = getters(DataView.prototype);

/**
 * A view of any kind as a Uint8Array over the same memory. Node takes one whose memory is gone for an empty one, which
 * would lose the data without a word.
 * @throws TypeError ERR_INVALID_STATE where the view's buffer is detached or was shrunk under it.
 */
export function viewBytes(view: ArrayBufferView, name: string): Uint8Array {
  // The usual case, kept small for V8 to build it into its callers.
  return isUint8Array(view) && lengthOf(view) > 0 ? view : otherBytes(view, name);
}

function otherBytes(view: ArrayBufferView, name: string): Uint8Array {
  if (isUint8Array(view)) return bytes(view, name);
  const of = isDataView(view) ? ofDataView : ofTypedArray;
  try {
    const size = of.size(view);
    const result = new Uint8Array(of.buffer(view), of.at(view), size);
    if (size > 0) return result;
  } catch {
    // A DataView's getters throw, and so does making a new view of a detached buffer.
    throw nodeTypeError(
      'ERR_INVALID_STATE',
      `The ArrayBuffer behind "${name}" is detached or no longer covers it`,
    );
  }
  return new Uint8Array(0);
}

function isEncoding(encoding: string): encoding is BufferEncoding {
  return Buffer.isEncoding(encoding);
}

/** Text to bytes as `Buffer.from` does, with the two checks that node:crypto makes of it. */
export function textBytes(text: string, encoding: unknown): Uint8Array {
  // Node takes an encoding that it does not know, of whatever type, for utf8.
  if (typeof encoding !== 'string' || !isEncoding(encoding)) return Buffer.from(text, 'utf8');
  if (encoding.toLowerCase() === 'hex' && text.length % 2 !== 0) {
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The argument 'encoding' is invalid for data of length ${text.length}. Received ${shown(encoding)}`,
    );
  }
  return Buffer.from(text, encoding);
}

/** Data of `update`: text or a view, not a bare ArrayBuffer. */
export function dataBytes(data: unknown, encoding?: unknown, name = 'data'): Uint8Array {
  if (typeof data === 'string') return textBytes(data, encoding);
  if (ArrayBuffer.isView(data)) return viewBytes(data, name);
  throw invalidType(name, DATA, data);
}

/** An IV, additional data or a tag: text, a view or an ArrayBuffer. */
export function binaryBytes(value: unknown, name: string, encoding?: unknown): Uint8Array {
  if (ArrayBuffer.isView(value)) return viewBytes(value, name);
  if (typeof value === 'string') return plainText(value, encoding);
  if (isAnyArrayBuffer(value)) return wholeBuffer(value, name);
  throw invalidType(name, BINARY, value);
}

/** Text of a key, an IV, additional data or a tag: by `Buffer.from` and its rules, which are not those of `update`. */
function plainText(text: string, encoding: unknown): Uint8Array {
  return Buffer.from(text, (encoding === 'buffer' ? 'utf8' : encoding) as BufferEncoding);
}

function wholeBuffer(buffer: ArrayBufferLike, name: string): Uint8Array {
  try {
    return new Uint8Array(buffer);
  } catch {
    throw nodeTypeError('ERR_INVALID_STATE', `The ArrayBuffer "${name}" is detached`);
  }
}

/** An IV, or null for an algorithm that has none. */
export function ivBytes(iv: unknown): Uint8Array | null {
  return iv === null ? null : binaryBytes(iv, 'iv');
}

/** A secret key. A KeyObject's or CryptoKey's bytes are a copy that the caller may wipe. */
export function keyBytes(key: unknown, encoding?: unknown, name = 'key'): Uint8Array {
  if (ArrayBuffer.isView(key)) return viewBytes(key, name);
  if (key instanceof KeyObject) {
    if (key.type !== 'secret') {
      throw nodeTypeError(
        'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE',
        `Invalid key object type ${key.type}, expected secret.`,
      );
    }
    return key.export();
  }
  if (typeof key === 'string') return plainText(key, encoding);
  if (isAnyArrayBuffer(key)) return wholeBuffer(key, name);
  const CryptoKey = (globalThis as { CryptoKey?: abstract new () => unknown }).CryptoKey;
  if (CryptoKey && key instanceof CryptoKey) {
    return keyBytes(KeyObject.from(key as Parameters<typeof KeyObject.from>[0]), encoding, name);
  }
  throw invalidType(name, KEY, key);
}

/** `options[key]` as an unsigned integer, or undefined. */
export function uintOption(options: unknown, key: string): number | undefined {
  const value = (options as Record<string, unknown> | null | undefined)?.[key];
  if (value === null || value === undefined) return undefined;
  // The type first: an object may do anything while it becomes a number.
  if (typeof value !== 'number' || value >>> 0 !== value) {
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The property 'options.${key}' is invalid. Received ${shown(value)}`,
    );
  }
  return value;
}

/** `options[key]` as text, or undefined. */
export function stringOption(options: unknown, key: string): string | undefined {
  const value = (options as Record<string, unknown> | null | undefined)?.[key];
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') throw invalidType(`options.${key}`, 'of type string', value);
  return value;
}

/** An unsigned 32-bit number with Node's range error. */
export function checkUint32(value: unknown, name: string): number {
  if (typeof value !== 'number') throw invalidType(name, 'of type number', value);
  if (!Number.isInteger(value)) {
    throw nodeRangeError(
      'ERR_OUT_OF_RANGE',
      `The value of "${name}" is out of range. It must be an integer. Received ${shown(value)}`,
    );
  }
  if (value < 0 || value > 4294967295) {
    throw nodeRangeError(
      'ERR_OUT_OF_RANGE',
      `The value of "${name}" is out of range. It must be >= 0 && <= 4294967295. Received ${withUnderscores(value)}`,
    );
  }
  return value;
}

/** Node writes long integers in its range errors with underscores between the thousands. */
function withUnderscores(value: number): string {
  const text = String(value);
  return Math.abs(value) > 2 ** 32 && /^-?\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, '_') : text;
}

/** A result in the encoding that was asked for: a Buffer, or text. */
export function encoded(
  result: NonSharedBuffer,
  encoding: string | null | undefined,
): NonSharedBuffer | string {
  // Node gives bytes where it does not know the encoding.
  return encoding && isEncoding(encoding) ? result.toString(encoding) : result;
}

/** An output for the result of exactly `length` bytes: the caller's, checked, or a new one. */
export function resultBuffer(length: number, given?: unknown): NonSharedBuffer {
  return given === undefined ? Buffer.allocUnsafe(length) : givenBuffer(length, given);
}

function givenBuffer(length: number, given: unknown): NonSharedBuffer {
  if (!isUint8Array(given)) throw invalidType('options.output', 'an instance of Uint8Array', given);
  const output = outputBytes(given, 'options.output', length);
  // The usual case by far, and a new view costs as much as a native call.
  if (lengthOf(output) === length && Object.getPrototypeOf(output) === Buffer.prototype)
    return output as NonSharedBuffer;
  const own = part(output, 0, length);
  // Over the caller's memory, which may be shared for all we know; whoever gave it knows.
  return Buffer.from(own.buffer as ArrayBuffer, own.byteOffset, length);
}
