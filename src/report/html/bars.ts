/** Subjects with one request size, as cryptsetup benchmark has them: bars side by side instead of curves, and one table for all. Room `report`. */
import type { Point, Series, Subject, SubjectComparison } from '../../bench/comparison/index.js';
import type { Operation } from '../../bench/model.js';
import { alike, summarySentences } from '../comparison/matrix.js';
import { requestSize } from '../units.js';
import { apartText, verdictText } from '../verdict.js';
import type { Canvas } from './canvas.js';
import { barChart, describeBars, drawableBars } from './charts.js';
import { detailsTable } from './details.js';
import { megabytesPerSecond, ratioText } from './figures.js';
import { barSwatch, look } from './look.js';
import { type Html, html, shorten } from './markup.js';
import { shared, without } from './notes.js';
import type { Parts } from './parts.js';
import { tableBox } from './table.js';
import { algorithmName, heading, operationWords, say } from './words.js';

/** Does no series have a second size? */
export function isSingleSize({ series }: SubjectComparison): boolean {
  return series.every(({ points }) => points.length <= 1) && series.some(({ points }) => points.length === 1);
}

export interface BarGroup {
  /** Undefined where sizes differ. */
  readonly requestBytes: number | undefined;
  readonly subjects: readonly SubjectComparison[];
}

/** One group for each request size, in order of first appearance. */
export function barGroups(comparisons: readonly SubjectComparison[]): BarGroup[] {
  const groups = new Map<string, BarGroup & { readonly subjects: SubjectComparison[] }>();
  for (const comparison of comparisons) {
    const sizes = new Set(
      comparison.series.flatMap(({ points }) => points.map(({ requestBytes }) => requestBytes)),
    );
    const requestBytes = sizes.size === 1 ? [...sizes][0] : undefined;
    // Ratios in one table are to one baseline.
    const key = JSON.stringify([requestBytes, comparison.apartFrom && comparison.baseline?.label]);
    const group = groups.get(key) ?? { requestBytes, subjects: [] };
    groups.set(key, group);
    group.subjects.push(comparison);
  }
  return [...groups.values()];
}

export function barTitle({ requestBytes, subjects }: BarGroup): string {
  if (subjects.length === 1) return heading(subjects[0]!);
  return requestBytes === undefined
    ? `${subjects.length} algorithms, one request size each`
    : `${subjects.length} rows at ${requestSize(requestBytes)} a request`;
}

/** What it comes to, in sentences. */
export function barVerdict({ subjects }: BarGroup): string[] {
  const compared = subjects.filter(({ pairs }) => pairs.length > 0);
  const sentences =
    subjects.length === 1
      ? compared.flatMap(({ pairs }) => pairs.map(verdictText))
      : alike(compared).flatMap(summarySentences);
  return [...sentences, ...new Set(compared.flatMap((own) => apartText(own) ?? []))];
}

function verdictList(sentences: readonly string[]): Html {
  const [only, ...more] = sentences.map((text) => html`<bdi>${shorten(text, 1200)}</bdi>`);
  if (more.length === 0) return html`${only && html`<p class="verdict">${only}</p>`}`;
  return html`<ul class="verdict">${[only, ...more].map((text) => html`<li>${text}</li>`)}</ul>`;
}

/** The series under names that say the subject too, for a table of several subjects. */
export function relabelled(comparison: SubjectComparison): Series[] {
  return comparison.series.map((own) => ({ ...own, label: `${heading(comparison)}, ${own.label}` }));
}

export function barSection(parts: Parts, canvas: Canvas, group: BarGroup, index: number): Html {
  const id = `b${index}`;
  const labels = [...new Set(group.subjects.flatMap(({ series }) => series.map(({ label }) => label)))];
  const operations = [...new Set(group.subjects.map(({ subject }) => subject.operation))];
  return html`<section id="${id}" aria-labelledby="${id}-h">
<h2 id="${id}-h"><bdi>${barTitle(group)}</bdi></h2>
${verdictList(barVerdict(group))}
${operations.map((operation, i) => figure(canvas, `${id}-${i}`, group, operation, labels))}
${table(parts, group, labels)}
${detailsTable(
  parts,
  group.subjects.flatMap((own) => relabelled(own)),
  barTitle(group),
)}
${parts.notes.print()}
</section>`;
}

/** Fewer subjects are overlooked without a chart of their own. */
const LEAST_OVERVIEW = 4;

/** Many subjects over several sizes: all of them in one chart, at the size that most of them have, the largest of such. */
export function overviewSection(canvas: Canvas, comparisons: readonly SubjectComparison[]): Html {
  const count = new Map<number, number>();
  for (const { series } of comparisons) {
    const own = new Set(series.flatMap(({ points }) => points.map(({ requestBytes }) => requestBytes)));
    for (const bytes of own) count.set(bytes, (count.get(bytes) ?? 0) + 1);
  }
  const [most] = [...count].sort(([a, many], [b, more]) => more - many || b - a);
  if (!most || most[1] < LEAST_OVERVIEW) return html``;
  const [requestBytes] = most;
  // A subject that is there with several baselines has one row here.
  const bySubject = new Map<Subject, SubjectComparison>();
  for (const own of comparisons) {
    const known = bySubject.get(own.subject);
    const series = [...new Set([...(known?.series ?? []), ...own.series])];
    bySubject.set(own.subject, { ...(known ?? own), series });
  }
  const subjects = [...bySubject.values()].map((own) => ({
    ...own,
    series: own.series.map((series) => ({
      ...series,
      points: series.points.filter((point) => point.requestBytes === requestBytes),
    })),
  }));
  const labels = [...new Set(subjects.flatMap(({ series }) => series.map(({ label }) => label)))];
  const operations = [...new Set(subjects.map(({ subject }) => subject.operation))];
  return html`<section id="overview" aria-labelledby="overview-h">
<h2 id="overview-h">All at ${requestSize(requestBytes)} a request</h2>
${operations.map((operation, i) => figure(canvas, `overview-${i}`, { subjects, requestBytes }, operation, labels))}
</section>`;
}

