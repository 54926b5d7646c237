/** The provider of /dev/crypto that the driver's tests stand on: is it there, is it gone in time, and does it do as it is told? */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoName } from '#src/linux/errno.js';
import { address } from '#src/linux/ffi.js';
import { ioctl } from '#src/linux/libc.js';
import { CIOCCRYPT, CIOCFSESSION, CIOCGSESSINFO, CIOCGSESSION } from '../../rig/cryptodev/abi.js';
import { type Cryptodev, serve } from '../../rig/cryptodev/index.js';
import { projectFolder } from '../../rig/index.js';

const AES_CBC = 11;
const key = Buffer.alloc(128, 5).subarray(0, 16);
const iv = Buffer.alloc(128, 9).subarray(0, 16);

function call(fd: number, command: number, argument: Uint8Array): string {
  const value = ioctl(fd, command, address(argument));
  return value < 0 ? errnoName(-value) : String(value);
}

function open(fd: number): { result: string; id: number } {
  const op = Buffer.alloc(128);
  op.writeUInt32LE(AES_CBC, 0);
  op.writeUInt32LE(key.length, 8);
  op.writeBigUInt64LE(BigInt(address(key)), 16);
  const result = call(fd, CIOCGSESSION, op);
  return { result, id: op.readUInt32LE(40) };
}

function encrypt(fd: number, id: number, src: Uint8Array, dst: Uint8Array): string {
  const op = Buffer.alloc(128);
  op.writeUInt32LE(id, 0);
  op.writeUInt32LE(src.length, 8);
  op.writeBigUInt64LE(BigInt(address(src)), 16);
  op.writeBigUInt64LE(BigInt(address(dst)), 24);
  op.writeBigUInt64LE(BigInt(address(iv)), 40);
  return call(fd, CIOCCRYPT, op);
}

function expected(src: Uint8Array): Buffer {
  return createCipheriv('aes-128-cbc', key, iv).setAutoPadding(false).update(src);
}

