/**
 * From a passphrase to a keyslot's key, and what that may cost: a header may ask for any memory and any time, and is not believed.
 *
 * Room `luks`.
 */
import { pbkdf2Sync } from 'node:crypto';
import { availableParallelism, freemem } from 'node:os';

import { HwcryptError } from '../../errors.js';
import { argon2, pbkdf2, pbkdf2By } from '../../kdf/index.js';
import type { KeyslotKdf } from '../header/model.js';
import { requireDiskHash } from './hash.js';

export interface KdfLimits {
  /** More than the machine has is refused before it is tried. */
  readonly memoryBytes: number;
  /** What surely takes longer is refused. */
  readonly seconds: number;
}

/** cryptsetup makes keyslots that take its machine two seconds; this leaves room for one sixty times as slow. */
export const DEFAULT_KDF_SECONDS = 120;

/** cryptsetup writes four at most. Each is a thread. */
const MAX_LANES = 64;

export function kdfLimits(seconds = DEFAULT_KDF_SECONDS): KdfLimits {
  return { memoryBytes: availableMemory(), seconds };
}

/** What could be had without swapping, a container's limit included. */
export function availableMemory(): number {
  return Math.min(freemem(), process.availableMemory());
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

function size(bytes: number): string {
  if (bytes < MIB) return `${bytes / 1024} KiB`;
  if (bytes < GIB) return `${Math.round(bytes / MIB)} MiB`;
  return `${(bytes / GIB).toFixed(bytes < 100 * GIB ? 1 : 0)} GiB`;
}

/** cryptsetup makes no keyslot that takes more. */
export const MAX_MEMORY_KIB = 4 * 1024 * 1024;

/** OpenSSL counts them in an int. */
const MAX_ROUNDS = 2 ** 31 - 1;

const tooDear = (what: string): HwcryptError => new HwcryptError('KDF_TOO_DEAR', what);

/** What can be refused by its numbers alone. @throws KDF_TOO_DEAR */
export function checkArgon2(kdf: Argon2Kdf, limits: KdfLimits, whose: string): void {
  const { memoryKiB, threads } = kdf;
  const memoryBytes = memoryKiB * 1024;
  if (memoryKiB > MAX_MEMORY_KIB) {
    throw tooDear(
      `${whose} needs ${size(memoryBytes)} of memory for ${kdf.type}, and 4 GiB is the most that is taken`,
    );
  }
  if (memoryBytes > limits.memoryBytes) {
    throw tooDear(
      `${whose} needs ${size(memoryBytes)} of memory for ${kdf.type}, and ${size(limits.memoryBytes)} are available`,
    );
  }
  if (threads > MAX_LANES)
    throw tooDear(`${whose} asks for ${threads} threads, at most ${MAX_LANES} are taken`);
}

/** @param whose `keyslot 0`, for messages @throws KDF_TOO_DEAR, KDF_FAILED, LUKS_UNSUPPORTED */
export async function deriveKey(
  kdf: KeyslotKdf,
  passphrase: Uint8Array,
  keyBytes: number,
  limits: KdfLimits,
  whose: string,
): Promise<Buffer> {
  if (kdf.type === 'pbkdf2') {
    return derivePbkdf2(kdf.hash, kdf.iterations, kdf.salt, passphrase, keyBytes, limits, whose);
  }
  checkArgon2(kdf, limits, whose);
  const { memoryKiB, threads, iterations } = kdf;
  const { name, derive } = argon2();
  // No machine does it faster; then how fast is this one?
  if ((iterations * memoryKiB * 1024) / FASTEST_ARGON2 > limits.seconds / PATIENCE) {
    checkTime(await argon2Seconds(kdf), limits, whose);
  }
  if (name === 'hash-wasm' && passphrase.length === 0) {
    throw new HwcryptError('KDF_FAILED', 'argon2: an empty passphrase needs libargon2');
  }
  return (await derive(kdf.type, passphrase, kdf.salt, { iterations, memoryKiB, threads }, keyBytes)).key;
}

/** Bytes of memory passed over in a second, and rounds of a hash: more than any machine there is. */
const FASTEST_ARGON2 = 2e10;
const FASTEST_PBKDF2 = 2e8;
/** Only where the most optimistic estimate comes so near the limit is it worth to measure. */
const PATIENCE = 100;
const SAMPLE_KIB = 16 * 1024;
const SAMPLES = 3;
const SAMPLE_ROUNDS = 1000;

/** What a keyslot takes on this machine, by a sample of some milliseconds. @throws KDF_FAILED, LUKS_UNSUPPORTED */
export async function kdfSeconds(kdf: KeyslotKdf, keyBytes: number): Promise<number> {
  return kdf.type === 'pbkdf2' ? pbkdf2Seconds(kdf.hash, kdf.iterations, keyBytes) : argon2Seconds(kdf);
}

type Argon2Kdf = Exclude<KeyslotKdf, { type: 'pbkdf2' }>;

/** With little of the memory, which is quicker for its size: an estimate from below. */
async function argon2Seconds({ type, iterations, memoryKiB, threads, salt }: Argon2Kdf): Promise<number> {
  const sampleKiB = Math.max(8 * threads, Math.min(memoryKiB, SAMPLE_KIB));
  const cost = { iterations: 1, memoryKiB: sampleKiB, threads };
  const { derive, threaded } = argon2();
  const seconds = await sampled(() => derive(type, Buffer.from('sample'), salt, cost, 32));
  const atOnce = threaded ? Math.min(threads, availableParallelism()) : 1;
  return (iterations * memoryKiB * seconds) / sampleKiB / atOnce;
}

async function pbkdf2Seconds(hashName: string, iterations: number, keyBytes: number): Promise<number> {
  const hash = requireDiskHash(hashName);
  const name = hash.names.openssl ?? hash.name;
  // Hashes of the legacy provider are not quicker than this one.
  const known = pbkdf2By(name) === 'node' ? name : 'sha512';
  const seconds = await sampled(() => pbkdf2Sync('sample', 'salt of it', SAMPLE_ROUNDS, 1, known));
  return ((iterations * Math.ceil(keyBytes / hash.digestBytes)) / SAMPLE_ROUNDS) * seconds;
}

/** CPU time, since what else this machine does now is no part of what the header asks for; of several the least. */
async function sampled(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < SAMPLES; i++) {
    const start = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, user + system);
  }
  return least / 1e6;
}

