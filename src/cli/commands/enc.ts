/** `hwcrypt enc`: OpenSSL's enc, in its options, its file format and its messages. */
import { algorithms, type CipherAlgorithm } from '../../algorithms.js';
import { findCipher, requireEncCipher, suggestCiphers } from '../../enc/ciphers.js';
import { DEFAULT_ITERATIONS, type Kdf, requireDigest } from '../../enc/kdf.js';
import { type EncOptions, runEnc } from '../../enc/run.js';
import { HwcryptError } from '../../errors.js';
import { Progress, watched } from '../../report/progress.js';
import { driversOf, POLICY_OPTIONS, routingOf } from '../drivers.js';
import type { CommandSpec, Given } from '../options.js';
import { fromArgument, fromKeyFile, fromPass, fromTerminal, hideArguments } from '../passphrase.js';
import { type Rule, rulesFor } from '../rules.js';
import { writeError, writeResult, writeText } from '../stdio.js';

const NOTES = `
Keys from passphrases, and who uses which:
  -md sha256         openssl 1.1.0 and later, the default
  -md md5            openssl before 1.1.0, LibreSSL before 2.9, crypto-js
  -pbkdf2            PBKDF2, 10000 iterations, sha256: better than either
  -nosalt -md md5    Node's removed createCipher (decrypt only what is old)
On a wrong passphrase the others are tried and the one that fits is named.
Nothing is authenticated: a changed file may decrypt to something else.
With -d and -a, any base64 is read: long lines, CR LF, no padding.
`;

/** What makes a key out of a passphrase. */
const DERIVATION = ['-pbkdf2', '-iter', '-md'] as const;
const PASSPHRASE = ['-k', '-kfile', '-pass'] as const;
/** Do nothing here, and do no harm. */
const HARMLESS = ['-debug', '-provider', '-provider-path', '-propquery'] as const;

const RULES: readonly Rule[] = [
  { of: '-list', only: [...HARMLESS] },
  {
    of: '--explain',
    only: ['--json', '--driver', '--cipher', '-a', '-A', '-md', '-iter', '-d', ...PASSPHRASE, ...HARMLESS],
  },
  { of: '--json', needs: ['--explain'] },
  ...rulesFor(PASSPHRASE, { beside: ['-none'] }),
  { of: '--cipher', beside: ['-none'] },
  // Only base64: there is nothing to encrypt.
  ...rulesFor([...DERIVATION, '--driver'], { needs: ['--cipher', '--explain'] }),
  ...rulesFor(['--policy', '--verify'], { needs: ['--cipher'] }),
  ...rulesFor(['-nopad', '-nosalt', '-S', '-saltlen', '-K', '-iv', '-p', '-P', '--auto-kdf'], {
    needs: ['--cipher'],
  }),
  { of: '-d', needs: ['--cipher', '-a', '--explain'] },
  { of: '-A', needs: ['-a'] },
  // One goes before the other in OpenSSL, wherever they stand.
  { of: '-kfile', beside: ['-k'], warn: true },
  { of: '-pass', beside: ['-k', '-kfile'], warn: true },
  { of: '-S', beside: ['-nosalt'] },
  { of: '-saltlen', needs: ['-pbkdf2', '-iter'] },
  { of: '-saltlen', beside: ['-nosalt'] },
  { of: '--auto-kdf', needs: ['-d'] },
  { of: '--auto-kdf', beside: ['-K', '-iv', '-nopad', '-P'] },
  ...rulesFor(['--driver', '--policy', '--verify'], { beside: ['-P'] }),
  { of: '-out', beside: ['-P'], warn: true },
  ...rulesFor(['-rand', '-writerand'], { never: true, warn: true }),
];

