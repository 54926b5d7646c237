/**
 * Room `planning`: which cipher, key and sector a machine's disk should be encrypted with, how fast that would be, and the commands of
 * cryptsetup for it. Nothing is run.
 *
 * May import: the rooms below, `doctor` for facts out of texts and `luks` for headers among them. It gives data, with sentences in it; `report` and `cli`
 * put them on a terminal.
 *
 * `lines.ts` has the ciphers that are compared, `figures.ts` what was measured of them, `choice.ts` whom dm-crypt would take, `predict.ts` what that comes to at
 * a sector size, `rows.ts` has all of that in rows, `contradictions.ts` tells where several texts are not of one machine, `disk.ts` what the disk is, `recommend.ts` decides, `commands.ts` says it in cryptsetup's words, `plan.ts` puts it together.
 */

export type { Caveat } from './caveats.js';
export type { KernelChoice } from './choice.js';
export type { Step } from './commands.js';
export { contradictions } from './contradictions.js';
export { type CurrentVolume, currentOf, type DiskFacts, type FileSystem } from './disk.js';
export { type Figure, figuresOf, profileFigures } from './figures.js';
export { isWeak } from './lines.js';
export { measureHere } from './measure.js';
export { makePlan, PLAN_FORMAT, PLAN_VERSION, type Plan, type PlanRequest } from './plan.js';
export type { Certainty, Prediction } from './predict.js';
export { placeOf, quotesOf, type Row, rateOf } from './rows.js';
export { PLAN_SCHEMA } from './schema.js';
