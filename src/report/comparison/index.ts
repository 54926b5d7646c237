/**
 * A comparison as text: who is who, a table of throughput and ratios for each subject, the verdict in words, and what the figures stand on.
 *
 * Room `report`. Tables are laid out for the columns there are; a table of many series falls into several before it runs over.
 */
import {
  type KdfComparison,
  least,
  most,
  type Series,
  type SubjectComparison,
} from '../../bench/comparison/index.js';
import type { ResultSet } from '../../bench/model.js';
import { throughputPlot } from '../plot.js';
import { inAscii } from '../text.js';
import { requestSize } from '../units.js';
import { fitLines } from './fits.js';
import { kdfText } from './kdf.js';
import { type Context, grouped, hanging, heading, paragraph, subjectHeading, verdicts } from './layout.js';
import { matrices } from './matrix.js';
import { comparisonNotes } from './notes.js';
import { cpuTable, sizesTable } from './sizes.js';

export interface ComparisonTextOptions {
  /** Of the terminal; 80 for a pipe. */
  readonly columns: number;
  /** Nothing but ASCII, as far as the texts that were read allow. */
  readonly ascii: boolean;
  /** Plots of subjects with several sizes too. */
  readonly plot: boolean;
  readonly kdfs?: readonly KdfComparison[];
}

/** More plots than these are scrolled past. */
const MOST_PLOTS = 4;

export function comparisonText(
  found: readonly SubjectComparison[],
  sets: readonly ResultSet[],
  options: ComparisonTextOptions,
): string {
  const compared = found.filter(({ pairs }) => pairs.length > 0);
  const kdfs = (options.kdfs ?? []).filter(({ rows }) => rows.length > 1);
  const all = inLegend(found, options.kdfs);
  const letters = lettersOf(all);
  const common = (own: SubjectComparison): number => most(own.pairs.map(({ ratios }) => ratios.length));
  const curves = compared.filter((own) => common(own) > 1);
  const single = compared.filter((own) => common(own) === 1);
  const apart = compared.filter((own) => common(own) === 0);
  const alone = found.filter(({ pairs }) => pairs.length === 0);
  const context = {
    letters,
    columns: options.columns,
    ascii: options.ascii,
    plot: options.plot && curves.length <= MOST_PLOTS,
  };
  const parts = [
    `${legend(all, sets, context)}${compared.length > 0 ? paragraph('MB/s are 10^6 bytes a second of elapsed time.', options.columns) : ''}`,
    ...curves.map((own) => curveText(own, context)),
    ...matrices(single, context),
    ...apart.map((own) => `${heading(own)}\n${verdicts(own, context)}`),
    kdfText(kdfs, context),
    aloneText(alone, options.columns),
    notesText(compared, context),
    options.plot && curves.length > MOST_PLOTS
      ? paragraph(
          `Plots of ${curves.length} subjects are left out; --algorithm NAME chooses.`,
          options.columns,
        )
      : '',
  ];
  const text = parts.filter((part) => part !== '').join('\n');
  return options.ascii ? inAscii(text) : text;
}

type Labelled = Pick<Series, 'label' | 'set' | 'run'> &
  Partial<Pick<Series, 'driver' | 'kernelDriver' | 'parallel'>>;

/** Whoever is compared, in the order of the files, which is the same whatever the baseline. */
function inLegend(found: readonly SubjectComparison[], kdfs: readonly KdfComparison[] = []): Labelled[] {
  const all: Labelled[] = [
    ...found.filter(({ pairs }) => pairs.length > 0).flatMap(({ series }) => series),
    ...kdfs.map(({ rows }) => rows).filter((rows) => rows.length > 1),
  ].flat();
  return all.sort((a, b) => a.set - b.set || a.run - b.run);
}

/** A, B … Z, then A2 …. */
function lettersOf(list: readonly { readonly label: string }[]): Map<string, string> {
  const out = new Map<string, string>();
  for (const { label } of list) {
    if (out.has(label)) continue;
    const round = Math.floor(out.size / 26);
    out.set(label, `${String.fromCharCode(65 + (out.size % 26))}${round === 0 ? '' : round + 1}`);
  }
  return out;
}

/** The letter that each label has in the text. */
export function legendLetters(
  found: readonly SubjectComparison[],
  kdfs?: readonly KdfComparison[],
): ReadonlyMap<string, string> {
  return lettersOf(inLegend(found, kdfs));
}

