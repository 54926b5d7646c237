/** `hwcrypt luks format`: a new LUKS2 image. */
import { existsSync, fstatSync, ftruncateSync } from 'node:fs';

import { HwcryptError } from '../../../errors.js';
import { openOutput } from '../../../files/output.js';
import type { Luks2Header } from '../../../luks/change/commit.js';
import {
  checkFormat,
  DEFAULT_CIPHER,
  DEFAULT_KEY_BITS,
  DEFAULT_OFFSET,
  DEFAULT_SECTOR_BYTES,
  type FormatOptions,
  format,
} from '../../../luks/change/format.js';
import { Device } from '../../../luks/device.js';
import { readHeader } from '../../../luks/header/read.js';
import { MIN_ROUNDS } from '../../../luks/keyslot/cost.js';
import { kdfLimits } from '../../../luks/keyslot/kdf.js';
import { isWeak } from '../../../planning/index.js';
import { Router } from '../../../routing/router.js';
import { hashOf, KDF_OPTIONS, KDF_RULES, kdfCostOf } from '../../kdf.js';
import type { CommandSpec, Given } from '../../options.js';
import { sizeOf } from '../../sizes.js';
import { writeError } from '../../stdio.js';
import { HEADER_OPTION, imageOf, KEY_OPTIONS, KEY_RULES, passphrasesOf } from '../../volume.js';

export const command: CommandSpec = {
  name: 'luks format',
  summary: 'Makes a LUKS2 image: a new file, or in the place of one that is there.',
  usage: 'IMAGE [--size N] [options]',
  operands: 1,
  options: [
    { names: ['--size'], value: 'N', help: 'Bytes of plaintext, of a new image; K, M, G count in 1024s' },
    { names: ['--force'], help: 'Also where something else than zeros is there: it is lost' },
    { ...HEADER_OPTION, help: 'Write the header to this file, and leave IMAGE to the data' },
    { names: ['--cipher', '-c'], value: 'SPEC', help: `Cipher of the data (${DEFAULT_CIPHER})` },
    { names: ['--key-size', '-s'], value: 'BITS', help: `Bits of the volume key (${DEFAULT_KEY_BITS})` },
    {
      names: ['--sector-size'],
      value: 'N',
      help: `Bytes of an encrypted sector: 512, 1024, 2048 or 4096 (${DEFAULT_SECTOR_BYTES})`,
    },
    { names: ['--label'], value: 'TEXT', help: 'A name, up to 47 bytes' },
    { names: ['--subsystem'], value: 'TEXT', help: 'A second one' },
    { names: ['--uuid'], value: 'UUID', help: 'This and no random one' },
    {
      names: ['--offset'],
      value: 'N',
      help: 'Where the data begins (16M); what is in front of it is for keyslots',
    },
    ...KEY_OPTIONS.map((option) =>
      option.names[0] === '-pass' || option.names[0] === '--key-file'
        ? { ...option, repeats: true, help: `${option.help}. Several times: a keyslot each` }
        : option,
    ),
    ...KDF_OPTIONS,
    { names: ['-v'], help: 'Say what was made', section: 'General' },
  ],
  rules: [...KEY_RULES.filter(({ of }) => of !== '-pass'), ...KDF_RULES],
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const detached = given.get('header');
  const size = sizeOf(given, 'size');
  const dataOffset = sizeOf(given, 'offset') ?? (detached === undefined ? DEFAULT_OFFSET : 0);
  const metadataBytes = detached === undefined ? Math.min(dataOffset, DEFAULT_OFFSET) : DEFAULT_OFFSET;
  const sectorBytes = given.number('sector-size', 512, 4096) ?? DEFAULT_SECTOR_BYTES;
  if (![512, 1024, 2048, 4096].includes(sectorBytes))
    throw new HwcryptError('USAGE', `--sector-size takes 512, 1024, 2048 or 4096, not ${sectorBytes}`);
  const shape = {
    encryption: given.get('cipher') ?? DEFAULT_CIPHER,
    keyBits: given.number('key-size', 8, 4096) ?? DEFAULT_KEY_BITS,
    sectorBytes,
    hash: hashOf(given),
    label: given.get('label') ?? '',
    subsystem: given.get('subsystem') ?? '',
    uuid: given.get('uuid')?.toLowerCase(),
    dataOffset,
    metadataBytes,
    // As in cryptsetup: who forces the one measures neither.
    digestIterations: given.has('pbkdf-force-iterations') ? MIN_ROUNDS : undefined,
    router: new Router(),
    limits: kdfLimits(24 * 3600),
  };
  checkFormat(shape, Math.max(1, given.all('pass').length + given.all('key-file').length));
  const target = detached ?? image;
  const total = totalBytes(image, detached, size, dataOffset, shape.sectorBytes);
  const held = hold(new Set([target, image]));
  try {
    refuseContent(target, given);
    if (isWeak(shape.encryption))
      writeError(
        `hwcrypt: luks format: ${shape.encryption} gives away what lies on the disk: aes-xts-plain64 does not`,
      );
    const cost = await kdfCostOf(given, shape.keyBits / 8);
    const passphrases = await passphrasesOf(given, image);
    try {
      const options: FormatOptions = { ...shape, cost, passphrases };
      const made = await make(target, options, detached === undefined ? total : metadataBytes);
      if (detached !== undefined && size !== undefined) await makeData(image, total);
      if (given.has('v'))
        writeError(`${target}: LUKS2 ${made.uuid}, keyslots ${made.keyslots.map(({ id }) => id).join(', ')}`);
    } finally {
      for (const passphrase of passphrases) passphrase.fill(0);
    }
  } finally {
    for (const device of held) device.close();
  }
}

