/** Benchmarks in the texts, read by `interop`, and which of their curves went to an engine. */
import { findAlgorithm } from '../../algorithms.js';
import { type Group, type Series, seriesOf } from '../../bench/comparison/index.js';
import type { Measurement, ResultSet, Run, SkippedLine } from '../../bench/model.js';
import { importResults } from '../../interop/index.js';
import type { Document, DocumentLine, Quote } from './document.js';

/** Where the work of a curve was done, by what its text says. */
export type Place =
  /** By the program itself, on the CPU. */
  | 'software'
  /** Handed over: an engine of OpenSSL, AF_ALG, /dev/crypto. What is behind that is another question. */
  | 'offloaded'
  | 'unknown';

export interface Curve {
  readonly series: Series;
  readonly run: Run;
  readonly place: Place;
  readonly quote: Quote;
}

export interface Subject {
  readonly algorithm: string;
  readonly curves: readonly Curve[];
}

export interface Results {
  readonly sets: readonly ResultSet[];
  readonly subjects: readonly Subject[];
}

/** Sections that hold figures; what else there is need not be searched for tables. Those by user time are made to show CPU load, not speed. */
const FIGURES = /^(?:speed|benchmark|results)/;

/** Sets of one document. Line numbers are those of the document. */
export function readResults(document: Document): ResultSet[] {
  const parts: DocumentLine[][] = document.sections
    .filter(({ name }) => FIGURES.test(name) && !name.endsWith('user-time'))
    // The heading has the command line that was run; importers know it by its prompt.
    .map(({ what, number, lines }) => [
      { number, text: `$ ${what.replace(/^OPENSSL_CONF=\S{1,80} /, '')}` },
      ...lines,
    ]);
  if (document.loose.length > 0) parts.push(worthReading(document.loose));
  return parts.map(onePerLine).flatMap((lines) => {
    const text = lines.map((line) => line.text).join('\n');
    return text === ''
      ? []
      : importResults(text, { source: document.name }).sets.map((set) => labelled(renumbered(set, lines)));
  });
}

/** A web page, or a mail program, has made one line of all of openssl speed's. */
function onePerLine(lines: readonly DocumentLine[]): DocumentLine[] {
  return lines.flatMap((line) => {
    if (line.text.split('Doing ').length < 3) return [line];
    const texts = line.text.split(
      /(?=\bDoing )|(?=\bOpenSSL \d\.\d)|(?=\bbuilt on:)|(?=\btype {1,20}16 bytes)/,
    );
    return texts.map((text) => ({ ...line, text: text.trim() }));
  });
}

/** Of tables that somebody put together: rows are named by what did the work, and the algorithm stands in the command. */
function labelled(set: ResultSet): ResultSet {
  return {
    ...set,
    runs: set.runs.map((run) => {
      const name = /\s-evp\s+([\w-]{3,40})/.exec(run.command ?? run.label)?.[1];
      const algorithm = name === undefined ? undefined : findAlgorithm(name.toLowerCase());
      if (!algorithm) return run;
      return {
        ...run,
        measurements: run.measurements.map((row) =>
          row.algorithm === undefined && row.doubts.some(({ code }) => code === 'ALGORITHM_UNKNOWN')
            ? { ...row, algorithm: algorithm.name, driverHint: row.algorithmText }
            : row,
        ),
      };
    }),
  };
}

/** Importers take their time with what is none of theirs; so of a long text they get what looks like a benchmark, and what stands around it. */
const SHORT = 1500;
const AROUND = 12;
const MOST = 3000;
const LOOKS =
  /^Doing |\b\d+ bytes\b|[KMG]i?B\/s|\d\.\d\dk\b|^PBKDF2|^argon2|^\+(?:DT|[FHR]):|\b(?:openssl|cryptsetup|kcapi-speed|hwcrypt)\b|ngine "|^version:|^compiler:|untested|^cryptoperf|hunk \d+|bytes:|ops\/s|N\/A/;

