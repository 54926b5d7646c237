/** From which size on one series is faster than another. */
import { type Fit, fitLine } from './fit.js';
import type { Point, Series } from './series.js';

/** Both at one size. A ratio above 1 means that the other series is faster than the baseline. */
export interface RatioAt {
  readonly requestBytes: number;
  readonly baseline: Point;
  readonly other: Point;
  /** Elapsed figures, other over baseline. */
  readonly ratio: number;
  /** By what the tools printed (the elapsed figure where one printed none); only where that is another ratio. */
  readonly claimedRatio?: number;
  /** Without the tools' flaws that can be worked out, on both sides. */
  readonly correctedRatio?: number;
  /** Ratios nearer to 1 than this share are even. */
  readonly tolerance: number;
  /** Is the other faster, slower, or neither within the tolerance? */
  readonly outcome: 'faster' | 'slower' | 'even';
  /** One of the two figures rests on a nominal duration. */
  readonly estimated: boolean;
}

/** A place where the lead changes. */
export interface Crossing {
  /** Two sizes that both measured; the ratio is on different sides of 1 at them. */
  readonly between: readonly [number, number];
  /** Who leads above. */
  readonly above: 'faster' | 'slower';
  /** Where the ratio is 1, by estimate: of the fits where both hold and meet in between, else by interpolation. Nobody measured it. */
  readonly estimateBytes: number;
  readonly estimateBy: 'fit' | 'interpolation';
  /** The nearest sizes at which one leads by more than the tolerance: the crossing is surely in there. As `between`, or wider. */
  readonly surelyBetween: readonly [number, number];
}

export type CrossoverReason =
  /** There is no size that both measured. */
  | 'NO_COMMON_SIZE'
  /** There is one; a ratio, and no course. */
  | 'ONE_COMMON_SIZE';

export interface Crossover {
  /**
   * `crosses`: once. `several`: more than once. `always-faster`, `never-faster`: the other, at each common size but those where it is even
   * with the baseline. `even`: at all of them. `unknown`: see `reason`.
   */
  readonly kind: 'crosses' | 'several' | 'always-faster' | 'never-faster' | 'even' | 'unknown';
  readonly crossings: readonly Crossing[];
  /** Sizes at which neither leads by more than the tolerance. */
  readonly evenAt: readonly number[];
  readonly reason?: CrossoverReason;
  /**
   * Where the lines of the two fits would meet, outside of what was measured and at most 64 times away from it. With `always-faster` and
   * `never-faster` only, and only where the lines differ by more than twice their errors.
   */
  readonly extrapolatedBytes?: number;
}

/** What repetitions of a measurement usually differ by, for texts that do not say. */
export const DEFAULT_TOLERANCE = 0.05;
const LEAST_TOLERANCE = 0.01;
/** Whose rounds are further apart has told nothing. */
const MOST_TOLERANCE = 10;
/** How far beyond the measured sizes the fits are believed. */
const REACH = 64;

/** Not ahead by more than the rounds are apart, and yet by more than what is called even: the figures do not tell. */
export function isUntold({ outcome, ratio }: RatioAt): boolean {
  return outcome === 'even' && Math.abs(Math.log(ratio)) > Math.log1p(DEFAULT_TOLERANCE);
}

/** Ratios at the sizes that both have, by size; nothing is interpolated. */
export function ratios(baseline: Pick<Series, 'points'>, other: Pick<Series, 'points'>): RatioAt[] {
  const bySize = new Map(other.points.map((point) => [point.requestBytes, point]));
  return baseline.points.flatMap((own) => {
    const point = bySize.get(own.requestBytes);
    return point ? [ratioAt(own, point)] : [];
  });
}

function ratioAt(baseline: Point, other: Point): RatioAt {
  const ratio = other.bytesPerSecond / baseline.bytesPerSecond;
  const printed = (point: Point): number => point.claimedBytesPerSecond ?? point.bytesPerSecond;
  const claimed = printed(other) / printed(baseline);
  const corrected =
    (other.correctedBytesPerSecond ?? other.bytesPerSecond) /
    (baseline.correctedBytesPerSecond ?? baseline.bytesPerSecond);
  const spread = (point: Point): number => Math.min(point.spread ?? DEFAULT_TOLERANCE, MOST_TOLERANCE);
  const tolerance = Math.max(LEAST_TOLERANCE, (spread(baseline) + spread(other)) / 2);
  const far = Math.abs(Math.log(ratio)) > Math.log1p(tolerance);
  return {
    requestBytes: baseline.requestBytes,
    baseline,
    other,
    ratio,
    ...(claimed !== ratio && Number.isFinite(claimed) ? { claimedRatio: claimed } : {}),
    ...(corrected !== ratio && Number.isFinite(corrected) ? { correctedRatio: corrected } : {}),
    tolerance,
    outcome: far ? (ratio > 1 ? 'faster' : 'slower') : 'even',
    estimated: baseline.estimated || other.estimated,
  };
}

