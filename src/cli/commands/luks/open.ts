/** `hwcrypt luks open`: the plaintext of an image, as a file. */
import { ftruncateSync } from 'node:fs';

import { checkOutput, openOutput } from '../../../files/output.js';
import { Progress, watched } from '../../../report/progress.js';
import type { CommandSpec, Given } from '../../options.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS, openVolume, tellOf } from '../../volume.js';

export const command: CommandSpec = {
  name: 'luks open',
  summary: 'Decrypts an image into a file, which appears whole or not at all, or into a pipe.',
  usage: 'IMAGE -o FILE',
  operands: 1,
  options: [
    { names: ['-o', '-out'], value: 'FILE', help: 'Output (standard output)' },
    HEADER_OPTION,
    ...OPEN_OPTIONS,
    { names: ['-v'], help: 'Say which keyslot opened, and who decrypted', section: 'General' },
  ],
  rules: KEY_RULES,
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const target = given.get('o');
  const alsoRead = [image, ...given.all('header'), ...given.all('key-file')];
  checkOutput(target, { secret: true, alsoRead });
  const volume = await openVolume(given, image);
  const progress = new Progress('luks open', watched(target));
  try {
    const { bytes } = volume;
    const output = openOutput(target, { secret: true, alsoRead });
    try {
      const { fd, name, atomic } = output;
      // A new file: what is not written reads as zeros.
      if (atomic) ftruncateSync(fd, bytes);
      const file = { fd, name, ...(atomic ? { offset: 0, sparse: true } : {}) };
      progress.update(0, bytes);
      await volume.copy({ direction: 'read', offset: 0, bytes, file }, (done) =>
        progress.update(done, bytes),
      );
      await output.commit();
    } catch (error) {
      output.abort();
      throw error;
    }
    progress.stop();
    if (given.has('v')) tellOf(volume);
  } finally {
    progress.stop();
    volume.close();
  }
}
