/**
 * The report: one HTML page with everything in it, to be posted, mailed and printed.
 *
 * Room `report`. The page has no script and asks no network: charts are drawn here (canvas.ts), the style sheet is in it (style.ts), and its own
 * policy forbids everything else. The same results give the same page, byte for byte. Whatever was typed by others is shown by markup.ts alone.
 */
import {
  type CompareOptions,
  compare,
  type SubjectComparison,
  setLabels,
} from '../../bench/comparison/index.js';
import type { ResultSet } from '../../bench/model.js';
import type { Unread } from '../comparison/data.js';
import { verdict } from '../verdict.js';
import { machinesSection, methodSection, unreadSection } from './background.js';
import {
  type BarGroup,
  barGroups,
  barSection,
  barTitle,
  barVerdict,
  isSingleSize,
  overviewSection,
  relabelled,
} from './bars.js';
import { openCanvas } from './canvas.js';
import { downloadLink, embed } from './data.js';
import { detailsTable } from './details.js';
import { kdfSection } from './kdf.js';
import { type Html, html, shorten } from './markup.js';
import { type Parts, partsOf } from './parts.js';
import { shell } from './shell.js';
import { subjectSection } from './subject.js';
import { heading, say } from './words.js';

export interface ReportOptions extends CompareOptions {
  /** Which subjects; by default all. The results that are embedded are all of them in any case. */
  readonly only?: (comparison: SubjectComparison) => boolean;
  /** Heading; by default what was measured on. */
  readonly title?: string;
  /** Lines that could not be read, or not in full, of each text; by default what the sets say of theirs. */
  readonly unread?: readonly Unread[];
}

/** The page. Never fails on what the results say. */
export async function reportPage(sets: readonly ResultSet[], options: ReportOptions = {}): Promise<string> {
  const canvas = await openCanvas();
  const labels = options.labels ?? setLabels(sets.map(({ source }) => source));
  const comparisons = compare(sets, { ...options, labels }).filter(options.only ?? (() => true));
  const parts = partsOf(sets, labels);
  const curves = comparisons.filter((own) => hasFigures(own) && !isSingleSize(own));
  const bars = barGroups(comparisons.filter(isSingleSize));
  const without = comparisons.filter((own) => !hasFigures(own));
  const title = options.title ?? defaultTitle(sets, labels);
  const sections = [
    overviewSection(canvas, curves),
    ...curves.map((own, i) => subjectSection(parts, canvas, own, i)),
    ...bars.map((own, i) => barSection(parts, canvas, own, i)),
    withoutFigures(parts, without),
    kdfSection(parts, canvas),
    machinesSection(parts),
    methodSection(parts),
    unreadSection(options.unread ?? sets.map(({ source, skipped }) => ({ source, lines: skipped }))),
  ];
  const page = html`<header>
<h1>${say(title, 200)}</h1>
${subtitle(parts)}
</header>
${inShort(curves, bars)}
${contents(parts, curves, bars)}
<main id="results">
${sections.length > 0 && sections}
${comparisons.length === 0 && sets.every(({ runs }) => runs.every(({ kdfs }) => kdfs.length === 0)) && html`<p>There are no results in this report.</p>`}
</main>
<footer>
<p class="screen">${downloadLink(sets, 'The results as a file')} that hwcrypt reads again (JSON).</p>
<p class="soft">Made by hwcrypt. MB is 10⁶ bytes, KiB 2¹⁰ bytes. The page is complete in itself: no script, nothing fetched.</p>
</footer>
${embed(sets)}`;
  return String(shell(title, page));
}

function hasFigures({ series }: SubjectComparison): boolean {
  return series.some(({ points }) => points.length > 0);
}

function defaultTitle(sets: readonly ResultSet[], labels: readonly string[]): string {
  const [machine, ...others] = new Set(sets.map(({ machine: { model, cpu } }) => model ?? cpu));
  if (machine !== undefined && others.length === 0) return `Crypto speed of ${shorten(machine, 60)}`;
  const named = labels.slice(0, 4).map((label) => shorten(label, 40));
  return named.length === 0
    ? 'Crypto speed'
    : `Crypto speed: ${named.join(', ')}${labels.length > 4 ? ' …' : ''}`;
}

function subtitle({ sets }: Parts): Html {
  const tools = [...new Set(sets.map(({ tool }) => tool))];
  const dates = sets.flatMap(({ measuredAt }) => (measuredAt === undefined ? [] : [measuredAt])).sort();
  if (tools.length === 0) return html``;
  return html`<p class="soft">Measured with ${tools.map((tool, i) => [i > 0 && ', ', say(tool)])}${dates.length > 0 && html`, ${say(dates[0]!.slice(0, 10))}`}.</p>`;
}

function inShort(curves: readonly SubjectComparison[], bars: readonly BarGroup[]): Html {
  const line = (name: string, text: string): Html =>
    html`<li><strong><bdi>${name}</bdi></strong>: <bdi>${shorten(text, 600)}</bdi></li>`;
  const lines = [
    ...curves.flatMap((own) =>
      own.pairs
        .filter(({ ratios }) => ratios.length > 0)
        .map((pair) => line(heading(own), `${verdict(pair).headline}.`)),
    ),
    ...bars.flatMap((group) =>
      barVerdict(group)
        .slice(0, 1)
        .map((text) => line(barTitle(group), text)),
    ),
  ];
  // One alone stands right below.
  if (lines.length < 2) return html``;
  const most = 8;
  return html`<section class="short" aria-labelledby="short-h"><h2 id="short-h">In short</h2><ul>${lines.slice(0, most)}</ul>${lines.length > most && html`<p class="soft">… and ${lines.length - most} more below.</p>`}</section>`;
}

function contents({ sets }: Parts, curves: readonly SubjectComparison[], bars: readonly BarGroup[]): Html {
  const links = [
    ...curves.map((own, i) => html`<li><a href="#s${i}"><bdi>${heading(own)}</bdi></a></li>`),
    ...bars.map((group, i) => html`<li><a href="#b${i}"><bdi>${barTitle(group)}</bdi></a></li>`),
    ...(sets.some(({ runs }) => runs.some(({ kdfs }) => kdfs.length > 0))
      ? [html`<li><a href="#kdf">Key derivation</a></li>`]
      : []),
    html`<li><a href="#machines">Machines</a></li>`,
    html`<li><a href="#method">How it was measured</a></li>`,
  ];
  return html`<nav aria-label="Contents"><ul>${links}</ul></nav>`;
}

function withoutFigures(parts: Parts, without: readonly SubjectComparison[]): Html {
  if (without.length === 0) return html``;
  const series = without.flatMap(relabelled);
  return html`<section id="without" aria-labelledby="without-h">
<h2 id="without-h">Without a figure to compare</h2>
${detailsTable(parts, series, 'without a figure')}
${parts.notes.print()}
</section>`;
}
