/**
 * QEMU's tests/bench/benchmark-crypto-{cipher,hash,hmac}, in the forms that they have had:
 *
 * - since 2020, by GLib's test messages: `# enc(aes-128-cbc) chunk 512 bytes 123.45 MB/sec `, `hash(sha256): chunk 512 bytes … MB/sec`, `hmac(sha256): …`;
 * - 2017: `cbc(aes128): Testing chunk_size 512 bytes done: 1858.82 MB in 5.00 secs: 371.76 MB/sec`, later in several messages;
 * - for a while `Hash 2 GB chunk size 512 bytes 123.45 MB/sec`, with the algorithm in the test's path;
 * - and tables that people make of it: a title, `chunk_size(bytes)  MB/sec(afalg:sha256-ssse3)  MB/sec(nettle)`, rows of numbers.
 *
 * `MB` is 2^20 bytes. hash() of some versions forgets to divide and prints bytes a second under the same `MB/sec`.
 */
import type { Algorithm } from '../algorithms.js';
import type { Doubt, Measurement, Operation, ResultSet, Run, SkippedLine } from '../bench/model.js';
import { keyBitsOf, operationOf, qemuAlgorithm } from './names.js';
import { readDecimal, readSize, unitBytes } from './numbers.js';
import { doubt, type Page, present, resultSet } from './page.js';
import { redact } from './redact.js';

const MIB = 2 ** 20;
/** 100 GB/s is no hash's speed in MiB, and 0.1 MB/s none's in bytes. */
const BYTES_FROM = 1e5;
/** A result is at most so many lines below the name that it belongs to. */
const NEAR = 3;

interface Subject {
  readonly text: string;
  readonly algorithm: Algorithm | undefined;
  readonly operation?: Operation | undefined;
  /** `hash(…)`: the form whose unit may be wrong. */
  readonly isHash: boolean;
}

