import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';

import {
  atLeast,
  isPrivileged,
  parseBuiltinModinfo,
  parseCommandLine,
  parseCpuFlags,
  parseCpuName,
  parseHasAlgProtocol,
  parseInterrupts,
  parseKernelRelease,
  parseModprobe,
  parseModuleFiles,
  parseModulePaths,
  parseModules,
  parseModulesAlias,
  parseProcCrypto,
  parseStatus,
  providers,
  readCryptoSysctls,
  readKernelVersion,
  readModuleIndex,
  readModuleRules,
  rulesFor,
} from '#src/linux/proc.js';

const CRYPTO = `name         : xts(aes)
driver       : xts(ecb(aes-generic))
module       : xts
priority     : 100
refcnt       : 1
selftest     : passed
internal     : no
type         : skcipher
async        : no
blocksize    : 16
min keysize  : 32
max keysize  : 64
ivsize       : 16
chunksize    : 16
walksize     : 16

name         : __ctr(aes)
driver       : cryptd(__ctr-aes-aesni)
module       : cryptd
priority     : 450
refcnt       : 1
selftest     : passed
internal     : yes
type         : skcipher
async        : yes
blocksize    : 1

name         : gcm(aes)
driver       : gcm_base(ctr(aes-generic),ghash-generic)
module       : gcm
priority     : 100
refcnt       : 3
selftest     : unknown
internal     : no
type         : aead
async        : no
blocksize    : 1
ivsize       : 12
maxauthsize  : 16
geniv        : <none>

name         : sha256
driver       : sha256-generic
module       : kernel
priority     : 100
refcnt       : 1
selftest     : passed
internal     : no
type         : shash
blocksize    : 64
digestsize   : 32

`;

test('/proc/crypto: every field that is used', () => {
  const entries = parseProcCrypto(CRYPTO);
  assert.equal(entries.length, 4);
  assert.deepEqual(entries[0], {
    name: 'xts(aes)',
    driver: 'xts(ecb(aes-generic))',
    module: 'xts',
    priority: 100,
    refcnt: 1,
    selftest: 'passed',
    internal: false,
    type: 'skcipher',
    async: false,
    blockBytes: 16,
    minKeyBytes: 32,
    maxKeyBytes: 64,
    ivBytes: 16,
  });
  assert.deepEqual([entries[1]?.internal, entries[1]?.async], [true, true]);
  assert.deepEqual([entries[2]?.maxAuthBytes, entries[2]?.ivBytes, entries[2]?.refcnt], [16, 12, 3]);
  assert.deepEqual([entries[3]?.digestBytes, entries[3]?.module], [32, 'kernel']);
});

test('/proc/crypto: CRLF, noise in between, an entry without its blank line, a cut end', () => {
  const entries = parseProcCrypto(
    `[   12.3] random kernel line: hello\r\n${CRYPTO.replaceAll('\n', '\r\n').replace(
      'priority     : 100',
      '[  14.0] eth0: link up\r\npriority     : 100',
    )}name : cbc(aes)\r\ndriver : cbc-aes-x\r\ntype : skcipher\r\nname : cut\r\ndriver : cu`,
  );
  assert.deepEqual(
    entries.map((entry) => entry.name),
    ['xts(aes)', '__ctr(aes)', 'gcm(aes)', 'sha256', 'cbc(aes)'],
  );
  assert.equal(entries[0]?.priority, 100);
});

test('parsers take any text', () => {
  const all = [
    parseProcCrypto,
    parseKernelRelease,
    parseModules,
    parseModprobe,
    parseCommandLine,
    parseModuleFiles,
    parseModulePaths,
    parseModulesAlias,
    parseBuiltinModinfo,
    parseStatus,
    parseInterrupts,
    parseCpuFlags,
    parseCpuName,
    parseHasAlgProtocol,
  ];
  const pieces = fc.array(
    fc.oneof(
      fc.string(),
      fc.constantFrom(
        ...CRYPTO.split('\n'),
        'name : __proto__',
        'constructor : x',
        'toString : 3',
        'install a /bin/false',
        'blacklist \\',
        ' 24:   1   2  PCI-MSI virtio1-virtqueues',
        'CapEff:\tffff',
        'alias crypto-x y',
        '\0a.alias=crypto-b\0',
        'install [ /bin/false',
      ),
    ),
  );
  fc.assert(
    fc.property(pieces, fc.constantFrom('\n', '\r\n', ' ', '\0'), (lines, glue) => {
      const text = lines.join(glue);
      for (const parse of all) parse(text);
      for (const rule of parseModprobe(text)) rulesFor([rule], 'af_alg');
    }),
    { numRuns: 300 },
  );
  fc.assert(
    fc.property(fc.nat(CRYPTO.length), (length) => {
      for (const entry of parseProcCrypto(CRYPTO.slice(0, length))) {
        assert.ok(entry.name && entry.driver && entry.type);
        assert.equal(typeof entry.priority, 'number');
      }
    }),
  );
});

