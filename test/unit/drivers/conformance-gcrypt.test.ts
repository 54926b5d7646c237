/**
 * libgcrypt, against the contract. There are 170 algorithms: many lengths for those that have code of their own for several blocks at
 * once, with the CPU's instructions, at one key length each, and for one hash of each construction. The others share the code around
 * the cipher with these, and show what is theirs at few. All of them passed at every length when the driver was written; HWCRYPT_TEST_FULL=1 tries the first kind so again.
 */
import type { Algorithm } from '#src/algorithms.js';
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED_LENGTHS } from '../../helpers/conformance.js';

const HASHES = ['sha256', 'sha512', 'sha3-256', 'shake128', 'blake2s256', 'hmac-sha256', 'cmac-aes-128'];

const BULK = ['aes', 'camellia', 'serpent', 'twofish', 'chacha20'];

/** Of ciphers with the key length that takes the most rounds, or their only one. */
function closely(algorithm: Algorithm): boolean {
  if (algorithm.kind === 'hash' || algorithm.kind === 'mac') return HASHES.includes(algorithm.name);
  if (!BULK.includes(algorithm.family)) return false;
  const bits = /-(\d{3})-/.exec(algorithm.name)?.[1];
  // A byte at a time, by the same code whatever the cipher.
  if (algorithm.mode === 'cfb8') return algorithm.name === 'aes-256-cfb8';
  return bits === undefined || bits === '256';
}

const oracle = allDrivers();
const gcrypt = getDriver('gcrypt');
driverSuite(gcrypt, { oracle, budget: { rounds: 2 }, only: closely, label: 'gcrypt, many lengths' });
driverSuite(gcrypt, {
  oracle,
  lengths: SAMPLED_LENGTHS,
  budget: { largestBytes: 1 << 20, rounds: 2 },
  only: (algorithm) => !closely(algorithm),
  label: 'gcrypt, few lengths',
});
