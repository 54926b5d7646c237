/** `hwcrypt benchmark`: cryptsetup benchmark's table, who did each row, and the disk itself. */
import { cpus } from 'node:os';
import { type Algorithm, byCryptsetup, type CipherAlgorithm } from '../../algorithms.js';
import { type DiskCipher, diskProblem, measureDisk, parseDiskCipher } from '../../bench/disk/index.js';
import {
  type Contestant,
  contestant,
  type Detail,
  lacks,
  machineFacts,
  measure,
  pointSeconds,
  requirePresent,
} from '../../bench/engine/index.js';
import { argon2Limits, measureArgon2, measurePbkdf2 } from '../../bench/kdf.js';
import {
  type KdfMeasurement,
  type Measurement,
  RESULTS_FORMAT,
  RESULTS_VERSION,
  type ResultSet,
  type Run,
} from '../../bench/model.js';
import { libraryDrivers } from '../../drivers/registry.js';
import { describeReason, HwcryptError, UnavailableError } from '../../errors.js';
import {
  CRYPTSETUP_TITLE,
  cryptsetupCipherLine,
  cryptsetupColumns,
  cryptsetupHeader,
  cryptsetupKdfLine,
} from '../../interop/cryptsetup.js';
import { writeJson } from '../../interop/json.js';
import { argon2 } from '../../kdf/index.js';
import { comment, type Doer, diskName, diskText, doersText, sizesText } from '../../report/benchmark.js';
import { StatusLine } from '../../report/status-line.js';
import { duration } from '../../report/units.js';
import { driversOf } from '../drivers.js';
import { abandonWork, EXIT_FAILURE } from '../exit.js';
import { Interruption } from '../interruption.js';
import type { CommandSpec, Given } from '../options.js';
import { rulesFor } from '../rules.js';
import { terminalColumns, writeText } from '../stdio.js';
import { version } from '../version.js';

/** cryptsetup's list, in its order: names and bits as it counts them. */
const CIPHERS = [
  ['cbc', 128],
  ['cbc', 256],
  ['xts', 256],
  ['xts', 512],
].flatMap(([mode, bits]) =>
  ['aes', 'serpent', 'twofish'].map((cipher) => ({ name: `${cipher}-${mode}`, bits: bits as number })),
);
const HASHES = ['sha1', 'sha256', 'sha512', 'ripemd160', 'whirlpool'];
const ARGON2 = ['argon2i', 'argon2id'] as const;
const PBKDFS: readonly string[] = ['pbkdf2', ...ARGON2];

/** What cryptsetup asks the kernel for. */
const CRYPTSETUP_BYTES = 65536;
/**
 * What disks ask for, with small sectors and large ones, comes first: many short requests have V8 compile the loop, which on a slow machine a
 * second of long ones does not.
 */
const SIZES = [512, 4096, CRYPTSETUP_BYTES];

/** LUKS2's cipher, and those that engines without XTS have. */
const DISK_CIPHERS = [
  ['aes-xts-plain64', 512],
  ['aes-cbc-essiv:sha256', 128],
  ['aes-cbc-essiv:sha256', 256],
] as const;
const SECTORS = [512, 4096];

/** Seconds a figure: for the whole list, for one cipher, for the disk. */
const LIST_SECONDS = 0.15;
const ONE_SECONDS = 0.5;
const DISK_SECONDS = 0.5;
const DEFAULT_KEY_BITS = 256;
const DEFAULT_TARGET_MS = 2000;

const KDF_ONLY = ['--iter-time', '--pbkdf-memory', '--pbkdf-parallel'];

