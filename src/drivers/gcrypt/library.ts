/**
 * libgcrypt as a set of functions: found, initialised and asked what it is, once a process, at the first use.
 *
 * Source of the prototypes, constants and rules: The Libgcrypt Reference Manual (1.10) and gcrypt.h. What a version lacks is found out
 * by trying (`index.ts`), not by its number.
 */
import type { Algorithm } from '../../algorithms.js';
import { DriverError, type Reason, UnavailableError } from '../../errors.js';
import { type NativeFunction, type NativeLibrary, processLibrary, readMemory } from '../../linux/ffi.js';
import { openSharedLibrary, type SharedLibrary } from '../../linux/shared-library.js';
import { HandlePool } from '../session.js';

export const DRIVER = 'gcrypt';

/** 20 is the ABI of every libgcrypt since 1.6. */
const LIBGCRYPT: SharedLibrary = {
  title: 'libgcrypt',
  sonames: ['libgcrypt.so.20'],
  // The youngest of those that are called: 1.7 brought it.
  symbols: ['gcry_check_version', 'gcry_cipher_open', 'gcry_mac_open', 'gcry_md_extract'],
  since: '1.7',
  packages: { Debian: 'libgcrypt20', Alpine: 'libgcrypt', OpenWrt: 'libgcrypt' },
};

/** `gcry_error_t` is an unsigned int: the code in its low 16 bits, who reports it above. */
const PROTOTYPES = {
  strError: 'const char *gcry_strerror(unsigned int error)',

  cipherOpen: 'unsigned int gcry_cipher_open(void *handle, int algo, int mode, unsigned int flags)',
  cipherClose: 'void gcry_cipher_close(uintptr_t h)',
  cipherControl: 'unsigned int gcry_cipher_ctl(uintptr_t h, int command, void *buffer, size_t length)',
  cipherSetKey: 'unsigned int gcry_cipher_setkey(uintptr_t h, void *key, size_t length)',
  cipherSetIv: 'unsigned int gcry_cipher_setiv(uintptr_t h, void *iv, size_t length)',
  cipherSetCounter: 'unsigned int gcry_cipher_setctr(uintptr_t h, void *counter, size_t length)',
  cipherAuthenticate: 'unsigned int gcry_cipher_authenticate(uintptr_t h, void *data, size_t length)',
  cipherGetTag: 'unsigned int gcry_cipher_gettag(uintptr_t h, void *tag, size_t length)',
  encrypt:
    'unsigned int gcry_cipher_encrypt(uintptr_t h, void *out, size_t outLength, void *in, size_t inLength)',
  decrypt:
    'unsigned int gcry_cipher_decrypt(uintptr_t h, void *out, size_t outLength, void *in, size_t inLength)',

  mdOpen: 'unsigned int gcry_md_open(void *handle, int algo, unsigned int flags)',
  mdClose: 'void gcry_md_close(uintptr_t h)',
  mdReset: 'void gcry_md_reset(uintptr_t h)',
  mdCopy: 'unsigned int gcry_md_copy(void *handle, uintptr_t h)',
  mdSetKey: 'unsigned int gcry_md_setkey(uintptr_t h, void *key, size_t length)',
  mdWrite: 'void gcry_md_write(uintptr_t h, void *data, size_t length)',
  mdRead: 'uintptr_t gcry_md_read(uintptr_t h, int algo)',
  mdExtract: 'unsigned int gcry_md_extract(uintptr_t h, int algo, void *out, size_t length)',
  mdBuffer: 'void gcry_md_hash_buffer(int algo, void *digest, void *data, size_t length)',

  macOpen: 'unsigned int gcry_mac_open(void *handle, int algo, unsigned int flags, uintptr_t context)',
  macClose: 'void gcry_mac_close(uintptr_t h)',
  macControl: 'unsigned int gcry_mac_ctl(uintptr_t h, int command, void *buffer, size_t length)',
  macSetKey: 'unsigned int gcry_mac_setkey(uintptr_t h, void *key, size_t length)',
  macWrite: 'unsigned int gcry_mac_write(uintptr_t h, void *data, size_t length)',
  macRead: 'unsigned int gcry_mac_read(uintptr_t h, void *out, void *length)',
} as const;

type Functions = { readonly [K in keyof typeof PROTOTYPES]: NativeFunction<number> };

