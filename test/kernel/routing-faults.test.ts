/**
 * A real device that fails, vanishes or lies in the middle of things: through the API and the command, every result is OpenSSL's or a typed
 * error, and nobody is left in the dark. Requests take a millisecond here: each errno at each place of a stream, but not in each form.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { type CipherGCM, createHash, createHmac, createCipheriv as nodeCipheriv } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getDriver } from '#src/drivers/registry.js';
import { HwcryptError } from '#src/errors.js';
import { type Fallback, type Hwcrypt, type OpenOptions, open } from '#src/index.js';
import { HEALTH } from '#src/routing/health.js';
import { openProfile } from '#src/routing/profile.js';
import { type Cryptodev, serve } from '../../rig/cryptodev/index.js';
import { Random } from '../helpers/random.js';

const MAIN = fileURLToPath(import.meta.resolve('#src/cli/main.js'));
const ERRNOS = { EBUSY: 16, ENOMEM: 12, EIO: 5, ETIMEDOUT: 110, ENODEV: 19, EINVAL: 22 };
const CIPHERS = ['aes-128-ecb', 'aes-128-cbc', 'aes-128-ctr', 'des-ede3-cbc'];
const EVERYTHING = [...CIPHERS, 'aes-128-xts', 'aes-128-gcm', 'sha256', 'hmac-sha256'];

const random = new Random('routing faults');
const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-faults-'));
const profile = join(folder, 'profile.json');
const cryptodev = getDriver('cryptodev');

let provider: Cryptodev;
async function begin(): Promise<void> {
  provider = await serve();
  assert.ok(cryptodev.reprobe().available);
}

before(begin);
after(async () => {
  await provider.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As after a restart, but with the check behind it. */
async function reset(): Promise<void> {
  await provider.set({});
  rmSync(profile, { force: true });
  HEALTH.clear();
  for (const name of EVERYTHING) HEALTH.prove(name, 'cryptodev');
}
beforeEach(reset);

const told: Fallback[] = [];
function instance(options: Partial<OpenOptions> = {}): Hwcrypt {
  told.length = 0;
  return open({
    drivers: ['cryptodev', 'libcrypto'],
    profile,
    onFallback: (fallback) => told.push(fallback),
    ...options,
  });
}

function material(name: string, bytes: number) {
  const key = random.bytes(name.startsWith('des') ? 24 : name.endsWith('xts') ? 32 : 16);
  const iv = name.endsWith('ecb') ? null : random.bytes(name.startsWith('des') ? 8 : 16);
  return { key, iv, data: Buffer.from(random.bytes(bytes)) };
}

