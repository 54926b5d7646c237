/**
 * LUKS1's header: 592 bytes, big-endian, eight keyslots.
 *
 * Room `luks`. Source: LUKS1 On-Disk Format Specification 1.2.3.
 */
import { damaged } from '../errors.js';
import { STRIPES } from '../keyslot/af.js';
import { fieldText } from './binary.js';
import type { Keyslot, LuksHeader } from './model.js';

export const LUKS1_BYTES = 592;
const SECTOR = 512;
const SLOTS = 8;
const SLOTS_AT = 208;
const SLOT_BYTES = 48;
const ACTIVE = 0x00ac71f3;
const DIGEST_BYTES = 20;
const SALT_BYTES = 32;
const NAME_BYTES = 32;
const MAX_KEY_BYTES = 512;

const fail = (why: string): Error => damaged(`LUKS1 header: ${why}`);

/** @throws LUKS_DAMAGED */
export function decodeLuks1(bytes: Buffer): LuksHeader {
  if (bytes.length < LUKS1_BYTES) throw fail('the file ends within it');
  const [cipher, mode, hash] = [8, 40, 72].map((at) => fieldText(bytes, at, NAME_BYTES)) as [
    string,
    string,
    string,
  ];
  const encryption = `${cipher}-${mode}`;
  const payload = bytes.readUInt32BE(104) * SECTOR;
  const keyBytes = bytes.readUInt32BE(108);
  if (keyBytes < 1 || keyBytes > MAX_KEY_BYTES) throw fail(`its key has ${keyBytes} bytes`);
  const iterations = bytes.readUInt32BE(164);
  if (iterations < 1) throw fail('its digest has no iterations');
  const keyslots: Keyslot[] = [];
  const areas: { readonly id: number; readonly offset: number; readonly end: number }[] = [];
  for (let id = 0; id < SLOTS; id++) {
    const at = SLOTS_AT + id * SLOT_BYTES;
    const state = bytes.readUInt32BE(at);
    const offset = bytes.readUInt32BE(at + 40) * SECTOR;
    const stripes = bytes.readUInt32BE(at + 44);
    const size = Math.ceil((stripes * keyBytes) / SECTOR) * SECTOR;
    areas.push({ id, offset, end: offset + size });
    if (stripes < STRIPES) throw fail(`keyslot ${id} has ${stripes} stripes, not ${STRIPES}`);
    // Whatever else it says is free, as it is to cryptsetup: the format's word for that, or what is left of one.
    if (state !== ACTIVE) continue;
    const slotIterations = bytes.readUInt32BE(at + 4);
    if (slotIterations < 1) throw fail(`keyslot ${id} has no iterations`);
    keyslots.push({
      type: 'luks1',
      id,
      keyBytes,
      area: { offset, bytes: size, encryption, keyBytes },
      kdf: {
        type: 'pbkdf2',
        hash,
        iterations: slotIterations,
        salt: Buffer.from(bytes.subarray(at + 8, at + 8 + SALT_BYTES)),
      },
      af: { stripes, hash },
      priority: 1,
    });
  }
  // Without an offset of its own the data is another file.
  checkAreas(areas, payload === 0 ? Number.POSITIVE_INFINITY : payload);
  return {
    version: 1,
    uuid: fieldText(bytes, 168, 40),
    label: '',
    subsystem: '',
    keyslots,
    digests: [
      {
        id: 0,
        type: 'pbkdf2',
        hash,
        iterations,
        salt: Buffer.from(bytes.subarray(132, 132 + SALT_BYTES)),
        digest: Buffer.from(bytes.subarray(112, 112 + DIGEST_BYTES)),
        keyslots: keyslots.map(({ id }) => id),
        segments: [0],
      },
    ],
    segments: [
      {
        id: 0,
        type: 'crypt',
        offset: payload,
        flags: [],
        crypt: { encryption, sectorBytes: SECTOR, ivTweak: 0n },
      },
    ],
    tokens: [],
    flags: [],
    requirements: [],
    metadataBytes: Math.max(LUKS1_BYTES, ...areas.map(({ end }) => end)),
  };
}

/** Free ones too: a key that is added goes there. */
function checkAreas(
  areas: readonly { readonly id: number; readonly offset: number; readonly end: number }[],
  payload: number,
): void {
  let [end, before] = [LUKS1_BYTES, 'the header'];
  for (const area of [...areas].sort((a, b) => a.offset - b.offset)) {
    if (area.offset < end) throw fail(`keyslot ${area.id} overlaps ${before}`);
    if (area.end > payload) throw fail(`keyslot ${area.id} reaches into the data`);
    [end, before] = [area.end, `keyslot ${area.id}`];
  }
}
