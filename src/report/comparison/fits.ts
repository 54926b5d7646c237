/** The lines behind the curves, in words. Room `report`. */
import type { Fit, Line, SubjectComparison } from '../../bench/comparison/index.js';
import { inAscii } from '../text.js';
import { percent, requestTime, roughSize, threeFigures } from '../units.js';
import { type Context, hanging, paragraph } from './layout.js';

export function fitLines({ series, fits }: SubjectComparison, context: Context): string {
  if (fits.every(({ sizes }) => sizes < 3)) return '';
  const lines = series.flatMap(({ label, points }, i) => {
    if (points.length === 0) return [];
    const fit = fitText(fits[i]!, points[0]!.requestBytes);
    const text = context.ascii ? inAscii(fit) : fit;
    return [hanging(`${context.letters.get(label)}  `, text, context.columns, 3)];
  });
  const title = 'Time by size, as a fixed cost and a cost a byte (least squares):';
  return `${paragraph(title, context.columns)}${lines.join('')}`;
}

const FIT_PROBLEMS = {
  FEW_SIZES: 'no line: fewer than three sizes',
  NO_COST_PER_BYTE: 'no line: the time does not grow with the size',
  NEGATIVE_FIXED_COST: 'no line: large requests cost more a byte than small ones',
  POOR_FIT: 'no line fits',
} as const;

function fitText({ problem, line }: Fit, leastBytes: number): string {
  if (line === undefined || problem !== undefined) {
    const off = line && problem === 'POOR_FIT' ? `: off by up to ${percent(line.largestResidual)}` : '';
    return `${FIT_PROBLEMS[problem ?? 'FEW_SIZES']}${off}`;
  }
  return `${fixedCost(line)}, ${threeFigures(line.nsPerByte)} ns a byte (± ${percent(line.nsPerByteError / line.nsPerByte)}): about ${threeFigures(line.peakBytesPerSecond! / 1e6)} MB/s for large requests${halfway(line, leastBytes)}; off by up to ${percent(line.largestResidual)}`;
}

function fixedCost({ fixedNs, fixedNsError }: Line): string {
  if (fixedNs < 2 * fixedNsError || fixedNs <= 0) return 'no fixed cost to be seen';
  return `${requestTime(fixedNs)} a request (± ${percent(fixedNsError / fixedNs)})`;
}

/** Below what was measured it is of no use to anybody. */
function halfway({ halfPeakBytes, fixedNs, fixedNsError }: Line, leastBytes: number): string {
  return halfPeakBytes === undefined || fixedNs < 2 * fixedNsError || halfPeakBytes < leastBytes
    ? ''
    : `, half of it at ${roughSize(halfPeakBytes)}`;
}
