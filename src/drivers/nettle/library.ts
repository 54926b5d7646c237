/**
 * The system's libnettle: opening it, its functions by symbol, and its ciphers and hashes by the structures that it
 * describes them with.
 *
 * A context belongs to whoever calls nettle, in memory of a size that was compiled into the caller. So a size can only change
 * together with the soname, and the structures that have no description of their own (`SIZES`) are as long as the headers of
 * the three sonames below say. Where nettle describes itself, its own sizes and functions are taken. A wrong length makes nettle
 * call abort(): every length is checked before.
 *
 * Source: headers and NEWS of nettle 3.4 to 3.10. In nettle 4 (libnettle.so.9) digest functions take other arguments.
 */
import type { Reason } from '../../errors.js';
import { hostAbi } from '../../linux/abi.js';
import { functionAt, type NativeFunction, type NativeLibrary, readMemory } from '../../linux/ffi.js';
import { openSharedLibrary, type SharedLibrary } from '../../linux/shared-library.js';
import { lengthOf } from '../buffers.js';

const LIBRARY: SharedLibrary = {
  title: 'libnettle',
  /** nettle 3.6 to 3.10, 3.5, 3.4. */
  sonames: ['libnettle.so.8', 'libnettle.so.7', 'libnettle.so.6'],
  symbols: ['nettle_version_major', 'nettle_version_minor', 'nettle_aes128', 'nettle_sha256'],
  since: '3.4',
  packages: { Debian: 'libnettle8', Alpine: 'nettle', OpenWrt: 'libnettle' },
};

/** Bytes of structures that nettle does not describe itself, of the largest version each. */
export const SIZES = {
  /** struct des_ctx: 32 words. */
  des: 128,
  /** struct des3_ctx: three of them. */
  des3: 384,
  /** struct blowfish_ctx: S-boxes of 4 * 256 words, 18 words of the P-array. */
  blowfish: 4168,
  /** struct arcfour_ctx: 256 bytes and two indexes. */
  arcfour: 258,
  /** struct chacha_ctx: 16 words. */
  chacha: 64,
  /** struct gcm_key: a table of 256 blocks. */
  gcmKey: 4096,
  /** struct gcm_ctx: three blocks and two 64-bit lengths. */
  gcm: 64,
  /** struct ccm_ctx: two blocks and an unsigned. */
  ccm: 40,
  /** struct ocb_key: four blocks. */
  ocbKey: 64,
  /** struct ocb_ctx: four blocks and two size_t. */
  ocb: 96,
  /** struct cmac128_key and struct cmac64_key: two blocks. */
  cmacKey: 32,
  /** struct cmac128_ctx and struct cmac64_ctx: two blocks and a size_t. */
  cmac: 40,
  /** struct sha3_128_ctx: 25 words of 64 bits, an index, a block of 168 bytes. */
  sha3_128: 376,
} as const;

const CRYPT = '(uintptr_t ctx, size_t length, void *dst, void *src)';
const MODE =
  '(uintptr_t ctx, uintptr_t f, size_t block_size, uintptr_t iv, size_t length, void *dst, void *src)';
const CBC_AES = '(uintptr_t ctx, uintptr_t iv, size_t length, void *dst, void *src)';
const XTS_REST = 'uintptr_t tweak, size_t length, void *dst, void *src)';
const UPDATE = '(uintptr_t ctx, size_t length, void *data)';
const DIGEST = '(uintptr_t ctx, size_t length, void *digest)';
const GCM =
  '(uintptr_t ctx, uintptr_t key, uintptr_t cipher, uintptr_t f, size_t length, void *dst, void *src)';
const CCM = '(uintptr_t ctx, uintptr_t cipher, uintptr_t f, size_t length, void *dst, void *src)';

