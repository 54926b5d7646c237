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

/** Published where that package does not look. Key, IV, additional data, input, output, tag, source. */
const SM4_TEXT = 'aabbccddeeffeeaa'.replace(/../g, (byte) => byte.repeat(8));
const SM4 = [
  '0123456789abcdeffedcba9876543210',
  '00001234567800000000abcd',
  'feedfacedeadbeeffeedfacedeadbeefabaddad2',
];
const TWOFISH_KEY = '0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff';
const ARIA_KEY = Array.from({ length: 32 }, (_, i) => i.toString(16).padStart(2, '0')).join('');
const ZERO_BLOCK = '00{16}';
const ARIA_TEXT = '00112233445566778899aabbccddeeff';
const ELSEWHERE = {
  'aria-128-ecb': [
    ARIA_KEY.slice(0, 32),
    '-',
    '-',
    ARIA_TEXT,
    'd718fbd6ab644c739da95f3be6451778',
    '-',
    'RFC5794',
  ],
  'aria-192-ecb': [
    ARIA_KEY.slice(0, 48),
    '-',
    '-',
    ARIA_TEXT,
    '26449c1805dbe7aa25a468ce263a9e79',
    '-',
    'RFC5794',
  ],
  'aria-256-ecb': [ARIA_KEY, '-', '-', ARIA_TEXT, 'f92bd7c79fb72e2f2b8f80c1972d24fc', '-', 'RFC5794'],
  'sm4-gcm': [
    ...[...SM4, SM4_TEXT],
    '17f399f08c67d5ee19d0dc9969c4bb7d5fd46fd3756489069157b282bb200735' +
      'd82710ca5c22f0ccfa7cbf93d496ac15a56834cbcf98c397b4024a2691233b8d',
    '83de3541e4c2b58177e065a9bf7b62ec',
    'RFC8998',
  ],
  'sm4-ccm': [
    ...[...SM4, SM4_TEXT],
    '48af93501fa62adbcd414cce6034d895dda1bf8f132f042098661572e7483094' +
      'fd12e518ce062c98acee28d95df4416bed31a2f04476c18bb40c84a74b97dc5b',
    '16842d4fa186f56ab33256971fa110f4',
    'RFC8998',
  ],
  'serpent-192-ecb': [
    '80'.padEnd(48, '0'),
    '-',
    '-',
    ZERO_BLOCK,
    '9e274ead9b737bb21efcfca548602689',
    '-',
    'NESSIE',
  ],
  'serpent-256-ecb': [
    '80'.padEnd(64, '0'),
    '-',
    '-',
    ZERO_BLOCK,
    'a223aa1288463c0e2be38ebd825616c0',
    '-',
    'NESSIE',
  ],
  'twofish-128-ecb': [
    ZERO_BLOCK,
    '-',
    '-',
    ZERO_BLOCK,
    '9f589f5cf6122c32b6bfec2f2ae8c35a',
    '-',
    'ecb_ival.txt',
  ],
  'twofish-192-ecb': [
    TWOFISH_KEY.slice(0, 48),
    '-',
    '-',
    ZERO_BLOCK,
    'cfd1d2e5a9be9cdf501f13b892bd2248',
    '-',
    'ecb_ival.txt',
  ],
  'twofish-256-ecb': [
    TWOFISH_KEY,
    '-',
    '-',
    ZERO_BLOCK,
    '37527be0052334b89f0cfccae87cfa20',
    '-',
    'ecb_ival.txt',
  ],
  md4: ['-', '-', '-', '616263', 'a448017aaf21d8525fc10ae87aa6729d', '-', 'RFC1320'],
  whirlpool: [
    ...['-', '-', '-', '616263'],
    '4e2448a4c6f486bb16b6562c73b4020bf3043e3a731bce721ae1b303d97e6d4c' +
      '7181eebdb6c57e277d0e34957114cbd6c797fc9d95d8b582d225292076d4eef5',
    ...['-', 'ISO10118-3'],
  ],
};

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
    if (!vector) return ELSEWHERE[name] ? [[name, ...ELSEWHERE[name]].join(' ')] : [];
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