export function crossover(baseline: Pick<Series, 'points'>, other: Pick<Series, 'points'>): Crossover {
  const common = ratios(baseline, other);
  const evenAt = common.filter(({ outcome }) => outcome === 'even').map(({ requestBytes }) => requestBytes);
  const none = { crossings: [], evenAt };
  if (common.length === 0) return { kind: 'unknown', ...none, reason: 'NO_COMMON_SIZE' };
  if (common.length === 1) return { kind: 'unknown', ...none, reason: 'ONE_COMMON_SIZE' };
  const fits = [fitLine(baseline.points), fitLine(other.points)] as const;
  const led = common.flatMap(({ outcome }, index) => (outcome === 'even' ? [] : [index]));
  if (led.length === 0) return { kind: 'even', ...none };
  const crossings: Crossing[] = [];
  for (const [n, upper] of led.entries()) {
    const lower = led[n - 1];
    if (lower === undefined || common[lower]!.outcome === common[upper]!.outcome) continue;
    crossings.push(crossing(common.slice(lower, upper + 1), fits));
  }
  if (crossings.length > 0)
    return { kind: crossings.length === 1 ? 'crosses' : 'several', crossings, evenAt };
  const meet = meeting(fits);
  const sizes = common.map(({ requestBytes }) => requestBytes);
  const outside =
    meet?.sure === true &&
    ((meet.bytes < sizes[0]! && meet.bytes > sizes[0]! / REACH) ||
      (meet.bytes > sizes.at(-1)! && meet.bytes < sizes.at(-1)! * REACH));
  return {
    kind: common[led[0]!]!.outcome === 'faster' ? 'always-faster' : 'never-faster',
    ...none,
    ...(outside ? { extrapolatedBytes: meet.bytes } : {}),
  };
}

/** @param stretch from a size where one leads to the next where the other does, and what is even in between */
function crossing(stretch: readonly RatioAt[], fits: readonly [Fit, Fit]): Crossing {
  const changes = stretch
    .slice(1)
    .flatMap(({ ratio }, i) => (ratio >= 1 !== stretch[i]!.ratio >= 1 ? [i] : []));
  // Where the ratio goes to and fro around 1 within the noise, all that is known is the whole stretch.
  const [low, high] =
    changes.length === 1
      ? [stretch[changes[0]!]!, stretch[changes[0]! + 1]!]
      : [stretch[0]!, stretch.at(-1)!];
  const between = [low.requestBytes, high.requestBytes] as const;
  const met = meeting(fits)?.bytes;
  const byFit = met !== undefined && met >= between[0] && met <= between[1];
  return {
    between,
    above: high.ratio >= 1 ? 'faster' : 'slower',
    estimateBytes: byFit ? met : interpolate(low, high),
    estimateBy: byFit ? 'fit' : 'interpolation',
    surelyBetween: [stretch[0]!.requestBytes, stretch.at(-1)!.requestBytes],
  };
}

/** The size where the ratio is 1 on a straight line between the two, both axes logarithmic. */
function interpolate(low: RatioAt, high: RatioAt): number {
  const [from, to] = [Math.log(low.ratio), Math.log(high.ratio)];
  const [least, most] = [low.requestBytes, high.requestBytes];
  const bytes = least * (most / least) ** (from / (from - to));
  return Math.min(most, Math.max(least, bytes));
}

/** Where two lines meet, at a positive size. */
function meeting([one, other]: readonly [Fit, Fit]): { bytes: number; sure: boolean } | undefined {
  const [a, b] = [one.line, other.line];
  if (!a || !b || one.problem || other.problem) return undefined;
  const slope = a.nsPerByte - b.nsPerByte;
  const fixed = b.fixedNs - a.fixedNs;
  const bytes = fixed / slope;
  // Less than a byte is no size of anything.
  if (!(bytes >= 1 && Number.isFinite(bytes))) return undefined;
  const sure =
    Math.abs(slope) > 2 * Math.hypot(a.nsPerByteError, b.nsPerByteError) &&
    Math.abs(fixed) > 2 * Math.hypot(a.fixedNsError, b.fixedNsError);
  return { bytes, sure };
}