/** Parameters of the functions that are called by name, and their result where it is not `void`. */
export const PARAMETERS = {
  nettle_cbc_encrypt: MODE,
  nettle_cbc_decrypt: MODE,
  nettle_cbc_aes128_encrypt: CBC_AES,
  nettle_cbc_aes192_encrypt: CBC_AES,
  nettle_cbc_aes256_encrypt: CBC_AES,
  nettle_ctr_crypt: MODE,
  nettle_cfb_encrypt: MODE,
  nettle_cfb_decrypt: MODE,
  nettle_cfb8_encrypt: MODE,
  nettle_cfb8_decrypt: MODE,
  nettle_xts_encrypt_message: `(uintptr_t ctx, uintptr_t tweak_ctx, uintptr_t f, ${XTS_REST}`,
  nettle_xts_decrypt_message: `(uintptr_t ctx, uintptr_t tweak_ctx, uintptr_t f, uintptr_t tweak_f, ${XTS_REST}`,
  nettle_des_set_key: '(uintptr_t ctx, void *key)',
  nettle_des_encrypt: CRYPT,
  nettle_des_decrypt: CRYPT,
  nettle_des3_set_key: '(uintptr_t ctx, void *key)',
  nettle_des3_encrypt: CRYPT,
  nettle_des3_decrypt: CRYPT,
  nettle_blowfish_set_key: '(uintptr_t ctx, size_t length, void *key)',
  nettle_blowfish_encrypt: CRYPT,
  nettle_blowfish_decrypt: CRYPT,
  nettle_cast5_set_key: '(uintptr_t ctx, size_t length, void *key)',
  nettle_cast128_encrypt: CRYPT,
  nettle_cast128_decrypt: CRYPT,
  nettle_arcfour_set_key: '(uintptr_t ctx, size_t length, void *key)',
  nettle_arcfour_crypt: CRYPT,
  nettle_chacha_set_key: '(uintptr_t ctx, void *key)',
  nettle_chacha_set_nonce: '(uintptr_t ctx, uintptr_t nonce)',
  nettle_chacha_set_counter: '(uintptr_t ctx, uintptr_t counter)',
  nettle_chacha_crypt: CRYPT,
  nettle_gcm_set_key: '(uintptr_t key, uintptr_t cipher, uintptr_t f)',
  nettle_gcm_set_iv: '(uintptr_t ctx, uintptr_t key, size_t length, void *iv)',
  nettle_gcm_update: '(uintptr_t ctx, uintptr_t key, size_t length, void *data)',
  nettle_gcm_encrypt: GCM,
  nettle_gcm_decrypt: GCM,
  nettle_gcm_digest:
    '(uintptr_t ctx, uintptr_t key, uintptr_t cipher, uintptr_t f, size_t length, void *digest)',
  nettle_ccm_set_nonce:
    '(uintptr_t ctx, uintptr_t cipher, uintptr_t f, size_t length, void *nonce, size_t authlen, size_t msglen, size_t taglen)',
  nettle_ccm_update: '(uintptr_t ctx, uintptr_t cipher, uintptr_t f, size_t length, void *data)',
  nettle_ccm_encrypt: CCM,
  nettle_ccm_decrypt: CCM,
  nettle_ccm_digest: '(uintptr_t ctx, uintptr_t cipher, uintptr_t f, size_t length, void *digest)',
  nettle_ocb_set_key: '(uintptr_t key, uintptr_t cipher, uintptr_t f)',
  nettle_ocb_set_nonce:
    '(uintptr_t ctx, uintptr_t cipher, uintptr_t f, size_t tag_length, size_t length, void *nonce)',
  nettle_ocb_update:
    '(uintptr_t ctx, uintptr_t key, uintptr_t cipher, uintptr_t f, size_t length, void *data)',
  nettle_ocb_encrypt: GCM,
  nettle_ocb_decrypt:
    '(uintptr_t ctx, uintptr_t key, uintptr_t cipher, uintptr_t f, uintptr_t decrypt_cipher, uintptr_t decrypt_f, size_t length, void *dst, void *src)',
  nettle_ocb_digest:
    '(uintptr_t ctx, uintptr_t key, uintptr_t cipher, uintptr_t f, size_t length, void *digest)',
  nettle_chacha_poly1305_set_key: '(uintptr_t ctx, void *key)',
  nettle_chacha_poly1305_set_nonce: '(uintptr_t ctx, void *nonce)',
  nettle_chacha_poly1305_update: UPDATE,
  nettle_chacha_poly1305_encrypt: CRYPT,
  nettle_chacha_poly1305_decrypt: CRYPT,
  nettle_chacha_poly1305_digest: DIGEST,
  nettle_hmac_set_key:
    '(uintptr_t outer, uintptr_t inner, uintptr_t state, uintptr_t hash, size_t length, void *key)',
  nettle_hmac_digest:
    '(uintptr_t outer, uintptr_t inner, uintptr_t state, uintptr_t hash, size_t length, void *digest)',
  nettle_cmac128_set_key: '(uintptr_t key, uintptr_t cipher, uintptr_t f)',
  nettle_cmac128_init: '(uintptr_t ctx)',
  nettle_cmac128_update: '(uintptr_t ctx, uintptr_t cipher, uintptr_t f, size_t length, void *data)',
  nettle_cmac128_digest:
    '(uintptr_t ctx, uintptr_t key, uintptr_t cipher, uintptr_t f, unsigned int length, void *digest)',
  nettle_cmac64_set_key: '(uintptr_t key, uintptr_t cipher, uintptr_t f)',
  nettle_cmac64_init: '(uintptr_t ctx)',
  nettle_cmac64_update: '(uintptr_t ctx, uintptr_t cipher, uintptr_t f, size_t length, void *data)',
  nettle_cmac64_digest:
    '(uintptr_t ctx, uintptr_t key, uintptr_t cipher, uintptr_t f, unsigned int length, void *digest)',
  nettle_sha3_256_shake: DIGEST,
  nettle_sha3_128_init: '(uintptr_t ctx)',
  nettle_sha3_128_update: UPDATE,
  nettle_sha3_128_shake: DIGEST,
} as const;