/** GCRYCTL_*, of gcry_control and the control functions of handles. */
export const GCRYCTL = {
  RESET: 4,
  FINALIZE: 5,
  DISABLE_SECMEM: 37,
  INITIALIZATION_FINISHED: 38,
  INITIALIZATION_FINISHED_P: 39,
  OPERATIONAL_P: 54,
  FIPS_MODE_P: 55,
  SET_CCM_LENGTHS: 69,
  SET_TAGLEN: 75,
  SET_ALLOW_WEAK_KEY: 79,
} as const;

/** GCRY_MD_FLAG_HMAC */
export const MD_FLAG_HMAC = 2;

/** Codes of libgpg-error that mean something in particular. */
export const GPG_ERR = {
  DIGEST_ALGO: 5,
  CIPHER_ALGO: 12,
  WEAK_KEY: 43,
  INV_KEYLEN: 44,
  SELFTEST_FAILED: 50,
  INV_CIPHER_MODE: 71,
  INV_LENGTH: 139,
  NOT_OPERATIONAL: 176,
  MAC_ALGO: 197,
  /** GPG_ERR_SYSTEM_ERROR (bit 15) and the place of ENOMEM in libgpg-error's own list. */
  ENOMEM: 0x8000 | 86,
} as const;

/** The code of a gcry_error_t; 0 is success. */
export const codeOf = (error: number): number => error & 0xffff;

/**
 * Longest piece in one call, a multiple of every block: lengths are size_t in the prototypes, but pass through an unsigned int inside
 * older versions.
 */
export const MAX_CALL = 1 << 30;

/** For an empty input: koffi may hand over a null pointer for an empty view, which has a meaning of its own to some functions. */
export const NOTHING = new Uint8Array(1);

export interface Gcrypt extends Functions {
  /** `1.10.1` */
  readonly version: string;
  readonly fips: boolean;
  /** What of the CPU it uses, in its own words (`intel-aesni`); undefined where it does not tell (before 1.8). */
  readonly hardwareFeatures: readonly string[] | undefined;
  /** Boxes of handles; closing a handle wipes what was in it. */
  readonly ciphers: HandlePool;
  readonly digests: HandlePool;
  readonly macs: HandlePool;
  /** The first `length` bytes at an address, written to `output`. */
  copy(output: Uint8Array, from: number, length: number): void;
  /** A handle that `make` writes to the cell which it is given; 0 and its error where it fails. */
  handle(make: (cell: Uint8Array) => number): { readonly handle: number; readonly error: number };
}

export type LoadedGcrypt =
  | { readonly gcrypt: Gcrypt; readonly reason?: undefined }
  | { readonly gcrypt?: undefined; readonly reason: Reason };

function load(): LoadedGcrypt {
  const { library, reason } = openSharedLibrary(LIBGCRYPT);
  if (!library) return { reason };
  const functions: Record<string, NativeFunction<number>> = {};
  for (const [name, prototype] of Object.entries(PROTOTYPES)) {
    functions[name] = library.func<number>(prototype);
  }
  const f = functions as unknown as Functions;

  const checkVersion = library.func<string | null>('const char *gcry_check_version(const char *wanted)');
  const gcryControl = library.func<number>('unsigned int gcry_control(int command, ...)');
  // koffi takes the type of a variable argument before its value.
  const control = (command: number): number => gcryControl(command, 'int', 0);

  // Once a process, whatever thread or other part of it comes first: where somebody has finished it, his settings stand. The version
  // must be asked first of all, which is what initialises the library; it starts no thread and reads no random numbers.
  const finished = control(GCRYCTL.INITIALIZATION_FINISHED_P) !== 0;
  const version = checkVersion(null) ?? 'of an unknown version';
  if (!finished) {
    // Locked memory is for long-lived private keys, is scarce (RLIMIT_MEMLOCK), and would be set up with a warning where it fails.
    control(GCRYCTL.DISABLE_SECMEM);
    control(GCRYCTL.INITIALIZATION_FINISHED);
  }
  if (control(GCRYCTL.OPERATIONAL_P) === 0) {
    return {
      reason: {
        code: 'SELFTEST_FAILED',
        message: `libgcrypt ${version} refuses to work: its self-tests failed`,
        cure: 'install it anew; in FIPS mode its integrity check needs the checksum that the distribution ships with it',
      },
    };
  }

  const libc = processLibrary();
  if (!libc.library) return { reason: libc.reason };
  const memcpy = libc.library.func('uintptr_t memcpy(void *to, uintptr_t from, size_t length)');
  const cell = new BigUint64Array(1);
  const cellBytes = new Uint8Array(cell.buffer);

  const gcrypt: Gcrypt = {
    ...f,
    version,
    fips: control(GCRYCTL.FIPS_MODE_P) !== 0,
    hardwareFeatures: hardwareFeatures(library, libc.library),
    ciphers: new HandlePool((handle) => f.cipherClose(handle)),
    digests: new HandlePool((handle) => f.mdClose(handle)),
    macs: new HandlePool((handle) => f.macClose(handle)),
    copy(output, from, length) {
      memcpy(output, from, length);
    },
    handle(make) {
      cell[0] = 0n;
      const error = make(cellBytes);
      return { handle: error === 0 ? Number(cell[0]) : 0, error };
    },
  };
  return { gcrypt };
}

