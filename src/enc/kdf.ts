/**
 * From a passphrase to a key and an IV, the ways OpenSSL's `enc` does it.
 *
 * Room `enc`. Follows EVP_BytesToKey (crypto/evp/evp_key.c) and the PBKDF2 branch of apps/enc.c, which takes key and
 * IV from one output. Both are done with node:crypto: a key derivation runs once for a file, in CPU time that is
 * the same wherever it runs, so that no driver could make it better.
 */
import { createHash, getHashes, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { hashAlgorithm } from '../algorithms.js';
import { HwcryptError } from '../errors.js';

const pbkdf2Async = promisify(pbkdf2);

/** OpenSSL's default number of PBKDF2 iterations, unchanged from 1.1.1 to 3.x. */
export const DEFAULT_ITERATIONS = 10000;

/** How a passphrase becomes a key. `digest` is a name that `resolveDigest` returned. */
export type Kdf =
  | { readonly kind: 'bytes-to-key'; readonly digest: string }
  | { readonly kind: 'pbkdf2'; readonly digest: string; readonly iterations: number };

export interface KeyAndIv {
  readonly key: Buffer;
  readonly iv: Buffer;
}

/** The options that make `enc` (OpenSSL's or ours) derive in this way: `-pbkdf2 -iter 10000 -md sha256`. */
export function kdfOptions(kdf: Kdf): string {
  return kdf.kind === 'pbkdf2' ? `-pbkdf2 -iter ${kdf.iterations} -md ${kdf.digest}` : `-md ${kdf.digest}`;
}

let digestNames: Map<string, string> | undefined;

/** OpenSSL has several names for one digest; Node 20 knows only the object names. */
const PROVIDER_NAMES: readonly (readonly [string, string])[] = [
  ['sha-1', 'sha1'],
  ['sha2-224', 'sha224'],
  ['sha-224', 'sha224'],
  ['sha2-256', 'sha256'],
  ['sha-256', 'sha256'],
  ['sha2-384', 'sha384'],
  ['sha-384', 'sha384'],
  ['sha2-512', 'sha512'],
  ['sha-512', 'sha512'],
  ['sha2-512/224', 'sha512-224'],
  ['sha-512/224', 'sha512-224'],
  ['sha512/224', 'sha512-224'],
  ['sha2-512/256', 'sha512-256'],
  ['sha-512/256', 'sha512-256'],
  ['sha512/256', 'sha512-256'],
  ['ripemd-160', 'ripemd160'],
  ['blake2b-512', 'blake2b512'],
  ['blake2s-256', 'blake2s256'],
];

/**
 * The name under which this Node knows a digest, whatever the case and whichever of OpenSSL's names was given, or
 * undefined where it does not know it.
 */
export function resolveDigest(name: string): string | undefined {
  if (!digestNames) {
    digestNames = new Map();
    for (const known of getHashes()) {
      // `RSA-…` names are signature algorithms that happen to hash.
      if (!/rsa/i.test(known)) digestNames.set(known.toLowerCase(), known);
    }
    for (const [alias, known] of PROVIDER_NAMES) {
      const target = digestNames.get(known);
      if (target !== undefined && !digestNames.has(alias)) digestNames.set(alias, target);
    }
  }
  return digestNames.get(name.toLowerCase());
}

/**
 * EVP_BytesToKey: D₁ = H(password ‖ salt), Dᵢ = H(Dᵢ₋₁ ‖ password ‖ salt), each hashed `count` times; the key is taken
 * from D₁ ‖ D₂ ‖ … and the IV from what follows.
 *
 * @param salt 8 bytes, or null for `-nosalt`.
 */
export function bytesToKey(
  digest: string,
  password: Uint8Array,
  salt: Uint8Array | null,
  keyBytes: number,
  ivBytes: number,
  count = 1,
): KeyAndIv {
  const wanted = keyBytes + ivBytes;
  const output = Buffer.alloc(wanted);
  let block: Buffer = Buffer.alloc(0);
  let filled = 0;
  while (filled < wanted) {
    const hash = createHash(digest).update(block).update(password);
    if (salt) hash.update(salt);
    let next = hash.digest();
    for (let i = 1; i < count; i++) {
      const again = createHash(digest).update(next).digest();
      next.fill(0);
      next = again;
    }
    block.fill(0);
    block = next;
    filled += block.copy(output, filled);
  }
  block.fill(0);
  return split(output, keyBytes);
}

/**
 * PBKDF2-HMAC over `digest`, key and IV from one output.
 *
 * @param salt as long as the file says (8 bytes unless `-saltlen` was given), or null for `-nosalt`.
 */
export async function pbkdf2Key(
  digest: string,
  password: Uint8Array,
  salt: Uint8Array | null,
  iterations: number,
  keyBytes: number,
  ivBytes: number,
): Promise<KeyAndIv> {
  // Off the event loop: with a large -iter it takes seconds, in which Ctrl-C must still work.
  const output = await pbkdf2Async(password, salt ?? Buffer.alloc(0), iterations, keyBytes + ivBytes, digest);
  return split(output, keyBytes);
}

/** Key and IV for a passphrase in whichever way `kdf` says. */
export function deriveKey(
  kdf: Kdf,
  password: Uint8Array,
  salt: Uint8Array | null,
  keyBytes: number,
  ivBytes: number,
): Promise<KeyAndIv> {
  if (kdf.kind === 'pbkdf2') {
    return pbkdf2Key(kdf.digest, password, salt, kdf.iterations, keyBytes, ivBytes);
  }
  return Promise.resolve(bytesToKey(kdf.digest, password, salt, keyBytes, ivBytes));
}

/**
 * The key and IV that Node's removed `createCipher(algorithm, password)` and `createDecipher` used: EVP_BytesToKey with
 * MD5, one round and no salt. It is here so that old data can be read; nothing new should be written with it, since
 * every message under one password has the same key and IV.
 */
export function legacyKeyFromPassword(
  password: string | Uint8Array,
  keyBytes: number,
  ivBytes: number,
): KeyAndIv {
  const bytes = typeof password === 'string' ? Buffer.from(password, 'utf8') : password;
  return bytesToKey('md5', bytes, null, keyBytes, ivBytes);
}

/** As `resolveDigest`, but throws what `enc -md` prints for a name that nobody knows. */
export function requireDigest(name: string): string {
  const found = resolveDigest(name);
  if (found === undefined) {
    const old = hashAlgorithm(name);
    if (old) {
      throw new HwcryptError(
        'USAGE',
        `no key can be derived with ${old.name} here: node:crypto, which does that, has no such digest ` +
          '(decrypt with openssl enc -provider legacy -provider default)',
      );
    }
    throw new HwcryptError('USAGE', `unknown message digest: ${name} (see hwcrypt list hashes)`);
  }
  return found;
}

function split(output: Buffer, keyBytes: number): KeyAndIv {
  // Views of one allocation: wiping either wipes what it shows, and neither comes from Node's shared pool.
  return { key: output.subarray(0, keyBytes), iv: output.subarray(keyBytes) };
}
