/**
 * Plain tables.
 *
 * Room `report`. They are read in 80 columns, in a pipe, in a forum's code block: no lines of box characters, no colours,
 * nothing cut off. Only the last column is wrapped, and only for a terminal. (cli-table3 was tried: it draws boxes or,
 * told not to, pads every line; it needs widths to wrap at all; and it costs 10 ms of start-up.)
 */

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

const GAP = '  ';

/** Columns as wide as they need, the last wrapped into what remains of `width` where that is given. */
export function table(
  titles: readonly Column[],
  rows: readonly (readonly string[])[],
  width?: number,
): string {
  const widths = titles.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const last = titles.length - 1;
  const used = widths.slice(0, last).reduce((sum, w) => sum + w + GAP.length, 0);
  const room = width === undefined ? undefined : Math.max(24, width - used);
  const line = (cells: readonly string[]): string =>
    titles
      .map(({ align }, i) => {
        const cell = cells[i] ?? '';
        return align === 'right' ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number);
      })
      .join(GAP)
      .trimEnd();
  const lines = [line(titles.map(({ title }) => title))];
  for (const row of rows) {
    const [first = '', ...rest] = room === undefined ? [row[last] ?? ''] : wrap(row[last] ?? '', room);
    lines.push(line([...row.slice(0, last), first]));
    for (const more of rest) lines.push(line([...titles.slice(0, last).map(() => ''), more]));
  }
  return `${lines.join('\n')}\n`;
}

/** Words put into lines of at most `columns`; a longer word stays whole. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of text.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > columns) {
      lines.push(current);
      current = word;
    } else {
      current = current === '' ? word : `${current} ${word}`;
    }
  }
  lines.push(current);
  return lines;
}

/** Names in as many columns as fit, row by row. */
export function columns(names: readonly string[], width: number): string {
  const cell = Math.max(1, ...names.map((name) => name.length)) + GAP.length;
  const perRow = Math.max(1, Math.floor((width + GAP.length) / cell));
  let text = '';
  for (let i = 0; i < names.length; i += perRow) {
    text += `${names
      .slice(i, i + perRow)
      .map((name) => name.padEnd(cell))
      .join('')
      .trimEnd()}\n`;
  }
  return text;
}
