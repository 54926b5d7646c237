/** Measuring on this machine, as one import. */
export { clockCostNs } from './clock.js';
export { machineFacts } from './machine.js';
export { type Contestant, type Hooks, measure, NOISY_SPREAD, type Plan, type Point } from './measure.js';
export { median, quantile, spread } from './statistics.js';
export { makeWorkload, type Subject, takes, type Workload } from './workload.js';
