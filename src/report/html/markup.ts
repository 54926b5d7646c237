/**
 * HTML as a type: text becomes markup only by being escaped, or by `raw` where this room wrote it itself.
 *
 * Room `report`. What is shown comes from other people's pastes. So beside the characters that HTML takes as its own, those are made visible that
 * nobody sees and that change what is seen: controls, and the marks that turn the direction of writing round.
 */

/** Markup. Made by `html` and `raw` only. */
export class Html {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
}

export type Content = Html | string | number | undefined | false | readonly Content[];

/** Markup that this room wrote. Never for text from outside. */
export function raw(text: string): Html {
  return new Html(text);
}

/** A template whose values are escaped unless they are markup; lists are joined, and nothing is put for what is not there. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  let out = strings[0] as string;
  for (const [i, value] of values.entries()) out += render(value) + strings[i + 1];
  return new Html(out);
}

function render(value: Content): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return value.map(render).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for attribute values in quotes. */
export function escapeHtml(text: string): string {
  return visible(text).replace(/[&<>"']/g, (c) => ENTITIES[c] as string);
}

/**
 * Controls (but line feed and tab), halves of surrogate pairs, characters without width, marks of direction, tags and noncharacters, each spelt out
 * as `U+202E`.
 */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]|[\u{1bca0}-\u{1bca3}\u{e0000}-\u{e0fff}]|[\u{1fffe}\u{1ffff}\u{2fffe}\u{2ffff}\u{3fffe}\u{3ffff}\u{4fffe}\u{4ffff}\u{5fffe}\u{5ffff}\u{6fffe}\u{6ffff}\u{7fffe}\u{7ffff}\u{8fffe}\u{8ffff}\u{9fffe}\u{9ffff}\u{afffe}\u{affff}\u{bfffe}\u{bffff}\u{cfffe}\u{cffff}\u{dfffe}\u{dffff}\u{efffe}\u{effff}\u{ffffe}\u{fffff}\u{10fffe}\u{10ffff}]/gu,
    (c) => `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`,
  );
}

/** At most so many characters; what is left out of the middle is told by `…`. */
export function shorten(text: string, most = 80): string {
  // A name may have millions of characters: no more of them are looked at than are needed.
  const head = [...text.slice(0, most * 2)];
  if (text.length <= most * 2 && head.length <= most) return text;
  const tail = [...text.slice(-most * 2)];
  const end = Math.floor(most / 3);
  return `${head.slice(0, most - end - 1).join('')}…${tail.slice(-end).join('')}`;
}
