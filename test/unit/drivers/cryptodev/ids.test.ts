/** The numbers of /dev/crypto against the header and against the table of algorithms. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { algorithms, byCryptodevId } from '#src/algorithms.js';
import { CRYPTODEV_IDS, cryptodevId, idNote } from '#src/drivers/cryptodev/ids.js';

/** `enum cryptodev_crypto_op_t` of version 1.14. */
const HEADER: Readonly<Record<string, number>> = {
  ...{ DES_CBC: 1, '3DES_CBC': 2, BLF_CBC: 3, CAST_CBC: 4, SKIPJACK_CBC: 5, MD5_HMAC: 6, SHA1_HMAC: 7 },
  ...{ RIPEMD160_HMAC: 8, MD5_KPDK: 9, SHA1_KPDK: 10, AES_CBC: 11, ARC4: 12, MD5: 13, SHA1: 14 },
  ...{ DEFLATE_COMP: 15, NULL: 16, LZS_COMP: 17, SHA2_256_HMAC: 18, SHA2_384_HMAC: 19 },
  ...{ SHA2_512_HMAC: 20, AES_CTR: 21, AES_XTS: 22, AES_ECB: 23, AES_CFB: 24, AES_OFB: 25 },
  ...{ AES_GCM: 50, AES_CCM: 51, CAMELLIA_CBC: 101, RIPEMD160: 102, SHA2_224: 103, SHA2_256: 104 },
  ...{ SHA2_384: 105, SHA2_512: 106, SHA2_224_HMAC: 107, TLS11_AES_CBC_HMAC_SHA1: 108 },
  TLS12_AES_CBC_HMAC_SHA256: 109,
};

test('every number of the header, with its name', () => {
  assert.deepEqual(Object.fromEntries(CRYPTODEV_IDS.map(({ name, id }) => [name, id])), HEADER);
  for (const entry of CRYPTODEV_IDS) assert.equal(cryptodevId(entry.id), entry);
  assert.equal(cryptodevId(26), undefined);
});

test('the table of algorithms has the same numbers, for the same algorithms of the kernel', () => {
  const numbered = algorithms().filter(({ names }) => names.cryptodev !== undefined);
  for (const algorithm of numbered) {
    const id = cryptodevId(algorithm.names.cryptodev!);
    assert.ok(id, algorithm.name);
    assert.equal(id.kind, algorithm.kind, algorithm.name);
    if (id.kernel !== undefined) assert.equal(id.kernel, algorithm.names.kernel, algorithm.name);
  }
});

test('a number without an algorithm of ours says what it is, or stands for nothing', () => {
  for (const id of CRYPTODEV_IDS) {
    if (byCryptodevId(id.id).length > 0) assert.equal(idNote(id), undefined, id.name);
    else assert.ok(idNote(id) !== undefined || id.kernel === undefined, id.name);
  }
});
