/** Keys in texts: told, and never shown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diagnosed, finding, ids } from '../helpers.js';

const HEX = '00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f';

test('a volume key in a table; zeros and a keyring’s name are none', () => {
  const table = (key: string): string => `0 2097152 crypt aes-xts-plain64 ${key} 0 8:2 4096\n`;
  const found = diagnosed(table(HEX)).findings[0]!;
  assert.equal(found.id, 'volume-key-in-text');
  assert.ok(!JSON.stringify(diagnosed(table(HEX))).includes(HEX.slice(0, 16)));
  for (const key of ['0'.repeat(64), ':64:logon:cryptsetup:name-d0'])
    assert.ok(!ids(table(key)).includes('volume-key-in-text'), key);
});

test('other private keys, by kind', () => {
  const wireguard = `${'Ab3+'.repeat(10)}Ab3=`;
  const texts: readonly (readonly [string, RegExp])[] = [
    ['-----BEGIN EC PRIVATE KEY-----\nMHcCAQ==\n', /private key in PEM/],
    [`[Interface]\nPrivateKey = ${wireguard}\n`, /private key of WireGuard/],
    [
      `        auth-trunc hmac(sha256) 0x${HEX} 128\n        enc cbc(aes) 0x${HEX}\n`,
      /key of an IPsec connection/,
    ],
    ['MK dump:\t00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff\n', /volume key/],
  ];
  for (const [text, what] of texts) {
    const found = diagnosed(text);
    assert.equal(found.findings[0]!.id, 'key-in-text', text);
    assert.match(found.verdict, what);
    for (const part of [HEX.slice(0, 20), wireguard.slice(0, 20), '44 55 66 77'])
      assert.ok(!JSON.stringify(found).includes(part), text);
  }
  for (const text of ['-----BEGIN CERTIFICATE-----\n', 'PublicKey = abc=\n', 'Cipher key: 256 bits\n'])
    assert.ok(!ids(text, 'Linux version 6.6.1').includes('key-in-text'), text);
});

test('a mapping that encrypts nothing', () => {
  assert.equal(finding('not-encrypted', '0 2097152 crypt cipher_null-ecb - 0 8:2 0').kind, 'problem');
  assert.ok(!ids('0 2097152 crypt aes-xts-plain64 :64:logon:x 0 8:2 0').includes('not-encrypted'));
});

test('what identifies a machine or its owner is not quoted, in whatever form it stands', () => {
  const secrets = [
    '02:42:ac:11:00:02',
    'fe80::42:acff:fe11:2',
    '192.0.2.77',
    'anna-router',
    '0242.ac11.0002',
    'SN-4711-0815',
  ];
  const text = [
    'alg: self-tests for cbc(aes) using cbc-aes-foo-02:42:ac:11:00:02 failed (rc=-22)',
    'modprobe: FATAL: Module aesni-intel not found on 192.0.2.77',
    'ethaddr=02:42:ac:11:00:02 serial#=SN-4711-0815 HW offload is not supported by device wan',
    'anna@anna-router:~# modprobe rk_crypto',
    'bind: inet6 fe80::42:acff:fe11:2 AF_ALG bind failed errno: -2',
    'crypt: Error allocating crypto tfm lladdr 0242.ac11.0002',
  ].join('\n');
  const out = JSON.stringify(diagnosed(text));
  for (const secret of secrets) assert.ok(!out.includes(secret), secret);
});
