/**
 * Calibration: what each driver costs at which size, measured on this machine in a few seconds an algorithm.
 *
 * First a coarse grid of sizes with everybody. Then, where the lead changes, the two that it changes between are measured there, longer, until
 * the size is found at which they cost the same: a choice by a border that is off by some per cent is wrong by as much. At last, several
 * requests at once. This file loads the measuring engine, so it is imported by whoever calibrates and by nobody else.
 */
import { Worker } from 'node:worker_threads';

import { type Algorithm, findAlgorithm } from '../algorithms.js';
import { type Detail, measure, type Surroundings, takes } from '../bench/engine/index.js';
import type { Measurement, Operation } from '../bench/model.js';
import { optionsOf, parseDriver } from '../drivers/registry.js';
import { type HwcryptCode, HwcryptError, type Reason } from '../errors.js';
import { linesOf } from './calibrate-lines.js';
import { type Able, ableTo } from './contestants.js';
import { borders, type CostPoint, predict } from './cost.js';
import {
  operationsOf,
  type ProfileEntry,
  type ProfileImplementation,
  type ProfileOperation,
} from './profile.js';

/** What is being measured at the moment. */
export interface CalibrationStep {
  readonly algorithm: string;
  readonly operation: ProfileOperation;
  readonly phase: 'grid' | 'crossover' | 'in flight';
  readonly driver: string;
  readonly requestBytes: number;
}

export interface CalibrationHooks {
  step?(step: CalibrationStep): void;
  /** One algorithm and operation is finished. `total` counts those that are asked for. */
  entry?(entry: ProfileEntry, done: number, total: number): void;
}

export interface CalibrateOptions {
  /** Fewer sizes, shorter, and nothing in flight. */
  readonly quick?: boolean;
  /** As `--driver` takes them. Default: everybody who can, accelerators by their own names among them. */
  readonly drivers?: readonly string[];
  /** Requests at once; 0: not measured. Default: 4, and 0 with `quick`. */
  readonly inFlight?: number;
  /** What is finished is returned; what is not is left out. */
  readonly signal?: AbortSignal;
  readonly hooks?: CalibrationHooks;
  /** What tests put in the machine's place. */
  readonly surroundings?: Surroundings & { readonly able?: (algorithm: Algorithm) => readonly Able[] };
}

interface Pace {
  readonly sizes: readonly number[];
  /** Seconds for each driver at each size. */
  readonly seconds: number;
  readonly crossoverSeconds: number;
  /** How often a border is looked for anew. */
  readonly crossoverSteps: number;
  /** A driver whose requests would take longer is not measured at a size: what it costs there follows from the smaller ones. */
  readonly mostRequestNs: number;
}

const USUAL: Pace = {
  sizes: [16, 64, 256, 1024, 4096, 16_384, 65_536, 1_048_576],
  seconds: 0.02,
  crossoverSeconds: 0.1,
  crossoverSteps: 10,
  mostRequestNs: 20e6,
};
const QUICK: Pace = {
  sizes: [16, 128, 1024, 8192, 65_536],
  seconds: 0.012,
  crossoverSeconds: 0.05,
  crossoverSteps: 3,
  mostRequestNs: 20e6,
};
/** Larger sizes come one by one, so that those which would take too long are seen before. */
const LARGE_BYTES = 16_384;
const IN_FLIGHT = 4;
const IN_FLIGHT_SIZES = [64, 1024, 4096, 16_384, 65_536];
const ROUNDS = 5;
const CROSSOVER_ROUNDS = 9;
/** Two that cost the same but for this share: the border is found. */
const SETTLED = 0.02;
/** To and fro between many drivers that are almost alike there is no end of borders. */
const MOST_BORDERS = 4;
/** V8 has to see a driver's code for a while before it compiles it. */
const WARM_UP_SECONDS = 0.25;

/**
 * Measures algorithms, both directions of a cipher. Those that a single driver can do, or none, have nothing to choose from and no entry.
 *
 * @throws HwcryptError where an algorithm is unknown; TypeError ERR_INVALID_ARG_VALUE for a driver that is
 */
