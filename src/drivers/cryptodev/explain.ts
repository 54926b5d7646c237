/**
 * Why did a call on /dev/crypto fail? The module answers EINVAL to nearly everything: an id that it does not map, an algorithm
 * that the kernel lacks, a key that the driver does not take, a session that is not there. The facts tell them apart.
 * A pure function: facts go in, a reason comes out.
 *
 * Source: ioctl.c, cryptlib.c, main.c and authenc.c of cryptodev-linux 1.14.
 */
import { byCryptodevId } from '../../algorithms.js';
import type { Reason, ReasonCode } from '../../errors.js';
import { CRYPTO_DEVICE, errnoName, rulesFor } from '../../linux/index.js';
import type { KernelFacts } from '../kernel-facts.js';
import { ELSEWHERE, keyRanges, type MakeReason, missingPart } from '../kernel-parts.js';
import { type CryptodevId, cryptodevId } from './ids.js';

export type Call =
  | 'open'
  | 'CIOCASYMFEAT'
  | 'CIOCGSESSION'
  | 'CIOCGSESSINFO'
  | 'CIOCCRYPT'
  | 'CIOCAUTHCRYPT'
  | 'CIOCCPHASH';

/** What was tried. */
export interface Attempt {
  readonly call: Call;
  /** CRYPTO_* ids, 0 for none. */
  readonly cipher: number;
  readonly mac: number;
  readonly kernel: string | undefined;
  readonly keyBytes?: number | undefined;
  /** Bytes of the request, for failures of one. */
  readonly bytes?: number | undefined;
  /** `cra_driver_name` of the session, where it has one already. */
  readonly kernelDriver?: string | undefined;
  /** Is this a 32-bit program on a 64-bit kernel? */
  readonly compat?: boolean | undefined;
}

