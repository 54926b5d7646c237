/** node:crypto in other clothes, against the contract: what the driver's own code can get wrong shows at a tenth of the lengths. */
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { driverSuite, SAMPLED_LENGTHS } from '../../helpers/conformance.js';

driverSuite(getDriver('node'), {
  oracle: allDrivers(),
  lengths: SAMPLED_LENGTHS,
  budget: { largestBytes: 1 << 20, rounds: 4, vectors: 2000 },
});
