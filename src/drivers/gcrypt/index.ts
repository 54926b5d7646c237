/**
 * Driver `gcrypt`: the system's libgcrypt, where it is installed, called through koffi.
 *
 * There for what OpenSSL lacks (Serpent, Twofish, XTS and GCM of Camellia …) and for comparison: QEMU and cryptsetup may be built
 * over it. Loaded at the first question, never before. What this version and build has is found out by a short message through
 * each algorithm when it is first asked for.
 */
import { type Algorithm, findAlgorithm, type HashAlgorithm, type MacAlgorithm } from '../../algorithms.js';
import { HwcryptError, type Reason } from '../../errors.js';
import type {
  AeadSession,
  CipherOptions,
  CipherSession,
  DigestSession,
  Driver,
  Implementation,
  Probe,
} from '../driver.js';
import { LibraryDriver, type Look, type Sessions } from '../library-driver.js';
import { trialKey } from '../trial-key.js';
import { GcryptAead } from './aead.js';
import { type CipherId, GcryptCipher } from './cipher.js';
import { GcryptCmac, GcryptMd } from './digest.js';
import { DRIVER, type Gcrypt, loadGcrypt, reloadGcrypt } from './library.js';

/** libgcrypt's ids of an algorithm, that of its hash for an HMAC. Hashes and MACs have no mode. */
function idsOf(algorithm: Algorithm): CipherId | undefined {
  const named =
    algorithm.kind === 'mac' && algorithm.construction === 'hmac' ? findAlgorithm(algorithm.over) : algorithm;
  const ids = named?.names.gcrypt;
  return ids && { algo: ids.algo, mode: ids.mode ?? 0 };
}

interface Found {
  readonly gcrypt: Gcrypt;
  readonly ids: CipherId;
}

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

const NO_KEY = new Uint8Array(0);

const SESSIONS: Sessions<Found> = {
  cipher: ({ gcrypt, ids }, algorithm, direction, key, iv) =>
    new GcryptCipher(gcrypt, ids, algorithm, direction, key, iv),
  aead: ({ gcrypt, ids }, algorithm, direction, key, tagBytes) =>
    new GcryptAead(gcrypt, ids, algorithm, direction, key, tagBytes),
  hash: ({ gcrypt, ids }, algorithm) => openDigest(gcrypt, ids, algorithm, NO_KEY),
  mac: ({ gcrypt, ids }, algorithm, key) => openDigest(gcrypt, ids, algorithm, key),
};

class GcryptDriver extends LibraryDriver<Found> {
  readonly name = DRIVER;
  protected override readonly sessions = SESSIONS;
  /** OCB's nonces below 8 bytes and most of its tags; keys of 40 to 120 bits for CAST5. */
  readonly restricted = true;
  #known = new WeakMap<Algorithm, Look<Found>>();

  probe(): Probe {
    const { gcrypt, reason } = loadGcrypt();
    if (!gcrypt) return { available: false, reason };
    const notes = gcrypt.fips ? ['it is in FIPS mode: approved algorithms only'] : [];
    return { available: true, version: `libgcrypt ${gcrypt.version}`, notes };
  }

  reprobe(): Probe {
    this.#known = new WeakMap();
    reloadGcrypt();
    return this.probe();
  }

  protected override look(algorithm: Algorithm, { kernelDriver }: CipherOptions = {}): Look<Found> {
    const { gcrypt, reason } = loadGcrypt();
    if (!gcrypt) return { reason };
    if (kernelDriver !== undefined && kernelDriver !== nameOf(gcrypt)) {
      const message = `${DRIVER} has no kernel driver to pin ("${kernelDriver}")`;
      return { reason: { code: 'ALGORITHM_UNKNOWN', message } };
    }
    let known = this.#known.get(algorithm);
    if (known === undefined) {
      known = attempted(gcrypt, algorithm);
      // Of what passes nothing is remembered.
      if (known.reason?.code !== 'OUT_OF_MEMORY') this.#known.set(algorithm, known);
    }
    return known;
  }

  protected override describe({ gcrypt }: Found): Pick<Implementation, 'kernelDriver' | 'evidence'> {
    const evidence = [
      `runs on the CPU, in libgcrypt ${gcrypt.version}, which knows no engine but the CPU's own instructions`,
    ];
    if (gcrypt.hardwareFeatures) {
      evidence.push(
        `of the CPU libgcrypt uses, by its own account: ${gcrypt.hardwareFeatures.join(', ') || 'nothing special'}`,
      );
    }
    return { kernelDriver: nameOf(gcrypt), evidence };
  }
}

/** What stands for the implementation: one word, so that it can be pinned. */
const nameOf = (gcrypt: Gcrypt): string => `libgcrypt-${gcrypt.version}`;

function attempted(gcrypt: Gcrypt, algorithm: Algorithm): Look<Found> {
  const ids = idsOf(algorithm);
  if (ids === undefined) {
    return { reason: { code: 'ALGORITHM_UNKNOWN', message: `libgcrypt has no ${algorithm.name}` } };
  }
  const reason = attempt(gcrypt, ids, algorithm);
  return reason === undefined ? { found: { gcrypt, ids } } : { reason };
}

export const gcrypt: Driver = new GcryptDriver();
