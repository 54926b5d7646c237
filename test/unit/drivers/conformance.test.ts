/**
 * Every driver that has no file of its own (`conformance-….test.ts`, so that they are tested at the same time), against the contract. One
 * that finds nothing here (AF_ALG on a kernel without it) is skipped: those of the kernel are tested in the guests.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allDrivers } from '#src/drivers/registry.js';
import { driverSuite } from '../../helpers/conformance.js';

for (const driver of allDrivers()) {
  if (existsSync(fileURLToPath(new URL(`conformance-${driver.name}.test.js`, import.meta.url)))) continue;
  driverSuite(driver, { oracle: allDrivers() });
}
