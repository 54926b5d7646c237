/**
 * Disk images between hwcrypt and the kernel: what dm-crypt wrote is read here, and what was written here dm-crypt reads, over ciphers, IVs and sector
 * sizes, with a file system that fsck finds clean on both sides.
 *
 * cryptsetup runs as rarely as can be: each run costs the guest seconds.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { before, test } from 'node:test';
import { diskProblem } from '#src/bench/disk/index.js';
import { type FormatOptions, format as formatImage } from '#src/luks/change/format.js';
import { Device } from '#src/luks/device.js';
import { kdfLimits } from '#src/luks/keyslot/kdf.js';
import { SectorCipher } from '#src/luks/sectors/cipher.js';
import { parseSpecification } from '#src/luks/sectors/specification.js';
import { Volume } from '#src/luks/volume.js';
import { Router } from '#src/routing/router.js';
import { projectFolder } from '../../rig/index.js';
import { CHEAP, cryptsetup, format, PASSPHRASE, SMALL } from '../helpers/luks.js';
import { Random } from '../helpers/random.js';

const FOLDER = '/tmp/luks';
const path = (name: string): string => `${FOLDER}/${name}`;
const MAPPED = '/dev/mapper/hwcrypt-test';
const router = new Router({ onFallback: () => {} });
const limits = kdfLimits();

before(() => {
  mkdirSync(FOLDER);
  // Also loads device-mapper and the loop driver.
  assert.equal(diskProblem(), undefined);
});

const tool = (file: string, ...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, `${file} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
};

/** The image as dm-crypt shows it. */
function mapped(image: string, passphrase: string, args: readonly string[], work: () => void): void {
  cryptsetup(['open', ...args, '--key-file', '-', image, 'hwcrypt-test'], passphrase);
  try {
    work();
  } finally {
    cryptsetup(['close', 'hwcrypt-test']);
  }
}

function readDevice(bytes: number): Buffer {
  const fd = openSync(MAPPED, 'r');
  const data = Buffer.alloc(bytes);
  try {
    for (let done = 0; done < bytes; ) {
      const some = readSync(fd, data, done, bytes - done, done);
      if (some === 0) break;
      done += some;
    }
  } finally {
    closeSync(fd);
  }
  return data;
}

