/**
 * Disk images on block devices: sectors of 4096 bytes, a part of a disk, one that is in use, one that is read-only, one that fails.
 *
 * The commands run in this process, since one of their own takes the guest a second. What is alike on files is tested in unit/cli/luks.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, readSync, truncateSync, writeFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { diskProblem } from '#src/bench/disk/index.js';
import { command as addKey } from '#src/cli/commands/luks/add-key.js';
import { command as format } from '#src/cli/commands/luks/format.js';
import { command as serve } from '#src/cli/commands/luks/serve.js';
import { command as write } from '#src/cli/commands/luks/write.js';
import { type CommandSpec, parse } from '#src/cli/options.js';
import { Device } from '#src/luks/device.js';
import { readHeader } from '#src/luks/header/read.js';
import { inspect } from '#src/luks/inspect.js';
import { kdfLimits } from '#src/luks/keyslot/kdf.js';
import { Volume } from '#src/luks/volume.js';
import { cryptsetup } from '../helpers/luks.js';
import { failure } from '../unit/cli/helpers.js';

const FOLDER = '/tmp/luks-devices';
const path = (name: string): string => `${FOLDER}/${name}`;
const KDF = ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'];
const MADE = [...KDF, '--offset', '1M'];
const PASS = ['-pass', 'file:/tmp/luks-devices/pass'];
const BYTES = 4 * 2 ** 20;
const IN_USE = 'it is in use: mounted, mapped, or a part of something';

before(() => {
  mkdirSync(FOLDER);
  writeFileSync(path('pass'), 'p\n');
  writeFileSync(path('other'), 'q\n');
  // Also loads device-mapper and the loop driver.
  assert.equal(diskProblem(), undefined);
});

async function run(command: CommandSpec, ...argv: string[]): Promise<void> {
  const { given, operands } = parse(command, argv);
  await command.run(given, operands);
}

const tool = (file: string, ...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, `${file} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout.trim();
};

function loop(name: string, ...args: string[]): string {
  writeFileSync(path(name), '');
  truncateSync(path(name), BYTES);
  return tool('losetup', '--find', '--show', ...args, path(name));
}

async function plaintext(image: string, bytes: number, offset = 0): Promise<Buffer> {
  const passphrase = async (): Promise<Buffer> => Buffer.from('p');
  const volume = await Volume.open({ image, passphrase, limits: kdfLimits() });
  const seen = Buffer.alloc(bytes);
  try {
    volume.payload.read(seen, offset);
  } finally {
    volume.close();
  }
  return seen;
}

/** Nobody writes to it, and everybody may look. */
async function isInUse(device: string, backing: string): Promise<void> {
  const disk = readFileSync(backing);
  for (const [command, ...argv] of [
    [format, device, '--force', ...MADE, ...PASS],
    [write, device, '-in', path('in'), ...PASS],
    [serve, device, '--socket', path('s'), ...PASS],
  ] as const) {
    const { message, status } = await failure(command, argv);
    assert.deepEqual([message, status], [`cannot open ${device} for writing: ${IN_USE}`, 1]);
  }
  assert.ok(readFileSync(backing).equals(disk));
  const looked = Device.open(device);
  const { judgements } = await inspect(readHeader(looked), looked);
  assert.ok(judgements.length > 0);
  looked.close();
}

test('a part of a disk with sectors of 4096 bytes: made, written, opened by dm-crypt; mapped, its data is not written, but a key is added', async () => {
  const device = loop('large', '--sector-size', '4096', '--offset', '1048576');
  const opened = Device.open(device, 'alone');
  assert.deepEqual([opened.bytes, opened.logicalSectorBytes, opened.block], [BYTES - 2 ** 20, 4096, true]);
  opened.close();
  await run(format, device, ...MADE, ...PASS);
  const data = Buffer.alloc(10_000, 'x');
  writeFileSync(path('in'), data);
  await run(write, device, '-in', path('in'), '--offset', '100', ...PASS);
  cryptsetup(['open', '--key-file', '-', device, 'hwcrypt-busy'], 'p');
  try {
    const seen = readFileSync('/dev/mapper/hwcrypt-busy');
    assert.equal(seen.length, BYTES - 2 * 2 ** 20);
    assert.ok(seen.subarray(100, 10_100).equals(data));
    await isInUse(device, path('large'));
    assert.ok((await plaintext(device, data.length, 100)).equals(data));
    await run(addKey, device, ...KDF, ...PASS, '--new-pass', `file:${path('other')}`);
  } finally {
    cryptsetup(['close', 'hwcrypt-busy']);
  }
  cryptsetup(['open', '--test-passphrase', '--key-file', '-', device], 'q');
  // Nobody uses it any more.
  await run(format, device, '--force', ...MADE, ...PASS);
  assert.equal((await plaintext(device, 4096)).length, 4096);
  tool('losetup', '--detach', device);
});

