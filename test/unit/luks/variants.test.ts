/**
 * Images of every kind, both ways: what cryptsetup made is opened here with the key that cryptsetup tells, what was made here cryptsetup opens, and
 * the sectors are those of the definition.
 *
 * Of the product of all kinds so many are tried that each two values meet; HWCRYPT_TEST_EVERY=1 tries all of it. Serpent and Twofish cryptsetup takes
 * from the kernel only, which need not have them: here its images are changed to have them. Those of its own are tried in kernel/luks.test.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findAlgorithm } from '#src/algorithms.js';
import { type FormatOptions, format as formatImage } from '#src/luks/change/format.js';
import { addKey, changeable } from '#src/luks/change/keys.js';
import { Device } from '#src/luks/device.js';
import { readHeader } from '#src/luks/header/read.js';
import { kdfLimits } from '#src/luks/keyslot/kdf.js';
import { unlock } from '#src/luks/keyslot/unlock.js';
import { Volume } from '#src/luks/volume.js';
import { Router } from '#src/routing/router.js';
import {
  changed,
  cryptsetup,
  format,
  metadataOf,
  noCryptsetup,
  PASSPHRASE,
  volumeKey,
  withMetadata,
} from '../../helpers/luks.js';
import { decryptSectors } from '../../helpers/luks-reference.js';
import { Random } from '../../helpers/random.js';
import { scratch } from '../cli/helpers.js';

const skip = noCryptsetup;
const folder = scratch();
const path = (name: string): string => join(folder, name);
const router = new Router({ onFallback: () => {} });
const limits = kdfLimits();
const EVERY = process.env['HWCRYPT_TEST_EVERY'] === '1';
const MIB = 2 ** 20;

type Values = Readonly<Record<string, readonly (string | number)[]>>;
type Row<V extends Values> = { readonly [K in keyof V]: V[K][number] };

/** All rows, or as few as a simple search finds in which each two values of different columns stand together. */
function* rows<const V extends Values>(values: V, label: string): Generator<Row<V>> {
  const names = Object.keys(values);
  if (EVERY) {
    let all: Record<string, string | number>[] = [{}];
    for (const name of names) {
      all = all.flatMap((row) => (values[name] ?? []).map((value) => ({ ...row, [name]: value })));
    }
    yield* all as unknown as Row<V>[];
    return;
  }
  const random = new Random(label);
  const pairsOf = (row: Record<string, string | number>): string[] =>
    names.flatMap((a, i) => names.slice(i + 1).map((b) => `${a}=${row[a]} ${b}=${row[b]}`));
  const open = new Set<string>();
  for (const [i, a] of names.entries()) {
    for (const b of names.slice(i + 1)) {
      for (const one of values[a] ?? [])
        for (const two of values[b] ?? []) open.add(`${a}=${one} ${b}=${two}`);
    }
  }
  while (open.size > 0) {
    let best: { row: Record<string, string | number>; news: number } | undefined;
    for (let i = 0; i < 200; i++) {
      const row = Object.fromEntries(
        names.map((name) => {
          const own = values[name] ?? [];
          return [name, own[random.integer(0, own.length - 1)] as string | number];
        }),
      );
      const news = pairsOf(row).filter((pair) => open.has(pair)).length;
      if (news > (best?.news ?? 0)) best = { row, news };
    }
    if (!best) continue;
    for (const pair of pairsOf(best.row)) open.delete(pair);
    yield best.row as Row<V>;
  }
}

/** The lesser and the larger key of a mode, in bits. */
const bitsOf = (mode: string, size: string): number =>
  (mode === 'xts-plain64' ? 256 : 128) * (size === 'short' ? 1 : 2);

async function keyOf(image: string, passphrase = PASSPHRASE, keyslot?: number): Promise<string> {
  const device = Device.open(image);
  try {
    const header = readHeader(device);
    const { volumeKey: key } = await unlock(device, header, {
      passphrase: Buffer.from(passphrase),
      keyslot,
      router,
      limits,
    });
    return key.toString('hex');
  } finally {
    device.close();
  }
}

