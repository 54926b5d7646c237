/** The readers of known answers, proved by node:crypto: every vector that it can compute must come out as read. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Answer, answers, fromEcb, type Job } from '../helpers/oracle.js';
import {
  matches,
  monteCarloFor,
  monteCarloStep,
  type Vector,
  vectorsFolder,
  vectorsFor,
} from '../helpers/vectors.js';

/**
 * How many vectors there are at least, by algorithm: encrypt, decrypt (of them to be refused), digest. The package of
 * Debian 12 has exactly these.
 */
const COUNTS: Record<string, [encrypt: number, decrypt: number, refused: number, digest: number]> = {
  ...sized('aes', 'ecb cbc cfb cfb8 cfb1 ofb', [294, 360, 415]),
  ...sized('aes', 'ctr', [3, 3, 3]),
  'aes-128-xts': [800, 800, 0, 0],
  'aes-256-xts': [600, 600, 0, 0],
  'aes-128-gcm': [7875, 7875, 4011, 0],
  'aes-192-gcm': [7875, 7875, 3978, 0],
  'aes-256-gcm': [7875, 7875, 3919, 0],
  'aes-128-ccm': [720, 240, 160, 0],
  'aes-192-ccm': [720, 240, 160, 0],
  'aes-256-ccm': [720, 240, 160, 0],
  'aes-128-ocb': [71, 71, 0, 0],
  ...sized('camellia', 'ecb', [1280, 1280, 1280]),
  ...sized('camellia', 'cbc cfb ofb', [4, 4, 4]),
  'sm4-ecb': [4, 4, 0, 0],
  ...modes('sm4', 'cbc ctr cfb ofb', 2),
  'seed-ecb': [4, 4, 0, 0],
  'seed-cbc': [2, 2, 0, 0],
  ...modes('seed', 'cfb ofb', 20),
  'des-ede3': [265, 265, 0, 0],
  ...modes('des-ede3', 'cbc cfb cfb8 cfb1 ofb', 265),
  'des-ede': [255, 255, 0, 0],
  ...modes('des-ede', 'cbc cfb ofb', 255),
  ...modes('des', 'ecb cbc cfb cfb8 cfb1 ofb', 245),
  ...modes('cast5', 'cbc cfb ofb', 20),
  ...modes('cast5', 'ecb ctr', 3),
  'bf-ecb': [55, 55, 0, 0],
  ...modes('bf', 'cbc cfb ofb', 1),
  chacha20: [3, 3, 0, 0],
  'chacha20-poly1305': [70, 71, 1, 0],
  rc4: [288, 0, 0, 0],
  'rc4-40': [36, 0, 0, 0],
  ...digests({ md5: 7, ripemd160: 8, sm3: 6, blake2b512: 7, blake2s256: 7 }),
  ...digests({
    sha1: 129,
    sha224: 129,
    sha256: 129,
    sha384: 257,
    sha512: 257,
    'sha512-224': 257,
    'sha512-256': 257,
  }),
  ...digests({
    'sha3-224': 245,
    'sha3-256': 237,
    'sha3-384': 205,
    'sha3-512': 173,
    shake128: 1563,
    shake256: 1619,
  }),
  ...digests({ 'hmac-md5': 7, 'hmac-sha1': 7, 'hmac-ripemd160': 7 }),
  ...digests({ 'hmac-sha224': 6, 'hmac-sha256': 6, 'hmac-sha384': 6, 'hmac-sha512': 6 }),
  ...digests({ 'cmac-aes-128': 4, 'cmac-aes-192': 4, 'cmac-aes-256': 4, 'cmac-des-ede3': 8 }),
};

type Counts = Record<string, [number, number, number, number]>;

function sized(family: string, list: string, each: [number, number, number]): Counts {
  return Object.assign({}, ...[128, 192, 256].map((bits, i) => modes(`${family}-${bits}`, list, each[i]!)));
}

function modes(stem: string, list: string, each: number): Counts {
  return Object.fromEntries(list.split(' ').map((mode) => [`${stem}-${mode}`, [each, each, 0, 0]]));
}

function digests(counts: Record<string, number>): Counts {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, [0, 0, 0, count]]));
}

function jobOf(vector: Vector): Job {
  const { algorithm, op, key, iv, aad, input, tag, output } = vector;
  return { algorithm, op, key, iv, aad, input, tag, outputBytes: output.length };
}

const byAlgorithm = new Map<string, Vector[]>();
for (const vector of vectorsFor()) {
  const list = byAlgorithm.get(vector.algorithm);
  if (list) list.push(vector);
  else byAlgorithm.set(vector.algorithm, [vector]);
}

test('every file of the package yields what is in it', () => {
  const counted: Counts = {};
  for (const [name, list] of byAlgorithm) {
    const of = (op: Vector['op']) => list.filter((vector) => vector.op === op).length;
    const refused = list.filter((vector) => vector.fail).length;
    counted[name] = [of('encrypt'), of('decrypt'), refused, of('digest')];
  }
  for (const [name, least] of Object.entries(COUNTS)) {
    const found = counted[name] ?? [0, 0, 0, 0];
    assert.ok(
      found.every((count, i) => count >= least[i]!),
      `${name}: ${found} found, ${least} expected`,
    );
  }
  assert.deepEqual(
    Object.keys(counted).filter((name) => !(name in COUNTS)),
    [],
  );
});

