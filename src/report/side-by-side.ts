/**
 * Drivers side by side, as one session of measuring found them: rates, ratios, CPU time and interrupts by request size, who did the work,
 * and what it comes to in words.
 *
 * Room `report`. It stands below openssl's table or QEMU's, so its lines begin with `#`: whatever picks rows by their names goes on finding one.
 */
import { compare, type Series, type SubjectComparison } from '../bench/comparison/index.js';
import type { Measurement, ResultSet } from '../bench/model.js';
import { throughputPlot } from './plot.js';
import { type Column, table } from './table.js';
import { wrap } from './text.js';
import { requestSize, threeFigures, times } from './units.js';
import { verdictText } from './verdict.js';

const COLUMNS = 100;
/** Before every line but a plot's. */
const PREFIX = '# ';

export interface SideBySideOptions {
  /** Does the work leave the CPU? By the label of the run, and the algorithm. */
  hardware?(label: string, algorithm: string): 'yes' | 'no' | 'unknown' | undefined;
  /** Of the terminal; 100 for a pipe. */
  readonly columns?: number | undefined;
  /** A plot too, where several drivers have several sizes: in any characters, or in ASCII alone. */
  readonly plot?: 'unicode' | 'ascii' | undefined;
}

/** A section for each subject that anybody measured. */
export function sideBySide(set: ResultSet, options: SideBySideOptions = {}): string {
  return compare([set])
    .filter(({ series }) => series.some(({ points }) => points.length > 0))
    .map((comparison) => section(comparison, set, options))
    .join('\n');
}

/** What it comes to in words: a paragraph for each driver but the first. */
export function verdicts({ pairs }: SubjectComparison, width = COLUMNS): string {
  return pairs
    .filter(({ other }) => other.points.length > 0)
    .map((pair) => `${wrap(verdictText(pair), width).join('\n')}\n`)
    .join('');
}

function section(comparison: SubjectComparison, set: ResultSet, options: SideBySideOptions): string {
  const { columns = COLUMNS, plot } = options;
  const width = columns - PREFIX.length;
  const { subject } = comparison;
  const series = comparison.series.filter(({ points }) => points.length > 0);
  let names = series.map(({ label }) => label);
  let figures = figuresTable(comparison, series, names);
  const isWide = Math.max(...figures.split('\n').map((line) => line.length)) > width;
  const letters = series.map((_, i) => String.fromCharCode(65 + i));
  const curves = series.map(({ points }, i) => ({ letter: letters[i] as string, points }));
  const drawing =
    plot === undefined || series.length < 2
      ? ''
      : throughputPlot(curves, { columns, ascii: plot === 'ascii' });
  // A kernel driver's name is as long as three columns; and the curves have letters.
  if ((isWide || drawing !== '') && series.length > 1) {
    names = letters;
    figures = figuresTable(comparison, series, names);
  }
  const units = [
    'MB/s of 10^6 bytes, median of the rounds',
    ...(series.length > 1 ? [`ratio to ${names[0]}`] : []),
    'CPU seconds a GB',
    ...(series.some((own) => interruptsOf(own)) ? ['irq: interrupts of the engine'] : []),
    ...(figures.includes('!') ? ['! the rounds spread widely'] : []),
  ];
  const title = [subject.algorithmText, subject.operation].filter((word) => word !== undefined).join(', ');
  const above = [
    `${wrap(`${title}: ${units.join('; ')}`, width).join('\n')}\n`,
    figures,
    ...series.map((own, i) =>
      whoLine(own, names[i] === own.label ? own.label : `${names[i]} ${own.label}`, set, options, width),
    ),
  ];
  const below = [...absent(comparison, set, width), verdicts(comparison, width)];
  return [prefixed(above.join('')), drawing === '' ? '' : `\n${drawing}\n`, prefixed(below.join(''))].join(
    '',
  );
}

function prefixed(text: string): string {
  return text.replaceAll(/^(?=.)/gm, PREFIX);
}

