import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { getDriver } from '#src/drivers/registry.js';
import { CipherTransform, HEADROOM, paddingBytes, TAILROOM } from '#src/enc/transform.js';
import { cipher } from './helpers.js';

/** Through the transform in pieces of the given lengths. */
function through(transform: CipherTransform, bytes: Uint8Array, lengths: readonly number[]): Buffer {
  const found: Buffer[] = [];
  let at = 0;
  for (const length of [...lengths, bytes.length]) {
    const piece = bytes.subarray(at, at + length);
    at += piece.length;
    const memory = Buffer.alloc(HEADROOM + piece.length + TAILROOM);
    memory.set(piece, HEADROOM);
    const { start, end } = transform.update(memory, HEADROOM, HEADROOM + piece.length);
    found.push(Buffer.from(memory.subarray(start, end)));
  }
  const memory = Buffer.alloc(HEADROOM + TAILROOM);
  const { start, end } = transform.final(memory, HEADROOM);
  found.push(Buffer.from(memory.subarray(start, end)));
  return Buffer.concat(found);
}

const lengths = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 20 });

for (const driver of ['libcrypto', 'node']) {
  if (!getDriver(driver).probe().available) continue;
  for (const name of [
    'aes-128-cbc',
    'aes-256-ecb',
    'des-ede3-cbc',
    'aes-256-ctr',
    'aes-128-cfb',
    'aes-128-cfb8',
    'aes-192-ofb',
  ]) {
    const algorithm = cipher(name);
    const key = randomBytes(algorithm.keyBytes);
    const iv = algorithm.ivBytes > 0 ? randomBytes(algorithm.ivBytes) : null;

    test(`${driver} ${name}: in any pieces as in one`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 300 }), lengths, (plain, at) => {
          const node = createCipheriv(name, key, iv);
          const wanted = Buffer.concat([node.update(plain), node.final()]);
          const encrypting = getDriver(driver).cipher(algorithm, 'encrypt', key, iv);
          assert.deepEqual(through(new CipherTransform(encrypting, { padding: true }), plain, at), wanted);
          encrypting.close();
          const decrypting = getDriver(driver).cipher(algorithm, 'decrypt', key, iv);
          assert.deepEqual(
            through(new CipherTransform(decrypting, { padding: true }), wanted, at),
            Buffer.from(plain),
          );
          decrypting.close();
        }),
      );
    });

    test(`${driver} ${name}: without padding`, () => {
      const plain = randomBytes(64);
      const node = createDecipheriv(name, key, iv).setAutoPadding(false);
      const wanted = Buffer.concat([node.update(plain), node.final()]);
      const session = getDriver(driver).cipher(algorithm, 'decrypt', key, iv);
      assert.deepEqual(through(new CipherTransform(session, { padding: false }), plain, [5, 20]), wanted);
      session.close();
    });
  }
}

test('wrong lengths and wrong padding are told apart', () => {
  const algorithm = cipher('aes-128-cbc');
  const key = randomBytes(16);
  const iv = randomBytes(16);
  const run = (direction: 'encrypt' | 'decrypt', padding: boolean, bytes: Uint8Array): Buffer => {
    const session = getDriver('node').cipher(algorithm, direction, key, iv);
    return through(new CipherTransform(session, { padding }), bytes, [3]);
  };
  const lengthError = (what: string, cause: RegExp) => ({
    code: 'BAD_DECRYPT',
    message: new RegExp(`^${what}: wrong final block length: ${cause.source}`),
  });
  assert.throws(
    () => run('encrypt', false, Buffer.alloc(5)),
    lengthError('bad encrypt', /5 bytes, not a multiple of 16/),
  );
  assert.throws(() => run('decrypt', false, Buffer.alloc(17)), lengthError('bad decrypt', /17 bytes/));
  assert.throws(() => run('decrypt', true, Buffer.alloc(31)), lengthError('bad decrypt', /31 bytes/));
  assert.throws(
    () => run('decrypt', true, Buffer.alloc(0)),
    lengthError('bad decrypt', /there is no ciphertext/),
  );
  assert.equal(run('decrypt', false, Buffer.alloc(0)).length, 0);
  const badPadding = run('encrypt', false, Buffer.alloc(16, 0x20));
  assert.throws(() => run('decrypt', true, badPadding), {
    code: 'BAD_DECRYPT',
    message: /^bad decrypt: wrong/,
  });
});

test('PKCS#7 padding', () => {
  const block = (...tail: number[]) => Uint8Array.from([...Array(8 - tail.length).fill(9), ...tail]);
  assert.equal(paddingBytes(block(1)), 1);
  assert.equal(paddingBytes(block(3, 3, 3)), 3);
  assert.equal(paddingBytes(Uint8Array.from(Array(8).fill(8))), 8);
  assert.equal(paddingBytes(block(0)), 0);
  assert.equal(paddingBytes(block(9)), 0);
  assert.equal(paddingBytes(block(2, 3, 3)), 0);
  assert.equal(paddingBytes(new Uint8Array(0)), 0);
});
