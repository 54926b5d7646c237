/**
 * Why did an AF_ALG call fail? One errno stands for many causes (ENOENT from bind for seven of them); the facts tell them
 * apart. A pure function: facts go in, a reason comes out.
 *
 * Sources: crypto/af_alg.c, crypto/algif_*.c, crypto/api.c; what was seen on Linux 6.1 (a refused combination such as
 * xts(des) is ENOENT too, and `blacklist algif_skcipher` does not stop the kernel, `install … /bin/false` does);
 * Documentation/admin-guide/sysctl/crypto.rst of Linux 7.3 for af_alg_restrict.
 */
import type { Reason, ReasonCode } from '../../errors.js';
import { atLeast, errnoName, type KernelAlgorithm, OFF_CPU_MASK, rulesFor } from '../../linux/index.js';
import { judgeHardware } from '../hardware.js';
import {
  components,
  ELSEWHERE,
  keyRanges,
  type MakeReason,
  missingPart,
  notBuiltCure,
} from '../kernel-parts.js';
import type { Facts } from './facts.js';

/** `salg_type` of what AF_ALG offers. */
export type AlgType = 'skcipher' | 'aead' | 'hash' | 'rng';

export type Call = 'socket' | 'bind' | 'setkey' | 'authsize' | 'accept' | 'sendmsg' | 'read' | 'poll';

/** What was tried. */
export interface Attempt {
  readonly call: Call;
  /** `salg_type`. Not only `AlgType`, since a person may ask about others. */
  readonly type: string;
  /** The kernel's name of the algorithm: `cbc(aes)`. */
  readonly algorithm: string;
  /** The driver that was to be bound, where one was pinned; else the algorithm's name was bound. */
  readonly pinned?: string | undefined;
  readonly keyBytes?: number | undefined;
  readonly tagBytes?: number | undefined;
  /** Bytes of the request, for failures of one. */
  readonly bytes?: number | undefined;
}

const CVE = 'it is there because of CVE-2026-31431 (local root through algif_aead)';

/**
 * What Linux 7.3 lets through with af_alg_restrict=1, by exact name: to anyone, or only to a process with
 * CAP_NET_ADMIN or CAP_SYS_ADMIN in the initial user namespace. Driver names are never let through.
 */
export const ALLOWLIST: Readonly<
  Record<AlgType, { anyone: readonly string[]; privileged: readonly string[] }>
> = {
  skcipher: {
    anyone: ['xts(aes)', 'hctr2(aes)', 'adiantum(xchacha12,aes)', 'adiantum(xchacha20,aes)'],
    privileged: ['cbc(aes)', 'ctr(aes)', 'ecb(aes)', 'cbc(des)', 'ecb(des)', 'cbc(des3_ede)'],
  },
  aead: { anyone: [], privileged: ['ccm(aes)'] },
  hash: {
    anyone: ['sha1'],
    privileged: [
      'md4',
      'md5',
      'sha224',
      'sha256',
      'sha384',
      'sha512',
      'hmac(md5)',
      'hmac(sha1)',
      'hmac(sha224)',
      'hmac(sha256)',
      'hmac(sha384)',
      'hmac(sha512)',
      'cmac(aes)',
    ],
  },
  rng: { anyone: [], privileged: [] },
};

const OFFERED: readonly string[] = ['skcipher', 'aead', 'hash', 'rng'];

/** `cra_type` as /proc/crypto prints it → the type that AF_ALG calls it; undefined for what AF_ALG does not offer. */
export function afalgType(printed: string): AlgType | undefined {
  switch (printed) {
    case 'skcipher':
    case 'lskcipher':
    case 'blkcipher':
    case 'ablkcipher':
    case 'givcipher':
      return 'skcipher';
    case 'aead':
    case 'nivaead':
      return 'aead';
    case 'shash':
    case 'ahash':
      return 'hash';
    case 'rng':
      return 'rng';
    default:
      return undefined;
  }
}

/** Is af_alg_restrict=1 in force? Without the file on Linux 7.3 or later it is taken to be at its default. */
export function restricted(facts: Pick<Facts, 'restrict' | 'kernel'>): boolean {
  return facts.restrict === undefined ? atLeast(facts.kernel, 7, 3) : facts.restrict === 1;
}

