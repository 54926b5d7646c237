/** Policies: who is chosen from what is known, and what can be read back of it. */
import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { test } from 'node:test';

import { type Algorithm, findAlgorithm } from '#src/algorithms.js';
import { open } from '#src/api/index.js';
import { Health } from '#src/routing/health.js';
import { openProfile, type Profile, type ProfileEntry } from '#src/routing/profile.js';
import { lasting, type Policy, Router } from '#src/routing/router.js';
import { scratch } from '../cli/helpers.js';

const named = (name: string): Algorithm => {
  const found = findAlgorithm(name);
  assert.ok(found, name);
  return found;
};
const CBC = named('aes-128-cbc');

const points = (fixedNs: number, nsPerByte: number, cpuShare = 1) =>
  [16, 1024, 65_536].map((requestBytes) => {
    const elapsedNs = fixedNs + nsPerByte * requestBytes;
    return { requestBytes, elapsedNs, cpuNs: elapsedNs * cpuShare };
  });

/** node is dear per request and cheap per byte: they meet at 1000 bytes. In CPU time it is always the cheaper one. */
const entry = (operation: ProfileEntry['operation'], algorithm = 'aes-128-cbc'): ProfileEntry => ({
  algorithm,
  operation,
  measuredAt: '2026-11-30T00:00:00.000Z',
  implementations: [
    { driver: 'libcrypto', kernelDriver: 'default', hardware: 'no', points: points(100, 10), lines: [] },
    {
      driver: 'node',
      kernelDriver: 'node:crypto',
      hardware: 'no',
      points: points(9_100, 1, 0.001),
      lines: [],
    },
  ],
});

/** A profile of this machine in which only these two drivers were measured. */
function profileOf(path: string, entries: ProfileEntry[]): Profile {
  const profile = openProfile({ path });
  const bound = (name: string, algorithm: string) =>
    new Router({ drivers: name }).route(named(algorithm)).driver.implementation(named(algorithm));
  profile.saveEntries(
    entries.map((one) => ({
      ...one,
      implementations: one.implementations.map((own) => {
        const who = bound(own.driver, one.algorithm)!;
        return {
          ...own,
          kernelDriver: who.kernelDriver,
          ...(who.priority === undefined ? {} : { priority: who.priority }),
        };
      }),
    })),
  );
  return profile;
}

function router(policy: Policy, entries = [entry('encrypt'), entry('decrypt')]) {
  const profile = profileOf(join(scratch(), 'profile.json'), entries);
  return new Router({ drivers: ['libcrypto', 'node'], policy, profile, health: new Health() });
}

test('fastest: each size goes to whoever is cheapest, and says so', () => {
  const one = router('fastest');
  const route = one.route(CBC);
  assert.equal(route.relay, true);
  assert.equal(route.label, 'libcrypto+node');
  using session = route.driver.cipher(
    named('aes-128-cbc') as never,
    'encrypt',
    new Uint8Array(16),
    new Uint8Array(16),
  );
  const expected = createCipheriv('aes-128-cbc', new Uint8Array(16), new Uint8Array(16));
  for (const length of [16, 4096, 48, 100_000, 16]) {
    const data = new Uint8Array(length - (length % 16));
    const output = new Uint8Array(data.length);
    session.update(data, output);
    assert.deepEqual(output, new Uint8Array(expected.update(data)));
  }
  assert.deepEqual(
    one.stats.all().map(({ driver, requests }) => [driver, requests]),
    [
      ['libcrypto', 3],
      ['node', 2],
    ],
  );
  assert.equal(one.explain(CBC, 16).driver, 'libcrypto');
  const told = one.explain(CBC, 65_536);
  assert.equal(told.driver, 'node');
  assert.match(told.because, /8\.8 times less time than libcrypto/);
  assert.deepEqual(told.borders, [
    { fromBytes: 0, driver: 'libcrypto' },
    { fromBytes: 1172, driver: 'node' },
  ]);
  assert.equal(told.profile.measuredAt, '2026-11-30T00:00:00.000Z');
});

test('cpu: the least CPU time, whatever the clock says', () => {
  const one = router('cpu');
  assert.equal(one.explain(CBC, 16).driver, 'node');
  assert.equal(one.route(CBC).relay, undefined, 'nobody else is ever asked');
});

test('the two directions have costs of their own', () => {
  const decrypt = entry('decrypt');
  const turned = {
    ...decrypt,
    implementations: decrypt.implementations.map((own, i) => ({
      ...own,
      points: points(i ? 1000 : 100, i ? 10 : 1),
    })),
  };
  const one = router('fastest', [entry('encrypt'), turned]);
  assert.equal(one.explain(CBC, 65_536, 'encrypt').driver, 'node');
  assert.equal(one.explain(CBC, 65_536, 'decrypt').driver, 'libcrypto');
});

