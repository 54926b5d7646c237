/**
 * JSON metadata read with a check at every step: whatever is missing or of the wrong kind is an error that names its place.
 *
 * Room `luks`. By hand rather than by a schema: numbers are decimal texts here, lengths depend on one another, and the place and the cause
 * must be told in one line.
 */
import { randomUUID } from 'node:crypto';

import { damaged } from '../errors.js';
import type { Json, JsonObject } from './model.js';

/** json-c's limit, hence cryptsetup's. */
const MAX_DEPTH = 32;

/** Longest text that is taken for base64: a salt, a digest. */
const MAX_BASE64 = 4096;

/** Numbered objects of one kind. */
const MAX_ENTRIES = 64;

export const wrong = (path: string, what: string): Error => damaged(`LUKS2 metadata: ${path} ${what}`);

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [MINUS, ZERO, NINE] = [0x2d, 0x30, 0x39];

/** A number as it was written, where JavaScript's would be another one: 2^53 + 1, 1.0. It is nobody's here, and must survive a change. */
class WrittenNumber {
  readonly digits: string;
  constructor(digits: string) {
    this.digits = digits;
  }
  toJSON(): string {
    return `${MARK}${this.digits}`;
  }
}

/** Stands in front of such a number while it is a text; nobody can have written it. */
const MARK = `number-${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}([^"]+)"`, 'g');
const DIGITS = /-?\d[\d.eE+-]*/y;

/** Numbers that would become others, as texts. Not by one expression for texts and numbers: a text may have megabytes. */
function marked(json: string): string {
  let [made, from, quoted] = ['', 0, false];
  for (let i = 0; i < json.length; i++) {
    const c = json.charCodeAt(i);
    if (quoted) {
      if (c === BACKSLASH) i++;
      else if (c === QUOTE) quoted = false;
    } else if (c === QUOTE) quoted = true;
    else if (c === MINUS || (c >= ZERO && c <= NINE)) {
      DIGITS.lastIndex = i;
      const [digits = ''] = DIGITS.exec(json) ?? [];
      if (isNumber(digits) && String(Number(digits)) !== digits) {
        made += `${json.slice(from, i)}"${MARK}${digits}"`;
        from = i + digits.length;
      }
      i += Math.max(0, digits.length - 1);
    }
  }
  return made + json.slice(from);
}

/** @throws SyntaxError */
function parseKeeping(json: string): Json {
  return JSON.parse(marked(json), (_key, value) =>
    typeof value === 'string' && value.startsWith(MARK) ? new WrittenNumber(value.slice(MARK.length)) : value,
  ) as Json;
}

const isNumber = (literal: string): boolean => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(literal);

/** What `parseMetadata` reads, as text, numbers as they were. */
export const metadataText = (metadata: JsonObject): string => JSON.stringify(metadata).replace(MARKED, '$1');

const [OPEN, CLOSE] = [0x7b, 0x7d];
const [OPEN_LIST, CLOSE_LIST] = [0x5b, 0x5d];

/**
 * @param bytes up to the zero that ends it
 * @throws LUKS_DAMAGED for anything but one object, nested no deeper than the format's own library reads
 */
export function parseMetadata(bytes: Buffer): JsonObject {
  // As cryptsetup has it: no space in front.
  if (bytes[0] !== OPEN) throw damaged('LUKS2 metadata: it does not begin with a brace');
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i];
    if (quoted) {
      if (c === BACKSLASH) i++;
      else if (c === QUOTE) quoted = false;
    } else if (c === QUOTE) quoted = true;
    else if (c === OPEN || c === OPEN_LIST) {
      if (++depth > MAX_DEPTH) throw damaged(`LUKS2 metadata: nested more than ${MAX_DEPTH} deep`);
    } else if (c === CLOSE || c === CLOSE_LIST) depth--;
  }
  let value: Json;
  try {
    value = parseKeeping(bytes.toString('utf8'));
  } catch {
    // V8's message quotes what it read, which may be anything.
    throw damaged('LUKS2 metadata: it is not JSON');
  }
  return object(value, 'metadata');
}

export function object(value: Json | undefined, path: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof WrittenNumber) {
    throw wrong(path, value === undefined ? 'is missing' : 'is no object');
  }
  return value as JsonObject;
}

export function text(value: Json | undefined, path: string, most = 255): string {
  if (typeof value !== 'string') throw wrong(path, value === undefined ? 'is missing' : 'is no text');
  if (value.length > most) throw wrong(path, `is longer than ${most} characters`);
  return value;
}

export function texts(value: Json | undefined, path: string): string[] {
  if (!Array.isArray(value)) throw wrong(path, value === undefined ? 'is missing' : 'is no list');
  if (value.length > MAX_ENTRIES) throw wrong(path, `has more than ${MAX_ENTRIES} entries`);
  return value.map((one: Json, i) => text(one, `${path}[${i}]`));
}

export function integer(value: Json | undefined, path: string, least: number, most: number): number {
  if (typeof value !== 'number') throw wrong(path, value === undefined ? 'is missing' : 'is no number');
  if (!Number.isInteger(value) || value < least || value > most) {
    throw wrong(path, `is ${value}, not a whole number from ${least} to ${most}`);
  }
  return value;
}

/** A 64-bit number, which JSON holds as decimal text. */
export function wide(value: Json | undefined, path: string): bigint {
  const digits = text(value, path);
  if (!/^\d{1,20}$/.test(digits)) throw wrong(path, 'is no decimal number');
  const number = BigInt(digits);
  if (number >= 1n << 64n) throw wrong(path, 'does not fit into 64 bits');
  return number;
}

/** An offset or a size in bytes. */
export function bytesOf(value: Json | undefined, path: string): number {
  const number = wide(value, path);
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw wrong(path, 'is beyond any disk');
  return Number(number);
}

export function base64(value: Json | undefined, path: string, least: number): Buffer {
  const encoded = text(value, path, MAX_BASE64);
  if (encoded.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) throw wrong(path, 'is no base64');
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length < least) throw wrong(path, `has ${bytes.length} bytes, at least ${least} are needed`);
  return bytes;
}

/** In one way only, so that no entry has two names. */
const NUMBER = /^(0|[1-9]\d{0,3})$/;

/** The entries of an object whose keys are numbers, by number. */
export function numbered(value: Json | undefined, path: string): [id: number, value: JsonObject][] {
  const entries = Object.entries(object(value, path));
  if (entries.length > MAX_ENTRIES) throw wrong(path, `has more than ${MAX_ENTRIES} entries`);
  return entries
    .map(([key, one]): [number, JsonObject] => {
      if (!NUMBER.test(key)) throw wrong(path, 'has a name that is no number');
      return [Number(key), object(one, `${path}.${key}`)];
    })
    .sort(([a], [b]) => a - b);
}

/** References to entries of another object. */
export function references(value: Json | undefined, path: string, known: ReadonlySet<number>): number[] {
  return texts(value, path).map((name) => {
    const id = NUMBER.test(name) ? Number(name) : -1;
    if (!known.has(id)) throw wrong(path, 'names an entry that is not there');
    return id;
  });
}
