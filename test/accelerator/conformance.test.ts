/** The accelerator, bound by name, against the contract: right answers from a device, not only fast ones. */
import { test } from 'node:test';
import { getDriver } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED, SAMPLED_LENGTHS } from '../helpers/conformance.js';

const kernelDriver = 'virtio_crypto_aes_cbc';
const afalg = getDriver('afalg');

if (afalg.probe().available) {
  driverSuite(afalg, {
    kernelDriver,
    label: `afalg:${kernelDriver}`,
    // CTR too, which it does not have and must not claim.
    only: ({ name }) => /^aes-\d+-(cbc|ctr)$/.test(name),
    lengths: SAMPLED_LENGTHS,
    budget: { ...SAMPLED, largestBytes: 1 << 20 },
  });
} else test('the accelerator', { skip: 'not in a guest with AF_ALG' }, () => {});