export const command: CommandSpec = {
  name: 'benchmark',
  summary: 'Measures what `cryptsetup benchmark` does, and encrypted disks themselves.',
  usage: '[-c CIPHER [-s BITS]] [options]',
  options: [
    {
      names: ['--cipher', '-c'],
      value: 'SPEC',
      help: 'Only this cipher, as cryptsetup names it: aes-xts, aes-cbc-essiv:sha256',
      section: 'What, as for cryptsetup',
    },
    {
      names: ['--key-size', '-s'],
      value: 'BITS',
      help: 'Bits of its key, both halves of XTS together (256), and of derived keys',
      section: 'What, as for cryptsetup',
    },
    {
      names: ['--hash', '-h'],
      value: 'NAME',
      help: 'Only PBKDF2 with this hash',
      section: 'What, as for cryptsetup',
    },
    {
      names: ['--pbkdf'],
      value: 'TYPE',
      help: 'Only this key derivation: pbkdf2, argon2i, argon2id',
      section: 'What, as for cryptsetup',
    },
    {
      names: ['--iter-time', '-i'],
      value: 'MS',
      help: 'What a derivation with Argon2 shall take (2000)',
      section: 'What, as for cryptsetup',
    },
    {
      names: ['--pbkdf-memory'],
      value: 'KIB',
      help: 'Argon2’s memory at most (1 GiB, or half of this machine’s)',
      section: 'What, as for cryptsetup',
    },
    {
      names: ['--pbkdf-parallel'],
      value: 'N',
      help: 'Argon2’s threads at most (4, or the CPUs)',
      section: 'What, as for cryptsetup',
    },
    { names: ['--no-kdf'], help: 'Ciphers only', section: 'What' },
    {
      names: ['--disk'],
      help: 'Instead, an encrypted disk itself: dm-crypt over memory, sectors of 512 and 4096 bytes (root)',
      section: 'What',
    },
    {
      names: ['--driver'],
      value: 'NAME[:IMPL]',
      help: 'Only this driver; may be repeated, the first that has a cipher is in the table (afalg, libcrypto, gcrypt …)',
      repeats: true,
      section: 'How',
    },
    {
      names: ['--seconds'],
      value: 'S',
      help: 'Seconds a figure: 0.15 for the list, 0.5 for one cipher and for the disk',
      section: 'How',
    },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it', section: 'How' },
    { names: ['--batch-mode', '-q'], help: '', hidden: true },
    { names: ['--debug'], help: '', hidden: true },
  ],
  rules: [
    { of: '--hash', beside: ['--cipher', '--disk', '--no-kdf'] },
    { of: '--pbkdf', beside: ['--cipher', '--disk', '--no-kdf'] },
    ...rulesFor(KDF_ONLY, { beside: ['--cipher', '--disk', '--no-kdf', '--hash'] }),
    { of: '--no-kdf', beside: ['--disk', '--cipher'] },
    { of: '--driver', beside: ['--disk', '--hash', '--pbkdf'] },
    { of: '--seconds', beside: ['--hash', '--pbkdf'] },
    { of: '--key-size', beside: ['--no-kdf'] },
  ],
  notes: `The first lines are cryptsetup's, for scripts that read them: requests of 64 KiB,
through the kernel where it offers that (afalg). What is ours begins with #.
Ctrl-C prints what is finished.

  hwcrypt benchmark -c aes-cbc -s 128
  hwcrypt benchmark -c aes-xts -s 512 --driver afalg:xts-aes-aesni
  sudo hwcrypt benchmark --disk`,
  run,
};

async function run(given: Given): Promise<number> {
  const job = new Job(given);
  const interruption = new Interruption();
  try {
    if (given.has('disk')) await disk(job, interruption.signal);
    else await memory(job, interruption.signal);
  } finally {
    interruption.settle();
    job.status.clear();
  }
  if (interruption.status !== undefined) {
    abandonWork();
    job.say(comment('interrupted: what is above was finished'));
    job.finish();
    return interruption.status;
  }
  job.finish();
  return job.failed ? EXIT_FAILURE : 0;
}

/** What was asked for, and what is printed. */
class Job {
  readonly given: Given;
  readonly json: boolean;
  readonly status = new StatusLine();
  readonly columns = Math.min(terminalColumns() ?? 80, 100);
  readonly keyBits: number;
  readonly seconds: number | undefined;
  failed = false;
  results: ResultSet | undefined;

  constructor(given: Given) {
    this.given = given;
    this.json = given.has('json');
    this.keyBits = given.number('key-size', 8, 4096) ?? DEFAULT_KEY_BITS;
    if (this.keyBits % 8 !== 0) {
      throw new HwcryptError('USAGE', `-s takes a multiple of 8 bits, not ${this.keyBits}`);
    }
    const text = given.get('seconds');
    const value = text === undefined || /^\d{1,4}(?:\.\d{1,3})?$/.test(text) ? Number(text ?? 1) : 0;
    if (value <= 0) throw new HwcryptError('USAGE', `--seconds takes a number above 0, not "${text}"`);
    this.seconds = text === undefined ? undefined : value;
  }

