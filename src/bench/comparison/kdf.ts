/** Key derivations beside each other: PBKDF2 by its rate; Argon2 by the parameters that were found for a time, which have no ratio. */
import type { KdfMeasurement, ResultSet } from '../model.js';
import { labelSeries, setLabels } from './labels.js';
import type { SeriesOptions } from './series.js';

export interface KdfRow {
  /** Unique within its comparison. */
  readonly label: string;
  readonly set: number;
  readonly run: number;
  readonly measurement: KdfMeasurement;
  /** Iterations a second, over those of the first row that has any. Absent for that one, and where there are none. */
  readonly ratio?: number;
}

/** One function with one hash and key length, by everybody who measured it, in the order of the sets. */
export interface KdfComparison {
  readonly kdf: KdfMeasurement['kdf'];
  readonly hash?: string;
  readonly keyBits?: number;
  readonly rows: readonly KdfRow[];
}

export function compareKdfs(sets: readonly ResultSet[], options: SeriesOptions = {}): KdfComparison[] {
  const names = options.labels ?? setLabels(sets.map(({ source }) => source));
  const groups = new Map<string, Omit<KdfRow, 'label' | 'ratio'>[]>();
  for (const [set, { runs }] of sets.entries()) {
    for (const [run, { kdfs }] of runs.entries()) {
      for (const measurement of kdfs) {
        const { kdf, hash, keyBits } = measurement;
        const key = JSON.stringify([kdf, hash, keyBits]);
        const known = groups.get(key);
        if (known) known.push({ set, run, measurement });
        else groups.set(key, [{ set, run, measurement }]);
      }
    }
  }
  return [...groups.values()].map((rows) => {
    const labels = labelSeries(
      rows.map(({ set, run }) => ({
        set: names[set]!,
        run: sets[set]!.runs[run]!.label,
        number: run + 1,
        others: [],
      })),
      sets.length > 1,
    );
    const first = rows.findIndex(({ measurement }) => rateOf(measurement) !== undefined);
    const base = first < 0 ? undefined : rateOf(rows[first]!.measurement);
    const { kdf, hash, keyBits } = rows[0]!.measurement;
    return {
      kdf,
      ...(hash === undefined ? {} : { hash }),
      ...(keyBits === undefined ? {} : { keyBits }),
      rows: rows.map((row, i) => {
        const rate = rateOf(row.measurement);
        const ratio = rate !== undefined && base !== undefined && i !== first ? rate / base : undefined;
        return { label: labels[i]!, ...row, ...(ratio === undefined ? {} : { ratio }) };
      }),
    };
  });
}

/** As with rates of bytes: nothing that would make no number of a ratio. */
function rateOf({ status, iterationsPerSecond: rate }: KdfMeasurement): number | undefined {
  return status === 'ok' && rate !== undefined && rate >= 1e-3 && rate <= 1e18 ? rate : undefined;
}
