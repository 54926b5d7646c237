/**
 * `live` among results: this machine, measured now at what the other operands measured.
 *
 * Room `cli`. The engine is loaded only where something is measured.
 */
import { isatty } from 'node:tty';
import { type Algorithm, findAlgorithm } from '../algorithms.js';
import type { SubjectComparison } from '../bench/comparison/index.js';
import type { PlannedSubject } from '../bench/engine/index.js';
import type { Operation, ResultSet } from '../bench/model.js';
import { HwcryptError } from '../errors.js';
import { splitDrivers } from './drivers.js';
import { writeError, writeErrorText } from './stdio.js';

export interface Measured {
  readonly set: ResultSet;
  /** Where a signal ended it before everything was measured: what the process is to exit with. */
  readonly status?: number;
}

/** Measures subjects with drivers (all that are there, if none are named). */
export type Measure = (subjects: readonly PlannedSubject[], drivers: readonly string[]) => Promise<Measured>;

/** `live`, `live:afalg,libcrypto` → the drivers named; undefined for a file. A file of that name is `./live`. */
export function liveDrivers(operand: string): readonly string[] | undefined {
  if (operand === 'live') return [];
  const [, names] = /^live:(.*)$/.exec(operand) ?? [];
  if (names === undefined) return undefined;
  const drivers = splitDrivers(names);
  if (drivers.length === 0) {
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
  const wanted = new Map<string, { algorithm: Algorithm; operation: Operation; sizes: Set<number> }>();
  for (const { subject, series } of found) {
    const algorithm = subject.algorithm === undefined ? undefined : findAlgorithm(subject.algorithm);
    const operation = subject.operation ?? (algorithm && USUAL[algorithm.kind]);
    if (!algorithm || operation === undefined || operation === 'cipher+mac') continue;
    const key = `${algorithm.name} ${operation}`;
    const known = wanted.get(key) ?? { algorithm, operation, sizes: new Set() };
    for (const { points } of series) {
      for (const { requestBytes } of points) if (requestBytes <= LARGEST_BYTES) known.sizes.add(requestBytes);
    }
    if (known.sizes.size > 0) wanted.set(key, known);
  }
  return [...wanted.values()].map((own) => ({ ...own, sizes: [...own.sizes].sort((a, b) => a - b) }));
}

/** Seconds that all of it may take. */
const BUDGET_SECONDS = 30;

export const measureLive: Measure = async (subjects, drivers) => {
  const [engine, { Interruption }, { duration }, { version }] = await Promise.all([
    import('../bench/engine/index.js'),
    import('./interruption.js'),
    import('../report/units.js'),
    import('./version.js'),
  ]);
  const algorithms = subjects.map(({ algorithm }) => algorithm);
  const contestants =
    drivers.length === 0
      ? engine
          .presentContestants()
          .contestants.filter((one) => algorithms.some((own) => engine.lacks(one, own) === undefined))
      : drivers.map((name) => engine.contestant(name));
  if (drivers.length > 0) engine.requirePresent(contestants, algorithms);
  const points = engine.countPoints(subjects, contestants, []);
  if (points === 0) {
    throw new HwcryptError(
      'NO_DRIVER',
      `no driver here has ${algorithms.map(({ name }) => name).join(', ')}`,
    );
  }
  const seconds = engine.secondsWithin(BUDGET_SECONDS, points);
  const watched = isatty(2);
  if (watched) {
    const whole = duration(points * engine.pointSeconds(seconds) * 1e9);
    writeError(
      `hwcrypt: live: measuring this machine: ${points} figures of ${seconds} s, about ${whole}; Ctrl-C goes on with what is finished`,
    );
  }
  const interruption = new Interruption();
  try {
    const set = await engine.measure(
      { subjects, contestants, sizes: [], seconds, toolVersion: version(), signal: interruption.signal },
      watched ? { begin: (_, done, total) => writeErrorText(`\r${done}/${total} `) } : {},
    );
    for (const note of set.notes) writeError(`hwcrypt: live: ${note}`);
    const { status } = interruption;
    return { set, ...(status === undefined ? {} : { status }) };
  } finally {
    if (watched) writeErrorText('\r\x1b[K');
    interruption.settle();
  }
};