/** @throws KDF_TOO_DEAR, KDF_FAILED, LUKS_UNSUPPORTED */
export async function derivePbkdf2(
  hashName: string,
  iterations: number,
  salt: Uint8Array,
  passphrase: Uint8Array,
  keyBytes: number,
  limits: KdfLimits,
  whose: string,
): Promise<Buffer> {
  const hash = requireDiskHash(hashName);
  const name = hash.names.openssl ?? hash.name;
  await checkPbkdf2(hashName, iterations, keyBytes, limits, whose);
  return pbkdf2(name, passphrase, salt, iterations, keyBytes);
}

/** Before anything is derived. @throws KDF_TOO_DEAR, LUKS_UNSUPPORTED */
export async function checkPbkdf2(
  hashName: string,
  iterations: number,
  keyBytes: number,
  limits: KdfLimits,
  whose: string,
): Promise<void> {
  const rounds = iterations * Math.ceil(keyBytes / requireDiskHash(hashName).digestBytes);
  if (rounds / FASTEST_PBKDF2 > limits.seconds / PATIENCE) {
    checkTime(await pbkdf2Seconds(hashName, iterations, keyBytes), limits, whose);
  }
  if (iterations > MAX_ROUNDS) {
    throw tooDear(
      `${whose} takes ${iterations} rounds of PBKDF2, and ${MAX_ROUNDS} are the most that can be done`,
    );
  }
}

function checkTime(seconds: number, limits: KdfLimits, whose: string): void {
  if (seconds <= limits.seconds) return;
  throw tooDear(
    `${whose} would take about ${Math.ceil(seconds)} s to open here, and ${limits.seconds} s are the limit (--kdf-seconds)`,
  );
}
