/**
 * Loop devices over anonymous memory: layouts and the calls.
 *
 * A loop device that is set to clear itself is gone when its last user closes it, so that what a killed process leaves is
 * nothing at all, as soon as no mapping holds it.
 *
 * Source: linux/loop.h, drivers/block/loop.c, memfd_create(2).
 */
import { closeSync, ftruncateSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { hostAbi } from './abi.js';
import { type DeviceNumber, isDevice } from './device-mapper.js';
import { ERRNO, errnoName } from './errno.js';
import { address, errno, type NativeFunction, processLibrary } from './ffi.js';
import { ioctl } from './libc.js';
import { readText } from './proc.js';

export const LOOP_CONTROL = '/dev/loop-control';
const LOOP_MAJOR = 7;

const LOOP_SET_FD = 0x4c00;
const LOOP_CLR_FD = 0x4c01;
const LOOP_SET_STATUS64 = 0x4c04;
/** Linux 5.8: everything in one call. */
const LOOP_CONFIGURE = 0x4c0a;
const LOOP_CTL_GET_FREE = 0x4c82;

const LO_FLAGS_AUTOCLEAR = 4;

/** struct loop_info64 … */
export const LOOP_INFO_BYTES = 232;
const FLAGS_AT = 52;
const FILE_NAME_AT = 56;
const FILE_NAME_BYTES = 64;
/** … and struct loop_config, which it is a part of. */
export const LOOP_CONFIG_BYTES = 304;
const INFO_AT = 8;

const LITTLE = hostAbi().littleEndian;

export function encodeLoopInfo(label: string, little = LITTLE): Uint8Array {
  const bytes = new Uint8Array(LOOP_INFO_BYTES);
  new DataView(bytes.buffer).setUint32(FLAGS_AT, LO_FLAGS_AUTOCLEAR, little);
  bytes.set(Buffer.from(label, 'latin1').subarray(0, FILE_NAME_BYTES - 1), FILE_NAME_AT);
  return bytes;
}

export function encodeLoopConfig(fd: number, label: string, little = LITTLE): Uint8Array {
  const bytes = new Uint8Array(LOOP_CONFIG_BYTES);
  new DataView(bytes.buffer).setUint32(0, fd, little);
  bytes.set(encodeLoopInfo(label, little), INFO_AT);
  return bytes;
}

export interface LoopDevice {
  readonly path: string;
  readonly device: DeviceNumber;
  /** Open for as long as the device is wanted. */
  readonly fd: number;
}

const problem = (call: string, status: number): Error =>
  Object.assign(new Error(`${call}: ${errnoName(status)}`), { code: errnoName(status) });

/** Another program may take the free one first. */
const TRIES = 16;

/**
 * A loop device over `bytes` of new memory that no file system knows.
 * @param label what the memory is called in /sys/block/loopN/loop/backing_file
 * @throws Error with the errno's name as `code`
 */
export function makeMemoryLoop(label: string, bytes: number): LoopDevice {
  const memory = memfd(label);
  try {
    ftruncateSync(memory, bytes);
    const control = openSync(LOOP_CONTROL, 'r+');
    try {
      for (let attempt = 0; ; attempt++) {
        const number = ioctl(control, LOOP_CTL_GET_FREE, 0);
        if (number < 0) throw problem('LOOP_CTL_GET_FREE', number);
        const path = `/dev/loop${number}`;
        const fd = openSync(path, 'r+');
        const device = { major: LOOP_MAJOR, minor: number };
        const status = isDevice(path, device) ? attach(fd, memory, label) : -ERRNO.ENXIO;
        if (status >= 0) return { path, device, fd };
        closeSync(fd);
        if (status !== -ERRNO.EBUSY || attempt >= TRIES) throw problem(`${path}: LOOP_SET_FD`, status);
      }
    } finally {
      closeSync(control);
    }
  } finally {
    // The loop device holds it now.
    closeSync(memory);
  }
}

function attach(fd: number, memory: number, label: string): number {
  const config = encodeLoopConfig(memory, label);
  const status = ioctl(fd, LOOP_CONFIGURE, address(config));
  if (status !== -ERRNO.EINVAL && status !== -ERRNO.ENOTTY) return status;
  const set = ioctl(fd, LOOP_SET_FD, memory);
  if (set < 0) return set;
  const info = encodeLoopInfo(label);
  const told = ioctl(fd, LOOP_SET_STATUS64, address(info));
  if (told < 0) ioctl(fd, LOOP_CLR_FD, 0);
  return told;
}

let create: NativeFunction<number> | undefined;

function memfd(label: string): number {
  // By itself, since older C libraries lack it and must not lose the other calls for that.
  const { library } = processLibrary();
  if (!library?.has('memfd_create')) throw problem('memfd_create', -ERRNO.ENOSYS);
  create ??= library.func('int memfd_create(const char *name, unsigned int flags)');
  const MFD_CLOEXEC = 1;
  const fd = create(label, MFD_CLOEXEC);
  if (fd < 0) throw problem('memfd_create', -errno());
  return fd;
}

/** Loop devices over memory of such a name: their paths and the names. */
export function memoryLoops(root = '/'): { readonly path: string; readonly label: string }[] {
  let names: string[] = [];
  try {
    names = readdirSync(join(root, 'sys/block')).filter((name) => /^loop\d+$/.test(name));
  } catch {
    // Without /sys nobody can be found.
  }
  return names.flatMap((name) => {
    const file = readText(`/sys/block/${name}/loop/backing_file`, root)?.trim();
    const label = /^\/memfd:(\S+)(?: \(deleted\))?$/.exec(file ?? '')?.[1];
    return label === undefined ? [] : [{ path: `/dev/${name}`, label }];
  });
}

/** Takes the memory from a loop device; where somebody has it open, when that one closes it. */
export function clearLoop(path: string): number {
  const fd = openSync(path, 'r');
  try {
    return ioctl(fd, LOOP_CLR_FD, 0);
  } finally {
    closeSync(fd);
  }
}