/** Who the letters are. */
function legend(all: readonly Labelled[], sets: readonly ResultSet[], context: Context): string {
  const by = new Map<string, Labelled[]>();
  for (const own of all) {
    const known = by.get(own.label);
    if (known) known.push(own);
    else by.set(own.label, [own]);
  }
  // Of each set once: a text may have thousands of runs.
  const places = sets.map(({ runs }) => new Set(runs.map(({ lines }) => String(lines))).size);
  const several = (set: number): boolean => places[set]! > 1;
  const lines = [...by].map(([label, list]) => {
    const [first] = list as [Labelled];
    const set = sets[first.set]!;
    const facts = [
      set.source === '-' ? 'standard input' : set.source,
      `${set.tool}${set.toolVersion === undefined ? '' : ` ${set.toolVersion}`}`,
      few(list.map(({ driver }) => driver)),
      few(list.map(({ kernelDriver }) => kernelDriver)),
      first.parallel === undefined ? undefined : `${first.parallel} at once`,
      linesOf(set, first.run, several(first.set)),
      ...machine(set, first.run),
    ].filter((fact) => fact !== undefined && fact !== '' && fact !== label);
    return hanging(
      `${context.letters.get(label)}  ${label}: `,
      shown(facts.join(', '), context),
      context.columns,
      3,
    );
  });
  return lines.join('');
}

/** Which of a text's runs it is, where nothing else may tell. */
function linesOf({ runs }: ResultSet, run: number, several: boolean): string | undefined {
  const lines = runs[run]?.lines;
  return lines && several ? `lines ${lines[0]}-${lines[1]}` : undefined;
}

function machine(set: ResultSet, run: number): (string | undefined)[] {
  const { model, cpu, kernel } = { ...set.machine, ...set.runs[run]?.machine };
  return [model ?? cpu, kernel === undefined ? undefined : `Linux ${kernel}`];
}

/** Before it is laid out: what stands for a character may be longer. */
function shown(text: string, { ascii }: Context): string {
  return ascii ? inAscii(text) : text;
}

function few(list: readonly (string | undefined)[]): string {
  const own = [...new Set(list.filter((item) => item !== undefined))];
  return own.length > 3 ? `${own.slice(0, 3).join(', ')} …` : own.join(', ');
}

function curveText(own: SubjectComparison, context: Context): string {
  const drawn = !context.plot
    ? ''
    : throughputPlot(
        own.series.map(({ label, points }) => ({ letter: context.letters.get(label)![0]!, points })),
        { columns: context.columns, ascii: context.ascii },
      );
  return [
    `${heading(own)}\n${verdicts(own, context)}`,
    drawn,
    sizesTable(own, context),
    cpuTable(own, context),
    fitLines(own, context),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function aloneText(found: readonly SubjectComparison[], columns: number): string {
  if (found.length === 0) return '';
  const by = new Map<string, string[]>();
  for (const own of found) {
    const label = own.series[0]?.source ?? '';
    by.set(label, [...(by.get(label) ?? []), subjectHeading(own)]);
  }
  return [...by]
    .map(([source, names]) =>
      paragraph(`Only in ${source === '-' ? 'standard input' : source}: ${grouped(names)}.`, columns),
    )
    .join('');
}

function notesText(found: readonly SubjectComparison[], context: Context): string {
  const notes = comparisonNotes(found);
  if (notes.length === 0) return '';
  const lines = notes.map(({ labels, text, sizes }) =>
    hanging(
      '',
      shown(
        `${labels.map((label) => context.letters.get(label) ?? label).join(', ')}${sizes === undefined ? '' : ` at ${sizes.map(requestSize).join(', ')}`}: ${text}.`,
        context,
      ),
      context.columns,
      3,
    ),
  );
  return `What the figures stand on:\n${lines.join('')}`;
}

/** `openssl speed: aes-128-cbc, 16 B to 8 KiB`: what of a file could be read. */
export function setSummary({ tool, runs }: ResultSet): string {
  const measurements = runs.flatMap((own) => own.measurements);
  const names = [...new Set(measurements.map(({ algorithm, algorithmText }) => algorithm ?? algorithmText))];
  const sizes = measurements.flatMap(({ requestBytes }) =>
    requestBytes === undefined ? [] : [requestBytes],
  );
  const kdfs = runs.reduce((sum, own) => sum + own.kdfs.length, 0);
  const some = names.length > 6 ? `${names.slice(0, 6).join(', ')} …` : names.join(', ');
  const what = [
    names.length === 0 ? 'no figures of throughput' : some,
    sizes.length === 0 ? '' : range(sizes),
    kdfs === 0 ? '' : `key derivations: ${kdfs}`,
  ].filter((part) => part !== '');
  return `${tool}: ${what.join(', ')}`;
}

function range(sizes: readonly number[]): string {
  const [low, high] = [least(sizes), most(sizes)];
  return low === high ? requestSize(low) : `${requestSize(low)} to ${requestSize(high)}`;
}
