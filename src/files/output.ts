/**
 * Output files that appear whole or not at all.
 *
 * A regular file is written under a temporary name in the same folder, flushed to the disk, and renamed over the target at
 * the end; whatever goes wrong before (an error, Ctrl-C, kill -9, a full disk) leaves the target as it was. Anything else
 * (standard output, a fifo, /dev/null) cannot be renamed and is written straight through.
 *
 * Room `files`.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { HwcryptError } from '../errors.js';
import { onInterrupt } from './interrupt.js';
import {
  descriptorOf,
  type Input,
  identityOf,
  nameProblem,
  printable,
  systemMessage,
  writeAll,
} from './io.js';

export interface Output {
  /** For messages: the path, or `standard output`. */
  readonly name: string;
  /** Open for writing (an atomic one for reading too), for those who write at places of their own choice or in other threads. */
  readonly fd: number;
  /** Bytes written so far by `write`. */
  readonly written: number;
  /** Is nothing to be seen of the output before `commit`? */
  readonly atomic: boolean;
  write(views: readonly Uint8Array[]): Promise<void>;
  /** Everything was written: make it appear. */
  commit(): Promise<void>;
  /** Leave nothing behind. May be called after `commit`, then it does nothing. */
  abort(): void;
}

export interface OutputOptions {
  /** Plaintext or keys: a new file is readable for its owner alone. */
  readonly secret: boolean;
  /** What is being read, to notice that it is the same file. */
  readonly input?: Input;
  /** Other files that are read, by path: a passphrase file, what is hashed. They shall not be lost either. */
  readonly alsoRead?: readonly string[];
}

/**
 * Opens for writing.
 *
 * @param target a path, or undefined or `-` for standard output.
 * @throws HwcryptError OUTPUT_FILE
 */
export function openOutput(target: string | undefined, options: OutputOptions): Output {
  const found = examine(target, options);
  if (found.kind === 'descriptor') return new Descriptor(found.fd, found.name, false);
  if (found.kind === 'file') return new AtomicFile(target as string, found.real, found.existing, options);
  try {
    return new Descriptor(fs.openSync(found.real, 'w'), printable(found.real), true);
  } catch (error) {
    throw cannotOpen(target as string, error);
  }
}

/**
 * Finds out what can be found out without opening, for those who would rather know before they type a passphrase.
 *
 * @throws HwcryptError OUTPUT_FILE
 */
export function checkOutput(target: string | undefined, options: OutputOptions): void {
  const found = examine(target, options);
  if (found.kind !== 'file') return;
  try {
    fs.accessSync(path.dirname(found.real), fs.constants.W_OK | fs.constants.X_OK);
  } catch (error) {
    throw cannotCreate(target as string, path.dirname(found.real), error);
  }
}

type Target =
  | { readonly kind: 'descriptor'; readonly fd: number; readonly name: string }
  | { readonly kind: 'file'; readonly real: string; readonly existing: fs.Stats | undefined }
  | { readonly kind: 'special'; readonly real: string };

function examine(target: string | undefined, { input, alsoRead = [] }: OutputOptions): Target {
  const std = target === undefined || target === '-';
  const fd = std ? 1 : descriptorOf(target);
  if (fd !== undefined) {
    const name = std ? 'standard output' : printable(target);
    let stat: fs.Stats;
    try {
      stat = fs.fstatSync(fd);
    } catch (error) {
      throw cannotOpen(name, error);
    }
    if (input?.regular && stat.isFile() && input.identity === identityOf(stat)) refuseSameFile(name, input);
    return { kind: 'descriptor', fd, name };
  }
  const file = target as string;
  checkName(file, file);
  const real = followLinks(file);
  const existing = statOf(real, file);
  if (existing?.isDirectory()) {
    throw new HwcryptError('OUTPUT_FILE', `cannot write ${printable(file)}: it is a directory`);
  }
  if (existing && !existing.isFile()) return { kind: 'special', real };
  if (existing) {
    if (input?.identity === identityOf(existing)) refuseSameFile(file, input);
    for (const other of alsoRead) {
      const stat = fs.statSync(other, { throwIfNoEntry: false });
      if (stat && identityOf(stat) === identityOf(existing)) {
        throw new HwcryptError(
          'OUTPUT_FILE',
          `${printable(file)} is read as well${other === file ? '' : `, as ${printable(other)}`}: write to another file`,
        );
      }
    }
    // A rename asks for no permission on the file that it replaces; somebody who took it away from themselves meant it.
    try {
      fs.accessSync(real, fs.constants.W_OK);
    } catch (error) {
      throw cannotOpen(file, error);
    }
  }
  return { kind: 'file', real, existing };
}

function refuseSameFile(target: string, input: Input): never {
  throw new HwcryptError(
    'OUTPUT_FILE',
    `${printable(target)} is the input file${input.name === printable(target) ? ' too' : ` ${input.name}`}: ` +
      'write to another file and rename it',
  );
}

function cannotOpen(target: string, error: unknown): HwcryptError {
  return new HwcryptError(
    'OUTPUT_FILE',
    `cannot open ${printable(target)} for writing: ${systemMessage(error)}`,
    { cause: error },
  );
}

