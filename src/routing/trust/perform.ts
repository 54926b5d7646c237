/**
 * Does a trial over a driver, request by request.
 *
 * The work is a generator: it stops after each request, so that several sessions can take turns, and hands out the promise where the
 * request is asynchronous. A trial without such requests can be done without ever waiting.
 */
import type { AeadAlgorithm, CipherAlgorithm } from '../../algorithms.js';
import type { AeadSession, CipherSession, DigestSession, Direction } from '../../drivers/driver.js';
import { type DriverChoice, optionsOf } from '../../drivers/registry.js';
import { AuthenticationError, nodeTypeError } from '../../errors.js';
import { Guarded } from './memory.js';
import { mayRefuse, refusesLength } from './refusal.js';
import { keyAt, type Message, type Trial } from './trial.js';

/** A message as it is to be opened. */
export interface Sealed {
  readonly text: Uint8Array;
  readonly tag: Uint8Array;
}

/** What became of a message. */
export interface Outcome {
  /** Empty where the message was refused. */
  readonly output: Uint8Array;
  readonly tag?: Uint8Array;
  /** What is wrong whatever the bytes are: written beside the output, input changed, a forgery accepted. */
  readonly flaw?: string;
  /** The driver does not take messages of this shape, and may say so. */
  readonly refused?: true;
}

export type Work = Generator<Promise<unknown> | undefined, void>;

const EMPTY = new Uint8Array();
/** Stands for a request that was not asynchronous. */
const SETTLED = Promise.resolve();

/**
 * @param sealed for an AEAD's `decrypt`, the messages sealed, by session and message
 * @param outcomes filled as messages are finished, by session and message; where an error ends the work, the first message without one is
 *   where it happened
 */
export function* perform(
  choice: DriverChoice,
  trial: Trial,
  sealed: readonly (readonly Sealed[])[] | undefined,
  outcomes: Outcome[][],
): Work {
  const works = trial.sessions.map((messages, i) => {
    const own: Outcome[] = [];
    outcomes.push(own);
    return openable(messages, own, sessionWork(choice, trial, messages, sealed?.[i], own));
  });
  if (trial.interleaved) yield* inTurns(works);
  else for (const work of works) yield* work;
}

/** A session that cannot be opened with a key or tag of this length refuses all of its messages. */
function* openable(messages: readonly Message[], outcomes: Outcome[], work: Work): Work {
  try {
    yield* work;
  } catch (error) {
    if (outcomes.length > 0 || !refusesLength(error)) throw error;
    outcomes.push(...messages.map((): Outcome => ({ output: EMPTY, refused: true })));
  }
}

function sessionWork(
  choice: DriverChoice,
  trial: Trial,
  messages: readonly Message[],
  sealed: readonly Sealed[] | undefined,
  outcomes: Outcome[],
): Work {
  switch (trial.algorithm.kind) {
    case 'cipher':
      return cipherWork(choice, trial.algorithm, trial.task as Direction, messages, outcomes);
    case 'aead':
      return aeadWork(choice, trial, trial.algorithm, messages, sealed ?? [], outcomes);
    default:
      return digestWork(choice, trial, messages, outcomes);
  }
}

/** One request of each session in turn; asynchronous ones of a turn are under way together. */
function* inTurns(works: readonly Work[]): Work {
  let left = [...works];
  let settled: PromiseSettledResult<unknown>[] = [];
  try {
    while (left.length > 0) {
      const waiting: Promise<unknown>[] = [];
      const going: Work[] = [];
      let failed: { readonly error: unknown } | undefined;
      for (const [i, work] of left.entries()) {
        const last = settled[i];
        try {
          const step = last?.status === 'rejected' ? work.throw(last.reason) : work.next();
          if (step.done) continue;
          going.push(work);
          waiting.push(step.value ?? SETTLED);
        } catch (error) {
          failed ??= { error };
        }
      }
      left = going;
      settled = [];
      if (waiting.some((promise) => promise !== SETTLED)) {
        yield Promise.allSettled(waiting).then((results) => {
          settled = results;
        });
      } else if (!failed) yield undefined;
      // Not before what is under way is over: it works on memory of this trial.
      if (failed) throw failed.error;
    }
  } finally {
    for (const work of works) work.return();
  }
}