test('a device that is mounted', async () => {
  const device = loop('mounted');
  tool('mke2fs', '-q', '-F', '-b', '1024', device, '1024');
  mkdirSync(path('mnt'));
  tool('mount', '-t', 'ext4', device, path('mnt'));
  try {
    const { message } = await failure(format, [device, '--force', ...MADE, ...PASS]);
    assert.equal(message, `cannot open ${device} for writing: ${IN_USE}`);
  } finally {
    tool('umount', path('mnt'));
  }
  tool('losetup', '--detach', device);
});

test('a read-only device is read, and neither made anew nor written, nor are its keys changed', async () => {
  const source = loop('source');
  await run(format, source, ...MADE, ...PASS);
  tool('losetup', '--detach', source);
  const device = tool('losetup', '--find', '--show', '--read-only', path('source'));
  const disk = readFileSync(path('source'));
  assert.equal((await plaintext(device, 100)).length, 100);
  for (const [command, ...argv] of [
    [format, device, '--force', ...MADE, ...PASS],
    [write, device, '-in', path('pass'), ...PASS],
    [addKey, device, ...KDF, ...PASS, '--new-pass', `file:${path('other')}`],
  ] as const) {
    const { message, status } = await failure(command, argv);
    assert.equal(status, 1);
    assert.equal(message, `cannot open ${device} for writing: it is read-only`);
  }
  assert.ok(readFileSync(path('source')).equals(disk));
  tool('losetup', '--detach', device);
});

/** The table of dm: `disk` with errors in [from, to) bytes. */
const failing = (disk: string, from: number, to: number): string =>
  [
    `0 ${from / 512} linear ${disk} 0`,
    `${from / 512} ${(to - from) / 512} error`,
    `${to / 512} ${(BYTES - to) / 512} linear ${disk} ${to / 512}`,
  ].join('\n');

function mapped(table: string): string {
  const { status, stderr } = spawnSync('dmsetup', ['create', '--noudevsync', 'hwcrypt-bad'], {
    input: table,
  });
  assert.equal(status, 0, String(stderr));
  tool('dmsetup', 'mknodes', 'hwcrypt-bad');
  return '/dev/mapper/hwcrypt-bad';
}

test('a disk with bad sectors: the error is told in a line, what is readable is read, and a key that cannot be written is not added', async () => {
  const disk = loop('bad');
  await run(format, disk, ...MADE, ...PASS);
  const data = Buffer.alloc(2 ** 20, 'y');
  writeFileSync(path('in'), data);
  await run(write, disk, '-in', path('in'), ...PASS);
  const header = readFileSync(path('bad')).subarray(0, 2 ** 20);

  let bad = mapped(failing(disk, 2 ** 20 + 65_536, 2 ** 20 + 131_072));
  try {
    assert.ok((await plaintext(bad, 65_536)).equals(data.subarray(0, 65_536)));
    await assert.rejects(plaintext(bad, 65_537), {
      code: 'INPUT_FILE',
      message: `cannot read ${bad}: i/o error`,
    });
    const { message } = await failure(write, [bad, '-in', path('in'), ...PASS]);
    assert.match(message, /^cannot write \/dev\/mapper\/hwcrypt-bad: i\/o error$/);
  } finally {
    tool('dmsetup', 'remove', '--noudevsync', 'hwcrypt-bad');
  }
  assert.ok(
    readFileSync(path('bad'))
      .subarray(0, 2 ** 20)
      .equals(header),
  );

  // All of the keyslots area but the first keyslot's place: reading that is not needed.
  const [slot] = readHeader({
    name: 'bad',
    readAt: (at, length) => header.subarray(at, at + length),
  }).keyslots;
  const end = (slot?.area.offset as number) + (slot?.area.bytes as number);
  bad = mapped(failing(disk, end, 2 ** 20));
  try {
    const { message } = await failure(addKey, [bad, ...KDF, ...PASS, '--new-pass', `file:${path('other')}`]);
    assert.match(message, /^cannot write \/dev\/mapper\/hwcrypt-bad: i\/o error$/);
    assert.equal((await plaintext(bad, 1)).toString(), 'y');
  } finally {
    tool('dmsetup', 'remove', '--noudevsync', 'hwcrypt-bad');
  }
  const fd = openSync(path('bad'), 'r');
  const now = Buffer.alloc(2 ** 20);
  readSync(fd, now, 0, now.length, 0);
  closeSync(fd);
  assert.ok(now.equals(header));
  tool('losetup', '--detach', disk);
});
