/** What is particular to XTS, whatever the driver. */
import { lengthOf } from './buffers.js';
import type { Direction } from './driver.js';

/**
 * XTS with two equal halves of the key is not the XTS that was proved (SP 800-38E; FIPS 140 IG A.9). OpenSSL refuses to
 * encrypt so; the kernel does not unless it is in FIPS mode, so it is not asked.
 *
 * @throws what OpenSSL says: ERR_OSSL_XTS_DUPLICATED_KEYS
 */
export function checkHalves(direction: Direction, key: Uint8Array): void {
  const half = lengthOf(key) / 2;
  if (direction !== 'encrypt' || half === 0) return;
  let difference = 0;
  for (let i = 0; i < half; i++) difference |= key[i]! ^ key[half + i]!;
  if (difference !== 0) return;
  throw Object.assign(new Error('error:1C800095:Provider routines::xts duplicated keys'), {
    library: 'Provider routines',
    reason: 'xts duplicated keys',
    code: 'ERR_OSSL_XTS_DUPLICATED_KEYS',
  });
}
