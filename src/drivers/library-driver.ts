/**
 * What the drivers of libraries have in common: a look tells what the library has for an algorithm or why not, and a session is
 * opened over what was found. The kernel's drivers are otherwise: there a session is asked of the kernel, which may refuse it.
 */
import type {
  AeadAlgorithm,
  Algorithm,
  CipherAlgorithm,
  HashAlgorithm,
  MacAlgorithm,
} from '../algorithms.js';
import { type Reason, UnavailableError } from '../errors.js';
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
} from './driver.js';

/** What the library has for an algorithm, or why it is of no use there. */
export type Look<Found> =
  | { readonly found: Found; readonly reason?: undefined }
  | { readonly found?: undefined; readonly reason: Reason };

/** How sessions are made over what a look has found. The arguments are those of the contract, with nothing left out. */
export interface Sessions<Found> {
  cipher(
    found: Found,
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
  ): CipherSession;
  aead(
    found: Found,
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    tagBytes: number,
  ): AeadSession;
  hash(found: Found, algorithm: HashAlgorithm): DigestSession;
  mac(found: Found, algorithm: MacAlgorithm, key: Uint8Array): DigestSession;
}

const SUPPORTED: Support = { supported: true };

export abstract class LibraryDriver<Found> implements Driver {
  abstract readonly name: Driver['name'];
  protected abstract readonly sessions: Sessions<Found>;

  abstract probe(): Probe;
  abstract reprobe(): Probe;
  protected abstract look(algorithm: Algorithm, options?: CipherOptions): Look<Found>;
  /** Who does the work, and how that is known. */
  protected abstract describe(found: Found): Pick<Implementation, 'kernelDriver' | 'evidence'>;

  supports(algorithm: Algorithm, options?: CipherOptions): Support {
    const { reason } = this.look(algorithm, options);
    return reason === undefined ? SUPPORTED : { supported: false, reason };
  }

  implementation(algorithm: Algorithm, options?: CipherOptions): Implementation | undefined {
    const { found, reason } = this.look(algorithm, options);
    if (reason !== undefined) return undefined;
    return { driver: this.name, hardware: 'no', ...this.describe(found) };
  }

  #need(algorithm: Algorithm, options: CipherOptions | undefined): Found {
    const { found, reason } = this.look(algorithm, options);
    if (reason === undefined) return found;
    const code = this.probe().available ? 'ALGORITHM_UNAVAILABLE' : 'DRIVER_UNAVAILABLE';
    throw new UnavailableError(code, this.name, `${this.name}: ${algorithm.name}`, reason);
  }

  cipher(
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
    options?: CipherOptions,
  ): CipherSession {
    return this.sessions.cipher(this.#need(algorithm, options), algorithm, direction, key, iv);
  }

  aead(
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    options: AeadOptions = {},
  ): AeadSession {
    const tagBytes = options.tagBytes ?? algorithm.defaultTagBytes;
    return this.sessions.aead(this.#need(algorithm, options), algorithm, direction, key, tagBytes);
  }

  hash(algorithm: HashAlgorithm, options?: DigestOptions): DigestSession {
    return this.sessions.hash(this.#need(algorithm, options), algorithm);
  }

  mac(algorithm: MacAlgorithm, key: Uint8Array, options?: DigestOptions): DigestSession {
    return this.sessions.mac(this.#need(algorithm, options), algorithm, key);
  }
}
