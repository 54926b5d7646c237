/**
 * Driver `afalg`: the kernel's crypto API, software or an accelerator, reached through AF_ALG sockets by sendmsg and
 * read and nothing else: zero-copy and asynchronous I/O on these sockets are gone from Linux 7.2 on.
 *
 * On kernels up to 7.1 this is the way to an engine from a program; from 7.2 on (and on kernels that took the change over)
 * AF_ALG reaches only drivers that work on the CPU.
 */
import { randomBytes } from 'node:crypto';

import type {
  AeadAlgorithm,
  Algorithm,
  CipherAlgorithm,
  HashAlgorithm,
  MacAlgorithm,
} from '../../algorithms.js';
import { DriverError, type Reason } from '../../errors.js';
import {
  type AlgorithmList,
  address,
  addressProblem,
  atLeast,
  ERRNO,
  ffiUnavailable,
  hostAbi,
  type KernelAlgorithm,
  libc,
  listAlgorithms,
  readKernelVersion,
  readProcCrypto,
  sockaddrAlg,
} from '../../linux/index.js';
import { lengthOf, outputBytes, wipe } from '../buffers.js';
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
import { judgeHardware } from '../hardware.js';
import { hmacKey } from '../hmac-key.js';
import { implementationOf } from '../kernel-implementation.js';
import { certainlyAbsent, components } from '../kernel-parts.js';
import { checkIv, checkKey, checkTagBytes } from '../parameters.js';
import { trialKey } from '../trial-key.js';
import { checkHalves } from '../xts.js';
import { AfalgAead } from './aead.js';
import { AfalgCipher } from './cipher.js';
import { AfalgDigest, type DigestContext } from './digest.js';
import { type AlgType, afalgType, explain, isOffCpu, offCpuMasked, restricted } from './explain.js';
import { LiveFacts } from './facts.js';
import { type Limits, type Outcome, Resources, readLimits, type Target, Tfm, unavailable } from './tfm.js';

/** Netlink cuts names at this length. */
const NETLINK_NAME = 63;
/** A longer HMAC key is hashed here: the kernel takes keys out of a small allowance (optmem_max). */
const LONG_KEY_BYTES = 4096;
/** algif_rng gives no more than this in one read. */
const RNG_BYTES = 128;
/** Enough for every generator: ansi_cprng wants 48 bytes, a DRBG seeds itself and takes this as personalisation. */
const SEED_BYTES = 48;

/** What is known about AF_ALG and drivers that work off the CPU. */
export interface OffCpuReach {
  /** Can AF_ALG bind a driver that works off the CPU here? undefined where there is none to tell by. */
  readonly reaches: boolean | undefined;
  readonly evidence: readonly string[];
}

/** The target of an algorithm, or why the kernel cannot be asked for it. */
function targetOf(algorithm: Algorithm, options: CipherOptions = {}): Outcome<Target> {
  const name = algorithm.names.kernel;
  if (name === undefined) {
    return {
      reason: {
        code: 'ALGORITHM_UNKNOWN',
        message: `the kernel has no name for ${algorithm.name}`,
        cure: 'use the libcrypto driver',
      },
    };
  }
  if (algorithm.kind === 'cipher' && algorithm.family === 'rc4') {
    return {
      reason: {
        code: 'ALGORITHM_NOT_OFFERED',
        message:
          'the kernel keeps the state of RC4 with the key or not at all, so a message cannot go on in a second request',
        cure: 'use the libcrypto driver',
      },
    };
  }
  if (algorithm.kind === 'hash' && algorithm.xof) {
    return { reason: { code: 'ALGORITHM_NOT_OFFERED', message: 'the kernel has no extendable output' } };
  }
  if (algorithm.kind === 'aead' && !atLeast(readKernelVersion(), 4, 9)) {
    return {
      reason: {
        code: 'ALGORITHM_NOT_OFFERED',
        message: 'kernels before Linux 4.9 lay AEAD messages out in another way, which hwcrypt does not do',
        cure: 'use the libcrypto driver',
      },
    };
  }
  const type: AlgType =
    algorithm.kind === 'cipher' ? 'skcipher' : algorithm.kind === 'aead' ? 'aead' : 'hash';
  return { value: { type, algorithm: name, pinned: options.kernelDriver } };
}