test('what was not measured is left to software, and said', () => {
  const one = router('fastest');
  const other = named('aes-256-cbc');
  const route = one.route(other);
  assert.equal(route.label, 'libcrypto');
  assert.equal(route.relay, undefined);
  assert.match(one.explain(other, 65_536).because, /nothing was measured/);
});

test('a profile of another machine is not used, and said', () => {
  const path = join(scratch(), 'profile.json');
  profileOf(path, [entry('encrypt'), entry('decrypt')]);
  const foreign = openProfile({
    path,
    surroundings: { machine: { kernel: 'other', architecture: 'x64', cpu: '', features: '' } },
  });
  const one = new Router({ drivers: ['libcrypto', 'node'], policy: 'fastest', profile: foreign });
  assert.equal(one.route(CBC).label, 'libcrypto');
  assert.match(one.explain(CBC, 65_536).profile.notes[0] ?? '', /is not used/);
});

test('library: neither kernel nor engine, though they were named first', () => {
  const one = new Router({ drivers: ['afalg', 'libcrypto'], policy: 'library' });
  assert.equal(one.route(CBC).label, 'libcrypto');
});

test('hardware: where there is none software does it, and that is told', () => {
  const told: string[] = [];
  const one = new Router({
    drivers: ['libcrypto'],
    policy: 'hardware',
    onFallback: ({ message }) => told.push(message),
  });
  assert.equal(one.route(CBC).label, 'libcrypto');
  assert.match(told.join(), /hardware: no driver here reaches an engine/);
});

test('decisions are published', () => {
  const one = router('fastest');
  const heard: unknown[] = [];
  const listen = (message: unknown) => heard.push(message);
  subscribe('hwcrypt:route', listen);
  try {
    one.route(CBC);
  } finally {
    unsubscribe('hwcrypt:route', listen);
  }
  assert.deepEqual(
    heard.map((one) => (one as { operation: string }).operation),
    ['encrypt', 'decrypt'],
  );
});

test('an instance: its policy, its counters, its explanation', () => {
  const path = join(scratch(), 'profile.json');
  profileOf(path, [entry('encrypt'), entry('decrypt')]);
  using hwcrypt = open({ drivers: ['libcrypto', 'node'], policy: 'fastest', profile: path });
  const [key, iv] = [new Uint8Array(16), new Uint8Array(16)];
  const cipher = hwcrypt.createCipheriv('aes-128-cbc', key, iv);
  assert.equal(cipher.driver, 'libcrypto', 'before the first request: who does a short one');
  cipher.update(new Uint8Array(65_536));
  assert.equal(cipher.driver, 'node');
  cipher.update(new Uint8Array(16));
  cipher.final();
  assert.equal(cipher.driver, 'libcrypto+node');
  for (const length of [0, 1, 16, 500, 5000]) {
    const data = Buffer.alloc(length, 7);
    const sealed = hwcrypt.encrypt('aes-128-cbc', key, iv, data);
    const expected = createCipheriv('aes-128-cbc', key, iv);
    assert.deepEqual(sealed, Buffer.concat([expected.update(data), expected.final()]));
    assert.deepEqual(hwcrypt.decrypt('aes-128-cbc', key, iv, sealed), data);
  }
  const stats = hwcrypt.stats();
  assert.deepEqual(
    stats.map(({ algorithm, driver }) => `${algorithm} ${driver}`),
    ['aes-128-cbc libcrypto', 'aes-128-cbc node'],
  );
  assert.equal(hwcrypt.explain('aes-128-cbc', { bytes: 8192 }).driver, 'node');
  hwcrypt.digest('sha256', 'x');
  assert.equal(hwcrypt.stats().find(({ algorithm }) => algorithm === 'sha256')?.requests, 1);
});

test('options that mean nothing are refused', () => {
  for (const options of [{ policy: 'best' }, { verify: -1 }, { verify: 1.5 }, { profile: 1 }]) {
    assert.throws(() => open(options as never), { code: /^ERR_INVALID_ARG_(TYPE|VALUE)$/ });
  }
});

test('a decision that rests on something passing is not kept', () => {
  const route = new Router({ drivers: 'libcrypto' }).route(CBC);
  assert.equal(lasting(route), true);
  const reason = { code: 'OUT_OF_MEMORY', message: '' } as const;
  assert.equal(lasting({ ...route, passedOver: [{ driver: 'afalg', reason }] }), false);
});
