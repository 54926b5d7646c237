/**
 * Driver `cryptodev`: the kernel's crypto API, software or an accelerator, reached through /dev/crypto of the module
 * cryptodev-linux, one ioctl a request. It is no part of Linux; routers and NAS boxes have it. From Linux 7.2 on it is the only
 * way from a program to an engine.
 *
 * The driver does not choose: the module asks the kernel for an algorithm by its name and gets the one of the highest priority. It
 * does say which that is (CIOCGSESSINFO), so a pinned kernel driver is compared with what a session turns out to be bound to.
 */
import { machine } from 'node:os';

import {
  type AeadAlgorithm,
  type Algorithm,
  byCryptodevId,
  type CipherAlgorithm,
  type HashAlgorithm,
  type MacAlgorithm,
} from '../../algorithms.js';
import type { Reason, ReasonCode } from '../../errors.js';
import {
  CIPHER_KEY_MAX,
  CRYPTO_ALG,
  CRYPTO_DEVICE,
  ffiUnavailable,
  hostAbi,
  listAlgorithms,
  MAC_KEY_MAX,
  readKernelVersion,
  readText,
} from '../../linux/index.js';
import { lengthOf, wipe } from '../buffers.js';
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
  NumberedSupport,
  Probe,
  Support,
} from '../driver.js';
import { judgeHardware } from '../hardware.js';
import { hmacKey } from '../hmac-key.js';
import { LiveKernelFacts } from '../kernel-facts.js';
import { implementationOf } from '../kernel-implementation.js';
import { checkIv, checkKey, checkTagBytes } from '../parameters.js';
import { trialKey } from '../trial-key.js';
import { checkHalves } from '../xts.js';
import { CryptodevAead } from './aead.js';
import { CryptodevCipher } from './cipher.js';
import { Device, Holder, type KernelSession, type Outcome, type Target, unavailable } from './device.js';
import { CryptodevDigest, type DigestContext } from './digest.js';
import { unmapped } from './explain.js';
import { CRYPTODEV_IDS, type CryptodevId, cryptodevId, idNote } from './ids.js';

/** Netlink cuts names at this length. */
const NETLINK_NAME = 63;

/** The target of an algorithm, or why the device cannot be asked for it. */
function targetOf(algorithm: Algorithm, options: CipherOptions = {}): Outcome<Target> {
  const number = algorithm.names.cryptodev;
  const id = number === undefined ? undefined : cryptodevId(number);
  if (!id) {
    return {
      reason: {
        code: 'ALGORITHM_UNKNOWN',
        message: `/dev/crypto has no number for ${algorithm.name}`,
        cure: 'use the libcrypto or the afalg driver',
      },
    };
  }
  if (algorithm.kind === 'cipher' && algorithm.family === 'rc4') {
    return {
      reason: {
        code: 'ALGORITHM_NOT_OFFERED',
        message: unmapped(id),
        cure: 'use the libcrypto driver',
      },
    };
  }
  return { value: { ...numbers(id), pinned: options.kernelDriver } };
}

function numbers(id: CryptodevId): Target {
  const digest = id.kind === 'hash' || id.kind === 'mac';
  return { cipher: digest ? 0 : id.id, mac: digest ? id.id : 0, kernel: id.kernel };
}

const PASSING: ReadonlySet<ReasonCode> = new Set([
  'TOO_MANY_FILES',
  'OUT_OF_MEMORY',
  'DEVICE_BUSY',
  'TIMED_OUT',
  'DEVICE_GONE',
]);

/** Running out of something says nothing about the algorithm, nor does an engine in trouble; a request that is refused does. */
function passing({ code, errno }: Reason): boolean {
  return PASSING.has(code) || (code === 'SYSTEM_ERROR' && errno === 'EIO');
}

/** Is this a 32-bit program on a 64-bit kernel, by the names that uname gives? */
export function isCompat(wordBytes: number, kernelMachine: string): boolean {
  return wordBytes === 4 && /64|s390x/.test(kernelMachine);
}

