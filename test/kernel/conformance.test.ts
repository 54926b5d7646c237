/** The kernel's drivers against the contract, on a real kernel. A system call is dear there: lengths are sampled. */
import { test } from 'node:test';
import type { Algorithm } from '#src/algorithms.js';
import { allDrivers } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED, SAMPLED_LENGTHS } from '../helpers/conformance.js';

const kernel = allDrivers().filter(({ name }) => name === 'afalg' || name === 'cryptodev');
const available = kernel.filter((driver) => driver.probe().available);

test('there is a kernel driver to test', { skip: available.length === 0 && 'not in a guest' }, () => {});
/** To a driver another key length of a cipher is the same cipher: all of AES, of others the longest. */
const only = ({ name }: Algorithm) => !/^(cmac-)?(camellia|serpent|twofish|aria)-(128|192)/.test(name);

for (const driver of available) {
  driverSuite(driver, { oracle: allDrivers(), lengths: SAMPLED_LENGTHS, budget: SAMPLED, only });
}
