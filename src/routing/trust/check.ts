/**
 * May an implementation be trusted? Known answers, then the awkward requests of `plan.ts` held against another implementation.
 *
 * Synchronous, since it comes before an implementation's first use. 40 to 90 requests: some milliseconds over a library; in a guest
 * where a request is two system calls of 50 µs each 10 ms for a hash and 20 to 50 ms for a cipher, half of which the kernel takes to close a
 * dozen sessions.
 */
import type { Algorithm } from '../../algorithms.js';
import { type DriverChoice, optionsOf } from '../../drivers/registry.js';
import type { Reason } from '../../errors.js';
import { type Difference, type Failure, failureOf, joined } from './failure.js';
import { judgeNow } from './judge.js';
import { publishedAnswer, transcriptAnswer } from './known-answers.js';
import { doNow, type Outcome, perform, type Sealed } from './perform.js';
import { planOf } from './plan.js';
import { itself, type Reference, references } from './reference.js';
import { mayRefuse, undecided } from './refusal.js';
import { shrinkNow } from './shrink.js';
import { transcript, transcriptDigest } from './transcript.js';
import { message, type Trial } from './trial.js';

export type Verdict =
  | {
      readonly trusted: true;
      /** Requests whose answers were right. */
      readonly checks: number;
      /** Who was asked for the right answers, besides the known ones: `libcrypto`; undefined where nobody else has the algorithm. */
      readonly reference?: string;
    }
  | { readonly trusted: false; readonly evidence: Failure }
  /** Neither: it is not there, takes no such request, or something ran out. */
  | { readonly trusted: 'unknown'; readonly reason: Reason };

export interface CheckOptions {
  /** Who says what is right. Default: libcrypto where it has the algorithm, else another software driver, else known answers alone. */
  readonly reference?: DriverChoice;
}

/** Never throws for what the driver does. */
export function checkImplementation(
  algorithm: Algorithm,
  choice: DriverChoice,
  options: CheckOptions = {},
): Verdict {
  const probe = choice.driver.probe();
  const support = probe.available
    ? choice.driver.supports(algorithm, optionsOf(choice))
    : { supported: false as const, reason: probe.reason };
  if (!support.supported) return { trusted: 'unknown', reason: support.reason };
  try {
    const known = knownAnswers(algorithm, choice);
    const given = options.reference;
    const candidates = given
      ? [{ choice: given, label: given.driver.name, independent: true }]
      : references(choice, algorithm);
    for (const reference of candidates) {
      const verdict = differential(algorithm, choice, reference, known);
      if (verdict) return verdict;
    }
    if (known.evidence) return { trusted: false, evidence: known.evidence };
    // Nobody to compare with: known answers say that whole messages are right, and then the rest must agree with them.
    return differential(algorithm, choice, itself(choice), known) ?? nobody(algorithm);
  } catch (error) {
    const reason = undecided(error);
    if (reason) return { trusted: 'unknown', reason };
    throw error;
  }
}

export interface Known {
  readonly checks: number;
  readonly evidence?: Failure;
}

/**
 * @param known what the known answers said
 * @returns undefined where the reference is of no use: it fails itself, or takes no such message
 */
function differential(
  algorithm: Algorithm,
  choice: DriverChoice,
  reference: Reference,
  known: Known,
): Verdict | undefined {
  let compared = 0;
  const trials = [...(known.evidence ? [transcript(algorithm)] : []), ...planOf(algorithm)];
  for (const trial of trials) {
    const judgement = judgeNow(choice, trial, reference);
    if (!judgement.failure) {
      compared += judgement.requests;
      continue;
    }
    // Where a library is wrong, the one that differs from it must not pay for it.
    if (reference.independent && knownAnswers(algorithm, reference.choice).evidence) return undefined;
    return { trusted: false, evidence: smallest(choice, trial, reference) ?? judgement.failure };
  }
  if (compared === 0) return undefined;
  // The reference agrees with it: they are wrong together.
  if (known.evidence) return { trusted: false, evidence: known.evidence };
  const checks = known.checks + compared;
  return { trusted: true, checks, ...(reference.independent ? { reference: reference.label } : {}) };
}

const nobody = (algorithm: Algorithm): Verdict => ({
  trusted: 'unknown',
  reason: {
    code: 'ALGORITHM_NOT_OFFERED',
    message: `it takes none of the messages that ${algorithm.name} is checked with`,
  },
});

/** The failure of the smallest trial that still fails. */
function smallest(choice: DriverChoice, trial: Trial, reference: Reference): Failure | undefined {
  let last: Failure | undefined;
  shrinkNow(trial, (candidate) => {
    try {
      const { failure } = judgeNow(choice, candidate, reference);
      if (failure) last = failure;
      return failure !== undefined;
    } catch {
      return false;
    }
  });
  return last;
}

