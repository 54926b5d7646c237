/** Measuring an encrypted disk itself: dm-crypt over memory, with direct I/O. */
export { type BoundDriver, boundDriver, type PassedOver, passedOver } from './bound.js';
export { cleanLeftovers, type Leftovers, liveLeftovers, ownerLabel } from './leftovers.js';
export { openDisk, type TemporaryDisk } from './mapping.js';
export {
  type DiskHooks,
  type DiskPlan,
  type DiskPoint,
  type DiskResult,
  type DiskRow,
  diskProblem,
  measureDisk,
} from './measure.js';
export { type DiskCipher, parseDiskCipher } from './specification.js';
