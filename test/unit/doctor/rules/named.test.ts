/** Texts that show little. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LAST_RULES } from '#src/doctor/index.js';
import { bundle, diagnosed, finding, GENERIC, ids, procCrypto } from '../helpers.js';

test('a chip that is named: an engine, or none, and what its CPU has', () => {
  assert.match(
    diagnosed('Is there hardware crypto for the RK3399?').verdict,
    /RK3399 has an engine, the Rockchip crypto engine \(driver rk_crypto\), and its CPU has AES instructions/,
  );
  assert.match(
    diagnosed('my Raspberry Pi 4 is slow').verdict,
    /no crypto engine that Linux drives, and its CPU has no AES/,
  );
  assert.equal(finding('chip-named', 'mt7621 router').kind, 'advice');
  assert.ok(
    !ids('mt7621 router', procCrypto(...GENERIC)).includes('chip-named'),
    'what the machine shows counts',
  );
  assert.ok(!ids('the year 3399, and 2711 others', 'Linux version 6.6.1').includes('chip-named'));
});

test('a TPM or secure element is no accelerator', () => {
  assert.match(diagnosed('we have an ATECC608A on I2C as hardware crypto').verdict, /is no accelerator/);
  assert.ok(!ids('tpmfs on /tmp', 'Linux version 6.6.1').includes('key-chip-not-engine'));
});

test('nothing is called right where nothing was shown', () => {
  const found = diagnosed('Linux version 6.6.1 (builder) #1 SMP');
  assert.equal(found.findings[0]!.id, LAST_RULES[0]!.id);
  assert.match(found.verdict, /do not tell whether an accelerator is there/);
  assert.ok(
    found.findings[0]!.steps.some(({ commands }) => commands.some((line) => line.includes('hwcrypt probe'))),
  );
  const whole = bundle({
    kernel: 'Linux 6.6.1 x86_64',
    crypto: procCrypto({ name: 'crc32c', driver: 'crc32c-generic', type: 'shash' }),
  });
  assert.ok(!ids(whole).includes('too-little-told'), 'a whole list tells enough');
});
