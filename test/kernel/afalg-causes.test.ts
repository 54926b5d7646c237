/** Real failures and what they are explained with; who does the work; what the kernel lists. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';

import type { Algorithm } from '#src/algorithms.js';
import { AfalgDriver } from '#src/drivers/afalg/index.js';
import type { ReasonCode, UnavailableError } from '#src/errors.js';
import {
  address,
  CRYPTO_ALG,
  dumpAlgorithms,
  errnoName,
  hostAbi,
  libc,
  listAlgorithms,
  readProcCrypto,
  sockaddrAlg,
} from '#src/linux/index.js';
import { aeadOf, cipherOf, hashOf, loadModulesOnce, macOf, openSockets } from '../helpers/afalg.js';

const CONF = '/etc/modprobe.d/hwcrypt-causes.conf';
const modprobe = (...args: string[]): void => {
  execFileSync('modprobe', args, { stdio: 'ignore' });
};

/** The reason for which a driver that knows nothing yet does not support this. */
function why(algorithm: Algorithm, kernelDriver?: string) {
  const support = new AfalgDriver().supports(algorithm, kernelDriver === undefined ? {} : { kernelDriver });
  assert.ok(!support.supported, `${algorithm.name} is supported`);
  return support.reason;
}

describe('with modprobe', () => {
  after(() => rmSync(CONF, { force: true }));

  /** Takes a module out and keeps it out while `act` runs. */
  function blocked(module: string, line: string, act: () => void): void {
    try {
      execFileSync('rmmod', [module], { stdio: 'ignore' });
    } catch {
      // It was not loaded.
    }
    writeFileSync(CONF, `# a comment\n${line}\n`);
    try {
      act();
    } finally {
      rmSync(CONF);
    }
  }

  test('install algif_aead /bin/false: names the file and the CVE', () => {
    blocked('algif_aead', 'install algif_aead /bin/false', () => {
      const reason = why(aeadOf('aes-128-gcm'));
      assert.equal(reason.code, 'MODULE_BLACKLISTED');
      assert.match(
        reason.message,
        /`install algif_aead \/bin\/false` in \/etc\/modprobe\.d\/hwcrypt-causes\.conf/,
      );
      assert.match(reason.cure ?? '', /CVE-2026-31431/);
      assert.deepEqual([reason.syscall, reason.errno], ['bind', 'ENOENT']);
    });
  });

  test('blacklist algif_rng does not keep the kernel from loading it', () => {
    blocked('algif_rng', 'blacklist algif_rng', () => {
      new AfalgDriver().random(new Uint8Array(8));
      assert.match(readFileSync('/proc/modules', 'latin1'), /^algif_rng /m);
    });
  });

  // Anubis and PCBC are nobody's else in these tests, so nothing holds their modules.
  const anubis = { ...cipherOf('aes-128-cbc'), name: 'anubis-cbc', names: { kernel: 'cbc(anubis)' } };
  const pcbc = { ...cipherOf('aes-128-cbc'), name: 'aes-128-pcbc', names: { kernel: 'pcbc(aes)' } };

  test('a blacklisted cipher, and a blocked template', () => {
    blocked('anubis', 'blacklist anubis', () => {
      const reason = why(anubis);
      assert.equal(reason.code, 'MODULE_BLACKLISTED');
      assert.match(reason.message, /cbc\(anubis\) needs the module anubis, which `blacklist anubis` in/);
    });
    blocked('pcbc', 'install pcbc /bin/true', () => {
      const reason = why(pcbc);
      assert.equal(reason.code, 'MODULE_BLACKLISTED');
      assert.match(reason.message, /pcbc\(aes\) needs the module pcbc, which `install pcbc \/bin\/true` in/);
    });
  });

  test('a reason does not outlive reprobe', () => {
    const driver = new AfalgDriver();
    blocked('anubis', 'blacklist anubis', () => assert.ok(!driver.supports(anubis).supported));
    assert.ok(!driver.supports(anubis).supported, 'it is remembered');
    driver.reprobe();
    assert.ok(driver.supports(anubis).supported);
  });

  test('a cipher that this kernel was built without', () => {
    const reason = why(cipherOf('sm4-cbc'));
    assert.equal(reason.code, 'ALGORITHM_NOT_BUILT');
    assert.match(reason.message, /without sm4/);
  });

  test('without crypto_user the list comes from /proc/crypto, and says why', () => {
    blocked('crypto_user', 'install crypto_user /bin/false', () => {
      const list = listAlgorithms();
      assert.equal(list.source, 'proc');
      assert.equal(list.reason?.code, 'ALGIF_MISSING');
      assert.ok(list.algorithms.some((entry) => entry.name === 'sha256'));
      const found = new AfalgDriver().implementation(hashOf('sha256'));
      assert.deepEqual([found?.kernelDriver, found?.hardware], ['sha256-generic', 'no']);
    });
    modprobe('crypto_user');
    assert.equal(listAlgorithms().source, 'netlink');
  });
});

