/** What the doctor found, as a page to be posted: the verdict, findings with what to do, charts of the figures, and what they rest on. Room `report`. */
import { compare, setLabels } from '../../bench/comparison/index.js';
import type { ResultSet } from '../../bench/model.js';
import type { Diagnosis, Finding } from '../../doctor/index.js';
import { machineLine, quoteText, SYSTEM_NAMES } from '../diagnosis.js';
import { barGroups, barSection, isSingleSize } from './bars.js';
import { openCanvas } from './canvas.js';
import { downloadLink, embed } from './data.js';
import { type Html, html } from './markup.js';
import { partsOf } from './parts.js';
import { shell } from './shell.js';
import { subjectSection } from './subject.js';
import { say } from './words.js';

const KINDS = { problem: 'Problem', advice: 'Advice', fine: 'Nothing to do' } as const;
const LONG = 2000;

/**
 * One page without script; the same diagnosis gives the same page.
 *
 * @param figures those of the texts; where there are none, the page has no charts
 */
export async function diagnosisPage(
  diagnosis: Diagnosis,
  figures: readonly ResultSet[] = [],
): Promise<string> {
  const { verdict, findings, machine } = diagnosis;
  const todo = findings.filter(({ kind }) => kind !== 'fine');
  const fine = findings.filter(({ kind }) => kind === 'fine');
  const known = machineLine(machine);
  const sets = called(figures);
  const charts = await chartsOf(sets);
  const page = html`<header>
<h1>${say(verdict, LONG)}.</h1>
${known !== '' && html`<p class="soft">${say(known, 300)}</p>`}
</header>
<main id="results">
${todo.map((finding, index) => section(finding, `f${index}`))}
${fine.length > 0 && html`<section aria-labelledby="fine-h"><h2 id="fine-h">Nothing to do about these</h2>${fine.map((finding) => part(finding))}</section>`}
${charts}
${sources(diagnosis)}
</main>
<footer>${charts.length > 0 && html`<p class="screen">${downloadLink(sets, 'The figures as a file')} that hwcrypt reads again (JSON).</p>`}<p class="soft">Made by hwcrypt. The page is complete in itself: no script, nothing fetched. Keys, names and addresses in the texts were taken out; read it before you post it all the same.</p></footer>
${charts.length > 0 && embed(sets)}`;
  return String(shell(verdict, page));
}

/** More of them are a benchmark's, not a diagnosis'; `hwcrypt report` draws all. */
const MOST_SUBJECTS = 8;

/** Each subject of the figures as `hwcrypt report` shows it. */
async function chartsOf(sets: readonly ResultSet[]): Promise<Html[]> {
  const labels = setLabels(sets.map(({ source }) => source));
  const comparisons = compare(sets, { labels }).filter(({ series }) =>
    series.some(({ points }) => points.length > 0),
  );
  if (comparisons.length === 0) return [];
  const canvas = await openCanvas();
  const parts = partsOf(sets, labels);
  // Two of a kind beside each other are what a verdict rests on.
  const curves = comparisons
    .filter((own) => !isSingleSize(own))
    .sort((a, b) => Number(b.pairs.length > 0) - Number(a.pairs.length > 0))
    .slice(0, MOST_SUBJECTS);
  return [
    ...curves.map((own, index) => subjectSection(parts, canvas, own, index)),
    ...barGroups(comparisons.filter(isSingleSize)).map((own, index) => barSection(parts, canvas, own, index)),
  ];
}

/** Several runs of one bundle have one name, and nobody could tell which curve is the engine's: they are called by who did the work. */
function called(sets: readonly ResultSet[]): ResultSet[] {
  return sets.map((set) => {
    const alone = sets.filter(({ source }) => source === set.source).length < 2;
    const [engine, ...others] = new Set(set.runs.map(({ engine: own }) => own?.requested));
    if (alone || set.tool !== 'openssl speed' || set.runs.length === 0 || others.length > 0) return set;
    return { ...set, source: engine ?? 'software' };
  });
}

function section(finding: Finding, id: string): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${say(finding.verdict, LONG)}</h2>${body(finding)}</section>`;
}

function part(finding: Finding): Html {
  return html`<h3>${say(finding.verdict, LONG)}</h3>${body(finding)}`;
}

function body({ kind, sureness, details, gain, steps, evidence }: Finding): Html {
  return html`<p class="soft">${KINDS[kind]}, ${sureness}</p>
${details.map((text) => html`<p>${say(text, LONG)}</p>`)}
${gain !== undefined && html`<p>${say(gain, LONG)}.</p>`}
${
  kind !== 'fine' &&
  steps.map(
    ({
      system,
      text,
      commands,
    }) => html`<p>${system !== undefined && html`<strong>${SYSTEM_NAMES[system]}:</strong> `}${say(text, LONG)}${commands.length > 0 ? ':' : '.'}</p>
${commands.length > 0 && html`<pre><code>${commands.join('\n')}</code></pre>`}`,
  )
}
${evidence.length > 0 && html`<details><summary>What it rests on</summary><pre><code>${evidence.map(quoteText).join('\n')}</code></pre></details>`}`;
}

function sources({ sources: texts }: Diagnosis): Html {
  return html`<section aria-labelledby="texts-h"><h2 id="texts-h">Texts</h2><ul>${texts.map(
    ({ name, lines, bundle, cut }) =>
      html`<li>${say(name, 120)}: ${lines} lines${bundle !== 'none' && ', of hwcrypt probe'}${bundle === 'truncated' && ', cut off'}${cut && ', of which only the beginning was read'}</li>`,
  )}</ul></section>`;
}
