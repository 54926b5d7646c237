/** `hwcrypt dgst`: digests and MACs of files, as openssl dgst and sha256sum print and check them. */
import { readFileSync } from 'node:fs';
import {
  algorithms,
  findAlgorithm,
  type HashAlgorithm,
  hashAlgorithm,
  hmacOf,
  type MacAlgorithm,
} from '../../algorithms.js';
import type { DigestSession } from '../../drivers/driver.js';
import { FileDigester } from '../../enc/digest-file.js';
import { HwcryptError } from '../../errors.js';
import { Input, nameProblem, printable, systemMessage } from '../../files/io.js';
import { type Output, openOutput } from '../../files/output.js';
import {
  type ChecksumFormat,
  type ChecksumStyle,
  checkSummary,
  checksumLine,
  type ParsedChecksum,
  parseChecksum,
  verdictLine,
} from '../../report/checksums.js';
import { Progress, watched } from '../../report/progress.js';
import { Router } from '../../routing/router.js';
import { POLICY_OPTIONS, routingOf } from '../drivers.js';
import { type CommandSpec, type Given, nearest } from '../options.js';
import { hideArguments } from '../passphrase.js';
import { type Rule, rulesFor } from '../rules.js';
import { writeError, writeResult, writeText } from '../stdio.js';

const NOTES = `
-c checks, as in sha256sum; what openssl dgst calls -c is -colons here.
A list to check may be in any of the formats that are printed. Where a line
does not name its algorithm, the one given counts (sha256 if none is).
Exit status: 0, or 1 where a file could not be read or a checksum is wrong.
`;

/** Do nothing here, and do no harm. */
const HARMLESS = ['-d', '-t', '-provider', '-provider-path', '-propquery'] as const;
/** Forms other than OpenSSL's usual one. */
const FORMS = ['-colons', '-r', '--sum', '--tag', '-binary'] as const;

const RULES: readonly Rule[] = [
  { of: '-list', only: [...HARMLESS] },
  ...rulesFor(['--ignore-missing', '--quiet', '--status', '--strict', '-w'], { needs: ['-c'] }),
  ...rulesFor([...FORMS, '-hex', '-out'], { beside: ['-c'] }),
  ...rulesFor([...FORMS, '-hex', '-z'], { beside: ['--json'] }),
  { of: '-hex', beside: ['-binary'] },
  { of: '-z', beside: ['-binary'] },
  { of: '--status', beside: ['--json'] },
  { of: '--quiet', beside: ['--json'] },
  // sha256sum takes these, and the last one counts there.
  ...rulesFor(['--quiet', '-w'], { beside: ['--status'], warn: true }),
  { of: '-mac', beside: ['-hmac'] },
  { of: '-macopt', needs: ['-mac'] },
  { of: '-rand', never: true, warn: true },
];

const check = 'Check';
const print = 'Print';

