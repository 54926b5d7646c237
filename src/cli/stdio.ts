/**
 * Standard output and error, written synchronously and whole: what a command prints is there before it exits, and a reader
 * that went away is noticed at once.
 *
 * Room `cli`. Node's process.stdout is not used: on a pipe it is a stream with a buffer of its own, and it costs start-up
 * time.
 */
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { HwcryptError } from '../errors.js';
import { systemMessage } from '../files/io.js';

/** Nobody reads standard output any more. Not worth a word: whoever closed it knows. */
export class ClosedPipe extends Error {
  constructor() {
    super('standard output was closed');
    this.name = 'ClosedPipe';
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

function writeFully(fd: number, bytes: Uint8Array): void {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(fd, bytes, at, bytes.length - at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Somebody made the pipe non-blocking: wait until it is read.
      if (code === 'EAGAIN') Atomics.wait(pause, 0, 0, 2);
      else throw error;
    }
  }
}

/**
 * For text that people read, who may have seen enough of it.
 *
 * @throws ClosedPipe, or what the system says of a full disk
 */
export function writeText(text: string): void {
  write(text, () => new ClosedPipe());
}

/** For results that somebody works with: a closed pipe is an error as any other, in one line. */
export function writeResult(text: string): void {
  write(text);
}

function write(text: string, closed?: () => Error): void {
  try {
    writeFully(1, Buffer.from(text, 'utf8'));
  } catch (error) {
    if (closed && (error as NodeJS.ErrnoException).code === 'EPIPE') throw closed();
    throw new HwcryptError('OUTPUT_FILE', `cannot write standard output: ${systemMessage(error)}`, {
      cause: error,
    });
  }
}

/** A line on standard error; lost without complaint where there is none. */
export function writeError(line: string): void {
  writeErrorText(`${line}\n`);
}

/** The same for a part of a line, or several. */
export function writeErrorText(text: string): void {
  try {
    writeFully(2, Buffer.from(text, 'utf8'));
  } catch {
    // There is nobody to tell.
  }
}

/** Width of the terminal that standard output is; undefined for a pipe or a file, where nothing should be wrapped. */
export function terminalColumns(): number | undefined {
  if (!isatty(1)) return undefined;
  return process.stdout.columns || Number(process.env['COLUMNS']) || 80;
}

export function isTerminal(): boolean {
  return isatty(1);
}

/** Does the locale say that characters beyond ASCII are shown as they are? */
export function utf8Locale(): boolean {
  const { LC_ALL, LC_CTYPE, LANG } = process.env;
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '');
}