/** Writes into the image at awkward places; what is on the disk then is what the definition says, and what is read what was written. */
async function checkPayload(
  image: string,
  header: string | undefined,
  dataOffset: number,
  spec: string,
  key: string,
  sectorBytes: number,
): Promise<void> {
  const passphrase = async (): Promise<Buffer> => Buffer.from(PASSPHRASE);
  const volume = await Volume.open({ image, header, access: 'write', passphrase, router, limits });
  const start = 3 * sectorBytes;
  const data = Buffer.from(new Random(`${spec} ${sectorBytes}`).bytes(3 * 4096 + 1));
  try {
    volume.payload.write(Buffer.from(data), start + 5);
    const seen = Buffer.alloc(data.length);
    volume.payload.read(seen, start + 5);
    assert.ok(seen.equals(data));
  } finally {
    volume.close();
  }
  const sectors = Math.ceil((data.length + 5) / sectorBytes);
  const from = dataOffset + start;
  const written = readFileSync(image).subarray(from, from + sectors * sectorBytes);
  const plain = decryptSectors(spec, Buffer.from(key, 'hex'), sectorBytes, written, start / 512);
  assert.ok(plain.subarray(5, 5 + data.length).equals(data));
}

/** Can a driver here do it? */
const isHere = (family: string, mode: string): boolean => {
  const algorithm = findAlgorithm(`${family}-256-${mode.slice(0, 3)}`);
  try {
    if (algorithm) router.route(algorithm);
    return algorithm !== undefined;
  } catch {
    return false;
  }
};

const COMMON = {
  family: ['aes', 'serpent', 'twofish'],
  mode: ['xts-plain64', 'cbc-essiv:sha256', 'cbc-plain64'],
  size: ['short', 'long'],
} as const;
const KDFS = {
  pbkdf2: ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'],
  argon2i: ['--pbkdf', 'argon2i', '--pbkdf-force-iterations', '4', '--pbkdf-memory', '32'],
  argon2id: ['--pbkdf', 'argon2id', '--pbkdf-force-iterations', '4', '--pbkdf-memory', '32'],
} as const;
/** Behind the largest header of them. */
const OFFSET = 2 * MIB + 65_536;
const LABEL = 'Größe ☃ 𝕏';

test('LUKS2 by cryptsetup: header sizes, detached or not, either copy gone', { skip }, async (t) => {
  let count = 0;
  // All of it would be 11664 images: what is about the header meets what is about the cipher in pairs only.
  const headers = [
    ...rows(
      {
        metadata: ['16k', '64k', '512k'],
        area: ['1m', '1028k'],
        place: ['in', 'out'],
        gone: ['no', '1', '2'],
      },
      'header',
    ),
  ];
  for (const row of rows(
    { ...COMMON, kdf: ['pbkdf2', 'argon2i', 'argon2id'], sector: [512, 1024, 2048, 4096] },
    'LUKS2',
  )) {
    const { family, mode, size, kdf, sector } = row;
    if (!isHere(family, mode)) continue;
    const { metadata, area, place, gone } = headers[count++ % headers.length] as (typeof headers)[number];
    const bits = bitsOf(mode, size);
    const where = JSON.stringify({ ...row, metadata, area, place, gone });
    const image = path('theirs');
    const header = place === 'out' ? path('header') : undefined;
    writeFileSync(path('header'), '');
    truncateSync(path('header'), 4 * MIB);
    format(image, 3 * MIB, [
      ...['--type', 'luks2', '-c', `aes-${mode}`, '-s', String(bits), '--sector-size', String(sector)],
      ...['--luks2-metadata-size', metadata, '--luks2-keyslots-size', area],
      ...['--label', LABEL, '--subsystem', LABEL],
      ...[...KDFS[kdf], ...(header ? ['--header', header] : ['--offset', String(OFFSET / 512)])],
    ]);
    const at = header ?? image;
    const made = readFileSync(at);
    const encryption = `${family}-${mode}`;
    const json = changed(metadataOf(made), ['segments', '0', 'encryption'], encryption);
    const bytes = family === 'aes' ? made : withMetadata(made, json);
    writeFileSync(at, bytes);
    const key = volumeKey(at);
    if (gone !== 'no') {
      const place = gone === '1' ? 0 : Number.parseInt(metadata, 10) * 1024;
      writeFileSync(at, bytes.fill(0xff, place, place + 600));
    }
    assert.equal(await keyOf(at), key, where);
    const found = Device.open(at);
    const { label, subsystem } = readHeader(found);
    found.close();
    assert.deepEqual([label, subsystem], [LABEL, LABEL], where);
    await checkPayload(image, header, header ? 0 : OFFSET, encryption, key, sector);
    // What is no data is as it was.
    const end = header ? bytes.length : OFFSET;
    assert.ok(readFileSync(at).subarray(0, end).equals(bytes.subarray(0, end)), where);
  }
  t.diagnostic(`${count} images`);
});

