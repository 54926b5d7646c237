/** Keys added, changed and removed, and images made: cryptsetup opens what comes out, and so does hwcrypt whenever it is killed. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freeSpans } from '#src/luks/change/areas.js';
import { type FormatOptions, format as formatImage } from '#src/luks/change/format.js';
import { addKey, changeable, changeKey, removeKey } from '#src/luks/change/keys.js';
import type { NewKeyslot } from '#src/luks/change/material.js';
import { Device } from '#src/luks/device.js';
import { readHeader } from '#src/luks/header/read.js';
import { costOf } from '#src/luks/keyslot/cost.js';
import { availableMemory, kdfLimits } from '#src/luks/keyslot/kdf.js';
import { type Unlocked, unlock } from '#src/luks/keyslot/unlock.js';
import { Router } from '#src/routing/router.js';
import {
  bytesOf,
  CHEAP,
  changed,
  format,
  memory,
  metadataOf,
  noCryptsetup,
  PASSPHRASE,
  RecordedDisk,
  withMetadata,
} from '../../helpers/luks.js';
import { withRawHeader } from '../../helpers/luks-hostile.js';
import { Random } from '../../helpers/random.js';
import { scratch } from '../cli/helpers.js';

const skip = noCryptsetup;
const folder = scratch();
const path = (name: string): string => join(folder, name);
const context = { router: new Router(), limits: kdfLimits() };

const open = (disk: Parameters<typeof readHeader>[0], passphrase: string): Promise<Unlocked> =>
  unlock(disk, readHeader(disk), { ...context, passphrase: Buffer.from(passphrase) });

/** Most states differ in nothing that counts: what was found out for the same metadata and material holds. */
const known = new Map<string, string | undefined>();

const opens = async (image: Buffer, passphrase: string): Promise<string | undefined> => {
  const counts = createHash('sha256').update(passphrase);
  try {
    const { luks2, keyslots } = readHeader(memory(image));
    counts.update(JSON.stringify(luks2?.metadata));
    for (const { area } of keyslots) counts.update(image.subarray(area.offset, area.offset + area.bytes));
  } catch (error) {
    assert.match((error as { code: string }).code, /^LUKS_/);
    return undefined;
  }
  const state = counts.digest('hex');
  if (!known.has(state)) known.set(state, await tried(image, passphrase));
  return known.get(state);
};

const tried = async (image: Buffer, passphrase: string): Promise<string | undefined> => {
  try {
    return (await open(memory(image), passphrase)).volumeKey.toString('hex');
  } catch (error) {
    assert.match((error as { code: string }).code, /^LUKS_/);
    return undefined;
  }
};

const wanted = (passphrase: string): NewKeyslot => ({
  passphrase: Buffer.from(passphrase),
  cost: { type: 'pbkdf2', hash: 'sha256', iterations: 1000 },
  encryption: 'aes-xts-plain64',
  keyBytes: 64,
  hash: 'sha256',
});

const byCryptsetup = (name: string, passphrase: string): boolean =>
  spawnSync('cryptsetup', ['open', '--test-passphrase', '--key-file', '-', name], { input: passphrase })
    .status === 0;

/** Room for two keyslots and a half. */
const TIGHT = ['--luks2-metadata-size', '16k', '--luks2-keyslots-size', '640k'];
let tight: Buffer;
test('an image to work on', { skip }, () => {
  format(path('tight'), 2 * 2 ** 20, [...CHEAP.pbkdf2, ...TIGHT]);
  tight = bytesOf(path('tight'));
});

