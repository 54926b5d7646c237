/**
 * How one line of a chart is told from another: by colour, by dashes and by the form of its points, so that it can be told in grey, by colour-blind
 * people, and where lines cross. Room `report`.
 */
import { type Html, html } from './markup.js';

export interface Look {
  /** A custom property of the style sheet, which has it for light, dark and paper. */
  readonly colour: string;
  /** `stroke-dasharray`; undefined for a whole line. */
  readonly dash: string | undefined;
  /** Plot's name of the form. */
  readonly symbol: 'circle' | 'square' | 'triangle' | 'diamond' | 'plus' | 'times' | 'star' | 'hexagon';
  /** Of a bar. */
  readonly fillOpacity: number;
}

const SYMBOLS = ['circle', 'square', 'triangle', 'diamond', 'plus', 'times', 'star', 'hexagon'] as const;
const DASHES = [undefined, '7 3', '2 3', '9 3 2 3', '12 4', '4 2', '1 2', '12 3 2 3 2 3'] as const;
/** As many as the style sheet has colours. */
export const COLOURS = 6;

/** The look of the n-th series, counted from 0; any number of them, though after some two dozen they come again. */
export function look(index: number): Look {
  return {
    colour: `var(--s${index % COLOURS})`,
    // Not the same period as the colours: the seventh line has the first colour, with other points.
    symbol: SYMBOLS[index % SYMBOLS.length] as Look['symbol'],
    dash: DASHES[index % DASHES.length],
    fillOpacity: [1, 0.45, 0.7, 0.25][index % 4] as number,
  };
}

/** Forms around 0,0 as a path, for the legend: small copies of what Plot draws. */
const FORMS: Readonly<Record<Look['symbol'], string>> = {
  circle: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z',
  square: 'M-3.5-3.5h7v7h-7z',
  triangle: 'M0-4.6 4.3 2.9h-8.6z',
  diamond: 'M0-5.2 3.2 0 0 5.2-3.2 0z',
  plus: 'M-1.2-4.5h2.4v3.3h3.3v2.4h-3.3v3.3h-2.4v-3.3h-3.3v-2.4h3.3z',
  times: 'M-4-2.3-2.3-4 0-1.7 2.3-4 4-2.3 1.7 0 4 2.3 2.3 4 0 1.7-2.3 4-4 2.3-1.7 0z',
  star: 'M0-5 1.2-1.6 4.8-1.6 1.9.6 3 4 0 2-3 4-1.9.6-4.8-1.6-1.2-1.6z',
  hexagon: 'M0-4.5 3.9-2.2v4.5L0 4.5-3.9 2.3v-4.5z',
};

/** A piece of the line as the chart has it, for the legend and the heads of tables. Says nothing to a screen reader: the name stands beside it. */
export function swatch({ colour, dash, symbol }: Look): Html {
  return html`<svg class="swatch" viewBox="0 0 34 12" aria-hidden="true" focusable="false"><path d="M1 6H33" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash ?? 'none'}"/><path d="${FORMS[symbol]}" transform="translate(17 6)" fill="${colour}"/></svg>`;
}

/** The same for bars. */
export function barSwatch({ colour, fillOpacity }: Look): Html {
  return html`<svg class="swatch" viewBox="0 0 34 12" aria-hidden="true" focusable="false"><rect x="1" y="1" width="32" height="10" fill="${colour}" fill-opacity="${fillOpacity}" stroke="${colour}"/></svg>`;
}

/** What the tool claimed: a thin line, hollow points. */
export function claimedSwatch(): Html {
  return html`<svg class="swatch" viewBox="0 0 34 12" aria-hidden="true" focusable="false"><path d="M1 6H33" stroke="currentColor" stroke-dasharray="1 4"/><circle cx="17" cy="6" r="3.5" fill="var(--page)" stroke="currentColor"/></svg>`;
}
