/**
 * The one table of algorithms: what each is, and its name in every world.
 *
 * Room: none above; imports nothing but its own parts in `algorithms/`. Any room may import this file, and only
 * this file: `algorithms/ciphers.ts` and `algorithms/digests.ts` hold the families from which the table is made.
 *
 * hwcrypt's own name of an algorithm is OpenSSL's, in lower case (`aes-128-cbc`), and a name of the same shape
 * where OpenSSL has none (`serpent-256-xts`). One entry is one algorithm at one key size, since that is what
 * every API that takes a name means by it.
 */

import { ciphers } from './algorithms/ciphers.js';
import { hashes, macs } from './algorithms/digests.js';

export { type AdHocCipher, adHocCipher } from './algorithms/ciphers.js';
export { adHocHash } from './algorithms/digests.js';

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

/** The table and its indexes, built at first use. */
interface Index {
  readonly all: readonly Algorithm[];
  readonly byKind: ReadonlyMap<Kind, readonly Algorithm[]>;
  /** Lower-case names and aliases. */
  readonly byName: ReadonlyMap<string, Algorithm>;
  readonly byKernelName: ReadonlyMap<string, readonly Algorithm[]>;
  readonly byCryptodevId: ReadonlyMap<number, readonly Algorithm[]>;
  readonly byQemuName: ReadonlyMap<string, Algorithm>;
  readonly byCryptsetup: ReadonlyMap<string, readonly (CipherAlgorithm | AeadAlgorithm)[]>;
}

let built: Index | undefined;

function index(): Index {
  built ??= build();
  return built;
}

function build(): Index {
  const all: Algorithm[] = [...ciphers(), ...hashes(), ...macs()];
  const byKind = new Map<Kind, Algorithm[]>();
  const byName = new Map<string, Algorithm>();
  const byKernelName = new Map<string, Algorithm[]>();
  const byCryptodevId = new Map<number, Algorithm[]>();
  const byQemuName = new Map<string, Algorithm>();
  const byCryptsetup = new Map<string, (CipherAlgorithm | AeadAlgorithm)[]>();
  for (const algorithm of all) {
    const { names } = algorithm;
    push(byKind, algorithm.kind, algorithm);
    byName.set(algorithm.name, algorithm);
    for (const alias of algorithm.aliases) byName.set(alias, algorithm);
    if (names.kernel !== undefined) push(byKernelName, names.kernel, algorithm);
    if (names.cryptodev !== undefined) push(byCryptodevId, names.cryptodev, algorithm);
    if (names.qemu !== undefined) byQemuName.set(names.qemu, algorithm);
    if (names.cryptsetup !== undefined && (algorithm.kind === 'cipher' || algorithm.kind === 'aead')) {
      push(byCryptsetup, names.cryptsetup, algorithm);
    }
  }
  return { all, byKind, byName, byKernelName, byCryptodevId, byQemuName, byCryptsetup };
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** Every entry, or those of one kind, in the order of the table: ciphers and AEADs by family, hashes, MACs. */
export function algorithms(): readonly Algorithm[];
export function algorithms(kind: 'cipher'): readonly CipherAlgorithm[];
export function algorithms(kind: 'aead'): readonly AeadAlgorithm[];
export function algorithms(kind: 'hash'): readonly HashAlgorithm[];
export function algorithms(kind: 'mac'): readonly MacAlgorithm[];
export function algorithms(kind?: Kind): readonly Algorithm[];
export function algorithms(kind?: Kind): readonly Algorithm[] {
  return kind === undefined ? index().all : (index().byKind.get(kind) ?? []);
}

/**
 * The entry of a name in any spelling that node:crypto accepts, object identifiers included, without regard to case.
 * `hmac-` before any spelling of a hash names its HMAC.
 */
export function findAlgorithm(name: string): Algorithm | undefined {
  const lower = name.toLowerCase();
  const found = index().byName.get(lower);
  if (found || !lower.startsWith('hmac-')) return found;
  return hmacOf(lower.slice('hmac-'.length));
}

/** As `findAlgorithm`, for what `createCipheriv` takes: a cipher or an AEAD. */
export function cipherLike(name: string): CipherAlgorithm | AeadAlgorithm | undefined {
  const found = index().byName.get(name.toLowerCase());
  return found?.kind === 'cipher' || found?.kind === 'aead' ? found : undefined;
}

/** As `findAlgorithm`, for what `createHash` takes. */
export function hashAlgorithm(name: string): HashAlgorithm | undefined {
  const found = index().byName.get(name.toLowerCase());
  return found?.kind === 'hash' ? found : undefined;
}

/** The HMAC over a hash, by any of the hash's spellings. Undefined for an extendable hash, which has none. */
export function hmacOf(hash: string | HashAlgorithm): MacAlgorithm | undefined {
  const own = typeof hash === 'string' ? hashAlgorithm(hash) : hash;
  const found = own && index().byName.get(`hmac-${own.name}`);
  return found?.kind === 'mac' ? found : undefined;
}

/** Entries of a kernel name: `cbc(aes)` is one for each key length. Not of a driver's name (`cbc-aes-aesni`). */
export function byKernelName(name: string): readonly Algorithm[] {
  return index().byKernelName.get(name) ?? [];
}

/** Entries of a CRYPTO_* id of cryptodev-linux: 11 is AES-CBC with each key length. */
export function byCryptodevId(id: number): readonly Algorithm[] {
  return index().byCryptodevId.get(id) ?? [];
}

/**
 * The entry of a name in QEMU's benchmarks: `aes-128-cbc` (its messages), `cbc-aes-128` (its test paths), also
 * `cbc(aes-128)`; `sha256`, `hmac(sha256)`.
 */
export function byQemuName(name: string): Algorithm | undefined {
  const lower = name.toLowerCase();
  const { byQemuName: map } = index();
  const found = map.get(lower) ?? (lower === 'rmd160' ? map.get('ripemd160') : undefined);
  if (found) return found;
  const swapped = /^(ecb|cbc|ctr|xts)(?:-(.+)|\((.+)\))$/.exec(lower);
  return swapped ? map.get(`${swapped[2] ?? swapped[3]}-${swapped[1]}`) : undefined;
}

/**
 * The entry of a cryptsetup cipher specification (`aes-xts`, `aes-xts-plain64`, `aes-cbc-essiv:sha256`,
 * `capi:xts(aes)-plain64`) with a key of that many bits as cryptsetup counts them, both halves of XTS together.
 * A bare cipher (`aes`) is CBC, as it is to dm-crypt.
 */
export function byCryptsetup(spec: string, keyBits: number): CipherAlgorithm | AeadAlgorithm | undefined {
  const fits = ({ keyBytes, ...rest }: CipherAlgorithm | AeadAlgorithm): boolean => {
    const range = rest.kind === 'cipher' ? rest.keyRange : undefined;
    return keyBits === keyBytes * 8 || (!!range && keyBits >= range[0] * 8 && keyBits <= range[1] * 8);
  };
  const capi = /^capi:(.+\))(?:-[^()]*)?$/.exec(spec);
  if (capi) {
    return byKernelName(capi[1]!).find(
      (found): found is CipherAlgorithm | AeadAlgorithm =>
        (found.kind === 'cipher' || found.kind === 'aead') && fits(found),
    );
  }
  const [cipher, mode = 'cbc'] = spec.split('-');
  return index().byCryptsetup.get(`${cipher}-${mode}`)?.find(fits);
}

