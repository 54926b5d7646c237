/** What is peculiar to AEADs over AF_ALG: the layout of a message, its limits, tags and nonces. */
import assert from 'node:assert/strict';
import { type CipherGCMTypes, createCipheriv, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';

import type { AeadAlgorithm } from '#src/algorithms.js';
import { afalg } from '#src/drivers/afalg/index.js';
import { AuthenticationError } from '#src/errors.js';
import { libc } from '#src/linux/index.js';
import { aeadOf, loadModulesOnce, openSockets } from '../helpers/afalg.js';

let undo: (() => void) | undefined;
before(() => {
  undo = loadModulesOnce();
  assert.ok(afalg.probe().available);
});
after(() => undo?.());

interface Sealed {
  readonly text: Buffer;
  readonly tag: Buffer;
}

function reference(
  { name }: AeadAlgorithm,
  key: Uint8Array,
  iv: Uint8Array,
  aad: Uint8Array,
  plain: Uint8Array,
  authTagLength: number,
): Sealed {
  const cipher = createCipheriv(name as CipherGCMTypes, key, iv, { authTagLength });
  // OpenSSL's CCM takes a null pointer for "this is the length", and a view of an empty buffer has no other.
  const given = plain.length > 0 ? plain : Buffer.alloc(1).subarray(0, 0);
  if (aad.length > 0) cipher.setAAD(aad, { plaintextLength: plain.length });
  const text = Buffer.concat([cipher.update(given), cipher.final()]);
  return { text, tag: cipher.getAuthTag() };
}

const NAMES = ['aes-128-gcm', 'aes-256-gcm', 'aes-128-ccm', 'chacha20-poly1305'];

for (const name of NAMES) {
  test(`${name}: seal and open against node:crypto, text and aad from nothing to more than a page`, async () => {
    const algorithm = aeadOf(name);
    const key = randomBytes(algorithm.keyBytes);
    using sealer = afalg.aead(algorithm, 'encrypt', key);
    using opener = afalg.aead(algorithm, 'decrypt', key);
    for (const aadBytes of [0, 1, 16, 20, 4097]) {
      for (const length of [0, 1, 15, 16, 17, 100, 4096, 5000]) {
        const iv = randomBytes(12);
        const aad = randomBytes(aadBytes);
        const plain = randomBytes(length);
        const expected = reference(algorithm, key, iv, aad, plain, 16);
        const output = new Uint8Array(length + 8).fill(7);
        const tag = new Uint8Array(16);
        sealer.seal(iv, aad, plain, output, tag);
        const what = `aad ${aadBytes}, text ${length}`;
        assert.ok(expected.text.equals(output.subarray(0, length)), what);
        assert.ok(expected.tag.equals(tag), `${what}: tag`);
        assert.deepEqual([...output.subarray(length)], new Array(8).fill(7));
        // In place, and back.
        const memory = Uint8Array.from(plain);
        await sealer.sealAsync(iv, aad, memory, memory, tag);
        assert.ok(expected.text.equals(memory), `${what}: in place`);
        opener.open(iv, aad, memory, tag, memory);
        assert.ok(plain.equals(memory), `${what}: opened`);
        await opener.openAsync(iv, aad, expected.text, expected.tag, memory);
        assert.ok(plain.equals(memory), `${what}: opened asynchronously`);
      }
    }
  });

  test(`${name}: a wrong tag is an AuthenticationError, also from the pool, leaves zeros and a usable session`, async () => {
    const algorithm = aeadOf(name);
    const key = randomBytes(algorithm.keyBytes);
    using opener = afalg.aead(algorithm, 'decrypt', key);
    for (const length of [0, 1, 100, 70_000 - 4096]) {
      const iv = randomBytes(12);
      const aad = randomBytes(21);
      const plain = randomBytes(length);
      const { text, tag } = reference(algorithm, key, iv, aad, plain, 16);
      const forged = Buffer.from(tag);
      forged[3] = (forged[3] as number) ^ 1;
      const output = new Uint8Array(length).fill(9);
      for (let i = 0; i < 3; i++) {
        assert.throws(() => opener.open(iv, aad, text, forged, output), AuthenticationError);
        assert.ok(output.every((byte) => byte === 0));
        output.fill(9);
        await assert.rejects(opener.openAsync(iv, aad, text, forged, output), AuthenticationError);
        assert.ok(output.every((byte) => byte === 0));
        opener.open(iv, aad, text, tag, output);
        assert.ok(plain.equals(output));
      }
    }
  });
}

test('the largest message, and one byte more', () => {
  const algorithm = aeadOf('aes-128-gcm');
  const key = randomBytes(16);
  using sealer = afalg.aead(algorithm, 'encrypt', key);
  using opener = afalg.aead(algorithm, 'decrypt', key);
  const most = sealer.messageBytes as number;
  assert.ok(most >= 65_536);
  const iv = randomBytes(12);
  for (const aadBytes of [0, 13, 30_000, most - 16 - 100]) {
    const aad = randomBytes(aadBytes);
    const plain = randomBytes(most - aadBytes - 16);
    const expected = reference(algorithm, key, iv, aad, plain, 16);
    const output = new Uint8Array(plain.length);
    const tag = new Uint8Array(16);
    sealer.seal(iv, aad, plain, output, tag);
    assert.ok(expected.text.equals(output) && expected.tag.equals(tag), `aad ${aadBytes}`);
    opener.open(iv, aad, output, tag, output);
    assert.ok(plain.equals(output));
    const more = new Uint8Array(plain.length + 1);
    const refused = {
      code: 'MESSAGE_TOO_LARGE',
      message: new RegExp(`at most ${most} bytes; this one has ${most + 1}`),
    };
    assert.throws(() => sealer.seal(iv, aad, more, more, tag), refused);
    assert.throws(() => opener.open(iv, aad, more, tag, more), refused);
  }
});

test('gcm: every tag length; nonces other than 12 bytes have a typed reason and cost the session nothing', () => {
  const algorithm = aeadOf('aes-128-gcm');
  const key = randomBytes(16);
  const aad = randomBytes(5);
  const plain = randomBytes(33);
  for (const tagBytes of algorithm.tagBytes) {
    using sealer = afalg.aead(algorithm, 'encrypt', key, { tagBytes });
    const iv = randomBytes(12);
    const expected = reference(algorithm, key, iv, aad, plain, tagBytes);
    const output = new Uint8Array(33);
    const tag = new Uint8Array(tagBytes);
    for (const ivBytes of [1, 8, 16, 128]) {
      assert.throws(
        () => sealer.seal(new Uint8Array(ivBytes), aad, plain, output, tag),
        (error: Error & { code: string; reason: { code: string } }) =>
          error.name === 'UnavailableError' && error.reason.code === 'ALGORITHM_NOT_OFFERED',
      );
    }
    sealer.seal(iv, aad, plain, output, tag);
    assert.ok(expected.text.equals(output) && expected.tag.equals(tag), `tag of ${tagBytes}`);
    using opener = afalg.aead(algorithm, 'decrypt', key, { tagBytes });
    opener.open(iv, aad, output, tag, output);
    assert.ok(plain.equals(output));
  }
});

test('ccm: every nonce and tag length; a nonce of 13 bytes leaves two for the length', () => {
  const algorithm = aeadOf('aes-256-ccm');
  const key = randomBytes(32);
  for (const tagBytes of algorithm.tagBytes) {
    using sealer = afalg.aead(algorithm, 'encrypt', key, { tagBytes });
    using opener = afalg.aead(algorithm, 'decrypt', key, { tagBytes });
    for (let ivBytes = 7; ivBytes <= 13; ivBytes++) {
      const iv = randomBytes(ivBytes);
      const aad = randomBytes(ivBytes * 3 - 21);
      const plain = randomBytes(70);
      const expected = reference(algorithm, key, iv, aad, plain, tagBytes);
      const output = new Uint8Array(70);
      const tag = new Uint8Array(tagBytes);
      sealer.seal(iv, aad, plain, output, tag);
      assert.ok(
        expected.text.equals(output) && expected.tag.equals(tag),
        `nonce ${ivBytes}, tag ${tagBytes}`,
      );
      opener.open(iv, aad, output, tag, output);
      assert.ok(plain.equals(output));
    }
  }
  using session = afalg.aead(algorithm, 'encrypt', key);
  const text = new Uint8Array(65_536);
  const tag = new Uint8Array(session.tagBytes);
  assert.throws(() => session.seal(new Uint8Array(13), new Uint8Array(), text, text, tag), {
    code: 'MESSAGE_TOO_LARGE',
  });
  session.seal(new Uint8Array(12), new Uint8Array(), text, text, tag);
  session.seal(new Uint8Array(13), new Uint8Array(), text.subarray(1), text.subarray(1), tag);
});

test('a tag length that the kernel does not make has a typed reason', () => {
  const before = openSockets();
  assert.throws(
    () => afalg.aead(aeadOf('chacha20-poly1305'), 'encrypt', randomBytes(32), { tagBytes: 12 }),
    (error: Error & { reason: { code: string; syscall: string } }) =>
      error.name === 'UnavailableError' &&
      error.reason.code === 'BAD_TAG_LENGTH' &&
      error.reason.syscall === 'setsockopt(ALG_SET_AEAD_AUTHSIZE)',
  );
  assert.deepEqual(openSockets(), before);
});

test('system calls: five to open, two a message, three for a new key', async () => {
  const algorithm = aeadOf('aes-128-gcm');
  afalg.aead(algorithm, 'encrypt', randomBytes(16)).close();
  libc.resetSyscallCounts();
  using session = afalg.aead(algorithm, 'encrypt', randomBytes(16));
  assert.equal(libc.syscallCounts().total, 5);
  const text = new Uint8Array(60_000);
  const tag = new Uint8Array(16);
  for (const length of [0, 16, 60_000]) {
    libc.resetSyscallCounts();
    const part = text.subarray(0, length);
    session.seal(randomBytes(12), randomBytes(20), part, part, tag);
    const { sendmsg, readv, total } = libc.syscallCounts();
    assert.deepEqual([sendmsg, readv, total], [1, 1, 2]);
    await session.sealAsync(randomBytes(12), new Uint8Array(), part, part, tag);
    assert.equal(libc.syscallCounts().total, 4);
  }
  libc.resetSyscallCounts();
  const key = randomBytes(16);
  session.rekey(key);
  assert.equal(libc.syscallCounts().total, 3);
  const iv = randomBytes(12);
  const output = new Uint8Array(5);
  session.seal(iv, new Uint8Array(), new Uint8Array(5), output, tag);
  const expected = reference(algorithm, key, iv, new Uint8Array(), new Uint8Array(5), 16);
  assert.ok(expected.text.equals(output) && expected.tag.equals(tag));
});

test('in pieces: refused, and the session goes on', () => {
  using session = afalg.aead(aeadOf('aes-128-gcm'), 'encrypt', randomBytes(16));
  assert.equal(session.incremental, false);
  assert.throws(() => session.begin(new Uint8Array(12)), { code: 'SESSION_UNUSABLE' });
  assert.throws(() => session.finish(new Uint8Array(16)), { code: 'SESSION_UNUSABLE' });
  session.seal(new Uint8Array(12), new Uint8Array(), new Uint8Array(), new Uint8Array(), new Uint8Array(16));
});

test('closing during a call that fails frees the sockets all the same', async () => {
  const before = openSockets();
  const opener = afalg.aead(aeadOf('aes-128-gcm'), 'decrypt', randomBytes(16));
  const output = new Uint8Array(40_000);
  const running = opener.openAsync(
    new Uint8Array(12),
    new Uint8Array(4),
    randomBytes(40_000),
    new Uint8Array(16),
    output,
  );
  opener.close();
  await assert.rejects(running, AuthenticationError);
  assert.ok(output.every((byte) => byte === 0));
  assert.deepEqual(openSockets(), before);
});
