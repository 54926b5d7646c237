/**
 * The options of a command, described once: from this the command line is read and the help is printed.
 *
 * Room `cli`. OpenSSL writes long options with one dash (`-aes-128-cbc -in FILE`), everybody else with two, people mix
 * them, ciphers are options, and `-e -d` is decided by order. So the words are brought into one form first, read by Node's
 * own parser, and its tokens are taken in their order.
 */
import { parseArgs } from 'node:util';

import { editDistance } from '../algorithms.js';
import { HwcryptError } from '../errors.js';
import { checkRules, type Rule } from './rules.js';

export interface OptionSpec {
  /** As the help shows them, `-in` or `--json`; either is accepted with one dash or two. The first is the option's key. */
  readonly names: readonly string[];
  /** What the value is called in the help: `FILE`. Undefined for an option that takes none. */
  readonly value?: string;
  readonly help: string;
  /** Stands for `--name=value` of another option: `-d` for `--direction=decrypt`. One that sets it otherwise is refused beside it. */
  readonly sets?: readonly [name: string, value: string];
  /** With `sets`: not refused; the last one counts, as in OpenSSL, and a warning tells. */
  readonly lastCounts?: boolean;
  /** May be given several times. */
  readonly repeats?: boolean;
  /** Accepted for the sake of existing scripts, of no effect or not worth a line of help. */
  readonly hidden?: boolean;
  /** Heading in the help. */
  readonly section?: string;
}

export interface CommandSpec {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What comes after the name: `[options] [FILE…]`. */
  readonly usage: string;
  readonly options: readonly OptionSpec[];
  /** How many operands it takes, at most. */
  readonly operands?: number;
  /** Which options can have no effect together. */
  readonly rules?: readonly Rule[];
  /** Printed below the options. */
  readonly notes?: string;
  /** What an unknown option may be meant as, `-aes-128-cbc` for a cipher: `--name=value` of an option. */
  resolve?(text: string): readonly [name: string, value: string] | undefined;
  /** What is near an unknown option, besides the option names. */
  suggest?(text: string): readonly string[];
  /** Does the work; returns the exit status, or undefined for 0. */
  run(given: Given, operands: readonly string[]): Promise<number | undefined>;
}

/** Options as they were given. */
export class Given {
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The last value given. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.at(-1);
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** A whole number of at least `least`. */
  number(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = this.get(name);
    if (text === undefined) return undefined;
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) {
      const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
      throw new HwcryptError('USAGE', `-${name} takes a whole number, ${range}, not "${text}"`);
    }
    return value;
  }
}

export const COMMON_OPTIONS: readonly OptionSpec[] = [
  { names: ['--help', '-h'], help: 'Print this help', section: 'General' },
];

export interface Parsed {
  readonly given: Given;
  readonly operands: readonly string[];
  readonly help: boolean;
  /** What was taken and has no effect. */
  readonly warnings: readonly string[];
}

/**
 * The words as Node's own parser reads them: two dashes, and every option under the first of its names. An unknown name
 * stays as it is, for the parser to hand back; `spelling` is told how it was written.
 */
function normalise(
  byName: ReadonlyMap<string, OptionSpec>,
  argv: readonly string[],
  spelling: Map<string, string>,
): string[] {
  const words: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string;
    if (word === '--') return [...words, ...argv.slice(i)];
    if (!word.startsWith('-') || word === '-') {
      words.push(word);
      continue;
    }
    const [, name = '', value] = /^--?([^=]*)(=.*)?$/s.exec(word) ?? [];
    spelling.set(name, word.replace(/=.*/s, ''));
    words.push(`--${name}${value ?? ''}`);
    // The next word is the value whatever it looks like, as in OpenSSL: a passphrase may begin with a dash.
    if (byName.get(name)?.value !== undefined && value === undefined && i + 1 < argv.length) {
      words.push(argv[++i] as string);
    }
  }
  return words;
}

