/**
 * The drivers that may do one algorithm's work in one direction, and who of them gets a request of so many bytes.
 *
 * A decision is a look into a few borders between sizes, made once from the costs in the profile; it is made anew when the
 * health of a driver changes. Whoever fails loses the request to the next.
 */
import type { Algorithm } from '../algorithms.js';
import type { Driver } from '../drivers/driver.js';
import { DriverError, type Reason } from '../errors.js';
import { type Border, borders, type CostCurve, type CostPoint, pick, predict } from './cost.js';
import { blame, isBusy, isGone, reasonOf } from './faults.js';
import type { Health } from './health.js';
import { count, type Stats, type Tally } from './stats.js';

/** Who may do an algorithm's work. */
export interface Candidate {
  readonly driver: Driver;
  /** Driver and kernel driver in one word, as `--driver` takes it. */
  readonly label: string;
  /** Options for the driver's session methods. */
  readonly options: { readonly kernelDriver?: string };
}

/** What a request costs each candidate; undefined where nobody has measured. */
export interface Costs {
  readonly curves: readonly (CostCurve | undefined)[];
  /** What is to be saved. */
  readonly by: 'elapsedNs' | 'cpuNs';
  /** Measured while the machine did other work: small differences say nothing. */
  readonly doubtful?: boolean;
}

export interface SquadOptions {
  readonly algorithm: Algorithm;
  /** At least one. Without costs, the first that is in good health does everything. */
  readonly candidates: readonly Candidate[];
  readonly costs?: Costs;
  readonly health: Health;
  readonly stats: Stats;
  /** Every so many requests the result of a driver that can fail is compared with `reference`; 0 for never. */
  readonly verifyEvery?: number;
  /** Who vouches for results. */
  readonly reference?: Candidate;
  /** Told when a request goes to another driver, for a reason that lies in the first. */
  readonly onLoss?: (loss: Loss) => void;
}

/** A request that went to another driver. */
export interface Loss {
  readonly algorithm: Algorithm;
  readonly from: Candidate;
  readonly to: Candidate;
  readonly reason: Reason;
  /** Where its result was found wrong: what there is to keep of it. */
  readonly wrong?: { readonly evidence: string; readonly since: string };
}

/** Why somebody who gave a wrong result gets no more work. `evidence`: what it did, in one line. */
export const wrongResult = (evidence: string): Reason => ({
  code: 'WRONG_RESULT',
  message: `it gave wrong results here: ${evidence}`,
  cure: 'hwcrypt selftest shows a minimal case; hwcrypt calibrate --forget --quarantine lets it be tried again',
});

/** Sizes that go to one candidate. */
export interface Range {
  /** Above, and below: bytes. */
  readonly from: number;
  readonly below: number;
  readonly version: number;
  readonly health: Health;
  readonly tally: Tally;
}

/** A change of driver has to be worth more than this. */
const WORTH = 1.03;
/** And more than this between libraries, which compute alike on the same processor, and where the measurement was disturbed. */
const WORTH_OF_DOUBT = 1.15;

const dearer = ({ requestBytes, elapsedNs, cpuNs }: CostPoint, worth: number): CostPoint => ({
  requestBytes,
  elapsedNs: elapsedNs * worth,
  cpuNs: cpuNs * worth,
});

/** A driver that is busy is asked again after 1, 2, 4 … ms, this often. */
const BUSY_TRIES = 6;

export class Squad {
  readonly algorithm: Algorithm;
  readonly candidates: readonly Candidate[];
  readonly costs: Costs | undefined;
  readonly health: Health;
  readonly reference: Candidate | undefined;
  readonly tallies: readonly Tally[];
  readonly #verifyEvery: number;
  readonly #onLoss: ((loss: Loss) => void) | undefined;
  #borders: readonly Border[] = [];
  #version = -1;
  #unverified = 0;
  /** Whose last request failed. */
  readonly #failed = new Set<number>();
  /** Who is known to give wrong results: nothing of theirs may be used, even where nobody else is left. */
  #wrong: readonly (Reason | undefined)[] = [];

  constructor(options: SquadOptions) {
    const { algorithm, candidates, stats } = options;
    this.algorithm = algorithm;
    this.candidates = candidates;
    this.costs = options.costs;
    this.health = options.health;
    this.reference = options.reference;
    this.tallies = candidates.map(({ label }) => stats.tally(algorithm.name, label));
    this.#verifyEvery = options.verifyEvery ?? 0;
    this.#onLoss = options.onLoss;
  }