export const command: CommandSpec = {
  name: 'dgst',
  summary: 'Digests and MACs of files, as `openssl dgst` and `sha256sum` print and check them.',
  usage: '[-DIGEST] [options] [FILE…]',
  operands: Number.POSITIVE_INFINITY,
  options: [
    {
      names: ['--digest'],
      value: 'NAME',
      help: 'Digest (sha256); also as an option: -sha512',
      section: 'Work',
    },
    { names: ['-hmac'], value: 'KEY', help: 'HMAC with this key (others may see it)', section: 'Work' },
    { names: ['-mac'], value: 'NAME', help: 'HMAC or CMAC, with a key from -macopt', section: 'Work' },
    {
      names: ['-macopt'],
      value: 'NAME:VALUE',
      help: 'key:TEXT, hexkey:HEX, cipher:NAME (of a CMAC)',
      repeats: true,
      section: 'Work',
    },
    { names: ['-xoflen'], value: 'N', help: 'Bytes of output of shake128 and shake256', section: 'Work' },
    {
      names: ['--driver'],
      value: 'NAME[:IMPL],…',
      help: 'Use this driver and no other, e.g. afalg; of several the first that can',
      section: 'Work',
    },
    ...POLICY_OPTIONS,
    {
      names: ['-hex'],
      help: 'As openssl dgst: NAME(FILE)= HEX (default)',
      section: print,
    },
    { names: ['-colons'], help: 'The same with colons', sets: ['form', 'colons'], section: print },
    { names: ['-r'], help: 'As openssl dgst -r: HEX *FILE', sets: ['form', 'openssl-r'], section: print },
    { names: ['--sum'], help: 'As sha256sum: HEX  FILE', sets: ['form', 'gnu'], section: print },
    {
      names: ['--tag'],
      help: 'As sha256sum --tag: NAME (FILE) = HEX',
      sets: ['form', 'tag'],
      section: print,
    },
    { names: ['-binary'], help: 'The bytes themselves', sets: ['form', 'binary'], section: print },
    { names: ['-z', '--zero'], help: 'Lines end in NUL, names are not escaped', section: print },
    { names: ['--json'], help: 'JSON', section: print },
    { names: ['-out'], value: 'FILE', help: 'Write to a file, whole or not at all', section: print },
    { names: ['-c', '--check'], help: 'Read checksums from the files and check them', section: check },
    { names: ['--ignore-missing'], help: 'Say nothing of files that are not there', section: check },
    { names: ['--quiet'], help: 'No OK for each file', section: check },
    { names: ['--status'], help: 'Nothing but the exit status', section: check },
    { names: ['--strict'], help: 'Fail on lines that are no checksums', section: check },
    { names: ['-w', '--warn'], help: 'Tell which lines those are', section: check },
    { names: ['-list'], help: 'List the digests', section: 'General' },
    { names: ['-d', '-debug'], help: '', hidden: true },
    { names: ['-t', '--text'], help: '', hidden: true },
    { names: ['-sign'], value: 'KEY', help: '', hidden: true },
    { names: ['-verify'], value: 'KEY', help: '', hidden: true },
    { names: ['-prverify'], value: 'KEY', help: '', hidden: true },
    { names: ['-provider'], value: 'NAME', help: '', hidden: true, repeats: true },
    { names: ['-provider-path'], value: 'PATH', help: '', hidden: true, repeats: true },
    { names: ['-propquery'], value: 'QUERY', help: '', hidden: true },
    { names: ['-rand'], value: 'FILES', help: '', hidden: true, repeats: true },
    { names: ['-engine'], value: 'ID', help: '', hidden: true },
  ],
  rules: RULES,
  notes: NOTES,
  resolve: (name) => (hashAlgorithm(name) ? ['digest', name] : undefined),
  suggest: (name) =>
    nearest(
      name,
      algorithms('hash').map((hash) => hash.name),
    ),
  run,
};

/** What is computed: a hash, or a MAC with its key. */
interface Job {
  readonly algorithm: HashAlgorithm | MacAlgorithm;
  readonly key?: Buffer;
  readonly outputBytes: number;
  /** How openssl dgst calls it before `(file)=`. */
  readonly opensslName: string;
  readonly tagName: string;
  readonly hex: string;
}

async function run(given: Given, files: readonly string[]): Promise<number> {
  if (given.has('list')) {
    const { columns } = await import('../../report/text.js');
    writeText(
      `Supported digests:\n${columns(
        algorithms('hash').map(({ name }) => `-${name}`),
        80,
      )}`,
    );
    return 0;
  }
  refuse(given);
  if (given.has('hmac') || given.has('macopt')) hideArguments('dgst');
  const engine = new Engine(routingOf(given));
  try {
    return given.has('c') ? await checkLists(given, files, engine) : await digestFiles(given, files, engine);
  } finally {
    engine.close();
  }
}

function refuse(given: Given): void {
  for (const name of ['sign', 'verify', 'prverify']) {
    if (given.has(name)) {
      throw new HwcryptError('USAGE', `-${name}: signatures are not supported, use openssl dgst -${name}`);
    }
  }
  if (given.has('engine')) {
    throw new HwcryptError('USAGE', 'there are no engines here: use --driver (see hwcrypt list drivers)');
  }
}

/** Sessions by algorithm, kept from file to file. */
class Engine {
  readonly #router: Router;
  readonly #digester = new FileDigester();
  readonly #sessions = new Map<string, DigestSession>();

