/** Random numbers of a test: every failure names its seed, and HWCRYPT_TEST_SEED brings it back. */
import { SeededRandom } from '#src/routing/trust/random.js';

/** The seed of this run: HWCRYPT_TEST_SEED (a number, or `random`), or always the same one. */
export const SEED: number = seedOf(process.env['HWCRYPT_TEST_SEED']);

function seedOf(given: string | undefined): number {
  if (given === undefined || given === '') return 1;
  if (given === 'random') return Math.floor(Math.random() * 2 ** 32);
  const seed = Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`HWCRYPT_TEST_SEED=${given} is no number`);
  return seed >>> 0;
}

/** Under a label of its own, a test does not depend on the order of the tests. */
export class Random extends SeededRandom {
  constructor(label: string, seed: number = SEED) {
    super(label, seed);
  }
}
