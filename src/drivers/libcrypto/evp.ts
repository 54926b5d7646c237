/**
 * The EVP functions of the libcrypto that is already in this process, and the memory that short calls go through.
 *
 * The copy inside the Node binary is used and no other: a second libcrypto would resolve its own calls to Node's symbols
 * and crash. Everything is declared over plain addresses (`uintptr_t`), which cost nothing to pass; where a view of
 * the caller's is passed instead, the parameter is a `void *`.
 *
 * Source of the prototypes: OpenSSL 3.0 manual pages EVP_EncryptInit(3), EVP_DigestInit(3), EVP_MAC(3).
 */
import type { Reason } from '../../errors.js';
import { address, type NativeFunction, processLibrary } from '../../linux/ffi.js';
import { encodeOsslParams, OSSL_PARAM, type OsslParam } from '../../linux/ossl-param.js';
import { part } from '../buffers.js';
import { HandlePool } from '../session.js';

/** Inputs up to this many bytes are copied into `scratch` first: cheaper than handing over a short view. */
export const SMALL = 256;

/** EVP_CTRL_AEAD_SET_IVLEN, _SET_TAG (openssl/evp.h). */
export const CTRL_SET_IVLEN = 0x9;
export const CTRL_SET_TAG = 0x11;

/** EVP lengths are C ints; longer inputs go in several calls. */
export const MAX_CALL = 1 << 30;

const PROTOTYPES = {
  cipherFetch: 'uintptr_t EVP_CIPHER_fetch(uintptr_t libctx, const char *name, const char *properties)',
  cipherCtxNew: 'uintptr_t EVP_CIPHER_CTX_new()',
  cipherCtxReset: 'int EVP_CIPHER_CTX_reset(uintptr_t ctx)',
  cipherCtxFree: 'void EVP_CIPHER_CTX_free(uintptr_t ctx)',
  cipherInit:
    'int EVP_CipherInit_ex2(uintptr_t ctx, uintptr_t cipher, uintptr_t key, uintptr_t iv, int enc, uintptr_t params)',
  cipherSetKeyLength: 'int EVP_CIPHER_CTX_set_key_length(uintptr_t ctx, int keylen)',
  cipherSetPadding: 'int EVP_CIPHER_CTX_set_padding(uintptr_t ctx, int padding)',
  cipherGetParams: 'int EVP_CIPHER_CTX_get_params(uintptr_t ctx, uintptr_t params)',
  cipherCtrl: 'int EVP_CIPHER_CTX_ctrl(uintptr_t ctx, int cmd, int p1, uintptr_t p2)',
  cipherUpdatedIv: 'int EVP_CIPHER_CTX_get_updated_iv(uintptr_t ctx, uintptr_t buf, size_t len)',
  cipherUpdate: 'int EVP_CipherUpdate(uintptr_t ctx, void *out, uintptr_t outl, void *in, int inl)',
  // Twice where both are wanted: a `void *` takes a view too, but costs 12 ns more where an address is given.
  cipherUpdateAt: 'int EVP_CipherUpdate(uintptr_t ctx, uintptr_t out, uintptr_t outl, uintptr_t in, int inl)',
  cipherFinal: 'int EVP_CipherFinal_ex(uintptr_t ctx, uintptr_t out, uintptr_t outl)',
  mdFetch: 'uintptr_t EVP_MD_fetch(uintptr_t libctx, const char *name, const char *properties)',
  mdCtxNew: 'uintptr_t EVP_MD_CTX_new()',
  mdCtxReset: 'int EVP_MD_CTX_reset(uintptr_t ctx)',
  mdCtxFree: 'void EVP_MD_CTX_free(uintptr_t ctx)',
  mdCtxCopy: 'int EVP_MD_CTX_copy_ex(uintptr_t out, uintptr_t in)',
  digestInit: 'int EVP_DigestInit_ex2(uintptr_t ctx, uintptr_t type, uintptr_t params)',
  digestUpdate: 'int EVP_DigestUpdate(uintptr_t ctx, void *data, size_t count)',
  digestFinal: 'int EVP_DigestFinal_ex(uintptr_t ctx, void *md, uintptr_t size)',
  digestFinalXof: 'int EVP_DigestFinalXOF(uintptr_t ctx, void *md, size_t len)',
  digest:
    'int EVP_Digest(void *data, size_t count, void *md, uintptr_t size, uintptr_t type, uintptr_t engine)',
  digestAt:
    'int EVP_Digest(uintptr_t data, size_t count, uintptr_t md, uintptr_t size, uintptr_t type, uintptr_t engine)',
  macFetch: 'uintptr_t EVP_MAC_fetch(uintptr_t libctx, const char *name, const char *properties)',
  macCtxNew: 'uintptr_t EVP_MAC_CTX_new(uintptr_t mac)',
  macCtxFree: 'void EVP_MAC_CTX_free(uintptr_t ctx)',
  macCtxDup: 'uintptr_t EVP_MAC_CTX_dup(uintptr_t src)',
  macInit: 'int EVP_MAC_init(uintptr_t ctx, void *key, size_t keylen, uintptr_t params)',
  macUpdate: 'int EVP_MAC_update(uintptr_t ctx, void *data, size_t datalen)',
  macFinal: 'int EVP_MAC_final(uintptr_t ctx, uintptr_t out, uintptr_t outl, size_t outsize)',
  libCtxNew: 'uintptr_t OSSL_LIB_CTX_new()',
  providerLoad: 'uintptr_t OSSL_PROVIDER_load(uintptr_t libctx, const char *name)',
  randBytes: 'int RAND_bytes(void *buf, int num)',
  errGet: 'unsigned long ERR_get_error()',
  errPeekLast: 'unsigned long ERR_peek_last_error()',
  errClear: 'void ERR_clear_error()',
  errLib: 'const char *ERR_lib_error_string(unsigned long e)',
  errReason: 'const char *ERR_reason_error_string(unsigned long e)',
  version: 'const char *OpenSSL_version(int type)',
} as const;

