/** Results as comma-separated values (RFC 4180), one line for each measurement, for spreadsheets and scripts. */
import { doubtsOf, type KdfMeasurement, type Measurement, type ResultSet, type Run } from '../bench/model.js';

export type Cell = string | number | boolean | null | undefined;

/** Columns in order. Units are in the names, as in the model. */
const COLUMNS: readonly (readonly [string, (row: Row) => Cell])[] = [
  ['source', ({ set }) => set.source],
  ['tool', ({ set }) => set.tool],
  ['tool_version', ({ set, run }) => run.toolVersion ?? set.toolVersion],
  ['run', ({ run }) => run.label],
  ['algorithm', ({ m, k }) => m?.algorithm ?? k?.kdf],
  ['algorithm_text', ({ m, k }) => (m ?? k)?.algorithmText],
  ['key_bits', ({ m, k }) => (m ?? k)?.keyBits],
  ['operation', ({ m, k }) => (k ? 'kdf' : m?.operation)],
  ['driver', ({ m }) => m?.driver],
  ['kernel_driver', ({ m }) => m?.kernelDriver],
  ['driver_hint', ({ m }) => m?.driverHint],
  ['engine', ({ m }) => m?.engine],
  ['cpu', ({ m }) => m?.cpu],
  ['request_bytes', ({ m }) => m?.requestBytes],
  ['requests', ({ m }) => m?.requests],
  ['parallel', ({ m }) => m?.parallel],
  ['repetition', ({ m }) => m?.repetition],
  ['elapsed_ns', ({ m, k }) => (m ?? k)?.elapsedNs],
  ['user_ns', ({ m }) => m?.userNs],
  ['system_ns', ({ m }) => m?.systemNs],
  ['p50_ns', ({ m }) => m?.latency?.p50Ns],
  ['p90_ns', ({ m }) => m?.latency?.p90Ns],
  ['p99_ns', ({ m }) => m?.latency?.p99Ns],
  ['interrupts', ({ m }) => m?.interrupts],
  ['rounds', ({ m }) => m?.rounds?.count],
  ['spread', ({ m }) => m?.rounds?.spread],
  ['bytes_per_second', ({ m }) => m?.bytesPerSecond],
  [
    'claimed_bytes_per_second',
    ({ m }) => (m?.claimedBytesPerSecond === null ? 'inf' : m?.claimedBytesPerSecond),
  ],
  ['basis', ({ m }) => m?.basis],
  ['estimated', ({ m }) => m?.estimated],
  ['status', ({ m, k }) => (m ?? k)?.status],
  ['kdf_hash', ({ k }) => k?.hash],
  ['iterations_per_second', ({ k }) => k?.iterationsPerSecond],
  ['iterations', ({ k }) => k?.iterations],
  ['memory_kib', ({ k }) => k?.memoryKiB],
  ['threads', ({ k }) => k?.threads],
  ['target_ms', ({ k }) => k?.targetMs],
  [
    'doubts',
    ({ run, m, k }) =>
      doubtsOf(run, (m ?? k)!)
        .map(({ code }) => code)
        .join(' '),
  ],
  ['line', ({ m, k }) => (m ?? k)?.line],
];

interface Row {
  readonly set: ResultSet;
  readonly run: Run;
  readonly m?: Measurement;
  readonly k?: KdfMeasurement;
}

/** A header line, then a line for each measurement and each key derivation. Lines end with CRLF. */
export function writeCsv(results: ResultSet | readonly ResultSet[]): string {
  const lines = [COLUMNS.map(([name]) => name).join(',')];
  for (const set of Array.isArray(results) ? (results as readonly ResultSet[]) : [results as ResultSet]) {
    for (const run of set.runs) {
      for (const m of run.measurements) lines.push(line({ set, run, m }));
      for (const k of run.kdfs) lines.push(line({ set, run, k }));
    }
  }
  return `${lines.join('\r\n')}\r\n`;
}

function line(row: Row): string {
  return csvLine(COLUMNS.map(([, read]) => read(row)));
}

/** One line without its end. Nothing is an empty cell. */
export function csvLine(cells: readonly Cell[]): string {
  return cells.map(cell).join(',');
}

function cell(value: Cell): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') return String(value);
  // A spreadsheet takes these beginnings for a formula, and this text came from elsewhere.
  const safe = /^[=+\-@\t]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
