/**
 * Command lines between the outputs: which tool was called, and how. They say what the output leaves out: the engine, the direction, the
 * number of processes, whether elapsed time was asked for.
 *
 * A line is a command where a known program is called in it, after nothing but a prompt and what may stand before a program (`sudo`,
 * `time -v`, `OPENSSL_CONF=/`, `taskset -c 0`). In the middle of a sentence the words are a mention: its options are read as far as they
 * are options.
 */
import { readInteger } from './numbers.js';
import { redact } from './redact.js';

export type CommandTool =
  | 'openssl speed'
  | 'cryptsetup benchmark'
  | 'kcapi-speed'
  | 'cryptodev speed'
  | 'qemu benchmark-crypto';

export interface Command {
  readonly tool: CommandTool;
  /** From the program's name on, without prompt, redirections and secrets. */
  readonly text: string;
  /** False for a mention in a sentence. */
  readonly strict: boolean;
  readonly options: CommandOptions;
}

export interface CommandOptions {
  /** openssl -evp NAME. */
  readonly evp?: string;
  /** openssl: names that are not an option's value. */
  readonly algorithms: readonly string[];
  readonly elapsed: boolean;
  /** It is hwcrypt's speed, which always measures elapsed time and always by EVP. */
  readonly own?: boolean;
  readonly decrypt: boolean;
  readonly aead: boolean;
  readonly engine?: string;
  readonly multi?: number;
  readonly bytes?: number;
  readonly seconds?: number;
  /** cryptsetup -c, kcapi-speed -c. */
  readonly cipher?: string;
  /** cryptsetup -s, in bits. */
  readonly keyBits?: number;
  /** openssl -async_jobs: requests in flight. */
  readonly jobs?: number;
  /** kcapi-speed -o: requests in flight. */
  readonly aio?: number;
}

/** What a program is called, and what must follow for it to be a benchmark. */
const PROGRAMS: readonly { readonly name: RegExp; readonly sub?: string; readonly tool: CommandTool }[] = [
  { name: /^openssl[\d.]{0,6}(?:\.exe)?$/i, sub: 'speed', tool: 'openssl speed' },
  { name: /^hwcrypt$/, sub: 'speed', tool: 'openssl speed' },
  { name: /^cryptsetup$/, sub: 'benchmark', tool: 'cryptsetup benchmark' },
  { name: /^kcapi-speed$/, tool: 'kcapi-speed' },
  { name: /^(?:speed|sha_speed|async_speed|fullspeed|hashcrypt_speed)$/, tool: 'cryptodev speed' },
  { name: /^benchmark-crypto-(?:cipher|hash|hmac|akcipher)$/, tool: 'qemu benchmark-crypto' },
];

/** Words that may stand between a prompt and the program. */
const WRAPPERS = new Set([
  'sudo',
  'time',
  'nice',
  'taskset',
  'nohup',
  'env',
  'exec',
  'doas',
  'chrt',
  'ionice',
  'numactl',
  'stdbuf',
  'perf',
  'stat',
  'for',
  'do',
  'adb',
  'shell',
  'ssh',
]);

