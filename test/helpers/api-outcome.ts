/** What a call came to, in a form in which two calls can be compared: the value, or all that can be told of an error. */
import { inspect } from 'node:util';

export interface Failure {
  /** `TypeError`, `RangeError`, `Error`: the nearest built-in class. */
  readonly type: string;
  readonly name: string;
  readonly code: unknown;
  readonly message: string;
  readonly library: unknown;
  readonly reason: unknown;
}

export type Outcome =
  | { readonly value: unknown; readonly error?: undefined }
  | { readonly error: Failure; readonly value?: undefined };

const BUILT_IN = [TypeError, RangeError, SyntaxError, Error];

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) {
    return {
      type: typeof error,
      name: '',
      code: undefined,
      message: inspect(error),
      library: undefined,
      reason: undefined,
    };
  }
  const given = error as Error & { code?: unknown; library?: unknown; reason?: unknown };
  return {
    type: BUILT_IN.find((type) => error instanceof type)!.name,
    name: error.name,
    code: given.code,
    message: error.message,
    library: given.library,
    reason: given.reason,
  };
}

/** Calls, and notes what comes. `self` is what a chaining method gives back. */
export function attempt(action: () => unknown, self?: object): Outcome {
  try {
    return { value: normal(action(), self) };
  } catch (error) {
    return { error: failureOf(error) };
  }
}

function normal(value: unknown, self: object | undefined): unknown {
  if (value === self && self !== undefined) return '(itself)';
  if (Buffer.isBuffer(value)) return `Buffer ${value.toString('hex')}`;
  if (ArrayBuffer.isView(value)) return `view ${inspect(value)}`;
  if (typeof value === 'object' && value !== null) return `a ${value.constructor.name}`;
  return value;
}

export function describeOutcome(outcome: Outcome): string {
  return outcome.error
    ? `throws ${inspect(outcome.error, { breakLength: Number.POSITIVE_INFINITY })}`
    : `gives ${inspect(outcome.value)}`;
}

export function sameOutcome(a: Outcome, b: Outcome): boolean {
  if (a.error === undefined || b.error === undefined) return a.error === b.error && a.value === b.value;
  return sameFailure(a.error, b.error);
}

export function sameFailure(a: Failure, b: Failure): boolean {
  return (Object.keys(a) as (keyof Failure)[]).every((key) => a[key] === b[key]);
}
