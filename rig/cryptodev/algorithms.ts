/**
 * What the module makes of each algorithm id: the kernel's name for it, and the lengths that the kernel's own generic driver takes.
 * Ids that are not here it answers with EINVAL; so it does TLS 1.1 and 1.2 (108, 109), whose templates are in no kernel.
 *
 * Source: cryptodev-linux ioctl.c; Linux 6.1 crypto/.
 */

export interface CipherAlgorithm {
  readonly kernelName: string;
  /** The generic driver, as far as its name is the same everywhere. */
  readonly driver: string;
  readonly mode: 'cbc' | 'ctr' | 'xts' | 'ecb' | 'cfb' | 'ofb' | 'null' | 'gcm' | 'ccm';
  /** OpenSSL's name, up to the length of the key in bits and the mode where they are part of it. */
  readonly openssl: 'des' | 'des-ede3' | 'bf' | 'aes' | 'camellia' | 'none';
  /** What the length of a request must be a multiple of. */
  readonly blockBytes: number;
  readonly ivBytes: number;
  readonly alignmask?: number;
  keyBytes(bytes: number): boolean;
  /** The module's flags: may it be used in SRTP, and is it an AEAD? */
  readonly stream: boolean;
  readonly aead: boolean;
}

export interface HashAlgorithm {
  readonly kernelName: string;
  readonly driver: string;
  readonly openssl: string;
  readonly digestBytes: number;
  readonly blockBytes: number;
  readonly keyed: boolean;
}

const aesKey = (bytes: number): boolean => bytes === 16 || bytes === 24 || bytes === 32;

const block = {
  mode: 'cbc',
  openssl: 'aes',
  blockBytes: 16,
  ivBytes: 16,
  keyBytes: aesKey,
  stream: false,
  aead: false,
} as const;
const small = { ...block, blockBytes: 8, ivBytes: 8 } as const;

export const CIPHERS: ReadonlyMap<number, CipherAlgorithm> = new Map<number, CipherAlgorithm>([
  [
    1,
    {
      ...small,
      kernelName: 'cbc(des)',
      driver: 'cbc(des-generic)',
      openssl: 'des',
      keyBytes: (n) => n === 8,
    },
  ],
  [
    2,
    {
      ...small,
      kernelName: 'cbc(des3_ede)',
      driver: 'cbc(des3_ede-generic)',
      openssl: 'des-ede3',
      keyBytes: (n) => n === 24,
    },
  ],
  [
    3,
    {
      ...small,
      kernelName: 'cbc(blowfish)',
      driver: 'cbc(blowfish-generic)',
      openssl: 'bf',
      keyBytes: (n) => n >= 4 && n <= 56,
    },
  ],
  [11, { ...block, kernelName: 'cbc(aes)', driver: 'cbc(aes-generic)' }],
  [
    16,
    {
      ...block,
      kernelName: 'ecb(cipher_null)',
      driver: 'ecb-cipher_null',
      mode: 'null',
      openssl: 'none',
      blockBytes: 1,
      ivBytes: 0,
      keyBytes: (n) => n === 0,
      stream: true,
    },
  ],
  [
    21,
    {
      ...block,
      kernelName: 'ctr(aes)',
      driver: 'ctr(aes-generic)',
      mode: 'ctr',
      blockBytes: 1,
      stream: true,
    },
  ],
  [
    22,
    {
      ...block,
      kernelName: 'xts(aes)',
      driver: 'xts(ecb(aes-generic))',
      mode: 'xts',
      alignmask: 7,
      keyBytes: (n) => n % 2 === 0 && aesKey(n / 2),
    },
  ],
  [23, { ...block, kernelName: 'ecb(aes)', driver: 'ecb(aes-generic)', mode: 'ecb', ivBytes: 0 }],
  [24, { ...block, kernelName: 'cfb(aes)', driver: 'cfb(aes-generic)', mode: 'cfb', blockBytes: 1 }],
  [25, { ...block, kernelName: 'ofb(aes)', driver: 'ofb(aes-generic)', mode: 'ofb', blockBytes: 1 }],
  [
    50,
    {
      ...block,
      kernelName: 'gcm(aes)',
      driver: 'gcm_base(ctr(aes-generic),ghash-generic)',
      mode: 'gcm',
      blockBytes: 1,
      ivBytes: 12,
      stream: true,
      aead: true,
    },
  ],
  [
    51,
    {
      ...block,
      kernelName: 'ccm(aes)',
      driver: 'ccm_base(ctr(aes-generic),cbcmac(aes-generic))',
      mode: 'ccm',
      blockBytes: 1,
      stream: true,
      aead: true,
    },
  ],
  [101, { ...block, kernelName: 'cbc(camellia)', driver: 'cbc(camellia-generic)', openssl: 'camellia' }],
]);

const digests = {
  md5: ['md5', 16, 64],
  rmd160: ['ripemd160', 20, 64],
  sha1: ['sha1', 20, 64],
  sha224: ['sha224', 28, 64],
  sha256: ['sha256', 32, 64],
  sha384: ['sha384', 48, 128],
  sha512: ['sha512', 64, 128],
} as const;

function hash(name: keyof typeof digests, keyed: boolean): HashAlgorithm {
  const [openssl, digestBytes, blockBytes] = digests[name];
  return {
    kernelName: keyed ? `hmac(${name})` : name,
    driver: keyed ? `hmac(${name}-generic)` : `${name}-generic`,
    openssl,
    digestBytes,
    blockBytes,
    keyed,
  };
}

export const HASHES: ReadonlyMap<number, HashAlgorithm> = new Map([
  [6, hash('md5', true)],
  [7, hash('sha1', true)],
  [8, hash('rmd160', true)],
  [13, hash('md5', false)],
  [14, hash('sha1', false)],
  [18, hash('sha256', true)],
  [19, hash('sha384', true)],
  [20, hash('sha512', true)],
  [102, hash('rmd160', false)],
  [103, hash('sha224', false)],
  [104, hash('sha256', false)],
  [105, hash('sha384', false)],
  [106, hash('sha512', false)],
  [107, hash('sha224', true)],
]);
