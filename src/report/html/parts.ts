/** What the sections of one page share. Room `report`. */
import type { Series } from '../../bench/comparison/index.js';
import type { ResultSet, Run } from '../../bench/model.js';
import { Places } from './data.js';
import { Notes } from './notes.js';

export interface Parts {
  readonly sets: readonly ResultSet[];
  /** What each set is called, no two alike. */
  readonly labels: readonly string[];
  readonly places: Places;
  readonly notes: Notes;
  runOf(series: Series): Run;
}

export function partsOf(sets: readonly ResultSet[], labels: readonly string[]): Parts {
  return {
    sets,
    labels,
    places: new Places(sets),
    notes: new Notes(),
    runOf: ({ set, run }) => sets[set]!.runs[run]!,
  };
}
