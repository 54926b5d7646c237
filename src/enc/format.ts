/**
 * The file format of `openssl enc`: nothing but an optional header of the 8 bytes `Salted__` and a salt, then ciphertext.
 * Neither the cipher nor the key derivation is recorded in it.
 *
 * Room `enc`. Follows apps/enc.c of OpenSSL 3.0 (header only where the salt was generated, never with -S) and 3.2
 * (-saltlen).
 */
import { HwcryptError } from '../errors.js';
import { counted } from '../files/io.js';

export const MAGIC = Buffer.from('Salted__', 'latin1');

/** The salt's length in every file that was not written with -saltlen. */
export const DEFAULT_SALT_BYTES = 8;

/** Longest salt that -saltlen may ask for. */
export const MAX_SALT_BYTES = 16;

/** How a base64-encoded file with a header begins, at any alignment that base64 can have here. */
export const MAGIC_BASE64 = 'U2FsdGVkX1';

export function encodeHeader(salt: Uint8Array): Buffer {
  return Buffer.concat([MAGIC, salt]);
}

export type Hex =
  | { readonly ok: true; readonly bytes: Buffer; readonly warning?: string }
  | { readonly ok: false; readonly problem: string };

/**
 * Hex as -K, -iv and -S read it: too short is filled up with zero bytes and too long is cut, each with OpenSSL's own
 * warning. `problem` never contains the text: it may be a key.
 */
export function parseHex(text: string, bytes: number): Hex {
  const digits = text.slice(0, bytes * 2);
  if (!/^[0-9a-fA-F]*$/.test(digits)) return { ok: false, problem: 'non-hex digit' };
  const result = Buffer.alloc(bytes);
  // An odd digit is the upper half of its byte, as in OpenSSL: `-K 012` is 01 20 00 …
  result.write(digits.length % 2 ? `${digits}0` : digits, 'hex');
  if (text.length > bytes * 2) {
    return { ok: true, bytes: result, warning: 'hex string is too long, ignoring excess' };
  }
  if (text.length < bytes * 2) {
    return { ok: true, bytes: result, warning: 'hex string is too short, padding with zero bytes to length' };
  }
  return { ok: true, bytes: result };
}

/** The bytes that had to begin a file, judged: its salt, or a typed error that says what is the matter. */
export function parseHeader(head: Uint8Array, saltBytes: number, base64: boolean): Buffer {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (bytes.length < MAGIC.length) {
    throw new HwcryptError(
      'TRUNCATED_INPUT',
      bytes.length === 0
        ? 'error reading input file: it is empty'
        : `error reading input file: it ends after ${counted(bytes.length, 'byte')}, in the middle of the header`,
    );
  }
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new HwcryptError('BAD_MAGIC', `bad magic number: ${whatInstead(bytes, base64)}`);
  }
  if (bytes.length < MAGIC.length + saltBytes) {
    throw new HwcryptError(
      'TRUNCATED_INPUT',
      `error reading input file: it ends after ${counted(bytes.length, 'byte')}, in the middle of the salt`,
    );
  }
  return Buffer.from(bytes.subarray(MAGIC.length, MAGIC.length + saltBytes));
}

function whatInstead(head: Buffer, base64: boolean): string {
  if (!base64 && looksLikeBase64Header(head)) return 'the input is base64: add -a';
  return (
    'the input does not begin with Salted__ ' +
    '(written with -nosalt, -S or -K? then give the same option; or not a file of openssl enc)'
  );
}

/** Does the text begin like the base64 of a file with a header? Blanks and a byte order mark may come first. */
export function looksLikeBase64Header(head: Uint8Array): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const start = text.replace(/^\u00ef\u00bb\u00bf/, '').trimStart();
  return start.length >= 6 && MAGIC_BASE64.startsWith(start.slice(0, MAGIC_BASE64.length));
}
