/**
 * Room `luks`: encrypted disk images (LUKS1, LUKS2) read and written without the kernel's device-mapper: headers, keyslots, payload.
 *
 * May import: `bench` (what takes a given time), `routing`, `drivers`, `kdf`, `files`, `linux`, `algorithms`, `errors`. It knows devices, keys and formats; it prints nothing and
 * reads no command line. What is exported here is what programs get as `hwcrypt/luks`.
 */
export type { Luks2Header } from './change/commit.js';
export { type FormatOptions, format } from './change/format.js';
export { addKey, changeable, changeKey, removeKey, withKey } from './change/keys.js';
export type { NewKeyslot } from './change/material.js';
export { Device, type Disk } from './device.js';
export type { Digest, Keyslot, LuksHeader, Segment, Token } from './header/model.js';
export { readHeader, type Source } from './header/read.js';
export { type Inspection, type InspectOptions, inspect, type Judgement, ratesOf } from './inspect.js';
export { costOf, type KdfCost, type KdfWish } from './keyslot/cost.js';
export { type KdfLimits, kdfLimits } from './keyslot/kdf.js';
export { type Unlocked, type UnlockOptions, unlock } from './keyslot/unlock.js';
export type { Served } from './nbd/connection.js';
export { listen, type NbdServer } from './nbd/server.js';
export { type OpenOptions, Volume } from './volume.js';
