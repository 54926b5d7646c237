/**
 * `kcapi-speed` of libkcapi (speed-test/cryptoperf-base.c): `%-24s|%s|%8lu bytes|%23s/s|%lu ops/s`, or with -r `name,e|d,chunk,bytes per second,ops`.
 *
 * Its fraction has no leading zero: `2.5 MB/s` is 2.05, so the rate is worked out from operations and size, which are printed whole. Each operation
 * is timed by itself and the sum of those times is the divisor, so reading the clock weighs on small ones. Units are powers of 1000.
 */

import { findAlgorithm } from '../algorithms.js';
import type { Doubt, Measurement, Operation, ResultSet, Run, SkippedLine } from '../bench/model.js';
import type { Command } from './command.js';
import { kcapiName, operationOf } from './names.js';
import { readDecimal, readInteger, unitBytes } from './numbers.js';
import { doubt, type Page, present, resultSet } from './page.js';
import { redact } from './redact.js';

/** Below this many operations a second, cutting off the fraction is more than two percent. */
const FEW = 50;
/** Up to this size the clock's own cost shows. */
const SMALL = 4096;

interface Row {
  readonly name: string;
  readonly direction?: 'e' | 'd' | undefined;
  readonly chunk: number;
  readonly ops: number;
  /** As printed: the number, its decimals, and the unit's bytes. Raw rows have whole bytes. */
  readonly printed?: { readonly value: number; readonly decimals: number; readonly unit: number } | undefined;
}

function readPretty(text: string): Row | 'broken' | undefined {
  if (!text.includes('|') || !/ops\/s|\|[ed]\| {0,12}\d{1,12} bytes\|/.test(text)) return undefined;
  const cells = text
    .split('|')
    .map((cell) => cell.trim())
    .filter((cell) => cell !== '');
  const chunk = readInteger(cells.find((cell) => /^\d{1,12} bytes$/.test(cell))?.split(' ')[0] ?? '');
  const ops = readInteger(cells.find((cell) => /^\d{1,15} ops\/s$/.test(cell))?.split(' ')[0] ?? '');
  const rate = cells
    .map((cell) => /^([\d.,]{1,20}) ?([kMG]?B)\/s$/.exec(cell))
    .find((match) => match !== null);
  const name = cells[0];
  if (cells.length < 3 || cells.length > 6 || name === undefined) return undefined;
  if (chunk === undefined || ops === undefined || /^\d/.test(name)) return 'broken';
  const direction = cells.find((cell) => cell === 'e' || cell === 'd') as 'e' | 'd' | undefined;
  const number = rate ? readDecimal(rate[1]!, fraction(rate[1]!)) : undefined;
  const printed = number && rate ? { ...number, unit: unitBytes(rate[2]!)! } : undefined;
  return { name, chunk, ops, direction, printed };
}

function fraction(text: string): number {
  const mark = Math.max(text.lastIndexOf('.'), text.lastIndexOf(','));
  return mark < 0 ? 0 : text.length - mark - 1;
}

function readRaw(text: string): Row | undefined {
  const match = /^([A-Za-z][\w()./ -]{1,60}),([ed]),(\d{1,12}),(\d{1,15}),(\d{1,15})$/.exec(text);
  if (!match) return undefined;
  const value = Number(match[4]);
  return {
    name: match[1]!.trim(),
    direction: match[2] as 'e' | 'd',
    chunk: Number(match[3]),
    ops: Number(match[5]),
    printed: { value, decimals: 0, unit: 1 },
  };
}

interface Draft {
  readonly command: Command | undefined;
  readonly heading: string | undefined;
  readonly first: number;
  last: number;
  readonly measurements: Measurement[];
}

interface Failure {
  readonly at: number;
  name?: string;
  readonly kernelDriver?: string;
  readonly text: string;
}