  /** Text, where no JSON is wanted. */
  say(text: string): void {
    if (this.json || text === '') return;
    this.status.clear();
    writeText(text);
  }

  finish(): void {
    if (this.json && this.results) writeText(writeJson(this.results));
  }
}

const COMMAND = (): string => ['hwcrypt', ...process.argv.slice(2)].join(' ');

function emptySet(runs: readonly Run[], notes: readonly string[] = []): ResultSet {
  return {
    format: RESULTS_FORMAT,
    version: RESULTS_VERSION,
    tool: 'hwcrypt',
    toolVersion: version(),
    source: 'this machine',
    measuredAt: new Date().toISOString(),
    machine: machineFacts(),
    runs,
    skipped: [],
    notes,
  };
}

// --- key derivation and ciphers in memory -------------------------------------------------------------------------------------------

async function memory(job: Job, signal: AbortSignal): Promise<void> {
  const { given } = job;
  const kdfOnly = given.has('hash') || given.has('pbkdf');
  const one = given.get('cipher');
  const ciphers = kdfOnly ? [] : ciphersOf(one, job.keyBits);
  const drivers = kdfOnly ? undefined : contestantsOf(given, ciphers);
  job.say(`${CRYPTSETUP_TITLE}\n`);
  const kdfs = one === undefined && !given.has('no-kdf') ? await derivations(job, signal) : [];
  const kdfRun: Run[] = kdfs.length > 0 ? [kdfRunOf(kdfs)] : [];
  const set = drivers && !signal.aborted ? await cipherRows(job, ciphers, drivers, signal) : emptySet([]);
  job.results = {
    ...set,
    runs: [...set.runs, ...kdfRun].map((own) => ({ ...own, command: COMMAND() })),
    notes: [...set.notes, ...(drivers?.absent ?? [])],
  };
}

interface Wanted {
  /** As cryptsetup prints it: `aes-xts`. */
  readonly name: string;
  readonly bits: number;
  readonly algorithm: CipherAlgorithm | undefined;
}

function ciphersOf(spec: string | undefined, keyBits: number): Wanted[] {
  if (spec === undefined) {
    return CIPHERS.map(({ name, bits }) => ({ name, bits, algorithm: cipher(name, bits) }));
  }
  const parsed = parseDiskCipher(spec, keyBits);
  if (!parsed) {
    throw new HwcryptError(
      'USAGE',
      `-c takes a cipher as cryptsetup names it (aes-xts, aes-cbc-essiv:sha256), not "${spec}"`,
    );
  }
  const algorithm = cipher(parsed.specification, keyBits);
  if (!algorithm) {
    throw new HwcryptError(
      'ALGORITHM_UNAVAILABLE',
      `Cipher ${spec} (with ${keyBits} bits key) is not available.`,
    );
  }
  return [{ name: parsed.name, bits: keyBits, algorithm }];
}

function cipher(spec: string, bits: number): CipherAlgorithm | undefined {
  const found = byCryptsetup(spec.toLowerCase(), bits);
  return found?.kind === 'cipher' ? found : undefined;
}

interface Drivers {
  /** The figures of the first that has a cipher are in cryptsetup's table. */
  readonly contestants: readonly Contestant[];
  /** Why the kernel is not among them. */
  readonly absent: readonly string[];
}