describe('with everything loaded', () => {
  let undo: (() => void) | undefined;
  const driver = new AfalgDriver();
  before(() => {
    undo = loadModulesOnce();
  });
  after(() => undo?.());

  test('netlink and /proc/crypto say the same, and netlink says more', () => {
    driver.supports(cipherOf('aes-128-cbc'));
    driver.supports(aeadOf('aes-128-gcm'));
    const dump = dumpAlgorithms();
    assert.ok(dump.algorithms, dump.reason?.message);
    const text = readProcCrypto() ?? [];
    assert.equal(dump.algorithms.length, text.length);
    const key = (entry: { driver: string; type: string }): string => `${entry.driver} ${entry.type}`;
    const byKey = new Map(text.map((entry) => [key(entry), entry]));
    for (const { flags, async, refcnt, ...entry } of dump.algorithms) {
      assert.ok(flags !== undefined && async !== undefined && refcnt > 0);
      const other = byKey.get(key(entry));
      assert.ok(other, `${entry.driver} is not in /proc/crypto`);
      const { async: _, refcnt: __, ...rest } = other;
      assert.deepEqual(entry, rest);
    }
  });

  test('every call that fails on the way to a session gives its reason', () => {
    const cbc = cipherOf('aes-128-cbc');
    const iv = new Uint8Array(16);
    const rows: [string, () => unknown, ReasonCode, RegExp][] = [
      [
        'a driver that is not there',
        () => driver.cipher(cbc, 'encrypt', new Uint8Array(16), iv, { kernelDriver: 'cbc-aes-caam' }),
        'KERNEL_DRIVER_ABSENT',
        /registered for cbc\(aes\): .*cbc\(aes-generic\)/,
      ],
      [
        'an algorithm’s name for a driver',
        () => driver.cipher(cbc, 'encrypt', new Uint8Array(16), iv, { kernelDriver: 'cbc(aes)' }),
        'KERNEL_DRIVER_ABSENT',
        /name of an algorithm/,
      ],
      [
        'a driver of another mode',
        () => driver.cipher(cbc, 'encrypt', new Uint8Array(16), iv, { kernelDriver: 'ecb(aes-generic)' }),
        'KERNEL_DRIVER_ABSENT',
        /does ecb\(aes\), not cbc\(aes\)/,
      ],
      [
        'a driver of another type',
        () => driver.cipher(cbc, 'encrypt', new Uint8Array(16), iv, { kernelDriver: 'sha256-generic' }),
        'WRONG_TYPE',
        /of type shash/,
      ],
      [
        'a hash by a cipher',
        () => driver.hash(hashOf('sha256'), { kernelDriver: 'cbc(aes-generic)' }),
        'WRONG_TYPE',
        /of type skcipher/,
      ],
      [
        'a name that no kernel has',
        () => driver.hash(hashOf('sha256'), { kernelDriver: 'sha256\0-generic' }),
        'ALGORITHM_UNKNOWN',
        /character/,
      ],
      [
        'a name that is too long',
        () => driver.hash(hashOf('sha256'), { kernelDriver: 'x'.repeat(104) }),
        'ALGORITHM_UNKNOWN',
        /longer/,
      ],
    ];
    const before = openSockets();
    for (const [what, act, code, message] of rows) {
      assert.throws(
        act,
        (error: UnavailableError) => {
          assert.equal(error.name, 'UnavailableError', what);
          assert.equal(error.code, 'KERNEL_DRIVER_UNAVAILABLE', what);
          assert.equal(error.reason.code, code, `${what}: ${error.message}`);
          assert.match(error.message, message, what);
          return true;
        },
        what,
      );
    }
    assert.deepEqual(openSockets(), before);
  });

  test('what the kernel refuses to put together', () => {
    const xts = { ...cipherOf('aes-128-xts'), name: 'des-xts', names: { kernel: 'xts(des)' } };
    const reason = why(xts);
    assert.equal(reason.code, 'COMBINATION_REFUSED');
  });

  test('a key length that the kernel does not know', () => {
    const odd = { ...cipherOf('aes-128-cbc'), name: 'aes-160-cbc', keyBytes: 20 };
    const reason = why(odd);
    assert.equal(reason.code, 'BAD_KEY_LENGTH');
    assert.equal(reason.syscall, 'setsockopt(ALG_SET_KEY)');
    const long = why({ ...odd, keyBytes: 40 });
    assert.match(long.message, /takes keys of 16 to 32 bytes, not of 40/);
  });

  test('out of descriptors: says so, and forgets it', (t) => {
    const fresh = new AfalgDriver();
    fresh.probe();
    const taken: number[] = [];
    try {
      while (taken.length < 20_000) taken.push(openSync('/dev/null', 'r'));
    } catch {
      // EMFILE, as intended. One is given back, since the explanation reads files: with none at all it knows less.
    }
    if (taken.length === 20_000) {
      for (const fd of taken) closeSync(fd);
      t.skip('this process may open more files than it is sensible to open');
      return;
    }
    closeSync(taken.pop() as number);
    const support = fresh.supports(hashOf('sha1'));
    let failure: UnavailableError | undefined;
    try {
      fresh.cipher(cipherOf('aes-128-cbc'), 'encrypt', new Uint8Array(16), new Uint8Array(16));
    } catch (error) {
      failure = error as UnavailableError;
    }
    for (const fd of taken) closeSync(fd);
    assert.ok(support.supported, 'one descriptor is enough to bind');
    assert.equal(failure?.reason.code, 'TOO_MANY_FILES');
    assert.match(failure?.reason.cure ?? '', /ulimit/);
    assert.ok(fresh.supports(cipherOf('aes-128-cbc')).supported);
  });

  test('cryptd is asynchronous and no hardware; binding it by name takes its algorithm over', () => {
    const fresh = new AfalgDriver();
    const algorithm = cipherOf('des-ede3-cbc');
    assert.equal(fresh.implementation(algorithm)?.kernelDriver, 'cbc(des3_ede-generic)');
    const kernelDriver = 'cryptd(cbc(des3_ede-generic))';
    const pinned = fresh.implementation(algorithm, { kernelDriver });
    assert.equal(pinned?.kernelDriver, kernelDriver);
    assert.equal(pinned?.hardware, 'no');
    assert.equal(pinned?.module, 'cryptd');
    const entry = listAlgorithms().algorithms.find((it) => it.driver === kernelDriver);
    assert.equal((entry?.flags ?? 0) & CRYPTO_ALG.ASYNC, CRYPTO_ALG.ASYNC);
    // What was remembered of the algorithm is forgotten, since cryptd now has the higher priority.
    assert.equal(fresh.implementation(algorithm)?.kernelDriver, kernelDriver);
    const iv = new Uint8Array(8);
    using session = fresh.cipher(
      algorithm,
      'encrypt',
      new Uint8Array(24).map((_, i) => i * 7),
      iv,
      { kernelDriver },
    );
    assert.equal(session.driver, `afalg:${kernelDriver}`);
    using generic = fresh.cipher(
      algorithm,
      'encrypt',
      new Uint8Array(24).map((_, i) => i * 7),
      iv,
      {
        kernelDriver: 'cbc(des3_ede-generic)',
      },
    );
    const [one, two] = [new Uint8Array(800), new Uint8Array(800)];
    session.update(one, one);
    generic.update(two, two);
    assert.deepEqual(one, two);
    const reach = fresh.offCpuReach();
    assert.equal(reach.reaches, true);
  });

  test('names of 64 bytes and more reach the kernel', () => {
    const bind = (name: string): number => {
      const fd = libc.socket(libc.AF_ALG, libc.SOCK_SEQPACKET | libc.SOCK_CLOEXEC, 0);
      const bytes = sockaddrAlg(hostAbi(), 'aead', name);
      const result = libc.bind(fd, address(bytes), bytes.length);
      libc.close(fd);
      return result;
    };
    const name = 'essiv(authenc(hmac(sha256-generic),cbc(aes-generic)),sha256-generic)';
    assert.ok(name.length >= 64);
    const result = bind(name);
    assert.equal(result, 0, errnoName(result));
    assert.equal(errnoName(bind(`${name.slice(0, -1)}x)`)), 'ENOENT');
  });

  test('who does the work, for each kind', () => {
    const fresh = new AfalgDriver();
    for (const [algorithm, expected] of [
      [cipherOf('aes-256-xts'), /^xts\(.*aes-generic\)+$/],
      [aeadOf('aes-128-ccm'), /^ccm_base\(ctr\(aes-generic\),cbcmac\(aes-generic\)\)$/],
      [hashOf('sha512'), /^sha512-generic$/],
      [macOf('hmac-sha256'), /^hmac\(sha256-generic\)$/],
      [macOf('cmac-aes-128'), /^cmac\(aes-generic\)$/],
    ] as const) {
      const found = fresh.implementation(algorithm);
      assert.match(found?.kernelDriver ?? '', expected);
      assert.equal(found?.hardware, 'no');
      assert.ok(
        found?.evidence.some((text) => text.includes('reference')),
        found?.evidence.join('; '),
      );
    }
    assert.equal(fresh.implementation(cipherOf('rc4')), undefined);
    assert.equal(fresh.supports(cipherOf('rc4')).supported, false);
  });
});