/** What a token of a prompt looks like: it ends with one of the signs, or is one. */
const PROMPT_END = /[#$%>:]$/;

export function readCommand(line: string): Command | undefined {
  // Cheap tests first: nearly no line is a command.
  if (!/openssl|hwcrypt|cryptsetup|kcapi-speed|speed|benchmark-crypto/i.test(line) || line.length > 2000)
    return undefined;
  const tokens = tokenize(line);
  for (let at = 0; at < tokens.length && at < 60; at++) {
    const base = tokens[at]!.split(/[\\/>]/).at(-1)!;
    const program = PROGRAMS.find(({ name }) => name.test(base));
    if (!program) continue;
    let next = at + 1;
    // `cryptsetup -v benchmark`: options may stand before the subcommand.
    while (program.sub !== undefined && tokens[next]?.startsWith('-')) next++;
    if (program.sub !== undefined && tokens[next] !== program.sub) continue;
    let strict = isPrompt(tokens.slice(0, at), tokens[at]!);
    // `speed` is too common a word to be a program in a sentence, or without its path.
    if (program.tool === 'cryptodev speed' && !(strict && /[/_]/.test(tokens[at]!))) continue;
    const first = program.sub !== undefined ? next + 1 : at + 1;
    const rest = untilShell(tokens.slice(first));
    let options = readOptions(program.tool, rest, strict);
    // A sentence may begin with the program's name: `openssl speed without -elapsed …`.
    const { algorithms } = options.values;
    const isSentence =
      program.tool === 'openssl speed'
        ? !algorithms.every(isSpeedName)
        : program.tool === 'cryptsetup benchmark' && algorithms.length > 0;
    if (strict && isSentence) {
      strict = false;
      options = readOptions(program.tool, rest, strict);
    }
    if (!strict && options === NO_OPTIONS) continue;
    const words = [
      base,
      ...(program.sub !== undefined ? [program.sub] : []),
      ...rest.slice(0, strict ? rest.length : options.length),
    ];
    const values = base === 'hwcrypt' ? { ...options.values, own: true, elapsed: true } : options.values;
    return { tool: program.tool, text: redact(words.join(' '), 200), strict, options: values };
  }
  return undefined;
}

/** What can be measured by name: an algorithm's, nearly all of which have a digit, or one of the groups. */
function isSpeedName(token: string): boolean {
  return /\d/.test(token) || GROUPS.has(token.toLowerCase());
}

const GROUPS = new Set(
  'aes des rsa dsa ecdsa ecdh eddsa dh ffdh sha rmd cast blowfish bf rc idea seed camellia aria prime rand ghash hmac whirlpool evp'.split(
    ' ',
  ),
);

/** Words, with quotes taken off. */
function tokenize(line: string): string[] {
  return line
    .replaceAll('"', ' ')
    .split(' ')
    .filter((token) => token !== '');
}

function isPrompt(before: readonly string[], program: string): boolean {
  if (before.length === 0) return true;
  let rest = before;
  // Everything up to the last token that ends like a prompt is the prompt, be it `user@host:~$`, `[root@host ~]#` or `Router:/ #`.
  const end = before.findLastIndex((token) => PROMPT_END.test(token) && !/^\w+[.:]$/.test(token));
  if (end >= 0 && end < 6) rest = before.slice(end + 1);
  if (program.includes('>')) return true;
  // Markdown headings and list marks.
  return rest.every(
    (token) =>
      /^(?:[#$%>+.-]+|\d{1,3}[.)])$/.test(token) ||
      WRAPPERS.has(token.toLowerCase()) ||
      /^-{1,2}[\w-]{1,20}$/.test(token) ||
      /^[A-Z_]+=\S{0,200}$/.test(token) ||
      /^[\d,-]{1,12}$/.test(token),
  );
}

/** A command ends where the shell takes over: redirection, pipe, the next command, a comment. */
function untilShell(tokens: readonly string[]): string[] {
  const end = tokens.findIndex((token) => /^(?:\d?>|[|;&<])/.test(token) || token === '#' || token === '\\');
  const own = end < 0 ? [...tokens] : tokens.slice(0, end);
  return own.map((token) => token.replace(/[;,]$/, ''));
}

interface Options {
  readonly values: CommandOptions;
  /** How many tokens are options, their values, or names. */
  readonly length: number;
}

const EMPTY: CommandOptions = { algorithms: [], elapsed: false, decrypt: false, aead: false };
const NO_OPTIONS: Options = { values: EMPTY, length: 0 };

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Setter = (options: Writable<CommandOptions>, value: string) => void;

const number =
  (key: 'multi' | 'bytes' | 'seconds' | 'keyBits' | 'jobs' | 'aio'): Setter =>
  (options, value) => {
    const read = readInteger(value);
    if (read !== undefined) options[key] = read;
  };
const string =
  (key: 'evp' | 'engine' | 'cipher'): Setter =>
  (options, value) => {
    options[key] = redact(value, 60);
  };
const flag =
  (key: 'elapsed' | 'decrypt' | 'aead'): Setter =>
  (options) => {
    options[key] = true;
  };

/** Options that mean something here, and those whose value must not be taken for a name. */
const WITH_VALUE: Readonly<Record<CommandTool, Readonly<Record<string, Setter | undefined>>>> = {
  'openssl speed': {
    evp: string('evp'),
    engine: string('engine'),
    multi: number('multi'),
    bytes: number('bytes'),
    seconds: number('seconds'),
    hmac: undefined,
    cmac: undefined,
    async_jobs: number('jobs'),
    misalign: undefined,
    primes: undefined,
    rand: undefined,
    provider: undefined,
    'provider-path': undefined,
    propquery: undefined,
    config: undefined,
    driver: undefined,
  },
  'cryptsetup benchmark': {
    c: string('cipher'),
    cipher: string('cipher'),
    s: number('keyBits'),
    'key-size': number('keyBits'),
    h: undefined,
    hash: undefined,
    pbkdf: undefined,
  },
  'kcapi-speed': {
    c: string('cipher'),
    cipher: string('cipher'),
    t: undefined,
    time: undefined,
    b: undefined,
    blocks: undefined,
    o: number('aio'),
    aio: number('aio'),
  },
  'cryptodev speed': {},
  'qemu benchmark-crypto': {},
};

const FLAGS: Readonly<Record<string, Setter>> = {
  elapsed: flag('elapsed'),
  decrypt: flag('decrypt'),
  aead: flag('aead'),
};

function readOptions(tool: CommandTool, tokens: readonly string[], strict: boolean): Options {
  const values: Writable<CommandOptions> = { ...EMPTY };
  const algorithms: string[] = [];
  let at = 0;
  while (at < tokens.length) {
    const token = tokens[at]!;
    if (!token.startsWith('-')) {
      // In a sentence the first word that is no name ends the command.
      if (!strict && !/\d/.test(token)) break;
      algorithms.push(redact(token, 60));
      at++;
      continue;
    }
    const [name, joined] = token.replace(/^--?/, '').split('=', 2) as [string, string | undefined];
    const known = WITH_VALUE[tool];
    if (Object.hasOwn(known, name)) {
      const value = joined ?? tokens[at + 1];
      if (value !== undefined) known[name]?.(values, value);
      at += joined === undefined && value !== undefined ? 2 : 1;
      continue;
    }
    // cryptsetup and kcapi-speed also take `-b1024`.
    const short = tool === 'openssl speed' ? undefined : known[name[0] ?? ''];
    if (short && name.length > 1 && !token.startsWith('--')) short(values, name.slice(1));
    if (tool === 'openssl speed' && Object.hasOwn(FLAGS, name)) FLAGS[name]!(values, '');
    at++;
  }
  if (at === 0) return NO_OPTIONS;
  return { values: { ...values, algorithms }, length: at };
}
