/**
 * A passphrase asked for at the terminal, without echo.
 *
 * Room `cli`. The terminal is /dev/tty, not standard input: that may be the data.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { HwcryptError } from '../errors.js';
import { onInterrupt } from '../files/interrupt.js';

const END = 0x04;
/** What ends the process; in raw mode the terminal does not send the signals itself. */
const SIGNALS: ReadonlyMap<number, NodeJS.Signals> = new Map([
  [0x03, 'SIGINT'],
  [0x1c, 'SIGQUIT'],
]);
const ERASE = [0x08, 0x7f];
const KILL_LINE = 0x15;
const ENTER = [0x0a, 0x0d];

/** Asks once for each prompt and returns the lines, without line end. */
export async function askHidden(
  prompts: readonly string[],
  elsewhere = '-pass file:NAME, env:NAME, fd:N or stdin',
): Promise<Buffer[]> {
  let fd: number;
  try {
    fd = openSync('/dev/tty', 'r+');
  } catch (error) {
    throw new HwcryptError(
      'PASSPHRASE',
      `there is no terminal to ask for the passphrase: give it with ${elsewhere}`,
      { cause: error },
    );
  }
  const stream = new ReadStream(fd);
  const settled = onInterrupt(() => stream.setRawMode(false));
  const lines: Buffer[] = [];
  try {
    // Raw: no echo, and no line buffer in the kernel that would keep the passphrase.
    stream.setRawMode(true);
    for (const prompt of prompts) {
      writeSync(fd, prompt);
      lines.push(await readLine(stream, fd));
      writeSync(fd, '\n');
    }
    return lines;
  } catch (error) {
    for (const line of lines) line.fill(0);
    writeSync(fd, '\n');
    throw error;
  } finally {
    stream.setRawMode(false);
    settled();
    stream.destroy();
    try {
      closeSync(fd);
    } catch {
      // The stream has closed it.
    }
  }
}

function readLine(stream: ReadStream, fd: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let line = Buffer.alloc(0);
    const done = (settle: () => void): void => {
      stream.off('data', onData);
      stream.off('end', onEnd);
      stream.off('error', onEnd);
      stream.pause();
      settle();
    };
    const fail = (message: string): void => {
      line.fill(0);
      done(() => reject(new HwcryptError('PASSPHRASE', message)));
    };
    const onEnd = (): void => fail('the terminal went away while the passphrase was asked for');
    const onData = (chunk: Buffer): void => {
      for (let i = 0; i < chunk.length; i++) {
        const code = chunk[i] as number;
        if (ENTER.includes(code)) {
          // Typed ahead: it belongs to the next prompt.
          const rest = Buffer.from(chunk.subarray(i + 1));
          chunk.fill(0);
          done(() => {
            if (rest.length > 0) stream.unshift(rest);
            resolve(line);
          });
          return;
        }
        const signal = SIGNALS.get(code);
        if (signal) {
          line.fill(0);
          stream.setRawMode(false);
          writeSync(fd, '\n');
          // Whoever has to clean up listens for it.
          process.kill(process.pid, signal);
          return;
        }
        if (code === END) {
          if (line.length === 0) {
            fail('no passphrase was typed');
            return;
          }
        } else if (ERASE.includes(code)) {
          const shorter = Buffer.from(line.subarray(0, withoutLast(line)));
          line.fill(0);
          line = shorter;
        } else if (code === KILL_LINE) {
          line.fill(0);
          line = Buffer.alloc(0);
        } else {
          const longer = Buffer.concat([line, chunk.subarray(i, i + 1)]);
          line.fill(0);
          line = longer;
        }
      }
      chunk.fill(0);
    };
    stream.on('data', onData);
    stream.on('end', onEnd);
    stream.on('error', onEnd);
    stream.resume();
  });
}

/** Length without the last character, which in UTF-8 may be several bytes. */
function withoutLast(line: Buffer): number {
  let length = line.length - 1;
  while (length > 0 && ((line[length] as number) & 0xc0) === 0x80) length--;
  return Math.max(0, length);
}