/** Running out of files or memory says nothing about the algorithm. */
function passing(reason: Reason): boolean {
  return reason.code === 'TOO_MANY_FILES' || reason.code === 'OUT_OF_MEMORY';
}

function keyOf(target: Target, keyBytes = 0, tagBytes = 0): string {
  return `${target.type} ${target.algorithm} ${target.pinned ?? ''} ${keyBytes} ${tagBytes}`;
}

/** bind without an explanation: the explanation asks this. */
function bindResult(type: AlgType, name: string): number {
  if (addressProblem(type, name)) return -ERRNO.EINVAL;
  const fd = libc.socket(libc.AF_ALG, libc.SOCK_SEQPACKET | libc.SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  const bytes = sockaddrAlg(hostAbi(), type, name);
  const result = libc.bind(fd, address(bytes), bytes.length);
  libc.close(fd);
  return result;
}

/** Tries a registered driver that works off the CPU: bound → not masked; absent though its algorithm is there → masked. */
function tryOffCpu({ algorithms }: AlgorithmList): boolean | undefined {
  const candidates = algorithms.filter(
    (entry) =>
      !entry.internal &&
      entry.selftest !== 'unknown' &&
      afalgType(entry.type) !== undefined &&
      isOffCpu(entry),
  );
  // A real engine tells more than cryptd does.
  candidates.sort(
    (a, b) => Number(judgeHardware(b).hardware === 'yes') - Number(judgeHardware(a).hardware === 'yes'),
  );
  for (const entry of candidates.slice(0, 4)) {
    const type = afalgType(entry.type) as AlgType;
    const result = bindResult(type, entry.driver);
    if (result === 0) return false;
    if (result === -ERRNO.ENOENT && bindResult(type, entry.name) === 0) return true;
  }
  return undefined;
}

export class AfalgDriver implements Driver {
  readonly name = 'afalg';
  readonly restricted = true;
  readonly fallible = true;
  #probe: Probe | undefined;
  #limits: Limits | undefined;
  readonly #supports = new Map<string, Support>();
  readonly #implementations = new Map<string, Implementation | undefined>();
  readonly #verified = new Map<string, Reason | undefined>();
  /** Transformations without a key that are in use, to share. */
  readonly #unkeyed = new Map<string, Tfm>();

  readonly #stable = new Map<string, unknown>();
  readonly #facts = (): LiveFacts => new LiveFacts(tryOffCpu, this.#stable);
  /** Targets that could not be bound. Each failure costs two runs of modprobe, and three key sizes share a name. */
  readonly #unbindable = new Map<string, Reason>();
  /** Plain names → whether the kernel lacks them. */
  readonly #absent = new Map<string, boolean>();

  probe(): Probe {
    this.#probe ??= this.#look();
    return this.#probe;
  }

  reprobe(): Probe {
    this.#probe = undefined;
    this.#limits = undefined;
    this.#supports.clear();
    this.#unbindable.clear();
    this.#absent.clear();
    this.#stable.clear();
    this.#forget();
    this.#unkeyed.clear();
    return this.probe();
  }

  #forget(): void {
    this.#implementations.clear();
    this.#verified.clear();
  }

  #look(): Probe {
    if (process.platform !== 'linux') {
      return {
        available: false,
        reason: {
          code: 'NOT_LINUX',
          message: `AF_ALG is an interface of Linux; this is ${process.platform}`,
        },
      };
    }
    const ffi = ffiUnavailable();
    if (ffi) return { available: false, reason: ffi };
    const fd = libc.socket(libc.AF_ALG, libc.SOCK_SEQPACKET | libc.SOCK_CLOEXEC, 0);
    const facts = this.#facts();
    if (fd < 0) {
      return {
        available: false,
        reason: explain({ call: 'socket', type: '', algorithm: '' }, fd, facts),
      };
    }
    libc.close(fd);
    const notes: string[] = [];
    // By version only: trying a driver out costs more than a probe may; `offCpuReach` does.
    if (atLeast(facts.kernel, 7, 2)) {
      notes.push('AF_ALG reaches no accelerator on Linux 7.2 and later: what runs here runs on the CPU');
    }
    if (restricted(facts)) {
      notes.push(
        facts.privileged
          ? 'af_alg_restrict: only algorithms of the kernel’s allowlist can be used'
          : 'af_alg_restrict: only few algorithms can be used without CAP_NET_ADMIN or CAP_SYS_ADMIN',
      );
    }
    return { available: true, version: `AF_ALG of Linux ${facts.kernel?.release ?? '(unknown)'}`, notes };
  }

  /** By trying, not by version alone: a back-ported change shows too. Opens a few sockets. */
  offCpuReach(): OffCpuReach {
    const probe = this.probe();
    if (!probe.available) return { reaches: false, evidence: [probe.reason.message] };
    const facts = this.#facts();
    if (restricted(facts)) {
      return { reaches: false, evidence: ['af_alg_restrict lets no driver be bound by its name'] };
    }
    const seen = facts.offCpuMasked;
    if (seen !== undefined) {
      return {
        reaches: !seen,
        evidence: [
          seen
            ? 'a registered driver that works off the CPU cannot be bound though its algorithm can'
            : 'a registered driver that works off the CPU could be bound',
        ],
      };
    }
    return offCpuMasked(facts)
      ? { reaches: false, evidence: [`Linux ${facts.kernel?.release} masks drivers that work off the CPU`] }
      : { reaches: undefined, evidence: ['no driver that works off the CPU is registered'] };
  }

  supports(algorithm: Algorithm, options?: CipherOptions): Support {
    const probe = this.probe();
    if (!probe.available) return { supported: false, reason: probe.reason };
    const target = targetOf(algorithm, options);
    if (target.reason) return { supported: false, reason: target.reason };
    const keyBytes = algorithm.kind === 'hash' ? 0 : (algorithm.keyBytes ?? 16);
    const tagBytes = algorithm.kind === 'aead' ? algorithm.defaultTagBytes : 0;
    const key = keyOf(target.value, keyBytes, tagBytes);
    let known = this.#supports.get(key);
    if (!known) {
      const reason = this.#try(target.value, keyBytes, tagBytes);
      known = reason ? { supported: false, reason } : { supported: true };
      if (reason && passing(reason)) return known;
      this.#supports.set(key, known);
    }
    return known;
  }

  /** Binds, and sets a key and a tag length, since engines that skip 192-bit keys are not rare. */
  #try(target: Target, keyBytes: number, tagBytes: number): Reason | undefined {
    const opened = this.#open(target);
    if (opened.reason) return opened.reason;
    const tfm = opened.value;
    try {
      return (
        (keyBytes > 0 ? tfm.setKey(trialKey(keyBytes)) : undefined) ??
        (tagBytes > 0 ? tfm.setTagBytes(tagBytes) : undefined)
      );
    } finally {
      tfm.release();
    }
  }

  /** Opens a transformation; a pinned one is checked to be what was asked for. */
  #open(target: Target): Outcome<Tfm> {
    const key = keyOf(target);
    const failed = this.#unbindable.get(key) ?? this.#notBuilt(target);
    if (failed) return { reason: failed };
    const opened = Tfm.open(target, this.#facts);
    if (opened.reason) {
      if (!passing(opened.reason)) this.#unbindable.set(key, opened.reason);
      return opened;
    }
    if (target.pinned === undefined) return opened;
    if (!this.#verified.has(key)) {
      // Binding by name may have put a new instance together, which may now be the best of its algorithm.
      this.#forget();
      this.#verified.set(key, verifyPinned(target));
    }
    const reason = this.#verified.get(key);
    if (!reason) return opened;
    opened.value.release();
    return { reason };
  }

  /**
   * Is a cipher or hash in the name one that this kernel has in no form? Then it is not asked: it would run modprobe
   * up to four times for each mode of it.
   */
  #notBuilt(target: Target): Reason | undefined {
    if (target.pinned !== undefined) return undefined;
    const piece = components(target.algorithm).at(-1) as string;
    let absent = this.#absent.get(piece);
    if (absent === undefined) {
      absent = certainlyAbsent(piece, this.#facts());
      this.#absent.set(piece, absent);
    }
    if (!absent) return undefined;
    const {
      syscall: _,
      errno: __,
      ...reason
    } = explain({ call: 'bind', ...target }, ERRNO.ENOENT, this.#facts());
    this.#unbindable.set(keyOf(target), reason);
    return reason;
  }

  implementation(algorithm: Algorithm, options?: CipherOptions): Implementation | undefined {
    if (!this.supports(algorithm, options).supported) return undefined;
    const target = targetOf(algorithm, options);
    return target.reason ? undefined : this.#implementation(target.value);
  }

  #implementation(target: Target): Implementation | undefined {
    const key = keyOf(target);
    if (!this.#implementations.has(key)) {
      const found = this.#identify(target);
      this.#implementations.set(key, found);
    }
    return this.#implementations.get(key);
  }

  #identify(target: Target): Implementation | undefined {
    const opened = this.#open(target);
    if (opened.reason) return undefined;
    const during = listAlgorithms();
    opened.value.release();
    const after = listAlgorithms();
    return identify(target, during, after);
  }

  #label(target: Target): string {
    if (target.pinned !== undefined) return `${this.name}:${target.pinned}`;
    const found = this.#implementation(target);
    return found ? `${this.name}:${found.kernelDriver}` : this.name;
  }

  /** What a session of this algorithm binds, with everything checked that does not need the kernel. */
  #target(algorithm: Algorithm, options: CipherOptions | undefined): Target {
    const probe = this.probe();
    const target = targetOf(algorithm, options);
    if (!probe.available) throw unavailable(undefined, algorithm.name, probe.reason);
    if (target.reason) throw unavailable(undefined, algorithm.name, target.reason);
    return target.value;
  }

  /** A keyed transformation with an operation socket. */
  #resources(what: string, target: Target, key: Uint8Array | undefined, tagBytes?: number): Resources {
    const opened = this.#open(target);
    if (opened.reason) throw unavailable(target, what, opened.reason);
    const held = new Resources(opened.value, -1);
    const reason =
      (key === undefined ? undefined : held.tfm.setKey(key)) ??
      (tagBytes === undefined ? undefined : held.tfm.setTagBytes(tagBytes)) ??
      held.reopen();
    if (reason) {
      held.close();
      throw unavailable(target, what, reason);
    }
    return held;
  }

  #limitsFrom(held: Resources): Limits {
    this.#limits ??= readLimits(held.op, atLeast(readKernelVersion(), 4, 14));
    return this.#limits;
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
    const driver = this.#label(target);
    const held = this.#resources(algorithm.name, target, key);
    const context = {
      driver,
      limits: this.#limitsFrom(held),
      stealing: atLeast(readKernelVersion(), 5, 4),
      facts: this.#facts,
    };
    return new AfalgCipher(context, held, algorithm, direction, iv);
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
    const driver = this.#label(target);
    const held = this.#resources(algorithm.name, target, key, tagBytes);
    const context = { driver, limits: this.#limitsFrom(held), facts: this.#facts };
    return new AfalgAead(context, held, algorithm, direction, tagBytes);
  }

  hash(algorithm: HashAlgorithm, options?: DigestOptions): DigestSession {
    const target = this.#target(algorithm, options);
    const driver = this.#label(target);
    const key = keyOf(target);
    const shared = this.#unkeyed.get(key);
    let held: Resources;
    if (shared && !shared.closed) {
      held = new Resources(shared.retain(), -1);
      const reason = held.reopen();
      if (reason) {
        held.close();
        throw unavailable(target, algorithm.name, reason);
      }
    } else {
      held = this.#resources(algorithm.name, target, undefined);
      this.#unkeyed.set(key, held.tfm);
    }
    return new AfalgDigest({ driver, facts: this.#facts, kernelKey: (it) => it }, held, algorithm);
  }

  mac(algorithm: MacAlgorithm, key: Uint8Array, options?: DigestOptions): DigestSession {
    checkKey(algorithm, key);
    const target = this.#target(algorithm, options);
    const driver = this.#label(target);
    const context: DigestContext = {
      driver,
      facts: this.#facts,
      kernelKey: (it) => hmacKey(algorithm, it, LONG_KEY_BYTES, (over) => this.hash(over)),
    };
    const given = context.kernelKey(key);
    try {
      return new AfalgDigest(context, this.#resources(algorithm.name, target, given), algorithm);
    } finally {
      if (given !== key) wipe(given);
    }
  }

  random(output: Uint8Array, options: CipherOptions = {}): void {
    const length = lengthOf(outputBytes(output, 'output', 0));
    const probe = this.probe();
    const target: Target = { type: 'rng', algorithm: 'stdrng', pinned: options.kernelDriver };
    if (!probe.available) throw unavailable(undefined, 'random bytes', probe.reason);
    if (length === 0) return;
    const seed = randomBytes(SEED_BYTES);
    const held = this.#resources('random bytes', target, seed);
    try {
      const base = address(output);
      for (let at = 0; at < length; ) {
        const size = Math.min(RNG_BYTES, length - at);
        const got = libc.read(held.op, base + at, size);
        if (got <= 0) {
          const reason: Reason =
            got < 0
              ? held.tfm.explain('read', got, { bytes: size })
              : { code: 'SYSTEM_ERROR', message: 'the generator gave nothing', syscall: 'read' };
          throw new DriverError(this.name, 'random bytes', reason);
        }
        at += got;
      }
    } finally {
      held.close();
      wipe(seed);
    }
  }
}

/** Is what was bound by a driver's name that driver, and does it do the algorithm? Undefined where it is (or nobody can tell). */
function verifyPinned(target: Target): Reason | undefined {
  const pinned = target.pinned as string;
  const list: readonly KernelAlgorithm[] =
    pinned.length > NETLINK_NAME ? (readProcCrypto() ?? []) : listAlgorithms().algorithms;
  if (list.length === 0) return undefined;
  const entries = list.filter((entry) => entry.driver === pinned && afalgType(entry.type) === target.type);
  if (entries.some((entry) => entry.name === target.algorithm)) return undefined;
  const [other] = entries;
  return other
    ? {
        code: 'KERNEL_DRIVER_ABSENT',
        message: `the kernel driver ${pinned} does ${other.name}, not ${target.algorithm}`,
        cure: 'pin a driver of that algorithm, or none',
      }
    : {
        code: 'KERNEL_DRIVER_ABSENT',
        message: `${pinned} is the name of an algorithm and not of a kernel driver`,
        cure: `name one of ${list
          .filter((entry) => entry.name === target.algorithm && !entry.internal)
          .map((entry) => entry.driver)
          .join(', ')}`,
      };
}

/** Which of the registered drivers a bound socket holds: the one that it has a reference on. Pure. */
export function identify(
  target: Target,
  during: AlgorithmList,
  after: AlgorithmList,
): Implementation | undefined {
  const ours = during.algorithms.filter(
    (entry) => !entry.internal && entry.name === target.algorithm && afalgType(entry.type) === target.type,
  );
  const evidence: string[] = [];
  let bound: KernelAlgorithm | undefined;
  if (target.pinned !== undefined) {
    const pinned = target.pinned;
    bound = ours.find((entry) => entry.driver === pinned || entry.driver === pinned.slice(0, NETLINK_NAME));
    evidence.push(`bound by its name ${pinned}`);
  } else {
    const released = (entry: KernelAlgorithm): boolean =>
      after.algorithms.some(
        (later) =>
          later.driver === entry.driver &&
          later.name === entry.name &&
          later.type === entry.type &&
          later.refcnt < entry.refcnt,
      );
    const held = ours.filter(released);
    if (held.length === 1) {
      [bound] = held;
      evidence.push('the kernel held a reference on it while a socket was bound');
    } else {
      bound = ours.reduce<KernelAlgorithm | undefined>(
        (best, entry) => (best === undefined || entry.priority > best.priority ? entry : best),
        undefined,
      );
      if (bound && ours.length > 1) {
        evidence.push(
          `it has the highest priority of the ${ours.length} that are registered for ${target.algorithm}`,
        );
      }
    }
  }
  if (!bound) {
    // Bound, and yet not listed: the kernel has no list to read (no crypto_user, no /proc/crypto).
    return during.source === 'none' || target.pinned !== undefined
      ? {
          driver: 'afalg',
          kernelDriver: target.pinned ?? target.algorithm,
          hardware:
            target.pinned === undefined ? 'unknown' : judgeHardware({ driver: target.pinned }).hardware,
          evidence: [
            ...evidence,
            'the kernel’s list of algorithms cannot be read, so the driver’s name is all there is',
          ],
        }
      : undefined;
  }
  return implementationOf('afalg', bound, evidence, target.pinned ?? bound.driver);
}

export const afalg = new AfalgDriver();
