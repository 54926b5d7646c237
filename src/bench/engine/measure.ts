/**
 * Measuring: contestants side by side, round by round in turn, so that whatever the machine does besides hits all alike.
 *
 * Each figure is the median of its rounds by elapsed time from the monotonic clock; CPU time is told beside it. Outputs are compared with
 * another implementation's before and after, and after the rounds those of the very sessions that were timed. Rounds that spread are
 * marked, not hidden; and nothing here prints.
 */
import { loadavg } from 'node:os';
import { setImmediate as breathe } from 'node:timers/promises';

import type { Algorithm } from '../../algorithms.js';
import type { DriverChoice } from '../../drivers/registry.js';
import { nodeRangeError, nodeTypeError, UnavailableError } from '../../errors.js';
import {
  type Doubt,
  type Latency,
  type Measurement,
  type Operation,
  RESULTS_FORMAT,
  RESULTS_VERSION,
  type ResultSet,
  type Run,
} from '../model.js';
import { type CpuTimes, cpuBetween, INSTRUMENTS, type Instruments } from './clock.js';
import { machineFacts } from './machine.js';
import { ThreadPool } from './parallel.js';
import { LocalRunner, type Round, type Runner } from './runner.js';
import { median, middleSpread, spread } from './statistics.js';
import { makeWorkload, type Subject, takes, type Workload } from './workload.js';

/** Who takes part: a driver, or one kernel driver of it. */
export interface Contestant extends DriverChoice {
  /** `afalg`, `afalg:virtio_crypto_aes_cbc`: what `--driver` takes. */
  readonly label: string;
}

export interface PlannedSubject {
  readonly algorithm: Algorithm;
  readonly operation: Operation;
  /** Bytes a request, where they are not the plan's. */
  readonly sizes?: readonly number[];
  /** Bytes of additional data that go with each message of an AEAD; none if absent. */
  readonly aadBytes?: number;
}

export interface Plan {
  readonly subjects: readonly PlannedSubject[];
  readonly contestants: readonly Contestant[];
  /** Bytes a request. Those that an algorithm cannot take are left out. */
  readonly sizes: readonly number[];
  /**
   * Seconds for each contestant at each size, all rounds together. Warm-up, latencies and checks come on top (`pointSeconds`). Where one
   * request alone takes longer, it takes as long as it takes.
   */
  readonly seconds: number;
  readonly rounds?: number;
  /** Worker threads with a request in flight each. Absent: one request at a time on this thread. */
  readonly parallel?: number;
  readonly toolVersion?: string;
  /** What is asked between two rounds: a request that has begun is not broken off. */
  readonly signal?: AbortSignal;
}

/** What happens while measuring. `done` and `total` count points: a contestant at a size. */
export interface Hooks {
  begin?(point: Point, done: number, total: number): void;
  end?(point: Point, measurement: Measurement, done: number, total: number, detail: Detail): void;
}

export interface Point extends Subject {
  readonly contestant: Contestant;
}

/** What a measurement's place in the result model has no room for. */
export interface Detail {
  /** Why there is no figure, or none to rely on. */
  readonly problem?: string;
  /** Elapsed nanoseconds of a request in the fastest round: what is left where others had the CPU in most of them. */
  readonly fastestNs?: number;
  /** With `parallel`: each thread's requests, and its time. */
  readonly threads?: readonly Round[];
  readonly hardware?: 'yes' | 'no' | 'unknown';
}

/** What the engine takes from its surroundings; tests give it others. */
export interface Surroundings {
  readonly instruments?: Instruments;
  /** Who vouches for everybody's bytes. */
  readonly reference?: DriverChoice;
}

/** Elapsed time is compared, so a few rounds that each last long enough to see a scheduler's tick are better than many. */
const ROUNDS = 7;
/** Rounds whose middle half lies further apart than this make their median doubtful. */
export const NOISY_SPREAD = 0.1;
/** Fewer requests than this in all cannot carry the digits that are printed. */
const FEW_REQUESTS = 20;

