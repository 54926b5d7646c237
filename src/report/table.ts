/**
 * Plain tables.
 *
 * Room `report`. They are read in 80 columns, in a pipe, in a forum's code block: no lines of box characters, no colours,
 * nothing cut off. Only the last column is wrapped, and only where a width is given. By hand, since that is all there is to it: a
 * table library took 40 µs a cell and 10 ms to load, a fifth of what `list` may take.
 */
import { wrap } from './text.js';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

const GAP = 2;
/** A last column narrower than this is no use: the line runs over instead. */
const LEAST_WRAPPED = 24;

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
  const room = width === undefined ? Number.POSITIVE_INFINITY : Math.max(LEAST_WRAPPED, width - used);
  const line = (cells: readonly string[]): string =>
    titles
      .map(({ align }, i) => {
        const cell = cells[i] ?? '';
        const wide = i === last ? Math.min(widths[i]!, room) : widths[i]!;
        return align === 'right' ? cell.padStart(wide) : cell.padEnd(wide);
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  const lines = [line(titles.map(({ title }) => title))];
  for (const row of rows) {
    const [first = '', ...more] = wrap(row[last] ?? '', room);
    lines.push(line([...row.slice(0, last), first]));
    for (const rest of more) lines.push(line([...row.slice(0, last).map(() => ''), rest]));
  }
  return `${lines.join('\n')}\n`;
}
