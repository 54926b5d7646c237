/**
 * Hashes, and the MACs over them and over block ciphers.
 *
 * Sources: `openssl list -digest-algorithms` (3.0) and the OpenSSL names.h; crypto/*.c of Linux; crypto/cryptodev.h of
 * cryptodev-linux; gcrypt.h 1.10; nettle-meta.h 3.8; QCryptoHashAlgo of QEMU; FIPS 180-4 and 202, RFC 7693, RFC 4493.
 */
import type { HashAlgorithm, MacAlgorithm, Names, Status } from '../algorithms.js';

/** A hash with the facts of its HMAC beside it. */
interface Hash {
  readonly name: string;
  readonly digestBytes: number;
  readonly blockBytes: number;
  readonly xof?: true;
  readonly openssl: string;
  readonly kernel?: string;
  readonly cryptodev?: number;
  /** GCRY_MD_*. */
  readonly gcrypt?: number;
  readonly nettle?: string;
  readonly qemu?: string;
  readonly status?: Status;
  readonly note?: string;
  readonly aliases?: readonly string[];
  /** Its HMAC: ids of its own, and whether nettle has it by name. */
  readonly hmac?: { readonly cryptodev?: number; readonly gcrypt?: number; readonly nettle?: true };
}

/** Names that OpenSSL keeps for signatures and that it takes for the hash in them. */
const rsa = (name: string, own = name) => [`rsa-${name}`, `${own}withrsaencryption`];