/** Are off-CPU drivers out of AF_ALG's reach? What was seen counts more than the version, for back-ports. */
export function offCpuMasked(facts: Pick<Facts, 'kernel' | 'offCpuMasked'>): boolean {
  return facts.offCpuMasked ?? atLeast(facts.kernel, 7, 2);
}

/** Would this entry be refused by a kernel that masks off-CPU drivers? */
export function isOffCpu(entry: KernelAlgorithm): boolean {
  if (entry.flags !== undefined) return (entry.flags & OFF_CPU_MASK) !== 0;
  return entry.async === true || judgeHardware(entry).hardware === 'yes';
}

export function explain(attempt: Attempt, errno: number, facts: Facts): Reason {
  const name = errnoName(errno);
  const reason = (code: ReasonCode, message: string, cure?: string): Reason => ({
    code,
    message,
    ...(cure === undefined ? {} : { cure }),
    syscall: SYSCALL[attempt.call],
    errno: name,
  });

  // What means the same whatever the call.
  switch (name) {
    case 'EMFILE':
    case 'ENFILE':
      return reason(
        'TOO_MANY_FILES',
        name === 'EMFILE'
          ? 'this process has as many files open as it may'
          : 'the whole system has as many files open as it may',
        name === 'EMFILE'
          ? 'close sessions that are not used any more, or raise `ulimit -n`'
          : 'raise /proc/sys/fs/file-max',
      );
    case 'EACCES':
      return reason(
        'LSM_DENIED',
        'a security module (SELinux class alg_socket, AppArmor rule `network alg`, Landlock) does not let this process use AF_ALG',
        'allow it in the policy of this service; the audit log names the rule',
      );
    case 'ENOMEM':
    case 'ENOBUFS':
      return reason(
        'OUT_OF_MEMORY',
        `the kernel has no memory left for this socket${
          facts.optmemMax === undefined ? '' : `, which may take ${facts.optmemMax} bytes`
        }`,
        'raise /proc/sys/net/core/optmem_max, or send smaller messages',
      );
    case 'ETIMEDOUT':
      return reason('TIMED_OUT', `the kernel did not answer in time${during(attempt)}`);
    case 'ENODEV':
    case 'ENXIO':
    case 'EIO':
    case 'ESHUTDOWN':
    case 'EREMOTEIO':
      return reason(
        'DEVICE_GONE',
        `the engine behind ${attempt.pinned ?? attempt.algorithm} is gone or reports an error`,
        'look into dmesg; reload its module',
      );
  }

  switch (attempt.call) {
    case 'socket':
      return explainSocket(name, facts, reason);
    case 'bind':
      return explainBind(attempt, name, facts, reason);
    case 'setkey':
      return explainKey(attempt, name, facts, reason);
    case 'authsize':
      if (name === 'EINVAL') {
        return reason(
          'BAD_TAG_LENGTH',
          `the kernel's ${attempt.algorithm} does not make tags of ${attempt.tagBytes ?? '?'} bytes`,
          ELSEWHERE,
        );
      }
      break;
    case 'accept':
      if (name === 'EOPNOTSUPP' || name === 'ENOSYS') {
        return reason(
          'ALGORITHM_NOT_OFFERED',
          `the kernel driver behind ${attempt.algorithm} cannot copy a state`,
        );
      }
      break;
    case 'sendmsg':
    case 'read':
    case 'poll':
      if (name === 'EAGAIN')
        return reason('TIMED_OUT', `the kernel did not answer in time${during(attempt)}`);
      if (name === 'EMSGSIZE') {
        return reason(
          'MESSAGE_TOO_LARGE',
          `a request of ${attempt.bytes ?? '?'} bytes is more than one request may have`,
        );
      }
      if (name === 'ENOKEY') return reason('BAD_KEY', 'no key has been set');
      break;
  }
  if (name === 'EPERM') {
    return reason(
      'SECCOMP',
      `${SYSCALL[attempt.call]} is not permitted${facts.seccomp === 2 ? ': this process runs under a seccomp filter' : ''}`,
      'allow the call in the container’s seccomp profile',
    );
  }
  return reason('SYSTEM_ERROR', `${SYSCALL[attempt.call]} failed with ${name}${during(attempt)}`);
}

