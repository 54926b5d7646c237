/** `benchmark` where there is an accelerator: AF_ALG reaches it, dm-crypt refuses it, and both are said. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { before, test } from 'node:test';
import { importResults, readJson } from '#src/interop/index.js';
import { projectFolder } from '../../rig/index.js';

const KERNEL_DRIVER = 'virtio_crypto_aes_cbc';

before(() => {
  if (!existsSync('/sys/module/virtio_crypto')) execFileSync('modprobe', ['virtio_crypto']);
});

function benchmark(...options: string[]): { stdout: string; stderr: string; status: number | null } {
  const file = `${projectFolder}/dist/cli/main.js`;
  return spawnSync(process.execPath, [file, 'benchmark', ...options], { encoding: 'utf8', timeout: 240_000 });
}

test('through AF_ALG the accelerator works, and its interrupts prove it', () => {
  const { stdout, stderr, status } = benchmark(
    ...['-c', 'aes-cbc', '-s', '128', '--driver', `afalg:${KERNEL_DRIVER}`, '--seconds', '0.2', '--json'],
  );
  assert.equal(status, 0, stderr);
  const [set] = readJson(stdout);
  const { measurements } = set!.runs[0]!;
  assert.deepEqual(
    measurements.map(({ requestBytes, status: own }) => [requestBytes, own]),
    [512, 4096, 65536, 512, 4096, 65536].map((bytes) => [bytes, 'ok']),
  );
  for (const own of measurements) {
    assert.equal(own.kernelDriver, KERNEL_DRIVER);
    assert.ok(own.interrupts! >= own.requests! * 0.9, `${own.interrupts} for ${own.requests}`);
  }
});

test('dm-crypt passes it over, and the output says so', () => {
  const { stdout, stderr, status } = benchmark('--disk', '-c', 'aes-cbc', '-s', '128', '--seconds', '0.2');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^aes-cbc-essiv:sha256 +128 +4096 +[\d.]+~? +[\d.]+~?$/m);
  assert.match(stdout, /^# +dm-crypt +essiv\(cbc.* \(software\):/m);
  const text = stdout.replaceAll(/\n# /g, ' ');
  assert.match(
    text,
    /virtio_crypto_aes_cbc \(hardware\) was passed over: it allocates memory for each request, which dm-crypt refuses from Linux 5\.9 on/,
  );
  // No other tool's table is seen in it.
  assert.deepEqual(importResults(stdout).sets, []);
});