/** Before the first round of each size: V8 has to see a loop for a while before it compiles it, and a CPU to speed up. */
const warmUpNs = (seconds: number): number => Math.min(0.2 * seconds, 0.5) * 1e9;
const latencyNs = (seconds: number): number => Math.min(0.15 * seconds, 0.3) * 1e9;
/** A contestant's very first warm-up goes on while it still makes a difference, in slices of so long. */
const SLICE_NS = 250e6;
const MOST_SLICES = 4;
const STILL_WARMING = 1.05;

/** Seconds that a contestant takes at a size, with warm-up and latencies, for so many seconds of rounds. */
export function pointSeconds(seconds: number): number {
  return seconds + (warmUpNs(seconds) + latencyNs(seconds)) / 1e9;
}

/**
 * Measures everything that the plan names, in its order. A contestant that cannot do a subject gives measurements with status
 * `unavailable`, one that fails on the way or gives wrong bytes `failed`; the reason is among the run's notes. After `signal` aborts,
 * what is finished is returned and a note says so.
 *
 * @throws RangeError, TypeError for a plan by which nothing would be measured
 */
export async function measure(
  plan: Plan,
  hooks: Hooks = {},
  surroundings: Surroundings = {},
): Promise<ResultSet> {
  checkPlan(plan);
  const pool = plan.parallel === undefined ? undefined : new ThreadPool(plan.parallel);
  try {
    return await new Measuring(plan, hooks, surroundings, pool).all();
  } finally {
    await pool?.close();
  }
}

/**
 * @throws RangeError or TypeError for a plan by which nothing would be measured, or without end.
 */
function checkPlan({ subjects, contestants, sizes, seconds, rounds, parallel }: Plan): void {
  if (!(seconds > 0 && seconds <= MAX_SECONDS)) {
    throw nodeRangeError(
      'ERR_OUT_OF_RANGE',
      `"seconds" must be above 0 and at most ${MAX_SECONDS}, not ${seconds}`,
    );
  }
  for (const [name, value] of Object.entries({ rounds, parallel })) {
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= 1000))
      throw nodeRangeError(
        'ERR_OUT_OF_RANGE',
        `"${name}" must be a whole number from 1 to 1000, not ${value}`,
      );
  }
  for (const [name, list] of Object.entries({ subjects, contestants, sizes })) {
    if (!Array.isArray(list)) throw nodeTypeError('ERR_INVALID_ARG_TYPE', `"${name}" must be an array`);
  }
  if (subjects.length === 0 || contestants.length === 0) {
    throw nodeRangeError('ERR_OUT_OF_RANGE', 'a plan needs subjects and contestants');
  }
  for (const { algorithm, sizes: own = sizes } of subjects) {
    if (own.some((bytes) => takes(algorithm, bytes))) continue;
    throw nodeRangeError(
      'ERR_OUT_OF_RANGE',
      `${algorithm.name} takes none of the sizes: ${own.join(', ') || 'none is named'}`,
    );
  }
}

const MAX_SECONDS = 100_000;

/** Twice as long, or half: then something else was going on in the one pass or in the other. */
const apart = (a: number, b: number): boolean => b > 0 && (a > 2 * b || b > 2 * a);

/** One contestant at one size. */
interface Entry {
  readonly contestant: Contestant;
  readonly workload?: Workload;
  readonly runner?: Runner;
  /** Why there is nothing to measure, or no more. */
  problem?: { readonly text: string; readonly status: 'unavailable' | 'failed' };
  wrong?: 'before' | 'after';
  latency?: Latency | undefined;
  usedNs: number;
  readonly rounds: TimedRound[];
  /** Everything was done that there was to do. */
  complete: boolean;
}

interface TimedRound extends Round {
  readonly cpu: CpuTimes;
  readonly interrupts: number | undefined;
  readonly threads?: readonly Round[];
}

