/** Relays under a hostile caller and a hostile device: memory that lies askew, liars, reference drivers that refuse, random scripts. */
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
import type { CipherSession, Driver } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import { DriverError, type HwcryptError, type ReasonCode, UnavailableError } from '#src/errors.js';
import { blame } from '#src/routing/faults.js';
import { Health } from '#src/routing/health.js';
import { Relay } from '#src/routing/relay/index.js';
import { type Candidate, type Loss, Squad } from '#src/routing/squad.js';
import { Stats } from '#src/routing/stats.js';
import { type Fate, flaky } from '../../helpers/flaky.js';
import { Random, SEED } from '../../helpers/random.js';

const libcrypto = getDriver('libcrypto');
const candidate = (driver: Driver): Candidate => ({ driver, label: driver.name, options: {} });
const named = <A extends Algorithm>(name: string): A => {
  const found = findAlgorithm(name);
  assert.ok(found, name);
  return found as A;
};

interface SceneOptions {
  readonly verifyEvery?: number;
  /** Nobody but the device. */
  readonly alone?: boolean;
  /** The library first, for what is short. */
  readonly costs?: boolean;
  readonly reference?: Driver;
}

function scene(algorithm: Algorithm, fate: (request: number) => Fate, options: SceneOptions = {}) {
  const { verifyEvery = 0, alone = false, costs = false, reference = libcrypto } = options;
  const device = flaky(fate);
  const health = new Health();
  const losses: Loss[] = [];
  const curve = (fixedNs: number, nsPerByte: number) =>
    [16, 1 << 20].map((requestBytes) => {
      const ns = fixedNs + nsPerByte * requestBytes;
      return { requestBytes, elapsedNs: ns, cpuNs: ns };
    });
  const squad = new Squad({
    algorithm,
    candidates: alone ? [candidate(device)] : [candidate(device), candidate(libcrypto)],
    ...(costs ? { costs: { curves: [curve(9_100, 1), curve(100, 10)], by: 'elapsedNs' as const } } : {}),
    health,
    stats: new Stats(),
    verifyEvery,
    reference: candidate(reference),
    onLoss: (loss) => losses.push(loss),
  });
  return { relay: new Relay(() => squad), squad, device, health, losses };
}

const SPOILT: Fate = { errno: 'EIO', spoils: true };
const isWrong = (error: unknown): boolean =>
  error instanceof DriverError && error.reason?.code === 'WRONG_RESULT';

describe('memory that lies askew', () => {
  test('an output longer than the input is no wrong result', async () => {
    const algorithm = named<CipherAlgorithm>('aes-128-cbc');
    const { relay, health } = scene(algorithm, () => 'works', { verifyEvery: 1 });
    using session = relay.cipher(algorithm, 'encrypt', new Uint8Array(16), new Uint8Array(16));
    session.update(new Uint8Array(64), new Uint8Array(100));
    await session.updateAsync(new Uint8Array(64), new Uint8Array(100));
    assert.deepEqual(health.bars(), []);
  });

  test('a hash written over its own input', async () => {
    for (const name of ['sha256', 'hmac-sha256']) {
      const algorithm = named<HashAlgorithm | MacAlgorithm>(name);
      const key = new Uint8Array(20).fill(3);
      const open = (driver: Driver) =>
        algorithm.kind === 'mac' ? driver.mac(algorithm, key) : driver.hash(algorithm);
      const data = new Random(name).bytes(500);
      const right = new Uint8Array(32);
      using plain = open(libcrypto);
      plain.once(data, right);
      for (const async of [false, true]) {
        for (const fate of ['works', SPOILT] as const) {
          const { relay, health } = scene(algorithm, (n) => (n === 0 ? fate : 'works'), { verifyEvery: 1 });
          using session = open(relay);
          const memory = Uint8Array.from(data);
          if (async) await session.onceAsync(memory, memory.subarray(8, 40));
          else session.once(memory, memory.subarray(8, 40));
          assert.deepEqual(memory.subarray(8, 40), right);
          assert.deepEqual(health.bars(), []);
        }
      }
    }
  });

  test('nonce, additional data and tag that lie where the output will be', async () => {
    const algorithm = named<AeadAlgorithm>('aes-128-gcm');
    const random = new Random('askew aead');
    const key = random.bytes(16);
    for (const direction of ['encrypt', 'decrypt'] as const) {
      for (const async of [false, true]) {
        const memory = random.bytes(400);
        const [iv, aad] = [memory.slice(0, 12), memory.slice(12, 40)];
        const sealed = new Uint8Array(200);
        const tag = new Uint8Array(16);
        using plain = libcrypto.aead(algorithm, 'encrypt', key);
        const text = random.bytes(200);
        plain.seal(iv, aad, text, sealed, tag);
        memory.set(tag, 100);
        const { relay } = scene(algorithm, (n) => (n === 0 ? SPOILT : 'works'), { verifyEvery: 1 });
        using session = relay.aead(algorithm, direction, key);
        const output = memory.subarray(0, 200);
        const own = [memory.subarray(0, 12), memory.subarray(12, 40)] as const;
        if (direction === 'encrypt') {
          const made = new Uint8Array(16);
          if (async) await session.sealAsync(...own, text, output, made);
          else session.seal(...own, text, output, made);
          assert.deepEqual([output, made], [sealed, tag]);
        } else {
          const given = memory.subarray(100, 116);
          if (async) await session.openAsync(...own, sealed, given, output);
          else session.open(...own, sealed, given, output);
          assert.deepEqual(output, text);
        }
      }
    }
  });

  test('an AEAD that nobody could open leaves no text behind', () => {
    const algorithm = named<AeadAlgorithm>('aes-128-gcm');
    const { relay } = scene(algorithm, () => SPOILT, { alone: true });
    using session = relay.aead(algorithm, 'decrypt', new Uint8Array(16));
    const output = new Uint8Array(64).fill(1);
    const nothing = new Uint8Array(0);
    const open = () =>
      session.open(new Uint8Array(12), nothing, new Uint8Array(64), new Uint8Array(16), output);
    assert.throws(open, { code: 'DRIVER_FAILED' });
    assert.deepEqual(output, new Uint8Array(64));
  });
});