function writeDevice(data: Buffer): void {
  const fd = openSync(MAPPED, 'r+');
  try {
    for (let done = 0; done < data.length; ) done += writeSync(fd, data, done, data.length - done, done);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const opened = (image: string, header?: string, by = router): Promise<Volume> =>
  Volume.open({
    image,
    header,
    access: 'write',
    passphrase: async () => Buffer.from(PASSPHRASE),
    router: by,
    limits,
  });

/** The kernel's ECB of a cipher, pinned: it has no XTS, so batches are the only way. */
const ecbOf = (args: readonly string[]): Router | undefined => {
  const [, family] = /^(\w+)-xts/.exec(args.find((word) => word.includes('-xts-')) ?? '') ?? [];
  return family === undefined ? undefined : new Router({ drivers: `afalg:ecb(${family}-generic)` });
};

/** Everything in the volume. */
async function plaintext(image: string, header?: string): Promise<Buffer> {
  const volume = await opened(image, header);
  const data = Buffer.alloc(volume.bytes);
  volume.payload.read(data, 0);
  volume.close();
  return data;
}

const LUKS1 = ['--type', 'luks1', '--pbkdf-force-iterations', '1000'];
/** Each row has what the others have not. */
const BY_CRYPTSETUP: readonly (readonly string[])[] = [
  [...LUKS1, '-c', 'serpent-xts-plain64', '-s', '512'],
  [...LUKS1, '-c', 'twofish-cbc-essiv:sha256', '-s', '256', '-h', 'sha1'],
  [...CHEAP.argon2id, ...SMALL, '-c', 'aes-xts-plain64', '-s', '256', '--sector-size', '4096'],
  [...CHEAP.argon2i, ...SMALL, '-c', 'aes-cbc-essiv:sha256', '-s', '128', '--sector-size', '2048'],
  [...CHEAP.pbkdf2, ...SMALL, '-c', 'serpent-cbc-plain64', '-s', '128', '--sector-size', '1024'],
  [...CHEAP.argon2id, ...SMALL, '-c', 'twofish-xts-plain64', '-s', '512', '--sector-size', '512'],
];

for (const args of BY_CRYPTSETUP) {
  test(`what dm-crypt wrote is read: ${args.join(' ')}`, async () => {
    const image = path('theirs');
    format(image, 6 * 2 ** 20, args);
    const data = Buffer.from(new Random(args.join()).bytes(300 * 1024));
    mapped(image, PASSPHRASE, [], () => writeDevice(data));
    const seen = await plaintext(image);
    assert.ok(seen.subarray(0, data.length).equals(data));
    // And the other way: written here, off every alignment, and read there.
    const ecb = ecbOf(args);
    const volume = await opened(image, undefined, ecb);
    const more = Buffer.from(new Random('more').bytes(70_001));
    volume.payload.write(Buffer.from(more), 150_003);
    if (ecb) assert.match(volume.doneBy.join(), /^afalg:ecb\(\w+-generic\) \(XTS over its ECB\)$/);
    volume.device.flush();
    volume.close();
    data.set(more, 150_003);
    mapped(image, PASSPHRASE, [], () => assert.ok(readDevice(data.length).equals(data)));
  });
}

const COMMON: Omit<FormatOptions, 'encryption' | 'keyBits' | 'sectorBytes' | 'cost' | 'passphrases'> = {
  hash: 'sha256',
  label: '',
  subsystem: '',
  dataOffset: 4 * 2 ** 20,
  metadataBytes: 4 * 2 ** 20,
  router,
  limits,
};
const ARGON2 = { iterations: 4, memoryKiB: 64, threads: 1 };

test('an image made here holds a file system that dm-crypt and fsck find clean, and the other way', async () => {
  // The file system is made in a file, encrypted here, changed through dm-crypt, and checked here again.
  const plain = path('plain');
  writeFileSync(plain, '');
  truncateSync(plain, 4 * 2 ** 20);
  tool('mkfs.ext4', '-q', '-F', '-b', '4096', plain);
  const image = path('ours');
  writeFileSync(image, '');
  truncateSync(image, 8 * 2 ** 20);
  const device = Device.open(image, 'write');
  await formatImage(device, {
    ...COMMON,
    encryption: 'aes-xts-plain64',
    keyBits: 512,
    sectorBytes: 4096,
    cost: { type: 'argon2id', ...ARGON2 },
    passphrases: [Buffer.from('other'), Buffer.from(PASSPHRASE)],
  });
  device.close();
  const volume = await opened(image);
  const fd = openSync(plain, 'r');
  const file = { fd, name: plain, offset: 0 };
  await volume.copy({ direction: 'write', offset: 0, bytes: volume.bytes, file });
  closeSync(fd);
  volume.close();
  mkdirSync(path('mnt'));
  mapped(image, 'other', [], () => {
    tool('fsck.ext4', '-f', '-n', MAPPED);
    const mounted = spawnSync('mount', ['-t', 'ext4', MAPPED, path('mnt')], { encoding: 'utf8' });
    // Not every guest kernel has ext4; then it is changed by e2fsprogs.
    if (mounted.status === 0) {
      writeFileSync(path('mnt/file'), 'by the kernel');
      tool('umount', path('mnt'));
    } else {
      writeFileSync(path('file'), 'by the kernel');
      tool('debugfs', '-w', '-R', `write ${path('file')} file`, MAPPED);
    }
  });
  writeFileSync(plain, await plaintext(image));
  tool('fsck.ext4', '-f', '-n', plain);
  assert.equal(tool('debugfs', '-R', 'cat /file', plain), 'by the kernel');
});

for (const [encryption, keyBits, sectorBytes] of [
  ['serpent-xts-plain64', 256, 1024],
  ['twofish-cbc-essiv:sha256', 256, 4096],
] as const) {
  test(`an image made here is opened by dm-crypt: ${encryption}, ${keyBits} bits, sectors of ${sectorBytes}`, async () => {
    const image = path('ours');
    writeFileSync(image, Buffer.alloc(5 * 2 ** 20));
    const device = Device.open(image, 'write');
    const cost = { type: 'pbkdf2', hash: 'sha256', iterations: 1000 } as const;
    const passphrases = [Buffer.from(PASSPHRASE)];
    await formatImage(device, { ...COMMON, encryption, keyBits, sectorBytes, cost, passphrases });
    device.close();
    const volume = await opened(image);
    const data = Buffer.from(new Random(encryption).bytes(200 * 1024));
    volume.payload.write(Buffer.from(data), 0);
    volume.device.flush();
    volume.close();
    mapped(image, PASSPHRASE, [], () => assert.ok(readDevice(data.length).equals(data)));
  });
}

test('a detached header, and one whose primary copy is gone', async () => {
  const [data, header] = [path('data'), path('header')];
  writeFileSync(data, Buffer.alloc(2 ** 20));
  writeFileSync(header, '');
  truncateSync(header, 4 * 2 ** 20);
  cryptsetup(
    ['luksFormat', '--batch-mode', ...CHEAP.pbkdf2, ...SMALL, '--header', header, data, '-'],
    PASSPHRASE,
  );
  const written = Buffer.from(new Random('detached').bytes(64 * 1024));
  mapped(data, PASSPHRASE, ['--header', header], () => writeDevice(written));
  const bytes = readFileSync(header);
  bytes.fill(0xff, 0, 4096);
  writeFileSync(header, bytes);
  const seen = await plaintext(data, header);
  assert.ok(seen.subarray(0, written.length).equals(written));
  // Reading has not repaired anything.
  assert.ok(readFileSync(header).equals(bytes));
});

test('a plain mapping whose IVs count large sectors', () => {
  const image = path('bare');
  writeFileSync(image, Buffer.alloc(64 * 1024));
  const key = Buffer.from(new Random('plain').bytes(32));
  const data = Buffer.from(new Random('bare').bytes(64 * 1024));
  for (const large of [false, true]) {
    writeFileSync(path('key'), key);
    const args = [
      'open',
      '--type',
      'plain',
      '-c',
      'aes-xts-plain64',
      '-s',
      '256',
      '--sector-size',
      '4096',
      '--skip',
      '0',
    ];
    cryptsetup([
      ...args,
      ...(large ? ['--iv-large-sectors'] : []),
      '--key-file',
      path('key'),
      image,
      'hwcrypt-test',
    ]);
    try {
      writeDevice(data);
    } finally {
      cryptsetup(['close', 'hwcrypt-test']);
    }
    const seen = readFileSync(image);
    const spec = parseSpecification('aes-xts-plain64', key.length);
    using cipher = new SectorCipher(spec, 'decrypt', key, {
      sectorBytes: 4096,
      ivLargeSectors: large,
      router,
    });
    cipher.run(seen, 0);
    assert.ok(seen.equals(data), `${large}`);
  }
});

test('the kernel’s own ciphers, by name, decrypt what it encrypted', async () => {
  const image = path('theirs');
  format(image, 6 * 2 ** 20, [
    ...CHEAP.pbkdf2,
    ...SMALL,
    '-c',
    'aes-cbc-essiv:sha256',
    '-s',
    '256',
    '--sector-size',
    '4096',
  ]);
  const data = Buffer.from(new Random('afalg').bytes(100 * 1024));
  mapped(image, PASSPHRASE, [], () => writeDevice(data));
  for (const drivers of [['afalg'], ['node'], ['afalg:cbc(aes-generic)']]) {
    const volume = await Volume.open({
      image,
      passphrase: async () => Buffer.from(PASSPHRASE),
      router: new Router({ drivers, onFallback: () => {} }),
      limits,
    });
    const seen = Buffer.alloc(data.length);
    volume.payload.read(seen, 0);
    assert.ok(volume.doneBy.join().startsWith(drivers[0] as string), volume.doneBy.join());
    volume.close();
    assert.ok(seen.equals(data), drivers.join());
  }
});

test('the kernel mounts what is served over NBD', async (t) => {
  if (spawnSync('nbd-client', ['-V']).error) return t.skip('nbd-client is not installed');
  tool('modprobe', 'nbd', 'nbds_max=1');
  const image = path('served');
  writeFileSync(image, '');
  truncateSync(image, 8 * 2 ** 20);
  const device = Device.open(image, 'write');
  const cost = { type: 'pbkdf2', hash: 'sha256', iterations: 1000 } as const;
  await formatImage(device, {
    ...COMMON,
    encryption: 'aes-xts-plain64',
    keyBits: 512,
    sectorBytes: 4096,
    cost,
    passphrases: [Buffer.from(PASSPHRASE)],
  });
  device.close();
  const server = spawn(
    process.execPath,
    [
      `${projectFolder}/dist/cli/main.js`,
      'luks',
      'serve',
      image,
      '--socket',
      path('socket'),
      '-pass',
      `pass:${PASSPHRASE}`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = new Promise((resolve) => server.once('close', resolve));
  await new Promise((resolve) => server.stdout.once('data', resolve));
  tool('nbd-client', '-nonetlink', '-unix', path('socket'), '/dev/nbd0');
  try {
    tool('mkfs.ext4', '-q', '-F', '/dev/nbd0');
    writeFileSync(path('file'), 'through the kernel');
    tool('debugfs', '-w', '-R', `write ${path('file')} file`, '/dev/nbd0');
    tool('fsck.ext4', '-f', '-n', '/dev/nbd0');
  } finally {
    tool('nbd-client', '-d', '/dev/nbd0');
    server.kill('SIGTERM');
    await ended;
  }
  const plain = path('unserved');
  writeFileSync(plain, await plaintext(image));
  tool('fsck.ext4', '-f', '-n', plain);
  assert.equal(tool('debugfs', '-R', 'cat /file', plain), 'through the kernel');
});
