/** Running text and lists of names in so many columns of a terminal. Room `report`. */

const GAP = '  ';

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

const ASCII: Readonly<Record<string, string>> = {
  '±': '+-',
  '×': 'x',
  '·': '*',
  '−': '-',
  '–': '-',
  '—': '-',
  '’': "'",
  '“': '"',
  '”': '"',
  '…': '...',
  '≈': '~',
  '²': '^2',
  µ: 'u',
};

/** hwcrypt's own words for a terminal that shows nothing but ASCII. Letters of other languages stay. */
export function inAscii(text: string): string {
  return text.replace(/[±×·−–—’“”…≈²µ]/g, (c) => ASCII[c] ?? c);
}