/** Does it without waiting. @throws what the driver throws; TypeError where a request is asynchronous. */
export function doNow(work: Work): void {
  for (const promise of work) {
    if (promise !== undefined) throw nodeTypeError('ERR_INVALID_STATE', 'an asynchronous request');
  }
}

export async function doSoon(work: Work): Promise<void> {
  let step = work.next();
  while (!step.done) {
    try {
      await step.value;
    } catch (error) {
      step = work.throw(error);
      continue;
    }
    step = work.next();
  }
}

// --- Memory ------------------------------------------------------------------------------------------------------------------------

interface Place {
  readonly input: Uint8Array;
  readonly output: Uint8Array;
  /** What is wrong around and in the memory after the work. */
  flaw(): string | undefined;
}

function place(given: Message, content: Uint8Array, extra = 0): Place {
  const { length } = content;
  const shift = given.layout === 'overlapping' ? 1 + (given.outputOffset & 15) : 0;
  const source = new Guarded(given.layout === 'apart' ? length : length + shift + extra, given.inputOffset);
  const input = source.view.subarray(0, length);
  input.set(content);
  if (given.layout !== 'apart') {
    const output = source.view.subarray(shift, shift + length + extra);
    return { input, output, flaw: () => source.damage(source.view.length) };
  }
  const target = new Guarded(length + extra, given.outputOffset);
  return {
    input,
    output: target.view,
    flaw: () =>
      target.damage(length + extra) ??
      source.damage(length) ??
      (Buffer.compare(input, content) === 0 ? undefined : 'the input was changed'),
  };
}

/** Requests of whole units, but for the last: pieces that end elsewhere are joined with what follows. */
export function requestsOf(pieces: readonly number[], unit: number): number[] {
  const requests: number[] = [];
  let held = 0;
  for (const piece of pieces) {
    held += piece;
    const whole = held - (held % unit);
    if (whole > 0 || piece === 0) requests.push(whole);
    held -= whole;
  }
  if (held > 0 || requests.length === 0) requests.push(held);
  return requests;
}

/** A key that its owner wipes as soon as it was handed over: the session must have its own. */
function lent<T>(key: Uint8Array, use: (key: Uint8Array) => T): T {
  const own = Uint8Array.from(key);
  try {
    return use(own);
  } finally {
    own.fill(0);
  }
}

// --- Ciphers -----------------------------------------------------------------------------------------------------------------------

function* cipherWork(
  choice: DriverChoice,
  algorithm: CipherAlgorithm,
  direction: Direction,
  messages: readonly Message[],
  outcomes: Outcome[],
): Work {
  const open = (key: Uint8Array, iv: Uint8Array | null): CipherSession =>
    lent(key, (own) => choice.driver.cipher(algorithm, direction, own, iv, optionsOf(choice)));
  let session = open(keyAt(messages, 0), messages[0]!.iv);
  try {
    for (const [i, message] of messages.entries()) {
      try {
        if (i > 0) {
          const { key, iv } = message;
          if (key) lent(key, (own) => session.restart(iv, own));
          else session.restart(iv);
        }
        const { input, output, flaw } = place(message, message.input);
        const unit = session.partialBlocks ? algorithm.blockBytes : algorithm.cipherBlockBytes;
        const requests = algorithm.mode === 'xts' ? [input.length] : requestsOf(message.pieces, unit);
        const whole = message.layout === 'overlapping' ? [input.length] : requests;
        let at = 0;
        for (const [n, bytes] of whole.entries()) {
          if (n > 0 && n === message.handoverAfter && canHandOver(algorithm, at)) {
            const next = open(keyAt(messages, i), session.chain());
            session.close();
            session = next;
          }
          const from = input.subarray(at, at + bytes);
          const to = output.subarray(at, at + bytes);
          if (message.asynchronous) yield session.updateAsync(from, to);
          else {
            updateNow(session, message, from, to);
            yield undefined;
          }
          at += bytes;
        }
        outcomes.push({ output, ...said(flaw()) });
      } catch (error) {
        if (!mayRefuse(error)) throw error;
        outcomes.push({ output: EMPTY, refused: true });
        if (!session.usable) return;
      }
    }
  } finally {
    session.close();
  }
}

