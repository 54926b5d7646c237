/** `hwcrypt luks change-key`: another passphrase in the place of one. */
import { changeKey } from '../../../luks/change/keys.js';
import { hashOf, KDF_OPTIONS, KDF_RULES, kdfCostOf } from '../../kdf.js';
import type { CommandSpec, Given } from '../../options.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS, passphraseOf } from '../../volume.js';
import { changing, cipherOf, NEW_KEY_OPTIONS, NEW_KEY_RULES, newPassphraseOf } from './keys.js';

export const command: CommandSpec = {
  name: 'luks change-key',
  summary: 'Gives the keyslot that -pass opens another passphrase, and the key derivation that is asked for.',
  usage: 'IMAGE',
  operands: 1,
  options: [
    HEADER_OPTION,
    ...OPEN_OPTIONS,
    ...NEW_KEY_OPTIONS,
    {
      names: ['--keep-passphrase'],
      help: 'The passphrase stays, and only the key derivation changes (luksConvertKey)',
      section: 'New key',
    },
    ...KDF_OPTIONS,
  ],
  rules: [
    ...KEY_RULES,
    ...NEW_KEY_RULES,
    { of: '--keep-passphrase', beside: ['--new-pass', '--new-key-file'] },
    ...KDF_RULES,
  ],
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const hash = hashOf(given);
  const keep = given.has('keep-passphrase');
  const ask = passphraseOf(given, image);
  let kept: Buffer | undefined;
  const asked = async (): Promise<Buffer> => {
    const passphrase = await ask();
    // Whoever unlocks wipes what it was given.
    if (keep) kept = Buffer.from(passphrase);
    return passphrase;
  };
  const work: Parameters<typeof changing>[2] = async (device, header, unlocked, context) => {
    const passphrase = kept ?? (await newPassphraseOf(given, image));
    try {
      const cipher = cipherOf(header, unlocked.keyslot);
      const cost = await kdfCostOf(given, cipher.keyBytes);
      const wanted = { passphrase, cost, hash, ...cipher };
      await changeKey(device, header, unlocked, wanted, context);
    } finally {
      passphrase.fill(0);
    }
  };
  try {
    await changing(given, image, work, asked);
  } finally {
    kept?.fill(0);
  }
}
