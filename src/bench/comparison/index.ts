/**
 * Results compared: the same thing, done by different implementations, machines or versions.
 *
 * Part of the room `bench`; imports nothing but the result model. Pure: result sets in, facts out. Words for people are made in `report`.
 * Whatever a comparison says rests on sizes that both sides measured; what is estimated is called an estimate.
 */
import type { Doubt, ResultSet } from '../model.js';
import { type Crossover, crossover, type RatioAt, ratios } from './crossover.js';
import { type Fit, fitLine } from './fit.js';
import { type Group, type Point, type Series, type SeriesOptions, type Subject, seriesOf } from './series.js';

export {
  type Crossing,
  type Crossover,
  type CrossoverReason,
  crossover,
  DEFAULT_TOLERANCE,
  isUntold,
  type RatioAt,
  ratios,
} from './crossover.js';
export { type Fit, type FitProblem, fitLine, type Line, predictNs } from './fit.js';
export { compareKdfs, type KdfComparison, type KdfRow } from './kdf.js';
export { setLabels } from './labels.js';
export { least, most } from './numbers.js';
export {
  type CpuCost,
  type Group,
  type LeftOut,
  type LeftOutReason,
  type Point,
  type Series,
  type SeriesOptions,
  type Subject,
  seriesOf,
} from './series.js';

export interface CompareOptions extends SeriesOptions {
  /** Which series the others are compared with: the first of a subject that this holds for. Otherwise the first with figures. */
  readonly baseline?: (series: Series) => boolean;
}

/** One subject, and each series against the baseline. Series that share no size with it, or a single one, are compared with each other in another one. */
export interface SubjectComparison {
  readonly subject: Subject;
  /** Absent where no series has a figure. */
  readonly baseline?: Series;
  /** The subject's baseline proper, where the series here have no size in common with it, or a single one, and more with each other. */
  readonly apartFrom?: Series;
  /** All of them, the baseline among them, in the order of the sets. */
  readonly series: readonly Series[];
  /** For each of `series`. */
  readonly fits: readonly Fit[];
  /** For each series but the baseline. */
  readonly pairs: readonly Pair[];
}

export interface Pair {
  readonly baseline: Series;
  readonly other: Series;
  /** At the sizes that both have. */
  readonly ratios: readonly RatioAt[];
  readonly crossover: Crossover;
  /** At the sizes where both know their CPU time in the same scope. */
  readonly cpu: readonly CpuAt[];
  /** What the ratios stand on: doubts about either side at the common sizes. */
  readonly doubts: readonly PairDoubt[];
}

export interface CpuAt {
  readonly requestBytes: number;
  /** CPU nanoseconds for each byte. */
  readonly baselineNsPerByte: number;
  readonly otherNsPerByte: number;
  /** Share of the baseline's CPU time that the other does not need: 0.9 is ninety percent; negative where it needs more. */
  readonly freed: number;
  /** `user`: without what the kernel spent, of which the text says nothing. */
  readonly scope: 'user+system' | 'user';
}

export interface PairDoubt {
  readonly side: 'baseline' | 'other';
  /** That of the largest size it applies to. */
  readonly doubt: Doubt;
  readonly sizes: readonly number[];
}

/**
 * Compares everything in the sets that can be compared. A subject that only one series has is there too, without pairs; one whose series do not
 * all have sizes in common with its baseline is there several times, each time with another baseline.
 */
export function compare(sets: readonly ResultSet[], options: CompareOptions = {}): SubjectComparison[] {
  return seriesOf(sets, options).flatMap((group) => compareGroup(group, options.baseline));
}

function compareGroup(
  { subject, series }: Group,
  isBaseline: (series: Series) => boolean = () => false,
): SubjectComparison[] {
  const withFigures = series.filter(({ points }) => points.length > 0);
  // Those that were asked for come first wherever a baseline is needed.
  const ranked = [...withFigures.filter(isBaseline), ...withFigures.filter((own) => !isBaseline(own))];
  const [baseline] = ranked;
  const bases = baseline ? localBaselines(baseline, ranked) : new Map<Series, Series>();
  const comparison = (own: readonly Series[], base?: Series, apartFrom?: Series): SubjectComparison => ({
    subject,
    ...(base ? { baseline: base } : {}),
    ...(apartFrom ? { apartFrom } : {}),
    series: own,
    fits: own.map(({ points }) => fitLine(points)),
    pairs: base ? own.filter((one) => one !== base).map((other) => pair(base, other)) : [],
  });
  return [
    comparison(
      series.filter((own) => !bases.has(own) || common(baseline!, own) > 0),
      baseline,
    ),
    ...[...new Set(bases.values())].map((base) =>
      comparison(
        series.filter((own) => own === base || bases.get(own) === base),
        base,
        baseline,
      ),
    ),
  ];
}

/**
 * For series that have no size in common with the baseline, or a single one: the earlier one of these that they have most in common with.
 * Where there is none, one that is compared with the baseline itself. A series that has nobody is not in the map; the baseline has it, and it is
 * said there that they have nothing in common.
 */
function localBaselines(baseline: Series, ranked: readonly Series[]): Map<Series, Series> {
  const others = ranked.filter((own) => own !== baseline);
  const before: Series[] = [];
  const out = new Map<Series, Series>();
  for (const own of others) {
    const known = common(baseline, own);
    if (known > 1) continue;
    let [base, shared]: [Series | undefined, number] = [undefined, known];
    for (const one of before) if (common(one, own) > shared) [base, shared] = [one, common(one, own)];
    if (base) out.set(own, base);
    before.push(own);
  }
  const led = new Set(out.values());
  for (const own of before) {
    if (out.has(own) || led.has(own) || common(baseline, own) > 0) continue;
    const base = others.find((one) => one !== own && common(baseline, one) > 0 && common(one, own) > 0);
    if (base) out.set(own, base);
  }
  return out;
}

/** How many sizes both have. */
function common(one: Series, other: Series): number {
  const sizes = new Set(one.points.map(({ requestBytes }) => requestBytes));
  return other.points.filter(({ requestBytes }) => sizes.has(requestBytes)).length;
}

function pair(baseline: Series, other: Series): Pair {
  const both = ratios(baseline, other);
  return {
    baseline,
    other,
    ratios: both,
    crossover: crossover(baseline, other),
    cpu: both.flatMap(cpuAt),
    doubts: [
      ...doubtsAt(
        'baseline',
        both.map((at) => at.baseline),
      ),
      ...doubtsAt(
        'other',
        both.map((at) => at.other),
      ),
    ],
  };
}

function cpuAt({ requestBytes, baseline, other }: RatioAt): CpuAt[] {
  if (!baseline.cpu || !other.cpu || baseline.cpu.scope !== other.cpu.scope) return [];
  const freed = 1 - other.cpu.nsPerByte / baseline.cpu.nsPerByte;
  if (!Number.isFinite(freed)) return [];
  return [
    {
      requestBytes,
      baselineNsPerByte: baseline.cpu.nsPerByte,
      otherNsPerByte: other.cpu.nsPerByte,
      freed,
      scope: baseline.cpu.scope,
    },
  ];
}

function doubtsAt(side: PairDoubt['side'], points: readonly Point[]): PairDoubt[] {
  const out = new Map<string, { side: PairDoubt['side']; doubt: Doubt; sizes: number[] }>();
  for (const { requestBytes, doubts } of points) {
    for (const doubt of doubts) {
      const sizes = out.get(doubt.code)?.sizes ?? [];
      sizes.push(requestBytes);
      out.set(doubt.code, { side, doubt, sizes });
    }
  }
  return [...out.values()];
}
