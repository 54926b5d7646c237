/**
 * The charts: lines on logarithmic scales over the request size, and bars where there is one size only.
 *
 * Room `report`. Each is drawn twice, for a page and for a phone, and the style sheet shows one of them: letters that are scaled down with the
 * picture could not be read.
 */

import { requestSize } from '../units.js';
import type { Canvas, Mark } from './canvas.js';
import { drawable } from './figures.js';
import { type Look, look } from './look.js';
import { type Html, html, shorten, visible } from './markup.js';

export interface Point {
  /** Request size. */
  readonly bytes: number;
  readonly value: number;
}

export interface Curve {
  readonly label: string;
  readonly look: Look;
  readonly points: readonly Point[];
  /** What the tool claims, where that is something else; drawn dashed, with hollow points. */
  readonly claimed?: readonly Point[];
  /** From 50 to 99 of 100 requests: a band around the line. */
  readonly band?: readonly { readonly bytes: number; readonly low: number; readonly high: number }[];
}

export interface LineChart {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly yTick: (value: number) => string;
  readonly curves: readonly Curve[];
  /** Sizes at which two curves cross. */
  readonly crossovers?: readonly { readonly bytes: number; readonly text: string }[];
}

interface Format {
  readonly className: string;
  readonly width: number;
  readonly height: number;
  /** A letter's width and a line's height, about: the library does not measure text. */
  readonly letter: number;
  readonly maxTicks: number;
}

const WIDE: Format = { className: 'chart wide', width: 760, height: 400, letter: 6.8, maxTicks: 12 };
const NARROW: Format = { className: 'chart narrow', width: 336, height: 290, letter: 6.4, maxTicks: 6 };

export function lineChart(canvas: Canvas, chart: LineChart): Html {
  return html`${[WIDE, NARROW].map((format) => drawLines(canvas, chart, format))}`;
}

/** Is there anything that can be drawn? */
export function hasPoints(curves: readonly Curve[]): boolean {
  return curves.some(({ points }) => points.some(isDrawable));
}

const isDrawable = ({ bytes, value }: Point): boolean => drawable(bytes) && drawable(value);

function drawLines({ plot, draw }: Canvas, chart: LineChart, format: Format): Html {
  const curves = chart.curves.map((curve) => ({
    ...curve,
    points: curve.points.filter(isDrawable),
    claimed: (curve.claimed ?? []).filter(isDrawable),
    band: (curve.band ?? []).filter(({ bytes, low, high }) => [bytes, low, high].every(drawable)),
  }));
  const all = curves.flatMap(({ points, claimed, band }) => [
    ...points,
    ...claimed,
    ...band.flatMap(({ bytes, low, high }) => [
      { bytes, value: low },
      { bytes, value: high },
    ]),
  ]);
  const x = spread(
    all.map(({ bytes }) => bytes),
    1.25,
  );
  const y = spread(
    all.map(({ value }) => value),
    1.35,
  );
  const xTicks = sizeTicks(all, format.maxTicks);
  const yTicks = decimalTicks(y);
  const crossovers = (chart.crossovers ?? []).filter(({ bytes }) => bytes > x[0] && bytes < x[1]);
  const at = { x: 'bytes', y: 'value' } as const;
  const marks: Mark[] = [
    plot.gridX({ ticks: xTicks, strokeOpacity: 1, stroke: 'var(--grid)' }),
    plot.gridY({ ticks: yTicks, strokeOpacity: 1, stroke: 'var(--grid)' }),
    plot.axisX({ ticks: xTicks, tickFormat: requestSize, tickSize: 0, label: null }),
    plot.axisY({ ticks: yTicks, tickFormat: chart.yTick, tickSize: 0, label: null }),
    ...crossovers.map(({ bytes }) =>
      plot.ruleX([bytes], {
        stroke: 'var(--mark)',
        strokeDasharray: '1 4',
        strokeLinecap: 'round',
        strokeWidth: 2,
      }),
    ),
    ...curves.map(({ band, look: { colour } }) =>
      plot.areaY(band, { x: 'bytes', y1: 'low', y2: 'high', fill: colour, fillOpacity: 0.15 }),
    ),
    ...curves.flatMap(({ claimed, look: { colour } }) => [
      plot.line(claimed, {
        ...at,
        stroke: colour,
        strokeWidth: 1,
        strokeDasharray: '1 4',
        strokeLinecap: 'round',
      }),
      plot.dot(claimed, { ...at, stroke: colour, fill: 'var(--page)', r: 3 }),
    ]),
    ...curves.flatMap(({ points, look: { colour, dash, symbol } }) => [
      plot.line(points, {
        ...at,
        stroke: colour,
        strokeWidth: 2,
        ...(dash ? { strokeDasharray: dash } : {}),
      }),
      plot.dot(points, { ...at, symbol, fill: colour, stroke: 'none', r: 4.5 }),
    ]),
    plot.text(crossovers, {
      x: 'bytes',
      text: 'text',
      frameAnchor: 'top',
      dy: -14,
      fill: 'currentColor',
      stroke: 'var(--page)',
      strokeWidth: 4,
    }),
  ];
  return draw(
    {
      width: format.width,
      height: format.height,
      marginTop: 26,
      marginRight: 24,
      marginBottom: 30,
      marginLeft: 14 + Math.max(...yTicks.map((value) => chart.yTick(value).length)) * format.letter,
      x: { type: 'log', base: 2, domain: x },
      y: { type: 'log', domain: y },
      marks,
    },
    labels(chart, format),
  );
}

