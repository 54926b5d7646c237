/** Encrypted disks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bundle,
  counts,
  diagnosed,
  EIP93,
  ELAPSED,
  finding,
  GENERIC,
  ids,
  procCrypto,
  speed,
  VIRTIO,
} from '../helpers.js';

const table = (cipher: string, options = '', key = ':32:logon:[removed]'): string =>
  `disk: 0 204800 crypt ${cipher} ${key} 0 8:1 4096${options}`;

test('a volume key in the text is the first thing said, and is nowhere printed', () => {
  const key = '5d8e'.repeat(16);
  const found = diagnosed(table('aes-xts-plain64', '', key));
  assert.equal(found.findings[0]!.id, 'volume-key-in-text');
  assert.ok(!JSON.stringify(found).includes('5d8e5d8e'));
  assert.match(found.findings[0]!.evidence[0]!.text, /<redacted 32 bytes>/);
  assert.ok(
    !ids(table('aes-xts-plain64', '', '0'.repeat(64))).includes('volume-key-in-text'),
    'dmsetup masks with zeros',
  );
});

test('cipher_null encrypts nothing', () => {
  assert.match(
    diagnosed('x: 0 204800 crypt capi:ecb(cipher_null)-plain - 0 7:2 0').verdict,
    /encrypts nothing/,
  );
});

test('sectors of 512 bytes count most where an engine does the disk’s cipher', () => {
  const cbc = table('aes-cbc-essiv:sha256');
  const engine = finding('disk-sector-512', procCrypto(...GENERIC, ...EIP93), cbc);
  assert.match(engine.verdict, /so the EIP93 gets eight requests where one of 4096 would do/);
  const curves = [
    `$ openssl speed -elapsed -evp aes-128-cbc\n${ELAPSED}${speed('aes-128-cbc', counts(500, 82))}`,
    `$ openssl speed -elapsed -evp aes-128-cbc -engine devcrypto\nEngine "devcrypto" set.\n${ELAPSED}${speed('aes-128-cbc', counts(37_000, 16.4))}`,
  ];
  assert.match(
    finding('disk-sector-512', procCrypto(...GENERIC, ...EIP93), cbc, ...curves).gain!,
    /11\.\d MB\/s in requests of 512 B and 39\.\d MB\/s in those of 4096 B/,
  );
  assert.ok(finding('disk-sector-512', cbc).weight < engine.weight);
  assert.ok(!ids(table('aes-cbc-essiv:sha256', ' 1 sector_size:4096')).includes('disk-sector-512'));
  assert.match(finding('disk-sector-512', cbc, 'flags\t\t: fpu vme de pse aes avx').verdict, /5 to 30 %/);
});

test('dm-crypt passes over drivers that allocate memory, from 5.9 on', () => {
  const text = (release: string): string =>
    bundle({
      kernel: `Linux ${release} x86_64`,
      crypto: procCrypto(...GENERIC, VIRTIO),
      'dm-crypt': table('aes-cbc-essiv:sha256'),
    });
  assert.match(
    finding('dm-crypt-passes-over', text('6.1.0')).verdict,
    /Your disk does not use the virtio-crypto device/,
  );
  assert.ok(!ids(text('5.4.0')).includes('dm-crypt-passes-over'));
});

test('pinned to software, LUKS1, options', () => {
  assert.equal(finding('dm-crypt-pinned', table('capi:xts(ecb(aes-generic))-plain64')).kind, 'problem');
  assert.ok(!ids(table('capi:cbc(aes-eip93)-essiv:sha256')).includes('dm-crypt-pinned'));
  assert.equal(
    finding(
      'disk-luks1',
      'LUKS header information for /dev/sda1\n\nVersion:       \t1\nCipher name:   \taes\nCipher mode:   \tcbc-essiv:sha256\n',
    ).topic,
    'disk',
  );
  assert.match(
    finding('dm-crypt-options', table('aes-xts-plain64', ' 3 allow_discards')).verdict,
    /announces 3 options and has 1/,
  );
  assert.match(
    finding(
      'dm-crypt-options',
      procCrypto(...EIP93),
      table('aes-cbc-plain64', ' 2 no_read_workqueue no_write_workqueue'),
    ).verdict,
    /do little/,
  );
});

test('misaligned devices, with the size to make them', () => {
  const found = finding(
    'disk-sector-misaligned',
    'Device size is not aligned to requested sector size.',
    bundle({ block: 'sdb logical=512 physical=512 rotational=1 sectors=40961' }),
  );
  assert.match(
    found.details[0]!,
    /sdb has 20972032 bytes, 512 more than a multiple of 4096: make the partition 20971520 bytes long/,
  );
});

test('Argon2 wants more memory than the router has', () => {
  const header =
    'LUKS header information\nVersion:        2\nData segments:\n  0: crypt\n        cipher: aes-xts-plain64\n        sector: 4096 [bytes]\nKeyslots:\n  0: luks2\n        PBKDF:      argon2id\n        Memory:     1048576\n';
  assert.match(
    diagnosed(header, 'MemTotal: 500000 kB\nMemAvailable: 400000 kB').verdict,
    /wants 1024 MiB of memory, and 391 MiB are available/,
  );
  assert.ok(!ids(header, 'MemTotal: 8000000 kB\nMemAvailable: 7000000 kB').includes('keyslot-memory'));
});

test('the kernel lacks the cipher, or dm-crypt', () => {
  const cipher = diagnosed(
    'device-mapper: reload ioctl failed: No such file or directory\nFailed to setup dm-crypt key mapping for device /dev/sda2.\nCheck that kernel supports aes-xts-plain64 cipher (check syslog for more info).\n',
  );
  assert.equal(cipher.findings[0]!.id, 'dm-crypt-cannot');
  assert.match(cipher.verdict, /cannot put the disk’s cipher \(aes-xts-plain64\) together/);
  assert.ok(
    cipher.findings[0]!.steps.some(
      ({ system, commands }) =>
        system === 'openwrt' && commands.some((line) => line.includes('kmod-crypto-xts')),
    ),
  );
  assert.match(
    diagnosed('[   11.0] device-mapper: table: 254:1: crypt: unknown target type').verdict,
    /The kernel that runs has no dm-crypt/,
  );
  assert.ok(
    !ids('device-mapper: table: 254:1: linear: Device lookup failed', 'Linux version 6.6.1').includes(
      'dm-crypt-cannot',
    ),
  );
});

test('out of memory for a keyslot, in the words of --debug', () => {
  assert.equal(diagnosed('Command failed with code -3 (out of memory).').findings[0]!.id, 'keyslot-memory');
  assert.ok(
    !ids('Command failed with code -2 (no permission or bad passphrase).', 'Linux version 6.6.1').includes(
      'keyslot-memory',
    ),
  );
});

test('an option that the kernel’s dm-crypt does not know; a kernel built without dm-crypt; sectors in a sentence', () => {
  const option = 'device-mapper: table: 253:1: crypt: Invalid feature arguments';
  assert.match(finding('dm-crypt-options', option).verdict, /does not know an option/);
  assert.ok(!ids(option).includes('dm-crypt-cannot'));
  assert.match(
    diagnosed(
      'device-mapper: reload ioctl on data failed: Invalid argument\n-CONFIG_DM_CRYPT=y\n+# CONFIG_DM_CRYPT is not set\n',
    ).verdict,
    /has no dm-crypt/,
  );
  assert.equal(
    diagnosed('`cryptsetup luksDump` shows `sector: 512 [bytes]` on the data segment').findings[0]!.id,
    'disk-sector-512',
  );
  assert.ok(!ids('it shows sector: 4096 [bytes] now', 'Linux version 6.6.1').includes('disk-sector-512'));
});
