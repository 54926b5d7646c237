/**
 * Base64 as a stream, for `-a` and `-A`.
 *
 * Room `enc`. The encoder writes what OpenSSL's BIO_f_base64 writes: lines of 64 characters that each end in a newline,
 * or with -A one line without any. The decoder reads every form that people end up with after a file has been through a
 * variable, JSON or a mail program: any line length, CR LF, blanks, no last newline, no padding. OpenSSL's own
 * decoder refuses or, worse, silently cuts some of these. What is not base64 is an error that names the byte.
 *
 * Both work on pieces that may be split anywhere, on memory that the caller owns.
 */
import { HwcryptError } from '../errors.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const LINE_BYTES = 48;
const LINE_FEED = 0x0a;
const PAD_CHARACTER = 0x3d;

const CHARACTERS = new Uint8Array(64);
/** Values 0…63; above, what to do with the character. */
const VALUES = new Uint8Array(256);
const BLANK = 64;
const PAD = 65;
const INVALID = 255;
VALUES.fill(INVALID);
for (let i = 0; i < 64; i++) {
  const code = ALPHABET.charCodeAt(i);
  CHARACTERS[i] = code;
  VALUES[code] = i;
}
for (const code of [0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20]) VALUES[code] = BLANK;
VALUES[PAD_CHARACTER] = PAD;

export class Base64Encoder {
  readonly #lines: boolean;
  /** Bytes that do not yet make a line (or, without lines, a group of three). */
  readonly #carry = new Uint8Array(LINE_BYTES);
  #carried = 0;

  /** @param oneLine as -A: no newline at all. */
  constructor(oneLine = false) {
    this.#lines = !oneLine;
  }

  /** Room that `update` and `final` together may need for `bytes` of input, whatever came before. */
  static outputBytes(bytes: number): number {
    const lines = Math.ceil((bytes + LINE_BYTES) / LINE_BYTES);
    return lines * 65;
  }

