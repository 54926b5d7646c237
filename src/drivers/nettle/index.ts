/**
 * Driver `nettle`: the system's libnettle, called through koffi.
 *
 * It is there for coverage (serpent, twofish …) and for comparison, since QEMU and GnuTLS use it: always the CPU. Importing
 * this loads nothing; the library is opened when the driver is first asked for something.
 */
import { type Algorithm, findAlgorithm } from '../../algorithms.js';
import type { Reason } from '../../errors.js';
import type { CipherOptions, Driver, Implementation, Probe } from '../driver.js';
import { LibraryDriver, type Look, type Sessions } from '../library-driver.js';
import { aeadSymbols, NettleAead } from './aead.js';
import { cipherSymbols, hasMode, NettleCipher } from './cipher.js';
import { macSymbols, NettleDigest } from './digest.js';
import { type BlockCipher, type HashFunctions, loadNettle, type Nettle, reloadNettle } from './library.js';

const DRIVER = 'nettle';

/** The minor version of nettle 3 from which on something is there, or right, where that is later than 3.4. */
interface Since {
  readonly minor: number;
  /** Why what an earlier one has is not used. */
  readonly fault?: string;
}

const CIPHER_SINCE: Readonly<Record<string, Since>> = { sm4: { minor: 9 } };
const HASH_SINCE: Readonly<Record<string, Since>> = {
  sm3: { minor: 8 },
  shake256: { minor: 6 },
  shake128: { minor: 10 },
};
const MODE_SINCE: Readonly<Record<string, Since>> = {
  xts: { minor: 5 },
  cfb8: { minor: 6, fault: 'loses the IV after a message that is shorter than a block' },
  // One fault was mended in 3.9.1, which does not tell its third number.
  ocb: { minor: 10, fault: 'writes out of bounds for 272 bytes and more' },
};
const CMAC_SINCE: Readonly<Record<8 | 16, Since>> = { 8: { minor: 6 }, 16: { minor: 5 } };

/** What an algorithm is made over: a block cipher, a hash, the bytes of a context, or nothing (the stream ciphers). */
interface Found {
  readonly nettle: Nettle;
  readonly cipher?: BlockCipher;
  readonly hash?: HashFunctions;
  readonly contextBytes?: number;
}

/** The stem of the symbols of what an algorithm is made over. The table names AEADs and MACs by functions of their own. */
function stemOf(algorithm: Algorithm): string | undefined {
  switch (algorithm.kind) {
    case 'cipher':
      return algorithm.names.nettle;
    case 'aead': {
      if (algorithm.mode === 'chacha20-poly1305') return algorithm.names.nettle;
      return findAlgorithm(algorithm.name.replace(/-(gcm|ccm|ocb)$/, '-ecb'))?.names.nettle;
    }
    case 'hash':
      return algorithm.xof && algorithm.name.startsWith('shake') ? algorithm.name : algorithm.names.nettle;
    case 'mac': {
      const over = findAlgorithm(algorithm.over);
      return over && stemOf(over);
    }
  }
}

function sinceOf(algorithm: Algorithm, stem: string): Since | undefined {
  const known = [CIPHER_SINCE[stem], HASH_SINCE[stem]];
  if (algorithm.kind === 'cipher' || algorithm.kind === 'aead') known.push(MODE_SINCE[algorithm.mode]);
  if (algorithm.name === 'chacha20') known.push({ minor: 6 });
  if (algorithm.kind === 'mac' && algorithm.construction === 'cmac') {
    known.push(CMAC_SINCE[algorithm.blockBytes === 8 ? 8 : 16]);
  }
  return known.filter((since) => since !== undefined).sort((a, b) => b.minor - a.minor)[0];
}

function symbolsOf(algorithm: Algorithm): readonly string[] {
  switch (algorithm.kind) {
    case 'cipher':
      return cipherSymbols(algorithm);
    case 'aead':
      return aeadSymbols(algorithm);
    case 'mac':
      return macSymbols(algorithm);
    case 'hash':
      return [];
  }
}

/** What nettle has only changes with the library, which stays. Ad hoc entries come and go, so they are not held. */
let known = new WeakMap<Algorithm, Look<Found>>();

function find(algorithm: Algorithm, options: CipherOptions = {}): Look<Found> {
  let result = known.get(algorithm);
  if (result === undefined) {
    result = look(algorithm);
    known.set(algorithm, result);
  }
  const pinned = options.kernelDriver;
  if (result.found && pinned !== undefined && pinned !== result.found.nettle.name) {
    return unknown(`nettle has no kernel driver to pin ("${pinned}")`);
  }
  return result;
}

function unknown(message: string, cure?: string): { readonly reason: Reason } {
  return { reason: { code: 'ALGORITHM_UNKNOWN', message, ...(cure === undefined ? {} : { cure }) } };
}

