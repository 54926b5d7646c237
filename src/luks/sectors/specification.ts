/**
 * dm-crypt's cipher specifications as headers have them: `aes-xts-plain64`, `serpent-cbc-essiv:sha256`.
 *
 * Room `luks`. Source: Documentation/admin-guide/device-mapper/dm-crypt.rst, crypto/essiv.c.
 */
import { byCryptsetup, type CipherAlgorithm, cipherLike, type HashAlgorithm } from '../../algorithms.js';
import { printable } from '../../files/io.js';
import { unsupported } from '../errors.js';
import { diskHash } from '../keyslot/hash.js';

/** How a sector's number becomes its IV. */
export type IvGenerator =
  /** 32 bits, little-endian; 64 bits; 64 bits at the end, big-endian; zeros; none, as in ECB. */
  | { readonly kind: 'plain' | 'plain64' | 'plain64be' | 'null' | 'none' }
  /** plain64, encrypted with the hash of the key. */
  | { readonly kind: 'essiv'; readonly hash: HashAlgorithm; readonly cipher: CipherAlgorithm };

export interface SectorSpecification {
  readonly text: string;
  readonly algorithm: CipherAlgorithm;
  readonly iv: IvGenerator;
}

const PLAIN = ['plain', 'plain64', 'plain64be', 'null'] as const;

/** @throws LUKS_UNSUPPORTED for what no driver's algorithm is */
export function parseSpecification(text: string, keyBytes: number): SectorSpecification {
  const shown = `${printable(text)} with a key of ${keyBytes * 8} bits`;
  const match = /^([a-z0-9_]+)-([a-z0-9]+)(?:-([a-z0-9]+)(?::([a-z0-9-]+))?)?$/.exec(text);
  if (!match) throw unsupported(`the cipher ${shown} is not supported`);
  const [, cipher, mode, generator, argument] = match;
  const algorithm = byCryptsetup(`${cipher}-${mode}`, keyBytes * 8);
  if (algorithm?.kind !== 'cipher' || algorithm.cipherBlockBytes !== 16) {
    throw unsupported(`the cipher ${shown} is not supported`);
  }
  const kind = PLAIN.find((name) => name === generator);
  if (algorithm.ivBytes === 0) return { text, algorithm, iv: { kind: 'none' } };
  if (kind !== undefined && argument === undefined) return { text, algorithm, iv: { kind } };
  if (generator === 'essiv' && argument !== undefined) {
    const hash = diskHash(argument);
    const salted = hash && cipherLike(`${algorithm.family}-${hash.digestBytes * 8}-ecb`);
    if (hash && salted?.kind === 'cipher') {
      return { text, algorithm, iv: { kind: 'essiv', hash, cipher: salted } };
    }
  }
  throw unsupported(`the IV of ${shown} is not supported`);
}