function contestantsOf(given: Given, wanted: readonly Wanted[]): Drivers {
  const algorithms = wanted.flatMap(({ algorithm }) => (algorithm ? [algorithm] : []));
  const named = driversOf(given);
  if (named !== undefined) {
    const contestants = named.map(contestant);
    requirePresent(contestants, algorithms);
    return { contestants, absent: [] };
  }
  const contestants: Contestant[] = [];
  const absent: string[] = [];
  const kernel = contestant('afalg');
  const probe = kernel.driver.probe();
  if (probe.available) contestants.push(kernel);
  else absent.push(`not measured through the kernel: ${describeReason(probe.reason)}`);
  contestants.push(...libraries(algorithms));
  const able = contestants.filter((one) => algorithms.some((own) => lacks(one, own) === undefined));
  if (able.length === 0) {
    const [{ name, bits }] = wanted as [Wanted, ...Wanted[]];
    const reasons = contestants.flatMap((one) => {
      const reason = algorithms[0] && lacks(one, algorithms[0]);
      return reason ? [`${one.label}: ${describeReason(reason)}`] : [];
    });
    throw new HwcryptError(
      'ALGORITHM_UNAVAILABLE',
      `Cipher ${name} (with ${bits} bits key) is not available. ${[...reasons, ...absent].join('; ')}`,
    );
  }
  return { contestants: able, absent };
}

/** The first library that is there, and for what it lacks (Serpent, Twofish) others that have it: each may cost being loaded. */
function libraries(algorithms: readonly Algorithm[]): Contestant[] {
  const found: Contestant[] = [];
  for (const one of libraryDrivers().map(({ name }) => contestant(name))) {
    if (found.length === 0 ? !one.driver.probe().available : !addsTo(found, one, algorithms)) continue;
    found.push(one);
  }
  return found;
}

function addsTo(found: readonly Contestant[], one: Contestant, algorithms: readonly Algorithm[]): boolean {
  const missing = algorithms.filter((own) => firstAble(found, own) === undefined);
  return missing.some((own) => lacks(one, own) === undefined);
}

/** Who does a row of cryptsetup's table. */
function firstAble(contestants: readonly Contestant[], algorithm: Algorithm): Contestant | undefined {
  return contestants.find((one) => lacks(one, algorithm) === undefined);
}

async function cipherRows(
  job: Job,
  wanted: readonly Wanted[],
  { contestants, absent }: Drivers,
  signal: AbortSignal,
): Promise<ResultSet> {
  const isList = !job.given.has('cipher');
  const seconds = job.seconds ?? (isList ? LIST_SECONDS : ONE_SECONDS);
  const table = new CipherTable(job, wanted, contestants, isList);
  for (const text of absent) job.say(comment(text, job.columns));
  const begun = performance.now();
  const set = await measure(
    {
      subjects: wanted.flatMap(({ algorithm }) =>
        algorithm ? (['encrypt', 'decrypt'] as const).map((operation) => ({ algorithm, operation })) : [],
      ),
      contestants,
      sizes: SIZES,
      seconds,
      toolVersion: version(),
      signal,
    },
    {
      begin: ({ algorithm, operation, requestBytes }, done, total) => {
        const left = Math.max((total - done) * pointSeconds(seconds), 0);
        const shown = done > 8 ? ((performance.now() - begun) / done) * (total - done) * 1e6 : left * 1e9;
        job.status.show(
          `${done + 1} of ${total}: ${algorithm.name} ${operation}, ${requestBytes} bytes; ${duration(shown)} left`,
        );
      },
      end: ({ contestant: who }, measurement, _done, _total, detail) => table.take(who, measurement, detail),
    },
  );
  job.status.clear();
  table.end();
  job.say(sizesText(set.runs));
  job.say(doersText(table.doers(), job.columns));
  const remarks = [...standIns(wanted, contestants), ...table.problems];
  if (remarks.length > 0) job.say(`#\n${remarks.map((text) => comment(text, job.columns)).join('')}`);
  if (isList && process.getuid?.() === 0) {
    job.say(`#\n${comment('hwcrypt benchmark --disk measures an encrypted disk itself.')}`);
  }
  if (table.problems.length > 0) job.failed = true;
  return set;
}

/** Why rows are not the first driver's: ciphers with the same cause, and the same driver in its place, in one line. */
function standIns(wanted: readonly Wanted[], contestants: readonly Contestant[]): string[] {
  const groups = new Map<string, { readonly names: string[]; readonly by: string; readonly text: string }>();
  for (const { name, bits, algorithm } of wanted) {
    const reason = algorithm && lacks(contestants[0] as Contestant, algorithm);
    if (!reason) continue;
    const by = firstAble(contestants, algorithm)?.label ?? 'N/A';
    const key = `${by} ${reason.code} ${reason.cure}`;
    const group = groups.get(key) ?? { names: [], by, text: describeReason(reason) };
    group.names.push(`${name} ${bits}`);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ names, by, text }) => {
    const more = names.length > 1 ? ', and so on' : '';
    return by === 'N/A'
      ? `N/A: ${names.join(', ')}: ${text}${more}`
      : `In the table by ${by}: ${names.join(', ')}, since ${text}${more}`;
  });
}

