/** What is peculiar to ciphers over AF_ALG. That each of them is right at every length is the conformance suite's business. */
import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';

import type { CipherAlgorithm } from '#src/algorithms.js';
import { afalg } from '#src/drivers/afalg/index.js';
import type { Direction } from '#src/drivers/driver.js';
import { address, libc } from '#src/linux/index.js';
import { cipherOf, collectGarbage, loadModulesOnce, openSockets } from '../helpers/afalg.js';

let undo: (() => void) | undefined;
before(() => {
  undo = loadModulesOnce();
  assert.ok(afalg.probe().available);
});
after(() => undo?.());

function reference(
  { name, ivBytes }: CipherAlgorithm,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array,
  data: Uint8Array,
): Buffer {
  const vector = ivBytes === 0 ? null : iv;
  const it =
    direction === 'encrypt' ? createCipheriv(name, key, vector) : createDecipheriv(name, key, vector);
  it.setAutoPadding(false);
  return Buffer.concat([it.update(data), it.final()]);
}

const BORDERS = [65_520, 65_536, 65_552, 131_072, 131_088];
const CHAINED = [
  'aes-128-cbc',
  'aes-256-ctr',
  'aes-192-cfb',
  'aes-128-ofb',
  'camellia-128-cbc',
  'aes-256-ecb',
  'chacha20',
];

for (const name of CHAINED) {
  test(`${name}: lengths around the 64 KiB borders, from odd addresses, apart and in place`, () => {
    const algorithm = cipherOf(name);
    for (const direction of ['encrypt', 'decrypt'] as const) {
      const key = randomBytes(algorithm.keyBytes);
      const iv = randomBytes(algorithm.ivBytes);
      const vector = algorithm.ivBytes === 0 ? null : iv;
      using session = afalg.cipher(algorithm, direction, key, vector);
      for (const length of algorithm.blockBytes === 1 ? [...BORDERS, 65_537, 131_077] : BORDERS) {
        const data = randomBytes(length);
        const expected = reference(algorithm, direction, key, iv, data);
        const memory = new Uint8Array(length + 40);
        const input = memory.subarray(1, 1 + length);
        input.set(data);
        const output = new Uint8Array(length + 40).subarray(3, 3 + length);
        session.restart(vector);
        session.update(input, output);
        assert.ok(expected.equals(output), `${direction} ${length} apart`);
        session.restart(vector);
        session.update(input, input);
        assert.ok(expected.equals(input), `${direction} ${length} in place`);
        // The output lies on input that has not been read yet.
        input.set(data);
        const shifted = memory.subarray(17, 17 + length);
        session.restart(vector);
        session.update(input, shifted);
        assert.ok(expected.equals(shifted), `${direction} ${length} overlapping`);
      }
    }
  });
}

test('ctr: a counter of all ones carries, within a request and over its end, and the last block may be short', () => {
  const algorithm = cipherOf('aes-128-ctr');
  const key = randomBytes(16);
  for (const low of [1, 4095, 4096, 4097, 5000]) {
    // So many blocks before all 128 bits run over.
    const iv = Buffer.alloc(16, 0xff);
    iv.writeUInt32BE(0xffff_ffff - low + 1, 12);
    for (const length of [5, 17, 65_537, 131_088, 200_000]) {
      const data = randomBytes(length);
      const output = new Uint8Array(length);
      using session = afalg.cipher(algorithm, 'encrypt', key, iv);
      session.update(data, output);
      assert.ok(reference(algorithm, 'encrypt', key, iv, data).equals(output), `${low} ${length}`);
    }
  }
});

test('after a part of a block the message is over, until restart', () => {
  const iv = randomBytes(16);
  using session = afalg.cipher(cipherOf('aes-128-ctr'), 'encrypt', randomBytes(16), iv);
  const output = new Uint8Array(32);
  session.update(randomBytes(16), output);
  session.update(randomBytes(5), output);
  assert.throws(() => session.update(randomBytes(1), output), { code: 'PARTIAL_BLOCK' });
  assert.throws(() => session.chain(), { code: 'PARTIAL_BLOCK' });
  session.restart(iv);
  session.update(randomBytes(16), output);
  assert.equal(session.chain()?.length, 16);
});

