/** XTS over ECB and CBC: against other implementations of XTS; which way is taken; and what becomes of failures. */
import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, type TestContext, test } from 'node:test';
import { type CipherAlgorithm, cipherLike } from '#src/algorithms.js';
import type { Direction, Driver } from '#src/drivers/driver.js';
import { allDrivers, getDriver, libraryDrivers } from '#src/drivers/registry.js';
import { SectorCipher } from '#src/luks/sectors/cipher.js';
import { parseSpecification } from '#src/luks/sectors/specification.js';
import { Trial } from '#src/luks/sectors/trial.js';
import { waysOf } from '#src/luks/sectors/ways.js';
import { BATCH_BYTES, BatchedXts } from '#src/luks/sectors/xts.js';
import { Health } from '#src/routing/health.js';
import { openProfile } from '#src/routing/profile.js';
import { type Policy, type Prospect, Router } from '#src/routing/router.js';
import { type Fate, flaky } from '../../helpers/flaky.js';
import { Random } from '../../helpers/random.js';
import { scratch } from '../cli/helpers.js';

const cipherNamed = (name: string): CipherAlgorithm => {
  const found = cipherLike(name);
  assert.ok(found?.kind === 'cipher', name);
  return found;
};

const ivOf = (number: bigint): Buffer => {
  const iv = Buffer.alloc(16);
  iv.writeBigUInt64LE(BigInt.asUintN(64, number));
  return iv;
};

/** Sector by sector in somebody's own XTS. */
function separately(
  driver: Driver,
  xts: CipherAlgorithm,
  direction: Direction,
  key: Uint8Array,
  numbers: Uint8Array,
  data: Uint8Array,
  sectorBytes: number,
): Buffer {
  const output = Buffer.alloc(data.length);
  using session = driver.cipher(xts, direction, key, new Uint8Array(16));
  for (let at = 0, i = 0; at < data.length; at += sectorBytes, i += 16) {
    session.restart(numbers.subarray(i, i + 16));
    session.update(data.subarray(at, at + sectorBytes), output.subarray(at, at + sectorBytes));
  }
  return output;
}

const SHAPES: readonly (readonly [sectorBytes: number, count: number])[] = [
  [512, 1],
  [512, 33],
  [1024, 7],
  [2048, 3],
  [4096, 5],
];
/** What is longer than a batch, by a sector. */
const LONG: readonly (readonly [sectorBytes: number, count: number])[] = [
  [512, BATCH_BYTES / 512 + 1],
  [4096, BATCH_BYTES / 4096 + 1],
];

for (const driver of libraryDrivers().filter((one) => one.probe().available)) {
  test(`${driver.name}: batches are what XTS is, over ECB both ways, over CBC to decrypt`, () => {
    const random = new Random(`batches ${driver.name}`);
    for (const name of ['aes-128', 'aes-256', 'serpent-256', 'twofish-128', 'camellia-256']) {
      const [ecb, cbc, xts] = ['ecb', 'cbc', 'xts'].map((mode) => cipherLike(`${name}-${mode}`)) as [
        CipherAlgorithm,
        CipherAlgorithm,
        CipherAlgorithm | undefined,
      ];
      // Not its own XTS, where somebody else has one.
      const judges = allDrivers().filter(
        (one) => xts && one.probe().available && one.supports(xts).supported,
      );
      const judge = judges.find((one) => one !== driver) ?? judges[0];
      if (!judge || !xts || !driver.supports(ecb).supported) continue;
      for (const [sectorBytes, count] of [...SHAPES, ...(name === 'aes-256' ? LONG : [])]) {
        const key = random.bytes(xts.keyBytes);
        const half = key.length / 2;
        const plain = random.bytes(sectorBytes * count);
        const numbers = new Uint8Array(16 * count);
        const first = random.pick([0n, 2n ** 32n - 2n, 2n ** 64n - 2n]);
        for (let i = 0; i < count; i++) numbers.set(ivOf(first + BigInt(i)), 16 * i);
        const wanted = separately(judge, xts, 'encrypt', key, numbers, plain, sectorBytes);
        const what = `${name}, ${count} sectors of ${sectorBytes}, beside ${judge.name}`;
        for (const [mode, direction] of [
          [ecb, 'encrypt'],
          [ecb, 'decrypt'],
          [cbc, 'decrypt'],
        ] as const) {
          const start = mode.ivBytes === 0 ? null : new Uint8Array(16);
          const batched = new BatchedXts(
            driver.cipher(mode, direction, key.subarray(0, half), start),
            driver.cipher(ecb, 'encrypt', key.subarray(half), null),
            sectorBytes,
          );
          const [from, to] = direction === 'encrypt' ? [plain, wanted] : [wanted, plain];
          // At every alignment of a word, with something on both sides that must stay; the second time over memory that was used.
          for (const shift of [0, 1, 2, 3]) {
            const room = new Uint8Array(from.length + 8).fill(0xaa);
            const data = room.subarray(shift, shift + from.length);
            data.set(from);
            batched.run(data, numbers.slice());
            assert.ok(
              Buffer.from(data).equals(Buffer.from(to)),
              `${what}: ${mode.mode} ${direction} ${shift}`,
            );
            assert.ok(room.subarray(shift + from.length).every((byte) => byte === 0xaa));
            assert.ok(room.subarray(0, shift).every((byte) => byte === 0xaa));
          }
          batched.close();
        }
      }
    }
  });
}

