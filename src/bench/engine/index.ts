/** Measuring on this machine, as one import. */
export { clockCostNs, type Instruments } from './clock.js';
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
export { median, quantile, spread } from './statistics.js';
export { makeWorkload, type Subject, takes, type Workload } from './workload.js';
