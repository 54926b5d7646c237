/** What is kept of a failure, and all that somebody else needs to see it too. The data is made up for the trial: no user's secrets. */
import type { Algorithm } from '../../algorithms.js';
import { type DriverChoice, labelOf, optionsOf } from '../../drivers/registry.js';
import { HwcryptError } from '../../errors.js';
import { forge, type Outcome, type Sealed } from './perform.js';
import type { Reference } from './reference.js';
import { keyAt, type Layout, type Message, type Task, type Trial } from './trial.js';

/** One request sequence of a failing case, in hex. */
export interface FailureMessage {
  /** Key of a session's first message, and where it changes. */
  readonly key?: string;
  readonly iv?: string;
  readonly aad?: string;
  readonly input: string;
  readonly tag?: string;
  readonly inputBytes: number;
  /** Lengths of the requests. */
  readonly pieces: readonly number[];
  /** Bytes from an address that is a multiple of 16. */
  readonly inputOffset: number;
  readonly outputOffset: number;
  readonly layout: Layout;
  readonly asynchronous?: true;
  readonly staged?: true;
  readonly handoverAfter?: number;
  readonly forged?: 'tag' | 'text' | 'aad';
}

export interface Failure {
  readonly algorithm: string;
  readonly task: Task;
  /** As `--driver` takes it: `afalg:cbc-aes-generic`. */
  readonly driver: string;
  /** The implementation that was bound, by its own name, and its module. */
  readonly kernelDriver?: string;
  readonly module?: string;
  /** What is wrong, in words. */
  readonly what: string;
  /** Who says what is right. */
  readonly reference: string;
  /** The message that failed: session and message, from 0, of `sessions`. */
  readonly session: number;
  readonly message: number;
  readonly tagBytes?: number;
  readonly outputBytes?: number;
  readonly interleaved?: true;
  readonly sessions: readonly (readonly FailureMessage[])[];
  /** Output, with an AEAD's tag behind it; whole if short, else some bytes from `shownFrom` on. */
  readonly expected?: string;
  readonly got?: string;
  readonly shownFrom?: number;
  /** Byte of the output, from 0; an AEAD's tag counts as what follows its text. */
  readonly firstDifference?: number;
  /** What the driver threw. */
  readonly error?: { readonly code?: string; readonly message: string; readonly errno?: string };
}

/** Where and how an outcome is not what it should be. */
export interface Difference {
  readonly session: number;
  readonly message: number;
  readonly what: string;
  readonly expected?: Uint8Array;
  readonly got?: Uint8Array;
  readonly error?: unknown;
}

/** Outputs up to this length are kept whole. */
const WHOLE_BYTES = 256;
const SHOWN_BYTES = 64;

/**
 * Hex in which 16 and more equal bytes are written once: `00{4096}`. Inputs that were made smaller are mostly zeros, and evidence is kept
 * in a file.
 */
export function hexOf(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at]!;
    let end = at + 1;
    while (end < bytes.length && bytes[end] === byte) end++;
    const hex = byte.toString(16).padStart(2, '0');
    text += end - at >= 16 ? `${hex}{${end - at}}` : hex.repeat(end - at);
    at = end;
  }
  return text;
}

/** What `hexOf` writes. @throws SyntaxError */
export function bytesOf(hex: string): Uint8Array {
  const whole = hex.replace(/([0-9a-f]{2})\{(\d{1,10})\}/g, (_, byte: string, count: string) =>
    byte.repeat(Number(count)),
  );
  if (!/^(?:[0-9a-f]{2})*$/.test(whole)) throw new SyntaxError('no hex as evidence has it');
  return Uint8Array.from(Buffer.from(whole, 'hex'));
}

/** The first byte in which two outputs differ; the shorter one's end where one begins the other. */
export function firstDifference(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return most;
}

export const joined = ({ output, tag }: Outcome): Uint8Array =>
  tag ? new Uint8Array(Buffer.concat([output, tag])) : output;

export function failureOf(
  choice: DriverChoice,
  trial: Trial,
  sealed: readonly (readonly Sealed[])[] | undefined,
  reference: Pick<Reference, 'label'>,
  { session, message, what, expected, got, error }: Difference,
): Failure {
  const { tagBytes, outputBytes, interleaved } = trial;
  return {
    algorithm: trial.algorithm.name,
    task: trial.task,
    driver: labelOf(choice),
    ...boundBy(choice, trial.algorithm),
    what,
    reference: reference.label,
    session,
    message,
    ...(tagBytes === undefined ? {} : { tagBytes }),
    ...(outputBytes === undefined ? {} : { outputBytes }),
    ...(interleaved ? { interleaved } : {}),
    sessions: trial.sessions.map((messages, i) =>
      messages.map((own, j) => failureMessage(trial, messages, j, own, sealed?.[i]?.[j])),
    ),
    ...(expected && got ? shownPair(expected, got) : {}),
    ...(error === undefined ? {} : { error: shownError(error) }),
  };
}

function boundBy(choice: DriverChoice, algorithm: Algorithm): Pick<Failure, 'kernelDriver' | 'module'> {
  const { kernelDriver, module } = choice.driver.implementation(algorithm, optionsOf(choice)) ?? {};
  return {
    ...(kernelDriver === undefined ? {} : { kernelDriver }),
    ...(module === undefined ? {} : { module }),
  };
}

function failureMessage(
  { algorithm }: Trial,
  messages: readonly Message[],
  at: number,
  own: Message,
  sealed: Sealed | undefined,
): FailureMessage {
  const { input, pieces, inputOffset, outputOffset, layout, asynchronous, staged, handoverAfter, forged } =
    own;
  const sent = sealed && forge(own, sealed);
  const aad = sent?.aad ?? own.aad;
  const key = at === 0 && algorithm.kind !== 'hash' ? keyAt(messages, 0) : own.key;
  return {
    ...(key ? { key: hexOf(key) } : {}),
    ...(own.iv ? { iv: hexOf(own.iv) } : {}),
    ...(aad ? { aad: hexOf(aad) } : {}),
    input: hexOf(sent?.text ?? input),
    ...(sent ? { tag: hexOf(sent.tag) } : {}),
    inputBytes: input.length,
    pieces,
    inputOffset,
    outputOffset,
    layout,
    ...(asynchronous ? { asynchronous } : {}),
    ...(staged ? { staged } : {}),
    ...(handoverAfter === undefined ? {} : { handoverAfter }),
    ...(forged ? { forged } : {}),
  };
}

function shownPair(
  expected: Uint8Array,
  got: Uint8Array,
): Pick<Failure, 'expected' | 'got' | 'shownFrom' | 'firstDifference'> {
  const at = firstDifference(expected, got);
  const from = Math.max(expected.length, got.length) <= WHOLE_BYTES ? 0 : at - (at % 16);
  const end = from === 0 ? WHOLE_BYTES : from + SHOWN_BYTES;
  return {
    expected: hexOf(expected.subarray(from, end)),
    got: hexOf(got.subarray(from, end)),
    shownFrom: from,
    firstDifference: at,
  };
}

function shownError(error: unknown): NonNullable<Failure['error']> {
  const { code } = error as { code?: unknown };
  const errno = error instanceof HwcryptError ? error.reason?.errno : undefined;
  return {
    ...(typeof code === 'string' ? { code } : {}),
    message: error instanceof Error ? error.message : String(error),
    ...(errno === undefined ? {} : { errno }),
  };
}
