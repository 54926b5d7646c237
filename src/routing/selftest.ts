/**
 * Differential fuzz: every driver, every algorithm that it has, request sequences drawn at random, each held against another
 * implementation; what differs is made as small as can be.
 *
 * The trials of an algorithm follow from the seed and their number alone, whoever is tried and whatever else is: the same seed over the
 * same algorithm finds the same failure.
 */
import { performance } from 'node:perf_hooks';

import { type Algorithm, algorithms } from '../algorithms.js';
import type { Implementation } from '../drivers/driver.js';
import { allDrivers, type DriverChoice, labelOf, optionsOf } from '../drivers/registry.js';
import type { Reason } from '../errors.js';
import { checkImplementation, knownAnswers } from './trust/check.js';
import type { Failure } from './trust/failure.js';
import { type Judgement, judgeSoon } from './trust/judge.js';
import { SeededRandom } from './trust/random.js';
import { randomTrial } from './trust/random-trial.js';
import { itself, type Reference, references } from './trust/reference.js';
import { undecided } from './trust/refusal.js';
import { shrinkSoon } from './trust/shrink.js';
import type { Trial } from './trust/trial.js';

export interface SelftestPlan {
  /** The known answers of what is named are tried however long that takes; the whole table, as far as there is time, if absent. */
  readonly algorithms?: readonly Algorithm[];
  /** Who is tried; every driver that is there if absent. */
  readonly drivers?: readonly DriverChoice[];
  readonly seconds: number;
  /** Trials for each implementation at most; as many as there is time for if absent. */
  readonly trials?: number;
  /** 0 … 2^32 - 1 */
  readonly seed: number;
}

export interface SelftestHooks {
  /** Before each trial. */
  progress?(state: { readonly driver: string; readonly algorithm: string; readonly requests: number }): void;
  failure?(found: SelftestFailure): void;
  readonly signal?: AbortSignal;
}

/** One implementation of one algorithm. */
export interface Tried {
  /** As `--driver` takes it. */
  readonly driver: string;
  readonly kernelDriver?: string;
  readonly algorithm: string;
  /** Who said what is right; undefined where the driver was held against itself. */
  readonly reference?: string;
  readonly trials: number;
  /** Requests whose answers were compared, those of the known answers among them. */
  readonly requests: number;
  readonly bytes: number;
  /** Messages that the driver or the reference does not take. */
  readonly refused: number;
  readonly equal: boolean;
}

export interface Untried {
  readonly driver: string;
  /** Undefined for a driver that is not there at all. */
  readonly algorithm?: string;
  /** Undefined where there was no time. */
  readonly reason?: Reason;
  /** It was tried, but could not be gone on with. */
  readonly stopped?: true;
}

export interface SelftestFailure extends Failure {
  /** The trial's number, with which and the seed it was drawn; undefined for a known answer. */
  readonly trial?: number;
  /** It did not fail each time. */
  readonly intermittent?: true;
  readonly implementation?: Implementation;
}

export interface Selftest {
  readonly seed: number;
  readonly elapsedNs: number;
  readonly interrupted: boolean;
  readonly tried: readonly Tried[];
  readonly untried: readonly Untried[];
  readonly failures: readonly SelftestFailure[];
}

/** A failing trial is tried so often before it counts as one that fails now and then. */
const REPEATS = 3;

/** Does not throw for what drivers do. */
export async function selftest(plan: SelftestPlan, hooks: SelftestHooks = {}): Promise<Selftest> {
  const start = performance.now();
  const end = start + plan.seconds * 1000;
  const over = (): boolean => performance.now() >= end || hooks.signal?.aborted === true;
  const wanted = plan.algorithms ?? algorithms();
  const untried: Untried[] = [];
  const choices: DriverChoice[] = [];
  for (const choice of plan.drivers ?? allDrivers().map((driver) => ({ driver }))) {
    const probe = choice.driver.probe();
    if (probe.available) choices.push(choice);
    else untried.push({ driver: labelOf(choice), reason: probe.reason });
  }
  const waiting = choices.flatMap((choice) => wanted.map((algorithm) => ({ choice, algorithm })));
  // Where there is no time for all of them, another seed reaches others.
  shuffle(waiting, new SeededRandom('order', plan.seed));
  const subjects: Subject[] = [];
  const failures: SelftestFailure[] = [];
  let requests = 0;

  const step = async (subject: Subject): Promise<void> => {
    const { label, algorithm } = subject;
    hooks.progress?.({ driver: label, algorithm: algorithm.name, requests });
    const before = subject.requests;
    const found = await subject.next(plan.seed);
    requests += subject.requests - before;
    if (!found) return;
    failures.push(found);
    hooks.failure?.(found);
  };

  for (const { choice, algorithm } of waiting) {
    const driver = labelOf(choice);
    // What was asked for by name is looked at in any case.
    if (plan.algorithms ? hooks.signal?.aborted : over()) {
      untried.push({ driver, algorithm: algorithm.name });
      continue;
    }
    const support = choice.driver.supports(algorithm, optionsOf(choice));
    if (!support.supported) {
      untried.push({ driver, algorithm: algorithm.name, reason: support.reason });
      continue;
    }
    const subject = new Subject(choice, algorithm);
    subjects.push(subject);
    await step(subject);
    // Whoever waits for a signal, or draws, gets a turn.
    await new Promise(setImmediate);
  }
  const most = plan.trials ?? Number.POSITIVE_INFINITY;
  const goes = ({ going, trials }: Subject): boolean => going && trials < most;
  for (let left = subjects.filter(goes); left.length > 0 && !over(); ) {
    for (const subject of left) {
      if (over()) break;
      await step(subject);
      await new Promise(setImmediate);
    }
    left = left.filter(goes);
  }
  for (const { short, label, algorithm } of subjects) {
    if (short) untried.push({ driver: label, algorithm: algorithm.name, reason: short, stopped: true });
  }
  return {
    seed: plan.seed,
    elapsedNs: Math.round((performance.now() - start) * 1e6),
    interrupted: hooks.signal?.aborted === true,
    tried: subjects.filter(({ requests: done, equal }) => done > 0 || !equal).map((one) => one.summary()),
    untried: untried.sort(byOrder(choices, wanted)),
    failures,
  };
}

