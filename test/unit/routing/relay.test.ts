/** Sessions that go from driver to driver: right bytes whoever works, and whatever fails on the way. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import {
  type AeadAlgorithm,
  type Algorithm,
  type CipherAlgorithm,
  findAlgorithm,
  type HashAlgorithm,
  type MacAlgorithm,
} from '#src/algorithms.js';
import type { Direction, Driver } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import { AuthenticationError, HwcryptError } from '#src/errors.js';
import { Health } from '#src/routing/health.js';
import { Relay } from '#src/routing/relay/index.js';
import { type Candidate, type Loss, Squad } from '#src/routing/squad.js';
import { Stats } from '#src/routing/stats.js';
import { type Fate, type Flaky, flaky } from '../../helpers/flaky.js';
import { Random } from '../../helpers/random.js';

const libcrypto = getDriver('libcrypto');
const candidate = (driver: Driver): Candidate => ({ driver, label: driver.name, options: {} });
const curve = (fixedNs: number, nsPerByte: number) =>
  [16, 1 << 20].map((requestBytes) => {
    const ns = fixedNs + nsPerByte * requestBytes;
    return { requestBytes, elapsedNs: ns, cpuNs: ns };
  });

/** The device is dear per request and cheap per byte: it does what is longer than some 1000 bytes. */
const CURVES = [curve(100, 10), curve(9_100, 1)];

interface Scene {
  readonly relay: Relay;
  readonly squad: Squad;
  readonly device: Flaky;
  readonly stats: Stats;
  readonly health: Health;
  readonly losses: Loss[];
}

function scene(algorithm: Algorithm, fate: (request: number) => Fate, verifyEvery = 0): Scene {
  const device = flaky(fate);
  const stats = new Stats();
  const health = new Health();
  const losses: Loss[] = [];
  const squad = new Squad({
    algorithm,
    candidates: [candidate(libcrypto), candidate(device)],
    costs: { curves: CURVES, by: 'elapsedNs' },
    health,
    stats,
    verifyEvery,
    reference: candidate(libcrypto),
    onLoss: (loss) => losses.push(loss),
  });
  return { relay: new Relay(() => squad), squad, device, stats, health, losses };
}

const ERRNOS = ['EBUSY', 'ENOMEM', 'EIO', 'ETIMEDOUT', 'ENODEV'];
const CIPHERS = [
  ...['ecb', 'cbc', 'ctr', 'cfb', 'ofb', 'xts', 'cfb8'].map((mode) => `aes-128-${mode}`),
  'des-ede3-cbc',
  'chacha20',
  'rc4',
];

const cipherNamed = (name: string): CipherAlgorithm => {
  const found = findAlgorithm(name);
  assert.ok(found?.kind === 'cipher', name);
  return found;
};

/** Lengths of the pieces: short and long ones in turn, whole blocks but for the last. */
function piecesOf(algorithm: CipherAlgorithm, random: Random): number[] {
  const unit = Math.max(algorithm.cipherBlockBytes, algorithm.blockBytes);
  const pieces = [1, 3, 200, 2, 1000, 300, 1].map((blocks) => (blocks + random.integer(0, 2)) * unit);
  if (algorithm.blockBytes === 1) pieces.push(random.integer(algorithm.minBytes ?? 1, 3000));
  return pieces;
}

function reference(
  algorithm: CipherAlgorithm,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array | null,
  data: Uint8Array,
  pieces: readonly number[],
): Uint8Array {
  const output = new Uint8Array(data.length);
  using session = libcrypto.cipher(algorithm, direction, key, iv);
  let at = 0;
  for (const size of pieces) {
    session.update(data.subarray(at, at + size), output.subarray(at, at + size));
    at += size;
  }
  return output;
}

/** The same through a relay; undefined where it ended in a typed error. */
async function relayed(
  { relay }: Scene,
  algorithm: CipherAlgorithm,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array | null,
  data: Uint8Array,
  pieces: readonly number[],
  way: { readonly inPlace: boolean; readonly async: boolean },
): Promise<Uint8Array | undefined> {
  const output = way.inPlace ? Uint8Array.from(data) : new Uint8Array(data.length);
  const input = way.inPlace ? output : data;
  using session = relay.cipher(algorithm, direction, key, iv);
  let at = 0;
  for (const size of pieces) {
    const from = input.subarray(at, at + size);
    const to = output.subarray(at, at + size);
    try {
      if (way.async) await session.updateAsync(from, to);
      else session.update(from, to);
    } catch (error) {
      assert.ok(error instanceof HwcryptError, String(error));
      assert.equal(session.usable, false, 'after a failure the session is unusable');
      assert.throws(() => session.update(from, to), { code: 'SESSION_UNUSABLE' });
      return undefined;
    }
    at += size;
  }
  return output;
}

