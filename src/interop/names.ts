/** What other tools call an algorithm, and which entry of the table that is. No name is guessed: what does not match exactly is unknown. */
import { type Algorithm, byCryptsetup, byKernelName, byQemuName, findAlgorithm } from '../algorithms.js';
import type { Operation } from '../bench/model.js';

/** Names in `openssl speed` that neither are OpenSSL's own for the algorithm nor become one by a `-` for each blank. */
const OPENSSL: Readonly<Record<string, string>> = {
  'des-ede3': 'des-ede3-cbc',
  'blowfish-cbc': 'bf-cbc',
  'cast-cbc': 'cast5-cbc',
  // The column is thirteen wide, and some who copy it keep no more.
  'chacha20-poly': 'chacha20-poly1305',
  rmd160: 'ripemd160',
};

/** Lower case, one `-` for blanks: by this two spellings of a name within one text are one. */
export function squeeze(name: string): string {
  return name.trim().toLowerCase().replace(/[ _]+/g, '-');
}

/** `aes-128-cbc`, `AES-128-CBC`, `aes-128 cbc` (1.0's low-level names), `hmac(md5)`, `cmac(AES-128-CBC)`. */
export function opensslAlgorithm(name: string): Algorithm | undefined {
  const squeezed = squeeze(name);
  if (squeezed.length > 60) return undefined;
  if (Object.hasOwn(OPENSSL, squeezed)) return findAlgorithm(OPENSSL[squeezed]!);
  const mac = /^([hc]mac)[-(]+([^()]+)\)?$/.exec(squeezed);
  if (mac) return findAlgorithm(`${mac[1]}-${mac[2]}`);
  return findAlgorithm(squeezed);
}

/** `aes-cbc` and a key length in bits; `xts(aes)` inside `capi:`. */
export function cryptsetupAlgorithm(spec: string, keyBits: number): Algorithm | undefined {
  if (spec.length > 120 || keyBits <= 0) return undefined;
  return byCryptsetup(spec.toLowerCase(), keyBits);
}

/** `aes-128-cbc`, `cbc-aes-128`, `cbc(aes-128)`, `cbc(aes128)`, `sha256`, `hmac(sha256)`. */
export function qemuAlgorithm(name: string): Algorithm | undefined {
  if (name.length > 60) return undefined;
  const lower = squeeze(name);
  const direct = byQemuName(lower) ?? findAlgorithm(lower);
  if (direct) return direct;
  // The benchmarks of 2017 wrote `aes128` for what is now `aes-128`.
  const spaced = lower.replace(/(aes|serpent|twofish|cast5)(\d{3})/, '$1-$2');
  return spaced === lower ? undefined : byQemuName(spaced);
}

/** `AES-128-CBC`, `SHA1`, `SHA256` in the headings of cryptodev's tests; `CRYPTO_SHA2_256` in what they ask for. */
export function cryptodevAlgorithm(name: string): Algorithm | undefined {
  const plain = squeeze(name).replace(/^crypto-/, '');
  return findAlgorithm(plain) ?? findAlgorithm(plain.replace(/^sha2-/, 'sha'));
}

/** The entry of a kernel name at a key length, or the only entry that there is. */
export function kernelAlgorithm(name: string, keyBits?: number): Algorithm | undefined {
  const found = byKernelName(name);
  if (keyBits === undefined) return found.length === 1 ? found[0] : undefined;
  return found.find((algorithm) => 'keyBytes' in algorithm && algorithm.keyBytes === keyBits / 8);
}

/** What kcapi-speed calls a cipher, beside the kernel's name of it. */
const KCAPI_CIPHERS: Readonly<Record<string, string>> = { des3: 'des3_ede', '3des': 'des3_ede' };
const KCAPI_MODES = new Set(['cbc', 'ctr', 'xts', 'ecb', 'gcm', 'ccm', 'lrw']);

export interface KcapiName {
  readonly algorithm?: Algorithm;
  readonly keyBits?: number;
  /** The implementations in parentheses: `AESNI`, `G`. */
  readonly hint?: string;
  readonly random: boolean;
}

/** `SHA-256(SSSE3)`, `HMAC SHA-1(G)`, `AES(AESNI) CBC(ASM) 128`, `SM4(G) GCM(G)`, `CTR AES-256 DRBG PR`. */
export function kcapiName(name: string): KcapiName {
  if (name.length > 80) return { random: false };
  const hints = [...name.matchAll(/\(([^()]{1,40})\)/g)].map((match) => match[1]!);
  const words = squeeze(name.replace(/\([^()]{0,40}\)/g, ' '))
    .split('-')
    .filter((word) => word !== '');
  const last = words.at(-1);
  const bits =
    last !== undefined && /^(?:56|112|128|168|192|256|384|512)$/.test(last) ? Number(last) : undefined;
  const hint = [...new Set(hints)].join(' ');
  const common = {
    ...(hint !== '' ? { hint } : {}),
    random: words.includes('drbg') || words.includes('x9.31'),
  };
  if (common.random) return common;
  const [cipher, mode] = words;
  if (mode !== undefined && KCAPI_MODES.has(mode) && cipher !== undefined) {
    // For XTS the tool names the AES inside, not the doubled key.
    const inner = `${mode}(${KCAPI_CIPHERS[cipher] ?? cipher})`;
    const effective = bits !== undefined && mode === 'xts' ? bits * 2 : bits;
    const algorithm = kernelAlgorithm(inner, effective === 168 ? 192 : effective === 56 ? 64 : effective);
    return {
      ...common,
      ...(algorithm ? { algorithm } : {}),
      ...(bits !== undefined ? { keyBits: bits } : {}),
    };
  }
  const algorithm = findAlgorithm(words.join('-')) ?? findAlgorithm(words.join(''));
  return { ...common, ...(algorithm ? { algorithm } : {}) };
}

/** What is done to bytes by an algorithm of this kind, where only one thing can be. */
export function operationOf(algorithm: Algorithm | undefined): Operation | undefined {
  if (algorithm?.kind === 'hash') return 'digest';
  if (algorithm?.kind === 'mac') return 'mac';
  return undefined;
}

export function keyBitsOf(algorithm: Algorithm | undefined): number | undefined {
  return algorithm && 'keyBytes' in algorithm && algorithm.keyBytes !== undefined
    ? algorithm.keyBytes * 8
    : undefined;
}
