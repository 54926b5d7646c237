/** `hwcrypt luks add-key`: one passphrase more. */
import { HwcryptError } from '../../../errors.js';
import { addKey } from '../../../luks/change/keys.js';
import { hashOf, KDF_OPTIONS, KDF_RULES, kdfCostOf } from '../../kdf.js';
import type { CommandSpec, Given } from '../../options.js';
import { writeError } from '../../stdio.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS } from '../../volume.js';
import { changing, cipherOf, NEW_KEY_OPTIONS, NEW_KEY_RULES, newPassphraseOf } from './keys.js';

export const command: CommandSpec = {
  name: 'luks add-key',
  summary: 'Adds a passphrase to a LUKS2 image; -pass gives one that opens it already.',
  usage: 'IMAGE',
  operands: 1,
  options: [
    HEADER_OPTION,
    ...OPEN_OPTIONS,
    ...NEW_KEY_OPTIONS,
    { names: ['--new-key-slot'], value: 'N', help: 'The number of the new keyslot', section: 'New key' },
    {
      names: ['--priority'],
      value: 'NAME',
      help: 'prefer: tried first; ignore: only by number',
      section: 'New key',
    },
    ...KDF_OPTIONS,
    { names: ['-v'], help: 'Say which keyslot it is', section: 'General' },
  ],
  rules: [...KEY_RULES, ...NEW_KEY_RULES, ...KDF_RULES],
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const hash = hashOf(given);
  const keyslot = given.number('new-key-slot', 0, 31);
  const priority = priorityOf(given);
  const { keyslot: made } = await changing(given, image, async (device, header, unlocked, context) => {
    const passphrase = await newPassphraseOf(given, image);
    try {
      const cipher = cipherOf(header, unlocked.keyslot);
      const cost = await kdfCostOf(given, cipher.keyBytes);
      const wanted = { passphrase, cost, hash, keyslot, priority, ...cipher };
      return await addKey(device, header, unlocked, wanted, context);
    } finally {
      passphrase.fill(0);
    }
  });
  if (given.has('v')) writeError(`keyslot: ${made}`);
}

function priorityOf(given: Given): number | undefined {
  const names: Readonly<Record<string, number>> = { ignore: 0, normal: 1, prefer: 2 };
  const name = given.get('priority');
  if (name === undefined) return undefined;
  if (Object.hasOwn(names, name)) return names[name];
  throw new HwcryptError('USAGE', `--priority is prefer, normal or ignore, not "${name}"`);
}
