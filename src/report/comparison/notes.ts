/** Doubts about the figures of a comparison, each told once, however many subjects it concerns. Room `report`. */
import type { SubjectComparison } from '../../bench/comparison/index.js';
import type { DoubtCode } from '../../bench/model.js';

export interface ComparisonNote {
  readonly code: DoubtCode;
  /** Labels of the series that it concerns. */
  readonly labels: readonly string[];
  readonly text: string;
  /** Where it concerns only some of the sizes of those. */
  readonly sizes?: readonly number[];
}

/** In order of appearance. Of a series' doubts with one code the first stands for all; the figures in the others' words are other figures'. */
export function comparisonNotes(found: readonly SubjectComparison[]): ComparisonNote[] {
  const first = new Map<string, { code: DoubtCode; label: string; text: string; sizes?: number[] }>();
  for (const { pairs } of found) {
    for (const { baseline, other, ratios, doubts } of pairs) {
      for (const { side, doubt, sizes } of doubts) {
        const { label } = side === 'baseline' ? baseline : other;
        const some = sizes.length < ratios.length ? { sizes: [...sizes] } : {};
        const key = JSON.stringify([doubt.code, label, some]);
        if (!first.has(key)) first.set(key, { code: doubt.code, label, text: doubt.text, ...some });
      }
    }
  }
  const merged = new Map<string, { code: DoubtCode; labels: string[]; text: string; sizes?: number[] }>();
  for (const { label, ...note } of first.values()) {
    const key = JSON.stringify(note);
    const known = merged.get(key);
    if (known) known.labels.push(label);
    else merged.set(key, { ...note, labels: [label] });
  }
  return [...merged.values()];
}
