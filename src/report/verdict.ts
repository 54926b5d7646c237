/**
 * What a comparison comes to, in words: who is faster at which sizes, by how much, and what that costs in CPU time.
 *
 * Room `report`. Every sentence is true of measured sizes, or says that it is an estimate. Doubts are not repeated here (`comparisonNotes`).
 */
import {
  type Crossing,
  isUntold,
  type LeftOutReason,
  most,
  type Pair,
  type RatioAt,
  type Series,
  type SubjectComparison,
} from '../bench/comparison/index.js';
import type { DoubtCode } from '../bench/model.js';
import { percent, requestSize, roughSize, times } from './units.js';

/** What a series is called in a sentence; by default its label. */
export type Naming = (series: Series) => string;

export interface Verdict {
  /** Who is faster, from which size on, and by how much. */
  readonly headline: string;
  /** How sure the size is, and CPU time: a sentence each. */
  readonly details: readonly string[];
}

export function verdict(original: Pair, name: Naming = ({ label }) => label): Verdict {
  const pair = named(original, name);
  const { crossover, ratios } = pair;
  const details = [...certainty(pair), ...cpuTime(pair), ...printed(pair), ...doubtful(pair)];
  switch (crossover.kind) {
    case 'crosses':
      return { headline: crosses(pair, crossover.crossings[0]!), details };
    case 'several':
      return { headline: several(pair), details };
    case 'always-faster':
    case 'never-faster':
      return { headline: throughout(pair), details };
    case 'even':
      return { headline: even(pair), details };
    default:
      return { headline: ratios.length === 0 ? nothing(pair) : oneSize(pair, ratios[0]!), details };
  }
}

/** As one text: the headline, then the details, with full stops. */
export function verdictText(pair: Pair): string {
  return verdictTextNaming(pair, ({ label }) => label);
}

/** The same, with other names for the two. */
export function verdictTextNaming(pair: Pair, name: Naming): string {
  const { headline, details } = verdict(pair, name);
  return [headline, ...details].map((sentence) => `${sentence}.`).join(' ');
}

/** Why series are compared with another baseline than the rest of their subject. */
export function apartText(
  { apartFrom, baseline, pairs }: SubjectComparison,
  name: Naming = ({ label }) => label,
): string | undefined {
  if (!apartFrom || !baseline || pairs.length === 0) return undefined;
  const [has, is] = pairs.length === 1 ? ['has', 'is'] : ['have', 'are'];
  const sizes = new Set(apartFrom.points.map(({ requestBytes }) => requestBytes));
  const one = pairs.some(({ other }) => other.points.some(({ requestBytes }) => sizes.has(requestBytes)));
  const others = list(pairs.map(({ other }) => name(other)));
  return `${others} ${has} ${one ? 'one size at most' : 'no size'} in common with ${name(apartFrom)}, and ${is} compared with ${name(baseline)}.`;
}

function named(pair: Pair, name: Naming): Pair {
  const [baseline, other] = [pair.baseline, pair.other].map((own) => ({ ...own, label: name(own) })) as [
    Series,
    Series,
  ];
  return { ...pair, baseline, other };
}

const both = ({ baseline, other }: Pair): string => `${baseline.label} and ${other.label}`;

function span(ratios: readonly RatioAt[]): string {
  return `${requestSize(ratios[0]!.requestBytes)} to ${requestSize(ratios.at(-1)!.requestBytes)}`;
}

/** How far from 1, whichever way. */
const apart = ({ ratio }: RatioAt): number => Math.max(ratio, 1 / ratio);

function widest(ratios: readonly RatioAt[]): number {
  return most(ratios.map(apart)) - 1;
}

const leader = ({ baseline, other }: Pair, { ratio }: RatioAt): Series => (ratio > 1 ? other : baseline);

/** `mtk-aes is 15.5x as fast`; `they are even`. */
function lead(pair: Pair, at: RatioAt): string {
  if (isUntold(at)) return 'they cannot be told apart';
  return at.outcome === 'even' ? 'they are even' : `${leader(pair, at).label} is ${times(apart(at))} as fast`;
}

const WIDE = 'the rounds spread too widely';