describe('liars', () => {
  const message = new Random('liars').bytes(256);

  test('with nobody else: the first lie is put right, and then it is a typed error', async () => {
    const cbc = named<CipherAlgorithm>('aes-128-cbc');
    const one = scene(cbc, () => 'lies', { alone: true, verifyEvery: 1 });
    using cipher = one.relay.cipher(cbc, 'encrypt', new Uint8Array(16), new Uint8Array(16));
    using plain = libcrypto.cipher(cbc, 'encrypt', new Uint8Array(16), new Uint8Array(16));
    const [a, b] = [new Uint8Array(256), new Uint8Array(256)];
    cipher.update(message, a);
    plain.update(message, b);
    assert.deepEqual(a, b);
    assert.throws(() => cipher.update(message, a), isWrong);
    assert.equal(one.device.requests, 1, 'it is not even asked');
    using later = one.relay.cipher(cbc, 'encrypt', new Uint8Array(16), new Uint8Array(16));
    await assert.rejects(later.updateAsync(message, a), isWrong);

    const gcm = named<AeadAlgorithm>('aes-128-gcm');
    const two = scene(gcm, () => 'lies', { alone: true, verifyEvery: 1 });
    using aead = two.relay.aead(gcm, 'encrypt', new Uint8Array(16));
    const seal = () => aead.seal(new Uint8Array(12), message, message, a, new Uint8Array(16));
    seal();
    assert.throws(seal, isWrong);

    const sha = named<HashAlgorithm>('sha256');
    const three = scene(sha, () => 'lies', { alone: true, verifyEvery: 1 });
    using hash = three.relay.hash(sha);
    hash.once(message, new Uint8Array(32));
    assert.throws(() => hash.once(message, new Uint8Array(32)), isWrong);
  });

  test('a hash in pieces is compared too, its copies as well', async () => {
    for (const name of ['sha256', 'hmac-sha256']) {
      const algorithm = named<HashAlgorithm | MacAlgorithm>(name);
      const open = (driver: Driver) =>
        algorithm.kind === 'mac' ? driver.mac(algorithm, message) : driver.hash(algorithm);
      const right = new Uint8Array(32);
      using plain = open(libcrypto);
      plain.once(Buffer.concat([message, message]), right);
      for (const copied of [false, true]) {
        for (const async of [false, true]) {
          const { relay, health } = scene(algorithm, (n) => (n >= 2 ? 'lies' : 'works'), { verifyEvery: 1 });
          using session = open(relay);
          if (async) await session.updateAsync(message);
          else session.update(message);
          if (async) await session.updateAsync(message);
          else session.update(message);
          using copy = copied ? session.clone() : undefined;
          const output = new Uint8Array(32);
          (copy ?? session).digest(output);
          assert.deepEqual(output, right);
          assert.equal(health.bars()[0]?.kind, 'wrong result');
          session.restart();
          session.once(Buffer.concat([message, message]), output);
          assert.deepEqual(output, right);
        }
      }
    }
  });

  test('a cipher whose state nobody can tell is compared from its beginning', () => {
    const rc4 = named<CipherAlgorithm>('rc4');
    const { relay, health } = scene(rc4, (n) => (n === 1 ? 'lies' : 'works'), { verifyEvery: 1 });
    using cipher = relay.cipher(rc4, 'encrypt', message.subarray(0, rc4.keyBytes), null);
    using plain = libcrypto.cipher(rc4, 'encrypt', message.subarray(0, rc4.keyBytes), null);
    const [a, b] = [new Uint8Array(256), new Uint8Array(256)];
    for (let i = 0; i < 2; i++) {
      cipher.update(message, a);
      plain.update(message, b);
      assert.deepEqual(a, b);
    }
    assert.equal(health.bars()[0]?.kind, 'wrong result');
    assert.throws(() => cipher.update(message, a), isWrong);
  });

  test('a digest that was begun with somebody who has been found out since is not given', () => {
    const sha = named<HashAlgorithm>('sha256');
    const { relay, health } = scene(sha, () => 'works');
    using session = relay.hash(sha);
    session.update(message);
    health.quarantine('sha256', 'cryptodev', { code: 'WRONG_RESULT', message: 'elsewhere' });
    assert.throws(() => session.digest(new Uint8Array(32)), isWrong);
  });

  test('whoever merely fails is asked before a liar', () => {
    const cbc = named<CipherAlgorithm>('aes-128-cbc');
    const { squad, health } = scene(cbc, () => 'works');
    health.quarantine('aes-128-cbc', 'cryptodev', { code: 'WRONG_RESULT', message: '' });
    health.failed('aes-128-cbc', 'libcrypto', { code: 'SYSTEM_ERROR', message: '' }, true);
    assert.equal(squad.candidates[squad.pick(16)]?.label, 'libcrypto');
    squad.check(1);
    assert.throws(() => squad.check(0), isWrong);
  });
});

