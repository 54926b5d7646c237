/**
 * The driver `nettle` against the contract: at many lengths (with HWCRYPT_TEST_FULL=1: all) for each way through its code, at few where only the cipher or hash differs
 * that nettle is told to use.
 */
import type { Algorithm } from '#src/algorithms.js';
import { nettle } from '#src/drivers/nettle/index.js';
import { allDrivers } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED_LENGTHS } from '../../helpers/conformance.js';

/**
 * Each mode, both block lengths (8 and 16 bytes), ciphers with and without a description of nettle's, each kind of hash and MAC;
 * and serpent and twofish, which are what the driver is there for.
 */
const CLOSELY: ReadonlySet<string> = new Set([
  ...['ecb', 'cbc', 'ctr', 'cfb', 'cfb8', 'xts', 'gcm', 'ccm', 'ocb'].map((mode) => `aes-128-${mode}`),
  ...['des-ede3-cbc', 'cast5-ctr', 'bf-cfb', 'serpent-256-xts', 'twofish-256-ctr', 'camellia-256-cbc'],
  ...['rc4', 'chacha20', 'chacha20-poly1305', 'sha256', 'sha3-256', 'shake256'],
  ...['hmac-sha512', 'cmac-aes-128', 'cmac-des-ede3'],
]);

const closely = ({ name }: Algorithm): boolean => CLOSELY.has(name);

driverSuite(nettle, {
  oracle: allDrivers(),
  only: closely,
  label: 'nettle, many lengths',
  budget: { rounds: 2, vectors: 400 },
});
driverSuite(nettle, {
  oracle: allDrivers(),
  only: (algorithm) => !closely(algorithm),
  label: 'nettle, few lengths',
  lengths: SAMPLED_LENGTHS,
  budget: { largestBytes: 200_000, rounds: 2, vectors: 50 },
});
