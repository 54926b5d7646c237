/**
 * hwcrypt: what `import … from 'hwcrypt'` gives.
 *
 * The node:crypto-shaped API, the drivers for those who want to talk to one directly, the table of algorithms, and the errors.
 */
export * from './api/index.js';
export type {
  AeadSession,
  CipherSession,
  DigestSession,
  Direction,
  Driver,
  DriverName,
  Implementation,
  Probe,
  Support,
} from './drivers/driver.js';
export * from './errors.js';
export type { Fallback, PassedOver, Route } from './routing/router.js';
