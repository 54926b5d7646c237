/** Extremes and sums of lists of any length: `Math.max(...list)` fails on a long one, and a result file may hold any number of points. */

export function least(list: readonly number[]): number {
  return list.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

export function most(list: readonly number[]): number {
  return list.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

export function sum(list: readonly number[]): number {
  return list.reduce((a, b) => a + b, 0);
}
