/** The doctor on a real kernel: a blacklist, and cryptd that looks like hardware. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

import {
  type Diagnosis,
  diagnoseFacts,
  gatherFacts,
  LOCAL_SHELL,
  runProbe,
  seenHere,
} from '#src/doctor/index.js';
import { AfalgDriver } from '#src/drivers/afalg/index.js';
import { getDriver } from '#src/drivers/registry.js';
import { cipherOf } from '../helpers/afalg.js';

/** As `hwcrypt doctor` does it, in this process: a system call costs 50 µs here, and Node's start some seconds. */
async function look(): Promise<Diagnosis> {
  for (const name of ['afalg', 'cryptodev']) getDriver(name).reprobe();
  const text = await runProbe(LOCAL_SHELL, true);
  const facts = seenHere(gatherFacts([{ name: LOCAL_SHELL.name, text }]));
  return diagnoseFacts(facts);
}

const ids = ({ findings }: Diagnosis): string[] => findings.map(({ id }) => id);

test('no engine, and cryptd that is asynchronous software: no hardware is made out of it', async () => {
  execFileSync('modprobe', ['-a', 'cryptd', 'cbc', 'algif_skcipher']);
  const cryptd = 'cryptd(cbc(aes-generic))';
  assert.deepEqual(new AfalgDriver().supports(cipherOf('aes-128-cbc'), { kernelDriver: cryptd }), {
    supported: true,
  });
  const found = await look();
  for (const wrong of ['engine-used', 'driver-outranked', 'driver-not-loaded', 'engine-worth-it']) {
    assert.ok(!ids(found).includes(wrong), `${wrong}: ${found.verdict}`);
  }
  assert.ok(ids(found).includes('no-engine'));
  const software = found.findings.find(
    ({ id, verdict }) => id === 'asynchronous-software' && verdict.includes(cryptd),
  );
  assert.match(software?.verdict ?? '', /only queues the work for the CPU/);
  assert.ok(found.machine.kernel?.startsWith('6.'));
  // It has the highest priority now, and the files behind this one expect the plain driver.
  for (const name of ['afalg', 'cryptodev']) getDriver(name).reprobe();
  execFileSync('modprobe', ['-r', 'cryptd']);
  assert.doesNotMatch(readFileSync('/proc/crypto', 'utf8'), /cryptd\(/);
});

test('a blacklist is named with its file', async () => {
  const file = '/etc/modprobe.d/doctor-test.conf';
  writeFileSync(file, 'install algif_skcipher /bin/false\n');
  try {
    const { findings } = await look();
    assert.equal(findings[0]!.id, 'af-alg-blacklisted');
    assert.match(
      findings[0]!.verdict,
      /`install algif_skcipher \/bin\/false` in \/etc\/modprobe\.d\/doctor-test\.conf/,
    );
    assert.match(findings[0]!.details.join(' '), /CVE-2026-31431/);
  } finally {
    rmSync(file);
  }
});