test('cryptsetup opens what was added and changed, and not what was removed', { skip }, async () => {
  const name = path('keys');
  writeFileSync(name, tight);
  const device = Device.open(name, 'write');
  const metadata = JSON.parse(metadataOf(tight));
  metadata.tokens['7'] = { type: 'somebody-elses', keyslots: ['0'], secret: { of: ['theirs', 1.5] } };
  metadata.keyslots['0'].priority = 2;
  withMetadata(tight, JSON.stringify(metadata)).copy(tight);
  writeFileSync(name, tight);
  const { keyslot } = await addKey(
    device,
    changeable(device),
    await open(device, PASSPHRASE),
    {
      ...wanted('added'),
      cost: { type: 'argon2id', iterations: 4, memoryKiB: 64, threads: 2 },
      keyslot: 9,
      priority: 0,
    },
    context,
  );
  assert.equal(keyslot, 9);
  assert.ok(byCryptsetup(name, PASSPHRASE));
  // Of priority 0: only by its number.
  assert.ok(!byCryptsetup(name, 'added'));
  removeKey(device, changeable(device), 9, false);
  await addKey(device, changeable(device), await open(device, PASSPHRASE), wanted('second'), context);
  assert.ok(byCryptsetup(name, 'second'));
  await assert.rejects(
    addKey(device, changeable(device), await open(device, 'second'), wanted('third'), context),
    { code: 'LUKS_NO_ROOM' },
  );
  await assert.rejects(
    changeKey(device, changeable(device), await open(device, 'second'), wanted('x'), context),
    {
      code: 'LUKS_NO_ROOM',
    },
  );
  removeKey(device, changeable(device), 1, false);
  assert.ok(!byCryptsetup(name, 'second'));
  await changeKey(device, changeable(device), await open(device, PASSPHRASE), wanted('changed'), context);
  assert.ok(byCryptsetup(name, 'changed'));
  assert.ok(!byCryptsetup(name, PASSPHRASE));
  assert.throws(() => removeKey(device, changeable(device), 0, false), /the last one/);
  assert.throws(() => removeKey(device, changeable(device), 3, false), /not in use/);
  const now = changeable(device);
  assert.deepEqual((now.luks2.metadata['tokens'] as Record<string, unknown>)['7'], metadata.tokens['7']);
  assert.equal(now.keyslots[0]?.priority, 2);
  removeKey(device, now, 0, true);
  assert.equal(readHeader(device).keyslots.length, 0);
  device.close();
});

/** As `withMetadata`, of bytes. */
const withBytes = (image: Buffer, json: Uint8Array): Buffer => withRawHeader(image, { json });

test('what others wrote is kept as they wrote it, numbers that JavaScript has not among it', {
  skip,
}, async () => {
  const theirs =
    '"9":{"type":"theirs","keyslots":[],"a":[9007199254740993,-0,1.0,1e400,0.10000000000000001,18446744073709551615,1.5],' +
    '"b":{"\\"1.0":"9007199254740993 \\\\\\" 1.0","ü":"ü\\ud800"},"__proto__":{"x":12345678901234567890}}';
  const json = metadataOf(tight).replace('"tokens":{', `"tokens":{${theirs},`);
  const disk = new RecordedDisk(withBytes(tight, Buffer.from(json)));
  await addKey(disk, changeable(disk), await open(disk, PASSPHRASE), wanted('new'), context);
  await changeKey(disk, changeable(disk), await open(disk, 'new'), wanted('newer'), context).catch(
    (error) => {
      assert.equal(error.code, 'LUKS_NO_ROOM');
    },
  );
  removeKey(disk, changeable(disk), 0, false);
  assert.ok(metadataOf(disk.bytes).includes(theirs), metadataOf(disk.bytes));
  writeFileSync(path('theirs'), disk.bytes);
  assert.ok(byCryptsetup(path('theirs'), 'new'));
  // Where a number is meant, a whole one is: as to cryptsetup.
  for (const size of ['64.0', '6.4e1', '9007199254740993']) {
    const wrong = withBytes(
      tight,
      Buffer.from(metadataOf(tight).replace('"key_size":64', `"key_size":${size}`)),
    );
    assert.throws(() => changeable(new RecordedDisk(wrong)), { code: 'LUKS_DAMAGED' });
    writeFileSync(path('theirs'), wrong);
    assert.ok(!byCryptsetup(path('theirs'), PASSPHRASE));
  }
});

