/** Keyslots that cryptsetup made give the volume key that it tells; what asks for too much is refused before it is tried. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findAlgorithm, type HashAlgorithm } from '#src/algorithms.js';
import { HwcryptError } from '#src/errors.js';
import { readHeader } from '#src/luks/header/read.js';
import { merge, split } from '#src/luks/keyslot/af.js';
import { kdfLimits } from '#src/luks/keyslot/kdf.js';
import { requireMet, type Unlocked, unlock } from '#src/luks/keyslot/unlock.js';
import { Router } from '#src/routing/router.js';
import {
  bytesOf,
  CHEAP,
  changed,
  cryptsetup,
  format,
  memory,
  metadataOf,
  noCryptsetup,
  PASSPHRASE,
  SMALL,
  volumeKey,
  withMetadata,
} from '../../helpers/luks.js';
import { Random } from '../../helpers/random.js';
import { scratch } from '../cli/helpers.js';

const skip = noCryptsetup;
const folder = scratch();
const path = (name: string): string => join(folder, name);
const router = new Router();

const opened = (image: Buffer, passphrase = PASSPHRASE, keyslot?: number): Promise<Unlocked> => {
  const source = memory(image);
  const limits = kdfLimits();
  return unlock(source, readHeader(source), {
    passphrase: Buffer.from(passphrase),
    router,
    limits,
    keyslot,
  });
};

const refusal = async (image: Buffer, passphrase?: string): Promise<HwcryptError> => {
  try {
    await opened(image, passphrase);
  } catch (error) {
    assert.ok(error instanceof HwcryptError, String((error as Error).stack));
    return error;
  }
  throw new Error('it was opened');
};

const has = (name: string): boolean => {
  const algorithm = findAlgorithm(name);
  if (!algorithm) return false;
  try {
    router.route(algorithm);
    return true;
  } catch {
    return false;
  }
};

// Each row varies what the others do not: version, KDF, hash, cipher, key length.
const IMAGES: readonly [args: readonly string[], needs: string][] = [
  [[...CHEAP.pbkdf2, ...SMALL], 'aes-256-xts'],
  [[...CHEAP.argon2i, ...SMALL, '-c', 'aes-xts-plain64', '-s', '256'], 'aes-128-xts'],
  [[...CHEAP.argon2id, ...SMALL, '-c', 'aes-cbc-essiv:sha256', '-s', '256'], 'aes-256-cbc'],
  [[...CHEAP.argon2id, ...SMALL, '-h', 'sha512', '-c', 'aes-cbc-plain64', '-s', '128'], 'aes-128-cbc'],
  [[...CHEAP.pbkdf2, ...SMALL, '-h', 'ripemd160'], 'aes-256-xts'],
  [[...CHEAP.pbkdf2, ...SMALL, '-h', 'whirlpool'], 'whirlpool'],
  [
    [...CHEAP.argon2id, ...SMALL, '--keyslot-cipher', 'aes-cbc-plain64', '--keyslot-key-size', '256'],
    'aes-256-cbc',
  ],
  [['--type', 'luks1', '--pbkdf-force-iterations', '1000', '-h', 'sha1', '-s', '256'], 'aes-128-xts'],
  [
    ['--type', 'luks1', '--pbkdf-force-iterations', '1000', '-c', 'aes-cbc-essiv:sha256', '-s', '192'],
    'aes-192-cbc',
  ],
  [
    [
      '--type',
      'luks1',
      '--pbkdf-force-iterations',
      '1000',
      '-c',
      'aes-cbc-plain',
      '-h',
      'sha512',
      '-s',
      '256',
    ],
    'aes-256-cbc',
  ],
];

for (const [args, needs] of IMAGES) {
  test(`cryptsetup luksFormat ${args.join(' ')}`, { skip }, async (t) => {
    if (!has(needs)) return t.skip(`no driver has ${needs}`);
    const name = path('image');
    format(name, 8 * 2 ** 20, args);
    const image = bytesOf(name);
    const { volumeKey: key, keyslot } = await opened(image);
    assert.equal(key.toString('hex'), volumeKey(name));
    assert.equal(keyslot, 0);
    const error = await refusal(image, 'wrong');
    assert.equal(error.code, 'LUKS_NO_KEYSLOT');
    assert.ok(!error.message.includes('wrong'));
  });
}

test('nine keyslots, of which one is first, one by name only, and some are gone', { skip }, async () => {
  const name = path('slots');
  format(name, 8 * 2 ** 20, [...CHEAP.pbkdf2, ...SMALL]);
  const add = (passphrase: string): void => {
    cryptsetup(
      [
        'luksAddKey',
        '--batch-mode',
        ...CHEAP.pbkdf2,
        '--key-file',
        '-',
        '--keyfile-size',
        String(PASSPHRASE.length),
        name,
      ],
      `${PASSPHRASE}${passphrase}\n`,
    );
  };
  const secrets = Array.from({ length: 8 }, (_, i) => `passphrase ${i + 1}`);
  for (const secret of secrets) add(secret);
  cryptsetup(['config', '--key-slot', '5', '--priority', 'prefer', name]);
  cryptsetup(['config', '--key-slot', '6', '--priority', 'ignore', name]);
  cryptsetup(['luksKillSlot', '--batch-mode', name, '2']);
  const image = bytesOf(name);
  const key = volumeKey(name);
  for (const [i, secret] of secrets.entries()) {
    if (i + 1 === 2 || i + 1 === 6) {
      assert.equal((await refusal(image, secret)).code, 'LUKS_NO_KEYSLOT');
      continue;
    }
    const { keyslot, volumeKey: own } = await opened(image, secret);
    assert.deepEqual([keyslot, own.toString('hex')], [i + 1, key]);
  }
  assert.equal((await opened(image, secrets[5], 6)).keyslot, 6);
  await assert.rejects(opened(image, PASSPHRASE, 2), /keyslot 2 is not in use/);
  await assert.rejects(opened(image, PASSPHRASE, 3), /keyslot 3 does not open/);
});

/** The image with some values of its metadata set. */
function altered(image: Buffer, values: Readonly<Record<string, unknown>>): Buffer {
  let json = metadataOf(image);
  for (const [place, value] of Object.entries(values)) json = changed(json, place.split('.'), value);
  return withMetadata(image, json);
}

