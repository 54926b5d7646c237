/**
 * What `openssl speed` prints, from results: for scripts that parse it. Layout of 3.0 (apps/speed.c: print_message, print_result, and the
 * table at the end of speed_main), to the byte.
 */

import { findAlgorithm } from '../algorithms.js';
import type { Measurement, Run } from '../bench/model.js';
import { fixed } from './numbers.js';

/** The figures of one algorithm at one size, before they are a line. */
export interface OpensslStep {
  readonly name: string;
  readonly seconds: number;
  readonly requestBytes: number;
}

/** `Doing aes-128-cbc for 3s on 16 size blocks: `, with no line feed: the result follows on the same line. */
export function doingLine({ name, seconds, requestBytes }: OpensslStep): string {
  return `Doing ${name} for ${seconds}s on ${requestBytes} size blocks: `;
}

/** `276231 aes-128-cbc's in 3.00s` and a line feed. */
export function doneLine(name: string, requests: number, elapsedSeconds: number): string {
  return `${requests} ${name}'s in ${fixed(elapsedSeconds, 2)}s\n`;
}

/** -mr: `+DT:aes-128-cbc:3:16` and a line feed. */
export function mrDoingLine({ name, seconds, requestBytes }: OpensslStep): string {
  return `+DT:${name}:${seconds}:${requestBytes}\n`;
}

/** -mr: `+R:276231:aes-128-cbc:3.000000` and a line feed. */
export function mrDoneLine(name: string, requests: number, elapsedSeconds: number): string {
  return `+R:${requests}:${name}:${fixed(elapsedSeconds, 6)}\n`;
}

/** The sentence that -elapsed makes it print, which hwcrypt always measures by. */
export const ELAPSED_SENTENCE = 'You have chosen to measure elapsed time instead of user CPU time.\n';

/** The lines between the counts and the table. Those that are not given are left out. */
export interface OpensslHeader {
  readonly version?: string;
  readonly builtOn?: string;
  readonly options?: string;
  readonly compiler?: string;
  readonly cpuInfo?: string;
}

export interface OpensslTable {
  readonly sizes: readonly number[];
  /** Bytes a second for each size; undefined prints 0.00, null `inf`. */
  readonly rows: readonly { readonly name: string; readonly rates: readonly (number | null | undefined)[] }[];
}

/**
 * Header lines, the sentence about units, sizes, rows.
 * @param titled false for -multi, where the tool leaves the sentence and the sizes out
 */
export function opensslTable(table: OpensslTable, header: OpensslHeader = {}, titled = true): string {
  const lines: string[] = [];
  if (header.version !== undefined) lines.push(`version: ${header.version}`);
  if (header.builtOn !== undefined) lines.push(`built on: ${header.builtOn}`);
  if (header.options !== undefined) lines.push(`options: ${header.options}`);
  if (header.compiler !== undefined) lines.push(`compiler: ${header.compiler}`);
  if (header.cpuInfo !== undefined) lines.push(`CPUINFO: ${header.cpuInfo}`);
  if (titled) {
    lines.push("The 'numbers' are in 1000s of bytes per second processed.");
    lines.push(`type        ${table.sizes.map((size) => `${String(size).padStart(7)} bytes`).join('')}`);
  }
  for (const { name, rates } of table.rows) {
    lines.push(`${name.padEnd(13)}${table.sizes.map((_, column) => value(rates[column])).join('')}`);
  }
  return `${lines.join('\n')}\n`;
}

/** In thousands with a `k`, but bytes and a blank up to 10 000. */
function value(rate: number | null | undefined): string {
  if (rate === null) return ` ${'inf'.padStart(11)}k`;
  const bytes = rate ?? 0;
  return bytes > 10_000 ? ` ${fixed(bytes / 1e3, 2).padStart(11)}k` : ` ${fixed(bytes, 2).padStart(11)} `;
}

/** `+H:16:64:…` (not for -multi's sums) and a `+F` line for each row. `index` is what 3.0 prints for -evp; readers should not look at it, and some do. */
export function opensslMrTable(table: OpensslTable, index = 25, titled = true): string {
  const lines = titled ? [`+H${table.sizes.map((size) => `:${size}`).join('')}`] : [];
  for (const { name, rates } of table.rows) {
    const values = table.sizes.map(
      (_, column) => `:${rates[column] === null ? 'inf' : fixed(rates[column] ?? 0, 2)}`,
    );
    lines.push(`+F:${index}:${name}${values.join('')}`);
  }
  return `${lines.join('\n')}\n`;
}