  constructor(routing: ReturnType<typeof routingOf>) {
    this.#router = new Router({
      ...routing,
      onNote: (text) => writeError(`hwcrypt: dgst: ${text}`),
      onFallback: ({ message }) => writeError(`hwcrypt: dgst: ${message}`),
    });
  }

  /** The digest of a whole file in hex; `-` is standard input. */
  async digest(job: JobInput, path: string, progress?: Progress): Promise<Buffer> {
    const session = this.#session(job);
    const input = Input.open(path === '-' ? undefined : path);
    try {
      await this.#digester.update(
        input,
        session,
        progress && ((bytes, total) => progress.update(bytes, total)),
      );
      const output = Buffer.alloc(job.outputBytes);
      session.digest(output);
      return output;
    } finally {
      input.close();
    }
  }

  #session(job: JobInput): DigestSession {
    const known = this.#sessions.get(job.algorithm.name);
    if (known) {
      known.restart();
      return known;
    }
    const { driver, options } = this.#router.route(job.algorithm);
    const session =
      job.algorithm.kind === 'mac'
        ? driver.mac(job.algorithm, job.key ?? Buffer.alloc(0), options)
        : driver.hash(job.algorithm, options);
    this.#sessions.set(job.algorithm.name, session);
    return session;
  }

  close(): void {
    for (const session of this.#sessions.values()) session.close();
  }
}

type JobInput = Pick<Job, 'algorithm' | 'key' | 'outputBytes'>;

function requireHash(name: string): HashAlgorithm {
  const found = hashAlgorithm(name);
  if (found) return found;
  const near = nearest(
    name,
    algorithms('hash').map((hash) => hash.name),
  );
  throw new HwcryptError(
    'USAGE',
    `unknown message digest: ${name} (${near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'see hwcrypt dgst -list'})`,
  );
}

/** OpenSSL's provider name, which dgst prints. */
function providerName({ name }: HashAlgorithm): string {
  return name
    .replace(/^sha512-(\d+)$/, 'sha2-512/$1')
    .replace(/^sha(224|256|384|512)$/, 'sha2-$1')
    .replace(/^(shake|ripemd|blake2b|blake2s)-?(\d+)$/, '$1-$2')
    .toUpperCase();
}

/** What sha256sum and its sisters call it with --tag. */
function tagName(hash: HashAlgorithm): string {
  return hash.name === 'blake2b512' ? 'BLAKE2b' : hash.name.toUpperCase();
}

/** The key of a MAC; `text` is -hmac's value. */
function macKey(given: Given): Buffer | undefined {
  const text = given.get('hmac');
  let key = text === undefined ? undefined : Buffer.from(text, 'utf8');
  for (const option of given.all('macopt')) {
    const colon = option.indexOf(':');
    const name = option.slice(0, Math.max(0, colon));
    const value = option.slice(colon + 1);
    if (name === 'key') key = Buffer.from(value, 'utf8');
    else if (name === 'hexkey') {
      if (value.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(value)) {
        throw new HwcryptError('USAGE', '-macopt hexkey: takes an even number of hex digits');
      }
      key = Buffer.from(value, 'hex');
    } else if (name !== 'cipher' && name !== 'digest') {
      throw new HwcryptError('USAGE', '-macopt is one of key:TEXT, hexkey:HEX, cipher:NAME');
    }
  }
  return key;
}

function macOption(given: Given, wanted: string): string | undefined {
  return given
    .all('macopt')
    .find((option) => option.startsWith(`${wanted}:`))
    ?.slice(wanted.length + 1);
}

/** What is in -macopt has an effect with one MAC and not with the other. */
function checkMacOptions(given: Given, mac: string | undefined, digest: string | undefined): void {
  const idle =
    mac === 'CMAC'
      ? macOption(given, 'digest') !== undefined && '-macopt digest: has no effect beside -mac CMAC'
      : macOption(given, 'cipher') !== undefined
        ? `-macopt cipher: has no effect beside -mac ${mac ?? 'HMAC'}`
        : digest !== undefined &&
          macOption(given, 'digest') !== undefined &&
          `-macopt digest: has no effect beside -${digest}`;
  if (idle) throw new HwcryptError('USAGE', idle);
}

