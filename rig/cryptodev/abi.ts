/**
 * The ABI of cryptodev-linux 1.14 on a 64-bit little-endian machine, as the provider understands it: numbers and offsets.
 *
 * Written from the facts alone and apart from what the driver in src/ has, so that two readings check each other.
 * Source: cryptodev-linux, crypto/cryptodev.h.
 */

export const CRIOGET = 0xc0046365;
export const CIOCGSESSION = 0xc0306366;
export const CIOCFSESSION = 0x40046367;
export const CIOCCRYPT = 0xc0306368;
export const CIOCKEY = 0xc0906369;
export const CIOCASYMFEAT = 0x8004636a;
export const CIOCGSESSINFO = 0xc10c636b;
export const CIOCAUTHCRYPT = 0xc048636d;
export const CIOCASYNCCRYPT = 0x4030636e;
export const CIOCASYNCFETCH = 0x8030636f;
export const CIOCCPHASH = 0x40086370;

export const COP_ENCRYPT = 0;
export const COP_DECRYPT = 1;

export const FLAG = {
  UPDATE: 1,
  FINAL: 2,
  WRITE_IV: 4,
  NO_ZC: 8,
  AEAD_TLS: 16,
  AEAD_SRTP: 32,
  RESET: 64,
} as const;

/** struct session_op */
export const SESSION_OP = {
  bytes: 48,
  cipher: 0,
  mac: 4,
  keylen: 8,
  key: 16,
  mackeylen: 24,
  mackey: 32,
  ses: 40,
} as const;

/** struct crypt_op; `op` and `flags` have 16 bits. */
export const CRYPT_OP = {
  bytes: 48,
  ses: 0,
  op: 4,
  flags: 6,
  len: 8,
  src: 16,
  dst: 24,
  mac: 32,
  iv: 40,
} as const;

/** struct crypt_auth_op; `op` and `flags` have 16 bits. */
export const CRYPT_AUTH_OP = {
  bytes: 72,
  ses: 0,
  op: 4,
  flags: 6,
  len: 8,
  authLen: 12,
  authSrc: 16,
  src: 24,
  dst: 32,
  tag: 40,
  tagLen: 48,
  iv: 56,
  ivLen: 64,
} as const;

/** struct session_info_op: two names of the cipher, two of the hash, 64 bytes each. */
export const SESSION_INFO_OP = {
  bytes: 268,
  ses: 0,
  cipherName: 4,
  cipherDriver: 68,
  hashName: 132,
  hashDriver: 196,
  alignmask: 260,
  flags: 264,
  nameBytes: 64,
} as const;
export const SIOP_FLAG_KERNEL_DRIVER_ONLY = 1;

/** struct cphash_op */
export const CPHASH_OP = { bytes: 8, dst: 0, src: 4 } as const;

export const MAX_CIPHER_KEY_BYTES = 64;
export const MAX_MAC_KEY_BYTES = 512;
/** What the module copies at once where it cannot use the caller's pages. */
export const PAGE_BYTES = 4096;
/** The longest digest, and the room that the module has for one. */
export const MAX_DIGEST_BYTES = 64;
