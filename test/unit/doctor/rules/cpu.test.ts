/** The CPU by itself. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RULES } from '#src/doctor/index.js';
import { ROOT } from '../../cli/helpers.js';
import { counts, diagnosed, ELAPSED, finding, GENERIC, ids, procCrypto, speed, VIRTIO } from '../helpers.js';

const FLAGS = 'flags\t\t: fpu vme de pse tsc aes avx avx2';
const FAST = `$ openssl speed -elapsed -evp aes-128-cbc\n${ELAPSED}${speed('aes-128-cbc', counts(12, 0.7))}`;

test('instructions that the kernel leaves unused', () => {
  assert.match(
    finding('cpu-instructions-unused', FLAGS, procCrypto(...GENERIC)).verdict,
    /but the kernel runs xts\(aes-generic\): portable C code/,
  );
  assert.ok(!ids(FLAGS.replace(' aes', ''), procCrypto(...GENERIC)).includes('cpu-instructions-unused'));
});

test('you do not need it', () => {
  const found = diagnosed(FAST);
  assert.equal(found.healthy, true);
  assert.match(
    found.verdict,
    /^You do not need an accelerator for speed: the CPU has instructions for AES: 1\d{3} MB\/s on one core$/,
  );
  assert.match(
    finding(
      'cpu-is-enough',
      FAST,
      procCrypto(VIRTIO, { name: 'cbc(aes)', driver: 'cbc-aes-aesni', priority: 400 }),
    ).verdict,
    /do not need the virtio-crypto device/,
  );
});

test('every rule has a name of its own, says what it is about, and stands in the documentation', () => {
  const documentation = readFileSync(join(ROOT, 'docs/doctor.md'), 'utf8');
  for (const { id } of RULES) assert.ok(documentation.includes(`| \`${id}\` |`), id);
  const names = RULES.map(({ id }) => id);
  assert.equal(new Set(names).size, names.length);
  for (const { id, about } of RULES) assert.match(`${id} ${about}`, /^[a-z0-9-]+ \S.{10,}$/);
});
