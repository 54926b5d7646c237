import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { kdfOptions, legacyKeyFromPassword, requireDigest } from '#src/enc/index.js';
import { bytesToKey, deriveKey, pbkdf2Key, resolveDigest } from '#src/enc/kdf.js';
import { cipher, DATA, noOpenssl, openssl } from './helpers.js';

test('EVP_BytesToKey gives the keys of case 46', () => {
  const lines = readFileSync(join(DATA, 'kdf-vectors.txt'), 'utf8').trim().split('\n').slice(1);
  assert.equal(lines.length, 3);
  for (const line of lines) {
    const [, name, digest, , password, salt, key, iv] = line.split(' ') as [string, ...string[]];
    const { keyBytes, ivBytes } = cipher(name as string);
    const found = bytesToKey(
      digest as string,
      Buffer.from(password as string),
      salt === '-' ? null : Buffer.from(salt as string, 'hex'),
      keyBytes,
      ivBytes,
    );
    assert.equal(found.key.toString('hex'), key, line);
    assert.equal(found.iv.toString('hex') || '-', iv, line);
  }
});

test('legacyKeyFromPassword is what the removed createCipher used (case 55)', () => {
  const { key, iv } = legacyKeyFromPassword('password123', 32, 16);
  assert.equal(key.toString('hex'), '482c811da5d5b4bc6d497ffa98491e38b07b0eb6035570ade095cea982c8b1eb');
  assert.equal(iv.toString('hex'), 'dde18819e08af0ddd1e3e87be5dc0c59');
});

test('more than one round', () => {
  // One round and then the same bytes hashed twice more: checked by hand against the definition.
  const one = bytesToKey('sha1', Buffer.from('a'), null, 20, 0).key;
  const three = bytesToKey('sha1', Buffer.from('a'), null, 20, 0, 3).key;
  const again = bytesToKey('sha1', bytesToKey('sha1', one, null, 20, 0).key, null, 20, 0).key;
  assert.deepEqual(three, again);
});

test('keys as `openssl enc -P` prints them, for digests of all lengths and both derivations', {
  skip: noOpenssl,
}, async () => {
  const salt = Buffer.from('0102030405060708', 'hex');
  for (const name of ['aes-256-cbc', 'aes-192-ecb', 'des-ede3-cbc', 'chacha20']) {
    for (const digest of [
      'md5',
      'sha1',
      'sha224',
      'sha256',
      'sha512',
      'sha512-256',
      'ripemd160',
      'blake2b512',
    ]) {
      for (const iterations of [undefined, 1, 77]) {
        const printed = openssl([
          ...['enc', `-${name}`, '-P', '-k', 'päss', '-S', salt.toString('hex'), '-md', digest],
          ...(iterations === undefined ? [] : ['-iter', String(iterations)]),
        ]).toString();
        const { keyBytes, ivBytes } = cipher(name);
        const { key, iv } = await deriveKey(
          iterations === undefined
            ? { kind: 'bytes-to-key', digest: requireDigest(digest) }
            : { kind: 'pbkdf2', digest: requireDigest(digest), iterations },
          Buffer.from('päss'),
          salt,
          keyBytes,
          ivBytes,
        );
        const label = `${name} ${digest} ${iterations}`;
        assert.equal(/key=(.*)/.exec(printed)?.[1], key.toString('hex').toUpperCase(), label);
        assert.equal(/iv =(.*)/.exec(printed)?.[1] ?? '', iv.toString('hex').toUpperCase(), label);
      }
    }
  }
});

test('PBKDF2 takes key and IV from one output, and a salt of any length or none', async () => {
  for (const salt of [null, Buffer.alloc(1, 1), Buffer.alloc(16, 2)]) {
    const { key, iv } = await pbkdf2Key('sha256', Buffer.from('p'), salt, 3, 32, 16);
    const whole = pbkdf2Sync('p', salt ?? '', 3, 48, 'sha256');
    assert.deepEqual(Buffer.concat([key, iv]), whole);
  }
});

test('a digest is known by every name that OpenSSL has for it', () => {
  for (const name of ['sha256', 'SHA256', 'sha2-256', 'SHA-256']) assert.equal(resolveDigest(name), 'sha256');
  for (const name of ['md5', 'ripemd160', 'RIPEMD-160', 'rmd160', 'sha512/256'])
    assert.ok(resolveDigest(name), name);
  assert.equal(resolveDigest('rsa-sha256'), undefined);
  assert.throws(() => requireDigest('sha255'), { code: 'USAGE', message: /unknown message digest: sha255/ });
});

test('options that make openssl derive in the same way', () => {
  assert.equal(kdfOptions({ kind: 'bytes-to-key', digest: 'md5' }), '-md md5');
  assert.equal(kdfOptions({ kind: 'pbkdf2', digest: 'sha1', iterations: 5 }), '-pbkdf2 -iter 5 -md sha1');
});
