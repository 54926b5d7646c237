/**
 * Checks of key, IV, nonce and tag lengths that are the same whatever the driver, with the errors node:crypto gives.
 * Drivers call them before their own library or kernel sees the values.
 */
import type { AeadAlgorithm, CipherAlgorithm } from '../algorithms.js';
import { HwcryptError, nodeRangeError, nodeTypeError } from '../errors.js';
import { checkedLength } from './buffers.js';

// Apart, which keeps the checks small enough for V8 to build them into their callers.
const invalidKey = (): RangeError => nodeRangeError('ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
const invalidIv = (): TypeError => nodeTypeError('ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');

const roomOf = (ivBytes: number): number => 2 ** (8 * (15 - ivBytes)) - 1;
function noRoom(driver: string, ivBytes: number, textBytes: number): HwcryptError {
  const message = `with a nonce of ${ivBytes} bytes a CCM message is at most ${roomOf(ivBytes)} bytes long; this one has ${textBytes}`;
  return new HwcryptError('MESSAGE_TOO_LARGE', `${driver}: ${message}`, {
    reason: { code: 'MESSAGE_TOO_LARGE', message, cure: 'use a shorter nonce, or smaller messages' },
  });
}

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

/**
 * CCM keeps 15 bytes less the nonce's of a block for the length of the text (SP 800-38C), so a long nonce leaves room for a short text only.
 * Libraries cut the length, abort, or fail without a reason; so nothing is left to them.
 *
 * @throws HwcryptError MESSAGE_TOO_LARGE
 */
export function checkRoom(
  driver: string,
  algorithm: AeadAlgorithm,
  ivBytes: number,
  textBytes: number,
): void {
  if (algorithm.mode === 'ccm' && textBytes > roomOf(ivBytes)) throw noRoom(driver, ivBytes, textBytes);
}
