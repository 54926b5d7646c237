/** `luks plan --measure` as root, where dm-crypt is: the figures are dm-crypt's own, by the driver that it got, and nothing is left. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { DeviceMapper } from '#src/linux/device-mapper.js';
import { memoryLoops } from '#src/linux/loop.js';
import { PLAN_SCHEMA, type Plan } from '#src/planning/index.js';
import { conform } from '#src/schema.js';
import { projectFolder } from '../../rig/index.js';

const MAIN = `${projectFolder}/dist/cli/main.js`;

test('what is measured is dm-crypt itself, with the driver that it takes', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [MAIN, 'luks', 'plan', '--measure', '--json'],
    { encoding: 'utf8', timeout: 240_000, env: { ...process.env, HWCRYPT_PROFILE: '' } },
  );
  assert.equal(status, 0, stderr);
  const plan = conform(PLAN_SCHEMA, JSON.parse(stdout), 'the plan') as Plan;
  assert.equal(plan.recommended.byFigures, true);
  // AES in two modes with two keys; sectors between the two are worked out.
  const measured = plan.rows.filter(
    ({ cipher, sectorBytes }) => cipher.startsWith('aes-') && [512, 4096].includes(sectorBytes),
  );
  assert.equal(measured.length, 8);
  for (const { cipher, sectorBytes, kernelDriver, read, write } of measured) {
    for (const one of [read, write]) {
      assert.equal(one?.by, 'dm-crypt', `${cipher} ${sectorBytes}`);
      assert.equal(one?.certainty, 'measured');
      // In a kernel where ESSIV was used before, the list does not show whether it was asked for anew.
      assert.ok(
        kernelDriver?.includes(one?.kernelDriver ?? '-') || one?.kernelDriver?.includes(kernelDriver ?? '-'),
      );
    }
    assert.match(kernelDriver ?? '', cipher.includes('xts') ? /^xts/ : /^(?:essiv\()?cbc/);
  }
  const dm = DeviceMapper.open();
  try {
    assert.deepEqual([dm.names(), memoryLoops()], [[], []]);
  } finally {
    dm.close();
  }
});