test('texts that are no UTF-8: read, and not changed', { skip }, async () => {
  const json = Buffer.from(
    metadataOf(tight).replace('"tokens":{', '"tokens":{"9":{"type":"x","keyslots":[],"y":"?"},'),
  );
  json[json.indexOf('?')] = 0xff;
  const label = withRawHeader(tight, {
    json: metadataOf(tight),
    patch: (header) => header.fill(0xff, 24, 30),
  });
  for (const [image, says] of [
    [withBytes(tight, json), /its metadata has bytes that are no UTF-8/],
    [label, /its label has bytes/],
  ] as const) {
    assert.ok(await opens(image, PASSPHRASE));
    assert.throws(() => changeable(new RecordedDisk(image)), { code: 'LUKS_UNSUPPORTED', message: says });
  }
});

/** Every state that a crash may leave, after each write and in the middle of it. */
function* crashes(disk: RecordedDisk): Generator<[state: Buffer, where: string]> {
  for (let whole = 0; whole <= disk.writes.length; whole++) {
    const length = disk.writes[whole]?.bytes.length ?? 0;
    yield [disk.crashed(whole, 0), `after ${whole} writes`];
    for (const torn of [1, 512, 4096, Math.floor(length / 2), length - 1]) {
      if (torn <= 0 || torn >= length) continue;
      yield [disk.crashed(whole, torn), `${torn} bytes into write ${whole}`];
      yield [disk.crashed(whole, torn, true), `the last ${torn} bytes of write ${whole}`];
    }
  }
}

test('killed at any moment of a change, an old or a new passphrase opens', { skip }, async () => {
  const copies = [tight, ruined(tight, 0), ruined(tight, 0x4000)];
  const key = await opens(tight, PASSPHRASE);
  for (const [i, image] of copies.entries()) {
    for (const change of ['add', 'change', 'remove'] as const) {
      const disk = new RecordedDisk(image);
      if (change === 'remove') {
        await addKey(disk, changeable(disk), await open(disk, PASSPHRASE), wanted('new'), context);
      }
      const start = change === 'remove' ? new RecordedDisk(disk.bytes) : disk;
      const unlocked = await open(start, PASSPHRASE);
      if (change === 'add') await addKey(start, changeable(start), unlocked, wanted('new'), context);
      else if (change === 'change')
        await changeKey(start, changeable(start), unlocked, wanted('new'), context);
      else removeKey(start, changeable(start), 0, false);
      for (const [state, where] of crashes(start)) {
        const found = (await opens(state, PASSPHRASE)) ?? (await opens(state, 'new'));
        assert.equal(found, key, `copy ${i}, ${change}: ${where}`);
      }
      // At the end both copies are whole and of one age, whatever they were before, and all of it is on the disk.
      const { copies: now = [] } = readHeader(start).luks2 ?? {};
      assert.deepEqual(new Set(now.map(({ seqid }) => seqid)).size, 1);
      assert.ok(now.every(({ problem }) => problem === undefined));
      assert.equal(start.flushed.at(-1), start.writes.length);
      assert.equal(await opens(start.bytes, 'new'), key);
      assert.equal((await opens(start.bytes, PASSPHRASE)) === undefined, change !== 'add');
    }
  }
});

test('the power fails at any moment, and any sectors of what was not flushed are lost: also to cryptsetup', {
  skip,
}, async () => {
  const random = new Random('power');
  const both = new RecordedDisk(tight);
  await addKey(both, changeable(both), await open(both, PASSPHRASE), wanted('new'), context);
  for (const change of ['add', 'change', 'remove', 'format'] as const) {
    const disk = new RecordedDisk(change === 'remove' ? both.bytes : tight);
    const unlocked = await open(disk, PASSPHRASE);
    if (change === 'add') await addKey(disk, changeable(disk), unlocked, wanted('new'), context);
    else if (change === 'change') await changeKey(disk, changeable(disk), unlocked, wanted('new'), context);
    else if (change === 'remove') removeKey(disk, changeable(disk), 0, false);
    else await formatImage(disk, { ...FORMAT, passphrases: [Buffer.from('new')] }, changeable(disk));
    for (let issued = 1; issued <= disk.writes.length; issued++) {
      for (let i = 0; i < 3; i++) {
        const state = disk.powerCut(issued, random);
        const where = `${change}: ${issued} writes`;
        assert.ok((await opens(state, PASSPHRASE)) ?? (await opens(state, 'new')), where);
        if (i > 0) continue;
        writeFileSync(path('cut'), state);
        assert.ok(byCryptsetup(path('cut'), PASSPHRASE) || byCryptsetup(path('cut'), 'new'), where);
      }
    }
  }
});