/** Everything that a page holds of kcapi-speed. */
export function readKcapi(page: Page): ResultSet[] {
  const runs: Draft[] = [];
  const skipped: SkippedLine[] = [];
  let lastContent = -1;
  let failure: Failure | undefined;

  const begin = (at: number): Draft => {
    const { commands, heading } = page.context(lastContent, at, 'kcapi-speed');
    const command = commands.at(-1);
    let run = runs.at(-1);
    if (!run || command?.strict || heading !== undefined) {
      run = { command, heading, first: at, last: at, measurements: [] };
      runs.push(run);
    }
    run.last = at;
    page.claim(at);
    lastContent = at;
    return run;
  };
  const unavailable = (found: Failure): void => {
    const run = begin(found.at);
    const text = found.name ?? found.kernelDriver ?? '';
    const named = found.name === undefined ? undefined : kcapiName(found.name);
    const isKnown = named?.algorithm !== undefined || named?.random === true;
    run.measurements.push(
      present<Measurement>({
        algorithm: named?.algorithm?.name,
        algorithmText: redact(text, 60),
        keyBits: named?.keyBits,
        driverHint: named?.hint === undefined ? undefined : redact(named.hint, 60),
        driver: 'afalg',
        kernelDriver: found.kernelDriver === undefined ? undefined : redact(found.kernelDriver, 60),
        basis: 'elapsed',
        status: 'unavailable',
        estimated: false,
        doubts: isKnown
          ? []
          : [doubt('ALGORITHM_UNKNOWN', 'the message names a kernel driver, not an algorithm')],
        line: page.number(found.at),
      }),
    );
  };

  for (let at = 0; at < page.lines.length; at++) {
    if (page.isClaimed(at)) continue;
    const text = page.text(at);
    if (text === '') continue;
    const pretty = readPretty(text);
    if (pretty === 'broken') {
      begin(at);
      skipped.push(page.skip(at, 'a row of kcapi-speed without its size or its operations'));
      continue;
    }
    const row = pretty ?? readRaw(text);
    if (row) {
      const run = begin(at);
      run.measurements.push(measurementOf(page, at, row, run.command, pretty === undefined));
      continue;
    }
    const untested = /^([A-Za-z][\w()./ -]{1,60}?) *\| *untested$/.exec(text);
    if (untested) {
      unavailable({ at, name: untested[1]!, text });
      continue;
    }
    // `could not allocate shash handle for sha256-ssse3` and `initialization for SHA-256(SSSE3) failed` are one failure in two lines.
    const allocate =
      /^cryptoperf: could not allocate (?:shash|skcipher|aead|rng) handle for (\S{1,80})$/.exec(text);
    const initialise = /^cryptoperf: initialization for (.{1,60}) failed$/.exec(text);
    if (failure && !(initialise && at - failure.at <= 2)) {
      unavailable(failure);
      failure = undefined;
    }
    if (allocate) {
      page.claim(at);
      failure = { at, kernelDriver: allocate[1]!, text };
    } else if (initialise) {
      page.claim(at);
      unavailable(failure ? { ...failure, name: initialise[1]! } : { at, name: initialise[1]!, text });
      failure = undefined;
    } else if (/^cryptoperf: /.test(text)) {
      skipped.push(page.skip(at, 'a message of kcapi-speed'));
    } else if (/^(?:hash|skcipher|aead|rng) *\| .{1,60} \| .{1,60} \| [ed]$/.test(text)) {
      skipped.push(page.skip(at, 'a line of the list of tests, with no figures'));
    }
  }
  // The second line of a failure is missing: the text ends here, perhaps within the name.
  if (failure) skipped.push(page.skip(failure.at, 'the text ends with a message that may be cut off'));
  if (runs.length === 0 && skipped.length === 0) return [];
  return [
    resultSet(page, 'kcapi-speed', {
      runs: runs.map(({ command, heading, first, last, measurements }, index): Run => {
        const small = measurements.some(
          ({ status, requestBytes }) => status === 'ok' && requestBytes! <= SMALL,
        );
        return present<Run>({
          label: heading ?? command?.text ?? (runs.length > 1 ? `kcapi-speed ${index + 1}` : 'kcapi-speed'),
          command: command?.text,
          lines: [page.number(first), page.number(last)],
          measurements,
          kdfs: [],
          doubts: small
            ? [
                doubt(
                  'CLOCK_PER_REQUEST',
                  'each operation is timed by itself: the clock’s own cost is about a tenth at 512 bytes',
                ),
              ]
            : [],
          notes: [],
        });
      }),
      skipped,
    }),
  ];
}