/** `even with it at 16 B`, `not to be told apart from it at 64 B (the rounds spread too widely)`; at which sizes, or at `others`. */
function evenWith(ratios: readonly RatioAt[], others?: string): string {
  const even = ratios.filter((at) => at.outcome === 'even' && !isUntold(at));
  const untold = ratios.filter(isUntold);
  const where = (own: readonly RatioAt[]): string =>
    own.length === even.length + untold.length && others !== undefined
      ? others
      : list(own.map(({ requestBytes }) => requestSize(requestBytes)));
  return [
    ...(even.length > 0 ? [`even with it at ${where(even)}`] : []),
    ...(untold.length > 0 ? [`not to be told apart from it at ${where(untold)} (${WIDE})`] : []),
  ].join(', and ');
}

function crosses(pair: Pair, crossing: Crossing): string {
  const { baseline, other, ratios } = pair;
  const [below, above] = crossing.above === 'faster' ? [baseline, other] : [other, baseline];
  const [first, last] = [ratios[0]!, ratios.at(-1)!];
  return (
    `Below about ${roughSize(crossing.estimateBytes)} ${below.label} is faster, above it ${above.label}: ` +
    `at ${requestSize(first.requestBytes)} ${lead(pair, first)}, ` +
    `at ${requestSize(last.requestBytes)} ${lead(pair, last)}${frees(pair, last)}`
  );
}

function several(pair: Pair): string {
  const { crossings } = pair.crossover;
  const places = crossings.map(({ between }) => range(between));
  const best = (of: RatioAt['outcome']): RatioAt =>
    pair.ratios.filter(({ outcome }) => outcome === of).reduce((a, b) => (apart(b) > apart(a) ? b : a));
  const [up, down] = [best('faster'), best('slower')];
  return (
    `${both(pair)} take turns: the lead changes ${crossings.length} times, between ${places.join(', between ')}; ` +
    `at most ${lead(pair, up)} (${requestSize(up.requestBytes)}), ${lead(pair, down)} (${requestSize(down.requestBytes)})`
  );
}

function throughout(pair: Pair): string {
  const { ratios, crossover } = pair;
  const led = ratios.filter(({ outcome }) => outcome !== 'even');
  const ahead = leader(pair, led[0]!);
  const behind = (ahead === pair.other ? pair.baseline : pair.other).label;
  const [first, last] = [led[0]!, led.at(-1)!];
  const how =
    led.length === 1
      ? `${times(apart(first))} as fast at ${requestSize(first.requestBytes)}`
      : `${times(apart(first))} as fast at ${requestSize(first.requestBytes)}, ${times(apart(last))} at ${requestSize(last.requestBytes)}`;
  const where =
    crossover.evenAt.length === 0
      ? `is faster than ${behind} at every size, ${span(ratios)}`
      : led.length === 1
        ? `is faster than ${behind} at one size only, and ${evenWith(ratios, 'the others')}`
        : `is never slower than ${behind}, and ${evenWith(ratios)}`;
  return `${ahead.label} ${where}: ${how}${ahead === leader(pair, last) ? frees(pair, last) : ''}`;
}

function even(pair: Pair): string {
  const most = widest(pair.ratios);
  const sizes = span(pair.ratios);
  if (pair.ratios.some(isUntold))
    return `${both(pair)} cannot be told apart, ${sizes}: up to ${times(1 + most)}, but ${WIDE}`;
  return most < 0.0005
    ? `${both(pair)} have the same figures at all sizes, ${sizes}`
    : `${both(pair)} are even at all sizes, ${sizes}: never more than ${percent(most)} apart`;
}

function oneSize(pair: Pair, at: RatioAt): string {
  const size = requestSize(at.requestBytes);
  if (isUntold(at)) return `${both(pair)} cannot be told apart at ${size} (${times(at.ratio)}): ${WIDE}`;
  if (at.outcome === 'even') {
    const exact = Math.abs(at.ratio - 1) < 0.005 ? '' : ` (${times(at.ratio)})`;
    return `${both(pair)} are even at ${size}${exact}`;
  }
  const ahead = leader(pair, at);
  const behind = ahead === pair.other ? pair.baseline : pair.other;
  return `${ahead.label} is ${times(apart(at))} as fast as ${behind.label} at ${size}${frees(pair, at)}`;
}

