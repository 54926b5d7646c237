/**
 * Room `routing`: which driver gets a request. May import `bench` (only who calibrates does, since nobody else shall pay for
 * loading it), `drivers`, `linux`, `algorithms`, `schema`, `errors`.
 *
 * This file: from the drivers that may be asked and a policy to a `Route` for each algorithm, remembered. Behind a route is one driver, or
 * a relay of several (`relay/`), whose squad (`squad.ts`) knows from the costs in the profile (`profile.ts`, `cost.ts`) who is best at
 * which size. What can fail is proved before it gets work (`trust/`), and loses it when it does (`health.ts`).
 *
 * Whoever is passed over is remembered with the typed reason, and a fallback is announced: on the diagnostics channel `hwcrypt:fallback`,
 * to the instance's own listener, or else as a process warning. Never silent. A fallback leads away from what somebody asked for. Where
 * drivers were named, that is every driver passed over. In the default order nobody asked for any: there it is a driver that cannot be
 * used here at all or fails, and not one that simply does not have the algorithm
 * (OpenSSL has no Serpent) or whose library is not installed, which nobody promised.
 */
import { channel } from 'node:diagnostics_channel';

import type { Algorithm } from '../algorithms.js';
import type { Direction, DriverName } from '../drivers/driver.js';
import { allDrivers, type DriverChoice, labelOf, optionsOf, parseDriver } from '../drivers/registry.js';
import { describeReason, HwcryptError, type Reason, type ReasonCode, UnavailableError } from '../errors.js';
import { ableTo } from './contestants.js';
import { type CostCurve, type CostMeasure, predict } from './cost.js';
import { blame, isGone, isPassing } from './faults.js';
import { type Bar, HEALTH, type Health } from './health.js';
import {
  openProfile,
  operationOf,
  operationsOf,
  type Profile,
  type ProfileOperation,
  type QuarantineRecord,
} from './profile.js';
import { Relay } from './relay/index.js';
import { type Candidate, type Costs, type Loss, Squad, wrongResult } from './squad.js';
import { noTally, Stats, type Tally } from './stats.js';
import { checkImplementation } from './trust/index.js';

/**
 * How a driver is chosen: the first in order that can; the one that takes the least time at the size of the request, or the least
 * CPU time; an engine if there is any; no kernel and no engine at all.
 */
export const POLICIES = ['order', 'fastest', 'cpu', 'hardware', 'library'] as const;
export type Policy = (typeof POLICIES)[number];

/** A driver that stood earlier in the order, and why it did not get the work. */
export interface PassedOver {
  /** As it was asked for: `afalg`, `afalg:virtio_crypto_aes_cbc`. */
  readonly driver: string;
  readonly reason: Reason;
}

/** Who does an algorithm's work. */
export interface Route extends Candidate {
  readonly kernelDriver?: string;
  readonly passedOver: readonly PassedOver[];
  /** `driver` is a relay of several. It counts its requests and helps itself when one of them fails. */
  readonly relay?: true;
  /** What becomes of the requests that this route is used for. */
  readonly tally: Tally;
  /** Decided before the costs were known, while they are being measured. */
  readonly provisional?: true;
}

/** What is published on `hwcrypt:fallback`. */
export interface Fallback {
  readonly algorithm: string;
  /** The driver that does the work instead. */
  readonly driver: string;
  readonly passedOver: readonly PassedOver[];
  /** All of it in one line for people. */
  readonly message: string;
}

const FALLBACK = channel('hwcrypt:fallback');
const DECISION = channel('hwcrypt:route');

/** The driver works and does not have the algorithm, or its library was never installed. */
const NOT_HAD: ReadonlySet<ReasonCode> = new Set([
  'ALGORITHM_UNKNOWN',
  'ALGORITHM_NOT_BUILT',
  'ALGORITHM_NOT_OFFERED',
  'LIBRARY_ABSENT',
]);

/** May a decision be kept, or did a driver lose it to something that passes? Then it is decided anew at the next call. */
export function lasting({ passedOver, provisional }: Route): boolean {
  return !provisional && !passedOver.some(({ reason }) => isPassing(reason));
}

