/**
 * What the doctor found, as text: the verdict first, then findings by weight with what to do, then what they rest on.
 *
 * Room `report`.
 */
import type { Diagnosis, Finding, Quote, Step, System } from '../doctor/index.js';
import { wrap } from './text.js';

export const SYSTEM_NAMES: Readonly<Record<System, string>> = {
  openwrt: 'OpenWrt',
  debian: 'Debian, Ubuntu',
  buildroot: 'Buildroot',
  other: 'this system',
};

const PIPE_COLUMNS = 80;
const NARROWEST = 40;

export interface DiagnosisOptions {
  readonly columns?: number | undefined;
  /** Everything of everything: all evidence, steps of findings that need nothing, commands for all systems. */
  readonly verbose?: boolean;
}

/** Steps for the machine's own system and those that are for all; where the system has none of its own, everybody's. */
export function stepsFor(steps: readonly Step[], system: System | undefined, all = false): Step[] {
  const own = steps.filter((step) => step.system === system);
  if (all || system === undefined || system === 'other' || own.length === 0) return [...steps];
  return steps.filter((step) => step.system === undefined || step.system === system);
}

export function diagnosisText(diagnosis: Diagnosis, options: DiagnosisOptions = {}): string {
  const width = Math.max(NARROWEST, options.columns ?? PIPE_COLUMNS);
  const { findings, machine } = diagnosis;
  const todo = findings.filter(({ kind }) => kind !== 'fine');
  const fine = findings.filter(({ kind }) => kind === 'fine');
  const lines: string[] = [...wrap(`${diagnosis.verdict}.`, width), ''];
  const known = machineLine(machine);
  if (known !== '') lines.push(...wrap(known, width), '');
  for (const { name, cut, bundle } of diagnosis.sources) {
    if (cut)
      lines.push(...wrap(`Of ${name} only the beginning was read: it is longer than any bundle.`, width), '');
    if (bundle === 'truncated')
      lines.push(...wrap(`${name} is cut off: what comes after its last line is not known.`, width), '');
  }
  todo.forEach((finding, index) => {
    lines.push(
      ...findingLines(finding, `${index + 1}. `, width, machine.system, options.verbose ?? false),
      '',
    );
  });
  if (fine.length > 0) {
    lines.push(todo.length > 0 ? 'Nothing to do about these:' : 'In detail:');
    for (const finding of fine) {
      if (options.verbose || todo.length === 0)
        lines.push('', ...findingLines(finding, '- ', width, machine.system, options.verbose ?? false));
      else lines.push(...hanging(`- ${finding.verdict}.`, 2, width));
    }
    lines.push('');
  }
  if (!options.verbose && findings.length > 0 && hidden(findings, machine.system)) {
    lines.push(...wrap('--verbose shows all evidence, and commands for other systems.', width), '');
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

export function machineLine({ model, cpu, kernel, system }: Diagnosis['machine']): string {
  return [
    model,
    cpu === model ? undefined : cpu,
    kernel === undefined ? undefined : `Linux ${kernel}`,
    system === undefined || system === 'other' ? undefined : SYSTEM_NAMES[system].split(',')[0],
  ]
    .filter((part) => part !== undefined)
    .join(', ');
}

/** So many pieces of evidence are shown unless more are asked for. */
const FEW = 3;

function hidden(findings: readonly Finding[], system: System | undefined): boolean {
  return findings.some(
    ({ evidence, steps, kind }) =>
      evidence.length > FEW ||
      stepsFor(steps, system).length < steps.length ||
      (kind === 'fine' && evidence.length > 0),
  );
}

function findingLines(
  finding: Finding,
  mark: string,
  width: number,
  system: System | undefined,
  verbose: boolean,
): string[] {
  const { verdict, kind, sureness, details, gain, steps, evidence } = finding;
  const indent = ' '.repeat(mark.length);
  const body = (text: string): string[] =>
    wrap(text, width - indent.length).map((line) => `${indent}${line}`);
  const lines = hanging(
    `${mark}${verdict} [${kind === 'fine' ? '' : `${kind}, `}${sureness}].`,
    mark.length,
    width,
  );
  for (const detail of details) lines.push(...body(detail));
  if (gain !== undefined) lines.push(...body(`${gain}.`));
  const shown = stepsFor(steps, system, verbose);
  if (shown.length > 0 && (kind !== 'fine' || verbose)) {
    lines.push(`${indent}What to do:`);
    for (const step of shown) {
      const whose = step.system === undefined ? '' : `${SYSTEM_NAMES[step.system]}: `;
      lines.push(
        ...hanging(
          `${indent}  ${whose}${step.text}${step.commands.length > 0 ? ':' : '.'}`,
          indent.length + 2,
          width,
        ),
      );
      // Commands are to be copied: they are never broken.
      for (const command of step.commands) lines.push(`${indent}    ${command}`);
    }
  }
  const rests = verbose ? evidence : evidence.slice(0, FEW);
  if (rests.length > 0) {
    lines.push(`${indent}It rests on:`);
    for (const quote of rests) lines.push(`${indent}  ${quoteText(quote)}`);
  }
  return lines;
}

export function quoteText({ source, line, text }: Quote): string {
  return `${source}${line === 0 ? '' : `:${line}`}: ${text}`;
}

function hanging(text: string, indent: number, width: number): string[] {
  const lead = /^ */.exec(text)![0];
  const [first = '', ...rest] = wrap(text.trimStart(), width - lead.length);
  const more = rest.length === 0 ? [] : wrap(rest.join(' '), width - indent);
  return [`${lead}${first}`, ...more.map((line) => `${' '.repeat(indent)}${line}`)];
}
