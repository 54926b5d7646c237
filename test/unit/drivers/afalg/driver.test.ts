/** The driver where the kernel has no AF_ALG, as on many hosts; and what needs no kernel at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { algorithms, findAlgorithm } from '#src/algorithms.js';
import { AfalgDriver, identify } from '#src/drivers/afalg/index.js';
import { limitsOf } from '#src/drivers/afalg/tfm.js';
import { nonceProblem } from '#src/drivers/kernel-nonce.js';
import type { AlgorithmList, KernelAlgorithm } from '#src/linux/index.js';
import { libc } from '#src/linux/index.js';

test('without AF_ALG: a reason everywhere, an error on use, and one socket() in all', (t) => {
  const driver = new AfalgDriver();
  libc.resetSyscallCounts();
  const probe = driver.probe();
  if (probe.available) {
    t.skip('this kernel has AF_ALG');
    return;
  }
  assert.match(
    probe.reason.code,
    /^(AF_ALG_ABSENT|AF_ALG_DISABLED|MODULE_BLACKLISTED|SECCOMP|LSM_DENIED|NOT_LINUX)$/,
  );
  const start = performance.now();
  for (const algorithm of algorithms()) {
    const support = driver.supports(algorithm);
    assert.ok(!support.supported);
    assert.equal(support.reason.code, probe.reason.code);
    assert.equal(driver.implementation(algorithm), undefined);
  }
  assert.ok(performance.now() - start < 60, 'asking about every algorithm takes too long');
  assert.equal(libc.syscallCounts().socket, 1);
  assert.equal(libc.syscallCounts().total, 1);

  const refused = { name: 'UnavailableError', code: 'DRIVER_UNAVAILABLE', driver: 'afalg' };
  const cipher = findAlgorithm('aes-128-cbc');
  const aead = findAlgorithm('aes-128-gcm');
  const hash = findAlgorithm('sha256');
  const mac = findAlgorithm('hmac-sha256');
  assert.ok(
    cipher?.kind === 'cipher' && aead?.kind === 'aead' && hash?.kind === 'hash' && mac?.kind === 'mac',
  );
  const key = new Uint8Array(16);
  assert.throws(() => driver.cipher(cipher, 'encrypt', key, new Uint8Array(16)), refused);
  assert.throws(() => driver.aead(aead, 'encrypt', key), refused);
  assert.throws(() => driver.hash(hash), refused);
  assert.throws(() => driver.mac(mac, key), refused);
  assert.throws(() => driver.random(new Uint8Array(4)), refused);
  assert.deepEqual(driver.offCpuReach().reaches, false);

  // Looked at again only when asked.
  libc.resetSyscallCounts();
  driver.reprobe();
  assert.equal(libc.syscallCounts().socket, 1);
});

test('limits follow the socket buffers', () => {
  assert.deepEqual(limitsOf(212_992, 212_992, true), { pieceBytes: 65_536, requestBytes: 196_608 });
  assert.deepEqual(limitsOf(212_992, 212_992, false), { pieceBytes: 61_440, requestBytes: 61_440 });
  assert.deepEqual(limitsOf(212_992, 20_000, true), { pieceBytes: 16_384, requestBytes: 16_384 });
  assert.deepEqual(limitsOf(100, 100, true), { pieceBytes: 4096, requestBytes: 4096 });
  assert.deepEqual(limitsOf(1 << 20, 1 << 21, true), { pieceBytes: 65_536, requestBytes: 1 << 20 });
});

test('nonces that the kernel does not take have a reason', () => {
  const gcm = findAlgorithm('aes-128-gcm');
  const ccm = findAlgorithm('aes-128-ccm');
  assert.ok(gcm?.kind === 'aead' && ccm?.kind === 'aead');
  assert.equal(nonceProblem(gcm, 12), undefined);
  assert.equal(nonceProblem(gcm, 16)?.code, 'ALGORITHM_NOT_OFFERED');
  assert.equal(nonceProblem(ccm, 7), undefined);
});

const entry = (
  driver: string,
  priority: number,
  refcnt: number,
  more: Partial<KernelAlgorithm> = {},
): KernelAlgorithm => ({
  name: 'cbc(aes)',
  driver,
  module: 'm',
  type: 'skcipher',
  priority,
  refcnt,
  internal: false,
  flags: 5,
  ...more,
});
const list = (...algorithms: KernelAlgorithm[]): AlgorithmList => ({ algorithms, source: 'netlink' });
const target = { type: 'skcipher', algorithm: 'cbc(aes)' } as const;

test('the bound driver is the one that the kernel holds a reference on, not the one of the highest priority', () => {
  const found = identify(
    target,
    list(entry('cbc-aes-aesni', 400, 1), entry('cbc(aes-generic)', 100, 3)),
    list(entry('cbc-aes-aesni', 400, 1), entry('cbc(aes-generic)', 100, 2)),
  );
  assert.equal(found?.kernelDriver, 'cbc(aes-generic)');
  assert.ok(found?.evidence.some((text) => text.includes('reference')));
});

test('without a reference that tells, the highest priority counts, and internal helpers do not', () => {
  const same = list(
    entry('cbc(aes-generic)', 100, 1),
    entry('virtio_crypto_aes_cbc', 150, 1),
    entry('__cbc-aes-x', 900, 1, { internal: true }),
    entry('sha', 999, 1, { type: 'shash' }),
  );
  const found = identify(target, same, same);
  assert.deepEqual(
    [found?.kernelDriver, found?.hardware, found?.priority],
    ['virtio_crypto_aes_cbc', 'yes', 150],
  );
});

test('a pinned driver is reported by its own name; nothing listed is nothing known', () => {
  const found = identify(
    { ...target, pinned: 'cbc(aes-generic)' },
    list(entry('cbc(aes-generic)', 100, 2), entry('cbc-aes-aesni', 400, 1)),
    list(),
  );
  assert.deepEqual([found?.kernelDriver, found?.hardware], ['cbc(aes-generic)', 'no']);
  const none: AlgorithmList = { algorithms: [], source: 'none' };
  assert.deepEqual(identify(target, none, none)?.hardware, 'unknown');
  assert.equal(identify(target, list(), list()), undefined);
});