/** One line: who was passed over and why, and who does the work. */
export function describeFallback(algorithm: Algorithm, route: Pick<Route, 'label' | 'passedOver'>): string {
  return `${algorithm.name} is done by ${route.label}, since ${causes(route.passedOver)}`;
}

/** A listener's own error is not the answer to whoever wanted something encrypted. */
function tell(listener: (fallback: Fallback) => void, fallback: Fallback): void {
  try {
    listener(fallback);
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

const MAX_ANNOUNCED = 1000;

const candidateOf = (choice: DriverChoice): Candidate & DriverChoice => ({
  ...choice,
  label: labelOf(choice),
  options: optionsOf(choice),
});

/** Each driver's reason, once. */
function causes(passedOver: readonly PassedOver[]): string {
  return passedOver.map(({ driver, reason }) => `${driver}: ${describeReason(reason)}`).join('; ');
}

export interface RouterOptions {
  /** Drivers in the order in which they are tried, `name` or `name:kernelDriver`. Default: all, libcrypto first. */
  readonly drivers?: string | readonly string[];
  readonly policy?: Policy;
  /** Hears why a profile that is there is not used. Without it a process warning tells. */
  readonly onNote?: (text: string) => void;
  /** Hears of each fallback, once an algorithm. Without it, and without a channel subscriber, a process warning tells. */
  readonly onFallback?: (fallback: Fallback) => void;
  /** `fastest`, `cpu`: what has no costs in the profile yet is measured in the background, at its first use. */
  readonly calibrate?: boolean;
  /**
   * Every so many requests the result of a driver that can fail is compared with a library's; 0: never. Its first use is proved in any
   * case.
   */
  readonly verify?: number;
  /** Costs and quarantines of this machine. Default: the user's own file. */
  readonly profile?: Profile;
  readonly health?: Health;
  /** Where requests are counted. */
  readonly stats?: Stats;
}

/** One who could do a request, as `explain` tells it. */
export interface ExplainedCandidate {
  readonly driver: string;
  readonly kernelDriver?: string;
  readonly hardware?: 'yes' | 'no' | 'unknown';
  /** What the request would cost, where it was measured. */
  readonly elapsedNs?: number;
  readonly cpuNs?: number;
  /** Why it gets no work. */
  readonly barred?: Reason;
}

/** Who would do a request, and why. */
export interface Explanation {
  readonly algorithm: string;
  readonly operation: ProfileOperation;
  readonly requestBytes: number;
  readonly policy: Policy;
  /** Who gets it. */
  readonly driver: string;
  readonly because: string;
  readonly candidates: readonly ExplainedCandidate[];
  /** Who does which sizes: from so many bytes on. */
  readonly borders: readonly { readonly fromBytes: number; readonly driver: string }[];
  readonly passedOver: readonly PassedOver[];
  readonly profile: {
    readonly path?: string;
    /** ISO 8601: when the costs were measured; absent where there are none. */
    readonly measuredAt?: string;
    readonly notes: readonly string[];
  };
}

/** Who would get a request. */
export interface Prospect {
  readonly label: string;
  /** Of its driver in the order. */
  readonly place: number;
  /** Is it hardware, surely? */
  readonly engine: boolean;
  /** What the request takes by the policy's measure, where the policy goes by one and it is known. */
  readonly costNs?: number;
}

/** What was decided for an algorithm. */
interface Decision {
  readonly route: Route;
  readonly squad: (operation: ProfileOperation) => Squad;
}

export class Router {
  readonly order: readonly DriverChoice[];
  readonly policy: Policy;
  readonly stats: Stats;
  readonly #health: Health;
  readonly #onFallback: ((fallback: Fallback) => void) | undefined;
  readonly #verify: number;
  readonly #calibrate: boolean;
  /** Did somebody name the drivers? */
  readonly #asked: boolean;
  #profile: Profile | undefined;
  readonly #onNote: ((text: string) => void) | undefined;
  #profileTold = false;
  /** Keyed by the entry itself: names of the table are unique, but ad hoc entries may repeat. */
  #decisions = new Map<Algorithm, Decision>();
  /** Who lost what and why, as far as it was told: once is enough. */
  readonly #announced = new Set<string>();
  readonly #calibrating = new Map<string, 'running' | 'over'>();

  constructor(options: RouterOptions = {}) {
    const { drivers, policy = 'order', verify = 0 } = options;
    this.#onFallback = options.onFallback;
    this.#onNote = options.onNote;
    this.#asked = drivers !== undefined;
    const specs = drivers === undefined ? allDrivers().map(({ name }) => name as string) : [drivers].flat();
    if (specs.length === 0) throw new HwcryptError('NO_DRIVER', 'the list of drivers is empty');
    this.order = specs.map(parseDriver);
    this.policy = policy;
    this.#verify = verify;
    this.#calibrate = options.calibrate ?? false;
    this.#profile = options.profile;
    this.#health = options.health ?? HEALTH;
    this.stats = options.stats ?? new Stats();
  }

  /** @throws UnavailableError where no driver of the order can do it; its reason is that of the first. */
  route(algorithm: Algorithm): Route {
    return this.#decision(algorithm).route;
  }

  /**
   * Who does a request instead of `failed`, which refused it with `error` before it began: a nonce, a tag or a length that it
   * does not take. Undefined where the error says something else, or nobody is left; the error is then the answer.
   */
  instead(algorithm: Algorithm, failed: Route, error: unknown): Route | undefined {
    // A relay has asked everybody by then.
    if (failed.relay || blame(error) !== 'refusal') return undefined;
    const at = this.order.findIndex((choice) => labelOf(choice) === failed.label);
    const reason = (error as HwcryptError).reason ?? {
      code: 'MESSAGE_TOO_LARGE',
      message: (error as HwcryptError).message,
    };
    const passedOver = [...failed.passedOver, { driver: failed.label, reason }];
    for (const choice of this.order.slice(at + 1)) {
      const candidate = candidateOf(choice);
      const problem = this.#problem(algorithm, candidate);
      if (problem) {
        passedOver.push({ driver: candidate.label, reason: problem });
        continue;
      }
      const route = { ...candidate, passedOver, tally: this.stats.tally(algorithm.name, candidate.label) };
      this.#announce(algorithm, route);
      return route;
    }
    return undefined;
  }

  /** Who would do a request of so many bytes, and why. @throws UnavailableError where nobody can. */
  explain(algorithm: Algorithm, requestBytes: number, direction: Direction = 'encrypt'): Explanation {
    const operation = operationOf(algorithm, direction);
    const { route, squad: squadFor } = this.#decision(algorithm);
    const squad = squadFor(operation);
    const chosen = squad.candidates[squad.pick(requestBytes)]!;
    const candidates = squad.candidates.map(({ driver, label, options }, i): ExplainedCandidate => {
      const who = driver.implementation(algorithm, options);
      const curve = squad.costs?.curves[i];
      const bar = this.#health.barred(algorithm.name, label);
      return {
        driver: label,
        ...(who ? { kernelDriver: who.kernelDriver, hardware: who.hardware } : {}),
        ...(curve
          ? {
              elapsedNs: predict(curve, requestBytes, 'elapsedNs'),
              cpuNs: predict(curve, requestBytes, 'cpuNs'),
            }
          : {}),
        ...(bar ? { barred: bar.reason } : {}),
      };
    });
    const measuredAt = this.#measures ? this.#memory.entry(algorithm.name, operation)?.measuredAt : undefined;
    return {
      algorithm: algorithm.name,
      operation,
      requestBytes,
      policy: this.policy,
      driver: chosen.label,
      because: this.#because(squad, chosen, requestBytes),
      candidates,
      borders: bordersOf(squad),
      passedOver: route.passedOver,
      profile: {
        ...(this.#measures && this.#memory.path !== undefined ? { path: this.#memory.path } : {}),
        ...(measuredAt === undefined ? {} : { measuredAt }),
        notes: this.#measures ? this.#memory.notes.map(({ message }) => message) : [],
      },
    };
  }

  /** Who would get a request of so many bytes as things stand; undefined where nobody can. Nothing is announced. */
  prospect(algorithm: Algorithm, requestBytes: number, direction: Direction): Prospect | undefined {
    const known = this.#decisions.get(algorithm);
    const candidates = known ? [] : this.#candidates(algorithm, []);
    if (!known && candidates.length === 0) return undefined;
    const operation = operationOf(algorithm, direction);
    const squad = (known?.squad ?? this.#squads(algorithm, candidates))(operation);
    const index = squad.pick(requestBytes);
    const { driver, label, options } = squad.candidates[index]!;
    const { costs } = squad;
    const curve = costs?.curves[index];
    // One that was not named, but found to be measured on its own, stands where its driver does.
    const place = this.order.findIndex((choice) => labelOf(choice) === label);
    return {
      label,
      place: place < 0 ? this.order.findIndex((choice) => choice.driver === driver) : place,
      engine: driver.implementation(algorithm, options)?.hardware === 'yes',
      ...(costs && curve ? { costNs: predict(curve, requestBytes, costs.by) } : {}),
    };
  }

  #because(squad: Squad, chosen: Candidate, requestBytes: number): string {
    const { costs } = squad;
    if (squad.candidates.length === 1) return 'nobody else can';
    if (costs) {
      const ns = (candidate: Candidate): number =>
        predict(costs.curves[squad.candidates.indexOf(candidate)] ?? [], requestBytes, costs.by);
      const rest = squad.candidates.filter((one) => one !== chosen && Number.isFinite(ns(one)));
      const second = rest.sort((a, b) => ns(a) - ns(b))[0];
      const what = costs.by === 'cpuNs' ? 'CPU time' : 'time';
      if (second === undefined) return `only its ${what} is known`;
      const times = ns(second) / ns(chosen);
      if (times >= 2) return `it takes ${times.toPrecision(2)} times less ${what} than ${second.label}`;
      if (times >= 1.01)
        return `it takes ${Math.round((1 - 1 / times) * 100)} % less ${what} than ${second.label}`;
      return `${second.label} would not gain more than a measurement’s noise`;
    }
    if (this.#measures)
      return 'nothing was measured: it is the first in order that can (hwcrypt calibrate measures)';
    const isEngine = chosen.driver.implementation(squad.algorithm, chosen.options)?.hardware === 'yes';
    if (this.policy === 'hardware') {
      return isEngine
        ? 'it is the first engine in order that can'
        : 'no engine can: it is the first in order';
    }
    return 'it is the first in order that can';
  }

  /** Who gets no work at the moment, and why. */
  bars(): Bar[] {
    return this.#health.bars();
  }

  /** Forgets every decision, and looks at the drivers anew. */
  reset(): void {
    this.#decisions = new Map();
    this.#announced.clear();
    for (const { driver } of this.order) driver.reprobe();
  }

  get #memory(): Profile {
    this.#profile ??= openProfile();
    return this.#profile;
  }

  /** Does the policy go by measured costs? */
  get #measures(): boolean {
    return this.policy === 'fastest' || this.policy === 'cpu';
  }

  #decision(algorithm: Algorithm): Decision {
    const known = this.#decisions.get(algorithm);
    if (known) return known;
    const decision = this.#decide(algorithm);
    if (lasting(decision.route)) this.#decisions.set(algorithm, decision);
    return decision;
  }

  #decide(algorithm: Algorithm): Decision {
    const passedOver: PassedOver[] = [];
    const candidates = this.#candidates(algorithm, passedOver);
    if (candidates.length === 0) throw noDriver(algorithm, passedOver);
    const squad = this.#squads(algorithm, candidates);
    const operations = operationsOf(algorithm);
    const workers = new Set(
      operations.flatMap((operation) => squad(operation).borders.map(({ index }) => index)),
    );
    const [first] = workers as Set<number>;
    const chosen = candidates[first!]!;
    const provisional =
      this.#measures &&
      operations.some((operation) => !squad(operation).costs) &&
      this.#measureLater(algorithm);
    const common = { passedOver, ...(provisional ? { provisional } : {}) };
    const single = workers.size === 1 && !chosen.driver.fallible;
    const route: Route = single
      ? { ...chosen, ...common, tally: this.stats.tally(algorithm.name, chosen.label) }
      : {
          driver: new Relay((direction) => squad(operationOf(algorithm, direction))),
          label: [...workers].map((index) => candidates[index]!.label).join('+'),
          options: {},
          ...common,
          relay: true,
          // A relay counts for each of its drivers; what is counted for it as a whole would be counted twice.
          tally: noTally(),
        };
    if (passedOver.some(({ reason }) => this.#asked || !NOT_HAD.has(reason.code))) {
      this.#announce(algorithm, route);
    }
    if (DECISION.hasSubscribers) {
      for (const operation of operations) {
        const { name } = algorithm;
        DECISION.publish({
          algorithm: name,
          operation,
          policy: this.policy,
          borders: bordersOf(squad(operation)),
        });
      }
    }
    return { route, squad };
  }

  /** The squad of an operation, made at its first use. */
  #squads(algorithm: Algorithm, candidates: readonly Candidate[]): (operation: ProfileOperation) => Squad {
    const reference = this.#verify > 0 ? this.#reference(algorithm) : undefined;
    const squads = new Map<ProfileOperation, Squad>();
    return (operation) => {
      let one = squads.get(operation);
      if (one === undefined) {
        const known = this.#costs(algorithm, operation, candidates);
        one = new Squad({
          algorithm,
          candidates,
          ...(known ? { costs: known } : {}),
          ...(reference ? { reference } : {}),
          health: this.#health,
          stats: this.stats,
          verifyEvery: this.#verify,
          onLoss: (loss) => this.#lost(loss),
        });
        squads.set(operation, one);
      }
      return one;
    };
  }

  /**
   * Who may do an algorithm's work, the preferred first. What can fail is proved here, and only if it may get work: by the order of the
   * drivers alone, one that comes after a library does not.
   */
  #candidates(algorithm: Algorithm, passedOver: PassedOver[]): Candidate[] {
    const found: Candidate[] = [];
    for (const choice of this.#choices(algorithm)) {
      const candidate = candidateOf(choice);
      // By order alone the first library does it all.
      if (this.policy === 'order' && found.some(({ driver }) => !driver.fallible)) break;
      const reason = this.#problem(algorithm, candidate);
      if (reason === undefined) found.push(candidate);
      // Whoever comes after the one that does the work is not passed over.
      else if (found.length === 0) passedOver.push({ driver: candidate.label, reason });
    }
    if (this.policy !== 'hardware') return found;
    const isHardware = ({ driver, options }: Candidate): boolean =>
      driver.implementation(algorithm, options)?.hardware === 'yes';
    const engines = found.filter(isHardware);
    if (engines.length === 0) {
      const [first] = found;
      if (first) passedOver.push({ driver: 'hardware', reason: NO_ENGINE });
    }
    return [...engines, ...found.filter((one) => !isHardware(one))];
  }

  /** The drivers that the policy asks, and the kernel drivers that were measured on their own because the plain name does not reach them. */
  #choices(algorithm: Algorithm): readonly DriverChoice[] {
    const { order } = this;
    if (this.policy === 'library') return order.filter(({ driver }) => !driver.fallible);
    if (!this.#measures && this.policy !== 'hardware') return order;
    const known = new Set(order.map(labelOf));
    const named = new Set(
      order.filter(({ kernelDriver }) => kernelDriver === undefined).map(({ driver }) => driver),
    );
    const pinned: DriverChoice[] = [];
    for (const operation of ['encrypt', 'decrypt', 'digest'] as const) {
      for (const { driver: label } of this.#memory.entry(algorithm.name, operation)?.implementations ?? []) {
        if (known.has(label)) continue;
        known.add(label);
        const choice = parseDriver(label);
        if (named.has(choice.driver)) pinned.push(choice);
      }
    }
    if (this.policy === 'hardware') {
      // An engine that something else outranks is one all the same, measured or not.
      for (const { driver, kernelDriver, label } of ableTo(algorithm, [...named])) {
        if (kernelDriver !== undefined && !known.has(label)) pinned.push({ driver, kernelDriver });
      }
    }
    return [...order, ...pinned];
  }

  /** Why a driver cannot, or may not, do an algorithm; undefined where it can. */
  #problem(algorithm: Algorithm, candidate: Candidate): Reason | undefined {
    const { driver, options, label } = candidate;
    const probe = driver.probe();
    if (!probe.available) return probe.reason;
    const support = driver.supports(algorithm, options);
    if (!support.supported) return support.reason;
    return driver.fallible ? this.#proved(algorithm, label, candidate) : undefined;
  }

  /** Proves a driver before its first use. */
  #proved(algorithm: Algorithm, label: string, candidate: Candidate & DriverChoice): Reason | undefined {
    const health = this.#health;
    const { name } = algorithm;
    const bar = health.barred(name, label);
    if (bar) return bar.kind === 'wrong result' ? bar.reason : leftAlone(bar);
    if (health.isProved(name, label)) return undefined;
    const recorded = this.#memory.quarantine(name, label);
    if (recorded)
      return health.quarantine(name, label, wrongResult(recorded.evidence), recorded.since).reason;
    const verdict = checkImplementation(algorithm, candidate);
    if (verdict.trusted === true) {
      health.prove(name, label);
      return undefined;
    }
    if (verdict.trusted === 'unknown') {
      const { reason } = verdict;
      // Or whoever is short of something would be proved anew, and in vain, at each call.
      if (isPassing(reason)) health.failed(name, label, reason, isGone(reason));
      return reason;
    }
    const { what: evidence, error } = verdict.evidence;
    if (error !== undefined) {
      // To fail is not to lie: it is left alone for a while, and nothing is held against it for longer.
      const reason: Reason = {
        code: 'KEEPS_FAILING',
        message: `it fails in the check before its first use: ${error.message}`,
        ...(error.errno === undefined ? {} : { errno: error.errno }),
      };
      health.failed(name, label, reason, true);
      return reason;
    }
    const { since, reason } = health.quarantine(name, label, wrongResult(evidence));
    this.#record(algorithm, candidate, { since, evidence });
    return reason;
  }

  /** Keeps the evidence for later runs. Where it cannot be kept, this process knows it all the same. */
  #record(
    algorithm: Algorithm,
    { driver, label, options }: Candidate,
    found: Pick<QuarantineRecord, 'since' | 'evidence'>,
  ): void {
    const kernelDriver = driver.implementation(algorithm, options)?.kernelDriver ?? label;
    try {
      this.#memory.saveQuarantine({ algorithm: algorithm.name, driver: label, kernelDriver, ...found });
    } catch {}
  }

  /** A library that vouches for results; undefined where none has the algorithm. */
  #reference(algorithm: Algorithm): Candidate | undefined {
    return allDrivers()
      .map((driver) => candidateOf({ driver }))
      .find(
        ({ driver }) => !driver.fallible && driver.probe().available && driver.supports(algorithm).supported,
      );
  }

  #costs(
    algorithm: Algorithm,
    operation: ProfileOperation,
    candidates: readonly Candidate[],
  ): Costs | undefined {
    if (!this.#measures) return undefined;
    const entry = this.#memory.entry(algorithm.name, operation);
    this.#tellOfProfile();
    if (entry === undefined) return undefined;
    const by: CostMeasure = this.policy === 'cpu' ? 'cpuNs' : 'elapsedNs';
    const curves = candidates.map(
      ({ label }): CostCurve | undefined =>
        entry.implementations.find(({ driver }) => driver === label)?.points,
    );
    if (curves.every((curve) => curve === undefined)) return undefined;
    const points = entry.implementations.reduce((sum, own) => sum + own.points.length, 0);
    return { curves, by, doubtful: (entry.noisyPoints ?? 0) > points / 4 };
  }

  /** Why a profile that is there is not used: said once, since the work then goes otherwise than somebody believes. */
  #tellOfProfile(): void {
    if (this.#profileTold) return;
    this.#profileTold = true;
    const whole = this.#memory.notes.find((note) => note.algorithm === undefined);
    if (whole === undefined) return;
    if (this.#onNote) this.#onNote(whole.message);
    else process.emitWarning(whole.message, { type: 'HwcryptProfile', code: 'HWCRYPT_PROFILE' });
  }

  /** Has the costs measured beside, if that was asked for. True where they are coming. */
  #measureLater(algorithm: Algorithm): true | undefined {
    if (!this.#calibrate) return undefined;
    const { name } = algorithm;
    const state = this.#calibrating.get(name);
    // What could not be measured, or kept, is decided without: not tried again and again.
    if (state !== undefined) return state === 'running' ? true : undefined;
    this.#calibrating.set(name, 'running');
    import('./calibrate.js')
      .then(({ calibrateInBackground }) => calibrateInBackground(name))
      .then((entries) => {
        this.#memory.saveEntries(entries);
      })
      .catch((error: Error) => {
        process.emitWarning(`${name} could not be calibrated: ${error.message}`, {
          type: 'HwcryptCalibration',
          code: 'HWCRYPT_CALIBRATION',
        });
      })
      .finally(() => {
        this.#calibrating.set(name, 'over');
        this.#decisions.delete(algorithm);
      });
    return true;
  }

  /** A request went to another driver in the middle of things. */
  #lost({ algorithm, from, to, reason, wrong }: Loss): void {
    if (wrong) this.#record(algorithm, from, wrong);
    this.#announce(algorithm, { label: to.label, passedOver: [{ driver: from.label, reason }] });
  }

  #announce(algorithm: Algorithm, route: Pick<Route, 'label' | 'passedOver'>): void {
    this.hear({
      algorithm: algorithm.name,
      driver: route.label,
      passedOver: route.passedOver,
      message: describeFallback(algorithm, route),
    });
  }

  /** Announces a fallback, of another thread's router too, unless it was announced. */
  hear(fallback: Fallback): void {
    const { algorithm, driver, passedOver, message } = fallback;
    const id = [algorithm, driver, ...passedOver.map((one) => one.driver + one.reason.code)].join(' ');
    if (this.#announced.has(id)) return;
    if (this.#announced.size < MAX_ANNOUNCED) this.#announced.add(id);
    FALLBACK.publish(fallback);
    if (this.#onFallback) tell(this.#onFallback, fallback);
    else if (!FALLBACK.hasSubscribers) {
      process.emitWarning(message, { type: 'HwcryptFallback', code: 'HWCRYPT_FALLBACK' });
    }
  }
}

const NO_ENGINE: Reason = {
  code: 'NOT_HARDWARE',
  message: 'no driver here reaches an engine that does this algorithm',
  cure: 'hwcrypt doctor tells why',
};

/** Why somebody who kept failing is not even asked. */
const leftAlone = ({ until, reason }: Bar): Reason => ({
  ...reason,
  code: 'KEEPS_FAILING',
  message: `it keeps failing and is left alone${until === undefined ? '' : ` until ${new Date(until).toISOString()}`}: ${reason.message}`,
});

/** Who does which sizes, by name. */
const bordersOf = ({ borders, candidates }: Squad): Explanation['borders'] =>
  borders.map(({ fromBytes, index }) => ({ fromBytes, driver: candidates[index]!.label }));

function noDriver(algorithm: Algorithm, passedOver: readonly PassedOver[]): UnavailableError {
  const first = passedOver[0] ?? {
    driver: 'library',
    reason: { code: 'ALGORITHM_UNKNOWN' as const, message: 'there is no library among the drivers named' },
  };
  if (passedOver.length <= 1) {
    const name = first.driver.split(':', 1)[0] as DriverName;
    return new UnavailableError(
      'ALGORITHM_UNAVAILABLE',
      name,
      `${first.driver}: ${algorithm.name}`,
      first.reason,
    );
  }
  return new UnavailableError(
    'NO_DRIVER',
    first.driver,
    `no driver can do ${algorithm.name}`,
    first.reason,
    causes(passedOver),
  );
}
