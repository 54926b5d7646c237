/** The kernel's log: crashes, errors, tests that say nothing, drivers that start or do not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diagnosed, EIP93, finding, GENERIC, ids, procCrypto } from '../helpers.js';

test('a crash in an engine’s driver is the first thing to know; one in another driver is none of ours', () => {
  const crash = (module: string): string =>
    `[   40.1] Unable to handle kernel NULL pointer dereference at virtual address 00000008\n[   40.2] PC is at prepare_job+0x1c/0x200 [${module}]\n`;
  const found = diagnosed(crash('caam_jr')).findings[0]!;
  assert.equal(found.id, 'driver-crashed');
  assert.match(found.verdict, /crashed in the driver caam_jr: keep it from loading/);
  assert.ok(found.steps.some(({ commands }) => commands.some((line) => line.includes('blacklist caam_jr'))));
  assert.ok(!ids(crash('ath10k_pci'), procCrypto(...GENERIC)).includes('driver-crashed'));
});

test('an engine that does not answer, and a network card that does not', () => {
  const found = finding('engine-faults', '[   12.5] sun8i-ce 1904000.crypto: DMA timeout for TM3 (flow 3)');
  assert.match(found.verdict, /Allwinner Crypto Engine does not answer in time/);
  assert.match(
    finding('engine-faults', '[    9.1] caam_jr 2101000.jr: 40000713: DECO: desc idx 7: Protocol Size Error')
      .verdict,
    /NXP CAAM reports errors of its own/,
  );
  assert.ok(
    !ids('[   12.5] mtk_soc_eth 1e100000.ethernet eth0: transmit timed out', procCrypto(...EIP93)).includes(
      'engine-faults',
    ),
  );
});

test('rc=-2 is no failure, any other number is one', () => {
  const fine = diagnosed('[    1.6] alg: self-tests for xts(cast6) using xts(cast6) failed (rc=-2)');
  assert.equal(fine.findings[0]!.id, 'selftest-says-nothing');
  assert.equal(fine.healthy, true);
  assert.ok(
    !ids('alg: skcipher: failed to allocate transform for ecb(tea): -2', procCrypto(...EIP93)).includes(
      'selftest-failed',
    ),
  );
  assert.equal(
    diagnosed('[    1.6] alg: self-tests for cbc(aes) using cbc-aes-sun8i-ce failed (rc=-22)').findings[0]!
      .id,
    'selftest-failed',
  );
  assert.match(
    diagnosed('alg: aead: setkey failed on test 1 for gcm-aes-talitos: flags=0').verdict,
    /^gcm-aes-talitos failed/,
  );
});

test('a driver that started: what it registered, and that nothing more is shown', () => {
  const log =
    '[    0.2] sun8i-ce 1904000.crypto: Register cbc(aes)\n[    0.2] sun8i-ce 1904000.crypto: Register ecb(aes)\n[    0.2] sun8i-ce 1904000.crypto: Register sha256\n[    0.3] sun8i-ce 1904000.crypto: CryptoEngine Die ID 0\n';
  const found = diagnosed(log).findings[0]!;
  assert.equal(found.id, 'engine-started');
  assert.match(found.verdict, /Allwinner Crypto Engine has started and registered cbc\(aes\) and ecb\(aes\)/);
  assert.match(found.details.join(' '), /XTS, which disks use, is not among/);
  // A path, a module list or a sentence with the same word in it is no driver that speaks.
  for (const text of [
    'kernel/drivers/crypto/caam/caam_jr.ko',
    'caam_jr 200704 0',
    'does anybody know whether marvell-cesa is of any use?',
  ])
    assert.ok(!ids(text, 'Linux version 6.6.1').includes('engine-started'), text);
  assert.ok(!ids(log, procCrypto(...GENERIC)).includes('engine-started'), 'the list says more');
});

test('did not start: the number in plain words, and what waits', () => {
  const busy = finding(
    'driver-failed-to-start',
    '[    2.1] sun8i-ce 1904000.crypto: probe with driver sun8i-ce failed with error -110',
  );
  assert.match(busy.details.join(' '), /did not answer in time.*ETIMEDOUT/);
  const waits = finding(
    'driver-failed-to-start',
    '[   14.0] platform 1e004000.crypto: deferred probe pending: mtk-eip93: probe of 1e004000.crypto waits',
  );
  assert.match(waits.verdict, /EIP93 did not start yet: it waits for another driver/);
  assert.match(
    finding('driver-failed-to-start', 'sun8i-ss 1c15000.crypto: failed to get clock: -517').details.join(' '),
    /EPROBE_DEFER/,
  );
});

test('AMD’s CCP: closed by the firmware; what its neighbour for encrypted guests says is another matter', () => {
  const closed = diagnosed(
    '[    3.1] ccp 0000:07:00.2: ccp: unable to access the device: you might be running a broken BIOS.',
  );
  assert.equal(closed.findings[0]!.id, 'driver-failed-to-start');
  assert.match(closed.verdict, /firmware gives Linux no access to it, and you miss nothing/);
  for (const line of [
    'ccp 0000:07:00.2: firmware: failed to load amd/amd_sev_fam19h_model0xh.sbin (-2)',
    'ccp 0000:07:00.2: SEV: failed to INIT error 0x8004',
    'ccp 0000:07:00.2: psp: unable to access the device: you might be running a broken BIOS.',
  ])
    assert.ok(!ids(line, 'Linux version 6.1.0').includes('driver-failed-to-start'), line);
});

test('firmware: the engine’s, and that of a Wi-Fi card', () => {
  assert.match(
    finding(
      'driver-failed-to-start',
      '[    4.0] crypto-safexcel f2800000.crypto: Direct firmware load for inside-secure/eip197b/ipue.bin failed with error -2',
    ).verdict,
    /SafeXcel EIP97\/EIP197 has no firmware/,
  );
  assert.ok(
    !ids(
      '[    4.0] mwifiex_pcie 0000:01:00.0: Direct firmware load for mrvl/pcie8997_combo.bin failed with error -2',
      'Linux version 6.1.0',
    ).includes('driver-failed-to-start'),
  );
});

test('a device tree’s source: the node and its status; what a vendor’s driver says', () => {
  const node = (status: string): string =>
    `crypto@fe380000 {\n\tcompatible = "rockchip,rk3568-crypto";\n\tstatus = "${status}";\n};\n`;
  assert.match(
    finding('driver-not-loaded', node('disabled')).verdict,
    /Rockchip crypto engine is switched off in the device tree/,
  );
  assert.ok(!ids(node('okay'), 'Linux version 6.6.1').includes('driver-not-loaded'));
  assert.equal(
    diagnosed(node('okay'), '[   14.1] rk-crypto fe380000.crypto: CRYPTO Accelerator successfully registered')
      .findings[0]!.id,
    'engine-started',
  );
  assert.match(
    finding(
      'driver-failed-to-start',
      '[    1.6] jh7110-sec 16000000.crypto: Unable to request sec_m dma channel',
    ).verdict,
    /StarFive JH7110 crypto engine did not start/,
  );
});

test('a CPU that stands still in the engine’s interrupt; an engine that no table knows', () => {
  const log = (task: string): string =>
    `[  245.7] mtk-eip93 1e004000.crypto: PRNG Initialized.\n[  316.9] INFO: rcu_sched self-detected stall on CPU\n[  316.9] CPU: 0 PID: 3585 Comm: ${task} Not tainted 5.10.1 #0\n`;
  assert.equal(diagnosed(log('irq/20-1e004000')).findings[0]!.id, 'driver-crashed');
  assert.ok(!ids(log('kworker/0:1')).includes('driver-crashed'));
  const unknown = finding(
    'driver-failed-to-start',
    'abc970-crypto: probe of abc970-crypto failed with error -12',
  );
  assert.match(unknown.verdict, /driver of the abc970-crypto did not start/);
  assert.match(unknown.details.join(' '), /ENOMEM/);
  assert.ok(
    !ids('abc970-ether: probe of abc970-ether failed with error -12', 'Linux version 6.6.1').includes(
      'driver-failed-to-start',
    ),
  );
});

test('the log as dmesg -T, logread and journalctl print it', () => {
  const line =
    'crypto-safexcel 1a320000.crypto: EIP97:230(0,1,4,4)-HIA:270(0,5,5),PE:150/433(alg:7fcdfc00)/0/0/0\n';
  for (const before of [
    '[Mon Jan 15 09:01:02 2024] ',
    'Mon Jan 15 09:01:02 2024 kern.info kernel: [    9.100000] ',
    'Jan 5 09:01:02 box kernel: ',
    '2024-01-15T09:01:02+0100 box kernel: ',
  ])
    assert.equal(diagnosed(before + line).findings[0]?.id, 'engine-started', before);
  assert.ok(!ids(`I read of ${line}`, 'Linux version 6.6.1').includes('engine-started'), 'a sentence');
});

test('a driver that is loaded is not to be installed; lsmod alone says no more than that', () => {
  const lsmod = 'Module                  Size  Used by\ncrypto_hw_eip93        40960  4\n';
  const [first] = diagnosed(lsmod).findings;
  assert.equal(first!.id, 'engine-module-loaded');
  assert.match(first!.verdict, /The driver of the EIP93 \(crypto_hw_eip93\) is loaded/);
  const both = diagnosed(`system type : MediaTek MT7621 ver:1 eco:3\n${lsmod}`);
  assert.doesNotMatch(JSON.stringify(both.findings), /opkg install kmod-crypto-hw-eip93/);
  assert.ok(
    !ids('Module                  Size  Used by\nusbcore 40960 4\n').includes('engine-module-loaded'),
  );
  assert.ok(!ids(lsmod, procCrypto(...EIP93)).includes('engine-module-loaded'));
});

test('a package that cannot be installed is no driver that failed to start', () => {
  const opkg =
    ' * pkg_hash_check_unresolved: cannot find dependency kernel (= 5.15.150-1-5f2e1a) for kmod-crypto-hw-eip93';
  assert.ok(!ids(opkg).includes('driver-failed-to-start'));
  assert.ok(ids(opkg).includes('package-for-other-kernel'));
  assert.ok(
    ids('[    3.1] mtk-eip93: probe of 1e004000.crypto failed with error -12').includes(
      'driver-failed-to-start',
    ),
  );
});

test('what may not be opened is not said to be missing', () => {
  const line = (why: string): string => `/dev/mapper/control: open failed: ${why}`;
  assert.ok(!ids(line('Permission denied'), procCrypto(...EIP93)).includes('dm-crypt-cannot'));
  assert.ok(ids(line('No such device')).includes('dm-crypt-cannot'));
});