test('a reference that does not take a message says nothing about it', () => {
  const refuse = (): never => {
    throw new UnavailableError('ALGORITHM_UNAVAILABLE', 'node', 'test', {
      code: 'ALGORITHM_NOT_OFFERED',
      message: 'not this one',
    });
  };
  const choosy: Driver = {
    ...{ name: 'node', probe: () => libcrypto.probe(), reprobe: () => libcrypto.probe() },
    supports: () => ({ supported: true }),
    implementation: () => undefined,
    ...{ cipher: refuse, aead: refuse, hash: refuse, mac: refuse },
  };
  const options = { verifyEvery: 1, reference: choosy };
  const data = new Uint8Array(64);
  const cbc = named<CipherAlgorithm>('aes-128-cbc');
  using cipher = scene(cbc, () => 'works', options).relay.cipher(
    cbc,
    'encrypt',
    new Uint8Array(16),
    new Uint8Array(16),
  );
  cipher.update(data, new Uint8Array(64));
  const gcm = named<AeadAlgorithm>('aes-128-gcm');
  using aead = scene(gcm, () => 'works', options).relay.aead(gcm, 'encrypt', new Uint8Array(16));
  aead.seal(new Uint8Array(12), data, data, new Uint8Array(64), new Uint8Array(16));
  const sha = named<HashAlgorithm>('sha256');
  using hash = scene(sha, () => 'works', options).relay.hash(sha);
  hash.once(data, new Uint8Array(32));
  hash.restart();
  hash.update(data);
  hash.digest(new Uint8Array(32));
});

test('a shortage at the opening of a session is a fault, a length that is not taken is none', () => {
  const error = (code: ReasonCode) =>
    new UnavailableError('ALGORITHM_UNAVAILABLE', 'cryptodev', 'test', { code, message: '' });
  for (const code of ['OUT_OF_MEMORY', 'TOO_MANY_FILES', 'DEVICE_BUSY', 'DEVICE_GONE'] as const)
    assert.equal(blame(error(code)), 'fault', code);
  for (const code of ['BAD_TAG_LENGTH', 'ALGORITHM_NOT_OFFERED'] as const)
    assert.equal(blame(error(code)), 'refusal', code);
});

test('a data unit of XTS that is too short changes nothing, in either form', async () => {
  const xts = named<CipherAlgorithm>('aes-128-xts');
  const { relay, losses } = scene(xts, () => 'works');
  const key = new Random('xts').bytes(32);
  using session = relay.cipher(xts, 'encrypt', key, new Uint8Array(16));
  const short = new Uint8Array(15);
  assert.throws(() => session.update(short, short), { code: 'PARTIAL_BLOCK' });
  await assert.rejects(session.updateAsync(short, short), { code: 'PARTIAL_BLOCK' });
  session.update(new Uint8Array(17), new Uint8Array(17));
  assert.deepEqual(losses, []);
});