const LEFT_OUT: Readonly<Record<LeftOutReason, string>> = {
  FAILED: 'it failed',
  UNAVAILABLE: 'it is not available there',
  NO_ELAPSED_FIGURE: 'its figures were divided by CPU time, and nothing tells the elapsed time',
  SIZE_UNKNOWN: 'its request sizes are not known',
  NO_FIGURE: 'it has no figure above nought',
};

/** Why there is not a single ratio. */
function nothing({ baseline, other }: Pair): string {
  const reasons = [...new Set(other.leftOut.map(({ reason }) => LEFT_OUT[reason]))];
  if (other.points.length === 0) return `${other.label} has nothing to compare: ${reasons.join('; ')}`;
  const sizes = ({ points }: Series): string =>
    points.length > 6
      ? `${requestSize(points[0]!.requestBytes)} to ${requestSize(points.at(-1)!.requestBytes)}`
      : list(points.map(({ requestBytes }) => requestSize(requestBytes)));
  return `No size in common: ${baseline.label} has ${sizes(baseline)}, ${other.label} ${sizes(other)}`;
}

/** How well the crossover is known. */
function certainty(pair: Pair): string[] {
  const { crossover, ratios, other, baseline } = pair;
  if (crossover.kind === 'crosses') {
    const [{ between, surelyBetween, estimateBy }] = crossover.crossings as [Crossing];
    const wide = surelyBetween[0] !== between[0] || surelyBetween[1] !== between[1];
    const even = crossover.evenAt.filter((size) => size >= surelyBetween[0] && size <= surelyBetween[1]);
    const untold = ratios.some((at) => even.includes(at.requestBytes) && isUntold(at));
    const are = untold ? 'cannot be told apart' : 'are even';
    const how = `the size is an estimate ${estimateBy === 'fit' ? 'from the fits' : 'by interpolation'}`;
    return [
      `The lead changes between ${range(between)}; ${how}${
        wide || even.length > 0
          ? `, and since the two ${are} at ${list(even.map(requestSize))} it may be anywhere between ${range(surelyBetween)}`
          : ''
      }`,
    ];
  }
  const { extrapolatedBytes } = crossover;
  if (extrapolatedBytes === undefined || crossover.kind === 'unknown') return [];
  const behind = crossover.kind === 'always-faster' ? baseline : other;
  const side = extrapolatedBytes < ratios[0]!.requestBytes ? 'below' : 'above';
  return [
    `By the fits ${behind.label} would lead ${side} about ${roughSize(extrapolatedBytes)}, where nothing was measured`,
  ];
}

/** `, and frees the CPU` behind a lead at a size, where that is so. */
function frees(pair: Pair, { requestBytes, ratio, outcome }: RatioAt): string {
  // Nobody leads, so nobody is the subject of the sentence.
  if (outcome === 'even') return '';
  const at = pair.cpu.find((own) => own.requestBytes === requestBytes);
  if (at?.scope !== 'user+system') return '';
  const [ahead, behind] =
    ratio > 1 ? [at.otherNsPerByte, at.baselineNsPerByte] : [at.baselineNsPerByte, at.otherNsPerByte];
  const freed = 1 - ahead / behind;
  if (!(freed >= 0.1)) return '';
  return freed >= 0.75
    ? ` and frees the CPU (${less(freed)} less CPU time)`
    : ` and takes ${less(freed)} less CPU time`;
}