export const command: CommandSpec = {
  name: 'enc',
  summary: 'Encrypts and decrypts files as `openssl enc` does, byte for byte.',
  usage: '-CIPHER [options]',
  options: [
    { names: ['--cipher'], value: 'NAME', help: 'Cipher; also as an option: -aes-256-cbc', section: 'Work' },
    {
      names: ['-e'],
      help: 'Encrypt (default)',
      sets: ['direction', 'encrypt'],
      lastCounts: true,
      section: 'Work',
    },
    { names: ['-d'], help: 'Decrypt', sets: ['direction', 'decrypt'], lastCounts: true, section: 'Work' },
    { names: ['-none'], help: 'No cipher: only base64', section: 'Work' },
    { names: ['-nopad'], help: 'No padding: the input is whole blocks', section: 'Work' },
    {
      names: ['--driver'],
      value: 'NAME[:IMPL],…',
      help: 'Use this driver and no other, e.g. afalg or afalg:virtio_crypto_aes_cbc; of several the first that can',
      section: 'Work',
    },
    ...POLICY_OPTIONS,
    { names: ['-in'], value: 'FILE', help: 'Input (standard input)', section: 'Files' },
    {
      names: ['-out'],
      value: 'FILE',
      help: 'Output (standard output); appears whole or not at all',
      section: 'Files',
    },
    { names: ['-a', '-base64'], help: 'Base64 on the encrypted side', section: 'Files' },
    { names: ['-A'], help: 'With -a: one line', section: 'Files' },
    {
      names: ['-pass'],
      value: 'SOURCE',
      help: 'Passphrase from pass:TEXT, env:NAME, file:NAME, fd:N or stdin; asked for if not given',
      section: 'Key',
    },
    { names: ['-k'], value: 'TEXT', help: 'Passphrase (others may see it; better -pass)', section: 'Key' },
    { names: ['-kfile'], value: 'FILE', help: 'Passphrase from the first line of a file', section: 'Key' },
    { names: ['-pbkdf2'], help: `PBKDF2 with ${DEFAULT_ITERATIONS} iterations`, section: 'Key' },
    { names: ['-iter'], value: 'N', help: 'PBKDF2 with N iterations', section: 'Key' },
    { names: ['-md'], value: 'DIGEST', help: 'Digest of the key derivation (sha256)', section: 'Key' },
    {
      names: ['-salt'],
      help: 'Use a salt (default)',
      sets: ['salted', 'yes'],
      lastCounts: true,
      section: 'Key',
    },
    { names: ['-nosalt'], help: 'Use none', sets: ['salted', 'no'], lastCounts: true, section: 'Key' },
    { names: ['-S'], value: 'HEX', help: 'This salt; no header is written or read then', section: 'Key' },
    {
      names: ['-saltlen'],
      value: 'N',
      help: 'With PBKDF2: length of the salt, 1 to 16 bytes (8)',
      section: 'Key',
    },
    { names: ['-K'], value: 'HEX', help: 'This key', section: 'Key' },
    { names: ['-iv'], value: 'HEX', help: 'This IV', section: 'Key' },
    {
      names: ['-p'],
      help: 'Print salt, key and IV',
      sets: ['print', 'also'],
      lastCounts: true,
      section: 'Key',
    },
    { names: ['-P'], help: 'Print them and stop', sets: ['print', 'only'], lastCounts: true, section: 'Key' },
    {
      names: ['--auto-kdf'],
      help: 'With -d: use another key derivation if that is the one that fits',
      section: 'Old files',
    },
    {
      names: ['--explain'],
      value: 'FILE',
      help: 'Say what can be told of an encrypted file; with a passphrase, try it',
      section: 'Old files',
    },
    { names: ['--json'], help: 'With --explain: print JSON', section: 'Old files' },
    { names: ['-list', '-ciphers'], help: 'List the ciphers', section: 'General' },
    { names: ['-v'], help: 'Say how many bytes went through, and by whom', section: 'General' },
    { names: ['-bufsize'], value: 'N', help: '', hidden: true },
    { names: ['-debug'], help: '', hidden: true },
    { names: ['-provider'], value: 'NAME', help: '', hidden: true, repeats: true },
    { names: ['-provider-path'], value: 'PATH', help: '', hidden: true, repeats: true },
    { names: ['-propquery'], value: 'QUERY', help: '', hidden: true },
    { names: ['-rand'], value: 'FILES', help: '', hidden: true, repeats: true },
    { names: ['-writerand'], value: 'FILE', help: '', hidden: true },
    { names: ['-engine'], value: 'ID', help: '', hidden: true },
    { names: ['-z'], help: '', hidden: true },
  ],
  rules: RULES,
  notes: NOTES,
  resolve: (name) => (findCipher(name) ? ['cipher', name] : wrapName(name)),
  suggest: suggestCiphers,
  run,
};