test('LUKS2 made here, for cryptsetup', { skip }, async (t) => {
  let count = 0;
  const argon2 = { iterations: 4, memoryKiB: 32, threads: 1 };
  const costs: Readonly<Record<string, FormatOptions['cost']>> = {
    pbkdf2: { type: 'pbkdf2', hash: 'sha512', iterations: 1000 },
    argon2i: { type: 'argon2i', ...argon2 },
    argon2id: { type: 'argon2id', ...argon2 },
  };
  for (const row of rows(
    {
      ...COMMON,
      kdf: Object.keys(costs),
      sector: [512, 1024, 2048, 4096],
      hash: ['sha1', 'sha256', 'sha512'],
    },
    'made',
  )) {
    const { family, mode, size, kdf, sector, hash } = row;
    if (!isHere(family, mode)) continue;
    count++;
    const image = path('ours');
    writeFileSync(image, '');
    truncateSync(image, 3 * MIB);
    const device = Device.open(image, 'write');
    const spec = `${family}-${mode}`;
    await formatImage(device, {
      ...{
        encryption: spec,
        keyBits: bitsOf(mode, size),
        sectorBytes: sector,
        hash,
        label: LABEL,
        subsystem: 'ß',
      },
      ...{
        dataOffset: 2 * MIB,
        metadataBytes: 2 * MIB,
        digestIterations: 1000,
        cost: costs[kdf] as FormatOptions['cost'],
        router,
        limits,
      },
      passphrases: [Buffer.from(PASSPHRASE)],
    });
    device.close();
    const key = await keyOf(image);
    if (family === 'aes') assert.equal(volumeKey(image), key, JSON.stringify(row));
    else assert.ok(cryptsetup(['luksDump', image]).includes(`cipher: ${spec}`), JSON.stringify(row));
    await checkPayload(image, undefined, 2 * MIB, spec, key, sector);
  }
  t.diagnostic(`${count} images`);
});

test('LUKS1 by cryptsetup', { skip }, async (t) => {
  let count = 0;
  // Of the other ciphers by qemu-img, below: LUKS1 encrypts keyslots as the data.
  for (const row of rows(
    { ...COMMON, family: ['aes'], hash: ['sha1', 'sha256', 'sha512'], place: ['in', 'out'] },
    'LUKS1',
  )) {
    const { family, mode, size, hash, place } = row;
    count++;
    const image = path('one');
    const header = place === 'out' ? path('header') : undefined;
    writeFileSync(path('header'), '');
    truncateSync(path('header'), 4 * MIB);
    format(image, 3 * MIB, [
      ...['--type', 'luks1', '-c', `${family}-${mode}`, '-s', String(bitsOf(mode, size)), '-h', hash],
      ...['--pbkdf-force-iterations', '1000', ...(header ? ['--header', header] : [])],
    ]);
    const key = volumeKey(header ?? image);
    assert.equal(await keyOf(header ?? image), key, JSON.stringify(row));
    await checkPayload(
      image,
      header,
      header ? 0 : readFileSync(image).readUInt32BE(104) * 512,
      `${family}-${mode}`,
      key,
      512,
    );
  }
  t.diagnostic(`${count} images`);
});

const noQemu = spawnSync('qemu-img', ['--version']).error ? 'qemu-img is not installed' : false;

// It takes a second for each, whatever it is told to take; in the guest cryptsetup makes some.

if (EVERY)
  test('LUKS1 by qemu-img, of the other ciphers', { skip: noQemu }, async (t) => {
    const plain = Buffer.from(new Random('qemu').bytes(MIB / 4));
    writeFileSync(path('plain'), plain);
    let count = 0;
    for (const { cipher, mode } of rows(
      {
        cipher: ['serpent-128', 'serpent-256', 'twofish-128', 'twofish-256'],
        mode: ['xts,ivgen-alg=plain64', 'cbc,ivgen-alg=essiv,ivgen-hash-alg=sha256', 'cbc,ivgen-alg=plain64'],
      },
      'qemu',
    )) {
      if (!isHere(cipher.slice(0, -4), mode)) continue;
      const args = [
        ...['convert', '--object', `secret,id=s,data=${PASSPHRASE}`, '-f', 'raw', '-O', 'luks'],
        ...[
          '-o',
          `key-secret=s,iter-time=10,cipher-alg=${cipher},cipher-mode=${mode}`,
          path('plain'),
          path('q'),
        ],
      ];
      // It gives up where the clock's ticks were too few for it.
      let made = spawnSync('qemu-img', args);
      for (let i = 0; i < 5 && made.status !== 0; i++) made = spawnSync('qemu-img', args);
      if (made.status !== 0) {
        t.diagnostic(`${cipher} ${mode}: ${made.stderr}`);
        continue;
      }
      count++;
      const passphrase = async (): Promise<Buffer> => Buffer.from(PASSPHRASE);
      const volume = await Volume.open({ image: path('q'), passphrase, router, limits });
      const seen = Buffer.alloc(plain.length);
      volume.payload.read(seen, 0);
      volume.close();
      assert.ok(seen.equals(plain), `${cipher} ${mode}`);
    }
    t.diagnostic(`${count} images`);
  });

