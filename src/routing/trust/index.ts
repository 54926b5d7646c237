/**
 * Trust, a part of room `routing`: is what an implementation computes right? `check.ts` decides before its first use, the fuzz of
 * `selftest.ts` looks for what that misses. May import what its room may.
 */
export { type CheckOptions, checkImplementation, type Verdict } from './check.js';
export { bytesOf, type Failure, type FailureMessage } from './failure.js';
