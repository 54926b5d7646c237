/** What is peculiar to hashes, MACs and random bytes over AF_ALG. */
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';

import { afalg } from '#src/drivers/afalg/index.js';
import { libc } from '#src/linux/index.js';
import { collectGarbage, hashOf, loadModulesOnce, macOf, openSockets } from '../helpers/afalg.js';

let undo: (() => void) | undefined;
before(() => {
  undo = loadModulesOnce();
  assert.ok(afalg.probe().available);
});
after(() => undo?.());

const sha256 = (...data: Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const piece of data) hash.update(piece);
  return hash.digest();
};

test('system calls: three to open, two for a message of any length, one for an empty one', async () => {
  const algorithm = hashOf('sha256');
  const output = new Uint8Array(32);
  afalg.hash(algorithm).close();
  libc.resetSyscallCounts();
  using session = afalg.hash(algorithm);
  assert.equal(libc.syscallCounts().total, 3);
  // A second session on the same transformation: one accept.
  libc.resetSyscallCounts();
  const second = afalg.hash(algorithm);
  assert.deepEqual([libc.syscallCounts().accept4, libc.syscallCounts().total], [1, 1]);
  second.close();
  for (const length of [0, 1, 65_536, 3_000_000]) {
    const data = randomBytes(length);
    const expected = sha256(data);
    const calls = length === 0 ? 1 : 2;
    libc.resetSyscallCounts();
    session.once(data, output);
    assert.equal(libc.syscallCounts().total, calls);
    assert.ok(expected.equals(output), `once ${length}`);
    output.fill(0);
    libc.resetSyscallCounts();
    await session.onceAsync(data, output);
    assert.equal(libc.syscallCounts().total, calls);
    assert.ok(expected.equals(output), `onceAsync ${length}`);
    session.restart();
    libc.resetSyscallCounts();
    session.update(data);
    session.digest(output);
    assert.equal(libc.syscallCounts().total, calls);
    assert.ok(expected.equals(output), `update, digest ${length}`);
  }
});

test('after digest a session wants a restart, which costs nothing; a message given up costs one read', () => {
  using session = afalg.hash(hashOf('sha1'));
  const output = new Uint8Array(20);
  session.update(randomBytes(10));
  session.digest(output);
  assert.throws(() => session.update(randomBytes(1)), /restart/);
  assert.throws(() => session.digest(output), /restart/);
  libc.resetSyscallCounts();
  session.restart();
  assert.equal(libc.syscallCounts().total, 0);
  session.update(randomBytes(10));
  libc.resetSyscallCounts();
  session.restart();
  assert.deepEqual([libc.syscallCounts().read, libc.syscallCounts().total], [1, 1]);
  session.digest(output);
  assert.ok(createHash('sha1').digest().equals(output));
  // once() in the middle of another message begins anew.
  session.restart();
  session.update(randomBytes(10));
  const data = randomBytes(99);
  session.once(data, output);
  assert.ok(createHash('sha1').update(data).digest().equals(output));
});

test('a clone goes its own way: before data, in the middle, after digest', async () => {
  using session = afalg.hash(hashOf('sha256'));
  const output = new Uint8Array(32);
  const [a, b, c] = [randomBytes(100), randomBytes(1), randomBytes(5000)] as const;
  using fresh = session.clone();
  session.update(a);
  using middle = session.clone();
  session.update(b);
  await middle.updateAsync(c);
  using again = middle.clone();
  session.digest(output);
  assert.ok(sha256(a, b).equals(output));
  middle.digest(output);
  assert.ok(sha256(a, c).equals(output));
  again.update(b);
  again.digest(output);
  assert.ok(sha256(a, c, b).equals(output));
  fresh.update(c);
  fresh.digest(output);
  assert.ok(sha256(c).equals(output));
  using done = session.clone();
  assert.throws(() => done.update(a), /restart/);
  done.restart();
  done.digest(output);
  assert.ok(sha256().equals(output));
});

