/**
 * The file behind a profile: where it lies, and reading and replacing it whole.
 *
 * Unlike a command's output this is written by programs of others too, in passing: so it is done in one go, without a signal handler in
 * their process and without a promise that their exit could cut off.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

import { HwcryptError } from '../errors.js';
import { printable, systemMessage } from '../files/io.js';
import { ERRNO, ffiUnavailable, libc } from '../linux/index.js';

const MOST_BYTES = 16 * 2 ** 20;
const LOCK_MS = 500;
const LOCK_STEP_MS = 5;

/**
 * HWCRYPT_PROFILE, or `hwcrypt/profile.json` in XDG_STATE_HOME, whose default is `~/.local/state`; the XDG base directory specification
 * demands that a relative XDG_STATE_HOME is ignored. Undefined where HWCRYPT_PROFILE is empty, which means none, and where there is no
 * home folder.
 */
export function profilePath(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const { HWCRYPT_PROFILE: named, XDG_STATE_HOME: state } = env;
  if (named !== undefined) return named === '' ? undefined : path.resolve(named);
  if (state !== undefined && path.isAbsolute(state)) return path.join(state, 'hwcrypt', 'profile.json');
  const home = env['HOME'] ?? homeOfUser();
  if (home === undefined || !path.isAbsolute(home)) return undefined;
  return path.join(home, '.local', 'state', 'hwcrypt', 'profile.json');
}

function homeOfUser(): string | undefined {
  try {
    return homedir();
  } catch {
    // A user without an entry in the passwd database.
    return undefined;
  }
}

/** Undefined where there is no such file. @throws HwcryptError INPUT_FILE where it cannot be read or is no file of a sensible size. */
export function readProfileFile(file: string): string | undefined {
  let fd: number;
  try {
    // Not to wait for the other end of a fifo.
    fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw cannot('INPUT_FILE', 'read', file, error);
  }
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw new HwcryptError('INPUT_FILE', `${printable(file)} is no regular file`);
    if (stat.size > MOST_BYTES) {
      throw new HwcryptError('INPUT_FILE', `${printable(file)} is larger than ${MOST_BYTES / 2 ** 20} MiB`);
    }
    return fs.readFileSync(fd, 'utf8');
  } catch (error) {
    if (error instanceof HwcryptError) throw error;
    throw cannot('INPUT_FILE', 'read', file, error);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Replaces the file by what `change` makes of it: under a temporary name, flushed, renamed. While another process does the same, this one
 * waits for it for half a second at most: then its change may get lost, and nothing worse.
 *
 * @throws HwcryptError OUTPUT_FILE
 */
export function replaceProfileFile(file: string, change: () => string): void {
  let real: string;
  try {
    real = fs.existsSync(file) ? fs.realpathSync(file) : file;
    fs.mkdirSync(path.dirname(real), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw cannot('OUTPUT_FILE', 'write', file, error);
  }
  const release = lock(path.dirname(real));
  try {
    const text = change();
    try {
      writeWhole(real, text);
    } catch (error) {
      throw cannot('OUTPUT_FILE', 'write', file, error);
    }
  } finally {
    release();
  }
}

function writeWhole(real: string, text: string): void {
  const temporary = `${real}.${randomBytes(6).toString('hex')}.tmp`;
  const fd = fs.openSync(temporary, 'wx', 0o600);
  try {
    try {
      fs.writeFileSync(fd, text);
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, real);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** A lock on the folder ends with whoever holds it, so none is left behind. Where there is no locking, none is needed badly enough. */
function lock(folder: string): () => void {
  if (ffiUnavailable()) return () => {};
  let fd: number;
  try {
    fd = fs.openSync(folder, fs.constants.O_RDONLY);
  } catch {
    return () => {};
  }
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waited = 0; waited < LOCK_MS; waited += LOCK_STEP_MS) {
    if (libc.flock(fd, libc.LOCK_EX | libc.LOCK_NB) !== -ERRNO.EAGAIN) break;
    Atomics.wait(pause, 0, 0, LOCK_STEP_MS);
  }
  return () => fs.closeSync(fd);
}

function cannot(
  code: 'INPUT_FILE' | 'OUTPUT_FILE',
  what: string,
  file: string,
  error: unknown,
): HwcryptError {
  return new HwcryptError(code, `cannot ${what} ${printable(file)}: ${systemMessage(error)}`, {
    cause: error,
  });
}