/** What was published, and what independent implementations agree on. @throws what decides nothing */
export function knownAnswers(algorithm: Algorithm, choice: DriverChoice): Known {
  const published = publishedCheck(algorithm, choice);
  if (published.evidence) return published;
  const agreed = transcriptCheck(algorithm, choice);
  return { ...agreed, checks: published.checks + agreed.checks };
}

function publishedCheck(algorithm: Algorithm, choice: DriverChoice): Known {
  const answer = publishedAnswer(algorithm);
  if (!answer) return { checks: 0 };
  const { key, iv, aad, input, output, tag, source } = answer;
  const own = (text: Uint8Array) => message(text, { iv, ...(key ? { key } : {}), ...(aad ? { aad } : {}) });
  const expected = { output, ...(tag ? { tag } : {}) };
  const label = { label: `the published vector of ${source}` };
  if (algorithm.kind === 'hash' || algorithm.kind === 'mac') {
    return compared(choice, { algorithm, task: 'digest', sessions: [[own(input)]] }, [expected], label);
  }
  const sealing: Trial = { algorithm, task: 'encrypt', sessions: [[own(input)]] };
  const there = compared(choice, sealing, [expected], label);
  if (there.evidence) return there;
  // An AEAD's message is the plaintext in either direction.
  const opening: Trial = {
    algorithm,
    task: 'decrypt',
    sessions: [[own(algorithm.kind === 'aead' ? input : output)]],
  };
  const back = compared(choice, opening, [{ output: input }], label, tag && [{ text: output, tag }]);
  return { ...back, checks: there.checks + back.checks };
}

function transcriptCheck(algorithm: Algorithm, choice: DriverChoice): Known {
  const answer = transcriptAnswer(algorithm);
  if (!answer) return { checks: 0 };
  const trial = transcript(algorithm);
  const label = { label: `the known answers (agreed on by ${answer.agreed})` };
  const outcomes: Outcome[][] = [];
  const evidence = attempt(choice, trial, undefined, outcomes, label);
  if (evidence) return { checks: 0, evidence };
  const own = outcomes[0]!;
  // A driver that does not take all of it has no digest to compare.
  if (own.some(({ refused }) => refused)) return { checks: 0 };
  const digest = transcriptDigest(own);
  if (digest !== answer.digest) {
    const what = `the digest of all outputs is ${digest} instead of ${answer.digest}`;
    return {
      checks: 0,
      evidence: failureOf(choice, trial, undefined, label, { session: 0, message: 0, what }),
    };
  }
  const checks = own.length;
  if (trial.task === 'digest') return { checks };
  // What was encrypted must come back.
  const messages = trial.sessions[0]!.map((given, i) =>
    algorithm.kind === 'aead' ? given : { ...given, input: own[i]!.output },
  );
  const opening: Trial = { algorithm, task: 'decrypt', sessions: [messages] };
  const plain = trial.sessions[0]!.map(({ input }) => ({ output: input }));
  const sealed = own.map(({ output, tag }) => ({ text: output, tag: tag ?? new Uint8Array() }));
  const back = compared(choice, opening, plain, label, algorithm.kind === 'aead' ? sealed : undefined);
  return { ...back, checks: checks + back.checks };
}

/** Does a trial of one session and holds each message against what must come out. */
function compared(
  choice: DriverChoice,
  trial: Trial,
  expected: readonly Outcome[],
  label: Pick<Reference, 'label'>,
  sealed?: readonly Sealed[],
): Known {
  const outcomes: Outcome[][] = [];
  const evidence = attempt(choice, trial, sealed && [sealed], outcomes, label);
  if (evidence) return { checks: 0, evidence };
  let checks = 0;
  for (const [i, outcome] of outcomes[0]!.entries()) {
    if (outcome.refused) continue;
    const [right, got] = [joined(expected[i]!), joined(outcome)];
    if (Buffer.compare(right, got) !== 0) {
      const difference: Difference = {
        session: 0,
        message: i,
        what: 'the output is wrong',
        expected: right,
        got,
      };
      return { checks, evidence: failureOf(choice, trial, sealed && [sealed], label, difference) };
    }
    checks++;
  }
  return { checks };
}

/** Evidence where the driver fails or does what no driver may, whatever the bytes. @throws what decides nothing */
function attempt(
  choice: DriverChoice,
  trial: Trial,
  sealed: readonly (readonly Sealed[])[] | undefined,
  outcomes: Outcome[][],
  label: Pick<Reference, 'label'>,
): Failure | undefined {
  try {
    doNow(perform(choice, trial, sealed, outcomes));
  } catch (error) {
    if (undecided(error) || mayRefuse(error)) throw error;
    const at = { session: 0, message: outcomes[0]?.length ?? 0 };
    return failureOf(choice, trial, sealed, label, { ...at, what: 'the driver failed', error });
  }
  const flawed = outcomes[0]!.findIndex(({ flaw }) => flaw !== undefined);
  if (flawed < 0) return undefined;
  const what = outcomes[0]![flawed]!.flaw!;
  return failureOf(choice, trial, sealed, label, { session: 0, message: flawed, what });
}
