/**
 * Who does the work: `--driver`, one or several in the order in which they are tried; `--policy`, how one of them is chosen; `--verify`,
 * how often its results are compared.
 *
 * Room `cli`.
 */
import { driverNames } from '../drivers/registry.js';
import { HwcryptError } from '../errors.js';
import { POLICIES, type Policy, type RouterOptions } from '../routing/router.js';
import { type Given, nearest, type OptionSpec } from './options.js';

/** At commas, but for those in brackets: the kernel has names such as `gcm_base(ctr(aes-generic),ghash-generic)`. */
export function splitDrivers(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const c of text) {
    if (c === '(') depth++;
    else if (c === ')') depth--;
    if (c === ',' && depth <= 0) parts.push('');
    else parts[parts.length - 1] += c;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** Undefined where no driver is named. @throws HwcryptError USAGE for a name that no driver has */
export function driversOf(given: Given): readonly string[] | undefined {
  const texts = given.all('driver');
  if (texts.length === 0) return undefined;
  const drivers = [...new Set(texts.flatMap(splitDrivers))];
  if (drivers.length === 0) {
    throw new HwcryptError('USAGE', '--driver needs a name (see hwcrypt list drivers)');
  }
  const known: readonly string[] = driverNames();
  for (const driver of drivers) {
    const name = driver.replace(/:.*/s, '');
    if (known.includes(name)) continue;
    const [near] = nearest(name, known);
    throw new HwcryptError(
      'USAGE',
      `there is no driver "${name}" (${near ? `did you mean ${near}?` : known.join(', ')})`,
    );
  }
  return drivers;
}

/** `--policy` and `--verify`. */
export const POLICY_OPTIONS: readonly OptionSpec[] = [
  {
    names: ['--policy'],
    value: 'POLICY',
    help: `Who is chosen: ${POLICIES.join(', ')}; fastest and cpu go by what \`hwcrypt calibrate\` measured`,
    section: 'Work',
  },
  {
    names: ['--verify'],
    value: 'N',
    help: 'Compare every Nth result of the kernel or an engine with a library’s; a wrong one is put right',
    section: 'Work',
  },
];

/** What was said of who shall do the work. @throws HwcryptError USAGE */
export function routingOf(given: Given): Pick<RouterOptions, 'drivers' | 'policy' | 'verify'> {
  const drivers = driversOf(given);
  const policy = given.get('policy');
  const verify = given.number('verify', 0);
  if (policy !== undefined && !(POLICIES as readonly string[]).includes(policy)) {
    const [near] = nearest(policy, POLICIES);
    throw new HwcryptError(
      'USAGE',
      `there is no policy "${policy}" (${near ? `did you mean ${near}?` : POLICIES.join(', ')})`,
    );
  }
  return {
    ...(drivers === undefined ? {} : { drivers }),
    ...(policy === undefined ? {} : { policy: policy as Policy }),
    ...(verify === undefined ? {} : { verify }),
  };
}
