/** Hashes by the names that headers have them under. Room `luks`. */
import { type HashAlgorithm, hashAlgorithm } from '../../algorithms.js';
import { printable } from '../../files/io.js';
import { unsupported } from '../errors.js';

/** `sha256`, `ripemd160`, `whirlpool`, `blake2b-512` …; undefined for what is no hash or has no fixed length. */
export function diskHash(name: string): HashAlgorithm | undefined {
  const found = hashAlgorithm(name);
  return found?.xof ? undefined : found;
}

/** @throws LUKS_UNSUPPORTED */
export function requireDiskHash(name: string): HashAlgorithm {
  const found = diskHash(name);
  if (!found) throw unsupported(`the hash ${printable(name)} is not supported`);
  return found;
}
