/** What the figures stand on: the machines, how it was measured, and what could not be read. Room `report`. */
import type { EngineUse, MachineFacts, ProcessTimes, ResultSet, Run } from '../../bench/model.js';
import type { Unread } from '../comparison/data.js';
import { count, digits, time } from './figures.js';
import { type Content, type Html, html, shorten } from './markup.js';
import type { Parts } from './parts.js';
import { tableBox } from './table.js';
import { BASIS_WORDS, say } from './words.js';

/** More of them say no more; the JSON and the text itself have all. */
const MOST_LINES = 40;

type Fact = readonly [name: string, value: Content];

export function machinesSection({ sets, labels }: Parts): Html {
  const machines: { names: string[]; facts: MachineFacts }[] = [];
  const add = (name: string, facts: MachineFacts): void => {
    if (machineFacts(facts).length === 0) return;
    const same = machines.find((known) => JSON.stringify(known.facts) === JSON.stringify(facts));
    if (same) same.names.push(name);
    else machines.push({ names: [name], facts });
  };
  for (const [i, { machine, runs }] of sets.entries()) {
    const own = runs.filter((run) => run.machine !== undefined);
    if (own.length < runs.length || runs.length === 0) add(labels[i]!, machine);
    for (const run of own) add(`${labels[i]}, ${run.label}`, { ...machine, ...run.machine });
  }
  return html`<section id="machines" aria-labelledby="machines-h">
<h2 id="machines-h">${machines.length > 1 ? 'Machines' : 'Machine'}</h2>
${machines.length === 0 && html`<p>The texts say nothing of the machine.</p>`}
${machines.map(({ names, facts }) => html`${(machines.length > 1 || sets.length > 1) && html`<h3>${names.map((name, i) => [i > 0 && ', ', say(name, 60)])}</h3>`}${list(machineFacts(facts))}`)}
</section>`;
}

function list(facts: readonly Fact[]): Html {
  return html`<dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function machineFacts(machine: MachineFacts): Fact[] {
  const text = (name: string, value: string | undefined): Fact[] =>
    value === undefined || value === '' ? [] : [[name, say(value, 300)]];
  const { loadBefore, loadAfter } = machine;
  return [
    ...text('model', machine.model),
    ...text('CPU', machine.cpu),
    ...(machine.cpus === undefined ? [] : [['CPUs', count(machine.cpus)] as const]),
    ...text('architecture', machine.architecture),
    ...text('kernel', machine.kernel),
    ...text('system', machine.os),
    ...(machine.memoryBytes === undefined ? [] : [['memory', memory(machine.memoryBytes)] as const]),
    ...text('CPU features', machine.cpuFeatures),
    ...text('compiler', machine.compiler),
    ...(loadBefore === undefined ? [] : [['load before', digits(loadBefore)] as const]),
    ...(loadAfter === undefined ? [] : [['load after', digits(loadAfter)] as const]),
  ];
}

/** Memory comes in powers of two; kernels keep some of it for themselves. */
function memory(bytes: number): string {
  return `${digits(bytes / 2 ** 20)} MiB`;
}

export function methodSection({ sets, labels }: Parts): Html {
  return html`<section id="method" aria-labelledby="method-h">
<h2 id="method-h">How it was measured</h2>
${sets.map((set, i) => oneSet(set, labels[i]!))}
</section>`;
}

function oneSet(set: ResultSet, label: string): Html {
  const bases = [...new Set(set.runs.flatMap(({ measurements }) => measurements.map(({ basis }) => basis)))];
  const facts: Fact[] = [
    ['tool', [say(set.tool), set.toolVersion !== undefined && [' ', say(set.toolVersion)]]],
    ['read from', say(set.source === '-' ? 'standard input' : set.source, 120)],
    ...(set.measuredAt === undefined ? [] : [['measured', say(set.measuredAt)] as const]),
    ...(bases.length === 0
      ? []
      : [['figures divided by', bases.map((basis) => BASIS_WORDS[basis] ?? '').join(', ')] as const]),
    ...set.notes.map((note) => ['note', say(note, 400)] as const),
  ];
  return html`<h3>${say(label, 60)}</h3>
${list([...facts, ...(set.runs.length === 1 ? runFacts(set.runs[0]!, label) : [])])}
${set.runs.length > 1 && html`<ul>${set.runs.map((run) => html`<li>${say(run.label, 120)}${list(runFacts(run, run.label))}</li>`)}</ul>`}`;
}

function runFacts(run: Run, shown: string): Fact[] {
  return [
    ...(run.command === undefined ? [] : [['command', html`<code>${say(run.command, 400)}</code>`] as const]),
    ...(run.command === undefined && run.label !== shown && run.label !== ''
      ? [['run', say(run.label, 120)] as const]
      : []),
    ...(run.toolVersion === undefined ? [] : [['version', say(run.toolVersion)] as const]),
    ...(run.engine === undefined ? [] : [['engine', engineWords(run.engine)] as const]),
    ...(run.processes === undefined ? [] : [['processes', count(run.processes)] as const]),
    ...(run.processTimes === undefined ? [] : [['whole process', timesWords(run.processTimes)] as const]),
    ...(run.lines === undefined
      ? []
      : [['lines of the text', `${count(run.lines[0])} to ${count(run.lines[1])}`] as const]),
    ...run.doubts.map(
      (doubt) =>
        [
          'doubt',
          html`${say(doubt.text, 400)} <small>(<code>${shorten(doubt.code)}</code>)</small>`,
        ] as const,
    ),
    ...run.notes.map((note) => ['note', say(note, 400)] as const),
  ];
}

function engineWords({ requested, loaded, reason }: EngineUse): Html {
  const verdict = {
    yes: 'loaded',
    no: 'not loaded',
    unconfirmed: 'asked for; whether it was loaded is not known',
  }[loaded];
  return html`${say(requested)}: ${verdict}${reason !== undefined && html` (${say(reason, 200)})`}`;
}

function timesWords({ elapsedNs, userNs, systemNs, cpuPercent }: ProcessTimes): string {
  const part = (name: string, ns: number | undefined): string[] =>
    ns === undefined ? [] : [`${name} ${time(ns)}`];
  return [
    ...part('elapsed', elapsedNs),
    ...part('user', userNs),
    ...part('system', systemNs),
    ...(cpuPercent === undefined ? [] : [`${digits(cpuPercent)} % of a CPU`]),
  ].join(', ');
}

export function unreadSection(unread: readonly Unread[]): Html {
  const rows = unread.flatMap(({ source, lines }) => lines.map((line) => ({ source, ...line })));
  if (rows.length === 0) return html``;
  const body = rows
    .slice(0, MOST_LINES)
    .map(
      ({ source, line, text, reason }) =>
        html`<tr><th scope="row" class="name">${say(source, 60)}</th><td>${count(line)}</td><td class="text"><code>${say(text, 160)}</code></td><td class="text">${say(reason, 160)}</td></tr>`,
    );
  return html`<section id="unread" aria-labelledby="unread-h">
<h2 id="unread-h">What could not be read</h2>
${tableBox({
  label: 'Lines that could not be read',
  caption: html`Lines of the texts that are in no figure here`,
  head: html`<th scope="col" class="name">text</th><th scope="col">line</th><th scope="col" class="text">what it says</th><th scope="col" class="text">why not</th>`,
  rows: body,
})}
${rows.length > MOST_LINES && html`<p class="soft">… and ${rows.length - MOST_LINES} more.</p>`}
</section>`;
}
