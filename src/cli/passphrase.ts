/**
 * Where a passphrase comes from: -pass, -k, -kfile, or the terminal.
 *
 * Room `cli`. What is read is bytes and stays bytes, is wiped by whoever uses it, and is in no message.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { HwcryptError } from '../errors.js';
import { nameProblem, printable, systemMessage } from '../files/io.js';
import { writeError } from './stdio.js';

/** OpenSSL reads a line into 1024 bytes with -pass, into 128 with -kfile; what is longer is cut there. */
const PASS_BYTES = 1023;
const KFILE_BYTES = 127;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** `pass:…`, `env:…`, `file:…`, `fd:…` or `stdin`. */
export function fromPass(argument: string): Buffer {
  if (argument === 'stdin') return fromDescriptor(0, 'standard input', PASS_BYTES);
  const colon = argument.indexOf(':');
  const kind = argument.slice(0, colon);
  const rest = argument.slice(colon + 1);
  switch (colon < 0 ? '' : kind) {
    case 'pass':
      return textBytes(rest, 'on the command line');
    case 'env': {
      const value = process.env[rest];
      if (value === undefined)
        throw new HwcryptError('PASSPHRASE', `there is no environment variable ${rest}`);
      return textBytes(value, `in ${rest}`);
    }
    case 'file':
      return fromFile(rest, PASS_BYTES);
    case 'fd': {
      if (!/^\d+$/.test(rest)) throw new HwcryptError('USAGE', '-pass fd: takes a number');
      return fromDescriptor(Number(rest), `file descriptor ${rest}`, PASS_BYTES);
    }
    default:
      // Not a word of what was given: it is likely the passphrase itself.
      throw new HwcryptError('USAGE', '-pass begins with pass:, env:, file: or fd:, or is stdin');
  }
}

/** `-k`: the passphrase itself. */
export function fromArgument(text: string): Buffer {
  return textBytes(text, 'on the command line');
}

/** `-kfile`: the first line, without the line end. */
export function fromKeyFile(path: string): Buffer {
  const line = fromFile(path, KFILE_BYTES);
  let length = line.length;
  while (length > 0 && line[length - 1] === CARRIAGE_RETURN) length--;
  if (length === 0) throw new HwcryptError('PASSPHRASE', `${printable(path)}: zero length password`);
  return line.subarray(0, length);
}

/** cryptsetup's limit for a key file. */
const WHOLE_FILE_BYTES = 8 * 2 ** 20;

/** All bytes of a file, or `size` of them from `offset` on, line ends and zeros too; `-` is standard input. */
export function fromWholeFile(path: string, offset: number, size: number | undefined): Buffer {
  const fail = (why: string, cause?: unknown): HwcryptError =>
    new HwcryptError('PASSPHRASE', `cannot read the key file ${printable(path)}: ${why}`, { cause });
  const problem = nameProblem(path);
  if (problem !== undefined) throw fail(problem);
  const most = offset + (size ?? WHOLE_FILE_BYTES);
  if (most > 2 * WHOLE_FILE_BYTES) throw fail(`it is read up to ${WHOLE_FILE_BYTES} bytes only`);
  const all = Buffer.alloc(most + 1);
  let [fd, length] = [0, 0];
  try {
    if (path !== '-') fd = openSync(path, 'r');
    for (;;) {
      const some = readSync(fd, all, length, most + 1 - length, null);
      length += some;
      if (some === 0 || length > most) break;
    }
  } catch (error) {
    all.fill(0);
    throw fail(systemMessage(error), error);
  } finally {
    if (fd !== 0) closeSync(fd);
  }
  if (size === undefined && length > most) {
    all.fill(0);
    throw fail(`it has more than ${WHOLE_FILE_BYTES} bytes`);
  }
  if (length < offset + (size ?? 0)) {
    all.fill(0);
    throw fail(`it has only ${length} bytes`);
  }
  return all.subarray(offset, Math.min(length, most));
}

/** Asks at the terminal, twice where a slip would be found out too late. */
export async function fromTerminal(name: string, encrypting: boolean, elsewhere?: string): Promise<Buffer> {
  const prompt = `enter ${name} ${encrypting ? 'encryption' : 'decryption'} password:`;
  const { askHidden } = await import('./prompt.js');
  const [first, second] = await askHidden(
    encrypting ? [prompt, `Verifying - ${prompt}`] : [prompt],
    elsewhere,
  );
  if (second && !second.equals(first as Buffer)) {
    first?.fill(0);
    second.fill(0);
    throw new HwcryptError('PASSPHRASE', 'bad password read: the two are not the same');
  }
  second?.fill(0);
  if (!first || first.length === 0) throw new HwcryptError('PASSPHRASE', 'bad password read: it is empty');
  return first;
}

function fromFile(path: string, most: number): Buffer {
  let fd: number;
  const problem = nameProblem(path);
  if (problem !== undefined) {
    throw new HwcryptError('PASSPHRASE', `cannot open ${printable(path)} for the passphrase: ${problem}`);
  }
  try {
    fd = path === '-' ? 0 : openSync(path, 'r');
  } catch (error) {
    throw new HwcryptError(
      'PASSPHRASE',
      `cannot open ${printable(path)} for the passphrase: ${systemMessage(error)}`,
      { cause: error },
    );
  }
  try {
    return fromDescriptor(fd, printable(path), most);
  } finally {
    if (fd !== 0) closeSync(fd);
  }
}

/** One line, read byte by byte: what follows on the same descriptor may be the data. */
function fromDescriptor(fd: number, name: string, most: number): Buffer {
  const line = Buffer.alloc(most);
  const one = Buffer.alloc(1);
  let length = 0;
  let any = false;
  let cut = false;
  try {
    while (readByte(fd, one)) {
      any = true;
      if (one[0] === LINE_FEED) break;
      if (length === most) {
        cut = true;
        break;
      }
      line[length++] = one[0] as number;
    }
  } catch (error) {
    throw new HwcryptError('PASSPHRASE', `cannot read the passphrase from ${name}: ${systemMessage(error)}`, {
      cause: error,
    });
  }
  one.fill(0);
  if (!any) throw new HwcryptError('PASSPHRASE', `cannot read the passphrase from ${name}: it is empty`);
  if (cut) writeError(`the passphrase from ${name} is cut to ${most} bytes, as openssl does`);
  return untilNul(line.subarray(0, length));
}

function readByte(fd: number, one: Buffer): boolean {
  for (;;) {
    try {
      return readSync(fd, one, 0, 1, null) === 1;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EOF') return false;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** To OpenSSL a passphrase is a C string. */
function untilNul(line: Buffer): Buffer {
  const nul = line.indexOf(0);
  return nul < 0 ? line : line.subarray(0, nul);
}

/**
 * Node decodes arguments and the environment as UTF-8 and puts U+FFFD for what is none: a passphrase in Latin-1 would
 * silently be another one.
 */
function textBytes(text: string, from: string): Buffer {
  if (text.includes('\ufffd')) {
    throw new HwcryptError('PASSPHRASE', `the passphrase ${from} is not UTF-8: give it with -pass file:NAME`);
  }
  return Buffer.from(text, 'utf8');
}

/** Takes secrets out of what `ps` shows: setting the title overwrites the arguments. */
export function hideArguments(command: string): void {
  process.title = `hwcrypt ${command}`;
}
