/**
 * The numbers by which /dev/crypto knows algorithms, and what cryptodev-linux makes of each.
 *
 * Source: `enum cryptodev_crypto_op_t` in crypto/cryptodev.h and `crypto_create_session` in ioctl.c, version 1.14.
 */
export type IdKind = 'cipher' | 'aead' | 'hash' | 'mac';

export interface CryptodevId {
  readonly id: number;
  /** Without `CRYPTO_`: `AES_CBC`. */
  readonly name: string;
  /** What the id is; undefined for numbers that are no cipher or hash (compression, key derivation). */
  readonly kind?: IdKind;
  /** The kernel's name that cryptodev-linux maps it to. Absent: it has the number and no algorithm for it. */
  readonly kernel?: string;
  /** The first version of cryptodev-linux that maps it, where that is not one before 2012. */
  readonly since?: string;
  /** A key to try with, where hwcrypt has no algorithm of this id. */
  readonly trial?: { readonly keyBytes: number; readonly macKeyBytes?: number };
}

const TLS = 'TLS records as one operation, which no mainline kernel has (Freescale’s had)';
const COMPRESSION = 'compression, which is not done through /dev/crypto on Linux';
const KPDK = 'an old keyed hash of BSD’s IPsec';

/** In the order of the header. */
export const CRYPTODEV_IDS: readonly CryptodevId[] = [
  { id: 1, name: 'DES_CBC', kind: 'cipher', kernel: 'cbc(des)' },
  { id: 2, name: '3DES_CBC', kind: 'cipher', kernel: 'cbc(des3_ede)' },
  { id: 3, name: 'BLF_CBC', kind: 'cipher', kernel: 'cbc(blowfish)' },
  { id: 4, name: 'CAST_CBC', kind: 'cipher' },
  { id: 5, name: 'SKIPJACK_CBC', kind: 'cipher' },
  { id: 6, name: 'MD5_HMAC', kind: 'mac', kernel: 'hmac(md5)' },
  { id: 7, name: 'SHA1_HMAC', kind: 'mac', kernel: 'hmac(sha1)' },
  { id: 8, name: 'RIPEMD160_HMAC', kind: 'mac', kernel: 'hmac(rmd160)' },
  { id: 9, name: 'MD5_KPDK', kind: 'mac' },
  { id: 10, name: 'SHA1_KPDK', kind: 'mac' },
  { id: 11, name: 'AES_CBC', kind: 'cipher', kernel: 'cbc(aes)' },
  { id: 12, name: 'ARC4', kind: 'cipher' },
  { id: 13, name: 'MD5', kind: 'hash', kernel: 'md5' },
  { id: 14, name: 'SHA1', kind: 'hash', kernel: 'sha1' },
  { id: 15, name: 'DEFLATE_COMP' },
  { id: 16, name: 'NULL', kind: 'cipher', kernel: 'ecb(cipher_null)', trial: { keyBytes: 0 } },
  { id: 17, name: 'LZS_COMP' },
  { id: 18, name: 'SHA2_256_HMAC', kind: 'mac', kernel: 'hmac(sha256)' },
  { id: 19, name: 'SHA2_384_HMAC', kind: 'mac', kernel: 'hmac(sha384)' },
  { id: 20, name: 'SHA2_512_HMAC', kind: 'mac', kernel: 'hmac(sha512)' },
  { id: 21, name: 'AES_CTR', kind: 'cipher', kernel: 'ctr(aes)' },
  { id: 22, name: 'AES_XTS', kind: 'cipher', kernel: 'xts(aes)', since: '1.13' },
  { id: 23, name: 'AES_ECB', kind: 'cipher', kernel: 'ecb(aes)' },
  { id: 24, name: 'AES_CFB', kind: 'cipher', kernel: 'cfb(aes)', since: '1.13' },
  { id: 25, name: 'AES_OFB', kind: 'cipher', kernel: 'ofb(aes)', since: '1.13' },
  { id: 50, name: 'AES_GCM', kind: 'aead', kernel: 'gcm(aes)' },
  { id: 51, name: 'AES_CCM', kind: 'aead', kernel: 'ccm(aes)', since: '1.13' },
  { id: 101, name: 'CAMELLIA_CBC', kind: 'cipher', kernel: 'cbc(camellia)' },
  { id: 102, name: 'RIPEMD160', kind: 'hash', kernel: 'rmd160' },
  { id: 103, name: 'SHA2_224', kind: 'hash', kernel: 'sha224' },
  { id: 104, name: 'SHA2_256', kind: 'hash', kernel: 'sha256' },
  { id: 105, name: 'SHA2_384', kind: 'hash', kernel: 'sha384' },
  { id: 106, name: 'SHA2_512', kind: 'hash', kernel: 'sha512' },
  { id: 107, name: 'SHA2_224_HMAC', kind: 'mac', kernel: 'hmac(sha224)' },
  {
    id: 108,
    name: 'TLS11_AES_CBC_HMAC_SHA1',
    kind: 'aead',
    kernel: 'tls11(hmac(sha1),cbc(aes))',
    since: '1.11',
    trial: { keyBytes: 16, macKeyBytes: 20 },
  },
  {
    id: 109,
    name: 'TLS12_AES_CBC_HMAC_SHA256',
    kind: 'aead',
    kernel: 'tls12(hmac(sha256),cbc(aes))',
    since: '1.11',
    trial: { keyBytes: 16, macKeyBytes: 32 },
  },
];

const byId = new Map(CRYPTODEV_IDS.map((entry) => [entry.id, entry]));

export function cryptodevId(id: number): CryptodevId | undefined {
  return byId.get(id);
}

/** What an id is for that hwcrypt has no algorithm of, or does not use; undefined for the others. */
export function idNote({ id, name }: CryptodevId): string | undefined {
  if (name.startsWith('TLS')) return TLS;
  if (name.endsWith('_COMP')) return COMPRESSION;
  if (name.endsWith('_KPDK')) return KPDK;
  return id === 16 ? 'copies: what a request costs without any crypto' : undefined;
}
