/**
 * Measuring: contestants side by side, round by round in turn, so that whatever the machine does besides hits all alike.
 *
 * Each figure is the median of its rounds by elapsed time from the monotonic clock; CPU time is told beside it. Outputs are compared with
 * another implementation's before and after. Rounds that spread are marked, not hidden; and nothing here prints.
 */
import { loadavg } from 'node:os';
import { setImmediate as breathe } from 'node:timers/promises';

import type { Algorithm } from '../../algorithms.js';
import type { DriverChoice } from '../../drivers/registry.js';
import { readEngineInterrupts } from '../../linux/engine-interrupts.js';
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
import { type CpuTimes, cpuSince, cpuTimes } from './clock.js';
import { machineFacts } from './machine.js';
import { ParallelRunner } from './parallel.js';
import { LocalRunner, type Runner } from './runner.js';
import { median, middleSpread, spread } from './statistics.js';
import { makeWorkload, type Subject, takes, type Workload } from './workload.js';

/** Who takes part: a driver, or one kernel driver of it. */
export interface Contestant extends DriverChoice {
  /** `afalg`, `afalg:virtio_crypto_aes_cbc`: what `--driver` takes. */
  readonly label: string;
}

export interface Plan {
  readonly subjects: readonly { readonly algorithm: Algorithm; readonly operation: Operation }[];
  readonly contestants: readonly Contestant[];
  /** Bytes a request. Those that an algorithm cannot take are left out. */
  readonly sizes: readonly number[];
  /** Seconds for each contestant at each size, all rounds together. */
  readonly seconds: number;
  readonly rounds?: number;
  /** Worker threads with a request in flight each. Absent: one request at a time on this thread. */
  readonly parallel?: number;
  readonly toolVersion?: string;
  readonly signal?: AbortSignal;
}

/** What happens while measuring. `done` and `total` count points: a contestant at a size. */
export interface Hooks {
  begin?(point: Point, done: number, total: number): void;
  end?(point: Point, measurement: Measurement, done: number, total: number): void;
}

export interface Point extends Subject {
  readonly contestant: Contestant;
}

/** Elapsed time is compared, so a few rounds that each last long enough to see a scheduler's tick are better than many. */
const ROUNDS = 7;
/** Rounds whose middle half lies further apart than this make their median doubtful. */
export const NOISY_SPREAD = 0.1;
/** Fewer requests than this in all cannot carry the digits that are printed. */
const FEW_REQUESTS = 20;
/** Before the first round: V8 has to see a loop for a while before it compiles it. */
const WARM_UP_SHARE = 0.2;
const FIRST_WARM_UP_NS = 250e6;
const LATENCY_SHARE = 0.15;

/**
 * Measures everything that the plan names, in its order. A contestant that cannot do a subject gives measurements with status
 * `unavailable` and the reason among the run's notes. After `signal` aborts, what is finished is returned and a note says so.
 */
export async function measure(plan: Plan, hooks: Hooks = {}): Promise<ResultSet> {
  const machine = machineFacts();
  const measuredAt = new Date().toISOString();
  const results = new Map<Contestant, Measurement[]>(plan.contestants.map((one) => [one, []]));
  const notes = new Map<Contestant, Set<string>>(plan.contestants.map((one) => [one, new Set()]));
  const points = plan.subjects.flatMap(({ algorithm, operation }) =>
    plan.sizes
      .filter((bytes) => takes(algorithm, bytes))
      .map((requestBytes) => ({ algorithm, operation, requestBytes })),
  );
  const total = points.length * plan.contestants.length;
  let done = 0;
  const warm = new Set<string>();
  for (const subject of points) {
    if (plan.signal?.aborted) break;
    const entries: Entry[] = [];
    try {
      for (const contestant of plan.contestants) {
        hooks.begin?.({ ...subject, contestant }, done, total);
        entries.push(await enter(subject, contestant, plan));
      }
      await compete(entries, plan, warm);
      for (const entry of entries) {
        const measurement = measurementOf(entry, subject, plan);
        // What an interruption left half done would look like a result.
        if (measurement === undefined) continue;
        results.get(entry.contestant)!.push(measurement);
        if (entry.problem !== undefined) notes.get(entry.contestant)!.add(entry.problem);
        done++;
        hooks.end?.({ ...subject, contestant: entry.contestant }, measurement, done, total);
      }
    } finally {
      for (const { runner, workload } of entries) {
        await runner?.close();
        if (!(runner instanceof LocalRunner)) workload?.close();
      }
    }
  }
  const interrupted = plan.signal?.aborted && done < total;
  return {
    format: RESULTS_FORMAT,
    version: RESULTS_VERSION,
    tool: 'hwcrypt',
    ...(plan.toolVersion === undefined ? {} : { toolVersion: plan.toolVersion }),
    source: 'this machine',
    measuredAt,
    machine: { ...machine, loadAfter: loadavg()[0] as number },
    runs: plan.contestants.map((contestant): Run => {
      return {
        label: contestant.label,
        measurements: results.get(contestant)!,
        kdfs: [],
        doubts: [],
        notes: [...notes.get(contestant)!],
      };
    }),
    skipped: [],
    notes: interrupted ? [`interrupted after ${done} of ${total} measurements`] : [],
  };
}

