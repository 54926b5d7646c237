/** Footnotes: each doubt once on a page, with its number wherever a figure stands on it. Room `report`. */
import type { Doubt } from '../../bench/model.js';
import { megabytesPerSecond } from './figures.js';
import { type Html, html, shorten } from './markup.js';

interface Note {
  readonly number: number;
  readonly doubt: Doubt;
}

export class Notes {
  readonly #notes = new Map<string, Note>();
  /** Those that no section has printed yet. */
  #pending: Note[] = [];

  /** Links to the notes, to stand behind the figure. */
  refs(doubts: readonly Doubt[]): Html {
    const numbers = [...new Set(doubts.map((doubt) => this.#number(doubt)))].sort((a, b) => a - b);
    if (numbers.length === 0) return html``;
    const links = numbers.map(
      (number) =>
        html`<a href="#note-${number}" role="doc-noteref" aria-label="note ${number}">${number}</a>`,
    );
    return html`<sup>${links.flatMap((link, i) => (i === 0 ? [link] : [' ', link]))}</sup>`;
  }

  #number(doubt: Doubt): number {
    const key = JSON.stringify([doubt.code, doubt.text]);
    const known = this.#notes.get(key);
    if (known) return known.number;
    const note = { number: this.#notes.size + 1, doubt };
    this.#notes.set(key, note);
    this.#pending.push(note);
    return note.number;
  }

  /** The notes that have been referred to since the last call. */
  print(): Html {
    const notes = this.#pending;
    this.#pending = [];
    if (notes.length === 0) return html``;
    const items = notes.map(({ number, doubt: { code, text } }) => {
      return html`<li id="note-${number}" value="${number}" data-doubt="${shorten(code)}"><bdi>${shorten(text, 400)}</bdi> <small>(<code>${shorten(code)}</code>)</small></li>`;
    });
    return html`<ol class="notes" role="list" aria-label="Notes">${items}</ol>`;
  }
}

/** Doubts about every one of several figures: said once, at what they have in common. */
export function shared(points: readonly { readonly doubts: readonly Doubt[] }[]): Doubt[] {
  const [first, ...rest] = points;
  if (!first || rest.length === 0) return [];
  return first.doubts.filter((doubt) =>
    rest.every(({ doubts }) => doubts.some((other) => same(doubt, other))),
  );
}

export function without(doubts: readonly Doubt[], common: readonly Doubt[]): Doubt[] {
  return doubts.filter((doubt) => !common.some((other) => same(doubt, other)));
}

function same(a: Doubt, b: Doubt): boolean {
  return a.code === b.code && a.text === b.text;
}

/** What a doubt's figure would be without the flaw. */
export function correction(doubts: readonly Doubt[]): string | undefined {
  const found = doubts.find(({ correctedBytesPerSecond }) => correctedBytesPerSecond !== undefined);
  return found && megabytesPerSecond(found.correctedBytesPerSecond!);
}
