/**
 * Room `bench`: what a measurement is, and how one is taken.
 *
 * May import: `api`, `routing`, `drivers`, `linux`, `algorithms`, `errors`. The result model (`model.ts`) imports nothing at all: `interop`
 * reads other tools' texts into it, `report` shows it, and neither should load a driver for that.
 */
export * from './model.js';
