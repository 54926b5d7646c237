/** Tunnels and what an engine can do of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counts, diagnosed, EIP93, ELAPSED, finding, GENERIC, ids, procCrypto, speed } from '../helpers.js';

const AUTHENC = {
  name: 'authenc(hmac(sha256),cbc(aes))',
  driver: 'authenc(hmac(sha256-eip93), cbc(aes-eip93))',
  module: 'crypto_hw_eip93',
  priority: 1500,
  type: 'aead',
  async: true,
};

test('WireGuard is never offloaded, whatever engine there is', () => {
  const status = 'interface: wg0\n  listening port: 51820\n\n  latest handshake: 3 seconds ago\n';
  const found = diagnosed(status, procCrypto(...EIP93, ...GENERIC)).findings.find(
    ({ id }) => id === 'vpn-never-offloaded',
  )!;
  assert.equal(found.sureness, 'certain');
  assert.equal(
    diagnosed('will the engine of my router speed up WireGuard?').findings[0]!.id,
    'vpn-never-offloaded',
  );
  assert.ok(!ids('interface: eth0\n', 'Linux version 6.6.1').includes('vpn-never-offloaded'));
});

test('IPsec: lacking, the engine’s, in part, not told', () => {
  const sa = (esp: string): string => `  tunnel: #3, reqid 1, INSTALLED, TUNNEL, ESP:${esp}\n`;
  const gcm = finding('vpn-cipher-and-engine', sa('AES_GCM_16-128'), procCrypto(...EIP93, ...GENERIC));
  assert.equal(gcm.kind, 'problem');
  assert.match(gcm.verdict, /does not use the EIP93: gcm is not among its modes/);
  const own = finding(
    'vpn-cipher-and-engine',
    sa('AES_CBC-256/HMAC_SHA2_256_128'),
    procCrypto(...EIP93, ...GENERIC, AUTHENC),
  );
  assert.equal(own.kind, 'fine');
  assert.match(own.verdict, /is the kernel’s first choice for it/);
  const software = finding(
    'vpn-cipher-and-engine',
    sa('AES_CBC-256/HMAC_SHA2_256_128'),
    procCrypto(...EIP93, ...GENERIC, {
      ...AUTHENC,
      driver: 'authenc(hmac(sha256-generic),cbc-aes-neonbs)',
      module: 'authenc',
      priority: 2000,
    }),
  );
  assert.match(software.verdict, /does not use the EIP93: authenc\(hmac\(sha256\),cbc\(aes\)\) is done by/);
  const log = '[    1.4] mtk-eip93 1e004000.crypto: EIP93 Crypto Engine Initialized.\n';
  assert.equal(finding('vpn-cipher-and-engine', log, sa('AES_CBC-128/HMAC_SHA1_96')).sureness, 'possible');
  assert.ok(
    !ids(sa('AES_CBC-128/HMAC_SHA1_96'), procCrypto(...GENERIC)).includes('vpn-cipher-and-engine'),
    'no engine',
  );
});

test('figures at a packet’s size are told where the text has them', () => {
  const speeds = `${ELAPSED}$ openssl speed -elapsed -evp aes-128-cbc\n${speed('aes-128-cbc', counts(500, 82))}\nengine "devcrypto" set.\n${ELAPSED}${speed('aes-128-cbc', counts(37_000, 16.4))}`;
  const found = finding(
    'vpn-cipher-and-engine',
    'esp=aes128-sha256-modp2048\n',
    procCrypto(...EIP93, ...GENERIC),
    speeds,
  );
  assert.match(found.gain ?? '', /at 1420 bytes: \d+\.\d MB\/s against \d+\.\d MB\/s in software/);
});

test('OpenVPN: GCM never gets there, CBC packet by packet', () => {
  const with_ = (cipher: string): string =>
    finding(
      'vpn-cipher-and-engine',
      `Outgoing Data Channel: Cipher '${cipher}' initialized with 256 bit key\n`,
      procCrypto(...EIP93, ...GENERIC),
    ).verdict;
  assert.match(with_('AES-256-GCM'), /AES-GCM never reaches your EIP93/);
  assert.match(with_('AES-256-CBC'), /one packet of at most 1500 bytes at a time/);
});

test('the network card’s offload is another thing', () => {
  assert.match(
    diagnosed('[KNL] HW offload is not supported by device wan').verdict,
    /means the network card.*a crypto engine needs no such option/,
  );
  assert.ok(!ids('tcp-segmentation-offload: on', 'Linux version 6.6.1').includes('nic-offload-not-engine'));
});
