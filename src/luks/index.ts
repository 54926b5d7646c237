/**
 * Room `luks`: encrypted disk images (LUKS1, LUKS2) read and written without the kernel's device-mapper: headers, keyslots, payload.
 *
 * May import: `routing`, `drivers`, `kdf`, `files`, `linux`, `algorithms`, `errors`. It knows devices, keys and formats; it prints nothing and
 * reads no command line.
 */
export { Device } from './device.js';
export type { LuksHeader } from './header/model.js';
export { readHeader, type Source } from './header/read.js';
export { type KdfLimits, kdfLimits } from './keyslot/kdf.js';
export { type Unlocked, type UnlockOptions, unlock } from './keyslot/unlock.js';