const HASHES: readonly Hash[] = [
  {
    name: 'sha1',
    digestBytes: 20,
    blockBytes: 64,
    openssl: 'SHA1',
    kernel: 'sha1',
    cryptodev: 14,
    gcrypt: 2,
    nettle: 'sha1',
    qemu: 'sha1',
    status: 'legacy',
    note: 'collisions can be bought (SHAttered 2017, chosen prefix 2020)',
    aliases: ['sha-1', 'ssl3-sha1', ...rsa('sha1'), 'rsa-sha1-2', '1.3.14.3.2.26'],
    hmac: { cryptodev: 7, gcrypt: 105, nettle: true },
  },
  ...[
    {
      bits: 224,
      cryptodev: 103,
      gcrypt: 11,
      mac: { cryptodev: 107, gcrypt: 102, nettle: true } as const,
      oid: 4,
    },
    {
      bits: 256,
      cryptodev: 104,
      gcrypt: 8,
      mac: { cryptodev: 18, gcrypt: 101, nettle: true } as const,
      oid: 1,
    },
    {
      bits: 384,
      cryptodev: 105,
      gcrypt: 9,
      mac: { cryptodev: 19, gcrypt: 104, nettle: true } as const,
      oid: 2,
    },
    {
      bits: 512,
      cryptodev: 106,
      gcrypt: 10,
      mac: { cryptodev: 20, gcrypt: 103, nettle: true } as const,
      oid: 3,
    },
  ].map(({ bits, cryptodev, gcrypt, mac, oid }): Hash => {
    const name = `sha${bits}`;
    return {
      name,
      digestBytes: bits / 8,
      blockBytes: bits > 256 ? 128 : 64,
      openssl: `SHA${bits}`,
      kernel: name,
      cryptodev,
      gcrypt,
      nettle: name,
      qemu: name,
      aliases: [`sha-${bits}`, `sha2-${bits}`, ...rsa(name), `2.16.840.1.101.3.4.2.${oid}`],
      hmac: mac,
    };
  }),
  ...[
    { bits: 224, gcrypt: 328, mac: 130, oid: 5 },
    { bits: 256, gcrypt: 327, mac: 129, oid: 6 },
  ].map(
    ({ bits, gcrypt, mac, oid }): Hash => ({
      name: `sha512-${bits}`,
      digestBytes: bits / 8,
      blockBytes: 128,
      openssl: `SHA512-${bits}`,
      gcrypt,
      nettle: `sha512_${bits}`,
      aliases: [
        `sha-512/${bits}`,
        `sha2-512/${bits}`,
        ...rsa(`sha512/${bits}`, `sha512-${bits}`),
        `2.16.840.1.101.3.4.2.${oid}`,
      ],
      hmac: { gcrypt: mac },
    }),
  ),
  ...[224, 256, 384, 512].map(
    (bits, i): Hash => ({
      name: `sha3-${bits}`,
      digestBytes: bits / 8,
      blockBytes: 200 - bits / 4,
      openssl: `SHA3-${bits}`,
      kernel: `sha3-${bits}`,
      gcrypt: 312 + i,
      nettle: `sha3_${bits}`,
      aliases: [
        `rsa-sha3-${bits}`,
        `id-rsassa-pkcs1-v1_5-with-sha3-${bits}`,
        `2.16.840.1.101.3.4.2.${7 + i}`,
      ],
      hmac: { gcrypt: 115 + i },
    }),
  ),
  ...[128, 256].map(
    (bits, i): Hash => ({
      name: `shake${bits}`,
      digestBytes: bits / 8,
      blockBytes: 200 - bits / 4,
      xof: true,
      openssl: `SHAKE${bits}`,
      gcrypt: 316 + i,
      aliases: [`shake-${bits}`, `2.16.840.1.101.3.4.2.${11 + i}`],
    }),
  ),
  {
    name: 'blake2b512',
    digestBytes: 64,
    blockBytes: 128,
    openssl: 'BLAKE2B-512',
    kernel: 'blake2b-512',
    gcrypt: 318,
    aliases: ['blake2b-512', '1.3.6.1.4.1.1722.12.2.1.16'],
    hmac: { gcrypt: 120 },
  },
  {
    name: 'blake2s256',
    digestBytes: 32,
    blockBytes: 64,
    openssl: 'BLAKE2S-256',
    kernel: 'blake2s-256',
    gcrypt: 322,
    aliases: ['blake2s-256', '1.3.6.1.4.1.1722.12.2.2.8'],
    hmac: { gcrypt: 124 },
  },
  {
    name: 'sm3',
    digestBytes: 32,
    blockBytes: 64,
    openssl: 'SM3',
    kernel: 'sm3',
    gcrypt: 326,
    nettle: 'sm3',
    qemu: 'sm3',
    aliases: [...rsa('sm3'), '1.2.156.10197.1.401'],
    hmac: { gcrypt: 128, nettle: true },
  },
  {
    name: 'ripemd160',
    digestBytes: 20,
    blockBytes: 64,
    openssl: 'RIPEMD160',
    kernel: 'rmd160',
    cryptodev: 102,
    gcrypt: 3,
    nettle: 'ripemd160',
    qemu: 'ripemd160',
    status: 'legacy',
    note: '160-bit digest: 80 bits against collisions',
    aliases: ['ripemd', 'ripemd-160', 'rmd160', 'rsa-ripemd160', 'ripemd160withrsa', '1.3.36.3.2.1'],
    hmac: { cryptodev: 8, gcrypt: 108, nettle: true },
  },
  {
    name: 'whirlpool',
    digestBytes: 64,
    blockBytes: 64,
    openssl: 'WHIRLPOOL',
    kernel: 'wp512',
    gcrypt: 305,
    status: 'legacy',
    note: 'out of use; OpenSSL keeps it in its legacy provider',
    aliases: ['1.0.10118.3.0.55'],
    hmac: { gcrypt: 110 },
  },
  {
    name: 'md5-sha1',
    digestBytes: 36,
    blockBytes: 64,
    openssl: 'MD5-SHA1',
    status: 'legacy',
    note: 'the handshake hash of TLS 1.0 and 1.1, no stronger than SHA-1',
    hmac: {},
  },
  {
    name: 'md5',
    digestBytes: 16,
    blockBytes: 64,
    openssl: 'MD5',
    kernel: 'md5',
    cryptodev: 13,
    gcrypt: 1,
    nettle: 'md5',
    qemu: 'md5',
    status: 'weak',
    note: 'collisions in seconds',
    aliases: ['ssl3-md5', ...rsa('md5'), '1.2.840.113549.2.5'],
    hmac: { cryptodev: 6, gcrypt: 106, nettle: true },
  },
  {
    name: 'md4',
    digestBytes: 16,
    blockBytes: 64,
    openssl: 'MD4',
    kernel: 'md4',
    gcrypt: 301,
    nettle: 'md4',
    status: 'weak',
    note: 'collisions by hand, preimages within reach',
    aliases: [...rsa('md4'), '1.2.840.113549.2.4'],
    hmac: { gcrypt: 107 },
  },
];

/** CMACs: the block cipher in hwcrypt's CBC name, and GCRY_MAC_CMAC_*. */
const CMACS: readonly {
  readonly stem: string;
  readonly keyBytes: number;
  readonly block: number;
  readonly kernel: string;
  readonly gcrypt: number;
  readonly nettle?: string;
  readonly status?: Status;
  readonly note?: string;
}[] = [
  { stem: 'aes-128', keyBytes: 16, block: 16, kernel: 'aes', gcrypt: 201, nettle: 'cmac_aes128' },
  { stem: 'aes-192', keyBytes: 24, block: 16, kernel: 'aes', gcrypt: 201 },
  { stem: 'aes-256', keyBytes: 32, block: 16, kernel: 'aes', gcrypt: 201, nettle: 'cmac_aes256' },
  { stem: 'camellia-128', keyBytes: 16, block: 16, kernel: 'camellia', gcrypt: 203 },
  { stem: 'camellia-192', keyBytes: 24, block: 16, kernel: 'camellia', gcrypt: 203 },
  { stem: 'camellia-256', keyBytes: 32, block: 16, kernel: 'camellia', gcrypt: 203 },
  { stem: 'sm4', keyBytes: 16, block: 16, kernel: 'sm4', gcrypt: 212 },
  {
    stem: 'des-ede3',
    keyBytes: 24,
    block: 8,
    kernel: 'des3_ede',
    gcrypt: 202,
    nettle: 'cmac_des3',
    status: 'legacy',
    note: '64-bit block: tags collide after some 2^32 messages',
  },
];

