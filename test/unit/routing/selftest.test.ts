/** The fuzz finds what drivers with a fault do wrong, makes it small, finds it again from the seed, and finds nothing in sound ones. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Algorithm, findAlgorithm } from '#src/algorithms.js';
import type { CipherSession, Driver } from '#src/drivers/driver.js';
import { allDrivers, getDriver } from '#src/drivers/registry.js';
import { failureText } from '#src/report/selftest.js';
import { type Selftest, selftest } from '#src/routing/selftest.js';
import { SeededRandom } from '#src/routing/trust/random.js';
import { randomTrial } from '#src/routing/trust/random-trial.js';
import { FAULTS, type Fault, wrap } from '../../helpers/faulty.js';
import { SEED } from '../../helpers/random.js';

const known = (name: string): Algorithm => {
  const algorithm = findAlgorithm(name);
  assert.ok(algorithm, name);
  return algorithm;
};

/** So many trials show each fault; the time is there for a machine that is busy. */
const TRIALS = 24;
const SECONDS = 300;

const fuzz = (driver: Driver, names: readonly string[], seed = 1, trials = TRIALS): Promise<Selftest> =>
  selftest({ algorithms: names.map(known), drivers: [{ driver }], seconds: SECONDS, trials, seed });

const NAMES = ['aes-128-ctr', 'aes-256-gcm', 'sha256', 'hmac-sha512'];

/** Of a session that is closed nothing is asked; 64 KiB of additional data, or one length in some hundreds, are drawn once in some hundred trials. */
const NOT_LOOKED_FOR = [
  'a closed session works on',
  'additional data above 64 KiB is left out',
  'one remainder of 256 bytes is wrong behind the first step',
  'a last byte before a border is wrong',
];

/** Who shows a fault; the fault of a cipher's session may be that of an AEAD's too, and once is enough. */
function shownBy(fault: string): readonly string[] {
  if (fault === 'none') return NAMES;
  if (/tag|forgery/.test(fault)) return ['aes-256-gcm'];
  return [/clone|empty/.test(fault) ? 'hmac-sha512' : 'aes-128-ctr'];
}

describe('faults', () => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    if (NOT_LOOKED_FOR.includes(name)) continue;
    test(name === 'none' ? 'a sound driver has none' : `found: ${name}`, async () => {
      const { failures, tried } = await fuzz(wrap(getDriver('node'), fault), shownBy(name));
      assert.equal(tried.length, shownBy(name).length);
      assert.equal(failures.length > 0, name !== 'none', JSON.stringify(failures));
      for (const failure of failures) {
        const messages = failure.sessions.flat();
        assert.ok(messages.length <= 4, `${failure.algorithm}: ${JSON.stringify(failure)}`);
      }
    });
  }
});

const faultyCipher = (fault: (session: CipherSession) => Partial<CipherSession>): Driver =>
  wrap(getDriver('node'), fault as unknown as Fault);

/** Wrong from some length on, for one alignment, in a later request of a message: what engines get wrong. */
const engine = faultyCipher((session) => {
  let requests = 0;
  return {
    update(input, output) {
      const at = requests++;
      session.update(input, output);
      if (at > 0 && input.length >= 300 && input.byteOffset % 4 !== 0) output[299]! ^= 4;
    },
    restart(iv, key) {
      requests = 0;
      session.restart(iv, key);
    },
  };
});

test('a failure is made as small as the fault allows', async () => {
  const { failures } = await fuzz(engine, ['aes-128-ctr']);
  const [failure] = failures;
  assert.ok(failure);
  const messages = failure.sessions.flat();
  assert.equal(messages.length, 1, JSON.stringify(failure.sessions));
  const [own] = messages;
  assert.deepEqual(own!.pieces, [1, 300]);
  assert.equal(failure.firstDifference, 300);
  assert.equal(own!.layout, 'apart');
  assert.match(own!.input, /^00\{301\}$/);
  assert.equal(own!.key, '00{16}');
  assert.equal(failure.reference, 'libcrypto');
});

test('the seed finds the same failure again, whatever else is tried, and another seed draws other trials', async () => {
  const first = await fuzz(engine, ['aes-128-ctr'], 7);
  const { failures } = await fuzz(engine, ['aes-256-cbc', 'aes-128-ctr', 'aes-128-ofb'], 7);
  assert.deepEqual(
    failures.filter(({ algorithm }) => algorithm === 'aes-128-ctr'),
    first.failures,
  );
  assert.equal(first.failures.length, 1);
  const drawn = (seed: number) => randomTrial(known('aes-128-ctr'), new SeededRandom('x', seed));
  assert.deepEqual(drawn(1), drawn(1));
  assert.notDeepEqual(drawn(1), drawn(2));
});

