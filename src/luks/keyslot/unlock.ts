/**
 * From a passphrase to the volume key.
 *
 * Room `luks`. Source: LUKS1 specification 1.2.3, section 4; LUKS2 specification 1.1.4, sections 3.2 and 3.3.
 */
import { timingSafeEqual } from 'node:crypto';

import { HwcryptError } from '../../errors.js';
import type { Router } from '../../routing/router.js';
import { damaged, unsupported } from '../errors.js';
import {
  type Digest,
  isBackup,
  type LuksHeader,
  opensByPassphrase,
  type PassphraseKeyslot,
} from '../header/model.js';
import type { Source } from '../header/read.js';
import { SectorCipher } from '../sectors/cipher.js';
import { parseSpecification } from '../sectors/specification.js';
import { merge } from './af.js';
import { requireDiskHash } from './hash.js';
import { checkPbkdf2, deriveKey, derivePbkdf2, type KdfLimits } from './kdf.js';

/** Key material is always encrypted in these. */
export const KEY_SECTOR_BYTES = 512;

export interface UnlockOptions {
  readonly passphrase: Uint8Array;
  /** This one and no other. */
  readonly keyslot?: number | undefined;
  readonly router: Router;
  readonly limits: KdfLimits;
}

export interface Unlocked {
  /** For the caller to wipe. */
  readonly volumeKey: Buffer;
  readonly keyslot: number;
  readonly digest: Digest;
}

/** For messages. */
const DIGEST = 'the digest of the volume key';

/** @throws LUKS_UNSUPPORTED where the header demands what is not done here */
export function requireMet(header: LuksHeader): void {
  const [first] = header.requirements;
  if (first === undefined) {
    const half = header.keyslots.find(({ type }) => type === 'reencrypt');
    if (!half) return;
    throw unsupported(
      `keyslot ${half.id} is of a re-encryption, which is not finished: let cryptsetup finish it`,
    );
  }
  const why = first.includes('reencrypt')
    ? 'its re-encryption is not finished: let cryptsetup reencrypt finish it'
    : 'it can be looked at, not opened or changed';
  throw unsupported(`the header requires "${first}", which is not supported (${why})`);
}

/** The digest of the volume key with which the data is encrypted. */
export function dataDigest(header: LuksHeader): Digest {
  const data = header.segments.find(({ flags, type }) => type === 'crypt' && !isBackup(flags));
  const found = data && header.digests.find(({ segments }) => segments.includes(data.id));
  if (!found) throw unsupported('no segment of this image is encrypted');
  if (found.type !== 'pbkdf2') throw unsupported('the type of the digest is not supported');
  return found;
}

/** The keyslots to be tried, in their order. @throws LUKS_NO_KEYSLOT */
function candidates(header: LuksHeader, digest: Digest, only: number | undefined): PassphraseKeyslot[] {
  const all = header.keyslots.filter(opensByPassphrase);
  if (only !== undefined) {
    const found = all.find(({ id }) => id === only);
    if (!found) throw new HwcryptError('LUKS_NO_KEYSLOT', `keyslot ${only} is not in use`);
    return [found];
  }
  const usable = all
    .filter(({ id, priority }) => digest.keyslots.includes(id) && priority > 0)
    .sort((a, b) => b.priority - a.priority || a.id - b.id);
  if (usable.length === 0) {
    throw new HwcryptError('LUKS_NO_KEYSLOT', 'there is no keyslot that a passphrase could open');
  }
  return usable;
}

/**
 * @throws LUKS_NO_KEYSLOT for a wrong passphrase; what kept a keyslot from being tried, where none of the others opens
 */
export async function unlock(source: Source, header: LuksHeader, options: UnlockOptions): Promise<Unlocked> {
  const digest = dataDigest(header);
  const slots = candidates(header, digest, options.keyslot);
  // What a key could not be checked with is not worth a passphrase's work.
  await checkPbkdf2(digest.hash, digest.iterations, digest.digest.length, options.limits, DIGEST);
  let untried: HwcryptError | undefined;
  for (const slot of slots) {
    let volumeKey: Buffer | undefined;
    try {
      volumeKey = await openKeyslot(source, slot, options);
      if (await isVolumeKey(digest, volumeKey, options.limits)) {
        return { volumeKey, keyslot: slot.id, digest };
      }
    } catch (error) {
      volumeKey?.fill(0);
      if (!(error instanceof HwcryptError)) throw error;
      untried ??= error;
    }
    volumeKey?.fill(0);
  }
  if (untried) throw untried;
  throw new HwcryptError(
    'LUKS_NO_KEYSLOT',
    options.keyslot === undefined
      ? 'no keyslot opens with this passphrase'
      : `keyslot ${options.keyslot} does not open with this passphrase`,
  );
}

/** What the passphrase makes of a keyslot: the volume key, or something else. */
async function openKeyslot(
  source: Source,
  { id, area, kdf, af, keyBytes }: PassphraseKeyslot,
  { passphrase, router, limits }: UnlockOptions,
): Promise<Buffer> {
  const whose = `keyslot ${id}`;
  const spec = parseSpecification(area.encryption, area.keyBytes);
  const hash = requireDiskHash(af.hash);
  const length = Math.ceil((af.stripes * keyBytes) / KEY_SECTOR_BYTES) * KEY_SECTOR_BYTES;
  const material = source.readAt(area.offset, length);
  if (material.length < length) throw damaged(`${source.name} ends within ${whose}`);
  const key = await deriveKey(kdf, passphrase, area.keyBytes, limits, whose);
  try {
    using cipher = new SectorCipher(spec, 'decrypt', key, { sectorBytes: KEY_SECTOR_BYTES, router });
    cipher.run(material, 0);
    return merge(material, keyBytes, af.stripes, hash, router);
  } finally {
    key.fill(0);
    material.fill(0);
  }
}

export async function isVolumeKey(digest: Digest, key: Uint8Array, limits: KdfLimits): Promise<boolean> {
  const made = await derivePbkdf2(
    digest.hash,
    digest.iterations,
    digest.salt,
    key,
    digest.digest.length,
    limits,
    DIGEST,
  );
  return timingSafeEqual(made, digest.digest);
}
