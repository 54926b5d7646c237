/**
 * Keys of a LUKS2 image: added, removed, changed.
 *
 * Room `luks`. New material is on the disk before the header knows of it, and old material is overwritten after the header has forgotten it: so
 * that, whenever this is killed, some passphrase opens.
 */
import { HwcryptError } from '../../errors.js';
import type { Router } from '../../routing/router.js';
import type { Disk } from '../device.js';
import { unsupported } from '../errors.js';
import type { Json, JsonObject, LuksHeader } from '../header/model.js';
import { readHeader } from '../header/read.js';
import type { KdfLimits } from '../keyslot/kdf.js';
import { requireMet, type Unlocked, unlock } from '../keyslot/unlock.js';
import { areaBytesOf, findRoom, type Span, wipeFree } from './areas.js';
import { commitHeader, type Luks2Header } from './commit.js';
import { type NewKeyslot, writeKeyslot } from './material.js';

const MAX_KEYSLOTS = 32;

export interface KeyContext {
  readonly router: Router;
  readonly limits: KdfLimits;
}

export interface AddedKey {
  readonly keyslot: number;
}

/** @throws LUKS_UNSUPPORTED for LUKS1, and where the header demands what is not known */
export function changeable(device: Disk): Luks2Header {
  const header = readHeader(device);
  requireMet(header);
  if (!header.luks2) throw unsupported('keys of LUKS1 images can be used, not changed: cryptsetup does that');
  const { notUtf8 } = header.luks2;
  if (notUtf8 !== undefined) {
    throw unsupported(
      `its ${notUtf8} has bytes that are no UTF-8, which a change would lose: cryptsetup keeps them`,
    );
  }
  return header as Luks2Header;
}

const spanOf = ({ luks2, metadataBytes }: Luks2Header): Span => ({
  from: 2 * luks2.headerBytes,
  to: metadataBytes,
});

/** A keyslot more. @param wanted.keyslot a number of one's own @throws LUKS_NO_ROOM */
export async function addKey(
  device: Disk,
  header: Luks2Header,
  unlocked: Unlocked,
  wanted: NewKeyslot & { readonly keyslot?: number | undefined },
  context: KeyContext,
): Promise<AddedKey> {
  const id = freeKeyslot(header, wanted.keyslot);
  const slot = await placeKeyslot(device, header, unlocked, wanted, context);
  const { metadata } = header.luks2;
  const digests = digestsWith(metadata, unlocked.digest.id, (slots) => [...slots, String(id)]);
  commitHeader(device, header, {
    ...metadata,
    keyslots: { ...(metadata['keyslots'] as JsonObject), [id]: slot },
    digests,
  });
  return { keyslot: id };
}

/** The keyslot that opened gets another passphrase, and keeps its number. */
export async function changeKey(
  device: Disk,
  header: Luks2Header,
  unlocked: Unlocked,
  wanted: NewKeyslot,
  context: KeyContext,
): Promise<void> {
  const { keyslot: id } = unlocked;
  const { metadata } = header.luks2;
  const keyslots = metadata['keyslots'] as JsonObject;
  const { priority } = keyslots[id] as JsonObject;
  const slot = await placeKeyslot(device, header, unlocked, wanted, context);
  const now = commitHeader(device, header, {
    ...metadata,
    keyslots: { ...keyslots, [id]: { ...slot, ...(priority === undefined ? {} : { priority }) } },
  });
  wipeFree(device, spanOf(now), now.keyslots);
}

/** @throws LUKS_NO_KEYSLOT where it is not in use, or the last one and `evenLast` is not said */
export function removeKey(device: Disk, header: Luks2Header, id: number, evenLast: boolean): void {
  const { metadata } = header.luks2;
  const keyslots = { ...(metadata['keyslots'] as JsonObject) } as Record<string, Json>;
  if (!Object.hasOwn(keyslots, String(id))) {
    throw new HwcryptError('LUKS_NO_KEYSLOT', `keyslot ${id} is not in use`);
  }
  const bound = header.digests.find(({ keyslots: slots }) => slots.includes(id));
  if (bound && bound.segments.length > 0 && bound.keyslots.length === 1 && !evenLast) {
    throw new HwcryptError(
      'LUKS_NO_KEYSLOT',
      `keyslot ${id} is the last one: without it the data is lost for good (--even-last)`,
    );
  }
  delete keyslots[id];
  const without = (slots: readonly string[]): string[] => slots.filter((name) => name !== String(id));
  const tokens = Object.fromEntries(
    Object.entries(metadata['tokens'] as JsonObject).map(([name, token]) => {
      const own = token as JsonObject;
      return [name, { ...own, keyslots: without(own['keyslots'] as readonly string[]) }];
    }),
  );
  const digests = bound ? digestsWith(metadata, bound.id, without) : metadata['digests'];
  const now = commitHeader(device, header, { ...metadata, keyslots, tokens, digests: digests as Json });
  wipeFree(device, spanOf(now), now.keyslots);
}

async function placeKeyslot(
  device: Disk,
  header: Luks2Header,
  { volumeKey }: Unlocked,
  wanted: NewKeyslot,
  context: KeyContext,
): Promise<JsonObject> {
  const offset = findRoom(spanOf(header), header.keyslots, areaBytesOf(volumeKey.length));
  return writeKeyslot(device, offset, volumeKey, wanted, context);
}

function freeKeyslot({ keyslots }: LuksHeader, wanted: number | undefined): number {
  const used = new Set(keyslots.map(({ id }) => id));
  if (wanted !== undefined) {
    if (used.has(wanted)) throw new HwcryptError('LUKS_NO_ROOM', `keyslot ${wanted} is in use`);
    return wanted;
  }
  for (let id = 0; id < MAX_KEYSLOTS; id++) if (!used.has(id)) return id;
  throw new HwcryptError('LUKS_NO_ROOM', `all ${MAX_KEYSLOTS} keyslots are in use`);
}

function digestsWith(
  metadata: JsonObject,
  id: number,
  change: (keyslots: readonly string[]) => string[],
): JsonObject {
  const digests = metadata['digests'] as JsonObject;
  const own = digests[id] as JsonObject;
  return { ...digests, [id]: { ...own, keyslots: change(own['keyslots'] as readonly string[]) } };
}

/** Opens, works and closes, with the header locked against others. */
export async function withKey<T>(
  device: Disk,
  options: KeyContext & { readonly passphrase: () => Promise<Buffer>; readonly keyslot?: number | undefined },
  work: (header: Luks2Header, unlocked: Unlocked) => Promise<T> | T,
): Promise<T> {
  changeable(device);
  const passphrase = await options.passphrase();
  let unlocked: Unlocked | undefined;
  try {
    return await device.locked(async () => {
      // Once more: somebody may have changed it while the passphrase was typed.
      const header = changeable(device);
      unlocked = await unlock(device, header, { ...options, passphrase });
      return await work(header, unlocked);
    });
  } finally {
    passphrase.fill(0);
    unlocked?.volumeKey.fill(0);
  }
}