/** Key wrap ciphers are known, and refused with a reason rather than as an unknown option. */
function wrapName(name: string): readonly [string, string] | undefined {
  return /wrap/i.test(name) ? ['cipher', name] : undefined;
}

async function run(given: Given): Promise<number | undefined> {
  if (given.has('list')) {
    writeText(await cipherList());
    return 0;
  }
  if (given.has('k') || given.has('K') || given.get('pass')?.startsWith('pass:')) hideArguments('enc');
  refuse(given);
  const name = given.get('cipher');
  if (given.has('explain')) return await explain(given, name);
  const options = parse(given, name);
  if (given.has('v')) writeError(`bufsize=${bufferSize(given)}`);
  const progress = new Progress('enc', watched(given.get('out')));
  try {
    const result = await runEnc(options, {
      warn: (line) => {
        progress.clear();
        writeError(line);
      },
      note: (line) => {
        progress.clear();
        writeError(`hwcrypt: enc: ${line}`);
      },
      print: writeResult,
      progress: (bytes, total) => progress.update(bytes, total),
    });
    progress.stop();
    if (given.has('v')) {
      writeError(`bytes read   : ${String(result.bytesRead).padStart(8)}`);
      writeError(`bytes written: ${String(result.bytesWritten).padStart(8)}`);
      if (result.driver) writeError(`driver       : ${result.driver}`);
    }
    return 0;
  } finally {
    progress.stop();
  }
}

function refuse(given: Given): void {
  if (given.has('engine')) {
    throw new HwcryptError('USAGE', 'there are no engines here: use --driver (see hwcrypt list drivers)');
  }
  if (given.has('z')) throw new HwcryptError('USAGE', '-z is not supported: pipe through gzip or zlib-flate');
  bufferSize(given);
}

/** `-bufsize` is understood and has no effect: the buffers here are large enough for any engine. */
function bufferSize(given: Given): number {
  const text = given.get('bufsize') ?? '8192';
  const match = /^(\d+)(k?)$/.exec(text);
  if (!match) throw new HwcryptError('USAGE', `-bufsize takes a number, not "${text}"`);
  return Number(match[1]) * (match[2] === 'k' ? 1024 : 1);
}

function parse(given: Given, name: string | undefined): EncOptions {
  const direction = given.get('direction') === 'decrypt' ? 'decrypt' : 'encrypt';
  const cipher = name === undefined ? undefined : requireEncCipher(name);
  const hasKey = given.has('K');
  const hasPassphrase = given.has('k') || given.has('kfile') || given.has('pass');
  if (!cipher && !given.has('none') && (!given.has('a') || hasKey || hasPassphrase)) {
    // OpenSSL copies the input as it is then, which nobody who gives a passphrase can want.
    throw new HwcryptError('USAGE', 'no cipher is given: name one, e.g. -aes-256-cbc, or -none to copy');
  }
  for (const text of idle(given, cipher, hasPassphrase)) writeError(`hwcrypt: enc: warning: ${text}`);
  return {
    direction,
    cipher,
    routing: routingOf(given),
    input: given.get('in'),
    output: given.get('out'),
    passphrase: hasKey && !hasPassphrase ? undefined : passphraseOf(given, cipher, direction === 'encrypt'),
    kdf: kdfOf(given),
    salt: given.get('salted') !== 'no',
    saltBytes: given.number('saltlen', 1, 16),
    saltHex: given.get('S'),
    keyHex: given.get('K'),
    ivHex: given.get('iv'),
    padding: !given.has('nopad'),
    base64: given.has('a'),
    oneLine: given.has('A'),
    print: given.get('print') as 'also' | 'only' | undefined,
    autoKdf: given.has('auto-kdf'),
    alsoRead: [...given.all('kfile'), ...given.all('pass').flatMap(passFile)],
  };
}