type Functions = { readonly [K in keyof typeof PROTOTYPES]: NativeFunction<number> };

/**
 * Memory at a fixed address for the short and the returned values of one call. Everything here is synchronous, so
 * one copy a thread is enough; asynchronous calls bring their own.
 */
export interface Scratch {
  readonly bytes: Uint8Array;
  readonly address: number;
  /** The int or size_t that the last call returned at `LENGTH`. */
  readonly length: Int32Array;
}

export const LENGTH = 0;
export const KEY = 64;
export const IV = 384;
export const TAG = 512;
export const INPUT = 576;
export const OUTPUT = 1024;
/** The longest result that is read out of `OUTPUT`: a short text and its tag. */
export const MAX_RESULT = SMALL + 64;
/** Long enough for the longest digest, and for the last bytes of a cipher. */
const SCRATCH_BYTES = 2048;
const CACHE_LINE = 64;
/** The longest key that goes through scratch (RC4 takes 256 bytes); MAC keys may be longer and are passed as views. */
export const MAX_SCRATCH_KEY = IV - KEY;
/** The longest nonce that OpenSSL takes (GCM). */
export const MAX_SCRATCH_IV = TAG - IV;

export interface Evp extends Functions {
  readonly scratch: Scratch;
  /** EVP_CIPHER_CTXs and EVP_MD_CTXs. A reset frees and clears what the provider kept in them. */
  readonly cipherContexts: HandlePool;
  readonly mdContexts: HandlePool;
  /**
   * EVP_MAC_CTXs for one MAC (`handle`) over one hash or cipher. Naming that takes most of the time that a new one costs,
   * so they are kept, and given a key of zeros in the place of the last one's.
   */
  macs(handle: number, what: 'digest' | 'cipher', over: string, keyBytes: number): MacPool;
  /** Copies of EVP_MAC_CTXs; they are freed, which clears them. */
  readonly macCopies: HandlePool;
  /** The address of text that OpenSSL reads, ended by a zero byte; it stays where it is for good. */
  text(value: string): number;
  /** The address of an OSSL_PARAM array with one text parameter, likewise for good. */
  textParams(key: string, value: string): number;
  /** The address of an OSSL_PARAM array that asks for a tag of that many bytes at that place of `scratch` (`TAG`). */
  tagParams(bytes: number, at?: number): number;
  /** The `SMALL` bytes at `INPUT`. */
  readonly stage: Uint8Array;
  /** The first `length` bytes at `OUTPUT`; the view is made once. `length` is at most `MAX_RESULT`. */
  result(length: number): Uint8Array;
  /** Overwrites what short messages left in `scratch`; keys are overwritten by whoever puts them there. */
  wipe(): void;
  /** Version text of the library, e.g. `OpenSSL 3.0.19 27 Jan 2026`. */
  readonly versionText: string;
  /**
   * A fetched EVP_CIPHER, EVP_MD or EVP_MAC by name, from the default or else the legacy provider; undefined where neither
   * has it. With `legacy` from that one's context alone: a MAC finds its hash only in its own context.
   */
  fetch(
    what: 'cipher' | 'md' | 'mac',
    name: string,
    legacy?: boolean,
  ): { readonly handle: number; readonly provider: string } | undefined;
}

