/** Is the qemu guest what the other tests of this layer take it for? */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { projectFolder } from '../../rig/index.js';

/** /proc/crypto's entry of one driver. */
function entry(driver: string): Record<string, string> {
  const text = readFileSync('/proc/crypto', 'utf8')
    .split('\n\n')
    .find((block) => new RegExp(`^driver +: ${driver}$`, 'm').test(block));
  const lines = (text ?? '').split('\n').filter((line) => line.includes(':'));
  return Object.fromEntries(lines.map((line) => line.split(/\s*: /, 2) as [string, string]));
}

describe('the qemu guest', () => {
  test('has an accelerator: virtio_crypto_aes_cbc', () => {
    assert.equal(process.env['HWCRYPT_RIG'], 'qemu');
    const { name, module, priority, async, selftest } = entry('virtio_crypto_aes_cbc');
    assert.deepEqual(
      { name, module, priority, async, selftest },
      { name: 'cbc(aes)', module: 'virtio_crypto', priority: '150', async: 'yes', selftest: 'passed' },
    );
  });

  test('counts what its accelerator serves among the interrupts', () => {
    assert.match(readFileSync('/proc/interrupts', 'utf8'), /virtio\d+-virtqueues/);
  });

  test('has the processor of its layer', () => {
    const flags = /^flags\s*:.*$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[0].split(/\s+/) ?? [];
    assert.equal(flags.includes('aes'), process.env['HWCRYPT_LAYER'] !== 'router');
  });

  test('shares the project read-only and the results folder read-write', () => {
    assert.throws(() => writeFileSync(`${projectFolder}/written-by-a-guest`, ''), { code: 'EROFS' });
    const ours = `${process.env['HWCRYPT_RESULTS']}/written-by-a-guest`;
    writeFileSync(ours, 'yes');
    assert.equal(readFileSync(ours, 'utf8'), 'yes');
    rmSync(ours);
  });
});
