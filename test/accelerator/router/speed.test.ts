/** A machine without AES instructions and with an accelerator: what a router is. Who wins depends on the size, and interrupts prove whose work it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAlgorithm } from '#src/algorithms.js';
import { compare } from '#src/bench/comparison/index.js';
import { contestant, measure } from '#src/bench/engine/index.js';
import type { Measurement } from '#src/bench/model.js';

const SOFTWARE = 'afalg:cbc(aes-generic)';
const ENGINE = 'afalg:virtio_crypto_aes_cbc';

test('the accelerator loses at small sizes and wins at large ones, by its interrupts', async (t) => {
  const set = await measure({
    subjects: [{ algorithm: findAlgorithm('aes-128-cbc')!, operation: 'encrypt' }],
    contestants: ['libcrypto', SOFTWARE, ENGINE].map(contestant),
    sizes: [16, 1024, 8192, 65536],
    seconds: 0.5,
    rounds: 5,
  });
  const of = (label: string): readonly Measurement[] =>
    set.runs.find((own) => own.label === label)!.measurements;
  for (const { label, measurements, notes } of set.runs) {
    for (const own of measurements) {
      assert.equal(own.status, 'ok', `${label} ${notes.join()}`);
      t.diagnostic(
        `${label} ${own.requestBytes}: ${(own.bytesPerSecond! / 1e6).toFixed(2)} MB/s, ${own.interrupts} interrupts, ${own.requests} requests`,
      );
    }
  }
  for (const own of of(ENGINE)) {
    assert.ok(own.interrupts! > 0, `${own.requestBytes} bytes: no interrupt`);
    assert.equal(own.kernelDriver, 'virtio_crypto_aes_cbc');
  }
  for (const own of [...of('libcrypto'), ...of(SOFTWARE)]) assert.equal(own.interrupts, 0);

  // The distance is two orders of magnitude on one side and one on the other: a busy host does not turn that round. Against the kernel's own
  // software it is a factor of three on either, which a busy host does turn round; that is told and not asserted.
  for (const baseline of ['libcrypto', SOFTWARE]) {
    const [found] = compare([set], { baseline: ({ run }) => set.runs[run]!.label === baseline });
    const { crossover, ratios } = found!.pairs.find(({ other }) => set.runs[other.run]!.label === ENGINE)!;
    const estimates = crossover.crossings.map(({ estimateBytes }) => Math.round(estimateBytes));
    t.diagnostic(`${baseline}: ${crossover.kind} ${estimates.join(', ')}`);
    if (baseline !== 'libcrypto') continue;
    assert.ok(ratios[0]!.ratio < 1, `at 16 bytes ${ratios[0]!.ratio}`);
    assert.ok(ratios.at(-1)!.ratio > 1, `at 64 KiB ${ratios.at(-1)!.ratio}`);
    assert.ok(crossover.crossings.length > 0, crossover.kind);
  }
});
