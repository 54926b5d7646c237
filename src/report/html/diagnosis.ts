/** What the doctor found, as a page to be posted: the verdict, findings with what to do, and what they rest on. Room `report`. */
import type { Diagnosis, Finding } from '../../doctor/index.js';
import { machineLine, quoteText, SYSTEM_NAMES } from '../diagnosis.js';
import { type Html, html } from './markup.js';
import { shell } from './shell.js';
import { say } from './words.js';

const KINDS = { problem: 'Problem', advice: 'Advice', fine: 'Nothing to do' } as const;
const LONG = 2000;

/** One page without script; the same diagnosis gives the same page. */
export function diagnosisPage(diagnosis: Diagnosis): string {
  const { verdict, findings, machine } = diagnosis;
  const todo = findings.filter(({ kind }) => kind !== 'fine');
  const fine = findings.filter(({ kind }) => kind === 'fine');
  const known = machineLine(machine);
  const page = html`<header>
<h1>${say(verdict, LONG)}.</h1>
${known !== '' && html`<p class="soft">${say(known, 300)}</p>`}
</header>
<main id="results">
${todo.map((finding, index) => section(finding, `f${index}`))}
${fine.length > 0 && html`<section aria-labelledby="fine-h"><h2 id="fine-h">Nothing to do about these</h2>${fine.map((finding) => part(finding))}</section>`}
${sources(diagnosis)}
</main>
<footer><p class="soft">Made by hwcrypt. The page is complete in itself: no script, nothing fetched. Keys, names and addresses in the texts were taken out; read it before you post it all the same.</p></footer>`;
  return String(shell(verdict, page));
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
    }) => html`<p>${system !== undefined && html`<strong>${SYSTEM_NAMES[system]}:</strong> `}${say(text, LONG)}</p>
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