/** @throws HwcryptError USAGE */
export function parse(spec: CommandSpec, argv: readonly string[]): Parsed {
  const byName = new Map<string, OptionSpec>();
  for (const option of [...COMMON_OPTIONS, ...spec.options]) {
    for (const name of option.names) byName.set(bare(name), option);
  }
  const spelling = new Map<string, string>();
  const { tokens } = parseArgs({
    args: normalise(byName, argv, spelling),
    options: Object.fromEntries(
      [...byName].map(([name, { value }]) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const) },
      ]),
    ),
    // The order of `-e` and `-d` counts and ciphers are options, so the tokens are what is wanted, unknown ones too.
    strict: false,
    tokens: true,
  });
  const values = new Map<string, string[]>();
  const named = new Map<string, string>();
  const warnings = new Set<string>();
  /** By what a value was last set. */
  const setBy = new Map<string, string>();
  const put = (name: string, value: string, by: string, option?: OptionSpec): void => {
    const list = values.get(name) ?? [];
    values.set(name, list);
    if (list.length > 0 && list.at(-1) !== value && !option?.repeats) {
      const earlier = setBy.get(name) as string;
      if (option?.sets && !option.lastCounts) {
        throw new HwcryptError('USAGE', `${earlier} has no effect beside ${by}`);
      }
      warnings.add(
        earlier === by
          ? `of several ${by} only the last has an effect`
          : `${earlier} has no effect beside ${by}`,
      );
    }
    list.push(value);
    setBy.set(name, by);
    named.set(option?.names[0] ?? `--${name}`, by);
  };
  const operands: string[] = [];
  let help = false;
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, value } = token;
    const option = byName.get(name);
    if (!option) {
      const resolved = value === undefined ? spec.resolve?.(name) : undefined;
      if (!resolved) throw unknownOption(spec, spelling.get(name) ?? `-${name}`, name, byName);
      put(...resolved, spelling.get(name) ?? `-${name}`);
    } else if (option.value === undefined) {
      if (value !== undefined) {
        throw new HwcryptError('USAGE', `option ${written(option, name)} takes no value`);
      }
      if (key(option) === 'help') help = true;
      else if (option.sets) put(...option.sets, written(option, name), option);
      else put(key(option), '', written(option, name), option);
    } else if (value === undefined) {
      const shown = written(option, name);
      throw new HwcryptError('USAGE', `option ${shown} needs a value: ${shown} ${option.value}`);
    } else put(key(option), value, written(option, name), option);
  }
  const most = spec.operands ?? 0;
  if (!help && operands.length > most) {
    const extra = operands[most] as string;
    throw new HwcryptError(
      'USAGE',
      most === 0 ? `unexpected argument "${extra}"${filesHint(byName)}` : `one argument too many: "${extra}"`,
    );
  }
  if (!help) for (const text of checkRules(spec.rules ?? [], named)) warnings.add(text);
  return { given: new Given(values), operands, help, warnings: [...warnings] };
}

/** Where files go in a command that takes none as operands. */
function filesHint(known: ReadonlyMap<string, OptionSpec>): string {
  if (!known.has('in')) return '';
  return known.has('out') ? ' (files are given with -in and -out)' : ' (a file is given with -in)';
}

const bare = (name: string): string => name.replace(/^--?/, '');

/** What an option's value is stored under. */
export function key(option: OptionSpec): string {
  return bare(option.names[0] as string);
}

/** An option's name as the help shows it. */
function written(option: OptionSpec, name: string): string {
  return option.names.find((own) => bare(own) === name) as string;
}

function unknownOption(
  spec: CommandSpec,
  argument: string,
  name: string,
  known: ReadonlyMap<string, OptionSpec>,
): HwcryptError {
  const visible = [...known.keys()].filter((own) => own.length > 1 && !known.get(own)?.hidden);
  const near = [
    ...nearest(name, visible).map((own) => written(known.get(own) as OptionSpec, own)),
    ...(spec.suggest?.(name) ?? []).map((own) => `-${own}`),
  ];
  const hint =
    near.length > 0 ? `did you mean ${near.slice(0, 3).join(' or ')}?` : `see hwcrypt ${spec.name} --help`;
  // Without what came after a `=`, which may be a secret.
  return new HwcryptError('USAGE', `unknown option ${argument} (${hint})`);
}

/** Names that are a slip of the finger away. */
export function nearest(name: string, known: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  return known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= (Math.min(candidate.length, wanted.length) > 4 ? 2 : 1))
    .sort((a, b) => a.distance - b.distance)
    .map(({ candidate }) => candidate)
    .slice(0, 2);
}
