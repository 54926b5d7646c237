/**
 * Measurements that can be compared, brought together: the same algorithm, operation and key length are a subject, and within it each
 * implementation of one run is a series of points by request size.
 */
import { type Doubt, doubtsOf, type Measurement, type Operation, type ResultSet } from '../model.js';
import { type LabelParts, labelSeries, setLabels } from './labels.js';

/** What was measured. `operation` is absent where none of the texts says. */
export interface Subject {
  /** hwcrypt's name, where the table of algorithms has it. */
  readonly algorithm?: string;
  /** As printed by the first that measured it. */
  readonly algorithmText: string;
  readonly operation?: Operation;
  readonly keyBits?: number;
}

/** One size of a series. All figures are by elapsed time. */
export interface Point {
  readonly requestBytes: number;
  /** Summed over workers, where several worked at once. */
  readonly bytesPerSecond: number;
  /** Elapsed nanoseconds for each request: `requestBytes` over `bytesPerSecond`. */
  readonly nsPerRequest: number;
  /** What the tool printed, where it printed a number and that is not `bytesPerSecond`. */
  readonly claimedBytesPerSecond?: number;
  /** Without a flaw of the tool's that can be worked out (`Doubt.correctedBytesPerSecond`). */
  readonly correctedBytesPerSecond?: number;
  /** (fastest − slowest) / median of the rounds. */
  readonly spread?: number;
  readonly cpu?: CpuCost;
  /** `bytesPerSecond` rests on a nominal duration. */
  readonly estimated: boolean;
  readonly doubts: readonly Doubt[];
  readonly measurement: Measurement;
}

/** CPU nanoseconds for each byte. */
export interface CpuCost {
  readonly nsPerByte: number;
  /**
   * `user+system`: all of it. `user`: what the process itself used; the kernel's part is not known, and where the kernel or an engine does the
   * work that part is what counts.
   */
  readonly scope: 'user+system' | 'user';
}

/** Why a measurement is no point of its series. */
export type LeftOutReason =
  /** The tool ran and printed 0.00 or an error. */
  | 'FAILED'
  /** The machine cannot do it. */
  | 'UNAVAILABLE'
  /** There is a claim, divided by CPU time, and nothing to work out the elapsed figure from. */
  | 'NO_ELAPSED_FIGURE'
  /** The request size is not known. */
  | 'SIZE_UNKNOWN'
  /** The figure is zero, or beyond anything that a computer does. */
  | 'NO_FIGURE';

export interface LeftOut {
  readonly reason: LeftOutReason;
  readonly measurement: Measurement;
}

export interface Series {
  /** Unique within its subject, for people. */
  readonly label: string;
  /** Index of the result set, and of the run in it. */
  readonly set: number;
  readonly run: number;
  readonly source: string;
  readonly driver?: string;
  readonly kernelDriver?: string;
  readonly driverHint?: string;
  readonly engine?: string;
  readonly cpu?: string;
  /** Workers or requests at once; absent for one. */
  readonly parallel?: number;
  readonly repetition?: number;
  /** The text does not say which operation this is; it may be another than the subject's. */
  readonly operationOpen: boolean;
  /** By request size, each size once. */
  readonly points: readonly Point[];
  readonly leftOut: readonly LeftOut[];
}

/** A subject with all who measured it. */
export interface Group {
  readonly subject: Subject;
  /** In the order of the sets, their runs, and the rows in them. */
  readonly series: readonly Series[];
}

export interface SeriesOptions {
  /** What to call each set. By default its source, without its extension and what all of them begin or end with. */
  readonly labels?: readonly string[];
}

interface Row {
  readonly set: number;
  readonly run: number;
  readonly source: string;
  readonly measurement: Measurement;
  readonly doubts: readonly Doubt[];
}

/** Names that stand for different things in different runs. */
const NAMELESS = /^(?:evp|unknown|\W*)$/i;
/** Beyond these a figure is a slip of somebody's, and arithmetic on it gives no numbers. */
const isRate = (bytesPerSecond: number): boolean => bytesPerSecond >= 1e-3 && bytesPerSecond <= 1e18;

