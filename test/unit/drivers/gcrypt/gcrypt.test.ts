/** What is particular to libgcrypt: weak keys, what it refuses, its counters and tags, its set-up, and that nobody pays who does not ask. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import {
  type AeadAlgorithm,
  type CipherAlgorithm,
  findAlgorithm,
  type MacAlgorithm,
} from '#src/algorithms.js';
import type { Direction, Driver } from '#src/drivers/driver.js';
import { driverNames, getDriver } from '#src/drivers/registry.js';
import { encrypt, open } from '#src/index.js';
import { Random } from '../../../helpers/random.js';

const gcrypt = getDriver('gcrypt');
const libcrypto = getDriver('libcrypto');
const there = gcrypt.probe().available;
const here = { skip: there ? false : 'there is no libgcrypt here' };

const cipher = (name: string): CipherAlgorithm => findAlgorithm(name) as CipherAlgorithm;
const aead = (name: string): AeadAlgorithm => findAlgorithm(name) as AeadAlgorithm;

function run(
  driver: Driver,
  name: string,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array | null,
  input: Uint8Array,
): Uint8Array {
  const session = driver.cipher(cipher(name), direction, key, iv);
  const output = new Uint8Array(input.length);
  session.update(input, output);
  session.close();
  return output;
}

test('it comes after OpenSSL and before the kernel', () => {
  const names = driverNames();
  assert.ok(names.indexOf('libcrypto') < names.indexOf('gcrypt'));
  assert.ok(names.indexOf('node') < names.indexOf('gcrypt'));
  assert.ok(names.indexOf('gcrypt') < names.indexOf('afalg'));
});

describe('libgcrypt', here, () => {
  test('says its version, and what of the CPU it uses', () => {
    const probe = gcrypt.probe();
    assert.ok(probe.available);
    assert.match(probe.version, /^libgcrypt \d+\.\d+/);
    const who = gcrypt.implementation(cipher('serpent-256-cbc'));
    assert.match(who?.kernelDriver ?? '', /^libgcrypt-\d+\.\d+\S*$/);
    assert.equal(who?.hardware, 'no');
    assert.match(who?.evidence.join('\n') ?? '', /by its own account: /);
    // That name can be pinned, and no other.
    const kernelDriver = who!.kernelDriver;
    assert.ok(gcrypt.supports(cipher('serpent-256-cbc'), { kernelDriver }).supported);
    const other = gcrypt.supports(cipher('serpent-256-cbc'), { kernelDriver: 'serpent-generic' });
    assert.equal(other.supported ? '' : other.reason.code, 'ALGORITHM_UNKNOWN');
    assert.deepEqual(gcrypt.reprobe(), probe);
  });

  test('takes weak keys as OpenSSL does', () => {
    // A weak, a semi-weak and an all-equal one (SP 800-67 3.4.2).
    const weak = ['0101010101010101', 'fee0fee0fef1fef1', '0000000000000000'].map((hex) =>
      Buffer.from(hex, 'hex'),
    );
    const random = new Random('weak keys');
    const input = random.bytes(64);
    for (const key of weak) {
      for (const [name, whole] of [
        ['des-cbc', key],
        ['des-ede3-cbc', Buffer.concat([key, random.bytes(16)])],
        ['des-ede3-ecb', Buffer.concat([key, key, key])],
      ] as const) {
        const iv = name.endsWith('cbc') ? random.bytes(8) : null;
        for (const direction of ['encrypt', 'decrypt'] as const) {
          const wanted = run(libcrypto, name, direction, whole, iv, input);
          assert.deepEqual(run(gcrypt, name, direction, whole, iv, input), wanted, name);
          // At a restart too.
          const session = gcrypt.cipher(cipher(name), direction, random.bytes(whole.length), iv);
          session.restart(iv, whole);
          const output = new Uint8Array(64);
          session.update(input, output);
          assert.deepEqual(output, wanted, `${name} at restart`);
          session.close();
        }
      }
    }
  });

  test('refuses keys that it has no code for, before anything is done, with the reason', () => {
    for (const [name, length] of [
      ['cast5-cbc', 5],
      ['rc4', 1],
    ] as const) {
      const algorithm = cipher(name);
      const iv = algorithm.ivBytes ? new Uint8Array(algorithm.ivBytes) : null;
      assert.throws(
        () => gcrypt.cipher(algorithm, 'encrypt', new Uint8Array(length).fill(7), iv),
        (error: { code?: string; reason?: { code: string } }) =>
          error.code === 'ALGORITHM_UNAVAILABLE' && error.reason?.code === 'BAD_KEY_LENGTH',
        name,
      );
    }
  });

  test('what it refuses of OCB another driver does, and that is told', () => {
    const key = new Uint8Array(16).fill(1);
    const algorithm = aead('aes-128-ocb');
    const [text, none] = [new Uint8Array(40), new Uint8Array(0)];
    assert.throws(() => gcrypt.aead(algorithm, 'encrypt', key, { tagBytes: 10 }), {
      code: 'ALGORITHM_UNAVAILABLE',
      message: /no OCB tags of 10 bytes/,
    });
    const session = gcrypt.aead(algorithm, 'encrypt', key);
    const seal = (iv: Uint8Array) => {
      const [output, tag] = [new Uint8Array(40), new Uint8Array(16)];
      session.seal(iv, none, text, output, tag);
      return Buffer.concat([output, tag]);
    };
    const right = seal(new Uint8Array(12));
    assert.throws(() => seal(new Uint8Array(1)), {
      code: 'ALGORITHM_UNAVAILABLE',
      message: /no nonce of 1 bytes/,
    });
    assert.deepEqual(seal(new Uint8Array(12)), right, 'the session goes on');
    session.close();
    // With libcrypto behind it, nobody notices but those who listen.
    const iv = new Uint8Array(7);
    const heard: string[] = [];
    const instance = open({
      drivers: ['gcrypt', 'libcrypto'],
      onFallback: ({ driver }) => heard.push(driver),
    });
    const sealed = instance.encrypt('aes-128-ocb', key, iv, text);
    assert.deepEqual(sealed, encrypt('aes-128-ocb', key, iv, text));
    assert.deepEqual(heard, ['libcrypto']);
  });

  test('a CCM message that its nonce leaves no room for is refused, not cut', () => {
    const session = gcrypt.aead(aead('aes-128-ccm'), 'encrypt', new Uint8Array(16));
    const [tag, none] = [new Uint8Array(16), new Uint8Array(0)];
    const seal = (ivBytes: number, length: number) =>
      session.seal(new Uint8Array(ivBytes), none, new Uint8Array(length), new Uint8Array(length), tag);
    seal(13, 0xffff);
    assert.throws(() => seal(13, 0x1_0000), { code: 'MESSAGE_TOO_LARGE' });
    seal(12, 0x1_0000);
    session.close();
  });

  test('ChaCha20 goes on where its 32-bit counter ends as OpenSSL does, and hands over there', () => {
    const random = new Random('counter');
    const [key, iv, input] = [random.bytes(32), random.bytes(16), random.bytes(640)];
    iv.fill(0xff, 1, 4);
    iv[0] = 0xfe;
    for (const next of [0x00, 0xff]) {
      iv[4] = next;
      const wanted = run(libcrypto, 'chacha20', 'encrypt', key, iv, input);
      assert.deepEqual(run(gcrypt, 'chacha20', 'encrypt', key, iv, input), wanted);
      for (const driver of [gcrypt, libcrypto, getDriver('node')]) {
        const first = driver.cipher(cipher('chacha20'), 'encrypt', key, iv);
        const output = new Uint8Array(256);
        first.update(input.subarray(0, 256), output);
        const rest = run(libcrypto, 'chacha20', 'encrypt', key, first.chain(), input.subarray(256));
        first.close();
        assert.deepEqual(Buffer.concat([output, rest]), Buffer.from(wanted), driver.name);
      }
    }
  });

  test('each XTS data unit has the IV as it was set, and at most 2^20 blocks', () => {
    const random = new Random('units');
    const [key, iv, input] = [random.bytes(64), random.bytes(16), random.bytes(528)];
    const session = gcrypt.cipher(cipher('serpent-256-xts'), 'encrypt', key, iv);
    const [first, second] = [new Uint8Array(528), new Uint8Array(528)];
    session.update(input, first);
    session.update(input, second);
    assert.deepEqual(second, first);
    const large = new Uint8Array(2 ** 24 + 1);
    assert.throws(() => session.update(large, large), { code: 'MESSAGE_TOO_LARGE' });
    session.update(input, second);
    assert.deepEqual(second, first);
    session.close();
  });

  test('an HMAC can be copied, a CMAC says that it cannot and loses nothing', () => {
    const mac = gcrypt.mac(findAlgorithm('cmac-aes-128') as MacAlgorithm, new Uint8Array(16));
    const data = new Uint8Array(20);
    mac.update(data);
    assert.throws(() => mac.clone(), { code: 'DRIVER_FAILED' });
    const [one, other] = [new Uint8Array(16), new Uint8Array(16)];
    mac.digest(one);
    mac.once(data, other);
    assert.deepEqual(one, other);
    mac.close();
    const hmac = gcrypt.mac(findAlgorithm('hmac-sha256') as MacAlgorithm, new Uint8Array(0));
    const copy = hmac.clone();
    const [left, right] = [new Uint8Array(32), new Uint8Array(32)];
    hmac.digest(left);
    copy.digest(right);
    assert.deepEqual(left, right);
    assert.throws(() => hmac.update(data), /restart\(\) the session first/);
    for (const session of [hmac, copy]) session.close();
  });

  test('closing gives back what opening took, and so does forgetting', async () => {
    // Some 4 KiB each: kept, they would be 160 MB.
    const algorithm = aead('aes-256-gcm');
    const key = new Uint8Array(32);
    const open = () => gcrypt.aead(algorithm, 'encrypt', key);
    for (let i = 0; i < 1000; i++) open().close();
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 40_000; i++) open().close();
    assert.ok(process.memoryUsage.rss() - before < 60e6, 'closed sessions');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    for (let i = 0; i < 40_000; i++) {
      open();
      if (i % 4000 !== 0) continue;
      collect();
      await breathe();
    }
    assert.ok(process.memoryUsage.rss() - before < 90e6, 'forgotten sessions');
  });
});

/** What a program with this text prints, as JSON. */
function inProcess(text: string, env: NodeJS.ProcessEnv = {}): unknown {
  const program = `import { readFileSync } from 'node:fs';
    const home = ${JSON.stringify(import.meta.resolve('#src/index.js').replace(/index\.js$/, ''))};
    const load = (path) => import(home + path);
    const maps = () => readFileSync('/proc/self/maps', 'latin1').match(/libgcrypt/)?.[0] ?? null;
    ${text}`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: undefined, ...env },
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