class Measuring {
  readonly #plan: Plan;
  readonly #hooks: Hooks;
  readonly #instruments: Instruments;
  readonly #reference: DriverChoice | undefined;
  readonly #pool: ThreadPool | undefined;
  /** Labels of contestants that have run before. */
  readonly #warm = new Set<string>();
  readonly #results: ReadonlyMap<
    Contestant,
    { readonly measurements: Measurement[]; readonly notes: Set<string> }
  >;
  #done = 0;

  constructor(plan: Plan, hooks: Hooks, surroundings: Surroundings, pool: ThreadPool | undefined) {
    this.#plan = plan;
    this.#hooks = hooks;
    this.#instruments = surroundings.instruments ?? INSTRUMENTS;
    this.#reference = surroundings.reference;
    this.#pool = pool;
    this.#results = new Map(
      plan.contestants.map((contestant) => [contestant, { measurements: [], notes: new Set<string>() }]),
    );
  }

  async all(): Promise<ResultSet> {
    const { subjects, contestants, sizes, signal, toolVersion } = this.#plan;
    const machine = machineFacts();
    const measuredAt = new Date().toISOString();
    const points = subjects.flatMap(({ sizes: own = sizes, ...subject }) =>
      own
        .filter((bytes) => takes(subject.algorithm, bytes))
        .map((requestBytes): Subject => ({ ...subject, requestBytes })),
    );
    const total = points.length * contestants.length;
    for (const subject of points) {
      if (signal?.aborted) break;
      await this.#size(subject, total);
    }
    const interrupted = signal?.aborted && this.#done < total;
    return {
      format: RESULTS_FORMAT,
      version: RESULTS_VERSION,
      tool: 'hwcrypt',
      ...(toolVersion === undefined ? {} : { toolVersion }),
      source: 'this machine',
      measuredAt,
      machine: { ...machine, loadAfter: loadavg()[0] as number },
      runs: [...this.#results].map(([{ label }, { measurements, notes }]): Run => {
        return { label, measurements, kdfs: [], doubts: [], notes: [...notes] };
      }),
      skipped: [],
      notes: interrupted ? [`interrupted after ${this.#done} of ${total} measurements`] : [],
    };
  }

  /** All contestants at one size. */
  async #size(subject: Subject, total: number): Promise<void> {
    const entries: Entry[] = [];
    try {
      for (const contestant of this.#plan.contestants) {
        if (this.#plan.signal?.aborted) return;
        this.#hooks.begin?.({ ...subject, contestant }, this.#done, total);
        entries.push(await this.#enter(subject, contestant));
      }
      await this.#compete(entries);
      for (const entry of entries) {
        const { contestant } = entry;
        const measurement = measurementOf(entry, subject, this.#plan);
        // What an interruption left half done would look like a result.
        if (measurement === undefined) continue;
        const { measurements, notes } = this.#results.get(contestant)!;
        measurements.push(measurement);
        for (const note of notesOf(entry, subject)) notes.add(note);
        this.#done++;
        this.#hooks.end?.({ ...subject, contestant }, measurement, this.#done, total, detailOf(entry));
      }
    } finally {
      for (const { runner, workload } of entries) {
        await runner?.close();
        if (!(runner instanceof LocalRunner)) workload?.close();
      }
    }
  }

  async #enter(subject: Subject, contestant: Contestant): Promise<Entry> {
    const nothing = { contestant, usedNs: 0, rounds: [], complete: false };
    let workload: Workload | undefined;
    try {
      workload = makeWorkload(subject, contestant, this.#reference);
      if (!workload.check()) return { ...nothing, workload, wrong: 'before' };
      const { algorithm, ...rest } = subject;
      const task = { ...rest, algorithm: algorithm.name, driver: contestant.label };
      const runner = (await this.#pool?.open(task)) ?? new LocalRunner(workload, this.#instruments.now);
      return { ...nothing, workload, runner };
    } catch (error) {
      const facts = workload;
      workload?.close();
      const status = error instanceof UnavailableError ? 'unavailable' : 'failed';
      const problem = { text: (error as Error).message, status } as const;
      return { ...nothing, ...(facts ? { workload: { ...facts, close: () => {} } } : {}), problem };
    }
  }

  /** Everybody in turn; whoever fails on the way is out. */
  async #each(
    entries: readonly Entry[],
    action: (entry: Entry, runner: Runner) => Promise<void>,
    from = 0,
  ): Promise<void> {
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[(i + from) % entries.length]!;
      if (this.#plan.signal?.aborted) return;
      if (entry.runner === undefined || entry.problem !== undefined) continue;
      try {
        await action(entry, entry.runner);
      } catch (error) {
        entry.problem = { text: (error as Error).message, status: 'failed' };
      }
      // Signals and timers get their turn.
      await breathe();
    }
  }

  async #compete(entries: readonly Entry[]): Promise<void> {
    const { seconds, rounds = ROUNDS } = this.#plan;
    const roundNs = (seconds * 1e9) / rounds;
    await this.#each(entries, async ({ contestant }, runner) => {
      await this.#warmUp(contestant, runner);
    });
    for (let round = 0; round < rounds; round++) {
      // Who goes first changes from round to round.
      await this.#each(
        entries,
        async (entry, runner) => {
          // Requests that are longer than a round have used the time up before all rounds are over.
          if (entry.usedNs >= seconds * 1e9) return;
          const timed = await this.#round(runner, roundNs);
          // Of several threads the one that was held up least: none shall have worked for less than was asked.
          entry.usedNs += Math.min(timed.elapsedNs, ...(timed.threads ?? []).map((own) => own.elapsedNs));
          entry.rounds.push(timed);
        },
        round,
      );
    }
    await this.#each(entries, async (entry, runner) => {
      entry.latency = await runner.latency(latencyNs(seconds));
    });
    await this.#each(entries, async (entry, runner) => {
      if (!(await runner.verify())) entry.wrong = 'after';
      entry.complete = true;
    });
  }

  async #warmUp({ label }: Contestant, runner: Runner): Promise<void> {
    const { seconds } = this.#plan;
    const ns = warmUpNs(seconds);
    if (this.#warm.has(label)) {
      await runner.warmUp(ns);
      return;
    }
    this.#warm.add(label);
    const slice = Math.max(ns, Math.min(SLICE_NS, seconds * 1e9));
    let before = 0;
    for (let i = 0; i < MOST_SLICES; i++) {
      const { requests, elapsedNs } = await runner.warmUp(slice);
      const rate = requests / elapsedNs;
      if (before > 0 && rate < before * STILL_WARMING) break;
      before = rate;
      if (this.#plan.signal?.aborted || elapsedNs > 2 * slice) break;
    }
  }

  async #round(runner: Runner, ns: number): Promise<TimedRound> {
    const { cpu, interrupts } = this.#instruments;
    const interruptsBefore = interrupts();
    const cpuBefore = cpu();
    const round = await runner.round(ns);
    const used = cpuBetween(cpuBefore, cpu());
    const interruptsAfter = interrupts();
    const served =
      interruptsBefore === undefined || interruptsAfter === undefined
        ? undefined
        : interruptsAfter - interruptsBefore;
    // The kernel's counters are 32 bits wide, and a module that is unloaded takes its line with it.
    return { ...round, cpu: used, interrupts: served !== undefined && served < 0 ? undefined : served };
  }
}

