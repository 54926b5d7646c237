/**
 * LUKS2's JSON metadata into the model, with every rule of the format that can be checked without a key.
 *
 * Room `luks`. Source: LUKS2 On-Disk Format Specification 1.1.4, sections 3 and 4. Fields that are not known are left alone, as it demands.
 */
import {
  base64,
  bytesOf,
  integer,
  numbered,
  object,
  references,
  text,
  texts,
  wide,
  wrong,
} from './checks.js';
import {
  type Digest,
  isBackup,
  type JsonObject,
  type Keyslot,
  type KeyslotKdf,
  type LuksHeader,
  type Segment,
  type Token,
} from './model.js';

const UINT32 = 2 ** 32 - 1;
/** cryptsetup's own limit for a volume key, LUKS2_MAX key of 512 bytes. */
const MAX_KEY_BYTES = 512;
const MAX_KEYSLOTS = 32;
const MAX_KEYSLOTS_BYTES = 128 * 2 ** 20;
const SECTOR = 512;
const PRIORITY_NORMAL = 1;
const PRIORITY_MOST = 2;

type Parts = Pick<
  LuksHeader,
  'keyslots' | 'digests' | 'segments' | 'tokens' | 'flags' | 'requirements' | 'metadataBytes'
> & {
  readonly keyslotsBytes: number;
};

/** @param headerBytes what the binary header says of itself and its JSON area @throws LUKS_DAMAGED */
export function readMetadata(metadata: JsonObject, headerBytes: number): Parts {
  const { keyslotsBytes, flags, requirements } = config(metadata, headerBytes);
  const keyslots = numbered(metadata['keyslots'], 'keyslots').map(([id, one]) => keyslot(id, one));
  if (keyslots.length > MAX_KEYSLOTS) throw wrong('keyslots', `has more than ${MAX_KEYSLOTS} entries`);
  const segments = numbered(metadata['segments'], 'segments').map(([id, one]) => segment(id, one));
  if (segments.length === 0) throw wrong('segments', 'is empty');
  const slots = new Set(keyslots.map(({ id }) => id));
  const parts = new Set(segments.map(({ id }) => id));
  const digests = numbered(metadata['digests'], 'digests').map(([id, one]) => digest(id, one, slots, parts));
  const tokens = numbered(metadata['tokens'], 'tokens').map(([id, one]) => token(id, one, slots));
  const metadataBytes = 2 * headerBytes + keyslotsBytes;
  checkAreas(keyslots, 2 * headerBytes, metadataBytes);
  checkDigests(digests, keyslots, segments);
  checkSegments(segments);
  const starts = segments.filter(({ type }) => type === 'crypt').map(({ offset }) => offset);
  // An offset of 0 is that of a detached header.
  if (starts.length > 0 && !starts.includes(0) && Math.min(...starts) < metadataBytes) {
    throw wrong('segments', 'begin within the keyslots area');
  }
  return { keyslots, digests, segments, tokens, flags, requirements, keyslotsBytes, metadataBytes };
}

function config(
  metadata: JsonObject,
  headerBytes: number,
): Pick<Parts, 'keyslotsBytes' | 'flags' | 'requirements'> {
  const own = object(metadata['config'], 'config');
  const jsonBytes = bytesOf(own['json_size'], 'config.json_size');
  if (jsonBytes + 4096 !== headerBytes) throw wrong('config.json_size', 'is not that of the binary header');
  const keyslotsBytes = bytesOf(own['keyslots_size'], 'config.keyslots_size');
  if (keyslotsBytes > MAX_KEYSLOTS_BYTES || keyslotsBytes % 4096 !== 0) {
    throw wrong('config.keyslots_size', 'is not a multiple of 4096 up to 128 MiB');
  }
  const flags = own['flags'] === undefined ? [] : texts(own['flags'], 'config.flags');
  let requirements: string[] = [];
  if (own['requirements'] !== undefined) {
    const mandatory = object(own['requirements'], 'config.requirements')['mandatory'];
    if (mandatory !== undefined) requirements = texts(mandatory, 'config.requirements.mandatory');
  }
  return { keyslotsBytes, flags, requirements };
}

