/** `hwcrypt luks remove-key`: one passphrase less. */
import { removeKey } from '../../../luks/change/keys.js';
import type { CommandSpec, Given } from '../../options.js';
import { writeError } from '../../stdio.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS } from '../../volume.js';
import { changing } from './keys.js';

export const command: CommandSpec = {
  name: 'luks remove-key',
  summary:
    'Removes the passphrase that is given, or with --kill-slot a keyslot, and overwrites what was there.',
  usage: 'IMAGE',
  operands: 1,
  options: [
    {
      names: ['--kill-slot'],
      value: 'N',
      help: 'Remove this keyslot; -pass gives a passphrase of any other',
    },
    { names: ['--even-last'], help: 'Also the last one: then the data is lost for good' },
    HEADER_OPTION,
    ...OPEN_OPTIONS,
    { names: ['-v'], help: 'Say which keyslot it was', section: 'General' },
  ],
  rules: KEY_RULES,
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const killed = given.number('kill-slot', 0, 31);
  const id = await changing(given, image, (device, header, unlocked) => {
    const keyslot = killed ?? unlocked.keyslot;
    removeKey(device, header, keyslot, given.has('even-last'));
    return keyslot;
  });
  if (given.has('v')) writeError(`keyslot: ${id}`);
}
