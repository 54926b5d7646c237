/** `hwcrypt luks change-key`: another passphrase in the place of one. */
import { changeKey } from '../../../luks/change/keys.js';
import { hashOf, KDF_OPTIONS, KDF_RULES, kdfCostOf } from '../../kdf.js';
import type { CommandSpec, Given } from '../../options.js';
import { HEADER_OPTION, imageOf, KEY_RULES, OPEN_OPTIONS } from '../../volume.js';
import { changing, cipherOf, NEW_KEY_OPTIONS, NEW_KEY_RULES, newPassphraseOf } from './keys.js';

export const command: CommandSpec = {
  name: 'luks change-key',
  summary: 'Gives the keyslot that -pass opens another passphrase, and the key derivation that is asked for.',
  usage: 'IMAGE',
  operands: 1,
  options: [HEADER_OPTION, ...OPEN_OPTIONS, ...NEW_KEY_OPTIONS, ...KDF_OPTIONS],
  rules: [...KEY_RULES, ...NEW_KEY_RULES, ...KDF_RULES],
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<undefined> {
  const image = imageOf(operands);
  const hash = hashOf(given);
  await changing(given, image, async (device, header, unlocked, context) => {
    const passphrase = await newPassphraseOf(given, image);
    try {
      const cipher = cipherOf(header, unlocked.keyslot);
      const cost = await kdfCostOf(given, cipher.keyBytes);
      const wanted = { passphrase, cost, hash, ...cipher };
      await changeKey(device, header, unlocked, wanted, context);
    } finally {
      passphrase.fill(0);
    }
  });
}