const WAYS = [
  { inPlace: false, async: false },
  { inPlace: true, async: false },
  { inPlace: true, async: true },
];

describe('ciphers', () => {
  for (const name of CIPHERS) {
    const algorithm = cipherNamed(name);
    const random = new Random(`relay ${name}`);
    const material = () => {
      const key = random.bytes(algorithm.keyBytes);
      const iv = algorithm.ivBytes > 0 ? random.bytes(algorithm.ivBytes) : null;
      const pieces = piecesOf(algorithm, random);
      const data = random.bytes(pieces.reduce((sum, size) => sum + size, 0));
      return { key, iv, pieces, data };
    };
    const recovers = (algorithm.handover && algorithm.mode !== 'cfb8') || algorithm.mode === 'xts';

    test(`${name}: mixed sizes, each by whoever is best at it`, async () => {
      for (const direction of ['encrypt', 'decrypt'] as const) {
        for (const way of WAYS) {
          const { key, iv, pieces, data } = material();
          const one = scene(algorithm, () => 'works');
          const expected = reference(algorithm, direction, key, iv, data, pieces);
          const got = await relayed(one, algorithm, direction, key, iv, data, pieces, way);
          assert.deepEqual(got, expected);
          const used = one.stats.all().map(({ driver }) => driver);
          assert.deepEqual(used, recovers ? ['cryptodev', 'libcrypto'] : ['libcrypto']);
          assert.equal(one.device.open, 0, 'every session is closed');
        }
      }
    });

    test(`${name}: each errno at each request`, async () => {
      let turn = 0;
      for (const errno of ERRNOS) {
        for (const spoils of [false, true]) {
          for (let at = 0; at < 4; at++) {
            for (const direction of ['encrypt', 'decrypt'] as const) {
              // Each way with each errno, not with each of its places.
              for (const way of [WAYS[turn++ % WAYS.length]!]) {
                const { key, iv, pieces, data } = material();
                // RC4 and CFB8 stay with whoever begins: let that be the device.
                if (!recovers) pieces.reverse();
                const one = scene(algorithm, (request) =>
                  request === at ? (spoils ? { errno, spoils } : { errno }) : 'works',
                );
                const expected = reference(algorithm, direction, key, iv, data, pieces);
                const got = await relayed(one, algorithm, direction, key, iv, data, pieces, way);
                if (got === undefined) {
                  assert.ok(!recovers && at > 0, `${errno} at ${at} could have been helped`);
                } else assert.deepEqual(got, expected, `${errno} at request ${at}, ${direction}`);
                assert.equal(one.device.open, 0);
              }
            }
          }
        }
      }
    });

    if (!recovers) continue;
    test(`${name}: with every result compared, a lie is put right`, async () => {
      for (let at = 0; at < 3; at++) {
        for (const direction of ['encrypt', 'decrypt'] as const) {
          for (const way of WAYS) {
            const { key, iv, pieces, data } = material();
            const one = scene(algorithm, (request) => (request === at ? 'lies' : 'works'), 1);
            const got = await relayed(one, algorithm, direction, key, iv, data, pieces, way);
            assert.deepEqual(got, reference(algorithm, direction, key, iv, data, pieces));
            assert.equal(one.health.barred(name, 'cryptodev')?.kind, 'wrong result');
            assert.equal(one.device.requests, at + 1, 'it gets no more work');
            assert.equal(one.losses[0]?.reason.code, 'WRONG_RESULT');
          }
        }
      }
    });
  }

  test('restart, chain and a new key behave as one driver’s', () => {
    const random = new Random('relay restart');
    const algorithm = cipherNamed('aes-128-cbc');
    const one = scene(algorithm, () => 'works');
    const [key, iv] = [random.bytes(16), random.bytes(16)];
    using relay = one.relay.cipher(algorithm, 'encrypt', key, iv);
    using plain = libcrypto.cipher(algorithm, 'encrypt', key, iv);
    for (let i = 0; i < 200; i++) {
      const data = random.bytes(16 * random.pick([1, 2, 100, 300]));
      const [a, b] = [new Uint8Array(data.length), new Uint8Array(data.length)];
      relay.update(data, a);
      plain.update(data, b);
      assert.deepEqual(a, b);
      assert.deepEqual(relay.chain(), plain.chain());
      if (i % 3 === 0) {
        const next = random.bytes(16);
        const newKey = i % 2 ? random.bytes(16) : undefined;
        relay.restart(next, newKey);
        plain.restart(next, newKey);
      }
    }
  });

  test('a long message in shares, one of which fails', async () => {
    for (const name of ['aes-128-ecb', 'aes-128-ctr', 'aes-128-cbc', 'aes-128-cfb']) {
      const algorithm = cipherNamed(name);
      for (const fate of ['works', { errno: 'EIO', spoils: true }] as const) {
        for (const inPlace of [false, true]) {
          const random = new Random(`shares ${name}`);
          const [key, iv] = [random.bytes(16), algorithm.ivBytes > 0 ? random.bytes(16) : null];
          const pieces = [16, 3 * 1024 * 1024 + 4096, 48];
          const data = random.bytes(pieces.reduce((sum, size) => sum + size, 0));
          const one = scene(algorithm, (request) => (request === 1 ? fate : 'works'));
          const way = { inPlace, async: true };
          const got = await relayed(one, algorithm, 'decrypt', key, iv, data, pieces, way);
          const expected = reference(algorithm, 'decrypt', key, iv, data, pieces);
          assert.ok(got && Buffer.compare(got, expected) === 0, name);
          assert.equal(one.device.open, 0);
        }
      }
    }
  });

  test('busy is asked again, and then left alone', () => {
    const algorithm = cipherNamed('aes-128-cbc');
    const data = new Uint8Array(4096);
    const once = scene(algorithm, (request) => (request < 3 ? { errno: 'EBUSY' } : 'works'));
    using patient = once.relay.cipher(algorithm, 'encrypt', new Uint8Array(16), new Uint8Array(16));
    patient.update(data, new Uint8Array(4096));
    assert.equal(once.losses.length, 0);
    assert.equal(patient.driver, 'cryptodev');
    const always = scene(algorithm, () => ({ errno: 'EBUSY' }));
    using given = always.relay.cipher(algorithm, 'encrypt', new Uint8Array(16), new Uint8Array(16));
    given.update(data, new Uint8Array(4096));
    assert.equal(given.driver, 'libcrypto');
    assert.equal(always.losses.length, 1);
  });

  test('whoever keeps failing is barred for a while, and then tried again', () => {
    let now = 0;
    const algorithm = cipherNamed('aes-128-cbc');
    let broken = true;
    const device = flaky(() => (broken ? { errno: 'EIO' } : 'works'));
    const squad = new Squad({
      algorithm,
      candidates: [candidate(libcrypto), candidate(device)],
      costs: { curves: CURVES, by: 'elapsedNs' },
      health: new Health({ now: () => now }),
      stats: new Stats(),
    });
    using session = new Relay(() => squad).cipher(
      algorithm,
      'encrypt',
      new Uint8Array(16),
      new Uint8Array(16),
    );
    const go = () => session.update(new Uint8Array(4096), new Uint8Array(4096));
    for (let i = 0; i < 10; i++) go();
    assert.equal(device.requests, 3, 'three failures are enough');
    now += 10_000;
    for (let i = 0; i < 10; i++) go();
    assert.equal(device.requests, 4, 'one more is enough after that');
    now += 10_000;
    go();
    assert.equal(device.requests, 4, 'and it is left alone for longer');
    now += 10_000;
    broken = false;
    for (let i = 0; i < 10; i++) go();
    assert.equal(device.requests, 14);
  });

  test('a bad argument is the caller’s, and changes nothing', () => {
    const algorithm = cipherNamed('aes-128-cbc');
    const one = scene(algorithm, () => 'works');
    const [key, iv] = [new Uint8Array(16), new Uint8Array(16)];
    assert.throws(() => one.relay.cipher(algorithm, 'encrypt', new Uint8Array(15), iv), {
      code: 'ERR_CRYPTO_INVALID_KEYLEN',
    });
    assert.throws(() => one.relay.cipher(algorithm, 'encrypt', key, new Uint8Array(3)), {
      code: 'ERR_CRYPTO_INVALID_IV',
    });
    using session = one.relay.cipher(algorithm, 'encrypt', key, iv);
    assert.throws(() => session.update(new Uint8Array(17), new Uint8Array(17)), { code: 'ERR_OUT_OF_RANGE' });
    assert.throws(() => session.update(new Uint8Array(4096), new Uint8Array(16)), {
      code: 'ERR_OUT_OF_RANGE',
    });
    assert.equal(one.losses.length, 0);
    session.update(new Uint8Array(16), new Uint8Array(16));
  });
});