export type NettleSymbol = keyof typeof PARAMETERS;

/** A function of nettle's. None has a result that says anything: keys are taken whether they are weak or not. */
export type Call = NativeFunction<unknown>;

/** A block cipher in nettle's hands. */
export interface BlockCipher {
  readonly contextBytes: number;
  readonly blockBytes: number;
  setEncryptKey(context: number, key: Uint8Array): void;
  setDecryptKey(context: number, key: Uint8Array): void;
  /** (context, length, to, from), on whole blocks. */
  readonly encrypt: Call;
  readonly decrypt: Call;
  /** Addresses of the two, for the functions that make a mode of them. */
  readonly encryptAt: number;
  readonly decryptAt: number;
  /** (context, iv, length, to, from): CBC encryption in one, which is twice as fast as the mode's own function over `encrypt`. */
  readonly cbcEncrypt?: Call;
}

export interface HashFunctions {
  /** Address of its description; 0 where nettle has none of it. */
  readonly at: number;
  readonly contextBytes: number;
  readonly digestBytes: number;
  readonly blockBytes: number;
  /** (context) */
  readonly init: Call;
  /** (context, length, data) */
  readonly update: Call;
  /** (context, length, output); begins anew too. */
  readonly digest: Call;
}

/** Larger than any context of nettle's; a description that says more is not understood. */
const LARGEST_CONTEXT = 1 << 16;

export class Nettle {
  readonly soname: string;
  readonly major: number;
  readonly minor: number;
  readonly #library: NativeLibrary;
  readonly #functions = new Map<string, Call>();
  readonly #ciphers = new Map<string, BlockCipher | undefined>();
  readonly #hashes = new Map<string, HashFunctions | undefined>();

  constructor(library: NativeLibrary) {
    this.#library = library;
    this.soname = library.name ?? 'libnettle';
    this.major = library.func<number>('int nettle_version_major()')();
    this.minor = library.func<number>('int nettle_version_minor()')();
  }

  /** What names it as the one who does the work: `libnettle-3.8`. */
  get name(): string {
    return `libnettle-${this.major}.${this.minor}`;
  }

  get versionText(): string {
    return `nettle ${this.major}.${this.minor}`;
  }

