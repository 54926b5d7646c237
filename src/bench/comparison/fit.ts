/**
 * The straight line behind a curve of throughput: t = a + b·n, time for a request of n bytes. a is what a request costs however small it is
 * (system calls, set-up, an interrupt), b what each byte costs.
 *
 * The two parameters have a closed form, so there is no library behind it: those that know weights and standard errors bring a matrix package
 * for a system of two equations, or have not been kept for years.
 */
import { least, most, sum } from './numbers.js';
import type { Point } from './series.js';

/** Why a line should not be believed. */
export type FitProblem =
  /** Fewer than three sizes: any line fits two points. */
  | 'FEW_SIZES'
  /** A byte costs nothing or less: the time does not grow with the size. */
  | 'NO_COST_PER_BYTE'
  /** A request costs less than nothing, by more than the error: small requests are served in another way than large ones. */
  | 'NEGATIVE_FIXED_COST'
  /** The line misses a point by more than a quarter of it. */
  | 'POOR_FIT';

/** Where `problem` is `FEW_SIZES` there is nothing else; where it is another, the numbers describe a line that does not describe the data. */
export interface Fit {
  /** How many points it rests on. */
  readonly sizes: number;
  readonly problem?: FitProblem;
  readonly line?: Line;
}

export interface Line {
  /** a: elapsed nanoseconds that a request costs however small it is. */
  readonly fixedNs: number;
  /** b: elapsed nanoseconds for each byte. */
  readonly nsPerByte: number;
  /** Standard errors. */
  readonly fixedNsError: number;
  readonly nsPerByteError: number;
  /** Largest distance of a point from the line, as a share of the point. */
  readonly largestResidual: number;
  /** 1e9 / b: what requests without end would come to. Absent where b is not positive. */
  readonly peakBytesPerSecond?: number;
  /** a / b: the size at which half of that is reached. Absent where a or b is not positive. */
  readonly halfPeakBytes?: number;
}

const LEAST_SIZES = 3;
const WORST_RESIDUAL = 0.25;

/** Nanoseconds that a request of so many bytes takes by the line. */
export function predictNs({ fixedNs, nsPerByte }: Line, requestBytes: number): number {
  return fixedNs + nsPerByte * requestBytes;
}

/**
 * Fits a line by least squares of the relative errors, so that a request of 16 bytes counts as much as one of 64 KiB. The standard errors come from
 * the scatter around the line, with n−2 degrees of freedom.
 */
export function fitLine(points: readonly Pick<Point, 'requestBytes' | 'nsPerRequest'>[]): Fit {
  const sizes = new Set(points.map(({ requestBytes }) => requestBytes)).size;
  if (sizes < LEAST_SIZES) return { sizes, problem: 'FEW_SIZES' };
  const weights = points.map(({ nsPerRequest }) => nsPerRequest ** -2);
  const total = sum(weights);
  const meanBytes = sum(points.map(({ requestBytes }, i) => weights[i]! * requestBytes)) / total;
  const meanNs = sum(points.map(({ nsPerRequest }, i) => weights[i]! * nsPerRequest)) / total;
  const sxx = sum(points.map(({ requestBytes }, i) => weights[i]! * (requestBytes - meanBytes) ** 2));
  const sxy = sum(
    points.map(
      ({ requestBytes, nsPerRequest }, i) =>
        weights[i]! * (requestBytes - meanBytes) * (nsPerRequest - meanNs),
    ),
  );
  const nsPerByte = sxy / sxx;
  const fixedNs = meanNs - nsPerByte * meanBytes;
  const residuals = points.map(
    ({ requestBytes, nsPerRequest }) => (fixedNs + nsPerByte * requestBytes - nsPerRequest) / nsPerRequest,
  );
  const variance = sum(residuals.map((residual) => residual ** 2)) / (points.length - 2);
  const line: Line = {
    fixedNs,
    nsPerByte,
    fixedNsError: Math.sqrt(variance * (1 / total + meanBytes ** 2 / sxx)),
    nsPerByteError: Math.sqrt(variance / sxx),
    largestResidual: most(residuals.map(Math.abs)),
    ...(nsPerByte > 0 ? { peakBytesPerSecond: 1e9 / nsPerByte } : {}),
    ...(nsPerByte > 0 && fixedNs > 0 ? { halfPeakBytes: fixedNs / nsPerByte } : {}),
  };
  // Figures at the edge of what a double holds: no line rather than no numbers.
  if (!Object.values(line).every(Number.isFinite)) return { sizes, problem: 'POOR_FIT' };
  const problem = problemOf(line, least(points.map(({ nsPerRequest }) => nsPerRequest)));
  return { sizes, ...(problem === undefined ? {} : { problem }), line };
}

function problemOf(line: Line, leastNs: number): FitProblem | undefined {
  if (!(line.nsPerByte > 0)) return 'NO_COST_PER_BYTE';
  // Below its error a negative cost is none; so is what rounding leaves of a perfect line through nought.
  if (line.fixedNs < -Math.max(2 * line.fixedNsError, 1e-6 * leastNs)) return 'NEGATIVE_FIXED_COST';
  return line.largestResidual > WORST_RESIDUAL ? 'POOR_FIT' : undefined;
}
