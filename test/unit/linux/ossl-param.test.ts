/** The layout of OSSL_PARAM against bytes written out by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeOsslParams, OSSL_PARAM } from '#src/linux/ossl-param.js';

const one = { key: 0x11223344, type: OSSL_PARAM.OCTET_STRING, data: 0x55667788, size: 16 };
const hex = (words: number, littleEndian: boolean): string =>
  Buffer.from(encodeOsslParams([one], { wordBytes: words as 4 | 8, littleEndian })).toString('hex');

test('one parameter and the end, for either word and either byte order', () => {
  const end = '00'.repeat(20);
  assert.equal(hex(4, true), `44332211${'05000000'}88776655${'10000000'}${'00000000'}${end}`);
  assert.equal(hex(4, false), `11223344${'00000005'}55667788${'00000010'}${'00000000'}${end}`);
  assert.equal(
    hex(8, true),
    `4433221100000000${'0500000000000000'}8877665500000000${'1000000000000000'}${'00'.repeat(8)}${end}${end}`,
  );
  assert.equal(encodeOsslParams([]).length % 5, 0);
});