/** What OpenSSL takes without a word as well, and scripts may contain; it depends on the cipher and on what else there is. */
function idle(given: Given, cipher: CipherAlgorithm | undefined, hasPassphrase: boolean): string[] {
  const warnings: string[] = [];
  if (cipher && cipher.blockBytes === 1 && given.has('nopad')) {
    warnings.push(`-nopad has no effect beside -${cipher.name}, which pads nothing`);
  }
  if (given.has('K') && !hasPassphrase) {
    for (const name of ['pbkdf2', 'iter', 'md', 'S', 'saltlen'].filter((option) => given.has(option))) {
      warnings.push(`-${name} has no effect beside -K without a passphrase`);
    }
  }
  if (given.has('K') && hasPassphrase && (given.has('iv') || cipher?.ivBytes === 0)) {
    warnings.push('the passphrase has no effect on key and IV beside -K: it only makes the salt in front');
  }
  return warnings;
}

/** The path in `-pass file:PATH`. */
function passFile(source: string): string[] {
  return source.startsWith('file:') ? [source.slice('file:'.length)] : [];
}

function kdfOf(given: Given): Kdf {
  const digest = requireDigest(given.get('md') ?? 'sha256');
  const iterations = given.number('iter', 1, 2 ** 31 - 1);
  return given.has('pbkdf2') || iterations !== undefined
    ? { kind: 'pbkdf2', digest, iterations: iterations ?? DEFAULT_ITERATIONS }
    : { kind: 'bytes-to-key', digest };
}

/** -k before -kfile before -pass, as in OpenSSL; else the terminal. */
function passphraseOf(
  given: Given,
  cipher: CipherAlgorithm | undefined,
  encrypting: boolean,
): () => Promise<Buffer> {
  return async () => {
    const text = given.get('k');
    if (text !== undefined) return fromArgument(text);
    const file = given.get('kfile');
    if (file !== undefined) return fromKeyFile(file);
    const source = given.get('pass');
    if (source !== undefined) return fromPass(source);
    return await fromTerminal((cipher?.names.openssl ?? cipher?.name ?? '').toUpperCase(), encrypting);
  };
}

async function explain(given: Given, name: string | undefined): Promise<number> {
  const hasPassphrase = given.has('k') || given.has('kfile') || given.has('pass');
  const [{ explainFile }, { explanationText }] = await Promise.all([
    import('../../enc/explain.js'),
    import('../../report/explanation.js'),
  ]);
  const explanation = await explainFile({
    input: given.get('explain'),
    ...(given.has('a') ? { base64: true } : {}),
    driver: driversOf(given),
    cipher: name === undefined ? undefined : requireEncCipher(name),
    digest: given.has('md') ? requireDigest(given.get('md') as string) : undefined,
    iterations: given.number('iter', 1),
    passphrase: hasPassphrase ? passphraseOf(given, undefined, false) : undefined,
  });
  writeText(given.has('json') ? `${JSON.stringify(explanation, null, 2)}\n` : explanationText(explanation));
  return 0;
}

async function cipherList(): Promise<string> {
  const { columns } = await import('../../report/text.js');
  const names = algorithms('cipher')
    .filter(({ mode }) => mode !== 'xts')
    .filter(({ names: { openssl } }) => openssl !== undefined)
    .map((cipher) => `-${cipher.name}`)
    .sort();
  return `Supported ciphers:\n${columns(names, 80)}`;
}
