/**
 * The ioctls of /dev/mapper/control: layouts, and the handful of commands that a temporary mapping takes.
 *
 * Encoders and decoders are pure. Results below 0 are negated errnos, as in libc.ts. libdevmapper is not needed, nor is udev: the
 * kernel itself makes /dev/dm-N in devtmpfs.
 *
 * Source: linux/dm-ioctl.h, drivers/md/dm-ioctl.c.
 */
import { closeSync, openSync, statSync } from 'node:fs';

import { hostAbi } from './abi.js';
import { ERRNO } from './errno.js';
import { address } from './ffi.js';
import { ioctl } from './libc.js';

export const DM_CONTROL = '/dev/mapper/control';

/** struct dm_ioctl, which begins every request. */
export const DM_HEADER_BYTES = 312;
const NAME_BYTES = 128;
const UUID_BYTES = 129;
const NAME_AT = 48;
const UUID_AT = NAME_AT + NAME_BYTES;
/** struct dm_target_spec, before each target's parameters. */
const TARGET_BYTES = 40;
const TARGET_TYPE_BYTES = 16;

export const DM_COMMAND = {
  VERSION: 0,
  LIST_DEVICES: 2,
  DEV_CREATE: 3,
  DEV_REMOVE: 4,
  DEV_SUSPEND: 6,
  DEV_STATUS: 7,
  TABLE_LOAD: 9,
  LIST_VERSIONS: 13,
} as const;

export const DM_FLAG = {
  BUFFER_FULL: 1 << 8,
  /** The kernel wipes its copies of the request: there is a key in it. */
  SECURE_DATA: 1 << 15,
  /** With DEV_REMOVE of an open device (Linux 3.13): goes when its last user closes it. */
  DEFERRED_REMOVE: 1 << 17,
} as const;

/**
 * What `event_nr` carries to udev's rules where its lower half is 0: do not look into this device, make no links to it
 * (DM_UDEV_DISABLE_…_RULES_FLAG of libdevmapper.h). A rule that opens the device would keep it from being removed.
 */
const UDEV_LEAVE_ALONE = 0x000f << 16;

/** `_IOWR(0xfd, command, struct dm_ioctl)`: the same number on every architecture, those with other direction bits too. */
export function dmRequest(command: number): number {
  return 0xc0000000 + DM_HEADER_BYTES * 0x10000 + 0xfd00 + command;
}

const LITTLE = hostAbi().littleEndian;

export interface DmRequest {
  readonly name?: string;
  readonly uuid?: string;
  readonly flags?: number;
  readonly targets?: number;
  /** What follows the header. */
  readonly payload?: Uint8Array;
  /** Room for the answer; at least the request's own length. */
  readonly bytes?: number;
}

/** @throws RangeError for a name that does not fit */
export function encodeDm(request: DmRequest, little = LITTLE): Uint8Array {
  const { name = '', uuid = '', flags = 0, targets = 0, payload } = request;
  // Not longer by a byte: the kernel wants the terminating zero inside.
  if (name.length >= NAME_BYTES || uuid.length >= UUID_BYTES || /[^\x21-\x7e]/.test(name + uuid)) {
    throw new RangeError(`no name of a mapping: ${name} ${uuid}`);
  }
  const length = Math.max(DM_HEADER_BYTES + (payload?.length ?? 0), request.bytes ?? 0);
  const out = new Uint8Array(length);
  const view = new DataView(out.buffer);
  // 4.0.0: whatever the kernel's minor version, it is not older than that.
  view.setUint32(0, 4, little);
  view.setUint32(12, length, little);
  view.setUint32(16, DM_HEADER_BYTES, little);
  view.setUint32(20, targets, little);
  view.setUint32(28, flags, little);
  view.setUint32(32, UDEV_LEAVE_ALONE, little);
  out.set(Buffer.from(name, 'latin1'), NAME_AT);
  out.set(Buffer.from(uuid, 'latin1'), UUID_AT);
  if (payload) out.set(payload, DM_HEADER_BYTES);
  return out;
}

/** A block device's numbers, as the kernel writes them in text: `253:0`. */
export interface DeviceNumber {
  readonly major: number;
  readonly minor: number;
}

/** The kernel's and the C library's encoding agree for majors below 4096, which all are. */
export function decodeDevice(dev: number): DeviceNumber {
  const low = dev % 0x1_0000_0000;
  return {
    major: Math.floor(low / 256) & 0xfff,
    minor: (low & 0xff) | (Math.floor(low / 0x1000) & 0xfff00),
  };
}

export interface DmDevice {
  readonly name: string;
  readonly uuid: string;
  readonly device: DeviceNumber;
  readonly openCount: number;
  readonly flags: number;
}

export function decodeDm(bytes: Uint8Array, little = LITTLE): DmDevice {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    name: text(bytes, NAME_AT, NAME_BYTES),
    uuid: text(bytes, UUID_AT, UUID_BYTES),
    device: decodeDevice(Number(view.getBigUint64(40, little))),
    openCount: view.getInt32(24, little),
    flags: view.getUint32(28, little),
  };
}

