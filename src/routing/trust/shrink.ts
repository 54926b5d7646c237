/**
 * Makes a failing trial smaller for as long as it fails: fewer sessions and messages, fewer requests, shorter, aligned, into another
 * buffer, of zeros.
 *
 * A generator that hands out candidates and is told whether they fail, so that it serves trials that are waited for as well as others.
 */
import type { Algorithm } from '../../algorithms.js';
import { keyAt, type Message, type Trial } from './trial.js';

/** Candidates at most: each is a trial, and some hang about for milliseconds. */
const MOST_CANDIDATES = 600;

export type Shrinking = Generator<Trial, Trial, boolean>;

/** The smallest trial that was found to fail, which may be the one given. */
export function* shrink(failing: Trial): Shrinking {
  let best = failing;
  let tried = 0;
  for (let again = true; again && tried < MOST_CANDIDATES; ) {
    again = false;
    for (const candidate of candidates(best)) {
      if (++tried > MOST_CANDIDATES) break;
      if (!(yield candidate)) continue;
      best = candidate;
      again = true;
      // What is left to be tried of the old one was made from what is no longer the smallest.
      break;
    }
  }
  return best;
}

export function shrinkNow(failing: Trial, fails: (trial: Trial) => boolean): Trial {
  const work = shrink(failing);
  let step = work.next();
  while (!step.done) step = work.next(fails(step.value));
  return step.value;
}

export async function shrinkSoon(failing: Trial, fails: (trial: Trial) => Promise<boolean>): Promise<Trial> {
  const work = shrink(failing);
  let step = work.next();
  while (!step.done) step = work.next(await fails(step.value));
  return step.value;
}

/** Smaller trials, those that save most first. */
function* candidates(trial: Trial): Generator<Trial> {
  const { sessions } = trial;
  if (sessions.length > 1) {
    for (const at of sessions.keys()) {
      yield without({ ...trial, sessions: sessions.filter((_, i) => i !== at) });
    }
    const { interleaved, ...rest } = trial;
    if (interleaved) yield rest;
  }
  const total = sessions.reduce((sum, { length }) => sum + length, 0);
  if (total > 1) {
    for (const [i, messages] of sessions.entries()) {
      // Half of them at once, then one by one, the last first.
      if (messages.length > 3) {
        const half = messages.length >> 1;
        yield inSession(trial, i, keyed(trial.algorithm, messages, half));
        yield inSession(trial, i, messages.slice(0, half));
      }
      for (let at = messages.length - 1; at >= 0 && messages.length > 1; at--) {
        const left = messages.filter((_, j) => j !== at);
        const [first] = left;
        const key = at === 0 && first && !first.key && messages[0]!.key ? { key: messages[0]!.key } : {};
        yield inSession(trial, i, first ? [{ ...first, ...key }, ...left.slice(1)] : left);
      }
    }
  }
  for (const [i, messages] of sessions.entries()) {
    for (const [at, own] of messages.entries()) {
      for (const smaller of messageCandidates(trial, messages, at)) {
        yield inSession(trial, i, [...messages.slice(0, at), smaller(own), ...messages.slice(at + 1)]);
      }
    }
  }
  const { tagBytes, outputBytes, ...usual } = trial;
  if (tagBytes !== undefined || outputBytes !== undefined) yield usual;
}

/** One session has no turns. */
function without(trial: Trial): Trial {
  const { interleaved: _, ...rest } = trial;
  return trial.sessions.length > 1 ? trial : rest;
}

const inSession = (trial: Trial, at: number, messages: readonly Message[]): Trial => ({
  ...trial,
  sessions: trial.sessions.map((own, i) => (i === at ? messages : own)),
});

/** The messages from `from` on, with the key that the first of them is done with. */
function keyed(algorithm: Algorithm, messages: readonly Message[], from: number): Message[] {
  const [first, ...rest] = messages.slice(from);
  const key = algorithm.kind === 'hash' ? {} : { key: keyAt(messages, from) };
  return [{ ...first!, ...key }, ...rest];
}

type Change = (message: Message) => Message;

