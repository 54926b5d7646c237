/** What an error of a driver's session means for the request: whose fault is it, and is it worth another try? */
import { AuthenticationError, DriverError, HwcryptError, type Reason, UnavailableError } from '../errors.js';

/**
 * `fault`: the driver failed; another one can do the request. `refusal`: it does not take this one request (nonce, tag, length),
 * which says nothing against it. `forged`: a wrong tag, by its account. `caller`: nobody could do it.
 */
export type Blame = 'fault' | 'refusal' | 'forged' | 'caller';

export function blame(error: unknown): Blame {
  if (error instanceof AuthenticationError) return 'forged';
  if (!(error instanceof HwcryptError)) return 'caller';
  if (error.code === 'MESSAGE_TOO_LARGE') return 'refusal';
  if (error instanceof DriverError) return 'fault';
  if (error instanceof UnavailableError) return error.code === 'ALGORITHM_UNAVAILABLE' ? 'refusal' : 'fault';
  return 'caller';
}

/** The reason in an error, or one made of it. */
export function reasonOf(error: unknown): Reason {
  if (error instanceof HwcryptError && error.reason) return error.reason;
  return { code: 'SYSTEM_ERROR', message: (error as Error).message };
}

/** Busy now, and perhaps not in a moment: an engine whose queue is full. */
export function isBusy({ errno, code }: Reason): boolean {
  return errno === 'EBUSY' || errno === 'EAGAIN' || code === 'KEY_BUSY';
}

/** Gone for good, as far as can be told: no use in trying again soon. */
export function isGone({ errno, code }: Reason): boolean {
  return code === 'DEVICE_GONE' || errno === 'ENODEV' || errno === 'ENXIO' || errno === 'EBADF';
}
