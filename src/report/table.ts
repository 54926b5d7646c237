/**
 * Plain tables.
 *
 * Room `report`. They are read in 80 columns, in a pipe, in a forum's code block: no lines of box characters, no colours,
 * nothing cut off. Only the last column is wrapped, and only for a terminal.
 */
import { createRequire } from 'node:module';
import type CliTable from 'cli-table3';

/** Loaded when something has to be wrapped: 10 ms that a pipe need not wait for. */
let loaded: typeof CliTable | undefined;
function library(): typeof CliTable {
  loaded ??= createRequire(import.meta.url)('cli-table3') as typeof CliTable;
  return loaded;
}

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

const GAP = 2;
/** A last column narrower than this is no use: the line runs over instead. */
const LEAST_WRAPPED = 24;

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid', 'middle']
    .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .map((part) => [part, '']),
);

/** Columns as wide as they need, the last wrapped into what remains of `width` where that is given. */
export function table(
  titles: readonly Column[],
  rows: readonly (readonly string[])[],
  width?: number,
): string {
  const last = titles.length - 1;
  const widths = titles.map(({ title }, i) =>
    // Not as arguments: rows may be too many for that.
    rows.reduce((most, row) => Math.max(most, (row[i] ?? '').length), title.length),
  );
  const used = widths.slice(0, last).reduce((sum, wide) => sum + wide + GAP, 0);
  // The library takes some 40 µs a cell, which for the matrix of algorithms is as much as loading everything else.
  if (width === undefined || used + widths[last]! <= width) return padded(titles, rows, widths);
  // The library cuts a cell off that is wider than its column, so a column is as wide as its longest word.
  const longestWord = Math.max(
    ...rows.flatMap((row) => (row[last] ?? '').split(' ').map((word) => word.length)),
    0,
  );
  const room = Math.max(LEAST_WRAPPED, width - used, longestWord);
  const Table = library();
  const out = new Table({
    head: titles.map(({ title }) => title),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
    colAligns: titles.map(({ align }) => align ?? 'left'),
    colWidths: titles.map((_, i) => (i === last ? room + GAP : null)),
    wordWrap: true,
  });
  for (const row of rows) out.push(titles.map((_, i) => row[i] ?? ''));
  return `${out.toString().replace(/ +$/gm, '')}\n`;
}

/** The same where nothing is wrapped. */
function padded(
  titles: readonly Column[],
  rows: readonly (readonly string[])[],
  widths: readonly number[],
): string {
  const line = (cells: readonly string[]): string =>
    titles
      .map(({ align }, i) => {
        const cell = cells[i] ?? '';
        const wide = widths[i] as number;
        return align === 'right' ? cell.padStart(wide) : cell.padEnd(wide);
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  return `${[titles.map(({ title }) => title), ...rows].map(line).join('\n')}\n`;
}
