/** Room in the keyslots area: where there is some, and that nothing is left in it. Room `luks`. */
import { randomFillSync } from 'node:crypto';

import { HwcryptError } from '../../errors.js';
import type { Disk } from '../device.js';
import type { Keyslot } from '../header/model.js';
import { STRIPES } from '../keyslot/af.js';

const ALIGNMENT = 4096;

export const roundUp = (bytes: number, to: number): number => Math.ceil(bytes / to) * to;

/** What a keyslot's material takes. */
export const areaBytesOf = (keyBytes: number): number => roundUp(keyBytes * STRIPES, ALIGNMENT);

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What of `within` no area takes. */
export function freeSpans(within: Span, areas: readonly Pick<Keyslot, 'area'>[]): Span[] {
  const spans: Span[] = [];
  let from = within.from;
  for (const { area } of [...areas].sort((a, b) => a.area.offset - b.area.offset)) {
    if (area.offset > from) spans.push({ from, to: area.offset });
    from = Math.max(from, area.offset + area.bytes);
  }
  if (from < within.to) spans.push({ from, to: within.to });
  return spans;
}

/** Is there room for so many bytes in one place? */
export function hasRoom(within: Span, areas: readonly Pick<Keyslot, 'area'>[], bytes: number): boolean {
  return freeSpans(within, areas).some(({ from, to }) => roundUp(from, ALIGNMENT) + bytes <= to);
}

/** Where there is room for so many bytes. @throws LUKS_NO_ROOM */
export function findRoom(within: Span, areas: readonly Pick<Keyslot, 'area'>[], bytes: number): number {
  for (const { from, to } of freeSpans(within, areas)) {
    const start = roundUp(from, ALIGNMENT);
    if (start + bytes <= to) return start;
  }
  throw new HwcryptError(
    'LUKS_NO_ROOM',
    `the keyslots area has no room for ${bytes} bytes more: remove a key first`,
  );
}

const PIECE_BYTES = 2 ** 20;

/** Random bytes over all that no keyslot takes: also what an earlier change that was killed may have left. */
export function wipeFree(device: Disk, within: Span, areas: readonly Pick<Keyslot, 'area'>[]): void {
  const noise = Buffer.alloc(PIECE_BYTES);
  for (const { from, to } of freeSpans(within, areas)) {
    for (let at = from; at < to; at += PIECE_BYTES) {
      const piece = noise.subarray(0, Math.min(PIECE_BYTES, to - at));
      randomFillSync(piece);
      device.writeAt(at, piece);
    }
  }
  device.flush();
}
