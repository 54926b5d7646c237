/**
 * What a cipher comes to at a sector size. dm-crypt makes a request of each sector, so a sector of n bytes costs what a request of n bytes costs
 * (`routing/cost.ts`); whatever was measured at other sizes is between, beyond, or a bound.
 */
import type { Quote } from '../doctor/facts/document.js';
import { megabytesPerSecond } from '../doctor/facts/results.js';
import { judgeHardware } from '../drivers/hardware.js';
import { type CostCurve, predict, throughput } from '../routing/cost.js';
import type { KernelChoice } from './choice.js';
import type { Figure, Operation } from './figures.js';
import type { DiskLine } from './lines.js';

/**
 * `measured`: at this size. `between` two measured sizes. `beyond` the measured ones, by the line through the nearest two. `at-most`: of larger
 * requests only, which cost less a byte. `at-least`: of smaller ones only.
 */
export type Certainty = 'measured' | 'between' | 'beyond' | 'at-most' | 'at-least';

/** `certain`: dm-crypt itself was measured with this sector. `likely`: the kernel's cipher was. `possible`: a bound, another's code, or figures that contradict each other. */
export type Sureness = 'certain' | 'likely' | 'possible';

export interface Prediction {
  readonly bytesPerSecond: number;
  readonly certainty: Certainty;
  readonly sureness: Sureness;
  readonly by: Figure['by'];
  readonly kernelDriver?: string;
  /** Why it should not be trusted more. */
  readonly doubt?: string;
  readonly quote: Quote;
}

export interface PredictOptions {
  readonly choice: KernelChoice | undefined;
  /** AF_ALG reaches no engine here (Linux 7.2). */
  readonly afalgCutOff: boolean;
  readonly calls: Calls;
}

/**
 * Nanoseconds that a request costs on its way into the kernel and back, by AF_ALG and by others. A program pays that, dm-crypt does not; where a system call is dear it is
 * most of a small request.
 */
export interface Calls {
  readonly afalg?: number;
  readonly other?: number;
}

/** Software of the kernel's works at once, so whatever a request of it costs beside its bytes is the way. */
export function callsOf(figures: readonly Figure[]): Calls {
  const least = (afalg: boolean): number | undefined => {
    const known = figures
      .filter((own) => own.by === 'kernel' && own.afalg === afalg && own.points.length > 1)
      .filter(
        ({ kernelDriver }) =>
          kernelDriver !== undefined && judgeHardware({ driver: kernelDriver }).hardware === 'no',
      )
      .map(({ points }) => fixedNs(points));
    return known.length === 0 ? undefined : Math.min(...known);
  };
  const [afalg, other] = [least(true), least(false)];
  return { ...(afalg === undefined ? {} : { afalg }), ...(other === undefined ? {} : { other }) };
}

interface Candidate {
  readonly figure: Figure;
  readonly bytesPerSecond: number;
  readonly certainty: Certainty;
  readonly rank: number;
}

/** Figures further apart than this do not measure the same thing, or not on the same machine. */
export const CONTRADICTION = 1.25;
const COVERAGE: Readonly<Record<Certainty, number>> = {
  measured: 30,
  between: 20,
  beyond: 10,
  'at-most': 0,
  'at-least': 0,
};

/** @returns undefined where nothing was measured that tells */
export function predictLine(
  figures: readonly Figure[],
  { algorithm }: DiskLine,
  sectorBytes: number,
  operation: Operation,
  options: PredictOptions,
): Prediction | undefined {
  const { choice } = options;
  const own = figures.filter(
    (figure) =>
      figure.algorithm === algorithm &&
      (figure.operation ?? operation) === operation &&
      isOf(figure, options),
  );
  const usable = (own.length > 0 ? own : relatives(figures, algorithm, options))
    .map((figure): Candidate => {
      const at = rateAt(figure, sectorBytes, options);
      return { figure, ...at, rank: rankOf(figure, at.certainty, choice) };
    })
    .sort((a, b) => b.rank - a.rank);
  const best = usable
    .filter(({ rank }) => rank === usable[0]?.rank)
    .sort((a, b) => a.bytesPerSecond - b.bytesPerSecond);
  const [slowest, fastest] = [best[0], best.at(-1)];
  if (!slowest || !fastest) return undefined;
  // Of two texts of one machine, one with its engine and one without, that which fits the list counts; what cannot be told is not promised.
  const taken = choice?.hardware === 'yes' ? fastest : slowest;
  const other = taken === fastest ? slowest : fastest;
  const apart = fastest.bytesPerSecond > slowest.bytesPerSecond * CONTRADICTION;
  const { figure, bytesPerSecond, certainty } = taken;
  const doubt = apart
    ? `another figure in the texts says ${megabytesPerSecond(other.bytesPerSecond)}`
    : figure.algorithm === algorithm
      ? doubtOf(figure, choice)
      : "a program's CBC: XTS was not measured";
  const kernelDriver = figure.by === 'program' ? undefined : (figure.kernelDriver ?? choice?.kernelDriver);
  return {
    bytesPerSecond,
    certainty,
    sureness:
      doubt !== undefined || certainty === 'at-most' || certainty === 'at-least' || figure.by === 'program'
        ? 'possible'
        : figure.by === 'dm-crypt' && certainty === 'measured'
          ? 'certain'
          : 'likely',
    by: figure.by,
    ...(kernelDriver === undefined ? {} : { kernelDriver }),
    ...(doubt === undefined ? {} : { doubt }),
    quote: figure.quote,
  };
}

