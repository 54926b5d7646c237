/**
 * A volume key put into a keyslot.
 *
 * Room `luks`.
 */
import { randomBytes } from 'node:crypto';

import type { Router } from '../../routing/router.js';
import type { Disk } from '../device.js';
import type { JsonObject, KeyslotKdf } from '../header/model.js';
import { STRIPES, split } from '../keyslot/af.js';
import type { KdfCost } from '../keyslot/cost.js';
import { requireDiskHash } from '../keyslot/hash.js';
import { deriveKey, type KdfLimits } from '../keyslot/kdf.js';
import { KEY_SECTOR_BYTES } from '../keyslot/unlock.js';
import { SectorCipher } from '../sectors/cipher.js';
import { parseSpecification } from '../sectors/specification.js';
import { areaBytesOf, roundUp } from './areas.js';

const KDF_SALT_BYTES = 32;

export interface NewKeyslot {
  readonly passphrase: Uint8Array;
  readonly cost: KdfCost;
  /** Of the keyslot's own cipher: `aes-xts-plain64` and 64 as a rule. */
  readonly encryption: string;
  readonly keyBytes: number;
  /** Of the splitter. */
  readonly hash: string;
  readonly priority?: number | undefined;
}

/** Writes the material to `offset` and tells what the metadata shall say. It is on the disk when this returns. */
export async function writeKeyslot(
  device: Disk,
  offset: number,
  volumeKey: Uint8Array,
  wanted: NewKeyslot,
  { router, limits }: { readonly router: Router; readonly limits: KdfLimits },
): Promise<JsonObject> {
  const { passphrase, cost, encryption, keyBytes, hash, priority } = wanted;
  const salt = randomBytes(KDF_SALT_BYTES);
  const kdf: KeyslotKdf = { ...cost, salt };
  const key = await deriveKey(kdf, passphrase, keyBytes, limits, 'the new keyslot');
  const material = Buffer.alloc(roundUp(volumeKey.length * STRIPES, KEY_SECTOR_BYTES));
  try {
    const stripes = split(volumeKey, STRIPES, requireDiskHash(hash), router);
    material.set(stripes);
    stripes.fill(0);
    const spec = parseSpecification(encryption, keyBytes);
    using cipher = new SectorCipher(spec, 'encrypt', key, { sectorBytes: KEY_SECTOR_BYTES, router });
    cipher.run(material, 0);
    device.writeAt(offset, material);
    device.flush();
  } finally {
    key.fill(0);
    material.fill(0);
  }
  const encoded = salt.toString('base64');
  return {
    type: 'luks2',
    key_size: volumeKey.length,
    ...(priority === undefined ? {} : { priority }),
    af: { type: 'luks1', stripes: STRIPES, hash },
    area: {
      type: 'raw',
      offset: String(offset),
      size: String(areaBytesOf(volumeKey.length)),
      encryption,
      key_size: keyBytes,
    },
    kdf:
      cost.type === 'pbkdf2'
        ? { type: 'pbkdf2', hash: cost.hash, iterations: cost.iterations, salt: encoded }
        : {
            type: cost.type,
            time: cost.iterations,
            memory: cost.memoryKiB,
            cpus: cost.threads,
            salt: encoded,
          },
  };
}