const canHandOver = (algorithm: CipherAlgorithm, at: number): boolean =>
  algorithm.handover && at % algorithm.cipherBlockBytes === 0;

function updateNow(session: CipherSession, message: Message, from: Uint8Array, to: Uint8Array): void {
  const { stage } = session;
  if (message.staged && stage && session.updateStaged && from.length > 0 && from.length <= stage.length) {
    stage.set(from);
    to.set(session.updateStaged(from.length));
  } else session.update(from, to);
}

const said = (flaw: string | undefined): { flaw?: string } => (flaw === undefined ? {} : { flaw });

// --- AEADs -------------------------------------------------------------------------------------------------------------------------

function* aeadWork(
  choice: DriverChoice,
  trial: Trial,
  algorithm: AeadAlgorithm,
  messages: readonly Message[],
  sealed: readonly Sealed[],
  outcomes: Outcome[],
): Work {
  const { tagBytes } = trial;
  const options = { ...optionsOf(choice), ...(tagBytes === undefined ? {} : { tagBytes }) };
  const session = lent(keyAt(messages, 0), (key) =>
    choice.driver.aead(algorithm, trial.task as Direction, key, options),
  );
  try {
    for (const [i, message] of messages.entries()) {
      try {
        if (i > 0 && message.key) lent(message.key, (key) => session.rekey(key));
        if (trial.task === 'encrypt') outcomes.push(yield* seal(session, message));
        else outcomes.push(yield* unseal(session, message, sealed[i]!));
      } catch (error) {
        if (!mayRefuse(error)) throw error;
        outcomes.push({ output: EMPTY, refused: true });
        if (!session.usable) return;
      }
    }
  } finally {
    session.close();
  }
}

type Doing = Generator<Promise<unknown> | undefined, Outcome>;

function* seal(session: AeadSession, message: Message): Doing {
  const iv = message.iv!;
  const aad = message.aad ?? EMPTY;
  const { length } = message.input;
  const tag = new Guarded(session.tagBytes, message.outputOffset);
  if (inPieces(session, message)) {
    const { input, output, flaw } = place(message, message.input);
    yield* pour(session, message, input, output);
    session.finish(tag.view);
    return { output, tag: tag.view, ...said(flaw() ?? tag.damage(session.tagBytes)) };
  }
  if (message.staged && session.sealAppended) {
    const { input, output, flaw } = place(message, message.input, session.tagBytes);
    session.sealAppended(iv, aad, input, output);
    yield undefined;
    return { output: output.subarray(0, length), tag: output.subarray(length), ...said(flaw()) };
  }
  const { input, output, flaw } = place(message, message.input);
  if (message.asynchronous) yield session.sealAsync(iv, aad, input, output, tag.view);
  else {
    session.seal(iv, aad, input, output, tag.view);
    yield undefined;
  }
  return { output, tag: tag.view, ...said(flaw() ?? tag.damage(session.tagBytes)) };
}

function* unseal(session: AeadSession, message: Message, sealed: Sealed): Doing {
  const iv = message.iv!;
  const { aad, text, tag } = forge(message, sealed);
  const { input, output, flaw } = place(message, text);
  let refused = false;
  try {
    if (inPieces(session, message)) {
      yield* pour(session, { ...message, aad }, input, output);
      session.finish(tag);
    } else if (message.asynchronous) yield session.openAsync(iv, aad, input, tag, output);
    else {
      session.open(iv, aad, input, tag, output);
      yield undefined;
    }
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    refused = true;
  }
  if (message.forged === undefined) {
    if (refused) return { output: EMPTY, flaw: 'a genuine message was refused as a forgery' };
    return { output, ...said(flaw()) };
  }
  if (!refused) return { output: EMPTY, flaw: `a message whose ${message.forged} was changed was accepted` };
  // In pieces the text is out before the tag is known.
  if (!inPieces(session, message) && output.some((byte) => byte !== 0)) {
    return { output: EMPTY, flaw: 'plaintext of a message that was refused is left in the output' };
  }
  return { output: EMPTY, ...said(flaw()) };
}

