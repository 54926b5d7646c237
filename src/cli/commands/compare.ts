/** `hwcrypt compare`: results of any tool and machine, put side by side. */
import { compare, compareKdfs, type SubjectComparison } from '../../bench/comparison/index.js';
import type { ResultSet } from '../../bench/model.js';
import { printable } from '../../files/io.js';
import { comparisonCsv, comparisonJson } from '../../report/comparison/data.js';
import { comparisonText, legendLetters, setSummary } from '../../report/comparison/index.js';
import { EXIT_FAILURE } from '../exit.js';
import { type Measure, measureLive } from '../live.js';
import {
  ALGORITHM_OPTION,
  BASELINE_OPTION,
  baselineOf,
  checkOperands,
  chosen,
  labelsOf,
  OPERANDS_NOTE,
  readOperands,
  VERBOSE_OPTION,
  withLive,
} from '../operands.js';
import type { CommandSpec, Given } from '../options.js';
import type { ResultFile } from '../results.js';
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
      BASELINE_OPTION,
      ALGORITHM_OPTION,
      { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
      { names: ['--csv'], help: 'Comma-separated values, a line for each ratio' },
      { names: ['--no-plot'], help: 'No plot, where standard output is a terminal' },
      VERBOSE_OPTION,
    ],
    rules: [
      { of: '--json', beside: ['--csv'] },
      { of: '--no-plot', beside: ['--json', '--csv'] },
    ],
    notes: `${OPERANDS_NOTE}

Exit status: 0 compared, 1 nothing to compare, 2 wrong command line.`,
    run: (given, operands) => run(given, operands, measure),
  };
}

export const command = compareCommand(measureLive);

async function run(given: Given, operands: readonly string[], measure: Measure): Promise<number> {
  checkOperands(operands, 'compare');
  const files = await readOperands(operands, 'compare', given.has('verbose'));
  const algorithms = given.all('algorithm');
  const { measured, status = 0 } = await withLive(files, algorithms, measure);
  const sets = measured.flatMap((file) => file.sets);
  const baseline = given.get('baseline');
  const labels = labelsOf(measured);
  const kdfs = compareKdfs(sets, { labels }).filter(
    ({ kdf }) => algorithms.length === 0 || algorithms.includes(kdf),
  );
  let found = compare(sets, { labels }).filter(chosen(algorithms));
  if (baseline !== undefined) {
    const isBaseline = baselineOf(baseline, measured, found, legendLetters(found, kdfs));
    found = compare(sets, { labels, baseline: isBaseline }).filter(chosen(algorithms));
  }
  const beside = kdfs.some(({ rows }) => rows.length > 1);

  if (given.has('json')) {
    writeText(
      comparisonJson(
        found,
        sets,
        measured.map(({ unread }) => unread),
        kdfs,
      ),
    );
  } else if (given.has('csv')) writeText(comparisonCsv(found));
  else if (beside || found.some(({ pairs }) => pairs.length > 0)) {
    const columns = terminalColumns();
    writeText(
      comparisonText(found, sets, {
        columns: Math.max(NARROWEST, columns ?? PIPE_COLUMNS),
        ascii: !utf8Locale(),
        plot: isTerminal() && !given.has('no-plot'),
        kdfs,
      }),
    );
  }
  if (beside || found.some(({ pairs }) => pairs.some(({ ratios }) => ratios.length > 0))) return status;
  reportNothing(measured, found, algorithms);
  return status === 0 ? EXIT_FAILURE : status;
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
