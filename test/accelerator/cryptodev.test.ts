/**
 * The driver `cryptodev` against the contract on the second kernel, over a served device, or the module's where that is loaded. Fewer lengths yet than in
 * test/kernel: the processor is emulated. One algorithm for each way through the driver that meets the kernel's memory.
 */
import { existsSync } from 'node:fs';
import { after } from 'node:test';
import type { Algorithm } from '#src/algorithms.js';
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { serve } from '../../rig/cryptodev/index.js';
import { driverSuite, SAMPLED } from '../helpers/conformance.js';

const provider = existsSync('/dev/crypto') ? undefined : await serve();
const driver = getDriver('cryptodev');
driver.reprobe();

after(async () => {
  await provider?.stop();
  driver.reprobe();
});

driverSuite(driver, {
  oracle: allDrivers(),
  // Blocks, stolen bytes, pages.
  lengths: [0, 1, 15, 16, 17, 33, 1024, 4080, 4096, 4097, 8193],
  budget: { ...SAMPLED, largestBytes: 1_200_000, rounds: 1 },
  only: ({ name }: Algorithm) => /^(?:aes-128-(?:cbc|xts|gcm)|sha256)$/.test(name),
});