test('kernel releases', () => {
  for (const [text, major, minor] of [
    ['6.1.176', 6, 1],
    ['5.15.0-1057-azure', 5, 15],
    ['7.2.0-rc1+', 7, 2],
    ['4.9', 4, 9],
    ['6.12-rc3', 6, 12],
  ] as const) {
    const version = parseKernelRelease(text);
    assert.deepEqual([version?.major, version?.minor, version?.release], [major, minor, text]);
  }
  assert.equal(parseKernelRelease('unknown'), undefined);
  const version = parseKernelRelease('7.2.1');
  assert.deepEqual(
    [atLeast(version, 7, 2), atLeast(version, 7, 3), atLeast(version, 6, 9), atLeast(undefined, 1, 0)],
    [true, false, true, false],
  );
});

test('/proc/modules', () => {
  assert.deepEqual(
    parseModules(
      'af_alg 12483 4 algif_hash,algif_skcipher,algif_aead,algif_rng, Live 0x00000000af5dd000\n' +
        'crypto_user 6060 0 - Live 0x0\nsafexcel 90112 0 - Live 0x0 (O)\nnonsense\ncut 12',
    ).map(({ name, refcnt, usedBy }) => [name, refcnt, usedBy]),
    [
      ['af_alg', 4, ['algif_hash', 'algif_skcipher', 'algif_aead', 'algif_rng']],
      ['crypto_user', 0, []],
      ['safexcel', 0, []],
    ],
  );
});

test('modprobe.d: what keeps a module out, and what does not', () => {
  const rules = parseModprobe(
    [
      '# install af_alg /bin/false',
      'install algif_aead /bin/false',
      'install algif-hash /usr/bin/true',
      'install algif_rng /bin/false; /bin/echo no',
      'install snd /sbin/modprobe --ignore-install snd && true',
      'install vfat exit 1',
      '  blacklist   af_alg  ',
      'blacklist algif_*',
      'install cuse \\',
      '  /bin/false',
      'options af_alg x=1',
      'alias foo bar',
    ].join('\n'),
    '/etc/modprobe.d/a.conf',
  );
  assert.deepEqual(
    rules.map(({ kind, module }) => `${kind} ${module}`),
    [
      'install algif_aead',
      'install algif_hash',
      'install algif_rng',
      'install vfat',
      'blacklist af_alg',
      'blacklist algif_*',
      'install cuse',
    ],
  );
  assert.equal(rulesFor(rules, 'algif-aead').length, 2);
  assert.equal(rulesFor(rules, 'cbc').length, 0);
  assert.equal(rulesFor(rules, 'af_alg')[0]?.file, '/etc/modprobe.d/a.conf');
});

test('rules on the kernel command line', () => {
  assert.deepEqual(
    parseCommandLine(
      'quiet module_blacklist=algif_aead,af-alg modprobe.blacklist=xts initcall_blacklist=algif_aead_init,af_alg_init root=x\n',
    ).map(({ kind, module }) => `${kind} ${module}`),
    ['cmdline algif_aead', 'cmdline af_alg', 'blacklist xts', 'cmdline algif_aead', 'cmdline af_alg'],
  );
});

test('module files and aliases', () => {
  assert.deepEqual(
    [
      ...parseModuleFiles(
        'kernel/crypto/cbc.ko\nkernel/crypto/algif-hash.ko.xz: kernel/crypto/af_alg.ko.xz\njunk\n',
      ),
    ],
    ['cbc', 'algif_hash'],
  );
  const aliases = parseModulesAlias(
    'alias crypto-cbc cbc\nalias net-pf-38 af_alg\nalias pci:v00 x\nalias crypto-aes aes_ti\nalias crypto-aes aes-generic\n',
  );
  parseBuiltinModinfo('md5.alias=crypto-md5\0md5.license=GPL\0xts.alias=crypto-xts', aliases);
  const index = {
    known: true,
    complete: true,
    builtin: new Set<string>(),
    files: new Map<string, string>(),
    aliases,
  };
  assert.deepEqual(providers(index, 'crypto-aes'), ['aes_ti', 'aes_generic']);
  assert.deepEqual(providers(index, 'crypto-md5'), ['md5']);
  assert.deepEqual(providers(index, 'net-pf-38'), ['af_alg']);
  assert.deepEqual(providers(index, 'crypto-nonesuch'), []);
});