const SYSCALL: Readonly<Record<Call, string>> = {
  socket: 'socket',
  bind: 'bind',
  setkey: 'setsockopt(ALG_SET_KEY)',
  authsize: 'setsockopt(ALG_SET_AEAD_AUTHSIZE)',
  accept: 'accept4',
  sendmsg: 'sendmsg',
  read: 'read',
  poll: 'poll',
};

function during({ pinned, algorithm, bytes }: Attempt): string {
  if (algorithm === '') return '';
  return ` (${pinned ?? algorithm}${bytes === undefined ? '' : `, ${bytes} bytes`})`;
}

function explainSocket(errno: string, facts: Facts, reason: MakeReason): Reason {
  if (errno === 'EPERM') {
    return reason(
      'SECCOMP',
      `AF_ALG sockets are not permitted to this process${
        facts.seccomp === 2 ? ': it runs under a seccomp filter (Docker’s default since May 2026 is one)' : ''
      }`,
      `${ELSEWHERE}, or allow socket(AF_ALG) in the container’s seccomp profile; ${CVE}`,
    );
  }
  if (errno === 'ENOSYS') {
    return reason('SECCOMP', 'a sandbox answers socket(AF_ALG) as if the call did not exist', ELSEWHERE);
  }
  if (errno !== 'EAFNOSUPPORT' && errno !== 'EPROTONOSUPPORT' && errno !== 'ESOCKTNOSUPPORT') {
    return reason('SYSTEM_ERROR', `socket(AF_ALG) failed with ${errno}`);
  }
  if (facts.restrict === 2) {
    return reason(
      'AF_ALG_DISABLED',
      'AF_ALG is switched off: /proc/sys/crypto/af_alg_restrict is 2',
      `${ELSEWHERE}; AF_ALG is deprecated from Linux 7.2 on, and the switch guards against holes like CVE-2026-31431`,
    );
  }
  if (facts.registered === true) {
    return reason(
      'SECCOMP',
      'the kernel has AF_ALG, but a filter (seccomp, a sandbox) hides it from this process',
      ELSEWHERE,
    );
  }
  const builtin = facts.index.builtin.has('af_alg');
  // The kernel asks for the alias net-pf-38, so a `blacklist` line counts here as much as an `install` line.
  const [rule] = rulesFor(facts.rules, 'af_alg');
  if (rule && (!builtin || rule.kind === 'cmdline')) {
    return reason(
      'MODULE_BLACKLISTED',
      `the module af_alg is kept out by \`${rule.line}\` in ${rule.file}`,
      blacklistCure('af_alg'),
    );
  }
  if (facts.index.files.has('af_alg')) {
    return reason(
      'AF_ALG_ABSENT',
      'AF_ALG is a module of this kernel that was not loaded',
      'modprobe af_alg (a container cannot load it: do so on the host)',
    );
  }
  return reason(
    'AF_ALG_ABSENT',
    `this kernel${facts.kernel ? ` (${facts.kernel.release})` : ''} has no AF_ALG`,
    `${ELSEWHERE}; AF_ALG needs CONFIG_CRYPTO_USER_API (OpenWrt: kmod-crypto-user)`,
  );
}

function blacklistCure(module: string): string {
  return module.startsWith('algif_') || module === 'af_alg'
    ? `${ELSEWHERE}; if the rule is to go, know that ${CVE}, and remove it only on a kernel that has the fix`
    : `remove the rule, if whoever wrote it agrees; else ${ELSEWHERE}`;
}