describe('AEADs', () => {
  const algorithm = findAlgorithm('aes-128-gcm') as AeadAlgorithm;
  const random = new Random('relay aead');
  const material = (length: number) => ({
    key: random.bytes(16),
    iv: random.bytes(12),
    aad: random.bytes(random.integer(0, 40)),
    text: random.bytes(length),
  });
  const sealed = ({ key, iv, aad, text }: ReturnType<typeof material>) => {
    const output = new Uint8Array(text.length);
    const tag = new Uint8Array(16);
    using session = libcrypto.aead(algorithm, 'encrypt', key);
    session.seal(iv, aad, text, output, tag);
    return { output, tag };
  };
  const fates: Fate[] = ['works', ...ERRNOS.flatMap((errno): Fate[] => [{ errno }, { errno, spoils: true }])];

  test('each errno, sealing and opening, in place and not, in both forms', async () => {
    for (const fate of fates) {
      for (const length of [0, 40, 5000]) {
        for (const inPlace of [false, true]) {
          for (const async of [false, true]) {
            const one = material(length);
            const { output: ciphertext, tag } = sealed(one);
            const { relay, device } = scene(algorithm, (request) => (request === 0 ? fate : 'works'));
            {
              using sealing = relay.aead(algorithm, 'encrypt', one.key);
              const text = Uint8Array.from(one.text);
              const output = inPlace ? text : new Uint8Array(length);
              const made = new Uint8Array(16);
              if (async) await sealing.sealAsync(one.iv, one.aad, text, output, made);
              else sealing.seal(one.iv, one.aad, text, output, made);
              assert.deepEqual(output, ciphertext);
              assert.deepEqual(made, tag);
            }
            const second = scene(algorithm, (request) => (request === 0 ? fate : 'works'));
            using opening = second.relay.aead(algorithm, 'decrypt', one.key);
            const input = Uint8Array.from(ciphertext);
            const output = inPlace ? input : new Uint8Array(length);
            if (async) await opening.openAsync(one.iv, one.aad, input, tag, output);
            else opening.open(one.iv, one.aad, input, tag, output);
            assert.deepEqual(output, one.text);
            assert.equal(device.open, 0);
          }
        }
      }
    }
  });

  test('a forged message is one, and the session goes on', () => {
    const one = material(5000);
    const { output, tag } = sealed(one);
    const { relay, health } = scene(algorithm, () => 'works');
    using session = relay.aead(algorithm, 'decrypt', one.key);
    tag[3]! ^= 1;
    const text = new Uint8Array(5000).fill(1);
    assert.throws(() => session.open(one.iv, one.aad, output, tag, text), AuthenticationError);
    assert.deepEqual(text, new Uint8Array(5000));
    tag[3]! ^= 1;
    session.open(one.iv, one.aad, output, tag, text);
    assert.deepEqual(text, one.text);
    assert.equal(health.bars().length, 0);
  });

  test('with every result compared, a lie is put right', () => {
    const one = material(5000);
    const { output: ciphertext, tag } = sealed(one);
    for (const direction of ['encrypt', 'decrypt'] as const) {
      const { relay, health } = scene(algorithm, () => 'lies', 1);
      using session = relay.aead(algorithm, direction, one.key);
      const output = new Uint8Array(5000);
      const made = Uint8Array.from(tag);
      if (direction === 'encrypt') session.seal(one.iv, one.aad, one.text, output, made);
      else session.open(one.iv, one.aad, ciphertext, tag, output);
      assert.deepEqual(output, direction === 'encrypt' ? ciphertext : one.text);
      assert.deepEqual(made, tag);
      assert.equal(health.bars()[0]?.kind, 'wrong result');
    }
  });

  test('in pieces it is the library that takes them', () => {
    const one = material(9000);
    const { output: ciphertext, tag } = sealed(one);
    const { relay, device } = scene(algorithm, () => 'works');
    using session = relay.aead(algorithm, 'encrypt', one.key);
    assert.equal(session.incremental, true);
    const output = new Uint8Array(9000);
    const made = new Uint8Array(16);
    session.begin(one.iv);
    session.aad(one.aad);
    session.update(one.text.subarray(0, 5000), output.subarray(0, 5000));
    session.update(one.text.subarray(5000), output.subarray(5000));
    session.finish(made);
    assert.deepEqual(output, ciphertext);
    assert.deepEqual(made, tag);
    assert.equal(device.requests, 0);
    assert.throws(() => session.update(one.text, output), { code: 'SESSION_UNUSABLE' });
  });
});

