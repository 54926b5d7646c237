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
  /** A thin line of the same kind: 90 of 100 requests. */
  readonly thin?: readonly Point[];
  /** A band around the lines: from 50 to 99 of 100 requests. */
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
}

const WIDE: Format = { className: 'chart wide', width: 860, height: 420 };
const NARROW: Format = { className: 'chart narrow', width: 336, height: 290 };

/** For half a label of the last size. */
const RIGHT = 24;
/** More of them are in the table and the words; lines on lines say nothing. */
const MOST_CROSSOVERS = 12;

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
    thin: (curve.thin ?? []).filter(isDrawable),
    band: (curve.band ?? []).filter(({ bytes, low, high }) => [bytes, low, high].every(drawable)),
  }));
  const all = curves.flatMap(({ points, claimed, thin, band }) => [
    ...points,
    ...thin,
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
  const yTicks = decimalTicks(y);
  const seen = new Set<string>();
  const crossovers = (chart.crossovers ?? [])
    .filter(({ bytes }) => bytes > x[0] && bytes < x[1])
    .filter(({ text }) => !seen.has(text) && seen.add(text))
    .slice(0, MOST_CROSSOVERS);
  const left = 14 + Math.max(...yTicks.map((value) => textWidth(chart.yTick(value))));
  const inner = format.width - left - RIGHT;
  const position = (bytes: number): number => left + (Math.log(bytes / x[0]) / Math.log(x[1] / x[0])) * inner;
  const xTicks = sizeTicks(all, position);
  const stack = stacked(crossovers, position);
  const rows = Math.max(1, ...stack.map(({ row }) => row + 1));
  const at = { x: 'bytes', y: 'value' } as const;
  const marks: Mark[] = [
    plot.gridX({ ticks: xTicks, strokeOpacity: 1, stroke: 'var(--grid)' }),
    plot.gridY({ ticks: yTicks, strokeOpacity: 1, stroke: 'var(--grid)' }),
    // Not `tickFormat`: a logarithmic scale leaves out some of what that gives.
    plot.axisX({ ticks: xTicks, text: xTicks.map(requestSize), tickSize: 0, label: null }),
    plot.axisY({ ticks: yTicks, text: yTicks.map(chart.yTick), tickSize: 0, label: null }),
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
    ...curves.flatMap(({ points, thin, look: { colour, dash, symbol } }) => [
      plot.line(thin, { ...at, stroke: colour, strokeWidth: 0.75 }),
      plot.line(points, {
        ...at,
        stroke: colour,
        strokeWidth: 2,
        ...(dash ? { strokeDasharray: dash } : {}),
      }),
      plot.dot(points, { ...at, symbol, fill: colour, stroke: 'none', r: 4.5 }),
    ]),
    // The place is the mark's own, so a row is a mark.
    ...Array.from({ length: rows }, (_, row) =>
      plot.text(
        stack.filter((label) => label.row === row),
        {
          x: 'bytes',
          text: 'text',
          frameAnchor: 'top',
          dy: -14 * (row + 1),
          fill: 'currentColor',
          stroke: 'var(--page)',
          strokeWidth: 4,
        },
      ),
    ),
  ];
  return draw(
    {
      width: format.width,
      height: format.height + 14 * (rows - 1),
      marginTop: 12 + 14 * rows,
      marginRight: RIGHT,
      marginBottom: 30,
      marginLeft: left,
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
  // Not `Math.min(...values)`: there may be more of them than a call takes.
  const low = values.reduce((least, value) => Math.min(least, value));
  const high = values.reduce((most, value) => Math.max(most, value));
  // Less of it where all lie close together: the room is for the points, not for nothing.
  const wider = low === high ? room * 2 : Math.max(1.04, Math.min(room, (high / low) ** 0.15));
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
    [[1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9], 1],
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

/** Pixels that a text takes in a wide typeface: there is nobody here who could measure it. */
function textWidth(text: string): number {
  let width = 0;
  for (const c of text)
    width += /[ .,:;'|ijl()-]/.test(c) ? 4.8 : /[a-z]/.test(c) ? 7.5 : /[A-Z0-9]/.test(c) ? 8.2 : 12;
  return width;
}

/** Labels above the frame, each in the lowest row in which it does not touch another. */
function stacked<T extends { readonly bytes: number; readonly text: string }>(
  labels: readonly T[],
  position: (bytes: number) => number,
): (T & { readonly row: number })[] {
  const ends: number[] = [];
  return [...labels]
    .sort((a, b) => a.bytes - b.bytes)
    .map((label) => {
      const half = textWidth(label.text) / 2 + 3;
      const at = position(label.bytes);
      const free = ends.findIndex((end) => end <= at - half);
      const row = free === -1 ? ends.length : free;
      ends[row] = at + half;
      return { ...label, row };
    });
}

/** The sizes that were measured, as far as there is room to write them. */
function sizeTicks(points: readonly Point[], position: (bytes: number) => number): number[] {
  const sizes = [...new Set(points.map(({ bytes }) => bytes))].sort((a, b) => a - b);
  let end = Number.NEGATIVE_INFINITY;
  return sizes.filter((bytes) => {
    const half = textWidth(requestSize(bytes)) / 2 + 3;
    const at = position(bytes);
    if (at - half < end) return false;
    end = at + half;
    return true;
  });
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
  /** `drawableBars`, one at least. */
  readonly bars: readonly Bar[];
}

export function barChart(canvas: Canvas, chart: BarChart): Html {
  return html`${[WIDE, NARROW].map((format) => drawBars(canvas, chart, format))}`;
}

/** A chart of more is not looked at; the table below has all of them. */
const MOST_ROWS = 60;
const MOST_SERIES = 24;

/** Those that can be drawn, in a chart that can be looked at; a chart needs one at least. */
export function drawableBars(bars: readonly Bar[]): Bar[] {
  const usable = bars.filter(({ value, series }) => value >= 0 && value <= 1e24 && series < MOST_SERIES);
  const rows = new Set([...new Set(usable.map(({ group }) => group))].slice(0, MOST_ROWS));
  return usable.filter(({ group }) => rows.has(group));
}

/** In words, for those who do not see it. */
export function describeBars(
  bars: readonly Bar[],
  groups: readonly string[],
  labels: readonly string[],
): string {
  return bars
    .map(({ group, series, text }) => `${shorten(groups[group]!)}, ${shorten(labels[series]!, 40)}: ${text}.`)
    .join(' ');
}

function drawBars({ plot, draw }: Canvas, chart: BarChart, format: Format): Html {
  const { bars } = chart;
  const rows = [...new Set(bars.map(({ group }) => group))];
  const most = format === WIDE ? 34 : 17;
  // By number, since two rows may have one name.
  const shown = new Map(rows.map((row) => [row, shorten(visible(chart.groups[row] ?? ''), most)]));
  const series = [...new Set(bars.map(({ series }) => series))].sort((a, b) => a - b);
  const margin = 14 + Math.max(...[...shown.values()].map(textWidth));
  const right = 10 + Math.max(...bars.map(({ text }) => textWidth(text)));
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
