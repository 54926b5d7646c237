/** Who takes part, at which sizes, and how long each may take, when nobody says. */
import type { Algorithm } from '../../algorithms.js';
import { allDrivers, getDriver, optionsOf, parseDriver } from '../../drivers/registry.js';
import { describeReason, type Reason, UnavailableError } from '../../errors.js';
import { type Contestant, type PlannedSubject, pointSeconds } from './measure.js';
import { takes } from './workload.js';

/** openssl speed's request sizes, in bytes, since 1.1.0. */
export const SPEED_SIZES: readonly number[] = [16, 64, 256, 1024, 8192, 16384];
/** Its sizes with -aead, and the bytes of additional data that go with each: a TLS record's header. */
export const AEAD_SIZES: readonly number[] = [2, 31, 136, 1024, 8192, 16384];
export const AEAD_AAD_BYTES = 13;
/** Chunk sizes of QEMU's benchmarks: ciphers and hashes, and HMACs. */
export const CHUNK_SIZES: readonly number[] = [512, 1024, 4096, 16384, 65536];
export const HMAC_CHUNK_SIZES: readonly number[] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

/**
 * `afalg`, `afalg:virtio_crypto_aes_cbc` → who that is.
 * @throws TypeError ERR_INVALID_ARG_VALUE for a name that no driver has
 */
export function contestant(label: string): Contestant {
  return { ...parseDriver(label), label };
}

export interface Absence {
  readonly driver: string;
  readonly reason: Reason;
}

/** Every driver that is there, libcrypto first, and why the others are not. */
export function presentContestants(): {
  readonly contestants: readonly Contestant[];
  readonly absent: readonly Absence[];
} {
  const contestants: Contestant[] = [];
  const absent: Absence[] = [];
  for (const driver of allDrivers()) {
    const probe = driver.probe();
    if (probe.available) contestants.push({ driver, label: driver.name });
    else absent.push({ driver: driver.name, reason: probe.reason });
  }
  return { contestants, absent };
}

/** @throws UnavailableError where a driver is not there, or has no such kernel driver for any of the algorithms. */
export function requirePresent(contestants: readonly Contestant[], wanted: readonly Algorithm[]): void {
  for (const one of contestants) {
    const { driver, label } = one;
    const probe = getDriver(driver.name).probe();
    if (!probe.available) {
      throw new UnavailableError('DRIVER_UNAVAILABLE', driver.name, label, probe.reason);
    }
    const lacking = wanted.map((algorithm) => lacks(one, algorithm));
    const reason = lacking[0];
    if (reason !== undefined && lacking.every((own) => own !== undefined)) {
      const what = `${label}: ${wanted.map(({ name }) => name).join(', ')}`;
      throw new UnavailableError('ALGORITHM_UNAVAILABLE', driver.name, what, reason, describeReason(reason));
    }
  }
}

/** Why somebody cannot do an algorithm here; undefined where it can. */
export function lacks(contestant: Contestant, algorithm: Algorithm): Reason | undefined {
  const support = contestant.driver.supports(algorithm, optionsOf(contestant));
  return support.supported ? undefined : support.reason;
}

/** How many figures a plan comes to. */
export function countPoints(
  subjects: readonly PlannedSubject[],
  contestants: readonly Contestant[],
  sizes: readonly number[],
): number {
  return subjects.reduce((sum, { algorithm, sizes: own = sizes }) => {
    const able = contestants.filter((one) => lacks(one, algorithm) === undefined).length;
    return sum + able * own.filter((bytes) => takes(algorithm, bytes)).length;
  }, 0);
}

const STEPS = [3, 2, 1, 0.5, 0.2, 0.1, 0.05];

/** The longest usual time a figure with which all of them, warm-up included, take no more than so many seconds. */
export function secondsWithin(budgetSeconds: number, points: number): number {
  return STEPS.find((seconds) => points * pointSeconds(seconds) <= budgetSeconds) ?? STEPS.at(-1)!;
}
