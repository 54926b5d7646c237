/** What a section of the bench found, and how it is written down. */

import { spawnSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';

export interface Row {
  readonly what: string;
  readonly cells: readonly string[];
  /** Met, missed, or no target. */
  readonly met?: boolean;
}

export interface Section {
  readonly title: string;
  readonly command: string;
  /** What was compared with what, in a sentence or two. */
  readonly how: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** A picture for another document: its file under docs/, and what is in it. */
  readonly picture?: { readonly file: string; readonly svg: string };
}

export const ratio = (value: number): string => `${value.toFixed(2)}x`;
export const ns = (value: number): string =>
  value < 10_000 ? `${value.toFixed(0)} ns` : `${(value / 1000).toFixed(1)} µs`;

export function machine(): string[] {
  const model = cpus()[0]?.model ?? 'unknown CPU';
  const openssl = spawnSync('openssl', ['version'], { encoding: 'utf8' }).stdout?.trim() ?? 'no openssl';
  return [
    `${cpus().length} x ${model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}`,
    `Node ${process.versions.node} with OpenSSL ${process.versions.openssl}; command line ${openssl.replace(/ \(Library.*/, '')}`,
  ];
}

function mark(row: Row): string {
  return row.met === undefined ? '' : row.met ? 'met' : 'missed';
}

export function markdown(section: Section): string {
  const date = new Date().toISOString().slice(0, 10);
  const head = ['', ...section.columns, 'target'];
  const lines = [
    `## ${section.title}`,
    '',
    section.how,
    '',
    `    ${section.command}        # ${date}`,
    '',
    `| ${head.join(' | ')} |`,
    `|${head.map((_, i) => (i === 0 ? ' --- ' : ' ---: ')).join('|')}|`,
    ...section.rows.map((row) => `| ${[row.what, ...row.cells, mark(row)].join(' | ')} |`),
    '',
  ];
  return lines.join('\n');
}

/** The same for the terminal, in columns. */
export function plain(section: Section): string {
  const table = [
    ['', ...section.columns, 'target'],
    ...section.rows.map((row) => [row.what, ...row.cells, mark(row)]),
  ];
  const widths = table[0]!.map((_, i) => Math.max(...table.map((row) => row[i]?.length ?? 0)));
  const body = table.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd(),
  );
  return `${section.title}\n\n${body.map((line) => `  ${line}`).join('\n')}\n`;
}
