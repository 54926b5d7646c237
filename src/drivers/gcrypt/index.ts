/**
 * Driver `gcrypt`: the system's libgcrypt, where it is installed, called through koffi.
 *
 * There for what OpenSSL lacks (Serpent, Twofish, XTS and GCM of Camellia …) and for comparison: QEMU and cryptsetup may be built
 * over it. Loaded at the first question, never before. What this version and build has is found out by a short message through
 * each algorithm when it is first asked for.
 */
import {
  type AeadAlgorithm,
  type Algorithm,
  type CipherAlgorithm,
  findAlgorithm,
  type HashAlgorithm,
  type MacAlgorithm,
} from '../../algorithms.js';
import { HwcryptError, type Reason, UnavailableError } from '../../errors.js';
import type {
  AeadOptions,
  AeadSession,
  CipherOptions,
  CipherSession,
  DigestOptions,
  DigestSession,
  Direction,
  Driver,
  Implementation,
  Probe,
  Support,
} from '../driver.js';
import { trialKey } from '../trial-key.js';
import { GcryptAead } from './aead.js';
import { type CipherId, GcryptCipher } from './cipher.js';
import { GcryptCmac, GcryptMd } from './digest.js';
import { DRIVER, type Gcrypt, loadGcrypt, refused, reloadGcrypt } from './library.js';

/** libgcrypt's ids of an algorithm, that of its hash for an HMAC. Hashes and MACs have no mode. */
function idsOf(algorithm: Algorithm): CipherId | undefined {
  const named =
    algorithm.kind === 'mac' && algorithm.construction === 'hmac' ? findAlgorithm(algorithm.over) : algorithm;
  const ids = named?.names.gcrypt;
  return ids && { algo: ids.algo, mode: ids.mode ?? 0 };
}

type Found =
  | { readonly gcrypt: Gcrypt; readonly ids: CipherId; readonly reason?: undefined }
  | { readonly gcrypt?: undefined; readonly reason: Reason };

const ALWAYS = { supported: true } as const;

/** A short message through the algorithm: only that shows what this version, build and mode (FIPS) really does. */
function attempt(gcrypt: Gcrypt, ids: CipherId, algorithm: Algorithm): Reason | undefined {
  let session: CipherSession | AeadSession | DigestSession | undefined;
  try {
    if (algorithm.kind === 'cipher') {
      const iv = algorithm.ivBytes === 0 ? null : new Uint8Array(algorithm.ivBytes);
      const opened = new GcryptCipher(gcrypt, ids, algorithm, 'encrypt', trialKey(algorithm.keyBytes), iv);
      session = opened;
      opened.update(new Uint8Array(64), new Uint8Array(64));
    } else if (algorithm.kind === 'aead') {
      const { keyBytes, ivBytes, defaultTagBytes } = algorithm;
      const opened = new GcryptAead(gcrypt, ids, algorithm, 'encrypt', trialKey(keyBytes), defaultTagBytes);
      session = opened;
      const [text, tag] = [new Uint8Array(16), new Uint8Array(defaultTagBytes)];
      opened.seal(new Uint8Array(ivBytes), new Uint8Array(0), text, text, tag);
    } else {
      const keyBytes = algorithm.kind === 'mac' ? (algorithm.keyBytes ?? 32) : 0;
      const opened = openDigest(gcrypt, ids, algorithm, trialKey(keyBytes));
      session = opened;
      opened.digest(new Uint8Array(algorithm.digestBytes));
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof HwcryptError) || !error.reason) throw error;
    if (error.reason.code !== 'SYSTEM_ERROR' || !gcrypt.fips) return error.reason;
    // Open, and shut at the last moment: GCM whose nonce the caller chooses.
    return {
      code: 'ALGORITHM_NOT_OFFERED',
      message: `libgcrypt ${gcrypt.version} is in FIPS mode and refuses ${algorithm.name} there`,
    };
  } finally {
    session?.close();
  }
}

function openDigest(
  gcrypt: Gcrypt,
  { algo }: CipherId,
  algorithm: HashAlgorithm | MacAlgorithm,
  key: Uint8Array,
): DigestSession {
  if (algorithm.kind === 'hash') return new GcryptMd(gcrypt, algo, algorithm, undefined);
  return algorithm.construction === 'hmac'
    ? new GcryptMd(gcrypt, algo, algorithm, key)
    : new GcryptCmac(gcrypt, algo, algorithm, key);
}

