/**
 * Room `bench`: what a measurement is, how one is taken, and how two are compared. This file is what `import … from 'hwcrypt/bench'` gives.
 *
 * May import: `drivers`, `kdf`, `linux`, `algorithms`, `schema`, `errors`. The result model (`model.ts`) imports `schema` and nothing else: `interop`
 * reads other tools' texts into it, `report` shows it, and neither should load a driver for that.
 */
export {
  type CompareOptions,
  type Crossover,
  compare,
  compareKdfs,
  crossover,
  type Fit,
  fitLine,
  type KdfComparison,
  type Pair,
  type RatioAt,
  type Series,
  type SubjectComparison,
} from './comparison/index.js';
export {
  type DiskCipher,
  type DiskHooks,
  type DiskPlan,
  type DiskResult,
  type DiskRow,
  diskProblem,
  measureDisk,
  parseDiskCipher,
} from './disk/index.js';
export {
  type Contestant,
  contestant,
  type Detail,
  type Hooks,
  measure,
  type Plan,
  type PlannedSubject,
  type Point,
  presentContestants,
  SPEED_SIZES,
  secondsWithin,
} from './engine/index.js';
export { type Argon2Target, argon2Limits, measureArgon2, measurePbkdf2 } from './kdf.js';
export * from './model.js';
