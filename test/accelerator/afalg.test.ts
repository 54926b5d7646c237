/** AF_ALG with a real accelerator behind it: virtio-crypto, whose work the host does. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { before, test } from 'node:test';

import { AfalgDriver } from '#src/drivers/afalg/index.js';
import type { Direction } from '#src/drivers/driver.js';
import { CRYPTO_ALG, libc, listAlgorithms, readInterrupts } from '#src/linux/index.js';
import { aeadOf, cipherOf, openSockets } from '../helpers/afalg.js';

const kernelDriver = 'virtio_crypto_aes_cbc';
const pin = { kernelDriver };
const driver = new AfalgDriver();
const cbc = cipherOf('aes-128-cbc');

before(() => {
  if (!existsSync('/sys/module/virtio_crypto')) execFileSync('modprobe', ['virtio_crypto']);
  assert.ok(driver.probe().available);
});

/** Requests that the device has answered: one interrupt each, or fewer where several were answered at once. */
function interrupts(): number {
  // The device's data queue; its configuration interrupt and other virtio devices do not count.
  const names = new Set(
    listOf('/sys/bus/virtio/drivers/virtio_crypto').filter((name) => name.startsWith('virtio')),
  );
  return readInterrupts()
    .filter(({ description }) => {
      const name = /(virtio\d+)-(?:virtqueues|dataq\.\d+)/.exec(description)?.[1];
      return name !== undefined && names.has(name);
    })
    .reduce((sum, { total }) => sum + total, 0);
}

function listOf(folder: string): string[] {
  return execFileSync('ls', [folder], { encoding: 'utf8' }).split('\n');
}

function reference(direction: Direction, key: Uint8Array, iv: Uint8Array, data: Uint8Array): Buffer {
  const name = `aes-${key.length * 8}-cbc`;
  const it = direction === 'encrypt' ? createCipheriv(name, key, iv) : createDecipheriv(name, key, iv);
  it.setAutoPadding(false);
  return Buffer.concat([it.update(data), it.final()]);
}

test('the pinned driver is hardware, by more than one sign, though its flags lack KERN_DRIVER_ONLY', () => {
  assert.deepEqual(driver.supports(cbc, pin), { supported: true });
  const found = driver.implementation(cbc, pin);
  assert.deepEqual(
    [found?.kernelDriver, found?.module, found?.hardware, found?.priority],
    [kernelDriver, 'virtio_crypto', 'yes', 150],
  );
  assert.match(found?.evidence[0] ?? '', /virtio-crypto/);
  assert.ok(found?.evidence.some((text) => text.includes('asynchronous')));
  const flags = listAlgorithms().algorithms.find((entry) => entry.driver === kernelDriver)?.flags ?? 0;
  assert.equal(flags & CRYPTO_ALG.KERN_DRIVER_ONLY, 0);
  assert.notEqual(flags & CRYPTO_ALG.ASYNC, 0);
  assert.deepEqual(driver.offCpuReach().reaches, true);
});

test('the algorithm’s own name reaches the driver of the highest priority', () => {
  const best = listAlgorithms()
    .algorithms.filter((entry) => entry.name === 'cbc(aes)' && !entry.internal)
    .reduce((a, b) => (b.priority > a.priority ? b : a));
  assert.equal(driver.implementation(cbc)?.kernelDriver, best.driver);
});

test('each request raises the device’s interrupts, and software raises none', () => {
  const iv = randomBytes(16);
  const buffer = new Uint8Array(4096);
  {
    using session = driver.cipher(cbc, 'encrypt', randomBytes(16), iv, pin);
    const start = interrupts();
    for (let i = 0; i < 20; i++) session.update(buffer, buffer);
    assert.ok(interrupts() - start >= 20, `${interrupts() - start} interrupts for 20 requests`);
  }
  using software = driver.cipher(cbc, 'encrypt', randomBytes(16), iv, { kernelDriver: 'cbc(aes-generic)' });
  const start = interrupts();
  for (let i = 0; i < 20; i++) software.update(buffer, buffer);
  assert.equal(interrupts() - start, 0);
});

