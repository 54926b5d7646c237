/**
 * The driver over a served /dev/crypto: what it asks for and in how many calls, what it makes of refusals, and that it works with memory
 * of any alignment. Right answers are conformance's business (cryptodev-conformance.test.ts).
 */
import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { CryptodevDriver } from '#src/drivers/cryptodev/index.js';
import type { CipherSession } from '#src/drivers/driver.js';
import {
  address,
  closeCryptoDevice,
  cryptOpLayout,
  cryptodevIoctls,
  encodeSessionOp,
  forkWatch,
  hostAbi,
  libc,
  openCryptoDevice,
  putWord,
  sessionOpLayout,
} from '#src/linux/index.js';
import { type Cryptodev, serve } from '../../rig/cryptodev/index.js';
import { aeadOf, cipherOf, collectGarbage, hashOf, macOf } from '../helpers/afalg.js';

const EBUSY = 16;
const EIO = 5;
const EINVAL = 22;
const MASK = { '*': { alignmask: 15 } };

/** `length` bytes that begin `offset` behind a multiple of 64. */
function memory(length: number, offset: number): Uint8Array {
  const whole = new Uint8Array(length + 128);
  const at = (64 - (address(whole) % 64)) % 64;
  return whole.subarray(at + offset, at + offset + length);
}

const cbc = cipherOf('aes-128-cbc');
const key = randomBytes(16);
const iv = randomBytes(16);
const right = (input: Uint8Array, name = 'aes-128-cbc'): Buffer =>
  createCipheriv(name, key, iv).setAutoPadding(false).update(input);