function explainBind(attempt: Attempt, errno: string, facts: Facts, reason: MakeReason): Reason {
  const { type, algorithm, pinned } = attempt;
  const what = pinned ?? algorithm;
  if (errno === 'ELIBBAD') {
    return reason(
      'SELFTEST_FAILED',
      `${what} failed the kernel’s own self-test, so the kernel refuses to use it`,
      'look into dmesg for `alg: … test failed`, and report it to the driver’s maintainer',
    );
  }
  if (errno === 'EINVAL') {
    return reason(
      what.length > 63 ? 'ALGORITHM_UNKNOWN' : 'COMBINATION_REFUSED',
      what.length > 63
        ? `${what} is a longer name than this kernel takes (63 bytes before Linux 4.12)`
        : `the kernel does not put ${what} together: the template does not fit what is inside`,
    );
  }
  if (errno === 'EPERM') {
    return reason(
      'SECCOMP',
      `binding ${what} is not permitted${facts.seccomp === 2 ? ' by this process’s seccomp filter' : ''}`,
      ELSEWHERE,
    );
  }
  if (errno !== 'ENOENT') return reason('SYSTEM_ERROR', `bind failed with ${errno} (${what})`);

  // ENOENT. From the surest cause to the least sure.
  const list = facts.algorithms.algorithms.filter((entry) => !entry.internal);
  if (!OFFERED.includes(type)) {
    return reason(
      'ALGORITHM_NOT_OFFERED',
      `AF_ALG of mainline Linux has no type ${type}; it offers ${OFFERED.join(', ')}`,
      ELSEWHERE,
    );
  }
  const named = list.filter((entry) =>
    pinned === undefined ? entry.name === algorithm : entry.driver === pinned,
  );
  const ofType = named.filter((entry) => afalgType(entry.type) === type);
  if (named.length > 0 && ofType.length === 0) {
    const [other] = named as [KernelAlgorithm];
    return reason(
      'WRONG_TYPE',
      `${what} is of type ${other.type}, it was asked for as ${type}`,
      afalgType(other.type) === undefined
        ? `AF_ALG does not offer ${other.type}`
        : `ask for it as ${afalgType(other.type)}`,
    );
  }

  if (restricted(facts)) {
    const allowed = ALLOWLIST[type as AlgType];
    const where =
      facts.restrict === undefined ? 'the default of Linux 7.3' : '/proc/sys/crypto/af_alg_restrict is 1';
    if (pinned !== undefined && pinned !== algorithm) {
      return reason(
        'AF_ALG_RESTRICTED',
        `AF_ALG binds no driver by its name here (${where}): only algorithms of an allowlist, by their exact names`,
        `leave the driver to the kernel, or ${ELSEWHERE}`,
      );
    }
    if (allowed.privileged.includes(algorithm)) {
      if (!facts.privileged) {
        return reason(
          'AF_ALG_RESTRICTED',
          `AF_ALG offers ${algorithm} only to processes with CAP_NET_ADMIN or CAP_SYS_ADMIN here (${where})`,
          `${ELSEWHERE}, or run with CAP_NET_ADMIN in the initial user namespace`,
        );
      }
    } else if (!allowed.anyone.includes(algorithm)) {
      const others = [...allowed.anyone, ...(facts.privileged ? allowed.privileged : [])];
      return reason(
        'AF_ALG_RESTRICTED',
        `AF_ALG offers ${algorithm} to nobody here (${where}); of type ${type} Linux 7.3 offers ${others.length > 0 ? others.join(', ') : 'nothing'}`,
        ELSEWHERE,
      );
    }
  }

  const algif = algifProblem(type as AlgType, facts, reason);
  if (algif) return algif;

  if (offCpuMasked(facts) && ofType.length > 0 && ofType.every(isOffCpu)) {
    return reason(
      'OFF_CPU_MASKED',
      `${what} works off the CPU, and AF_ALG of this kernel reaches no such driver (Linux 7.2 and back-ports)`,
      'use /dev/crypto (cryptodev-linux) or the kernel’s own users (dm-crypt, IPsec); AF_ALG is software only here',
    );
  }

  if (pinned !== undefined && ofType.length === 0) {
    const same = list.filter((entry) => entry.name === algorithm && afalgType(entry.type) === type);
    return reason(
      'KERNEL_DRIVER_ABSENT',
      `no driver ${pinned} is registered, nor could it be put together`,
      same.length > 0
        ? `registered for ${algorithm}: ${same.map((entry) => entry.driver).join(', ')}`
        : `load its module; nothing is registered for ${algorithm} yet`,
    );
  }

  const missing = missingPart(algorithm, facts, reason);
  if (missing) return missing;
  if (ofType.length > 0) {
    return reason('SYSTEM_ERROR', `${what} is registered, and yet the kernel says that it does not exist`);
  }
  const pieces = components(algorithm);
  return pieces.length > 1
    ? reason(
        facts.index.known ? 'COMBINATION_REFUSED' : 'ALGORITHM_NOT_BUILT',
        facts.index.known
          ? `the kernel has the parts of ${algorithm} but does not put them together`
          : `the kernel has no ${algorithm}, or not all of its parts`,
        `modprobe ${pieces.map((piece) => `crypto-${piece}`).join(' ')}, or ${ELSEWHERE}`,
      )
    : reason('ALGORITHM_NOT_BUILT', `the kernel has no ${algorithm}`, notBuiltCure(algorithm));
}

