/**
 * Sizes on the command line.
 *
 * Room `cli`.
 */
import { HwcryptError } from '../errors.js';
import type { Given } from './options.js';

/** Bytes of each suffix. */
export const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
};

/** A size in bytes: `4096`, `64K`, `1M`, `2GiB`; K, M, G and T count in 1024s, as in cryptsetup, qemu-img and truncate. */
export function sizeOf(given: Given, name: string): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  const [, digits, unit = ''] = /^(\d+)(?:([kKmMgGtT])(?:iB)?)?$/.exec(text) ?? [];
  const bytes = digits === undefined ? Number.NaN : Number(digits) * UNITS[unit.toUpperCase()]!;
  if (!Number.isSafeInteger(bytes)) {
    throw new HwcryptError(
      'USAGE',
      `--${name} takes a number of bytes, as 4096, 64K, 1M or 2G, not "${text}"`,
    );
  }
  return bytes;
}