function labels({ id, title, description }: Pick<LineChart, 'id' | 'title' | 'description'>, format: Format) {
  const suffix = format === WIDE ? 'w' : 'n';
  return { id: `${id}-${suffix}`, title, description, className: format.className };
}

/** From the least to the largest with some room around; one value alone gets room too. */
function spread(values: readonly number[], room: number): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const wider = low === high ? room * 2 : room;
  return [low / wider, high * wider];
}

/** 1, 2, 5, 10 …, or powers of ten where that would be too many. */
function decimalTicks([low, high]: readonly [number, number]): number[] {
  const ticks = (steps: readonly number[], stride: number): number[] => {
    const out: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      if (power % stride !== 0) continue;
      for (const step of steps) {
        const value = Number(`${step}e${power}`);
        if (value >= low && value <= high) out.push(value);
      }
    }
    return out;
  };
  for (const [steps, stride] of [
    [[1, 1.5, 2, 3, 5, 7], 1],
    [[1, 2, 5], 1],
    [[1, 3], 1],
    [[1], 1],
    [[1], 2],
    [[1], 3],
    [[1], 6],
  ] as const) {
    const found = ticks(steps, stride);
    if (found.length <= 8) return found.length > 0 ? found : [low];
  }
  return [low, high];
}

/** The sizes that were measured; every other of them, or every third, where there is no room for all. */
function sizeTicks(points: readonly Point[], most: number): number[] {
  const sizes = [...new Set(points.map(({ bytes }) => bytes))].sort((a, b) => a - b);
  // Sizes close to each other would be written over each other.
  const low = Math.log2(sizes[0] ?? 1);
  const high = Math.log2(sizes.at(-1) ?? 1);
  const apart = (high - low) / most;
  const out: number[] = [];
  for (const bytes of sizes) {
    const last = out.at(-1);
    if (last === undefined || Math.log2(bytes) - Math.log2(last) >= apart * 0.999) out.push(bytes);
  }
  return out;
}

export interface Bar {
  /** Which row: index into `groups`. */
  readonly group: number;
  /** Which series: has the look of this number. */
  readonly series: number;
  readonly value: number;
  readonly text: string;
}

export interface BarChart {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Names of the rows. */
  readonly groups: readonly string[];
  readonly bars: readonly Bar[];
}

export function barChart(canvas: Canvas, chart: BarChart): Html {
  return html`${[WIDE, NARROW].map((format) => drawBars(canvas, chart, format))}`;
}

function drawBars({ plot, draw }: Canvas, chart: BarChart, format: Format): Html {
  const bars = chart.bars.filter(({ value }) => value >= 0 && value <= 1e24);
  const most = format === WIDE ? 34 : 17;
  // By number, since two rows may have one name.
  const rows = [...new Set(bars.map(({ group }) => group))];
  const shown = new Map(rows.map((row) => [row, shorten(visible(chart.groups[row] ?? ''), most)]));
  const series = [...new Set(bars.map(({ series }) => series))].sort((a, b) => a - b);
  const margin = 14 + Math.max(...[...shown.values()].map((name) => name.length)) * format.letter;
  const right = 10 + Math.max(...bars.map(({ text }) => text.length)) * format.letter;
  const largest = Math.max(...bars.map(({ value }) => value));
  const barHeight = 16;
  const groupHeight = series.length * barHeight + 12;
  return draw(
    {
      width: format.width,
      height: rows.length * groupHeight + 8,
      marginTop: 4,
      marginBottom: 4,
      marginLeft: margin,
      marginRight: right,
      x: { domain: [0, largest > 0 ? largest : 1], axis: null },
      y: { domain: series, axis: null, padding: 0.1 },
      fy: { domain: rows, padding: 12 / groupHeight, label: null, axis: null },
      marks: [
        ...series.map((index) => {
          const { colour, fillOpacity } = look(index);
          return plot.barX(
            bars.filter((bar) => bar.series === index),
            { x: 'value', y: 'series', fy: 'group', fill: colour, fillOpacity, stroke: colour },
          );
        }),
        plot.text(bars, {
          x: 'value',
          y: 'series',
          fy: 'group',
          text: 'text',
          textAnchor: 'start',
          dx: 6,
          fill: 'currentColor',
        }),
        plot.ruleX([0], { stroke: 'currentColor' }),
        plot.axisFy({
          anchor: 'left',
          label: null,
          tickSize: 0,
          tickFormat: (row: number) => shown.get(row) ?? '',
        }),
      ],
    },
    labels(chart, format),
  );
}