  /** Index of the candidate that gets a request of so many bytes. */
  pick(bytes: number): number {
    if (this.health.version !== this.#version) this.#decide();
    return pick(this.#borders, bytes);
  }

  /** Who is given work from which size on, those that are barred left out. */
  get borders(): readonly Border[] {
    if (this.health.version !== this.#version) this.#decide();
    return this.#borders;
  }

  /** The sizes around `bytes` that go to `index`, as long as the version stays; none where it is not his. */
  range(index: number, bytes: number): Range {
    const { borders: all } = this;
    const at = all.findLastIndex(({ fromBytes }) => fromBytes <= bytes);
    const own = all[at]?.index === index;
    return {
      from: own ? Math.max(0, all[at]!.fromBytes - 1) : Number.POSITIVE_INFINITY,
      below: all[at + 1]?.fromBytes ?? Number.POSITIVE_INFINITY,
      version: this.#version,
      health: this.health,
      tally: this.tallies[index]!,
    };
  }

  #decide(): void {
    this.#version = this.health.version;
    const bars = this.candidates.map(({ label }) => this.health.barred(this.algorithm.name, label));
    this.#wrong = bars.map((bar) => (bar?.kind === 'wrong result' ? bar.reason : undefined));
    const fit = bars.map((bar) => bar === undefined);
    const honest = this.#wrong.indexOf(undefined);
    // The first library is the home of all work: two that compute alike differ by the noise of their measurements, and no more.
    const home = this.candidates.findIndex(({ driver }) => !driver.fallible);
    const curves = this.costs?.curves.map((curve, i) => {
      if (!fit[i]) return undefined;
      if (i === home || home < 0) return curve;
      const { fallible } = this.candidates[i]!.driver;
      if (this.costs?.doubtful && !fallible) return undefined;
      const worth = fallible && !this.costs?.doubtful ? WORTH : WORTH_OF_DOUBT;
      return curve?.map((point) => dearer(point, worth));
    });
    // With nobody in good health the first that is merely failing is asked all the same: it is for him to say what is wrong.
    this.#borders =
      this.costs && curves?.some((curve) => curve !== undefined)
        ? borders(curves, this.costs.by)
        : [{ fromBytes: 0, index: fit.includes(true) ? fit.indexOf(true) : Math.max(0, honest) }];
  }

  /** @throws DriverError where `index` is known to give wrong results */
  check(index: number): void {
    if (this.health.version !== this.#version) this.#decide();
    const reason = this.#wrong[index];
    if (reason === undefined) return;
    const { driver, label } = this.candidates[index]!;
    throw new DriverError(driver.name, `${label}: ${this.algorithm.name}`, reason);
  }

  /** Who does a request of so many bytes when those of `tried` could not; -1 where nobody is left. */
  next(bytes: number, tried: ReadonlySet<number>): number {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const [index, { label }] of this.candidates.entries()) {
      if (tried.has(index) || this.health.barred(this.algorithm.name, label)) continue;
      const curve = this.costs?.curves[index];
      const cost = curve && this.costs ? predict(curve, bytes, this.costs.by) : Number.MAX_VALUE;
      if (cost < least) {
        least = cost;
        best = index;
      }
    }
    return best;
  }

  /** A request was done. */
  done(index: number, bytes: number): void {
    count(this.tallies[index]!, bytes);
    if (this.#failed.size > 0 && this.#failed.delete(index)) {
      this.health.succeeded(this.algorithm.name, this.candidates[index]!.label);
    }
  }

  /** A request failed, through the driver's fault. */
  failed(index: number, reason: Reason): void {
    this.#failed.add(index);
    this.health.failed(this.algorithm.name, this.candidates[index]!.label, reason, isGone(reason));
  }

  /** Is the result of this request of `index` to be compared? Counts the requests. */
  verifies(index: number): boolean {
    if (this.#verifyEvery === 0 || this.reference === undefined) return false;
    if (!this.candidates[index]!.driver.fallible) return false;
    this.#unverified++;
    if (this.#unverified < this.#verifyEvery) return false;
    this.#unverified = 0;
    return true;
  }

  /** What comparing a result came to. A wrong one is the driver's last for this algorithm. */
  verified(index: number, right: boolean, what: string): void {
    const tally = this.tallies[index]!;
    tally.verified++;
    if (right) return;
    tally.wrong++;
    const { label } = this.candidates[index]!;
    const evidence = `${what}, compared with ${this.reference?.label}`;
    const reason = wrongResult(evidence);
    const { since } = this.health.quarantine(this.algorithm.name, label, reason);
    const to = this.reference;
    if (to) this.lost(index, to, reason, { evidence, since });
  }

  lost(index: number, to: Candidate, reason: Reason, wrong?: Loss['wrong']): void {
    const from = this.candidates[index]!;
    this.#onLoss?.({ algorithm: this.algorithm, from, to, reason, ...(wrong ? { wrong } : {}) });
  }
}

/** The attempts at one request: who is trying, and who is next when he fails. */
export class Attempts {
  index: number;
  readonly #squad: Squad;
  readonly #bytes: number;
  #tried: Set<number> | undefined;
  #waits = 0;

  constructor(squad: Squad, bytes: number, index = squad.pick(bytes)) {
    this.#squad = squad;
    this.#bytes = bytes;
    this.index = index;
  }

  get candidate(): Candidate {
    return this.#squad.candidates[this.index]!;
  }

  /**
   * `index` failed with `error`; now it says who is next. Returns the milliseconds that he should be left alone first.
   * @param last nobody else may try: what was done so far exists only in the one session
   * @throws the error, where it is the caller's or nobody is left
   */
  failed(error: unknown, last = false): number {
    const whose = blame(error);
    if (whose === 'caller') throw error;
    const { index } = this;
    const squad = this.#squad;
    squad.tallies[index]!.errors++;
    const reason = reasonOf(error);
    if (whose === 'fault') {
      if (!last && isBusy(reason) && this.#waits < BUSY_TRIES) return 2 ** this.#waits++;
      squad.failed(index, reason);
    }
    if (last) throw error;
    this.#tried ??= new Set();
    this.#tried.add(index);
    const next = squad.next(this.#bytes, this.#tried);
    if (next < 0) throw error;
    squad.lost(index, squad.candidates[next]!, reason);
    squad.tallies[next]!.rescued++;
    this.index = next;
    this.#waits = 0;
    return 0;
  }
}

const NEVER = new Int32Array(new SharedArrayBuffer(4));

/** Waits on this thread. For the few milliseconds that an engine's queue needs. */
export function pause(ms: number): void {
  if (ms > 0) Atomics.wait(NEVER, 0, 0, ms);
}
