/**
 * One pasted text as all importers see it: its lines, who has used which, and what stands before a table.
 *
 * Importers read the same page in turn. Each claims the lines that it understood, so that in the end the lines that nobody claimed can be named.
 */
import type { Doubt, DoubtCode, MachineFacts, ResultSet, Run, SkippedLine, Tool } from '../bench/model.js';
import { RESULTS_FORMAT, RESULTS_VERSION } from '../bench/model.js';
import { type Command, type CommandTool, readCommand } from './command.js';
import { redact } from './redact.js';
import { type Line, MAX_LINE, readLines } from './text.js';

/** So many lines that could not be read are listed; whoever has more has the wrong file. */
const MAX_REPORTED = 2000;

/**
 * So many lines that hold anything are read: a month of benchmarks. A wrong file of some megabytes would else become a million measurements, which
 * cost more memory than a small machine has.
 */
export const MAX_LINES = 20_000;

/** `# aes-128-cbc, encrypt: MB/s of 10^6 bytes, median of the rounds; …` */
const OWN_HEADING = /^# .{1,60}: MB\/s of\b/;
const OWN_SENTENCE = /^# MB in the tables above is 2\^20 bytes/;
const MOST_PLOT_LINES = 20;

/** What stands between two outputs. */
export interface Context {
  /** Command lines of the tool in question, in order. A mention in a sentence only where there is no command line. */
  readonly commands: readonly Command[];
  readonly heading?: string;
}

export class Page {
  readonly lines: readonly Line[];
  readonly #claimed: Uint8Array;
  readonly #commands = new Map<number, Command>();
  /** Number of the first line that was not read, since there are too many. */
  readonly #end: number | undefined;
  #skips = 0;

  constructor(
    input: string | Uint8Array,
    readonly source: string,
  ) {
    const lines = readLines(input, MAX_LINES + 1);
    this.#end = lines[MAX_LINES]?.number;
    this.lines = lines.slice(0, MAX_LINES);
    this.#claimed = new Uint8Array(this.lines.length);
    for (let at = 0; at < this.lines.length; at++) {
      const command = readCommand(this.text(at));
      if (command) this.#commands.set(at, command);
    }
    this.#passOverOwn();
  }

