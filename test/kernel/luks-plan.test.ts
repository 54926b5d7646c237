/**
 * `luks plan` in a guest that has AF_ALG and dm-crypt: its figures are the kernel's, and whom it says dm-crypt would take is whom dm-crypt takes. Speed is not compared: on a
 * machine with other work the figures of a guest are apart by more than any tolerance that would tell something.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { diskProblem, measureDisk, parseDiskCipher } from '#src/bench/disk/index.js';
import { PLAN_SCHEMA, type Plan } from '#src/planning/index.js';
import { conform } from '#src/schema.js';
import { projectFolder } from '../../rig/index.js';

const MAIN = `${projectFolder}/dist/cli/main.js`;

test('the driver of the plan is the one that dm-crypt gets, and its figures are that driver’s', async () => {
  // Also loads device-mapper and the loop driver.
  assert.equal(diskProblem(), undefined);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [MAIN, 'luks', 'plan', '--measure', '--json'],
    {
      encoding: 'utf8',
      timeout: 240_000,
      env: { ...process.env, HWCRYPT_PROFILE: '' },
    },
  );
  assert.equal(status, 0, stderr);
  const plan = conform(PLAN_SCHEMA, JSON.parse(stdout), 'the plan') as Plan;
  assert.equal(plan.recommended.byFigures, true);
  const cipher = parseDiskCipher('aes-xts-plain64', 256)!;
  const { rows } = await measureDisk({ ciphers: [cipher], sectors: [512, 4096], seconds: 0.1 });
  assert.equal(rows.length, 2);
  for (const { sectorBytes, bound } of rows) {
    const own = plan.rows.find(
      (row) => row.cipher === cipher.specification && row.keyBits === 256 && row.sectorBytes === sectorBytes,
    )!;
    assert.ok(bound);
    assert.equal(own.kernelDriver, bound.kernelDriver);
    assert.deepEqual([own.read?.by, own.write?.by], ['kernel', 'kernel']);
    assert.equal(own.read?.kernelDriver, bound.kernelDriver);
  }
});
