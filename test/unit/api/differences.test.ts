/** Every difference that the tests let pass stands in docs/node-crypto.md, and nothing stands there that they do not know. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { projectFolder } from '../../../rig/index.js';
import { DIFFERENCES, OTHER_DIFFERENCES } from '../../helpers/api-differences.js';

test('docs/node-crypto.md and the tests name the same differences', () => {
  const page = readFileSync(`${projectFolder}/docs/node-crypto.md`, 'utf8');
  const headings = [...page.matchAll(/^### .*\{#([\w-]+)\}$/gm)].map((match) => match[1]!);
  const known = [...DIFFERENCES.map(({ id }) => id), ...OTHER_DIFFERENCES];
  assert.deepEqual(headings.toSorted(), known.toSorted());
});
