/**
 * Options that can have no effect in the company that they were given in. Such a command line is refused, since whoever
 * wrote it meant something that will not happen; where OpenSSL takes it and scripts may rely on that, a warning tells.
 *
 * Room `cli`.
 */
import { HwcryptError } from '../errors.js';

/** Options by the first of their names, as the help shows them: `-in`, `--json`. */
export interface Rule {
  readonly of: string;
  /** It has no effect without one of these. */
  readonly needs?: readonly string[];
  /** It has none beside any of these. */
  readonly beside?: readonly string[];
  /** It has none beside anything but these. */
  readonly only?: readonly string[];
  /** It has none at all. */
  readonly never?: true;
  /** Taken all the same, with a warning. */
  readonly warn?: true;
}

/** The same rule for several options. */
export function rulesFor(options: readonly string[], rule: Omit<Rule, 'of'>): Rule[] {
  return options.map((of) => ({ of, ...rule }));
}

/** What was given: the first name of each option, and how it was written (`-aes-128-cbc` for `--cipher`). */
export type Named = ReadonlyMap<string, string>;

function problem({ of, needs, beside, only, never }: Rule, given: Named): string | undefined {
  const own = given.get(of);
  if (own === undefined) return undefined;
  if (needs && !needs.some((name) => given.has(name))) {
    return `${own} has no effect without ${needs.map((name) => (name === '--cipher' ? 'a cipher' : name)).join(' or ')}`;
  }
  const other = beside?.find((name) => name !== of && given.has(name));
  if (other !== undefined) return `${own} has no effect beside ${given.get(other)}`;
  if (never) return `${own} has no effect here`;
  const idle = only && [...given.keys()].find((name) => name !== of && !only.includes(name));
  return idle === undefined ? undefined : `${given.get(idle)} has no effect beside ${own}`;
}

/**
 * @returns warnings
 * @throws HwcryptError USAGE
 */
export function checkRules(rules: readonly Rule[], given: Named): string[] {
  const warnings: string[] = [];
  for (const rule of rules) {
    const text = problem(rule, given);
    if (text === undefined) continue;
    if (!rule.warn) throw new HwcryptError('USAGE', text);
    warnings.push(text);
  }
  return warnings;
}
