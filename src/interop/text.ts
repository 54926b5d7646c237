/**
 * From what was pasted to lines that a parser can trust.
 *
 * A table that went through a mail client, a forum, a word processor or a web page keeps its numbers and loses its form. Here the ways
 * in which that happens are undone, once for all importers: byte order marks, CRLF, UTF-16, no-break spaces, typographic quotes and
 * dashes, other digits, control characters and terminal colours, mail quoting, quoted-printable, HTML and Markdown. Every line keeps the
 * number that it has in the text that came in.
 */
import { HwcryptError } from '../errors.js';

export interface Line {
  /** Counted from 1, in the text as it came in. */
  readonly number: number;
  /** Cleaned: one kind of space, straight quotes, ASCII digits, no control characters; blanks at both ends kept. */
  readonly text: string;
  /** How deep it was quoted in a mail (`> `). */
  readonly quote: number;
}

/** More than this is not a paste. */
export const MAX_INPUT = 64 * 1024 * 1024;
/** A longer line is no line of a benchmark, and is reported instead of parsed. */
export const MAX_LINE = 16 * 1024;

/** Text of a file in whatever Unicode encoding it announces, UTF-8 otherwise. */
export function decode(input: string | Uint8Array): string {
  if (typeof input === 'string') return input;
  const encoding =
    input[0] === 0xff && input[1] === 0xfe
      ? 'utf-16le'
      : input[0] === 0xfe && input[1] === 0xff
        ? 'utf-16be'
        : 'utf-8';
  if (encoding !== 'utf-8') return new TextDecoder(encoding).decode(input);
  // The same text as TextDecoder's, in a small part of its time where much of it is no UTF-8.
  const text = Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/**
 * The lines that hold anything, the first so many of them. Throws `INPUT_FILE` where the input is larger than `MAX_INPUT` bytes or characters, and never
 * otherwise.
 */
export function readLines(input: string | Uint8Array, most = Number.POSITIVE_INFINITY): Line[] {
  if (input.length > MAX_INPUT) {
    throw new HwcryptError('INPUT_FILE', `the text is larger than ${MAX_INPUT / 2 ** 20} MiB`);
  }
  let raw = splitLines(decode(input));
  if (isQuotedPrintable(raw)) raw = undoQuotedPrintable(raw);
  raw = undoLineNumbers(raw);
  if (raw.some(({ text }) => HTML_BLOCK.test(text))) raw = undoHtml(raw);
  const out: Line[] = [];
  for (const { number, text } of raw) {
    if (out.length >= most) break;
    const line = cleanLine(number, text);
    const parts = isLong(line) ? undoLostBreaks(line) : [line];
    for (const part of parts) if (part.text.trim() !== '') out.push(part);
  }
  return out;
}

interface RawLine {
  readonly number: number;
  readonly text: string;
}

/** Without those that hold nothing, of which a text may have millions. */
function splitLines(text: string): RawLine[] {
  const out: RawLine[] = [];
  const ends = /\r\n|[\n\r\u2028\u2029]/g;
  let from = 0;
  for (let number = 1; from < text.length; number++) {
    const end = ends.exec(text);
    const upTo = end?.index ?? text.length;
    if (upTo > from) out.push({ number, text: text.slice(from, upTo) });
    from = end ? ends.lastIndex : text.length;
  }
  return out;
}

/** `cat -n`, `less -N` and web pages put a number before each line: all have one, and words follow. `12:` is an interrupt's. */
function undoLineNumbers(lines: readonly RawLine[]): RawLine[] {
  const numbered = lines.filter(({ text }) => text.trim() !== '');
  if (numbered.length < 3) return [...lines];
  let last: number | undefined;
  for (const { text } of numbered) {
    const digits = /^ {0,8}(\d{1,6})(?:[.)|]|\t| )/.exec(text)?.[1];
    if (digits === undefined) return [...lines];
    const step: number = last === undefined ? 1 : Number(digits) - last;
    if (step < 1 || step > 5) return [...lines];
    last = Number(digits);
  }
  const words = numbered.filter(({ text }) => /^ {0,8}\d+[.)|\t ][ \t]*[^\d\s]/.test(text)).length;
  if (words * 2 < numbered.length) return [...lines];
  return lines.map(({ number, text }) => ({
    number,
    text: text.replace(/^ {0,8}\d{1,6}(?:[.)|]|\t| )[ \t]?/, ''),
  }));
}