/** `hwflist:intel-aesni:intel-avx2:` and a line end, in memory that is ours to free. */
function hardwareFeatures(library: NativeLibrary, libc: NativeLibrary): string[] | undefined {
  if (!library.has('gcry_get_config')) return undefined;
  const text = library.func('uintptr_t gcry_get_config(int mode, const char *what)')(0, 'hwflist');
  if (text === 0) return undefined;
  const length = libc.func('size_t strlen(uintptr_t text)')(text);
  const line = Buffer.from(readMemory(text, length)).toString('latin1');
  library.func('void gcry_free(uintptr_t memory)')(text);
  return line
    .trim()
    .split(':')
    .slice(1)
    .filter((feature) => feature !== '');
}

let loaded: LoadedGcrypt | undefined;

/** The library, or why it cannot be used; remembered. Never throws. */
export function loadGcrypt(): LoadedGcrypt {
  loaded ??= load();
  return loaded;
}

/** Looks again where it was not found; a library that is loaded stays. */
export function reloadGcrypt(): LoadedGcrypt {
  if (loaded?.gcrypt === undefined) loaded = undefined;
  return loadGcrypt();
}

/** What an error of libgcrypt's means. `what` names the algorithm. */
export function reasonOf(gcrypt: Gcrypt, error: number, what: string): Reason {
  const said = String(gcrypt.strError(error));
  const name = `libgcrypt ${gcrypt.version}`;
  switch (codeOf(error)) {
    case GPG_ERR.CIPHER_ALGO:
    case GPG_ERR.DIGEST_ALGO:
    case GPG_ERR.MAC_ALGO:
    case GPG_ERR.INV_CIPHER_MODE:
      return gcrypt.fips
        ? {
            code: 'ALGORITHM_NOT_OFFERED',
            message: `${name} is in FIPS mode and does not offer ${what} there`,
          }
        : {
            code: 'ALGORITHM_NOT_BUILT',
            message: `${name} has no ${what}: it came with a later version, or was left out of this build (${said})`,
          };
    case GPG_ERR.INV_KEYLEN:
      return { code: 'BAD_KEY_LENGTH', message: `${name} takes no key of this length for ${what}` };
    case GPG_ERR.WEAK_KEY:
      return { code: 'BAD_KEY', message: `${name} refuses this key for ${what}: it is a weak one` };
    case GPG_ERR.SELFTEST_FAILED:
    case GPG_ERR.NOT_OPERATIONAL:
      return { code: 'SELFTEST_FAILED', message: `${name} refuses ${what}: ${said}` };
    case GPG_ERR.ENOMEM:
      return { code: 'OUT_OF_MEMORY', message: `${name}: there is no memory left for ${what}` };
    default:
      return { code: 'SYSTEM_ERROR', message: `${name}: ${said}` };
  }
}

/** The error of a session that cannot be made, or of a request that is refused before it begins. */
export function refused(algorithm: Algorithm, reason: Reason): UnavailableError {
  return new UnavailableError('ALGORITHM_UNAVAILABLE', DRIVER, `${DRIVER}: ${algorithm.name}`, reason);
}

/** The error of a session that worked until now. */
export function broken(gcrypt: Gcrypt, algorithm: Algorithm, error: number): DriverError {
  return new DriverError(DRIVER, algorithm.name, reasonOf(gcrypt, error, algorithm.name));
}
