/**
 * Checks of key, IV, nonce and tag lengths that are the same whatever the driver, with the errors node:crypto gives.
 * Drivers call them before their own library or kernel sees the values.
 */
import type { AeadAlgorithm, CipherAlgorithm } from '../algorithms.js';
import { nodeRangeError, nodeTypeError } from '../errors.js';
import { checkedLength } from './buffers.js';

// Apart, which keeps the checks small enough for V8 to build them into their callers.
const invalidKey = (): RangeError => nodeRangeError('ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
const invalidIv = (): TypeError => nodeTypeError('ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');

/** @throws RangeError ERR_CRYPTO_INVALID_KEYLEN */
export function checkKey(
  algorithm: {
    readonly keyBytes?: number | undefined;
    readonly keyRange?: readonly [number, number] | undefined;
  },
  key: Uint8Array,
): number {
  const length = checkedLength(key, 'key');
  const { keyBytes, keyRange } = algorithm;
  const fits = keyRange
    ? length >= keyRange[0] && length <= keyRange[1]
    : keyBytes === undefined || length === keyBytes;
  if (!fits) throw invalidKey();
  return length;
}

/** @throws TypeError ERR_CRYPTO_INVALID_IV. Returns the length, 0 for an algorithm without one. */
export function checkIv(algorithm: CipherAlgorithm | AeadAlgorithm, iv: Uint8Array | null): number {
  const length = iv === null ? 0 : checkedLength(iv, 'iv');
  const fits =
    algorithm.kind === 'aead'
      ? length >= algorithm.ivRange[0] && length <= algorithm.ivRange[1]
      : length === algorithm.ivBytes;
  if (!fits) throw invalidIv();
  return length;
}

/** @throws TypeError ERR_CRYPTO_INVALID_AUTH_TAG */
export function checkTagBytes(algorithm: AeadAlgorithm, tagBytes: number): number {
  if (tagBytes !== algorithm.defaultTagBytes && !algorithm.tagBytes.includes(tagBytes)) {
    throw nodeTypeError(
      'ERR_CRYPTO_INVALID_AUTH_TAG',
      `Invalid authentication tag length: ${String(tagBytes)}`,
    );
  }
  return tagBytes;
}
