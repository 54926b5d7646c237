/**
 * The speed tests of cryptodev-linux (tests/speed.c, sha_speed.c, async_speed.c, hashcrypt_speed.c): for each chunk size
 * `\tEncrypting in chunks of 512 bytes: done. 110.86 MB in 5.00 secs: 22.17 MB/sec`. MB is 10^6, with --kib MiB and 2^20.
 *
 * The titles (`Testing AES-128-CBC cipher: `) go to standard error and are lost in many copies; then it is not known what was encrypted: the
 * first of two sequences is the NULL cipher, the cost of the interface alone.
 */

import { findAlgorithm } from '../algorithms.js';
import type { Doubt, Measurement, Operation, ResultSet, Run, SkippedLine } from '../bench/model.js';
import { cryptodevAlgorithm, kernelAlgorithm, keyBitsOf, operationOf } from './names.js';
import { isRateUnit, readDecimal, unitBytes } from './numbers.js';
import { doubt, type Page, present, resultSet } from './page.js';
import { redact } from './redact.js';

interface Title {
  readonly text: string;
  readonly kind: 'cipher' | 'hash' | 'both';
}

function readTitle(text: string): Title | undefined {
  const match = /^Testing (\S{1,40})(?: with (\S{1,40}))? (cipher|Hash|hash)s?:?$/.exec(
    text.replace(/ ?:$/, ':'),
  );
  if (!match) return undefined;
  if (match[2] !== undefined) return { text: `${match[1]} with ${match[2]}`, kind: 'both' };
  return { text: match[1]!, kind: match[3] === 'cipher' ? 'cipher' : 'hash' };
}

const CHUNK = /^(?:Encrypting|Hashing|Decrypting) in chunks of (\d{1,9}) bytes: ?/;

interface Figures {
  readonly elapsedSeconds: number;
  readonly bytes: number;
  readonly rate: number;
  /** The rate's unit, and one unit in its last printed place. */
  readonly unit: string;
  readonly last: number;
}

function readFigures(text: string): Figures | undefined {
  const match =
    /^(?:errno = \d{1,4} )?done\. ([\d.,]{1,20}) ([KMGT]?i?B) in ([\d.,]{1,12}) secs: ([\d.,]{1,20}) ([KMGT]?i?B\/sec)\b/.exec(
      text,
    );
  if (!match) return undefined;
  const [amount, seconds, rate] = [match[1]!, match[3]!, match[4]!].map(
    (token) => readDecimal(token, 2)?.value,
  );
  if (amount === undefined || seconds === undefined || rate === undefined || !isRateUnit(match[5]!))
    return undefined;
  const unit = unitBytes(match[5]!)!;
  return {
    elapsedSeconds: seconds,
    bytes: amount * unitBytes(match[2]!)!,
    rate: rate * unit,
    unit: match[5]!,
    last: unit / 100,
  };
}

interface Draft {
  title: Title | undefined;
  kernelDriver: string | undefined;
  kernelName: string | undefined;
  label: string | undefined;
  command: string | undefined;
  first: number;
  last: number;
  readonly sizes: Set<number>;
  readonly measurements: Measurement[];
}