for (const [name, list] of byAlgorithm) {
  test(`${name}: node:crypto gives the ${list.length} answers that were read`, () => {
    const given = answers(list.map(jobOf));
    assert.ok(given, 'node:crypto cannot do it, so nothing proves the reader');
    for (const [i, vector] of list.entries()) {
      const { output, tag, refused }: Answer = given[i]!;
      const where = `${vector.file}, ${vector.at}, ${vector.op}`;
      assert.equal(refused ?? false, vector.fail ?? false, `${where}: refused?`);
      if (vector.fail) continue;
      assert.ok(matches(vector, output), `${where}: ${Buffer.from(output).toString('hex')}`);
      if (vector.op === 'encrypt' && vector.tag)
        assert.deepEqual(Buffer.from(tag!), Buffer.from(vector.tag), where);
    }
  });
}

for (const chain of monteCarloFor()) {
  test(`${chain.algorithm}: a Monte Carlo chain of ${chain.checkpoints.length} checkpoints`, () => {
    assert.equal(chain.checkpoints.length, 100);
    const digest = (input: Uint8Array) =>
      answers([{ algorithm: chain.algorithm, op: 'digest', input }])![0]!.output;
    let seed = chain.seed;
    // Each step is a thousand digests; three show that the chain was read and is walked rightly.
    for (const [i, checkpoint] of chain.checkpoints.slice(0, 3).entries()) {
      seed = monteCarloStep(chain.algorithm, seed, digest);
      assert.deepEqual(Buffer.from(seed), Buffer.from(checkpoint), `checkpoint ${i}`);
    }
  });
}

test('the modes that are made from ECB are those of OpenSSL', () => {
  const key = Uint8Array.from({ length: 64 }, (_, i) => i * 5 + 1);
  const iv = new Uint8Array(16).fill(255);
  for (let length = 16; length <= 130; length++) {
    const input = Uint8Array.from({ length }, (_, i) => i * 3);
    for (const [op, encrypt] of [
      ['encrypt', true],
      ['decrypt', false],
    ] as const) {
      const xts = answers([{ algorithm: 'aes-256-xts', op, key, iv, input }])![0]!.output;
      assert.deepEqual(
        fromEcb.xts(encrypt, 'aes-256-ecb', key, iv, input),
        Uint8Array.from(xts),
        `xts ${op} ${length}`,
      );
      const short = key.subarray(0, 32);
      const ctr = answers([{ algorithm: 'aes-256-ctr', op, key: short, iv, input }])![0]!.output;
      assert.deepEqual(
        fromEcb.ctr('aes-256-ecb', short, iv, input),
        Uint8Array.from(ctr),
        `ctr ${op} ${length}`,
      );
    }
  }
});

test('only what is wanted is read', () => {
  const names = new Set(
    [...vectorsFor((algorithm) => algorithm.name === 'des-ede-cbc')].map((v) => v.algorithm),
  );
  assert.deepEqual([...names], ['des-ede-cbc']);
  const supports = (algorithm: { name: string }) => ({ supported: algorithm.name.startsWith('cmac-') });
  assert.equal([...vectorsFor(supports)].length, 20);
  assert.equal([...monteCarloFor((algorithm) => algorithm.name === 'sha1')].length, 1);
});

test('a known part of an output is compared, and no more', () => {
  const vector = (rest: Partial<Vector>): Vector => ({
    file: '',
    at: '',
    algorithm: '',
    op: 'encrypt',
    iv: null,
    input: new Uint8Array(),
    output: Uint8Array.of(1, 2),
    ...rest,
  });
  assert.ok(matches(vector({}), Uint8Array.of(1, 2)));
  assert.ok(!matches(vector({}), Uint8Array.of(1, 3)));
  assert.ok(!matches(vector({}), Uint8Array.of(1, 2, 3)));
  assert.ok(matches(vector({ offset: 2 }), Uint8Array.of(9, 9, 1, 2)));
  assert.ok(!matches(vector({ offset: 2 }), Uint8Array.of(1, 2, 9, 9)));
  assert.ok(matches(vector({ bits: 3, output: Uint8Array.of(0b101_00000) }), Uint8Array.of(0b101_11111)));
  assert.ok(!matches(vector({ bits: 3, output: Uint8Array.of(0b101_00000) }), Uint8Array.of(0b100_00000)));
  assert.ok(matches(vector({ bits: 9, output: Uint8Array.of(7, 128) }), Uint8Array.of(7, 255)));
  assert.ok(!matches(vector({ bits: 9, output: Uint8Array.of(7, 128) }), Uint8Array.of(6, 255)));
});

test('a folder without vectors is refused with the way to get them', () => {
  const before = process.env['HWCRYPT_VECTORS'];
  process.env['HWCRYPT_VECTORS'] = mkdtempSync(join(tmpdir(), 'hwcrypt-'));
  try {
    assert.throws(vectorsFolder, /apt-get download python3-cryptography-vectors/);
  } finally {
    if (before === undefined) delete process.env['HWCRYPT_VECTORS'];
    else process.env['HWCRYPT_VECTORS'] = before;
  }
});
