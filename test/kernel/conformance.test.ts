/** The kernel's drivers against the contract, on a real kernel. A system call is dear there: lengths are sampled. */
import { test } from 'node:test';
import { allDrivers } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED, SAMPLED_LENGTHS } from '../helpers/conformance.js';

const kernel = allDrivers().filter(({ name }) => name === 'afalg' || name === 'cryptodev');
const available = kernel.filter((driver) => driver.probe().available);

test('there is a kernel driver to test', { skip: available.length === 0 && 'not in a guest' }, () => {});
for (const driver of available) {
  driverSuite(driver, { oracle: allDrivers(), lengths: SAMPLED_LENGTHS, budget: SAMPLED });
}
