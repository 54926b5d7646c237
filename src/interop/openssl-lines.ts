/**
 * The lines that `openssl speed` prints, one by one (apps/speed.c of 0.9.8, 1.0.2, 1.1.1, 3.0 and 3.2+).
 *
 * On standard error, one per size: `Doing aes-128-cbc for 3s on 16 size blocks: 276231 aes-128-cbc's in 0.65s`; since 3.2 `Doing AES-128-CBC ops
 * for 3s on 16 size blocks: 37316 AES-128-CBC ops in 0.00s`. With -mr `+DT:name:seconds:size` and `+R:count:name:seconds`. On standard output a
 * header of sizes and a row per algorithm, `%-13s` and ` %11.2fk` each (k = 1000 bytes a second; without the k, and in bytes, up to 10 000), or
 * `+H:size:…` and `+F:index:name:bytes per second:…`.
 *
 * What a row is, is seen by its tokens, not by columns or words: those do not survive a forum.
 */
import { opensslAlgorithm, squeeze } from './names.js';
import { readDecimal, readInteger, readSize } from './numbers.js';

export interface DoingLine {
  readonly name: string;
  /** `for 3s`. Absent in builds without timers, which count operations instead. */
  readonly nominalSeconds?: number;
  readonly size: number;
  readonly count: number;
  readonly seconds: number;
}

const DOING =
  /^Doing (.{1,60}?)(?: ops)? (?:for (\d{1,5}(?:\.\d{1,3})?)s|\d{1,12} times) on (\d{1,10}) size blocks: ?/;
