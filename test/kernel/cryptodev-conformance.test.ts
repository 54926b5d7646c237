/**
 * The driver `cryptodev` against the contract, over a served device, or the module's where that is loaded. Lengths are sampled: a request to a
 * served device costs some twenty system calls in a guest, and every length took more than ten minutes. One algorithm for each way through
 * the driver (a chain, XTS with its stolen bytes, a stream mode, either AEAD, a hash, a MAC); in the others only a number is another one.
 */
import { existsSync } from 'node:fs';
import { after } from 'node:test';
import type { Algorithm } from '#src/algorithms.js';
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { serve } from '../../rig/cryptodev/index.js';
import { driverSuite, SAMPLED, SAMPLED_LENGTHS } from '../helpers/conformance.js';

const provider = existsSync('/dev/crypto') ? undefined : await serve();
const driver = getDriver('cryptodev');
driver.reprobe();

after(async () => {
  await provider?.stop();
  driver.reprobe();
});

driverSuite(driver, {
  oracle: allDrivers(),
  lengths: SAMPLED_LENGTHS.filter((length) => length % 3 !== 1 || length > 40),
  budget: { ...SAMPLED, largestBytes: 1_200_000, rounds: 1 },
  only: ({ name }: Algorithm) =>
    /^(?:aes-128-(?:cbc|ctr|xts|gcm|ccm)|des-ede3-cbc|sha256|hmac-sha256)$/.test(name),
});
