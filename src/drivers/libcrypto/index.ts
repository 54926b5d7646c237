/**
 * Driver `libcrypto`: OpenSSL's EVP, the copy inside the Node binary, called through koffi.
 *
 * The default in software and the baseline that hardware must beat: the same code that node:crypto reaches, without
 * the objects that node:crypto makes for every message.
 */
import { type Algorithm, findAlgorithm } from '../../algorithms.js';
import { type Reason, UnavailableError } from '../../errors.js';
import { lengthOf, outputBytes, part } from '../buffers.js';
import type { CipherOptions, Driver, Implementation, Probe } from '../driver.js';
import { LibraryDriver, type Look, type Sessions } from '../library-driver.js';
import { LibcryptoAead } from './aead.js';
import { LibcryptoCipher } from './cipher.js';
import { LibcryptoHash, LibcryptoMac } from './digest.js';
import { type Evp, loadEvp, MAX_CALL, opensslError } from './evp.js';

interface Found {
  readonly evp: Evp;
  readonly handle: number;
  readonly provider: string;
  /** OpenSSL's name of the hash or cipher that a MAC is built over. */
  readonly over: string;
}

/** The name by which EVP's fetch functions know an algorithm. */
function opensslName(algorithm: Algorithm): string | undefined {
  return algorithm.names.openssl ?? (algorithm.adHoc ? algorithm.name : undefined);
}

/** What EVP has can only change with the process. Ad hoc entries come and go, so they are not held. */
const found = new WeakMap<Algorithm, Look<Found>>();

function find(algorithm: Algorithm, options: CipherOptions = {}): Look<Found> {
  if (options.kernelDriver !== undefined) return look(algorithm, options);
  let result = found.get(algorithm);
  if (result === undefined) {
    result = look(algorithm, options);
    found.set(algorithm, result);
  }
  return result;
}

function look(algorithm: Algorithm, options: CipherOptions): Look<Found> {
  const loaded = loadEvp();
  if (!loaded.evp) return { reason: loaded.reason };
  const { evp } = loaded;
  const unknown = (message: string): Look<Found> => ({ reason: { code: 'ALGORITHM_UNKNOWN', message } });
  if (options.kernelDriver !== undefined && options.kernelDriver !== 'default') {
    return unknown(`libcrypto has no kernel driver to pin ("${options.kernelDriver}")`);
  }
  let name = opensslName(algorithm);
  let over = '';
  let what: 'cipher' | 'md' | 'mac' = algorithm.kind === 'hash' ? 'md' : 'cipher';
  let legacy = false;
  if (algorithm.kind === 'mac') {
    const base = findAlgorithm(algorithm.over);
    const baseName = base ? opensslName(base) : undefined;
    const below =
      baseName === undefined
        ? undefined
        : evp.fetch(algorithm.construction === 'hmac' ? 'md' : 'cipher', baseName);
    if (baseName === undefined || below === undefined)
      return unknown(`this OpenSSL has no ${algorithm.over}`);
    over = baseName;
    legacy = below.provider === 'legacy';
    name = algorithm.construction.toUpperCase();
    what = 'mac';
  }
  const fetched = name === undefined ? undefined : evp.fetch(what, name, legacy);
  if (!fetched) return unknown(`this OpenSSL has no ${algorithm.name}`);
  return { found: { evp, handle: fetched.handle, provider: fetched.provider, over } };
}

const SESSIONS: Sessions<Found> = {
  cipher: ({ evp, handle }, algorithm, direction, key, iv) =>
    new LibcryptoCipher(evp, handle, algorithm, direction, key, iv),
  aead: ({ evp, handle }, algorithm, direction, key, tagBytes) =>
    new LibcryptoAead(evp, handle, algorithm, direction, key, tagBytes),
  hash: ({ evp, handle }, algorithm) => new LibcryptoHash(evp, handle, algorithm),
  mac: ({ evp, handle, over }, algorithm, key) => new LibcryptoMac(evp, handle, algorithm, over, key),
};

class LibcryptoDriver extends LibraryDriver<Found> {
  readonly name = 'libcrypto';
  protected override readonly sessions = SESSIONS;

  probe(): Probe {
    const { evp, reason } = loadEvp();
    return evp
      ? { available: true, version: evp.versionText, notes: [] }
      : { available: false, reason: reason as Reason };
  }

  reprobe(): Probe {
    // The library is part of this process: nothing can have changed.
    return this.probe();
  }

  protected override look(algorithm: Algorithm, options?: CipherOptions): Look<Found> {
    return find(algorithm, options);
  }

  protected override describe({ evp, provider }: Found): Pick<Implementation, 'kernelDriver' | 'evidence'> {
    return {
      kernelDriver: provider,
      evidence: [
        `runs on the CPU, in the ${provider} provider of ${evp.versionText}, with the CPU's own AES and SHA instructions where it has them`,
      ],
    };
  }

  random(output: Uint8Array): void {
    const { evp, reason } = loadEvp();
    if (!evp) throw new UnavailableError('DRIVER_UNAVAILABLE', this.name, this.name, reason as Reason);
    const length = lengthOf(outputBytes(output, 'output', 0));
    for (let at = 0; at < length; at += MAX_CALL) {
      const size = Math.min(MAX_CALL, length - at);
      if (evp.randBytes(part(output, at, size), size) !== 1)
        throw opensslError(evp, 'the random generator failed');
    }
  }
}

export const libcrypto: Driver = new LibcryptoDriver();
