/** Every difference that the tests let pass stands in docs/node-crypto.md, and nothing stands there that they do not know. */
import assert from 'node:assert/strict';
import nodeCrypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createCipheriv, Hash, Hmac } from '#src/index.js';
import { projectFolder } from '../../../rig/index.js';
import { DIFFERENCES, OTHER_DIFFERENCES } from '../../helpers/api-differences.js';

test('docs/node-crypto.md and the tests name the same differences', () => {
  const page = readFileSync(`${projectFolder}/docs/node-crypto.md`, 'utf8');
  const headings = [...page.matchAll(/^### .*\{#([\w-]+)\}$/gm)].map((match) => match[1]!);
  const known = [...DIFFERENCES.map(({ id }) => id), ...OTHER_DIFFERENCES];
  assert.deepEqual(headings.toSorted(), known.toSorted());
});

test('a tag length that is no number', () => {
  for (const authTagLength of [Symbol('16'), 16n] as unknown as number[]) {
    const make = (of: typeof nodeCrypto.createCipheriv) =>
      of('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12), { authTagLength });
    assert.throws(() => make(createCipheriv as typeof nodeCrypto.createCipheriv), {
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_VALUE',
    });
    assert.throws(
      () => make(nodeCrypto.createCipheriv),
      (error) => error instanceof TypeError && !('code' in error),
    );
  }
});

test('lengths of constructors', () => {
  assert.deepEqual([Hash.length, Hmac.length], [3, 0]);
  assert.notDeepEqual([nodeCrypto.Hash.length, nodeCrypto.Hmac.length], [3, 0]);
});
