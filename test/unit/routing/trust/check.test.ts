/** Every driver of this machine is trusted for all that it has, and no driver with a fault is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Algorithm, algorithms, findAlgorithm } from '#src/algorithms.js';
import type { CipherSession, Driver } from '#src/drivers/driver.js';
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { DriverError, type Reason, UnavailableError } from '#src/errors.js';
import { bytesOf, checkImplementation, type Failure, type Verdict } from '#src/routing/trust/index.js';
import { FAULTS, type Fault, wrap } from '../../../helpers/faulty.js';

const known = (name: string): Algorithm => {
  const algorithm = findAlgorithm(name);
  assert.ok(algorithm, name);
  return algorithm;
};

/** One of each mode, of each family and of each hash: the known answers of all of them are tried elsewhere. */
function sampled({ name }: Algorithm): boolean {
  return (
    /^aes-128-|^(camellia|serpent|twofish|aria)-256-(cbc|xts|gcm)|^sm4-(ecb|ccm)|^(seed|des|cast5|bf|des-ede)-cbc|^des-ede3/.test(
      name,
    ) ||
    /^(chacha|rc4$|sha1$|sha512$|sha3-256|shake128|blake2|ripemd|whirlpool|md4)|^hmac-(sha1|sha512|md5)$|^cmac/.test(
      name,
    )
  );
}

describe('sound drivers', () => {
  for (const driver of allDrivers()) {
    const probe = driver.probe();
    test(driver.name, { skip: !probe.available && probe.reason.message }, () => {
      let checked = 0;
      for (const algorithm of algorithms().filter(sampled)) {
        if (!driver.supports(algorithm).supported) continue;
        const verdict = checkImplementation(algorithm, { driver });
        assert.equal(verdict.trusted, true, `${algorithm.name}: ${JSON.stringify(verdict)}`);
        assert.ok(verdict.trusted === true && verdict.checks >= 30, `${algorithm.name}: too few checks`);
        // A request of a kernel's takes 0.1 to 0.2 ms: this many are 10 to 20 ms.
        assert.ok(
          verdict.checks <= 120,
          `${algorithm.name}: ${verdict.checks} checks take too long in a kernel`,
        );
        checked++;
      }
      assert.ok(checked > 20, `only ${checked} algorithms`);
    });
  }
});

const NAMES = ['aes-128-ctr', 'aes-256-gcm', 'sha256', 'hmac-sha512'];

/**
 * What a check that may not wait, does not use what is closed or above 64 KiB twice over, and has time for some dozens of lengths and addresses only, is not there
 * to find.
 */
const NOT_LOOKED_FOR = [
  'asynchronous work ends after the promise',
  'a closed session works on',
  'additional data above 64 KiB is left out',
  'one remainder of 256 bytes is wrong behind the first step',
  'a last byte before a border is wrong',
  'one input address is wrong',
];

function evidenceOf(verdict: Verdict): Failure | undefined {
  return verdict.trusted === false ? verdict.evidence : undefined;
}

describe('faults', () => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    if (NOT_LOOKED_FOR.includes(name)) continue;
    test(name === 'none' ? 'a wrapped driver without a fault is trusted' : `found: ${name}`, () => {
      const driver = wrap(getDriver('node'), fault);
      const found = NAMES.map((own) => evidenceOf(checkImplementation(known(own), { driver })));
      assert.equal(found.some(Boolean), name !== 'none', JSON.stringify(found));
    });
  }
});

/** A driver whose sessions of a cipher do what `fault` says. */
const faultyCipher = (driver: Driver, fault: (session: CipherSession) => Partial<CipherSession>): Driver =>
  wrap(driver, fault as unknown as Fault);

describe('evidence', () => {
  test('is as small as the fault allows, and holds all that it takes to see it again', () => {
    const driver = faultyCipher(getDriver('node'), (session) => ({
      update(input, output) {
        session.update(input, output);
        // An engine that loses the alignment of what is longer than a page.
        if (input.length > 4096 && input.byteOffset % 4 === 1) output[4096]! ^= 0x80;
      },
    }));
    const evidence = evidenceOf(checkImplementation(known('aes-256-cbc'), { driver }));
    assert.ok(evidence);
    assert.equal(evidence.algorithm, 'aes-256-cbc');
    assert.equal(evidence.driver, 'node');
    assert.equal(evidence.reference, 'libcrypto');
    assert.equal(evidence.firstDifference, 4096);
    assert.equal(evidence.what, 'the output is wrong');
    const [[only, ...others], ...more] = evidence.sessions as [Failure['sessions'][0]];
    assert.deepEqual([others, more], [[], []]);
    assert.equal(only!.inputBytes, 4112);
    assert.equal(only!.inputOffset, 1);
    assert.equal(only!.outputOffset, 0);
    assert.deepEqual(only!.pieces, [4112]);
    assert.match(only!.input, /^00\{4112\}$/);
    // What the evidence says is what the fault does.
    const [key, iv, input] = [only!.key!, only!.iv!, only!.input].map(bytesOf);
    const right = new Uint8Array(4112);
    using session = getDriver('libcrypto').cipher(known('aes-256-cbc') as never, 'encrypt', key!, iv!);
    session.update(input!, right);
    assert.equal(evidence.shownFrom, 4096);
    assert.equal(evidence.expected, Buffer.from(right.subarray(4096)).toString('hex'));
    right[4096]! ^= 0x80;
    assert.equal(evidence.got, Buffer.from(right.subarray(4096)).toString('hex'));
    assert.ok(JSON.stringify(evidence).length < 2000);
  });

  test('names the error of a driver that fails a request in the middle of a stream', () => {
    const reason: Reason = {
      code: 'SYSTEM_ERROR',
      message: 'the engine hung',
      syscall: 'read',
      errno: 'EIO',
    };
    const driver = faultyCipher(getDriver('node'), (session) => ({
      update(input, output) {
        if (session.chain() && input.length > 50_000) throw new DriverError('node', 'aes-128-cbc', reason);
        session.update(input, output);
      },
    }));
    const evidence = evidenceOf(checkImplementation(known('aes-128-cbc'), { driver }));
    assert.equal(evidence?.error?.code, 'DRIVER_FAILED');
    assert.equal(evidence?.error?.errno, 'EIO');
    assert.equal(evidence?.sessions[0]?.[0]?.inputBytes, 50_016);
  });

  test('two sessions that share an engine state need both to be seen', () => {
    // The key slot of the last session opened or keyed is the one that all of them encrypt with.
    let slot: CipherSession | undefined;
    const sound = getDriver('node');
    const driver: Driver = {
      ...faultyCipher(sound, (session) => {
        slot = session;
        return { update: (input, output) => (slot!.usable ? slot! : session).update(input, output) };
      }),
    };
    const evidence = evidenceOf(checkImplementation(known('aes-128-ecb'), { driver }));
    assert.equal(evidence?.sessions.length, 2);
    assert.equal(evidence?.interleaved, true);
  });
});

