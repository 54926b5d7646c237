/** The straight lines behind a curve, as few as describe it. */
import { fitLine } from '../bench/comparison/fit.js';
import type { CostCurve, CostLine } from './cost.js';

/** A line that misses one of its points by more than this share is broken in two. */
const WORST_RESIDUAL = 0.1;
/** Through two points there is always a line. */
const LEAST_POINTS = 3;

interface Stretch extends CostLine {
  readonly residual: number;
}

/** By elapsed time. Empty for fewer than three points. */
export function linesOf(curve: CostCurve): CostLine[] {
  return broken(curve).map(({ residual: _, ...line }) => line);
}

function broken(curve: CostCurve): Stretch[] {
  const whole = fitted(curve);
  if (whole === undefined) return [];
  if (whole.residual <= WORST_RESIDUAL) return [whole];
  let best: { readonly at: number; readonly residual: number } | undefined;
  for (let at = LEAST_POINTS; at <= curve.length - LEAST_POINTS; at++) {
    const [low, high] = [fitted(curve.slice(0, at)), fitted(curve.slice(at))];
    if (low === undefined || high === undefined) continue;
    const residual = Math.max(low.residual, high.residual);
    if (best === undefined || residual < best.residual) best = { at, residual };
  }
  if (best === undefined || best.residual >= whole.residual) return [whole];
  return [...broken(curve.slice(0, best.at)), ...broken(curve.slice(best.at))];
}

function fitted(curve: CostCurve): Stretch | undefined {
  const { line } = fitLine(
    curve.map(({ requestBytes, elapsedNs }) => ({ requestBytes, nsPerRequest: elapsedNs })),
  );
  return (
    line && {
      fromBytes: curve[0]!.requestBytes,
      toBytes: curve.at(-1)!.requestBytes,
      fixedNs: line.fixedNs,
      nsPerByte: line.nsPerByte,
      residual: line.largestResidual,
    }
  );
}