export async function calibrate(
  algorithms: readonly (Algorithm | string)[],
  options: CalibrateOptions = {},
): Promise<ProfileEntry[]> {
  const jobs = algorithms.flatMap((one) => {
    const algorithm = typeof one === 'string' ? known(one) : one;
    const able = calibrationContestants(algorithm, options);
    return able.length < 2
      ? []
      : operationsOf(algorithm).map((operation) => ({ algorithm, operation, able }));
  });
  const calibration = new Calibration(options);
  const entries: ProfileEntry[] = [];
  for (const { algorithm, operation, able } of jobs) {
    if (options.signal?.aborted) break;
    const twin = sameBothWays(algorithm)
      ? entries.find((own) => own.algorithm === algorithm.name)
      : undefined;
    const entry = twin ? { ...twin, operation } : await calibration.entry(algorithm, operation, able);
    if (entry === undefined) break;
    entries.push(entry);
    options.hooks?.entry?.(entry, entries.length, jobs.length);
  }
  return entries;
}

/** Who is measured. @throws TypeError ERR_INVALID_ARG_VALUE for a name that no driver has */
export function calibrationContestants(
  algorithm: Algorithm,
  { drivers, surroundings = {} }: Pick<CalibrateOptions, 'drivers' | 'surroundings'> = {},
): readonly Able[] {
  if (drivers === undefined) return (surroundings.able ?? ableTo)(algorithm);
  return drivers.flatMap((label): Able[] => {
    const choice = parseDriver(label);
    const { driver } = choice;
    const named = optionsOf(choice);
    if (!driver.probe().available || !driver.supports(algorithm, named).supported) return [];
    return [{ ...choice, label, implementation: driver.implementation(algorithm, named) }];
  });
}

function known(name: string): Algorithm {
  const algorithm = findAlgorithm(name);
  if (algorithm) return algorithm;
  throw new HwcryptError('ALGORITHM_UNAVAILABLE', `there is no algorithm "${name}"`);
}

const benchOperation = (algorithm: Algorithm, operation: ProfileOperation): Operation =>
  algorithm.kind === 'mac' ? 'mac' : operation;

/** A key stream is added in either direction. */
const sameBothWays = (algorithm: Algorithm): boolean =>
  algorithm.kind === 'cipher' && ['ctr', 'ofb', 'stream'].includes(algorithm.mode);

/** What was measured of one contestant. */
interface Found {
  readonly able: Able;
  points: CostPoint[];
  /** Sizes at which the rounds were far apart. */
  readonly noisy: Set<number>;
  problem?: string;
}

const nothing = (able: Able): Found => ({ able, points: [], noisy: new Set() });

interface Stage {
  readonly phase: CalibrationStep['phase'];
  readonly sizes: readonly number[];
  readonly seconds: number;
  readonly rounds: number;
  readonly parallel?: number;
}

class Calibration {
  readonly #options: CalibrateOptions;
  readonly #pace: Pace;
  readonly #inFlight: number;
  /** Drivers whose code has run, by the kind of algorithm. */
  readonly #warm = new Set<string>();

  constructor(options: CalibrateOptions) {
    this.#options = options;
    this.#pace = options.quick ? QUICK : USUAL;
    this.#inFlight = options.inFlight ?? (options.quick ? 0 : IN_FLIGHT);
  }