test('32 keyslots, tokens, priorities, keys that open no data', { skip }, async () => {
  const image = path('full');
  format(image, 18 * MIB, [...KDFS.pbkdf2, '-s', '256']);
  const device = Device.open(image, 'write');
  const context = { router, limits };
  const unlocked = await unlock(device, changeable(device), {
    ...context,
    passphrase: Buffer.from(PASSPHRASE),
  });
  const wanted = {
    cost: { type: 'pbkdf2', hash: 'sha256', iterations: 1000 },
    encryption: 'aes-xts-plain64',
    keyBytes: 32,
    hash: 'sha256',
  } as const;
  // One of them opens nothing but itself; it is cryptsetup's.
  writeFileSync(path('unbound'), 'of nothing');
  cryptsetup(
    [
      ...['luksAddKey', '--batch-mode', '--unbound', '--key-size', '512', ...KDFS.pbkdf2, '--key-slot', '7'],
      ...[image, path('unbound')],
    ],
    'x',
  );
  cryptsetup(['token', 'add', '--key-description', 'Schlüssel ☃', '--key-slot', '0', image]);
  for (let id = 1; id < 32; id++) {
    if (id === 7) continue;
    await addKey(
      device,
      changeable(device),
      unlocked,
      { ...wanted, passphrase: Buffer.from(`p${id}`), keyslot: id },
      context,
    );
  }
  await assert.rejects(
    addKey(device, changeable(device), unlocked, { ...wanted, passphrase: Buffer.from('x') }, context),
    { code: 'LUKS_NO_ROOM' },
  );
  device.close();
  const key = unlocked.volumeKey.toString('hex');
  for (const id of [1, 8, 31]) {
    assert.equal(await keyOf(image, `p${id}`), key);
    cryptsetup(['open', '--test-passphrase', '--key-slot', String(id), '--key-file', '-', image], `p${id}`);
  }
  assert.equal(volumeKey(image, 'p31'), key);
  for (const slot of [undefined, 7]) {
    await assert.rejects(keyOf(image, 'of nothing', slot), { code: 'LUKS_NO_KEYSLOT' });
  }
  const dump = cryptsetup(['luksDump', image]);
  assert.match(dump, /7: luks2 \(unbound\)/);
  assert.match(dump, /0: luks2-keyring\s+Key description: Schlüssel ☃\s+Keyslot:\s+0/);
});

test('re-encryption that is not finished, and integrity below: refused, and inspected', {
  skip,
}, async () => {
  const image = path('half');
  format(image, 18 * MIB, [...KDFS.pbkdf2]);
  cryptsetup(
    ['reencrypt', '--init-only', '--batch-mode', ...KDFS.pbkdf2, '--key-file', '-', image],
    PASSPHRASE,
  );
  const before = readFileSync(image);
  const passphrase = async (): Promise<Buffer> => Buffer.from(PASSPHRASE);
  await assert.rejects(Volume.open({ image, passphrase, router, limits }), {
    code: 'LUKS_UNSUPPORTED',
    message: /re-encryption is not finished/,
  });
  const device = Device.open(image, 'write');
  assert.throws(() => changeable(device), { code: 'LUKS_UNSUPPORTED' });
  assert.ok(readHeader(device).keyslots.some(({ type }) => type === 'reencrypt'));
  device.close();
  assert.ok(readFileSync(image).equals(before));

  format(image, 3 * MIB, [...KDFS.pbkdf2, '--luks2-keyslots-size', '512k', '--offset', '4096']);
  const made = readFileSync(image);
  const integrity = { type: 'hmac(sha256)', journal_encryption: 'none', journal_integrity: 'none' };
  writeFileSync(
    image,
    withMetadata(made, changed(metadataOf(made), ['segments', '0', 'integrity'], integrity)),
  );
  await assert.rejects(Volume.open({ image, passphrase, router, limits }), {
    code: 'LUKS_UNSUPPORTED',
    message: /dm-integrity/,
  });
});