/** What the headline does not say of CPU time: that the slower takes less of it, or the faster more. */
function cpuTime(pair: Pair): string[] {
  const at = pair.cpu.at(-1);
  const last = at && pair.ratios.find(({ requestBytes }) => requestBytes === at.requestBytes);
  if (!at || !last || Math.abs(at.freed) < 0.1) return [];
  const size = requestSize(at.requestBytes);
  const [thrifty, share] =
    at.freed > 0 ? [pair.other, at.freed] : [pair.baseline, 1 - at.baselineNsPerByte / at.otherNsPerByte];
  if (at.scope === 'user') {
    return share < 0.5
      ? []
      : [
          `At ${size} the process itself takes ${less(share)} less CPU time with ${thrifty.label}; what the kernel takes is not known`,
        ];
  }
  if (frees(pair, last) !== '' && last === pair.ratios.at(-1) && pair.crossover.kind !== 'several') return [];
  if (thrifty === leader(pair, last) && last.outcome !== 'even')
    return [`At ${size} ${thrifty.label} takes ${less(share)} less CPU time`];
  return [
    last.outcome === 'even'
      ? `At ${size} ${thrifty.label} takes ${less(share)} less CPU time for the same work`
      : `Though slower at ${size}, ${thrifty.label} takes ${less(share)} less CPU time for the same work`,
  ];
}

/** What the printed figures would say, where they say something else. */
function printed({ baseline, other, ratios, doubts }: Pair): string[] {
  const at = ratios.findLast(
    ({ ratio, claimedRatio }) =>
      claimedRatio !== undefined && Math.abs(Math.log(claimedRatio / ratio)) > Math.log(1.25),
  );
  const overstated = ratios.at(-1);
  const out: string[] = [];
  if (at) {
    const byCpu = doubts.some(({ doubt }) => doubt.code === 'CPU_TIME_DIVISOR');
    const ahead = at.claimedRatio! > 1 ? other : baseline;
    const printed = Math.max(at.claimedRatio!, 1 / at.claimedRatio!);
    out.push(
      `By the printed figures ${ahead.label} would be ${times(printed)} as fast at ${requestSize(at.requestBytes)}${byCpu ? ', which were divided by CPU time' : ''}`,
    );
  }
  if (overstated?.correctedRatio !== undefined) {
    const { ratio, correctedRatio } = overstated;
    if (Math.abs(Math.log(correctedRatio / ratio)) > Math.log(1.03)) {
      const [from, to] = ratio > 1 ? [ratio, correctedRatio] : [1 / ratio, 1 / correctedRatio];
      out.push(`Without what the tool is known to count too much, ${times(to)} instead of ${times(from)}`);
    }
  }
  return out;
}

/** Doubts on which the verdict itself hangs. The others are notes. */
function doubtful({ baseline, other, ratios, doubts }: Pair): string[] {
  const out: string[] = [];
  const of = (code: DoubtCode, say: (label: string, sizes: string) => string): void => {
    for (const { side, doubt, sizes } of doubts) {
      if (doubt.code !== code) continue;
      const { label } = side === 'baseline' ? baseline : other;
      const where =
        sizes.length > 1 && sizes.length === ratios.length ? 'every size' : list(sizes.map(requestSize));
      out.push(say(label, where));
    }
  };
  of(
    'WRONG_OUTPUT',
    (label, sizes) => `${label} gave wrong output at ${sizes}: its figures there mean nothing`,
  );
  of('NOISY', (label, sizes) => `The rounds of ${label} spread widely at ${sizes}`);
  of('FEW_REQUESTS', (label, sizes) => `${label} made very few requests at ${sizes}`);
  of(
    'ENGINE_NOT_LOADED',
    (label) => `The engine that ${label} asked for was not loaded: this is software on the CPU`,
  );
  of('BASIS_UNKNOWN', (label) => `Whether ${label} divided by elapsed or by CPU time is not known`);
  of(
    'INTERFACE_ONLY',
    (label) => `${label} is the NULL cipher: what the interface costs, with no cryptography`,
  );
  const open = [baseline, other].filter(({ operationOpen }) => operationOpen);
  if (open.length === 2) out.push('Neither says which operation it measured');
  else for (const { label } of open) out.push(`${label} does not say which operation it measured`);
  return out;
}

/** Nearly all is not all. */
function less(share: number): string {
  return share > 0.995 ? 'over 99 %' : percent(share);
}

/** `64 and 256 B`, `512 B and 1 KiB`. */
function range([low, high]: readonly [number, number]): string {
  const [from, to] = [requestSize(low), requestSize(high)];
  const [, unit] = to.split(' ');
  return from.endsWith(` ${unit}`) ? `${from.split(' ')[0]} and ${to}` : `${from} and ${to}`;
}

function list(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}