  has(symbol: string): boolean {
    return this.#library.has(symbol);
  }

  call(symbol: NettleSymbol): Call {
    let found = this.#functions.get(symbol);
    if (found === undefined) {
      found = this.#library.func<unknown>(`void ${symbol}${PARAMETERS[symbol]}`);
      this.#functions.set(symbol, found);
    }
    return found;
  }

  /** Address of a function that is known to be there. */
  address(symbol: NettleSymbol): number {
    return this.#library.symbolAddress(symbol) as number;
  }

  /** A block cipher by the stem of its symbols. Undefined where this version lacks it. */
  cipher(stem: string): BlockCipher | undefined {
    if (!this.#ciphers.has(stem)) this.#ciphers.set(stem, this.#cipher(stem));
    return this.#ciphers.get(stem);
  }

  #cipher(stem: string): BlockCipher | undefined {
    switch (stem) {
      case 'des':
      case 'des3':
        return this.#named(stem, SIZES[stem], (symbol) => {
          const set = this.call(symbol);
          return (context, key) => set(context, key);
        });
      case 'blowfish':
        return this.#named(stem, SIZES.blowfish, (symbol) => {
          const set = this.call(symbol);
          return (context, key) => set(context, lengthOf(key), key);
        });
      default:
        return this.#described(stem);
    }
  }

  /** A cipher without a description, whose functions have the usual names. Both directions have one key schedule. */
  #named(
    stem: 'des' | 'des3' | 'blowfish',
    contextBytes: number,
    setter: (symbol: NettleSymbol) => (context: number, key: Uint8Array) => void,
  ): BlockCipher | undefined {
    const [setKey, encrypt, decrypt] = [
      `nettle_${stem}_set_key`,
      `nettle_${stem}_encrypt`,
      `nettle_${stem}_decrypt`,
    ] as const;
    if (![setKey, encrypt, decrypt].every((symbol) => this.has(symbol))) return undefined;
    const set = setter(setKey);
    return {
      contextBytes,
      blockBytes: 8,
      setEncryptKey: set,
      setDecryptKey: set,
      encrypt: this.call(encrypt),
      decrypt: this.call(decrypt),
      encryptAt: this.address(encrypt),
      decryptAt: this.address(decrypt),
    };
  }

  /** By `struct nettle_cipher`: name, context, block and key sizes, then set_encrypt_key, set_decrypt_key, encrypt, decrypt. */
  #described(stem: string): BlockCipher | undefined {
    const found = this.#description(`nettle_${stem}`, 3, 4);
    if (found === undefined) return undefined;
    const [contextBytes, blockBytes] = found.sizes as [number, number];
    const [encryptKeyAt, decryptKeyAt, encryptAt, decryptAt] = found.functions as [
      number,
      number,
      number,
      number,
    ];
    if (blockBytes !== 8 && blockBytes !== 16) return undefined;
    const shape = 'void nettle_set_key_func(uintptr_t ctx, void *key)';
    const crypt = `void nettle_cipher_func${CRYPT}`;
    const encryptKey = functionAt<unknown>(encryptKeyAt, shape);
    const decryptKey = functionAt<unknown>(decryptKeyAt, shape);
    // CAST-128 is described with its longest key; OpenSSL's cast5 takes shorter ones.
    const cast = stem === 'cast128' && this.has('nettle_cast5_set_key');
    const castKey = cast ? this.call('nettle_cast5_set_key') : undefined;
    // Since nettle 3.8, for AES.
    const cbc = /^aes(128|192|256)$/.test(stem) ? (`nettle_cbc_${stem}_encrypt` as NettleSymbol) : undefined;
    const set = (own: Call) => (context: number, key: Uint8Array) => {
      if (castKey) castKey(context, lengthOf(key), key);
      else own(context, key);
    };
    return {
      contextBytes,
      blockBytes,
      setEncryptKey: set(encryptKey),
      setDecryptKey: set(decryptKey),
      encrypt: functionAt<unknown>(encryptAt, crypt),
      decrypt: functionAt<unknown>(decryptAt, crypt),
      encryptAt,
      decryptAt,
      ...(cbc && this.has(cbc) ? { cbcEncrypt: this.call(cbc) } : {}),
    };
  }

  /** A hash by the stem of its symbols, `shake128` and `shake256` too. Undefined where this version lacks it. */
  hash(stem: string): HashFunctions | undefined {
    if (!this.#hashes.has(stem)) this.#hashes.set(stem, this.#hash(stem));
    return this.#hashes.get(stem);
  }

  #hash(stem: string): HashFunctions | undefined {
    if (stem === 'shake256') {
      const sha3 = this.hash('sha3_256');
      return sha3 && this.has('nettle_sha3_256_shake')
        ? { ...sha3, at: 0, digest: this.call('nettle_sha3_256_shake') }
        : undefined;
    }
    if (stem === 'shake128') {
      if (!this.has('nettle_sha3_128_shake')) return undefined;
      return {
        at: 0,
        contextBytes: SIZES.sha3_128,
        digestBytes: 16,
        blockBytes: 168,
        init: this.call('nettle_sha3_128_init'),
        update: this.call('nettle_sha3_128_update'),
        digest: this.call('nettle_sha3_128_shake'),
      };
    }
    // `struct nettle_hash`: name, context, digest and block sizes, then init, update, digest.
    const found = this.#description(`nettle_${stem}`, 3, 3);
    if (found === undefined) return undefined;
    const [contextBytes, digestBytes, blockBytes] = found.sizes as [number, number, number];
    const [init, update, digest] = found.functions as [number, number, number];
    return {
      at: found.at,
      contextBytes,
      digestBytes,
      blockBytes,
      init: functionAt<unknown>(init, 'void nettle_hash_init_func(uintptr_t ctx)'),
      update: functionAt<unknown>(update, `void nettle_hash_update_func${UPDATE}`),
      digest: functionAt<unknown>(digest, `void nettle_hash_digest_func${DIGEST}`),
    };
  }

  /** Bytes of the context that `struct nettle_aead` describes. */
  aeadContextBytes(stem: string): number | undefined {
    return this.#description(`nettle_${stem}`, 5, 7)?.sizes[0];
  }

  /** A description: a name, unsigned sizes of which the first is the context's, pointers to functions. */
  #description(
    symbol: string,
    sizes: number,
    functions: number,
  ): { at: number; sizes: number[]; functions: number[] } | undefined {
    const at = this.#library.symbolAddress(symbol);
    if (at === undefined) return undefined;
    const { wordBytes, littleEndian } = hostAbi();
    const head = Math.ceil((wordBytes + 4 * sizes) / wordBytes) * wordBytes;
    const bytes = readMemory(at, head + functions * wordBytes);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const word = (offset: number): number =>
      wordBytes === 8
        ? Number(view.getBigUint64(offset, littleEndian))
        : view.getUint32(offset, littleEndian);
    const numbers = Array.from({ length: sizes }, (_, i) => view.getUint32(wordBytes + 4 * i, littleEndian));
    const pointers = Array.from({ length: functions }, (_, i) => word(head + i * wordBytes));
    const size = numbers[0] as number;
    if (size === 0 || size > LARGEST_CONTEXT || pointers.includes(0)) return undefined;
    return { at, sizes: numbers, functions: pointers };
  }
}

export type LoadedNettle =
  | { readonly nettle: Nettle; readonly reason?: undefined }
  | { readonly nettle?: undefined; readonly reason: Reason };

let loaded: LoadedNettle | undefined;

/** The library, or why it cannot be used. Never throws. A library that was found stays for good. */
export function loadNettle(): LoadedNettle {
  loaded ??= load();
  return loaded;
}

/** Looks again, where nothing was found. */
export function reloadNettle(): LoadedNettle {
  if (loaded?.nettle === undefined) loaded = undefined;
  return loadNettle();
}

function load(): LoadedNettle {
  const opened = openSharedLibrary(LIBRARY);
  return opened.library ? { nettle: new Nettle(opened.library) } : { reason: opened.reason };
}