function jobOf(given: Given, digest: string | undefined): Omit<Job, 'hex'> {
  const mac = given.get('mac')?.toUpperCase() ?? (given.has('hmac') ? 'HMAC' : undefined);
  const hash = requireHash(digest ?? macOption(given, 'digest') ?? 'sha256');
  // OpenSSL calls its default by another name than the same digest asked for.
  const name = digest === undefined ? tagName(hash) : providerName(hash);
  const length = given.number('xoflen', 1);
  checkMacOptions(given, mac, digest);
  if (mac === undefined) {
    if (length !== undefined && !hash.xof) {
      throw new HwcryptError(
        'USAGE',
        `-xoflen: ${hash.name} has a fixed length of ${hash.digestBytes} bytes`,
      );
    }
    return {
      algorithm: hash,
      outputBytes: length ?? hash.digestBytes,
      opensslName: name,
      tagName: tagName(hash),
    };
  }
  if (length !== undefined) throw new HwcryptError('USAGE', '-xoflen does not go with a MAC');
  const key = macKey(given);
  if (!key)
    throw new HwcryptError('USAGE', `-mac ${mac} needs a key: -macopt key:TEXT or -macopt hexkey:HEX`);
  if (mac === 'HMAC') {
    const algorithm = hmacOf(hash);
    if (!algorithm) throw new HwcryptError('USAGE', `there is no HMAC of ${hash.name}`);
    return {
      algorithm,
      key,
      outputBytes: algorithm.digestBytes,
      opensslName: `HMAC-${name}`,
      tagName: `HMAC-${tagName(hash)}`,
    };
  }
  if (mac === 'CMAC') {
    const cipher = macOption(given, 'cipher');
    if (cipher === undefined) {
      throw new HwcryptError('USAGE', '-mac CMAC needs a cipher: -macopt cipher:aes-128-cbc');
    }
    const over = findAlgorithm(cipher);
    const algorithm = over
      ? algorithms('mac').find(
          (candidate) => candidate.construction === 'cmac' && candidate.over === over.name,
        )
      : undefined;
    if (!algorithm)
      throw new HwcryptError('USAGE', `there is no CMAC over ${cipher}: aes-128-cbc, -192-, -256-`);
    if (algorithm.keyBytes !== undefined && key.length !== algorithm.keyBytes) {
      throw new HwcryptError(
        'USAGE',
        `the key of a CMAC over ${over?.name} has ${algorithm.keyBytes} bytes, this one ${key.length}`,
      );
    }
    const suffix = digest === undefined ? '' : `-${name}`;
    return {
      algorithm,
      key,
      outputBytes: algorithm.digestBytes,
      opensslName: `CMAC${suffix}`,
      tagName: 'CMAC',
    };
  }
  throw new HwcryptError('USAGE', `-mac ${mac} is not supported: HMAC or CMAC`);
}

async function digestFiles(given: Given, operands: readonly string[], engine: Engine): Promise<number> {
  const job = jobOf(given, given.get('digest'));
  const files = operands.length > 0 ? operands : ['-'];
  const form = given.get('form') ?? 'openssl';
  const style: ChecksumStyle = {
    format: (form === 'colons' || form === 'binary' ? 'openssl' : form) as ChecksumFormat,
    colons: form === 'colons',
    zero: given.has('z'),
  };
  const sumsLike = form === 'gnu' || form === 'tag';
  const target = given.get('out');
  const output: Output | undefined =
    target === undefined && form !== 'binary'
      ? undefined
      : openOutput(target, { secret: false, alsoRead: files.filter((file) => file !== '-') });
  const drawn = watched(target, form !== 'binary');
  const results: { file: string; algorithm: string; digest: string }[] = [];
  let status = 0;
  try {
    for (const file of files) {
      let bytes: Buffer;
      // One a file: each has a size and a rate of its own.
      const progress = new Progress('dgst', drawn);
      try {
        bytes = await engine.digest(job, file, progress);
      } catch (error) {
        progress.stop();
        if (!isFileError(error)) throw error;
        writeError(`hwcrypt: dgst: ${error.message}`);
        status = 1;
        continue;
      } finally {
        progress.stop();
      }
      const hex = bytes.toString('hex');
      const std = file === '-';
      const line = {
        name: std && !sumsLike ? 'stdin' : file,
        hex,
        // OpenSSL names the MAC only in front of a file.
        opensslName: std ? job.opensslName.replace(/^[HC]MAC-?/, '') : job.opensslName,
        tagName: job.tagName,
      };
      results.push({ file, algorithm: job.algorithm.name, digest: hex });
      if (given.has('json')) continue;
      if (form === 'binary') await output?.write([bytes]);
      else await put(output, checksumLine(line, style));
    }
    if (given.has('json')) await put(output, `${JSON.stringify(results, null, 2)}\n`);
    await output?.commit();
  } catch (error) {
    output?.abort();
    throw error;
  }
  return status;
}