describe('neither right nor wrong', () => {
  const shortOf = (code: Reason['code']): Driver =>
    faultyCipher(getDriver('node'), (session) => ({
      update(input, output) {
        if (input.length > 60_000) throw new DriverError('node', 'x', { code, message: 'short' });
        session.update(input, output);
      },
    }));

  for (const code of ['OUT_OF_MEMORY', 'TOO_MANY_FILES', 'KEY_BUSY', 'DEVICE_GONE'] as const) {
    test(`a driver that runs into ${code}`, () => {
      const verdict = checkImplementation(known('aes-128-cbc'), { driver: shortOf(code) });
      assert.equal(verdict.trusted, 'unknown');
      assert.equal(verdict.trusted === 'unknown' && verdict.reason.code, code);
    });
  }

  test('a driver that is not there, or lacks the algorithm', () => {
    const verdict = checkImplementation(known('serpent-256-cbc'), { driver: getDriver('node') });
    assert.equal(verdict.trusted, 'unknown');
    const sound = getDriver('node');
    const absent: Reason = { code: 'AF_ALG_ABSENT', message: 'not here' };
    const gone: Driver = { ...wrap(sound, () => ({})), probe: () => ({ available: false, reason: absent }) };
    assert.deepEqual(checkImplementation(known('sha256'), { driver: gone }), {
      trusted: 'unknown',
      reason: absent,
    });
  });

  test('a driver that refuses what others take is judged by what it takes', () => {
    const driver = faultyCipher(getDriver('node'), (session) => ({
      update(input, output) {
        if (input.length > 60_000) {
          const reason: Reason = { code: 'MESSAGE_TOO_LARGE', message: 'too long' };
          throw new UnavailableError('ALGORITHM_UNAVAILABLE', 'node', 'x', reason);
        }
        session.update(input, output);
      },
    }));
    assert.equal(checkImplementation(known('aes-128-xts'), { driver }).trusted, true);
  });
});

test('nothing is left open behind a check, of a sound driver or a faulty one', () => {
  let open = 0;
  const counted = (fault: Fault): Driver =>
    wrap(getDriver('node'), (session) => {
      open++;
      let closed = false;
      return {
        ...fault(session),
        close() {
          if (!closed) open--;
          closed = true;
          session.close();
        },
      } as Partial<typeof session>;
    });
  for (const name of NAMES) {
    checkImplementation(known(name), { driver: counted(() => ({})) });
    assert.equal(open, 0, `${name}: ${open} sessions are open`);
    checkImplementation(known(name), { driver: counted(FAULTS['the last byte of long messages is wrong']!) });
    checkImplementation(known(name), { driver: counted(FAULTS['the tag is cut']!) });
    assert.equal(open, 0, `${name}: ${open} sessions of a faulty driver are open`);
  }
});

describe('a reference', () => {
  const broken = faultyCipher(getDriver('libcrypto'), (session) => ({
    update(input, output) {
      session.update(input, output);
      output[0]! ^= 1;
    },
  }));

  test('that fails the known answers makes nobody else pay for it', () => {
    const verdict = checkImplementation(
      known('aes-128-cbc'),
      { driver: getDriver('node') },
      { reference: { driver: broken } },
    );
    assert.equal(verdict.trusted, true);
  });

  test('is not needed where there are known answers', () => {
    const own = wrap(getDriver('libcrypto'), () => ({}));
    const legacy = known('seed-cbc');
    const verdict = checkImplementation(legacy, { driver: own });
    assert.equal(verdict.trusted, true);
    const evidence = evidenceOf(checkImplementation(legacy, { driver: broken }));
    assert.match(evidence!.reference, /published vector|gcrypt|nettle/);
  });
});
