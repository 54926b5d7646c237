/** What would come of it, by the cost model: time for a request is a + b·n, from the figures in the same texts. */
import { requestSize, roughSize } from '../bench/units.js';
import { type CurvePair, lineOf, rateAt } from './case.js';
import type { Curve } from './facts/results.js';
import { megabytesPerSecond } from './facts/results.js';

/** What people do, and the requests that it makes. */
export const WORKLOADS: readonly (readonly [bytes: number, what: string])[] = [
  [512, 'disk sectors of 512 B'],
  [1500, 'packets of a VPN'],
  [4096, 'disk sectors of 4096 B'],
  [8192, '`openssl enc`, TLS up to 16 KiB'],
];

/** `disk sectors of 512 B: 11.0 MB/s against 9.20 in software; …`. Undefined where the figures give no line. */
export function workloadsText({
  software,
  offloaded,
}: Pick<CurvePair, 'software' | 'offloaded'>): string | undefined {
  const parts = WORKLOADS.flatMap(([bytes, what]) => {
    const [own, other] = [rateAt(software, bytes), rateAt(offloaded, bytes)];
    return own === undefined || other === undefined
      ? []
      : [`${what} ${megabytesPerSecond(other)} against ${megabytesPerSecond(own)} in software`];
  });
  return parts.length === 0 ? undefined : `By the figures in this text: ${parts.join('; ')}`;
}

/** What larger sectors would bring on the engine. */
export function sectorsText(offloaded: Curve, software?: Curve): string | undefined {
  const [small, large] = [rateAt(offloaded, 512), rateAt(offloaded, 4096)];
  if (small === undefined || large === undefined) return undefined;
  const cpu = software && rateAt(software, 512);
  return `By the figures in this text the engine does ${megabytesPerSecond(small)} in requests of 512 B and ${megabytesPerSecond(large)} in those of 4096 B${
    cpu === undefined ? '' : `; software does ${megabytesPerSecond(cpu)}`
  }`;
}

/** `a request costs 37 µs however small it is, and 61.0 MB/s is the limit for large ones`. */
export function costText(curve: Curve): string | undefined {
  const line = lineOf(curve);
  if (!line || line.peakBytesPerSecond === undefined || line.fixedNs <= 0) return undefined;
  const fixed =
    line.fixedNs < 1e4 ? `${(line.fixedNs / 1e3).toFixed(1)} µs` : `${(line.fixedNs / 1e3).toFixed(0)} µs`;
  return `a request costs ${fixed} however small it is, and ${megabytesPerSecond(line.peakBytesPerSecond)} is the limit for large ones`;
}

export { requestSize, roughSize };
