/**
 * hwcrypt against its peers, side by side in one run. `npm run bench` runs every section and writes docs/benchmarks.md;
 * `npm run bench -- SECTION…` runs some and only prints them, with `--write` writes them too.
 */
import { readFileSync, writeFileSync } from 'node:fs';

import { objects, oneShots, updates } from './api.js';
import { cryptodevOverhead } from './cryptodev.js';
import { files, large } from './enc.js';
import { limits } from './limit.js';
import { images } from './luks.js';
import { sectorSizes } from './luks-sectors.js';
import { machine, markdown, plain, type Section } from './report.js';
import { accelerator, decision, instructions, served } from './routing.js';
import { speeds } from './speed.js';
import { startup } from './startup.js';

const SECTIONS: Record<string, () => Section | Promise<Section>> = {
  'one-shot': oneShots,
  update: updates,
  objects,
  limit: limits,
  cryptodev: cryptodevOverhead,
  enc: files,
  large,
  luks: images,
  'luks-sectors': sectorSizes,
  startup,
  speed: speeds,
  'routing-decision': decision,
  routing: accelerator,
  'routing-aes': instructions,
  'routing-served': served,
};

const START = '<!-- written by `npm run bench` from here on -->';

async function main(): Promise<number> {
  const words = process.argv.slice(2);
  const names = words.filter((word) => word !== '--write');
  const write = words.length === 0 || words.length > names.length;
  const unknown = names.find((name) => !(name in SECTIONS));
  if (unknown !== undefined) {
    process.stderr.write(`bench: no section "${unknown}"; there are: ${Object.keys(SECTIONS).join(', ')}\n`);
    return 2;
  }
  const chosen = names.length > 0 ? names : Object.keys(SECTIONS);
  const sections: Section[] = [];
  for (const name of chosen) {
    const section = await SECTIONS[name]!();
    sections.push(section);
    process.stdout.write(`${plain(section)}\n`);
  }
  if (write) {
    const file = new URL('../../docs/benchmarks.md', import.meta.url);
    writeFileSync(file, merged(readFileSync(file, 'utf8'), sections));
    for (const { picture } of sections) {
      if (picture) writeFileSync(new URL(`../../docs/${picture.file}`, import.meta.url), picture.svg);
    }
    process.stdout.write('docs/benchmarks.md is written.\n');
  }
  return sections.some((section) => section.rows.some((row) => row.met === false)) ? 1 : 0;
}

/** The document with these sections in the place of those of the same title, or behind the last. */
function merged(before: string, sections: readonly Section[]): string {
  const cut = before.indexOf(START);
  if (cut < 0) throw new Error('docs/benchmarks.md has lost its mark');
  const parts = new Map<string, string>();
  for (const part of before.slice(cut).split(/^(?=## )/m)) {
    const title = /^## (.*)$/m.exec(part)?.[1];
    if (title !== undefined) parts.set(title, part);
  }
  for (const section of sections) parts.set(section.title, `${markdown(section)}\n`);
  const facts = machine()
    .map((line) => `- ${line}\n`)
    .join('');
  const head = `${before.slice(0, cut)}${START}\n\nMeasured on a shared virtual machine:\n\n${facts}\n`;
  return `${(head + [...parts.values()].map((part) => `${part.trimEnd()}\n\n`).join('')).trimEnd()}\n`;
}

process.exitCode = await main();
