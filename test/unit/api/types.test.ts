/** What the declarations promise: a program for node:crypto type-checks with hwcrypt's results. The compiler is the test. */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { test } from 'node:test';
import {
  type Cipheriv,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  type Decipheriv,
  decrypt,
  digest,
  digestAsync,
  encrypt,
  encryptAsync,
  getCipherInfo,
  hash,
  hmac,
  randomBytes,
} from '#src/index.js';

const key = Buffer.alloc(16, 1);
const iv = Buffer.alloc(12, 2);

/** Takes what `new Blob` and WebCrypto take: bytes that no other thread has. */
const plain = (bytes: Uint8Array<ArrayBuffer>): number => new Blob([bytes]).size;

test('results are plain buffers', async () => {
  const cipher: Cipheriv = createCipheriv('aes-128-gcm', key, iv);
  const sizes = [
    plain(cipher.update('text')),
    plain(cipher.final()),
    plain(cipher.getAuthTag()),
    plain(encrypt('aes-128-gcm', key, iv, 'text')),
    plain(decrypt('aes-128-ctr', key, key, 'text')),
    plain(await encryptAsync('aes-128-gcm', key, iv, 'text')),
    plain(digest('sha256', '')),
    plain(await digestAsync('sha256', '')),
    plain(hash('sha256', '', 'buffer')),
    plain(hmac('sha256', key, '')),
    plain(randomBytes(8)),
    plain(createHash('sha256').update('').digest()),
    plain(createHmac('sha256', key).digest()),
  ];
  assert.deepEqual(sizes, [4, 0, 16, 20, 4, 20, 32, 32, 32, 32, 8, 32, 32]);
  assert.equal((await crypto.subtle.digest('SHA-256', digest('sha256', ''))).byteLength, 32);
});

test('objects are assignable to node:crypto’s own types', () => {
  const gcm: crypto.CipherGCM = createCipheriv('aes-128-gcm', key, iv);
  const text = gcm.setAAD(key).update('text', 'utf8', 'hex') + gcm.final('hex');
  const decipher: Decipheriv = createDecipheriv('aes-128-gcm', key, iv);
  const back: crypto.DecipherGCM = decipher;
  back.setAAD(key).setAuthTag(gcm.getAuthTag());
  assert.equal(back.update(text, 'hex', 'utf8') + back.final('utf8'), 'text');
  const objects: [crypto.Cipher, crypto.Decipher, crypto.Hash, crypto.Hmac, crypto.CipherCCM] = [
    createCipheriv('aes-128-cbc', key, key),
    createDecipheriv('aes-128-cbc', key, key),
    createHash('sha256', { outputLength: 32 } satisfies crypto.HashOptions),
    createHmac('sha256', key),
    createCipheriv('aes-128-ccm', key, iv, { authTagLength: 16 } satisfies crypto.CipherCCMOptions),
  ];
  // A program that chooses between the two libraries has variables of both.
  const make: typeof crypto.createHash = createHash;
  const makeHmac: typeof crypto.createHmac = createHmac;
  assert.equal(make('sha256').copy().digest('hex'), digest('sha256', '').toString('hex'));
  assert.equal(makeHmac('sha256', key).digest('hex'), hmac('sha256', key, '').toString('hex'));
  assert.equal(objects.length, 5);
});

test('what is told of a cipher is what node:crypto’s types say', () => {
  const info: crypto.CipherInfo | undefined = getCipherInfo('aes-128-cbc');
  const ask: typeof crypto.getCipherInfo = getCipherInfo;
  const wanted: { keyLength?: number | undefined; ivLength?: number | undefined } = { ivLength: undefined };
  assert.deepEqual({ ...ask('aes-128-cbc', wanted) }, { ...info });
  // A number that is declared is there, for a cipher too that node:crypto has not.
  assert.equal(typeof getCipherInfo('rc4')?.nid, 'number');
});
