/**
 * A character device in user space: the CUSE protocol over /dev/cuse, one request at a time, on the calling thread.
 *
 * An ioctl is answered in one round. The protocol's own way to a caller's memory (RETRY with a list of pieces) takes three and ends at
 * 32 pages; ../memory.ts reads and writes there by itself.
 *
 * Source: linux/fuse.h, fs/fuse/cuse.c, fs/fuse/ioctl.c.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';

import { E } from './errno.js';

export const CUSE_DEVICE = '/dev/cuse';

const OPCODE = {
  OPEN: 14,
  READ: 15,
  WRITE: 16,
  RELEASE: 18,
  INTERRUPT: 36,
  IOCTL: 39,
  POLL: 40,
  CUSE_INIT: 4096,
};
/** The kernel reads no shorter buffer than 8 KiB, and wants room for the longest write that was agreed on. */
const BUFFER_BYTES = 64 * 1024;
const MAX_TRANSFER_BYTES = 4096;
const UNRESTRICTED_IOCTL = 1;

/** fuse_in_header: len, opcode, unique u64, nodeid u64, uid, gid, pid, padding. */
const IN_HEADER_BYTES = 40;
/** fuse_out_header: len, error, unique u64. */
const OUT_HEADER_BYTES = 16;
const POLLOUT = 0x4;
const POLLWRNORM = 0x100;

export interface Ioctl {
  /** One open file; forked processes share it. */
  readonly file: number;
  /** The thread that waits for the answer. */
  readonly pid: number;
  readonly command: number;
  readonly argument: bigint;
}

export interface CuseDevice {
  open(file: number): void;
  release(file: number): void;
  /** What ioctl(2) is to return; an error is the negated errno. */
  ioctl(request: Ioctl): number;
}

/** Serves until the kernel ends the connection. Throws where there is no CUSE, or another device has the name. */
export function serveCuse(name: string, device: CuseDevice): void {
  const fd = openSync(CUSE_DEVICE, 'r+');
  try {
    new Connection(fd, name, device).run();
  } finally {
    closeSync(fd);
  }
}

class Connection {
  readonly #fd: number;
  readonly #name: string;
  readonly #device: CuseDevice;
  readonly #in = Buffer.alloc(BUFFER_BYTES);
  readonly #out = Buffer.alloc(BUFFER_BYTES);
  #nextFile = 1;

  constructor(fd: number, name: string, device: CuseDevice) {
    this.#fd = fd;
    this.#name = name;
    this.#device = device;
  }

  run(): void {
    while (this.#read()) this.#handle();
  }

  #read(): boolean {
    for (;;) {
      try {
        return readSync(this.#fd, this.#in, 0, BUFFER_BYTES, null) >= IN_HEADER_BYTES;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENODEV') return false;
        // ENOENT: the caller was killed before its request was read.
        if (code !== 'EINTR' && code !== 'ENOENT' && code !== 'EAGAIN') throw error;
      }
    }
  }

  #handle(): void {
    const at = IN_HEADER_BYTES;
    switch (this.#in.readUInt32LE(4)) {
      case OPCODE.CUSE_INIT:
        this.#init();
        break;
      case OPCODE.OPEN: {
        const file = this.#nextFile++;
        this.#device.open(file);
        this.#out.fill(0, OUT_HEADER_BYTES, OUT_HEADER_BYTES + 16);
        this.#out.writeBigUInt64LE(BigInt(file), OUT_HEADER_BYTES);
        this.#reply(16);
        break;
      }
      case OPCODE.RELEASE:
        this.#device.release(Number(this.#in.readBigUInt64LE(at)));
        this.#reply(0);
        break;
      case OPCODE.IOCTL: {
        const result = this.#device.ioctl({
          file: Number(this.#in.readBigUInt64LE(at)),
          pid: this.#in.readUInt32LE(32),
          command: this.#in.readUInt32LE(at + 12),
          argument: this.#in.readBigUInt64LE(at + 16),
        });
        this.#out.fill(0, OUT_HEADER_BYTES, OUT_HEADER_BYTES + 16);
        this.#out.writeInt32LE(result, OUT_HEADER_BYTES);
        this.#reply(16);
        break;
      }
      case OPCODE.POLL:
        // There is always room for another request, and never one that is done: asynchronous requests are not compiled in.
        this.#out.writeUInt32LE(POLLOUT | POLLWRNORM, OUT_HEADER_BYTES);
        this.#out.writeUInt32LE(0, OUT_HEADER_BYTES + 4);
        this.#reply(8);
        break;
      case OPCODE.READ:
      case OPCODE.WRITE:
        this.#reply(0, E.EINVAL);
        break;
      default:
        // So that the kernel never asks again, and a caller that gets a signal waits until its request is done, as it does in the module.
        this.#reply(0, E.ENOSYS);
    }
  }

  #init(): void {
    const at = OUT_HEADER_BYTES;
    const fixed = 72;
    this.#out.fill(0, at, at + fixed);
    for (const [index, value] of [
      7,
      31,
      0,
      UNRESTRICTED_IOCTL,
      MAX_TRANSFER_BYTES,
      MAX_TRANSFER_BYTES,
    ].entries()) {
      this.#out.writeUInt32LE(value, at + 4 * index);
    }
    const length = this.#out.write(`DEVNAME=${this.#name}\0`, at + fixed, 'latin1');
    this.#reply(fixed + length);
  }

  #reply(bytes: number, errno = 0): void {
    this.#out.writeUInt32LE(OUT_HEADER_BYTES + bytes, 0);
    this.#out.writeInt32LE(-errno, 4);
    this.#in.copy(this.#out, 8, 8, 16);
    try {
      writeSync(this.#fd, this.#out, 0, OUT_HEADER_BYTES + bytes);
    } catch (error) {
      // ENOENT: whoever asked has been killed, or the request takes no answer.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
