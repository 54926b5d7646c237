/** Key derivation: vectors of the reference implementation's own test, and both implementations against each other. */
import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { test } from 'node:test';
import { type Argon2Kind, argon2, argon2By, pbkdf2, pbkdf2By } from '#src/kdf/index.js';

const [PASSWORD, SALT] = [Buffer.from('password'), Buffer.from('somesalt')];

/** phc-winner-argon2, src/test.c: version 0x13, two passes, 256 KiB. */
const VECTORS: readonly (readonly [Argon2Kind, number, string])[] = [
  ['argon2i', 1, '89e9029f4637b295beb027056a7336c414fadd43f6b208645281cb214a56452f'],
  ['argon2i', 2, '4ff5ce2769a1d7f4c8a491df09d41a9fbe90e5eb02155a13e4c01e20cd4eab61'],
  ['argon2id', 1, '9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe'],
  ['argon2id', 2, '6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037'],
];

for (const name of ['libargon2', 'hash-wasm'] as const) {
  const by = argon2By(name);
  test(`argon2 by ${name}`, { skip: by ? false : `${name} is not installed` }, async () => {
    for (const [kind, threads, expected] of VECTORS) {
      const cost = { iterations: 2, memoryKiB: 256, threads };
      const { key, elapsedNs } = await by!.derive(kind, PASSWORD, SALT, cost, 32);
      assert.equal(key.toString('hex'), expected, `${kind}, ${threads}`);
      assert.ok(elapsedNs > 0);
    }
    assert.equal(PASSWORD.toString(), 'password');
    const impossible = { iterations: 1, memoryKiB: 1, threads: 4 };
    await assert.rejects(by!.derive('argon2id', PASSWORD, SALT, impossible, 32), { code: 'KDF_FAILED' });
  });
}

test('there is always an argon2, and it gives what the portable one gives', async () => {
  const cost = { iterations: 1, memoryKiB: 64, threads: 2 };
  const [one, two] = await Promise.all(
    [argon2(), argon2By('hash-wasm')!].map((by) => by.derive('argon2d', PASSWORD, SALT, cost, 64)),
  );
  assert.equal(one!.key.length, 64);
  assert.deepEqual(one!.key, two!.key);
});

test('pbkdf2 over whatever OpenSSL has, its legacy provider included', async () => {
  const salt = Buffer.from('0123456789abcdef');
  assert.deepEqual(
    await pbkdf2('sha256', PASSWORD, salt, 1000, 32),
    pbkdf2Sync(PASSWORD, salt, 1000, 32, 'sha256'),
  );
  assert.equal(pbkdf2By('sha256'), 'node');
  assert.equal(pbkdf2By('nonsense'), undefined);
  await assert.rejects(pbkdf2('nonsense', PASSWORD, salt, 1, 32), { code: 'KDF_FAILED' });
  if (pbkdf2By('whirlpool') === undefined) return;
  // openssl kdf -provider legacy -kdfopt digest:whirlpool -kdfopt pass:foobarfo … PBKDF2
  const whirlpool = await pbkdf2('whirlpool', Buffer.from('foobarfo'), salt, 1000, 32);
  assert.equal(whirlpool.toString('hex'), 'a6b63d8748cce55b4a3b908ea7a3a559be6080b89ebc0fe8f01206b4d30d2347');
});
