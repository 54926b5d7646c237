/** Engines that are there, idle, outranked, broken, used; and what only looks like one. */
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

const PLATFORM = '1e004000.crypto compatible=mediatek,mtk-eip93 driver=';

test('a device, and nobody drives it: the commands of the machine’s own system', () => {
  const text = bundle({
    distribution: "DISTRIB_ID='OpenWrt'",
    crypto: procCrypto(...GENERIC),
    modules: 'nf_tables 20480 0 - Live',
    'module-files': 'crypto-hw-eip93.ko',
    platform: `${PLATFORM}none`,
  });
  const first = diagnosed(text).findings[0]!;
  assert.equal(first.id, 'driver-not-loaded');
  assert.equal(first.verdict, 'There is an engine in this machine (EIP93), but no driver for it is loaded');
  assert.equal(first.sureness, 'certain');
  assert.match(first.details.join(' '), /module crypto_hw_eip93 is installed: it only needs to be loaded/);
  assert.ok(
    first.steps.some(
      ({ system, commands }) =>
        system === 'openwrt' && commands.some((line) => line.includes('kmod-crypto-hw-eip93')),
    ),
  );
  assert.ok(first.evidence.some(({ text: quoted }) => quoted.startsWith('1e004000.crypto')));
});

test('blacklisted, switched off in the device tree, and without firmware are three things', () => {
  const crypto = procCrypto(...GENERIC);
  const blacklisted = finding(
    'driver-not-loaded',
    bundle({
      crypto,
      platform: `${PLATFORM}none`,
      modprobe: '/etc/modprobe.d/x.conf: blacklist crypto_hw_eip93',
    }),
  );
  assert.match(blacklisted.verdict, /its driver is blacklisted/);
  const disabled = finding(
    'driver-not-loaded',
    bundle({ crypto, 'device-tree': 'crypto@1e004000 compatible=mediatek,mtk-eip93 status=disabled' }),
  );
  assert.match(disabled.verdict, /switched off in the device tree/);
  assert.equal(
    diagnosed(
      bundle({
        crypto,
        log: 'crypto-safexcel f2800000.crypto: Direct firmware load for inside-secure/eip197b/ifpp.bin failed with error -2',
      }),
    ).findings[0]!.id,
    'driver-failed-to-start',
  );
  const pci = bundle({ crypto, pci: '0000:6b:00.0 0x8086:0x4940 class 0x0b4000 driver=none' });
  assert.match(finding('driver-not-loaded', pci).verdict, /Intel QuickAssist/);
});

test('virtio-crypto is found on its own bus, and not as the PCI device that carries it', () => {
  const sections = {
    crypto: procCrypto(...GENERIC),
    pci: '0000:00:04.0 0x1af4:0x1054 class 0x00ff00 driver=virtio-pci',
    virtio: 'virtio3 device=0x0014 driver=none',
  };
  assert.match(
    finding('driver-not-loaded', bundle(sections)).verdict,
    /\(virtio-crypto device\), but no driver/,
  );
  assert.ok(
    !ids(
      bundle({
        ...sections,
        virtio: 'virtio3 device=0x0014 driver=virtio_crypto',
        crypto: procCrypto(...GENERIC, { ...VIRTIO, priority: 500 }),
      }),
    ).includes('driver-not-loaded'),
  );
});

test('outranked, by instructions of the CPU and by portable C', () => {
  const aesni = finding(
    'driver-outranked',
    procCrypto(VIRTIO, { name: 'cbc(aes)', driver: 'cbc-aes-aesni', module: 'aesni_intel', priority: 400 }),
  );
  assert.match(
    aesni.verdict,
    /loaded but not used for cbc\(aes\): cbc-aes-aesni has the higher priority \(400 against 150\)/,
  );
  assert.equal(aesni.kind, 'advice');
  assert.match(aesni.details.join(' '), /mostly the right one/);
  assert.match(aesni.steps[0]!.commands[0]!, /afalg:virtio_crypto_aes_cbc,afalg:cbc-aes-aesni/);
  const generic = finding('driver-outranked', procCrypto({ ...VIRTIO, priority: 50 }, ...GENERIC));
  assert.equal(generic.kind, 'problem');
  assert.ok(
    !ids(procCrypto(VIRTIO, ...GENERIC)).includes('driver-outranked'),
    'it wins with 150 against 100',
  );
  assert.ok(
    !ids('driver : virtio_crypto_aes_cbc\nmodule : virtio_crypto\n').includes('driver-outranked'),
    'a grep has no priorities',
  );
});

