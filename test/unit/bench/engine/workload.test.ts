/** Requests and their proofs, over the drivers of this machine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAlgorithm } from '#src/algorithms.js';
import { makeWorkload, takes } from '#src/bench/engine/index.js';
import type { Operation } from '#src/bench/model.js';
import { allDrivers, getDriver } from '#src/drivers/index.js';
import { cbc, fake, Machine } from './fakes.js';

const CASES: readonly (readonly [string, Operation])[] = [
  ['aes-128-cbc', 'encrypt'],
  ['aes-128-cbc', 'decrypt'],
  ['aes-256-ecb', 'encrypt'],
  ['aes-128-ctr', 'encrypt'],
  ['aes-128-cfb', 'decrypt'],
  ['aes-256-ofb', 'encrypt'],
  ['aes-128-xts', 'encrypt'],
  ['aes-256-xts', 'decrypt'],
  ['chacha20', 'encrypt'],
  ['rc4', 'encrypt'],
  ['des-ede3-cbc', 'encrypt'],
  ['aes-128-gcm', 'encrypt'],
  ['aes-128-gcm', 'decrypt'],
  ['aes-256-ccm', 'encrypt'],
  ['chacha20-poly1305', 'decrypt'],
  ['sha256', 'digest'],
  ['hmac-sha256', 'mac'],
  ['cmac-aes-128-cbc', 'mac'],
];

for (const driver of allDrivers()) {
  test(`${driver.name}: every kind of request is right before, after and in between`, (t) => {
    if (!driver.probe().available) return t.skip(`${driver.name} is not here`);
    for (const [name, operation] of CASES) {
      const algorithm = findAlgorithm(name)!;
      if (!driver.supports(algorithm).supported) continue;
      for (const requestBytes of [16, 64, 1000, 1024, 70_000].filter((bytes) => takes(algorithm, bytes))) {
        const subject = {
          algorithm,
          operation,
          requestBytes,
          ...(algorithm.kind === 'aead' ? { aadBytes: 13 } : {}),
        };
        const workload = makeWorkload(subject, { driver });
        const what = `${name} ${operation} ${requestBytes}`;
        try {
          assert.equal(workload.check(), true, what);
          for (let i = 0; i < 3; i++) workload.request();
          assert.equal(workload.verify(), true, what);
          workload.request();
          assert.equal(workload.verify(), true, what);
          assert.equal(workload.check(), true, what);
        } finally {
          workload.close();
        }
      }
    }
  });
}

test('who vouches is another driver, or the inverse', () => {
  const machine = new Machine();
  const one = fake(machine, { costNs: () => 1 });
  const subject = { algorithm: cbc, operation: 'encrypt', requestBytes: 64 } as const;
  const workload = makeWorkload(subject, one);
  assert.match(workload.vouchedBy ?? '', /^(?:libcrypto|node)$/);
  workload.close();
  // One bit at a time, in OpenSSL's legacy provider: nobody else has it.
  const rare = findAlgorithm('des-cfb1')!;
  const libcrypto = getDriver('libcrypto');
  if (!libcrypto.probe().available || getDriver('node').supports(rare).supported) return;
  if (!libcrypto.supports(rare).supported) return;
  const alone = makeWorkload({ ...subject, algorithm: rare }, { driver: libcrypto });
  assert.equal(alone.vouchedBy, 'itself');
  assert.equal(alone.check(), true);
  alone.close();
});

test('a failure is thrown, not taken for wrong bytes', () => {
  const machine = new Machine();
  const broken = fake(machine, {
    costNs: () => 1,
    onRequest: () => {
      throw new Error('no memory');
    },
  });
  const workload = makeWorkload({ algorithm: cbc, operation: 'encrypt', requestBytes: 64 }, broken);
  assert.throws(() => workload.check(), /no memory/);
  assert.throws(() => workload.verify(), /no memory/);
  workload.close();
});

test('lengths', () => {
  const xts = findAlgorithm('aes-128-xts')!;
  assert.equal(takes(cbc, 16), true);
  assert.equal(takes(cbc, 24), false);
  assert.equal(takes(cbc, 0), false);
  assert.equal(takes(xts, 15), false);
  assert.equal(takes(xts, 17), true);
  assert.equal(takes(findAlgorithm('aes-128-gcm')!, 2), true);
  assert.equal(takes(findAlgorithm('sha256')!, 1.5), false);
  assert.throws(
    () =>
      makeWorkload({ algorithm: cbc, operation: 'encrypt', requestBytes: 24 }, { driver: getDriver('node') }),
    RangeError,
  );
});