export interface MacPool {
  readonly pool: HandlePool;
  /** A new context, with a key of zeros; 0 where that fails. */
  readonly make: () => number;
}

export type LoadedEvp =
  | { readonly evp: Evp; readonly reason?: undefined }
  | { readonly evp?: undefined; readonly reason: Reason };

function load(): LoadedEvp {
  const opened = processLibrary();
  if (!opened.library) return { reason: opened.reason };
  const library = opened.library;
  if (!library.has('EVP_CIPHER_fetch') || !library.has('EVP_CipherInit_ex2')) {
    return {
      reason: {
        code: 'SYMBOLS_ABSENT',
        message: `this Node binary (${process.versions['openssl'] ?? 'no OpenSSL'}) exports no OpenSSL 3 EVP functions`,
        cure: 'use a Node build with OpenSSL 3 or later; meanwhile the node driver does the same work more slowly',
      },
    };
  }
  // Own properties of one object, all bound at once (20 µs each): property access is part of every call's cost, and V8
  // makes it nearly free only for an object that keeps its shape.
  const functions: Record<string, NativeFunction<number>> = {};
  for (const [key, prototype] of Object.entries(PROTOTYPES)) functions[key] = library.func<number>(prototype);
  const f = functions as unknown as Functions;

  // Not a Buffer: its own fill() costs several times as much as a Uint8Array's.
  const roomy = new Uint8Array(SCRATCH_BYTES + CACHE_LINE);
  // From the start of a cache line on: what lies across two of them takes longer to reach.
  const bytes = part(roomy, -address(roomy) & (CACHE_LINE - 1), SCRATCH_BYTES);
  const scratch: Scratch = {
    bytes,
    address: address(bytes),
    length: new Int32Array(bytes.buffer, bytes.byteOffset + LENGTH, 1),
  };

  // Memory that is known to OpenSSL by its address alone must be held by us, or the garbage collector takes it.
  const kept = new Map<string, { readonly bytes: Uint8Array; readonly address: number }>();
  const keep = (id: string, held: Uint8Array): number => {
    const at = address(held);
    kept.set(id, { bytes: held, address: at });
    return at;
  };
  const text = (value: string): number => {
    const id = `"${value}`;
    const known = kept.get(id);
    if (known !== undefined) return known.address;
    // Long enough for V8 to keep it outside its own heap from the start.
    const held = new Uint8Array(Math.max(128, value.length + 1));
    held.set(Buffer.from(value, 'latin1'));
    return keep(id, held);
  };
  const params = (id: string, make: () => OsslParam): number =>
    kept.get(id)?.address ?? keep(id, encodeOsslParams([make()]));

  // A context of our own for the legacy provider, so that Node's own OpenSSL is not changed by our loading it.
  let ownContext: number | undefined;
  const legacyContext = (): number => {
    if (ownContext === undefined) {
      ownContext = Number(f.libCtxNew());
      if (ownContext !== 0) {
        f.providerLoad(ownContext, 'default');
        f.providerLoad(ownContext, 'legacy');
      }
      f.errClear();
    }
    return ownContext;
  };
  const fetchers = { cipher: f.cipherFetch, md: f.mdFetch, mac: f.macFetch };
  const fetched = new Map<string, { handle: number; provider: string } | undefined>();

  const results: Uint8Array[] = [];
  const macPools = new Map<string, MacPool>();
  const free = (ctx: number): number => f.macCtxFree(ctx);

  const evp: Evp = {
    ...f,
    scratch,
    stage: part(bytes, INPUT, SMALL),
    wipe() {
      bytes.fill(0, INPUT);
    },
    result(length: number) {
      results[length] ??= part(bytes, OUTPUT, length);
      return results[length];
    },
    cipherContexts: new HandlePool(
      (handle) => f.cipherCtxFree(handle),
      (handle) => f.cipherCtxReset(handle),
    ),
    mdContexts: new HandlePool(
      (handle) => f.mdCtxFree(handle),
      (handle) => f.mdCtxReset(handle),
    ),
    macs(handle: number, what: 'digest' | 'cipher', over: string, keyBytes: number) {
      const id = `${handle}:${over}`;
      const known = macPools.get(id);
      if (known !== undefined) return known;
      const params = evp.textParams(what, over);
      // The place of keys in scratch holds zeros whenever no call is under way.
      const setZeros = (ctx: number, named: number): number =>
        f.macInit(ctx, scratch.address + KEY, keyBytes, named);
      const made: MacPool = {
        pool: new HandlePool(free, (ctx) => setZeros(ctx, 0)),
        make: () => {
          const ctx = f.macCtxNew(handle);
          if (ctx === 0 || setZeros(ctx, params) === 1) return ctx;
          free(ctx);
          return 0;
        },
      };
      macPools.set(id, made);
      return made;
    },
    macCopies: new HandlePool(free),
    text,
    textParams(key: string, value: string) {
      return params(`${key}=${value}`, () => ({
        key: text(key),
        type: OSSL_PARAM.UTF8_STRING,
        data: text(value),
        size: value.length,
      }));
    },
    tagParams(size: number, at = TAG) {
      return params(`tag:${size}@${at}`, () => ({
        key: text('tag'),
        type: OSSL_PARAM.OCTET_STRING,
        data: scratch.address + at,
        size,
      }));
    },
    versionText: String(f.version(0)),
    fetch(what: 'cipher' | 'md' | 'mac', name: string, legacy = false) {
      const key = `${what}:${name}${legacy ? ':legacy' : ''}`;
      if (fetched.has(key)) return fetched.get(key);
      let found: { handle: number; provider: string } | undefined;
      const inDefault = legacy ? 0 : Number(fetchers[what](0, name, null));
      if (inDefault !== 0) found = { handle: inDefault, provider: 'default' };
      else {
        const context = legacyContext();
        const inLegacy = context === 0 ? 0 : Number(fetchers[what](context, name, null));
        if (inLegacy !== 0) found = { handle: inLegacy, provider: 'legacy' };
      }
      f.errClear();
      fetched.set(key, found);
      return found;
    },
  };
  return { evp };
}

