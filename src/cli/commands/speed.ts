/** `hwcrypt speed`: openssl speed's options and layout, by elapsed time, over every driver; and QEMU's tables. */
import { isatty } from 'node:tty';
import { algorithms } from '../../algorithms.js';
import {
  AEAD_AAD_BYTES,
  AEAD_SIZES,
  CHUNK_SIZES,
  type Contestant,
  contestant,
  countPoints,
  HMAC_CHUNK_SIZES,
  lacks,
  measure,
  type PlannedSubject,
  pointSeconds,
  presentContestants,
  requirePresent,
  SPEED_SIZES,
  secondsWithin,
  takes,
} from '../../bench/engine/index.js';
import type { ResultSet } from '../../bench/model.js';
import type { DriverName } from '../../drivers/driver.js';
import { driverNames } from '../../drivers/registry.js';
import { describeReason, HwcryptError } from '../../errors.js';
import { writeCsv } from '../../interop/csv.js';
import { writeJson } from '../../interop/json.js';
import { duration } from '../../report/units.js';
import { driversOf } from '../drivers.js';
import { Interruption } from '../interruption.js';
import { type CommandSpec, type Given, nearest } from '../options.js';
import type { Rule } from '../rules.js';
import { type SpeedForm, SpeedOutput } from '../speed-output.js';
import { type SpeedSubject, subjectsOf } from '../speed-subjects.js';
import { writeError, writeText } from '../stdio.js';
import { version } from '../version.js';

/** Where nothing is named: a cipher in the mode that engines have, one in the mode that they mostly lack, a hash. */
const USUAL = ['aes-128-cbc', 'aes-256-gcm', 'sha256'];
/** QEMU's benchmark-crypto-cipher, -hash and -hmac. */
const QEMU_CIPHERS = ['ecb', 'cbc', 'ctr', 'xts'].flatMap((mode) => [`aes-128-${mode}`, `aes-256-${mode}`]);
const QEMU_HASHES = ['md5', 'sha1', 'sha224', 'sha384', 'sha256', 'sha512', 'ripemd160'];

/** Seconds for one algorithm over all drivers, start and checks not counted, so that all stays below thirty. */
const BUDGET = 26;
/** For a list of algorithms that nobody asked for. */
const LIST_BUDGET = 60;
const MOST_BYTES = 2 ** 30;

/** What stands behind the engines of OpenSSL 1.1 and 3. */
const ENGINES: Readonly<Record<string, DriverName>> = {
  afalg: 'afalg',
  devcrypto: 'cryptodev',
  cryptodev: 'cryptodev',
};

const RULES: readonly Rule[] = [
  { of: '-engine', beside: ['--driver'] },
  { of: '-mr', beside: ['--json', '--csv'] },
  { of: '--json', beside: ['--csv'] },
  { of: '-aead', beside: ['--chunks'] },
  { of: '-rand', never: true, warn: true },
  { of: '-writerand', never: true, warn: true },
];

const NOTES = `
Time is elapsed time, -elapsed or not. Each figure is that of several rounds in
which the drivers take turns; outputs are compared with another driver's.
Without --driver every driver here takes part: the table is the first one's, and
all of them follow side by side. With one driver, standard output is
openssl speed's own layout and nothing else; so it is with -mr.

  hwcrypt speed -evp aes-128-cbc
  hwcrypt speed -evp aes-128-cbc -bytes 65536 --driver libcrypto,afalg
  hwcrypt speed -evp aes-256-gcm -aead -multi 4
  hwcrypt speed --chunks aes-128-cbc sha256
`;