/** What one process of -multi did, or one thread of hwcrypt's. */
export interface OpensslChild {
  /** Bytes a second, row by row and size by size. */
  readonly rates: readonly (readonly (number | undefined)[])[];
}

/** -multi, text and -mr alike: what the parent prints on standard output before its children begin. */
export function opensslForked(children: number): string {
  return Array.from({ length: children }, (_, child) => `Forked child ${child}\n`).join('');
}

/** The same when they are done, before the sums. */
export function opensslChildren(
  children: readonly OpensslChild[],
  names: readonly string[],
  sizes: readonly number[],
  index = 25,
): string {
  const got = children.map(({ rates }, child) => {
    const rows = names.map((name, row) => ({ name, rates: rates[row] ?? [] }));
    const lines = opensslMrTable({ sizes, rows }, index).trimEnd().split('\n');
    return lines.map((line) => `Got: ${line} from ${child}\n`).join('');
  });
  return got.join('');
}

/** A run as two streams, like the tool's own. */
export interface OpensslOutput {
  readonly stderr: string;
  readonly stdout: string;
}

/** Text. Rates are by elapsed time; sizes that a row lacks print 0.00, as the tool does for steps that failed. */
export function writeOpenssl(run: Run, header: OpensslHeader = {}): OpensslOutput {
  const { table, steps } = tableOf(run);
  const stderr = steps
    .map((step) => doingLine(step.step) + doneLine(step.step.name, step.requests, step.elapsedSeconds))
    .join('');
  return { stderr: steps.length > 0 ? ELAPSED_SENTENCE + stderr : '', stdout: opensslTable(table, header) };
}

/** -mr. */
export function writeOpensslMr(run: Run, index = 25): OpensslOutput {
  const { table, steps } = tableOf(run);
  const stderr = steps
    .map((step) => mrDoingLine(step.step) + mrDoneLine(step.step.name, step.requests, step.elapsedSeconds))
    .join('');
  return { stderr, stdout: opensslMrTable(table, index) };
}

interface Step {
  readonly step: OpensslStep;
  readonly requests: number;
  readonly elapsedSeconds: number;
}

/** One row for each name, driver and direction in order of appearance; columns are all sizes, ascending. */
function tableOf(run: Run): { table: OpensslTable; steps: Step[] } {
  const own = run.measurements.filter(
    ({ requestBytes, repetition }) => requestBytes !== undefined && (repetition ?? 1) === 1,
  );
  const sizes = [...new Set(own.map(({ requestBytes }) => requestBytes!))].sort((a, b) => a - b);
  const column = new Map(sizes.map((size, index) => [size, index]));
  const rows = new Map<string, { name: string; rates: (number | null | undefined)[] }>();
  const steps: Step[] = [];
  for (const measurement of own) {
    const name = printedName(measurement);
    const key = [name, measurement.driver, measurement.kernelDriver, measurement.operation].join('\u0000');
    const row = rows.get(key) ?? { name, rates: [] };
    rows.set(key, row);
    row.rates[column.get(measurement.requestBytes!)!] = measurement.bytesPerSecond;
    const { requests, elapsedNs } = measurement;
    if (requests !== undefined && elapsedNs !== undefined && elapsedNs > 0) {
      const elapsedSeconds = elapsedNs / 1e9;
      steps.push({
        step: {
          name,
          seconds: Math.max(1, Math.round(elapsedSeconds)),
          requestBytes: measurement.requestBytes!,
        },
        requests,
        elapsedSeconds,
      });
    }
  }
  return { table: { sizes, rows: [...rows.values()] }, steps };
}

/** As it was printed by OpenSSL; what other tools named goes by OpenSSL's name, or hwcrypt's. No blank and no colon, which would end it. */
function printedName({ algorithm, algorithmText }: Measurement): string {
  const known = algorithm === undefined ? undefined : findAlgorithm(algorithm);
  const name = known && findAlgorithm(algorithmText) !== known ? known.name : algorithmText;
  return name.replaceAll(/[\s:]+/g, '-') || 'unknown';
}