export class CryptodevDriver implements Driver {
  readonly name = 'cryptodev';
  readonly restricted = true;
  readonly fallible = true;
  #probe: Probe | undefined;
  #device: Device | undefined;
  readonly #supports = new Map<string, Support>();
  readonly #implementations = new Map<string, Implementation>();
  readonly #stable = new Map<string, unknown>();
  readonly #facts = (): LiveKernelFacts => new LiveKernelFacts(this.#stable);
  readonly #compat = isCompat(hostAbi().wordBytes, machine());

  probe(): Probe {
    this.#probe ??= this.#look();
    return this.#probe;
  }

  reprobe(): Probe {
    this.#probe = undefined;
    this.#supports.clear();
    this.#implementations.clear();
    this.#stable.clear();
    return this.probe();
  }

  #look(): Probe {
    if (process.platform !== 'linux') {
      const message = `cryptodev-linux is a module of Linux; this is ${process.platform}`;
      return { available: false, reason: { code: 'NOT_LINUX', message } };
    }
    const ffi = ffiUnavailable();
    if (ffi) return { available: false, reason: ffi };
    // A file that is still open says nothing about a device that was exchanged for another, so it is looked at anew.
    const opened = Device.open(this.#facts);
    if (opened.reason) return { available: false, reason: opened.reason };
    const reason = opened.value.check();
    opened.value.close();
    if (reason) return { available: false, reason };
    const release = readKernelVersion()?.release ?? '(unknown)';
    const served = readText('/sys/class/cuse/crypto/dev') !== undefined;
    const notes: string[] = [];
    if (served) notes.push(`${CRYPTO_DEVICE} is served by a program (CUSE) and not by the module cryptodev`);
    if (this.#compat) {
      notes.push(
        'a 32-bit program on a 64-bit kernel: cryptodev-linux has no authenticated encryption for it, and copies no hashes',
      );
    }
    const version = served ? `${CRYPTO_DEVICE}, served by a program` : `cryptodev-linux on Linux ${release}`;
    return { available: true, version, notes };
  }

  /** The open file that sessions are made on. */
  #opened(): Outcome<Device> {
    const device = this.#device;
    if (device?.usable) return { value: device };
    device?.close();
    const opened = Device.open(this.#facts);
    this.#device = opened.value;
    return opened;
  }

