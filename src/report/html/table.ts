/** A table in a box that scrolls where the page is narrower. Room `report`. */
import { type Content, type Html, html } from './markup.js';

export interface Table {
  readonly caption: Content;
  /** For a screen reader, which meets the box before the caption. */
  readonly label: string;
  /** `<th scope="col">` … */
  readonly head: Content;
  /** How many columns; on paper, many are set smaller. */
  readonly columns?: number;
  /** `<tr>` … */
  readonly rows: readonly Html[];
}

/** On paper, longer tables may be broken between pages. */
const FEW = 14;
const MANY = 11;

export function tableBox({ caption, label, head, rows, columns = 0 }: Table): Html {
  return html`<div class="scroll${rows.length <= FEW && ' few'}${columns > MANY && ' many'}" role="group" tabindex="0" aria-label="${label}"><table>
<caption>${caption}</caption>
<thead><tr>${head}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}