async function put(output: Output | undefined, text: string): Promise<void> {
  if (output) await output.write([Buffer.from(text, 'utf8')]);
  else writeResult(text);
}

function isFileError(error: unknown): error is HwcryptError {
  return error instanceof HwcryptError && error.code === 'INPUT_FILE';
}

interface Counts {
  improper: number;
  proper: number;
  unreadable: number;
  mismatched: number;
  matched: number;
  /** What the improper lines may be, and what to do about it. */
  hint?: string;
}

async function checkLists(given: Given, operands: readonly string[], engine: Engine): Promise<number> {
  const results: { file: string; status: string }[] = [];
  let failed = false;
  for (const list of operands.length > 0 ? operands : ['-']) {
    const shown = list === '-' ? 'standard input' : printable(list);
    let text: string;
    try {
      const problem = list === '-' ? undefined : nameProblem(list);
      if (problem !== undefined) throw new Error(problem);
      text = readFileSync(list === '-' ? 0 : list, 'utf8');
    } catch (error) {
      writeError(`hwcrypt: dgst: ${shown}: ${systemMessage(error)}`);
      failed = true;
      continue;
    }
    const counts = await checkList(given, text, shown, engine, results);
    if (counts.proper === 0) {
      writeError(
        `hwcrypt: dgst: ${shown}: no properly formatted checksum lines found${counts.hint ?? colonHint(text)}`,
      );
      failed = true;
      continue;
    }
    if (!given.has('status')) {
      for (const line of checkSummary(counts.improper, counts.unreadable, counts.mismatched)) {
        writeError(`hwcrypt: dgst: ${line}${/improper/.test(line) ? (counts.hint ?? '') : ''}`);
      }
      if (
        given.has('ignore-missing') &&
        counts.matched === 0 &&
        counts.mismatched + counts.unreadable === 0
      ) {
        writeError(`hwcrypt: dgst: ${shown}: no file was verified`);
      }
    }
    if (
      counts.mismatched > 0 ||
      counts.unreadable > 0 ||
      (given.has('strict') && counts.improper > 0) ||
      (given.has('ignore-missing') && counts.matched === 0)
    ) {
      failed = true;
    }
  }
  if (given.has('json')) writeResult(`${JSON.stringify(results, null, 2)}\n`);
  return failed ? 1 : 0;
}

/** Lines of another length than the digest's say which digest was meant; and -c has a second meaning elsewhere. */
function colonHint(text: string): string {
  for (const line of text.split(/[\n\0]/, 20)) {
    const parsed = parseChecksum(line);
    if (!parsed || parsed === 'comment') continue;
    const fitting = algorithms('hash').filter(
      ({ digestBytes, xof }) => !xof && digestBytes * 2 === parsed.hex.length,
    );
    if (fitting.length === 0) continue;
    return ` (its digests have ${parsed.hex.length} digits: give -${fitting
      .slice(0, 3)
      .map(({ name }) => name)
      .join(' or -')})`;
  }
  return ' (for digits with colons use -colons)';
}