/** Linux 6.8 removed the templates. */
const GONE_MODES = /^(?:cfb|ofb)\(/;

export function explain(attempt: Attempt, result: number, facts: KernelFacts): Reason {
  const errno = errnoName(result);
  const { call } = attempt;
  const reason: MakeReason = (code: ReasonCode, message: string, cure?: string): Reason => ({
    code,
    message,
    ...(cure === undefined ? {} : { cure }),
    syscall: call === 'open' ? 'open' : `ioctl(${call})`,
    errno,
  });
  if (call === 'open' || call === 'CIOCASYMFEAT') return explainDevice(errno, facts, reason);
  switch (errno) {
    case 'ENOMEM':
      return reason('OUT_OF_MEMORY', `the kernel has no memory for this${during(attempt)}`);
    case 'EMFILE':
    case 'ENFILE':
      return reason('TOO_MANY_FILES', 'too many files are open');
    case 'EBUSY':
    case 'EAGAIN':
      return reason(
        'DEVICE_BUSY',
        `the device takes no more requests for now${during(attempt)}`,
        'try again later, or with fewer requests at a time',
      );
    case 'ETIMEDOUT':
      return reason('TIMED_OUT', `the engine did not answer in time${during(attempt)}`, 'look into dmesg');
    case 'EPERM':
    case 'EACCES':
      return reason('SECCOMP', `${call} is not permitted to this process`, ELSEWHERE);
    case 'ENOTTY':
      return call === 'CIOCGSESSION'
        ? reason(
            'DEVICE_FOREIGN',
            `${CRYPTO_DEVICE} does not know ${call}: it is not cryptodev-linux’s device`,
            ELSEWHERE,
          )
        : reason('ALGORITHM_NOT_OFFERED', `this device has no ${call}`, ELSEWHERE);
  }
  if (call === 'CIOCGSESSION') return explainSession(attempt, errno, facts, reason);
  if (call === 'CIOCCPHASH') return explainCopy(attempt, errno, reason);
  return explainRequest(attempt, errno, reason);
}

/** The device went away under a session: its server ended, or its driver was unbound. */
export function lostReason({ call }: Pick<Attempt, 'call'>, result: number): Reason {
  return {
    code: 'DEVICE_GONE',
    message: `${CRYPTO_DEVICE} is gone: whoever served it ended, or its hardware was removed`,
    cure: 'open a new session once it is back',
    syscall: `ioctl(${call})`,
    ...(result === 0 ? {} : { errno: errnoName(result) }),
  };
}

export function forkedReason(): Reason {
  return {
    code: 'FORKED',
    message: 'this session was opened before this process was forked, and belongs to its parent',
    cure: 'open a new session in the child',
  };
}

function during({ kernel, kernelDriver, bytes }: Attempt): string {
  const who = kernelDriver || kernel;
  const facts = [...(who ? [who] : []), ...(bytes === undefined ? [] : [`${bytes} bytes`])];
  return facts.length === 0 ? '' : ` (${facts.join(', ')})`;
}

function explainDevice(errno: string, facts: KernelFacts, reason: MakeReason): Reason {
  switch (errno) {
    case 'ENOENT': {
      const [rule] = rulesFor(facts.rules, 'cryptodev');
      if (rule) {
        return reason(
          'MODULE_BLACKLISTED',
          `the module cryptodev is kept out by \`${rule.line}\` in ${rule.file}`,
          `remove the rule, if whoever wrote it agrees; else ${ELSEWHERE}`,
        );
      }
      if (facts.index.files.has('cryptodev')) {
        return reason(
          'DEVICE_ABSENT',
          `there is no ${CRYPTO_DEVICE}: the module cryptodev is here but was not loaded`,
          'modprobe cryptodev (a container cannot load it: do so on the host, and give the device to the container)',
        );
      }
      return reason(
        'DEVICE_ABSENT',
        `there is no ${CRYPTO_DEVICE}`,
        `install cryptodev-linux, which is no part of Linux (OpenWrt: kmod-cryptodev; others: build it for Linux ${facts.kernel?.release ?? ''}`.trimEnd() +
          `), or ${ELSEWHERE}`,
      );
    }
    case 'EACCES':
    case 'EPERM':
      return reason(
        'DEVICE_DENIED',
        `${CRYPTO_DEVICE} is there and may not be opened by this user or in this container`,
        'give the user read and write permission on it (the module makes it for everybody), or the device to the container',
      );
    case 'ENXIO':
    case 'ENODEV':
      return reason(
        'DEVICE_ABSENT',
        `${CRYPTO_DEVICE} is a node that nobody serves: the module is gone, or the node is left over`,
        'modprobe cryptodev; in a container, make the node anew from the host’s',
      );
    case 'ENOTTY':
    case 'EISDIR':
      return reason('DEVICE_FOREIGN', `${CRYPTO_DEVICE} is not the device of cryptodev-linux`, ELSEWHERE);
    case 'EMFILE':
    case 'ENFILE':
      return reason('TOO_MANY_FILES', 'too many files are open');
    case 'ENOMEM':
      return reason('OUT_OF_MEMORY', 'the kernel has no memory for this');
    default:
      return reason('DEVICE_ABSENT', `${CRYPTO_DEVICE} cannot be used: ${errno}`, ELSEWHERE);
  }
}

const label = ({ id, name }: CryptodevId): string => `id ${id} (${name})`;

/** What is wrong with a number that stands for nothing. */
export function unmapped(id: CryptodevId): string {
  return `cryptodev-linux maps ${label(id)} to no algorithm of the kernel`;
}

/** EINVAL, ENOENT or what a driver's setkey said: from the surest cause to the least sure. */
function explainSession(attempt: Attempt, errno: string, facts: KernelFacts, reason: MakeReason): Reason {
  const number = attempt.cipher || attempt.mac;
  const id = cryptodevId(number);
  if (!id) return reason('ALGORITHM_UNKNOWN', `cryptodev-linux has no algorithm of id ${number}`, ELSEWHERE);
  const { kernel } = id;
  if (kernel === undefined) {
    const cure = byCryptodevId(number).length > 0 ? ELSEWHERE : undefined;
    return reason('ALGORITHM_NOT_OFFERED', unmapped(id), cure);
  }
  if (errno !== 'EINVAL' && errno !== 'ENOENT' && errno !== 'EKEYREJECTED') {
    return errno === 'ELIBBAD'
      ? reason(
          'SELFTEST_FAILED',
          `${kernel} failed the kernel’s own self-test`,
          'look into dmesg for `alg: … test failed`',
        )
      : reason('SYSTEM_ERROR', `a session of ${kernel} failed with ${errno}`);
  }
  const type = id.kind === 'cipher' ? 'skcipher' : (id.kind as string);
  const entries = facts.algorithms.algorithms.filter((entry) => !entry.internal && entry.name === kernel);
  const broken = entries.length > 0 && entries.every((entry) => entry.selftest === 'unknown');
  if (entries.length > 0 && !broken) {
    const { keyBytes } = attempt;
    const ranges = keyRanges({ algorithm: kernel, type }, facts);
    const legal = ranges.map(([low, high]) => (low === high ? `${low}` : `${low} to ${high}`)).join(' or ');
    const outside =
      keyBytes !== undefined &&
      ranges.length > 0 &&
      ranges.every(([low, high]) => keyBytes < low || keyBytes > high);
    if (outside) {
      return reason(
        'BAD_KEY_LENGTH',
        `${kernel} takes keys of ${legal} bytes, not of ${keyBytes}`,
        ELSEWHERE,
      );
    }
    if (id.since !== undefined) {
      return reason(
        'ALGORITHM_NOT_OFFERED',
        `the kernel has ${kernel} and the device refuses ${label(id)}: cryptodev-linux maps it from version ${id.since} on, or the driver does not take this key`,
        `load cryptodev-linux ${id.since} or later, or ${ELSEWHERE}`,
      );
    }
    if (keyBytes !== undefined && id.kind !== 'hash') {
      return reason(
        'BAD_KEY',
        `${entries[0]!.driver} refuses this key of ${keyBytes} bytes: a length that the driver lacks, or a weak key`,
        ELSEWHERE,
      );
    }
    return reason(
      'COMBINATION_REFUSED',
      `the device refuses ${label(id)} although the kernel has ${kernel}`,
      ELSEWHERE,
    );
  }
  if (kernel.startsWith('tls1')) {
    return reason('ALGORITHM_NOT_BUILT', `the kernel has no ${kernel}, and no mainline Linux does`);
  }
  const missing = missingPart(kernel, facts, reason);
  if (missing && GONE_MODES.test(kernel)) {
    return { ...missing, message: `${missing.message} (Linux 6.8 removed CFB and OFB)` };
  }
  if (missing) return missing;
  return reason(
    'ALGORITHM_NOT_BUILT',
    `the device refuses ${label(id)}: the kernel has no ${kernel}`,
    ELSEWHERE,
  );
}

function explainCopy(attempt: Attempt, errno: string, reason: MakeReason): Reason {
  const who = attempt.kernelDriver || attempt.kernel || 'the driver';
  if (errno === 'ENOSYS' || errno === 'EOPNOTSUPP') {
    return reason(
      'ALGORITHM_NOT_OFFERED',
      `${who} cannot copy the state of a hash`,
      'hash the message again, or use the libcrypto driver',
    );
  }
  if (errno === 'ENOENT') {
    return reason('SYSTEM_ERROR', 'the device does not know the session any more', 'open a new session');
  }
  if (errno !== 'EINVAL') return reason('SYSTEM_ERROR', `copying a hash of ${who} failed with ${errno}`);
  return attempt.compat
    ? compatReason('copying a hash (CIOCCPHASH)', reason)
    : reason(
        'ALGORITHM_NOT_OFFERED',
        'the device copies no hashes: cryptodev-linux does from version 1.10 on (CIOCCPHASH)',
        'load a later cryptodev-linux, or use the libcrypto driver',
      );
}

function explainRequest(attempt: Attempt, errno: string, reason: MakeReason): Reason {
  switch (errno) {
    case 'EBADMSG':
      return reason('SYSTEM_ERROR', `the device says that a message is forged${during(attempt)}`);
    case 'EFAULT':
      return reason('SYSTEM_ERROR', `the kernel could not reach the memory of a request${during(attempt)}`);
    case 'ENOENT':
      return reason('SYSTEM_ERROR', 'the device does not know the session any more', 'open a new session');
    case 'EINVAL':
      if (attempt.compat && attempt.call === 'CIOCAUTHCRYPT') {
        return compatReason('authenticated encryption (CIOCAUTHCRYPT)', reason);
      }
      return reason(
        'SYSTEM_ERROR',
        `the device refuses a request${during(attempt)}: a length that the driver does not take, or a session that it does not know`,
      );
    default:
      return reason('SYSTEM_ERROR', `a request failed with ${errno}${during(attempt)}`, 'look into dmesg');
  }
}

function compatReason(what: string, reason: MakeReason): Reason {
  return reason(
    'COMPAT_ABI',
    `cryptodev-linux has no ${what} for 32-bit programs on a 64-bit kernel`,
    `run a 64-bit Node, or ${ELSEWHERE}`,
  );
}