/**
 * Software's XTS is CBC's work and some XORs. Few measure XTS in programs, and without any figure an engine's CBC could not be judged. Decryption of CBC goes several
 * blocks at once where the CPU can, so encryption stands for both.
 */
function relatives(figures: readonly Figure[], algorithm: string, options: PredictOptions): Figure[] {
  const cbc = /^(.*)-xts$/.exec(algorithm)?.[1];
  return figures.filter(
    (figure) =>
      cbc !== undefined &&
      figure.algorithm === `${cbc}-cbc` &&
      figure.by === 'program' &&
      figure.operation !== 'decrypt' &&
      isOf(figure, options),
  );
}

/** Does a figure say anything about whom dm-crypt would take? */
function isOf({ by, afalg, kernelDriver }: Figure, { choice, afalgCutOff }: PredictOptions): boolean {
  if (by === 'dm-crypt' || choice === undefined) return true;
  if (by === 'program') return choice.hardware !== 'yes';
  if (kernelDriver !== undefined) return sameDriver(kernelDriver, choice.kernelDriver);
  // Without a name: what has the highest priority, and AF_ALG's view of it.
  return choice.refused.length === 0 && !(afalg && afalgCutOff && choice.hardware === 'yes');
}

/** `cbc(aes-eip93)` is what works in `essiv(cbc(aes-eip93),sha256-generic)`. */
const sameDriver = (one: string, other: string): boolean => one.includes(other) || other.includes(one);

function rankOf(figure: Figure, certainty: Certainty, choice: KernelChoice | undefined): number {
  const { by, kernelDriver } = figure;
  if (by === 'dm-crypt') return (certainty === 'measured' ? 300 : 150) + COVERAGE[certainty];
  if (by === 'program') return 100 + COVERAGE[certainty];
  return (kernelDriver !== undefined && choice !== undefined ? 240 : 200) + COVERAGE[certainty];
}

function doubtOf({ by, disturbed }: Figure, choice: KernelChoice | undefined): string | undefined {
  if (disturbed) return 'something else used the machine meanwhile: measure again when it is quiet';
  if (by !== 'program') return undefined;
  return choice?.portable
    ? `a program's own code; the kernel runs ${choice.kernelDriver}, portable C`
    : "a program's own code; the kernel's may be faster or slower";
}

function rateAt(
  figure: Figure,
  bytes: number,
  options: PredictOptions,
): Pick<Candidate, 'bytesPerSecond' | 'certainty'> {
  const callsNs = callsNsOf(figure, options);
  const points = callsNs === undefined ? figure.points : withoutCalls(figure.points, callsNs);
  const [first, last] = [points[0]!, points.at(-1)!];
  const rate = throughput(points, bytes);
  const of = (point: typeof first): number => (point.requestBytes * 1e9) / point.elapsedNs;
  if (points.some(({ requestBytes }) => requestBytes === bytes))
    return { bytesPerSecond: rate, certainty: points === figure.points ? 'measured' : 'between' };
  if (bytes < first.requestBytes)
    return points.length > 1 && rate < of(first)
      ? { bytesPerSecond: rate, certainty: 'beyond' }
      : { bytesPerSecond: of(first), certainty: 'at-most' };
  if (bytes > last.requestBytes)
    return points.length > 1 && rate > of(last)
      ? { bytesPerSecond: rate, certainty: 'beyond' }
      : { bytesPerSecond: of(last), certainty: 'at-least' };
  return { bytesPerSecond: rate, certainty: 'between' };
}

/** Of software it is in its own curve; of an engine it is what software costs by the same way. */
function callsNsOf(
  { by, afalg, kernelDriver, points }: Figure,
  { choice, calls }: PredictOptions,
): number | undefined {
  if (by !== 'kernel' || points.length < 2) return undefined;
  const hardware =
    kernelDriver === undefined ? choice?.hardware : judgeHardware({ driver: kernelDriver }).hardware;
  return hardware === 'no' ? fixedNs(points) : afalg ? calls.afalg : calls.other;
}

/** What a request without bytes would cost. */
const fixedNs = (points: CostCurve): number => predict(rising(points), 0, 'elapsedNs');

/** A larger request takes no less time than a smaller one: where it seems to, the smaller one was disturbed. */
function rising(points: CostCurve): CostCurve {
  return points.map((point, at) => ({
    ...point,
    elapsedNs: Math.min(...points.slice(at).map(({ elapsedNs }) => elapsedNs)),
  }));
}

/** No byte becomes cheaper than those of the largest request. */
function withoutCalls(points: CostCurve, callsNs: number): CostCurve {
  const last = points.at(-1)!;
  const nsPerByte = (last.elapsedNs - callsNs) / last.requestBytes;
  if (!(callsNs > 0 && nsPerByte > 0)) return points;
  return rising(points).map((point) => ({
    ...point,
    elapsedNs: Math.max(point.elapsedNs - callsNs, nsPerByte * point.requestBytes),
  }));
}