test('formatting over a header of another size: at any moment the old or the new passphrase opens', {
  skip,
}, async () => {
  format(path('wide'), 3 * 2 ** 20, [
    ...CHEAP.pbkdf2,
    ...['--luks2-metadata-size', '64k', '--luks2-keyslots-size', '640k', '--offset', '4096'],
  ]);
  const wide = bytesOf(path('wide'));
  const disk = new RecordedDisk(wide);
  const wanted = {
    ...FORMAT,
    metadataBytes: 2 * 2 ** 20,
    dataOffset: 2 * 2 ** 20,
    passphrases: [Buffer.from('new')],
  };
  await formatImage(disk, wanted, changeable(disk));
  assert.ok(await opens(disk.bytes, 'new'));
  assert.equal(await opens(disk.bytes, PASSPHRASE), undefined);
  for (const [state, where] of crashes(disk)) {
    assert.ok((await opens(state, PASSPHRASE)) ?? (await opens(state, 'new')), where);
  }
});

function ruined(image: Buffer, offset: number): Buffer {
  const copy = Buffer.from(image);
  copy.fill(0xff, offset + 100, offset + 200);
  return copy;
}

test('what a removed key lay in is overwritten', { skip }, async () => {
  const disk = new RecordedDisk(tight);
  const header = changeable(disk);
  const old = header.keyslots[0]!.area;
  const before = disk.readAt(old.offset, 256_000);
  await changeKey(disk, header, await open(disk, PASSPHRASE), wanted('new'), context);
  const after = disk.readAt(old.offset, 256_000);
  const same = before.filter((byte, i) => byte === after[i]).length;
  assert.ok(same < before.length / 50, `${same} bytes are as they were`);
});

const FORMAT: Omit<FormatOptions, 'passphrases'> = {
  encryption: 'aes-xts-plain64',
  keyBits: 512,
  sectorBytes: 4096,
  hash: 'sha256',
  label: 'made here',
  subsystem: '',
  dataOffset: 2 ** 20,
  metadataBytes: 2 ** 20,
  cost: { type: 'pbkdf2', hash: 'sha256', iterations: 1000 },
  digestIterations: 1000,
  ...context,
};

test('formatting over a LUKS2 image: at any moment the old or the new passphrase opens', {
  skip,
}, async () => {
  const disk = new RecordedDisk(tight);
  await formatImage(disk, { ...FORMAT, passphrases: [Buffer.from('new')] }, changeable(disk));
  const [old, made] = [await opens(tight, PASSPHRASE), await opens(disk.bytes, 'new')];
  assert.ok(old !== undefined && made !== undefined && old !== made);
  for (const [state, where] of crashes(disk)) {
    const [byOld, byNew] = [await opens(state, PASSPHRASE), await opens(state, 'new')];
    assert.ok(byOld === old || byNew === made, where);
  }
});

test('cryptsetup opens images made here: ciphers, key sizes, sectors, KDFs, several passphrases', {
  skip,
}, async () => {
  const argon2 = { iterations: 4, memoryKiB: 64, threads: 2 };
  const cases: readonly Partial<FormatOptions>[] = [
    {},
    {
      encryption: 'aes-cbc-essiv:sha256',
      keyBits: 256,
      sectorBytes: 512,
      cost: { type: 'argon2i', ...argon2 },
    },
    { encryption: 'aes-xts-plain64', keyBits: 256, sectorBytes: 1024, cost: { type: 'argon2id', ...argon2 } },
    {
      encryption: 'aes-cbc-plain64',
      keyBits: 128,
      sectorBytes: 2048,
      hash: 'sha512',
      dataOffset: 4 * 2 ** 20,
    },
  ];
  for (const [i, one] of cases.entries()) {
    const name = path(`made-${i}`);
    const count = i === 0 ? 3 : 1;
    const secrets = Array.from({ length: count }, (_, n) => `secret ${n}`);
    writeFileSync(name, Buffer.alloc(5 * 2 ** 20));
    const device = Device.open(name, 'write');
    const options = { ...FORMAT, ...one, passphrases: secrets.map((text) => Buffer.from(text)) };
    await formatImage(device, { ...options, metadataBytes: options.dataOffset });
    device.close();
    for (const secret of secrets) assert.ok(byCryptsetup(name, secret), `${JSON.stringify(one)}: ${secret}`);
    const header = readHeader(memory(readFileSync(name)));
    assert.equal(header.label, 'made here');
    assert.equal(header.segments[0]?.crypt?.sectorBytes, options.sectorBytes);
  }
});

