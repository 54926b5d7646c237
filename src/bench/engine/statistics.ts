/** The few statistics that measuring needs. */

/** @throws RangeError for no values. */
export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5);
}

/** The value below which a share `q` (0…1) of the values lies, with linear interpolation between neighbours. */
export function quantile(values: ArrayLike<number>, q: number): number {
  if (values.length === 0) throw new RangeError('no values');
  const sorted = Float64Array.from(values).sort();
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.ceil(at);
  return sorted[low]! + (sorted[high]! - sorted[low]!) * (at - low);
}

/** (largest − smallest) / median; 0 for one value. */
export function spread(values: ArrayLike<number>): number {
  if (values.length < 2) return 0;
  const sorted = Float64Array.from(values).sort();
  return (sorted[sorted.length - 1]! - sorted[0]!) / median(sorted);
}

/**
 * How far the middle half of the values lies apart, as a share of their median: one disturbed round among several changes
 * neither this nor the median.
 */
export function middleSpread(values: ArrayLike<number>): number {
  if (values.length < 2) return 0;
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}
