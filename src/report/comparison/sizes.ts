/** Figures by request size: a column for each series, and one for its ratio to the baseline. Room `report`. */
import type { Series, SubjectComparison } from '../../bench/comparison/index.js';
import { requestSize, threeFigures } from '../units.js';
import { type Cells, type Context, inTables, LEFT_OUT, paragraph, rateCell, ratioCell } from './layout.js';

/** Throughput by size, each series beside the others and its ratio to the baseline; in several tables where there is no room for all. */
export function sizesTable(own: SubjectComparison, context: Context): string {
  const { baseline, pairs } = own;
  if (!baseline) return '';
  const sizes = sizesOf(own.series);
  const letter = (series: Series): string => context.letters.get(series.label)!;
  const first: Cells = { title: 'request', cells: sizes.map(requestSize) };
  const base = rates(baseline, letter(baseline), sizes);
  const others = pairs.map(({ other, ratios }): Cells[] => {
    const at = new Map(ratios.map((ratio) => [ratio.requestBytes, ratio]));
    return [
      ...rates(other, letter(other), sizes),
      {
        title: `${letter(other)}/${letter(baseline)}`,
        cells: sizes.map((size) => ratioCell(at.get(size))),
      },
    ];
  });
  const marks = [
    [...base, ...others.flat()].some(({ cells }) => cells.some((cell) => cell.startsWith('~')))
      ? '~ from counts and nominal seconds'
      : '',
    others.flat().some(({ cells }) => cells.some((cell) => cell.endsWith('='))) ? '= even' : '',
    others.flat().some(({ cells }) => cells.some((cell) => cell.endsWith('?')))
      ? '? cannot be told apart, the rounds spread too widely'
      : '',
  ].filter((mark) => mark !== '');
  return `${inTables([first, ...base], others, context.columns)}${marks.length > 0 ? paragraph(marks.join('; '), context.columns) : ''}`;
}

/** CPU time, where all of it is known: what an engine saves even where it is no faster. */
export function cpuTable(own: SubjectComparison, context: Context): string {
  const known = own.series.filter(({ points }) => points.some(({ cpu }) => cpu?.scope === 'user+system'));
  if (known.length === 0) return '';
  const sizes = sizesOf(known);
  const request: Cells = { title: 'request', cells: sizes.map(requestSize) };
  const costs = known.map(({ label, points }): Cells[] => {
    const at = new Map(points.map(({ requestBytes, cpu }) => [requestBytes, cpu]));
    const cells = sizes.map((size) => {
      const cost = at.get(size);
      return cost?.scope === 'user+system' ? threeFigures(cost.nsPerByte) : '-';
    });
    return [{ title: context.letters.get(label)!, cells }];
  });
  return `${paragraph('CPU time, user and system, ns a byte:', context.columns)}${inTables([request], costs, context.columns)}`;
}

function sizesOf(series: readonly Series[]): number[] {
  const all = series.flatMap(({ points }) => points.map(({ requestBytes }) => requestBytes));
  return [...new Set(all)].sort((a, b) => a - b);
}

/** A column of figures, and one of what was printed where that is something else. */
function rates(series: Series, letter: string, sizes: readonly number[]): Cells[] {
  const at = new Map(series.points.map((point) => [point.requestBytes, point]));
  const out = new Map(
    series.leftOut.map(({ reason, measurement }) => [measurement.requestBytes, LEFT_OUT[reason]]),
  );
  const column: Cells = {
    title: `${letter} MB/s`,
    cells: sizes.map((size) => {
      const point = at.get(size);
      return point ? rateCell(point) : (out.get(size) ?? '-');
    }),
  };
  const differs = series.points.some(
    ({ claimedBytesPerSecond: claimed, bytesPerSecond }) =>
      claimed !== undefined && Math.abs(Math.log(claimed / bytesPerSecond)) > Math.log(1.05),
  );
  if (!differs) return [column];
  return [
    column,
    {
      title: `${letter} printed`,
      printed: true,
      cells: sizes.map((size) => {
        const claimed = at.get(size)?.claimedBytesPerSecond;
        return claimed === undefined ? '' : threeFigures(claimed / 1e6);
      }),
    },
  ];
}
