/** What the parts of a comparison's text have in common: who has which letter, how a figure looks, how a paragraph is wrapped. Room `report`. */
import {
  isUntold,
  type LeftOutReason,
  most,
  type Point,
  type RatioAt,
  type Series,
  type SubjectComparison,
} from '../../bench/comparison/index.js';
import { type Column, table } from '../table.js';
import { wrap } from '../text.js';
import { threeFigures } from '../units.js';
import { apartText, verdictTextNaming } from '../verdict.js';

export interface Context {
  /** For each label. */
  readonly letters: ReadonlyMap<string, string>;
  readonly columns: number;
  readonly ascii: boolean;
  readonly plot: boolean;
}

/** `aes-128-cbc, encryption`. */
export function subjectHeading({ subject, series }: SubjectComparison): string {
  const { algorithm, algorithmText, operation, keyBits } = subject;
  const name = algorithm ?? `${algorithmText}${keyBits === undefined ? '' : ` ${keyBits} bits`}`;
  const what = { encrypt: ', encryption', decrypt: ', decryption', 'cipher+mac': ' with a MAC' } as const;
  if (operation === undefined) {
    return series.some(({ points }) =>
      points.some(({ doubts }) => doubts.some(({ code }) => code === 'OPERATION_UNKNOWN')),
    )
      ? `${name}, direction not said`
      : name;
  }
  return `${name}${what[operation as keyof typeof what] ?? ''}`;
}

/** With the baseline, where it is not the subject's. */
export function fullHeading(own: SubjectComparison): string {
  const { apartFrom, baseline } = own;
  return `${subjectHeading(own)}${apartFrom && baseline ? `, beside ${baseline.label}` : ''}`;
}

export function heading(own: SubjectComparison): string {
  const text = fullHeading(own);
  return `${text}\n${'-'.repeat(text.length)}`;
}

/** A longer label makes a sentence hard to read: its letter stands for it. */
const LONGEST_NAME = 20;

export function verdicts(own: SubjectComparison, { columns, letters }: Context): string {
  const { pairs } = own;
  const letter = ({ label }: Series): string => letters.get(label)!;
  const name = (series: Series): string =>
    series.label.length > LONGEST_NAME ? letter(series) : series.label;
  const why = apartText(own, name);
  const sentences = pairs
    .map((pair) => {
      const text = verdictTextNaming(pair, name);
      return pairs.length === 1
        ? paragraph(text, columns)
        : hanging(`${letter(pair.other)}/${letter(pair.baseline)}: `, text, columns, 5);
    })
    .join('');
  return `${why === undefined ? '' : paragraph(why, columns)}${sentences}`;
}

/** `aes-128-cbc (encryption, decryption), aes-256-xts (encryption)`. */
export function grouped(names: readonly string[]): string {
  const by = new Map<string, string[]>();
  for (const name of names) {
    const [algorithm = '', what] = name.split(', ');
    by.set(algorithm, [...(by.get(algorithm) ?? []), ...(what === undefined ? [] : [what])]);
  }
  return [...by]
    .map(([algorithm, what]) => (what.length === 0 ? algorithm : `${algorithm} (${what.join(', ')})`))
    .join(', ');
}

export interface Cells {
  readonly title: string;
  readonly cells: readonly string[];
  readonly align?: 'left';
  /** What a tool printed, beside what is true. */
  readonly printed?: true;
}

const GAP = 2;

function width(columns: readonly Cells[]): number {
  return columns.reduce(
    (sum, { title, cells }) => sum + GAP + most([title.length, ...cells.map((cell) => cell.length)]),
    -GAP,
  );
}

/**
 * Columns side by side, as many of the `others` as there is room for; the rest in tables below, each with the `first` columns again. In a narrow
 * terminal what was printed is left out.
 */
export function inTables(
  first: readonly Cells[],
  others: readonly (readonly Cells[])[],
  columns: number,
): string {
  const tables: string[] = [];
  for (let from = 0; from < others.length; ) {
    let count = 1;
    const whole = (n: number): Cells[] => [...first, ...others.slice(from, from + n).flat()];
    const narrow = width(whole(1)) > columns;
    const chosen = (n: number): Cells[] => (narrow ? whole(n).filter(({ printed }) => !printed) : whole(n));
    while (from + count < others.length && width(chosen(count + 1)) <= columns) count++;
    tables.push(tableOf(chosen(count)));
    from += count;
  }
  return tables.join('\n');
}

function tableOf(columns: readonly Cells[]): string {
  const titles = columns.map(({ title, align }): Column => ({ title, align: align ?? 'right' }));
  const rows = columns[0]!.cells.map((_, i) => columns.map(({ cells }) => cells[i]!));
  return table(titles, rows);
}

export const LEFT_OUT: Readonly<Record<LeftOutReason, string>> = {
  FAILED: 'failed',
  UNAVAILABLE: 'n/a',
  NO_ELAPSED_FIGURE: 'unknown',
  SIZE_UNKNOWN: '-',
  NO_FIGURE: '-',
};

export const rateCell = ({ bytesPerSecond, estimated }: Point): string =>
  `${estimated ? '~' : ''}${threeFigures(bytesPerSecond / 1e6)}`;

export function ratioCell(at: RatioAt | undefined): string {
  return at === undefined
    ? '-'
    : `${ratioText(at.ratio)}${isUntold(at) ? '?' : at.outcome === 'even' ? '=' : 'x'}`;
}

/** Two decimals, and two figures of what is too small or too large for that. */
export function ratioText(ratio: number): string {
  if (ratio < 0.095 || ratio >= 1e7) return threeFigures(Number(ratio.toPrecision(2)));
  return ratio.toFixed(ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0);
}

export function paragraph(text: string, columns: number): string {
  return hanging('', text, columns, 0);
}

/** Words behind a mark; the lines after the first are indented. A number stays beside its unit. */
export function hanging(mark: string, text: string, columns: number, indent: number): string {
  const bound = `${mark}${text}`.replace(BOUND, '\u00a0');
  return `${wrap(bound, columns - indent)
    .join(`\n${' '.repeat(indent)}`)
    .replaceAll('\u00a0', ' ')}\n`;
}

const BOUND = /(?<=\d) (?=(?:B|KiB|MiB|GiB|%|ns|us|ms|MB\/s)(?![\w/]))|(?<=±) (?=\d)|(?<=^\w{1,3} ?) (?=\S)/g;
