import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { candidates, recognise } from '#src/enc/autokdf.js';
import { explainFile } from '#src/enc/explain.js';
import { runEnc } from '#src/enc/run.js';
import { explanationText } from '#src/report/explanation.js';
import { cipher, hooks, scratch, withPassphrase } from './helpers.js';

const folder = scratch();

test('what a file is, by looking', async () => {
  const path = join(folder, 'file');
  writeFileSync(path, 'U2FsdGVkX1+21O5RB08bavFTq7Yq/gChmXrO3f00tvJaT55A5pPvqw0zFVnHSW1o\n');
  const found = await explainFile({ input: path });
  assert.equal(found.encoding, 'base64');
  assert.equal(found.header, true);
  assert.equal(found.salt, 'b6d4ee51074f1b6a');
  assert.equal(found.ciphertextBytes, 32);
  assert.equal(found.blockBytes, 16);
  assert.equal(found.fits, undefined);
  assert.match(explanationText(found), /2 blocks of 16/);

  writeFileSync(path, randomBytes(24));
  const headless = await explainFile({ input: path });
  assert.equal(headless.header, false);
  assert.equal(headless.blockBytes, 8);
  assert.match(headless.ciphers.join(), /not aes-\*-cbc/);

  writeFileSync(path, randomBytes(25));
  assert.equal((await explainFile({ input: path })).blockBytes, 1);
  writeFileSync(path, '');
  assert.match((await explainFile({ input: path })).ciphers.join(), /nothing is encrypted here/);
});

test('with a passphrase the pair of cipher and derivation is found', async () => {
  const plain = join(folder, 'plain');
  const encrypted = join(folder, 'encrypted');
  writeFileSync(plain, 'a text that can be recognised as one\n'.repeat(20));
  for (const [name, kdf, options] of [
    ['aes-256-cbc', { kind: 'bytes-to-key', digest: 'md5' }, '-md md5'],
    [
      'des-ede3-cbc',
      { kind: 'pbkdf2', digest: 'sha256', iterations: 10000 },
      '-pbkdf2 -iter 10000 -md sha256',
    ],
    ['aes-128-ctr', { kind: 'bytes-to-key', digest: 'sha256' }, '-md sha256'],
  ] as const) {
    await runEnc(
      {
        ...withPassphrase('pw', { direction: 'encrypt', cipher: cipher(name) }),
        kdf,
        input: plain,
        output: encrypted,
      },
      hooks(),
    );
    const found = await explainFile({ input: encrypted, passphrase: async () => Buffer.from('pw') });
    const sure = found.fits?.filter(({ certainty }) => certainty === 'sure') ?? [];
    assert.ok(
      sure.some((fit) => fit.cipher === name && fit.options === options),
      `${name}: ${JSON.stringify(sure)}`,
    );
    assert.ok(sure.every((fit) => fit.looksLike === 'text' || fit.paddingBytes > 2));
    assert.match(explanationText(found), new RegExp(`-${name} +${options} `));
    const wrong = await explainFile({ input: encrypted, passphrase: async () => Buffer.from('no') });
    assert.ok(!wrong.fits?.some((fit) => fit.cipher === name && fit.looksLike === 'text'));
  }
});

test('derivations are tried once each, the likeliest first', () => {
  const options = candidates({ digest: 'md5', iterations: 5 }).map(({ kdf }) => JSON.stringify(kdf));
  assert.equal(new Set(options).size, options.length);
  assert.deepEqual(candidates()[0]?.kdf, { kind: 'bytes-to-key', digest: 'sha256' });
  assert.ok(options.includes(JSON.stringify({ kind: 'pbkdf2', digest: 'md5', iterations: 5 })));
});

test('beginnings that are recognised', () => {
  assert.equal(recognise(Buffer.from('1f8b0800', 'hex')), 'gzip');
  assert.equal(recognise(Buffer.from('%PDF-1.7')), 'PDF');
  assert.equal(recognise(Buffer.from('just a text')), 'text');
  assert.equal(recognise(Buffer.from('ümläute äöü')), 'text');
  // Cut in the middle of a character.
  assert.equal(recognise(Buffer.from('umlaut: ä').subarray(0, 9)), 'text');
  assert.equal(recognise(Buffer.from('short')), undefined);
  assert.equal(recognise(Buffer.from('00112233445566ff', 'hex')), undefined);
});
