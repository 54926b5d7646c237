import assert from 'node:assert/strict';
import { test } from 'node:test';

import { judgeHardware, leaves } from '#src/drivers/hardware.js';
import { CRYPTO_ALG } from '#src/linux/netlink.js';

const { ASYNC, KERN_DRIVER_ONLY, ALLOCATES_MEMORY } = CRYPTO_ALG;

/** Names as they stand in the drivers' sources. */
const ENGINES = [
  'cbc(aes-eip93)',
  'ebc(des-eip93)',
  'authenc(hmac(sha256-eip93),cbc(aes-eip93))',
  'safexcel-cbc-aes',
  'cbc-aes-mt7628',
  'ecb-aes-mtk',
  'cbc-aes-caam',
  'cbc-aes-caam-qi2',
  'mv-cbc-aes',
  'mv-hmac-sha256',
  'virtio_crypto_aes_cbc',
  'qat_aes_xts',
  'sahara-cbc-aes',
  'cbc-aes-dcp',
  'sha256-dcp',
  'stm32-cbc-aes',
  'cbc-aes-sa2ul',
  'cbc-aes-omap',
  'omap-sha256',
  'hisi_sec_cbc(aes)',
  'hisi_sec_aes_cbc',
  'xts-aes-ccree',
  'atmel-cbc-aes',
  'cbc-aes-rk',
  'rk-sha256',
  'cbc-aes-sun4i-ss',
  'cbc-aes-sun8i-ce',
  'cbc-aes-ppc4xx',
  'cbc-aes-talitos',
  'cbc-aes-nx',
  'cbc-aes-iproc',
  'cbc-aes-s5p',
  'keembay-ocs-ecb-aes',
  'zynqmp-sha3-384',
  'xilinx-zynqmp-aes',
  'cbc-aes-gxl',
  'aspeed-cbc-aes',
  'starfive-cbc-aes',
  'cbc-aes-tegra',
  'cbc-aes-qce',
  'cbc-aes-ccp',
  'cbc-aes-chcr',
  'cpt-cbc-aes',
  'n5_cbc(aes)',
  'img-sha256',
];

const SOFTWARE = [
  'aes-generic',
  'aes-fixed-time',
  'aes-lib',
  'sha256-lib',
  'hmac-sha256-lib',
  'sha256-x86',
  'sha1-powerpc',
  'poly1305-riscv',
  'cbc(aes-generic)',
  'xts(ecb(aes-generic))',
  'gcm_base(ctr(aes-generic),ghash-generic)',
  'ccm_base(ctr(aes-generic),cbcmac(aes-generic))',
  'authenc(hmac(sha256-generic),cbc-aes-aesni)',
  'cbc-aes-aesni',
  '__cbc-aes-aesni',
  'cryptd(__cbc-aes-aesni)',
  'xts-aes-aesni-avx',
  'xts-aes-vaes-avx512',
  'generic-gcm-aesni',
  'generic-gcm-vaes-avx10_512',
  'sha256-ni',
  'sha256-ssse3',
  'sha1-avx2',
  'ghash-clmulni',
  'chacha20-simd',
  'serpent-generic',
  'xts-serpent-avx2',
  'ecb-camellia-asm',
  'cbc-twofish-3way',
  'des3_ede-asm',
  'aes-ce',
  'cbc-aes-ce',
  'xts-aes-neonbs',
  'ctr-aes-neon',
  'sha256-ce',
  'sha256-arm64',
  'sha1-neon',
  'gcm-aes-ce',
  'essiv-cbc-aes-sha256-ce',
  'aes-arm',
  'aes-riscv64-zvkned',
  'cbc-aes-padlock',
  'aes-padlock',
  'sha1-padlock-nano',
  'cbc-aes-s390',
  'p8_aes_cbc',
  'md5-octeon',
  'cbc-aes-sparc64',
  'ecb-cipher_null',
  'drbg_nopr_hmac_sha256',
  'jitterentropy_rng',
  'cryptd(cbc(aes-generic))',
  'pcrypt(rfc4106(gcm_base(ctr(aes-generic),ghash-generic)))',
  'adiantum(xchacha12-generic,aes-generic,nhpoly1305-generic)',
  'rfc7539(chacha20-generic,poly1305-generic)',
  'ecb(arc4)-generic',
];

test('engines are known by name', () => {
  for (const driver of ENGINES) {
    const verdict = judgeHardware({ driver });
    assert.equal(verdict.hardware, 'yes', driver);
    assert.equal(verdict.partly, undefined, driver);
    assert.ok(verdict.engine, driver);
    assert.ok(verdict.evidence.length > 0, driver);
  }
});

