/**
 * Room `interop`: other tools' benchmark texts, read and written.
 *
 * May import: `bench` (the result model), `algorithms`, `errors`. Nothing here runs a tool, reads a file or prints; texts come in and go out.
 *
 * `importResults` takes a text as somebody pasted it, which may hold the output of several tools, and gives a result set for each, the lines that
 * nobody could read, and nothing invented: what a text does not say is absent, and what it says wrongly carries a doubt. docs/formats.md says
 * for each format what is read, doubted and written.
 */
import type { ResultSet, SkippedLine } from '../bench/model.js';
import { HwcryptError } from '../errors.js';
import { readCryptodev } from './cryptodev.js';
import { readCryptsetup } from './cryptsetup.js';
import { readFacts } from './facts.js';
import { looksLikeJson, readJson } from './json.js';
import { readKcapi } from './kcapi.js';
import { readOpenssl } from './openssl.js';
import { Page } from './page.js';
import { readQemu } from './qemu.js';
import { baseName } from './redact.js';
import { decode } from './text.js';

export { cryptsetupCipherLine, cryptsetupKdfLine, withoutExtraPass, writeCryptsetup } from './cryptsetup.js';
export { csvLine, writeCsv } from './csv.js';
export { readJson, writeJson } from './json.js';
export { writeKcapiRaw } from './kcapi.js';
export {
  doingLine,
  doneLine,
  ELAPSED_SENTENCE,
  mrDoingLine,
  mrDoneLine,
  type OpensslChild,
  type OpensslHeader,
  type OpensslOutput,
  type OpensslStep,
  type OpensslTable,
  opensslChildren,
  opensslForked,
  opensslMrTable,
  opensslTable,
  writeOpenssl,
  writeOpensslMr,
} from './openssl-write.js';
export { qemuLine, qemuTable } from './qemu-write.js';

/** Formats that are read, by the name of the tool; `hwcrypt` is its own JSON. */
export type Format =
  | 'hwcrypt'
  | 'openssl speed'
  | 'sbc-bench'
  | 'cryptsetup benchmark'
  | 'kcapi-speed'
  | 'qemu benchmark-crypto'
  | 'cryptodev speed';

/**
 * In this order, since each takes the lines that are surely its own, and the rows of `openssl speed` have the least to be known by. sbc-bench's rows are
 * openssl's.
 */
const READERS: readonly ((page: Page) => ResultSet[])[] = [
  readCryptsetup,
  readKcapi,
  readCryptodev,
  readQemu,
  readOpenssl,
];

export interface ImportOptions {
  /** What to call the text: a file's name, of which the folders are dropped, or `-`. */
  readonly source?: string;
}

export interface Imported {
  /** One for each tool whose output is in the text, in order of first lines. */
  readonly sets: readonly ResultSet[];
  /** Lines that belong to no output that is known. Lines of a known output that could not be read are in its set's `skipped`. */
  readonly unread: readonly SkippedLine[];
}

/**
 * Reads a text. Never fails on what the text says: a text of nothing known gives no sets. Throws `INPUT_FILE` where it is larger than 64 MiB, or
 * is hwcrypt's JSON and broken.
 */
export function importResults(input: string | Uint8Array, options: ImportOptions = {}): Imported {
  const source = options.source === undefined ? '-' : baseName(options.source);
  const text = decode(input);
  if (looksLikeJson(text)) return { sets: readJson(text), unread: [] };
  const page = new Page(text, source);
  const sets = READERS.flatMap((read) => read(page)).sort((a, b) => firstLine(a) - firstLine(b));
  const facts = factsOf(page);
  return {
    sets: sets.map((set) => ({ ...set, machine: { ...facts, ...set.machine } })),
    unread: page.unread(),
  };
}

/** As `importResults`, where exactly one tool's output is expected. Throws `INPUT_FILE` where there is none, or more than one. */
export function importOne(input: string | Uint8Array, options: ImportOptions = {}): ResultSet {
  const { sets } = importResults(input, options);
  const [set] = sets;
  if (sets.length === 1 && set) return set;
  const found =
    sets.length === 0
      ? 'no known benchmark output'
      : `the output of several tools: ${sets.map(({ tool }) => tool).join(', ')}`;
  throw new HwcryptError(
    'INPUT_FILE',
    `${options.source === undefined ? 'the text' : baseName(options.source)} holds ${found}`,
  );
}

/** Which formats are in a text, in order of first lines. Empty where none is. */
export function detect(input: string | Uint8Array): Format[] {
  const text = decode(input);
  if (looksLikeJson(text)) return ['hwcrypt'];
  return [...new Set(importResults(text).sets.map(({ tool }) => tool))];
}

function firstLine({ runs, skipped }: ResultSet): number {
  return Math.min(
    ...[
      ...runs.slice(0, 1).map(({ lines }) => lines?.[0] ?? 0),
      ...skipped.slice(0, 1).map(({ line }) => line),
    ],
  );
}

/** What the text says of the machine, where it says one thing: a text of two machines says nothing. */
function factsOf(page: Page): ReturnType<typeof readFacts> {
  const out: Record<string, unknown> = {};
  const conflicting = new Set<string>();
  for (let at = 0; at < page.lines.length; at++) {
    const text = page.text(at);
    if (text.startsWith('compiler:') || text.startsWith('CPUINFO:')) continue;
    for (const [key, value] of Object.entries(readFacts(text))) {
      if (out[key] !== undefined && out[key] !== value) conflicting.add(key);
      out[key] ??= value;
      page.claim(at);
    }
  }
  for (const key of conflicting) delete out[key];
  return out;
}
