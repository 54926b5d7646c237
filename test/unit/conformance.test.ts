/** Does the conformance suite find what it is there to find? Each fault must fail it, and none must pass. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { FAULTS } from '../helpers/faulty.js';

const program = join(import.meta.dirname, '..', 'helpers', 'faulty.js');

/** `ok` or `not ok` of the suite of each fault, and what it printed. */
const suites = new Map<string, { readonly passed: boolean; readonly text: string }>();

before(() => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--test-reporter=tap', program], {
    encoding: 'utf8',
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    maxBuffer: 1 << 26,
  });
  for (const text of stdout.split(/^(?=# Subtest: )/m)) {
    const [, name = ''] = /^# Subtest: (.*)/.exec(text) ?? [];
    const [, passed] = /^(not )?ok \d+ - /m.exec(text) ?? ['', 'not '];
    // Something must have run: a suite that could not begin finds nothing.
    if (/^ {8,}(?:not )?ok \d+ - /m.test(text)) suites.set(name, { passed: passed === undefined, text });
  }
  assert.deepEqual([...suites.keys()], Object.keys(FAULTS), stderr);
});

for (const fault of Object.keys(FAULTS)) {
  test(fault === 'none' ? 'a sound driver passes' : `found: ${fault}`, () => {
    const suite = suites.get(fault);
    if (fault === 'none') assert.ok(suite?.passed, suite?.text);
    else assert.equal(suite?.passed, false, 'the suite found nothing');
  });
}