test('it is not loaded for what OpenSSL has', {
  ...here,
  skip: process.platform !== 'linux' || here.skip,
}, () => {
  const found = inProcess(`
    const { open } = await load('index.js');
    const seen = [maps()];
    const instance = open();
    instance.route('aes-128-cbc');
    instance.encrypt('aes-256-gcm', new Uint8Array(32), new Uint8Array(12), new Uint8Array(10));
    seen.push(maps());
    instance.route('serpent-256-cbc');
    seen.push(maps() !== null);
    console.log(JSON.stringify(seen));`);
  assert.deepEqual(found, [null, null, true]);
});

test('somebody else in the process may have set libgcrypt up before', here, () => {
  const found = inProcess(`
    const { openLibrary } = await load('linux/ffi.js');
    const { library } = openLibrary('libgcrypt.so.20');
    const control = library.func('unsigned int gcry_control(int command, ...)');
    library.func('const char *gcry_check_version(const char *wanted)')(null);
    control(38, 'int', 0);
    const { getDriver } = await load('drivers/registry.js');
    const { findAlgorithm } = await load('algorithms.js');
    const session = getDriver('gcrypt').hash(findAlgorithm('sha256'));
    const output = Buffer.alloc(32);
    session.once(Buffer.from('abc'), output);
    console.log(JSON.stringify(output.toString('hex')));`);
  assert.equal(found, 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('threads may use it at the same time', here, () => {
  const found = inProcess(`
    const { Worker } = await import('node:worker_threads');
    const { createHash } = await import('node:crypto');
    const text = (data) => "import('node:worker_threads').then(({ parentPort }) => Promise.all(['drivers/registry.js', 'algorithms.js'].map((path) => import(" + data + " + path)))"
      + ".then(([{ getDriver }, { findAlgorithm }]) => {"
      + "const session = getDriver('gcrypt').hash(findAlgorithm('sha256')); const output = Buffer.alloc(32);"
      + "for (let i = 0; i < 2000; i++) session.once(i === 0 ? Buffer.from('abc') : output, output);"
      + "parentPort.postMessage(output.toString('hex')); }))";
    const answers = await Promise.all([1, 2, 3, 4].map(() => new Promise((resolve, reject) => {
      const worker = new Worker(text(JSON.stringify(home)), { eval: true });
      worker.once('message', resolve);
      worker.once('error', reject);
    })));
    let wanted = Buffer.from('abc');
    for (let i = 0; i < 2000; i++) wanted = createHash('sha256').update(wanted).digest();
    console.log(JSON.stringify(answers.map((answer) => answer === wanted.toString('hex'))));`);
  assert.deepEqual(found, [true, true, true, true]);
});

test('FIPS mode: what is not approved is not offered, with the reason', here, (t) => {
  const found = inProcess(
    `
    const { getDriver } = await load('drivers/registry.js');
    const { algorithms } = await load('algorithms.js');
    const driver = getDriver('gcrypt');
    const told = Object.fromEntries(algorithms().map((algorithm) => {
      const support = driver.supports(algorithm);
      return [algorithm.name, support.supported ? 'yes' : support.reason.code + ': ' + support.reason.message];
    }));
    console.log(JSON.stringify({ probe: driver.probe(), told }));`,
    { LIBGCRYPT_FORCE_FIPS_MODE: '1' },
  ) as { probe: { available: boolean; notes?: string[] }; told: Record<string, string> };
  // Versions before 1.10 know another switch only, which is the whole machine's.
  if (found.probe.available && found.probe.notes?.length === 0)
    return t.skip('this libgcrypt has no such switch');
  if (!found.probe.available) return;
  assert.match(found.probe.notes?.join() ?? '', /FIPS mode/);
  assert.equal(found.told['aes-256-cbc'], 'yes');
  assert.equal(found.told['sha256'], 'yes');
  for (const name of ['serpent-256-cbc', 'des-cbc', 'md5', 'aes-256-gcm']) {
    assert.match(found.told[name]!, /^ALGORITHM_NOT_OFFERED: libgcrypt \S+ is in FIPS mode/, name);
  }
});
