/** `hwcrypt luks cat`: a part of the plaintext of an image. */
import { HwcryptError } from '../../../errors.js';
import { Progress, watched } from '../../../report/progress.js';
import type { CommandSpec, Given } from '../../options.js';
import { sizeOf } from '../../sizes.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS, openVolume } from '../../volume.js';

export const command: CommandSpec = {
  name: 'luks cat',
  summary: 'Decrypts a part of an image to standard output.',
  usage: 'IMAGE [--offset N] [--length N]',
  operands: 1,
  options: [
    { names: ['--offset'], value: 'N', help: 'First byte of the plaintext (0); K, M, G count in 1024s' },
    { names: ['--length'], value: 'N', help: 'How many bytes (to the end)' },
    HEADER_OPTION,
    ...OPEN_OPTIONS,
  ],
  rules: KEY_RULES,
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const offset = sizeOf(given, 'offset') ?? 0;
  const length = sizeOf(given, 'length');
  const volume = await openVolume(given, image);
  const progress = new Progress('luks cat', watched(undefined));
  try {
    const rest = volume.bytes - offset;
    if (rest < 0 || (length ?? 0) > rest) {
      throw new HwcryptError(
        'USAGE',
        `the plaintext has ${volume.bytes} bytes, and ${offset + (length ?? 0)} are asked for`,
      );
    }
    const bytes = length ?? rest;
    const file = { fd: 1, name: 'standard output' };
    await volume.copy({ direction: 'read', offset, bytes, file }, (done) => progress.update(done, bytes));
  } finally {
    progress.stop();
    volume.close();
  }
}
