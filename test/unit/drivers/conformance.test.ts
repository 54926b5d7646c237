/** Every driver that this machine has, against the contract. Those of the kernel are tested in the guests. */
import { allDrivers } from '#src/drivers/registry.js';
import { driverSuite } from '../../helpers/conformance.js';

for (const driver of allDrivers()) driverSuite(driver, { oracle: allDrivers() });
