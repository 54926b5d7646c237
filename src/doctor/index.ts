/**
 * Room `doctor`: what is wrong, how sure that is, and what to do. Facts, from this machine or from texts that came off another
 * one, go through rules and become findings.
 *
 * May import: the rooms below `report`. It gives data; words for a page or a terminal are put together in `report` and `cli`.
 */
export { probeScript } from './probe.js';
