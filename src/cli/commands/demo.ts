/** `hwcrypt demo`: a real file through every driver, each result compared with openssl's. */
import { spawn } from 'node:child_process';
import { createCipheriv, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { CipherAlgorithm } from '../../algorithms.js';
import { allDrivers } from '../../drivers/registry.js';
import { findCipher, requireEncCipher, suggestCiphers } from '../../enc/ciphers.js';
import { runEnc } from '../../enc/run.js';
import { describeReason, HwcryptError, type Reason } from '../../errors.js';
import { onInterrupt } from '../../files/interrupt.js';
import { Input, nameProblem, printable } from '../../files/io.js';
import { driverInventory, driversText } from '../../report/inventory.js';
import { table } from '../../report/table.js';
import { wrap } from '../../report/text.js';
import { megabytes, rate, seconds } from '../../report/units.js';
import type { CommandSpec, Given } from '../options.js';
import { terminalColumns, writeText } from '../stdio.js';

export const command: CommandSpec = {
  name: 'demo',
  summary: 'Encrypts the Node binary with every driver and compares each result with openssl’s.',
  usage: '[-CIPHER] [options]',
  options: [
    { names: ['--cipher'], value: 'NAME', help: 'Cipher (aes-256-cbc)' },
    { names: ['-in'], value: 'FILE', help: 'Another file than the Node binary' },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
    { names: ['-q', '--quiet-header'], help: 'Without the list of drivers' },
  ],
  rules: [{ of: '-q', beside: ['--json'] }],
  resolve: (name) => (findCipher(name) ? ['cipher', name] : undefined),
  suggest: suggestCiphers,
  run,
};

interface Outcome {
  readonly driver: string;
  readonly implementation?: string;
  readonly hardware?: 'yes' | 'no' | 'unknown';
  readonly elapsedNs?: number;
  /** Is the result, byte for byte, that of the reference? */
  readonly equal?: boolean;
  /** Why there is no result. */
  readonly problem?: string;
  /** The same in a few words, for the table. */
  readonly short?: string;
}

/** What fits into a cell; the whole reason is told below the table. */
function inShort(reason: Reason | undefined): string {
  switch (reason?.code) {
    case 'AF_ALG_ABSENT':
      return 'not in this kernel';
    case 'AF_ALG_DISABLED':
    case 'SECCOMP':
    case 'LSM_DENIED':
      return 'not permitted';
    case 'ALGORITHM_UNKNOWN':
    case 'ALGORITHM_NOT_BUILT':
    case 'ALGORITHM_NOT_OFFERED':
      return 'not offered';
    default:
      return 'not possible';
  }
}

async function run(given: Given): Promise<number> {
  const cipher = requireEncCipher(given.get('cipher') ?? 'aes-256-cbc');
  const file = given.get('in') ?? process.execPath;
  const problem = nameProblem(file);
  if (problem !== undefined)
    throw new HwcryptError('INPUT_FILE', `cannot read ${printable(file)}: ${problem}`);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) throw new HwcryptError('INPUT_FILE', `there is no file ${printable(file)}`);
  if (!stat.isFile()) {
    const what = stat.isDirectory() ? 'it is a directory' : 'it is no regular file';
    throw new HwcryptError('INPUT_FILE', `cannot read ${printable(file)}: ${what}`);
  }
  const bytes = stat.size;
  const width = terminalColumns();
  const json = given.has('json');
  const drivers = driverInventory();
  if (!json && !given.has('quiet-header') && !given.has('q')) {
    writeText(`${driversText(drivers, width ?? 80)}\n`);
  }
  if (!json) {
    const heading = `Encrypting ${printable(file)} (${megabytes(bytes)}) with ${cipher.name} on Linux ${release()}:`;
    writeText(`${wrap(heading, width ?? 80).join('\n')}\n\n`);
  }

  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-demo-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const settled = onInterrupt(remove);
  try {
    const key = randomBytes(cipher.keyBytes);
    const iv = randomBytes(cipher.ivBytes);
    const wanted = join(folder, 'reference');
    const reference = await makeReference(cipher, key, iv, file, wanted);
    const outcomes: Outcome[] = [];
    for (const { name, available, reason } of drivers) {
      outcomes.push(
        available
          ? await tryDriver(name, cipher, key, iv, file, join(folder, name), wanted)
          : {
              driver: name,
              problem: reason ? describeReason(reason) : 'not available',
              short: inShort(reason),
            },
      );
    }
    // Nothing proved is not the same as proved.
    const failed =
      outcomes.some(({ equal }) => equal === false) || !outcomes.some(({ equal }) => equal === true);
    if (json) {
      const told = outcomes.map(({ short, ...outcome }) => outcome);
      const report = { file, bytes, cipher: cipher.name, reference, outcomes: told };
      writeText(`${JSON.stringify(report, null, 2)}\n`);
    } else {
      writeText(outcomesText(outcomes, reference, bytes, width ?? 80));
      writeText(closing(outcomes, reference, width ?? 80));
    }
    return failed ? 1 : 0;
  } finally {
    remove();
    settled();
  }
}

interface Reference {
  readonly name: string;
  readonly elapsedNs: number;
}

/** Old ciphers are in a provider of their own, which OpenSSL 3 has to be told of; not every installation has it. */
const PROVIDERS: readonly (readonly string[])[] = [[], ['-provider', 'legacy', '-provider', 'default']];

/**
 * What everybody else must produce: by `openssl enc` where it is installed, else by node:crypto.
 * @throws HwcryptError NO_DRIVER where neither has the cipher
 */