/** cryptsetup's rows, each printed as soon as both directions are there. */
class CipherTable {
  readonly #job: Job;
  readonly #wanted: readonly Wanted[];
  readonly #contestants: readonly Contestant[];
  readonly #columns: number | undefined;
  readonly #rates = new Map<string, (number | undefined)[]>();
  readonly #doers = new Map<string, Omit<Doer, 'ciphers'> & { readonly ciphers: Set<string> }>();
  #printed = 0;
  /** What went wrong, and gave no figure. */
  readonly problems: string[] = [];

  constructor(job: Job, wanted: readonly Wanted[], contestants: readonly Contestant[], isList: boolean) {
    this.#job = job;
    this.#wanted = wanted;
    this.#contestants = contestants;
    this.#columns = isList ? undefined : cryptsetupColumns(wanted[0]?.name ?? '');
  }

  take(who: Contestant, measurement: Measurement, { hardware, problem }: Detail): void {
    const { name, bits } = diskName(measurement);
    const { kernelDriver, requestBytes, bytesPerSecond, status, operation } = measurement;
    if (status === 'failed') {
      this.problems.push(
        `${who.label}: ${name} ${bits}, ${operation} of ${requestBytes} bytes: ${problem ?? 'failed'}`,
      );
    }
    if (kernelDriver !== undefined && status === 'ok') {
      const key = `${who.label} ${kernelDriver}`;
      const own = this.#doers.get(key) ?? {
        label: who.label,
        kernelDriver,
        hardware: hardware ?? 'unknown',
        ciphers: new Set<string>(),
      };
      own.ciphers.add(`${name} ${bits}`);
      this.#doers.set(key, own);
    }
    if (requestBytes !== CRYPTSETUP_BYTES || who !== this.#inTable(measurement)) return;
    const key = `${measurement.algorithm}`;
    this.#rates.set(key, [...(this.#rates.get(key) ?? []), bytesPerSecond]);
    this.#printReady();
  }

