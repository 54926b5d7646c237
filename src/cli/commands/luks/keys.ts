/** What the commands that change keys have in common. */

import type { Luks2Header } from '../../../luks/change/commit.js';
import { type KeyContext, withKey } from '../../../luks/change/keys.js';
import { Device } from '../../../luks/device.js';
import { opensByPassphrase } from '../../../luks/header/model.js';
import { kdfLimits } from '../../../luks/keyslot/kdf.js';
import type { Unlocked } from '../../../luks/keyslot/unlock.js';
import { Router } from '../../../routing/router.js';
import { routingOf } from '../../drivers.js';
import type { Given, OptionSpec } from '../../options.js';
import { fromPass, fromTerminal, fromWholeFile } from '../../passphrase.js';
import type { Rule } from '../../rules.js';
import { passphraseOf } from '../../volume.js';

export const NEW_KEY_OPTIONS: readonly OptionSpec[] = [
  {
    names: ['--new-pass'],
    value: 'SOURCE',
    help: 'The new passphrase, as -pass; asked for if not given',
    section: 'New key',
  },
  {
    names: ['--new-key-file'],
    value: 'FILE',
    help: 'All bytes of this file are the new passphrase',
    section: 'New key',
  },
];

export const NEW_KEY_RULES: readonly Rule[] = [{ of: '--new-pass', beside: ['--new-key-file'] }];

const NEW_ELSEWHERE = '--new-pass file:NAME, env:NAME, fd:N or stdin, or --new-key-file FILE';

export async function newPassphraseOf(given: Given, name: string): Promise<Buffer> {
  const file = given.get('new-key-file');
  if (file !== undefined) return fromWholeFile(file, 0, undefined);
  const source = given.get('new-pass');
  return source === undefined ? await fromTerminal(`new ${name}`, true, NEW_ELSEWHERE) : fromPass(source);
}

/** Opens the header of an image (or a file that is only a header) for a change. */
export async function changing<T>(
  given: Given,
  image: string,
  work: (device: Device, header: Luks2Header, unlocked: Unlocked, context: KeyContext) => Promise<T> | T,
  ask: () => Promise<Buffer> = passphraseOf(given, image),
): Promise<T> {
  const context: KeyContext = {
    router: new Router(routingOf(given)),
    limits: kdfLimits(given.number('kdf-seconds', 1)),
  };
  const device = Device.open(given.get('header') ?? image, 'write');
  try {
    const options = {
      ...context,
      passphrase: ask,
      keyslot: given.number('key-slot', 0, 31),
    };
    return await withKey(device, options, (header, unlocked) => work(device, header, unlocked, context));
  } finally {
    device.close();
  }
}

/** A new keyslot is encrypted as the one that opened. */
export function cipherOf(header: Luks2Header, keyslot: number): { encryption: string; keyBytes: number } {
  const slot = header.keyslots.filter(opensByPassphrase).find(({ id }) => id === keyslot);
  if (!slot) throw new Error('that keyslot opened');
  return { encryption: slot.area.encryption, keyBytes: slot.area.keyBytes };
}
