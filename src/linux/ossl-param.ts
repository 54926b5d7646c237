/**
 * OSSL_PARAM arrays, by which OpenSSL 3 takes named values: the layout, for whoever calls OpenSSL through ffi.ts.
 *
 * Source: openssl/core.h, OSSL_PARAM(3).
 */
import { type Abi, hostAbi, putWord } from './abi.js';

/** `data_type`. */
export const OSSL_PARAM = { UNSIGNED_INTEGER: 2, UTF8_STRING: 4, OCTET_STRING: 5 } as const;

export interface OsslParam {
  /** Address of the name, ended by a zero byte. */
  readonly key: number;
  readonly type: number;
  /** Address of the value, and its length in bytes. */
  readonly data: number;
  readonly size: number;
}

/** `struct { const char *key; unsigned int data_type; void *data; size_t data_size, return_size; }` each, and an end of zeros. */
export function encodeOsslParams(params: readonly OsslParam[], abi: Abi = hostAbi()): Uint8Array {
  const word = abi.wordBytes;
  const bytes = new Uint8Array((params.length + 1) * 5 * word);
  const view = new DataView(bytes.buffer);
  for (const [i, { key, type, data, size }] of params.entries()) {
    const at = i * 5 * word;
    putWord(view, at, key, abi);
    view.setUint32(at + word, type, abi.littleEndian);
    putWord(view, at + 2 * word, data, abi);
    putWord(view, at + 3 * word, size, abi);
  }
  return bytes;
}
