/**
 * What a request of a size costs with each driver, by what was measured, and from which size on who is cheapest.
 *
 * A curve is the measured points with straight lines between them: t = a + b·n holds over a stretch and not over all sizes, since a
 * driver splits long requests, copies short ones, and leaves its caches. Pure; imports nothing.
 */

/** One request of a size: the median over the rounds of a measurement, or the fastest where they were disturbed. */
export interface CostPoint {
  readonly requestBytes: number;
  /** From the call to its return, by the monotonic clock. With several in flight: elapsed time over requests done. */
  readonly elapsedNs: number;
  /** User and system time of the process. What an engine does costs none. */
  readonly cpuNs: number;
}

/** By size, smallest first, each size once. */
export type CostCurve = readonly CostPoint[];

export type CostMeasure = 'elapsedNs' | 'cpuNs';

/** t = fixedNs + nsPerByte · n, which is close to the points of a curve from one size to another. For people; nothing is decided by it. */
export interface CostLine {
  readonly fromBytes: number;
  readonly toBytes: number;
  readonly fixedNs: number;
  readonly nsPerByte: number;
}

/** From so many bytes on the curve of this index is the cheapest. */
export interface Border {
  readonly fromBytes: number;
  readonly index: number;
}

/** What is gained by a change of driver has to be more than this share somewhere: less is the measurement's own noise. */
export const NOISE_SHARE = 0.02;
/** Beyond the measured sizes a border is believed up to so many times the largest of them. */
const REACH = 64;

/**
 * Nanoseconds that a request of so many bytes costs. Between two points by the line through them, beyond the ends by the line of the
 * last two; there a line that falls with the size is noise and goes on level. Never negative. One point tells of no slope: its cost is
 * that of all sizes. Infinity for a curve without points, which nobody can choose then.
 */
export function predict(curve: CostCurve, requestBytes: number, by: CostMeasure): number {
  const last = curve.length - 1;
  if (last < 0) return Number.POSITIVE_INFINITY;
  if (last === 0) return curve[0]![by];
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (curve[middle]!.requestBytes <= requestBytes) low = middle;
    else high = middle;
  }
  const [from, to] = [curve[low]!, curve[high]!];
  const slope = (to[by] - from[by]) / (to.requestBytes - from.requestBytes);
  if (requestBytes <= from.requestBytes)
    return Math.max(0, from[by] - Math.max(0, slope) * (from.requestBytes - requestBytes));
  if (requestBytes >= to.requestBytes) return to[by] + Math.max(0, slope) * (requestBytes - to.requestBytes);
  return from[by] + slope * (requestBytes - from.requestBytes);
}

/** Bytes a second that requests of this size come to, one after the other. */
export function throughput(curve: CostCurve, requestBytes: number): number {
  return (requestBytes * 1e9) / predict(curve, requestBytes, 'elapsedNs');
}

/**
 * Who is cheapest from which size on: the first border is at 0 bytes, and the one before the next larger size counts. Nowhere does the
 * choice cost more than `NOISE_SHARE` above the cheapest. Of all such choices it is one with the fewest borders, of these the one that prefers
 * the curves that come first, and its borders lie where the curves meet.
 *
 * @param curves in order of preference; undefined (or without points) for who is not to be chosen
 * @returns empty where nobody can be chosen
 */
export function borders(curves: readonly (CostCurve | undefined)[], by: CostMeasure): Border[] {
  const known = curves.flatMap((curve, index) => (curve && curve.length > 0 ? [{ curve, index }] : []));
  if (known.length === 0) return [];
  const edges = edgesOf(
    known.map(({ curve }) => curve),
    by,
  );
  const costs = edges.map((bytes) => known.map(({ curve }) => predict(curve, bytes, by)));
  const chosen = cheapestWay(
    edges.slice(1).map((to, i) => excesses(edges[i]!, to, costs[i]!, costs[i + 1]!)),
  );
  const result: Border[] = [];
  for (const [i, at] of chosen.entries()) {
    const { index } = known[at]!;
    if (result.at(-1)?.index === index) continue;
    const fromBytes = i === 0 ? 0 : Math.ceil(edges[i]!);
    // Two that meet within a byte: whoever had less than that has nothing.
    if (result.length > 0 && result.at(-1)!.fromBytes === fromBytes) result.pop();
    if (result.at(-1)?.index !== index) result.push({ fromBytes, index });
  }
  return result;
}

