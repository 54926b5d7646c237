/** What happens to a table between the terminal and us: each form must give the figures of the untouched one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importResults } from '#src/interop/index.js';
import { claims, only, SIZES, text } from './fixtures.js';

const WHOLE = text('openssl-crlf.txt').replaceAll('\r', '');
const TABLE = WHOLE.trimEnd().split('\n').slice(-4).join('\n');
const FIGURES = [982378.06, 1239585.54, 1287466.24, 1282021.38, 1308450.82, 1306738.69];
const ROW = TABLE.split('\n').at(-1)!;
const CELLS = [
  ['type', '16 bytes', '64 bytes', '256 bytes', '1024 bytes', '8192 bytes', '16384 bytes'],
  ROW.split(/ +/),
];

/** A terminal of this width, or an editor that breaks where the line ends. */
function hardWrap(whole: string, width: number): string {
  const pieces = (line: string): string[] => line.match(new RegExp(`.{1,${width}}`, 'g')) ?? [''];
  return whole.split('\n').flatMap(pieces).join('\n');
}

/** A mail client, which breaks between words. */
function wordWrap(whole: string, width: number): string {
  const wrap = (line: string): string[] => {
    const out = [''];
    for (const word of line.split(/(?<= )/)) {
      if (out.at(-1) !== '' && (out.at(-1)! + word.trimEnd()).length > width) out.push(word.trimStart());
      else out.push(out.pop()! + word);
    }
    return out.map((piece) => piece.trimEnd());
  };
  return whole.split('\n').flatMap(wrap).join('\n');
}

function quotedPrintable(whole: string): string {
  const encode = (line: string): string => line.replaceAll('=', '=3D').replaceAll('’', '=E2=80=99');
  return whole
    .split('\n')
    .map((line) => (encode(line).match(/.{1,72}/g) ?? ['']).join('=\n'))
    .join('\n');
}

/** Thousands of a number before its decimals. */
const grouped = (mark: string): string =>
  TABLE.replace(/\d+(?=\.\d\dk)/g, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, mark));
const translated = (line: string): string =>
  WHOLE.replace(/Doing (\S+) for (\d+)s on (\d+) size blocks: (\d+) (\S+)'s in (\S+)s/g, line);

const FORMS: Record<string, string | Uint8Array> = {
  untouched: WHOLE,
  'UTF-16, little end first': Buffer.from(`\ufeff${WHOLE}`, 'utf16le'),
  'UTF-16, big end first': Buffer.from(`\ufeff${WHOLE}`, 'utf16le').swap16(),
  'UTF-16 taken for UTF-8': [...WHOLE].join('\0'),
  'carriage returns alone': WHOLE.replaceAll('\n', '\r'),
  'one line': WHOLE.replaceAll('\n', ' '),
  'one line, the table alone': TABLE.replaceAll('\n', ' '),
  'collapsed blanks': WHOLE.replace(/ +/g, ' '),
  'no blanks between values': TABLE.replace(/k +/g, 'k'),
  tabs: WHOLE.replace(/ {2,}/g, '\t'),
  indented: WHOLE.replace(/^/gm, '        '),
  'a list': WHOLE.replace(/^/gm, '* '),
  'no-break spaces': WHOLE.replaceAll(' ', '\u00a0'),
  'typographic quotes and dashes': WHOLE.replaceAll("'", '’').replaceAll('-', '–'),
  'Markdown escapes': WHOLE.replaceAll('-', '\\-').replaceAll('_', '\\_'),
  bold: WHOLE.replace(/(\d+)s/g, '**$1s**'),
  'Markdown table': CELLS.map((cells) => `| ${cells.join(' | ')} |`).join(
    '\n|---|---|---|---|---|---|---|\n',
  ),
  'a table with sizes by unit': `| Cipher | 16B | 64B | 256B | 1KB | 8KB | 16KB |\n| ${CELLS[1]!.join(' | ')} |`,
  'a header without units': `block size  16 64 256 1024 8192 16384\n${ROW}`,
  'comma-separated': CELLS.map((cells) => cells.join(',')).join('\n'),
  'numbered lines': WHOLE.split('\n')
    .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
    .join('\n'),
  'a forum’s marks': `[quote=x][code]${WHOLE.trimEnd()}[/code][/quote]`,
  'a label behind the name': TABLE.replace(/^(aes-\S+)/im, '$1 (caam)'),
  'semicolon-separated': CELLS.map((cells) => cells.join(';')).join('\n'),
  'HTML lines': `<p>${WHOLE.replaceAll('\n', '<br>\n')}</p>`,
  'HTML lines without line feeds': WHOLE.replaceAll('\n', '<br/>'),
  'HTML, preformatted': `<pre><code>${WHOLE}</code></pre>`,
  'HTML entities': WHOLE.replaceAll(' ', '&nbsp;').replaceAll("'", '&#39;'),
  'HTML table, a cell a line': `<table>\n${CELLS.map((cells) => `<tr>\n${cells.map((cell) => `  <td class="c">${cell}</td>`).join('\n')}\n</tr>`).join('\n')}\n</table>`,
  'HTML table, one line': `<table><tbody>${CELLS.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')}</tbody></table>`,
  'quoted-printable': quotedPrintable(WHOLE),
  'quoted twice in a mail': WHOLE.replace(/^/gm, '>> '),
  'quoted in part of a mail': `Hello,\nthis is what I get:\n${WHOLE.trimEnd().replace(/^/gm, '> ')}\nRegards`,
  'terminal colours': WHOLE.replaceAll('AES', '\u001b[1;31mAES\u001b[0m'),
  'time stamps of a log': WHOLE.replace(/^/gm, '2026-11-30T10:11:12.123Z '),
  'time stamps of the kernel': WHOLE.replace(/^/gm, '[   12.345678] '),
  'kernel lines between': WHOLE.replaceAll(
    '\nDoing',
    '\n[  123.456789] usb 1-1: new high-speed USB device\nDoing',
  ),
  'decimal commas': WHOLE.replace(/(\d)\.(\d\d)([sk])/g, '$1,$2$3'),
  'apostrophes for thousands': grouped("'"),
  'typographic apostrophes for thousands': grouped('’'),
  'commas for thousands': grouped(','),
  'k apart': WHOLE.replace(/(\d)k/g, '$1 k'),
  'k in capitals': WHOLE.replace(/(\d)k/g, '$1K'),
  'Arabic digits': WHOLE.replace(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit))).replaceAll(
    '.',
    '\u066b',
  ),
  'full-width colons': WHOLE.replaceAll(':', '：'),
  'French units': WHOLE.replaceAll('bytes', 'octets'),
  'German, by a browser': translated('Mache $1 für $2s mit Blöcken der Größe $3: $4 $5 in $6s')
    .replaceAll('bytes', 'Bytes')
    .replace('type', 'Typ'),
  'Chinese, by a browser': translated('在 $2秒 内对 $3 个大小的块执行 $1：$4 个 $5 在 $6 秒')
    .replace(/(\d+) bytes/g, '$1 字节')
    .replace('type', '类型'),
  'Chinese without blanks': translated('在$2秒内对$3个大小的块执行$1：$4个$5在$6秒')
    .replace(/(\d+) bytes/g, '$1字节')
    .replace('type', '类型'),
  'the lines of 3.2 and later': WHOLE.replace(/Doing (\S+) for/g, 'Doing $1 ops for').replaceAll(
    "'s in",
    ' ops in',
  ),
  'rows alone': ROW,
  'counts alone': WHOLE.split('\n')
    .filter((line) => line.startsWith('Doing'))
    .join('\n'),
  ...Object.fromEntries(
    [40, 50, 60, 66, 72, 79, 80, 90, 132].map((width) => [`cut at ${width}`, hardWrap(WHOLE, width)]),
  ),
  ...Object.fromEntries([40, 60, 72, 76, 80].map((width) => [`wrapped at ${width}`, wordWrap(WHOLE, width)])),
};