/** Everything that a page holds of cryptodev's speed tests. */
export function readCryptodev(page: Page): ResultSet[] {
  const drafts: Draft[] = [];
  const skipped: SkippedLine[] = [];
  let title: Title | undefined;
  let bound: { name: string; driver: string } | undefined;
  let lastContent = -1;
  let isNew = true;

  const draftFor = (at: number, size: number): Draft => {
    const { commands, heading } = page.context(lastContent, at, 'cryptodev speed');
    let draft = drafts.at(-1);
    if (!draft || isNew || commands.length > 0 || draft.sizes.has(size)) {
      draft = {
        title,
        kernelDriver: bound?.driver,
        kernelName: bound?.name,
        label: heading,
        command: commands.at(-1)?.text,
        first: at,
        last: at,
        sizes: new Set(),
        measurements: [],
      };
      drafts.push(draft);
      isNew = false;
    }
    draft.sizes.add(size);
    draft.last = at;
    lastContent = at;
    page.claim(at);
    return draft;
  };

  for (let at = 0; at < page.lines.length; at++) {
    if (page.isClaimed(at)) continue;
    const text = page.text(at);
    if (text === '') continue;
    const found = readTitle(text);
    if (found) {
      title = found;
      bound = undefined;
      isNew = true;
      page.claim(at);
      continue;
    }
    const got = /^requested (?:hash|cipher) (\w{1,40}), got (\S{1,80}) with driver (\S{1,80})$/.exec(text);
    if (got) {
      bound = { name: got[2]!, driver: got[3]! };
      // Without its title, this line alone says what is measured.
      title ??= { text: got[1]!, kind: 'hash' };
      if (drafts.length > 0 && !isNew) title = { text: got[1]!, kind: 'hash' };
      isNew = true;
      page.claim(at);
      continue;
    }
    const chunk = CHUNK.exec(text);
    if (!chunk) continue;
    const size = Number(chunk[1]);
    let rest = text.slice(chunk[0].length);
    let figures = readFigures(rest);
    let end = at;
    if (!figures && !CHUNK.test(page.text(at + 1))) {
      // Wrapped, or a message fell into it.
      for (const candidate of [
        rest + page.rawText(at + 1).trimEnd(),
        `${rest.trim()} ${page.text(at + 1)}`,
        page.text(at + 1),
      ]) {
        figures ??= readFigures(candidate.trim());
      }
      if (figures) end = at + 1;
    }
    const draft = draftFor(at, size);
    if (end > at) {
      page.claim(end);
      lastContent = end;
      rest = '';
    }
    if (figures) {
      draft.measurements.push(measurementOf(page, at, size, figures, draft));
      at = end;
    } else if (/^ioctl\(|failed/.test(rest)) {
      draft.measurements.push(measurementOf(page, at, size, undefined, draft));
      skipped.push(page.skip(at, 'the request failed; there is no figure'));
    } else {
      skipped.push(page.skip(at, 'cut off before the figures'));
    }
  }
  const runs = drafts.map(
    (draft): Run =>
      present<Run>({
        label: draft.label ?? draft.title?.text ?? draft.command ?? 'cryptodev speed',
        command: draft.command,
        lines: [page.number(draft.first), page.number(draft.last)],
        measurements: draft.measurements,
        kdfs: [],
        doubts: [],
        notes: [],
      }),
  );
  return runs.length > 0 ? [resultSet(page, 'cryptodev speed', { runs, skipped })] : [];
}

function measurementOf(
  page: Page,
  at: number,
  size: number,
  figures: Figures | undefined,
  draft: Draft,
): Measurement {
  const { title } = draft;
  const doubts: Doubt[] = [];
  const isNull = title?.text.toUpperCase() === 'NULL';
  const algorithm =
    title === undefined || title.kind === 'both'
      ? undefined
      : (cryptodevAlgorithm(title.text) ??
        kernelAlgorithm(draft.kernelName ?? '') ??
        findAlgorithm(draft.kernelName ?? ''));
  if (isNull)
    doubts.push(
      doubt('INTERFACE_ONLY', 'the NULL cipher: what /dev/crypto costs, with no cryptography in it'),
    );
  else if (!algorithm) {
    doubts.push(
      doubt(
        'ALGORITHM_UNKNOWN',
        title === undefined
          ? 'the title (`Testing …`) is missing; without it this may be AES-128-CBC or the NULL cipher'
          : 'no single algorithm of this name in the table',
      ),
    );
  }
  if (figures && figures.elapsedSeconds > 0) {
    const own = figures.bytes / figures.elapsedSeconds;
    if (Math.abs(own - figures.rate) > 0.01 * figures.rate + figures.last) {
      doubts.push(doubt('CLAIM_MISMATCH', 'the printed rate and bytes over seconds differ', own));
    }
  }
  const operation: Operation | undefined =
    title === undefined
      ? undefined
      : title.kind === 'both'
        ? 'cipher+mac'
        : (operationOf(algorithm) ?? (title.kind === 'cipher' ? 'encrypt' : 'digest'));
  const ok = figures !== undefined && figures.rate > 0;
  return present<Measurement>({
    algorithm: algorithm?.name,
    algorithmText: redact(title?.text ?? '', 60),
    keyBits: keyBitsOf(algorithm),
    operation,
    driver: 'cryptodev',
    kernelDriver: draft.kernelDriver === undefined ? undefined : redact(draft.kernelDriver, 60),
    requestBytes: size,
    elapsedNs: figures ? Math.round(figures.elapsedSeconds * 1e9) : undefined,
    bytesPerSecond: ok ? figures.rate : undefined,
    claimedBytesPerSecond: figures?.rate,
    basis: 'elapsed',
    status: ok ? 'ok' : 'failed',
    estimated: false,
    doubts,
    line: page.number(at),
  });
}