test('headers that ask for too much are refused within a second, and nothing is allocated for them', {
  skip,
}, async () => {
  const name = path('hostile');
  format(name, 8 * 2 ** 20, [...CHEAP.argon2id, ...SMALL]);
  const image = bytesOf(name);
  const kdf = 'keyslots.0.kdf';
  const salt = JSON.parse(metadataOf(image)).keyslots['0'].kdf.salt;
  const cases: [Readonly<Record<string, unknown>>, RegExp][] = [
    [
      { [`${kdf}.memory`]: 2 ** 32 - 1 },
      /keyslot 0 needs 4096 GiB of memory for argon2id, and 4 GiB is the most/,
    ],
    [{ [`${kdf}.memory`]: 2 ** 22 + 1 }, /4 GiB is the most/],
    [{ [`${kdf}.time`]: 2 ** 32 - 1 }, /would take about/],
    [{ [`${kdf}.cpus`]: 4096, [`${kdf}.memory`]: 8 * 4096 }, /threads/],
    [{ [kdf]: { type: 'pbkdf2', hash: 'sha256', iterations: 2 ** 32 - 1, salt } }, /would take about/],
    [{ 'digests.0.iterations': 2 ** 32 - 1 }, /the digest of the volume key would take/],
    [{ 'keyslots.0.key_size': 1, 'keyslots.0.af.stripes': 250_000 }, /250000 stripes/],
    [{ 'keyslots.0.area.encryption': 'aes-xts-random' }, /IV of aes-xts-random/],
    [{ 'keyslots.0.area.encryption': 'aes-xts-plain64\n' }, /cipher aes-xts-plain64\\x0a/],
    [{ 'keyslots.0.af.hash': 'md17' }, /hash md17/],
  ];
  for (const [values, says] of cases) {
    const hostile = altered(image, values);
    const [start, before] = [performance.now(), process.memoryUsage().rss];
    const error = await refusal(hostile);
    assert.match(error.message, says);
    assert.match(error.code, /^(KDF_TOO_DEAR|LUKS_UNSUPPORTED)$/);
    // No time is asserted but the one that the format's users are promised, and that tenfold.
    assert.ok(performance.now() - start < 10_000, `${says}`);
    assert.ok(process.memoryUsage().rss - before < 2 ** 28, `${says}`);
  }
});

test('a keyslot that needs more memory than there is: said before it is tried', { skip }, async () => {
  format(path('memory'), 8 * 2 ** 20, [...CHEAP.argon2id, ...SMALL]);
  const source = memory(bytesOf(path('memory')));
  const limits = { memoryBytes: 32 * 1024, seconds: 10 };
  await assert.rejects(
    unlock(source, readHeader(source), { passphrase: Buffer.from(PASSPHRASE), router, limits }),
    { code: 'KDF_TOO_DEAR', message: /needs 64 KiB of memory for argon2id, and 32 KiB are available/ },
  );
});

test('requirements that are not met', { skip }, async () => {
  format(path('required'), 8 * 2 ** 20, [...CHEAP.pbkdf2, ...SMALL]);
  const image = bytesOf(path('required'));
  for (const [requirement, says] of [
    ['from-the-future', /can be looked at/],
    ['online-reencrypt-v2', /re-encryption is not finished/],
  ] as const) {
    const marked = altered(image, { 'config.requirements': { mandatory: [requirement] } });
    assert.throws(() => requireMet(readHeader(memory(marked))), says);
  }
  assert.equal(statSync(path('required')).size, 8 * 2 ** 20);
});

test('what was split is merged again, at lengths around those of the digest', () => {
  for (const name of ['sha1', 'sha256', 'sha512']) {
    const hash = findAlgorithm(name) as HashAlgorithm;
    for (const bytes of [1, 16, 19, 20, 21, 32, 33, 64, 65, 128]) {
      const key = new Random(`${name} ${bytes}`).bytes(bytes);
      const stripes = 50;
      const material = split(key, stripes, hash, router);
      assert.equal(material.length, bytes * stripes);
      assert.deepEqual(merge(material, bytes, stripes, hash, router), Buffer.from(key));
      material[0]! ^= 1;
      if (bytes > 1) assert.notDeepEqual(merge(material, bytes, stripes, hash, router), Buffer.from(key));
    }
  }
});
