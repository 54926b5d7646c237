/**
 * Room `drivers`: the ways of getting crypto done, behind one contract (`driver.ts`). May import `linux`, `algorithms`, `errors`.
 *
 * `libcrypto/ afalg/ cryptodev/ gcrypt/ nettle/ node/` are the drivers, `registry.ts` knows them all, `buffers.ts` and
 * `parameters.ts` check what goes into them, `session.ts` is what their sessions have in common.
 */
export * from './driver.js';
export { allDrivers, type DriverChoice, driverNames, getDriver, parseDriver } from './registry.js';
