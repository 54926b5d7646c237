/** What is said about an image: each judgement where it belongs, and not where it does not. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Device } from '#src/luks/device.js';
import { readHeader } from '#src/luks/header/read.js';
import { type InspectOptions, inspect, type Judgement } from '#src/luks/inspect.js';
import { inspectionJsonText, inspectionText } from '#src/report/luks.js';
import {
  bytesOf,
  CHEAP,
  changed,
  format,
  memory,
  metadataOf,
  noCryptsetup,
  SMALL,
  withMetadata,
} from '../../helpers/luks.js';
import { scratch } from '../cli/helpers.js';

const skip = noCryptsetup;
const folder = scratch();
const path = (name: string): string => join(folder, name);

let good: Buffer;
test('an image to work on', { skip }, () => {
  const offset = ['--offset', String((16 * 2 ** 20) / 512)];
  format(path('good'), 17 * 2 ** 20, [...CHEAP.argon2id, ...SMALL, ...offset, '--sector-size', '4096']);
  good = bytesOf(path('good'));
});

async function judged(
  image: Buffer,
  options?: InspectOptions,
): Promise<{ all: readonly Judgement[]; text: string }> {
  writeFileSync(path('image'), image);
  const device = Device.open(path('image'));
  const inspection = await inspect(readHeader(memory(image)), device, options);
  device.close();
  JSON.parse(inspectionJsonText(inspection));
  return { all: inspection.judgements, text: inspectionText(inspection) };
}

test('nothing is wrong with a good one', { skip }, async () => {
  const { all, text } = await judged(good);
  assert.deepEqual(
    all.filter(({ verdict }) => verdict !== 'good'),
    [],
  );
  assert.match(text, /\[ ok \] segment 0: sectors of 4096 bytes/);
});

test('each thing that is to be said', { skip }, async () => {
  const json = metadataOf(good);
  const cases: [
    Buffer | Readonly<Record<string, unknown>>,
    Judgement['code'],
    Judgement['verdict'],
    RegExp,
  ][] = [
    [{ 'segments.0.sector_size': 512 }, 'SECTOR_SIZE', 'note', /8 requests to the cipher/],
    [{ 'segments.0.offset': String(16 * 2 ** 20 + 512) }, 'ALIGNMENT', 'warning', /within a sector/],
    [{ 'segments.0.offset': String(16 * 2 ** 20 + 4096) }, 'ALIGNMENT', 'note', /no whole MiB/],
    [{ 'segments.0.size': String(2 ** 30) }, 'SIZE', 'warning', /the image ends at/],
    [good.subarray(0, good.length - 512), 'SIZE', 'warning', /within a sector/],
    [
      { 'segments.0.encryption': 'aes-ecb', 'keyslots.0.key_size': 32 },
      'CIPHER_STRENGTH',
      'warning',
      /equal blocks/,
    ],
    [{ 'segments.0.encryption': 'aes-quux-plain64' }, 'CIPHER_DRIVERS', 'warning', /not supported/],
    [
      { 'keyslots.0.kdf.memory': Math.ceil(totalmem() / 1024) + 1 },
      'KDF_MEMORY',
      'warning',
      /cannot be opened here/,
    ],
    [
      { 'keyslots.0.kdf.cpus': 2 ** 18, 'keyslots.0.kdf.memory': 2 ** 21 },
      'KDF_MEMORY',
      'warning',
      /262144 threads/,
    ],
    [{ 'config.flags': ['allow-discards', 'x\u001b'] }, 'FLAG', 'note', /from outside/],
    [{ 'config.requirements': { mandatory: ['new'] } }, 'REQUIREMENT', 'warning', /"new" is required/],
    [{ 'digests.0.keyslots': [], keyslots: {} }, 'KEYSLOTS', 'warning', /no passphrase/],
  ];
  for (const [change, code, verdict, says] of cases) {
    let image = change as Buffer;
    if (!Buffer.isBuffer(change)) {
      let altered = json;
      for (const [place, value] of Object.entries(change))
        altered = changed(altered, place.split('.'), value);
      image = withMetadata(good, altered);
    }
    const { all, text } = await judged(image);
    const found = all.find((one) => one.code === code && one.verdict === verdict);
    assert.ok(found, `${says}: ${JSON.stringify(all)}`);
    assert.match(found.message, says);
    assert.ok(!text.includes('\u001b'));
  }
  const damaged = Buffer.from(good);
  damaged.fill(0xff, 0x4000, 0x5000);
  const { all } = await judged(damaged);
  assert.match(
    all.find(({ code }) => code === 'HEADER_COPY')?.message ?? '',
    /the secondary copy cannot be used/,
  );
});

test('what larger sectors would gain, where it was measured', { skip }, async () => {
  const small = withMetadata(good, changed(metadataOf(good), ['segments', '0', 'sector_size'], 512));
  const rateOf = (algorithm: string, driver: string, bytes: number): number | undefined =>
    algorithm === 'aes-256-xts' && driver === 'libcrypto' ? bytes * 50_000 : undefined;
  const gain = async (image: Buffer, options: InspectOptions): Promise<string[]> =>
    (await judged(image, options)).all.filter(({ code }) => code === 'GAIN').map(({ message }) => message);
  assert.deepEqual(await gain(small, { rateOf }), [
    'libcrypto decrypts 512-byte requests at 25.6 MB/s; sectors of 4096 bytes would give 205 MB/s, 179 MB/s more',
  ]);
  assert.deepEqual(await gain(good, { rateOf }), ['libcrypto decrypts 4096-byte requests at 205 MB/s']);
  assert.deepEqual(await gain(good, { rateOf: () => undefined }), ['how fast this is here was not measured']);
  assert.deepEqual(await gain(good, {}), []);
});
