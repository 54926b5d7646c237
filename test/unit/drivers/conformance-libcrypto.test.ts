/** libcrypto against the contract, in full: it is the one that the others are held against. */
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { driverSuite } from '../../helpers/conformance.js';

driverSuite(getDriver('libcrypto'), { oracle: allDrivers() });