const KEY = new Random('key').bytes(64);
const SPEC = parseSpecification('aes-xts-plain64', KEY.length);

function referenceOf(plain: Uint8Array, sectorBytes: number, first = 0n): Buffer {
  const sectors: Buffer[] = [];
  for (let at = 0; at < plain.length; at += sectorBytes) {
    const cipher = createCipheriv('aes-256-xts', KEY, ivOf(first + BigInt(at / 512)));
    sectors.push(cipher.update(plain.subarray(at, at + sectorBytes)));
  }
  return Buffer.concat(sectors);
}

/** cryptodev as an engine that has these modes of AES and no other. It fails by `fate`. */
function engine(t: TestContext, modes: readonly string[], fate: (request: number) => Fate): void {
  const fake = flaky(fate);
  const driver = getDriver('cryptodev');
  const has = (name: string): boolean => modes.some((mode) => name.startsWith('aes-') && name.endsWith(mode));
  const reason = { code: 'ALGORITHM_NOT_OFFERED', message: 'it has not' } as const;
  t.mock.method(driver, 'probe', () => ({ available: true, version: 'test', notes: [] }));
  t.mock.method(driver, 'supports', ((algorithm) =>
    has(algorithm.name) ? { supported: true } : { supported: false, reason }) as Driver['supports']);
  t.mock.method(driver, 'implementation', ((algorithm) =>
    has(algorithm.name)
      ? { driver: 'cryptodev', kernelDriver: `${algorithm.name}-engine`, hardware: 'yes', evidence: [] }
      : undefined) as Driver['implementation']);
  t.mock.method(driver, 'cipher', ((...args) => fake.cipher(...args)) as Driver['cipher']);
}

/** Where what lies is recorded: taken away for the next test. */
const PROFILE = join(scratch(), 'profile.json');
afterEach(() => rmSync(PROFILE, { force: true }));

const routerOf = (options: ConstructorParameters<typeof Router>[0], told: string[] = []): Router =>
  new Router({
    health: new Health(),
    profile: openProfile({ path: PROFILE }),
    onFallback: ({ message }) => told.push(message),
    ...options,
  });

for (const [policy, modes, done] of [
  ['hardware', ['ecb', 'cbc'], ['cryptodev (XTS over its ECB)', 'cryptodev (XTS over its ECB)']],
  ['hardware', ['cbc'], ['libcrypto', 'cryptodev (XTS over its CBC)']],
  ['order', ['ecb'], ['libcrypto', 'libcrypto']],
] as const) {
  test(`an engine with ${modes.join(' and ')} and no XTS, under ${policy}: ${done.join(', ')}`, (t) => {
    engine(t, modes, () => 'works');
    const told: string[] = [];
    const router = routerOf({ policy }, told);
    for (const [i, direction] of (['encrypt', 'decrypt'] as const).entries()) {
      for (const sectorBytes of [512, 4096]) {
        const plain = new Random(`${policy} ${sectorBytes}`).bytes(sectorBytes * 21);
        const wanted = referenceOf(plain, sectorBytes, 8n);
        using cipher = new SectorCipher(SPEC, direction, KEY, { sectorBytes, ivTweak: 8n, router });
        const [from, to] = direction === 'encrypt' ? [plain, wanted] : [wanted, plain];
        const data = Buffer.from(from);
        cipher.run(data, 0);
        assert.ok(data.equals(to), `${direction} ${sectorBytes}`);
        assert.deepEqual(cipher.doneBy, [done[i]]);
      }
    }
    // Only what nobody's engine can do is a fallback.
    const lacking =
      policy === 'hardware' && modes.length === 1
        ? /^aes-256-xts is done by libcrypto, since hardware/
        : /^$/;
    assert.match(told.join(), lacking);
  });
}