function measurementOf(
  page: Page,
  at: number,
  row: Row,
  command: Command | undefined,
  raw: boolean,
): Measurement {
  const { algorithm, keyBits, hint, random } = kcapiName(row.name);
  const doubts: Doubt[] = [];
  if (!algorithm && !random)
    doubts.push(doubt('ALGORITHM_UNKNOWN', 'no algorithm of this name in the table'));
  // With -o several requests are in flight, and an operation is all of them.
  const parallel =
    command?.options.aio !== undefined && command.options.aio > 1 ? command.options.aio : undefined;
  const byOps = row.ops * row.chunk * (parallel ?? 1);
  let rate = byOps;
  let claimed: number | undefined;
  const { printed } = row;
  if (printed) {
    claimed = printed.value * printed.unit;
    // The digits after the point are hundredths, with or without their zero.
    const whole = Math.floor(printed.value);
    const digits = Math.round((printed.value - whole) * 10 ** printed.decimals);
    const meant = printed.decimals === 1 ? (whole + digits / 100) * printed.unit : claimed;
    if (printed.decimals === 1) {
      doubts.push(
        doubt(
          'UNPADDED_DECIMALS',
          `the fraction is printed without its zero: ${printed.value} means ${(whole + digits / 100).toFixed(2)}`,
          meant,
        ),
      );
    }
    if (raw) rate = claimed;
    else if (row.ops < FEW && Math.abs(meant - byOps) <= row.chunk * (parallel ?? 1) + printed.unit / 100)
      rate = meant;
    // Both are cut off, not rounded: by one operation, and by a hundredth of the unit.
    const slack = row.chunk * (parallel ?? 1) + printed.unit / 100;
    if (Math.abs(meant - byOps) > Math.max(0.02 * byOps, slack)) {
      doubts.push(doubt('CLAIM_MISMATCH', 'the printed rate and operations × size differ', byOps));
    }
  }
  if (row.ops < FEW)
    doubts.push(doubt('FEW_REQUESTS', `${row.ops} operations a second, with the fraction cut off`));
  const failed = row.ops === 0 && rate === 0;
  const fixedOperation: Operation | undefined = random ? 'random' : operationOf(algorithm);
  // For a hash the tool prints `d`, which means nothing.
  const isCipher = algorithm?.kind === 'cipher' || algorithm?.kind === 'aead';
  const operation =
    fixedOperation ??
    (isCipher
      ? row.direction === 'e'
        ? 'encrypt'
        : row.direction === 'd'
          ? 'decrypt'
          : undefined
      : undefined);
  if (isCipher && operation === undefined)
    doubts.push(doubt('OPERATION_UNKNOWN', 'the column of the direction is missing'));
  return present<Measurement>({
    algorithm: algorithm?.name,
    algorithmText: redact(row.name, 60),
    keyBits,
    operation,
    driver: 'afalg',
    driverHint: hint === undefined ? undefined : redact(hint, 60),
    requestBytes: row.chunk,
    parallel,
    bytesPerSecond: failed ? undefined : rate,
    claimedBytesPerSecond: claimed,
    basis: 'elapsed',
    status: failed ? 'failed' : 'ok',
    estimated: false,
    doubts,
    line: page.number(at),
  });
}

// --- writing ------------------------------------------------------------------------------------------------------------------------

/** kcapi-speed -r, a line for each measurement that has a size. Hashes get `d`, as there. */
export function writeKcapiRaw(run: Run): string {
  return run.measurements
    .filter(({ requestBytes }) => requestBytes !== undefined && requestBytes > 0)
    .map((measurement) => {
      const name = kcapiTestName(measurement);
      const { requestBytes, bytesPerSecond, operation, parallel } = measurement;
      if (bytesPerSecond === undefined) return `${name.padEnd(35)} | untested\n`;
      const ops = Math.floor(bytesPerSecond / requestBytes! / (parallel ?? 1));
      return `${name},${operation === 'encrypt' ? 'e' : 'd'},${requestBytes},${Math.floor(bytesPerSecond)},${ops}\n`;
    })
    .join('');
}

/** kcapi-speed's way to name things, `AES(x) CBC(x) 128`, with the driver's name where it has one of the implementation. Never a comma. */
function kcapiTestName({ algorithm, algorithmText, driverHint, kernelDriver, driver }: Measurement): string {
  const known = algorithm === undefined ? undefined : findAlgorithm(algorithm);
  if (!known || driverHint !== undefined) return algorithmText.replaceAll(',', ' ');
  const by = (kernelDriver ?? driver ?? 'G').replaceAll(/[(),]/g, '-').replace(/-+$/, '');
  if (known.kind === 'cipher' || known.kind === 'aead') {
    const bits = known.kind === 'cipher' && known.mode === 'xts' ? known.keyBytes * 4 : known.keyBytes * 8;
    return `${known.family.toUpperCase()}(${by}) ${known.mode.toUpperCase()}(${by}) ${bits}`;
  }
  const hash = (known.kind === 'mac' ? known.over : known.name)
    .toUpperCase()
    .replace(/^SHA(\d{1,3})$/, 'SHA-$1');
  return `${known.kind === 'mac' ? `${known.construction.toUpperCase()} ` : ''}${hash}(${by})`;
}