/** Whoever serves or changes a file that is there would go on with it unseen. A device is locked where it is written. */
function hold(paths: ReadonlySet<string>): Device[] {
  const held: Device[] = [];
  try {
    for (const path of paths) {
      if (!existsSync(path)) continue;
      const device = Device.open(path);
      held.push(device);
      const stat = fstatSync(device.fd);
      const again = held.slice(0, -1).some(({ fd }) => {
        const other = fstatSync(fd);
        return other.dev === stat.dev && other.ino === stat.ino;
      });
      if (!device.block && !again) device.lock('exclusive');
    }
    return held;
  } catch (error) {
    for (const device of held) device.close();
    throw error;
  }
}

/** How long the file with the data is going to be. */
function totalBytes(
  image: string,
  detached: string | undefined,
  size: number | undefined,
  dataOffset: number,
  sectorBytes: number,
): number {
  if (size !== undefined) {
    if (size === 0 || size % sectorBytes !== 0) {
      throw new HwcryptError('USAGE', `--size is a multiple of the sector, ${sectorBytes} bytes`);
    }
    return dataOffset + size;
  }
  if (!existsSync(image)) {
    throw new HwcryptError('USAGE', `${image} is not there: --size says how large it shall be`);
  }
  const device = Device.open(image);
  device.close();
  if (device.bytes < dataOffset + sectorBytes) {
    throw new HwcryptError(
      'USAGE',
      detached === undefined
        ? `${device.name} has ${device.bytes} bytes, and the header alone takes ${dataOffset}: give --size, or a smaller --offset`
        : `${device.name} has no room for data`,
    );
  }
  return device.bytes;
}

const LOOKED_AT_BYTES = 2 ** 20;

/** What somebody may still want is not overwritten unasked. */
function refuseContent(target: string, given: Given): void {
  if (!existsSync(target)) return;
  const device = Device.open(target);
  try {
    if (device.block) Device.open(target, 'alone').close();
    if (given.has('force')) return;
    const start = device.readAt(0, LOOKED_AT_BYTES);
    if (start.every((byte) => byte === 0)) return;
    throw new HwcryptError(
      'OUTPUT_FILE',
      `${device.name} is not empty, and all of it would be lost (--force)`,
    );
  } finally {
    device.close();
  }
}

async function make(target: string, options: FormatOptions, bytes: number): Promise<Luks2Header> {
  const present = existsSync(target) ? Device.open(target) : undefined;
  present?.close();
  if (present?.block) return overDevice(target, options);
  const output = openOutput(target, { secret: true });
  try {
    if (!fstatSync(output.fd).isFile()) throw new HwcryptError('OUTPUT_FILE', `${output.name} is no file`);
    ftruncateSync(output.fd, bytes);
    const made = await format(Device.over(output.fd, target), options);
    await output.commit();
    return made;
  } catch (error) {
    output.abort();
    throw error;
  }
}

async function overDevice(target: string, options: FormatOptions): Promise<Luks2Header> {
  const device = Device.open(target, 'alone');
  try {
    let old: Luks2Header | undefined;
    try {
      const found = readHeader(device);
      if (found.luks2) old = found as Luks2Header;
    } catch {
      // Whatever is there is going to be overwritten.
    }
    return await device.locked(() => format(device, options, old));
  } finally {
    device.close();
  }
}

async function makeData(image: string, bytes: number): Promise<void> {
  if (existsSync(image)) return;
  const output = openOutput(image, { secret: true });
  try {
    ftruncateSync(output.fd, bytes);
    await output.commit();
  } catch (error) {
    output.abort();
    throw error;
  }
}