/** What a line says of algorithm and direction, in any of the forms. */
function readSubject(text: string): Subject | undefined {
  const call = /(?:^|[ #("])(enc|dec|hash|hmac)\(([\w() -]{1,40}?)\)/.exec(text);
  if (call) {
    const name = call[1] === 'hmac' ? `hmac(${call[2]})` : call[2]!;
    const algorithm = qemuAlgorithm(name);
    const direction = call[1] === 'enc' ? 'encrypt' : call[1] === 'dec' ? 'decrypt' : undefined;
    return {
      text: name,
      algorithm,
      operation: operationOf(algorithm) ?? direction,
      isHash: call[1] === 'hash',
    };
  }
  // The program of 2017 only encrypted.
  const old =
    /(?:^|[ #/])((?:cbc|ecb|ctr|xts|hmac)\([\w-]{1,20}\)|(?:md5|sha\d{1,3}|ripemd160|rmd160)):(?: |$)/.exec(
      text,
    );
  if (old) {
    const algorithm = qemuAlgorithm(old[1]!);
    const isCipher = algorithm?.kind === 'cipher';
    return {
      text: old[1]!,
      algorithm,
      operation: operationOf(algorithm) ?? (isCipher ? 'encrypt' : undefined),
      isHash: false,
    };
  }
  return undefined;
}

/** A name alone on its line, which the results after it belong to. The program of 2017, which prints so, only encrypted. */
function aloneSubject(text: string, algorithm: Algorithm): Subject {
  return { text, algorithm, operation: operationOf(algorithm) ?? 'encrypt', isHash: false };
}

/** What GLib's test runner prints around the messages. */
const TAP = /^(?:# (?:random seed|Start of|End of)\b|1\.\.\d{1,6}$|(?:not )?ok \d{1,6} )/;

/** `/crypto/cipher/cbc-aes-128/chunk-512`, `/crypto/benchmark/hash/sha256/bufsize-512`, `/crypto/hmac/speed-512`. */
function readPath(text: string): { subject: Subject | undefined; chunk: number } | undefined {
  const match =
    /\/crypto\/(?:benchmark\/)?(cipher|hash|hmac)\/(?:([\w-]{1,30})\/)?(?:chunk|bufsize|speed)-(\d{1,8})/.exec(
      text,
    );
  if (!match) return undefined;
  const algorithm = match[2] === undefined ? undefined : qemuAlgorithm(match[2]);
  const subject: Subject | undefined = algorithm
    ? {
        text: match[2]!,
        algorithm,
        operation: operationOf(algorithm),
        isHash: match[1] === 'hash',
      }
    : undefined;
  return { subject, chunk: Number(match[3]) };
}

interface Result {
  readonly chunk: number | undefined;
  readonly rate: string | undefined;
  readonly operation: Operation | undefined;
  readonly seconds: number | undefined;
}

function readResult(text: string): Result | undefined {
  const chunk = /\b(?:chunk|chunk_size|chunk size) (\d{1,9}) bytes\b/i.exec(text);
  const rate = /(?:^|[ :#])([\d.,]{1,20}) MB\/sec\b/.exec(text);
  if (!chunk && !rate) return undefined;
  const seconds = /\bin ([\d.,]{1,12}) secs:/.exec(text);
  const operation: Operation | undefined = /\bEnc\b/.test(text)
    ? 'encrypt'
    : /\bDec\b/.test(text)
      ? 'decrypt'
      : undefined;
  return {
    chunk: chunk ? Number(chunk[1]) : undefined,
    rate: rate?.[1],
    operation,
    seconds: seconds ? readDecimal(seconds[1]!, 2)?.value : undefined,
  };
}

interface Column {
  readonly driver: string | undefined;
  readonly kernelDriver: string | undefined;
  readonly text: string;
  readonly unit: number;
  readonly isMb: boolean;
}

/** `chunk_size(bytes)   MB/sec(afalg:sha256-ssse3)  MB/sec(nettle)`. */
function readColumns(text: string): Column[] | undefined {
  if (!/B\/s(?:ec)?\(/.test(text)) return undefined;
  const tokens = text
    .replaceAll('|', ' ')
    .split(' ')
    .filter((token) => token !== '');
  if (tokens.length < 2 || tokens.length > 12 || !/^(?:chunk|block|size)/i.test(tokens[0]!)) return undefined;
  const out: Column[] = [];
  for (const token of tokens.slice(1)) {
    const match = /^([KMG]i?B\/s(?:ec)?)\(([^()]{1,60}(?:\([^()]{1,40}\)[^()]{0,20}){0,2})\)$/.exec(token);
    if (!match) {
      if (out.length === 0 && /^\(?(?:bytes|size)\)?$/i.test(token)) continue;
      return undefined;
    }
    const [driver, kernelDriver] = match[2]!.split(/:(.*)/s);
    out.push({
      text: redact(match[2]!, 60),
      driver: driver === undefined ? undefined : redact(driver, 30),
      kernelDriver: kernelDriver ? redact(kernelDriver, 60) : undefined,
      unit: unitBytes(match[1]!)!,
      isMb: /^MB/i.test(match[1]!),
    });
  }
  return out.length > 0 ? out : undefined;
}

interface Title {
  readonly text: string;
  readonly algorithm: Algorithm;
  readonly operation: Operation | undefined;
}

interface Draft {
  label: string;
  first: number;
  last: number;
  readonly measurements: Measurement[];
}

/** Everything that a page holds of QEMU's crypto benchmarks. */
export function readQemu(page: Page): ResultSet[] {
  const runs: Draft[] = [];
  const byDriver = new Map<string, Draft>();
  let subject: { readonly at: number; readonly value: Subject } | undefined;
  let path: { readonly at: number; readonly value: Subject } | undefined;
  let chunk: number | undefined;
  let columns: Column[] | undefined;
  let decimals: number | undefined;
  const skipped: SkippedLine[] = [];
  let title: (Title & { at: number }) | undefined;
  let lastContent = -1;
  let seen = new Set<string>();
  let run: Draft | undefined;

  const begin = (at: number, key: string): Draft => {
    const { commands, heading } = page.context(lastContent, at, 'qemu benchmark-crypto');
    const before = run;
    if (!before || commands.length > 0 || seen.has(key)) {
      run = {
        label: heading ?? commands.at(-1)?.text ?? 'qemu benchmark-crypto',
        first: at,
        last: at,
        measurements: [],
      };
      seen = new Set();
      runs.push(run);
    }
    const own = run ?? before!;
    seen.add(key);
    own.last = at;
    lastContent = at;
    page.claim(at);
    return own;
  };

  for (let at = 0; at < page.lines.length; at++) {
    if (page.isClaimed(at)) continue;
    const text = page.text(at);
    if (text === '' || text.length > 1000) continue;

    const made = readColumns(text);
    if (made) {
      columns = made;
      decimals = undefined;
      // A title names the table that follows it, and no other.
      if (title && at - title.at > NEAR) title = undefined;
      page.claim(at);
      continue;
    }
    if (columns) {
      const tokens = text
        .replaceAll('|', ' ')
        .split(' ')
        .filter((token) => token !== '');
      const size = readSize(tokens[0] ?? '');
      const values = tokens.slice(1).map((token) => readDecimal(token, 2));
      const isRow =
        size !== undefined &&
        values.length === columns.length &&
        values.every((value) => value !== undefined);
      if (isRow) {
        const last = values.at(-1)!.decimals;
        decimals ??= Math.max(...values.map((value) => value!.decimals));
        // The last value of a text may be cut off, and then has fewer decimals than the others.
        if (last < decimals) {
          skipped.push(page.skip(at, 'the last value has fewer decimals than the others, as if cut off'));
          continue;
        }
        for (const [index, column] of columns.entries()) {
          const own = byDriver.get(column.driver ?? column.text) ?? {
            label: column.driver ?? column.text,
            first: at,
            last: at,
            measurements: [],
          };
          byDriver.set(column.driver ?? column.text, own);
          own.last = at;
          own.measurements.push(tableMeasurement(page, at, size, values[index]!.value, column, title));
        }
        page.claim(at);
        lastContent = at;
        continue;
      }
    }
    const heading = text.replace(/^[#* ]+|[:#* ]+$/g, '');
    const call = heading.length < 40 && /^\w+\(.*\)$/.test(heading) ? readSubject(heading) : undefined;
    const titled = call?.algorithm && [1, 2].some((next) => readColumns(page.text(at + next)) !== undefined);
    if (call?.algorithm && titled) {
      // A table that says its direction, as hwcrypt's do.
      columns = undefined;
      title = { at, text: call.text, algorithm: call.algorithm, operation: call.operation };
      page.claim(at);
      continue;
    }
    const named = heading.length < 40 ? qemuAlgorithm(heading) : undefined;
    if (named) {
      columns = undefined;
      // A name alone is a title where a table follows, and what the next messages are about elsewhere.
      const isTitle = [1, 2].some((next) => readColumns(page.text(at + next)) !== undefined);
      if (isTitle) title = { at, text: heading, algorithm: named, operation: operationOf(named) };
      else subject = { at, value: aloneSubject(heading, named) };
      if (isTitle || /chunk/.test(page.text(at + 1))) page.claim(at);
      continue;
    }
    if (TAP.test(text)) {
      // The path at its end is that of the test that is over.
      if (text.startsWith('#') || text.includes('/crypto/')) page.claim(at);
      path = undefined;
      continue;
    }

    // The directions were once printed in one line.
    for (const part of text.split(/ (?=(?:Enc|Dec) chunk )/)) {
      const found = readPath(part);
      if (found) {
        path = found.subject ? { at, value: found.subject } : undefined;
        chunk = found.chunk ?? chunk;
      }
      const own = readSubject(part);
      if (own) subject = { at, value: own };
      const result = readResult(part);
      if (!result) {
        if (found) page.claim(at);
        continue;
      }
      // What a result is about stands on its line or just before it; a rate with nothing of the kind is another program's.
      const [near] = [subject, path]
        .filter((named) => named !== undefined && at - named.at <= NEAR)
        .sort((a, b) => b!.at - a!.at);
      const what = own ?? found?.subject ?? near?.value;
      chunk = result.chunk ?? chunk;
      if (!what || chunk === undefined) continue;
      page.claim(at);
      const value = result.rate === undefined ? undefined : readDecimal(result.rate, 2)?.value;
      if (value === undefined) continue;
      const operation = result.operation ?? what.operation;
      const draft = begin(at, `${what.text} ${operation} ${chunk}`);
      draft.measurements.push(messageMeasurement(page, at, chunk, value, what, operation, result.seconds));
      chunk = undefined;
    }
  }

  const drafts = [...runs, ...byDriver.values()];
  if (drafts.length === 0) return [];
  return [
    resultSet(page, 'qemu benchmark-crypto', {
      runs: drafts.map(
        ({ label, first, last, measurements }): Run => ({
          label,
          lines: [page.number(first), page.number(last)],
          measurements,
          kdfs: [],
          doubts: [],
          notes: [],
        }),
      ),
      skipped,
      notes: ['MB in this tool’s output is 2^20 bytes'],
    }),
  ];
}

function messageMeasurement(
  page: Page,
  at: number,
  chunk: number,
  value: number,
  subject: Subject,
  operation: Operation | undefined,
  seconds: number | undefined,
): Measurement {
  const doubts: Doubt[] = [];
  const inBytes = subject.isHash && value >= BYTES_FROM;
  if (inBytes) {
    doubts.push(
      doubt(
        'UNIT_MISLABELLED',
        'bytes a second are printed as MB/sec: this version forgets to divide',
        value,
      ),
    );
  }
  return measurementOf(page, at, chunk, {
    text: subject.text,
    algorithm: subject.algorithm,
    operation,
    doubts,
    claimed: value * (inBytes ? 1e6 : MIB),
    rate: inBytes ? value : value * MIB,
    elapsedNs: seconds === undefined ? undefined : Math.round(seconds * 1e9),
  });
}

function tableMeasurement(
  page: Page,
  at: number,
  size: number,
  value: number,
  column: Column,
  title: Title | undefined,
): Measurement {
  // The table is a copy of figures in the tool's MB.
  const rate = value * (column.isMb ? MIB : column.unit);
  const operation = title?.operation;
  const doubts =
    operation || !title ? [] : [doubt('OPERATION_UNKNOWN', 'the table does not say which direction')];
  return measurementOf(page, at, size, {
    text: title?.text ?? '',
    algorithm: title?.algorithm,
    operation,
    doubts,
    claimed: rate,
    rate,
    elapsedNs: undefined,
    driver: column.driver,
    kernelDriver: column.kernelDriver,
  });
}

interface Parts {
  readonly text: string;
  readonly algorithm: Algorithm | undefined;
  readonly operation: Operation | undefined;
  readonly doubts: readonly Doubt[];
  readonly claimed: number;
  readonly rate: number;
  readonly elapsedNs: number | undefined;
  readonly driver?: string | undefined;
  readonly kernelDriver?: string | undefined;
}

function measurementOf(page: Page, at: number, chunk: number, parts: Parts): Measurement {
  const { algorithm, rate } = parts;
  const unknown = algorithm ? [] : [doubt('ALGORITHM_UNKNOWN', 'no algorithm of this name in the table')];
  return present<Measurement>({
    algorithm: algorithm?.name,
    algorithmText: redact(parts.text, 60),
    keyBits: keyBitsOf(algorithm),
    operation: parts.operation,
    driver: parts.driver,
    kernelDriver: parts.kernelDriver,
    requestBytes: chunk,
    elapsedNs: parts.elapsedNs,
    bytesPerSecond: rate > 0 ? rate : undefined,
    claimedBytesPerSecond: parts.claimed,
    basis: 'elapsed',
    status: rate > 0 ? 'ok' : 'failed',
    estimated: false,
    doubts: [...parts.doubts, ...unknown],
    line: page.number(at),
  });
}