/** A file in the folder cannot be created: because there is no such folder, or because it is not ours to write in. */
function cannotCreate(target: string, folder: string, error: unknown): HwcryptError {
  if (!fs.existsSync(folder)) return cannotOpen(target, error);
  return new HwcryptError(
    'OUTPUT_FILE',
    `cannot create a temporary file beside ${printable(target)}: ${systemMessage(error)}`,
    { cause: error },
  );
}

function cannotWrite(name: string, error: unknown): HwcryptError {
  return new HwcryptError('OUTPUT_FILE', `cannot write ${name}: ${systemMessage(error)}`, { cause: error });
}

/** Renaming over a symbolic link would replace the link; what it leads to is meant, even if that is not there yet. */
function followLinks(target: string): string {
  let at = target;
  for (let i = 0; i < 40; i++) {
    let next: string;
    try {
      next = fs.readlinkSync(at);
    } catch {
      return at;
    }
    // Not made absolute: the folder we are in may have a name that Node cannot tell.
    at = path.isAbsolute(next) ? next : path.join(path.dirname(at), next);
    checkName(at, target);
  }
  throw new HwcryptError(
    'OUTPUT_FILE',
    `cannot open ${printable(target)} for writing: too many symbolic links`,
  );
}

function checkName(name: string, target: string): void {
  const problem = nameProblem(name);
  if (problem === undefined) return;
  throw new HwcryptError('OUTPUT_FILE', `cannot open ${printable(target)} for writing: ${problem}`);
}

function statOf(real: string, target: string): fs.Stats | undefined {
  try {
    return fs.statSync(real);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw cannotOpen(target, error);
  }
}

class AtomicFile implements Output {
  readonly name: string;
  readonly atomic = true;
  written = 0;
  readonly fd: number;
  readonly #target: string;
  readonly #temporary: string;
  readonly #forget: () => void;
  #open = true;
  /** Renamed or removed: there is no temporary file any more. */
  #settled = false;

  constructor(target: string, real: string, existing: fs.Stats | undefined, options: OutputOptions) {
    this.name = printable(target);
    this.#target = real;
    const folder = path.dirname(real);
    // A name has 255 bytes at most, and a character up to four.
    const stem = [...path.basename(real)].slice(0, 50).join('');
    this.#temporary = path.join(folder, `.${stem}.${randomBytes(6).toString('hex')}.tmp`);
    // Before there is anything to remove: a signal that comes in between would be the end of the process at once.
    this.#forget = onInterrupt(() => this.#remove());
    try {
      // Private while it is incomplete, whatever it is going to be.
      this.fd = fs.openSync(this.#temporary, 'wx+', existing || options.secret ? 0o600 : 0o666);
    } catch (error) {
      this.#forget();
      throw cannotCreate(target, folder, error);
    }
    if (existing) this.#inherit(existing, options.secret);
  }

  /**
   * A file that is replaced keeps its owner and its permissions, as it would if it were overwritten: they were given to
   * it on purpose. Where the owner cannot be kept, permissions meant for another group are not handed to ours.
   */
  #inherit(existing: fs.Stats, secret: boolean): void {
    const own = fs.fstatSync(this.fd);
    let mode = existing.mode & 0o777;
    if (own.uid !== existing.uid || own.gid !== existing.gid) {
      try {
        fs.fchownSync(this.fd, existing.uid, existing.gid);
      } catch {
        mode = secret ? 0o600 : mode & 0o700;
      }
    }
    try {
      fs.fchmodSync(this.fd, mode);
    } catch {
      // A file system without permissions.
    }
  }

  async write(views: readonly Uint8Array[]): Promise<void> {
    try {
      await writeAll(this.fd, views);
    } catch (error) {
      throw cannotWrite(this.name, error);
    }
    for (const view of views) this.written += view.length;
  }

  async commit(): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        fs.fsync(this.fd, (error) => {
          // EINVAL: a file system that has nothing to flush.
          if (error && error.code !== 'EINVAL') reject(error);
          else resolve();
        });
      });
      this.#close();
      fs.renameSync(this.#temporary, this.#target);
      this.#settled = true;
    } catch (error) {
      this.abort();
      throw cannotWrite(this.name, error);
    }
    this.#forget();
  }

  abort(): void {
    this.#remove();
    this.#forget();
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    fs.closeSync(this.fd);
  }

  #remove(): void {
    if (this.#settled) return;
    this.#settled = true;
    try {
      this.#close();
    } catch {
      // It is going to be removed.
    }
    try {
      fs.unlinkSync(this.#temporary);
    } catch {
      // Somebody else has done it.
    }
  }
}

class Descriptor implements Output {
  readonly name: string;
  readonly atomic = false;
  written = 0;
  readonly fd: number;
  readonly #owned: boolean;
  #open = true;

  constructor(fd: number, name: string, owned: boolean) {
    this.fd = fd;
    this.name = name;
    this.#owned = owned;
  }

  async write(views: readonly Uint8Array[]): Promise<void> {
    try {
      await writeAll(this.fd, views);
    } catch (error) {
      throw cannotWrite(this.name, error);
    }
    for (const view of views) this.written += view.length;
  }

  async commit(): Promise<void> {
    this.abort();
  }

  abort(): void {
    if (!this.#open || !this.#owned) return;
    this.#open = false;
    try {
      fs.closeSync(this.fd);
    } catch (error) {
      throw cannotWrite(this.name, error);
    }
  }
}