test('a driver that was named and has no XTS does it all the same, and the keys’ hashes are not asked of it', (t) => {
  engine(t, ['ecb', 'cbc'], () => 'works');
  const told: string[] = [];
  for (const drivers of [['cryptodev'], ['cryptodev', 'libcrypto']]) {
    const router = routerOf({ drivers }, told);
    const data = Buffer.from(new Random('named').bytes(4096 * 3));
    const wanted = referenceOf(data, 4096);
    using cipher = new SectorCipher(SPEC, 'encrypt', KEY, { sectorBytes: 4096, router });
    cipher.run(data, 0);
    assert.ok(data.equals(wanted));
    assert.deepEqual(cipher.doneBy, ['cryptodev (XTS over its ECB)']);
  }
  const essiv = parseSpecification('aes-cbc-essiv:sha256', 32);
  const router = routerOf({ drivers: ['cryptodev'] }, told);
  const data = Buffer.alloc(1024, 7);
  using encrypt = new SectorCipher(essiv, 'encrypt', KEY.subarray(0, 32), { sectorBytes: 512, router });
  encrypt.run(data, 0);
  using decrypt = new SectorCipher(essiv, 'decrypt', KEY.subarray(0, 32), {
    sectorBytes: 512,
    router: new Router({ drivers: 'node' }),
  });
  decrypt.run(data, 0);
  assert.ok(data.every((byte) => byte === 7));
  assert.deepEqual(told, []);
});

test('an engine that fails within a batch: another goes on, and it is told; where nobody is left, the error', (t) => {
  let left = Number.POSITIVE_INFINITY;
  engine(t, ['ecb'], () => (left-- > 0 ? 'works' : { errno: 'EIO', spoils: true }));
  const told: string[] = [];
  // More than a batch: the first goes well.
  const plain = new Random('fails').bytes(BATCH_BYTES + 4096);
  const wanted = referenceOf(plain, 4096);
  for (const shift of [0, 1]) {
    left = Number.POSITIVE_INFINITY;
    using cipher = new SectorCipher(SPEC, 'encrypt', KEY, {
      sectorBytes: 4096,
      router: routerOf({ policy: 'hardware' }, told),
    });
    const data = Buffer.alloc(plain.length + 1).subarray(shift, shift + plain.length);
    data.set(plain);
    left = 2;
    cipher.run(data, 0);
    assert.ok(data.equals(wanted));
    assert.deepEqual(cipher.doneBy, ['cryptodev (XTS over its ECB)', 'libcrypto (XTS over its ECB)']);
    assert.match(told.pop() ?? '', /^aes-256-ecb is done by libcrypto, since cryptodev: it fails with EIO/);
  }
  left = Number.POSITIVE_INFINITY;
  using alone = new SectorCipher(SPEC, 'encrypt', KEY, {
    sectorBytes: 4096,
    router: routerOf({ drivers: ['cryptodev'] }),
  });
  left = 2;
  assert.throws(() => alone.run(Buffer.from(plain), 0), { code: 'DRIVER_FAILED', message: /EIO/ });
});

test('an engine that lies is found out before its first use, and with verify later; the output is right', (t) => {
  let lies = false;
  engine(t, ['ecb'], () => (lies ? 'lies' : 'works'));
  const plain = new Random('lies').bytes(4096 * 9);
  const wanted = referenceOf(plain, 4096);
  const told: string[] = [];
  const health = new Health();
  const options = { policy: 'hardware', verify: 1, health } as const;
  using cipher = new SectorCipher(SPEC, 'encrypt', KEY, {
    sectorBytes: 4096,
    router: routerOf(options, told),
  });
  lies = true;
  const data = Buffer.from(plain);
  cipher.run(data, 0);
  assert.ok(data.equals(wanted));
  assert.match(told.join(), /it gave wrong results here/);
  // In quarantine: the next goes to XTS in software from the start.
  told.length = 0;
  using next = new SectorCipher(SPEC, 'encrypt', KEY, { sectorBytes: 4096, router: routerOf(options, told) });
  data.set(plain);
  next.run(data, 0);
  assert.ok(data.equals(wanted));
  assert.deepEqual(next.doneBy, ['libcrypto']);
});

test('two equal halves of a key are refused to encrypt, as XTS is', (t) => {
  engine(t, ['ecb'], () => 'works');
  const key = Buffer.alloc(64, 9);
  const router = routerOf({ drivers: ['cryptodev'] });
  const options = { sectorBytes: 512, router };
  assert.throws(() => new SectorCipher(SPEC, 'encrypt', key, options), {
    code: 'ERR_OSSL_XTS_DUPLICATED_KEYS',
  });
  new SectorCipher(SPEC, 'decrypt', key, options).close();
});

