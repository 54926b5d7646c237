/** The accelerator of this guest is trusted, by its own name: the check before first use, and requests drawn at random. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findAlgorithm } from '#src/algorithms.js';
import { allDrivers } from '#src/drivers/registry.js';
import { selftest } from '#src/routing/selftest.js';
import { checkImplementation } from '#src/routing/trust/index.js';
import { hasVirtioCrypto } from '../helpers/afalg.js';
import { SEED } from '../helpers/random.js';

const driver = allDrivers().find(({ name }) => name === 'afalg')!;
const choice = { driver, kernelDriver: 'virtio_crypto_aes_cbc' };
const algorithm = findAlgorithm('aes-128-cbc')!;

describe('virtio_crypto', { skip: !hasVirtioCrypto() && 'there is no virtio_crypto' }, () => {
  test('is trusted', () => {
    const verdict = checkImplementation(algorithm, choice);
    assert.equal(verdict.trusted, true, JSON.stringify(verdict));
  });

  test('is right in requests drawn at random', async () => {
    const found = await selftest({
      algorithms: [algorithm],
      drivers: [choice],
      seconds: 600,
      trials: 8,
      seed: SEED,
    });
    assert.deepEqual(found.failures, []);
    assert.equal(found.tried[0]?.kernelDriver, 'virtio_crypto_aes_cbc');
    assert.equal(found.tried[0]?.trials, 8);
  });
});
