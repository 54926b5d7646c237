/** `hwcrypt compare`: results of any tool and machine, put side by side. */
import { findAlgorithm } from '../../algorithms.js';
import { compare, type Series, type SubjectComparison, setLabels } from '../../bench/comparison/index.js';
import type { ResultSet } from '../../bench/model.js';
import { printable } from '../../enc/io.js';
import { HwcryptError } from '../../errors.js';
import { comparisonCsv, comparisonJson } from '../../report/comparison/data.js';
import { comparisonText, setSummary } from '../../report/comparison/index.js';
import { EXIT_FAILURE } from '../exit.js';
import { liveDrivers, type Measure, measureLive, subjectsToMeasure } from '../live.js';
import { type CommandSpec, type Given, nearest } from '../options.js';
import { type ResultFile, readResultFile, reportUnread } from '../results.js';
import { isTerminal, terminalColumns, utf8Locale, writeError, writeText } from '../stdio.js';

/** A pipe's text is read in a terminal, a mail or a forum's code block. */
const PIPE_COLUMNS = 80;
const NARROWEST = 30;

/** @param measure what `live` is measured with */
export function compareCommand(measure: Measure): CommandSpec {
  return {
    name: 'compare',
    summary: 'Which is faster, from which request size on, and what the figures are worth.',
    usage: 'FILE… [options]',
    operands: Number.POSITIVE_INFINITY,
    options: [
      {
        names: ['--baseline'],
        value: 'WHICH',
        help: 'What the others are compared with: a label or a driver, or the number of the file (of the run, where there is one file); otherwise the first',
      },
      {
        names: ['--algorithm'],
        value: 'NAME',
        help: 'Only this one, or this family (aes); may be repeated',
        repeats: true,
      },
      { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
      { names: ['--csv'], help: 'Comma-separated values, a line for each ratio' },
      { names: ['--no-plot'], help: 'No plot, where standard output is a terminal' },
      { names: ['--verbose'], help: 'Every line that could not be read, with the reason' },
    ],
    rules: [
      { of: '--json', beside: ['--csv'] },
      { of: '--no-plot', beside: ['--json', '--csv'] },
    ],
    notes: `A FILE holds what openssl speed, cryptsetup benchmark, kcapi-speed, QEMU's
benchmark-crypto, cryptodev's tests or hwcrypt printed, as it was pasted; - is
standard input. The runs in a single file are compared with each other.
live, or live:afalg,libcrypto, measures this machine now at what the files
measured, with all drivers or the named ones; a file of that name is ./live.

Exit status: 0 compared, 1 nothing to compare, 2 wrong command line.`,
    run: (given, operands) => run(given, operands, measure),
  };
}

export const command = compareCommand(measureLive);

async function run(given: Given, operands: readonly string[], measure: Measure): Promise<number> {
  checkOperands(operands);
  const files: ResultFile[] = [];
  for (const operand of operands) {
    files.push(
      liveDrivers(operand) === undefined
        ? await readResultFile(operand)
        : { operand, sets: [], unread: { source: operand, lines: [] } },
    );
  }
  for (const { unread } of files) reportUnread(unread, 'compare', given.has('verbose'));
  const algorithms = given.all('algorithm');
  const measured = await withLive(files, algorithms, measure);
  const sets = measured.flatMap((file) => file.sets);
  const baseline = given.get('baseline');
  const isBaseline = baseline === undefined ? undefined : baselineOf(baseline, measured);
  const found = compare(sets, {
    labels: labelsOf(measured),
    ...(isBaseline ? { baseline: isBaseline } : {}),
  }).filter(chosen(algorithms));
  if (isBaseline) checkBaseline(found, isBaseline, baseline!);

  if (given.has('json')) {
    writeText(
      comparisonJson(
        found,
        sets,
        measured.map(({ unread }) => unread),
      ),
    );
  } else if (given.has('csv')) writeText(comparisonCsv(found));
  else if (found.some(({ pairs }) => pairs.length > 0)) {
    const columns = terminalColumns();
    writeText(
      comparisonText(found, sets, {
        columns: Math.max(NARROWEST, columns ?? PIPE_COLUMNS),
        ascii: !utf8Locale(),
        plot: isTerminal() && !given.has('no-plot'),
      }),
    );
  }
  if (found.some(({ pairs }) => pairs.some(({ ratios }) => ratios.length > 0))) return 0;
  reportNothing(measured, found, algorithms);
  return EXIT_FAILURE;
}

function checkOperands(operands: readonly string[]): void {
  if (operands.length === 0) {
    throw new HwcryptError(
      'USAGE',
      'nothing to compare: name files of results, or - (see hwcrypt compare --help)',
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

/** The files with this machine's results in the place of `live`. */
async function withLive(
  files: readonly ResultFile[],
  algorithms: readonly string[],
  measure: Measure,
): Promise<ResultFile[]> {
  const drivers = files.flatMap(({ operand }) => liveDrivers(operand) ?? []);
  if (files.every(({ operand }) => liveDrivers(operand) === undefined)) return [...files];
  const subjects = subjectsToMeasure(compare(files.flatMap(({ sets }) => sets)).filter(chosen(algorithms)));
  if (subjects.length === 0) return [...files];
  writeError('hwcrypt: compare: measuring this machine, for half a minute or so');
  const set = { ...(await measure(subjects, drivers)), source: 'live' };
  return files.map((file) => (liveDrivers(file.operand) === undefined ? file : { ...file, sets: [set] }));
}

/** Short names of the sets: the files', with the tool where a file holds several tools' output. */
function labelsOf(files: readonly ResultFile[]): string[] {
  const names = setLabels(files.map(({ sets, operand }) => sets[0]?.source ?? operand));
  return files.flatMap(({ sets }, i) =>
    sets.map(({ tool }) => (sets.length > 1 ? `${names[i]} ${tool}` : names[i]!)),
  );
}

function chosen(algorithms: readonly string[]): (own: SubjectComparison) => boolean {
  const wanted = algorithms.map((name) => {
    const lower = name.toLowerCase();
    return findAlgorithm(lower)?.name ?? lower;
  });
  return ({ subject: { algorithm, algorithmText } }) => {
    const own = algorithm ?? algorithmText.toLowerCase();
    return wanted.length === 0 || wanted.some((name) => own === name || own.startsWith(`${name}-`));
  };
}

/** A label, a file, a driver, an engine; or a number. */
function baselineOf(text: string, files: readonly ResultFile[]): (series: Series) => boolean {
  const named = ({ label, source, driver, kernelDriver, engine }: Series): boolean =>
    [label, source, driver, kernelDriver, engine].includes(text);
  const number = /^\d{1,6}$/.test(text) ? Number(text) : undefined;
  if (number === undefined) return named;
  const first = files.slice(0, number - 1).reduce((sum, { sets }) => sum + sets.length, 0);
  const count = files[number - 1]?.sets.length ?? 0;
  return files.length === 1
    ? (series) => series.run === number - 1
    : ({ set }) => set >= first && set < first + count;
}

function checkBaseline(
  found: readonly SubjectComparison[],
  isBaseline: (series: Series) => boolean,
  text: string,
): void {
  const all = found.flatMap(({ series }) => series);
  if (all.length === 0 || all.some(isBaseline)) return;
  const labels = [...new Set(all.map(({ label }) => label))];
  const [near] = nearest(text, labels);
  throw new HwcryptError(
    'USAGE',
    `there is no "${text}" for a baseline (${near ? `did you mean ${near}?` : `there is ${labels.slice(0, 8).join(', ')}`})`,
  );
}

/** Why there is no ratio: for each file what could be read. */
function reportNothing(
  files: readonly ResultFile[],
  found: readonly SubjectComparison[],
  algorithms: readonly string[],
): void {
  const sets: readonly ResultSet[] = files.flatMap((file) => file.sets);
  const why = found.some(({ pairs }) => pairs.length > 0)
    ? 'there is no request size in common'
    : sets.length > 0 && found.length === 0 && algorithms.length > 0
      ? `nothing there is ${algorithms.join(' or ')}`
      : 'there are no two results of one algorithm and operation';
  writeError(`hwcrypt: compare: nothing to compare: ${why}`);
  for (const { operand, sets: own } of files) {
    const what = own.length === 0 ? 'no benchmark output that is known' : own.map(setSummary).join('; ');
    writeError(`hwcrypt: compare: ${operand === '-' ? 'standard input' : printable(operand)}: ${what}`);
  }
}