/** One contestant at one size. */
interface Entry {
  readonly contestant: Contestant;
  readonly workload?: Workload;
  readonly runner?: Runner;
  /** Why there is nothing to measure, or no more. */
  problem?: string;
  wrong?: 'before' | 'after';
  latency?: Latency | undefined;
  readonly rounds: { requests: number; elapsedNs: number; cpu: CpuTimes; interrupts: number | undefined }[];
}

async function enter(subject: Subject, contestant: Contestant, plan: Plan): Promise<Entry> {
  let workload: Workload | undefined;
  try {
    workload = makeWorkload(subject, contestant);
    if (!workload.check()) return { contestant, workload, wrong: 'before', rounds: [] };
    const task = {
      algorithm: subject.algorithm.name,
      operation: subject.operation,
      requestBytes: subject.requestBytes,
      driver: contestant.label,
    };
    const runner =
      plan.parallel === undefined
        ? new LocalRunner(workload)
        : await ParallelRunner.start(task, plan.parallel);
    return { contestant, workload, runner, rounds: [] };
  } catch (error) {
    workload?.close();
    return { contestant, problem: (error as Error).message, rounds: [] };
  }
}

/** The rounds, in turn; whoever fails on the way is out. */
async function compete(entries: readonly Entry[], plan: Plan, warm: Set<string>): Promise<void> {
  const rounds = plan.rounds ?? ROUNDS;
  const roundNs = (plan.seconds * 1e9) / rounds;
  const each = async (action: (entry: Entry, runner: Runner) => Promise<void>, from = 0): Promise<void> => {
    for (let i = 0; i < entries.length; i++) {
      // Who goes first changes from round to round.
      const entry = entries[(i + from) % entries.length]!;
      if (plan.signal?.aborted) return;
      if (entry.runner === undefined || entry.problem !== undefined) continue;
      try {
        await action(entry, entry.runner);
      } catch (error) {
        entry.problem = (error as Error).message;
      }
      // Signals and timers get their turn.
      await breathe();
    }
  };
  await each(async ({ contestant }, runner) => {
    const first = !warm.has(contestant.label);
    warm.add(contestant.label);
    const ns = plan.seconds * 1e9 * WARM_UP_SHARE;
    await runner.warmUp(first ? Math.max(ns, Math.min(FIRST_WARM_UP_NS, plan.seconds * 1e9)) : ns);
  });
  for (let round = 0; round < rounds; round++) {
    await each(async (entry, runner) => {
      const interrupts = readEngineInterrupts();
      const cpu = cpuTimes();
      const { requests, elapsedNs } = await runner.round(roundNs);
      const used = cpuSince(cpu);
      const after = readEngineInterrupts();
      entry.rounds.push({
        requests,
        elapsedNs,
        cpu: used,
        interrupts: interrupts === undefined || after === undefined ? undefined : after - interrupts,
      });
    }, round);
  }
  await each(async (entry, runner) => {
    entry.latency = await runner.latency(plan.seconds * 1e9 * LATENCY_SHARE);
  });
  await each(async (entry) => {
    if (!entry.workload!.check()) entry.wrong = 'after';
  });
}

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
  if (entry.problem !== undefined) return { ...common, status: 'unavailable', doubts: [] };
  if (entry.wrong !== undefined) {
    const text = `the output ${entry.wrong} the measurement was not what another implementation gives`;
    return { ...common, status: 'failed', doubts: [{ code: 'WRONG_OUTPUT', text }] };
  }
  if (rounds.length < (plan.rounds ?? ROUNDS)) return undefined;
  const sum = (of: (round: Entry['rounds'][number]) => number): number =>
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
