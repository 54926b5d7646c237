/** What an error of a driver's session means for the request: whose fault is it, and is it worth another try? */
import {
  AuthenticationError,
  DriverError,
  HwcryptError,
  type Reason,
  type ReasonCode,
  UnavailableError,
} from '../errors.js';

/**
 * `fault`: the driver failed; another one can do the request. `refusal`: it does not take this one request (nonce, tag, length),
 * which says nothing against it. `forged`: a wrong tag, by its account. `caller`: nobody could do it.
 */
export type Blame = 'fault' | 'refusal' | 'forged' | 'caller';

/** A shortage or a loss: it says nothing of what the driver takes, and may be over at the next try. */
const PASSING: ReadonlySet<ReasonCode> = new Set([
  'OUT_OF_MEMORY',
  'TOO_MANY_FILES',
  'KEY_BUSY',
  'KEEPS_FAILING',
  'TIMED_OUT',
  'DEVICE_BUSY',
  'DEVICE_GONE',
  'SYSTEM_ERROR',
]);

export function isPassing({ code }: Reason): boolean {
  return PASSING.has(code);
}

export function blame(error: unknown): Blame {
  if (error instanceof AuthenticationError) return 'forged';
  if (!(error instanceof HwcryptError)) return 'caller';
  if (error.code === 'MESSAGE_TOO_LARGE') return 'refusal';
  if (error instanceof DriverError) return 'fault';
  if (error instanceof UnavailableError) {
    // A session that could not be opened for want of memory was not refused: that is a driver in trouble.
    return error.code === 'ALGORITHM_UNAVAILABLE' && !isPassing(error.reason) ? 'refusal' : 'fault';
  }
  return 'caller';
}

/** The reason in an error, or one made of it. */
export function reasonOf(error: unknown): Reason {
  if (error instanceof HwcryptError && error.reason) return error.reason;
  return { code: 'SYSTEM_ERROR', message: (error as Error).message };
}

/** Busy now, and perhaps not in a moment: an engine whose queue is full. */
export function isBusy({ errno, code }: Reason): boolean {
  return errno === 'EBUSY' || errno === 'EAGAIN' || code === 'KEY_BUSY' || code === 'DEVICE_BUSY';
}

/** Gone for good, as far as can be told: no use in trying again soon. */
export function isGone({ errno, code }: Reason): boolean {
  return code === 'DEVICE_GONE' || errno === 'ENODEV' || errno === 'ENXIO' || errno === 'EBADF';
}
