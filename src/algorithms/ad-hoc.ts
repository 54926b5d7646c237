/** Entries made on the fly, for a name that OpenSSL knows and the table does not (`rc2-cbc`, `keccak-256` …). */
import type {
  AeadAlgorithm,
  AeadMode,
  CipherAlgorithm,
  CipherMode,
  HashAlgorithm,
  Status,
} from '../algorithms.js';

/** What is known of such a cipher: the fields of node:crypto's `getCipherInfo`, by hwcrypt's names. Lengths in bytes. */
export interface AdHocCipher {
  readonly name: string;
  readonly keyBytes: number;
  /** 0 or absent for a cipher without one. */
  readonly ivBytes?: number;
  /** Absent for a stream cipher, as node:crypto leaves it out. */
  readonly blockBytes?: number;
  /** node:crypto's mode: `cbc`, `ccm`, `cfb`, `ctr`, `ecb`, `gcm`, `ocb`, `ofb`, `stream`, `wrap`, `xts`. */
  readonly mode: string;
}

/**
 * An entry for a cipher that only OpenSSL knows. Undefined for what a driver's session cannot express: key wrapping,
 * whose output is longer than its input, and the SIV modes, which read the whole message before they write any of it.
 */
export function adHocCipher(cipher: AdHocCipher): CipherAlgorithm | AeadAlgorithm | undefined {
  const { keyBytes, ivBytes = 0, blockBytes = 1 } = cipher;
  const name = cipher.name.toLowerCase();
  const base = {
    name,
    aliases: [],
    names: { openssl: cipher.name },
    ...unjudged(),
    family: name.replace(/-(ecb|cbc|ctr|cfb1?8?|ofb|xts|gcm|ccm|ocb)\b.*$/, ''),
    keyBytes,
  } as const;
  const mode = cipher.mode.toLowerCase();
  if (mode === 'gcm' || mode === 'ccm' || mode === 'ocb') return { ...base, ...aead(mode, ivBytes) };

  // node:crypto calls every width of feedback `cfb`; the name tells them apart.
  const width = mode === 'cfb' ? (/-(cfb[18])$/.exec(name)?.[1] as CipherMode | undefined) : undefined;
  const own = modes[width ?? mode];
  if (!own) return undefined;
  const wholeBlocks = own.mode === 'ecb' || own.mode === 'cbc';
  // A MAC inside (TLS's cbc-hmac) or stolen ciphertext (cts) makes more of the stream than key and chaining value.
  const composite = /-(hmac|cts)\b/.test(name);
  return {
    kind: 'cipher',
    ...base,
    mode: own.mode,
    ivBytes,
    blockBytes: wholeBlocks ? blockBytes : 1,
    ...(own.mode === 'xts' ? { minBytes: 16 } : {}),
    cipherBlockBytes: wholeBlocks ? blockBytes : own.mode === 'stream' ? 1 : ivBytes,
    parallel: composite ? 'none' : own.parallel,
    handover: composite ? false : own.handover,
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
    ...unjudged(),
    digestBytes: hash.digestBytes,
    blockBytes: hash.blockBytes ?? 64,
    xof: hash.xof ?? false,
    parallel: 'none',
    handover: false,
  };
}

/** A stream cipher that is not in the table may hide state anywhere, so nothing is taken for granted about it. */
const modes: Record<string, Pick<CipherAlgorithm, 'mode' | 'parallel' | 'handover'> | undefined> = {
  ecb: { mode: 'ecb', parallel: 'both', handover: true },
  cbc: { mode: 'cbc', parallel: 'decrypt', handover: true },
  ctr: { mode: 'ctr', parallel: 'both', handover: true },
  cfb: { mode: 'cfb', parallel: 'decrypt', handover: true },
  cfb8: { mode: 'cfb8', parallel: 'decrypt', handover: true },
  cfb1: { mode: 'cfb1', parallel: 'decrypt', handover: true },
  ofb: { mode: 'ofb', parallel: 'none', handover: true },
  xts: { mode: 'xts', parallel: 'none', handover: false },
  stream: { mode: 'stream', parallel: 'none', handover: false },
};

function aead(
  mode: Exclude<AeadMode, 'chacha20-poly1305'>,
  ivBytes: number,
): Omit<
  AeadAlgorithm,
  'name' | 'aliases' | 'names' | 'status' | 'statusNote' | 'adHoc' | 'family' | 'keyBytes'
> {
  const range: readonly [number, number] = mode === 'gcm' ? [1, 128] : mode === 'ccm' ? [7, 13] : [1, 15];
  return {
    kind: 'aead',
    mode,
    ivBytes: ivBytes || 12,
    ivRange: range,
    tagBytes:
      mode === 'gcm' ? [4, 8, 12, 13, 14, 15, 16] : mode === 'ccm' ? [4, 6, 8, 10, 12, 14, 16] : [8, 12, 16],
    defaultTagBytes: 16,
    cipherBlockBytes: 16,
    parallel: 'none',
    handover: false,
  };
}

function unjudged(): { status: Status; statusNote: string; adHoc: true } {
  return { status: 'legacy', statusNote: 'not in the table: only OpenSSL knows it here', adHoc: true };
}
