/** Errors that say nothing about a driver's answers: it does not take such a request, or the machine is short of something. */
import { HwcryptError, type Reason, type ReasonCode, UnavailableError } from '../../errors.js';

const LENGTHS: ReadonlySet<ReasonCode> = new Set([
  'BAD_KEY_LENGTH',
  'BAD_KEY',
  'BAD_TAG_LENGTH',
  'MESSAGE_TOO_LARGE',
]);

const LENGTH_CODES: ReadonlySet<string> = new Set([
  'ERR_CRYPTO_INVALID_KEYLEN',
  'ERR_CRYPTO_INVALID_IV',
  'ERR_CRYPTO_INVALID_AUTH_TAG',
  'MESSAGE_TOO_LARGE',
  'PARTIAL_BLOCK',
]);

const SHORTAGES: ReadonlySet<ReasonCode> = new Set([
  'OUT_OF_MEMORY',
  'TOO_MANY_FILES',
  'KEY_BUSY',
  'TIMED_OUT',
  'DEVICE_BUSY',
  'DEVICE_GONE',
]);

const reasonOf = (error: unknown): Reason | undefined =>
  error instanceof HwcryptError ? error.reason : undefined;

/** A length of key, nonce, tag or message that the driver does not take. */
export function refusesLength(error: unknown): boolean {
  const reason = reasonOf(error);
  const { code } = error as { code?: unknown };
  return (reason !== undefined && LENGTHS.has(reason.code)) || LENGTH_CODES.has(String(code));
}

/** Is this a driver's right to say no: a length that the standard allows and the driver's own world does not? */
export function mayRefuse(error: unknown): boolean {
  const reason = reasonOf(error);
  if (reason && SHORTAGES.has(reason.code)) return false;
  return error instanceof UnavailableError || refusesLength(error);
}

/** The reason of an error after which nothing is known: the driver is not there, or something ran out. Undefined for any other. */
export function undecided(error: unknown): Reason | undefined {
  const reason = reasonOf(error);
  if (!reason) return undefined;
  return error instanceof UnavailableError || SHORTAGES.has(reason.code) ? reason : undefined;
}