/** Behind a figure of which nobody says what was measured. */
const OPEN = ' *';

function figure(
  canvas: Canvas,
  id: string,
  { subjects, requestBytes }: BarGroup,
  operation: Operation | undefined,
  labels: readonly string[],
): Html {
  const own = subjects.filter(({ subject }) => subject.operation === operation);
  const groups = own.map(({ subject }) => algorithmName(subject));
  const all = own.flatMap(({ series }, row) =>
    series.flatMap(({ label, operationOpen, points: [point] }) =>
      point
        ? [
            {
              group: row,
              series: labels.indexOf(label),
              value: point.bytesPerSecond / 1e6,
              text: `${megabytesPerSecond(point.bytesPerSecond)}${operationOpen ? OPEN : ''}`,
            },
          ]
        : [],
    ),
  );
  const bars = drawableBars(all);
  if (bars.length === 0) return html``;
  // One look for all charts of a section, but none of them names who has no bar in it.
  const used = labels.flatMap((label, i) => (bars.some(({ series }) => series === i) ? [{ label, i }] : []));
  const open = bars.some(({ text }) => text.endsWith(OPEN));
  const words = operationWords(operation);
  const title = `Throughput in MB/s${words ? `, ${words}` : ''}`;
  return html`<figure><figcaption>${title}<small>${requestBytes !== undefined && `Requests of ${requestSize(requestBytes)}. `}MB/s are 10⁶ bytes a second of elapsed time.</small></figcaption>
${bars.length < all.length && html`<p class="soft">${bars.length} of ${all.length} figures are drawn; the tables have all of them.</p>`}
<ul class="legend">${used.map(({ label, i }) => html`<li>${barSwatch(look(i))}${say(label)}</li>`)}</ul>
${open && html`<p class="soft">* Which operation this is, its text does not say; it stands in the chart of each.</p>`}
${barChart(canvas, {
  id,
  title,
  description: describeBars(bars, groups, labels),
  groups,
  bars,
})}
</figure>`;
}

function table({ places, notes }: Parts, { subjects }: BarGroup, labels: readonly string[]): Html {
  const baseline = subjects.find((own) => own.baseline)?.baseline?.label;
  // A ratio needs the same baseline in all rows.
  const compared = labels.filter(
    (label) =>
      label !== baseline &&
      subjects.some(({ pairs }) =>
        pairs.some(
          (pair) => pair.other.label === label && pair.baseline.label === baseline && pair.ratios.length > 0,
        ),
      ),
  );
  const common = new Map(
    labels.map((label) => [
      label,
      shared(
        subjects.flatMap(({ series }) =>
          series.filter((own) => own.label === label).flatMap(({ points }) => points),
        ),
      ),
    ]),
  );
  const head = labels.map(
    (label, i) =>
      html`<th scope="col">${barSwatch(look(i))}${say(label, 40)}${notes.refs(common.get(label)!)}</th>${compared.includes(label) && html`<th scope="col">ratio<small>to ${say(baseline ?? '', 40)}</small></th>`}`,
  );
  const rows = subjects.map((comparison) => {
    const { series, pairs } = comparison;
    const cells = labels.map((label) => {
      const own = series.find((one) => one.label === label);
      const at = pairs.find((pair) => pair.other.label === label && pair.baseline.label === baseline)
        ?.ratios[0];
      const side = at?.outcome === 'faster' ? 'win' : at?.outcome === 'slower' ? 'lose' : 'even';
      const ratio =
        compared.includes(label) &&
        (at
          ? html`<td class="${side}"><data value="${String(at.ratio)}">${ratioText(at.ratio)}</data></td>`
          : html`<td class="none">–</td>`);
      return html`<td>${figureOf(own)}</td>${ratio}`;
    });
    return html`<tr><th scope="row" class="name"><bdi>${heading(comparison)}</bdi></th>${cells}</tr>`;
  });
  function figureOf(own: Series | undefined): Html {
    const point: Point | undefined = own?.points[0];
    return point
      ? html`${places.datum(point.measurement, 'bytesPerSecond', megabytesPerSecond)}${notes.refs(without(point.doubts, common.get(own!.label) ?? []))}`
      : html`<span class="none">–</span>`;
  }
  return tableBox({
    label: 'Throughput as a table',
    caption: html`Throughput, MB/s`,
    head: html`<th scope="col" class="name">algorithm</th>${head}`,
    rows: rows,
  });
}