function figuresTable(
  { pairs }: SubjectComparison,
  series: readonly Series[],
  names: readonly string[],
): string {
  const columns: Column[] = [{ title: 'request', align: 'right' }];
  for (const [i, own] of series.entries()) {
    columns.push({ title: names[i] as string, align: 'right' });
    if (i > 0) columns.push({ title: 'ratio', align: 'right' });
    columns.push({ title: 'CPU', align: 'right' });
    if (interruptsOf(own)) columns.push({ title: 'irq', align: 'right' });
  }
  const sizes = [...new Set(series.flatMap(({ points }) => points.map(({ requestBytes }) => requestBytes)))];
  const rows = sizes
    .sort((a, b) => a - b)
    .map((size) => [
      requestSize(size),
      ...series.flatMap((own, i) => {
        const point = own.points.find(({ requestBytes }) => requestBytes === size);
        const ratio = pairs
          .find(({ other }) => other === own)
          ?.ratios.find(({ requestBytes }) => requestBytes === size)?.ratio;
        return [
          point ? mark(threeFigures(point.bytesPerSecond / 1e6), point.measurement) : '-',
          ...(i > 0
            ? [ratio === undefined ? '-' : ratio < 0.1 ? `${threeFigures(ratio)}x` : times(ratio)]
            : []),
          point?.cpu ? threeFigures(point.cpu.nsPerByte) : '-',
          ...(interruptsOf(own) ? [String(point?.measurement.interrupts ?? '-')] : []),
        ];
      }),
    ]);
  return table(columns, rows);
}

function mark(figure: string, { doubts }: Measurement): string {
  return doubts.some(({ code }) => code === 'NOISY' || code === 'FEW_REQUESTS') ? `${figure}!` : figure;
}

/** Undefined where they are not counted. */
function interruptsOf({ points }: Series): number | undefined {
  const counts = points.flatMap(({ measurement: { interrupts } }) => interrupts ?? []);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}

/** `afalg: virtio_crypto_aes_cbc, hardware; 1234 interrupts of the engine`. */
function whoLine(
  series: Series,
  name: string,
  set: ResultSet,
  options: SideBySideOptions,
  width: number,
): string {
  const { run, kernelDriver, points, parallel } = series;
  const { algorithm = '' } = points[0]!.measurement;
  const hardware = options.hardware?.(set.runs[run]!.label, algorithm);
  const where = { yes: 'hardware', no: 'software on the CPU', unknown: 'hardware or not is unknown' };
  const interrupts = interruptsOf(series);
  const requests = points.reduce((sum, { measurement }) => sum + (measurement.requests ?? 0), 0);
  const parts = [
    kernelDriver,
    hardware && where[hardware],
    parallel === undefined ? undefined : `${parallel} requests in flight`,
    interrupts === undefined
      ? undefined
      : interrupts === 0
        ? 'no interrupt of an engine meanwhile'
        : `${interrupts} interrupts of the engine for ${requests} requests`,
  ].filter((part) => part !== undefined);
  // Of what holds for all algorithms nothing is left where there are figures.
  const notes = set.runs[run]!.notes.filter((note) => algorithm !== '' && note.startsWith(algorithm));
  const lines = [...(parts.length === 0 ? [] : [`${name}: ${parts.join('; ')}`]), ...notes];
  return lines.map((line) => `${wrap(line, width).join('\n')}\n`).join('');
}

/** Those that took part and have no figure. */
function absent({ series }: SubjectComparison, set: ResultSet, width: number): string[] {
  return series
    .filter(({ points }) => points.length === 0)
    .map(({ label, run, leftOut }) => {
      const wrong = leftOut.flatMap(({ measurement: { doubts } }) => doubts.map(({ text }) => text));
      const why = [...new Set([...wrong, ...set.runs[run]!.notes])].join('; ');
      return `${wrap(`${label}: no figure${why === '' ? '' : `: ${why}`}`, width).join('\n')}\n`;
    });
}
