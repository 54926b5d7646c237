/**
 * What a new keyslot shall cost: as much as its owner wants to wait, measured on this machine.
 *
 * Room `luks`.
 */
import { pbkdf2Sync } from 'node:crypto';
import { availableParallelism, totalmem } from 'node:os';

import { HwcryptError } from '../../errors.js';
import { argon2, pbkdf2By } from '../../kdf/index.js';
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

// cryptsetup's limits and defaults.
const MIN_ROUNDS = 1000;
const MIN_PASSES = 4;
const MIN_MEMORY_KIB = 32;
const DEFAULT_MEMORY_KIB = 1024 * 1024;
export const MAX_MEMORY_KIB = 4 * 1024 * 1024;
const MAX_THREADS = 4;
const SAMPLE_KIB = 64 * 1024;
const SAMPLE_MS = 50;

/** Rounds of a hash in so many milliseconds. @throws LUKS_UNSUPPORTED */
export function roundsIn(milliseconds: number, hashName: string): number {
  const hash = requireDiskHash(hashName);
  const name = hash.names.openssl ?? hash.name;
  const known = pbkdf2By(name) === 'node' ? name : 'sha512';
  for (let rounds = 10_000; ; rounds *= 4) {
    const start = process.hrtime.bigint();
    pbkdf2Sync('sample', 'salt of it', rounds, 1, known);
    const elapsed = Number(process.hrtime.bigint() - start) / 1e6;
    if (elapsed > SAMPLE_MS)
      return Math.min(2 ** 32 - 1, Math.max(MIN_ROUNDS, Math.round((rounds * milliseconds) / elapsed)));
  }
}

/** @throws KDF_TOO_DEAR where more memory is asked for than there is */
export async function costOf(wish: KdfWish): Promise<KdfCost> {
  if (wish.type === 'pbkdf2') {
    const iterations = wish.iterations ?? roundsIn(wish.milliseconds, wish.hash);
    return { type: 'pbkdf2', hash: wish.hash, iterations };
  }
  const { type } = wish;
  const threads = wish.threads ?? Math.min(MAX_THREADS, availableParallelism());
  const most = Math.floor(availableMemory() / 1024);
  if (wish.memoryKiB !== undefined && wish.memoryKiB > most) {
    throw new HwcryptError(
      'KDF_TOO_DEAR',
      `${wish.memoryKiB} KiB of memory are asked for, and ${most} KiB are available`,
    );
  }
  // Half of the machine, so that it can be opened there while it does something else.
  const memoryKiB =
    wish.memoryKiB ?? Math.min(DEFAULT_MEMORY_KIB, Math.floor(totalmem() / 2048), Math.floor(most / 2));
  if (wish.iterations !== undefined) return { type, iterations: wish.iterations, memoryKiB, threads };
  const sampleKiB = Math.min(SAMPLE_KIB, memoryKiB);
  const sample = { iterations: 1, memoryKiB: sampleKiB, threads };
  const { elapsedNs } = await argon2().derive(type, Buffer.from('sample'), Buffer.alloc(16), sample, 32);
  const passKiB = (sampleKiB * wish.milliseconds * 1e6) / elapsedNs;
  const iterations = Math.floor(passKiB / memoryKiB);
  if (iterations >= MIN_PASSES || wish.memoryKiB !== undefined) {
    return { type, iterations: Math.max(MIN_PASSES, iterations), memoryKiB, threads };
  }
  // A slow machine: less memory rather than fewer passes, as cryptsetup has it.
  const less = Math.max(MIN_MEMORY_KIB, 8 * threads, Math.floor(passKiB / MIN_PASSES));
  return { type, iterations: MIN_PASSES, memoryKiB: Math.min(less, memoryKiB), threads };
}