  /** Where nobody has the cipher it is the first who says so. */
  #inTable({ algorithm }: Measurement): Contestant | undefined {
    const known = this.#wanted.find((own) => own.algorithm?.name === algorithm)?.algorithm;
    return (known && firstAble(this.#contestants, known)) ?? this.#contestants[0];
  }

  doers(): Doer[] {
    return [...this.#doers.values()].map(({ ciphers, ...doer }) => ({ ...doer, ciphers: [...ciphers] }));
  }

  #printReady(): void {
    for (const { name, bits, algorithm } of this.#wanted.slice(this.#printed)) {
      const rates = algorithm === undefined ? [] : this.#rates.get(algorithm.name);
      if (algorithm !== undefined && (rates?.length ?? 0) < 2) return;
      const head = this.#printed === 0 ? `${cryptsetupHeader(this.#columns)}\n` : '';
      const [encrypt, decrypt] = rates ?? [];
      this.#job.say(`${head}${cryptsetupCipherLine(name, bits, encrypt, decrypt, this.#columns)}\n`);
      this.#printed++;
    }
  }

  end(): void {
    this.#printReady();
  }
}

async function derivations(job: Job, signal: AbortSignal): Promise<KdfMeasurement[]> {
  const { given, keyBits } = job;
  const type = given.get('pbkdf') ?? (given.has('hash') ? 'pbkdf2' : undefined);
  if (type !== undefined && !PBKDFS.includes(type)) {
    throw new HwcryptError('USAGE', `--pbkdf takes ${PBKDFS.join(', ')}, not "${type}"`);
  }
  const hash = given.get('hash')?.toLowerCase();
  if (hash !== undefined && type !== 'pbkdf2') {
    throw new HwcryptError('USAGE', `-h has no effect beside --pbkdf ${type}`);
  }
  const limits = argon2Limits(cpus().length, {
    memoryKiB: given.number('pbkdf-memory', 32, 4 << 20),
    threads: given.number('pbkdf-parallel', 1, 4),
  });
  const targetMs = given.number('iter-time', 0, 3_600_000) || DEFAULT_TARGET_MS;
  // LUKS's own, where PBKDF2 is asked for and no hash is named.
  const hashes = type === undefined ? HASHES : type === 'pbkdf2' ? [hash ?? 'sha256'] : [];
  const kinds = type === undefined ? ARGON2 : ARGON2.filter((kind) => kind === type);
  const steps = [
    ...hashes.map((name) => () => {
      job.status.show(`PBKDF2-${name}`);
      return measurePbkdf2(name, keyBits, signal);
    }),
    ...kinds.map((kind) => () => {
      job.status.show(`${kind}: looking for parameters that take ${targetMs} ms`);
      return measureArgon2(kind, keyBits, { targetMs, ...limits }, signal);
    }),
  ];
  const kdfs: KdfMeasurement[] = [];
  for (const step of steps) {
    if (signal.aborted) break;
    const found = await step();
    if (found === undefined) break;
    kdfs.push(found);
    job.say(`${cryptsetupKdfLine(found)}\n`);
  }
  const doubts = new Set(
    kdfs.flatMap((own) => own.doubts.map(({ code, text }) => (code === 'NOISY' ? `~ ${text}` : text))),
  );
  for (const text of doubts) job.say(comment(text, job.columns));
  if (type !== undefined && kdfs.every(({ status }) => status !== 'ok')) job.failed = true;
  return kdfs;
}

function kdfRunOf(kdfs: readonly KdfMeasurement[]): Run {
  const by = kdfs.some(({ kdf }) => kdf !== 'pbkdf2') ? [`Argon2 by ${argon2().name}`] : [];
  return { label: 'key derivation', measurements: [], kdfs, doubts: [], notes: ['PBKDF2 by OpenSSL', ...by] };
}

// --- the disk ------------------------------------------------------------------------------------------------------------------------

async function disk(job: Job, signal: AbortSignal): Promise<void> {
  const ciphers = diskCiphersOf(job);
  const reason = diskProblem();
  if (reason) {
    throw new UnavailableError(
      'DRIVER_UNAVAILABLE',
      'dm-crypt',
      'an encrypted disk cannot be measured',
      reason,
    );
  }
  job.say(comment('A temporary dm-crypt mapping over memory: direct I/O, 1 MiB at a time.', job.columns));
  const seconds = job.seconds ?? DISK_SECONDS;
  const { results, ...told } = await measureDisk(
    { ciphers, sectors: SECTORS, seconds, toolVersion: version(), signal },
    {
      begin: ({ cipher: own, sectorBytes }, done, total) =>
        job.status.show(
          own === undefined
            ? 'the memory itself'
            : `${done + 1} of ${total}: ${own.specification} ${own.keyBits}, sectors of ${sectorBytes} bytes; ` +
                `${duration((total - done) * seconds * 2.2e9)} left`,
        ),
    },
  );
  job.say(diskText(told, job.columns));
  job.results = { ...results, runs: results.runs.map((own) => ({ ...own, command: COMMAND() })) };
  const finished = told.rows.flatMap(({ write, read }) => [write, read]);
  job.failed =
    finished.some((own) => own?.status === 'failed') || !finished.some((own) => own?.status === 'ok');
}

function diskCiphersOf(job: Job): DiskCipher[] {
  const spec = job.given.get('cipher');
  if (spec === undefined) {
    if (job.given.has('key-size')) {
      throw new HwcryptError('USAGE', '-s has no effect beside --disk without -c');
    }
    return DISK_CIPHERS.flatMap(([text, bits]) => parseDiskCipher(text, bits) ?? []);
  }
  const parsed = parseDiskCipher(spec, job.keyBits);
  if (!parsed) {
    throw new HwcryptError(
      'USAGE',
      `-c takes a cipher as dm-crypt names it (aes-xts-plain64, aes-cbc-essiv:sha256), not "${spec}"`,
    );
  }
  return [parsed];
}