function encrypted(name: string, { key, iv, data }: ReturnType<typeof material>): Buffer {
  const cipher = nodeCipheriv(name, key, iv);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

const PIECES = [100, 4096, 1, 20_000, 33];
const TOTAL = PIECES.reduce((sum, size) => sum + size, 0);

function streamed(hwcrypt: Hwcrypt, name: string, one: ReturnType<typeof material>, decrypt: boolean) {
  const cipher = decrypt
    ? hwcrypt.createDecipheriv(name, one.key, one.iv)
    : hwcrypt.createCipheriv(name, one.key, one.iv);
  const input = decrypt ? encrypted(name, one) : one.data;
  const parts: Buffer[] = [];
  let at = 0;
  for (const size of PIECES) {
    parts.push(cipher.update(input.subarray(at, at + size)));
    at += size;
  }
  parts.push(cipher.update(input.subarray(at)), cipher.final());
  const result = Buffer.concat(parts);
  assert.ok(result.equals(decrypt ? one.data : encrypted(name, one)), `${name}: not what OpenSSL says`);
  return cipher.driver;
}

for (const name of CIPHERS) {
  test(`${name}: each errno at each request of a stream`, async () => {
    let turn = 0;
    for (const [errno, value] of Object.entries(ERRNOS)) {
      for (let at = 0; at < 5; at++) {
        HEALTH.clear();
        HEALTH.prove(name, 'cryptodev');
        using hwcrypt = instance();
        const one = material(name, TOTAL);
        await provider.set({ failRequests: { errno: value, after: at, times: 1 } });
        const driver = streamed(hwcrypt, name, one, turn++ % 2 === 1);
        const faults = hwcrypt.stats().reduce((sum, { errors }) => sum + errors, 0);
        assert.ok(faults >= 1, `${errno} at ${at} was met`);
        if (errno === 'EBUSY') assert.deepEqual(told, [], 'who is busy once is asked again');
        else {
          assert.equal(told.length, 1, `${errno} at ${at}: ${told.map(({ message }) => message).join()}`);
          assert.match(driver, /libcrypto/);
          assert.equal(told[0]?.passedOver[0]?.driver, 'cryptodev');
        }
        assert.ok(errno !== 'ENODEV' || hwcrypt.quarantined().length === 1, 'who is gone is not asked soon');
      }
    }
  });
}

test('a device that goes on failing: everything is done elsewhere, and soon nobody asks it', async () => {
  using hwcrypt = instance();
  await provider.set({ failRequests: { errno: ERRNOS.EIO } });
  for (let i = 0; i < 6; i++) streamed(hwcrypt, 'aes-128-cbc', material('aes-128-cbc', TOTAL), i % 2 === 1);
  const [stats] = hwcrypt.stats().filter(({ driver }) => driver === 'cryptodev');
  assert.equal(stats?.errors, 3);
  assert.equal(hwcrypt.quarantined()[0]?.kind, 'keeps failing');
  assert.equal(told.length, 1);
  // Another instance of this process knows it, and says why.
  using other = instance();
  streamed(other, 'aes-128-cbc', material('aes-128-cbc', TOTAL), false);
  assert.equal(told[0]?.passedOver[0]?.reason.code, 'KEEPS_FAILING');
});

test('one-shot calls, XTS, AEADs, hashes and MACs, in both forms', async () => {
  for (const errno of [ERRNOS.EBUSY, ERRNOS.EIO]) {
    for (const async of [false, true]) {
      HEALTH.clear();
      for (const name of EVERYTHING) HEALTH.prove(name, 'cryptodev');
      using hwcrypt = instance();
      const fail = () => provider.set({ failRequests: { errno, times: 1 } });
      for (const name of [...CIPHERS, 'aes-128-xts']) {
        const one = material(name, 5000);
        const right = encrypted(name, one);
        await fail();
        const { key, iv, data } = one;
        const sealed = async
          ? await hwcrypt.encryptAsync(name, key, iv, data)
          : hwcrypt.encrypt(name, key, iv, data);
        assert.ok(sealed.equals(right), name);
        await fail();
        const back = async
          ? await hwcrypt.decryptAsync(name, key, iv, right)
          : hwcrypt.decrypt(name, key, iv, right);
        assert.ok(back.equals(data), name);
      }
      const [key, iv, aad] = [random.bytes(16), random.bytes(12), random.bytes(20)];
      const data = Buffer.from(random.bytes(5000));
      const gcm = nodeCipheriv('aes-128-gcm', key, iv) as CipherGCM;
      gcm.setAAD(aad);
      const sealed = Buffer.concat([gcm.update(data), gcm.final(), gcm.getAuthTag()]);
      await fail();
      const made = async
        ? await hwcrypt.encryptAsync('aes-128-gcm', key, iv, data, { aad })
        : hwcrypt.encrypt('aes-128-gcm', key, iv, data, { aad });
      assert.ok(made.equals(sealed));
      await fail();
      const opened = async
        ? await hwcrypt.decryptAsync('aes-128-gcm', key, iv, sealed, { aad })
        : hwcrypt.decrypt('aes-128-gcm', key, iv, sealed, { aad });
      assert.ok(opened.equals(data));
      await fail();
      const digest = async ? await hwcrypt.digestAsync('sha256', data) : hwcrypt.digest('sha256', data);
      assert.ok(digest.equals(createHash('sha256').update(data).digest()));
      await fail();
      const mac = async ? await hwcrypt.hmacAsync('sha256', key, data) : hwcrypt.hmac('sha256', key, data);
      assert.ok(mac.equals(createHmac('sha256', key).update(data).digest()));
    }
  }
});

test('a hash in pieces: helped at its beginning, a typed error after it, never a wrong digest', async () => {
  const data = Buffer.from(random.bytes(9000));
  const right = createHash('sha256').update(data).digest('hex');
  let helped = 0;
  for (let at = 0; at < 5; at++) {
    HEALTH.clear();
    HEALTH.prove('sha256', 'cryptodev');
    using hwcrypt = instance();
    await provider.set({ failRequests: { errno: ERRNOS.EIO, after: at, times: 1 } });
    const hash = hwcrypt.createHash('sha256');
    try {
      for (const piece of [data.subarray(0, 3000), data.subarray(3000, 3001), data.subarray(3001)])
        hash.update(piece);
      assert.equal(hash.digest('hex'), right);
      helped++;
    } catch (error) {
      assert.ok(error instanceof HwcryptError, String(error));
      assert.equal(error.code, 'DRIVER_FAILED');
      assert.throws(() => hash.digest('hex'));
    }
  }
  assert.ok(helped >= 1 && helped < 5, `${helped}`);
});

test('where one driver was pinned, a typed error, and no end to a message that lost a piece', async () => {
  using hwcrypt = instance({ drivers: 'cryptodev' });
  const one = material('aes-128-ctr', 4992);
  const failed = { code: 'DRIVER_FAILED', reason: { errno: 'EIO' } };
  const is = (error: unknown) => {
    const { code, reason } = error as HwcryptError;
    assert.deepEqual({ code, reason: { errno: reason?.errno } }, failed);
    return true;
  };
  await provider.set({ failRequests: { errno: ERRNOS.EIO, after: 1 } });
  const cipher = hwcrypt.createCipheriv('aes-128-ctr', one.key, one.iv);
  cipher.update(one.data);
  assert.throws(() => cipher.update(one.data), is);
  assert.throws(() => cipher.update(one.data), HwcryptError);
  assert.throws(() => cipher.final(), { code: 'ERR_CRYPTO_INVALID_STATE' });
  assert.throws(() => hwcrypt.encrypt('aes-128-ctr', one.key, one.iv, one.data), is);
  await assert.rejects(hwcrypt.encryptAsync('aes-128-ctr', one.key, one.iv, one.data), is);
  for (const act of [
    () => hwcrypt.digest('sha256', one.data),
    () => hwcrypt.encrypt('aes-128-gcm', one.key, random.bytes(12), one.data),
  ])
    assert.throws(act, (error: HwcryptError) => error.reason?.errno === 'EIO');
  assert.deepEqual(told, []);
});

test('a table of sessions that is full: the rest is done elsewhere, and what was open goes on', async () => {
  using hwcrypt = instance();
  await provider.set({ maxSessions: 3 });
  const name = 'aes-128-cbc';
  const all = Array.from({ length: 12 }, () => {
    const one = material(name, 4096);
    return { one, cipher: hwcrypt.createCipheriv(name, one.key, one.iv), parts: [] as Buffer[] };
  });
  for (let at = 0; at < 4096; at += 1024) {
    for (const { one, cipher, parts } of all) parts.push(cipher.update(one.data.subarray(at, at + 1024)));
  }
  for (const { one, cipher, parts } of all) {
    assert.ok(Buffer.concat([...parts, cipher.final()]).equals(encrypted(name, one)));
  }
  assert.equal(told.length, 1);
  assert.equal(told[0]?.passedOver[0]?.reason.code, 'OUT_OF_MEMORY');
});

describe('wrong results', () => {
  test('each compared: the output is right, the device is told of and gets no more work, now and later', async () => {
    for (const [i, name] of [...CIPHERS, 'aes-128-gcm', 'sha256'].entries()) {
      using hwcrypt = instance({ verify: 1 });
      await provider.set({ corrupt: { after: i % 3 } });
      if (name === 'sha256') {
        const data = Buffer.from(random.bytes(5000));
        for (let n = 0; n < 4; n++) {
          const right = createHash('sha256').update(data).update(data).digest();
          const digest = n % 2 ? hwcrypt.digest(name, Buffer.concat([data, data])) : hwcrypt.createHash(name);
          if (Buffer.isBuffer(digest)) assert.ok(digest.equals(right));
          else assert.ok(digest.update(data).update(data).digest().equals(right));
        }
      } else if (name === 'aes-128-gcm') {
        const [key, iv] = [random.bytes(16), random.bytes(12)];
        const data = Buffer.from(random.bytes(5000));
        const gcm = nodeCipheriv(name, key, iv) as CipherGCM;
        const sealed = Buffer.concat([gcm.update(data), gcm.final(), gcm.getAuthTag()]);
        for (let n = 0; n < 4; n++) {
          assert.ok(hwcrypt.encrypt(name, key, iv, data).equals(sealed));
          assert.ok(hwcrypt.decrypt(name, key, iv, sealed).equals(data));
        }
      } else streamed(hwcrypt, name, material(name, TOTAL), i % 2 === 1);
      const [bar] = hwcrypt.quarantined().filter(({ algorithm }) => algorithm === name);
      assert.equal(bar?.kind, 'wrong result', name);
      assert.equal(told.length, 1, name);
      assert.equal(told[0]?.passedOver[0]?.reason.code, 'WRONG_RESULT');
      const record = openProfile({ path: profile }).quarantine(name, 'cryptodev');
      assert.ok(record && record.since === bar.since, name);
      const before = (await provider.counters()).requests;
      if (name !== 'sha256' && name !== 'aes-128-gcm') streamed(hwcrypt, name, material(name, TOTAL), false);
      assert.equal((await provider.counters()).requests, before, `${name}: it gets no more work`);
    }
  });

  test('where nobody else may do it, what follows the first wrong result is a typed error', async () => {
    using hwcrypt = instance({ drivers: 'cryptodev', verify: 2 });
    await provider.set({ corrupt: { after: 1, times: 1 } });
    const one = material('aes-128-ctr', 4096);
    const right = encrypted('aes-128-ctr', one);
    const go = () => hwcrypt.encrypt('aes-128-ctr', one.key, one.iv, one.data);
    assert.ok(go().equals(right));
    assert.ok(go().equals(right), 'the second is compared, and put right');
    assert.throws(go, (error: HwcryptError) => error.reason?.code === 'WRONG_RESULT');
    assert.throws(
      () => instance({ drivers: 'cryptodev' }).encrypt('aes-128-ctr', one.key, one.iv, one.data),
      (error: HwcryptError) => error.reason?.code === 'WRONG_RESULT',
    );
  });
});

describe('the command', () => {
  const plain = join(folder, 'plain');
  const out = join(folder, 'out');
  const [key, iv] = ['11'.repeat(16), '22'.repeat(16)];
  const data = Buffer.from(random.bytes(2_200_001));
  const cipher = nodeCipheriv('aes-128-cbc', Buffer.from(key, 'hex'), Buffer.from(iv, 'hex'));
  const right = Buffer.concat([cipher.update(data), cipher.final()]);

  const hwcrypt = (...args: string[]) => {
    const env = { ...process.env, HWCRYPT_PROFILE: profile };
    return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', env });
  };
  const enc = (driver: string, ...more: string[]) =>
    hwcrypt(
      ...['enc', '-aes-128-cbc', '-K', key, '-iv', iv, '-in', plain, '-out', out, '--driver', driver],
      ...more,
    );
  /** Requests of a whole run: the check before first use, and then the file. */
  let requests = 0;

  before(async () => {
    writeFileSync(plain, data);
    await provider.set({});
    const start = (await provider.counters()).requests;
    assert.equal(enc('cryptodev').status, 0);
    requests = (await provider.counters()).requests - start;
    assert.ok(readFileSync(out).equals(right));
  });
  beforeEach(async () => {
    await reset();
    rmSync(out, { force: true });
  });

  test('a device that fails in the middle of a file: the right file, one line, status 0', async () => {
    await provider.set({ failRequests: { errno: ERRNOS.EIO, after: requests - 2 } });
    const { status, stderr } = enc('cryptodev,libcrypto', '--verify', '1');
    assert.ok(readFileSync(out).equals(right), stderr);
    assert.equal(status, 0);
    assert.match(stderr, /^hwcrypt: enc: aes-128-cbc is done by libcrypto, since cryptodev: [^\n]+\n$/);
  });

  test('a device that vanishes in the middle of a file', async () => {
    for (const [driver, status] of [
      ['cryptodev,libcrypto', 0],
      ['cryptodev', 1],
    ] as const) {
      rmSync(out, { force: true });
      await provider.set({ vanish: { after: requests - 2 } });
      const done = enc(driver);
      assert.equal(done.status, status, done.stderr);
      assert.equal(done.stderr.split('\n').length, 2, done.stderr);
      assert.match(done.stderr, /\/dev\/crypto is gone/);
      assert.equal(existsSync(out) && readFileSync(out).equals(right), status === 0);
      assert.equal(existsSync(out), status === 0, 'whole or not at all');
      await provider.stop();
      await begin();
    }
  });

  test('a device that always lies: found before its first use, kept, listed, refused, and let go when told so', async () => {
    await provider.set({ corrupt: {} });
    const first = enc('cryptodev,libcrypto');
    assert.deepEqual([first.status, readFileSync(out).equals(right)], [0, true], first.stderr);
    assert.match(first.stderr, /^hwcrypt: enc: aes-128-cbc is done by libcrypto, since cryptodev: [^\n]+\n$/);
    // It is honest again, and nobody can know.
    await provider.set({});
    const start = (await provider.counters()).requests;
    rmSync(out);
    const next = enc('cryptodev');
    assert.equal(next.status, 1);
    assert.match(next.stderr, /wrong results here: .*calibrate --forget --quarantine/);
    assert.equal((await provider.counters()).requests, start, 'not even asked');
    assert.equal(existsSync(out), false);
    const listed = JSON.parse(hwcrypt('list', 'drivers', '--json').stdout) as {
      quarantine: { algorithm: string; driver: string; evidence: string }[];
    };
    assert.deepEqual(
      listed.quarantine.map(({ algorithm, driver }) => [algorithm, driver]),
      [['aes-128-cbc', 'cryptodev']],
    );
    const released = hwcrypt('calibrate', '--forget', '--quarantine', 'aes-128-cbc');
    assert.match(released.stderr, /1 may work again/);
    const again = enc('cryptodev');
    assert.deepEqual([again.status, again.stderr], [0, '']);
    assert.ok(readFileSync(out).equals(right));
  });
});

test('many streams at once over a device that fails now and then: all right, nothing left open', async () => {
  const openFiles = () => readdirSync('/proc/self/fd').length;
  const name = 'aes-128-cbc';
  {
    using warm = instance();
    streamed(warm, name, material(name, TOTAL), false);
  }
  const before = openFiles();
  const { sessionsOpen } = await provider.counters();
  await provider.set({ failRequests: { errno: ERRNOS.EIO, after: 500, times: 2 } });
  {
    using hwcrypt = instance();
    const all = Array.from({ length: 300 }, (_, i) => {
      const decrypt = i % 2 === 1;
      const one = material(name, 96);
      const input = decrypt ? encrypted(name, one) : one.data;
      const { key, iv } = one;
      const cipher = decrypt
        ? hwcrypt.createDecipheriv(name, key, iv)
        : hwcrypt.createCipheriv(name, key, iv);
      return { one, cipher, input, decrypt, parts: [] as Buffer[] };
    });
    for (let at = 0; at < 112; at += 40)
      for (const { cipher, input, parts } of all) parts.push(cipher.update(input.subarray(at, at + 40)));
    for (const { one, cipher, decrypt, parts } of all) {
      const result = Buffer.concat([...parts, cipher.final()]);
      assert.ok(result.equals(decrypt ? one.data : encrypted(name, one)));
    }
  }
  assert.equal(openFiles(), before);
  assert.equal((await provider.counters()).sessionsOpen, sessionsOpen);
});