/**
 * Groups measurements into subjects and series. Where a text leaves the operation open, its rows are in the groups of all operations that
 * others name, marked `operationOpen`; which of them it is, is not guessed.
 */
export function seriesOf(sets: readonly ResultSet[], options: SeriesOptions = {}): Group[] {
  const names = options.labels ?? setLabels(sets.map(({ source }) => source));
  const groups: Group[] = [];
  for (const rows of partition(rowsOf(sets), nameOf).values()) {
    for (const sameKey of byKey(rows)) {
      const known = new Set(
        sameKey.flatMap(({ measurement: { operation } }) => (operation === undefined ? [] : [operation])),
      );
      const operations: (Operation | undefined)[] = known.size > 0 ? [...known] : [undefined];
      for (const operation of operations) {
        const own = sameKey.filter(
          ({ measurement }) => measurement.operation === undefined || measurement.operation === operation,
        );
        groups.push(group(own, operation, sets, names));
      }
    }
  }
  return groups;
}

function rowsOf(sets: readonly ResultSet[]): Row[] {
  return sets.flatMap(({ runs, source }, set) =>
    runs.flatMap((own, run) =>
      own.measurements.map((measurement) => ({
        set,
        run,
        source,
        measurement,
        doubts: doubtsOf(own, measurement),
      })),
    ),
  );
}

function nameOf({ set, run, measurement: { algorithm, algorithmText } }: Row): string {
  if (algorithm !== undefined) return algorithm;
  const text = algorithmText.trim().toLowerCase();
  return NAMELESS.test(text) ? `${text} ${set} ${run}` : text;
}

/** By key length, where more than one is named; rows that name none may then be of any, and stay apart. */
function byKey(rows: readonly Row[]): readonly Row[][] {
  const known = new Set(
    rows.flatMap(({ measurement: { keyBits } }) => (keyBits === undefined ? [] : [keyBits])),
  );
  return known.size < 2
    ? [[...rows]]
    : [...partition(rows, ({ measurement: { keyBits } }) => String(keyBits)).values()];
}

function group(
  rows: readonly Row[],
  operation: Operation | undefined,
  sets: readonly ResultSet[],
  names: readonly string[],
): Group {
  const series = [...partition(rows, (row) => identity(row)).values()].flatMap(repetitions);
  const parts = series.map((own) => partsOf(own, sets, names));
  const labels = labelSeries(parts, sets.length > 1);
  const { algorithm, algorithmText } = rows[0]!.measurement;
  const keyBits = rows.find(({ measurement }) => measurement.keyBits !== undefined)?.measurement.keyBits;
  return {
    subject: {
      ...(algorithm === undefined ? {} : { algorithm }),
      algorithmText,
      ...(operation === undefined ? {} : { operation }),
      ...(keyBits === undefined ? {} : { keyBits }),
    },
    series: series.map((own, index) => oneSeries(own, operation, labels[index]!)),
  };
}

/** What must be the same for two rows to be points of one curve. */
function identity({ set, run, measurement: m }: Row): string {
  return JSON.stringify([
    set,
    run,
    m.driver,
    m.kernelDriver,
    m.driverHint,
    m.engine,
    m.cpu,
    m.parallel ?? 1,
    m.repetition,
    m.operation,
  ]);
}

/** Rows that nothing tells apart but that they come again: the second at a size belongs to a second series. */
function repetitions(rows: readonly Row[]): Row[][] {
  const out: Row[][] = [];
  const seen = new Map<number | undefined, number>();
  for (const row of rows) {
    const { requestBytes } = row.measurement;
    const index = seen.get(requestBytes) ?? 0;
    // Rows of no known size are no points, so that any number of them fits into one series.
    if (requestBytes !== undefined) seen.set(requestBytes, index + 1);
    out[index] ??= [];
    out[index].push(row);
  }
  return out;
}