function keyslot(id: number, own: JsonObject): Keyslot {
  const at = `keyslots.${id}`;
  const type = text(own['type'], `${at}.type`);
  const keyBytes = integer(own['key_size'], `${at}.key_size`, 0, UINT32);
  const priority =
    own['priority'] === undefined
      ? PRIORITY_NORMAL
      : integer(own['priority'], `${at}.priority`, 0, PRIORITY_MOST);
  const area = object(own['area'], `${at}.area`);
  const [offset, bytes] = [
    bytesOf(area['offset'], `${at}.area.offset`),
    bytesOf(area['size'], `${at}.area.size`),
  ];
  if (type !== 'luks2') return { type, id, keyBytes, area: { offset, bytes }, priority };
  if (keyBytes < 1 || keyBytes > MAX_KEY_BYTES) {
    throw wrong(`${at}.key_size`, `is ${keyBytes}, not from 1 to ${MAX_KEY_BYTES}`);
  }
  const areaType = text(area['type'], `${at}.area.type`);
  if (areaType !== 'raw') throw wrong(`${at}.area.type`, 'is not "raw"');
  const af = object(own['af'], `${at}.af`);
  if (text(af['type'], `${at}.af.type`) !== 'luks1') throw wrong(`${at}.af.type`, 'is not "luks1"');
  const stripes = integer(af['stripes'], `${at}.af.stripes`, 1, UINT32);
  if (Math.ceil((stripes * keyBytes) / SECTOR) * SECTOR > bytes) {
    throw wrong(`${at}.area.size`, 'is too small for the key in it');
  }
  return {
    type,
    id,
    keyBytes,
    area: {
      offset,
      bytes,
      encryption: text(area['encryption'], `${at}.area.encryption`),
      keyBytes: integer(area['key_size'], `${at}.area.key_size`, 1, MAX_KEY_BYTES),
    },
    kdf: kdf(object(own['kdf'], `${at}.kdf`), `${at}.kdf`),
    af: { stripes, hash: text(af['hash'], `${at}.af.hash`) },
    priority,
  };
}

function kdf(own: JsonObject, at: string): KeyslotKdf {
  const type = text(own['type'], `${at}.type`);
  const salt = base64(own['salt'], `${at}.salt`, 8);
  if (type === 'pbkdf2') {
    const iterations = integer(own['iterations'], `${at}.iterations`, 1, UINT32);
    return { type, hash: text(own['hash'], `${at}.hash`), iterations, salt };
  }
  if (type !== 'argon2i' && type !== 'argon2id') throw wrong(`${at}.type`, 'is not known');
  const threads = integer(own['cpus'], `${at}.cpus`, 1, 2 ** 24 - 1);
  return {
    type,
    iterations: integer(own['time'], `${at}.time`, 1, UINT32),
    // RFC 9106: eight blocks of 1 KiB for each lane.
    memoryKiB: integer(own['memory'], `${at}.memory`, 8 * threads, UINT32),
    threads,
    salt,
  };
}

function segment(id: number, own: JsonObject): Segment {
  const at = `segments.${id}`;
  const type = text(own['type'], `${at}.type`);
  const offset = bytesOf(own['offset'], `${at}.offset`);
  const bytes = own['size'] === 'dynamic' ? undefined : bytesOf(own['size'], `${at}.size`);
  if (bytes === 0) throw wrong(`${at}.size`, 'is 0');
  if (offset % SECTOR !== 0 || (bytes ?? 0) % SECTOR !== 0) {
    throw wrong(at, `is not aligned to ${SECTOR} bytes`);
  }
  const flags = own['flags'] === undefined ? [] : texts(own['flags'], `${at}.flags`);
  const base = { id, type, offset, ...(bytes === undefined ? {} : { bytes }), flags };
  if (type !== 'crypt') return base;
  const sectorBytes = integer(own['sector_size'], `${at}.sector_size`, SECTOR, 4096);
  if ((sectorBytes & (sectorBytes - 1)) !== 0) {
    throw wrong(`${at}.sector_size`, `is ${sectorBytes}, not 512, 1024, 2048 or 4096`);
  }
  if ((bytes ?? 0) % sectorBytes !== 0) throw wrong(`${at}.size`, 'is not a multiple of the sector');
  const integrity =
    own['integrity'] === undefined
      ? undefined
      : text(object(own['integrity'], `${at}.integrity`)['type'], `${at}.integrity.type`);
  return {
    ...base,
    crypt: {
      encryption: text(own['encryption'], `${at}.encryption`),
      sectorBytes,
      ivTweak: wide(own['iv_tweak'], `${at}.iv_tweak`),
      ...(integrity === undefined ? {} : { integrity }),
    },
  };
}