test('capabilities count only in the initial user namespace', () => {
  const root = parseStatus('Name:\tnode\nCapEff:\t000001ffffffffff\nSeccomp:\t2\n');
  assert.equal(root.seccomp, 2);
  const initial = '         0          0 4294967295\n';
  assert.equal(isPrivileged(root, initial), true);
  assert.equal(isPrivileged(root, '         0     100000      65536\n'), false);
  assert.equal(isPrivileged(parseStatus('CapEff:\t0000000000001000\n'), initial), true);
  assert.equal(isPrivileged(parseStatus('CapEff:\t0000000000200000\n'), initial), true);
  assert.equal(isPrivileged(parseStatus('CapEff:\t0000000000000400\n'), initial), false);
  assert.equal(isPrivileged({}, undefined), false);
});

test('/proc/interrupts', () => {
  const lines = parseInterrupts(
    [
      '           CPU0       CPU1       ',
      '  0:         12          0   IO-APIC   2-edge      timer',
      ' 25:       1200        345   PCI-MSI 49153-edge      virtio0-virtqueues',
      'NMI:          0          0   Non-maskable interrupts',
      'ERR:          0',
      '19: 1000  GIC 19 Level 1e004000.crypto',
    ].join('\n'),
  );
  assert.deepEqual(
    lines.map(({ irq, total }) => [irq, total]),
    [
      ['0', 12],
      ['25', 1545],
      ['NMI', 0],
      ['ERR', 0],
      ['19', 1000],
    ],
  );
  assert.match(lines[1]?.description ?? '', /virtio0-virtqueues$/);
  assert.equal(lines[4]?.description, 'GIC 19 Level 1e004000.crypto');
});

test('CPU flags of several architectures', () => {
  assert.ok(parseCpuFlags('processor\t: 0\nflags\t\t: fpu aes avx2\nflags : none\n').has('aes'));
  assert.ok(parseCpuFlags('Features\t: fp asimd aes pmull sha1 sha2\n').has('pmull'));
  assert.ok(parseCpuFlags('isa\t\t: rv64imafdc_zvkned_zba\n').has('zvkned'));
  assert.equal(parseCpuFlags('bogus').size, 0);
  for (const [told, name] of [
    [
      'processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\ncpu MHz\t: 2000\n',
      'QEMU TCG CPU version 2.5+',
    ],
    ['processor: 0\nmodel name : A\n\nprocessor: 1\nmodel name : A\n', 'A'],
    ['system type\t: MediaTek MT7621\ncpu model\t\t: MIPS 1004Kc V2.15\r\n', 'MIPS 1004Kc V2.15'],
    [
      'CPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd09\n',
      'ARM 0x41 0xd03 + ARM 0x41 0xd09',
    ],
    ['uarch\t\t: sifive,u74-mc\n', 'sifive,u74-mc'],
    ['cpu\t\t: POWER9, altivec supported\n', 'POWER9, altivec supported'],
    ['model name\t:\n', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(parseCpuName(told), name);
  }
});

test('the protocol list', () => {
  assert.ok(parseHasAlgProtocol('protocol  size\nALG        784      0\n'));
  assert.ok(!parseHasAlgProtocol('protocol  size\nALGO 1\nUNIX 2\n'));
});

test('readers: order and hiding of modprobe.d, module index, sysctls; all missing is no error', () => {
  const root = mkdtempSync(join(tmpdir(), 'hwcrypt-proc-'));
  try {
    assert.deepEqual(readModuleRules(root), []);
    assert.equal(readModuleIndex('6.1.0', root).known, false);
    assert.equal(readCryptoSysctls(root).size, 0);
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    write('/etc/modprobe.d/algif.conf', 'install algif_aead /bin/false\n');
    write('/usr/lib/modprobe.d/algif.conf', 'install algif_hash /bin/false\n');
    write('/usr/lib/modprobe.d/b.conf', 'blacklist af_alg\n');
    write('/usr/lib/modprobe.d/readme.txt', 'blacklist nothing\n');
    write('/proc/cmdline', 'quiet module_blacklist=algif_rng\n');
    write('/proc/sys/crypto/af_alg_restrict', '1\n');
    write('/proc/sys/kernel/osrelease', '7.3.0\n');
    write('/lib/modules/7.3.0/modules.dep', 'kernel/crypto/xts.ko.zst:\n');
    write('/lib/modules/7.3.0/modules.builtin', 'kernel/crypto/md5.ko\n');
    assert.deepEqual(
      readModuleRules(root).map(({ module, file }) => [module, file]),
      [
        ['algif_aead', '/etc/modprobe.d/algif.conf'],
        ['af_alg', '/usr/lib/modprobe.d/b.conf'],
        ['algif_rng', 'kernel command line'],
      ],
    );
    const index = readModuleIndex('7.3.0', root);
    assert.equal(index.complete, false);
    assert.deepEqual(
      [index.known, index.files.get('xts') === 'kernel/crypto/xts.ko.zst', index.builtin.has('md5')],
      [true, true, true],
    );
    assert.equal(readCryptoSysctls(root).get('af_alg_restrict'), '1');
    assert.equal(readKernelVersion(root)?.minor, 3);
  } finally {
    rmSync(root, { recursive: true });
  }
});
