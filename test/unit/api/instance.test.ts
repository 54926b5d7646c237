/** What hwcrypt has beyond node:crypto's shape: instances, pins and fallbacks, one-shot calls, sectors, the tag of a stream. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import nodeCrypto from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished, pipeline } from 'node:stream/promises';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CipherSession, Driver } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import * as hwcrypt from '#src/index.js';
import { AuthenticationError, HwcryptError, open, UnavailableError } from '#src/index.js';
import { Random } from '../../helpers/random.js';

const random = new Random('instance');
const coded = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe('open()', () => {
  test('an order of drivers, each by itself or pinned', () => {
    assert.deepEqual(
      open({ drivers: ['node', 'libcrypto'] })
        .drivers()
        .map(({ name, probe }) => [name, probe.available]),
      [
        ['node', true],
        ['libcrypto', true],
      ],
    );
    assert.equal(open({ drivers: 'node' }).createHash('sha256').driver, 'node');
    assert.equal(open({ drivers: 'libcrypto' }).createHash('sha256').driver, 'libcrypto');
    assert.match(open({ drivers: 'libcrypto:default' }).createHash('sha256').driver, /^libcrypto/);
    assert.equal(open().drivers()[0]!.name, 'libcrypto');
    assert.equal(hwcrypt.createHash('sha256').driver, 'libcrypto');
  });

  test('what cannot be opened', () => {
    assert.throws(() => open({ drivers: 'nonsense' }), coded('ERR_INVALID_ARG_VALUE'));
    assert.throws(() => open({ drivers: [] }), coded('NO_DRIVER'));
    assert.throws(() => open({ drivers: 5 as never }), coded('ERR_INVALID_ARG_TYPE'));
    assert.throws(() => open({ drivers: [5] as never }), coded('ERR_INVALID_ARG_TYPE'));
    assert.throws(() => open({ policy: 'luck' as never }), coded('ERR_INVALID_ARG_VALUE'));
    assert.throws(() => open(null as never), coded('ERR_INVALID_ARG_TYPE'));
    assert.throws(() => open('node' as never), coded('ERR_INVALID_ARG_TYPE'));
  });

  test('a pinned driver does it, or nobody does', () => {
    const pinned = open({ drivers: 'node' });
    assert.throws(
      () => pinned.createCipheriv('serpent-256-cbc', new Uint8Array(32), new Uint8Array(16)),
      (error) =>
        error instanceof UnavailableError &&
        error.code === 'ALGORITHM_UNAVAILABLE' &&
        error.driver === 'node' &&
        error.reason.code === 'ALGORITHM_UNKNOWN',
    );
    assert.throws(
      () => open({ drivers: 'libcrypto:aesni' }).createHash('sha256'),
      (error) => error instanceof UnavailableError && /aesni/.test(error.message),
    );
    assert.throws(
      () =>
        open({ drivers: ['node', 'libcrypto'] }).createCipheriv(
          'serpent-256-cbc',
          new Uint8Array(32),
          new Uint8Array(16),
        ),
      (error) =>
        error instanceof UnavailableError &&
        error.code === 'NO_DRIVER' &&
        error.message ===
          'no driver can do serpent-256-cbc: node: node:crypto has no serpent-256-cbc of 256 bits; ' +
            'libcrypto: this OpenSSL has no serpent-256-cbc',
    );
    assert.throws(() => pinned.createCipheriv('nonsense', 'k', 'v'), coded('ERR_CRYPTO_UNKNOWN_CIPHER'));
  });

  test('an option pins the driver of one call', async () => {
    const [key, iv] = [new Uint8Array(16), new Uint8Array(16)];
    for (const driver of ['node', 'libcrypto', ['node', 'libcrypto']] as const) {
      const name = typeof driver === 'string' ? driver : 'node';
      assert.equal(hwcrypt.createCipheriv('aes-128-cbc', key, iv, { driver }).driver, name);
      assert.equal(hwcrypt.createDecipheriv('aes-128-cbc', key, iv, { driver }).driver, name);
      assert.equal(hwcrypt.createHash('sha256', { driver }).driver, name);
      assert.equal(hwcrypt.createHmac('sha256', 'key', { driver }).driver, name);
      const options = { driver } as hwcrypt.OneShotOptions;
      const right = nodeCrypto.createHash('sha256').update('abc').digest();
      assert.deepEqual(hwcrypt.digest('sha256', 'abc', options), right);
      assert.deepEqual(await hwcrypt.digestAsync('sha256', 'abc', options), right);
    }
    assert.throws(() => hwcrypt.createHash('sha256', { driver: 'nonsense' }), coded('ERR_INVALID_ARG_VALUE'));
    assert.throws(() => hwcrypt.createHash('sha256', { driver: 5 as never }), coded('ERR_INVALID_ARG_TYPE'));
  });

  test('names that the table lacks are left to node:crypto where it may be asked', () => {
    const [key, iv] = [new Uint8Array(16), new Uint8Array(8).fill(0xa6)];
    const wrapped = nodeCrypto.createCipheriv('aes128-wrap', key, iv).update(new Uint8Array(16));
    for (const from of [hwcrypt, open({ drivers: 'node' }), open({ drivers: ['libcrypto', 'node'] })]) {
      const cipher = from.createCipheriv('aes128-wrap', key, iv);
      assert.equal(cipher.driver, 'node');
      assert.deepEqual(cipher.update(new Uint8Array(16)), wrapped);
    }
    assert.throws(
      () => open({ drivers: 'libcrypto' }).createCipheriv('aes128-wrap', key, iv),
      coded('ERR_CRYPTO_UNKNOWN_CIPHER'),
    );
  });

  test('reprobe and close leave an instance usable', () => {
    using instance = open({ drivers: ['libcrypto', 'node'] });
    const hash = () => instance.digest('sha256', 'abc').toString('hex');
    const first = hash();
    instance.reprobe();
    assert.equal(hash(), first);
    instance.close();
    assert.equal(hash(), first);
  });

  test('route() tells who would do it', () => {
    const route = open({ drivers: ['libcrypto', 'node'] }).route('aes-128-cbc');
    assert.equal(route.label, 'libcrypto');
    assert.deepEqual(route.passedOver, []);
    assert.throws(() => open().route('nonsense'), coded('ERR_CRYPTO_UNKNOWN_CIPHER'));
  });
});

describe('a fallback is announced', () => {
  // node:crypto has no CMAC.
  const fall = (instance: hwcrypt.Hwcrypt) => instance.hmac('cmac-aes-128', new Uint8Array(16), 'abc');
  const order = ['node', 'libcrypto'] as const;

  test('to the instance’s listener, once an algorithm', () => {
    const heard: hwcrypt.Fallback[] = [];
    const instance = open({ drivers: order, onFallback: (fallback) => heard.push(fallback) });
    fall(instance);
    fall(instance);
    instance.digest('sha256', 'abc');
    assert.equal(heard.length, 1);
    assert.equal(heard[0]!.algorithm, 'cmac-aes-128');
    assert.equal(heard[0]!.driver, 'libcrypto');
    assert.deepEqual(
      heard[0]!.passedOver.map(({ driver }) => driver),
      ['node'],
    );
    assert.match(heard[0]!.message, /cmac-aes-128 is done by libcrypto, since node: /);
    instance.hmac('cmac-aes-256', new Uint8Array(32), 'abc');
    assert.equal(heard.length, 2);
    instance.reprobe();
    fall(instance);
    assert.equal(heard.length, 3);
  });

  test('on the diagnostics channel', () => {
    const heard: unknown[] = [];
    const listen = (message: unknown) => heard.push(message);
    subscribe('hwcrypt:fallback', listen);
    try {
      fall(open({ drivers: order }));
    } finally {
      unsubscribe('hwcrypt:fallback', listen);
    }
    assert.equal(heard.length, 1);
    assert.equal((heard[0] as hwcrypt.Fallback).driver, 'libcrypto');
  });

  test('in the default order: a driver that cannot be used, not one that lacks the algorithm', (t) => {
    const heard: hwcrypt.Fallback[] = [];
    const driverOf = () =>
      open({ onFallback: (fallback) => heard.push(fallback) }).route('aes-128-cbc').driver.name;
    const libcrypto = getDriver('libcrypto');
    const lacks: hwcrypt.Support = {
      supported: false,
      reason: { code: 'ALGORITHM_UNKNOWN', message: 'it has none' },
    };
    const { mock } = t.mock.method(libcrypto, 'supports', () => lacks);
    assert.equal(driverOf(), 'node');
    assert.equal(heard.length, 0);
    open({ drivers: ['libcrypto', 'node'], onFallback: (fallback) => heard.push(fallback) }).route(
      'aes-128-cbc',
    );
    assert.equal(heard.length, 1);
    mock.restore();
    t.mock.method(libcrypto, 'probe', () => ({
      available: false,
      reason: { code: 'FFI_UNAVAILABLE', message: 'no koffi for this platform' },
    }));
    assert.equal(driverOf(), 'node');
    assert.match(heard[1]?.message ?? '', /aes-128-cbc is done by node, since libcrypto: no koffi/);
  });

  test('by a process warning where nobody listens', async () => {
    const warned = once(process, 'warning');
    fall(open({ drivers: order }));
    const [warning] = (await warned) as [Error & { code?: string }];
    assert.equal(warning.name, 'HwcryptFallback');
    assert.equal(warning.code, 'HWCRYPT_FALLBACK');
    assert.match(warning.message, /cmac-aes-128 is done by libcrypto/);
  });
});

const MODES = [
  ['aes-128-ecb', 16, 0],
  ['aes-256-cbc', 32, 16],
  ['des-ede3-cbc', 24, 8],
  ['aes-128-ctr', 16, 16],
  ['aes-192-ofb', 24, 16],
  ['aes-128-cfb', 16, 16],
  ['chacha20', 32, 16],
] as const;
const AEADS = [
  ['aes-128-gcm', 16, 12, 16],
  ['aes-256-gcm', 32, 12, 12],
  ['aes-128-ccm', 16, 12, 8],
  ['aes-256-ccm', 32, 13, 16],
  ['aes-128-ocb', 16, 12, 16],
  ['chacha20-poly1305', 32, 12, 16],
] as const;
const LENGTHS = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 255, 256, 257, 511, 512, 1000, 4096, 16_384, 100_001];

function encrypted(
  name: string,
  key: Uint8Array,
  iv: Uint8Array | null,
  data: Uint8Array,
  padding = true,
): Buffer {
  const cipher = nodeCrypto.createCipheriv(name, key, iv).setAutoPadding(padding);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

function sealed(
  name: string,
  key: Uint8Array,
  iv: Uint8Array,
  data: Uint8Array,
  aad: Uint8Array,
  tagBytes: number,
): Buffer {
  const cipher = nodeCrypto.createCipheriv(name as 'aes-128-gcm', key, iv, { authTagLength: tagBytes });
  cipher.setAAD(aad, { plaintextLength: data.length });
  // As text where there is none: see the CCM of no text in docs/node-crypto.md.
  const head = data.length === 0 ? cipher.update('', 'latin1') : cipher.update(data);
  return Buffer.concat([head, cipher.final(), cipher.getAuthTag()]);
}

for (const driver of ['libcrypto', 'node']) {
  describe(`one call, one message, over ${driver}`, () => {
    const api = open({ drivers: driver });

    test('ciphers at many lengths, sync and async, with and without padding', async () => {
      for (const [name, keyBytes, ivBytes] of MODES) {
        for (const length of LENGTHS) {
          const key = random.bytes(keyBytes);
          const iv = ivBytes === 0 ? null : random.bytes(ivBytes);
          const data = random.bytes(length);
          const right = encrypted(name, key, iv, data);
          assert.deepEqual(api.encrypt(name, key, iv, data), right, `${name} ${length}`);
          assert.deepEqual(api.decrypt(name, key, iv, right), Buffer.from(data), `${name} ${length}`);
          assert.deepEqual(await api.encryptAsync(name, key, iv, data), right, `${name} ${length}`);
          assert.deepEqual(
            await api.decryptAsync(name, key, iv, right),
            Buffer.from(data),
            `${name} ${length}`,
          );
          if (length % 16 !== 0) continue;
          const bare = encrypted(name, key, iv, data, false);
          const options = { autoPadding: false };
          assert.deepEqual(api.encrypt(name, key, iv, data, options), bare, `${name} ${length}`);
          assert.deepEqual(api.decrypt(name, key, iv, bare, options), Buffer.from(data), `${name} ${length}`);
          assert.deepEqual(await api.encryptAsync(name, key, iv, data, options), bare);
          assert.deepEqual(await api.decryptAsync(name, key, iv, bare, options), Buffer.from(data));
        }
      }
    });

    test('AEADs at many lengths: the tag stands behind the text', async () => {
      for (const [name, keyBytes, ivBytes, tagBytes] of AEADS) {
        for (const length of LENGTHS) {
          if (ivBytes === 13 && length > 65_535) continue;
          const [key, iv, data, aad] = [keyBytes, ivBytes, length, length % 50].map((size) =>
            random.bytes(size),
          ) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
          const right = sealed(name, key, iv, data, aad, tagBytes);
          const options = { aad, authTagLength: tagBytes };
          assert.deepEqual(api.encrypt(name, key, iv, data, options), right, `${name} ${length}`);
          assert.deepEqual(
            api.decrypt(name, key, iv, right, options),
            Buffer.from(data),
            `${name} ${length}`,
          );
          assert.deepEqual(await api.encryptAsync(name, key, iv, data, options), right, `${name} ${length}`);
          assert.deepEqual(
            await api.decryptAsync(name, key, iv, right, options),
            Buffer.from(data),
            `${name} ${length}`,
          );
        }
      }
    });

    test('hashes and MACs at many lengths', async () => {
      for (const name of ['md5', 'sha1', 'sha256', 'sha512', 'sha3-256', 'blake2b512', 'shake128']) {
        for (const length of LENGTHS) {
          const data = random.bytes(length);
          const key = random.bytes(length % 200);
          const hash = nodeCrypto.createHash(name).update(data).digest();
          assert.deepEqual(api.digest(name, data), hash, `${name} ${length}`);
          assert.deepEqual(await api.digestAsync(name, data), hash, `${name} ${length}`);
          if (name === 'shake128') continue;
          const mac = nodeCrypto.createHmac(name, key).update(data).digest();
          assert.deepEqual(api.hmac(name, key, data), mac, `${name} ${length}`);
          assert.deepEqual(await api.hmacAsync(name, key, data), mac, `${name} ${length}`);
        }
      }
      const right = nodeCrypto.createHash('shake256', { outputLength: 100 }).update('abc').digest();
      assert.deepEqual(api.digest('shake256', 'abc', { outputLength: 100 }), right);
      assert.deepEqual(await api.digestAsync('shake256', 'abc', { outputLength: 100 }), right);
      assert.throws(
        () => api.digest('sha256', 'abc', { outputLength: 31 }),
        coded('ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH'),
      );
    });

    test('the result goes where the caller wants it', async () => {
      const [key, iv, data] = [random.bytes(16), random.bytes(16), random.bytes(100)];
      const right = encrypted('aes-128-cbc', key, iv, data);
      const room = new Uint8Array(200).fill(0xee);
      const output = room.subarray(8, 8 + 150);
      for (const result of [
        api.encrypt('aes-128-cbc', key, iv, data, { output }),
        await api.encryptAsync('aes-128-cbc', key, iv, data, { output }),
      ]) {
        assert.deepEqual(result, right);
        assert.equal(result.buffer, room.buffer);
        assert.equal(result.byteOffset, 8);
        assert.deepEqual(
          [...room.subarray(0, 8), ...room.subarray(8 + right.length)],
          new Array(200 - right.length).fill(0xee),
        );
      }
      // In place, and behind padding that was taken off no padding is left.
      const own = Buffer.alloc(112);
      own.set(data);
      assert.deepEqual(api.encrypt('aes-128-cbc', key, iv, own.subarray(0, 100), { output: own }), right);
      const back = api.decrypt('aes-128-cbc', key, iv, own, { output: own });
      assert.deepEqual(back, Buffer.from(data));
      assert.deepEqual(own.subarray(100), Buffer.alloc(12));
      // Shifted by a little.
      const shifted = Buffer.alloc(130);
      shifted.set(data, 5);
      assert.deepEqual(
        api.encrypt('aes-128-cbc', key, iv, shifted.subarray(5, 105), { output: shifted.subarray(1) }),
        right,
      );
      const short = { output: new Uint8Array(111) };
      assert.throws(() => api.encrypt('aes-128-cbc', key, iv, data, short), coded('ERR_OUT_OF_RANGE'));
      await assert.rejects(api.encryptAsync('aes-128-cbc', key, iv, data, short), coded('ERR_OUT_OF_RANGE'));
      assert.throws(
        () => api.digest('sha256', 'abc', { output: new Uint8Array(31) }),
        coded('ERR_OUT_OF_RANGE'),
      );
      assert.throws(
        () => api.hmac('sha256', 'k', 'abc', { output: 'x' as never }),
        coded('ERR_INVALID_ARG_TYPE'),
      );
      const place = new Uint8Array(40);
      assert.equal(api.digest('sha256', 'abc', { output: place }).buffer, place.buffer);
      assert.equal(api.hmac('sha256', 'k', 'abc', { output: place }).buffer, place.buffer);
      assert.equal((await api.hmacAsync('sha256', 'k', 'abc', { output: place })).buffer, place.buffer);
    });

    test('a forged message gives AUTH_FAILED and nothing of its text; the next one is read', async () => {
      for (const [name, keyBytes, ivBytes, tagBytes] of AEADS) {
        const [key, iv, data] = [random.bytes(keyBytes), random.bytes(ivBytes), random.bytes(300)];
        const right = sealed(name, key, iv, data, new Uint8Array(0), tagBytes);
        const forged = Buffer.from(right);
        forged[7]! ^= 1;
        const output = new Uint8Array(300).fill(0xee);
        const options = { authTagLength: tagBytes };
        for (let i = 0; i < 2; i++) {
          assert.throws(
            () => api.decrypt(name, key, iv, forged, { ...options, output }),
            AuthenticationError,
          );
          assert.ok(output.every((byte) => byte === 0 || byte === 0xee));
          await assert.rejects(api.decryptAsync(name, key, iv, forged, options), coded('AUTH_FAILED'));
          assert.deepEqual(api.decrypt(name, key, iv, right, options), Buffer.from(data));
        }
        // Shorter than its tag.
        assert.throws(
          () => api.decrypt(name, key, iv, right.subarray(0, tagBytes - 1), options),
          coded('AUTH_FAILED'),
        );
        await assert.rejects(
          api.decryptAsync(name, key, iv, new Uint8Array(0), options),
          coded('AUTH_FAILED'),
        );
      }
    });

    test('wrong padding gives Node’s code and nothing of the text', async () => {
      const [key, iv] = [random.bytes(16), random.bytes(16)];
      const bare = encrypted('aes-128-cbc', key, iv, new Uint8Array(32), false);
      const output = new Uint8Array(32).fill(0xee);
      assert.throws(
        () => api.decrypt('aes-128-cbc', key, iv, bare, { output }),
        coded('ERR_OSSL_BAD_DECRYPT'),
      );
      assert.deepEqual(output, new Uint8Array(32));
      await assert.rejects(api.decryptAsync('aes-128-cbc', key, iv, bare), coded('ERR_OSSL_BAD_DECRYPT'));
      for (const length of [0, 1, 17]) {
        const data = new Uint8Array(length);
        assert.throws(
          () => api.decrypt('aes-128-cbc', key, iv, data),
          coded('ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH'),
        );
        await assert.rejects(
          api.decryptAsync('aes-128-cbc', key, iv, data),
          coded('ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH'),
        );
      }
    });

    test('keys, IVs, directions and tag lengths may change with every call', () => {
      const messages = Array.from({ length: 200 }, () => {
        const [name, keyBytes, ivBytes, tagBytes] = random.pick([
          ...AEADS,
          ['aes-128-gcm', 16, 16, 8] as const,
          ...MODES.map(([name, keyBytes, ivBytes]) => [name, keyBytes, ivBytes, 0] as const),
        ]);
        const key = random.integer(0, 1) ? new Uint8Array(keyBytes).fill(keyBytes) : random.bytes(keyBytes);
        const iv = ivBytes === 0 ? null : random.bytes(ivBytes);
        const data = random.bytes(random.integer(0, 100));
        const right =
          tagBytes === 0
            ? encrypted(name, key, iv, data)
            : sealed(name, key, iv!, data, new Uint8Array(0), tagBytes);
        return { name, key, iv, data, right, options: tagBytes === 0 ? {} : { authTagLength: tagBytes } };
      });
      for (const { name, key, iv, data, right, options } of messages) {
        assert.deepEqual(api.encrypt(name, key, iv, data, options), right, name);
        if (random.integer(0, 3) === 0) {
          // An error in between must not leave anything behind.
          assert.throws(
            () => api.encrypt(name, key.subarray(1), iv, data, options),
            coded('ERR_CRYPTO_INVALID_KEYLEN'),
          );
          assert.throws(
            () => api.encrypt(name, key, new Uint8Array(200), data, options),
            coded('ERR_CRYPTO_INVALID_IV'),
          );
        }
        assert.deepEqual(api.decrypt(name, key, iv, right, options), Buffer.from(data), name);
      }
    });

    test('many at once', async () => {
      await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const [key, iv, data] = [random.bytes(16), random.bytes(12), random.bytes(i * 97)];
          const right = sealed('aes-128-gcm', key, iv, data, new Uint8Array(0), 16);
          const promise = api.encryptAsync('aes-128-gcm', key, iv, data);
          // The arguments may be changed at once.
          for (const view of [key, iv, data]) view.fill(0);
          assert.deepEqual(await promise, right);
        }),
      );
    });

    test('memory that goes while the arguments are read', async () => {
      for (const name of ['aes-128-cbc', 'aes-128-gcm'] as const) {
        for (const option of ['output', 'aad', 'authTagLength', 'autoPadding', 'driver']) {
          const iv = new Uint8Array(name === 'aes-128-gcm' ? 12 : 16);
          const make = () => {
            const data = new Uint8Array(1000);
            const options = {
              get [option]() {
                structuredClone(data.buffer, { transfer: [data.buffer] });
                return undefined;
              },
            };
            return [name, new Uint8Array(16), iv, data, options] as const;
          };
          const gone = coded('ERR_INVALID_STATE');
          const read =
            name === 'aes-128-gcm' ? option !== 'autoPadding' : !['aad', 'authTagLength'].includes(option);
          if (!read) continue;
          assert.throws(() => api.encrypt(...make()), gone, `${name} ${option}`);
          await assert.rejects(api.encryptAsync(...make()), gone, `${name} ${option}`);
        }
      }
      const cipher = api.createCipheriv('aes-128-gcm', new Uint8Array(16), new Uint8Array(12));
      const gone = new Uint8Array(10);
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      assert.throws(() => cipher.update(gone), coded('ERR_INVALID_STATE'));
      assert.throws(() => cipher.setAAD(gone), coded('ERR_INVALID_STATE'));
      assert.throws(() => cipher.setAAD(gone.buffer), coded('ERR_INVALID_STATE'));
      assert.throws(() => api.createHash('sha256').update(gone), coded('ERR_INVALID_STATE'));
      assert.throws(() => api.createHmac('sha256', gone), coded('ERR_INVALID_STATE'));
    });
  });
}

describe('keys', () => {
  test('the caller’s key is left as it is, a KeyObject can be used again', () => {
    const bytes = random.bytes(16);
    const shared = new Uint8Array(new SharedArrayBuffer(16));
    shared.set(bytes);
    const keyObject = nodeCrypto.createSecretKey(bytes);
    const iv = new Uint8Array(16);
    const right = encrypted('aes-128-cbc', bytes, iv, bytes);
    for (const key of [bytes, shared, shared.buffer, bytes.slice().buffer, keyObject, keyObject]) {
      assert.deepEqual(hwcrypt.encrypt('aes-128-cbc', key as Uint8Array, iv, bytes), right);
      hwcrypt.createCipheriv('aes-128-cbc', key as Uint8Array, iv);
      hwcrypt.createHmac('sha256', key as Uint8Array);
      hwcrypt.hmac('sha256', key as Uint8Array, 'abc');
    }
    assert.deepEqual(Uint8Array.from(shared), bytes);
    assert.deepEqual(keyObject.export(), Buffer.from(bytes));
  });

  test('sessions of one-shot calls are closed, and their keys wiped, soon after the last call', async () => {
    const libcrypto = getDriver('libcrypto') as Driver & { cipher: Driver['cipher'] };
    const sessions: CipherSession[] = [];
    const original = libcrypto.cipher;
    libcrypto.cipher = (...args) => {
      const session = original.apply(libcrypto, args);
      sessions.push(session);
      return session;
    };
    try {
      const instance = open({ drivers: 'libcrypto' });
      const run = () => instance.encrypt('aes-128-ctr', new Uint8Array(16), new Uint8Array(16), 'abc');
      run();
      run();
      assert.equal(sessions.length, 1, 'the session is used again');
      assert.equal(sessions[0]!.usable, true);
      await sleep(2500);
      assert.equal(sessions[0]!.usable, false);
      run();
      assert.equal(sessions.length, 2);
      instance.close();
      assert.equal(sessions[1]!.usable, false);
    } finally {
      libcrypto.cipher = original;
    }
  });

  test('an idle session does not keep the process', () => {
    const started = Date.now();
    const program = `import { encrypt } from '${new URL(import.meta.resolve('#src/index.js')).href}';
      encrypt('aes-128-ctr', new Uint8Array(16), new Uint8Array(16), 'abc');`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 20_000,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    });
    assert.equal(child.status, 0, String(child.stderr));
    assert.ok(Date.now() - started < 15_000);
  });
});

describe('XTS', () => {
  const [key, iv] = [random.bytes(64), random.bytes(16)];
  const name = 'aes-256-xts';

  test('a second data unit under the same tweak is refused', () => {
    const cipher = hwcrypt.createCipheriv(name, key, iv);
    cipher.update(new Uint8Array(32));
    assert.throws(
      () => cipher.update(new Uint8Array(32)),
      (error) => error instanceof HwcryptError && error.code === 'XTS_STREAMING',
    );
    assert.throws(
      () => hwcrypt.createCipheriv(name, key, iv).update(new Uint8Array(15)),
      /^HwcryptError: Trying to add data in unsupported state/,
    );
  });

  test('a stream of sectors, cut anywhere, with the IV counted up', async () => {
    const start = new Uint8Array(16);
    // Two below the carry of the first 32 bits.
    new DataView(start.buffer).setBigUint64(0, 0xffff_fffen, true);
    for (const sectorSize of [16, 512, 4096]) {
      const plain = random.bytes(sectorSize * 9);
      const right = Buffer.concat(
        Array.from({ length: 9 }, (_, sector) => {
          const tweak = new Uint8Array(16);
          new DataView(tweak.buffer).setBigUint64(0, 0xffff_fffen + BigInt(sector), true);
          return nodeCrypto
            .createCipheriv(name, key, tweak)
            .update(plain.subarray(sector * sectorSize, (sector + 1) * sectorSize));
        }),
      );
      const chunks: Uint8Array[] = [];
      let at = 0;
      for (const length of random.pieces(plain.length, 1)) {
        chunks.push(plain.subarray(at, at + length));
        at += length;
      }
      const cipher = hwcrypt.createCipheriv(name, key, start, { sectorSize });
      assert.deepEqual(await buffer(Readable.from(chunks).pipe(cipher)), right);
      const decipher = hwcrypt.createDecipheriv(name, key, start, { sectorSize });
      assert.deepEqual(Buffer.concat([decipher.update(right), decipher.final()]), Buffer.from(plain));
    }
    assert.deepEqual(Buffer.from(start).readBigUInt64LE(), 0xffff_fffen, 'the caller’s IV is left alone');
  });

  test('the end within a sector, and sector sizes that are none', () => {
    const cipher = hwcrypt.createCipheriv(name, key, iv, { sectorSize: 512 });
    assert.equal(cipher.update(new Uint8Array(700)).length, 512);
    assert.throws(() => cipher.final(), coded('PARTIAL_BLOCK'));
    for (const sectorSize of [0, 8, 17, 1.5, -16, 'x' as never]) {
      assert.throws(
        () => hwcrypt.createCipheriv(name, key, iv, { sectorSize }),
        coded('ERR_INVALID_ARG_VALUE'),
      );
    }
    assert.throws(
      () => hwcrypt.createCipheriv('aes-128-cbc', key.subarray(0, 16), iv, { sectorSize: 512 }),
      coded('ERR_INVALID_ARG_VALUE'),
    );
  });
});

describe('the tag of a stream', () => {
  const [key, iv] = [random.bytes(16), random.bytes(12)];

  test('is promised', async () => {
    const data = random.bytes(100_000);
    const right = sealed('aes-128-gcm', key, iv, data, new Uint8Array(0), 16);
    const cipher = hwcrypt.createCipheriv('aes-128-gcm', key, iv);
    const tag = cipher.getAuthTagAsync();
    Readable.from([data]).pipe(cipher).resume();
    assert.deepEqual(await tag, right.subarray(-16));
    assert.deepEqual(await cipher.getAuthTagAsync(), right.subarray(-16));
    await finished(cipher);
  });

  test('is refused where there will be none', async () => {
    const destroyed = hwcrypt.createCipheriv('aes-128-gcm', key, iv);
    const tag = destroyed.getAuthTagAsync();
    destroyed.destroy();
    await assert.rejects(tag, coded('ERR_CRYPTO_INVALID_STATE'));
    const failing = hwcrypt.createCipheriv('aes-128-gcm', key, iv);
    const other = assert.rejects(failing.getAuthTagAsync(), /stop/);
    failing.on('error', () => {});
    failing.destroy(new Error('stop'));
    await other;
    await assert.rejects(
      hwcrypt.createCipheriv('aes-128-ctr', key, new Uint8Array(16)).getAuthTagAsync(),
      coded('ERR_CRYPTO_INVALID_STATE'),
    );
  });
});

describe('streams that fail', () => {
  test('in an error event, where node:crypto throws out of write', async () => {
    const cipher = hwcrypt.createCipheriv('aes-128-ccm', new Uint8Array(16), new Uint8Array(12), {
      authTagLength: 16,
    });
    cipher.resume();
    cipher.write('one');
    cipher.write('two');
    const [error] = await once(cipher, 'error');
    assert.match(
      (error as Error).message,
      /^Trying to add data in unsupported state: CCM takes its whole text in one update/,
    );
    const odd = hwcrypt.createHash('sha256');
    odd.write('abc', 'hex');
    const [oddError] = await once(odd, 'error');
    assert.equal((oddError as { code?: string }).code, 'ERR_INVALID_ARG_VALUE');
    await assert.rejects(
      pipeline(
        Readable.from([new Uint8Array(32), new Uint8Array(32)]),
        hwcrypt.createCipheriv('aes-256-xts', random.bytes(64), new Uint8Array(16)),
        async (source) => {
          for await (const _ of source);
        },
      ),
      coded('XTS_STREAMING'),
    );
  });

  test('a hash takes nothing more after its stream has ended', () => {
    const hash = hwcrypt.createHash('sha256');
    hash.end('abc');
    assert.throws(() => hash.update('more'), coded('ERR_CRYPTO_HASH_UPDATE_FAILED'));
    assert.throws(() => hash.copy(), coded('ERR_CRYPTO_HASH_FINALIZED'));
  });
});

describe('memory', () => {
  test('objects that were never ended are freed', () => {
    const program = `
      import { createCipheriv, createDecipheriv, createHash, createHmac } from '${import.meta.resolve('#src/index.js')}';
      const key = new Uint8Array(16), iv = new Uint8Array(16), nonce = new Uint8Array(12);
      const rss = [];
      for (let round = 0; round < 5; round++) {
        for (let i = 0; i < 20_000; i++) {
          createCipheriv('aes-128-cbc', key, iv).update('some text');
          createDecipheriv('aes-128-gcm', key, nonce).update('some text');
          createHash('sha256').update('some text');
          createHmac('sha256', 'key').update('some text');
          if (i % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        for (let i = 0; i < 3; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)); }
        rss.push(process.memoryUsage().rss / 2 ** 20);
      }
      console.log(JSON.stringify(rss));`;
    const child = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', program], {
      encoding: 'utf8',
      timeout: 60_000,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    });
    assert.equal(child.status, 0, child.stderr);
    const rss = JSON.parse(child.stdout) as number[];
    // 20 000 contexts of each kind that were not freed would be more than 30 MB a round.
    assert.ok(rss.at(-1)! - rss[1]! < 30, `resident MiB after each round: ${rss.map(Math.round).join(' ')}`);
  });
});
