/**
 * Where the plaintext of a volume lies: pieces of the data, one behind the other.
 *
 * Room `luks`. Plain data, since it goes from thread to thread.
 */
import { damaged, unsupported } from '../errors.js';
import { type Digest, isBackup, type LuksHeader, type Segment } from '../header/model.js';
import { COUNTED_BYTES } from '../sectors/cipher.js';

export interface Piece {
  /** Where it begins in the volume, and in the image. */
  readonly from: number;
  readonly at: number;
  readonly bytes: number;
  readonly sectorBytes: number;
  /** Undefined for a piece that is not encrypted. */
  readonly crypt?: { readonly encryption: string; readonly ivTweak: bigint };
}

export interface PayloadPlan {
  readonly bytes: number;
  readonly pieces: readonly Piece[];
}

/**
 * @param dataBytes how long the image is that the data lies in
 * @param digest of the key that is at hand
 * @throws LUKS_UNSUPPORTED, LUKS_DAMAGED
 */
export function planOf(header: LuksHeader, digest: Digest, dataBytes: number, name: string): PayloadPlan {
  const pieces: Piece[] = [];
  let from = 0;
  for (const segment of header.segments) {
    if (isBackup(segment.flags)) continue;
    const piece = pieceOf(segment, digest, from, dataBytes, name);
    pieces.push(piece);
    from += piece.bytes;
  }
  return { bytes: from, pieces };
}

function pieceOf(
  { id, type, offset, bytes: wanted, crypt }: Segment,
  digest: Digest,
  from: number,
  dataBytes: number,
  name: string,
): Piece {
  if (type !== 'linear' && type !== 'crypt') throw unsupported(`segment ${id} is of an unknown type`);
  if (crypt?.integrity !== undefined) {
    throw unsupported(`segment ${id} has dm-integrity below it, which is not supported`);
  }
  if (crypt && !digest.segments.includes(id))
    throw unsupported(`segment ${id} is encrypted with another key`);
  const sectorBytes = crypt?.sectorBytes ?? COUNTED_BYTES;
  if (offset > dataBytes || (wanted !== undefined && offset + wanted > dataBytes)) {
    throw damaged(`${name} ends before segment ${id} does`);
  }
  const bytes = wanted ?? Math.floor((dataBytes - offset) / sectorBytes) * sectorBytes;
  return {
    from,
    at: offset,
    bytes,
    sectorBytes,
    ...(crypt ? { crypt: { encryption: crypt.encryption, ivTweak: crypt.ivTweak } } : {}),
  };
}
