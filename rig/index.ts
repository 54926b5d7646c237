/**
 * Guest kernels for the tests, as an API; `npm run rig` is the same for people.
 *
 * Room `rig`: imports node: modules and itself only, but for `cryptodev`, which makes native calls through src/linux/ffi.ts. scripts/run.mjs installs what it needs.
 */
export { runInGuest, status, unavailable } from './guest.js';
export { projectFolder } from './paths.js';
export { shellCommand, shellQuote } from './quote.js';
export { type Interruption, interruption } from './signals.js';
export type { GuestKind, GuestOptions, GuestOutcome, GuestResult } from './types.js';
export { RigUnavailableError } from './types.js';
