/**
 * An image or a block device, read and written at any place, with errors that name it.
 *
 * Room `luks`.
 */
import fs from 'node:fs';

import { HwcryptError } from '../errors.js';
import { nameProblem, printable, systemMessage } from '../files/io.js';
import { blockDevice } from '../linux/block-device.js';
import { lockExclusively, lockShared, unlock } from '../linux/flock.js';
import type { Source } from './header/read.js';

const UNKNOWN_SECTOR = 512;

const { O_RDONLY, O_RDWR, O_EXCL } = fs.constants;
/** To Linux O_EXCL without O_CREAT means a block device that nobody else claims; to a file it means nothing. */
const ACCESS = { read: O_RDONLY, write: O_RDWR, alone: O_RDWR | O_EXCL } as const;

/** What a header is read from and changed on. */
export interface Disk extends Source {
  writeAt(offset: number, bytes: Uint8Array): void;
  /** Returns when what was written is on the disk. */
  flush(): void;
  /** Runs `work` while nobody else who asks for the lock, cryptsetup among them, changes the header. @throws OUTPUT_FILE */
  locked<T>(work: () => Promise<T>): Promise<T>;
}

export class Device implements Disk {
  readonly path: string;
  readonly name: string;
  readonly fd: number;
  readonly bytes: number;
  readonly block: boolean;
  /** What a device says, or what a file lies on. */
  readonly logicalSectorBytes: number;
  readonly physicalSectorBytes: number;
  /** The device itself says so, whatever it was opened for. */
  readonly #readOnly: boolean;
  #open = true;

  private constructor(path: string, fd: number, stat: fs.Stats) {
    this.path = path;
    this.name = printable(path);
    this.fd = fd;
    this.block = stat.isBlockDevice();
    const told = this.block ? blockDevice(fd) : undefined;
    if (this.block && told === undefined) throw new Error('it does not tell its size');
    this.bytes = told?.bytes ?? stat.size;
    this.logicalSectorBytes = told?.logicalSectorBytes ?? UNKNOWN_SECTOR;
    this.physicalSectorBytes = told?.physicalSectorBytes ?? stat.blksize;
    this.#readOnly = told?.readOnly ?? false;
  }

  /**
   * @param access `alone`: to write to data, which on a device that is mounted or mapped is refused; a header may be changed there.
   * @throws HwcryptError INPUT_FILE, or OUTPUT_FILE where it is to be written
   */
  static open(path: string, access: 'read' | 'write' | 'alone' = 'read'): Device {
    const code = access === 'read' ? 'INPUT_FILE' : 'OUTPUT_FILE';
    const fail = (why: string, cause?: unknown): HwcryptError =>
      new HwcryptError(
        code,
        `cannot open ${printable(path)} for ${access === 'read' ? 'reading' : 'writing'}: ${why}`,
        { cause },
      );
    const problem = nameProblem(path);
    if (problem !== undefined) throw fail(problem);
    let fd: number;
    try {
      // A fifo would be waited for until somebody writes into it.
      fd = fs.openSync(path, ACCESS[access] | fs.constants.O_NONBLOCK);
    } catch (error) {
      const busy = access === 'alone' && (error as NodeJS.ErrnoException).code === 'EBUSY';
      throw fail(
        busy ? 'it is in use: mounted, mapped, or a part of something' : systemMessage(error),
        error,
      );
    }
    try {
      const stat = fs.fstatSync(fd);
      if (!stat.isFile() && !stat.isBlockDevice()) throw new Error('it is neither a file nor a block device');
      const device = new Device(path, fd, stat);
      if (access !== 'read' && device.#readOnly) throw new Error('it is read-only');
      return device;
    } catch (error) {
      fs.closeSync(fd);
      throw fail(systemMessage(error), error);
    }
  }

  /** What somebody else has opened, and closes. */
  static over(fd: number, path: string): Device {
    return new Device(path, fd, fs.fstatSync(fd));
  }

  /**
   * Until it is closed nobody else who asks for the lock writes to it, nor reads for long where it is `exclusive`.
   * @throws OUTPUT_FILE
   */
  lock(kind: 'shared' | 'exclusive'): void {
    const problem = kind === 'shared' ? lockShared(this.fd) : lockExclusively(this.fd);
    if (problem === undefined) return;
    const busy = problem === 'EAGAIN';
    // What has no locks can be read all the same.
    if (kind === 'shared' && !busy) return;
    const why = busy ? 'it is served or being changed by another process' : `it cannot be locked: ${problem}`;
    throw new HwcryptError(
      'OUTPUT_FILE',
      `cannot ${kind === 'shared' ? 'serve' : 'change'} ${this.name}: ${why}`,
    );
  }

  async locked<T>(work: () => Promise<T>): Promise<T> {
    this.lock('exclusive');
    try {
      return await work();
    } finally {
      unlock(this.fd);
    }
  }

  readAt(offset: number, bytes: number): Buffer {
    const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, this.bytes - offset)));
    return buffer.subarray(0, this.readInto(buffer, offset));
  }

  /** @returns how many bytes there were */
  readInto(buffer: Uint8Array, offset: number): number {
    let done = 0;
    try {
      while (done < buffer.length) {
        const some = fs.readSync(this.fd, buffer, done, buffer.length - done, offset + done);
        if (some === 0) break;
        done += some;
      }
    } catch (error) {
      throw new HwcryptError('INPUT_FILE', `cannot read ${this.name}: ${systemMessage(error)}`, {
        cause: error,
      });
    }
    return done;
  }

  writeAt(offset: number, bytes: Uint8Array): void {
    let done = 0;
    try {
      while (done < bytes.length) {
        done += fs.writeSync(this.fd, bytes, done, bytes.length - done, offset + done);
      }
    } catch (error) {
      throw this.#cannotWrite(error);
    }
  }

  flush(): void {
    try {
      fs.fdatasyncSync(this.fd);
    } catch (error) {
      throw this.#cannotWrite(error);
    }
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    fs.closeSync(this.fd);
  }

  #cannotWrite(error: unknown): HwcryptError {
    return new HwcryptError('OUTPUT_FILE', `cannot write ${this.name}: ${systemMessage(error)}`, {
      cause: error,
    });
  }
}
