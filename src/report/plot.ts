/**
 * A small plot of throughput by request size, both axes logarithmic, for a terminal.
 *
 * Room `report`. Letters are what was measured, `*` where two coincide; the dots between them lead the eye and are no figures. There is no
 * colour in it.
 */
import { createRequire } from 'node:module';
import type plotFunction from 'simple-ascii-chart';
import { least, most } from '../bench/comparison/index.js';
import { requestSize } from './units.js';

export interface Curve {
  /** One character: what stands at the points. */
  readonly letter: string;
  readonly points: readonly { readonly requestBytes: number; readonly bytesPerSecond: number }[];
}

export interface PlotOptions {
  /** All of the plot, its labels included. Nothing is drawn in fewer than 30. */
  readonly columns: number;
  /** Draw with ASCII alone. */
  readonly ascii: boolean;
}

const ROWS = 12;
const LEAST_COLUMNS = 30;
const MOST_COLUMNS = 76;
/** Of the labels on the left, with the axis. */
const MARGIN = 10;
/** The least that the axis of rates spans. */
const LEAST_DECADES = 0.5;

const ASCII_AXIS = {
  n: '|',
  ns: '|',
  y: '+',
  nse: '+',
  x: '+',
  we: '-',
  e: '-',
  intersectionXY: '+',
  intersectionX: '-',
  intersectionY: '|',
};

/** More than these cannot be told apart in so few rows and columns. */
const MOST_CURVES = 8;
const MOST_SIZES = 100;

/** Lines of text, or nothing where there is nothing to draw: fewer than two sizes, no room, or more than can be told apart. */
export function throughputPlot(curves: readonly Curve[], { columns, ascii }: PlotOptions): string {
  const drawn = curves.filter(({ points }) => points.length > 0);
  const sizes = [...new Set(drawn.flatMap(({ points }) => points.map(({ requestBytes }) => requestBytes)))];
  if (sizes.length < 2 || sizes.length > MOST_SIZES || drawn.length > MOST_CURVES) return '';
  if (columns < LEAST_COLUMNS) return '';
  const width = Math.min(columns, MOST_COLUMNS) - MARGIN;
  const marks = drawn.map(({ points }) =>
    points.map(({ requestBytes, bytesPerSecond }): [number, number] => [
      Math.log2(requestBytes),
      Math.log10(bytesPerSecond / 1e6),
    ]),
  );
  const xs = sizes.map((size) => Math.log2(size)).sort((a, b) => a - b);
  const [left, right] = [xs[0]!, xs.at(-1)!];
  const rates = marks.flat().map(([, y]) => y);
  const [lowest, highest] = [least(rates), most(rates)];
  // A little air above and below, and more around curves that are all but flat.
  const air = Math.max(0.04 * (highest - lowest), (LEAST_DECADES - (highest - lowest)) / 2);
  const [low, high] = [lowest - air, highest + air];
  const ticks = yTicks(low, high);
  // The library joins points with lines of its own, which for curves that cross cannot be told apart.
  const between = marks.map((list) => dots(list, (right - left) / width));
  const letters = new Map<string, string>();
  for (const [i, list] of marks.entries()) {
    const { letter } = drawn[i]!;
    for (const point of list) letters.set(String(point), letters.has(String(point)) ? '*' : letter);
  }
  const taken = new Map<string, string>();
  const mark = (x: number, y: number, cell: string): string | undefined => {
    const letter = letters.get(String([x, y]));
    if (letter === undefined) return undefined;
    const before = taken.get(cell) ?? letter;
    taken.set(cell, before);
    return before === letter ? letter : '*';
  };
  const text = chart()([...between.filter((list) => list.length > 0), ...marks], {
    width,
    height: ROWS,
    yRange: [low, high],
    customXAxisTicks: xTicks(xs, width),
    customYAxisTicks: ticks,
    formatter: (value, { axis }) =>
      axis === 'x' ? requestSize(Math.round(2 ** value)) : String(Number((10 ** value).toPrecision(2))),
    lineFormatter: ({ x, y, plotX, plotY }) => ({
      x: plotX,
      y: plotY,
      symbol: mark(x, y, String([plotX, plotY])) ?? (ascii ? '.' : '·'),
    }),
    ...(ascii ? { symbols: { axis: ASCII_AXIS } } : {}),
  });
  const lines = text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
  return `${['MB/s', ...lines].join('\n')}\n`;
}

/** Loaded where something is drawn. */
function chart(): typeof plotFunction {
  const loaded = createRequire(import.meta.url)('simple-ascii-chart') as {
    readonly default?: typeof plotFunction;
  };
  return loaded.default ?? (loaded as unknown as typeof plotFunction);
}

/** A point in each column between two that were measured. */
function dots(list: readonly [number, number][], columnWidth: number): [number, number][] {
  return list.slice(1).flatMap(([x, y], i) => {
    const [fromX, fromY] = list[i]!;
    const steps = Math.ceil((x - fromX) / columnWidth);
    return Array.from({ length: Math.max(0, steps - 1) }, (_, k): [number, number] => {
      const share = (k + 1) / steps;
      return [fromX + (x - fromX) * share, fromY + (y - fromY) * share];
    });
  });
}

/** Powers of ten in between, or where there are few also twice and five times those, as logarithms; at most six. */
function yTicks(low: number, high: number): number[] {
  let ticks: number[] = [];
  for (const digits of [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]]) {
    ticks = [];
    for (let decade = Math.floor(low); decade <= Math.ceil(high); decade++)
      for (const digit of digits) ticks.push(decade + Math.log10(digit));
    ticks = ticks.filter((tick) => tick >= low && tick <= high);
    if (ticks.length >= 3) break;
  }
  const step = Math.ceil(ticks.length / 6) || 1;
  return ticks.filter((_, i) => i % step === 0);
}

/** As many of the sizes as have room for their labels. */
function xTicks(xs: readonly number[], width: number): number[] {
  const wide = 9;
  const span = xs.at(-1)! - xs[0]!;
  const out: number[] = [];
  for (const x of xs) {
    const last = out.at(-1);
    if (last === undefined || ((x - last) / span) * width >= wide) out.push(x);
  }
  return out;
}