class GcryptDriver implements Driver {
  readonly name = DRIVER;
  /** OCB's nonces below 8 bytes and most of its tags; keys of 40 to 120 bits for CAST5. */
  readonly restricted = true;
  #found = new WeakMap<Algorithm, Found>();

  probe(): Probe {
    const { gcrypt, reason } = loadGcrypt();
    if (!gcrypt) return { available: false, reason };
    const notes = gcrypt.fips ? ['it is in FIPS mode: approved algorithms only'] : [];
    return { available: true, version: `libgcrypt ${gcrypt.version}`, notes };
  }

  reprobe(): Probe {
    this.#found = new WeakMap();
    reloadGcrypt();
    return this.probe();
  }

  #find(algorithm: Algorithm, { kernelDriver }: CipherOptions = {}): Found {
    const { gcrypt, reason } = loadGcrypt();
    if (!gcrypt) return { reason };
    if (kernelDriver !== undefined && kernelDriver !== nameOf(gcrypt)) {
      const message = `${DRIVER} has no kernel driver to pin ("${kernelDriver}")`;
      return { reason: { code: 'ALGORITHM_UNKNOWN', message } };
    }
    let found = this.#found.get(algorithm);
    if (found === undefined) {
      found = look(gcrypt, algorithm);
      // Of what passes nothing is remembered.
      if (found.reason?.code !== 'OUT_OF_MEMORY') this.#found.set(algorithm, found);
    }
    return found;
  }

  supports(algorithm: Algorithm, options?: CipherOptions): Support {
    const { reason } = this.#find(algorithm, options);
    return reason === undefined ? ALWAYS : { supported: false, reason };
  }

  implementation(algorithm: Algorithm, options?: CipherOptions): Implementation | undefined {
    const { gcrypt } = this.#find(algorithm, options);
    if (!gcrypt) return undefined;
    const evidence = [
      `runs on the CPU, in libgcrypt ${gcrypt.version}, which knows no engine but the CPU's own instructions`,
    ];
    if (gcrypt.hardwareFeatures) {
      evidence.push(
        `of the CPU libgcrypt uses, by its own account: ${gcrypt.hardwareFeatures.join(', ') || 'nothing special'}`,
      );
    }
    return { driver: this.name, kernelDriver: nameOf(gcrypt), hardware: 'no', evidence };
  }

  #need(algorithm: Algorithm, options?: CipherOptions): { readonly gcrypt: Gcrypt; readonly ids: CipherId } {
    const found = this.#find(algorithm, options);
    if (found.gcrypt) return found;
    if (loadGcrypt().gcrypt) throw refused(algorithm, found.reason);
    throw new UnavailableError('DRIVER_UNAVAILABLE', DRIVER, `${DRIVER}: ${algorithm.name}`, found.reason);
  }

  cipher(
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
    options?: CipherOptions,
  ): CipherSession {
    const { gcrypt, ids } = this.#need(algorithm, options);
    return new GcryptCipher(gcrypt, ids, algorithm, direction, key, iv);
  }

  aead(
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    options: AeadOptions = {},
  ): AeadSession {
    const { gcrypt, ids } = this.#need(algorithm, options);
    const tagBytes = options.tagBytes ?? algorithm.defaultTagBytes;
    return new GcryptAead(gcrypt, ids, algorithm, direction, key, tagBytes);
  }

  hash(algorithm: HashAlgorithm, options?: DigestOptions): DigestSession {
    const { gcrypt, ids } = this.#need(algorithm, options);
    return openDigest(gcrypt, ids, algorithm, NO_KEY);
  }

  mac(algorithm: MacAlgorithm, key: Uint8Array, options?: DigestOptions): DigestSession {
    const { gcrypt, ids } = this.#need(algorithm, options);
    return openDigest(gcrypt, ids, algorithm, key);
  }
}

const NO_KEY = new Uint8Array(0);

/** What stands for the implementation: one word, so that it can be pinned. */
const nameOf = (gcrypt: Gcrypt): string => `libgcrypt-${gcrypt.version}`;

function look(gcrypt: Gcrypt, algorithm: Algorithm): Found {
  const ids = idsOf(algorithm);
  if (ids === undefined) {
    return { reason: { code: 'ALGORITHM_UNKNOWN', message: `libgcrypt has no ${algorithm.name}` } };
  }
  const reason = attempt(gcrypt, ids, algorithm);
  return reason === undefined ? { gcrypt, ids } : { reason };
}

export const gcrypt: Driver = new GcryptDriver();