function digest(
  id: number,
  own: JsonObject,
  slots: ReadonlySet<number>,
  segments: ReadonlySet<number>,
): Digest {
  const at = `digests.${id}`;
  const type = text(own['type'], `${at}.type`);
  const lists = {
    keyslots: references(own['keyslots'], `${at}.keyslots`, slots),
    segments: references(own['segments'], `${at}.segments`, segments),
  };
  if (type !== 'pbkdf2') {
    return { id, type, hash: '', iterations: 0, salt: Buffer.alloc(0), digest: Buffer.alloc(0), ...lists };
  }
  return {
    id,
    type,
    hash: text(own['hash'], `${at}.hash`),
    iterations: integer(own['iterations'], `${at}.iterations`, 1, UINT32),
    salt: base64(own['salt'], `${at}.salt`, 8),
    // A short one would take many a wrong key for the right one.
    digest: base64(own['digest'], `${at}.digest`, 16),
    ...lists,
  };
}

function token(id: number, own: JsonObject, slots: ReadonlySet<number>): Token {
  const at = `tokens.${id}`;
  return {
    id,
    type: text(own['type'], `${at}.type`),
    keyslots: references(own['keyslots'], `${at}.keyslots`, slots),
  };
}

/** What is encrypted has one key, and a keyslot holds one. */
function checkDigests(
  digests: readonly Digest[],
  keyslots: readonly Keyslot[],
  segments: readonly Segment[],
): void {
  const check = (at: string, needed: boolean, count: number): void => {
    if (count === 0 && needed) throw wrong(at, 'has no digest');
    if (count > 1) throw wrong(at, 'has more than one digest');
  };
  for (const { id, type } of segments) {
    check(`segments.${id}`, type === 'crypt', digests.filter((one) => one.segments.includes(id)).length);
  }
  for (const { id, type } of keyslots) {
    check(`keyslots.${id}`, type === 'luks2', digests.filter((one) => one.keyslots.includes(id)).length);
  }
}

/** Segments follow one another by number, share no byte, and only the last may go to the end. Those of a re-encryption stand behind them. */
function checkSegments(segments: readonly Segment[]): void {
  const data = segments.filter(({ flags }) => !isBackup(flags));
  for (const [i, { id, offset, bytes }] of data.entries()) {
    if (id !== i) throw wrong('segments', `has no entry ${i}`);
    if (bytes === undefined && i < data.length - 1)
      throw wrong(`segments.${id}.size`, 'is open, and others follow');
    const end = offset + (bytes ?? Number.POSITIVE_INFINITY);
    const other = data.find(
      (one) =>
        one.id > id && one.offset < end && offset < one.offset + (one.bytes ?? Number.POSITIVE_INFINITY),
    );
    if (other) throw wrong(`segments.${other.id}`, `overlaps segment ${id}`);
  }
}

function checkAreas(keyslots: readonly Keyslot[], from: number, to: number): void {
  const areas = keyslots
    .map(({ id, area: { offset, bytes } }) => ({ id, offset, end: offset + bytes }))
    .sort((a, b) => a.offset - b.offset);
  let end = from;
  for (const [i, area] of areas.entries()) {
    const at = `keyslots.${area.id}.area`;
    if (area.end === area.offset) throw wrong(at, 'is empty');
    if (area.offset < from || area.end > to) throw wrong(at, 'lies outside the keyslots area');
    if (area.offset < end) throw wrong(at, `overlaps that of keyslot ${areas[i - 1]!.id}`);
    end = area.end;
  }
}