function partsOf([first]: readonly Row[], sets: readonly ResultSet[], names: readonly string[]): LabelParts {
  const { set, run, source, measurement: m } = first!;
  return {
    set: names[set] ?? source,
    run: sets[set]!.runs[run]!.label,
    number: run + 1,
    others: [
      m.driver,
      m.engine,
      m.kernelDriver,
      m.driverHint,
      m.cpu,
      m.parallel === undefined || m.parallel === 1 ? undefined : `${m.parallel} at once`,
      m.repetition === undefined ? undefined : `row ${m.repetition}`,
    ],
  };
}

function oneSeries(rows: readonly Row[], operation: Operation | undefined, label: string): Series {
  const { set, run, source, measurement: m } = rows[0]!;
  const points: Point[] = [];
  const leftOut: LeftOut[] = [];
  for (const { measurement, doubts } of rows) {
    const reason = unusable(measurement);
    if (reason === undefined) points.push(pointOf(measurement, doubts));
    else leftOut.push({ reason, measurement });
  }
  const identified = ['driver', 'kernelDriver', 'driverHint', 'engine', 'cpu', 'repetition'] as const;
  return {
    label,
    set,
    run,
    source,
    ...Object.fromEntries(identified.flatMap((key) => (m[key] === undefined ? [] : [[key, m[key]]]))),
    ...(m.parallel === undefined || m.parallel === 1 ? {} : { parallel: m.parallel }),
    operationOpen: operation !== undefined && m.operation === undefined,
    points: points.sort((a, b) => a.requestBytes - b.requestBytes),
    leftOut,
  };
}

function unusable({ status, bytesPerSecond, requestBytes }: Measurement): LeftOutReason | undefined {
  if (status === 'failed') return 'FAILED';
  if (status === 'unavailable') return 'UNAVAILABLE';
  if (bytesPerSecond === undefined) return 'NO_ELAPSED_FIGURE';
  if (!isRate(bytesPerSecond)) return 'NO_FIGURE';
  if (requestBytes === undefined || requestBytes < 1) return 'SIZE_UNKNOWN';
  return undefined;
}

function pointOf(measurement: Measurement, doubts: readonly Doubt[]): Point {
  const { claimedBytesPerSecond: claimed, rounds, estimated } = measurement;
  const bytesPerSecond = measurement.bytesPerSecond!;
  const requestBytes = measurement.requestBytes!;
  const corrected = doubts.find((doubt) =>
    isRate(doubt.correctedBytesPerSecond ?? 0),
  )?.correctedBytesPerSecond;
  const cpu = cpuCost(measurement);
  return {
    requestBytes,
    bytesPerSecond,
    nsPerRequest: (requestBytes * 1e9) / bytesPerSecond,
    ...(typeof claimed === 'number' && isRate(claimed) && claimed !== bytesPerSecond
      ? { claimedBytesPerSecond: claimed }
      : {}),
    ...(corrected === undefined ? {} : { correctedBytesPerSecond: corrected }),
    ...(rounds === undefined ? {} : { spread: rounds.spread }),
    ...(cpu === undefined ? {} : { cpu }),
    estimated,
    doubts,
    measurement,
  };
}

/** Undefined where the text says nothing of CPU time, or not for how many bytes. */
function cpuCost({
  requests,
  requestBytes,
  elapsedNs,
  bytesPerSecond,
  userNs,
  systemNs,
}: Measurement): CpuCost | undefined {
  if (userNs === undefined) return undefined;
  const bytes =
    requests !== undefined && requestBytes !== undefined
      ? requests * requestBytes
      : ((elapsedNs ?? 0) * (bytesPerSecond ?? 0)) / 1e9;
  const nsPerByte = (userNs + (systemNs ?? 0)) / bytes;
  if (!Number.isFinite(nsPerByte)) return undefined;
  return { nsPerByte, scope: systemNs === undefined ? 'user' : 'user+system' };
}

function partition<T>(list: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const out = new Map<string, T[]>();
  for (const item of list) {
    const own = key(item);
    const bucket = out.get(own);
    if (bucket) bucket.push(item);
    else out.set(own, [item]);
  }
  return out;
}
