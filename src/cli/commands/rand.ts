/** `hwcrypt rand`: random bytes, as openssl rand prints them. */
import { allDrivers, type DriverChoice, optionsOf, parseDriver } from '../../drivers/registry.js';
import { Base64Encoder } from '../../enc/base64.js';
import { describeReason, HwcryptError, type Reason } from '../../errors.js';
import { openOutput } from '../../files/output.js';
import { Progress, watched } from '../../report/progress.js';
import { driversOf } from '../drivers.js';
import type { CommandSpec, Given } from '../options.js';
import { rulesFor } from '../rules.js';
import { UNITS } from '../sizes.js';
import { writeError } from '../stdio.js';

/** A multiple of 3 and of 48, so that base64 lines need no carrying over. */
const PIECE_BYTES = 48 * 4096;

export const command: CommandSpec = {
  name: 'rand',
  summary: 'Random bytes, as `openssl rand` prints them.',
  usage: '[options] N[K|M|G|T]',
  operands: 1,
  options: [
    { names: ['-hex'], help: 'In hex', sets: ['form', 'hex'] },
    { names: ['-base64'], help: 'In base64', sets: ['form', 'base64'] },
    { names: ['-out'], value: 'FILE', help: 'Write to a file, whole or not at all' },
    {
      names: ['--driver'],
      value: 'NAME[:IMPL],…',
      help: 'Whose generator: libcrypto (default), or afalg for the kernel’s, e.g. afalg:drbg_pr_hmac_sha512',
    },
    { names: ['-rand'], value: 'FILES', help: '', hidden: true, repeats: true },
    { names: ['-writerand'], value: 'FILE', help: '', hidden: true },
    { names: ['-provider'], value: 'NAME', help: '', hidden: true, repeats: true },
    { names: ['-provider-path'], value: 'PATH', help: '', hidden: true, repeats: true },
    { names: ['-propquery'], value: 'QUERY', help: '', hidden: true },
    { names: ['-engine'], value: 'ID', help: '', hidden: true },
  ],
  rules: rulesFor(['-rand', '-writerand'], { never: true, warn: true }),
  // A negative number looks like an option.
  resolve: (text) => {
    if (/^[\d.]/.test(text)) parseCount(`-${text}`);
    return undefined;
  },
  notes: 'K is 1024 bytes, M 1024 K, G 1024 M, T 1024 G.',
  run,
};

async function run(given: Given, [amount]: readonly string[]): Promise<number> {
  if (given.has('engine')) {
    throw new HwcryptError('USAGE', 'there are no engines here: use --driver (see hwcrypt list drivers)');
  }
  if (amount === undefined) throw new HwcryptError('USAGE', 'how many bytes? hwcrypt rand N');
  const count = parseCount(amount);
  const fill = generator(driversOf(given));
  const form = given.get('form');
  const output = openOutput(given.get('out'), { secret: true });
  const progress = new Progress('rand', watched(given.get('out')));
  const encoder = form === 'base64' ? new Base64Encoder() : undefined;
  // Two of each: one is filled while the other is being written.
  const pieces = [0, 1].map(() => Buffer.alloc(Math.min(count, PIECE_BYTES)));
  const texts = pieces.map((piece) =>
    encoder ? Buffer.alloc(Base64Encoder.outputBytes(piece.length)) : undefined,
  );
  let writing: Promise<void> | undefined;
  try {
    progress.update(0, count);
    for (let done = 0, turn = 0; done < count; turn ^= 1) {
      const bytes = (pieces[turn] as Buffer).subarray(0, Math.min(PIECE_BYTES, count - done));
      const text = texts[turn];
      fill(bytes);
      let view: Uint8Array = bytes;
      if (form === 'hex') view = Buffer.from(bytes.toString('hex'), 'latin1');
      else if (encoder && text) view = text.subarray(0, encoder.update(bytes, text));
      await writing;
      writing = output.write([view]);
      // Handled here or at the next turn, but never by nobody.
      writing.catch(() => {});
      done += bytes.length;
      progress.update(done, count);
    }
    await writing;
    if (form === 'hex') await output.write([Buffer.from('\n')]);
    const [text] = texts;
    if (encoder && text) await output.write([text.subarray(0, encoder.final(text))]);
    await output.commit();
  } catch (error) {
    output.abort();
    throw error;
  } finally {
    progress.stop();
    for (const buffer of [...pieces, ...texts]) buffer?.fill(0);
  }
  return 0;
}

/** @throws HwcryptError USAGE */
function parseCount(text: string): number {
  const match = /^(\d+)([KMGT]?)$/.exec(text);
  const count = match ? Number(match[1]) * (UNITS[match[2] as string] as number) : Number.NaN;
  if (Number.isSafeInteger(count) && count >= 1) return count;
  const upper = text.toUpperCase();
  const why =
    count === 0
      ? 'at least 1 is needed'
      : count > 0
        ? 'it is too large'
        : text !== upper && /^\d+[KMGT]$/.test(upper)
          ? `did you mean ${upper}?`
          : 'a whole number such as 16, 4K or 1M';
  throw new HwcryptError('USAGE', `"${text}" is not a number of bytes to make: ${why}`);
}

/** The generator of the first that has one: of those named, or of all. */
function generator(named: readonly string[] | undefined): (output: Uint8Array) => void {
  const order: readonly DriverChoice[] =
    named?.map(parseDriver) ?? allDrivers().map((driver) => ({ driver }));
  const passedOver: string[] = [];
  let reason: Reason | undefined;
  for (const { driver, kernelDriver } of order) {
    const probe = driver.probe();
    if (!probe.available || !driver.random) {
      if (!probe.available) reason ??= probe.reason;
      passedOver.push(
        `${driver.name}: ${probe.available ? 'it has no random generator' : describeReason(probe.reason)}`,
      );
      continue;
    }
    if (passedOver.length > 0) {
      writeError(`hwcrypt: rand: the generator is ${driver.name}'s, since ${passedOver.join('; ')}`);
    }
    return (output) => driver.random?.(output, optionsOf({ kernelDriver }));
  }
  throw reason
    ? new HwcryptError('DRIVER_UNAVAILABLE', passedOver.join('; '), { reason })
    : new HwcryptError('NO_DRIVER', passedOver.join('; '));
}