  /**
   * What `hwcrypt speed` adds below a table is for people and says the same figures once more: `# ` lines from a heading of its own on, with a plot
   * among them at a terminal.
   */
  #passOverOwn(): void {
    for (let at = 0; at < this.lines.length; at++) {
      if (OWN_SENTENCE.test(this.text(at))) this.claim(at);
      if (!OWN_HEADING.test(this.text(at))) continue;
      at = this.#passOverComments(at);
      // Of other things after a blank line nothing is taken.
      if (this.text(at + 1) !== 'MB/s') continue;
      const from = at + 1;
      let end = from;
      while (end < from + MOST_PLOT_LINES && end < this.lines.length && !this.text(end).startsWith('# '))
        end++;
      if (!this.text(end).startsWith('# ')) continue;
      for (let line = from; line < end; line++) this.claim(line);
      at = this.#passOverComments(end);
    }
  }

  /** Claims the comments from there on, up to a blank line, and returns the last one's index. */
  #passOverComments(from: number): number {
    let at = from;
    do this.claim(at++);
    while (
      this.text(at).startsWith('# ') &&
      this.number(at) === this.number(at - 1) + 1 &&
      !this.command(at)?.strict
    );
    return at - 1;
  }

  /** The text of a line by its index, without blanks around it. Empty where the line is no line of a tool: too long, or not there. */
  text(at: number): string {
    const text = this.lines[at]?.text ?? '';
    return text.length > MAX_LINE ? '' : text.trim();
  }

  /** With the blanks: what a terminal wrapped is joined with them. */
  rawText(at: number): string {
    const text = this.lines[at]?.text ?? '';
    return text.length > MAX_LINE ? '' : text;
  }

  number(at: number): number {
    return this.lines[Math.min(at, this.lines.length - 1)]?.number ?? 0;
  }

  command(at: number, tool?: CommandTool): Command | undefined {
    const command = this.#commands.get(at);
    return tool === undefined || command?.tool === tool ? command : undefined;
  }

  claim(at: number): void {
    if (at < this.#claimed.length) this.#claimed[at] = 1;
  }

  isClaimed(at: number): boolean {
    return this.#claimed[at] === 1;
  }

  skip(at: number, reason: string): SkippedLine {
    this.claim(at);
    return { line: this.number(at), reason, text: ++this.#skips > MAX_REPORTED ? '' : redact(this.text(at)) };
  }

  /**
   * What stands between two lines by their indexes, both exclusive: the tool's command lines, and a heading. Claims them, so it is asked once for
   * a place. Costs the distance between the lines.
   */
  context(after: number, before: number, tool: CommandTool): Context {
    const strict: Command[] = [];
    let mention: Command | undefined;
    let strong: { text: string; at: number } | undefined;
    let nearest: { text: string; at: number } | undefined;
    let between = 0;
    for (let at = before - 1; at > after; at--) {
      const command = this.#commands.get(at);
      if (command?.tool === tool) {
        this.claim(at);
        if (command.strict) strict.unshift(command);
        else mention ??= command;
        continue;
      }
      // Another tool's command: what is above it belongs to that one.
      if (command?.strict) break;
      const text = this.text(at);
      if (text === '' || this.isClaimed(at)) continue;
      between++;
      const found = readHeading(text);
      if (found?.strong && between <= 12) strong ??= { text: found.text, at };
      if (found && between === 1) nearest = { text: found.text, at };
    }
    const commands = strict.length > 0 ? strict : mention ? [mention] : [];
    // Beside a command line any odd line above it could be taken for a heading; only one that looks like one is.
    const heading = strong ?? (strict.length > 0 ? undefined : nearest);
    if (heading) this.claim(heading.at);
    return { commands, ...(heading ? { heading: heading.text } : {}) };
  }

  /** Lines that nobody claimed, and that say something. */
  unread(): SkippedLine[] {
    const out: SkippedLine[] = [];
    let more = 0;
    for (let at = 0; at < this.lines.length; at++) {
      if (this.isClaimed(at)) continue;
      const raw = this.lines[at]!.text;
      // Blank lines and rules (`-----`, `|---|---|`) say nothing that could be missed.
      if (!/[\p{L}\p{N}]/u.test(raw)) continue;
      if (out.length >= MAX_REPORTED) {
        more++;
        continue;
      }
      const reason =
        raw.length > MAX_LINE ? `longer than ${MAX_LINE} characters` : 'not a line of a known benchmark';
      out.push({ line: this.number(at), reason, text: redact(raw) });
    }
    if (more > 0) out.push(others(out.at(-1)!.line, more));
    if (this.#end !== undefined) {
      const reason = `not read, and nothing after it: a text has ${MAX_LINES} lines at most`;
      out.push({ line: this.#end, reason, text: '' });
    }
    return out;
  }
}

function others(after: number, count: number): SkippedLine {
  return { line: after + 1, reason: `${count} more lines after this one are not listed`, text: '' };
}

/** A title over a table: marked as one (`# …`, `== … ==`, `…:`), or a short line of words. */
function readHeading(text: string): { text: string; strong: boolean } | undefined {
  if (text.length > 120) return undefined;
  const bare = text.replace(/^[#=\-~|.\s]{0,40}/, '').replace(/[#=\-~|:\s]{1,40}$/, '');
  if (!/\p{L}/u.test(bare)) return undefined;
  // `bala...bala`, `[…]`, `(snip)`: something was left out here, which is no title.
  if (/\.{3}|…|^[[(<]?(?:snip|snipped|cut|\u2026)[\])>]?$/i.test(text)) return undefined;
  const words = bare.replace(/^[^\p{L}\p{N}("'[]+/u, '');
  const marked = /^(?:#{1,40}|={2,}|-{2,} )\s*\S/.test(text) || /[^:]:$/.test(text);
  const numbers = bare.split(' ').filter((token) => /^[\d.,:]+[a-zA-Z%]{0,3}$/.test(token)).length;
  if (words === '' || (!marked && (numbers > 2 || words.length > 100))) return undefined;
  return { text: redact(words, 80), strong: marked };
}

export function doubt(code: DoubtCode, text: string, correctedBytesPerSecond?: number): Doubt {
  return { code, text, ...(correctedBytesPerSecond !== undefined ? { correctedBytesPerSecond } : {}) };
}

/** A result set around what an importer found. */
export function resultSet(
  page: Page,
  tool: Tool,
  parts: {
    readonly runs: readonly Run[];
    readonly skipped?: readonly SkippedLine[];
    readonly notes?: readonly string[];
    readonly machine?: MachineFacts;
  },
): ResultSet {
  const versions = new Set(parts.runs.map((run) => run.toolVersion));
  const [version] = versions;
  return {
    format: RESULTS_FORMAT,
    version: RESULTS_VERSION,
    tool,
    ...(versions.size === 1 && version !== undefined ? { toolVersion: version } : {}),
    source: page.source,
    machine: parts.machine ?? {},
    runs: parts.runs,
    skipped: shortened(parts.skipped ?? []),
    notes: parts.notes ?? [],
  };
}

function shortened(skipped: readonly SkippedLine[]): readonly SkippedLine[] {
  if (skipped.length <= MAX_REPORTED) return skipped;
  const shown = skipped.slice(0, MAX_REPORTED);
  return [...shown, others(shown.at(-1)!.line, skipped.length - MAX_REPORTED)];
}

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

/** A T of which the optional properties may be given as undefined. */
export type Parts<T> = Omit<T, OptionalKeys<T>> & { [K in OptionalKeys<T>]?: T[K] | undefined };

/** The object without what is undefined: a property that is not known is absent, in memory as in JSON. */
export function present<T extends object>(parts: Parts<T>): T {
  const out: Record<string, unknown> = {};
  for (const key in parts) {
    const value = (parts as Record<string, unknown>)[key];
    if (value !== undefined) out[key] = value;
  }
  return out as T;
}
