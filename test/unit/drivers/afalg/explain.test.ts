/** One row for each cause, with the kernels that do not exist here (7.2, 7.3) among them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { ALLOWLIST, type Attempt, afalgType, explain } from '#src/drivers/afalg/explain.js';
import type { Facts } from '#src/drivers/afalg/facts.js';
import { certainlyAbsent, components } from '#src/drivers/kernel-parts.js';
import { ERRNO } from '#src/linux/errno.js';
import { CRYPTO_ALG, type KernelAlgorithm, parseKernelRelease } from '#src/linux/index.js';

const OFF_CPU = CRYPTO_ALG.ASYNC | CRYPTO_ALG.ALLOCATES_MEMORY | 5;

function entry(
  name: string,
  driver: string,
  type: string,
  more: Partial<KernelAlgorithm> = {},
): KernelAlgorithm {
  return {
    name,
    driver,
    module: 'kernel',
    type,
    priority: 100,
    refcnt: 1,
    internal: false,
    flags: 5,
    ...more,
  };
}

const AES = entry('aes', 'aes-generic', 'cipher', { minKeyBytes: 16, maxKeyBytes: 32 });
const CBC = entry('cbc(aes)', 'cbc(aes-generic)', 'skcipher', { minKeyBytes: 16, maxKeyBytes: 32 });
const SHA = entry('sha256', 'sha256-generic', 'shash');
const VIRTIO = entry('cbc(aes)', 'virtio_crypto_aes_cbc', 'skcipher', {
  flags: OFF_CPU,
  module: 'virtio_crypto',
});
const DES = entry('des', 'des-generic', 'cipher', { minKeyBytes: 8, maxKeyBytes: 8 });

/** A healthy Linux 6.1 with everything in modules, AF_ALG loaded. */
const HEALTHY: Facts = {
  kernel: parseKernelRelease('6.1.0'),
  restrict: undefined,
  privileged: true,
  algorithms: { algorithms: [AES, CBC, SHA, DES], source: 'netlink' },
  loaded: new Set(['af_alg', 'algif_skcipher', 'algif_hash', 'algif_aead', 'algif_rng', 'cbc']),
  rules: [],
  index: {
    known: true,
    complete: true,
    builtin: new Set(['aes_generic']),
    files: new Map(
      [
        'af_alg',
        'algif_skcipher',
        'algif_hash',
        'algif_aead',
        'algif_rng',
        'cbc',
        'xts',
        'ecb',
        'gcm',
        'ctr',
        'ghash_generic',
      ].map((name) => [name, `kernel/crypto/${name}.ko`]),
    ),
    aliases: new Map(
      [
        ['crypto_cbc', 'cbc'],
        ['crypto_xts', 'xts'],
        ['crypto_ecb', 'ecb'],
        ['crypto_gcm', 'gcm'],
        ['crypto_ctr', 'ctr'],
        ['crypto_ghash', 'ghash_generic'],
        ['net_pf_38', 'af_alg'],
      ].map(([alias, module]) => [alias as string, new Set([module as string])]),
    ),
  },
  registered: true,
  seccomp: 0,
  optmemMax: 20480,
  offCpuMasked: undefined,
};

const BARE = {
  known: false,
  complete: false,
  builtin: new Set<string>(),
  files: new Map(),
  aliases: new Map(),
} as const;
const bind = (type: string, algorithm: string, pinned?: string): Attempt => ({
  call: 'bind',
  type,
  algorithm,
  pinned,
});
const at = (call: Attempt['call'], more: Partial<Attempt> = {}): Attempt => ({
  call,
  type: 'skcipher',
  algorithm: 'cbc(aes)',
  ...more,
});
const rule = (kind: 'install' | 'blacklist' | 'cmdline', module: string) => ({
  kind,
  module,
  file: kind === 'cmdline' ? 'kernel command line' : '/etc/modprobe.d/x.conf',
  line: kind === 'install' ? `install ${module} /bin/false` : `blacklist ${module}`,
});
const without = (...names: string[]) =>
  new Set([...(HEALTHY.loaded ?? [])].filter((name) => !names.includes(name)));
const k72 = { kernel: parseKernelRelease('7.2.0') };
const k73 = { kernel: parseKernelRelease('7.3.0'), restrict: 1 };

