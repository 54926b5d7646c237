/**
 * Files of benchmark results as operands of a command: hwcrypt's own JSON, or what other tools printed.
 *
 * Room `cli`.
 */
import type { ResultSet, SkippedLine } from '../bench/model.js';
import { HwcryptError } from '../errors.js';
import { counted, Input, printable } from '../files/io.js';
import { importResults } from '../interop/index.js';
import { baseName } from '../interop/redact.js';
import type { Unread } from '../report/comparison/data.js';
import { inAscii } from '../report/text.js';
import { utf8Locale, writeError } from './stdio.js';

/** What one operand holds. */
export interface ResultFile {
  /** As it was given. */
  readonly operand: string;
  /** One for each tool whose output is in it. */
  readonly sets: readonly ResultSet[];
  readonly unread: Unread;
}

/** The importers refuse more; who reads a device by accident should not wait for its end. */
const MOST_BYTES = 64 * 1024 * 1024;
const FIRST_BYTES = 256 * 1024;

/** @throws HwcryptError INPUT_FILE, with the file's name */
export async function readResultFile(operand: string): Promise<ResultFile> {
  return reading(operand, (bytes) => {
    const source = operand === '-' ? operand : baseName(operand);
    const { sets, unread } = importResults(bytes, { source });
    const lines = [...sets.flatMap(({ skipped }) => skipped), ...unread].sort((a, b) => a.line - b.line);
    return { operand, sets: called(sets, source), unread: { source, lines } };
  });
}

/** A whole file, or standard input for `-`. @throws HwcryptError INPUT_FILE, with the file's name */
export function readTextFile(operand: string): Promise<Uint8Array> {
  return reading(operand, (bytes) => bytes);
}

async function reading<T>(operand: string, use: (bytes: Uint8Array) => T): Promise<T> {
  const input = Input.open(operand);
  try {
    return use(await readWhole(input));
  } catch (error) {
    if (!(error instanceof HwcryptError) || error.message.includes(input.name)) throw error;
    throw new HwcryptError('INPUT_FILE', `${input.name}: ${error.message}`, { cause: error });
  } finally {
    input.close();
  }
}

/**
 * Sets by their file's name. In hwcrypt's own JSON stands what they were called when they were written, `this machine` as a rule, by which
 * nobody can tell two files apart; where one file holds several of different names, those do.
 */
function called(sets: readonly ResultSet[], source: string): readonly ResultSet[] {
  const several = new Set(sets.map((set) => set.source)).size > 1;
  return several ? sets : sets.map((set) => ({ ...set, source }));
}

async function readWhole(input: Input): Promise<Uint8Array> {
  let buffer = Buffer.alloc(Math.min(MOST_BYTES, (input.size ?? FIRST_BYTES) + 1));
  let done = 0;
  for (;;) {
    const bytes = await input.read(buffer, done, buffer.length - done);
    if (bytes === 0) return buffer.subarray(0, done);
    done += bytes;
    if (done < buffer.length) continue;
    if (done > MOST_BYTES) {
      throw new HwcryptError('INPUT_FILE', `${input.name} is larger than ${MOST_BYTES / 2 ** 20} MiB`);
    }
    const larger = Buffer.alloc(Math.min(MOST_BYTES + 1, buffer.length * 2));
    buffer.copy(larger, 0, 0, done);
    buffer = larger;
  }
}

/** How many lines are named where not all are asked for. */
const FEW = 3;

/** Says on standard error which lines nobody could read, or not in full. @param all each with its reason */
export function reportUnread({ source, lines }: Unread, command: string, all: boolean): void {
  if (lines.length === 0) return;
  const name = source === '-' ? 'standard input' : printable(source);
  const say = (text: string): void =>
    writeError(`hwcrypt: ${command}: ${name}: ${utf8Locale() ? text : inAscii(text)}`);
  if (all) for (const line of lines) say(described(line));
  else if (lines.length <= FEW) for (const line of lines) say(described(line));
  else {
    const numbers = lines.slice(0, FEW).map(({ line }) => line);
    say(
      `${counted(lines.length, 'line')} not read, or not in full: ${numbers.join(', ')} … (--verbose tells why)`,
    );
  }
}

function described({ line, reason, text }: SkippedLine): string {
  return `line ${line}: ${reason}${text === '' ? '' : `: ${text}`}`;
}