  get #aborted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /** Undefined after an interruption. */
  async entry(
    algorithm: Algorithm,
    operation: ProfileOperation,
    able: readonly Able[],
  ): Promise<ProfileEntry | undefined> {
    const measuredAt = new Date().toISOString();
    const run = (found: readonly Found[], stage: Stage) => this.#run(algorithm, operation, found, stage);
    const found = able.map(nothing);
    await this.#warmUp(algorithm, found, run);
    await this.#grid(algorithm, found, run);
    await this.#crossovers(found, run);
    const loaded = able.map(nothing);
    if (this.#inFlight > 0) {
      await run(loaded, {
        phase: 'in flight',
        sizes: IN_FLIGHT_SIZES,
        seconds: this.#pace.seconds,
        rounds: ROUNDS,
        parallel: this.#inFlight,
      });
    }
    if (this.#aborted) return undefined;
    const implementations = found.map((own, i) => implementationOf(own, loaded[i]!, this.#inFlight));
    const noisyPoints = found.reduce((sum, { noisy }) => sum + noisy.size, 0);
    return {
      algorithm: algorithm.name,
      operation,
      measuredAt,
      ...(noisyPoints === 0 ? {} : { noisyPoints }),
      implementations,
    };
  }

  async #warmUp(algorithm: Algorithm, found: readonly Found[], run: Run): Promise<void> {
    const keyOf = ({ able }: Found): string => `${able.label} ${algorithm.kind}`;
    const cold = found.filter((own) => !this.#warm.has(keyOf(own)));
    if (cold.length === 0) return;
    for (const own of cold) this.#warm.add(keyOf(own));
    const seconds = this.#options.quick ? WARM_UP_SECONDS / 2 : WARM_UP_SECONDS;
    const idle = cold.map(({ able }) => nothing(able));
    await run(idle, { phase: 'grid', sizes: [64], seconds, rounds: 1 });
  }

  async #grid(algorithm: Algorithm, found: readonly Found[], run: Run): Promise<void> {
    const { sizes, seconds, mostRequestNs } = this.#pace;
    const stage = { phase: 'grid', seconds, rounds: ROUNDS } as const;
    const legal = sizes.filter((bytes) => takes(algorithm, bytes));
    await run(found, { ...stage, sizes: legal.filter((bytes) => bytes <= LARGE_BYTES) });
    for (const bytes of legal.filter((own) => own > LARGE_BYTES)) {
      const quick = found.filter(({ points }) => predict(points, bytes, 'elapsedNs') <= mostRequestNs);
      await run(quick, { ...stage, sizes: [bytes] });
    }
    // Once more, where somebody else had the CPU meanwhile.
    for (const bytes of legal) {
      const disturbed = found.filter((own) => isDisturbed(own, bytes));
      if (disturbed.length > 0) await run(disturbed, { ...stage, sizes: [bytes] });
    }
  }

  /** Measures where the lead is said to change, by the curves as they are then, until it has been measured there. */
  async #crossovers(found: readonly Found[], run: Run): Promise<void> {
    const { crossoverSteps, crossoverSeconds: seconds } = this.#pace;
    for (let step = 0; step < crossoverSteps && !this.#aborted; step++) {
      const curves = found.map(({ points }) => points);
      const places = borders(curves, 'elapsedNs');
      let looked = false;
      for (const [i, { fromBytes, index }] of places.slice(0, MOST_BORDERS + 1).entries()) {
        if (i === 0) continue;
        const pair = [found[places[i - 1]!.index]!, found[index]!] as const;
        const bytes = nextLook(pair, fromBytes, step % 2 === 1);
        if (bytes === undefined) continue;
        looked = true;
        await run(pair, { phase: 'crossover', sizes: [bytes], seconds, rounds: CROSSOVER_ROUNDS });
      }
      if (!looked) return;
    }
  }

  /** Adds what was measured to `found`. */
  async #run(
    algorithm: Algorithm,
    operation: ProfileOperation,
    found: readonly Found[],
    { phase, sizes, seconds, rounds, parallel }: Stage,
  ): Promise<void> {
    const taking = found.filter(({ problem }) => problem === undefined);
    const legal = sizes.filter((bytes) => takes(algorithm, bytes));
    if (this.#aborted || taking.length === 0 || legal.length === 0) return;
    const { signal, hooks, surroundings } = this.#options;
    await measure(
      {
        subjects: [{ algorithm, operation: benchOperation(algorithm, operation) }],
        contestants: taking.map(({ able }) => able),
        sizes: legal,
        seconds,
        rounds,
        ...(parallel === undefined ? {} : { parallel }),
        ...(signal === undefined ? {} : { signal }),
      },
      {
        begin: ({ contestant: { label: driver }, requestBytes }) =>
          hooks?.step?.({ algorithm: algorithm.name, operation, phase, driver, requestBytes }),
        end: ({ contestant }, measurement, _done, _total, detail) => {
          const own = taking.find(({ able }) => able === contestant)!;
          add(own, measurement, detail);
        },
      },
      surroundings,
    );
  }
}

type Run = (found: readonly Found[], stage: Stage) => Promise<void>;

function add(own: Found, measurement: Measurement, { problem, fastestNs }: Detail): void {
  if (own.problem !== undefined) return;
  const isNoisy = measurement.doubts.some(({ code }) => code === 'NOISY');
  // Where the rounds spread their median says how busy the machine was, and the fastest of them what a request costs.
  const point = pointOf(measurement, isNoisy ? fastestNs : undefined);
  if (point) {
    const before = own.points.find(({ requestBytes }) => requestBytes === point.requestBytes);
    if (isNoisy && !before) own.noisy.add(point.requestBytes);
    if (!isNoisy) own.noisy.delete(point.requestBytes);
    // What disturbs a measurement makes it dearer and never cheaper.
    if (before && before.elapsedNs <= point.elapsedNs) return;
    own.points = [...own.points.filter((one) => one !== before), point].sort(
      (a, b) => a.requestBytes - b.requestBytes,
    );
    return;
  }
  own.problem = `at ${measurement.requestBytes} bytes: ${problem ?? 'no figure'}`;
  // Whoever gives wrong bytes at one size is not trusted with the others.
  if (measurement.doubts.some(({ code }) => code === 'WRONG_OUTPUT')) own.points = [];
}

/** Did the rounds spread, or did less work take longer? */
function isDisturbed({ points, noisy }: Found, bytes: number): boolean {
  const at = points.findIndex(({ requestBytes }) => requestBytes === bytes);
  const next = points[at + 1];
  return at >= 0 && (noisy.has(bytes) || (next !== undefined && next.elapsedNs < points[at]!.elapsedNs));
}

function pointOf(
  { status, requestBytes, bytesPerSecond, requests, userNs = 0, systemNs = 0 }: Measurement,
  elapsedNs: number | undefined,
): CostPoint | undefined {
  if (status !== 'ok' || !requestBytes || !bytesPerSecond || !requests) return undefined;
  const tenths = (ns: number): number => Math.round(ns * 10) / 10;
  return {
    requestBytes,
    elapsedNs: tenths(elapsedNs ?? (requestBytes * 1e9) / bytesPerSecond),
    cpuNs: tenths((userNs + systemNs) / requests),
  };
}

/** Every cipher takes multiples of it, and nearer than that no border has to be known. */
const GRAIN = 16;

/**
 * Between which two sizes, measured with both, does the lead change, and which one in between tells most? By the curves the border itself.
 * But where one of them has a step that comes nearer from one side only, so every second time (`halve`) it is the middle.
 *
 * @returns undefined where the two cost the same at a size beside the border, or nothing lies in between
 */
function nextLook([one, other]: readonly [Found, Found], border: number, halve: boolean): number | undefined {
  const common = one.points.flatMap((point) => {
    const match = other.points.find(({ requestBytes }) => requestBytes === point.requestBytes);
    return match
      ? [{ bytes: point.requestBytes, apart: Math.abs(Math.log(point.elapsedNs / match.elapsedNs)) }]
      : [];
  });
  const at = common.findIndex(({ bytes }) => bytes >= border);
  const [low, high] = [common[at - 1], common[at]];
  if (low === undefined || high === undefined || Math.min(low.apart, high.apart) <= SETTLED) return undefined;
  const wanted = halve ? Math.sqrt(low.bytes * high.bytes) : border;
  const first = (Math.floor(low.bytes / GRAIN) + 1) * GRAIN;
  const last = (Math.ceil(high.bytes / GRAIN) - 1) * GRAIN;
  return first > last ? undefined : Math.min(last, Math.max(first, Math.round(wanted / GRAIN) * GRAIN));
}

function implementationOf(
  { able, points, problem }: Found,
  loaded: Found,
  requests: number,
): ProfileImplementation {
  const { implementation, label } = able;
  return {
    driver: label,
    kernelDriver: implementation?.kernelDriver ?? label,
    ...(implementation?.priority === undefined ? {} : { priority: implementation.priority }),
    hardware: implementation?.hardware ?? 'unknown',
    points,
    lines: linesOf(points),
    ...(loaded.points.length === 0 ? {} : { inFlight: { requests, points: loaded.points } }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** What a background thread answers. */
export type BackgroundAnswer =
  | { readonly entries: readonly ProfileEntry[] }
  | { readonly error: { readonly message: string; readonly code?: string; readonly reason?: Reason } };

/**
 * Calibrates one algorithm, quickly, in a thread of low priority that does not keep the process alive: where the process ends first, the
 * promise never settles.
 *
 * @throws HwcryptError, by the promise: what `calibrate` throws, or CALIBRATION_FAILED where the thread cannot work
 */
export function calibrateInBackground(algorithm: string): Promise<ProfileEntry[]> {
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown): void =>
      reject(
        new HwcryptError(
          'CALIBRATION_FAILED',
          `${algorithm} could not be calibrated: ${(cause as Error).message}`,
          {
            cause,
          },
        ),
      );
    let worker: Worker;
    try {
      worker = new Worker(new URL('./calibrate-worker.js', import.meta.url), {
        workerData: algorithm,
        execArgv: [],
      });
    } catch (error) {
      failed(error);
      return;
    }
    worker.on('message', (answer: BackgroundAnswer) => {
      if ('entries' in answer) {
        resolve([...answer.entries]);
        return;
      }
      const { message, code, reason } = answer.error;
      if (code === undefined) failed(answer.error);
      else reject(new HwcryptError(code as HwcryptCode, message, reason === undefined ? {} : { reason }));
    });
    worker.on('error', failed);
    worker.on('exit', () => failed(new Error('its thread ended')));
    // At last, since a listener for messages would keep the process alive again.
    worker.unref();
  });
}