/** The names in the answer to LIST_DEVICES or LIST_VERSIONS: records that each say where the next one begins. */
function decodeRecords(bytes: Uint8Array, nameAt: number, nextAt: number, little: boolean): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const starts: number[] = [];
  let at = view.getUint32(16, little);
  while (at >= DM_HEADER_BYTES && at + nameAt < bytes.length) {
    starts.push(at);
    const next = view.getUint32(at + nextAt, little);
    if (next === 0) break;
    at += next;
  }
  return starts;
}

/** struct dm_name_list: device number, offset of the next, name. Without any device there is one record of zeros. */
export function decodeNames(bytes: Uint8Array, little = LITTLE): string[] {
  return decodeRecords(bytes, 12, 8, little)
    .map((at) => text(bytes, at + 12, NAME_BYTES))
    .filter((name) => name !== '');
}

/** struct dm_target_versions: offset of the next, three numbers, name. */
export function decodeVersions(bytes: Uint8Array, little = LITTLE): Map<string, readonly number[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return new Map(
    decodeRecords(bytes, 16, 0, little).map((at) => [
      text(bytes, at + 16, TARGET_TYPE_BYTES),
      [4, 8, 12].map((offset) => view.getUint32(at + offset, little)),
    ]),
  );
}

/**
 * The payload of TABLE_LOAD for one target. `parameters` is bytes, not a string, since a key is in it: whoever made them
 * can wipe them, and wipes what is returned here too.
 */
export function encodeTarget(
  type: string,
  sectors: number,
  parameters: Uint8Array,
  little = LITTLE,
): Uint8Array {
  const bytes = (TARGET_BYTES + parameters.length + 1 + 7) & ~7;
  const out = new Uint8Array(bytes);
  const view = new DataView(out.buffer);
  view.setBigUint64(8, BigInt(sectors), little);
  view.setUint32(20, bytes, little);
  out.set(Buffer.from(type, 'latin1'), 24);
  out.set(parameters, TARGET_BYTES);
  return out;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end)).toString('latin1');
}

/** The control device, open. */
export class DeviceMapper {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** @throws NodeJS.ErrnoException ENOENT without device-mapper, EACCES without root */
  static open(path = DM_CONTROL): DeviceMapper {
    return new DeviceMapper(openSync(path, 'r+'));
  }

  #command(command: number, bytes: Uint8Array): number {
    // Held by this frame until the call is over.
    return ioctl(this.#fd, dmRequest(command), address(bytes));
  }

  /** A mapping without a table. */
  create(name: string, uuid: string): DmDevice | number {
    const bytes = encodeDm({ name, uuid });
    const status = this.#command(DM_COMMAND.DEV_CREATE, bytes);
    return status < 0 ? status : decodeDm(bytes);
  }

  /** Gives a mapping its table and makes it live. */
  load(name: string, type: string, sectors: number, parameters: Uint8Array): number {
    const payload = encodeTarget(type, sectors, parameters);
    const bytes = encodeDm({ name, flags: DM_FLAG.SECURE_DATA, targets: 1, payload });
    try {
      const status = this.#command(DM_COMMAND.TABLE_LOAD, bytes);
      // A suspend without its flag is a resume.
      return status < 0 ? status : this.#command(DM_COMMAND.DEV_SUSPEND, encodeDm({ name }));
    } finally {
      bytes.fill(0);
      payload.fill(0);
    }
  }

  /** -EBUSY where somebody has it open, unless `deferred`: then it goes when the last one closes it. */
  remove(name: string, deferred = false): number {
    const flags = deferred ? DM_FLAG.DEFERRED_REMOVE : 0;
    return this.#command(DM_COMMAND.DEV_REMOVE, encodeDm({ name, flags }));
  }

  /** -ENXIO where there is none. */
  status(name: string): DmDevice | number {
    const bytes = encodeDm({ name });
    const status = this.#command(DM_COMMAND.DEV_STATUS, bytes);
    return status < 0 ? status : decodeDm(bytes);
  }

  names(): string[] {
    return this.#list(DM_COMMAND.LIST_DEVICES, (bytes) => decodeNames(bytes));
  }

  /** Kinds of targets that are loaded, with their versions. */
  targets(): Map<string, readonly number[]> {
    return this.#list(DM_COMMAND.LIST_VERSIONS, (bytes) => decodeVersions(bytes));
  }

  #list<T>(command: number, decode: (bytes: Uint8Array) => T): T {
    for (let room = 16 * 1024; ; room *= 4) {
      const bytes = encodeDm({ bytes: room });
      const status = this.#command(command, bytes);
      if (status < 0 || room > 16 * 1024 * 1024) return decode(encodeDm({}));
      const { flags } = decodeDm(bytes);
      if ((flags & DM_FLAG.BUFFER_FULL) === 0) return decode(bytes);
    }
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Is this path the block device of that number, and not another one that took its name? */
export function isDevice(path: string, { major, minor }: DeviceNumber): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isBlockDevice()) return false;
  const found = decodeDevice(stat.rdev);
  return found.major === major && found.minor === minor;
}

/** Errors after which trying again a moment later helps: somebody looks into the device, or takes the loop device first. */
export const isBusy = (status: number): boolean => status === -ERRNO.EBUSY;