async function makeReference(
  cipher: CipherAlgorithm,
  key: Buffer,
  iv: Buffer,
  file: string,
  target: string,
): Promise<Reference> {
  const options = ['enc', `-${cipher.name}`, '-K', key.toString('hex'), '-in', file, '-out', target];
  if (cipher.ivBytes > 0) options.push('-iv', iv.toString('hex'));
  for (const providers of PROVIDERS) {
    const start = process.hrtime.bigint();
    const status = await new Promise<number>((resolve) => {
      const child = spawn('openssl', [...options, ...providers], { stdio: 'ignore' });
      child.on('error', () => resolve(-1));
      child.on('close', (code) => resolve(code ?? -1));
    });
    if (status === 0) return { name: 'openssl enc', elapsedNs: Number(process.hrtime.bigint() - start) };
  }
  const again = process.hrtime.bigint();
  let node: ReturnType<typeof createCipheriv>;
  try {
    node = createCipheriv(cipher.name, key, cipher.ivBytes > 0 ? iv : null);
  } catch (error) {
    throw new HwcryptError(
      'NO_DRIVER',
      `nobody to compare ${cipher.name} with: neither node:crypto nor openssl enc does it here (old ciphers need ` +
        'the openssl command with its legacy provider)',
      { cause: error },
    );
  }
  await pipeline(createReadStream(file), node, createWriteStream(target));
  return { name: 'node:crypto', elapsedNs: Number(process.hrtime.bigint() - again) };
}

async function tryDriver(
  name: string,
  cipher: CipherAlgorithm,
  key: Buffer,
  iv: Buffer,
  file: string,
  target: string,
  wanted: string,
): Promise<Outcome> {
  try {
    const start = process.hrtime.bigint();
    const result = await runEnc(
      {
        direction: 'encrypt',
        cipher,
        routing: { drivers: name },
        input: file,
        output: target,
        kdf: { kind: 'bytes-to-key', digest: 'sha256' },
        salt: false,
        padding: true,
        keyHex: key.toString('hex'),
        ...(cipher.ivBytes > 0 ? { ivHex: iv.toString('hex') } : {}),
      },
      { warn: () => {}, note: () => {}, print: () => {} },
    );
    const elapsedNs = Number(process.hrtime.bigint() - start);
    const who = allDrivers()
      .find((driver) => driver.name === name)
      ?.implementation(cipher);
    const equal = await sameFile(target, wanted);
    rmSync(target, { force: true });
    return {
      driver: name,
      implementation: who?.kernelDriver ?? result.driver ?? name,
      ...(who ? { hardware: who.hardware } : {}),
      elapsedNs,
      equal,
    };
  } catch (error) {
    if (!(error instanceof HwcryptError)) throw error;
    return { driver: name, problem: error.message, short: inShort(error.reason) };
  }
}

async function sameFile(a: string, b: string): Promise<boolean> {
  const one = Input.open(a);
  const two = Input.open(b);
  try {
    if (one.size !== two.size) return false;
    const first = Buffer.alloc(1024 * 1024);
    const second = Buffer.alloc(1024 * 1024);
    for (;;) {
      const [n, m] = await Promise.all([
        one.readFull(first, 0, first.length),
        two.readFull(second, 0, second.length),
      ]);
      if (n !== m || first.compare(second, 0, m, 0, n) !== 0) return false;
      if (n === 0) return true;
    }
  } finally {
    one.close();
    two.close();
  }
}

function outcomesText(
  outcomes: readonly Outcome[],
  reference: Reference,
  bytes: number,
  width: number,
): string {
  const rows = outcomes.map((outcome) =>
    outcome.elapsedNs === undefined
      ? [outcome.driver, '', '', '', '', outcome.short ?? '']
      : [
          outcome.driver,
          outcome.implementation ?? '',
          outcome.hardware ?? '',
          seconds(outcome.elapsedNs),
          rate(bytes, outcome.elapsedNs),
          outcome.equal ? 'equal' : 'DIFFERENT',
        ],
  );
  rows.push([
    reference.name,
    '',
    '',
    seconds(reference.elapsedNs),
    rate(bytes, reference.elapsedNs),
    'reference',
  ]);
  return table(
    [
      { title: 'driver' },
      { title: 'implementation' },
      { title: 'hardware' },
      { title: 'time', align: 'right' },
      { title: 'rate', align: 'right' },
      { title: `against ${reference.name}` },
    ],
    rows,
    width,
  );
}

function closing(outcomes: readonly Outcome[], reference: Reference, width: number): string {
  const done = outcomes.filter(({ equal }) => equal !== undefined);
  const wrong = done.filter(({ equal }) => !equal);
  const problems = outcomes.flatMap(({ driver, problem = '' }) =>
    problem === '' ? [] : [problem.startsWith(`${driver}: `) ? problem : `${driver}: ${problem}`],
  );
  const lines = [
    ...problems,
    ...(problems.length > 0 ? [''] : []),
    done.length === 0
      ? `None of ${outcomes.length} drivers ran: nothing was compared.`
      : wrong.length === 0
        ? `${done.length} of ${outcomes.length} drivers ran; every result is, byte for byte, that of ${reference.name}.`
        : `WRONG: ${wrong.map(({ driver }) => driver).join(', ')} gave another result than ${reference.name}.`,
  ];
  return `\n${lines.map((line) => wrap(line, width).join('\n')).join('\n')}\n`;
}
