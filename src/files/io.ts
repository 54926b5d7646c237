/**
 * Files and pipes as plain descriptors: opening with an error that names the cause, and reads and writes in libuv's
 * thread pool on memory that the caller owns. Node's streams are not used: they allocate every chunk anew.
 *
 * Room `files`.
 */
import fs from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { HwcryptError } from '../errors.js';

/** `No such file or directory`: the system's words for an error of a system call, without Node's decoration. */
export function systemMessage(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  const text = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  return text ?? message;
}

/** A descriptor by one of its names in the file system: /dev/stdin, /dev/fd/3, /proc/self/fd/3. */
export function descriptorOf(path: string): number | undefined {
  if (path === '/dev/stdin') return 0;
  if (path === '/dev/stdout') return 1;
  if (path === '/dev/stderr') return 2;
  const match = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path);
  return match ? Number(match[1]) : undefined;
}

/** Control characters in a name would garble a one-line message. */
export function printable(name: string): string {
  if (name === '') return '""';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return name.replace(/[\u0000-\u001f\u007f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** `1 byte`, `2 bytes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * Why a name cannot be that of a file here; undefined where it can. Node decodes the command line as UTF-8 and puts U+FFFD for
 * what is none, so such a name would lead to another file.
 */
export function nameProblem(path: string): string | undefined {
  if (path === '') return 'the file name is empty';
  if (!path.includes('\ufffd')) return undefined;
  return 'its name is not UTF-8, which Node cannot pass on (rename it, or use standard input and output)';
}

const RETRY_MS = 2;

/** Is a call of libuv's thread pool waiting for input? Then `process.exit()` would wait with it. */
let readsUnderWay = 0;
export function isReading(): boolean {
  return readsUnderWay > 0;
}

/** Reads what there is, at most `length` bytes, into `buffer` from `offset` on; 0 at the end. */
export function readSome(fd: number, buffer: Uint8Array, offset: number, length: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const attempt = (): void => {
      readsUnderWay++;
      fs.read(fd, buffer, offset, length, null, (error, bytes) => {
        readsUnderWay--;
        if (!error) resolve(bytes);
        // A pipe that somebody else has made non-blocking: wait rather than fail.
        else if (error.code === 'EAGAIN') setTimeout(attempt, RETRY_MS);
        else reject(error);
      });
    };
    attempt();
  });
}

/** Reads until `length` bytes are there or the input ends; returns how many there are. */
export async function readFull(
  fd: number,
  buffer: Uint8Array,
  offset: number,
  length: number,
): Promise<number> {
  let done = 0;
  while (done < length) {
    const bytes = await readSome(fd, buffer, offset + done, length - done);
    if (bytes === 0) break;
    done += bytes;
  }
  return done;
}

/** Writes all of `views`, in order, in as few calls as it takes. */
export function writeAll(fd: number, views: readonly Uint8Array[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest = views.filter((view) => view.length > 0);
    const attempt = (): void => {
      if (rest.length === 0) {
        resolve();
        return;
      }
      const after = (error: NodeJS.ErrnoException | null, written: number): void => {
        if (error) {
          if (error.code === 'EAGAIN') setTimeout(attempt, RETRY_MS);
          else reject(error);
          return;
        }
        rest = drop(rest, written);
        attempt();
      };
      const [first] = rest;
      if (rest.length === 1 && first) fs.write(fd, first, 0, first.length, null, after);
      else fs.writev(fd, rest, null, after);
    };
    attempt();
  });
}

function drop(views: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let left = bytes;
  const rest: Uint8Array[] = [];
  for (const view of views) {
    if (left >= view.length) left -= view.length;
    else {
      rest.push(left > 0 ? view.subarray(left) : view);
      left = 0;
    }
  }
  return rest;
}

/** Something to read from. */
export class Input {
  /** For messages: the path, or `standard input`. */
  readonly name: string;
  readonly fd: number;
  readonly regular: boolean;
  /** Can be looked at anywhere. An inherited descriptor cannot: nobody knows how far it was read before. */
  readonly seekable: boolean;
  readonly identity: string;
  readonly #owned: boolean;
  readonly #stat: fs.Stats;
  #closed = false;

  private constructor(name: string, fd: number, owned: boolean, stat: fs.Stats) {
    this.name = name;
    this.fd = fd;
    this.#owned = owned;
    this.#stat = stat;
    this.regular = stat.isFile();
    this.seekable = this.regular && owned;
    this.identity = identityOf(stat);
  }

  /**
   * @param path a file, or undefined or `-` for standard input.
   * @throws HwcryptError INPUT_FILE
   */
  static open(path: string | undefined): Input {
    const std = path === undefined || path === '-';
    const problem = std ? undefined : nameProblem(path);
    if (problem !== undefined) {
      throw new HwcryptError(
        'INPUT_FILE',
        `cannot open ${printable(path as string)} for reading: ${problem}`,
      );
    }
    const name = std ? 'standard input' : printable(path);
    const descriptor = std ? 0 : descriptorOf(path);
    let fd = descriptor;
    try {
      // A descriptor is used as it stands: opening /dev/stdin anew would start again at the file's first byte.
      if (fd === undefined) fd = fs.openSync(path as string, 'r');
      const stat = fs.fstatSync(fd);
      if (stat.isDirectory()) {
        throw new HwcryptError('INPUT_FILE', `cannot read ${name}: it is a directory`);
      }
      return new Input(name, fd, descriptor === undefined, stat);
    } catch (error) {
      if (fd !== undefined && descriptor === undefined) fs.closeSync(fd);
      if (error instanceof HwcryptError) throw error;
      throw new HwcryptError('INPUT_FILE', `cannot open ${name} for reading: ${systemMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** Size in bytes of a regular file, else undefined. */
  get size(): number | undefined {
    return this.regular ? this.#stat.size : undefined;
  }

  async read(buffer: Uint8Array, offset: number, length: number): Promise<number> {
    try {
      return await readSome(this.fd, buffer, offset, length);
    } catch (error) {
      throw this.#cannotRead(error);
    }
  }

  /** As `read`, at once: for a regular file only. */
  readNow(buffer: Uint8Array): number {
    try {
      return fs.readSync(this.fd, buffer, 0, buffer.length, null);
    } catch (error) {
      throw this.#cannotRead(error);
    }
  }

  async readFull(buffer: Uint8Array, offset: number, length: number): Promise<number> {
    try {
      return await readFull(this.fd, buffer, offset, length);
    } catch (error) {
      throw this.#cannotRead(error);
    }
  }

  /** A look at `length` bytes from `position` on without moving on; only where `seekable`. */
  peek(position: number, length: number): Buffer {
    const buffer = Buffer.alloc(length);
    let done = 0;
    try {
      while (done < length) {
        const bytes = fs.readSync(this.fd, buffer, done, length - done, position + done);
        if (bytes === 0) break;
        done += bytes;
      }
    } catch (error) {
      throw this.#cannotRead(error);
    }
    return buffer.subarray(0, done);
  }

  #cannotRead(error: unknown): HwcryptError {
    return new HwcryptError('INPUT_FILE', `cannot read ${this.name}: ${systemMessage(error)}`, {
      cause: error,
    });
  }

  close(): void {
    if (this.#closed || !this.#owned) return;
    this.#closed = true;
    try {
      fs.closeSync(this.fd);
    } catch {
      // It was only read.
    }
  }
}

/** Two paths lead to one file if this is equal, be it through links or not. */
export function identityOf(stat: fs.Stats): string {
  return `${stat.dev}:${stat.ino}`;
}
