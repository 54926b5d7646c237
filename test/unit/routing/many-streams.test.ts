/** Ten thousand streams at once over a device that fails now and then: every one right, in bounded memory, nothing left open. */
import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { type CipherAlgorithm, findAlgorithm } from '#src/algorithms.js';
import { open } from '#src/api/index.js';
import type { CipherSession } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import { Health } from '#src/routing/health.js';
import { Relay } from '#src/routing/relay/index.js';
import { Squad } from '#src/routing/squad.js';
import { Stats } from '#src/routing/stats.js';
import { type Fate, flaky } from '../../helpers/flaky.js';
import { Random } from '../../helpers/random.js';

const STREAMS = 10_000;
/** For all that a stream holds. A cipher object of node:crypto, used as a stream, takes some 5 KiB. */
const STREAM_BYTES = 16 * 1024;

const openFiles = (): number => readdirSync('/proc/self/fd').length;

test('sessions of a relay, in turns', () => {
  const algorithm = findAlgorithm('aes-128-cbc') as CipherAlgorithm;
  const libcrypto = getDriver('libcrypto');
  const random = new Random('many streams');
  let now = 0;
  const fate = (request: number): Fate => (request % 97 === 13 ? { errno: 'EIO', spoils: true } : 'works');
  const device = flaky(fate);
  const squad = new Squad({
    algorithm,
    candidates: [device, libcrypto].map((driver) => ({ driver, label: driver.name, options: {} })),
    health: new Health({ now: () => now }),
    stats: new Stats(),
  });
  const relay = new Relay(() => squad);
  const text = random.bytes(64);
  const before = openFiles();
  const rss = process.memoryUsage().rss;
  const all: { session: CipherSession; key: Uint8Array; iv: Uint8Array; output: Uint8Array }[] = [];
  for (let i = 0; i < STREAMS; i++) {
    const [key, iv] = [random.bytes(16), random.bytes(16)];
    const session = relay.cipher(algorithm, 'encrypt', key, iv);
    all.push({ session, key, iv, output: new Uint8Array(64) });
  }
  for (let at = 0; at < 64; at += 16) {
    for (const { session, output } of all) {
      session.update(text.subarray(at, at + 16), output.subarray(at, at + 16));
      // What is barred comes back, so that streams go to and fro.
      now += 5;
    }
  }
  const grown = process.memoryUsage().rss - rss;
  assert.ok(grown < STREAMS * STREAM_BYTES, `${grown} bytes`);
  assert.ok(device.open > 0 && squad.tallies[0]!.errors > 10 && squad.tallies[1]!.rescued > 10);
  for (const { session, key, iv, output } of all) {
    const cipher = createCipheriv('aes-128-cbc', key, iv);
    assert.ok(cipher.update(text).equals(output));
    session.close();
  }
  assert.equal(device.open, 0);
  assert.equal(openFiles(), before);
});

test('streams of the API', async () => {
  using hwcrypt = open({ drivers: 'libcrypto', profile: null });
  const before = openFiles();
  const rss = process.memoryUsage().rss;
  const [key, iv] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
  const right = createCipheriv('aes-128-ctr', key, iv).update(Buffer.alloc(96, 3));
  const done = Array.from({ length: STREAMS }, async () => {
    const cipher = hwcrypt.createCipheriv('aes-128-ctr', key, iv);
    cipher.write(Buffer.alloc(48, 3));
    await new Promise(setImmediate);
    cipher.end(Buffer.alloc(48, 3));
    const parts: Buffer[] = [];
    for await (const part of cipher) parts.push(part as Buffer);
    return Buffer.concat(parts).equals(right);
  });
  const grown = process.memoryUsage().rss - rss;
  assert.ok((await Promise.all(done)).every(Boolean));
  assert.ok(grown < STREAMS * STREAM_BYTES, `${grown} bytes`);
  assert.equal(openFiles(), before);
});
