/** Calibration where it matters: software without AES instructions, and an accelerator that is dear for each request and cheap for each byte. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findAlgorithm } from '#src/algorithms.js';
import { getDriver } from '#src/drivers/index.js';
import { calibrate } from '#src/routing/calibrate.js';
import { ableTo } from '#src/routing/contestants.js';
import { borders, pick } from '#src/routing/cost.js';
import { openProfile, type ProfileEntry } from '#src/routing/profile.js';

const ENGINE = 'virtio_crypto_aes_cbc';
const BUS = '/sys/bus/virtio/drivers/virtio_crypto';

function winner({ implementations }: ProfileEntry, bytes: number): string | undefined {
  const found = borders(
    implementations.map(({ points }) => points),
    'elapsedNs',
  );
  return implementations[pick(found, bytes)]?.driver;
}

test('software wins at 16 bytes, the accelerator at 64 KiB, and what is kept holds while the device is there', async (t) => {
  const algorithm = findAlgorithm('aes-128-cbc')!;
  // An instance of the kernel's own, so that the accelerator is one of two.
  assert.ok(getDriver('afalg').supports(algorithm, { kernelDriver: 'cbc(aes-generic)' }).supported);
  const engines = ableTo(algorithm).filter(({ implementation }) => implementation?.hardware === 'yes');
  assert.deepEqual(
    engines.map(({ implementation }) => implementation?.kernelDriver),
    [ENGINE],
    'once, by whatever name it is reached',
  );
  // Two of them, one direction's worth of asserting: a guest without KVM is slow.
  const drivers = ['libcrypto', `afalg:${ENGINE}`];
  // A host that is busy with other things turns the order round now and then, and not three times in a row.
  let entries: readonly ProfileEntry[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    entries = await calibrate([algorithm], { quick: true, drivers });
    for (const { operation, implementations } of entries) {
      for (const { driver, points } of implementations) {
        const told = points.map((own) => `${own.requestBytes} ${Math.round(own.elapsedNs / 1e3)} us`);
        t.diagnostic(`${operation} ${driver}: ${told.join(', ')}`);
      }
    }
    if (entries.every((entry) => winner(entry, 65_536) === `afalg:${ENGINE}`)) break;
  }
  assert.deepEqual(
    entries.map(({ operation }) => operation),
    ['encrypt', 'decrypt'],
  );
  for (const entry of entries) {
    const [software, engine] = entry.implementations;
    assert.deepEqual([software?.problem, engine?.problem], [undefined, undefined]);
    assert.deepEqual([engine?.kernelDriver, engine?.priority, engine?.hardware], [ENGINE, 150, 'yes']);
    assert.equal(winner(entry, 16), 'libcrypto');
    assert.equal(winner(entry, 65_536), `afalg:${ENGINE}`);
  }

  const path = join(mkdtempSync(join(tmpdir(), 'hwcrypt-test-')), 'profile.json');
  openProfile({ path }).saveEntries(entries);
  assert.ok(openProfile({ path }).entry('aes-128-cbc', 'encrypt'));

  const device = readdirSync(BUS).find((name) => /^virtio\d+$/.test(name))!;
  writeFileSync(join(BUS, 'unbind'), device);
  try {
    getDriver('afalg').reprobe();
    const profile = openProfile({ path });
    assert.equal(profile.entry('aes-128-cbc', 'encrypt'), undefined);
    assert.equal(profile.notes[0]?.code, 'KERNEL_DRIVER_CHANGED');
    assert.match(profile.notes[0].message, new RegExp(`afalg:${ENGINE} .*is gone`));
  } finally {
    writeFileSync(join(BUS, 'bind'), device);
  }
  getDriver('afalg').reprobe();
  const again = openProfile({ path });
  assert.ok(again.entry('aes-128-cbc', 'encrypt'), JSON.stringify(again.notes));
});
