/**
 * A changed LUKS2 header, written so that there is a whole one at every moment.
 *
 * Room `luks`. Both copies get the next sequence number, one after the other, each on the disk before the next is begun. The one that goes first
 * is never the only good one. Whoever is killed in between leaves the old header, or the new one, or both.
 */
import { HwcryptError } from '../../errors.js';
import type { Disk } from '../device.js';
import { BINARY_BYTES, type CopyName, encodeHeader } from '../header/binary.js';
import { metadataText } from '../header/checks.js';
import { readMetadata } from '../header/metadata.js';
import type { JsonObject, Luks2Facts, LuksHeader } from '../header/model.js';
import { readHeader } from '../header/read.js';

export type Luks2Header = LuksHeader & { readonly luks2: Luks2Facts };

/** @returns the header as it stands now @throws LUKS_NO_ROOM, OUTPUT_FILE */
export function commitHeader(device: Disk, header: Luks2Header, metadata: JsonObject): Luks2Header {
  const { luks2, label, subsystem, uuid } = header;
  const { headerBytes, checksum, salts } = luks2;
  const json = metadataText(metadata);
  // A zero ends it.
  if (Buffer.byteLength(json) >= headerBytes - BINARY_BYTES) {
    throw new HwcryptError(
      'LUKS_NO_ROOM',
      `${device.name}: the metadata area of ${headerBytes} bytes is full`,
    );
  }
  // What is against the rules is our mistake, and must not reach the disk.
  readMetadata(metadata, headerBytes);
  const binary = { headerBytes, seqid: luks2.seqid + 1n, label, subsystem, uuid, checksum };
  for (const name of order(luks2)) {
    const bytes = encodeHeader({ ...binary, salt: salts[name] }, name, json);
    device.writeAt(name === 'primary' ? 0 : headerBytes, bytes);
    device.flush();
  }
  return readHeader(device) as Luks2Header;
}

function order({ copies }: Luks2Facts): readonly CopyName[] {
  const [counts] = copies;
  return counts?.name === 'primary' &&
    copies.some(({ name, seqid }) => name === 'secondary' && seqid !== counts.seqid)
    ? ['secondary', 'primary']
    : ['primary', 'secondary'];
}