let loaded: LoadedEvp | undefined;

/** The library, or why it cannot be used. Never throws. */
export function loadEvp(): LoadedEvp {
  loaded ??= load();
  return loaded;
}

/**
 * What OpenSSL says of the call that just failed, as the error that node:crypto would throw: same message, `library`,
 * `reason` and `code`. Empties OpenSSL's error queue, since what is left there would turn up in Node's next error.
 */
export function opensslError(evp: Evp, fallback: string): Error & { code: string } {
  const number = Number(evp.errPeekLast());
  if (number === 0) {
    evp.errClear();
    return Object.assign(new Error(fallback), { code: 'ERR_CRYPTO_OPERATION_FAILED' });
  }
  const library = evp.errLib(number) as unknown as string | null;
  const reason = evp.errReason(number) as unknown as string | null;
  evp.errClear();
  return makeOpensslError(number, library ?? '', reason ?? fallback);
}

/** An error of OpenSSL's in the form node:crypto gives it. `number` is the packed error code. */
export function makeOpensslError(number: number, library: string, reason: string): Error & { code: string } {
  const hex = number.toString(16).toUpperCase().padStart(8, '0');
  // Node puts the library's short name into the code, but has none for the providers.
  const prefix = library === 'digital envelope routines' ? 'EVP_' : '';
  return Object.assign(new Error(`error:${hex}:${library}::${reason}`), {
    library,
    reason,
    code: `ERR_OSSL_${prefix}${reason.toUpperCase().replaceAll(' ', '_')}`,
  });
}
