/** Does the conformance suite find what it is there to find? Each fault must fail it, and none must pass. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { FAULTS } from '../helpers/faulty.js';

const program = join(import.meta.dirname, '..', 'helpers', 'faulty.js');

for (const fault of Object.keys(FAULTS)) {
  test(fault === 'none' ? 'a sound driver passes' : `found: ${fault}`, () => {
    const run = spawnSync(process.execPath, ['--test-reporter=tap', program, fault], {
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    });
    assert.match(run.stdout, /^# pass [1-9]/m, run.stderr);
    if (fault === 'none') assert.equal(run.status, 0, run.stdout);
    else assert.notEqual(run.status, 0, 'the suite found nothing');
  });
}