function nameOf({ algorithm, operation, requestBytes }: Subject): string {
  return `${algorithm.name} ${operation}, ${requestBytes} bytes`;
}

function notesOf({ problem, workload }: Entry, subject: Subject): string[] {
  if (problem) return [problem.status === 'failed' ? `${nameOf(subject)}: ${problem.text}` : problem.text];
  const { name } = subject.algorithm;
  if (workload === undefined) return [];
  if (workload.vouchedBy === undefined)
    return [`${name}: nobody else here has it, so no output was compared`];
  if (workload.vouchedBy !== 'itself') return [];
  return [`${name}: nobody else here has it, so outputs were compared with the driver's own inverse only`];
}

function detailOf({ problem, workload, rounds, wrong }: Entry): Detail {
  const { hardware } = workload ?? {};
  const text = problem?.text ?? (wrong === undefined ? undefined : wrongText(wrong));
  const count = rounds[0]?.threads?.length;
  const threads =
    count === undefined
      ? undefined
      : Array.from({ length: count }, (_, thread): Round => {
          const own = rounds.map((round) => round.threads![thread]!);
          return {
            requests: own.reduce((sum, { requests }) => sum + requests, 0),
            elapsedNs: own.reduce((sum, { elapsedNs }) => sum + elapsedNs, 0),
          };
        });
  return {
    ...(text === undefined ? {} : { problem: text }),
    ...(hardware === undefined ? {} : { hardware }),
    ...(rounds.length === 0
      ? {}
      : { fastestNs: Math.min(...rounds.map(({ elapsedNs, requests }) => elapsedNs / requests)) }),
    ...(threads === undefined ? {} : { threads }),
  };
}