describe('the provider of /dev/crypto', () => {
  let provider: Cryptodev;
  before(async () => {
    provider = await serve();
  });
  after(() => provider.stop());

  test('serves a device that anybody may open', () => {
    const found = statSync('/dev/crypto');
    assert.ok(found.isCharacterDevice());
    assert.equal(found.mode & 0o777, 0o666);
  });

  test('encrypts, and counts', async () => {
    await provider.set({});
    const start = await provider.counters();
    const fd = openSync('/dev/crypto', 'r+');
    const { id } = open(fd);
    const src = Buffer.alloc(200_000, 'text');
    const dst = Buffer.alloc(src.length);
    assert.equal(encrypt(fd, id, src, dst), '0');
    assert.ok(dst.equals(expected(src)));
    const during = await provider.counters();
    assert.deepEqual(
      [
        during.ioctls - start.ioctls,
        during.requests - start.requests,
        during.driverCalls - start.driverCalls,
        during.bytes - start.bytes,
        during.sessionsOpen - start.sessionsOpen,
        during.filesOpen - start.filesOpen,
      ],
      [2, 1, 1, src.length, 1, 1],
    );
    closeSync(fd);
    const end = await provider.counters();
    assert.equal(end.sessionsOpen, start.sessionsOpen);
    assert.equal(end.filesOpen, start.filesOpen);
  });

  test('refuses a second one of its name', async () => {
    await assert.rejects(serve(), /is there already/);
  });

  test('claims a driver, hardware and an alignment, and copies page by page off it', async () => {
    await provider.set({
      claims: { 'cbc(aes)': { driver: 'cbc-aes-mt7628', hardware: true, alignmask: 15 } },
    });
    const fd = openSync('/dev/crypto', 'r+');
    const { id } = open(fd);
    const info = Buffer.alloc(272);
    info.writeUInt32LE(id, 0);
    assert.equal(call(fd, CIOCGSESSINFO, info), '0');
    assert.equal(info.toString('latin1', 68, 68 + 15), 'cbc-aes-mt7628\0');
    assert.equal(info.readUInt16LE(260), 15);
    assert.equal(info.readUInt32LE(264), 1);

    const roomy = Buffer.alloc(65536 + 64);
    const from = -address(roomy) & 15;
    const dst = Buffer.alloc(65536 + 64);
    const to = -address(dst) & 15;
    for (const [offset, calls] of [
      [0, 1],
      [4, 16],
    ] as const) {
      const { driverCalls } = await provider.counters();
      const src = roomy.subarray(from + offset).subarray(0, 65536);
      const out = dst.subarray(to).subarray(0, 65536);
      assert.equal(encrypt(fd, id, src, out), '0');
      assert.ok(out.equals(expected(src)));
      assert.equal((await provider.counters()).driverCalls - driverCalls, calls);
    }
    closeSync(fd);
  });

  test('fails, spoils and delays as it is told, and lacks what it is to lack', async () => {
    const fd = openSync('/dev/crypto', 'r+');
    await provider.set({});
    const { id } = open(fd);
    const src = Buffer.alloc(4096, 'text');
    const dst = Buffer.alloc(4096);

    await provider.set({ failRequests: { errno: 16, after: 1, times: 2 } });
    const results = Array.from({ length: 4 }, () => encrypt(fd, id, src, dst));
    assert.deepEqual(results, ['0', 'EBUSY', 'EBUSY', '0']);

    await provider.set({ corrupt: { times: 1 } });
    encrypt(fd, id, src, dst);
    assert.ok(!dst.equals(expected(src)));
    encrypt(fd, id, src, dst);
    assert.ok(dst.equals(expected(src)));

    await provider.set({ failSessions: { errno: 12, times: 1 } });
    assert.deepEqual([open(fd).result, open(fd).result], ['ENOMEM', '0']);

    await provider.set({ without: ['cbc(aes)'] });
    assert.equal(open(fd).result, 'EINVAL');
    assert.equal(encrypt(fd, id, src, dst), '0');

    const { sessionsOpen } = await provider.counters();
    await provider.set({ maxSessions: sessionsOpen + 1 });
    assert.deepEqual([open(fd).result, open(fd).result], ['0', 'ENOMEM']);

    await provider.set({ delayMicroseconds: 50_000 });
    const since = performance.now();
    encrypt(fd, id, src, dst);
    assert.ok(performance.now() - since >= 49);
    await provider.set({});
    closeSync(fd);
  });

  test('holds a thousand sessions, and lets them go with the file', async () => {
    await provider.set({});
    const { sessionsOpen } = await provider.counters();
    const fd = openSync('/dev/crypto', 'r+');
    const ids = Array.from({ length: 1000 }, () => open(fd).id);
    assert.equal(new Set(ids).size, 1000);
    const word = new Uint8Array(128);
    new DataView(word.buffer).setUint32(0, ids[500]!, true);
    assert.equal(call(fd, CIOCFSESSION, word), '0');
    assert.equal((await provider.counters()).sessionsOpen, sessionsOpen + 999);
    closeSync(fd);
    assert.equal((await provider.counters()).sessionsOpen, sessionsOpen);
  });

  test('survives a client that is killed in the middle of a request', async () => {
    const fd = openSync('/dev/crypto', 'r+');
    await provider.set({ delayMicroseconds: 1_500_000 });
    const { ioctls, filesOpen } = await provider.counters();
    const client = spawn(process.execPath, [
      `${projectFolder}/build/test/helpers/cryptodev-client.js`,
      '/dev/crypto',
    ]);
    while ((await provider.counters()).ioctls < ioctls + 2) await sleep(20);
    client.kill('SIGKILL');
    await once(client, 'exit');
    await provider.set({});
    const { id } = open(fd);
    const src = Buffer.alloc(64, 1);
    const dst = Buffer.alloc(64);
    assert.equal(encrypt(fd, id, src, dst), '0');
    assert.ok(dst.equals(expected(src)));
    closeSync(fd);
    assert.equal((await provider.counters()).filesOpen, filesOpen - 1);
  });
});

describe('a provider that ends', () => {
  test('takes the device along, for those who have it open too', async () => {
    const provider = await serve({ name: 'crypto-gone', vanish: { after: 1 } });
    const fd = openSync(provider.device, 'r+');
    const { id } = open(fd);
    const src = Buffer.alloc(64, 1);
    const dst = Buffer.alloc(64);
    assert.equal(encrypt(fd, id, src, dst), '0');
    assert.equal(encrypt(fd, id, src, dst), 'ECONNABORTED');
    assert.equal(encrypt(fd, id, src, dst), 'ENOTCONN');
    closeSync(fd);
    await assert.rejects(provider.counters(), /has ended/);
    await provider.stop();
    assert.ok(!existsSync(provider.device));
  });

  test('ends with the process that started it, even with one that is killed', async () => {
    // The command outlives what it was started by; it must not hold this process's pipes.
    const main = `${projectFolder}/build/rig/cryptodev/main.js`;
    const holder = spawn(process.execPath, [main, '--name', 'crypto-held', '--', 'sleep', '30'], {
      stdio: 'ignore',
    });
    while (!existsSync('/dev/crypto-held')) await sleep(20);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    while (existsSync('/dev/crypto-held')) await sleep(20);
  });
});