function worthReading(lines: readonly DocumentLine[]): DocumentLine[] {
  if (lines.length <= SHORT) return [...lines];
  const wanted = new Uint8Array(lines.length);
  for (const [at, { text }] of lines.entries())
    if (LOOKS.test(text)) wanted.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  return lines.filter((_, at) => wanted[at] === 1).slice(0, MOST);
}

function renumbered(set: ResultSet, lines: readonly DocumentLine[]): ResultSet {
  const to = (line: number): number => lines[line - 1]?.number ?? line;
  const at = <T extends { readonly line?: number }>(row: T): T =>
    row.line === undefined ? row : { ...row, line: to(row.line) };
  return {
    ...set,
    skipped: set.skipped.map((skipped): SkippedLine => ({ ...skipped, line: to(skipped.line) })),
    runs: set.runs.map((run) => ({
      ...run,
      ...(run.lines ? { lines: [to(run.lines[0]), to(run.lines[1])] as const } : {}),
      measurements: run.measurements.map(at),
      kdfs: run.kdfs.map(at),
    })),
  };
}

export function gatherResults(sets: readonly ResultSet[]): Results {
  const distinct = withoutRepeats(sets);
  const subjects = seriesOf(distinct).map((group) => subject(group, distinct));
  return { sets: distinct, subjects };
}

/** A text that was pasted twice has each of its tables twice. */
function withoutRepeats(sets: readonly ResultSet[]): ResultSet[] {
  const seen = new Set<string>();
  return sets.flatMap((set) => {
    const runs = set.runs.filter((run) => {
      const key = JSON.stringify([
        run.command,
        run.engine,
        run.measurements.map(({ algorithmText, requestBytes, requests, claimedBytesPerSecond, status }) => [
          algorithmText,
          requestBytes,
          requests,
          claimedBytesPerSecond,
          status,
        ]),
        run.kdfs.map(({ algorithmText, iterationsPerSecond }) => [algorithmText, iterationsPerSecond]),
      ]);
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    });
    return runs.length === 0 && set.runs.length > 0 ? [] : [{ ...set, runs }];
  });
}

function subject({ subject, series }: Group, sets: readonly ResultSet[]): Subject {
  return {
    algorithm: subject.algorithm ?? subject.algorithmText,
    curves: series.map((own) => {
      const set = sets[own.set]!;
      const run = set.runs[own.run]!;
      return { series: own, run, place: placeOf(own, run, set), quote: quoteOf(set, run, own) };
    }),
  };
}

function placeOf(series: Series, run: Run, set: ResultSet): Place {
  // OpenSSL's own code is called by its name, whatever engine there is.
  if (series.points.some(({ doubts }) => doubts.some(({ code }) => code === 'NOT_EVP'))) return 'software';
  if (run.engine) return run.engine.loaded === 'no' ? 'software' : 'offloaded';
  if (series.driver === 'afalg' || series.driver === 'cryptodev' || series.engine !== undefined)
    return 'offloaded';
  if (series.driver !== undefined) return 'software';
  // Labels of people: `AF aes-128-cbc` beside `SW aes-128-cbc`.
  const label = `${run.label} ${series.driverHint ?? ''}`;
  if (
    /\b(?:no|without|w\/o) (?:an? |the |any )?(?:engine|hardware|HW|devcrypto|cryptodev|afalg|accel\w*)\b/i.test(
      label,
    )
  )
    return 'software';
  if (
    /\b(?:AF|HW|hardware|engine|devcrypto|cryptodev|afalg|accel\w*|enabled)\b/i.test(label) &&
    !/\bdisabled\b/i.test(label)
  )
    return 'offloaded';
  if (/\b(?:SW|software|disabled)\b/i.test(label)) return 'software';
  if (set.tool === 'openssl speed' && series.driverHint === undefined && costsLikeAnEngine(series))
    return 'offloaded';
  // User time that stands still while the clock runs: somebody else did the work.
  if (series.points.some(divided)) return 'offloaded';
  return set.tool === 'openssl speed' || set.tool === 'sbc-bench' ? 'software' : 'unknown';
}

