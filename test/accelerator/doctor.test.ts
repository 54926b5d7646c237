/** The doctor beside a real accelerator: used and measured, outranked by the CPU's instructions, and with nobody who drives it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { before, test } from 'node:test';

import {
  configuration,
  type Diagnosis,
  diagnoseFacts,
  gatherFacts,
  LOCAL_SHELL,
  measureHere,
  runProbe,
  seenHere,
  surveyOpenssl,
  worthMeasuring,
} from '#src/doctor/index.js';
import { getDriver } from '#src/drivers/registry.js';
import { readEngineInterrupts } from '#src/linux/engine-interrupts.js';

const DRIVER = '/sys/bus/virtio/drivers/virtio_crypto';

before(() => {
  if (!existsSync('/sys/module/virtio_crypto')) execFileSync('modprobe', ['virtio_crypto']);
  if (existsSync('/sys/module/aesni_intel')) execFileSync('modprobe', ['-r', 'aesni_intel']);
});

/** As `hwcrypt doctor` does it, in this process: Node takes seconds to start here. */
async function look(measured: boolean): Promise<Diagnosis> {
  getDriver('afalg').reprobe();
  const text = await runProbe(LOCAL_SHELL, true);
  const facts = seenHere(gatherFacts([{ name: LOCAL_SHELL.name, text }]));
  if (!measured) return diagnoseFacts(facts);
  assert.ok(worthMeasuring(facts));
  return diagnoseFacts(await measureHere(facts));
}

const find = ({ findings }: Diagnosis, id: string) => findings.find((one) => one.id === id);

test('loaded and used: its interrupts prove it, and the figures say from which size on it is worth it', async () => {
  const found = await look(true);
  assert.match(found.findings[0]!.id, /^engine-(?:used|worth-it)$/, found.verdict);
  const used = find(found, 'engine-used');
  assert.match(
    used?.verdict ?? found.verdict,
    /virtio-crypto device is the kernel’s first choice for cbc\(aes\), and it worked: its interrupts rose by \d+/,
  );
  assert.equal(used?.sureness, 'certain');
  assert.ok(find(found, 'engine-worth-it'), 'it was measured beside OpenSSL’s own code');
  assert.ok(
    !find(found, 'driver-outranked') &&
      !find(found, 'driver-not-loaded') &&
      !find(found, 'engine-never-interrupted'),
  );
  // That QEMU's RSA fails its self-test is nothing against its AES.
  assert.notEqual(find(found, 'selftest-failed')?.kind, 'problem');
});

test('OpenSSL’s engine is measured, and what is written for it sends openssl enc and speed to the hardware', async () => {
  const found = await surveyOpenssl('/usr/bin/openssl', true);
  const afalg = found?.engines.find(({ id }) => id === 'afalg');
  assert.equal(afalg?.state, 'available');
  assert.equal(afalg.proof?.used, 'yes');
  assert.ok((afalg.proof.interrupts ?? 0) > 1000, `${afalg.proof.interrupts} interrupts`);
  assert.ok((afalg.proof.pair?.ratios.length ?? 0) >= 5);
  // Whether it wins here depends on the host's load; the configuration is written for a curve that does.
  const crossover = { ...afalg.proof.pair!.crossover, kind: 'always-faster' as const };
  const file = '/tmp/with-afalg.cnf';
  writeFileSync(
    file,
    configuration('cnf', 'afalg', { used: 'yes', pair: { ...afalg.proof.pair!, crossover } }).text,
  );
  const interrupts = (args: readonly string[], conf: string): readonly [number, Buffer] => {
    const before = readEngineInterrupts()!;
    const env = { ...process.env, OPENSSL_CONF: conf };
    const output = execFileSync('openssl', args, {
      env,
      input: Buffer.alloc(200_000, 'text '),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    return [readEngineInterrupts()! - before, output];
  };
  const enc = ['enc', '-aes-128-cbc', '-K', '00'.repeat(16), '-iv', '00'.repeat(16)];
  const [none, expected] = interrupts(enc, '/dev/null');
  const [some, output] = interrupts(enc, file);
  assert.equal(none, 0);
  // openssl enc asks for 8 KiB at a time.
  assert.ok(some >= 24, `${some} interrupts`);
  assert.deepEqual(output, expected);
  const speed = ['speed', '-elapsed', '-seconds', '1', '-bytes', '8192', '-evp', 'aes-128-cbc'];
  assert.ok(interrupts(speed, file)[0] > 50);
});

test('outranked by AES instructions, and both names are given', async () => {
  execFileSync('modprobe', ['aesni_intel']);
  try {
    const { findings } = await look(false);
    assert.equal(findings[0]!.id, 'driver-outranked');
    assert.match(
      findings[0]!.verdict,
      /not used for cbc\(aes\): cbc-aes-aesni has the higher priority \(400 against 150\)/,
    );
  } finally {
    execFileSync('modprobe', ['-r', 'aesni_intel']);
  }
});

test('nobody drives it', async () => {
  const [device] = readdirSync(DRIVER).filter((name) => name.startsWith('virtio'));
  assert.ok(device);
  writeFileSync(`${DRIVER}/unbind`, device);
  try {
    const { findings } = await look(false);
    assert.equal(findings[0]!.id, 'driver-not-loaded');
    assert.match(findings[0]!.verdict, /virtio-crypto device/);
    assert.ok(findings[0]!.evidence.some(({ text }) => text.includes(`${device} device=0x0014 driver=none`)));
  } finally {
    writeFileSync(`${DRIVER}/bind`, device);
  }
});

test('its module is not loaded, and then blacklisted', async () => {
  const file = '/etc/modprobe.d/doctor-test.conf';
  execFileSync('modprobe', ['-r', 'virtio_crypto']);
  try {
    const { findings } = await look(false);
    assert.equal(findings[0]!.id, 'driver-not-loaded');
    assert.match(findings[0]!.verdict, /virtio-crypto device\), but no driver for it is loaded/);
    assert.match(findings[0]!.details.join(' '), /virtio_crypto is installed: it only needs to be loaded/);
    writeFileSync(file, 'blacklist virtio_crypto\n');
    const again = await look(false);
    assert.equal(again.findings[0]!.id, 'driver-not-loaded');
    assert.match(again.findings[0]!.verdict, /virtio-crypto device\), but its driver is blacklisted/);
    assert.ok(
      again.findings[0]!.evidence.some(({ text }) => text.includes(`${file}: blacklist virtio_crypto`)),
    );
  } finally {
    rmSync(file, { force: true });
    execFileSync('modprobe', ['virtio_crypto']);
  }
});