  #open(target: Target, key: Uint8Array | undefined): Outcome<KernelSession> {
    const opened = this.#opened();
    if (opened.reason) return opened;
    return target.cipher === 0 ? opened.value.open(target, undefined, key) : opened.value.open(target, key);
  }

  supports(algorithm: Algorithm, options?: CipherOptions): Support {
    const probe = this.probe();
    if (!probe.available) return { supported: false, reason: probe.reason };
    const target = targetOf(algorithm, options);
    if (target.reason) return { supported: false, reason: target.reason };
    const key = keyOf(algorithm, options);
    const known = this.#supports.get(key);
    if (known) return known;
    const tried = this.#try(algorithm, target.value);
    const support: Support = tried ? { supported: false, reason: tried } : { supported: true };
    if (tried && passing(tried)) return support;
    this.#supports.set(key, support);
    // The kernel may have loaded a module for it, whose drivers may now be the best of other algorithms.
    this.#implementations.clear();
    return support;
  }

  #trySession(algorithm: Algorithm, target: Target): Outcome<KernelSession> {
    const keyBytes = algorithm.kind === 'hash' ? 0 : (algorithm.keyBytes ?? 16);
    return this.#open(target, algorithm.kind === 'hash' ? undefined : trialKey(keyBytes));
  }

  /** Opens a session, since engines that skip 192-bit keys are not rare; and seals a message of nothing with an AEAD. */
  #try(algorithm: Algorithm, target: Target): Reason | undefined {
    const opened = this.#trySession(algorithm, target);
    if (opened.reason) return opened.reason;
    try {
      return algorithm.kind === 'aead' ? this.#trySealing(opened.value, algorithm) : undefined;
    } finally {
      opened.value.close();
    }
  }

  /** That a session of an AEAD opens does not say that messages can be sealed: not so for 32-bit programs. */
  #trySealing(session: KernelSession, algorithm: AeadAlgorithm): Reason | undefined {
    const holder = new Holder(session, () => ({ value: session }));
    using sealer = new CryptodevAead(holder, algorithm, 'encrypt', algorithm.defaultTagBytes, this.#compat);
    const nothing = new Uint8Array();
    try {
      sealer.seal(
        new Uint8Array(algorithm.ivBytes),
        nothing,
        nothing,
        nothing,
        new Uint8Array(algorithm.defaultTagBytes),
      );
      return undefined;
    } catch (error) {
      return (error as { reason?: Reason }).reason;
    }
  }

  implementation(algorithm: Algorithm, options?: CipherOptions): Implementation | undefined {
    if (!this.supports(algorithm, options).supported) return undefined;
    const key = keyOf(algorithm, options);
    const known = this.#implementations.get(key);
    if (known) return known;
    const target = targetOf(algorithm, options);
    const opened = target.reason ? target : this.#trySession(algorithm, target.value);
    if (opened.reason) return undefined;
    const found = describe(opened.value);
    opened.value.close();
    this.#implementations.set(key, found);
    return found;
  }

  identifiers(): NumberedSupport[] {
    // All are tried before any is described: what the kernel loads for one may become the best of another.
    for (const { id } of CRYPTODEV_IDS) for (const algorithm of byCryptodevId(id)) this.supports(algorithm);
    return CRYPTODEV_IDS.flatMap((id) => this.#identify(id));
  }

  #identify(id: CryptodevId): NumberedSupport[] {
    const note = idNote(id);
    const base = {
      id: id.id,
      idName: id.name,
      ...(id.kernel === undefined ? {} : { kernel: id.kernel }),
      ...(note === undefined ? {} : { note }),
    };
    const own = byCryptodevId(id.id);
    if (own.length === 0) return [{ ...base, ...this.#tryNumber(id) }];
    return own.map((algorithm) => {
      const implementation = this.implementation(algorithm);
      return {
        ...base,
        algorithm,
        support: this.supports(algorithm),
        ...(implementation ? { implementation } : {}),
      };
    });
  }

  /** A number that hwcrypt has no algorithm of. */
  #tryNumber(id: CryptodevId): Pick<NumberedSupport, 'support' | 'implementation'> {
    const probe = this.probe();
    if (!probe.available) return { support: { supported: false, reason: probe.reason } };
    const device = this.#opened();
    if (device.reason) return { support: { supported: false, reason: device.reason } };
    const { keyBytes = 16, macKeyBytes } = id.trial ?? {};
    const macKey = macKeyBytes === undefined ? undefined : trialKey(macKeyBytes);
    const opened =
      id.kind === 'mac'
        ? device.value.open(numbers(id), undefined, trialKey(keyBytes))
        : device.value.open(numbers(id), trialKey(keyBytes), macKey);
    if (opened.reason) return { support: { supported: false, reason: opened.reason } };
    const implementation = describe(opened.value);
    opened.value.close();
    return { support: { supported: true }, implementation };
  }

  /** What a session of this algorithm is made of, with everything checked that does not need the device. */
  #target(algorithm: Algorithm, options: CipherOptions | undefined): Target {
    const probe = this.probe();
    const target = targetOf(algorithm, options);
    if (!probe.available) throw unavailable(undefined, algorithm.name, probe.reason);
    if (target.reason) throw unavailable(undefined, algorithm.name, target.reason);
    return target.value;
  }

  #hold(what: string, target: Target, key: Uint8Array | undefined): Holder {
    const open = (given: Uint8Array | undefined): Outcome<KernelSession> => this.#open(target, given);
    const opened = open(key);
    if (opened.reason) throw unavailable(target, what, opened.reason);
    const kept = target.mac !== 0 && key !== undefined ? Uint8Array.from(key) : undefined;
    return new Holder(opened.value, open, kept);
  }

  cipher(
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
    options?: CipherOptions,
  ): CipherSession {
    checkKey(algorithm, key);
    checkIv(algorithm, iv);
    if (algorithm.mode === 'xts') checkHalves(direction, key);
    const target = this.#target(algorithm, options);
    if (lengthOf(key) > CIPHER_KEY_MAX) {
      throw unavailable(target, algorithm.name, {
        code: 'BAD_KEY_LENGTH',
        message: `/dev/crypto takes keys of at most ${CIPHER_KEY_MAX} bytes`,
        cure: 'use the libcrypto driver',
      });
    }
    return new CryptodevCipher(this.#hold(algorithm.name, target, key), algorithm, direction, iv);
  }

  aead(
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    options: AeadOptions = {},
  ): AeadSession {
    checkKey(algorithm, key);
    const tagBytes = checkTagBytes(algorithm, options.tagBytes ?? algorithm.defaultTagBytes);
    const target = this.#target(algorithm, options);
    const held = this.#hold(algorithm.name, target, key);
    return new CryptodevAead(held, algorithm, direction, tagBytes, this.#compat);
  }

  hash(algorithm: HashAlgorithm, options?: DigestOptions): DigestSession {
    const target = this.#target(algorithm, options);
    const held = this.#hold(algorithm.name, target, undefined);
    return new CryptodevDigest({ compat: this.#compat, kernelKey: (it) => it }, held, algorithm);
  }

  mac(algorithm: MacAlgorithm, key: Uint8Array, options?: DigestOptions): DigestSession {
    checkKey(algorithm, key);
    const target = this.#target(algorithm, options);
    const context: DigestContext = {
      compat: this.#compat,
      kernelKey: (it) => hmacKey(algorithm, it, MAC_KEY_MAX, (over) => this.hash(over)),
    };
    const given = context.kernelKey(key);
    try {
      return new CryptodevDigest(context, this.#hold(algorithm.name, target, given), algorithm);
    } finally {
      if (given !== key) wipe(given);
    }
  }
}

function keyOf({ name }: Algorithm, options: CipherOptions = {}): string {
  return `${name} ${options.kernelDriver ?? ''}`;
}

/** Who does the work of a session: its driver's name from the device, the rest from the kernel's list. */
function describe(session: KernelSession): Implementation {
  const { info, target, kernelDriver } = session;
  if (!info || kernelDriver === '') {
    return {
      driver: 'cryptodev',
      kernelDriver: target.kernel ?? 'unknown',
      hardware: 'unknown',
      evidence: ['the device does not say to which kernel driver a session is bound'],
    };
  }
  const evidence = [
    `${CRYPTO_DEVICE} says that a session is bound to ${kernelDriver}${info.kernelDriverOnly ? ', a driver for the kernel only' : ''}`,
  ];
  const { algorithm } = target.cipher === 0 ? info.hash : info.cipher;
  const entry = listAlgorithms().algorithms.find(
    (one) =>
      !one.internal &&
      one.name === algorithm &&
      (one.driver === kernelDriver || one.driver === kernelDriver.slice(0, NETLINK_NAME)),
  );
  if (entry) return implementationOf('cryptodev', entry, evidence, kernelDriver);
  const verdict = judgeHardware({
    driver: kernelDriver,
    ...(info.kernelDriverOnly ? { flags: CRYPTO_ALG.KERN_DRIVER_ONLY } : {}),
  });
  return {
    driver: 'cryptodev',
    kernelDriver,
    hardware: verdict.hardware,
    evidence: [...verdict.evidence, ...evidence],
  };
}

export const cryptodev = new CryptodevDriver();