/**
 * Names of the table that somebody may have meant by one that it lacks, the likeliest first, for an error message.
 * Empty where nothing is near.
 */
export function suggest(name: string, limit = 3): string[] {
  const wanted = tokens(name);
  const squeezed = wanted.join('');
  if (squeezed === '') return [];
  const kernel = byKernelName(name.toLowerCase()).map((algorithm) => algorithm.name);
  if (kernel.length > 0) return kernel.slice(0, limit);

  const scored: { name: string; score: number; fine: boolean; at: number }[] = [];
  for (const [at, algorithm] of index().all.entries()) {
    let best = 0;
    for (const spelling of [algorithm.name, ...algorithm.aliases]) {
      const own = tokens(spelling);
      const shared = own.filter((token) => wanted.includes(token)).length;
      const overlap = (shared / own.length + shared / wanted.length) / 2;
      const joined = own.join('');
      const likeness = 1 - editDistance(squeezed, joined) / Math.max(squeezed.length, joined.length);
      best = Math.max(best, overlap, likeness);
    }
    if (best >= 0.6) {
      scored.push({ name: algorithm.name, score: best, fine: algorithm.status !== 'weak', at });
    }
  }
  scored.sort((a, b) => b.score - a.score || Number(b.fine) - Number(a.fine) || a.at - b.at);
  return scored.slice(0, limit).map((candidate) => candidate.name);
}

/** Runs of letters and runs of digits: `aes128CBC` → `aes`, `128`, `cbc`. Java's padding is no part of a name here. */
function tokens(name: string): string[] {
  return (
    name
      .toLowerCase()
      .replace(/(pkcs[57]|no)padding/, '')
      .match(/[a-z]+|[0-9]+/g) ?? []
  );
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let older: number[] = [];
  let old = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = old[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? older[j - 2]! + 1 : replace;
      row.push(Math.min(replace, swap, old[j]! + 1, row[j - 1]! + 1));
    }
    older = old;
    old = row;
  }
  return old[b.length]!;
}
