/** One row for each cause: most of them are EINVAL to the module. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Attempt, explain, forkedReason, lostReason } from '#src/drivers/cryptodev/explain.js';
import { CRYPTODEV_IDS } from '#src/drivers/cryptodev/ids.js';
import type { KernelFacts } from '#src/drivers/kernel-facts.js';
import type { ReasonCode } from '#src/errors.js';
import { ERRNO, type KernelAlgorithm, parseKernelRelease } from '#src/linux/index.js';

const entry = (name: string, driver: string, more: Partial<KernelAlgorithm> = {}): KernelAlgorithm => ({
  name,
  driver,
  module: 'kernel',
  type: 'skcipher',
  priority: 100,
  refcnt: 1,
  internal: false,
  ...more,
});

const FACTS: KernelFacts = {
  kernel: parseKernelRelease('6.6.73'),
  algorithms: {
    algorithms: [
      entry('cbc(aes)', 'cbc(aes-eip93)', { minKeyBytes: 16, maxKeyBytes: 32 }),
      entry('xts(aes)', 'xts(aes-generic)', { minKeyBytes: 32, maxKeyBytes: 64 }),
      entry('aes', 'aes-generic', { type: 'cipher' }),
      entry('sha256', 'sha256-generic', { type: 'shash' }),
      entry('cbc(des)', 'cbc(des-x)', { selftest: 'unknown' }),
    ],
    source: 'netlink',
  },
  loaded: new Set(['cryptodev']),
  rules: [],
  index: {
    known: true,
    complete: true,
    files: new Map(),
    builtin: new Set(['cbc']),
    aliases: new Map(),
  } as never,
};

const session = (cipher: number, keyBytes?: number): Attempt => ({
  call: 'CIOCGSESSION',
  cipher,
  mac: 0,
  kernel: CRYPTODEV_IDS.find(({ id }) => id === cipher)?.kernel,
  keyBytes,
});
const request: Attempt = { call: 'CIOCCRYPT', cipher: 11, mac: 0, kernel: 'cbc(aes)', bytes: 64 };
const open: Attempt = { call: 'open', cipher: 0, mac: 0, kernel: undefined };
const copy: Attempt = { call: 'CIOCCPHASH', cipher: 0, mac: 104, kernel: 'sha256' };

const withModule: KernelFacts = {
  ...FACTS,
  index: { ...FACTS.index, files: new Map([['cryptodev', 'extra/cryptodev.ko']]) },
};

const ROWS: readonly [
  what: string,
  attempt: Attempt,
  errno: number,
  code: ReasonCode,
  text: RegExp,
  facts?: KernelFacts,
][] = [
  ['no device', open, ERRNO.ENOENT, 'DEVICE_ABSENT', /^there is no \/dev\/crypto$/],
  ['module not loaded', open, ERRNO.ENOENT, 'DEVICE_ABSENT', /was not loaded/, withModule],
  ['no permission', open, ERRNO.EACCES, 'DEVICE_DENIED', /may not be opened/],
  ['a stale node', open, ERRNO.ENXIO, 'DEVICE_ABSENT', /nobody serves/],
  ['a file of that name', open, ERRNO.ENOTTY, 'DEVICE_FOREIGN', /not the device/],
  ['no descriptors', open, ERRNO.EMFILE, 'TOO_MANY_FILES', /too many/],
  ['another device', { ...open, call: 'CIOCASYMFEAT' }, ERRNO.ENOTTY, 'DEVICE_FOREIGN', /not the device/],
  ['CAST5', session(4, 16), ERRNO.EINVAL, 'ALGORITHM_NOT_OFFERED', /id 4 \(CAST_CBC\)/],
  ['compression', session(15, 16), ERRNO.EINVAL, 'ALGORITHM_NOT_OFFERED', /DEFLATE/],
  ['a number of nobody', session(77, 16), ERRNO.EINVAL, 'ALGORITHM_UNKNOWN', /id 77/],
  ['a key too long', session(11, 33), ERRNO.EINVAL, 'BAD_KEY_LENGTH', /16 to 32 bytes, not of 33/],
  ['a key that the engine skips', session(11, 24), ERRNO.EINVAL, 'BAD_KEY', /cbc\(aes-eip93\) refuses/],
  ['an older module', session(22, 64), ERRNO.EINVAL, 'ALGORITHM_NOT_OFFERED', /from version 1\.13 on/],
  ['no such cipher', session(101, 16), ERRNO.EINVAL, 'ALGORITHM_NOT_BUILT', /without camellia/],
  ['CFB of a new kernel', session(24, 16), ERRNO.EINVAL, 'TEMPLATE_MISSING', /Linux 6\.8 removed/],
  ['TLS', session(108, 16), ERRNO.EINVAL, 'ALGORITHM_NOT_BUILT', /no mainline/],
  ['out of memory', session(11, 16), ERRNO.ENOMEM, 'OUT_OF_MEMORY', /no memory/],
  ['a failed self-test', session(11, 16), ERRNO.ELIBBAD, 'SELFTEST_FAILED', /self-test/],
  ['busy', request, ERRNO.EBUSY, 'DEVICE_BUSY', /no more requests.*64 bytes/],
  ['a refused length', request, ERRNO.EINVAL, 'SYSTEM_ERROR', /a length that the driver does not take/],
  ['a session that is gone', request, ERRNO.ENOENT, 'SYSTEM_ERROR', /does not know the session/],
  ['an engine that hangs', request, ERRNO.ETIMEDOUT, 'TIMED_OUT', /in time/],
  ['an input error', request, ERRNO.EIO, 'SYSTEM_ERROR', /failed with EIO/],
  ['memory out of reach', request, ERRNO.EFAULT, 'SYSTEM_ERROR', /memory of a request/],
  [
    'a 32-bit program',
    { ...request, call: 'CIOCAUTHCRYPT', compat: true },
    ERRNO.EINVAL,
    'COMPAT_ABI',
    /32-bit/,
  ],
  ['a 32-bit copy', { ...copy, compat: true }, ERRNO.EINVAL, 'COMPAT_ABI', /copying a hash/],
  ['a copy, older module', copy, ERRNO.EINVAL, 'ALGORITHM_NOT_OFFERED', /1\.10/],
  ['a copy that the driver cannot do', copy, ERRNO.ENOSYS, 'ALGORITHM_NOT_OFFERED', /cannot copy/],
];

for (const [what, attempt, errno, code, text, facts = FACTS] of ROWS) {
  test(`${what}: ${code}`, () => {
    const reason = explain(attempt, -errno, facts);
    assert.equal(reason.code, code, reason.message);
    assert.match(reason.message, text);
    assert.ok(reason.syscall && reason.errno);
  });
}

test('a blacklisted module is named with its rule', () => {
  const rule = { kind: 'blacklist', module: 'cryptodev', line: 'blacklist cryptodev', file: '/etc/x.conf' };
  const reason = explain(open, -ERRNO.ENOENT, { ...FACTS, rules: [rule] as never });
  assert.equal(reason.code, 'MODULE_BLACKLISTED');
  assert.match(reason.message, /`blacklist cryptodev` in \/etc\/x\.conf/);
});

test('gone and forked have codes of their own', () => {
  assert.equal(lostReason({ call: 'CIOCCRYPT' }, -ERRNO.ENOTCONN).code, 'DEVICE_GONE');
  assert.equal(lostReason({ call: 'CIOCCRYPT' }, -ERRNO.ENOTCONN).errno, 'ENOTCONN');
  assert.equal(forkedReason().code, 'FORKED');
});

test('whatever errno: a code, one line without a period at its end', () => {
  const calls = fc.constantFrom<Attempt['call']>(
    ...([
      'open',
      'CIOCASYMFEAT',
      'CIOCGSESSION',
      'CIOCGSESSINFO',
      'CIOCCRYPT',
      'CIOCAUTHCRYPT',
      'CIOCCPHASH',
    ] as const),
  );
  fc.assert(
    fc.property(
      calls,
      fc.integer({ min: 1, max: 600 }),
      fc.constantFrom(...CRYPTODEV_IDS),
      (call, errno, id) => {
        const digest = id.kind === 'hash' || id.kind === 'mac';
        const attempt = { call, cipher: digest ? 0 : id.id, mac: digest ? id.id : 0, kernel: id.kernel };
        const { code, message, cure = '' } = explain(attempt, -errno, FACTS);
        assert.ok(code.length > 0);
        assert.match(message, /^[^\n]+[^.\n]$/);
        assert.doesNotMatch(message + cure, /undefined|\n/);
      },
    ),
    { numRuns: 500 },
  );
});
