/**
 * The cases of cryptodev-linux's own tests (cipher, cipher-gcm, hmac, and those that compare with OpenSSL: cipher_comp, hmac_comp, hash_comp) put
 * to our driver: vectors, fills, lengths. Theirs align each buffer; here every alignment comes too. Over a served device, or the module's where
 * that is loaded. Of lengths up to 64 KiB they take each multiple of 16; here are those around pages, where the module changes its ways, and some.
 * Not here: CRIOGET, a cipher and a MAC in one session, TLS records, none of which the driver uses.
 */
import assert from 'node:assert/strict';
import { createCipheriv, createHash, createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { after, test } from 'node:test';
import { getDriver } from '#src/drivers/registry.js';
import { address } from '#src/linux/index.js';
import { serve } from '../../rig/cryptodev/index.js';
import { aeadOf, cipherOf, hashOf, macOf } from '../helpers/afalg.js';

const provider = existsSync('/dev/crypto') ? undefined : await serve();
const driver = getDriver('cryptodev');
driver.reprobe();
after(async () => {
  await provider?.stop();
  driver.reprobe();
});

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const cbc = cipherOf('aes-128-cbc');
const sha1 = hashOf('sha1');

/** `length` bytes that begin `offset` behind a multiple of 64. */
function memory(length: number, offset: number, fill = 0): Uint8Array {
  const whole = new Uint8Array(length + 128);
  const at = ((64 - (address(whole) % 64)) % 64) + offset;
  return whole.subarray(at, at + length).fill(fill);
}

test('cipher: AES-CBC’s known answers, in place', () => {
  for (const [key, plain, coded] of [
    ['ffffc000000000000000000000000000', '00'.repeat(16), 'df556a33438db87bc41b1752c55e5e49'],
    ['00'.repeat(16), 'ffffffffffffffffffffffffffffc000', 'b7972b3941c44b90afa7b264bfba7387'],
  ] as const) {
    for (let offset = 0; offset < 16; offset++) {
      using session = driver.cipher(cbc, 'encrypt', hex(key), new Uint8Array(16));
      const data = memory(16, offset);
      data.set(hex(plain));
      session.update(data, data);
      assert.equal(Buffer.from(data).toString('hex'), coded, `${offset} off`);
    }
  }
});

test('cipher: 8 KiB there in another place, and back in the same', () => {
  const [key, iv] = [new Uint8Array(16).fill(0x33), new Uint8Array(16).fill(0x03)];
  for (const [from, to] of [
    [0, 0],
    [1, 0],
    [0, 1],
    [3, 13],
    [8, 8],
    [15, 15],
  ] as const) {
    const [plain, coded] = [memory(8192, from, 0x15), memory(8192, to)];
    using sealing = driver.cipher(cbc, 'encrypt', key, iv);
    sealing.update(plain, coded);
    const wanted = createCipheriv('aes-128-cbc', key, iv).setAutoPadding(false).update(plain);
    assert.ok(wanted.equals(coded), `${from} and ${to} off`);
    using opening = driver.cipher(cbc, 'decrypt', key, iv);
    opening.update(coded, coded);
    assert.ok(Buffer.from(plain).equals(coded), `${from} and ${to} off, back`);
  }
});

const GCM_KEY = 'feffe9928665731c6d6a8f9467308308';
const GCM_IV = 'cafebabefacedbaddecaf888';
const GCM_TEXT =
  'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72 1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255';
const GCM_CODED =
  '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e 21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985';

test('cipher-gcm: the known answers of its specification', () => {
  for (const [key, iv, aad, text, coded, tag] of [
    [
      '00'.repeat(16),
      '00'.repeat(12),
      '',
      '00'.repeat(16),
      '0388dace60b6a392f328c2b971b2fe78',
      'ab6e47d42cec13bdf53a67b21257bddf',
    ],
    [GCM_KEY, GCM_IV, '', GCM_TEXT, GCM_CODED, '4d5c2af327cd64a62cf35abd2ba6fab4'],
    [
      GCM_KEY,
      GCM_IV,
      'feedfacedeadbeeffeedfacedeadbeefabaddad2',
      GCM_TEXT.slice(0, -8),
      GCM_CODED.slice(0, -8),
      '5bc94fbc3221a5db94fae95ae7121a47',
    ],
  ] as const) {
    const wanted = hex(coded);
    for (const offset of [0, 1, 7, 8, 15]) {
      using sealer = driver.aead(aeadOf('aes-128-gcm'), 'encrypt', hex(key));
      const [from, to] = [memory(wanted.length, offset), memory(wanted.length, 15 - offset)];
      from.set(hex(text));
      const made = memory(16, offset);
      sealer.seal(hex(iv), hex(aad), from, to, made);
      assert.ok(wanted.equals(to), `text, ${offset} off`);
      assert.equal(Buffer.from(made).toString('hex'), tag, `tag, ${offset} off`);
    }
  }
});

test('cipher-gcm: 8 KiB with 31 bytes beside, and every part of it forged', () => {
  const [key, iv] = [new Uint8Array(16).fill(0x33), new Uint8Array(12).fill(0x03)];
  const aad = new Uint8Array(31).fill(0xf1);
  using sealer = driver.aead(aeadOf('aes-128-gcm'), 'encrypt', key);
  using opener = driver.aead(aeadOf('aes-128-gcm'), 'decrypt', key);
  for (const offset of [0, 5]) {
    const [plain, coded, tag] = [memory(8192, offset, 0x15), memory(8192, offset), new Uint8Array(16)];
    sealer.seal(iv, aad, plain, coded, tag);
    for (const [part, at] of [
      [aad, 2],
      [coded, 4],
      [coded, 8191],
      [tag, 15],
    ] as const) {
      part[at]!++;
      const output = memory(8192, offset, 0xff);
      assert.throws(() => opener.open(iv, aad, coded, tag, output), { code: 'AUTH_FAILED' });
      assert.ok(output.every((byte) => byte === 0));
      part[at]!--;
    }
    opener.open(iv, aad, coded, tag, coded);
    assert.ok(Buffer.from(plain).equals(coded));
  }
});

test('hmac: SHA-1 and HMAC-MD5 of a question, whole and in two pieces', () => {
  const text = 'what do ya want for nothing?';
  const bytes = Buffer.from(text);
  const digest = new Uint8Array(20);
  const wanted = '8f820394f95335182045da24f34de52bf8bc3432';
  using hash = driver.hash(sha1);
  hash.once(bytes, digest);
  assert.equal(Buffer.from(digest).toString('hex'), wanted);
  hash.restart();
  hash.update(bytes.subarray(0, 7));
  hash.update(bytes.subarray(7));
  hash.digest(digest);
  assert.equal(Buffer.from(digest).toString('hex'), wanted);
  using mac = driver.mac(macOf('hmac-md5'), Buffer.from('Jefe'));
  mac.once(bytes, digest.subarray(0, 16));
  assert.equal(Buffer.from(digest.subarray(0, 16)).toString('hex'), '750c783e6ab0b503eaa86e310a5db738');
});

test('the comparisons with OpenSSL: lengths around pages, filled with their last byte, from every alignment', () => {
  const key = Uint8Array.from({ length: 16 }, (_, i) => i);
  const macKey = Uint8Array.from({ length: 20 }, (_, i) => i);
  const start = new Uint8Array(16).fill(0x23);
  const lengths = [16, 32, 240, 256, 4080, 4096, 4112, 8176, 8192, 8208, 65_520, 65_536];
  using session = driver.cipher(cbc, 'encrypt', key, start);
  using hash = driver.hash(sha1);
  using mac = driver.mac(macOf('hmac-sha1'), macKey);
  const digest = new Uint8Array(20);
  for (const [i, length] of lengths.entries()) {
    for (const offset of [0, 1 + ((5 * i) % 15)]) {
      const what = `${length} bytes, ${offset} off`;
      const [data, coded] = [memory(length, offset, length & 0xff), memory(length, (7 * offset) % 16, 0x27)];
      session.restart(start);
      session.update(data, coded);
      const wanted = createCipheriv('aes-128-cbc', key, start).setAutoPadding(false).update(data);
      assert.ok(wanted.equals(coded), what);
      // COP_FLAG_WRITE_IV: what the next request begins with.
      assert.deepEqual(Buffer.from(session.chain()!), wanted.subarray(-16), `${what}: the IV`);
      hash.once(data, digest);
      assert.ok(createHash('sha1').update(data).digest().equals(digest), `${what}: hash`);
      mac.once(data, digest);
      assert.ok(createHmac('sha1', macKey).update(data).digest().equals(digest), `${what}: MAC`);
    }
  }
});