test('5 MiB in one call, and in random pieces', () => {
  const algorithm = cipherOf('aes-256-cbc');
  const key = randomBytes(32);
  const iv = randomBytes(16);
  const data = randomBytes(5 * 2 ** 20);
  const expected = reference(algorithm, 'encrypt', key, iv, data);
  const output = new Uint8Array(data.length);
  using session = afalg.cipher(algorithm, 'encrypt', key, iv);
  session.update(data, output);
  assert.ok(expected.equals(output));
  session.restart(iv);
  output.fill(0);
  for (let at = 0; at < data.length; ) {
    const size = Math.min(16 * (1 + Math.floor(Math.random() ** 3 * 9000)), data.length - at);
    session.update(data.subarray(at, at + size), output.subarray(at, at + size));
    at += size;
  }
  assert.ok(expected.equals(output));
});

test('system calls: four to open, two a request up to 64 KiB, two more for each further 64 KiB', async () => {
  const algorithm = cipherOf('aes-128-cbc');
  const key = randomBytes(16);
  const iv = randomBytes(16);
  afalg.cipher(algorithm, 'encrypt', key, iv).close();
  libc.resetSyscallCounts();
  const session = afalg.cipher(algorithm, 'encrypt', key, iv);
  const opened = libc.syscallCounts();
  assert.deepEqual(
    [opened.socket, opened.bind, opened.setsockopt, opened.accept4, opened.total],
    [1, 1, 1, 1, 4],
  );
  const buffer = new Uint8Array(5 * 65_536);
  for (const [bytes, requests] of [
    [16, 1],
    [65_536, 1],
    [65_552, 2],
    [5 * 65_536, 5],
  ] as const) {
    const part = buffer.subarray(0, bytes);
    libc.resetSyscallCounts();
    session.update(part, part);
    let counts = libc.syscallCounts();
    assert.deepEqual([counts.sendmsg, counts.read, counts.total], [requests, requests, 2 * requests]);
    libc.resetSyscallCounts();
    await session.updateAsync(part, part);
    counts = libc.syscallCounts();
    assert.deepEqual([counts.sendmsg, counts.read, counts.total], [requests, requests, 2 * requests]);
  }
  libc.resetSyscallCounts();
  session.restart(iv);
  assert.equal(libc.syscallCounts().total, 0);
  // A new key on a transformation that nobody shares: out with the operation socket, key, in with a new one.
  session.restart(iv, randomBytes(16));
  const { close, setsockopt, accept4, total } = libc.syscallCounts();
  assert.deepEqual([close, setsockopt, accept4, total], [1, 1, 1, 3]);
  libc.resetSyscallCounts();
  session.close();
  assert.deepEqual([libc.syscallCounts().close, libc.syscallCounts().total], [2, 2]);
});

test('xts: ciphertext stealing, the largest data unit, and one that is too large', () => {
  const algorithm = cipherOf('aes-128-xts');
  const key = randomBytes(32);
  const iv = randomBytes(16);
  for (const direction of ['encrypt', 'decrypt'] as const) {
    using session = afalg.cipher(algorithm, direction, key, iv);
    const most = session.requestBytes as number;
    assert.ok(most >= 65_536);
    for (const length of [16, 17, 31, 32, 33, 512, 4096, 4097, 65_536, 65_537, most - 1, most]) {
      const data = randomBytes(length);
      const output = new Uint8Array(length);
      session.update(data, output);
      const it =
        direction === 'encrypt'
          ? createCipheriv('aes-128-xts', key, iv)
          : createDecipheriv('aes-128-xts', key, iv);
      assert.ok(it.update(data).equals(output), `${direction} ${length}`);
    }
    const large = new Uint8Array(most + 1);
    assert.throws(
      () => session.update(large, large),
      (error: Error & { code: string; reason: { code: string } }) =>
        error.code === 'MESSAGE_TOO_LARGE' &&
        error.reason.code === 'MESSAGE_TOO_LARGE' &&
        error.message.includes(`${most} bytes`) &&
        error.message.includes(`${most + 1}`),
    );
    assert.throws(() => session.update(new Uint8Array(15), large), { code: 'PARTIAL_BLOCK' });
    assert.equal(session.chain(), null);
    // A refused argument costs the session nothing.
    session.update(new Uint8Array(16), large);
  }
});