const wrongText = (wrong: 'before' | 'after'): string =>
  `the output ${wrong} the measurement was not what another implementation gives`;

function measurementOf(entry: Entry, subject: Subject, plan: Plan): Measurement | undefined {
  const { contestant, workload, rounds, latency } = entry;
  const { algorithm, operation, requestBytes } = subject;
  const common = {
    algorithm: algorithm.name,
    algorithmText: algorithm.name,
    ...(algorithm.kind !== 'hash' && algorithm.keyBytes !== undefined
      ? { keyBits: algorithm.keyBytes * 8 }
      : {}),
    operation,
    driver: contestant.driver.name,
    ...(workload?.kernelDriver === undefined ? {} : { kernelDriver: workload.kernelDriver }),
    requestBytes,
    ...(plan.parallel === undefined ? {} : { parallel: plan.parallel }),
    basis: 'elapsed' as const,
    estimated: false,
  };
  if (entry.problem !== undefined) return { ...common, status: entry.problem.status, doubts: [] };
  if (entry.wrong !== undefined) {
    return { ...common, status: 'failed', doubts: [{ code: 'WRONG_OUTPUT', text: wrongText(entry.wrong) }] };
  }
  if (!entry.complete || rounds.length === 0) return undefined;
  const sum = (of: (round: TimedRound) => number): number =>
    rounds.reduce((total, round) => total + of(round), 0);
  const requests = sum((round) => round.requests);
  const rates = rounds.map((round) => (round.requests * requestBytes * 1e9) / round.elapsedNs);
  const scatter = spread(rates);
  const middle = middleSpread(rates);
  const doubts: Doubt[] = [];
  if (middle > NOISY_SPREAD) {
    const share = `${Math.round(middle * 100)} %`;
    doubts.push({ code: 'NOISY', text: `the middle half of the rounds lies ${share} apart` });
  }
  const typicalNs = (requestBytes * 1e9) / median(rates);
  if (latency !== undefined && apart(latency.p50Ns, typicalNs)) {
    const text = `timed singly, afterwards, half of the requests took ${Math.round(latency.p50Ns)} ns or less; in the rounds one took ${Math.round(typicalNs)} ns`;
    doubts.push({ code: 'LATENCY_APART', text });
  }
  if (requests < FEW_REQUESTS) doubts.push({ code: 'FEW_REQUESTS', text: `${requests} requests in all` });
  const counted = rounds.every(({ interrupts }) => interrupts !== undefined);
  return {
    ...common,
    requests,
    elapsedNs: Math.round(sum((round) => round.elapsedNs)),
    userNs: Math.round(sum((round) => round.cpu.userNs)),
    systemNs: Math.round(sum((round) => round.cpu.systemNs)),
    ...(latency === undefined ? {} : { latency }),
    ...(counted ? { interrupts: sum((round) => round.interrupts ?? 0) } : {}),
    rounds: { count: rounds.length, spread: Math.round(scatter * 1e4) / 1e4 },
    bytesPerSecond: median(rates),
    status: 'ok',
    doubts,
  };
}
