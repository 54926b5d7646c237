/** Every number of a subject, a row for each measurement. Room `report`. */
import type { Series } from '../../bench/comparison/index.js';
import { type Doubt, doubtsOf, type Measurement } from '../../bench/model.js';
import { percent, requestSize } from '../units.js';
import { count, digits, megabytesPerSecond, time } from './figures.js';
import { type Content, type Html, html } from './markup.js';
import { correction } from './notes.js';
import type { Parts } from './parts.js';
import { tableBox } from './table.js';
import { BASIS_WORDS, LEFT_OUT_WORDS, say } from './words.js';

interface Row {
  readonly series: Series;
  readonly measurement: Measurement;
  readonly doubts: readonly Doubt[];
  /** Why there is no figure. */
  readonly missing: string | undefined;
  readonly secondsPerGigabyte: number | undefined;
}

interface Column {
  readonly title: Content;
  readonly cell: (row: Row) => Content;
  readonly className?: string;
  /** Says nothing where this holds for no row. */
  readonly tells?: (row: Row) => boolean;
}

/** Longer tables are folded on a screen; on paper they are not. */
const LONG = 16;

export function detailsTable(parts: Parts, series: readonly Series[], name: string): Html {
  const rows = series.flatMap((own) => rowsOf(parts, own));
  if (rows.length === 0) return html``;
  const columns = columnsFor(parts).filter(
    ({ cell, tells }) => rows.some((row) => filled(cell(row))) && (!tells || rows.some(tells)),
  );
  const body = rows.map(
    (row) =>
      html`<tr>${columns.map(({ cell, className }, i) => {
        const content = cell(row);
        const text = filled(content) ? content : html`<span class="none">–</span>`;
        return i === 0
          ? html`<th scope="row" class="name">${text}</th>`
          : html`<td${className !== undefined && html` class="${className}"`}>${text}</td>`;
      })}</tr>`,
  );
  return html`<details${rows.length <= LONG && html` open`}><summary>Every number</summary>
${tableBox({
  label: 'Every number',
  caption: html`${name}`,
  head: html`${columns.map(({ title, className }, i) => html`<th scope="col"${(i === 0 || className !== undefined) && html` class="${className ?? 'name'}"`}>${title}</th>`)}`,
  rows: body,
  columns: columns.length,
})}</details>`;
}

function filled(content: Content): boolean {
  return content !== undefined && content !== '' && content !== false;
}

function rowsOf({ runOf }: Parts, series: Series): Row[] {
  const run = runOf(series);
  return [
    ...series.points.map(({ measurement, doubts, cpu }) => ({
      series,
      measurement,
      doubts,
      missing: undefined,
      secondsPerGigabyte: cpu?.nsPerByte,
    })),
    ...series.leftOut.map(({ measurement, reason }) => ({
      series,
      measurement,
      doubts: doubtsOf(run, measurement),
      missing: LEFT_OUT_WORDS[reason] ?? 'no figure',
      secondsPerGigabyte: undefined,
    })),
  ];
}

function columnsFor({ places, notes }: Parts): Column[] {
  const datum =
    (field: string, show: (value: number) => string) =>
    ({ measurement }: Row): Html | undefined =>
      places.datum(measurement, field, show);
  return [
    { title: 'series', cell: ({ series }) => say(series.label, 40) },
    { title: 'request', cell: datum('requestBytes', requestSize) },
    {
      title: 'MB/s',
      cell: ({ measurement, doubts, missing }) =>
        html`${missing === undefined ? places.datum(measurement, 'bytesPerSecond', megabytesPerSecond) : html`<span class="none">${missing}</span>`}${notes.refs(doubts)}`,
    },
    {
      title: html`claimed<small>MB/s</small>`,
      tells: ({ measurement: { claimedBytesPerSecond, bytesPerSecond } }) =>
        claimedBytesPerSecond !== undefined && claimedBytesPerSecond !== bytesPerSecond,
      cell: ({ measurement }) =>
        measurement.claimedBytesPerSecond === null
          ? 'no number'
          : places.datum(measurement, 'claimedBytesPerSecond', megabytesPerSecond),
    },
    { title: html`without the flaw<small>MB/s</small>`, cell: ({ doubts }) => correction(doubts) },
    {
      title: html`divided by<small>for the claim</small>`,
      tells: ({ measurement: { basis } }) => basis !== 'elapsed',
      cell: ({ measurement: { basis } }) => BASIS_WORDS[basis] ?? '',
    },
    { title: 'requests', cell: datum('requests', count) },
    { title: 'elapsed', cell: datum('elapsedNs', time) },
    { title: html`CPU<small>user</small>`, cell: datum('userNs', time) },
    { title: html`CPU<small>system</small>`, cell: datum('systemNs', time) },
    {
      title: html`CPU<small>s/GB</small>`,
      cell: ({ secondsPerGigabyte }) => secondsPerGigabyte !== undefined && digits(secondsPerGigabyte),
    },
    { title: html`one request<small>median</small>`, cell: datum('latency/p50Ns', time) },
    { title: html`one request<small>90 of 100</small>`, cell: datum('latency/p90Ns', time) },
    { title: html`one request<small>99 of 100</small>`, cell: datum('latency/p99Ns', time) },
    { title: 'rounds', cell: datum('rounds/count', count) },
    {
      title: html`spread<small>of the rounds</small>`,
      cell: datum('rounds/spread', (share) => (share < 1e6 ? percent(share) : '–')),
    },
    { title: 'interrupts', cell: datum('interrupts', count) },
    { title: 'at once', cell: datum('parallel', count) },
    { title: html`line<small>of the text</small>`, cell: datum('line', count) },
  ];
}