test('close() while a request is under way and fails: it is done, and everything is freed', async () => {
  const cbc = named<CipherAlgorithm>('aes-128-cbc');
  const { relay, device } = scene(cbc, (n) => (n === 0 ? SPOILT : 'works'));
  const session = relay.cipher(cbc, 'encrypt', new Uint8Array(16), new Uint8Array(16));
  using plain = libcrypto.cipher(cbc, 'encrypt', new Uint8Array(16), new Uint8Array(16));
  const [a, b] = [new Uint8Array(4096), new Uint8Array(4096)];
  const under = session.updateAsync(a, a);
  assert.throws(() => session.update(a, a), { code: 'SESSION_BUSY' });
  session.close();
  await under;
  plain.update(b, b);
  assert.deepEqual(a, b);
  assert.throws(() => session.update(a, a), { code: 'SESSION_UNUSABLE' });
  assert.equal(device.open, 0);
});

/** One random script over a relay and over libcrypto alone: equal step by step, or the relay's session ends in a typed error. */
async function script(name: string, random: Random): Promise<void> {
  const algorithm = named<CipherAlgorithm>(name);
  const unit = Math.max(algorithm.blockBytes, algorithm.cipherBlockBytes);
  const verifyEvery = random.integer(0, 2);
  const fate = (): Fate => {
    const draw = random.integer(0, 9);
    if (draw < 6) return 'works';
    if (draw === 6 && verifyEvery === 1) return 'lies';
    const errno = random.pick(['EIO', 'ENOMEM', 'EBUSY']);
    return draw < 8 ? { errno } : { errno, spoils: true };
  };
  const { relay, device } = scene(algorithm, fate, { verifyEvery, costs: random.integer(0, 1) === 1 });
  const direction = random.pick(['encrypt', 'decrypt'] as const);
  const newKey = () => random.bytes(algorithm.keyBytes);
  const newIv = () => (algorithm.ivBytes > 0 ? random.bytes(algorithm.ivBytes) : null);
  const [key, iv] = [newKey(), newIv()];
  const one: CipherSession = relay.cipher(algorithm, direction, key, iv);
  const two = libcrypto.cipher(algorithm, direction, key, iv);
  const xts = algorithm.mode === 'xts';
  let ended = false;
  for (let step = 0; step < 25; step++) {
    if (ended || random.integer(0, 5) === 0) {
      const nextIv = newIv();
      const nextKey = random.integer(0, 2) === 0 ? newKey() : undefined;
      one.restart(nextIv, nextKey);
      two.restart(nextIv, nextKey);
      ended = false;
    }
    let length = random.pick([1, 2, 3, 60, 300]) * unit;
    if (algorithm.blockBytes === 1 && algorithm.cipherBlockBytes > 1 && random.integer(0, 6) === 0) {
      length += random.integer(1, algorithm.cipherBlockBytes - 1);
      ended = !xts;
    }
    const data = random.bytes(length);
    const expected = new Uint8Array(length);
    two.update(data, expected);
    // Apart, in place, overlapping by some bytes, with an output that is too long.
    const form = random.integer(0, 3);
    const memory = new Uint8Array(2 * length + 40);
    const at = form === 0 ? length + 20 : form === 1 ? 0 : form === 2 ? 5 : length;
    memory.set(data);
    const output = form === 3 ? memory.subarray(at) : memory.subarray(at, at + length);
    const input = memory.subarray(0, length);
    try {
      if (random.integer(0, 2) === 0) await one.updateAsync(input, output);
      else one.update(input, output);
    } catch (error) {
      assert.ok(/^(DRIVER_FAILED)$/.test((error as HwcryptError).code), String(error));
      assert.equal(one.usable, false);
      break;
    }
    assert.deepEqual(
      output.subarray(0, length),
      expected,
      `${name} ${direction}, step ${step}, form ${form}`,
    );
    if (!ended) assert.deepEqual(one.chain(), two.chain(), `${name}: the chain after step ${step}`);
  }
  one.close();
  two.close();
  assert.equal(device.open, 0);
}

for (const name of ['ecb', 'cbc', 'ctr', 'cfb', 'ofb', 'cfb8', 'xts'].map((mode) => `aes-128-${mode}`)) {
  test(`${name}: random scripts, over a relay and over a library alone`, async () => {
    for (let i = 0; i < 40; i++) await script(name, new Random(`script ${name} ${i}`, SEED));
  });
}
