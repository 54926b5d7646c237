/** Reads and writes that go past the page cache (O_DIRECT): the device itself is what answers. */
import { constants, openSync } from 'node:fs';

import { address } from './ffi.js';

/** O_DIRECT wants memory that begins at a multiple of the device's block, which is 4096 bytes at most. */
const ALIGNMENT = 4096;

/** Zeros at an aligned address. */
export function alignedBuffer(bytes: number): Buffer {
  const room = Buffer.from(new ArrayBuffer(bytes + ALIGNMENT));
  const skip = (ALIGNMENT - (address(room) % ALIGNMENT)) % ALIGNMENT;
  return room.subarray(skip, skip + bytes);
}

/** Opens a block device for direct I/O. O_EXCL refuses one that is mounted or part of something else. */
export function openDirect(path: string, exclusive = true): number {
  const { O_RDWR, O_DIRECT, O_EXCL } = constants;
  return openSync(path, O_RDWR | (O_DIRECT ?? 0) | (exclusive ? O_EXCL : 0));
}
