/**
 * What the commands for disk images have in common: the options that open one, and sizes.
 *
 * Room `cli`.
 */
import { HwcryptError } from '../errors.js';
import { DEFAULT_KDF_SECONDS, kdfLimits } from '../luks/keyslot/kdf.js';
import { type OpenOptions, Volume } from '../luks/volume.js';
import { Router } from '../routing/router.js';
import { POLICY_OPTIONS, routingOf } from './drivers.js';
import type { Given, OptionSpec } from './options.js';
import { fromPass, fromTerminal, fromWholeFile, hideArguments } from './passphrase.js';
import { type Rule, rulesFor } from './rules.js';
import { writeError } from './stdio.js';

export const HEADER_OPTION: OptionSpec = {
  names: ['--header'],
  value: 'FILE',
  help: 'The header is in this file, and the image has only data',
};

/** Where the passphrase comes from. */
export const KEY_OPTIONS: readonly OptionSpec[] = [
  {
    names: ['-pass'],
    value: 'SOURCE',
    help: 'Passphrase from pass:TEXT (others may see it: ps, history), env:NAME, file:NAME (its first line), fd:N or stdin; asked for if not given',
    section: 'Key',
  },
  {
    names: ['--key-file', '-d'],
    value: 'FILE',
    help: 'All bytes of this file are the passphrase, as in cryptsetup; - is standard input',
    section: 'Key',
  },
  { names: ['--keyfile-offset'], value: 'N', help: 'Skip as many bytes of the key file', section: 'Key' },
  { names: ['--keyfile-size', '-l'], value: 'N', help: 'Read no more than that', section: 'Key' },
];

/** What opening costs and who does it. */
export const OPEN_OPTIONS: readonly OptionSpec[] = [
  ...KEY_OPTIONS,
  { names: ['--key-slot', '-S'], value: 'N', help: 'Try this keyslot and no other', section: 'Key' },
  {
    names: ['--kdf-seconds'],
    value: 'N',
    help: `Refuse a keyslot that would surely take longer (${DEFAULT_KDF_SECONDS})`,
    section: 'Key',
  },
  {
    names: ['--driver'],
    value: 'NAME[:IMPL],…',
    help: 'Use this driver and no other; of several the first that can',
    section: 'Work',
  },
  ...POLICY_OPTIONS,
];

export const KEY_RULES: readonly Rule[] = [
  { of: '-pass', beside: ['--key-file'] },
  ...rulesFor(['--keyfile-offset', '--keyfile-size'], { needs: ['--key-file'] }),
];

/** Passphrases on the command line are taken out of what `ps` shows. */
function hideSecrets(given: Given): void {
  const sources = [...given.all('pass'), ...given.all('new-pass')];
  if (sources.some((source) => source.startsWith('pass:'))) hideArguments('luks');
}

/** @param name of the image, for the prompt */
export function passphraseOf(given: Given, name: string, twice = false): () => Promise<Buffer> {
  hideSecrets(given);
  return async () => {
    const file = given.get('key-file');
    if (file !== undefined) {
      return fromWholeFile(file, given.number('keyfile-offset', 0) ?? 0, given.number('keyfile-size', 1));
    }
    const source = given.get('pass');
    return source === undefined ? await fromTerminal(name, twice) : fromPass(source);
  };
}

/** All that were given, in the order passphrases before key files; asked for, twice, where none is. */
export async function passphrasesOf(given: Given, name: string): Promise<Buffer[]> {
  const [sources, files] = [given.all('pass'), given.all('key-file')];
  hideSecrets(given);
  const [offset, size] = [given.number('keyfile-offset', 0) ?? 0, given.number('keyfile-size', 1)];
  const made = [...sources.map(fromPass), ...files.map((file) => fromWholeFile(file, offset, size))];
  return made.length > 0 ? made : [await fromTerminal(name, true)];
}

/** The one operand that a command cannot do without. */
export function imageOf(operands: readonly string[]): string {
  const [image] = operands;
  if (image === undefined) throw new HwcryptError('USAGE', 'no image is given');
  return image;
}

const said = ({ message }: { readonly message: string }): void => writeError(`hwcrypt: luks: ${message}`);

export function openVolume(
  given: Given,
  image: string,
  access: OpenOptions['access'] = 'read',
): Promise<Volume> {
  const routing = routingOf(given);
  return Volume.open({
    image,
    header: given.get('header'),
    access,
    keyslot: given.number('key-slot', 0, 31),
    passphrase: passphraseOf(given, image),
    router: new Router({ ...routing, onFallback: said, onNote: (message) => said({ message }) }),
    routing,
    limits: kdfLimits(given.number('kdf-seconds', 1)),
  });
}

/** What `-v` says in the end. */
export function tellOf({ keyslot, bytes, doneBy }: Volume): void {
  writeError(`keyslot: ${keyslot}`);
  writeError(`bytes  : ${bytes}`);
  writeError(`driver : ${doneBy.join(', ') || 'none: it is not encrypted'}`);
}