test('hmac: keys of no, one, a block’s and many bytes, by opening and by restart', () => {
  const data = randomBytes(300);
  const output = new Uint8Array(32);
  using restarted = afalg.mac(macOf('hmac-sha256'), randomBytes(7));
  for (const length of [0, 1, 32, 63, 64, 65, 4096, 4097, 5000, 100_000]) {
    const key = randomBytes(length);
    const expected = createHmac('sha256', key).update(data).digest();
    using session = afalg.mac(macOf('hmac-sha256'), key);
    session.once(data, output);
    assert.ok(expected.equals(output), `key of ${length}`);
    session.restart();
    session.update(data.subarray(0, 10));
    session.update(data.subarray(10));
    session.digest(output);
    assert.ok(expected.equals(output));
    restarted.restart(Uint8Array.from(key));
    restarted.once(data, output);
    assert.ok(expected.equals(output), `restart with a key of ${length}`);
    restarted.once(data, output);
    assert.ok(expected.equals(output), 'the key stays');
  }
});

test('a new key does not reach a clone that shares the transformation', () => {
  const keys = [randomBytes(16), randomBytes(16)] as const;
  const data = randomBytes(20);
  const output = new Uint8Array(32);
  const session = afalg.mac(macOf('hmac-sha256'), keys[0]);
  session.update(data);
  using copy = session.clone();
  session.restart(keys[1]);
  session.update(data);
  session.digest(output);
  assert.ok(createHmac('sha256', keys[1]).update(data).digest().equals(output));
  session.close();
  copy.digest(output);
  assert.ok(createHmac('sha256', keys[0]).update(data).digest().equals(output));
  copy.once(data, output);
  assert.ok(createHmac('sha256', keys[0]).update(data).digest().equals(output));
});

test('a large message off the event loop', async () => {
  using session = afalg.hash(hashOf('sha1'));
  const data = randomBytes(8 << 20);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const output = new Uint8Array(20);
  const running = session.onceAsync(data, output);
  assert.throws(() => session.digest(output), { code: 'SESSION_BUSY' });
  await running;
  clearInterval(timer);
  assert.ok(createHash('sha1').update(data).digest().equals(output));
  assert.ok(ticks >= 0);
});

test('no descriptor is left behind', async () => {
  await collectGarbage();
  const before = openSockets();
  for (let i = 0; i < 20; i++) {
    const hash = afalg.hash(hashOf('sha256'));
    hash.update(randomBytes(4));
    const copy = hash.clone();
    hash.close();
    copy.close();
    const mac = afalg.mac(macOf('hmac-sha1'), randomBytes(4));
    const other = mac.clone();
    mac.restart(randomBytes(5));
    mac.close();
    other.close();
  }
  assert.deepEqual(openSockets(), before);
  (() => {
    for (let i = 0; i < 10; i++) afalg.hash(hashOf('sha512')).clone();
  })();
  await collectGarbage();
  assert.deepEqual(openSockets(), before);
});

test('random bytes: any length, no two alike, generators by name', async () => {
  const before = openSockets();
  const seen = new Set<string>();
  for (const length of [0, 1, 16, 127, 128, 129, 1000]) {
    const output = new Uint8Array(length + 4);
    afalg.random(output.subarray(2, 2 + length));
    assert.deepEqual([...output.subarray(0, 2), ...output.subarray(2 + length)], [0, 0, 0, 0]);
    if (length >= 16) {
      const text = Buffer.from(output).toString('hex');
      assert.ok(!seen.has(text));
      seen.add(text);
      assert.notEqual(new Set(output).size, 1);
    }
  }
  const output = new Uint8Array(40);
  for (const kernelDriver of ['ansi_cprng', 'drbg_nopr_hmac_sha256']) {
    output.fill(0);
    afalg.random(output, { kernelDriver });
    assert.ok(
      output.some((byte) => byte !== 0),
      kernelDriver,
    );
  }
  assert.throws(() => afalg.random(output, { kernelDriver: 'no-such-generator' }), {
    code: 'KERNEL_DRIVER_UNAVAILABLE',
  });
  assert.deepEqual(openSockets(), before);
});
