/**
 * Driver `libcrypto`: OpenSSL's EVP, the copy inside the Node binary, called through koffi.
 *
 * The default in software and the baseline that hardware must beat: the same code that node:crypto reaches, without
 * the objects that node:crypto makes for every message.
 */
import type {
  AeadAlgorithm,
  Algorithm,
  CipherAlgorithm,
  HashAlgorithm,
  MacAlgorithm,
} from '../../algorithms.js';
import { findAlgorithm } from '../../algorithms.js';
import { type Reason, UnavailableError } from '../../errors.js';
import { lengthOf, outputBytes, part } from '../buffers.js';
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
import { LibcryptoAead } from './aead.js';
import { LibcryptoCipher } from './cipher.js';
import { LibcryptoHash, LibcryptoMac } from './digest.js';
import { type Evp, loadEvp, MAX_CALL, opensslError } from './evp.js';

type Found =
  | {
      readonly evp: Evp;
      readonly handle: number;
      readonly provider: string;
      /** OpenSSL's name of the hash or cipher that a MAC is built over. */
      readonly over: string;
    }
  | { readonly evp?: undefined; readonly reason: Reason };

/** The name by which EVP's fetch functions know an algorithm. */
function opensslName(algorithm: Algorithm): string | undefined {
  return algorithm.names.openssl ?? (algorithm.adHoc ? algorithm.name : undefined);
}

/** What EVP has can only change with the process. Ad hoc entries come and go, so they are not held. */
const found = new WeakMap<Algorithm, Found>();

function find(algorithm: Algorithm, options: CipherOptions = {}): Found {
  if (options.kernelDriver !== undefined) return look(algorithm, options);
  let result = found.get(algorithm);
  if (result === undefined) {
    result = look(algorithm, options);
    found.set(algorithm, result);
  }
  return result;
}

function look(algorithm: Algorithm, options: CipherOptions): Found {
  const loaded = loadEvp();
  if (!loaded.evp) return { reason: loaded.reason };
  const { evp } = loaded;
  const unknown = (message: string): Found => ({ reason: { code: 'ALGORITHM_UNKNOWN', message } });
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
  return { evp, handle: fetched.handle, provider: fetched.provider, over };
}

class LibcryptoDriver implements Driver {
  readonly name = 'libcrypto';

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

  supports(algorithm: Algorithm, options?: CipherOptions): Support {
    const found = find(algorithm, options);
    return found.evp ? { supported: true } : { supported: false, reason: found.reason };
  }

  implementation(algorithm: Algorithm, options?: CipherOptions): Implementation | undefined {
    const found = find(algorithm, options);
    if (!found.evp) return undefined;
    return {
      driver: this.name,
      kernelDriver: found.provider,
      hardware: 'no',
      evidence: [
        `runs on the CPU, in the ${found.provider} provider of ${found.evp.versionText}, with the CPU's own AES and SHA instructions where it has them`,
      ],
    };
  }

  #need(algorithm: Algorithm, options?: CipherOptions): Found & { evp: Evp } {
    const found = find(algorithm, options);
    if (!found.evp) {
      throw new UnavailableError(
        loadEvp().evp ? 'ALGORITHM_UNAVAILABLE' : 'DRIVER_UNAVAILABLE',
        this.name,
        `${this.name}: ${algorithm.name}`,
        found.reason,
      );
    }
    return found;
  }

  cipher(
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
    options?: CipherOptions,
  ): CipherSession {
    const { evp, handle } = this.#need(algorithm, options);
    return new LibcryptoCipher(evp, handle, algorithm, direction, key, iv);
  }

  aead(
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    options: AeadOptions = {},
  ): AeadSession {
    const { evp, handle } = this.#need(algorithm, options);
    const tagBytes = options.tagBytes ?? algorithm.defaultTagBytes;
    return new LibcryptoAead(evp, handle, algorithm, direction, key, tagBytes);
  }

  hash(algorithm: HashAlgorithm, options?: DigestOptions): DigestSession {
    const { evp, handle } = this.#need(algorithm, options);
    return new LibcryptoHash(evp, handle, algorithm);
  }

  mac(algorithm: MacAlgorithm, key: Uint8Array, options?: DigestOptions): DigestSession {
    const { evp, handle, over } = this.#need(algorithm, options);
    return new LibcryptoMac(evp, handle, algorithm, over, key);
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
