/** Short names for sets and series that tell them apart. */

import { least } from './numbers.js';

/** What a label can be made of, the most telling first. */
export interface LabelParts {
  readonly set: string;
  readonly run: string;
  /** The run's place among the set's, from 1. */
  readonly number: number;
  readonly others: readonly (string | undefined)[];
}

/** A run's label that is longer comes after everything else that tells runs apart. */
const SHORT = 30;
/** Longer labels are cut off. */
const LONGEST = 40;

/**
 * Names of sources without their extension and without the words that all of them begin or end with: `mt7628-cbc-software.txt` and
 * `mt7628-cbc-engine.txt` are `software` and `engine`. Names that are the same get a number.
 */
export function setLabels(sources: readonly string[]): string[] {
  const bare = sources.map((source) =>
    source === '-' ? 'stdin' : source.replace(/(?<=.)\.[a-z]{1,8}$/i, ''),
  );
  return numbered(distinct(bare, /[^\s\-_.]*[\s\-_.]*/g).map(cut));
}

/** A label for each series of a subject, no two alike: the set's name where there are `severalSets`, and as much of the rest as it takes. */
export function labelSeries(parts: readonly LabelParts[], severalSets: boolean): string[] {
  const labels = parts.map(({ set }) => (severalSets ? set : ''));
  // A run's label may be a whole command line: what is common to all of them says nothing.
  const runs = distinct(
    parts.map(({ run }) => run),
    /\S*\s*/g,
  );
  const short = runs.every(({ length }) => length <= SHORT);
  const columns = [
    ...(short ? [runs] : []),
    ...Array.from({ length: parts[0]?.others.length ?? 0 }, (_, i) => parts.map(({ others }) => others[i])),
    ...(short ? [] : [runs]),
    parts.map(({ number }) => `run ${number}`),
  ];
  for (const column of columns) {
    for (const same of alike(labels)) {
      if (new Set(same.map((i) => column[i])).size < 2) continue;
      for (const i of same) {
        const more = column[i];
        if (more !== undefined) labels[i] = labels[i] === '' ? more : `${labels[i]} ${more}`;
      }
    }
  }
  return numbered(
    labels.map((label, i) => cut(label || parts[i]!.others.find((part) => part) || parts[i]!.set)),
  );
}

/** The indexes of labels that are the same, for each label that more than one has. */
function alike(labels: readonly string[]): number[][] {
  const by = new Map<string, number[]>();
  for (const [i, label] of labels.entries()) {
    const same = by.get(label);
    if (same) same.push(i);
    else by.set(label, [i]);
  }
  return [...by.values()].filter((same) => same.length > 1);
}

function numbered(labels: readonly string[]): string[] {
  const used = new Set(labels);
  const counts = new Map<string, number>();
  return labels.map((label) => {
    let count = (counts.get(label) ?? 0) + 1;
    while (count > 1 && used.has(`${label} (${count})`)) count++;
    counts.set(label, count);
    if (count === 1) return label;
    used.add(`${label} (${count})`);
    return `${label} (${count})`;
  });
}

function cut(label: string): string {
  const characters = [...label];
  return characters.length <= LONGEST
    ? label
    : `${characters
        .slice(0, LONGEST - 1)
        .join('')
        .trimEnd()}…`;
}

/** Without the words that all begin or end with, as far as something readable remains of each. @param word with the separator behind it */
function distinct(names: readonly string[], word: RegExp): string[] {
  if (new Set(names).size < 2) return [...names];
  const words = names.map((name) => name.match(word)!.filter((own) => own !== ''));
  const shortest = least(words.map(({ length }) => length));
  // The last words have no separator behind them, the same words elsewhere have.
  const same = (at: number): boolean => words.every((own) => own.at(at)?.trim() === words[0]!.at(at)?.trim());
  let front = 0;
  while (front < shortest && same(front)) front++;
  let back = 0;
  while (back < shortest - front && same(-1 - back)) back++;
  for (; front > 0 || back > 0; front > 0 ? front-- : back--) {
    const rest = words.map((own) =>
      own
        .slice(front, own.length - back)
        .join('')
        .replace(/^[\s\-_.]+(?=\w)|[\s\-_.]+$/g, ''),
    );
    const readable = rest.every((own) => /[a-z]{2}/i.test(own));
    if (readable && new Set(rest).size === new Set(names).size) return rest;
  }
  return [...names];
}
