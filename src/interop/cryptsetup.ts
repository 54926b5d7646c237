/**
 * `cryptsetup benchmark` (src/cryptsetup.c, action_benchmark): PBKDF2 and Argon2 rows, then a table of ciphers.
 *
 * What is the same in every version, locale and copy: a cipher row is a name, `NNNb`, and one or two of a number with its unit or a word for
 * "not available". `MiB/s` is never translated; the decimal mark follows the locale of numbers, the words the locale of messages, and the two need
 * not agree.
 *
 * What the table does not say: which driver did it; that its requests are 64 KiB while dm-crypt makes requests of a sector, 512 or 4096 bytes;
 * and that it counts one pass more than it times, which is 10 % at 10 MiB/s.
 */

import { findAlgorithm } from '../algorithms.js';
import type {
  Doubt,
  KdfMeasurement,
  Measurement,
  ResultSet,
  Run,
  SkippedLine,
  Status,
} from '../bench/model.js';
import { cryptsetupAlgorithm } from './names.js';
import { fixed, isRateUnit, readDecimal, readInteger, unitBytes } from './numbers.js';
import { doubt, type Page, present, resultSet } from './page.js';
import { redact } from './redact.js';

/** CIPHER_BLOCK_BYTES of lib/crypto_backend/cipher_check.c. */
const REQUEST_BYTES = 65536;
const MIB = 2 ** 20;
/** Above this the one pass too many is less than a percent. */
const OVERSTATED_BELOW = 100 * MIB;

/** What translations print for N/A. */
const NOT_AVAILABLE = new Set([
  'n/a',
  'n/d',
  'нд',
  'н/д',
  'nicht zutreffend',
  '不可用',
  '計測値なし',
  '利用不可',
  'neuvedeno',
  'i/t',
  'u/n',
  'не доступно',
]);

/** Words that head a column, or a table of one column, in the languages that cryptsetup is translated to. */
const DIRECTIONS: readonly (readonly [RegExp, 'encrypt' | 'decrypt'])[] = [
  [
    /decrypt|entschlüssel|déchiffr|descifr|расшифр|deszyfr|odszyfr|dešifr|decifra|avkrypt|dekrypt|解密|復号|розшифр|dekodo/i,
    'decrypt',
  ],
  [/encrypt|verschlüssel|chiffr|cifrad|шифр|szyfr|šifr|cifra|krypt|加密|暗号/i, 'encrypt'],
];