  /** Encodes what makes whole lines; returns the number of bytes written to `output`. */
  update(input: Uint8Array, output: Uint8Array): number {
    const unit = this.#lines ? LINE_BYTES : 3;
    let at = 0;
    let written = 0;
    if (this.#carried > 0) {
      const take = Math.min(unit - this.#carried, input.length);
      this.#carry.set(input.subarray(0, take), this.#carried);
      this.#carried += take;
      at = take;
      if (this.#carried < unit) return 0;
      written = encodeGroups(this.#carry, 0, unit, output, 0);
      if (this.#lines) output[written++] = LINE_FEED;
      this.#carried = 0;
    }
    const whole = at + Math.floor((input.length - at) / unit) * unit;
    written = this.#lines
      ? encodeLines(input, at, whole, output, written)
      : encodeGroups(input, at, whole, output, written);
    this.#carry.set(input.subarray(whole), 0);
    this.#carried = input.length - whole;
    return written;
  }

  /** Encodes the rest, with padding; returns the number of bytes written to `output`. */
  final(output: Uint8Array): number {
    if (this.#carried === 0) return 0;
    const whole = this.#carried - (this.#carried % 3);
    let written = encodeGroups(this.#carry, 0, whole, output, 0);
    const left = this.#carried - whole;
    if (left > 0) {
      const a = this.#carry[whole] as number;
      const b = left === 2 ? (this.#carry[whole + 1] as number) : 0;
      output[written++] = CHARACTERS[a >> 2] as number;
      output[written++] = CHARACTERS[((a & 3) << 4) | (b >> 4)] as number;
      output[written++] = left === 2 ? (CHARACTERS[(b & 15) << 2] as number) : PAD_CHARACTER;
      output[written++] = PAD_CHARACTER;
    }
    if (this.#lines) output[written++] = LINE_FEED;
    this.#carry.fill(0);
    this.#carried = 0;
    return written;
  }
}

/** Two characters for every twelve bits, in the order in which a store of 16 bits puts them into memory. */
let pairs: Uint16Array | undefined;
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

function pairTable(): Uint16Array {
  if (!pairs) {
    pairs = new Uint16Array(4096);
    for (let i = 0; i < 4096; i++) {
      pairs[i] = (CHARACTERS[i >> 6] as number) | ((CHARACTERS[i & 63] as number) << 8);
    }
  }
  return pairs;
}

/** Whole groups without line ends. Returns the end of what was written. */
function encodeGroups(input: Uint8Array, from: number, to: number, output: Uint8Array, at: number): number {
  if (littleEndian && to - from > LINE_BYTES && (output.byteOffset + at) % 2 === 0) {
    return encodeGroupsInPairs(input, from, to, output, at);
  }
  let o = at;
  for (let i = from; i < to; i += 3) {
    const a = input[i] as number;
    const b = input[i + 1] as number;
    const c = input[i + 2] as number;
    output[o] = CHARACTERS[a >> 2] as number;
    output[o + 1] = CHARACTERS[((a & 3) << 4) | (b >> 4)] as number;
    output[o + 2] = CHARACTERS[((b & 15) << 2) | (c >> 6)] as number;
    output[o + 3] = CHARACTERS[c & 63] as number;
    o += 4;
  }
  return o;
}

/** The same with half the stores and lookups: three times as fast, on even addresses. */
function encodeGroupsInPairs(
  input: Uint8Array,
  from: number,
  to: number,
  output: Uint8Array,
  at: number,
): number {
  const table = pairTable();
  const units = ((to - from) / 3) * 2;
  const out = new Uint16Array(output.buffer, output.byteOffset + at, units);
  let o = 0;
  for (let i = from; i < to; i += 3) {
    const v = ((input[i] as number) << 16) | ((input[i + 1] as number) << 8) | (input[i + 2] as number);
    out[o] = table[v >> 12] as number;
    out[o + 1] = table[v & 4095] as number;
    o += 2;
  }
  return at + units * 2;
}

/** Whole lines. Returns the end of what was written. */
function encodeLines(input: Uint8Array, from: number, to: number, output: Uint8Array, at: number): number {
  let i = from;
  let o = at;
  const line = (): void => {
    o = encodeGroups(input, i, i + LINE_BYTES, output, o);
    output[o++] = LINE_FEED;
    i += LINE_BYTES;
  };
  // A line has an odd number of bytes: after one of them the next starts on an even address.
  if (i < to && (output.byteOffset + o) % 2 !== 0) line();
  const lines = littleEndian ? Math.floor((to - i) / (2 * LINE_BYTES)) * 2 : 0;
  if (lines > 0) {
    encodeLinesInPairs(input, i, output, o, lines);
    i += lines * LINE_BYTES;
    o += lines * (LINE_BYTES / 3) * 4 + lines;
  }
  while (i < to) line();
  return o;
}

/**
 * Two lines at a time are 65 stores of 16 bits: the second one is shifted by a character, since a line feed precedes it.
 */
function encodeLinesInPairs(
  input: Uint8Array,
  from: number,
  output: Uint8Array,
  at: number,
  lines: number,
): void {
  const table = pairTable();
  const out = new Uint16Array(output.buffer, output.byteOffset + at, (lines / 2) * 65);
  let i = from;
  let o = 0;
  for (let n = 0; n < lines; n += 2) {
    const middle = i + LINE_BYTES;
    const end = middle + LINE_BYTES;
    for (; i < middle; i += 3) {
      const v = ((input[i] as number) << 16) | ((input[i + 1] as number) << 8) | (input[i + 2] as number);
      out[o] = table[v >> 12] as number;
      out[o + 1] = table[v & 4095] as number;
      o += 2;
    }
    let before = LINE_FEED;
    for (; i < end; i += 3) {
      const v = ((input[i] as number) << 16) | ((input[i + 1] as number) << 8) | (input[i + 2] as number);
      const high = table[v >> 12] as number;
      const low = table[v & 4095] as number;
      out[o] = before | (high << 8);
      out[o + 1] = (high >> 8) | (low << 8);
      before = low >> 8;
      o += 2;
    }
    out[o++] = before | (LINE_FEED << 8);
  }
}

export class Base64Decoder {
  /** Bits of a group that is not complete. */
  #bits = 0;
  #characters = 0;
  /** Padding characters seen; after the first nothing but padding and blanks may come. */
  #pads = 0;
  /** Offset in the text of the next character. */
  #offset = 0;

  /** Room that `update` and `final` together may need for `characters` of input. */
  static outputBytes(characters: number): number {
    return Math.ceil((characters + 3) / 4) * 3;
  }

  /** Decodes all that it can; returns the number of bytes written to `output`. Throws `BAD_BASE64`. */
  update(input: Uint8Array, output: Uint8Array): number {
    const end = input.length;
    let i = 0;
    let o = 0;
    if (this.#offset === 0 && end >= 3 && input[0] === 0xef && input[1] === 0xbb && input[2] === 0xbf) {
      // A byte order mark, as Windows editors put before text.
      i = 3;
    }
    while (i < end) {
      if (this.#characters === 0 && this.#pads === 0) {
        // Whole groups: nearly all of the text goes this way.
        while (i + 4 <= end) {
          const a = VALUES[input[i] as number] as number;
          const b = VALUES[input[i + 1] as number] as number;
          const c = VALUES[input[i + 2] as number] as number;
          const d = VALUES[input[i + 3] as number] as number;
          if ((a | b | c | d) > 63) break;
          output[o] = (a << 2) | (b >> 4);
          output[o + 1] = (b << 4) | (c >> 2);
          output[o + 2] = (c << 6) | d;
          o += 3;
          i += 4;
        }
        if (i >= end) break;
      }
      const code = input[i] as number;
      const value = VALUES[code] as number;
      if (value < 64) {
        if (this.#pads > 0) this.#refuseAfterPadding(i);
        this.#bits = (this.#bits << 6) | value;
        if (++this.#characters === 4) {
          output[o++] = this.#bits >> 16;
          output[o++] = this.#bits >> 8;
          output[o++] = this.#bits;
          this.#bits = 0;
          this.#characters = 0;
        }
      } else if (value === PAD) {
        this.#pads++;
        // Padding completes a group of two or three characters; a pair of them at most.
        if (this.#characters < 2 || this.#characters + this.#pads > 4) this.#refuse(code, i);
      } else if (value === INVALID) {
        this.#refuse(code, i, input);
      }
      i++;
    }
    this.#offset += end;
    return o;
  }

  /** Decodes a last group, with or without its padding; returns the number of bytes written. Throws `BAD_BASE64`. */
  final(output: Uint8Array): number {
    const characters = this.#characters;
    this.#characters = 0;
    if (characters === 0) return 0;
    if (characters === 1) {
      throw new HwcryptError(
        'BAD_BASE64',
        'the base64 text is cut: its last group has only one character (is the end of the input missing?)',
      );
    }
    if (characters === 2) {
      output[0] = this.#bits >> 4;
      return 1;
    }
    output[0] = this.#bits >> 10;
    output[1] = this.#bits >> 2;
    return 2;
  }

  #refuse(code: number, at: number, input?: Uint8Array): never {
    const where = `byte 0x${code.toString(16).padStart(2, '0')} at offset ${this.#offset + at}`;
    let hint = 'did you mean to omit -a?';
    if (code === 0x5f && this.#offset + at === 'Salted'.length) {
      hint = 'this looks like a binary file of openssl enc (Salted__): omit -a';
    } else if (code === 0x2d || code === 0x5f) {
      const rest = input
        ? Buffer.from(input.buffer, input.byteOffset + at, input.length - at).subarray(0, 5)
        : '';
      hint = rest.toString('latin1') === '-----' ? 'that is a PEM line: remove it' : urlSafeHint;
    } else if (code === 0x00 || code === 0xff || code === 0xfe) {
      hint = 'did you mean to omit -a, or is it UTF-16 text?';
    } else if (code === PAD_CHARACTER) {
      hint = 'padding in a wrong place: is text missing before it?';
    }
    throw new HwcryptError('BAD_BASE64', `input is not base64 (${where}); ${hint}`);
  }

  #refuseAfterPadding(at: number): never {
    throw new HwcryptError(
      'BAD_BASE64',
      `base64 goes on after its padding, at offset ${this.#offset + at}: are these two texts in one file?`,
    );
  }
}

const urlSafeHint = "that is the URL-safe alphabet: convert it first with tr -- '-_' '+/'";
