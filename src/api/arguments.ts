/**
 * What programs pass, turned into bytes, with node:crypto's own errors for what it would refuse.
 *
 * Source of the messages: what Node 20 answers (compared call by call in test/unit/api).
 */

import { KeyObject } from 'node:crypto';
import { inspect } from 'node:util';
import { isAnyArrayBuffer } from 'node:util/types';

import { lengthOf } from '../drivers/buffers.js';
import { nodeRangeError, nodeTypeError } from '../errors.js';

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

const EMPTY = new Uint8Array(0);

/** `Received …`, worded as Node words it. */
export function received(value: unknown): string {
  if (value === null || value === undefined) return `Received ${value}`;
  if (typeof value === 'function') return `Received function ${value.name}`;
  if (typeof value === 'object') {
    if (value.constructor?.name) return `Received an instance of ${value.constructor.name}`;
    return `Received ${inspect(value, { depth: -1 })}`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return `Received type ${typeof value} (${text})`;
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

/** A view of any kind as a Uint8Array over the same memory. */
export function viewBytes(view: ArrayBufferView): Uint8Array {
  if (view instanceof Uint8Array) return view;
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function isEncoding(encoding: string): encoding is BufferEncoding {
  return Buffer.isEncoding(encoding);
}

/** Text to bytes as `Buffer.from` does, with the two checks that node:crypto makes of it. */
export function textBytes(text: string, encoding: string | undefined | null): Uint8Array {
  if (!encoding || encoding === 'buffer') return Buffer.from(text, 'utf8');
  // Node checks the length of hexadecimal text first, and then takes an unknown encoding for utf8.
  if (encoding.toLowerCase() === 'hex' && text.length % 2 !== 0) {
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The argument 'encoding' is invalid for data of length ${text.length}. Received ${inspect(encoding)}`,
    );
  }
  return Buffer.from(text, isEncoding(encoding) ? encoding : 'utf8');
}

/** Data of `update`: text or a view, not a bare ArrayBuffer. */
export function dataBytes(data: unknown, encoding?: string | null, name = 'data'): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (typeof data === 'string') return textBytes(data, encoding);
  if (ArrayBuffer.isView(data)) return viewBytes(data);
  throw invalidType(name, DATA, data);
}

/** An IV, additional data or a tag: text, a view or an ArrayBuffer. */
export function binaryBytes(value: unknown, name: string, encoding?: string | null): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'string') return textBytes(value, encoding);
  if (ArrayBuffer.isView(value)) return viewBytes(value);
  if (isAnyArrayBuffer(value)) return new Uint8Array(value);
  throw invalidType(name, BINARY, value);
}

/** An IV, or null for an algorithm that has none. */
export function ivBytes(iv: unknown): Uint8Array | null {
  return iv === null ? null : binaryBytes(iv, 'iv');
}

/** A secret key. A KeyObject's or CryptoKey's bytes are a copy that the caller may wipe. */
export function keyBytes(key: unknown, encoding?: string | null, name = 'key'): Uint8Array {
  if (key instanceof Uint8Array) return key;
  if (key instanceof KeyObject) {
    if (key.type !== 'secret') {
      throw nodeTypeError(
        'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE',
        `Invalid key object type ${key.type}, expected secret.`,
      );
    }
    return key.export();
  }
  if (typeof key === 'string') return textBytes(key, encoding);
  if (ArrayBuffer.isView(key)) return viewBytes(key);
  if (isAnyArrayBuffer(key)) return new Uint8Array(key);
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
  if ((value as number) >>> 0 !== value) {
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The property 'options.${key}' is invalid. Received ${inspect(value)}`,
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
      `The value of "${name}" is out of range. It must be an integer. Received ${inspect(value)}`,
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
export function encoded(bytes: Buffer, encoding: string | null | undefined): Buffer | string {
  return encoding && encoding !== 'buffer' ? bytes.toString(encoding as BufferEncoding) : bytes;
}

/** An output for the result of exactly `length` bytes: the caller's, checked, or a new one. */
export function resultBuffer(length: number, given?: unknown): Buffer {
  if (given === undefined) return Buffer.allocUnsafe(length);
  if (!(given instanceof Uint8Array)) throw invalidType('options.output', 'an instance of Uint8Array', given);
  const size = lengthOf(given);
  if (size < length) {
    throw nodeRangeError(
      'ERR_OUT_OF_RANGE',
      `The value of "options.output.length" is out of range. It must be >= ${length}. Received ${size}`,
    );
  }
  return Buffer.from(given.buffer, given.byteOffset, length);
}

export { EMPTY };
