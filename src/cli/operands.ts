/**
 * What `compare` and `report` have in common: files of results and `live` as operands, which of them is the baseline, and which algorithms are
 * meant.
 *
 * Room `cli`.
 */
import { findAlgorithm } from '../algorithms.js';
import { compare, type Series, type SubjectComparison, setLabels } from '../bench/comparison/index.js';
import { HwcryptError } from '../errors.js';
import { liveDrivers, type Measure, subjectsToMeasure } from './live.js';
import { nearest, type OptionSpec } from './options.js';
import { type ResultFile, readResultFile, reportUnread } from './results.js';

/** What this machine's results are called. */
const LIVE = 'live';

export const BASELINE_OPTION: OptionSpec = {
  names: ['--baseline'],
  value: 'WHICH',
  help: 'What the others are compared with: a label, a letter of what compare prints, a driver, a file name, or the number of the file (of the run, where there is one file); otherwise the first',
};

export const ALGORITHM_OPTION: OptionSpec = {
  names: ['--algorithm'],
  value: 'NAME',
  help: 'Only this one, or this family (aes); may be repeated',
  repeats: true,
};

export const VERBOSE_OPTION: OptionSpec = {
  names: ['--verbose'],
  help: 'Every line that could not be read, with the reason',
};

export const OPERANDS_NOTE = `A FILE holds what openssl speed, cryptsetup benchmark, kcapi-speed, QEMU's
benchmark-crypto, cryptodev's tests or hwcrypt printed, as it was pasted; - is
standard input. The runs in a single file are compared with each other.
live, or live:afalg,libcrypto, measures this machine now at what the files
measured, with all drivers or the named ones; a file of that name is ./live.`;

/** @throws HwcryptError USAGE */
export function checkOperands(operands: readonly string[], command: 'compare' | 'report'): void {
  if (operands.length === 0) {
    throw new HwcryptError(
      'USAGE',
      `nothing to ${command}: name files of results, or - (see hwcrypt ${command} --help)`,
    );
  }
  if (operands.filter((operand) => operand === '-').length > 1) {
    throw new HwcryptError('USAGE', 'standard input can be read once only');
  }
  const live = operands.filter((operand) => liveDrivers(operand) !== undefined);
  if (live.length > 1)
    throw new HwcryptError('USAGE', 'this machine can be compared once only: live:afalg,libcrypto');
  if (live.length === operands.length) {
    throw new HwcryptError('USAGE', 'live needs a file of results beside it, which says what to measure');
  }
}

/** Reads all of them, and says on standard error what could not be read. */
export async function readOperands(
  operands: readonly string[],
  command: string,
  verbose: boolean,
): Promise<ResultFile[]> {
  const files: ResultFile[] = [];
  for (const operand of operands) {
    files.push(
      liveDrivers(operand) === undefined
        ? await readResultFile(operand)
        : { operand, sets: [], unread: { source: operand, lines: [] } },
    );
  }
  for (const { unread } of files) reportUnread(unread, command, verbose);
  return files;
}

/** The files with this machine's results in the place of `live`. */
export async function withLive(
  files: readonly ResultFile[],
  algorithms: readonly string[],
  measure: Measure,
): Promise<{ readonly measured: readonly ResultFile[]; readonly status?: number }> {
  const drivers = files.flatMap(({ operand }) => liveDrivers(operand) ?? []);
  if (files.every(({ operand }) => liveDrivers(operand) === undefined)) return { measured: files };
  const subjects = subjectsToMeasure(compare(files.flatMap(({ sets }) => sets)).filter(chosen(algorithms)));
  if (subjects.length === 0) return { measured: files };
  const { set, ...rest } = await measure(subjects, drivers);
  const own = { ...set, source: LIVE };
  return {
    measured: files.map((file) =>
      liveDrivers(file.operand) === undefined ? file : { ...file, sets: [own] },
    ),
    ...rest,
  };
}

/** Short names of the sets: the files', with what tells the sets of one file apart where it holds several. */
export function labelsOf(files: readonly ResultFile[]): string[] {
  const names = setLabels(
    files.map(({ sets, unread }) => (sets.length === 1 ? sets[0]!.source : unread.source)),
  );
  return files.flatMap(({ sets }, i) => {
    const tools = new Set(sets.map(({ tool }) => tool));
    if (sets.length < 2) return sets.map(() => names[i]!);
    return sets.map(({ tool, source }) => `${names[i]} ${tools.size > 1 ? tool : source}`);
  });
}

/** Is a subject one of those that were named? All are, if none were. */
export function chosen(algorithms: readonly string[]): (own: SubjectComparison) => boolean {
  const wanted = algorithms.map((name) => {
    const lower = name.toLowerCase();
    return findAlgorithm(lower)?.name ?? lower;
  });
  return ({ subject: { algorithm, algorithmText } }) => {
    const own = algorithm ?? algorithmText.toLowerCase();
    return wanted.length === 0 || wanted.some((name) => own === name || own.startsWith(`${name}-`));
  };
}

/**
 * `--baseline`: a label, a file, a driver, an engine; a number; or a letter of the legend.
 *
 * @param letters by label
 * @throws HwcryptError USAGE where it is none of what there is
 */
export function baselineOf(
  text: string,
  files: readonly ResultFile[],
  found: readonly SubjectComparison[],
  letters: ReadonlyMap<string, string>,
): (series: Series) => boolean {
  const all = found.flatMap(({ series }) => series);
  const names = ({ label, source, driver, kernelDriver, engine }: Series): (string | undefined)[] => [
    label,
    source,
    files.find(({ sets }) => sets.some((set) => set.source === source))?.operand,
    driver,
    kernelDriver,
    engine,
  ];
  const candidates = [
    ...(/^\d{1,6}$/.test(text) ? [byNumber(Number(text), files)] : []),
    (series: Series) => names(series).includes(text),
    ({ label }: Series) => letters.get(label) === text.toUpperCase(),
  ];
  const which = candidates.find((is) => all.some(is));
  if (which || all.length === 0) return which ?? (() => false);
  const labels = [...new Set(all.map(({ label }) => label))];
  const [near] = nearest(text, labels);
  const count = files.length > 1 ? files.length : 1 + Math.max(...all.map(({ run }) => run));
  const known = [...letters.values()];
  const takes = [
    `the number of a ${files.length > 1 ? 'file' : 'run'} (1${count > 1 ? ` to ${count}` : ''})`,
    ...(known.length > 0 ? [`a letter (${known[0]}${known.length > 1 ? ` to ${known.at(-1)}` : ''})`] : []),
    `a label (${few(labels)})`,
    `a file name (${few([...new Set(all.map(({ source }) => source))])})`,
    'a driver',
  ];
  throw new HwcryptError(
    'USAGE',
    `there is no "${text}" for a baseline${near ? ` (did you mean ${near}?)` : ''}: it may be ${takes.join(', ')}`,
  );
}

function byNumber(number: number, files: readonly ResultFile[]): (series: Series) => boolean {
  const first = files.slice(0, number - 1).reduce((sum, { sets }) => sum + sets.length, 0);
  const count = files[number - 1]?.sets.length ?? 0;
  return files.length === 1
    ? (series) => series.run === number - 1
    : ({ set }) => set >= first && set < first + count;
}

function few(names: readonly string[]): string {
  return `${names.slice(0, 8).join(', ')}${names.length > 8 ? ', and others' : ''}`;
}