/** `Ensure you have algif_skcipher kernel module loaded.` in any language: a sentence, not a line of lsmod. */
const NO_MODULE = /^[^a-z\d/[(].{4,80}algif_skcipher.{2,80}[.。]$/u;

interface CipherRow {
  readonly name: string;
  readonly keyBits: number;
  /** Bytes a second in order of columns; null where the tool says that there is none. */
  readonly values: readonly (number | null)[];
  /** The unit was not MiB/s. */
  readonly unit: string;
  readonly rest: string;
}

/** The tokens of a row. Words for N/A may be several, in parentheses. */
function readCipherRow(text: string): CipherRow | 'nameless' | undefined {
  if (!/\d{2}b\b|iB\/s/i.test(text)) return undefined;
  const tokens = text
    .replaceAll('|', ' ')
    .split(' ')
    .filter((token) => token !== '');
  if (tokens.length < 2 || tokens.length > 40) return undefined;
  const key = tokens.findIndex((token) => /^\d{2,4}b$/i.test(token));
  const values: (number | null)[] = [];
  let unit = 'MiB/s';
  let at = key < 0 ? 0 : key + 1;
  while (at < tokens.length && values.length < 2) {
    const value = readValue(tokens, at);
    if (!value) break;
    values.push(value.rate);
    unit = value.unit ?? unit;
    at += value.used;
  }
  const rest = tokens.slice(at).join(' ');
  if (key < 0) {
    // Two rates and nothing that says of what.
    return values.length === 2 && values.every((value) => value !== null) && unit === 'MiB/s'
      ? 'nameless'
      : undefined;
  }
  const name = tokens.slice(0, key).join(' ');
  if (values.length === 0 || key === 0 || key > 2 || !/^[a-z][\w,:()/. -]{1,80}$/i.test(name))
    return undefined;
  return { name, keyBits: Number.parseInt(tokens[key]!, 10), values, unit, rest };
}

function readValue(
  tokens: readonly string[],
  at: number,
): { rate: number | null; unit?: string; used: number } | undefined {
  const token = tokens[at]!;
  if (NOT_AVAILABLE.has(token.toLowerCase())) return { rate: null, used: 1 };
  for (const words of [2, 3]) {
    const phrase = tokens
      .slice(at, at + words)
      .join(' ')
      .replace(/^\(|\)$/g, '');
    if (NOT_AVAILABLE.has(phrase.toLowerCase())) return { rate: null, used: words };
  }
  if (/^\(.*\)$/.test(token) && NOT_AVAILABLE.has(token.slice(1, -1).toLowerCase()))
    return { rate: null, used: 1 };
  const attached = /^([\d.,']{1,20})([a-zA-Z]{1,3}\/s)$/.exec(token);
  const unit = attached ? attached[2]! : (tokens[at + 1] ?? '');
  const number = readDecimal(attached ? attached[1]! : token, 1);
  if (!number || !isRateUnit(unit)) return undefined;
  return { rate: number.value * unitBytes(unit)!, unit, used: attached ? 1 : 2 };
}

type Kdf = Omit<KdfMeasurement, 'line'>;

/** `PBKDF2-sha256    4457283 Iterationen pro Sekunde für 256-Bit-Schlüssel`. The words are not looked at. */
function readKdf(text: string): Kdf | 'broken' | undefined {
  const pbkdf2 = /^PBKDF2-([A-Za-z][\w-]{1,20}) +(.*)$/.exec(text);
  if (pbkdf2) {
    const hash = findAlgorithm(pbkdf2[1]!.toLowerCase())?.name ?? pbkdf2[1]!.toLowerCase();
    const common = { kdf: 'pbkdf2' as const, algorithmText: `PBKDF2-${pbkdf2[1]!}`, hash, doubts: [] };
    const rest = pbkdf2[2]!.trim();
    if (isNotAvailable(rest)) return { ...common, status: 'unavailable' };
    const [first, second] = integers(rest);
    if (first === undefined || !/^\d/.test(rest)) return 'broken';
    return present<Kdf>({
      ...common,
      iterationsPerSecond: first,
      keyBits: second,
      status: first === 0 ? 'failed' : 'ok',
    });
  }
  const argon2 = /^(argon2(?:id|i|d)) +(.*)$/.exec(text);
  if (!argon2) return undefined;
  const common = {
    kdf: argon2[1] as 'argon2i' | 'argon2id' | 'argon2d',
    algorithmText: argon2[1]!,
    doubts: [],
  };
  const rest = argon2[2]!.trim();
  if (isNotAvailable(rest)) return { ...common, status: 'unavailable' };
  const [iterations, memoryKiB, threads, keyBits, targetMs] = integers(rest);
  if (iterations === undefined || memoryKiB === undefined || threads === undefined) return 'broken';
  return present<Kdf>({
    ...common,
    iterations,
    memoryKiB,
    threads,
    keyBits,
    targetMs,
    status: 'ok',
  });
}

function isNotAvailable(text: string): boolean {
  return NOT_AVAILABLE.has(text.toLowerCase().replace(/^\(|\)$/g, ''));
}

/** The whole numbers in a sentence, in order; `256-Bit` has one. A number that ends the line may be cut off, and is none. */
function integers(text: string): number[] {
  const out: number[] = [];
  for (const match of text.slice(0, 400).matchAll(/\d[\d.,']*/g)) {
    const value = readInteger(match[0].replace(/[.,']+$/, ''));
    if (value !== undefined && match.index + match[0].length < text.length) out.push(value);
  }
  return out;
}

/**
 * What the printed rate is without the pass that is counted and not timed. The tool stops with the first pass that ends after a second. Just
 * below a whole number of MiB two numbers of passes n fit; then the lower rate of the two is which is 1/n² less than the other.
 */
export function withoutExtraPass(claimed: number): number | undefined {
  const passes = claimed / MIB;
  // n passes of 1 MiB take at least a second, n − 1 less; (n + 1) of them in that time are claimed.
  for (let n = Math.max(1, Math.floor(passes) - 1); n <= Math.ceil(passes); n++) {
    const real = (passes * n) / (n + 1);
    if (Math.ceil(real) === n) return real * MIB;
  }
  return undefined;
}

class Group {
  readonly rows: {
    readonly at: number;
    readonly row: CipherRow;
    readonly direction: 'encrypt' | 'decrypt' | undefined;
    readonly isCut: boolean;
  }[] = [];
  readonly kdfs: KdfMeasurement[] = [];
  readonly unavailable: { readonly at: number; readonly name: string; readonly keyBits: number }[] = [];
  command: string | undefined;
  heading: string | undefined;
  noInterface = false;
  exitStatus: number | undefined;
  first = -1;
  last = -1;
  readonly #seen = new Set<string>();

  get isEmpty(): boolean {
    return this.rows.length + this.kdfs.length + this.unavailable.length === 0 && !this.noInterface;
  }
  /** Was a row of this key, with this many values, there before? */
  has(key: string): boolean {
    return this.#seen.has(key);
  }
  add(key: string): void {
    this.#seen.add(key);
  }
}

/** Everything that a page holds of `cryptsetup benchmark`. */
export function readCryptsetup(page: Page): ResultSet[] {
  const groups: Group[] = [];
  const skipped: SkippedLine[] = [];
  let group = new Group();
  let lastContent = -1;
  let direction: 'encrypt' | 'decrypt' | undefined;
  let columns: number | undefined;

  const begin = (at: number, isNew: boolean): Group => {
    const { commands, heading } = page.context(lastContent, at, 'cryptsetup benchmark');
    if (!group.isEmpty && (isNew || commands.some(({ strict }) => strict))) {
      groups.push(group);
      group = new Group();
    }
    if (group.first < 0) group.first = at;
    group.last = at;
    group.command ??= commands.at(-1)?.text;
    group.heading ??= heading;
    page.claim(at);
    lastContent = at;
    return group;
  };

  for (let at = 0; at < page.lines.length; at++) {
    if (page.isClaimed(at)) continue;
    const text = page.text(at);
    if (text === '') continue;
    const bare = text.replace(/^[|# ]+|[| ]+$/g, '');

    const kdf = readKdf(bare);
    if (kdf === 'broken') {
      begin(at, false);
      skipped.push(page.skip(at, 'a row of key derivation without its numbers'));
      continue;
    }
    if (kdf) {
      const key = `kdf ${kdf.algorithmText}`;
      const own = begin(at, group.has(key));
      own.add(key);
      own.kdfs.push({ ...kdf, line: page.number(at) });
      continue;
    }

    const row = readCipherRow(bare);
    if (row === 'nameless') {
      // Only beside rows of this tool; elsewhere two rates in a line are anything.
      if (group.rows.length > 0 && at - lastContent <= 2)
        skipped.push(page.skip(at, 'two rates without a name and a key size'));
      continue;
    }
    if (row) {
      const isCut = row.values.length === 1 && columns === 2;
      const single = row.values.length === 1 ? (isCut ? 'encrypt' : direction) : undefined;
      const key = `${row.name.toLowerCase()} ${row.keyBits} ${row.values.length === 1 ? (single ?? '') : ''}`;
      if (isCut) {
        skipped.push({ line: page.number(at), reason: 'row incomplete: 1 of 2 rates', text: redact(text) });
      }
      const own = begin(at, group.has(key));
      own.add(key);
      own.rows.push({ at, row, direction: single, isCut });
      continue;
    }

    const header = readHeader(text);
    if (header) {
      direction = header.direction;
      columns = header.columns;
      if (!group.isEmpty || header.columns === 2) page.claim(at);
      else begin(at, false);
      continue;
    }
    if (text.startsWith('#') && readDirection(text) !== undefined && text.length < 60)
      direction = readDirection(text);

    const missing = readMissing(text);
    if (missing) {
      begin(at, false).unavailable.push({ at, ...missing });
      continue;
    }
    if (/^Required kernel crypto interface not available/.test(text) || NO_MODULE.test(text)) {
      // In other languages the sentence before the module's name is known by where it stands.
      if (NO_MODULE.test(text) && at > 0 && page.text(at - 1).length < 160) page.claim(at - 1);
      // Two lines in a row are one message; after rows, or after a message of its own run's, it is another run's.
      const own = begin(
        at,
        group.noInterface ? at - lastContent > 1 && group.kdfs.length > 0 : group.rows.length > 0,
      );
      own.noInterface = true;
      continue;
    }
    if (isTitle(text)) {
      // It begins an output, except after the errors, which have no buffer to wait in.
      begin(at, group.rows.length + group.kdfs.length + group.unavailable.length > 0);
      continue;
    }
    const status = /^(?:rc|exit status|exit code)[ =:]{1,3}(\d{1,3})$/i.exec(text);
    if (status && !group.isEmpty && at - lastContent <= 2) {
      page.claim(at);
      group.exitStatus = Number(status[1]);
    }
  }
  if (!group.isEmpty) groups.push(group);
  const runs = groups
    .filter((own) => !own.isEmpty)
    .map((own, index) => runOf(page, own, index, groups.length));
  return runs.length > 0 || skipped.length > 0
    ? [resultSet(page, 'cryptsetup benchmark', { runs, skipped })]
    : [];
}

/** `# Tests are approximate using memory only (no storage IO).`, and its translations that are known. */
function isTitle(text: string): boolean {
  return /^#? ?(?:Tests are approximate using memory only|Die Tests sind nur annähernd genau|Les tests sont approximatifs|Las pruebas son aproximadas|Testy są przybliżone|Тесты, использующие|测试仅使用内存|テストは概ねメモリ)/i.test(
    text,
  );
}

/** `#     Algorithm |       Key |      Encryption |      Decryption`, in any language: a mark, bars, no numbers. */
function readHeader(
  text: string,
): { columns: number; direction: 'encrypt' | 'decrypt' | undefined } | undefined {
  if (text.length > 200 || !text.includes('|')) return undefined;
  const cells = text
    .replace(/^[#| ]+/, '')
    .split('|')
    .map((cell) => cell.trim())
    .filter((cell) => cell !== '');
  if (cells.length < 3 || cells.length > 5 || cells.some((cell) => /\d/.test(cell))) return undefined;
  const directions = cells.slice(2).map(readDirection);
  if (!directions.some((found) => found !== undefined)) return undefined;
  return { columns: cells.length - 2, direction: cells.length === 3 ? directions[0] : undefined };
}

function readDirection(text: string): 'encrypt' | 'decrypt' | undefined {
  return DIRECTIONS.find(([pattern]) => pattern.test(text))?.[1];
}

/** `Cipher aes-xts-plain64 (with 512 bits key) is not available.` In any language: a specification, a number of bits, no rate. */
function readMissing(text: string): { name: string; keyBits: number } | undefined {
  if (
    text.length > 140 ||
    /MiB\/s|\||:\s*$/.test(text) ||
    !/-(?:cbc|xts|ecb|ctr|lrw|pcbc|cfb|ofb|gcm|ccm|adiantum|hctr2)\b|capi:/.test(text)
  ) {
    return undefined;
  }
  const match =
    /["' ]((?:capi:)?[a-z][\w,()]{1,40}-[a-z][\w:()-]{1,40})["']? ?\(\D{0,30}(\d{2,4})\D{1,40}\)/i.exec(
      ` ${text}`,
    );
  if (!match) return undefined;
  const keyBits = Number(match[2]);
  return keyBits % 8 === 0 ? { name: match[1]!, keyBits } : undefined;
}

function runOf(page: Page, group: Group, index: number, total: number): Run {
  const notes: string[] = [];
  const measurements: Measurement[] = [];
  for (const { at, row, direction, isCut } of group.rows) {
    if (row.rest !== '' && !isCut)
      notes.push(`${redact(row.name, 60)} ${row.keyBits}b: ${redact(row.rest, 80)}`);
    const operations = row.values.length === 2 ? (['encrypt', 'decrypt'] as const) : [direction];
    for (const [column, operation] of operations.entries()) {
      const measurement = measurementOf(page, at, row, operation, row.values[column]!);
      const cut = doubt('ROW_INCOMPLETE', 'one rate under a header of two: taken for the first');
      measurements.push(isCut ? { ...measurement, doubts: [...measurement.doubts, cut] } : measurement);
    }
  }
  for (const { at, name, keyBits } of group.unavailable) {
    const row: CipherRow = { name, keyBits, values: [null, null], unit: 'MiB/s', rest: '' };
    for (const operation of ['encrypt', 'decrypt'] as const)
      measurements.push(measurementOf(page, at, row, operation, null));
  }
  if (group.exitStatus !== undefined) notes.push(`exit status ${group.exitStatus}`);
  const doubts: Doubt[] = [];
  if (group.noInterface) {
    doubts.push(
      doubt(
        'NO_KERNEL_INTERFACE',
        'AF_ALG was not available, so no cipher was measured; dm-crypt does not need it, and an encrypted disk works all the same',
      ),
    );
  }
  if (measurements.some(({ status }) => status === 'ok')) {
    doubts.push(
      doubt(
        'REQUEST_SIZE_UNLIKE_USE',
        'measured with requests of 64 KiB; dm-crypt makes requests of a sector (512 or 4096 bytes), which an engine serves far more slowly',
      ),
    );
  }
  return present<Run>({
    label:
      group.heading ??
      group.command ??
      (total > 1 ? `cryptsetup benchmark ${index + 1}` : 'cryptsetup benchmark'),
    command: group.command,
    lines: [page.number(group.first), page.number(group.last)],
    measurements,
    kdfs: group.kdfs,
    doubts,
    notes,
  });
}

function measurementOf(
  page: Page,
  at: number,
  row: CipherRow,
  operation: 'encrypt' | 'decrypt' | undefined,
  value: number | null,
): Measurement {
  const algorithm = cryptsetupAlgorithm(row.name, row.keyBits);
  const status: Status = value === null ? 'unavailable' : value === 0 ? 'failed' : 'ok';
  const doubts: Doubt[] = [];
  if (!algorithm)
    doubts.push(doubt('ALGORITHM_UNKNOWN', 'no algorithm of this name and key size in the table'));
  if (operation === undefined)
    doubts.push(doubt('OPERATION_UNKNOWN', 'one rate, and no heading that says of which direction'));
  if (row.unit.toLowerCase() !== 'mib/s')
    doubts.push(
      doubt('UNIT_ASSUMED', `${redact(row.unit, 10)} where the tool prints MiB/s: taken at its word`),
    );
  if (value !== null && value > 0 && value < OVERSTATED_BELOW) {
    doubts.push(
      doubt(
        'OVERSTATED_N_PLUS_1',
        'one pass of 1 MiB more is counted than timed: too high by (n+1)/n',
        withoutExtraPass(value),
      ),
    );
  }
  return present<Measurement>({
    algorithm: algorithm?.name,
    algorithmText: redact(row.name, 80),
    keyBits: row.keyBits,
    operation,
    driver: 'afalg',
    requestBytes: REQUEST_BYTES,
    bytesPerSecond: status === 'ok' ? value! : undefined,
    claimedBytesPerSecond: value ?? undefined,
    basis: 'elapsed',
    status,
    estimated: false,
    doubts,
    line: page.number(at),
  });
}

// --- writing ------------------------------------------------------------------------------------------------------------------------

export const CRYPTSETUP_TITLE = '# Tests are approximate using memory only (no storage IO).';
/** Columns of the first column: in the whole table, and with `-c`, where it grows with the name. */
const NAME_COLUMNS = 15;
const OPTION_COLUMNS = 11;

/** How wide the first column is where one cipher was named. */
export const cryptsetupColumns = (name: string): number => Math.max(OPTION_COLUMNS, name.length);

/** The header of the cipher table, without its line feed. */
export function cryptsetupHeader(columns = NAME_COLUMNS): string {
  return `#${' Algorithm'.padStart(columns - 1)} |       Key |      Encryption |      Decryption`;
}

/** One line of key derivation, as the tool prints it, without its line feed. */
export function cryptsetupKdfLine(kdf: KdfMeasurement): string {
  if (kdf.kdf === 'pbkdf2') {
    const name = (
      kdf.algorithmText.startsWith('PBKDF2-') ? kdf.algorithmText.slice('PBKDF2-'.length) : (kdf.hash ?? '')
    ).padEnd(9);
    if (kdf.status !== 'ok' || kdf.iterationsPerSecond === undefined) return `PBKDF2-${name}     N/A`;
    return `PBKDF2-${name} ${String(Math.round(kdf.iterationsPerSecond)).padStart(7)} iterations per second for ${kdf.keyBits ?? 256}-bit key`;
  }
  const name = kdf.kdf.padEnd(10);
  if (kdf.status !== 'ok') return `${name} N/A`;
  const iterations = String(kdf.iterations ?? 0).padStart(4);
  const memory = String(kdf.memoryKiB ?? 0).padStart(5);
  return (
    `${name} ${iterations} iterations, ${memory} memory, ${kdf.threads ?? 1} parallel threads (CPUs) for ` +
    `${kdf.keyBits ?? 256}-bit key (requested ${kdf.targetMs ?? 2000} ms time)`
  );
}

/** One row of the cipher table, without its line feed. Rates in bytes a second; absent where there is none. */
export function cryptsetupCipherLine(
  name: string,
  keyBits: number,
  encrypt?: number,
  decrypt?: number,
  columns = NAME_COLUMNS,
): string {
  // Two blanks before a number, one before N/A: the tool's own two formats, which line up.
  const value = (rate: number | undefined): string =>
    rate === undefined ? ` ${'N/A'.padStart(17)}` : `  ${fixed(rate / MIB, 1).padStart(10)} MiB/s`;
  return `${name.padStart(columns)}  ${String(keyBits).padStart(9)}b${value(encrypt)}${value(decrypt)}`;
}

/**
 * A run as `cryptsetup benchmark` prints it: title, key derivations, table. Only ciphers that it has a name for; of several sizes the one
 * nearest to its own 64 KiB.
 */
export function writeCryptsetup(run: Run): string {
  const lines = [CRYPTSETUP_TITLE, ...run.kdfs.map(cryptsetupKdfLine)];
  interface Row {
    readonly name: string;
    readonly keyBits: number;
    encrypt?: Measurement;
    decrypt?: Measurement;
  }
  const rows = new Map<string, Row>();
  for (const measurement of run.measurements) {
    const { operation } = measurement;
    if (operation !== 'encrypt' && operation !== 'decrypt') continue;
    const named = cryptsetupName(measurement);
    if (!named) continue;
    const key = `${named.name} ${named.keyBits}`;
    const row: Row = rows.get(key) ?? named;
    const before = row[operation];
    if (!before || distance(measurement) < distance(before)) row[operation] = measurement;
    rows.set(key, row);
  }
  if (rows.size > 0) lines.push(cryptsetupHeader());
  for (const { name, keyBits, encrypt, decrypt } of rows.values()) {
    lines.push(cryptsetupCipherLine(name, keyBits, encrypt?.bytesPerSecond, decrypt?.bytesPerSecond));
  }
  return `${lines.join('\n')}\n`;
}

function distance({ requestBytes = REQUEST_BYTES }: Measurement): number {
  return Math.abs(Math.log(requestBytes / REQUEST_BYTES));
}

function cryptsetupName(measurement: Measurement): { name: string; keyBits: number } | undefined {
  const { algorithm, algorithmText, keyBits } = measurement;
  const known = algorithm === undefined ? undefined : findAlgorithm(algorithm);
  const name = known?.names.cryptsetup;
  if (name !== undefined && known && 'keyBytes' in known)
    return { name, keyBits: keyBits ?? (known.keyBytes ?? 0) * 8 };
  // A name that the table lacks is written as it was read, if it was read from this tool.
  return measurement.driver === 'afalg' && keyBits !== undefined && algorithm === undefined
    ? { name: algorithmText, keyBits }
    : undefined;
}
