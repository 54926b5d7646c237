/**
 * A temporary dm-crypt mapping over memory, which is gone again whatever happens.
 *
 * The memory is anonymous, the loop device over it clears itself, and the mapping is marked for removal as soon as it
 * is open: so the kernel takes all of it away when this process ends, in whatever way. On the ordinary way out it is removed and waited for.
 *
 * Only devices that were made here are ever opened, and by their numbers, not their names.
 */
import { closeSync } from 'node:fs';

import {
  DeviceMapper,
  type DeviceNumber,
  type DmDevice,
  isBusy,
  isDevice,
} from '../../linux/device-mapper.js';
import { openDirect } from '../../linux/direct-io.js';
import { ERRNO, errnoName } from '../../linux/errno.js';
import { clearLoop, type LoopDevice, makeMemoryLoop, memoryLoops } from '../../linux/loop.js';
import { cleanLeftovers, liveLeftovers, ownerLabel, UUID_PREFIX } from './leftovers.js';
import type { DiskCipher } from './specification.js';

const SECTOR_BYTES = 512;
/** For udev to look into a new device and close it again, and for a workqueue of the kernel to come round. */
const PATIENCE_MS = 3000;

export interface Mapping {
  /** Open for direct I/O. */
  readonly fd: number;
  readonly name: string;
  close(): void;
}

export interface TemporaryDisk {
  readonly bytes: number;
  /** The memory without encryption, open for direct I/O: what is below the mapping. */
  readonly backingFd: number;
  /** What was removed of earlier runs that were killed. */
  readonly cleaned: readonly string[];
  /** Kinds of targets that the kernel has loaded, with their versions. */
  targets(): ReadonlyMap<string, readonly number[]>;
  /**
   * One mapping at a time.
   * @throws Error with the errno's name as `code`: ENOENT where the kernel lacks the cipher, EINVAL where dm-crypt is not there or does not know an option
   */
  map(cipher: DiskCipher, key: Uint8Array, sectorBytes: number): Mapping;
  /** May be called twice, and in a signal's handler. */
  close(): void;
}

const pause = new Int32Array(new SharedArrayBuffer(4));
const sleep = (ms: number): unknown => Atomics.wait(pause, 0, 0, ms);

function failure(what: string, status: number): Error {
  return Object.assign(new Error(`${what}: ${errnoName(status)}`), { code: errnoName(status) });
}

let counter = 0;

/**
 * Memory of that many bytes as a block device, after clearing away what killed runs left.
 * @throws Error with the errno's name as `code`
 */
export function openDisk(bytes: number): TemporaryDisk {
  const dm = DeviceMapper.open();
  let loop: LoopDevice | undefined;
  let current: Mapping | undefined;
  let backingFd = -1;
  const label = ownerLabel();
  const close = (): void => {
    const [mapping, memory] = [current, loop];
    current = undefined;
    loop = undefined;
    try {
      mapping?.close();
    } finally {
      if (memory !== undefined) {
        if (backingFd >= 0) closeSync(backingFd);
        closeSync(memory.fd);
        dropLoops(label);
        dm.close();
      }
    }
  };
  try {
    const cleaned = cleanLeftovers(liveLeftovers(dm));
    loop = makeMemoryLoop(label, bytes);
    // Not exclusively: the mapping will be a user beside us.
    backingFd = openDirect(loop.path, false);
    const { device } = loop;
    return {
      bytes,
      backingFd,
      cleaned,
      targets: () => dm.targets(),
      map(cipher, key, sectorBytes) {
        current?.close();
        current = makeMapping(dm, `${label}-${++counter}`, cipher, key, sectorBytes, device, bytes);
        return current;
      },
      close,
    };
  } catch (error) {
    if (loop === undefined) dm.close();
    close();
    throw error;
  }
}

function makeMapping(
  dm: DeviceMapper,
  name: string,
  cipher: DiskCipher,
  key: Uint8Array,
  sectorBytes: number,
  backing: DeviceNumber,
  bytes: number,
): Mapping {
  const made = dm.create(name, UUID_PREFIX + name);
  if (typeof made === 'number') throw failure('device-mapper: DM_DEV_CREATE', made);
  let fd = -1;
  const close = (): void => {
    if (fd >= 0) closeSync(fd);
    fd = -1;
    removeMapping(dm, name);
  };
  try {
    const parameters = tableLine(cipher, key, sectorBytes, backing);
    let status: number;
    try {
      status = dm.load(name, 'crypt', bytes / SECTOR_BYTES, parameters);
    } finally {
      parameters.fill(0);
    }
    if (status < 0) throw failure(`dm-crypt refuses ${cipher.specification}`, status);
    fd = openNode(made);
    // Now it goes with its last user. A kernel that does not know how says that it is busy; then `close` alone removes it.
    dm.remove(name, true);
    return { fd, name, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** `cipher key iv_offset device start [options]`, as bytes, since a string with a key in it cannot be wiped. */
export function tableLine(
  { specification }: DiskCipher,
  key: Uint8Array,
  sectorBytes: number,
  { major, minor }: DeviceNumber,
): Uint8Array {
  // Linux 4.12 knows the option.
  const options = sectorBytes === SECTOR_BYTES ? '' : ` 1 sector_size:${sectorBytes}`;
  const head = Buffer.from(`${specification} `, 'latin1');
  const tail = Buffer.from(` 0 ${major}:${minor} 0${options}`, 'latin1');
  const line = new Uint8Array(head.length + 2 * key.length + tail.length);
  line.set(head);
  const digit = (nibble: number): number => nibble + (nibble < 10 ? 0x30 : 0x57);
  let at = head.length;
  for (const byte of key) {
    line[at++] = digit(byte >> 4);
    line[at++] = digit(byte & 15);
  }
  line.set(tail, at);
  return line;
}

/** The kernel makes /dev/dm-N; on a system without devtmpfs a daemon does, in its own time. */
function openNode({ device, name }: DmDevice): number {
  for (const path of [`/dev/dm-${device.minor}`, `/dev/mapper/${name}`]) {
    for (let waited = 0; waited <= 500; waited += 20) {
      if (isDevice(path, device)) return openDirect(path);
      sleep(20);
    }
  }
  throw Object.assign(new Error(`no device node appeared for ${device.major}:${device.minor}`), {
    code: 'ENOENT',
  });
}

function removeMapping(dm: DeviceMapper, name: string): void {
  const gone = (status: number): boolean => status === 0 || status === -ERRNO.ENXIO;
  let status = dm.remove(name);
  for (let waited = 0; isBusy(status) && waited < PATIENCE_MS; waited += 10) {
    sleep(10);
    status = dm.remove(name);
  }
  if (gone(status)) return;
  // Whoever looks into it so long takes it with him.
  status = dm.remove(name, true);
  if (!gone(status)) throw failure(`the mapping ${name} cannot be removed (dmsetup remove ${name})`, status);
}

/** The loop device clears itself once the mapping's end has come through; if it does not, it is told to. */
function dropLoops(label: string): void {
  const own = (): string[] => memoryLoops().flatMap((found) => (found.label === label ? [found.path] : []));
  for (let waited = 0; waited < 1000 && own().length > 0; waited += 10) sleep(10);
  for (const path of own()) clearLoop(path);
}
