/**
 * Every error class of hwcrypt and its stable `code`.
 *
 * Room: none above; imports nothing. Any room may import this file.
 *
 * Two families meet here. Arguments that node:crypto would refuse get the code and message that node:crypto
 * gives them, so that a program which changes its import keeps its error handling. Everything that node:crypto
 * does not know (a driver that is not there, a kernel that refuses) gets a code of its own, below.
 */
import { inspect } from 'node:util';

/** Codes that hwcrypt itself defines. Codes borrowed from Node start with `ERR_`. */
export type HwcryptCode =
  | 'DRIVER_UNAVAILABLE'
  | 'ALGORITHM_UNAVAILABLE'
  | 'KERNEL_DRIVER_UNAVAILABLE'
  | 'NO_DRIVER'
  | 'DRIVER_FAILED'
  | 'SESSION_UNUSABLE'
  | 'SESSION_BUSY'
  | 'AUTH_FAILED'
  | 'BAD_DECRYPT'
  | 'PARTIAL_BLOCK'
  | 'MESSAGE_TOO_LARGE'
  | 'XTS_STREAMING'
  | 'BAD_MAGIC'
  | 'BAD_BASE64'
  | 'TRUNCATED_INPUT'
  | 'INPUT_FILE'
  | 'OUTPUT_FILE'
  | 'PASSPHRASE'
  | 'KDF_FAILED'
  | 'CHECK_FAILED'
  | 'NOT_LUKS'
  | 'LUKS_DAMAGED'
  | 'LUKS_UNSUPPORTED'
  | 'LUKS_NO_KEYSLOT'
  | 'LUKS_NO_ROOM'
  | 'KDF_TOO_DEAR'
  | 'CALIBRATION_FAILED'
  | 'USAGE';

/**
 * Why a driver, or one algorithm of a driver, cannot be used. A reason names the cause and the cure, and is data:
 * it is printed by `list`, carried by errors, and returned by `probe()`.
 */
export interface Reason {
  /** Stable identifier, e.g. `AF_ALG_ABSENT`; see `ReasonCode`. */
  readonly code: ReasonCode;
  /** One line that says what is the case, with no trailing period. */
  readonly message: string;
  /** One line that says what to do about it, where anything can be done. */
  readonly cure?: string;
  /** The system call that failed, where one did. */
  readonly syscall?: string;
  /** Its errno by name, e.g. `ENOENT`. */
  readonly errno?: string;
}

export type ReasonCode =
  // the way to the driver
  | 'NOT_LINUX'
  | 'FFI_UNAVAILABLE'
  | 'LIBRARY_ABSENT'
  | 'SYMBOLS_ABSENT'
  | 'AF_ALG_ABSENT'
  | 'AF_ALG_DISABLED'
  | 'SECCOMP'
  | 'LSM_DENIED'
  | 'DEVICE_ABSENT'
  | 'DEVICE_DENIED'
  | 'DEVICE_FOREIGN'
  // one algorithm of it
  | 'ALGORITHM_UNKNOWN'
  | 'ALGORITHM_NOT_BUILT'
  | 'ALGORITHM_NOT_OFFERED'
  | 'ALGIF_MISSING'
  | 'MODULE_BLACKLISTED'
  | 'TEMPLATE_MISSING'
  | 'COMBINATION_REFUSED'
  | 'WRONG_TYPE'
  | 'AF_ALG_RESTRICTED'
  | 'OFF_CPU_MASKED'
  | 'KERNEL_DRIVER_ABSENT'
  | 'SELFTEST_FAILED'
  | 'WRONG_RESULT'
  | 'KEEPS_FAILING'
  | 'NOT_HARDWARE'
  | 'COMPAT_ABI'
  // one request of it
  | 'BAD_KEY_LENGTH'
  | 'BAD_KEY'
  | 'BAD_TAG_LENGTH'
  | 'KEY_BUSY'
  | 'OUT_OF_MEMORY'
  | 'TOO_MANY_FILES'
  | 'TIMED_OUT'
  | 'MESSAGE_TOO_LARGE'
  | 'DEVICE_BUSY'
  | 'DEVICE_GONE'
  | 'FORKED'
  | 'SYSTEM_ERROR';

/** Base class of every error that hwcrypt throws on purpose. */
export class HwcryptError extends Error {
  readonly code: string;
  /** Set where a driver or the kernel refused: cause and cure as data. */
  readonly reason?: Reason;

  constructor(code: HwcryptCode, message: string, options: { reason?: Reason; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HwcryptError';
    this.code = code;
    if (options.reason) this.reason = options.reason;
  }
}

/** A driver cannot be used at all, or cannot do this algorithm, and nobody may stand in for it. */
export class UnavailableError extends HwcryptError {
  declare readonly reason: Reason;
  readonly driver: string;

  /** @param told the reason in words, where there is more to tell: other drivers' reasons. */
  constructor(
    code: HwcryptCode,
    driver: string,
    what: string,
    reason: Reason,
    told: string = describeReason(reason),
  ) {
    super(code, `${what}: ${told}`, { reason });
    this.name = 'UnavailableError';
    this.driver = driver;
  }
}

/** A driver that was working failed in the middle of a request. Its session is unusable from then on. */
export class DriverError extends HwcryptError {
  readonly driver: string;

  constructor(driver: string, what: string, reason: Reason, cause?: unknown) {
    super('DRIVER_FAILED', `${driver}: ${what}: ${describeReason(reason)}`, { reason, cause });
    this.name = 'DriverError';
    this.driver = driver;
  }
}

/**
 * The tag does not match. No plaintext is returned with this error. node:crypto throws a plain Error with this
 * message and no code; the message is kept and a code is added.
 */
export class AuthenticationError extends HwcryptError {
  constructor() {
    super('AUTH_FAILED', 'Unsupported state or unable to authenticate data');
    this.name = 'Error';
  }
}

/** `message. cure`, as one line for people. */
export function describeReason(reason: Reason): string {
  return reason.cure ? `${reason.message} (${reason.cure})` : reason.message;
}

/** Constructors of Node's own coded errors, by code: same class, same code, same text as node:crypto gives. */
function coded<T extends Error>(error: T, code: string): T & { code: string } {
  // Node shows the code in the stack's first line and in `name [code]`, but not in `name` itself.
  const name = error.name;
  Object.defineProperty(error, 'name', {
    value: `${name} [${code}]`,
    configurable: true,
    enumerable: false,
    writable: true,
  });
  void error.stack;
  Object.defineProperty(error, 'name', {
    value: name,
    configurable: true,
    enumerable: false,
    writable: true,
  });
  return Object.assign(error, { code });
}

export const nodeTypeError = (code: string, message: string): TypeError & { code: string } =>
  coded(new TypeError(message), code);
export const nodeRangeError = (code: string, message: string): RangeError & { code: string } =>
  coded(new RangeError(message), code);
export const nodeError = (code: string, message: string): Error & { code: string } =>
  coded(new Error(message), code);

/** A value as text. It may refuse to be looked at, and shall not turn the error into another one. */
export function shown(value: unknown, depth = 2): string {
  try {
    return inspect(value, { depth });
  } catch {
    return `an ${typeof value}`;
  }
}

/** `Received …`, worded as Node words it. */
export function received(value: unknown): string {
  if (value === null || value === undefined) return `Received ${value}`;
  if (typeof value === 'function') return `Received function ${value.name}`;
  if (typeof value === 'object') {
    if (value.constructor?.name) return `Received an instance of ${value.constructor.name}`;
    return `Received ${shown(value, -1)}`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return `Received type ${typeof value} (${text})`;
}