test('a file that somebody else has locked is not changed', { skip }, async () => {
  const name = path('locked');
  writeFileSync(name, tight);
  const other = spawn('flock', ['-x', '-F', name, 'sh', '-c', 'echo locked; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => other.stdout.once('data', resolve));
  const device = Device.open(name, 'write');
  await assert.rejects(
    device.locked(async () => {}),
    /it is served or being changed by another process/,
  );
  other.kill();
  await new Promise((resolve) => other.once('close', resolve));
  await device.locked(async () => {});
  device.close();
});

test('LUKS1 images and those with unknown requirements are left alone', { skip }, () => {
  format(path('one'), 3 * 2 ** 20, ['--type', 'luks1', '--pbkdf-force-iterations', '1000']);
  assert.throws(() => changeable(new RecordedDisk(bytesOf(path('one')))), { code: 'LUKS_UNSUPPORTED' });
  const json = changed(metadataOf(tight), ['config', 'requirements'], { mandatory: ['x'] });
  assert.throws(() => changeable(new RecordedDisk(withMetadata(tight, json))), { code: 'LUKS_UNSUPPORTED' });
});

test('free spans are what areas leave', () => {
  const area = (offset: number, bytes: number) => ({ area: { offset, bytes } });
  const within = { from: 10, to: 100 };
  assert.deepEqual(freeSpans(within, []), [within]);
  assert.deepEqual(freeSpans(within, [area(50, 50), area(10, 10), area(30, 5)]), [
    { from: 20, to: 30 },
    { from: 35, to: 50 },
  ]);
  assert.deepEqual(freeSpans(within, [area(10, 90)]), []);
});

test('more rounds than a library counts are refused in words', async () => {
  const cost = { type: 'pbkdf2', hash: 'sha256', iterations: 2 ** 31 } as const;
  const disk = new RecordedDisk(Buffer.alloc(2 ** 20));
  const limits = kdfLimits(1e6);
  await assert.rejects(formatImage(disk, { ...FORMAT, limits, cost, passphrases: [Buffer.from('x')] }), {
    code: 'KDF_TOO_DEAR',
    message: /2147483648 rounds of PBKDF2, and 2147483647 are the most/,
  });
});

test('what a new keyslot costs: as asked, and no more than there is', async () => {
  const wish = { type: 'argon2id', hash: 'sha256', milliseconds: 1, threads: 1 } as const;
  await assert.rejects(costOf({ ...wish, memoryKiB: Math.ceil(availableMemory() / 1024) + 2 ** 20 }, 64), {
    code: 'KDF_TOO_DEAR',
  });
  // In a millisecond there is not much to be had: less memory, and not fewer passes than the least.
  const cost = await costOf(wish, 64);
  assert.ok(cost.type === 'argon2id' && cost.iterations >= 4 && cost.memoryKiB >= 32);
  assert.deepEqual(await costOf({ ...wish, memoryKiB: 64, iterations: 5 }, 64), {
    type: 'argon2id',
    iterations: 5,
    memoryKiB: 64,
    threads: 1,
  });
  const rounds = await costOf({ ...wish, type: 'pbkdf2' }, 64);
  assert.ok(rounds.type === 'pbkdf2' && rounds.iterations >= 1000);
});