describe('hashes and MACs', () => {
  const random = new Random('relay digest');
  for (const name of ['sha256', 'hmac-sha256']) {
    const algorithm = findAlgorithm(name) as HashAlgorithm | MacAlgorithm;
    const open = (driver: Driver, key: Uint8Array) =>
      algorithm.kind === 'mac' ? driver.mac(algorithm, key) : driver.hash(algorithm);
    const expected = (key: Uint8Array, data: Uint8Array): Uint8Array => {
      const output = new Uint8Array(32);
      using session = open(libcrypto, key);
      session.once(data, output);
      return output;
    };

    test(`${name}: each errno at each request`, async () => {
      for (const errno of ERRNOS) {
        for (let at = 0; at < 4; at++) {
          for (const async of [false, true]) {
            const key = random.bytes(20);
            const data = random.bytes(9000);
            const one = scene(algorithm, (request) => (request === at ? { errno } : 'works'));
            const output = new Uint8Array(32);
            using session = open(one.relay, key);
            if (async) await session.onceAsync(data, output);
            else session.once(data, output);
            assert.deepEqual(output, expected(key, data));
            session.restart();
            try {
              for (const piece of [data.subarray(0, 3000), data.subarray(3000, 3001), data.subarray(3001)]) {
                if (async) await session.updateAsync(piece);
                else session.update(piece);
              }
              session.digest(output);
              assert.deepEqual(output, expected(key, data));
            } catch (error) {
              assert.ok(error instanceof HwcryptError, String(error));
              assert.ok(at > 1 || errno === 'EBUSY', `${errno} at ${at} could have been helped`);
              assert.equal(session.usable, false);
            }
          }
        }
      }
    });

    test(`${name}: nothing, short and long, a copy in the middle, a new key`, () => {
      const one = scene(algorithm, () => 'works');
      const key = random.bytes(20);
      using session = open(one.relay, key);
      const output = new Uint8Array(32);
      for (const length of [0, 1, 5000, 64, 0, 2000]) {
        const data = random.bytes(length);
        session.once(data, output);
        assert.deepEqual(output, expected(key, data));
        session.restart();
        session.update(data);
        using copy = session.clone();
        session.digest(output);
        assert.deepEqual(output, expected(key, data));
        copy.update(data);
        copy.digest(output);
        assert.deepEqual(output, expected(key, Buffer.concat([data, data])));
        session.restart();
        session.digest(output);
        assert.deepEqual(output, expected(key, new Uint8Array(0)));
        session.restart();
      }
      if (algorithm.kind !== 'mac') return;
      const second = random.bytes(64);
      session.restart(second);
      const data = random.bytes(3000);
      session.update(data);
      session.digest(output);
      assert.deepEqual(output, expected(second, data));
      session.once(data, output);
      assert.deepEqual(output, expected(second, data));
    });

    test(`${name}: with every result compared, a lie is put right`, () => {
      const one = scene(algorithm, () => 'lies', 1);
      const [key, data] = [random.bytes(20), random.bytes(5000)];
      using session = open(one.relay, key);
      const output = new Uint8Array(32);
      session.once(data, output);
      assert.deepEqual(output, expected(key, data));
      assert.equal(one.health.bars().length, 1);
    });
  }
});