/** Marks of forums around what was pasted: `[code]`, `[/quote]`, `[quote=somebody]`. The probe's own marks have two brackets. */
const BBCODE =
  /(?<!\[)\[\/?(?:code|quote|spoiler|pre|font|size|color|details|hide|b|i|u)(?:=[^\]]{0,80})?\](?!\])/gi;

// --- characters ---------------------------------------------------------------------------------------------------------------------

/** What a character is taken for. A control character is taken for nothing, so that none can reach a terminal. */
function plain(code: number): string {
  if (code < 0x20) return code === 0x09 ? ' ' : '';
  if (code === 0x7f || (code >= 0x80 && code < 0xa0)) return '';
  // `*` and backquotes are how Markdown makes bold and code; no tool prints them.
  if (code === 0x2a || code === 0x60) return '';
  if (code < 0xa0) return String.fromCharCode(code);
  const known = PLAIN.get(code);
  if (known !== undefined) return known;
  for (const [zero, high] of DIGITS) if (code >= zero && code <= high) return String(code - zero);
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return String.fromCodePoint(code);
}

const SPACES = [
  0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
  0x202f, 0x205f, 0x3000,
];
/** Soft hyphen, zero-width characters, marks and overrides of direction, byte order mark. */
const NOTHING = [
  0xad, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2066,
  0x2067, 0x2068, 0x2069, 0xfeff,
];
const SINGLE_QUOTES = [0x2018, 0x2019, 0x201a, 0x201b, 0x2032, 0x00b4, 0x02bc, 0xff07];
const DOUBLE_QUOTES = [0x201c, 0x201d, 0x201e, 0x201f, 0x2033, 0x00ab, 0x00bb, 0xff02];
const DASHES = [0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xff0d];
const BARS = [0x2502, 0x2503, 0x2551, 0xff5c];
/** Arabic-Indic, extended Arabic-Indic, Devanagari and full-width digits: zero and nine. */
const DIGITS = [
  [0x0660, 0x0669],
  [0x06f0, 0x06f9],
  [0x0966, 0x096f],
  [0xff10, 0xff19],
] as const;

const PLAIN: ReadonlyMap<number, string> = new Map<number, string>([
  ...SPACES.map((code) => [code, ' '] as const),
  ...NOTHING.map((code) => [code, ''] as const),
  ...SINGLE_QUOTES.map((code) => [code, "'"] as const),
  ...DOUBLE_QUOTES.map((code) => [code, '"'] as const),
  ...DASHES.map((code) => [code, '-'] as const),
  ...BARS.map((code) => [code, '|'] as const),
  [0x066b, '.'],
  [0x066c, "'"],
  [0xff0c, ','],
  [0xff0e, '.'],
  [0xff1a, ':'],
  [0xff08, '('],
  [0xff09, ')'],
]);

const UNSEEN: ReadonlySet<number> = new Set([...NOTHING, 0x2028, 0x2029]);

const ORDINARY = /^[ !-)+-_a-~]*$/;
/** ECMA-48: CSI and OSC sequences. What a terminal session that was recorded, not copied, is full of. */
const ESCAPE = '\u001b';
const BELL = '\u0007';
const TERMINAL = new RegExp(
  `${ESCAPE}(?:\\[[0-?]{0,32}[ -/]{0,8}[@-~]|\\][^${BELL}${ESCAPE}]{0,256}(?:${BELL}|${ESCAPE}\\\\)|[@-Z\\\\-_])`,
  'g',
);
const ENTITIES: Readonly<Record<string, string>> = {
  nbsp: ' ',
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  rsquo: "'",
  lsquo: "'",
  ndash: '-',
  mdash: '-',
  minus: '-',
  hyphen: '-',
};