type Row = [
  what: string,
  attempt: Attempt,
  errno: keyof typeof ERRNO,
  facts: Partial<Facts>,
  code: string,
  message: RegExp,
  cure?: RegExp,
];

const ROWS: Row[] = [
  // socket
  [
    'no AF_ALG in the kernel',
    at('socket'),
    'EAFNOSUPPORT',
    { registered: false, index: { ...HEALTHY.index, files: new Map() } },
    'AF_ALG_ABSENT',
    /this kernel \(6\.1\.0\) has no AF_ALG/,
    /libcrypto.*CONFIG_CRYPTO_USER_API/,
  ],
  [
    'no AF_ALG, nothing known of modules',
    at('socket'),
    'EAFNOSUPPORT',
    { registered: undefined, index: BARE, loaded: undefined },
    'AF_ALG_ABSENT',
    /no AF_ALG/,
  ],
  [
    'a module that was not loaded',
    at('socket'),
    'EAFNOSUPPORT',
    { registered: false },
    'AF_ALG_ABSENT',
    /a module of this kernel that was not loaded/,
    /modprobe af_alg/,
  ],
  [
    'blacklisted',
    at('socket'),
    'EAFNOSUPPORT',
    { registered: false, rules: [rule('blacklist', 'af_alg')] },
    'MODULE_BLACKLISTED',
    /`blacklist af_alg` in \/etc\/modprobe\.d\/x\.conf/,
    /CVE-2026-31431/,
  ],
  [
    'install /bin/false',
    at('socket'),
    'EAFNOSUPPORT',
    { registered: false, rules: [rule('install', 'af_alg')] },
    'MODULE_BLACKLISTED',
    /`install af_alg \/bin\/false`/,
  ],
  [
    'af_alg_restrict=2',
    at('socket'),
    'EAFNOSUPPORT',
    { ...k73, restrict: 2 },
    'AF_ALG_DISABLED',
    /af_alg_restrict is 2/,
    /libcrypto/,
  ],
  ['a filter that lies', at('socket'), 'EAFNOSUPPORT', { seccomp: 2 }, 'SECCOMP', /has AF_ALG, but a filter/],
  ['seccomp', at('socket'), 'EPERM', { seccomp: 2 }, 'SECCOMP', /Docker/, /seccomp profile/],
  ['EPERM without seccomp', at('socket'), 'EPERM', {}, 'SECCOMP', /not permitted to this process$/],
  ['a sandbox', at('socket'), 'ENOSYS', {}, 'SECCOMP', /sandbox/],
  ['LSM', at('socket'), 'EACCES', {}, 'LSM_DENIED', /SELinux/],
  ['files of the process', at('socket'), 'EMFILE', {}, 'TOO_MANY_FILES', /this process/, /ulimit/],
  ['files of the system', at('accept'), 'ENFILE', {}, 'TOO_MANY_FILES', /whole system/],
  ['memory', at('setkey', { keyBytes: 30_000 }), 'ENOMEM', {}, 'OUT_OF_MEMORY', /20480 bytes/, /optmem_max/],
  ['something else', at('socket'), 'EINVAL', {}, 'SYSTEM_ERROR', /EINVAL/],

  // bind: ENOENT
  [
    'wrong type: a cipher as a hash',
    bind('hash', 'cbc(aes)'),
    'ENOENT',
    {},
    'WRONG_TYPE',
    /cbc\(aes\) is of type skcipher, it was asked for as hash/,
    /as skcipher/,
  ],
  [
    'wrong type: a bare cipher',
    bind('skcipher', 'aes'),
    'ENOENT',
    {},
    'WRONG_TYPE',
    /of type cipher/,
    /does not offer cipher/,
  ],
  [
    'wrong type comes before the allowlist',
    bind('hash', 'cbc(aes)'),
    'ENOENT',
    k73,
    'WRONG_TYPE',
    /skcipher/,
  ],
  [
    'a type that mainline never had',
    bind('akcipher', 'rsa'),
    'ENOENT',
    {},
    'ALGORITHM_NOT_OFFERED',
    /no type akcipher/,
  ],
  [
    '7.3: to nobody',
    bind('aead', 'gcm(aes)'),
    'ENOENT',
    k73,
    'AF_ALG_RESTRICTED',
    /gcm\(aes\) to nobody.*ccm\(aes\)/,
    /libcrypto/,
  ],
  [
    '7.3: to nobody, not privileged',
    bind('aead', 'gcm(aes)'),
    'ENOENT',
    { ...k73, privileged: false },
    'AF_ALG_RESTRICTED',
    /offers nothing/,
  ],
  [
    '7.3: only to the privileged',
    bind('skcipher', 'cbc(aes)'),
    'ENOENT',
    { ...k73, privileged: false },
    'AF_ALG_RESTRICTED',
    /CAP_NET_ADMIN/,
    /CAP_NET_ADMIN/,
  ],
  [
    '7.3: no driver names',
    bind('skcipher', 'cbc(aes)', 'cbc(aes-generic)'),
    'ENOENT',
    k73,
    'AF_ALG_RESTRICTED',
    /no driver by its name/,
  ],
  [
    '7.3: the default where the file cannot be read',
    bind('hash', 'sha3-256'),
    'ENOENT',
    { kernel: parseKernelRelease('7.3.1') },
    'AF_ALG_RESTRICTED',
    /the default of Linux 7\.3/,
  ],
  [
    '7.3: allowed to anyone, and not built',
    bind('skcipher', 'hctr2(aes)'),
    'ENOENT',
    { ...k73, privileged: false },
    'TEMPLATE_MISSING',
    /hctr2/,
  ],
  [
    '7.3: switched off again',
    bind('aead', 'gcm(camellia)'),
    'ENOENT',
    { ...k73, restrict: 0 },
    'ALGORITHM_NOT_BUILT',
    /without camellia/,
  ],
  ['a rng at level 1', bind('rng', 'stdrng'), 'ENOENT', k73, 'AF_ALG_RESTRICTED', /stdrng to nobody/],
  [
    'algif module blocked',
    bind('skcipher', 'xts(aes)'),
    'ENOENT',
    { loaded: without('algif_skcipher'), rules: [rule('install', 'algif_skcipher')] },
    'MODULE_BLACKLISTED',
    /`install algif_skcipher \/bin\/false` in \/etc\/modprobe\.d\/x\.conf/,
    /CVE-2026-31431/,
  ],
  [
    'algif module blocked by the kernel',
    bind('aead', 'gcm(aes)'),
    'ENOENT',
    { loaded: without('algif_aead'), rules: [rule('cmdline', 'algif_aead')] },
    'MODULE_BLACKLISTED',
    /kernel command line/,
  ],
  [
    'built-in algif kept from starting',
    bind('aead', 'gcm(aes)'),
    'ENOENT',
    {
      loaded: new Set(),
      index: { ...HEALTHY.index, builtin: new Set(['algif_aead', 'af_alg']) },
      rules: [rule('cmdline', 'algif_aead')],
    },
    'MODULE_BLACKLISTED',
    /algif_aead is kept out/,
  ],
  [
    'algif blacklisted, which does not stop the kernel',
    bind('skcipher', 'xts(aes)'),
    'ENOENT',
    { loaded: without('algif_skcipher'), rules: [rule('blacklist', 'algif_skcipher')] },
    'ALGIF_MISSING',
    /was not loaded.*blacklist algif_skcipher/,
  ],
  [
    'algif not built',
    bind('aead', 'gcm(aes)'),
    'ENOENT',
    { loaded: without('algif_aead'), index: { ...HEALTHY.index, files: new Map([['cbc', 'cbc.ko']]) } },
    'ALGIF_MISSING',
    /built without algif_aead/,
    /CONFIG_CRYPTO_USER_API_AEAD/,
  ],
  [
    'algif missing in a container',
    bind('hash', 'sha3-256'),
    'ENOENT',
    { loaded: without('algif_hash'), index: BARE },
    'ALGIF_MISSING',
    /algif_hash is not loaded/,
    /modprobe algif_hash/,
  ],
  [
    'the cipher is not built',
    bind('skcipher', 'cbc(sm4)'),
    'ENOENT',
    {},
    'ALGORITHM_NOT_BUILT',
    /without sm4/,
    /crypto-sm4/,
  ],
  [
    'the template is not built',
    bind('skcipher', 'cts(aes)'),
    'ENOENT',
    {},
    'TEMPLATE_MISSING',
    /without cts, which cts\(aes\) needs/,
  ],
  [
    'the template is there and was not loaded',
    bind('skcipher', 'xts(aes)'),
    'ENOENT',
    {},
    'TEMPLATE_MISSING',
    /needs the module xts, which is there/,
    /modprobe xts/,
  ],
  [
    'the template is blacklisted',
    bind('skcipher', 'xts(aes)'),
    'ENOENT',
    { rules: [rule('blacklist', 'xts')] },
    'MODULE_BLACKLISTED',
    /needs the module xts, which `blacklist xts` in/,
  ],
  [
    'what the template needs is blocked',
    bind('aead', 'gcm(aes)'),
    'ENOENT',
    { loaded: new Set([...(HEALTHY.loaded ?? []), 'gcm', 'ctr']), rules: [rule('install', 'ghash_generic')] },
    'MODULE_BLACKLISTED',
    /needs the module ghash_generic/,
  ],
  [
    'a combination that is refused',
    bind('skcipher', 'xts(des)'),
    'ENOENT',
    { loaded: new Set([...(HEALTHY.loaded ?? []), 'xts', 'ecb']) },
    'COMBINATION_REFUSED',
    /does not put them together/,
  ],
  [
    'a combination, nothing known of modules',
    bind('skcipher', 'xts(des)'),
    'ENOENT',
    { index: BARE },
    'ALGORITHM_NOT_BUILT',
    /or not all of its parts/,
  ],
  [
    'a plain name that nobody has',
    bind('hash', 'sha3-256'),
    'ENOENT',
    { index: BARE },
    'ALGORITHM_NOT_BUILT',
    /has no sha3-256/,
  ],
  [
    'a driver that is not there',
    bind('skcipher', 'cbc(aes)', 'cbc-aes-caam'),
    'ENOENT',
    {},
    'KERNEL_DRIVER_ABSENT',
    /no driver cbc-aes-caam/,
    /cbc\(aes-generic\)/,
  ],
  [
    'a driver, and nothing registered',
    bind('skcipher', 'ctr(aes)', 'ctr-aes-caam'),
    'ENOENT',
    {},
    'KERNEL_DRIVER_ABSENT',
    /no driver ctr-aes-caam/,
    /nothing is registered/,
  ],
  [
    '7.2: a driver that works off the CPU',
    bind('skcipher', 'cbc(aes)', 'virtio_crypto_aes_cbc'),
    'ENOENT',
    { ...k72, algorithms: { algorithms: [CBC, VIRTIO], source: 'netlink' } },
    'OFF_CPU_MASKED',
    /works off the CPU/,
    /cryptodev/,
  ],
  [
    '7.2: known from /proc/crypto only',
    bind('skcipher', 'cbc(aes)', 'virtio_crypto_aes_cbc'),
    'ENOENT',
    {
      ...k72,
      algorithms: {
        algorithms: [
          entry('cbc(aes)', 'virtio_crypto_aes_cbc', 'skcipher', { flags: undefined as never, async: true }),
        ],
        source: 'proc',
      },
    },
    'OFF_CPU_MASKED',
    /works off the CPU/,
  ],
  [
    'the mask in a back-port, seen by trying',
    bind('skcipher', 'cbc(aes)', 'virtio_crypto_aes_cbc'),
    'ENOENT',
    { offCpuMasked: true, algorithms: { algorithms: [CBC, VIRTIO], source: 'netlink' } },
    'OFF_CPU_MASKED',
    /back-ports/,
  ],
  [
    '7.2: the algorithm has off-CPU drivers only',
    bind('skcipher', 'cbc(aes)'),
    'ENOENT',
    { ...k72, algorithms: { algorithms: [VIRTIO], source: 'netlink' } },
    'OFF_CPU_MASKED',
    /cbc\(aes\) works off the CPU/,
  ],
  [
    'registered and yet absent',
    bind('skcipher', 'cbc(aes)', 'virtio_crypto_aes_cbc'),
    'ENOENT',
    { algorithms: { algorithms: [AES, CBC, VIRTIO], source: 'netlink' } },
    'SYSTEM_ERROR',
    /registered, and yet/,
  ],
  // bind: others
  ['self-test', bind('skcipher', 'cbc(aes)'), 'ELIBBAD', {}, 'SELFTEST_FAILED', /self-test/, /dmesg/],
  [
    'a template that does not fit',
    bind('skcipher', 'xts(sha256)'),
    'EINVAL',
    {},
    'COMBINATION_REFUSED',
    /does not put/,
  ],
  [
    'a long name on an old kernel',
    bind('skcipher', 'cbc(aes)', 'x'.repeat(70)),
    'EINVAL',
    {},
    'ALGORITHM_UNKNOWN',
    /longer name/,
  ],
  [
    'the device is gone',
    bind('skcipher', 'cbc(aes)', 'virtio_crypto_aes_cbc'),
    'ENODEV',
    {},
    'DEVICE_GONE',
    /virtio_crypto_aes_cbc/,
  ],
  ['LSM at bind', bind('skcipher', 'cbc(aes)'), 'EACCES', {}, 'LSM_DENIED', /security module/],
  ['seccomp at bind', bind('skcipher', 'cbc(aes)'), 'EPERM', { seccomp: 2 }, 'SECCOMP', /seccomp filter/],
  ['a time-out', bind('skcipher', 'cbc(aes)'), 'ETIMEDOUT', {}, 'TIMED_OUT', /in time/],

  // keys, tags, the rest
  [
    'key length',
    at('setkey', { keyBytes: 40 }),
    'EINVAL',
    {},
    'BAD_KEY_LENGTH',
    /takes keys of 16 to 32 bytes, not of 40/,
  ],
  [
    'a length that the engine skips',
    at('setkey', { keyBytes: 24, pinned: 'cbc(aes-generic)' }),
    'EINVAL',
    {},
    'BAD_KEY_LENGTH',
    /refuses this key of 24 bytes/,
    /libcrypto/,
  ],
  [
    'cmac takes its sizes from the cipher',
    at('setkey', { keyBytes: 40, type: 'hash', algorithm: 'cmac(aes)' }),
    'EINVAL',
    {},
    'BAD_KEY_LENGTH',
    /16 to 32 bytes, not of 40/,
  ],
  [
    'a wrapped key has lengths of its own',
    at('setkey', { keyBytes: 32, algorithm: 'tk(cbc(aes))' }),
    'EINVAL',
    {
      algorithms: {
        algorithms: [
          entry('tk(cbc(aes))', 'tk-cbc-aes-caam', 'skcipher', { minKeyBytes: 52, maxKeyBytes: 52 }),
        ],
        source: 'netlink',
      },
    },
    'BAD_KEY_LENGTH',
    /takes keys of 52 bytes, not of 32/,
  ],
  ['busy', at('setkey', { keyBytes: 16 }), 'EBUSY', {}, 'KEY_BUSY', /cannot change/],
  ['weak', at('setkey', { keyBytes: 16 }), 'EKEYREJECTED', {}, 'BAD_KEY', /weak/],
  [
    'no key at all',
    at('setkey', { type: 'hash', algorithm: 'sha256', keyBytes: 16 }),
    'ENOPROTOOPT',
    {},
    'BAD_KEY',
    /takes no key/,
  ],
  [
    'tag length',
    at('authsize', { type: 'aead', algorithm: 'gcm(aes)', tagBytes: 5 }),
    'EINVAL',
    {},
    'BAD_TAG_LENGTH',
    /tags of 5 bytes/,
  ],
  [
    'a state that cannot be copied',
    at('accept', { type: 'hash', algorithm: 'sha256' }),
    'EOPNOTSUPP',
    {},
    'ALGORITHM_NOT_OFFERED',
    /cannot copy/,
  ],
  ['too large', at('sendmsg', { bytes: 10 ** 6 }), 'EMSGSIZE', {}, 'MESSAGE_TOO_LARGE', /1000000 bytes/],
  ['never ready', at('read', { bytes: 16 }), 'EAGAIN', {}, 'TIMED_OUT', /in time.*16 bytes/],
  ['no key set', at('sendmsg'), 'ENOKEY', {}, 'BAD_KEY', /no key/],
  ['an engine error', at('read', { pinned: 'cbc(aes-eip93)' }), 'EIO', {}, 'DEVICE_GONE', /eip93/],
  ['seccomp in the middle', at('sendmsg'), 'EPERM', { seccomp: 2 }, 'SECCOMP', /sendmsg is not permitted/],
  ['unknown', at('read'), 'EINVAL', {}, 'SYSTEM_ERROR', /read failed with EINVAL \(cbc\(aes\)\)/],
];