function look(algorithm: Algorithm): Look<Found> {
  const loaded = loadNettle();
  if (!loaded.nettle) return { reason: loaded.reason };
  const { nettle } = loaded;
  const stem = stemOf(algorithm);
  if (stem === undefined || (algorithm.kind === 'cipher' && !hasMode(algorithm.mode))) {
    return unknown(`nettle has no ${algorithm.name}`);
  }
  const since = sinceOf(algorithm, stem);
  if (since !== undefined && nettle.minor < since.minor) {
    const { fault } = since;
    return unknown(
      `${nettle.versionText} ${fault === undefined ? `has no ${algorithm.name}` : `is not used for ${algorithm.name}: it ${fault}`}`,
      `install nettle 3.${since.minor} or later`,
    );
  }
  const parts = partsOf(nettle, algorithm, stem);
  const missing = symbolsOf(algorithm).find((symbol) => !nettle.has(symbol));
  if (parts === undefined || missing !== undefined) {
    return {
      reason: {
        code: 'SYMBOLS_ABSENT',
        message: `${nettle.soname} (${nettle.versionText}) has no usable ${missing ?? `nettle_${stem}`}`,
        cure: 'install a nettle that was built with all of its algorithms',
      },
    };
  }
  return { found: { nettle, ...parts } };
}

/** Undefined where the library does not have it, or describes it otherwise than the table does. */
function partsOf(nettle: Nettle, algorithm: Algorithm, stem: string): Omit<Found, 'nettle'> | undefined {
  if (algorithm.kind === 'hash') {
    const hash = nettle.hash(stem);
    return hash && (algorithm.xof || hash.digestBytes === algorithm.digestBytes) ? { hash } : undefined;
  }
  if (algorithm.kind === 'mac' && algorithm.construction === 'hmac') {
    const hash = nettle.hash(stem);
    const fits = hash?.digestBytes === algorithm.digestBytes && hash.blockBytes === algorithm.blockBytes;
    return hash && fits ? { hash } : undefined;
  }
  if (algorithm.kind === 'cipher' && algorithm.mode === 'stream') return {};
  if (algorithm.kind === 'aead' && algorithm.mode === 'chacha20-poly1305') {
    const contextBytes = nettle.aeadContextBytes(stem);
    return contextBytes === undefined ? undefined : { contextBytes };
  }
  const cipher = nettle.cipher(stem);
  const blockBytes = algorithm.kind === 'mac' ? algorithm.blockBytes : algorithm.cipherBlockBytes;
  return cipher?.blockBytes === blockBytes ? { cipher } : undefined;
}

/** Code for the CPU's own instructions, which a fat build has beside the portable one, by what their symbols end in. */
function evidenceOf(nettle: Nettle): string[] {
  const evidence = [`runs on the CPU, in ${nettle.versionText} (${nettle.soname})`];
  const fat = ['_nettle_aes128_encrypt_aesni', '_nettle_aes_encrypt_aesni', '_nettle_aes128_encrypt_arm64'];
  if (fat.some((symbol) => nettle.has(symbol))) {
    evidence.push(
      'a fat build: it chose between portable code and the CPU’s AES, SHA and carry-less multiplication when it was loaded (NETTLE_FAT_OVERRIDE)',
    );
  }
  return evidence;
}

const SESSIONS: Sessions<Found> = {
  cipher: ({ nettle, cipher }, algorithm, direction, key, iv) =>
    new NettleCipher(nettle, cipher, algorithm, direction, key, iv),
  aead: ({ nettle, cipher, contextBytes }, algorithm, direction, key, tagBytes) =>
    new NettleAead(nettle, cipher ?? (contextBytes as number), algorithm, direction, key, tagBytes),
  hash: ({ hash }, algorithm) => NettleDigest.hash(algorithm, hash as HashFunctions),
  mac: ({ nettle, cipher, hash }, algorithm, key) =>
    NettleDigest.mac(nettle, algorithm, (hash ?? cipher) as HashFunctions | BlockCipher, key),
};

class NettleDriver extends LibraryDriver<Found> {
  readonly name = DRIVER;
  protected override readonly sessions = SESSIONS;

  probe(): Probe {
    const { nettle, reason } = loadNettle();
    return nettle
      ? { available: true, version: nettle.versionText, notes: [] }
      : { available: false, reason: reason as Reason };
  }

  reprobe(): Probe {
    reloadNettle();
    known = new WeakMap();
    return this.probe();
  }

  protected override look(algorithm: Algorithm, options?: CipherOptions): Look<Found> {
    return find(algorithm, options);
  }

  protected override describe({ nettle }: Found): Pick<Implementation, 'kernelDriver' | 'evidence'> {
    return { kernelDriver: nettle.name, evidence: evidenceOf(nettle) };
  }
}

export const nettle: Driver = new NettleDriver();
