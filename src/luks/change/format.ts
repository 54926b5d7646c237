/**
 * A new LUKS2 image.
 *
 * Room `luks`. A file is made beside the old one and takes its place when it is whole. A device that holds a LUKS2 header gets the new one as if it
 * were a change of the old: the new keyslots lie where the old ones do not, so that one of the two headers can always be opened.
 */
import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';

import { HwcryptError } from '../../errors.js';
import type { Router } from '../../routing/router.js';
import type { Disk } from '../device.js';
import { BINARY_BYTES, LABEL_BYTES, SALT_BYTES } from '../header/binary.js';
import type { JsonObject, Keyslot } from '../header/model.js';
import { type KdfCost, roundsIn } from '../keyslot/cost.js';
import { requireDiskHash } from '../keyslot/hash.js';
import { derivePbkdf2, type KdfLimits } from '../keyslot/kdf.js';
import { parseSpecification } from '../sectors/specification.js';
import { areaBytesOf, findRoom, hasRoom, wipeFree } from './areas.js';
import { commitHeader, type Luks2Header } from './commit.js';
import { writeKeyslot } from './material.js';

export const DEFAULT_CIPHER = 'aes-xts-plain64';
export const DEFAULT_KEY_BITS = 512;
export const DEFAULT_SECTOR_BYTES = 4096;
/** 16 MiB in front of the data, as cryptsetup leaves it. */
export const DEFAULT_OFFSET = 16 * 2 ** 20;
const DEFAULT_HEADER_BYTES = 0x4000;
const DIGEST_MS = 125;
const DIGEST_SALT_BYTES = 32;
const DATA_ALIGNMENT = 4096;
const MAX_KEYSLOTS_BYTES = 128 * 2 ** 20;

export interface FormatOptions {
  readonly encryption: string;
  readonly keyBits: number;
  readonly sectorBytes: number;
  readonly hash: string;
  readonly label: string;
  readonly subsystem: string;
  readonly uuid?: string | undefined;
  /** Where the data begins: 0 where the header is a file of its own. */
  readonly dataOffset: number;
  /** End of the keyslots area. */
  readonly metadataBytes: number;
  readonly cost: KdfCost;
  /** Rounds of the volume key's digest; default: what takes 125 ms here, as in cryptsetup. */
  readonly digestIterations?: number | undefined;
  /** Each gets a keyslot. */
  readonly passphrases: readonly Uint8Array[];
  readonly router: Router;
  readonly limits: KdfLimits;
}

/** What can be said before anything is written. @throws USAGE, LUKS_UNSUPPORTED */
export function checkFormat(
  {
    encryption,
    keyBits,
    sectorBytes,
    label,
    subsystem,
    uuid,
    ...rest
  }: Omit<FormatOptions, 'cost' | 'passphrases'>,
  keyslots: number,
): void {
  const wrong = (what: string): HwcryptError => new HwcryptError('USAGE', what);
  parseSpecification(encryption, keyBits / 8);
  if (![512, 1024, 2048, 4096].includes(sectorBytes)) {
    throw wrong(`a sector has 512, 1024, 2048 or 4096 bytes, not ${sectorBytes}`);
  }
  for (const [what, text] of [
    ['label', label],
    ['subsystem', subsystem],
  ] as const) {
    if (Buffer.byteLength(text) >= LABEL_BYTES)
      throw wrong(`the ${what} is longer than ${LABEL_BYTES - 1} bytes`);
  }
  if (uuid !== undefined && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) {
    throw wrong(`"${uuid}" is no UUID`);
  }
  if (rest.dataOffset % DATA_ALIGNMENT !== 0) {
    throw wrong(`the data begins at a multiple of ${DATA_ALIGNMENT} bytes, not at ${rest.dataOffset}`);
  }
  const keyslotsBytes = rest.metadataBytes - 2 * DEFAULT_HEADER_BYTES;
  const needed = areaBytesOf(keyBits / 8) * keyslots;
  if (keyslotsBytes % BINARY_BYTES !== 0 || keyslotsBytes > MAX_KEYSLOTS_BYTES || keyslotsBytes < needed) {
    throw wrong(
      `the header takes from ${needed + 2 * DEFAULT_HEADER_BYTES} bytes to 128 MiB, in steps of 4096`,
    );
  }
}

