/**
 * Every driver that this machine has, against the contract. Those of the kernel are tested in the guests; one with a file of its own
 * (`conformance-….test.ts`) is tested there, at the same time as these.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allDrivers } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED_LENGTHS, type SuiteOptions } from '../../helpers/conformance.js';

/**
 * `node` is node:crypto in other clothes: what its own code can get wrong shows at a tenth of the lengths. A driver
 * that finds nothing here (AF_ALG on a kernel without it) is skipped.
 */
const LESS: Record<string, SuiteOptions> = {
  node: { lengths: SAMPLED_LENGTHS, budget: { largestBytes: 1 << 20, rounds: 4, vectors: 2000 } },
};

for (const driver of allDrivers()) {
  if (existsSync(fileURLToPath(new URL(`conformance-${driver.name}.test.js`, import.meta.url)))) continue;
  driverSuite(driver, { oracle: allDrivers(), ...LESS[driver.name] });
}
