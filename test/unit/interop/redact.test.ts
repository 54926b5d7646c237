/** What people's logs have of their names is taken out, and what the doctor lives on stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from '#src/interop/redact.js';

test('names, secrets and addresses in lines of a log', () => {
  for (const [line, secret] of [
    ['Set cipher aes for device /dev/disk/by-label/TaxReturns.', 'TaxReturns'],
    ['device-mapper: crypt: aunts-videos: Error allocating crypto tfm', 'aunts'],
    ['Starting Cryptography Setup for aunts-videos...', 'aunts'],
    ['mount /mnt/lisa-x and /media/lisa/Stick', 'lisa'],
    ['opened /dev/mapper/aunts-videos', 'aunts'],
    ['luks: user=lisa', 'lisa'],
    ['luks: passphrase=hunter2', 'hunter2'],
    ['crypto.key=short12 quiet', 'short12'],
    ['cfg: SSID "AnnasWLAN" aes psk=geheim123', 'AnnasWLAN'],
    ['cfg: SSID "AnnasWLAN" aes psk=geheim123', 'geheim123'],
    ['eth0 mac de.ad.be.ef.00.11', 'ef.00'],
    ['eth0 mac dead.beef.0011', 'beef'],
    ['aes usb 1-1: SN=ABC12345', 'ABC12345'],
    ['firmware serial number is ABC123 of it', 'ABC123'],
  ] as const) {
    const out = redact(line);
    assert.ok(!out.includes(secret), out);
  }
});

test('what is no secret stays', () => {
  for (const line of [
    'device-mapper: table: 253:0: crypt: Error allocating crypto tfm (-ENOENT)',
    'device-mapper: crypt: xts(aes) using implementation "xts-aes-aesni"',
    'device-mapper: crypt: dm-0: INTEGRITY AEAD ERROR, sector 8',
    'mtk-eip93 1e004000.crypto: EIP93 Crypto Engine Initialized.',
    'Set cipher aes, mode xts-plain64, key size 512 bits',
    'OpenSSL 3.0.15 3 Sep 2024',
  ]) {
    assert.equal(redact(line), line);
  }
});