test('several sessions at once, of both ways, keep out of each other’s way', () => {
  const random = new Random('several');
  for (const drivers of ['nettle', 'gcrypt', 'node'].filter((name) => getDriver(name).probe().available)) {
    const router = routerOf({ drivers });
    const ciphers = [512, 1024, 4096].map((sectorBytes) => ({
      sectorBytes,
      encrypt: new SectorCipher(SPEC, 'encrypt', KEY, { sectorBytes, router }),
      decrypt: new SectorCipher(SPEC, 'decrypt', KEY, { sectorBytes, router }),
    }));
    // Long enough to be tried both ways.
    for (let round = 0; round < 8; round++) {
      for (const { sectorBytes, encrypt, decrypt } of ciphers) {
        const plain = random.bytes(sectorBytes * (65_536 / sectorBytes + 1));
        const at = round * 4096 * 7;
        const data = Buffer.from(plain);
        encrypt.run(data, at);
        if (round % 3 === 0)
          assert.ok(data.equals(referenceOf(plain, sectorBytes, BigInt(at / 512))), `${round}`);
        decrypt.run(data, at);
        assert.ok(data.equals(plain), `${drivers} ${sectorBytes} ${round}`);
      }
    }
    for (const { encrypt, decrypt } of ciphers) {
      assert.deepEqual(encrypt.doneBy, [drivers, `${drivers} (XTS over its ECB)`]);
      encrypt.close();
      decrypt.close();
    }
  }
});

const XTS = cipherNamed('aes-256-xts');

test('which way: who can, an engine first, what was measured, whoever was named first', () => {
  const way = (
    policy: Policy,
    who: Readonly<Record<string, Prospect | undefined>>,
    direction: Direction = 'encrypt',
  ): string => {
    const router = { policy, prospect: ({ mode }: CipherAlgorithm) => who[mode] } as unknown as Router;
    const { sectors, batches } = waysOf(router, XTS, direction, 512);
    return [...(sectors ? ['sectors'] : []), ...(batches ? [batches.name] : [])].join(' or ');
  };
  const library: Prospect = { label: 'libcrypto', place: 0, engine: false };
  const kernel: Prospect = { label: 'afalg', place: 1, engine: false };
  const device: Prospect = { label: 'cryptodev', place: 2, engine: true };
  assert.equal(way('order', {}), 'sectors');
  assert.equal(way('order', { xts: library }), 'sectors');
  assert.equal(way('order', { ecb: kernel }), 'aes-256-ecb');
  assert.equal(way('order', { xts: kernel, ecb: kernel }), 'sectors or aes-256-ecb');
  assert.equal(way('order', { xts: library, ecb: kernel }), 'sectors');
  assert.equal(way('order', { xts: kernel, ecb: library }), 'aes-256-ecb');
  assert.equal(way('hardware', { xts: library, ecb: device }), 'aes-256-ecb');
  assert.equal(way('hardware', { xts: device, ecb: library }), 'sectors');
  // CBC encrypts no batch.
  assert.equal(way('hardware', { xts: library, ecb: library, cbc: device }), 'sectors or aes-256-ecb');
  assert.equal(way('hardware', { xts: library, ecb: library, cbc: device }, 'decrypt'), 'aes-256-cbc');
  assert.equal(way('hardware', { xts: library, ecb: device, cbc: device }, 'decrypt'), 'aes-256-ecb');
  assert.equal(way('order', { cbc: kernel }, 'decrypt'), 'aes-256-cbc');
  // 512 bytes in 10 µs; 1 MiB in 5 ms, and in 50 ms.
  const dear: Prospect = { ...library, costNs: 10_000 };
  assert.equal(way('fastest', { xts: dear, ecb: { ...device, costNs: 5e6 } }), 'aes-256-ecb');
  assert.equal(way('fastest', { xts: dear, ecb: { ...device, costNs: 5e7 } }), 'sectors');
  assert.equal(way('fastest', { xts: library, ecb: device }), 'sectors');
  const cbc = cipherNamed('aes-256-cbc');
  assert.deepEqual(waysOf(new Router(), cbc, 'decrypt', 512), { sectors: true });
});

test('the quicker way is found by a few runs of each, and short runs do not count', () => {
  for (const [sectors, batches, wanted] of [
    [5, 3, 'batches'],
    [3, 5, 'sectors'],
  ] as const) {
    const trial = new Trial();
    const asked: string[] = [];
    for (let i = 0; i < 6; i++) {
      assert.equal(trial.next(512), 'sectors');
      trial.took('sectors', 512, 1);
      const way = trial.next(2 ** 20);
      asked.push(way);
      // One of three is disturbed.
      trial.took(way, 2 ** 20, (way === 'sectors' ? sectors : batches) * 1e6 * (i < 2 ? 9 : 1));
    }
    assert.equal(asked.filter((way) => way === 'batches').length, 3);
    assert.equal(trial.next(2 ** 20), wanted);
    assert.equal(trial.next(512), 'sectors');
  }
});
