/** Does the provider answer as the module did? See rig/cryptodev/README.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { serve } from '../../rig/cryptodev/index.js';
import { projectFolder } from '../../rig/index.js';
import { answers } from '../helpers/cryptodev-answers.js';

test('every answer is the one that cryptodev-linux gave', async () => {
  const recorded = readFileSync(`${projectFolder}/test/data/cryptodev/answers.txt`, 'utf8')
    .trimEnd()
    .split('\n');
  const provider = await serve();
  try {
    const given = answers(provider.device);
    const differing = given.flatMap((line, at) =>
      line === recorded[at] ? [] : [{ line, recorded: recorded[at] }],
    );
    // The first few tell enough.
    assert.deepEqual(differing.slice(0, 10), []);
    assert.equal(given.length, recorded.length);
  } finally {
    await provider.stop();
  }
});