/** The message with a bit turned over where it shall be forged. */
export function forge(message: Message, sealed: Sealed): Sealed & { readonly aad: Uint8Array } {
  const bend = (bytes: Uint8Array): Uint8Array => {
    const bent = Uint8Array.from(bytes);
    bent[bent.length >> 1]! ^= 0x10;
    return bent;
  };
  const aad = message.aad ?? EMPTY;
  switch (message.forged) {
    case 'tag':
      return { ...sealed, aad, tag: bend(sealed.tag) };
    case 'text':
      return { ...sealed, aad, text: bend(sealed.text) };
    case 'aad':
      return { ...sealed, aad: bend(aad) };
    default:
      return { ...sealed, aad };
  }
}

const inPieces = (session: AeadSession, message: Message): boolean =>
  session.incremental && message.pieces.length > 1 && message.layout !== 'overlapping';

function* pour(session: AeadSession, message: Message, input: Uint8Array, output: Uint8Array): Work {
  const aad = message.aad ?? EMPTY;
  session.begin(message.iv!);
  // Additional data in two pieces as well.
  const middle = aad.length >> 1;
  for (const piece of [aad.subarray(0, middle), aad.subarray(middle)]) {
    if (piece.length > 0) session.aad(piece);
  }
  let at = 0;
  for (const bytes of message.pieces) {
    const from = input.subarray(at, at + bytes);
    const to = output.subarray(at, at + bytes);
    if (message.asynchronous) yield session.updateAsync(from, to);
    else {
      session.update(from, to);
      yield undefined;
    }
    at += bytes;
  }
}

// --- Hashes and MACs ---------------------------------------------------------------------------------------------------------------

function* digestWork(
  choice: DriverChoice,
  trial: Trial,
  messages: readonly Message[],
  outcomes: Outcome[],
): Work {
  const { algorithm } = trial;
  if (algorithm.kind !== 'hash' && algorithm.kind !== 'mac') return;
  const options = optionsOf(choice);
  let session: DigestSession =
    algorithm.kind === 'hash'
      ? choice.driver.hash(algorithm, options)
      : lent(keyAt(messages, 0), (key) => choice.driver.mac(algorithm, key, options));
  try {
    for (const [i, message] of messages.entries()) {
      const input = new Guarded(message.input.length, message.inputOffset);
      const output = new Guarded(trial.outputBytes ?? algorithm.digestBytes, message.outputOffset);
      input.view.set(message.input);
      try {
        // A fresh session needs no restart, and `once` does it itself.
        if (i > 0 && message.key) lent(message.key, (key) => session.restart(key));
        else if (i > 0 && message.pieces.length > 1) session.restart();
        if (message.pieces.length === 1) {
          if (message.asynchronous) yield session.onceAsync(input.view, output.view);
          else {
            session.once(input.view, output.view);
            yield undefined;
          }
        } else {
          let at = 0;
          for (const [n, bytes] of message.pieces.entries()) {
            if (n > 0 && n === message.handoverAfter) session = succeeded(session);
            const piece = input.view.subarray(at, at + bytes);
            if (message.asynchronous) yield session.updateAsync(piece);
            else {
              session.update(piece);
              yield undefined;
            }
            at += bytes;
          }
          session.digest(output.view);
        }
        const changed = Buffer.compare(input.view, message.input) === 0 ? undefined : 'the input was changed';
        outcomes.push({
          output: output.view,
          ...said(output.damage(output.view.length) ?? input.damage(input.view.length) ?? changed),
        });
      } catch (error) {
        if (!mayRefuse(error)) throw error;
        outcomes.push({ output: EMPTY, refused: true });
        if (!session.usable) return;
      }
    }
  } finally {
    session.close();
  }
}

/** A clone in the place of the session, which first goes another way: what it hashes then must not come into the clone's digest. */
function succeeded(session: DigestSession): DigestSession {
  let clone: DigestSession;
  try {
    clone = session.clone();
  } catch (error) {
    // A driver that cannot copy says so and loses nothing by it.
    if ((error as { code?: unknown }).code === 'DRIVER_FAILED' && session.usable) return session;
    throw error;
  }
  session.update(Uint8Array.of(0x5a));
  session.close();
  return clone;
}