function shuffle<T>(list: T[], random: SeededRandom): void {
  for (let i = list.length - 1; i > 0; i--) {
    const j = random.integer(0, i);
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
}

/** By driver, then as in the table. */
function byOrder(
  choices: readonly DriverChoice[],
  wanted: readonly Algorithm[],
): (a: Untried, b: Untried) => number {
  const drivers = choices.map(labelOf);
  const names = wanted.map(({ name }) => name);
  const rank = ({ driver, algorithm }: Untried): number =>
    drivers.indexOf(driver) * (names.length + 1) + (algorithm === undefined ? -1 : names.indexOf(algorithm));
  return (a, b) => rank(a) - rank(b);
}

class Subject {
  readonly label: string;
  readonly algorithm: Algorithm;
  readonly #choice: DriverChoice;
  #reference: Reference | undefined;
  #bytes = 0;
  #refused = 0;
  trials = 0;
  requests = 0;
  equal = true;
  /** Why it could not be gone on with. */
  short: Reason | undefined;

  constructor(choice: DriverChoice, algorithm: Algorithm) {
    this.label = labelOf(choice);
    this.algorithm = algorithm;
    this.#choice = choice;
  }

  /** One difference is enough: what follows it would be more of the same. */
  get going(): boolean {
    return this.equal && this.short === undefined;
  }

  /** Known answers first, and then a trial each time. */
  async next(seed: number): Promise<SelftestFailure | undefined> {
    try {
      if (!this.#reference) {
        this.#reference = firstSound(this.#choice, this.algorithm);
        const known = knownAnswers(this.algorithm, this.#choice);
        this.requests += known.checks;
        if (known.evidence) return this.#knownWrong(known.evidence);
      }
      const at = this.trials++;
      const random = new SeededRandom(`${this.algorithm.name} ${at}`, seed);
      const trial = randomTrial(this.algorithm, random);
      const judgement = await judgeSoon(this.#choice, trial, this.#reference);
      this.#count(judgement);
      if (!judgement.failure) return undefined;
      const { failure, intermittent } = await this.#smallest(trial, judgement.failure);
      return this.#failed(failure, at, intermittent);
    } catch (error) {
      this.short = undecided(error) ?? {
        code: 'SYSTEM_ERROR',
        message: error instanceof Error ? error.message : String(error),
      };
      return undefined;
    }
  }

  /** Evidence that names a digest says too little: the check finds the request. */
  #knownWrong(evidence: Failure): SelftestFailure {
    const reference = this.#reference!;
    if (!reference.independent) return this.#failed(evidence);
    const verdict = checkImplementation(this.algorithm, this.#choice, { reference: reference.choice });
    return this.#failed(verdict.trusted === false ? verdict.evidence : evidence);
  }

  #count({ requests, bytes, refused }: Judgement): void {
    this.requests += requests;
    this.#bytes += bytes;
    this.#refused += refused;
  }

  #failed(failure: Failure, trial?: number, intermittent = false): SelftestFailure {
    this.equal = false;
    const implementation = this.#choice.driver.implementation(this.algorithm, optionsOf(this.#choice));
    return {
      ...failure,
      ...(trial === undefined ? {} : { trial }),
      ...(intermittent ? { intermittent } : {}),
      ...(implementation ? { implementation } : {}),
    };
  }

  async #smallest(trial: Trial, first: Failure): Promise<{ failure: Failure; intermittent: boolean }> {
    const again = async (candidate: Trial): Promise<Failure | undefined> => {
      try {
        return (await judgeSoon(this.#choice, candidate, this.#reference!)).failure;
      } catch {
        return undefined;
      }
    };
    for (let i = 0; i < REPEATS; i++) {
      if (!(await again(trial))) return { failure: first, intermittent: true };
    }
    let smallest = first;
    await shrinkSoon(trial, async (candidate) => {
      const failure = await again(candidate);
      if (failure) smallest = failure;
      return failure !== undefined;
    });
    return { failure: smallest, intermittent: false };
  }

  summary(): Tried {
    const { kernelDriver } =
      this.#choice.driver.implementation(this.algorithm, optionsOf(this.#choice)) ?? {};
    return {
      driver: this.label,
      ...(kernelDriver === undefined ? {} : { kernelDriver }),
      algorithm: this.algorithm.name,
      ...(this.#reference?.independent ? { reference: this.#reference.label } : {}),
      trials: this.trials,
      requests: this.requests,
      bytes: this.#bytes,
      refused: this.#refused,
      equal: this.equal,
    };
  }
}

/** The first reference that gives the known answers itself, or the driver against itself. */
function firstSound(choice: DriverChoice, algorithm: Algorithm): Reference {
  for (const reference of references(choice, algorithm)) {
    try {
      if (!knownAnswers(algorithm, reference.choice).evidence) return reference;
    } catch {
      // It is short of something: the next.
    }
  }
  return itself(choice);
}