for (const [form, input] of Object.entries(FORMS)) {
  test(`openssl speed: ${form}`, () => {
    const { sets } = importResults(input);
    const set = only(sets);
    const run = only(set.runs);
    assert.deepEqual(claims(run), FIGURES);
    assert.deepEqual(
      run.measurements.map(({ requestBytes }) => requestBytes),
      SIZES,
    );
    assert.ok(
      run.measurements.every(({ algorithm, status }) => algorithm === 'aes-128-cbc' && status === 'ok'),
    );
    assert.deepEqual(set.skipped, []);
  });
}

const DISK = text('cryptsetup-collapsed.txt');
const expected = only(only(importResults(DISK).sets).runs);
const DISKS: Record<string, string | Uint8Array> = {
  'one line': DISK.replaceAll('\n', ' '),
  bold: DISK.replace(/^(.*MiB\/s.*)$/gm, '**$1**'),
  'decimal commas': DISK.replace(/(\d)\.(\d) MiB/g, '$1,$2 MiB'),
  'Markdown table': DISK.replace(/^(\S+-\S+) (\d+b) (\S+ MiB\/s) (\S+ MiB\/s)$/gm, '| $1 | $2 | $3 | $4 |'),
  'quoted, CRLF, no-break spaces': DISK.replace(/^/gm, '> ')
    .replaceAll(' ', '\u00a0')
    .replaceAll('\n', '\r\n'),
  'HTML lines': DISK.replaceAll('\n', '<br>'),
  'double spaced': DISK.replaceAll('\n', '\n\n'),
  'unit attached': DISK.replaceAll(' MiB/s', 'MiB/s'),
  'UTF-16': Buffer.from(`\ufeff${DISK}`, 'utf16le'),
};

for (const [form, input] of Object.entries(DISKS)) {
  test(`cryptsetup benchmark: ${form}`, () => {
    const run = only(only(importResults(input).sets).runs);
    const figures = (own: typeof run): unknown[] => [
      ...own.measurements.map(({ algorithm, operation, bytesPerSecond }) => [
        algorithm,
        operation,
        bytesPerSecond,
      ]),
      ...own.kdfs.map(({ algorithmText, iterationsPerSecond, memoryKiB }) => [
        algorithmText,
        iterationsPerSecond,
        memoryKiB,
      ]),
    ];
    assert.deepEqual(figures(run), figures(expected));
  });
}

const OTHERS = {
  'kcapi-pretty.txt': [2, (line: string): string => `| ${line.replaceAll('|', ' | ')} |`],
  'cryptodev-speed.txt': [8, (line: string): string => line.replace(/ {1,}/g, '\u00a0')],
} as const;

for (const [name, [count, change]] of Object.entries(OTHERS)) {
  test(`${name}: other blanks, bars, CRLF`, () => {
    const own = text(name);
    const changed = own.split('\n').map((line) => (/ops\/s|chunks of/.test(line) ? change(line) : line));
    const all = [own, changed.join('\r\n'), own.replace(/^/gm, '> ')].map((input) =>
      importResults(input).sets.flatMap((set) =>
        set.runs.flatMap(({ measurements }) => measurements.filter(({ status }) => status === 'ok')),
      ),
    );
    for (const measurements of all) {
      assert.equal(measurements.length, count);
      assert.deepEqual(
        measurements.map(({ bytesPerSecond }) => bytesPerSecond),
        all[0]!.map(({ bytesPerSecond }) => bytesPerSecond),
      );
    }
  });
}
