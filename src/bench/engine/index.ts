/** Measuring on this machine, as one import. */
export { clockCostNs, type Instruments } from './clock.js';
export {
  type Absence,
  AEAD_AAD_BYTES,
  AEAD_SIZES,
  CHUNK_SIZES,
  contestant,
  countPoints,
  HMAC_CHUNK_SIZES,
  lacks,
  presentContestants,
  requirePresent,
  SPEED_SIZES,
  secondsWithin,
} from './contestants.js';
export { machineFacts } from './machine.js';
export {
  type Contestant,
  type Detail,
  type Hooks,
  measure,
  NOISY_SPREAD,
  type Plan,
  type PlannedSubject,
  type Point,
  pointSeconds,
  type Surroundings,
} from './measure.js';
export type { Round } from './runner.js';
export { median, quantile, spread } from './statistics.js';
export { makeWorkload, type Subject, takes, type Workload } from './workload.js';
