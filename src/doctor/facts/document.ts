/**
 * A text as the fact readers see it: cleaned lines, and the sections of a probe's bundle where it is one. A text may also be a single pasted file, or
 * a bundle pasted twice, cut off, or with other things around it; then its lines have no section, and readers know them by their form.
 */
import { baseName, redact } from '../../interop/redact.js';
import { decode, readLines } from '../../interop/text.js';

/** Where a fact stands, to be shown. */
export interface Quote {
  readonly source: string;
  /** Counted from 1; 0 where the fact has no line (it was found out live). */
  readonly line: number;
  /** Without secrets and control characters, shortened. */
  readonly text: string;
}

export interface Sourced<T> {
  readonly value: T;
  readonly quote: Quote;
}

export interface DocumentLine {
  readonly number: number;
  /** Without blanks around it. */
  readonly text: string;
  /** Name of the bundle's section that it stands in. */
  readonly section?: string;
}

export interface Section {
  readonly name: string;
  /** What was run or read, as the heading says. */
  readonly what: string;
  readonly number: number;
  readonly lines: readonly DocumentLine[];
}

const HEADING = /^\[\[([a-z][a-z0-9-]{1,40})\]\] ?(.{0,400})$/;
const MOST_TEXT = 4096;
/** Three bundles of the largest kind. What comes after is not read, so that a wrong file costs no minute. */
export const MOST_LINES = 40_000;

/** A text that came in, by its name. */
export interface Source {
  readonly name: string;
  readonly text: string | Uint8Array;
}

export class Document {
  readonly name: string;
  readonly lines: readonly DocumentLine[];
  readonly sections: readonly Section[];
  /** Lines outside of all sections. */
  readonly loose: readonly DocumentLine[];
  /** Is there a bundle of the probe in it, and does it go on to its end? */
  readonly bundle: 'none' | 'whole' | 'truncated';
  /** Only the first `MOST_LINES` were read. */
  readonly cut: boolean;
  readonly #redacted = new Map<string, string>();

  constructor({ name, text }: Source) {
    this.name = name === '-' ? name : baseName(name);
    const whole = decode(text);
    const part = firstLines(whole, MOST_LINES);
    this.cut = part.length < whole.length;
    const lines: DocumentLine[] = [];
    const loose: DocumentLine[] = [];
    const sections: { name: string; what: string; number: number; lines: DocumentLine[] }[] = [];
    let open: (typeof sections)[number] | undefined;
    let began = false;
    let ended = false;
    // NUL bytes are what device trees and block devices put into texts.
    for (const { number, text: raw } of readLines(part.replaceAll('\0', ' '))) {
      const line = raw.trim().slice(0, MOST_TEXT);
      const heading = HEADING.exec(line);
      if (heading) {
        const [, section, what] = heading as unknown as [string, string, string];
        ended = section === 'end';
        open = ended ? undefined : { name: section, what, number, lines: [] };
        if (open) sections.push(open);
        continue;
      }
      if (/^hwcrypt-probe \d{1,4}$/.test(line)) {
        [began, ended, open] = [true, false, undefined];
        continue;
      }
      const own: DocumentLine = { number, text: line, ...(open ? { section: open.name } : {}) };
      lines.push(own);
      if (open) open.lines.push(own);
      else loose.push(own);
    }
    this.lines = lines;
    this.loose = loose;
    this.sections = sections;
    this.bundle = began || sections.length > 0 ? (ended ? 'whole' : 'truncated') : 'none';
  }

  quote({ number, text }: DocumentLine): Quote {
    let redacted = this.#redacted.get(text);
    if (redacted === undefined) {
      redacted = redact(text);
      this.#redacted.set(text, redacted);
    }
    return { source: this.name, line: number, text: redacted };
  }

  /** Lines of these sections, and all that have no section. */
  in(...names: string[]): DocumentLine[] {
    return this.lines.filter(({ section }) => section === undefined || names.includes(section));
  }

  /** Is the last section cut off? Then what is not in it may have been there. */
  isCut(section: string): boolean {
    return this.bundle === 'truncated' && this.sections.at(-1)?.name === section;
  }
}

function firstLines(text: string, most: number): string {
  let at = 0;
  for (let line = 0; line < most; line++) {
    at = text.indexOf('\n', at) + 1;
    if (at === 0) return text;
  }
  return text.slice(0, at);
}
