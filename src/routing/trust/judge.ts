/** Does a trial over a driver and holds what came out against a reference. */
import type { DriverChoice } from '../../drivers/registry.js';
import { type Difference, type Failure, failureOf, joined } from './failure.js';
import { doNow, doSoon, type Outcome, perform, type Sealed } from './perform.js';
import { answerOf, type Reference, sealedBy } from './reference.js';
import { undecided } from './refusal.js';
import type { Trial } from './trial.js';

export interface Judgement {
  readonly failure?: Failure;
  /** Requests whose answers were compared. */
  readonly requests: number;
  readonly bytes: number;
  /** Messages that the driver, or the reference, does not take. */
  readonly refused: number;
}

interface Done {
  readonly sealed: Sealed[][];
  readonly outcomes: Outcome[][];
  readonly error?: { readonly thrown: unknown };
}

const NOTHING: Judgement = { requests: 0, bytes: 0, refused: 0 };

/** @throws what says nothing about the driver's answers (`undecided`) */
export function judgeNow(choice: DriverChoice, trial: Trial, reference: Reference): Judgement {
  const sealed = sealedBy(reference, trial);
  if (!sealed) return NOTHING;
  const outcomes: Outcome[][] = [];
  try {
    doNow(perform(choice, trial, sealed, outcomes));
  } catch (thrown) {
    return judged(choice, trial, reference, { sealed, outcomes, error: { thrown } });
  }
  return judged(choice, trial, reference, { sealed, outcomes });
}

/** As `judgeNow`, for trials with asynchronous requests. */
export async function judgeSoon(
  choice: DriverChoice,
  trial: Trial,
  reference: Reference,
): Promise<Judgement> {
  const sealed = sealedBy(reference, trial);
  if (!sealed) return NOTHING;
  const outcomes: Outcome[][] = [];
  try {
    await doSoon(perform(choice, trial, sealed, outcomes));
  } catch (thrown) {
    return judged(choice, trial, reference, { sealed, outcomes, error: { thrown } });
  }
  return judged(choice, trial, reference, { sealed, outcomes });
}

function judged(choice: DriverChoice, trial: Trial, reference: Reference, done: Done): Judgement {
  let requests = 0;
  let bytes = 0;
  let refused = 0;
  const failed = (difference: Difference): Judgement => ({
    failure: failureOf(choice, trial, done.sealed, reference, difference),
    requests,
    bytes,
    refused,
  });
  for (const [session, messages] of trial.sessions.entries()) {
    for (const [message, outcome] of (done.outcomes[session] ?? []).entries()) {
      const own = messages[message]!;
      if (outcome.flaw !== undefined) return failed({ session, message, what: outcome.flaw });
      const answer = outcome.refused ? undefined : answerOf(reference, trial, messages, message);
      if (!answer) {
        refused++;
        continue;
      }
      requests += own.pieces.length;
      bytes += own.input.length;
      if (own.forged) continue;
      const [expected, got] = [joined(answer), joined(outcome)];
      if (Buffer.compare(expected, got) === 0) continue;
      const text = Buffer.compare(answer.output, outcome.output) === 0 ? 'the tag is wrong' : undefined;
      return failed({ session, message, what: text ?? 'the output is wrong', expected, got });
    }
  }
  if (done.error) {
    const { thrown } = done.error;
    if (undecided(thrown)) throw thrown;
    const session = trial.sessions.findIndex(
      (messages, i) => (done.outcomes[i]?.length ?? 0) < messages.length,
    );
    return failed({
      session: Math.max(0, session),
      message: done.outcomes[session]?.length ?? 0,
      what: 'the driver failed',
      error: thrown,
    });
  }
  return { requests, bytes, refused };
}
