/**
 * What `luks plan` predicts against what dm-crypt does in the same guest. A system call costs 50 us here, by which AF_ALG's own figure for a sector of 512 bytes is a fiftieth of
 * dm-crypt's; the prediction has to be far nearer than that, at both ends. Figures of a guest on a busy machine are apart by a factor of two by themselves.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { diskProblem, measureDisk, parseDiskCipher } from '#src/bench/disk/index.js';
import { PLAN_SCHEMA, type Plan } from '#src/planning/index.js';
import { conform } from '#src/schema.js';
import { projectFolder } from '../../rig/index.js';

const MAIN = `${projectFolder}/dist/cli/main.js`;
const FACTOR = 4;

test('predicted and measured agree, at 512 and at 4096 bytes; the driver is the one that dm-crypt gets', async () => {
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
  // Also loads device-mapper and the loop driver.
  assert.equal(diskProblem(), undefined);
  const cipher = parseDiskCipher('aes-xts-plain64', 256)!;
  const { rows } = await measureDisk({ ciphers: [cipher], sectors: [512, 4096], seconds: 0.3 });
  assert.equal(rows.length, 2);
  const ratios: number[] = [];
  for (const { sectorBytes, read, write, bound } of rows) {
    const own = plan.rows.find(
      (row) => row.cipher === cipher.specification && row.keyBits === 256 && row.sectorBytes === sectorBytes,
    )!;
    assert.equal(own.kernelDriver, bound?.kernelDriver);
    for (const [predicted, measured] of [
      [own.read, read],
      [own.write, write],
    ] as const) {
      const ratio = measured!.bytesPerSecond! / predicted!.bytesPerSecond;
      ratios.push(ratio);
      assert.equal(predicted!.by, 'kernel');
    }
  }
  const text = ratios.map((ratio) => ratio.toFixed(2)).join(', ');
  assert.ok(
    ratios.every((ratio) => ratio > 1 / FACTOR && ratio < FACTOR),
    `measured over predicted, reading and writing: ${text}`,
  );
});
