/** Key derivations: PBKDF2's rates as bars, Argon2's parameters in a table. Room `report`. */
import { doubtsOf, type KdfMeasurement, type Run } from '../../bench/model.js';
import type { Canvas } from './canvas.js';
import { barChart, describeBars, drawableBars } from './charts.js';
import { count, digits, time } from './figures.js';
import { barSwatch, look } from './look.js';
import { type Html, html } from './markup.js';
import type { Parts } from './parts.js';
import { tableBox } from './table.js';
import { STATUS_WORDS, say } from './words.js';

interface Row {
  readonly label: string;
  readonly run: Run;
  readonly kdf: KdfMeasurement;
}

export function kdfSection(parts: Parts, canvas: Canvas): Html {
  const rows = parts.sets.flatMap(({ runs }, i) =>
    runs.flatMap((run) => run.kdfs.map((kdf) => ({ label: parts.labels[i]!, run, kdf }))),
  );
  if (rows.length === 0) return html``;
  return html`<section id="kdf" aria-labelledby="kdf-h">
<h2 id="kdf-h">Key derivation</h2>
${rateFigure(canvas, rows)}
${table(parts, rows)}
${parts.notes.print()}
</section>`;
}

function name({ kdf, hash, algorithmText }: KdfMeasurement): string {
  return kdf === 'pbkdf2' ? `PBKDF2 ${hash ?? algorithmText}` : (hash ?? algorithmText);
}

function rateFigure(canvas: Canvas, rows: readonly Row[]): Html {
  const labels = [...new Set(rows.map(({ label }) => label))];
  const groups: string[] = [];
  // The same function measured again is a row of its own.
  const places = new Map<string, number>();
  const times = new Map<string, number>();
  const rowOf = (label: string, own: string): number => {
    const key = JSON.stringify([label, own]);
    const repetition = times.get(key) ?? 0;
    times.set(key, repetition + 1);
    const place = JSON.stringify([own, repetition]);
    if (!places.has(place)) places.set(place, groups.push(own) - 1);
    return places.get(place)!;
  };
  const all = rows.flatMap(({ label, kdf }) =>
    kdf.iterationsPerSecond === undefined
      ? []
      : [
          {
            group: rowOf(label, name(kdf)),
            series: labels.indexOf(label),
            value: kdf.iterationsPerSecond,
            text: digits(kdf.iterationsPerSecond),
          },
        ],
  );
  const bars = drawableBars(all);
  if (bars.length === 0) return html``;
  const title = 'PBKDF2, iterations a second';
  return html`<figure><figcaption>${title}<small>An engine seldom helps here: each iteration is two blocks of a hash. Less is slower to unlock, and to guess.</small></figcaption>
${labels.length > 1 && html`<ul class="legend">${labels.map((label, i) => html`<li>${barSwatch(look(i))}${say(label)}</li>`)}</ul>`}
${barChart(canvas, {
  id: 'kdf-rate',
  title,
  description: describeBars(bars, groups, labels),
  groups,
  bars,
})}
</figure>`;
}

function table({ places, notes }: Parts, rows: readonly Row[]): Html {
  const columns = [
    ['iterations a second', 'iterationsPerSecond', count],
    ['iterations', 'iterations', count],
    ['memory', 'memoryKiB', (value: number) => `${count(value)} KiB`],
    ['threads', 'threads', count],
    ['key', 'keyBits', (value: number) => `${count(value)} bits`],
    ['for', 'targetMs', (value: number) => `${count(value)} ms`],
    ['elapsed', 'elapsedNs', time],
  ] as const;
  const used = columns.filter(([, field]) => rows.some(({ kdf }) => kdf[field] !== undefined));
  const body = rows.map(
    ({ label, run, kdf }) =>
      html`<tr><th scope="row" class="name">${say(name(kdf))}${notes.refs(doubtsOf(run, kdf))}</th><td class="name">${say(label, 40)}</td>${used.map(
        ([, field, show], i) => {
          const missing = i === 0 ? STATUS_WORDS[kdf.status] || '–' : '–';
          return html`<td>${places.datum(kdf, field, show) ?? html`<span class="none">${missing}</span>`}</td>`;
        },
      )}</tr>`,
  );
  return tableBox({
    label: 'Key derivation as a table',
    caption: html`Key derivation`,
    head: html`<th scope="col" class="name">function</th><th scope="col" class="name">result</th>${used.map(([title]) => html`<th scope="col">${title}</th>`)}`,
    rows: body,
  });
}
