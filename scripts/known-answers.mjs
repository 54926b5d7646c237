#!/usr/bin/env node
/**
 * Makes src/routing/trust/known-answers.ts.
 *
 *     node scripts/known-answers.mjs collect >host.json                         # what the drivers of this machine answer
 *     npm run rig -- uml -- node scripts/known-answers.mjs collect >guest.json  # and those of a kernel with AF_ALG
 *     node scripts/known-answers.mjs write host.json guest.json
 *
 * `collect` asks every driver for the digest of its transcript (src/routing/trust/transcript.ts). `write` refuses where two of them
 * disagree, and takes for each algorithm of the table the shortest published vector of Debian's python3-cryptography-vectors.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { algorithms } from '../dist/algorithms.js';
import { allDrivers } from '../dist/drivers/registry.js';
import { hexOf } from '../dist/routing/trust/failure.js';
import { doNow, perform } from '../dist/routing/trust/perform.js';
import { transcript, transcriptDigest } from '../dist/routing/trust/transcript.js';

const TARGET = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src/routing/trust/known-answers.ts');
/** One letter a driver. node:crypto is the same OpenSSL as libcrypto. */
const LETTERS = { libcrypto: 'l', gcrypt: 'g', nettle: 'n', afalg: 'k', cryptodev: 'k' };

const [command, ...files] = process.argv.slice(2);
if (command === 'collect') process.stdout.write(`${JSON.stringify(collect())}\n`);
else if (command === 'write' && files.length > 0) await write(files);
else {
  process.stderr.write('usage: known-answers.mjs collect | write FILE…\n');
  process.exit(2);
}

function collect() {
  const found = {};
  for (const algorithm of algorithms()) {
    for (const driver of allDrivers()) {
      if (LETTERS[driver.name] === undefined || !driver.probe().available) continue;
      if (!driver.supports(algorithm).supported) continue;
      const outcomes = [];
      doNow(perform({ driver }, transcript(algorithm), undefined, outcomes));
      if (outcomes[0].some(({ refused }) => refused)) continue;
      found[algorithm.name] ??= {};
      found[algorithm.name][driver.name] = transcriptDigest(outcomes[0]);
    }
  }
  return found;
}

/** A console prints more than what was written to it: the last line that is an object counts. */
function read(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  return JSON.parse(lines.findLast((line) => line.startsWith('{')));
}

async function write(files) {
  const all = files.map(read);
  const rows = [];
  for (const { name } of algorithms()) {
    const answers = all.flatMap((found) => Object.entries(found[name] ?? {}));
    if (answers.length === 0) {
      process.stderr.write(`${name}: nobody has it\n`);
      continue;
    }
    const digests = new Set(answers.map(([, digest]) => digest));
    if (digests.size > 1) throw new Error(`${name}: ${JSON.stringify(answers)}`);
    const letters = [...new Set(answers.map(([driver]) => LETTERS[driver]))].sort().join('');
    if (letters.length < 2) process.stderr.write(`${name}: only ${letters}\n`);
    rows.push(`${name} ${[...digests][0]} ${letters}`);
  }
  const text = readFileSync(TARGET, 'utf8');
  const filled = replaced(replaced(text, 'TRANSCRIPTS', rows), 'PUBLISHED', await published());
  writeFileSync(TARGET, filled);
}

/** The lines of a table between its backticks. */
function replaced(text, name, rows) {
  const pattern = new RegExp(`(const ${name} = \`\\n)[^\`]*(\`;)`);
  if (!pattern.test(text)) throw new Error(`no ${name} in ${TARGET}`);
  return text.replace(pattern, (_, head, tail) => `${head}${rows.join('\n')}\n${tail}`);
}

async function published() {
  const { vectorsFor } = await import('../build/test/helpers/vectors.js');
  const best = new Map();
  for (const vector of vectorsFor()) {
    const { algorithm, op, input, fail, offset = 0, bits = 0 } = vector;
    if (fail || op === 'decrypt' || input.length === 0 || offset > 0 || bits % 8 !== 0) continue;
    const { length } = input;
    const known = best.get(algorithm);
    // Two blocks show more than one, and are short all the same.
    const better = known === undefined || Math.abs(length - 32) < Math.abs(known.input.length - 32);
    if (better && usual(vector)) best.set(algorithm, vector);
  }
  return algorithms().flatMap(({ name }) => {
    const vector = best.get(name);
    if (!vector) return [];
    const { key, iv, aad, input, output, tag, file } = vector;
    const fields = [key, iv, aad, input, output, tag].map((bytes) => (bytes ? hexOf(bytes) : '-'));
    return [[name, ...fields.map((field) => field || '.'), file].join(' ')];
  });
}

/** Lengths that every driver takes. */
function usual({ algorithm, key, iv, aad, tag, output }) {
  const own = algorithms().find(({ name }) => name === algorithm);
  if (own.kind === 'hash') return output.length === own.digestBytes;
  if (own.kind === 'mac') return key.length > 0 && key.length <= 64 && output.length === own.digestBytes;
  if (key.length !== own.keyBytes) return false;
  if (own.kind === 'cipher') return true;
  return iv.length === own.ivBytes && tag.length === own.defaultTagBytes && (aad?.length ?? 0) <= 32;
}