function* messageCandidates(trial: Trial, messages: readonly Message[], at: number): Generator<Change> {
  const { algorithm } = trial;
  const own = messages[at]!;
  const { input, pieces, aad } = own;
  const dropped = <K extends keyof Message>(key: K): Change => {
    const { [key]: _, ...rest } = own;
    return () => rest as unknown as Message;
  };
  if (pieces.length > 1) {
    yield () => ({ ...own, pieces: [input.length] });
    for (const i of pieces.keys()) {
      if (i === 0) continue;
      const joined = [...pieces.slice(0, i - 1), pieces[i - 1]! + pieces[i]!, ...pieces.slice(i + 1)];
      yield () => ({ ...own, pieces: joined });
    }
  }
  if (own.asynchronous) yield dropped('asynchronous');
  if (own.staged) yield dropped('staged');
  if (own.handoverAfter !== undefined) yield dropped('handoverAfter');
  if (at > 0 && own.key) yield dropped('key');
  for (const length of shorter(algorithm, input.length)) yield () => cut(own, length);
  if (pieces.length > 1) {
    for (const [i, bytes] of pieces.entries()) {
      for (const length of new Set([unitOf(trial), bytes >> 1, bytes - unitOf(trial)])) {
        if (length < bytes && length > 0 && length % unitOf(trial) === 0)
          yield () => narrowed(own, i, length);
      }
    }
  }
  if (own.key && own.key.length > 1 && algorithm.kind === 'mac' && algorithm.keyBytes === undefined) {
    const { key } = own;
    for (const length of [1, key.length >> 1, key.length - 1]) {
      if (length < key.length) yield () => ({ ...own, key: key.subarray(0, length) });
    }
  }
  if (aad && aad.length > 0) {
    for (const length of [0, aad.length >> 1, aad.length - 1]) {
      if (length < aad.length && !(own.forged === 'aad' && length === 0)) {
        yield () => ({ ...own, aad: aad.subarray(0, length) });
      }
    }
  }
  if (own.layout !== 'apart') yield () => ({ ...own, layout: 'apart' });
  if (own.inputOffset > 0) yield () => ({ ...own, inputOffset: 0 });
  if (own.outputOffset > 0) yield () => ({ ...own, outputOffset: 0 });
  for (const offset of [1, 2, 4, 8]) {
    if (offset < own.inputOffset) yield () => ({ ...own, inputOffset: offset });
    if (offset < own.outputOffset) yield () => ({ ...own, outputOffset: offset });
  }
  for (const field of ['input', 'aad', 'iv', 'key'] as const) {
    const bytes = own[field];
    if (!bytes || bytes.every((byte) => byte === 0)) continue;
    yield () => ({ ...own, [field]: zeros(algorithm, field, bytes.length) });
  }
}

/** XTS refuses a key of two equal halves, and so are two halves of zeros. */
function zeros(algorithm: Algorithm, field: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  if (field === 'key' && algorithm.kind === 'cipher' && algorithm.mode === 'xts') bytes[length - 1] = 1;
  return bytes;
}

/** Lengths to try in the place of one, by halves at first and by units at last. */
function shorter(algorithm: Algorithm, length: number): number[] {
  const unit = algorithm.kind === 'cipher' ? algorithm.blockBytes : 1;
  const least = algorithm.kind === 'cipher' ? (algorithm.minBytes ?? unit) : 0;
  const steps = [
    0,
    length >> 1,
    length - (length >> 2),
    length - 256,
    length - 64,
    length - 16,
    length - 8,
    length - 1,
  ];
  const fits = steps.map((wanted) => Math.max(least, wanted - (wanted % unit)));
  return [...new Set(fits)].filter((wanted) => wanted < length);
}

const unitOf = ({ algorithm }: Trial): number => (algorithm.kind === 'cipher' ? algorithm.blockBytes : 1);

/** One request made shorter, with the others as they are. */
function narrowed(own: Message, at: number, length: number): Message {
  const start = own.pieces.slice(0, at).reduce((sum, bytes) => sum + bytes, 0);
  const end = start + own.pieces[at]!;
  const input = new Uint8Array(
    Buffer.concat([own.input.subarray(0, start + length), own.input.subarray(end)]),
  );
  return { ...own, input, pieces: own.pieces.map((bytes, i) => (i === at ? length : bytes)) };
}

/** The beginning of a message, in as many of its requests as there is something left for. */
function cut(own: Message, length: number): Message {
  const pieces: number[] = [];
  let left = length;
  for (const piece of own.pieces) {
    const taken = Math.min(piece, left);
    if (taken > 0) pieces.push(taken);
    left -= taken;
  }
  const handover = own.handoverAfter !== undefined && own.handoverAfter < pieces.length;
  const { handoverAfter, ...rest } = own;
  return {
    ...rest,
    ...(handover ? { handoverAfter: handoverAfter! } : {}),
    input: own.input.subarray(0, length),
    pieces: pieces.length > 0 ? pieces : [length],
  };
}
