/** `hwcrypt report`: results of any tool and machine as one HTML page, to be posted and printed. */
import { compare, compareKdfs } from '../../bench/comparison/index.js';
import { HwcryptError } from '../../errors.js';
import { checkOutput, type Output, openOutput } from '../../files/output.js';
import { legendLetters } from '../../report/comparison/index.js';
import { liveDrivers, type Measure, measureLive } from '../live.js';
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
import { isTerminal, writeText } from '../stdio.js';

/** @param measure what `live` is measured with */
export function reportCommand(measure: Measure): CommandSpec {
  return {
    name: 'report',
    summary: 'One HTML page of results: charts, tables, verdict, and what the figures are worth.',
    usage: 'FILE… -o PAGE.html [options]',
    operands: Number.POSITIVE_INFINITY,
    options: [
      {
        names: ['-o', '--output', '-out'],
        value: 'FILE',
        help: 'Write the page here, whole or not at all; - is standard output, the default where that is no terminal',
      },
      { names: ['--title'], value: 'TEXT', help: 'Heading of the page; otherwise the names of the results' },
      BASELINE_OPTION,
      ALGORITHM_OPTION,
      VERBOSE_OPTION,
    ],
    notes: `${OPERANDS_NOTE}

The page has everything in it: no script, nothing fetched from anywhere. The
same results give the same page. It holds the results as JSON too, which
hwcrypt reads.

Exit status: 0 written, 1 no results or no page, 2 wrong command line.`,
    run: (given, operands) => run(given, operands, measure),
  };
}

export const command = reportCommand(measureLive);

async function run(given: Given, operands: readonly string[], measure: Measure): Promise<number> {
  checkOperands(operands, 'report');
  const target = given.get('o');
  if (target === undefined && isTerminal()) {
    throw new HwcryptError('USAGE', 'name a file for the page: -o report.html');
  }
  const title = given.get('title');
  if (title?.trim() === '') throw new HwcryptError('USAGE', '--title takes a text that is not empty');
  const files = await readOperands(operands, 'report', given.has('verbose'));
  const alsoRead = operands.filter((operand) => operand !== '-' && liveDrivers(operand) === undefined);
  // Before anything is measured, which takes half a minute.
  checkOutput(target, { secret: false, alsoRead });
  const algorithms = given.all('algorithm');
  const { measured, status = 0 } = await withLive(files, algorithms, measure);
  const sets = measured.flatMap((file) => file.sets);
  if (sets.length === 0) {
    throw new HwcryptError('INPUT_FILE', 'there is no benchmark output that is known in what was read');
  }
  const labels = labelsOf(measured);
  const found = compare(sets, { labels });
  const baseline = given.get('baseline');
  const letters = (): ReadonlyMap<string, string> =>
    legendLetters(found.filter(chosen(algorithms)), compareKdfs(sets, { labels }));
  const isBaseline = baseline === undefined ? undefined : baselineOf(baseline, measured, found, letters());
  if (algorithms.length > 0 && !found.some(chosen(algorithms))) {
    throw new HwcryptError('INPUT_FILE', `nothing there is ${algorithms.join(' or ')}`);
  }
  const { reportPage } = await import('../../report/html/index.js');
  const page = await reportPage(sets, {
    labels,
    unread: measured.map(({ unread }) => unread),
    ...(title === undefined ? {} : { title }),
    ...(isBaseline ? { baseline: isBaseline } : {}),
    ...(algorithms.length > 0 ? { only: chosen(algorithms) } : {}),
  });
  if (target === undefined || target === '-') writeText(page);
  else await write(openOutput(target, { secret: false, alsoRead }), page);
  return status;
}

async function write(output: Output, page: string): Promise<void> {
  try {
    await output.write([Buffer.from(page, 'utf8')]);
    await output.commit();
  } finally {
    output.abort();
  }
}
