/** The driver where there is no /dev/crypto, as on most hosts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { algorithms } from '#src/algorithms.js';
import { CryptodevDriver, isCompat } from '#src/drivers/cryptodev/index.js';
import { libc } from '#src/linux/index.js';
import { aeadOf, cipherOf, hashOf, macOf } from '../../../helpers/afalg.js';

test('without a device: a reason everywhere, an error on use, and no system call of ours', (t) => {
  const driver = new CryptodevDriver();
  libc.resetSyscallCounts();
  const probe = driver.probe();
  if (probe.available) {
    t.skip('there is a /dev/crypto');
    return;
  }
  assert.match(
    probe.reason.code,
    /^(DEVICE_ABSENT|DEVICE_DENIED|MODULE_BLACKLISTED|NOT_LINUX|FFI_UNAVAILABLE)$/,
  );
  for (const algorithm of algorithms()) {
    const support = driver.supports(algorithm);
    assert.ok(!support.supported);
    assert.equal(support.reason.code, probe.reason.code);
    assert.equal(driver.implementation(algorithm), undefined);
  }
  const numbers = driver.identifiers();
  assert.equal(new Set(numbers.map(({ id }) => id)).size, 36);
  assert.ok(numbers.every(({ support }) => !support.supported && support.reason.code === probe.reason.code));
  assert.equal(libc.syscallCounts().total, 0);

  const refused = { name: 'UnavailableError', code: 'DRIVER_UNAVAILABLE', driver: 'cryptodev' };
  const key = new Uint8Array(16);
  assert.throws(() => driver.cipher(cipherOf('aes-128-cbc'), 'encrypt', key, new Uint8Array(16)), refused);
  assert.throws(() => driver.aead(aeadOf('aes-128-gcm'), 'encrypt', key), refused);
  assert.throws(() => driver.hash(hashOf('sha256')), refused);
  assert.throws(() => driver.mac(macOf('hmac-sha256'), key), refused);
});

test('which programs the module treats as 32-bit ones', () => {
  assert.equal(isCompat(4, 'x86_64'), true);
  assert.equal(isCompat(4, 'aarch64'), true);
  assert.equal(isCompat(4, 'armv7l'), false);
  assert.equal(isCompat(4, 'i686'), false);
  assert.equal(isCompat(8, 'x86_64'), false);
});
