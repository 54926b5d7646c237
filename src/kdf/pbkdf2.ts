/**
 * PBKDF2 (RFC 8018): by node:crypto, and for hashes that OpenSSL keeps in its legacy provider (whirlpool) by the same OpenSSL in a library
 * context of our own, so that Node's is not changed.
 */
import { pbkdf2 as nodePbkdf2, pbkdf2Sync } from 'node:crypto';
import { promisify } from 'node:util';

import { HwcryptError } from '../errors.js';
import { hostAbi } from '../linux/abi.js';
import { address, type NativeFunction, processLibrary } from '../linux/ffi.js';
import { encodeOsslParams, OSSL_PARAM } from '../linux/ossl-param.js';

const nodePbkdf2Async = promisify(nodePbkdf2);

/** Whose PBKDF2 has this hash (by OpenSSL's name); undefined where nobody's has. */
export function pbkdf2By(hash: string): 'node' | 'legacy' | undefined {
  try {
    pbkdf2Sync('', '', 1, 1, hash);
    return 'node';
  } catch {
    return legacy()?.has(hash) ? 'legacy' : undefined;
  }
}

/** @throws HwcryptError KDF_FAILED where nobody has the hash */
export async function pbkdf2(
  hash: string,
  password: Uint8Array,
  salt: Uint8Array,
  iterations: number,
  keyBytes: number,
): Promise<Buffer> {
  const by = pbkdf2By(hash);
  if (by === 'node') return nodePbkdf2Async(password, salt, iterations, keyBytes, hash);
  const key =
    by === 'legacy' ? await legacy()?.derive(hash, password, salt, iterations, keyBytes) : undefined;
  if (key === undefined) throw new HwcryptError('KDF_FAILED', `PBKDF2: this OpenSSL has no ${hash}`);
  return key;
}

interface Legacy {
  has(hash: string): boolean;
  derive(
    hash: string,
    password: Uint8Array,
    salt: Uint8Array,
    iterations: number,
    keyBytes: number,
  ): Promise<Buffer | undefined>;
}

interface Param {
  readonly key: string;
  readonly type: number;
  readonly data: Uint8Array;
}

/** An OSSL_PARAM array, and everything that it points to, which somebody must hold while it is in use. */
function ossl(params: readonly Param[]): {
  readonly block: Uint8Array;
  readonly held: readonly Uint8Array[];
} {
  const held: Uint8Array[] = [];
  const hold = (bytes: Uint8Array): number => {
    const own = outside(bytes);
    held.push(own);
    return address(own);
  };
  const block = encodeOsslParams(
    params.map(({ key, type, data }) => ({
      key: hold(Buffer.from(`${key}\0`, 'latin1')),
      type,
      data: hold(data),
      size: data.length,
    })),
  );
  return { block: outside(block), held };
}

/** A copy that V8 does not move: in memory of its own, and never empty. */
function outside(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new ArrayBuffer(Math.max(128, bytes.length)), 0, Math.max(1, bytes.length));
  copy.set(bytes);
  return copy;
}

let loaded: Legacy | null | undefined;

function legacy(): Legacy | undefined {
  loaded ??= load() ?? null;
  return loaded ?? undefined;
}

function load(): Legacy | undefined {
  const { library } = processLibrary();
  if (!library?.has('EVP_KDF_fetch')) return undefined;
  const f = {
    context: library.func('uintptr_t OSSL_LIB_CTX_new()'),
    provider: library.func('uintptr_t OSSL_PROVIDER_load(uintptr_t libctx, const char *name)'),
    digest: library.func(
      'uintptr_t EVP_MD_fetch(uintptr_t libctx, const char *name, const char *properties)',
    ),
    free: library.func('void EVP_MD_free(uintptr_t md)'),
    kdf: library.func('uintptr_t EVP_KDF_fetch(uintptr_t libctx, const char *name, const char *properties)'),
    make: library.func('uintptr_t EVP_KDF_CTX_new(uintptr_t kdf)'),
    drop: library.func('void EVP_KDF_CTX_free(uintptr_t ctx)'),
    derive: library.func(
      'int EVP_KDF_derive(uintptr_t ctx, uintptr_t key, size_t keylen, uintptr_t params)',
    ) as NativeFunction<number>,
    clear: library.func('void ERR_clear_error()'),
  };
  const context = f.context();
  if (context === 0) return undefined;
  const providers = [f.provider(context, 'default'), f.provider(context, 'legacy')];
  const kdf = providers.includes(0) ? 0 : f.kdf(context, 'PBKDF2', null);
  f.clear();
  if (kdf === 0) return undefined;
  return {
    has(hash) {
      const md = f.digest(context, hash, null);
      f.clear();
      if (md === 0) return false;
      f.free(md);
      return true;
    },
    async derive(hash, password, salt, iterations, keyBytes) {
      const count = new Uint8Array(8);
      new DataView(count.buffer).setBigUint64(0, BigInt(iterations), hostAbi().littleEndian);
      const { block, held } = ossl([
        { key: 'digest', type: OSSL_PARAM.UTF8_STRING, data: Buffer.from(hash, 'latin1') },
        { key: 'pass', type: OSSL_PARAM.OCTET_STRING, data: password },
        { key: 'salt', type: OSSL_PARAM.OCTET_STRING, data: salt },
        { key: 'iter', type: OSSL_PARAM.UNSIGNED_INTEGER, data: count },
      ]);
      const key = Buffer.from(new ArrayBuffer(Math.max(128, keyBytes)), 0, keyBytes);
      const ctx = f.make(kdf);
      try {
        const { value } = await f.derive.promise(ctx, address(key), keyBytes, address(block));
        f.clear();
        return value === 1 ? key : undefined;
      } finally {
        f.drop(ctx);
        for (const one of held) one.fill(0);
      }
    },
  };
}
