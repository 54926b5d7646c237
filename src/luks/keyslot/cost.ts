/**
 * What a new keyslot shall cost: as much as its owner wants to wait, measured on this machine.
 *
 * Room `luks`.
 */
import { pbkdf2Sync } from 'node:crypto';
import { availableParallelism } from 'node:os';

import { argon2Limits, measureArgon2 } from '../../bench/kdf.js';
import { HwcryptError } from '../../errors.js';
import { pbkdf2By } from '../../kdf/index.js';
import { requireDiskHash } from './hash.js';
import { availableMemory } from './kdf.js';

export type KdfCost =
  | { readonly type: 'pbkdf2'; readonly hash: string; readonly iterations: number }
  | {
      readonly type: 'argon2i' | 'argon2id';
      readonly iterations: number;
      readonly memoryKiB: number;
      readonly threads: number;
    };

export interface KdfWish {
  readonly type: 'pbkdf2' | 'argon2i' | 'argon2id';
  /** Of PBKDF2. */
  readonly hash: string;
  /** How long opening shall take here; cryptsetup's default is 2000. */
  readonly milliseconds: number;
  /** These and no measurement. */
  readonly iterations?: number | undefined;
  readonly memoryKiB?: number | undefined;
  readonly threads?: number | undefined;
}

/** cryptsetup's. */
export const MIN_ROUNDS = 1000;
const SAMPLE_MS = 50;

/** Rounds of a hash that make a key of so many bytes in so many milliseconds. @throws LUKS_UNSUPPORTED */
export function roundsIn(milliseconds: number, hashName: string, keyBytes: number): number {
  const hash = requireDiskHash(hashName);
  const name = hash.names.openssl ?? hash.name;
  const known = pbkdf2By(name) === 'node' ? name : 'sha512';
  for (let rounds = 10_000; ; rounds *= 4) {
    const start = process.hrtime.bigint();
    pbkdf2Sync('sample', 'salt of it', rounds, keyBytes, known);
    const elapsed = Number(process.hrtime.bigint() - start) / 1e6;
    if (elapsed < SAMPLE_MS) continue;
    return Math.min(2 ** 32 - 1, Math.max(MIN_ROUNDS, Math.round((rounds * milliseconds) / elapsed)));
  }
}

/** @param keyBytes of the keyslot's own key @throws KDF_TOO_DEAR where more memory is asked for than there is */
export async function costOf(wish: KdfWish, keyBytes: number): Promise<KdfCost> {
  const { type, hash, milliseconds } = wish;
  if (type === 'pbkdf2') {
    return { type, hash, iterations: wish.iterations ?? roundsIn(milliseconds, hash, keyBytes) };
  }
  const most = Math.floor(availableMemory() / 1024);
  if (wish.memoryKiB !== undefined && wish.memoryKiB > most) {
    throw new HwcryptError(
      'KDF_TOO_DEAR',
      `${wish.memoryKiB} KiB of memory are asked for, and ${most} KiB are available`,
    );
  }
  const { memoryKiB, threads } = argon2Limits(availableParallelism(), wish);
  if (wish.iterations !== undefined) {
    return { type, iterations: wish.iterations, memoryKiB: wish.memoryKiB ?? memoryKiB, threads };
  }
  const found = await measureArgon2(type, keyBytes * 8, { targetMs: milliseconds, memoryKiB, threads });
  if (found?.iterations === undefined || found.memoryKiB === undefined) {
    throw new HwcryptError('KDF_FAILED', `${type}: ${memoryKiB} KiB cannot be had`);
  }
  return { type, iterations: found.iterations, memoryKiB: found.memoryKiB, threads };
}
