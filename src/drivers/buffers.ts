/**
 * The one place where views are checked before a native call. A wrong length there would be memory corruption, not
 * an exception, so every driver's session passes what it was given through these functions first and does arithmetic
 * on nothing else.
 *
 * What can go wrong with a view: not a Uint8Array at all; its ArrayBuffer detached (transferred to a worker), which makes
 * its length 0 without an error; a resizable buffer shrunk under it; too short an output; input and output that overlap.
 * A subclass, or a property set on a view, may say anything about its length: only the engine's own getters are asked.
 * A SharedArrayBuffer is accepted: another thread may change the bytes under the call, never the length.
 */
import { isSharedArrayBuffer, isUint8Array } from 'node:util/types';

import { nodeRangeError, nodeTypeError, received } from '../errors.js';

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
function getter<T>(property: string): (view: Uint8Array) => T {
  const get = Object.getOwnPropertyDescriptor(typedArray, property)?.get as () => T;
  return Function.prototype.call.bind(get) as (view: Uint8Array) => T;
}

/** The true length in bytes, whatever `view.byteLength` claims. Throws a TypeError for anything but a typed array. */
export const lengthOf: (view: Uint8Array) => number = getter('byteLength');
const offsetOf: (view: Uint8Array) => number = getter('byteOffset');
const bufferOf: (view: Uint8Array) => ArrayBufferLike = getter('buffer');

/** A plain view of `size` bytes of `view` from `at` on; a subclass may have ideas of its own about `subarray`. */
export function part(view: Uint8Array, at: number, size: number): Uint8Array {
  return new Uint8Array(bufferOf(view), offsetOf(view) + at, size);
}

/**
 * A copy of a view, as a plain Uint8Array. Not by `slice`, which asks a subclass what the copy shall be, and takes several times as
 * long for a short one.
 */
export function copyOf(view: Uint8Array): Uint8Array {
  const size = lengthOf(view);
  const copy = new Uint8Array(size);
  // One whose memory went away since it was checked looks empty, and `set` would throw an error of its own.
  if (size > 0) copy.set(view);
  else bytes(view, 'data');
  return copy;
}

/** A view whose buffer was transferred away, or shrunk so that the view no longer fits into it: it looks empty. */
function detached(view: Uint8Array): boolean {
  try {
    // Every typed array method checks this first, and throws.
    Uint8Array.prototype.at.call(view, 0);
    return false;
  } catch {
    return true;
  }
}

// The errors are made elsewhere, so that the checks stay small enough for V8 to build them into their callers.
function notBytes(view: unknown, label: string): TypeError {
  return nodeTypeError(
    'ERR_INVALID_ARG_TYPE',
    `The "${label}" argument must be an instance of Uint8Array. ${received(view)}`,
  );
}

function gone(label: string): TypeError {
  return nodeTypeError(
    'ERR_INVALID_STATE',
    `The ArrayBuffer behind "${label}" is detached or no longer covers it`,
  );
}

function wrongLength(label: string, wanted: string, size: number): RangeError {
  return nodeRangeError(
    'ERR_OUT_OF_RANGE',
    `The value of "${label}.length" is out of range. It must be ${wanted}. Received ${size}`,
  );
}

/**
 * The length of `view`, which must be a Uint8Array (a Buffer is one) over live memory.
 * @throws TypeError ERR_INVALID_ARG_TYPE; TypeError ERR_INVALID_STATE (detached).
 */
export function checkedLength(view: unknown, label: string): number {
  // By the engine's own mark: a Proxy and an object with the right prototype pass for instances, and have no memory.
  if (!isUint8Array(view)) throw notBytes(view, label);
  const size = lengthOf(view);
  if (size === 0 && detached(view)) throw gone(label);
  return size;
}

/**
 * As `checkedLength`, and returns the view; where `length` is given it must be exactly that many bytes long.
 * @throws RangeError ERR_OUT_OF_RANGE too.
 */
export function bytes(view: unknown, label: string, length?: number): Uint8Array {
  const size = checkedLength(view, label);
  if (length !== undefined && size !== length) throw wrongLength(label, String(length), size);
  return view as Uint8Array;
}

/** As `bytes`, for an output of at least `least` bytes. */
export function outputBytes(view: unknown, label: string, least: number): Uint8Array {
  const size = checkedLength(view, label);
  if (size < least) throw wrongLength(label, `>= ${least}`, size);
  return view as Uint8Array;
}

/**
 * Checks a pair for an operation that writes as many bytes as it reads. `unit` is what the length must be a multiple of.
 * Returns the length.
 */
export function pair(input: unknown, output: unknown, unit = 1): number {
  const length = checkedLength(input, 'input');
  if (unit > 1 && length % unit !== 0) throw wrongLength('input', `a multiple of ${unit}`, length);
  outputBytes(output, 'output', length);
  return length;
}

// Younger than the language level that this is compiled for. The engine's own, as above.
const resizable = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'resizable')?.get;
const growable = Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'growable')?.get;

function sizeMayChange(buffer: ArrayBufferLike): boolean {
  return (isSharedArrayBuffer(buffer) ? growable : resizable)?.call(buffer) === true;
}

/**
 * For what another thread works on: memory that cannot shrink, or move as it grows, under its hands. The check above holds for
 * as long as no JavaScript runs, which is what an asynchronous call waits for.
 * @throws TypeError ERR_INVALID_ARG_VALUE
 */
export function checkFixed(views: readonly Uint8Array[]): void {
  if (!views.some((view) => sizeMayChange(bufferOf(view)))) return;
  throw nodeTypeError(
    'ERR_INVALID_ARG_VALUE',
    'An asynchronous call takes no view of a resizable ArrayBuffer or a growable SharedArrayBuffer: copy the data first',
  );
}

export type Overlap = 'none' | 'same' | 'partial';

/**
 * How the first `outputLength` bytes of `output` lie to `input` in memory. `same`: they start at the same byte, so
 * an operation that goes from front to back may work in place. `partial`: the caller must copy the input first.
 */
export function overlap(input: Uint8Array, output: Uint8Array, outputLength = lengthOf(output)): Overlap {
  if (bufferOf(input) !== bufferOf(output)) return 'none';
  const a = offsetOf(input);
  const b = offsetOf(output);
  if (a === b) return 'same';
  return a < b + outputLength && b < a + lengthOf(input) ? 'partial' : 'none';
}

/** `input` as it can be read while `output` is being written: itself, or a copy where they overlap without being in place. */
export function unaliased(
  input: Uint8Array,
  output: Uint8Array,
  outputLength = lengthOf(output),
): Uint8Array {
  return overlap(input, output, outputLength) === 'partial' ? copyOf(input) : input;
}

/** Overwrites a secret. */
export function wipe(...views: (Uint8Array | null | undefined)[]): void {
  for (const view of views) view?.fill(0);
}