/** Is the module that serves this type of algorithm the one that is missing? */
function algifProblem(type: AlgType, facts: Facts, reason: MakeReason): Reason | undefined {
  const module = `algif_${type}`;
  if (facts.index.builtin.has(module)) {
    // Built-in code can still be kept from starting: the mitigation of CVE-2026-31431 on some distributions.
    const rule = rulesFor(facts.rules, module).find((it) => it.kind === 'cmdline');
    return (
      rule &&
      reason(
        'MODULE_BLACKLISTED',
        `${module} is kept out by \`${rule.line}\` on the ${rule.file}`,
        blacklistCure(module),
      )
    );
  }
  if (facts.loaded === undefined || facts.loaded.has(module)) return undefined;
  const rules = rulesFor(facts.rules, module);
  // The kernel asks for this module by its own name, which `blacklist` does not stop.
  const rule = rules.find((it) => it.kind !== 'blacklist');
  if (rule) {
    return reason(
      'MODULE_BLACKLISTED',
      `the module ${module} is kept out by \`${rule.line}\` in ${rule.file}`,
      blacklistCure(module),
    );
  }
  const config = `CONFIG_CRYPTO_USER_API_${type === 'hash' ? 'HASH' : type.toUpperCase()}`;
  if (facts.index.known) {
    const [listed] = rules;
    return facts.index.files.has(module)
      ? reason(
          'ALGIF_MISSING',
          `the module ${module} is there but was not loaded${listed ? ` (${listed.file} says \`${listed.line}\`)` : ''}`,
          `modprobe ${module} (a container cannot load it: do so on the host)`,
        )
      : reason(
          'ALGIF_MISSING',
          `this kernel was built without ${module}`,
          `${ELSEWHERE}; ${config} is what it lacks (OpenWrt: kmod-crypto-user)`,
        );
  }
  // Neither loaded nor known to be a module: it may be built in. With no list of modules at all it cannot be told.
  return facts.loaded.size > 0 && facts.loaded.has('af_alg')
    ? reason('ALGIF_MISSING', `the module ${module} is not loaded`, `modprobe ${module} (${config})`)
    : undefined;
}

function explainKey(attempt: Attempt, errno: string, facts: Facts, reason: MakeReason): Reason {
  const { algorithm, pinned, keyBytes } = attempt;
  const what = pinned ?? algorithm;
  if (errno === 'EBUSY') {
    return reason(
      'KEY_BUSY',
      `the key of ${what} cannot change while operations on it are open`,
      'close them, or open a new session',
    );
  }
  if (errno === 'ENOPROTOOPT') return reason('BAD_KEY', `${what} takes no key`);
  if (errno === 'EKEYREJECTED') return reason('BAD_KEY', `the kernel rejects this key for ${what} as weak`);
  if (errno !== 'EINVAL') return reason('SYSTEM_ERROR', `setting the key of ${what} failed with ${errno}`);
  // A wrapped key ("tk(cbc(aes))") has lengths of its own: the list says what is legal, not the cipher's name.
  const ranges = keyRanges(attempt, facts);
  const legal = ranges.map(([low, high]) => (low === high ? `${low}` : `${low} to ${high}`)).join(' or ');
  if (
    keyBytes !== undefined &&
    ranges.length > 0 &&
    ranges.every(([low, high]) => keyBytes < low || keyBytes > high)
  ) {
    return reason('BAD_KEY_LENGTH', `${what} takes keys of ${legal} bytes, not of ${keyBytes}`);
  }
  // In range and refused: an engine that skips a length (192-bit AES is a common one), or a key it takes for weak.
  return reason(
    'BAD_KEY_LENGTH',
    `${what} refuses this key of ${keyBytes ?? '?'} bytes${legal === '' ? '' : ` (it names ${legal})`}: a length that the driver lacks, equal halves of an XTS key, or a weak key`,
    ELSEWHERE,
  );
}
