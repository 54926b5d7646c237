/** modprobe's and opkg's answers, and drivers of which only the configuration tells. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diagnosed, finding, GENERIC, ids, procCrypto } from '../helpers.js';

const SOMETHING = 'Linux version 6.6.1';

test('a module that is not there, in the words of three programs', () => {
  for (const line of [
    'modprobe: FATAL: Module aesni-intel not found in directory /lib/modules/6.1.0',
    "modprobe: can't load module cryptodev (extra/cryptodev.ko): No such file or directory",
    'failed to find a module named crypto-hw-eip93',
  ])
    assert.equal(diagnosed(line).findings[0]!.id, 'module-not-installed', line);
  assert.match(
    finding('module-not-installed', 'failed to find a module named crypto-hw-eip93').verdict,
    /no module crypto_hw_eip93, which is the driver of the EIP93/,
  );
  assert.ok(!ids('modprobe: FATAL: Module nvidia not found', SOMETHING).includes('module-not-installed'));
});

test('a module that the kernel refuses, and why', () => {
  const why = (module: string, reason: string): string =>
    finding('module-refused', `modprobe: ERROR: could not insert '${module}': ${reason}`).verdict;
  assert.match(
    why('aesni_intel', 'No such device'),
    /CPU, or the virtual machine, does not show the instructions/,
  );
  assert.match(why('rk_crypto', 'No such device'), /Rockchip crypto engine\): it found no device/);
  assert.match(why('cryptodev', 'Key was rejected by service'), /signed modules only/);
  assert.match(why('cryptodev', 'Exec format error'), /built for another kernel/);
  assert.equal(
    diagnosed(
      'modprobe: WARNING: Error inserting sha256_ssse3 (/lib/modules/3.12.0/kernel/arch/x86/crypto/sha256-ssse3.ko): No such device',
    ).findings[0]!.id,
    'module-refused',
  );
  assert.ok(
    !ids("modprobe: ERROR: could not insert 'nvidia': No such device", SOMETHING).includes('module-refused'),
  );
});

test('packages of another build', () => {
  const text =
    ' * satisfy_dependencies_for: Cannot satisfy the following dependencies for kmod-crypto-xts:\n *      kernel (= 6.6.73-1-0123456789abcdef0123456789abcdef) *\n';
  assert.match(diagnosed(text).verdict, /built for another kernel than the one that runs/);
  assert.ok(!ids('kmod-crypto-xts - 6.6.73-r1', SOMETHING).includes('package-for-other-kernel'));
});

test('a driver in the configuration, and no device', () => {
  const config = 'CONFIG_CRYPTO_DEV_FSL_CAAM=y\nCONFIG_CRYPTO_DEV_FSL_CAAM_JR=y\n';
  assert.match(
    finding('driver-in-kernel', config).verdict,
    /has the driver of the NXP CAAM \(CONFIG_CRYPTO_DEV_FSL_CAAM=y\)/,
  );
  assert.ok(!ids(config.replaceAll('=y', '=n'), SOMETHING).includes('driver-in-kernel'));
  assert.ok(!ids(config, procCrypto(...GENERIC)).includes('driver-in-kernel'), 'the list says more');
});
