/**
 * The end of the process, and the one line that says what went wrong.
 *
 * Room `cli`.
 */
import { isReading, printable } from '../files/io.js';
import { ClosedPipe, writeError } from './stdio.js';

export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;

/** Prints the cause in one line and returns the exit status: 2 for a wrong command line, else 1. */
export function report(error: unknown, command?: string): number {
  const debug = process.env['HWCRYPT_DEBUG'];
  if (error instanceof ClosedPipe && !debug) return EXIT_FAILURE;
  const where = command === undefined ? 'hwcrypt' : `hwcrypt: ${command}`;
  const { message } = error instanceof Error ? error : new Error(String(error));
  writeError(`${where}: ${oneLine(inWords(message))}`);
  if (debug && error instanceof Error) {
    writeError(error.stack ?? '');
    if (error.cause instanceof Error) writeError(`caused by: ${error.cause.stack ?? ''}`);
  }
  return isUsage(error) ? EXIT_USAGE : EXIT_FAILURE;
}

function isUsage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'USAGE' || code === 'ERR_INVALID_ARG_VALUE';
}

/** `error:0308010C:digital envelope routines::unsupported` says nothing to most people; its last part is in words. */
function inWords(message: string): string {
  const [, library, reason] = /^error:[0-9A-F]{8}:([^:]*):[^:]*:(.+)$/s.exec(message) ?? [];
  return reason === undefined
    ? message
    : `OpenSSL refuses: ${reason} (${library}; HWCRYPT_DEBUG=1 says where)`;
}

/** Names of files and options are in messages: what would move the cursor of a terminal is spelt out. */
function oneLine(message: string): string {
  return printable(message.replace(/\s*\n\s*/g, '; '));
}

let abandoned = false;

/** There is work in the thread pool that nobody waits for any more, and that cannot be stopped: a key derivation. */
export function abandonWork(): void {
  abandoned = true;
}

/**
 * Ends the process. Where a read is waiting in the thread pool (for a terminal, or a pipe into which nothing comes), or work was
 * abandoned there, Node would wait for it too; the C library's `_exit` does not.
 */
export async function leave(status: number): Promise<never> {
  if (isReading() || abandoned) {
    const { processLibrary } = await import('../linux/ffi.js');
    processLibrary().library?.func('void _exit(int status)')(status);
  }
  process.exit(status);
}