for (const [what, attempt, errno, facts, code, message, cure] of ROWS) {
  test(`${attempt.call} ${errno}: ${what}`, () => {
    // The kernel's negated errno and a positive one are both fine.
    const reason = explain(attempt, -(ERRNO[errno] as number), { ...HEALTHY, ...facts });
    assert.equal(reason.code, code, reason.message);
    assert.match(reason.message, message);
    if (cure) assert.match(reason.cure ?? '', cure);
    assert.equal(reason.errno, errno);
    assert.ok(reason.syscall);
    assert.doesNotMatch(reason.message, /\.$/);
    assert.deepEqual(explain(attempt, ERRNO[errno] as number, { ...HEALTHY, ...facts }), reason);
  });
}

test('a cure never says to lift a restriction without its reason', () => {
  for (const [, attempt, errno, facts] of ROWS) {
    const { cure } = explain(attempt, ERRNO[errno] as number, { ...HEALTHY, ...facts });
    if (cure && /remove|af_alg_restrict|seccomp profile; /.test(cure)) assert.match(cure, /libcrypto/);
  }
});

test('anything can be explained', () => {
  const names = fc.constantFrom(
    'cbc(aes)',
    'xts(aes)',
    'gcm(aes)',
    'sha256',
    'x',
    ')(',
    '((',
    '',
    'authenc(hmac(sha256),cbc(aes))',
  );
  fc.assert(
    fc.property(
      fc.constantFrom<Attempt['call']>(
        'socket',
        'bind',
        'setkey',
        'authsize',
        'accept',
        'sendmsg',
        'read',
        'poll',
      ),
      fc.constantFrom('skcipher', 'aead', 'hash', 'rng', 'akcipher', ''),
      names,
      fc.option(names, { nil: undefined }),
      fc.integer({ min: -200, max: 200 }),
      fc.record({
        restrict: fc.constantFrom(undefined, 0, 1, 2),
        privileged: fc.boolean(),
        loaded: fc.constantFrom(undefined, new Set<string>(), new Set(['af_alg'])),
        index: fc.constantFrom(HEALTHY.index, BARE),
        kernel: fc.constantFrom(undefined, HEALTHY.kernel, k72.kernel, k73.kernel),
        offCpuMasked: fc.constantFrom(undefined, true, false),
        algorithms: fc.constantFrom<Facts['algorithms']>(HEALTHY.algorithms, {
          algorithms: [],
          source: 'none',
        }),
      }),
      (call, type, algorithm, pinned, errno, facts) => {
        const reason = explain({ call, type, algorithm, pinned }, errno, { ...HEALTHY, ...facts });
        assert.ok(reason.code.length > 0 && reason.message.length > 0);
      },
    ),
  );
});

test('what is certainly absent', () => {
  const facts = { ...HEALTHY };
  for (const [piece, absent] of [
    ['aes', false],
    ['sha256', false],
    ['xts', false],
    ['sm4', true],
  ] as const) {
    assert.equal(certainlyAbsent(piece, facts), absent, piece);
    // Where built-in code cannot be seen into, or nothing is listed, nothing is certain.
    assert.equal(certainlyAbsent(piece, { ...facts, index: { ...HEALTHY.index, complete: false } }), false);
    assert.equal(certainlyAbsent(piece, { ...facts, algorithms: { algorithms: [], source: 'none' } }), false);
  }
});

test('types and components', () => {
  assert.equal(afalgType('lskcipher'), 'skcipher');
  assert.equal(afalgType('ablkcipher'), 'skcipher');
  assert.equal(afalgType('ahash'), 'hash');
  assert.equal(afalgType('cipher'), undefined);
  assert.deepEqual(components('authenc(hmac(sha256),cbc(aes))'), ['authenc', 'hmac', 'sha256', 'cbc', 'aes']);
  assert.ok(!ALLOWLIST.aead.privileged.includes('gcm(aes)'));
});
