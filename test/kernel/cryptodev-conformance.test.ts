/**
 * The driver `cryptodev` against the contract, over a served device, or the module's where that is loaded. Every length for the algorithms
 * that differ in their way through the driver (a chain, XTS with its stolen bytes, a stream mode, an AEAD, a hash, a MAC); fewer for others,
 * in which only a number in the request is another one.
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

/** Ways through the driver. CBC's is that of every mode with whole blocks. */
const EVERY_LENGTH = /^(?:aes-128-ctr|aes-256-xts|aes-128-gcm|sha256|hmac-sha1)$/;
/** Others that are not the same code with another number: chains of their own, nonces of their own, 8-byte blocks. */
const SOME =
  /^(?:aes-128-(?:ecb|cbc|cfb|ofb|ccm)|aes-192-cbc|des-ede3-cbc|bf-cbc|camellia-256-cbc|sha512|hmac-sha512)$/;

const oracle = allDrivers();
driverSuite(driver, {
  oracle,
  budget: { ...SAMPLED, largestBytes: 5 << 20 },
  only: ({ name }: Algorithm) => EVERY_LENGTH.test(name),
});
driverSuite(driver, {
  oracle,
  lengths: SAMPLED_LENGTHS,
  budget: SAMPLED,
  only: ({ name }: Algorithm) => SOME.test(name),
});