const DONE = /^([\d.,']{1,20}) (.{1,60}?)(?:'? ?s| ops) in ([\d.,]{1,16})s(?: |$)/;
/** RSA, DSA, ECDSA and the rest: `Doing 2048 bits private rsa sign ops for 10s: …`, and their results alone. */
const PUBLIC_KEY = /^Doing \d{1,5}[ -]bits? |^\d{1,12} \d{1,5}[ -]bits? /;

/** A whole line, or the state of one that goes on in the next: `open` up to the count, or before it. */
export function readDoing(text: string): DoingLine | 'open' | undefined {
  if (!text.startsWith('Doing ')) return readTranslated(text);
  if (PUBLIC_KEY.test(text)) return undefined;
  const left = DOING.exec(text);
  if (!left) return text.length < 100 && isBeginning(text) ? 'open' : undefined;
  const right = DONE.exec(text.slice(left[0].length));
  if (!right || squeeze(right[2]!) !== squeeze(left[1]!)) return 'open';
  const count = readInteger(right[1]!);
  const seconds = readDecimal(right[3]!, 2);
  const size = Number(left[3]);
  if (count === undefined || seconds === undefined || size === 0) return undefined;
  return {
    name: left[1]!,
    ...(left[2] !== undefined && Number(left[2]) > 0 ? { nominalSeconds: Number(left[2]) } : {}),
    size,
    count,
    seconds: seconds.value,
  };
}

/** Cut off or wrapped before its colon. */
function isBeginning(text: string): boolean {
  const name = text.split(' ').slice(1, 3);
  const known = opensslAlgorithm(name[0] ?? '') ?? opensslAlgorithm(name.join(' '));
  return known !== undefined || /^Doing .{1,60}? for \d{1,5}(?:\.\d{1,3})?s?(?: |$)/.test(text);
}

export function isPublicKeyLine(text: string): boolean {
  return (
    PUBLIC_KEY.test(text) ||
    /^\+(?:R\d|F\d|DTP|DNP)/.test(text) ||
    /^(?:rsa|dsa|ecdsa|ecdh|eddsa|dh|ffdh) +\d{2,5} bits /i.test(text) ||
    /^\d{2,5} bits? (?:ecdsa|ecdh|EdDSA|SM2|CurveSM2)/i.test(text) ||
    /^(?:sign +verify +sign\/s|op +op\/s|encaps +decaps|keygen +encaps)/.test(text)
  );
}

/**
 * The same line after a browser translated the page. What no translation touches: the name twice, once on each side of the colon, the
 * seconds with their unit, the size, the count.
 */
function readTranslated(text: string): DoingLine | undefined {
  if (text.length > 300) return undefined;
  const colon = text.lastIndexOf(':');
  if (colon < 0 || !/\d ?[s秒с]/.test(text.slice(0, colon))) return undefined;
  const left = tokensOf(text.slice(0, colon));
  const right = tokensOf(text.slice(colon + 1));
  const name = left.find(({ word }) => word !== undefined && opensslAlgorithm(word) !== undefined)?.word;
  if (name === undefined || !right.some(({ word }) => word?.replace(/s$/i, '') === name.replace(/s$/i, '')))
    return undefined;
  const numbers = left.filter(({ digits }) => digits !== undefined);
  const nominal = numbers.find(({ seconds }) => seconds);
  const size = numbers.find((token) => token !== nominal);
  const [count, last] = right.filter(({ digits }) => digits !== undefined);
  if (numbers.length !== 2 || !nominal || !size || !count || !last?.seconds) return undefined;
  const values = {
    nominalSeconds: readInteger(nominal.digits!),
    size: readInteger(size.digits!),
    count: readInteger(count.digits!),
    seconds: readDecimal(last.digits!, 2)?.value,
  };
  if (!values.nominalSeconds || !values.size || values.count === undefined || values.seconds === undefined)
    return undefined;
  return {
    name,
    nominalSeconds: values.nominalSeconds,
    size: values.size,
    count: values.count,
    seconds: values.seconds,
  };
}

interface Token {
  readonly word?: string;
  readonly digits?: string;
  /** A number that is followed by a unit of seconds. */
  readonly seconds: boolean;
}

function tokensOf(text: string): Token[] {
  const out: Token[] = [];
  for (const match of text.matchAll(
    /([A-Za-z][\w()/-]*)|(\d[\d.,]*\d|\d)( ?(?:s(?![a-z])|sek|sec|秒|с(?!\p{L})|сек))?/gu,
  )) {
    if (match[1] !== undefined) out.push({ word: match[1], seconds: false });
    else out.push({ digits: match[2]!, seconds: match[3] !== undefined });
  }
  return out;
}

// --- table --------------------------------------------------------------------------------------------------------------------------

/** One value of a row. */
export interface Cell {
  /** Bytes a second; null where the tool printed `inf` or `nan`. */
  readonly rate: number | null;
  /** It ended with `k`. */
  readonly thousands: boolean;
  readonly decimals: number;
}

function readCell(token: string, next: string | undefined): { cell: Cell; used: number } | undefined {
  const joined = /[kK]$/.test(token);
  const body = joined ? token.slice(0, -1) : token;
  const apart = !joined && (next === 'k' || next === 'K');
  const thousands = joined || apart;
  const used = apart ? 2 : 1;
  if (/^-?(?:inf|nan|infinity|1\.#inf|1\.#qnan|1\.#ind)$/i.test(body))
    return { cell: { rate: null, thousands, decimals: 2 }, used };
  const number = readDecimal(body, 2);
  // The tool prints two decimals; fewer without a `k` are a value that is cut off, or no value.
  if (!number || (!thousands && number.decimals !== 2)) return undefined;
  return {
    cell: { rate: thousands ? number.value * 1000 : number.value, thousands, decimals: number.decimals },
    used,
  };
}

export interface RowLine {
  /** Words before the name that are no part of it: `SW`, `with engine`. */
  readonly prefix?: string;
  /** Absent where a row begins with its first value. */
  readonly name?: string;
  readonly cells: readonly Cell[];
  /** Words after the last value. */
  readonly rest: string;
}

/** Header and rows in one line, since a line may hold a whole table that lost its line breaks. */
export interface TableLine {
  readonly sizes?: readonly number[];
  readonly rows: readonly RowLine[];
  /** Words of the header that come after its last size and are no row: the header goes on in the next line. */
  readonly open: boolean;
}

const UNITS = /^(?:bytes?|octets?|bits?|b|[^ -~]{1,8})$/i;
const HEADER_WORD =
  /^(?:type|typ|tipo|тип|类型|類型|タイプ|種類|algorithm|algorithmus|cipher|block|size|blocksize|sizes)$/i;

/** Words of a table's line, whatever stood between its cells: blanks, bars, semicolons, commas, or nothing where a `k` shows the end. */
function tableTokens(text: string): string[] {
  return text
    .replaceAll(/[|;]/g, ' ')
    .replaceAll(/([a-zA-Z)]),(?=\d)/g, '$1 ')
    .replaceAll(/(\.\d\dk)(?=\d)/g, '$1 ')
    .split(' ')
    .filter((token) => token !== '');
}

/** A table's line by its tokens. `columns` is the number of sizes in the header above, where there is one. */
export function readTable(text: string, columns: number | undefined): TableLine | undefined {
  if (!/\d/.test(text) && !/inf|nan/i.test(text)) return undefined;
  const tokens = tableTokens(text);
  if (tokens.length > 600) return undefined;
  const header = readHeader(tokens);
  const rest = header ? tokens.slice(header.used) : tokens;
  const width = header?.sizes.length ?? columns;
  const rows = readRows(rest);
  if (header) {
    const named = rows.filter((row) => row.name === undefined || isRow(row, width));
    if (rest.length > 0 && named.length === 0) {
      // Something that is no row follows the sizes: a header that was wrapped, or a sentence.
      return rest.length <= 3 ? { sizes: header.sizes, rows: [], open: true } : undefined;
    }
    return { sizes: header.sizes, rows: named, open: false };
  }
  const own = rows.filter((row) => isRow(row, width));
  return own.length > 0 ? { rows: own, open: false } : undefined;
}

function readHeader(tokens: readonly string[]): { sizes: number[]; used: number } | undefined {
  const start = tokens.findIndex((token) => /^\d/.test(token));
  if (start < 0 || start > 3) return undefined;
  const titled = tokens.slice(0, start).some((token) => HEADER_WORD.test(token.replace(/[:,]$/, '')));
  const sizes: number[] = [];
  let at = start;
  let unit: string | undefined;
  while (at < tokens.length) {
    const [, digits, attached] = /^(\d{1,8})(\D{0,8})$/u.exec(tokens[at]!) ?? [];
    if (digits === undefined) break;
    const word = attached !== '' ? attached! : tokens[at + 1];
    const size = attached !== '' ? (readSize(tokens[at]!) ?? Number(digits)) : Number(digits);
    // The handwritten kind has no units: `block size 16 64 256 1024`.
    const bare = attached === '' && (word === undefined || /^\d/.test(word));
    if (!bare && !UNITS.test(word!) && readSize(`1${word}`) === undefined) break;
    if (size <= (sizes.at(-1) ?? 0)) break;
    if (bare) {
      if (!titled || unit !== undefined) break;
    } else {
      const kind = word!.toLowerCase().replace(/s$/, '');
      // One unit throughout, except where sizes are written `64B 1KB`.
      if (unit !== undefined && kind !== unit && attached === '') break;
      unit = kind;
    }
    sizes.push(size);
    at += bare || attached !== '' ? 1 : 2;
  }
  if (sizes.length >= (titled ? 1 : 2) && !(unit === undefined && sizes.length < 3))
    return { sizes, used: at };
  return undefined;
}

/** A row is words, then all the values that follow. More values than columns mean that the header above is not this row's. */
function readRows(tokens: readonly string[]): RowLine[] {
  const out: RowLine[] = [];
  let at = 0;
  while (at < tokens.length) {
    const nameStart = at;
    let found = readCell(tokens[at]!, tokens[at + 1]);
    while (!found && ++at < tokens.length) found = readCell(tokens[at]!, tokens[at + 1]);
    if (!found) {
      const last = out.at(-1);
      if (last) out[out.length - 1] = { ...last, rest: tokens.slice(nameStart).join(' ') };
      break;
    }
    const name = tokens.slice(nameStart, at);
    const cells: Cell[] = [];
    while (found) {
      cells.push(found.cell);
      at += found.used;
      found = at < tokens.length ? readCell(tokens[at]!, tokens[at + 1]) : undefined;
    }
    out.push({ ...splitName(name), cells, rest: '' });
  }
  return out;
}

/**
 * `SW aes-128-cbc` and `aes-128-cbc (SW)` are a label and a name, `aes-128 cbc` is a name. The longest end that is an algorithm's name is
 * the name, or else the longest beginning.
 */
function splitName(tokens: readonly string[]): { prefix?: string; name?: string } {
  if (tokens.length === 0) return {};
  const words = tokens.map((token) => token.replace(/:$/, ''));
  for (let from = 0; from < Math.min(words.length, 8); from++) {
    const name = words.slice(from).join(' ');
    if (name.toLowerCase() === 'evp' || opensslAlgorithm(name)) {
      const prefix = words.slice(0, from).join(' ');
      return prefix === '' ? { name } : { prefix, name };
    }
  }
  for (let to = Math.min(words.length - 1, 3); to > 0; to--) {
    const name = words.slice(0, to).join(' ');
    const label = words
      .slice(to)
      .join(' ')
      .replace(/^\((.*)\)$/, '$1');
    if (opensslAlgorithm(name) && label !== '' && !/^\d/.test(label)) return { prefix: label, name };
  }
  return { name: words.join(' ') };
}

/** One or two words: what the table of algorithms lacks is still a name. */
const UNKNOWN_NAME = /^[A-Za-z0-9][\w()/.+-]*(?: [A-Za-z0-9][\w()/.+-]*)?$/;

/** Is it a row, and not a sentence with numbers in it? */
function isRow({ name, prefix, cells }: RowLine, columns: number | undefined): boolean {
  const thousands = cells.filter((cell) => cell.thousands).length;
  const two = cells.every(({ decimals }) => decimals === 2);
  const known = name !== undefined && (name.toLowerCase() === 'evp' || opensslAlgorithm(name) !== undefined);
  if ((name?.length ?? 0) > 40 || (prefix?.split(' ').length ?? 0) > 4) return false;
  if (name !== undefined && !known && !UNKNOWN_NAME.test(name)) return false;
  const full = columns !== undefined ? cells.length === columns : cells.length === 5 || cells.length === 6;
  if (name === undefined) return full && cells.length > 1 && thousands >= cells.length - 1 && two;
  if (columns !== undefined && full && two && (thousands > 0 || known)) return true;
  if (columns !== undefined && full && thousands === cells.length && known) return true;
  return thousands > 0 && two && (known || (full && cells.length > 1));
}

/** Only values: the end of a row that was wrapped. */
export function isValuesOnly(text: string): boolean {
  return text !== '' && /^[\d.,k ]+$/.test(text) && /\d|k/.test(text);
}

/** Only sizes and pieces of their unit: what a header that was wrapped goes on with. */
export function isHeaderPiece(text: string): boolean {
  const tokens = text.split(' ').filter((token) => token !== '');
  return (
    tokens.length > 0 &&
    tokens.length < 60 &&
    tokens.every(
      (token) =>
        /^\d{1,8}$/.test(token) ||
        (token.length > 0 && PIECES.some((unit) => unit.includes(token.toLowerCase()))),
    )
  );
}

const PIECES = ['bytes', 'octets'];

/** The announcement of a step without its result, where something else has come after it on the line. */
export function doingStart(text: string): string | undefined {
  return DOING.exec(text)?.[0];
}

// --- -mr ----------------------------------------------------------------------------------------------------------------------------

/** What hwcrypt writes in the place of OpenSSL's build options. */
export interface HwcryptMark {
  readonly driver?: string;
  readonly kernelDriver?: string;
  readonly operation?: 'encrypt' | 'decrypt';
}

/** `options: hwcrypt 0.1.0 driver=afalg:cbc-aes-aesni operation=encrypt`. */
export function readMark(text: string): HwcryptMark | undefined {
  if (text.length > 300 || !/^options: hwcrypt \d/.test(text)) return undefined;
  const [, driver, kernelDriver] = / driver=([a-z]{1,20})(?::(\S{1,100}))?(?: |$)/.exec(text) ?? [];
  const [, operation] = / operation=(encrypt|decrypt)(?: |$)/.exec(text) ?? [];
  return {
    ...(driver === undefined ? {} : { driver }),
    ...(kernelDriver === undefined ? {} : { kernelDriver }),
    ...(operation === undefined ? {} : { operation: operation as 'encrypt' | 'decrypt' }),
  };
}

/** The counts of a driver that is not the table's, below the `Doing …` of the one that is. */
export interface BesideLine {
  readonly driver: string;
  readonly kernelDriver?: string;
  readonly count: number;
  readonly size: number;
  readonly seconds: number;
}

/** `node: 17856 of 16 bytes in 0.02s`, from hwcrypt alone. */
export function readBeside(text: string): BesideLine | undefined {
  if (text.length > 300) return undefined;
  const match = /^([a-z]{1,20})(?::(\S{1,100}))?: (\d{1,15}) of (\d{1,10}) bytes in (\d{1,8}\.\d\d)s$/.exec(
    text,
  );
  if (!match || Number(match[4]) === 0) return undefined;
  return {
    driver: match[1]!,
    ...(match[2] === undefined ? {} : { kernelDriver: match[2] }),
    count: Number(match[3]),
    size: Number(match[4]),
    seconds: Number(match[5]),
  };
}

export type MrLine =
  | { readonly kind: 'start'; readonly name: string; readonly nominalSeconds?: number; readonly size: number }
  | { readonly kind: 'result'; readonly name: string; readonly count: number; readonly seconds: number }
  | { readonly kind: 'sizes'; readonly sizes: readonly number[]; readonly child?: number }
  | {
      readonly kind: 'rates';
      readonly name: string;
      readonly rates: readonly (number | null)[];
      readonly child?: number;
    };

/** `+DT`, `+R`, `+H`, `+F`, and what `-multi` echoes of its children: `Got: +F:… from 2`. The index in `+F` differs between versions. */
export function readMr(text: string): MrLine | 'broken' | undefined {
  const got = /^Got: (\+.*?)(?: from (\d{1,4}))?$/.exec(text);
  const body = got ? got[1]! : text;
  if (!body.startsWith('+')) return undefined;
  const child = got?.[2] !== undefined ? { child: Number(got[2]) } : {};
  const parts = body.split(':');
  switch (parts[0]) {
    case '+DT':
    case '+DN': {
      const size = readInteger(parts[3] ?? '');
      // Whole seconds, but for hwcrypt's own.
      const seconds = readDecimal(parts[2] ?? '', 3)?.value;
      if (parts.length !== 4 || !parts[1] || !size || seconds === undefined) return 'broken';
      const nominal = parts[0] === '+DT' && seconds > 0 ? { nominalSeconds: seconds } : {};
      return { kind: 'start', name: parts[1], ...nominal, size };
    }
    case '+R': {
      const count = readInteger(parts[1] ?? '');
      const seconds = readDecimal(parts[3] ?? '', 6);
      if (parts.length !== 4 || !parts[2] || count === undefined || seconds?.decimals !== 6) return 'broken';
      return { kind: 'result', name: parts[2], count, seconds: seconds.value };
    }
    case '+H': {
      const sizes = parts.slice(1).map((part) => readInteger(part) ?? 0);
      const isRising = sizes.every((size, index) => size > (sizes[index - 1] ?? 0));
      if (sizes.length === 0 || sizes.length > 32 || !isRising) return 'broken';
      return { kind: 'sizes', sizes, ...child };
    }
    case '+F': {
      const rates = parts.slice(3).map((part) => {
        if (/^-?(?:inf|nan)$/i.test(part)) return null;
        const rate = readDecimal(part, 2);
        return rate?.decimals === 2 ? rate.value : undefined;
      });
      if (!parts[2] || rates.length === 0 || rates.length > 32 || rates.includes(undefined)) return 'broken';
      return { kind: 'rates', name: parts[2], rates: rates as (number | null)[], ...child };
    }
    default:
      return undefined;
  }
}
