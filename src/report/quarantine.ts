/**
 * Who is kept from which algorithm since he did it wrong, as text.
 *
 * Room `report`.
 */
import type { QuarantineRecord } from '../routing/profile.js';
import { wrap } from './text.js';

/** One sentence: who, from what, since when, on what evidence. */
export function quarantineLine({ algorithm, driver, since, until, evidence }: QuarantineRecord): string {
  const end = until === undefined ? '' : ` until ${until}`;
  return `${driver} is kept from ${algorithm} since ${since}${end}: ${evidence}`;
}

/** A paragraph each, and how it is ended. */
export function quarantineText(records: readonly QuarantineRecord[], width: number): string {
  const lines = [
    ...records.map(quarantineLine),
    'hwcrypt selftest shows a minimal case; hwcrypt calibrate --forget --quarantine lets them be tried again',
  ];
  // What goes on is set in by two columns.
  return lines.map((line) => `${wrap(line, width - 2).join('\n  ')}\n`).join('');
}