test('code that runs on the CPU is known by name, whatever its flags and priority', () => {
  for (const driver of SOFTWARE) {
    for (const flags of [undefined, 0, ASYNC, ASYNC | ALLOCATES_MEMORY | KERN_DRIVER_ONLY]) {
      const verdict = judgeHardware({ driver, flags, priority: 4001 });
      assert.equal(verdict.hardware, 'no', `${driver} ${flags}`);
      assert.ok(verdict.evidence.length > 0, driver);
    }
  }
});

test('a template around an engine is partly hardware', () => {
  for (const driver of [
    'xts(ecb-aes-caam)',
    'gcm_base(ctr-aes-caam,ghash-generic)',
    'authenc(hmac(sha256-generic),virtio_crypto_aes_cbc)',
    'essiv(cbc-aes-dcp,sha256-lib)',
  ]) {
    const verdict = judgeHardware({ driver });
    assert.deepEqual([verdict.hardware, verdict.partly], ['yes', true], driver);
    assert.match(verdict.evidence[0] ?? '', /^partly: /);
  }
});

test('cryptd in front of an engine changes nothing, and in front of software makes no hardware', () => {
  const engine = judgeHardware({ driver: 'cryptd(cbc-aes-caam)', flags: ASYNC });
  assert.deepEqual([engine.hardware, engine.partly], ['yes', undefined]);
  const software = judgeHardware({ driver: 'cryptd(cbc(aes-generic))', flags: 0xc85 });
  assert.equal(software.hardware, 'no');
  assert.ok(software.evidence.some((text) => text.includes('cryptd only queues')));
  // Not even where the name inside is unknown: the flag is cryptd's own.
  assert.notEqual(judgeHardware({ driver: 'cryptd(cbc-aes-newthing)', flags: ASYNC }).hardware, 'yes');
});

test('an unknown name needs two independent signs', () => {
  const driver = 'cbc-aes-newthing';
  const of = (flags: number | undefined, more = {}) => judgeHardware({ driver, flags, ...more }).hardware;
  assert.equal(of(undefined), 'unknown');
  assert.equal(of(0), 'no');
  assert.equal(of(ASYNC), 'unknown');
  assert.equal(of(KERN_DRIVER_ONLY), 'unknown');
  assert.equal(of(ASYNC | KERN_DRIVER_ONLY), 'yes');
  // As virtio-crypto and QAT announce themselves.
  assert.equal(of(ASYNC | ALLOCATES_MEMORY), 'yes');
  assert.equal(of(ASYNC, { modulePath: 'kernel/drivers/crypto/new/newthing.ko.zst' }), 'yes');
  assert.equal(of(undefined, { async: true, modulePath: 'kernel/drivers/crypto/new/newthing.ko' }), 'yes');
  assert.equal(of(undefined, { async: true }), 'unknown');
  // /proc/crypto tells no path. Software's modules are called after algorithms.
  assert.equal(of(undefined, { async: true, module: 'newthing_crypto' }), 'yes');
  assert.equal(of(undefined, { async: false, module: 'newthing_crypto' }), 'unknown');
  for (const module of ['kernel', 'aes_newthing_blk', 'sm4_ce', 'crypto_simd', 'cbc'])
    assert.equal(of(undefined, { async: true, module }), 'unknown', module);
});

test('templates come apart', () => {
  assert.deepEqual(leaves('gcm_base(ctr(aes-generic),ghash-generic)'), ['aes-generic', 'ghash-generic']);
  assert.deepEqual(leaves('authenc(hmac(sha1-x),cbc(aes-y))'), ['sha1-x', 'aes-y']);
  assert.deepEqual(leaves('plain'), ['plain']);
  assert.deepEqual(leaves('odd()'), ['odd()']);
  assert.deepEqual(leaves('broken(a'), ['broken(a']);
});

test('the kernel’s library may use instructions of the CPU: it is not called portable C', () => {
  for (const driver of [
    'sha256-lib',
    'hmac-sha512-lib',
    'aes-lib',
    'sha256-arm64',
    'sha256-riscv',
    'crc32c-x86',
  ]) {
    const { hardware, evidence } = judgeHardware({ driver });
    assert.equal(hardware, 'no');
    assert.deepEqual(evidence, [`${driver} is the kernel’s own library, software on the CPU`]);
  }
});

test('names of drivers out of the tree: Android’s qcrypto, OpenWrt’s Lantiq DEU with its brackets', () => {
  assert.equal(judgeHardware({ driver: 'qcrypto-xts-aes' }).hardware, 'yes');
  const lantiq = judgeHardware({ driver: 'ltqdeu-cbc(aes)' });
  assert.deepEqual([lantiq.hardware, lantiq.engine, lantiq.partly], ['yes', 'Lantiq DEU', undefined]);
});
