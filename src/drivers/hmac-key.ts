/** HMAC keys as a kernel takes them: an empty or very long one is replaced by one that gives the same MAC. */
import { findAlgorithm, type HashAlgorithm, type MacAlgorithm } from '../algorithms.js';
import { lengthOf } from './buffers.js';
import type { DigestSession } from './driver.js';

/**
 * HMAC pads its key with zeros, so an empty one equals a zero byte (and some kernel drivers refuse it); and it hashes one that is
 * longer than a block, which is done here, by `hash`, for one of more than `mostBytes`.
 *
 * @returns the key itself, or memory of our own for the caller to wipe
 */
export function hmacKey(
  algorithm: MacAlgorithm,
  key: Uint8Array,
  mostBytes: number,
  hash: (over: HashAlgorithm) => DigestSession,
): Uint8Array {
  if (algorithm.construction !== 'hmac') return key;
  const length = lengthOf(key);
  if (length === 0) return new Uint8Array(1);
  if (length <= mostBytes) return key;
  const over = findAlgorithm(algorithm.over);
  if (over?.kind !== 'hash') return key;
  const hashed = new Uint8Array(over.digestBytes);
  const session = hash(over);
  try {
    session.once(key, hashed);
  } finally {
    session.close();
  }
  return hashed;
}
