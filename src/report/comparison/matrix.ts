/** Subjects that were measured at one size each, as `cryptsetup benchmark` does: a line for each, and who wins how many. Room `report`. */
import {
  isUntold,
  least,
  most,
  type Pair,
  type RatioAt,
  type Series,
  type SubjectComparison,
} from '../../bench/comparison/index.js';
import { requestSize } from '../units.js';
import { apartText } from '../verdict.js';
import {
  type Cells,
  type Context,
  grouped,
  inTables,
  LEFT_OUT,
  paragraph,
  rateCell,
  ratioCell,
  subjectHeading,
  verdicts,
} from './layout.js';

/** Subjects of one size each, those with the same series in one table. */
export function matrices(list: readonly SubjectComparison[], context: Context): string[] {
  return alike(list).map((own) => matrix(own, context));
}

/** Those whose series, and whose baseline among them, have the same names. */
export function alike(list: readonly SubjectComparison[]): SubjectComparison[][] {
  const by = new Map<string, SubjectComparison[]>();
  for (const own of list) {
    const key = JSON.stringify([
      own.apartFrom?.label,
      own.baseline?.label,
      own.series.map(({ label }) => label),
    ]);
    const known = by.get(key);
    if (known) known.push(own);
    else by.set(key, [own]);
  }
  return [...by.values()];
}

function matrix(list: readonly SubjectComparison[], context: Context): string {
  const letter = ({ label }: Series): string => context.letters.get(label)!;
  const [first] = list as [SubjectComparison];
  const rows = list.map((own) => {
    const size = own.pairs.find(({ ratios }) => ratios.length > 0)!.ratios[0]!.requestBytes;
    return { own, size };
  });
  const sizes = new Set(rows.map(({ size }) => size));
  const figure = (series: Series, size: number): string => {
    const point = series.points.find(({ requestBytes }) => requestBytes === size);
    return point ? rateCell(point) : series.leftOut.length > 0 ? LEFT_OUT[series.leftOut[0]!.reason] : '-';
  };
  const fixed: Cells[] = [
    { title: 'algorithm', cells: rows.map(({ own }) => subjectHeading(own)), align: 'left' },
    ...(sizes.size > 1 ? [{ title: 'request', cells: rows.map(({ size }) => requestSize(size)) }] : []),
    {
      title: `${letter(first.baseline!)} MB/s`,
      cells: rows.map(({ own, size }) => figure(own.baseline!, size)),
    },
  ];
  const others = first.pairs.map((_, index): Cells[] => [
    {
      title: `${letter(first.pairs[index]!.other)} MB/s`,
      cells: rows.map(({ own, size }) => figure(own.pairs[index]!.other, size)),
    },
    {
      title: `${letter(first.pairs[index]!.other)}/${letter(first.baseline!)}`,
      cells: rows.map(({ own, size }) =>
        ratioCell(own.pairs[index]!.ratios.find(({ requestBytes }) => requestBytes === size)),
      ),
    },
    ...corrected(list.map((own) => own.pairs[index]!)),
  ]);
  const mark = others.flat().some(({ title }) => title === CORRECTED)
    ? paragraph(`${CORRECTED}: without what the tool is known to count too much`, context.columns)
    : '';
  const title = sizes.size === 1 ? `Requests of ${requestSize([...sizes][0]!)}` : 'One size each';
  const summaries = summarySentences(list)
    .map((sentence) => paragraph(sentence, context.columns))
    .join('');
  const why = apartText(first);
  const words =
    list.length === 1
      ? verdicts(first, context)
      : `${why === undefined ? '' : paragraph(why, context.columns)}${summaries}`;
  return `${title}\n${'-'.repeat(title.length)}\n${words}\n${inTables(fixed, others, context.columns)}${mark}`;
}

const CORRECTED = 'corrected';

/** A column of its own where it makes a difference. */
function corrected(pairs: readonly Pair[]): Cells[] {
  const cells = pairs.map(({ ratios: [at] }) =>
    ratioCell(at?.correctedRatio === undefined ? at : { ...at, ratio: at.correctedRatio }),
  );
  const differs = pairs.some(
    ({ ratios: [at] }) =>
      at?.correctedRatio !== undefined && Math.abs(Math.log(at.correctedRatio / at.ratio)) > Math.log(1.03),
  );
  return differs ? [{ title: CORRECTED, cells }] : [];
}

/** What subjects with the same series come to: `after is faster in 3 of 5 (1.74x to 3.6x): …`. */
export function summarySentences(list: readonly SubjectComparison[]): string[] {
  return list[0]!.pairs.flatMap((_, index) => summary(list, index));
}

function summary(list: readonly SubjectComparison[], index: number): string[] {
  const { baseline, other } = list[0]!.pairs[index]!;
  const cases = list.flatMap((own) => {
    const [at] = own.pairs[index]!.ratios;
    return at ? [{ name: subjectHeading(own), at }] : [];
  });
  const say = (outcome: RatioAt['outcome'], label: string, untold = false): string => {
    const own = cases.filter(({ at }) => at.outcome === outcome && isUntold(at) === untold);
    if (own.length === 0) return '';
    const ratios = own.map(({ at: { ratio } }) => (outcome === 'slower' ? 1 / ratio : ratio));
    const [low, high] = [least(ratios), most(ratios)].map(
      (ratio) => `${ratio.toFixed(ratio < 1.995 ? 2 : 1)}x`,
    ) as [string, string];
    const much = outcome === 'even' ? '' : ` (${low === high ? low : `${low} to ${high}`})`;
    return `${label} in ${own.length} of ${cases.length}${much}: ${grouped(own.map(({ name }) => name))}.`;
  };
  return [
    say('faster', `${other.label} is faster`),
    say('slower', `${baseline.label} is faster`),
    say('even', 'They are even'),
    say('even', 'The rounds spread too widely to tell them apart', true),
  ].filter((sentence) => sentence !== '');
}