/** The index of whoever is to do a request of so many bytes; -1 where there are no borders. Called for every request. */
export function pick(borders: readonly Border[], requestBytes: number): number {
  let at = borders.length - 1;
  while (at > 0 && borders[at]!.fromBytes > requestBytes) at--;
  return at < 0 ? -1 : borders[at]!.index;
}

/** Sizes between which every curve is one straight line, and no two of them cross. */
function edgesOf(curves: readonly CostCurve[], by: CostMeasure): number[] {
  const least = Math.min(...curves.map((curve) => curve[0]!.requestBytes));
  const most = REACH * Math.max(...curves.map((curve) => curve.at(-1)!.requestBytes));
  const bends = new Set([least, most]);
  for (const curve of curves) {
    for (const { requestBytes } of curve) bends.add(requestBytes);
    // Where the line below the first point comes to nothing, it goes on level.
    const [first, second] = curve;
    if (second === undefined) continue;
    const slope = (second[by] - first![by]) / (second.requestBytes - first!.requestBytes);
    const nothing = first!.requestBytes - first![by] / slope;
    if (nothing > least && nothing < first!.requestBytes) bends.add(nothing);
  }
  const sizes = ascending(bends);
  const edges = new Set(sizes);
  for (const [i, to] of sizes.entries()) {
    if (i === 0) continue;
    const from = sizes[i - 1]!;
    const ends = curves.map((curve) => [predict(curve, from, by), predict(curve, to, by)] as const);
    for (const [n, one] of ends.entries()) {
      for (const other of ends.slice(n + 1)) {
        const [before, after] = [one[0] - other[0], one[1] - other[1]];
        if (before * after >= 0) continue;
        edges.add(from + ((to - from) * before) / (before - after));
      }
    }
  }
  return ascending(edges);
}

const ascending = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b);

/** How much dearer than the cheapest a curve is between two edges. */
interface Excess {
  /** As a share, at the worse end. */
  readonly most: number;
  /** Over the stretch, whose width is taken as the sizes' ratio: 16 to 32 bytes counts as much as 16 to 32 KiB. */
  readonly sum: number;
}

/** For each curve, of what all cost at either end: the ratio of two lines is monotone, so the ends tell all. */
function excesses(from: number, to: number, start: readonly number[], end: readonly number[]): Excess[] {
  const [startLeast, endLeast] = [Math.min(...start), Math.min(...end)];
  // Below a nanosecond all cost alike.
  const share = (own: number, least: number): number => (own - least) / Math.max(least, 1);
  const width = Math.log((to + 1) / (from + 1));
  return start.map((cost, i) => {
    const [before, after] = [share(cost, startLeast), share(end[i]!, endLeast)];
    return { most: Math.max(before, after), sum: ((before + after) / 2) * width };
  });
}

interface Way {
  readonly borders: number;
  /** Positions of those chosen, one for each stretch, added up. */
  readonly order: number;
  readonly sum: number;
  readonly before: Way | undefined;
  readonly at: number;
}

function better(one: Way, other: Way | undefined): boolean {
  if (other === undefined || one.borders !== other.borders) return one.borders < (other?.borders ?? Infinity);
  return one.order !== other.order ? one.order < other.order : one.sum < other.sum;
}

/** One choice for each cell, found from the first to the last by the best way to each choice. */
function cheapestWay(cells: readonly (readonly Excess[])[]): number[] {
  let ways: (Way | undefined)[] = [];
  for (const [i, cell] of cells.entries()) {
    // Where edges lie so close that they are not told apart, nobody may be the cheapest at both.
    const tolerated = Math.max(NOISE_SHARE, Math.min(...cell.map(({ most }) => most)));
    const next: (Way | undefined)[] = cell.map(({ most, sum }, at) => {
      if (most > tolerated) return undefined;
      if (i === 0) return { borders: 0, order: at, sum, before: undefined, at };
      let best: Way | undefined;
      for (const way of ways) {
        if (way === undefined) continue;
        const stays = way.at === at;
        const one: Way = {
          borders: way.borders + (stays ? 0 : 1),
          order: way.order + (stays ? 0 : at),
          sum: way.sum + sum,
          before: way,
          at,
        };
        if (better(one, best)) best = one;
      }
      return best;
    });
    ways = next;
  }
  let way: Way | undefined;
  for (const one of ways) if (one && better(one, way)) way = one;
  const chosen: number[] = [];
  for (; way !== undefined; way = way.before) chosen.unshift(way.at);
  return chosen;
}
