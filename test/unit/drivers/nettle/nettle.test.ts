/** What is particular to the driver `nettle`: prototypes, reasons, loading, and where its library aborts or knows fewer lengths. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type AeadAlgorithm,
  type Algorithm,
  algorithms,
  type CipherAlgorithm,
  findAlgorithm,
} from '#src/algorithms.js';
import { nettle } from '#src/drivers/nettle/index.js';
import { loadNettle, PARAMETERS } from '#src/drivers/nettle/library.js';
import { Memory } from '#src/drivers/nettle/memory.js';
import { answers } from '../../../helpers/oracle.js';
import { Random } from '../../../helpers/random.js';

const HEADERS = '/usr/include/nettle';
const loaded = loadNettle().nettle;
const absent = loaded ? false : 'libnettle is not installed (libnettle8)';

const named = <A extends Algorithm>(name: string): A => findAlgorithm(name) as A;

/** What a parameter takes in a call: an address, a size, an int. */
function kindOf(parameter: string): string {
  if (/\*|_func\b|uintptr_t/.test(parameter)) return 'address';
  return /size_t/.test(parameter) ? 'size' : 'int';
}

test('prototypes take what the headers say', (t) => {
  if (!existsSync(HEADERS)) return t.skip('nettle’s headers are not installed (nettle-dev)');
  const text = readdirSync(HEADERS)
    .map((name) => readFileSync(join(HEADERS, name), 'utf8'))
    .join('\n')
    .replace(/\/\*[\s\S]*?\*\//g, '');
  let seen = 0;
  for (const [symbol, own] of Object.entries(PARAMETERS)) {
    const name = symbol.slice('nettle_'.length);
    const declared = new RegExp(`\\b${name}\\s*\\(([^;{#]*?)\\)\\s*;`).exec(text);
    // What came after the version whose headers these are.
    if (!declared) continue;
    seen++;
    const kinds = (list: string) => list.split(',').map(kindOf);
    assert.deepEqual(kinds(own), kinds(declared[1]!), symbol);
  }
  assert.ok(seen > 50, `${seen} functions were found`);
});

test('what is not there has a reason', { skip: absent }, () => {
  const reasons = new Map<string, string>();
  for (const algorithm of algorithms()) {
    const support = nettle.supports(algorithm);
    if (!support.supported) reasons.set(algorithm.name, support.reason.message);
  }
  assert.match(reasons.get('aes-128-ofb')!, /^nettle has no aes-128-ofb$/);
  assert.match(reasons.get('blake2b512')!, /^nettle has no blake2b512$/);
  const { minor } = loaded!;
  for (const [name, since] of [
    ['sm4-cbc', 9],
    ['sm3', 8],
    ['shake128', 10],
    ['aes-128-ocb', 10],
    ['aes-128-xts', 5],
  ] as const) {
    assert.equal(reasons.has(name), minor < since, name);
    if (minor >= since) continue;
    assert.match(reasons.get(name)!, new RegExp(`^nettle 3\\.${minor} (has no|is not used for) ${name}`));
    const support = nettle.supports(named(name));
    assert.equal(!support.supported && support.reason.cure, `install nettle 3.${since} or later`);
  }
  for (const name of ['serpent-256-xts', 'twofish-192-gcm', 'camellia-192-gcm', 'cmac-camellia-256'])
    assert.ok(!reasons.has(name), `${name}: ${reasons.get(name)}`);
});

test('its name can be pinned, and no other', { skip: absent }, () => {
  const algorithm = named<CipherAlgorithm>('serpent-256-cbc');
  const who = nettle.implementation(algorithm)!;
  assert.equal(who.kernelDriver, `libnettle-3.${loaded!.minor}`);
  assert.equal(who.hardware, 'no');
  assert.ok(nettle.supports(algorithm, { kernelDriver: who.kernelDriver }).supported);
  assert.ok(!nettle.supports(algorithm, { kernelDriver: 'libnettle-2.7' }).supported);
  assert.throws(
    () => nettle.cipher(algorithm, 'encrypt', new Uint8Array(32), new Uint8Array(16), { kernelDriver: 'x' }),
    { code: 'ALGORITHM_UNAVAILABLE' },
  );
});

test('nettle is loaded when it is asked for something, not before', { skip: absent }, () => {
  const driver = fileURLToPath(import.meta.resolve('#src/drivers/nettle/index.js'));
  const script = `
    const { readFileSync } = await import('node:fs');
    const { nettle } = await import(${JSON.stringify(driver)});
    const there = () => readFileSync('/proc/self/maps', 'utf8').includes('libnettle');
    const before = there();
    nettle.probe();
    console.log(before, there());`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  assert.equal(stdout.trim(), 'false true', stderr);
});

test('parts of a block of memory begin on cache lines, and are wiped together', { skip: absent }, () => {
  const sizes = [1, 63, 64, 65, 4168];
  const memory = new Memory(sizes);
  const parts = sizes.map((size) => memory.take(size));
  for (const [i, { address, bytes }] of parts.entries()) {
    assert.equal(address % 64, 0);
    assert.equal(bytes.length, sizes[i]);
    bytes.fill(i + 1);
  }
  for (const [i, { bytes }] of parts.entries()) assert.ok(bytes.every((byte) => byte === i + 1));
  assert.throws(() => memory.take(1));
  memory.wipe();
  for (const { bytes } of parts) assert.ok(bytes.every((byte) => byte === 0));
});

describe('where libnettle itself would abort or knows fewer lengths', { skip: absent }, () => {
  test('a CCM text that its nonce cannot count', () => {
    const algorithm = named<AeadAlgorithm>('aes-128-ccm');
    const iv = new Uint8Array(13);
    using session = nettle.aead(algorithm, 'encrypt', new Uint8Array(16));
    const seal = (length: number) => {
      const tag = new Uint8Array(16);
      session.seal(iv, new Uint8Array(), new Uint8Array(length), new Uint8Array(length), tag);
      return tag;
    };
    assert.throws(() => seal(0x10000), { code: 'MESSAGE_TOO_LARGE' });
    const input = new Uint8Array(0xffff);
    const [right] = answers([
      { algorithm: algorithm.name, op: 'encrypt', key: new Uint8Array(16), iv, input },
    ])!;
    assert.deepEqual(Buffer.from(seal(0xffff)), Buffer.from(right!.tag!));
  });

  for (const name of ['aes-128-gcm', 'chacha20-poly1305']) {
    test(`${name}: additional data in any pieces, and none after the text`, () => {
      const algorithm = named<AeadAlgorithm>(name);
      const random = new Random(`${name} aad`);
      const [key, iv] = [random.bytes(algorithm.keyBytes), random.bytes(12)];
      using session = nettle.aead(algorithm, 'encrypt', key);
      for (let round = 0; round < 40; round++) {
        const aad = random.bytes(random.integer(0, 80));
        const input = random.bytes(random.integer(0, 100));
        const output = new Uint8Array(input.length);
        const tag = new Uint8Array(16);
        session.begin(iv);
        let at = 0;
        for (const piece of random.pieces(aad.length, 1)) {
          session.aad(aad.subarray(at, at + piece));
          at += piece;
        }
        session.update(input, output);
        if (input.length > 0) {
          assert.throws(() => session.aad(aad), { code: 'SESSION_UNUSABLE' });
        }
        session.finish(tag);
        const [right] = answers([{ algorithm: name, op: 'encrypt', key, iv, aad, input }])!;
        assert.deepEqual(Buffer.from(output), Buffer.from(right!.output));
        assert.deepEqual(Buffer.from(tag), Buffer.from(right!.tag!));
        assert.throws(() => session.update(input, output), { code: 'SESSION_UNUSABLE' });
      }
    });
  }

  test('weak keys are keys', () => {
    const input = new Random('weak').bytes(64);
    for (const [name, key] of [
      ['des-cbc', '0101010101010101'],
      ['des-cbc', 'fe01fe01fe01fe01'],
      ['des-ede3-cbc', '0101010101010101'.repeat(3)],
    ] as const) {
      const algorithm = named<CipherAlgorithm>(name);
      const job = {
        algorithm: name,
        op: 'encrypt' as const,
        key: new Uint8Array(Buffer.from(key, 'hex')),
        iv: new Uint8Array(8),
        input,
      };
      const [right] = answers([job]) ?? [];
      if (!right) continue;
      using session = nettle.cipher(algorithm, 'encrypt', job.key, job.iv);
      const output = new Uint8Array(input.length);
      session.update(input, output);
      assert.deepEqual(Buffer.from(output), Buffer.from(right.output), `${name} ${key}`);
    }
  });

  test('ChaCha20 past the end of its 32-bit counter goes on as OpenSSL does', () => {
    const name = 'chacha20';
    const random = new Random(name);
    const [key, iv, input] = [random.bytes(32), random.bytes(16), random.bytes(1000)];
    iv.fill(0xff, 1, 8);
    iv[0] = 0xfe;
    const [right] = answers([{ algorithm: name, op: 'encrypt', key, iv, input }])!;
    using session = nettle.cipher(named<CipherAlgorithm>(name), 'encrypt', key, iv);
    const output = new Uint8Array(input.length);
    session.update(input, output);
    // What follows the end of the first two words is for no standard to say: only up to there.
    assert.deepEqual(Buffer.from(output.subarray(0, 128)), Buffer.from(right!.output.subarray(0, 128)));
    iv.fill(0, 4, 8);
    const [carried] = answers([{ algorithm: name, op: 'encrypt', key, iv, input }])!;
    session.restart(iv);
    session.update(input, output);
    assert.deepEqual(Buffer.from(output), Buffer.from(carried!.output));
  });
});