async function checkList(
  given: Given,
  text: string,
  shown: string,
  engine: Engine,
  results: { file: string; status: string }[],
): Promise<Counts> {
  const counts: Counts = { improper: 0, proper: 0, unreadable: 0, mismatched: 0, matched: 0 };
  const silent = given.has('status') || given.has('json');
  const say = (name: string, verdict: 'OK' | 'FAILED' | 'FAILED open or read'): void => {
    results.push({ file: name, status: verdict });
    if (!silent && !(verdict === 'OK' && given.has('quiet'))) writeResult(verdictLine(name, verdict));
  };
  const asked = given.get('digest');
  // A list that --zero made: names are as they are there.
  const zero = given.has('z') || text.includes('\0');
  const lines = text.split(zero ? '\0' : '\n');
  if (lines.at(-1) === '') lines.pop();
  for (const [index, line] of lines.entries()) {
    const parsed = parseChecksum(line, zero);
    if (parsed === 'comment') continue;
    const job = parsed && jobOfLine(given, parsed, asked);
    if (!parsed || !job || parsed.hex.length !== job.outputBytes * 2) {
      counts.improper++;
      const hint = parsed && macHint(given, parsed);
      if (hint) counts.hint = hint;
      if (given.has('w') && !given.has('status')) {
        writeError(
          `hwcrypt: dgst: ${shown}: ${index + 1}: improperly formatted ${(asked ?? 'sha256').toUpperCase()} checksum line`,
        );
      }
      continue;
    }
    counts.proper++;
    let digest: Buffer;
    try {
      digest = await engine.digest(job, parsed.name);
    } catch (error) {
      if (!isFileError(error)) throw error;
      const missing = ((error.cause ?? {}) as NodeJS.ErrnoException).code === 'ENOENT';
      if (missing && given.has('ignore-missing')) continue;
      counts.unreadable++;
      writeError(`hwcrypt: dgst: ${error.message}`);
      say(parsed.name, 'FAILED open or read');
      continue;
    }
    const same = digest.toString('hex') === parsed.hex;
    if (same) counts.matched++;
    else counts.mismatched++;
    say(parsed.name, same ? 'OK' : 'FAILED');
  }
  return counts;
}

/** A line of a MAC can be checked with its key alone, and a line of a hash without any. */
function macHint(given: Given, { tag }: ParsedChecksum): string | undefined {
  if (tag === undefined) return undefined;
  const mac = given.get('mac')?.toUpperCase() ?? (given.has('hmac') ? 'HMAC' : undefined);
  if (/^hmac-/i.test(tag)) {
    return mac === 'HMAC' ? undefined : ' (it has HMACs, which are checked with their key: give -hmac KEY)';
  }
  if (/^cmac\b/i.test(tag)) {
    return mac === 'CMAC'
      ? undefined
      : ' (it has CMACs, which are checked with their key: give -mac CMAC, -macopt cipher:NAME and -macopt hexkey:HEX)';
  }
  return mac === undefined
    ? undefined
    : ` (it has hashes without a key: leave out ${given.has('hmac') ? '-hmac' : '-mac'})`;
}

/** The algorithm of a line: the one it names, which must be the one asked for if one was. */
function jobOfLine(
  given: Given,
  { tag, hex }: ParsedChecksum,
  asked: string | undefined,
): JobInput | undefined {
  if (tag === undefined) return jobOf(given, asked);
  const mac = given.get('mac')?.toUpperCase() ?? (given.has('hmac') ? 'HMAC' : undefined);
  if (/^cmac\b/i.test(tag)) return mac === 'CMAC' ? jobOf(given, asked) : undefined;
  const keyed = mac === 'HMAC';
  if (mac === 'CMAC') return undefined;
  if (/^hmac-/i.test(tag) !== keyed) return undefined;
  const name = tag.replace(/^hmac-/i, '');
  const hash = hashAlgorithm(/^blake2b$/i.test(name) ? 'blake2b512' : name);
  if (!hash || (asked !== undefined && hashAlgorithm(asked) !== hash)) return undefined;
  const job = jobOf(given, hash.name);
  return hash.xof ? { ...job, outputBytes: hex.length / 2 } : job;
}
