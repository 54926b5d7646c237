/**
 * The results behind the page, in it: as JSON for programs, as a link for people, and each number in a table with the place that it has in the
 * JSON (`data-at`, an RFC 6901 pointer), so that page and JSON can be held against each other.
 *
 * Room `report`.
 */
import type { KdfMeasurement, Measurement, ResultSet } from '../../bench/model.js';
import { writeJson } from '../../interop/index.js';
import { type Content, type Html, html, raw } from './markup.js';

export const JSON_ID = 'hwcrypt-results';

/** A list of sets even where there is one, so that the pointers are always the same. */
export function embed(sets: readonly ResultSet[]): Html {
  // Only ASCII, and nothing that could end the element or begin a comment in it.
  const text = JSON.stringify(sets).replace(
    /[<>&\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return html`<script type="application/json" id="${JSON_ID}">${raw(text)}</script>`;
}

/** A link that saves the file which `hwcrypt` reads again, without asking any server. */
export function downloadLink(sets: readonly ResultSet[], text: Content): Html {
  const file = Buffer.from(writeJson(sets), 'utf8').toString('base64');
  return html`<a download="hwcrypt-results.json" href="data:application/json;base64,${file}">${text}</a>`;
}

/** Where each measurement is in the JSON. */
export class Places {
  readonly #places = new Map<Measurement | KdfMeasurement, string>();

  constructor(sets: readonly ResultSet[]) {
    for (const [s, { runs }] of sets.entries()) {
      for (const [r, { measurements, kdfs }] of runs.entries()) {
        for (const [m, own] of measurements.entries())
          this.#places.set(own, `/${s}/runs/${r}/measurements/${m}`);
        for (const [k, own] of kdfs.entries()) this.#places.set(own, `/${s}/runs/${r}/kdfs/${k}`);
      }
    }
  }

  /** The number that a measurement has under `field` (`latency/p50Ns` too), shown as `text`; nothing where it has none. */
  datum(of: Measurement | KdfMeasurement, field: string, show: (value: number) => string): Html | undefined {
    const value = field
      .split('/')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], of);
    if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
    return html`<data value="${String(value)}" data-at="${this.#places.get(of)}/${field}">${show(value)}</data>`;
  }
}