export const command: CommandSpec = {
  name: 'speed',
  summary: 'Measures ciphers, hashes and MACs as `openssl speed -elapsed` does, over all drivers.',
  usage: '[options] [ALGORITHM…]',
  operands: 100,
  options: [
    { names: ['-evp'], value: 'NAME', help: 'Cipher, AEAD or hash', repeats: true, section: 'What' },
    { names: ['-hmac'], value: 'HASH', help: 'HMAC over this hash', repeats: true, section: 'What' },
    { names: ['-cmac'], value: 'CIPHER', help: 'CMAC over this cipher', repeats: true, section: 'What' },
    { names: ['-decrypt'], help: 'Decryption instead of encryption', section: 'What' },
    {
      names: ['-aead'],
      help: `An AEAD as TLS uses it: its sizes, ${AEAD_AAD_BYTES} bytes of additional data`,
      section: 'What',
    },
    {
      names: ['--chunks'],
      help: 'QEMU’s benchmark: its chunk sizes, and tables side by side (with -mr: its lines)',
      section: 'What',
    },
    {
      names: ['--driver'],
      value: 'NAME[:IMPL],…',
      help: 'Only these, the first one’s in the table: libcrypto,afalg:cbc-aes-aesni',
      section: 'How',
    },
    {
      names: ['-engine'],
      value: 'NAME',
      help: 'OpenSSL’s word for a driver: afalg; devcrypto (cryptodev)',
      section: 'How',
    },
    {
      names: ['-seconds'],
      value: 'N',
      help: 'Seconds a figure (as many as make half a minute for an algorithm, at most 3)',
      section: 'How',
    },
    { names: ['-bytes'], value: 'N', help: 'This request size only', section: 'How' },
    { names: ['-multi'], value: 'N', help: 'N threads, with a request in flight each', section: 'How' },
    { names: ['-elapsed'], help: 'Elapsed time (always)', section: 'How' },
    { names: ['-mr'], help: 'openssl’s machine-readable lines; a block for each driver', section: 'Output' },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it', section: 'Output' },
    { names: ['--csv'], help: 'A line for each figure, for spreadsheets', section: 'Output' },
    { names: ['-primes'], value: 'N', help: '', hidden: true },
    { names: ['-async_jobs'], value: 'N', help: '', hidden: true },
    { names: ['-misalign'], value: 'N', help: '', hidden: true },
    { names: ['-mb'], help: '', hidden: true },
    { names: ['-rand'], value: 'FILES', help: '', hidden: true, repeats: true },
    { names: ['-writerand'], value: 'FILE', help: '', hidden: true },
    { names: ['-provider'], value: 'NAME', help: '', hidden: true, repeats: true },
    { names: ['-provider-path'], value: 'PATH', help: '', hidden: true, repeats: true },
    { names: ['-propquery'], value: 'QUERY', help: '', hidden: true },
  ],
  rules: RULES,
  notes: NOTES,
  suggest: (name) =>
    nearest(
      name,
      algorithms().map((own) => own.name),
    ).map((near) => `evp ${near}`),
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<number> {
  refuse(given);
  const chunks = given.has('chunks');
  const subjects = namedSubjects(given, operands, chunks);
  const plan = plannedSubjects(subjects, given, chunks);
  const { contestants, absent, named } = contestantsOf(given, subjects);
  const parallel = given.number('multi', 1, 128);
  const points = countPoints(plan, contestants, SPEED_SIZES);
  const isList = operands.length + ['evp', 'hmac', 'cmac'].flatMap((name) => given.all(name)).length === 0;
  const seconds = secondsOf(given) ?? secondsWithin(isList ? LIST_BUDGET : BUDGET * subjects.length, points);
  const leaders = leadersOf(subjects, contestants, named);
  const data = given.has('json') || given.has('csv');
  const output = new SpeedOutput({
    form: formOf(given, data, chunks),
    subjects,
    leaders,
    contestants,
    seconds,
    ...(parallel === undefined ? {} : { parallel }),
    version: version(),
    hasDirection: subjects.some(({ operation }) => operation === 'encrypt' || operation === 'decrypt'),
    decrypt: given.has('decrypt'),
  });
  if (isList) {
    const names = subjects.map(({ printed }) => printed).join(', ');
    writeError(`hwcrypt: speed: no algorithm is named, so the usual: ${names}`);
  }
  const missing = absent.map(({ driver, reason }) => `${driver} is not here: ${describeReason(reason)}`);
  for (const text of missing) writeError(`hwcrypt: speed: ${text}`);
  if (isatty(2)) {
    const whole = duration(points * pointSeconds(seconds) * 1e9);
    writeError(
      `hwcrypt: speed: ${points} figures of ${seconds} s, about ${whole}; Ctrl-C prints what is finished`,
    );
  }
  output.begin();
  const interruption = new Interruption();
  let set: ResultSet;
  try {
    set = await measure(
      {
        subjects: plan,
        contestants,
        sizes: SPEED_SIZES,
        seconds,
        ...(parallel === undefined ? {} : { parallel }),
        toolVersion: version(),
        signal: interruption.signal,
      },
      output.hooks,
    );
  } finally {
    interruption.settle();
    output.settle();
  }
  const told: ResultSet = {
    ...set,
    notes: [...set.notes, ...missing],
    runs: set.runs.map((own) => ({ ...own, command: commandLine() })),
  };
  for (const note of set.notes) writeError(`hwcrypt: speed: ${note}`);
  if (given.has('json')) writeText(`${writeJson(told)}`);
  else if (given.has('csv')) writeText(writeCsv(told));
  else output.print(told);
  return interruption.status ?? (output.failed ? 1 : 0);
}

function formOf(given: Given, data: boolean, chunks: boolean): SpeedForm {
  if (data) return 'data';
  if (chunks) return given.has('mr') ? 'chunks-mr' : 'chunks';
  return given.has('mr') ? 'mr' : 'text';
}

const commandLine = (): string => ['hwcrypt', ...process.argv.slice(2)].join(' ');

function refuse(given: Given): void {
  const no = (name: string, why: string): void => {
    if (given.has(name)) throw new HwcryptError('USAGE', `-${name} is not supported: ${why}`);
  };
  no('primes', 'it is for RSA, and hwcrypt measures ciphers, AEADs, hashes and MACs');
  no('async_jobs', 'use -multi N for N requests in flight');
  no('misalign', 'buffers lie at the start of a page here');
  no('mb', 'hwcrypt measures one request at a time, or -multi N');
}

function namedSubjects(given: Given, operands: readonly string[], chunks: boolean): SpeedSubject[] {
  const names = {
    evp: given.all('evp'),
    hmac: given.all('hmac'),
    cmac: given.all('cmac'),
    bare: operands,
    decrypt: given.has('decrypt'),
    aead: given.has('aead'),
  };
  const some = subjectsOf(names);
  if (some.length > 0) return some;
  if (!chunks) return subjectsOf({ ...names, evp: USUAL });
  return subjectsOf({ ...names, evp: [...QEMU_CIPHERS, ...QEMU_HASHES], hmac: ['sha256'] });
}

function plannedSubjects(subjects: readonly SpeedSubject[], given: Given, chunks: boolean): PlannedSubject[] {
  const bytes = given.number('bytes', 1, MOST_BYTES);
  return subjects.map(({ algorithm, operation }) => {
    if (bytes !== undefined && !takes(algorithm, bytes)) {
      throw new HwcryptError('USAGE', `-bytes ${bytes}: ${lengthsOf(algorithm)}`);
    }
    const isTls = given.has('aead') && algorithm.kind === 'aead';
    const usual = chunks
      ? algorithm.kind === 'mac'
        ? HMAC_CHUNK_SIZES
        : CHUNK_SIZES
      : isTls
        ? AEAD_SIZES
        : [];
    const sizes = bytes === undefined ? usual : [bytes];
    return {
      algorithm,
      operation,
      ...(sizes.length > 0 ? { sizes } : {}),
      ...(isTls ? { aadBytes: AEAD_AAD_BYTES } : {}),
    };
  });
}

function lengthsOf(algorithm: SpeedSubject['algorithm']): string {
  const { name } = algorithm;
  if (algorithm.kind !== 'cipher') return `${name} takes no such request`;
  const { minBytes, blockBytes } = algorithm;
  return minBytes === undefined || blockBytes > 1
    ? `${name} takes whole blocks of ${blockBytes} bytes`
    : `${name} takes ${minBytes} bytes or more`;
}

/** Whole seconds, or parts of one. */
function secondsOf(given: Given): number | undefined {
  const text = given.get('seconds');
  if (text === undefined) return undefined;
  const value = /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (value <= 0) {
    throw new HwcryptError(
      'USAGE',
      `-seconds takes a number above 0 and at most 99999.999, in plain decimals (3, 0.5; three places), not "${text}"`,
    );
  }
  return value;
}

interface Taking {
  readonly contestants: readonly Contestant[];
  readonly absent: ReturnType<typeof presentContestants>['absent'];
  /** They were named, and no others may stand in for them. */
  readonly named: boolean;
}

function contestantsOf(given: Given, subjects: readonly SpeedSubject[]): Taking {
  const engine = given.get('engine');
  const labels = engine === undefined ? driversOf(given) : [engineDriver(engine)];
  const wanted = subjects.map(({ algorithm }) => algorithm);
  if (labels === undefined) {
    const { contestants, absent } = presentContestants();
    const able = contestants.filter((one) => wanted.some((own) => lacks(one, own) === undefined));
    if (able.length === 0) throw nobody(contestants, absent, subjects);
    return { contestants: able, absent, named: false };
  }
  const contestants = labels.map(contestant);
  requirePresent(contestants, wanted);
  return { contestants, absent: [], named: true };
}

/** None of the drivers has any of the algorithms. */
function nobody(
  contestants: readonly Contestant[],
  absent: Taking['absent'],
  subjects: readonly SpeedSubject[],
): HwcryptError {
  const [{ algorithm }] = subjects as [SpeedSubject];
  const reasons = contestants.flatMap((one) => lacks(one, algorithm)?.message ?? []);
  const missing = absent.map(({ driver, reason }) => `${driver} is not here: ${describeReason(reason)}`);
  return new HwcryptError(
    'NO_DRIVER',
    `nobody here has ${algorithm.name}: ${[...reasons, ...missing].join('; ')}`,
  );
}

function engineDriver(engine: string): string {
  const driver = Object.hasOwn(ENGINES, engine) ? ENGINES[engine] : undefined;
  if (driver === undefined) {
    throw new HwcryptError(
      'USAGE',
      `there are no engines here: name a driver with --driver, one of ${driverNames().join(', ')}`,
    );
  }
  writeError(
    `hwcrypt: speed: engine "${engine}": measured is hwcrypt's driver ${driver}, without OpenSSL's engine`,
  );
  return driver;
}

/** Whose figures are in the table: the first that has the algorithm. */
function leadersOf(
  subjects: readonly SpeedSubject[],
  contestants: readonly Contestant[],
  named: boolean,
): Map<SpeedSubject, Contestant | undefined> {
  return new Map(
    subjects.map((subject) => {
      for (const one of contestants) {
        const reason = lacks(one, subject.algorithm);
        if (reason === undefined) return [subject, one];
        if (named) writeError(`hwcrypt: speed: ${one.label}: ${subject.printed}: ${describeReason(reason)}`);
      }
      return [subject, undefined];
    }),
  );
}