test('right at every kind of length, key and direction, over the 64 KiB borders, apart and in place', async () => {
  for (const name of ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc']) {
    const algorithm = cipherOf(name);
    const support = driver.supports(algorithm, pin);
    assert.ok(support.supported || support.reason.code === 'BAD_KEY_LENGTH', JSON.stringify(support));
    if (!support.supported) continue;
    for (const direction of ['encrypt', 'decrypt'] as const) {
      const key = randomBytes(algorithm.keyBytes);
      const iv = randomBytes(16);
      using session = driver.cipher(algorithm, direction, key, iv, pin);
      assert.equal(session.driver, `afalg:${kernelDriver}`);
      for (const length of [16, 32, 48, 512, 4080, 4096, 4112, 65_520, 65_536, 65_552, 131_072, 131_088]) {
        const data = randomBytes(length);
        const expected = reference(direction, key, iv, data);
        const memory = new Uint8Array(length + 8).subarray(1, 1 + length);
        memory.set(data);
        const output = new Uint8Array(length + 3).subarray(3);
        session.restart(iv);
        session.update(memory, output);
        assert.ok(expected.equals(output), `${name} ${direction} ${length}`);
        session.restart(iv);
        await session.updateAsync(memory, memory);
        assert.ok(expected.equals(memory), `${name} ${direction} ${length} in place`);
      }
    }
  }
});

test('a message in pieces is one chain, whether or not the device writes the IV back', () => {
  for (const direction of ['encrypt', 'decrypt'] as const) {
    const key = randomBytes(16);
    const iv = randomBytes(16);
    const data = randomBytes(40_000);
    const expected = reference(direction, key, iv, data);
    using session = driver.cipher(cbc, direction, key, iv, pin);
    const memory = Uint8Array.from(data);
    for (let at = 0, i = 0; at < memory.length; i++) {
      const size = Math.min(16 * (1 + ((i * 131) % 400)), memory.length - at);
      const piece = memory.subarray(at, at + size);
      session.update(piece, piece);
      at += size;
    }
    assert.ok(expected.equals(memory), direction);
  }
});

test('several sessions at once, and two system calls a request', async () => {
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const key = randomBytes(16);
      const iv = randomBytes(16);
      const data = randomBytes(8192 + 16 * i);
      using session = driver.cipher(cbc, 'encrypt', key, iv, pin);
      const output = new Uint8Array(data.length);
      await session.updateAsync(data, output);
      assert.ok(reference('encrypt', key, iv, data).equals(output), `session ${i}`);
    }),
  );
  using session = driver.cipher(cbc, 'encrypt', randomBytes(16), randomBytes(16), pin);
  const buffer = new Uint8Array(65_536);
  libc.resetSyscallCounts();
  session.update(buffer, buffer);
  assert.equal(libc.syscallCounts().total, 2);
});

test('pinned to another algorithm it is refused', () => {
  for (const algorithm of [cipherOf('aes-128-ctr'), aeadOf('aes-128-gcm')]) {
    const support = driver.supports(algorithm, pin);
    assert.ok(!support.supported);
    assert.match(support.reason.code, /^(KERNEL_DRIVER_ABSENT|WRONG_TYPE)$/);
  }
});

test('the device is taken away: nothing is left of the driver once it is asked anew', () => {
  const bus = '/sys/bus/virtio/drivers/virtio_crypto';
  const device = listOf(bus).find((name) => /^virtio\d+$/.test(name));
  assert.ok(device);
  const sockets = openSockets();
  execFileSync('sh', ['-c', `echo ${device} > ${bus}/unbind`]);
  try {
    const fresh = new AfalgDriver();
    const support = fresh.supports(cbc, pin);
    assert.ok(!support.supported);
    assert.equal(support.reason.code, 'KERNEL_DRIVER_ABSENT', JSON.stringify(support.reason));
    assert.ok(driver.supports(cbc, pin).supported, 'what was asked before is remembered');
    driver.reprobe();
    assert.ok(!driver.supports(cbc, pin).supported);
  } finally {
    execFileSync('sh', ['-c', `echo ${device} > ${bus}/bind`]);
  }
  driver.reprobe();
  assert.ok(driver.supports(cbc, pin).supported);
  assert.deepEqual(openSockets(), sockets);
});
