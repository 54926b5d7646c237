/**
 * Images made to do harm: each is opened as cryptsetup opens it, or refused in one line, soon, with little memory, and left as it was.
 *
 * Of some eight hundred images a sample is tried here, another one for each HWCRYPT_TEST_SEED; HWCRYPT_TEST_EVERY=1 tries all of them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HwcryptError } from '#src/errors.js';
import { kdfLimits } from '#src/luks/keyslot/kdf.js';
import { Volume } from '#src/luks/volume.js';
import { Router } from '#src/routing/router.js';
import { CHEAP, format, noCryptsetup, PASSPHRASE } from '../../helpers/luks.js';
import { type Hostile, hostileLuks1, hostileLuks2 } from '../../helpers/luks-hostile.js';
import { Random } from '../../helpers/random.js';
import { hwcrypt, scratch } from '../cli/helpers.js';

const skip = noCryptsetup;
const folder = scratch();
const path = (name: string): string => join(folder, name);
const router = new Router();
const limits = kdfLimits();
/** One in so many. */
const SAMPLE = process.env['HWCRYPT_TEST_EVERY'] === '1' ? 1 : 18;
const SECOND_US = 1e6;
const GROWTH_BYTES = 200 * 2 ** 20;

async function open(image: string): Promise<HwcryptError | number> {
  try {
    const passphrase = async (): Promise<Buffer> => Buffer.from(PASSPHRASE);
    const volume = await Volume.open({ image, passphrase, router, limits });
    volume.close();
    return volume.bytes;
  } catch (error) {
    assert.ok(error instanceof HwcryptError, String((error as Error).stack));
    return error;
  }
}

const opensThere = (image: string): boolean =>
  spawnSync(
    'cryptsetup',
    ['open', '--test-passphrase', '--key-file', '-', '--disable-locks', '--disable-external-tokens', image],
    { input: PASSPHRASE, timeout: 10_000, killSignal: 'SIGKILL' },
  ).status === 0;

/** What is opened here and not by cryptsetup 2.6.1, which ends in an assertion of its own. */
const ONLY_HERE = /^(tokens has an entry "(33|64|999)"|33 tokens)$/;

function* sampled(images: Generator<Hostile>, label: string): Generator<Hostile> {
  const random = new Random(label);
  for (const one of images) if (SAMPLE === 1 || random.integer(0, SAMPLE - 1) === 0) yield one;
}

for (const [version, hostile, args] of [
  [
    'LUKS2',
    hostileLuks2,
    [...CHEAP.pbkdf2, '--luks2-metadata-size', '16k', '--luks2-keyslots-size', '640k', '--offset', '2048'],
  ],
  ['LUKS1', hostileLuks1, ['--type', 'luks1', '--pbkdf-force-iterations', '1000']],
] as const) {
  test(`${version}: opened as by cryptsetup, or refused soon and in a line`, { skip }, async () => {
    format(path('base'), 3 * 2 ** 20, args);
    const base = readFileSync(path('base'));
    let [tried, opened] = [0, 0];
    const onlyHere: string[] = [];
    for (const { name, image, dear } of sampled(hostile(base), version)) {
      tried++;
      writeFileSync(path('image'), image);
      const [memory, start] = [process.memoryUsage().rss, process.cpuUsage()];
      const found = await open(path('image'));
      const { user, system } = process.cpuUsage(start);
      assert.ok(user + system < 2 * SECOND_US, `${name}: ${user + system} µs`);
      assert.ok(process.memoryUsage().rss - memory < GROWTH_BYTES, name);
      assert.ok(readFileSync(path('image')).equals(image), `${name}: it was changed`);
      if (typeof found === 'number') {
        opened++;
        if (!ONLY_HERE.test(name) && !opensThere(path('image'))) onlyHere.push(name);
      } else {
        assert.match(found.code, /^(NOT_LUKS|LUKS_|KDF_TOO_DEAR)/, name);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        assert.doesNotMatch(found.message.replace(path('image'), ''), /[\u0000-\u001f]/, name);
        assert.ok(found.message.length < 400, `${name}: ${found.message.length} characters`);
        if (dear) assert.ok(!found.message.includes('not JSON'), name);
      }
    }
    assert.deepEqual(onlyHere, [], 'cryptsetup does not open them');
    assert.ok(tried > 5 && opened < tried, `${tried} tried, ${opened} opened`);
  });
}

test('what is no image, no file, or ends too soon', { skip }, async () => {
  format(path('whole'), 3 * 2 ** 20, [
    ...CHEAP.pbkdf2,
    ...['--luks2-metadata-size', '16k', '--luks2-keyslots-size', '640k', '--offset', '2048'],
  ]);
  const whole = readFileSync(path('whole'));
  for (const length of [0, 1, 5, 6, 8, 4095, 4096, 16383, 16384, 20480, 32767, 32768, 40_000, 2 ** 20 - 1]) {
    writeFileSync(path('cut'), whole.subarray(0, length));
    const found = await open(path('cut'));
    assert.ok(found instanceof HwcryptError, `${length} bytes`);
    assert.match(found.code, /^(NOT_LUKS|LUKS_DAMAGED)$/, `${length} bytes`);
  }
  // The key is there and no data.
  writeFileSync(path('cut'), whole.subarray(0, 2 ** 20));
  assert.equal(await open(path('cut')), 0);
  mkdirSync(path('folder'));
  assert.equal(spawnSync('mkfifo', [path('fifo')]).status, 0);
  for (const [name, says] of [
    ['folder', /neither a file nor a block device/],
    ['fifo', /neither a file nor a block device/],
    ['absent', /no such file/],
  ] as const) {
    const found = await open(path(name));
    assert.ok(found instanceof HwcryptError && says.test(found.message), name);
  }
  // Ten terabytes of nothing behind it, or of nothing at all.
  truncateSync(path('whole'), 10 * 2 ** 40);
  assert.equal(await open(path('whole')), 10 * 2 ** 40 - 2 ** 20);
  assert.equal(
    hwcrypt(['luks', 'cat', path('whole'), '--offset', '9T', '--length', '10', '-pass', `pass:${PASSPHRASE}`])
      .bytes.length,
    10,
  );
  writeFileSync(path('sparse'), '');
  truncateSync(path('sparse'), 10 * 2 ** 40);
  const result = hwcrypt(['luks', 'inspect', path('sparse')]);
  assert.deepEqual([result.status, result.stderr.includes('is no LUKS image')], [1, true]);
  assert.equal(statSync(path('sparse')).blocks, 0);
});

test('an image that becomes shorter while it is read: an error, and no output', { skip }, async () => {
  format(path('shrinks'), 3 * 2 ** 20, [
    ...CHEAP.pbkdf2,
    ...['--luks2-metadata-size', '16k', '--luks2-keyslots-size', '640k', '--offset', '2048'],
  ]);
  const passphrase = async (): Promise<Buffer> => Buffer.from(PASSPHRASE);
  const volume = await Volume.open({ image: path('shrinks'), passphrase, router, limits });
  truncateSync(path('shrinks'), 2 ** 20 + 5000);
  assert.throws(() => volume.payload.read(Buffer.alloc(8192), 0), { code: 'INPUT_FILE' });
  volume.payload.read(Buffer.alloc(4096), 0);
  volume.close();
});