test('what fails now and then is told as such', async () => {
  let calls = 0;
  const flaky = faultyCipher((session) => ({
    update(input, output) {
      session.update(input, output);
      if (++calls === 200) output[0]! ^= 1;
    },
  }));
  const { failures } = await fuzz(flaky, ['aes-128-cbc']);
  assert.equal(failures.length, 1);
  assert.equal(failures[0]!.intermittent, true);
});

test('sessions that share state are found by taking turns', async () => {
  let last: CipherSession | undefined;
  const shared = faultyCipher((session) => {
    last = session;
    return { update: (input, output) => (last!.usable ? last! : session).update(input, output) };
  });
  const { failures } = await fuzz(shared, ['aes-128-ecb']);
  assert.equal(failures[0]?.interleaved, true);
  assert.equal(failures[0]?.sessions.length, 2);
});

describe('sound drivers', () => {
  for (const driver of allDrivers()) {
    const probe = driver.probe();
    test(driver.name, { skip: !probe.available && probe.reason.message }, async () => {
      // One of each mode and kind; every algorithm has its check elsewhere.
      const names =
        'aes-128-ecb aes-256-cbc aes-192-ctr aes-128-cfb aes-128-ofb aes-256-xts aes-128-gcm aes-128-ccm chacha20 chacha20-poly1305 ' +
        'des-ede3-cbc serpent-256-cbc sha1 sha512 shake128 hmac-sha256 cmac-aes-128';
      const found = await fuzz(driver, names.split(' '), SEED, 6);
      assert.deepEqual(found.failures, []);
      assert.ok(found.tried.length >= 10, `only ${found.tried.length} of them`);
      assert.ok(found.tried.every(({ requests }) => requests > 30));
    });
  }
});

describe('what could not be tried', () => {
  test('is told with the reason: no driver, no algorithm, no time', async () => {
    const sound = getDriver('node');
    const gone: Driver = {
      ...wrap(sound, () => ({})),
      probe: () => ({ available: false, reason: { code: 'AF_ALG_ABSENT', message: 'not here' } }),
    };
    const nothing = await fuzz(gone, NAMES);
    assert.deepEqual(nothing.tried, []);
    assert.deepEqual(nothing.untried, [
      { driver: 'node', reason: { code: 'AF_ALG_ABSENT', message: 'not here' } },
    ]);
    const lacking = await fuzz(sound, ['serpent-256-cbc']);
    assert.equal(lacking.untried[0]?.reason?.code, 'ALGORITHM_UNKNOWN');
    const controller = new AbortController();
    controller.abort();
    const late = await selftest(
      { algorithms: NAMES.map(known), drivers: [{ driver: sound }], seconds: SECONDS, seed: 1 },
      { signal: controller.signal },
    );
    assert.equal(late.interrupted, true);
    assert.deepEqual(
      late.untried,
      NAMES.map((algorithm) => ({ driver: 'node', algorithm })),
    );
  });
});

test('the report has all that a kernel developer asks for', async () => {
  const { failures } = await fuzz(engine, ['aes-128-ctr']);
  const [failure] = failures;
  const entry = {
    name: 'ctr(aes)',
    driver: 'ctr-aes-engine',
    module: 'engine',
    type: 'skcipher',
    priority: 300,
    refcnt: 1,
    internal: false,
  };
  const facts = { kernel: 'Linux 6.1.0 x64', program: 'hwcrypt 0.1.0', seed: 1, registered: [entry] };
  const kernel = {
    ...failure!,
    driver: 'afalg:ctr-aes-engine',
    kernelDriver: entry.driver,
    module: 'engine',
  };
  const several = failureText(kernel, facts);
  assert.match(several, /kernel +Linux 6\.1\.0/);
  assert.match(several, /ctr-aes-engine, module engine/);
  assert.match(
    several,
    /\/proc\/crypto +name ctr\(aes\); driver ctr-aes-engine; module engine; type skcipher; priority 300/,
  );
  assert.match(several, /selftest --driver afalg:ctr-aes-engine --seed 1 aes-128-ctr/);
  assert.match(several, /2 requests of 1, 300 bytes/);
  assert.match(several, /first difference +byte 300/);
  assert.match(several, /kcapi makes no others/);
  const single = { ...failure!.sessions[0]![0]!, pieces: [301] };
  const one = failureText({ ...kernel, task: 'encrypt', sessions: [[single]] }, facts);
  assert.match(
    one,
    /kcapi -x 1 -e -c "ctr-aes-engine" -k 0{32} -i [0-9a-f]{32} -p "\$\(head -c 301 \/dev\/zero \| xxd -p/,
  );
  assert.match(
    one,
    /head -c 301 \/dev\/zero \| openssl enc -aes-128-ctr -nopad -K 0{32} -iv [0-9a-f]{32} \| xxd/,
  );
});