/** @param old the header that is there, if it is a LUKS2 header @returns the header as it stands */
export async function format(device: Disk, options: FormatOptions, old?: Luks2Header): Promise<Luks2Header> {
  const { encryption, keyBits, hash, metadataBytes, passphrases } = options;
  checkFormat(options, passphrases.length);
  const volumeKey = randomFillSync(Buffer.alloc(keyBits / 8));
  try {
    const headerBytes = DEFAULT_HEADER_BYTES;
    const kept = old?.luks2.headerBytes === headerBytes ? old : undefined;
    const span = { from: 2 * headerBytes, to: metadataBytes };
    // A header of another size: its second copy lies among the new keyslots, and opens until the new header is whole.
    const oldBytes = kept ? 0 : 2 * (old?.luks2.headerBytes ?? 0);
    const needed = passphrases.length * areaBytesOf(volumeKey.length);
    const spared = [{ area: { offset: 0, bytes: oldBytes } }, ...(old?.keyslots ?? [])];
    // Where there is no room for both, one of another size cannot be spared: nobody could ever make a new one there.
    if (!kept && !hasRoom(span, spared, needed)) spared.length = 0;
    const made: Pick<Keyslot, 'area'>[] = [];
    const keyslots: Record<string, JsonObject> = {};
    for (const [id, passphrase] of passphrases.entries()) {
      const bytes = areaBytesOf(volumeKey.length);
      // Where neither the new nor the old ones are.
      const offset = findRoom(span, [...made, ...spared], bytes);
      made.push({ area: { offset, bytes } });
      const wanted = { passphrase, cost: options.cost, hash, encryption, keyBytes: volumeKey.length };
      keyslots[id] = await writeKeyslot(device, offset, volumeKey, wanted, options);
    }
    const metadata = await metadataOf(volumeKey, keyslots, headerBytes, options);
    const header = blank(options, headerBytes, kept);
    const now = commitHeader(device, header, metadata);
    wipeFree(device, span, now.keyslots);
    return now;
  } finally {
    volumeKey.fill(0);
  }
}

function blank(
  { label, subsystem, uuid }: FormatOptions,
  headerBytes: number,
  kept: Luks2Header | undefined,
): Luks2Header {
  const unusable = (name: 'primary' | 'secondary', offset: number) => ({
    name,
    offset,
    problem: 'it is new',
  });
  return {
    version: 2,
    uuid: uuid ?? randomUUID(),
    label,
    subsystem,
    keyslots: [],
    digests: [],
    segments: [],
    tokens: [],
    flags: [],
    requirements: [],
    metadataBytes: 0,
    luks2: {
      headerBytes,
      keyslotsBytes: 0,
      seqid: kept?.luks2.seqid ?? 0n,
      checksum: 'sha256',
      copies: kept?.luks2.copies ?? [unusable('primary', 0), unusable('secondary', headerBytes)],
      metadata: {},
      salts: { primary: randomBytes(SALT_BYTES), secondary: randomBytes(SALT_BYTES) },
    },
  };
}

async function metadataOf(
  volumeKey: Buffer,
  keyslots: JsonObject,
  headerBytes: number,
  { encryption, sectorBytes, hash, dataOffset, metadataBytes, digestIterations, limits }: FormatOptions,
): Promise<JsonObject> {
  const salt = randomBytes(DIGEST_SALT_BYTES);
  const iterations = digestIterations ?? roundsIn(DIGEST_MS, hash, requireDiskHash(hash).digestBytes);
  const whose = 'the digest of the volume key';
  const digest = await derivePbkdf2(
    hash,
    iterations,
    salt,
    volumeKey,
    requireDiskHash(hash).digestBytes,
    limits,
    whose,
  );
  return {
    keyslots,
    tokens: {},
    segments: {
      0: {
        type: 'crypt',
        offset: String(dataOffset),
        size: 'dynamic',
        iv_tweak: '0',
        encryption,
        sector_size: sectorBytes,
      },
    },
    digests: {
      0: {
        type: 'pbkdf2',
        keyslots: Object.keys(keyslots),
        segments: ['0'],
        hash,
        iterations,
        salt: salt.toString('base64'),
        digest: digest.toString('base64'),
      },
    },
    config: {
      json_size: String(headerBytes - BINARY_BYTES),
      keyslots_size: String(metadataBytes - 2 * headerBytes),
    },
  };
}
