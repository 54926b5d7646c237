/** What is particular to XTS, whatever the driver. */
import { HwcryptError } from '../errors.js';
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

/** SP 800-38E: a data unit is at most 2^20 blocks; OpenSSL and libgcrypt refuse longer ones. */
const UNIT_BYTES = 2 ** 20 * 16;

/**
 * The length of a data unit, for drivers whose library holds to SP 800-38E. None at all is none to be worked on.
 *
 * @throws HwcryptError PARTIAL_BLOCK, MESSAGE_TOO_LARGE
 */
export function checkUnit(driver: string, length: number): void {
  if (length > 0 && length < 16) {
    throw new HwcryptError('PARTIAL_BLOCK', 'an XTS data unit is at least 16 bytes long');
  }
  if (length > UNIT_BYTES) {
    throw new HwcryptError(
      'MESSAGE_TOO_LARGE',
      `${driver}: an XTS data unit is at most ${UNIT_BYTES} bytes long, this one has ${length}`,
    );
  }
}
