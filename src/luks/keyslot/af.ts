/**
 * The anti-forensic splitter: a key spread over many stripes, all of which are needed to have it back, so that a few overwritten sectors
 * destroy it.
 *
 * Room `luks`. Source: LUKS1 On-Disk Format Specification 1.2.3, section 2.4.
 */
import { randomFillSync } from 'node:crypto';

import type { HashAlgorithm } from '../../algorithms.js';
import type { DigestSession } from '../../drivers/driver.js';
import type { Router } from '../../routing/router.js';
import { unsupported } from '../errors.js';

/** What everybody writes. */
export const STRIPES = 4000;
/** More of them only take time: each is hashed. */
const MAX_STRIPES = 2 ** 16;

/** The key in `material`, which is `stripes` times as long. @throws LUKS_UNSUPPORTED */
export function merge(
  material: Uint8Array,
  keyBytes: number,
  stripes: number,
  hash: HashAlgorithm,
  router: Router,
): Buffer {
  if (stripes > MAX_STRIPES) throw unsupported(`a keyslot of ${stripes} stripes is not supported`);
  const key = Buffer.alloc(keyBytes);
  withDiffusion(hash, router, (diffuse) => {
    for (let i = 0; i < stripes; i++) {
      if (i > 0) diffuse(key);
      exclusiveOr(key, material, i * keyBytes);
    }
  });
  return key;
}

/** Random stripes that `merge` makes `key` of. */
export function split(key: Uint8Array, stripes: number, hash: HashAlgorithm, router: Router): Buffer {
  const keyBytes = key.length;
  const material = Buffer.alloc(keyBytes * stripes);
  const last = (stripes - 1) * keyBytes;
  randomFillSync(material, 0, last);
  const state = Buffer.alloc(keyBytes);
  withDiffusion(hash, router, (diffuse) => {
    for (let i = 0; i < stripes - 1; i++) {
      exclusiveOr(state, material, i * keyBytes);
      diffuse(state);
    }
  });
  exclusiveOr(state, key, 0);
  material.set(state, last);
  state.fill(0);
  return material;
}

function exclusiveOr(target: Uint8Array, source: Uint8Array, at: number): void {
  for (let k = 0; k < target.length; k++) target[k]! ^= source[at + k]!;
}

/** Each piece as long as a digest becomes the hash of its number and itself; of the last, what fits. */
function withDiffusion(
  hash: HashAlgorithm,
  router: Router,
  work: (diffuse: (state: Uint8Array) => void) => void,
): void {
  const { driver, options } = router.route(hash);
  const session: DigestSession = driver.hash(hash, options);
  const size = hash.digestBytes;
  const block = Buffer.alloc(4 + size);
  const digest = Buffer.alloc(size);
  try {
    work((state) => {
      for (let at = 0, number = 0; at < state.length; at += size, number++) {
        const length = Math.min(size, state.length - at);
        block.writeUInt32BE(number);
        block.set(state.subarray(at, at + length), 4);
        session.once(block.subarray(0, 4 + length), digest);
        state.set(digest.subarray(0, length), at);
      }
    });
  } finally {
    block.fill(0);
    digest.fill(0);
    session.close();
  }
}
