/**
 * libcrypto against the contract: the one that the others are held against. Many lengths (with HWCRYPT_TEST_FULL=1: all) for each way through OpenSSL's code and ours: each mode
 * at the key length that takes the most rounds, both block lengths, the legacy provider, stream ciphers, one hash or MAC of each construction, and each
 * hash of its own. The others are these with another number of rounds or another cipher within, and show that at few.
 */
import type { Algorithm } from '#src/algorithms.js';
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED_LENGTHS } from '../../helpers/conformance.js';

const CLOSELY: ReadonlySet<string> = new Set([
  ...['ecb', 'cbc', 'ctr', 'cfb', 'cfb8', 'cfb1', 'ofb', 'xts', 'gcm', 'ccm', 'ocb'].map(
    (mode) => `aes-256-${mode}`,
  ),
  ...['des-ede3', 'des-ede3-cbc', 'des-ede3-cfb', 'des-ede3-ofb', 'cast5-cbc', 'bf-ofb', 'seed-cfb'],
  ...['camellia-256-cbc', 'camellia-256-ctr', 'aria-256-ctr', 'aria-256-gcm', 'sm4-ctr'],
  ...['rc4', 'chacha20', 'chacha20-poly1305'],
  ...[
    'md4',
    'md5',
    'md5-sha1',
    'sha1',
    'sha256',
    'sha512',
    'sha3-256',
    'shake128',
    'blake2b512',
    'blake2s256',
  ],
  ...['sm3', 'ripemd160', 'whirlpool', 'hmac-sha256', 'hmac-sha3-256', 'cmac-aes-256', 'cmac-des-ede3'],
]);

const closely = ({ name }: Algorithm): boolean => CLOSELY.has(name);

const oracle = allDrivers();
const libcrypto = getDriver('libcrypto');
driverSuite(libcrypto, {
  oracle,
  budget: { rounds: 2, vectors: 4000 },
  only: closely,
  label: 'libcrypto, many lengths',
});
driverSuite(libcrypto, {
  oracle,
  lengths: SAMPLED_LENGTHS,
  budget: { largestBytes: 1 << 18, rounds: 2, vectors: 1000 },
  only: (algorithm) => !closely(algorithm),
  label: 'libcrypto, few lengths',
});