export function hashes(): HashAlgorithm[] {
  return HASHES.map((hash) => ({
    kind: 'hash',
    name: hash.name,
    aliases: hash.aliases ?? [],
    names: {
      openssl: hash.openssl,
      ...(hash.kernel ? { kernel: hash.kernel } : {}),
      ...(hash.cryptodev === undefined ? {} : { cryptodev: hash.cryptodev }),
      ...(hash.gcrypt === undefined ? {} : { gcrypt: { algo: hash.gcrypt } }),
      ...(hash.nettle ? { nettle: hash.nettle } : {}),
      ...(hash.qemu ? { qemu: hash.qemu } : {}),
    },
    status: hash.status ?? 'current',
    ...(hash.note ? { statusNote: hash.note } : {}),
    digestBytes: hash.digestBytes,
    blockBytes: hash.blockBytes,
    xof: hash.xof ?? false,
    parallel: 'none',
    handover: false,
  }));
}

/** HMAC over every hash but the extendable ones, for which OpenSSL and Linux have none. */
export function macs(): MacAlgorithm[] {
  const hmacs = HASHES.flatMap((hash) => (hash.hmac ? [hmacEntry(hash, hash.hmac)] : []));
  return [...hmacs, ...CMACS.map(cmacEntry)];
}

function hmacEntry(hash: Hash, own: NonNullable<Hash['hmac']>): MacAlgorithm {
  const names: Names = {
    openssl: 'HMAC',
    ...(hash.kernel ? { kernel: `hmac(${hash.kernel})` } : {}),
    ...(own.cryptodev === undefined ? {} : { cryptodev: own.cryptodev }),
    ...(own.gcrypt === undefined ? {} : { gcrypt: { algo: own.gcrypt } }),
    ...(own.nettle && hash.nettle ? { nettle: `hmac_${hash.nettle}` } : {}),
    ...(hash.qemu ? { qemu: `hmac(${hash.qemu})` } : {}),
  };
  // What breaks a hash does not break its HMAC, which needs no collision resistance: legacy, never weak.
  const status: Status = hash.status === undefined ? 'current' : 'legacy';
  return {
    kind: 'mac',
    name: `hmac-${hash.name}`,
    aliases: [],
    names,
    status,
    ...(hash.note ? { statusNote: `its hash: ${hash.note}` } : {}),
    construction: 'hmac',
    over: hash.name,
    digestBytes: hash.digestBytes,
    blockBytes: hash.blockBytes,
    parallel: 'none',
    handover: false,
  };
}

function cmacEntry(cipher: (typeof CMACS)[number]): MacAlgorithm {
  return {
    kind: 'mac',
    name: `cmac-${cipher.stem}`,
    aliases: [`cmac-${cipher.stem}-cbc`],
    names: {
      openssl: 'CMAC',
      kernel: `cmac(${cipher.kernel})`,
      gcrypt: { algo: cipher.gcrypt },
      ...(cipher.nettle ? { nettle: cipher.nettle } : {}),
    },
    status: cipher.status ?? 'current',
    ...(cipher.note ? { statusNote: cipher.note } : {}),
    construction: 'cmac',
    over: `${cipher.stem}-cbc`,
    digestBytes: cipher.block,
    blockBytes: cipher.block,
    keyBytes: cipher.keyBytes,
    parallel: 'none',
    handover: false,
  };
}

/** An entry for a hash that only OpenSSL knows. `blockBytes` (needed for HMAC alone) is 64 where it is not given. */
export function adHocHash(hash: {
  readonly name: string;
  readonly digestBytes: number;
  readonly blockBytes?: number;
  readonly xof?: boolean;
}): HashAlgorithm {
  return {
    kind: 'hash',
    name: hash.name.toLowerCase(),
    aliases: [],
    names: { openssl: hash.name },
    status: 'legacy',
    statusNote: 'not in the table: nothing is known of it but what OpenSSL says',
    adHoc: true,
    digestBytes: hash.digestBytes,
    blockBytes: hash.blockBytes ?? 64,
    xof: hash.xof ?? false,
    parallel: 'none',
    handover: false,
  };
}