/** So much no CPU spends on getting to its own code, and so much one request costs at an engine, or behind a system call into the kernel. */
const ENGINE_FIXED_NS = 8000;
/** Software's 16 KiB requests are at most some ten times as fast as its 16-byte ones. */
const ENGINE_GROWTH = 25;

/** A row of `cryptsetup benchmark`'s table, with the run that it is of. */
export interface TableRow {
  readonly source: string;
  readonly run: Run;
  readonly row: Measurement;
}

export const tableRows = ({ sets }: Results): TableRow[] =>
  sets
    .filter(({ tool }) => tool === 'cryptsetup benchmark')
    .flatMap(({ source, runs }) =>
      runs.flatMap((run) => run.measurements.map((row) => ({ source, run, row }))),
    );

/** Is the row of that cipher and key, as the table has them: `aes-cbc 256`? */
export const isTableRow = (
  { row }: Pick<TableRow, 'row'>,
  name: string,
  operation: 'encrypt' | 'decrypt',
): boolean => `${row.algorithmText} ${row.keyBits}` === name && row.operation === operation;

/** A rate, and the line that it stands in. @param name what the row is called where it is quoted */
export function tableRate(
  { source, row }: TableRow,
  name: string,
): { readonly value: number; readonly quote: Quote } | undefined {
  const value = row.bytesPerSecond;
  if (value === undefined) return undefined;
  return { value, quote: { source, line: row.line ?? 0, text: `${name}: ${megabytesPerSecond(value)}` } };
}

/** OpenSSL was not asked for an engine, and yet each request costs as much as one: a configuration hands everything over. */
export function costsLikeAnEngine({ points }: Series): boolean {
  const [small, large] = [points[0], points.at(-1)];
  if (!small || !large || small.requestBytes > 64 || large.requestBytes < 4096) return false;
  const smallNs = (small.requestBytes * 1e9) / small.bytesPerSecond;
  return smallNs > ENGINE_FIXED_NS && large.bytesPerSecond > small.bytesPerSecond * ENGINE_GROWTH;
}

/** By the figure's own count and seconds; that -elapsed was left out alone says nothing of who worked. */
const divided = ({ measurement }: Series['points'][number]): boolean =>
  measurement.doubts.some(({ code }) => code === 'CPU_TIME_DIVISOR');

function quoteOf(set: ResultSet, run: Run, series: Series): Quote {
  const largest = series.points.at(-1);
  const line = largest?.measurement.line ?? run.lines?.[0] ?? 0;
  return { source: set.source, line, text: figures(series) };
}

/** `aes-128-cbc: 16 B 2.73 MB/s, 8192 B 24.3 MB/s`, by the clock. */
function figures(series: Series): string {
  const { points } = series;
  const shown =
    points.length <= 3 ? points : [points[0]!, points[Math.floor(points.length / 2)]!, points.at(-1)!];
  const values = shown.map(
    ({ requestBytes, bytesPerSecond }) => `${requestBytes} B ${megabytesPerSecond(bytesPerSecond)}`,
  );
  return `${series.label}: ${values.join(', ')}`;
}

export function megabytesPerSecond(bytesPerSecond: number): string {
  const value = bytesPerSecond / 1e6;
  return `${value < 0.1 ? value.toPrecision(2) : value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0)} MB/s`;
}

/** The measurements of all sets with their runs. */
export function* measurements(
  sets: readonly ResultSet[],
): Generator<{ set: ResultSet; run: Run; measurement: Measurement }> {
  for (const set of sets)
    for (const run of set.runs) for (const measurement of run.measurements) yield { set, run, measurement };
}