test('self-tests: of a cipher it is the first thing to know, of RSA it is no trouble', () => {
  const cipher = diagnosed(
    procCrypto(...GENERIC),
    '[    9.1] alg: self-tests for cbc(aes) using cbc(aes-eip93) failed (rc=-22)',
  );
  assert.equal(cipher.findings[0]!.id, 'selftest-failed');
  assert.equal(cipher.findings[0]!.kind, 'problem');
  const older = diagnosed('alg: skcipher: Test 1 failed (invalid result) on encryption for cbc-aes-omap');
  assert.match(older.findings[0]!.verdict, /cbc-aes-omap failed the kernel’s self-test/);
  const rsa = finding(
    'selftest-failed',
    'alg: self-tests for rsa using virtio-crypto-rsa failed (rc=-22)',
    procCrypto(VIRTIO),
  );
  assert.equal(rsa.kind, 'fine');
  assert.match(
    finding('selftest-failed', procCrypto({ ...EIP93[1]!, selftest: 'unknown' })).verdict,
    /self-test is not passed/,
  );
});

const INTERRUPTS = (count: number): string =>
  `           CPU0\n 25:      ${count}   MIPS GIC  19  1e004000.crypto\n 26:      900   MIPS GIC  20  ethernet`;
const TIMED = `Engine "devcrypto" set.\n${ELAPSED}${speed('aes-128-cbc', counts(37_000, 16.4))}`;

test('interrupts prove use, and their absence the contrary', () => {
  const sections = {
    crypto: procCrypto(...GENERIC, ...EIP93),
    'speed-engine openssl speed -elapsed -evp aes-128-cbc -engine devcrypto': TIMED,
  };
  const used = finding(
    'engine-used',
    bundle({ 'interrupts-before': INTERRUPTS(7), ...sections, 'interrupts-after': INTERRUPTS(70_007) }),
  );
  assert.equal(used.sureness, 'certain');
  assert.match(used.verdict, /its interrupts rose by 70000/);
  const still = diagnosed(
    bundle({ 'interrupts-before': INTERRUPTS(7), ...sections, 'interrupts-after': INTERRUPTS(7) }),
  );
  assert.equal(still.findings[0]!.id, 'engine-never-interrupted');
  // Without anything timed in between a counter that stands still says nothing.
  assert.ok(
    !ids(
      bundle({
        'interrupts-before': INTERRUPTS(7),
        crypto: sections.crypto,
        'interrupts-after': INTERRUPTS(7),
      }),
    ).includes('engine-never-interrupted'),
  );
});

test('cryptd, NEON and AES-CE are asynchronous or fast, and no hardware', () => {
  const cryptd = diagnosed(
    procCrypto(
      { name: 'cbc(aes)', driver: 'cryptd(cbc(aes-generic))', module: 'cryptd', priority: 150, async: true },
      ...GENERIC,
    ),
  );
  assert.ok(!cryptd.findings.some(({ id }) => id === 'engine-used' || id === 'driver-outranked'));
  assert.match(cryptd.findings[0]!.verdict, /no accelerator.*cryptd\(cbc\(aes-generic\)\)/);
  assert.match(
    finding(
      'asynchronous-software',
      procCrypto({
        name: 'cbc(aes)',
        driver: 'cryptd(cbc(aes-generic))',
        module: 'cryptd',
        priority: 150,
        async: true,
      }),
    ).verdict,
    /only queues the work/,
  );
  const arm = diagnosed(
    procCrypto(
      { name: 'ctr(aes)', driver: 'ctr-aes-ce', priority: 300, async: true },
      { name: 'ctr(aes)', driver: 'ctr-aes-neon', priority: 200, async: true },
      { name: '__ctr(aes)', driver: 'cryptd(__ctr-aes-ce)', priority: 350, internal: true },
    ),
  );
  assert.equal(arm.healthy, true);
  assert.match(arm.verdict, /^You need no accelerator: ctr\(aes\) runs on the CPU.*ctr-aes-ce/);
});

test('a driver that nobody knows: asynchronous and first, it is not called software', () => {
  const entry = { name: 'cbc(aes)', driver: 'cbc-aes-newthing', priority: 400 };
  assert.equal(ids(procCrypto(...GENERIC, entry))[0], 'no-engine');
  assert.ok(!ids(procCrypto(...GENERIC, { ...entry, async: true })).includes('no-engine'));
  const own = procCrypto(...GENERIC, { ...entry, async: true, module: 'newthing_crypto' });
  assert.equal(ids(own)[0], 'modes-of-engine');
});