test('a socket buffer that shrinks under the session: smaller pieces, same bytes', async () => {
  for (const direction of ['encrypt', 'decrypt'] as const) {
    for (const option of [libc.SO_SNDBUF, libc.SO_RCVBUF]) {
      const algorithm = cipherOf('aes-128-cbc');
      const key = randomBytes(16);
      const iv = randomBytes(16);
      const had = new Set(openSockets());
      using session = afalg.cipher(algorithm, direction, key, iv);
      const op = Math.max(...openSockets().filter((fd) => !had.has(fd)));
      const value = new Uint8Array(new Int32Array([8192]).buffer);
      assert.equal(libc.setsockopt(op, libc.SOL_SOCKET, option, address(value), 4), 0);
      const data = randomBytes(200_000);
      const expected = reference(algorithm, direction, key, iv, data);
      const memory = Uint8Array.from(data);
      session.update(memory, memory);
      assert.ok(expected.equals(memory), `${direction} ${option}`);
      // The kernel counts received bytes in steps of 64 KiB, so only the sending side stops short.
      if (option === libc.SO_SNDBUF) {
        assert.ok((session.requestBytes as number) < 65_536, 'the pieces are as large as before');
      }
      session.restart(iv);
      memory.set(data);
      await session.updateAsync(memory, memory);
      assert.ok(expected.equals(memory), `${direction} ${option} async`);
    }
  }
});

test('many asynchronous sessions at once, while the event loop runs', async () => {
  const algorithm = cipherOf('aes-128-cbc');
  const jobs = Array.from({ length: 24 }, async (_, i) => {
    const key = randomBytes(16);
    const iv = randomBytes(16);
    const data = randomBytes(16 * (1 + i * 900));
    const output = new Uint8Array(data.length);
    using session = afalg.cipher(algorithm, 'encrypt', key, iv);
    await session.updateAsync(data, output);
    assert.ok(reference(algorithm, 'encrypt', key, iv, data).equals(output), `session ${i}`);
  });
  await Promise.all(jobs);
});

test('a new key takes effect, and another session of the same algorithm keeps its own', () => {
  const algorithm = cipherOf('aes-128-cbc');
  const iv = randomBytes(16);
  const keys = [randomBytes(16), randomBytes(16), randomBytes(16)] as const;
  const data = randomBytes(64);
  const output = new Uint8Array(64);
  using one = afalg.cipher(algorithm, 'encrypt', keys[0], iv);
  using two = afalg.cipher(algorithm, 'encrypt', keys[1], iv);
  one.restart(iv, keys[2]);
  one.update(data, output);
  assert.ok(reference(algorithm, 'encrypt', keys[2], iv, data).equals(output));
  two.update(data, output);
  assert.ok(reference(algorithm, 'encrypt', keys[1], iv, data).equals(output));
});

test('no descriptor is left behind: by close, by a failure to open, by garbage collection', async () => {
  const algorithm = cipherOf('aes-128-cbc');
  await collectGarbage();
  const before = openSockets();
  for (let i = 0; i < 50; i++) {
    const session = afalg.cipher(algorithm, 'encrypt', randomBytes(16), randomBytes(16));
    session.restart(randomBytes(16), randomBytes(16));
    if (i % 2) session.close();
    else session[Symbol.dispose]();
    session.close();
    assert.throws(() => session.update(new Uint8Array(16), new Uint8Array(16)), { code: 'SESSION_UNUSABLE' });
    assert.throws(() => afalg.cipher(algorithm, 'encrypt', randomBytes(17), randomBytes(16)));
    assert.throws(() =>
      afalg.cipher(algorithm, 'encrypt', randomBytes(16), randomBytes(16), { kernelDriver: 'x' }),
    );
    assert.throws(() =>
      afalg.cipher(algorithm, 'encrypt', randomBytes(16), randomBytes(16), {
        kernelDriver: 'ecb(aes-generic)',
      }),
    );
  }
  assert.deepEqual(openSockets(), before);
  (() => {
    for (let i = 0; i < 20; i++) afalg.cipher(algorithm, 'encrypt', randomBytes(16), randomBytes(16));
  })();
  assert.equal(openSockets().length, before.length + 40);
  await collectGarbage();
  assert.deepEqual(openSockets(), before);
});

test('closing during an asynchronous call frees the socket when the call is over', async () => {
  const before = openSockets();
  const session = afalg.cipher(cipherOf('aes-128-cbc'), 'encrypt', randomBytes(16), randomBytes(16));
  const data = new Uint8Array(1 << 20);
  const running = session.updateAsync(data, data);
  assert.throws(() => session.update(data, data), { code: 'SESSION_BUSY' });
  session.close();
  await running.catch(() => {});
  assert.deepEqual(openSockets(), before);
});
