/** Texts for the tests of this room: those in the repository, and, where it is there, the collection of cases beside it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DoubtCode, Measurement, ResultSet, Run } from '#src/bench/model.js';
import { importResults } from '#src/interop/index.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const DATA = join(ROOT, 'test', 'data', 'interop');
const CASES = join(ROOT, '..', 'shared', 'cases');

export const fixtures: readonly string[] = readdirSync(DATA).sort();
export const hasCases = existsSync(CASES);

export function fixture(name: string): Buffer {
  return readFileSync(join(DATA, name));
}

export function text(name: string): string {
  return fixture(name).toString('utf8');
}

/** The one set in a fixture. */
export function setOf(name: string): ResultSet {
  return only(importResults(fixture(name), { source: name }).sets);
}

/** The one set in a file of the collection. */
export function caseOf(name: string): ResultSet {
  return only(importResults(readFileSync(join(CASES, name)), { source: name }).sets);
}

export function caseText(name: string): string {
  return readFileSync(join(CASES, name), 'utf8');
}

export function only<T>(list: readonly T[]): T {
  if (list.length !== 1)
    throw new Error(`${list.length} where one is expected: ${JSON.stringify(list).slice(0, 2000)}`);
  return list[0]!;
}

export interface Which {
  readonly algorithm: string;
  readonly operation?: 'encrypt' | 'decrypt' | 'digest' | 'mac';
  readonly requestBytes?: number;
  readonly repetition?: number;
}

/** The measurement of a run that fits. */
export function find(run: Run | ResultSet, which: Which): Measurement {
  const all = 'runs' in run ? run.runs.flatMap(({ measurements }) => measurements) : run.measurements;
  return only(
    all.filter((measurement) =>
      (Object.keys(which) as (keyof Which)[]).every((key) => measurement[key] === which[key]),
    ),
  );
}

export function rate(run: Run | ResultSet, which: Which): number {
  const { bytesPerSecond } = find(run, which);
  if (bytesPerSecond === undefined) throw new Error(`no rate for ${JSON.stringify(which)}`);
  return bytesPerSecond;
}

/** How many times as fast the first is as the second. */
export function ratio(fast: Run | ResultSet, slow: Run | ResultSet, which: Which): number {
  return rate(fast, which) / rate(slow, which);
}

export function codes(doubted: { readonly doubts: readonly { readonly code: DoubtCode }[] }): DoubtCode[] {
  return doubted.doubts.map(({ code }) => code);
}

/** Thousands of bytes a second with two decimals, as `openssl speed` prints them. */
export function thousands(bytesPerSecond: number | null | undefined): number | null | undefined {
  return typeof bytesPerSecond === 'number' ? Math.round(bytesPerSecond / 10) / 100 : bytesPerSecond;
}

export function claims(run: Run): (number | null | undefined)[] {
  return run.measurements.map(({ claimedBytesPerSecond }) => thousands(claimedBytesPerSecond));
}

export function rates(run: Run): (number | null | undefined)[] {
  return run.measurements.map(({ bytesPerSecond }) => thousands(bytesPerSecond));
}

export const SIZES = [16, 64, 256, 1024, 8192, 16384];