/** Text with nothing in it that is not print: no control characters, no marks or overrides of direction, no half characters. */
export function printable(text: string): string {
  if (ORDINARY.test(text)) return text;
  let out = '';
  for (const character of text) {
    const code = character.codePointAt(0)!;
    const isControl = code < 0x20 || (code >= 0x7f && code < 0xa0);
    if (isControl || UNSEEN.has(code)) out += code === 0x09 ? ' ' : '';
    else out += code >= 0xd800 && code <= 0xdfff ? '\ufffd' : character;
  }
  return out;
}

function cleanLine(number: number, raw: string): Line {
  let text = raw;
  // A longer line is only reported, by its beginning; one character more tells it from one of the longest legal length.
  if (text.length > MAX_LINE) text = text.slice(0, MAX_LINE + 1);
  if (!ORDINARY.test(text)) {
    if (text.includes('\u001b')) text = text.replace(TERMINAL, '');
    let out = '';
    for (const character of text) out += plain(character.codePointAt(0)!);
    text = out;
  }
  if (text.includes('&')) {
    text = text.replace(
      /&(?:#(\d{1,6})|#[xX]([0-9a-fA-F]{1,5})|([a-z]{2,6}));/g,
      (whole, decimal, hex, name) => {
        if (name !== undefined) return ENTITIES[name as string] ?? whole;
        const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16);
        return code <= 0x10ffff ? plain(code) : '';
      },
    );
  }
  if (text.includes('[')) text = text.replace(BBCODE, ' ');
  // Markdown guards its own characters with a backslash.
  if (text.includes('\\')) text = text.replace(/\\([-_|.#()+~[\]])/g, '$1');
  let quote = 0;
  for (let mark = QUOTE.exec(text); mark; mark = QUOTE.exec(text)) {
    text = text.slice(mark[0].length);
    quote++;
  }
  return { number, text: text.replace(STAMP, ''), quote };
}

const QUOTE = /^ {0,3}> ?/;
/** What logs put before each line: `2026-11-30T12:00:00.000Z `, `[   12.345678] `. */
const STAMP =
  /^ {0,4}(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d)?|\[ {0,8}\d{1,8}\.\d{6}\]) /;

// --- lost line breaks ---------------------------------------------------------------------------------------------------------------

/** How lines of the tools begin. Where one of these stands in the middle of a long line, a line break was lost before it. */
const BEGINNINGS = new RegExp(
  [
    'Doing \\S{2,40} (?:ops )?for \\d',
    "The 'numbers' are in",
    'You have chosen to measure',
    'version: \\d',
    'built on: ',
    'options: ?bn\\(',
    'compiler: ',
    'CPUINFO: ',
    'OpenSSL \\d\\.\\d\\S* +\\d',
    'type +\\d+ bytes',
    'Forked child \\d',
    'Got: \\+',
    '\\+(?:DT|R|H|F):',
    'PBKDF2-[a-z]',
    'argon2id? ',
    '# Tests are approximate',
    '# +Algorithm \\|',
    'Encrypting in chunks of \\d',
    '[a-z][a-z0-9]{1,12}-[a-z]{3} +\\d{3}b +[\\dN]',
  ]
    .map((beginning) => ` (?=${beginning})`)
    .join('|'),
  'g',
);

function isLong({ text }: Line): boolean {
  return text.length >= 100 && text.length <= MAX_LINE;
}

function undoLostBreaks(line: Line): Line[] {
  const { number, text, quote } = line;
  const parts = text.trimStart().split(BEGINNINGS);
  return parts.length < 2 ? [line] : parts.map((part) => ({ number, text: part, quote }));
}

// --- quoted-printable ---------------------------------------------------------------------------------------------------------------

/** A mail saved as it was sent: soft line breaks (`=` at the end of a line) together with escapes, or a header that says so. */
function isQuotedPrintable(lines: readonly RawLine[]): boolean {
  let soft = 0;
  let escapes = 0;
  for (const { text } of lines) {
    if (/^content-transfer-encoding: *quoted-printable/i.test(text)) return true;
    if (text.length > 80) continue;
    if (/[^=]=$/.test(text) && text.length > 60) soft++;
    if (/=(?:20|3D|C2|E2)/.test(text)) escapes++;
  }
  return soft > 0 && escapes > 0;
}

function undoQuotedPrintable(lines: readonly RawLine[]): RawLine[] {
  const out: RawLine[] = [];
  let open: RawLine | undefined;
  for (const { number, text } of lines) {
    const soft = text.endsWith('=');
    const part = soft ? text.slice(0, -1) : text;
    open = open ? { number: open.number, text: open.text + part } : { number, text: part };
    // A line has an end even where every one of its parts claims to go on.
    if (soft && open.text.length < MAX_LINE) continue;
    out.push({ number: open.number, text: unquote(open.text) });
    open = undefined;
  }
  if (open) out.push({ number: open.number, text: unquote(open.text) });
  return out;
}

function unquote(text: string): string {
  if (!text.includes('=')) return text;
  return text.replace(/(?:=[0-9A-F]{2})+/g, (run) =>
    Buffer.from(run.replaceAll('=', ''), 'hex').toString('utf8'),
  );
}

// --- HTML ---------------------------------------------------------------------------------------------------------------------------

const HTML_BLOCK = /<\/?(?:table|tr|td|th|pre|br|p|div)\b[^<>]{0,200}>/i;
const BREAKS = new Set([
  'br',
  'p',
  'div',
  'tr',
  'table',
  'pre',
  'li',
  'ul',
  'ol',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
]);
const CELLS = new Set(['td', 'th']);
/** Tags that say nothing of layout; any other `<word>` is text (`<none>`). */
const DROPPED = new Set([
  'span',
  'b',
  'strong',
  'i',
  'em',
  'code',
  'a',
  'font',
  'tbody',
  'thead',
  'u',
  'small',
  'tt',
  'html',
  'body',
  'blockquote',
]);

function undoHtml(lines: readonly RawLine[]): RawLine[] {
  const out: RawLine[] = [];
  let text = '';
  let first = 0;
  let inRow = false;
  const flush = (): void => {
    if (text.trim() !== '') out.push({ number: first, text });
    text = '';
  };
  for (const line of lines) {
    if (text.trim() === '') first = line.number;
    let rest = line.text;
    while (rest !== '') {
      const at = rest.indexOf('<');
      // Only so far: a tag is short, and a line of a million `<` must not be searched a million times.
      const end = at < 0 ? -1 : rest.slice(at, at + 200).indexOf('>');
      if (end < 0) {
        const upTo = at < 0 ? rest.length : at + 1;
        text += rest.slice(0, upTo);
        rest = rest.slice(upTo);
        continue;
      }
      const tag = /^<\/?([a-z][a-z0-9]{0,10})(?:[\s/][^<]*)?>$/i.exec(rest.slice(at, at + end + 1));
      const name = tag?.[1]?.toLowerCase();
      text += rest.slice(0, at);
      if (name !== undefined && BREAKS.has(name)) {
        inRow = name === 'tr' ? rest[at + 1] !== '/' : inRow && name !== 'table';
        flush();
        first = line.number;
      } else if (name !== undefined && CELLS.has(name)) {
        text += rest[at + 1] === '/' ? ' ' : '| ';
      } else if (name === undefined || !DROPPED.has(name)) {
        text += rest.slice(at, at + end + 1);
      }
      rest = rest.slice(at + end + 1);
    }
    // A line break between two cells is white space; elsewhere it may be the only one that there is.
    if (inRow && text.length < MAX_LINE) text += ' ';
    else flush();
  }
  flush();
  return out;
}