describe('the driver over a served device', () => {
  let provider: Cryptodev;
  let driver: CryptodevDriver;

  before(async () => {
    provider = await serve();
  });
  after(() => provider?.stop());
  beforeEach(async () => {
    await provider.set({});
    driver = new CryptodevDriver();
  });

  /** What `act` cost: ioctls of ours, and calls of the kernel's driver. */
  async function cost(act: () => unknown): Promise<{ ioctls: number; driverCalls: number; system: number }> {
    const earlier = await provider.counters();
    libc.resetSyscallCounts();
    await act();
    const { ioctl, total } = libc.syscallCounts();
    const now = await provider.counters();
    return { ioctls: ioctl, driverCalls: now.driverCalls - earlier.driverCalls, system: total };
  }

  test('probe: there, and not taken for the module', () => {
    const probe = driver.probe();
    assert.ok(probe.available);
    assert.match(probe.version, /served by a program/);
    assert.equal(probe.notes.length, 1);
  });

  test('implementation: the driver that the device names, with its flag, and no guess from the kernel’s list', async () => {
    await provider.set({
      claims: {
        'cbc(aes)': { driver: 'cbc(aes-eip93)', hardware: true },
        'ctr(aes)': { driver: 'ctr-aes-somebody', hardware: true },
        'ecb(aes)': { driver: 'ecb-aes-aesni' },
      },
    });
    const eip93 = driver.implementation(cbc);
    assert.deepEqual([eip93?.kernelDriver, eip93?.hardware], ['cbc(aes-eip93)', 'yes']);
    assert.match(
      String(eip93?.evidence),
      /EIP-93.*is bound to cbc\(aes-eip93\), a driver for the kernel only/,
    );
    // One sign is no verdict, as everywhere: sahara and mt7628 lack the flag, and software may have it.
    assert.equal(driver.implementation(cipherOf('aes-128-ctr'))?.hardware, 'unknown');
    assert.equal(driver.implementation(cipherOf('aes-128-ecb'))?.hardware, 'no');
    using session = driver.cipher(cbc, 'encrypt', key, iv);
    assert.equal(session.driver, 'cryptodev:cbc(aes-eip93)');
  });

  test('a pin is compared with what the session is bound to', async () => {
    await provider.set({ claims: { '*': { driver: 'cbc-aes-mt7628' } } });
    assert.deepEqual(driver.supports(cbc, { kernelDriver: 'cbc-aes-mt7628' }), { supported: true });
    const other = driver.supports(cbc, { kernelDriver: 'cbc-aes-aesni' });
    assert.ok(!other.supported);
    assert.equal(other.reason.code, 'KERNEL_DRIVER_ABSENT');
    assert.match(other.reason.message, /to cbc-aes-mt7628 here, not to cbc-aes-aesni/);
    assert.throws(() => driver.cipher(cbc, 'encrypt', key, iv, { kernelDriver: 'cbc-aes-aesni' }), {
      code: 'KERNEL_DRIVER_UNAVAILABLE',
    });
    // Refused, and yet made by the device: it must not stay open.
    assert.equal((await provider.counters()).sessionsOpen, 0);
  });

  test('every number of the table: a driver, or the reason', () => {
    const numbers = driver.identifiers();
    for (const { id, idName, kernel, support, implementation } of numbers) {
      if (support.supported) {
        assert.ok(kernel !== undefined && implementation, idName);
        continue;
      }
      const expected = kernel === undefined ? 'ALGORITHM_NOT_OFFERED' : 'ALGORITHM_NOT_BUILT';
      assert.equal(support.reason.code, expected, `${id}: ${support.reason.message}`);
      assert.ok(
        [4, 5, 9, 10, 12, 15, 17, 108, 109].includes(id),
        `${idName} is refused: ${support.reason.message}`,
      );
    }
    for (const id of [1, 2, 3, 11, 16, 21, 22, 50, 51, 104, 18]) {
      assert.ok(numbers.find((one) => one.id === id)?.support.supported, `id ${id}`);
    }
  });

  test('one ioctl a request, and nothing else', async () => {
    using session = driver.cipher(cbc, 'encrypt', key, iv);
    using hash = driver.hash(hashOf('sha256'));
    using mac = driver.mac(macOf('hmac-sha256'), key);
    using sealer = driver.aead(aeadOf('aes-128-gcm'), 'encrypt', key);
    for (const bytes of [16, 4096, 65_536]) {
      const input = memory(bytes, 0);
      const output = memory(bytes, 0);
      const digest = new Uint8Array(32);
      const acts: Record<string, () => unknown> = {
        cipher: () => session.update(input, output),
        'cipher, async': () => session.updateAsync(input, output),
        hash: () => hash.once(input, digest),
        hmac: () => mac.once(input, digest),
        'gcm, seal': () => sealer.seal(randomBytes(12), key, input, output, new Uint8Array(16)),
      };
      for (const [what, act] of Object.entries(acts)) {
        assert.deepEqual(
          await cost(act),
          { ioctls: 1, driverCalls: 1, system: 1 },
          `${what}, ${bytes} bytes`,
        );
      }
    }
    // Opening one: the session, and what it is bound to.
    assert.equal((await cost(() => driver.cipher(cbc, 'encrypt', key, iv).close())).ioctls, 3);
  });

  test('memory that lies askew reaches the driver in pieces of full size', async () => {
    await provider.set({ claims: MASK });
    const sizes = [16, 4096, 4112, 65_536, 200_000];
    for (const [from, to] of [
      [0, 0],
      [1, 0],
      [0, 8],
      [3, 5],
      [7, 7],
    ] as const) {
      for (const bytes of sizes) {
        const input = memory(bytes, from);
        input.set(randomBytes(bytes));
        const output = memory(bytes, to);
        const wanted = right(input);
        for (const asynchronous of [false, true]) {
          using session = driver.cipher(cbc, 'encrypt', key, iv);
          const { driverCalls } = await cost(() =>
            asynchronous ? session.updateAsync(input, output) : session.update(input, output),
          );
          const pieces = Math.ceil(bytes / 65_536);
          assert.equal(driverCalls, pieces, `${bytes} bytes, ${from} and ${to} off, async ${asynchronous}`);
          assert.deepEqual(Buffer.from(output), wanted);
        }
        using hash = driver.hash(hashOf('sha256'));
        const digest = new Uint8Array(32);
        assert.equal(
          (await cost(() => hash.once(input, digest))).driverCalls,
          Math.ceil(bytes / 65_536),
          `hash, ${bytes}, ${from} off`,
        );
        assert.deepEqual(Buffer.from(digest), createHash('sha256').update(input).digest());
      }
    }
  });

  test('and the device would have cut it to pages: the rule is not idle', async () => {
    await provider.set({ claims: MASK });
    const fd = openCryptoDevice();
    const abi = hostAbi();
    const { CIOCGSESSION, CIOCCRYPT } = cryptodevIoctls(abi);
    const no = { mac: 0, macKeyBytes: 0, macKey: 0 };
    const opened = encodeSessionOp({ cipher: 11, keyBytes: 16, key: address(key), ...no }, abi);
    assert.equal(libc.ioctl(fd, CIOCGSESSION, address(opened)), 0);
    const at = cryptOpLayout(abi);
    const op = new Uint8Array(at.bytes);
    const view = new DataView(op.buffer);
    const input = memory(65_536, 4);
    const output = memory(65_536, 0);
    view.setUint32(at.ses, new DataView(opened.buffer).getUint32(sessionOpLayout(abi).ses, true), true);
    view.setUint32(at.len, input.length, true);
    putWord(view, at.src, address(input), abi);
    putWord(view, at.dst, address(output), abi);
    putWord(view, at.iv, address(iv), abi);
    const { driverCalls } = await cost(() => assert.equal(libc.ioctl(fd, CIOCCRYPT, address(op)), 0));
    closeCryptoDevice(fd);
    assert.equal(driverCalls, 16);
  });

  test('xts: a data unit that lies askew is one data unit, and its last bytes are stolen', async () => {
    await provider.set({ claims: MASK });
    const wide = randomBytes(32);
    for (const bytes of [16, 17, 31, 32, 4095, 4096, 4097, 4111, 8192, 9001]) {
      for (const offset of [0, 5]) {
        const input = memory(bytes, offset);
        input.set(randomBytes(bytes));
        const output = memory(bytes, offset);
        for (const direction of ['encrypt', 'decrypt'] as const) {
          using session = driver.cipher(cipherOf('aes-128-xts'), direction, wide, iv);
          session.update(input, output);
          const make = direction === 'encrypt' ? createCipheriv : createDecipheriv;
          assert.deepEqual(
            Buffer.from(output),
            make('aes-128-xts', wide, iv).update(input),
            `${direction} ${bytes}`,
          );
        }
      }
    }
    using session = driver.cipher(cipherOf('aes-128-xts'), 'encrypt', wide, iv);
    const large = new Uint8Array((1 << 20) + 16);
    assert.throws(() => session.update(large, large), { code: 'MESSAGE_TOO_LARGE' });
    assert.ok(session.usable);
  });

  test('a long message goes in pieces that engines are built for', async () => {
    using session = driver.cipher(cbc, 'encrypt', key, iv);
    const input = memory(1 << 20, 0);
    const { ioctls } = await cost(() => session.update(input, input));
    assert.equal(ioctls, 16);
  });

  test('a driver that takes CTR for a block mode gets whole blocks', async () => {
    const ctr = cipherOf('aes-128-ctr');
    for (const bytes of [5, 37, 5000]) {
      for (const inPlace of [false, true]) {
        const input = randomBytes(bytes);
        const wanted = right(input, 'aes-128-ctr');
        using session = driver.cipher(ctr, 'encrypt', key, iv);
        await provider.set({ failRequests: { errno: EINVAL, times: 1 } });
        const output = inPlace ? input : new Uint8Array(bytes);
        session.update(input, output);
        assert.deepEqual(Buffer.from(output), wanted, `${bytes} bytes`);
        // It is remembered: the tail is made up at once, by itself.
        session.restart(iv);
        const again = new Uint8Array(bytes);
        const { ioctls } = await cost(() => session.update(wanted, again));
        assert.equal(ioctls, bytes < 16 ? 1 : 2);
      }
    }
  });

  test('errors of the device: a typed reason, and a session that is used up', async () => {
    for (const [errno, code] of [
      [EBUSY, 'DEVICE_BUSY'],
      [EIO, 'SYSTEM_ERROR'],
      [EINVAL, 'SYSTEM_ERROR'],
      [110, 'TIMED_OUT'],
      [12, 'OUT_OF_MEMORY'],
    ] as const) {
      await provider.set({});
      const digest = new Uint8Array(32);
      const session = driver.cipher(cbc, 'encrypt', key, iv);
      const hash = driver.hash(hashOf('sha256'));
      const sealer = driver.aead(aeadOf('aes-128-gcm'), 'encrypt', key);
      await provider.set({ failRequests: { errno } });
      const output = new Uint8Array(64);
      const acts: [{ usable: boolean; close(): void }, () => Promise<void>][] = [
        [session, () => session.updateAsync(new Uint8Array(64), output)],
        [hash, async () => hash.once(new Uint8Array(64), digest)],
        [
          sealer,
          async () =>
            sealer.seal(iv.subarray(0, 12), key, new Uint8Array(64), output, digest.subarray(0, 16)),
        ],
      ];
      for (const [one, act] of acts) {
        await assert.rejects(act, (error: { reason?: { code?: string } }) => {
          assert.equal((error as { code?: string }).code, 'DRIVER_FAILED');
          assert.equal(error.reason?.code, code);
          return true;
        });
        assert.equal(one.usable, false);
        await assert.rejects(act, { code: 'SESSION_UNUSABLE' });
        one.close();
      }
    }
  });

  test('no session: the reason is told, and nothing is remembered of a shortage', async () => {
    await provider.set({ maxSessions: 1 });
    const first = driver.cipher(cbc, 'encrypt', key, iv);
    assert.throws(
      () => driver.cipher(cbc, 'encrypt', key, iv),
      (error: { reason?: { code?: string } }) => {
        assert.equal(error.reason?.code, 'OUT_OF_MEMORY');
        return true;
      },
    );
    const now = driver.supports(cbc);
    assert.ok(!now.supported && now.reason.code === 'OUT_OF_MEMORY');
    first.close();
    assert.deepEqual(driver.supports(cbc), { supported: true });
    await provider.set({ without: ['cbc(aes)'] });
    driver.reprobe();
    assert.ok(!driver.supports(cbc).supported);
  });

  test('sessions end with close(), with the garbage, and with a key', async () => {
    const open = async (): Promise<number> => (await provider.counters()).sessionsOpen;
    const files = (await provider.counters()).filesOpen;
    const session = driver.cipher(cbc, 'encrypt', key, iv);
    session.restart(iv, randomBytes(16));
    assert.equal(await open(), 1);
    session.close();
    assert.equal(await open(), 0);
    (() => {
      for (let i = 0; i < 5; i++) driver.hash(hashOf('sha1'));
    })();
    assert.equal(await open(), 5);
    await collectGarbage();
    assert.equal(await open(), 0);
    assert.ok((await provider.counters()).filesOpen <= files + 1, 'one file for all of them');
  });

  test('the file is not inherited by programs that are started', () => {
    using _session = driver.cipher(cbc, 'encrypt', key, iv);
    const own = readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === '/dev/crypto';
      } catch {
        return false;
      }
    });
    assert.ok(own.length > 0);
    for (const fd of own) {
      const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
      assert.ok(Number.parseInt(flags!, 8) & 0o2000000, `descriptor ${fd}: ${flags}`);
    }
  });

  test('after a fork a session is neither used nor ended, and new ones are made on a file of their own', async (t) => {
    const { page } = forkWatch();
    if (!page) return t.skip('a kernel before Linux 4.14');
    const session = driver.cipher(cbc, 'encrypt', key, iv);
    const before = (await provider.counters()).sessionsOpen;
    // What the kernel does to the page at fork(): from here on this is the child.
    page.fill(0);
    const block = new Uint8Array(16);
    const { system } = await cost(() => {
      assert.throws(
        () => session.update(block, block),
        (error: { code?: string; reason?: { code?: string } }) => {
          assert.equal(error.code, 'DRIVER_FAILED');
          assert.equal(error.reason?.code, 'FORKED');
          return true;
        },
      );
      session.close();
    });
    assert.equal(system, 0, 'the parent’s session was touched');
    using own = driver.cipher(cbc, 'encrypt', key, iv);
    own.update(block, block);
    assert.deepEqual(Buffer.from(block), right(new Uint8Array(16)));
    assert.ok((await provider.counters()).sessionsOpen >= before);
  });

  test('a hash in progress is copied, also that of a key', () => {
    const data = randomBytes(10_000);
    for (const [session, judge] of [
      [driver.hash(hashOf('sha256')), () => createHash('sha256')],
      [driver.mac(macOf('hmac-sha256'), key), () => createHmac('sha256', key)],
    ] as const) {
      const digest = new Uint8Array(32);
      const wanted = (bytes: Uint8Array): Buffer => judge().update(bytes).digest();
      const empty = session.clone();
      session.update(data.subarray(0, 5001));
      const copy = session.clone();
      session.update(data.subarray(5001));
      session.digest(digest);
      assert.deepEqual(Buffer.from(digest), wanted(data));
      copy.digest(digest);
      assert.deepEqual(Buffer.from(digest), wanted(data.subarray(0, 5001)));
      copy.restart();
      copy.update(data.subarray(7));
      copy.digest(digest);
      assert.deepEqual(Buffer.from(digest), wanted(data.subarray(7)));
      empty.digest(digest);
      assert.deepEqual(Buffer.from(digest), wanted(new Uint8Array()));
      for (const one of [session, copy, empty]) one.close();
    }
  });

  test('keys of an HMAC: none, a block, more than the device takes', () => {
    for (const bytes of [0, 1, 63, 64, 65, 512, 513, 5000]) {
      const long = randomBytes(bytes);
      using mac = driver.mac(macOf('hmac-sha256'), long);
      const digest = new Uint8Array(32);
      mac.once(key, digest);
      assert.deepEqual(
        Buffer.from(digest),
        createHmac('sha256', long).update(key).digest(),
        `${bytes} bytes`,
      );
    }
  });

  test('an AEAD says no before it begins: nonce, additional data, length', () => {
    using sealer = driver.aead(aeadOf('aes-128-gcm'), 'encrypt', key);
    const tag = new Uint8Array(16);
    const none = new Uint8Array();
    const nonce = randomBytes(12);
    assert.throws(() => sealer.seal(randomBytes(16), none, none, none, tag), {
      code: 'ALGORITHM_UNAVAILABLE',
    });
    assert.throws(() => sealer.seal(nonce, new Uint8Array(4097), none, none, tag), {
      code: 'MESSAGE_TOO_LARGE',
    });
    const large = new Uint8Array(4 << 20);
    assert.throws(() => sealer.seal(nonce, none, large, large, tag), { code: 'MESSAGE_TOO_LARGE' });
    assert.throws(() => sealer.begin(nonce), { code: 'SESSION_UNUSABLE' });
    const most = sealer.messageBytes! - 4096 - 16;
    sealer.seal(nonce, new Uint8Array(4096), large.subarray(0, most), large, tag);
    assert.ok(sealer.usable);
  });

  test('a device that vanishes in mid-stream: a clear error, and a new session once it is back', async () => {
    const session: CipherSession = driver.cipher(cbc, 'encrypt', key, iv);
    const other = driver.hash(hashOf('sha256'));
    await provider.set({ vanish: { after: 1 } });
    const input = randomBytes(64);
    const output = new Uint8Array(64);
    session.update(input, output);
    const gone = (error: { code?: string; reason?: { code?: string } }): boolean => {
      assert.equal(error.code, 'DRIVER_FAILED');
      assert.equal(error.reason?.code, 'DEVICE_GONE');
      return true;
    };
    await assert.rejects(() => session.updateAsync(input, output), gone);
    assert.throws(() => other.once(input, new Uint8Array(32)), gone);
    session.close();
    other.close();
    await provider.stop();
    assert.equal(driver.reprobe().available, false);
    assert.throws(() => driver.cipher(cbc, 'encrypt', key, iv), { code: 'DRIVER_UNAVAILABLE' });
    provider = await serve();
    assert.ok(driver.reprobe().available);
    using again = driver.cipher(cbc, 'encrypt', key, iv);
    again.update(input, output);
    assert.deepEqual(Buffer.from(output), right(input));
  });
});
