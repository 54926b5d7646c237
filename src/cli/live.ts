/**
 * `live` among results: this machine, measured now at what the other operands measured.
 *
 * Room `cli`. The engine is loaded only where something is measured.
 */
import { findAlgorithm } from '../algorithms.js';
import type { SubjectComparison } from '../bench/comparison/index.js';
import type { PlannedSubject } from '../bench/engine/index.js';
import type { Operation, ResultSet } from '../bench/model.js';
import { HwcryptError } from '../errors.js';

/** Measures subjects with drivers (all that are there, if none are named). */
export type Measure = (subjects: readonly PlannedSubject[], drivers: readonly string[]) => Promise<ResultSet>;

/** `live`, `live:afalg,libcrypto` → the drivers named; undefined for a file. A file of that name is `./live`. */
export function liveDrivers(operand: string): readonly string[] | undefined {
  if (operand === 'live') return [];
  const [, names] = /^live:(.*)$/.exec(operand) ?? [];
  if (names === undefined) return undefined;
  const drivers = names.split(',').map((name) => name.trim());
  if (drivers.some((name) => name === '')) {
    throw new HwcryptError('USAGE', `"${operand}" names no driver: live:afalg,libcrypto`);
  }
  return drivers;
}

const USUAL: Readonly<Record<string, Operation>> = {
  cipher: 'encrypt',
  aead: 'encrypt',
  hash: 'digest',
  mac: 'mac',
};
/** A request of more is measured by nobody but by accident. */
const LARGEST_BYTES = 16 * 1024 * 1024;

/** What a comparison's other operands measured, as far as the engine can do it. */
export function subjectsToMeasure(found: readonly SubjectComparison[]): PlannedSubject[] {
  return found.flatMap(({ subject, series }) => {
    const algorithm = subject.algorithm === undefined ? undefined : findAlgorithm(subject.algorithm);
    const operation = subject.operation ?? (algorithm && USUAL[algorithm.kind]);
    const sizes = series.flatMap(({ points }) => points.map(({ requestBytes }) => requestBytes));
    const own = [...new Set(sizes)].filter((size) => size <= LARGEST_BYTES).sort((a, b) => a - b);
    return algorithm && operation && operation !== 'cipher+mac' && own.length > 0
      ? [{ algorithm, operation, sizes: own }]
      : [];
  });
}

/** Seconds that all of it may take. */
const BUDGET_SECONDS = 30;

export const measureLive: Measure = async (subjects, drivers) => {
  const { contestant, countPoints, measure, presentContestants, requirePresent, secondsWithin } =
    await import('../bench/engine/index.js');
  const contestants =
    drivers.length === 0 ? presentContestants().contestants : drivers.map((name) => contestant(name));
  requirePresent(
    contestants,
    subjects.map(({ algorithm }) => algorithm),
  );
  const points = countPoints(subjects, contestants, []);
  return measure({ subjects, contestants, sizes: [], seconds: secondsWithin(BUDGET_SECONDS, points) });
};
