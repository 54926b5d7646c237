/**
 * Which ciphers `enc` takes.
 *
 * Room `enc`.
 */
import { getCipherInfo } from 'node:crypto';
import {
  type AeadAlgorithm,
  type CipherAlgorithm,
  type CipherMode,
  cipherLike,
  suggest,
} from '../algorithms.js';
import { HwcryptError } from '../errors.js';

/**
 * The cipher of a name, in any spelling that OpenSSL knows; undefined for a name that nobody knows.
 * What the table lacks (RC2, DESX) is described by node:crypto.
 */
export function findCipher(name: string): CipherAlgorithm | AeadAlgorithm | undefined {
  return cipherLike(name) ?? adHoc(name);
}

const AD_HOC_MODES: readonly string[] = ['ecb', 'cbc', 'ctr', 'cfb', 'ofb'];

function adHoc(name: string): CipherAlgorithm | undefined {
  const info = getCipherInfo(name.toLowerCase());
  if (!info || !AD_HOC_MODES.includes(info.mode)) return undefined;
  const mode = info.mode as CipherMode;
  return {
    kind: 'cipher',
    name: info.name.toLowerCase(),
    aliases: [name.toLowerCase()],
    names: { openssl: info.name },
    status: 'legacy',
    adHoc: true,
    family: info.name.toLowerCase().replace(/-.*/, ''),
    mode,
    keyBytes: info.keyLength,
    ivBytes: info.ivLength ?? 0,
    blockBytes: mode === 'ecb' || mode === 'cbc' ? (info.blockSize as number) : 1,
    cipherBlockBytes: info.ivLength ?? (info.blockSize as number),
    parallel: 'none',
    handover: false,
  };
}

/**
 * As `findCipher`, but throws in OpenSSL's words for what `enc` cannot do: its format has no room for a tag, and XTS
 * encrypts disks, not streams.
 *
 * @throws HwcryptError USAGE
 */
export function requireEncCipher(name: string): CipherAlgorithm {
  const found = findCipher(name);
  if (!found) {
    if (getCipherInfo(name.toLowerCase())?.mode === 'wrap') {
      throw new HwcryptError(
        'USAGE',
        'key wrap ciphers not supported: they take one short message, not a stream',
      );
    }
    const near = suggestCiphers(name);
    throw new HwcryptError(
      'USAGE',
      `Unknown cipher: ${name}${near.length > 0 ? ` (did you mean ${near.join(', ')}?)` : ' (see hwcrypt list ciphers)'}`,
    );
  }
  if (found.kind === 'aead') {
    throw new HwcryptError('USAGE', 'AEAD ciphers not supported: the format of enc has no room for a tag');
  }
  if (found.mode === 'xts') {
    throw new HwcryptError('USAGE', 'XTS ciphers not supported: they encrypt disk sectors, not streams');
  }
  return found;
}

/** Names near one that nobody knows, of ciphers that `enc` takes. */
export function suggestCiphers(name: string): readonly string[] {
  return suggest(name).filter((near) => {
    const cipher = findCipher(near);
    return cipher?.kind === 'cipher' && cipher.mode !== 'xts';
  });
}
