/**
 * The one table of algorithms: what each is, and its name in every world.
 *
 * Room: none above; imports nothing but its own parts in `algorithms/`. Any room may import this file, and only
 * this file: `algorithms/block-ciphers.ts` and its neighbours hold the families from which the table is made.
 *
 * hwcrypt's own name of an algorithm is OpenSSL's, in lower case (`aes-128-cbc`), and a name of the same shape
 * where OpenSSL has none (`serpent-256-xts`). One entry is one algorithm at one key size, since that is what
 * every API that takes a name means by it.
 */

export type Kind = 'cipher' | 'aead' | 'hash' | 'mac';

export type CipherMode = 'ecb' | 'cbc' | 'ctr' | 'cfb' | 'cfb8' | 'cfb1' | 'ofb' | 'xts' | 'stream';
export type AeadMode = 'gcm' | 'ccm' | 'ocb' | 'chacha20-poly1305';

/** How much an algorithm should still be used; `list` shows anything but `current`. */
export type Status = 'current' | 'legacy' | 'weak';

/** An algorithm's name in the worlds that hwcrypt talks to. A world that lacks it is left out. */
export interface Names {
  /** EVP_CIPHER_fetch, EVP_MD_fetch or (`HMAC`, `CMAC`) EVP_MAC_fetch name, e.g. `AES-128-CBC`. */
  readonly openssl?: string;
  /** Kernel crypto API name, e.g. `cbc(aes)`. */
  readonly kernel?: string;
  /** CRYPTO_* id of cryptodev-linux (crypto/cryptodev.h), e.g. 11 for CRYPTO_AES_CBC. */
  readonly cryptodev?: number;
  /**
   * libgcrypt (gcrypt.h): GCRY_CIPHER_* and GCRY_CIPHER_MODE_*, or the GCRY_MD_* id of a hash, or the GCRY_MAC_* id of
   * a MAC (GCRY_MAC_CMAC_AES is one id for all key lengths).
   */
  readonly gcrypt?: { readonly algo: number; readonly mode?: number };
  /**
   * nettle: the stem of its symbols, e.g. `aes128` (`nettle_aes128`, `nettle_aes128_set_encrypt_key`), `sha256`,
   * `hmac_sha256`, `gcm_aes128`. DES, Blowfish, RC4 and ChaCha20 have functions but no `nettle_cipher` structure.
   */
  readonly nettle?: string;
  /**
   * QEMU's algorithm and mode as tests/bench/benchmark-crypto-cipher.c prints them in `enc(aes-128-cbc) chunk …`, the
   * hash's name in QCryptoHashAlgo, and `hmac(sha256)` for a MAC.
   */
  readonly qemu?: string;
  /** cryptsetup's cipher specification without the IV generator, e.g. `aes-cbc`; the key size is given beside it. */
  readonly cryptsetup?: string;
}

interface Base {
  /** hwcrypt's name: lower case, OpenSSL's where it has one. */
  readonly name: string;
  /** Other spellings that are accepted, lower case: `aes128`, `id-aes128-gcm` … */
  readonly aliases: readonly string[];
  readonly names: Names;
  readonly status: Status;
  /** Why `status` is not `current`, in a few words. */
  readonly statusNote?: string;
  /** True for an entry that was made on the fly for a name that only OpenSSL knows (see `adHoc…`). */
  readonly adHoc?: true;
}

export interface CipherAlgorithm extends Base {
  readonly kind: 'cipher';
  /** `aes`, `des`, `camellia` … */
  readonly family: string;
  readonly mode: CipherMode;
  readonly keyBytes: number;
  /** Other legal key lengths (Blowfish, CAST5, RC4 take a range), smallest and largest, in bytes. */
  readonly keyRange?: readonly [number, number];
  readonly ivBytes: number;
  /**
   * Bytes that a request must be a multiple of. 1 for modes that behave as stream ciphers (ctr, cfb, ofb, stream).
   */
  readonly blockBytes: number;
  /** The shortest request, where it is longer than `blockBytes`: XTS needs one whole block before it can steal from it. */
  readonly minBytes?: number;
  /** Block size of the underlying cipher, also for stream modes: the granularity at which a chain can be carried. */
  readonly cipherBlockBytes: number;
  /**
   * Directions in which pieces of one message can be worked on independently through a driver's sessions, given the
   * chaining value of each piece. XTS is `none`: the message of a session is one data unit, which has no pieces.
   */
  readonly parallel: 'both' | 'decrypt' | 'none';
  /**
   * Can another driver go on with the stream at a block boundary, given only key and chaining value?
   * ECB, CBC, CTR, CFB, OFB: yes. XTS (one data unit) and RC4 (hidden state): no. The chaining value is
   * CBC, CFB, CFB8, CFB1: the last `cipherBlockBytes` of ciphertext; CTR: the next counter block (the whole block
   * counts, big-endian); OFB: the last block of keystream; ChaCha20: the IV with its counter moved on. ChaCha20's
   * counter is 32 bits (RFC 8439), and what follows its end differs: OpenSSL carries into the nonce, Linux wraps.
   */
  readonly handover: boolean;
}

export interface AeadAlgorithm extends Base {
  readonly kind: 'aead';
  readonly family: string;
  readonly mode: AeadMode;
  readonly keyBytes: number;
  /** The usual nonce length; the legal range is `ivRange`. */
  readonly ivBytes: number;
  readonly ivRange: readonly [number, number];
  readonly tagBytes: readonly number[];
  readonly defaultTagBytes: number;
  readonly cipherBlockBytes: number;
  readonly parallel: 'none';
  readonly handover: false;
}

export interface HashAlgorithm extends Base {
  readonly kind: 'hash';
  readonly digestBytes: number;
  readonly blockBytes: number;
  /** Extendable output (SHAKE): any digest length can be asked for; `digestBytes` is OpenSSL's default. */
  readonly xof: boolean;
  readonly parallel: 'none';
  readonly handover: false;
}

export interface MacAlgorithm extends Base {
  readonly kind: 'mac';
  readonly construction: 'hmac' | 'cmac';
  /** The hash of an HMAC (`sha256`), the cipher of a CMAC (`aes-128-cbc`), by hwcrypt's name. */
  readonly over: string;
  readonly digestBytes: number;
  readonly blockBytes: number;
  /** Legal key length in bytes: fixed for CMAC, undefined (any) for HMAC. */
  readonly keyBytes?: number;
  readonly parallel: 'none';
  readonly handover: false;
}

export type Algorithm = CipherAlgorithm | AeadAlgorithm | HashAlgorithm | MacAlgorithm;

export { adHocCipher, adHocHash } from './algorithms/ad-hoc.js';
export {
  algorithms,
  byCryptodevId,
  byCryptsetup,
  byKernelName,
  byQemuName,
  cipherLike,
  findAlgorithm,
  hashAlgorithm,
  hmacOf,
  suggest,
} from './algorithms/lookup.js';
