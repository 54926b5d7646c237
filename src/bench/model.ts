/**
 * The one result model: what a benchmark found, whoever ran it.
 *
 * `bench` fills it by measuring, `interop` by reading what other tools printed; compare and report take either. hwcrypt's JSON is exactly
 * this model and nothing else (`RESULTS_SCHEMA` describes it), so that a file from a router and a run on this machine are one kind of thing.
 *
 * Units are in the names: `…Bytes`, `…Ns` (nanoseconds), `…BytesPerSecond`. A field that is not known is absent; nothing is filled in
 * with a likely value. Where a number stands on weaker ground than it looks, a `Doubt` beside it says why, in a code and in words.
 *
 * No field ever holds a host name, a user name, a key, or a path with more than its last part.
 */
import { amount, count, list, object, oneOf, ref, type Schema, text } from '../schema.js';

export type { Schema } from '../schema.js';

/** The `format` of every result file. */
export const RESULTS_FORMAT = 'hwcrypt-results';
/** Raised when a reader of an older version would misunderstand a file. New optional fields do not raise it. */
export const RESULTS_VERSION = 1;

/** Which program measured. */
export type Tool =
  | 'hwcrypt'
  | 'openssl speed'
  | 'sbc-bench'
  | 'cryptsetup benchmark'
  | 'kcapi-speed'
  | 'qemu benchmark-crypto'
  | 'cryptodev speed';

/**
 * What was done to the bytes. Absent where a text does not say: an AES row of `openssl speed` looks the same with and without -decrypt.
 * `cipher+mac` is both at once in one request (cryptodev's hashcrypt_speed).
 */
export type Operation = 'encrypt' | 'decrypt' | 'digest' | 'mac' | 'random' | 'cipher+mac';

/**
 * What the tool divided by to get the figure that it prints. `cpu` is user CPU time, which is next to nothing when the work is done by
 * the kernel or an engine; `elapsed` is the clock on the wall.
 */
export type Basis = 'elapsed' | 'cpu' | 'unknown';

/**
 * `ok`: there is a figure, or at least a claim of one. `failed`: the tool ran and printed 0.00, or an error in the figure's place. `unavailable`: the tool
 * said that this machine cannot do it (N/A, could not allocate, untested). Neither of the last two is a speed of zero.
 */
export type Status = 'ok' | 'failed' | 'unavailable';

/** Why a figure, or a whole run, means less than it seems to. Stable identifiers; the words beside them may change. */
export type DoubtCode =
  /** The claimed figure was divided by CPU time. `bytesPerSecond` is an estimate from request counts over the nominal seconds. */
  | 'CPU_TIME_DIVISOR'
  /** The claimed figure was divided by CPU time, and there are no counts to make an estimate from. */
  | 'CPU_TIME_NO_COUNTS'
  /** Nothing in the text says whether elapsed or CPU time was the divisor. */
  | 'BASIS_UNKNOWN'
  /** An engine was asked for and could not be loaded: this is OpenSSL's own code on the CPU. */
  | 'ENGINE_NOT_LOADED'
  /** An engine was asked for; no line confirms or denies that it was loaded. */
  | 'ENGINE_UNCONFIRMED'
  /** Measured without -evp: OpenSSL's own code, which no engine ever stands behind. */
  | 'NOT_EVP'
  /** The text does not show the request sizes; these are the tool's usual ones, by the number of columns. */
  | 'SIZES_ASSUMED'
  /** The request size cannot be known. */
  | 'SIZE_UNKNOWN'
  /** The text does not say, or not in a name that the table of algorithms has, what was measured. */
  | 'ALGORITHM_UNKNOWN'
  /** Encryption or decryption? The text does not say. */
  | 'OPERATION_UNKNOWN'
  /** A unit is missing and was taken from the values beside it. */
  | 'UNIT_ASSUMED'
  /** The unit that the tool prints is not the unit that it means. */
  | 'UNIT_MISLABELLED'
  /** The tool prints the fraction without its leading zero: `2.5` means 2.05. */
  | 'UNPADDED_DECIMALS'
  /** The printed figure and the one worked out from the counts beside it differ. */
  | 'CLAIM_MISMATCH'
  /** Fewer values than columns. */
  | 'ROW_INCOMPLETE'
  /** Worked out from counts and seconds; the text has no printed figure. */
  | 'FROM_COUNTS'
  /** The tool counts one pass more than it times: the figure is too high by (n+1)/n. */
  | 'OVERSTATED_N_PLUS_1'
  /** The tool's requests are not of the size that the use in question makes (cryptsetup: 64 KiB; dm-crypt: 512 or 4096 bytes). */
  | 'REQUEST_SIZE_UNLIKE_USE'
  /** More than one row of the same name: other cores, or a repetition. */
  | 'REPEATED_ROW'
  /** The text ends, or has a hole, before its results. */
  | 'TRUNCATED'
  /** The kernel's user interface (AF_ALG) was not there, so ciphers were not measured. */
  | 'NO_KERNEL_INTERFACE'
  /** Each request was timed by itself: reading the clock weighs on small requests. */
  | 'CLOCK_PER_REQUEST'
  /** The NULL cipher: what the interface costs, with no cryptography in it. */
  | 'INTERFACE_ONLY'
  /** Too few requests for the precision that is printed. */
  | 'FEW_REQUESTS'
  /** Argon2 with several lanes was computed on one thread: an unlock, which has a thread for each, takes less. */
  | 'ONE_THREAD'
  /** The rounds spread too far apart. */
  | 'NOISY'
  /** The latencies, which are of a pass of their own, are not those of the requests behind the figure. */
  | 'LATENCY_APART'
  /** Outputs were compared with a reference and differed. */
  | 'WRONG_OUTPUT';

export interface Doubt {
  readonly code: DoubtCode;
  /** One line for people, with no trailing period. */
  readonly text: string;
  /** What the figure would be without the flaw, where that can be worked out. */
  readonly correctedBytesPerSecond?: number;
}

/** Nanoseconds that a share of requests took at most, each timed on its own in a pass after the rounds. */
export interface Latency {
  readonly p50Ns: number;
  readonly p90Ns: number;
  readonly p99Ns: number;
}

/** How often a measurement was repeated. `bytesPerSecond` is the median of the rounds. */
export interface Rounds {
  readonly count: number;
  /** (fastest − slowest) / median: 0.1 is ten percent. */
  readonly spread: number;
}

/** One algorithm, in one direction, at one request size. */
export interface Measurement {
  /** hwcrypt's name of it (`src/algorithms.ts`), where the table has it. */
  readonly algorithm?: string;
  /** As printed. For hwcrypt's own measurements the same as `algorithm`. */
  readonly algorithmText: string;
  /** As the tool counts them: for XTS both halves together, so `aes-xts 256` is AES-128. */
  readonly keyBits?: number;
  readonly operation?: Operation;
  /** hwcrypt's driver, or what stands for it elsewhere: `afalg`, `cryptodev`, `libcrypto`, `nettle` … */
  readonly driver?: string;
  /** The kernel driver that did the work, by its own name: `cbc-aes-eip93`. */
  readonly kernelDriver?: string;
  /** Words of the tool that hint at the implementation without being its name: `G`, `SSSE3`. */
  readonly driverHint?: string;
  /** The OpenSSL engine behind it. Absent where one was asked for and not loaded. */
  readonly engine?: string;
  /** The CPU, or cluster of CPUs, that this row ran on, where a tool measures more than one. */
  readonly cpu?: string;
  /** Bytes that one request handed over. */
  readonly requestBytes?: number;
  readonly requests?: number;
  /** By the wall clock. With `estimated`, the nominal duration. */
  readonly elapsedNs?: number;
  readonly userNs?: number;
  readonly systemNs?: number;
  readonly latency?: Latency;
  /** Interrupts that the engine raised meanwhile, where /proc/interrupts names it. */
  readonly interrupts?: number;
  readonly rounds?: Rounds;
  /** Processes, workers or requests in flight that worked at once; the figures are sums over them. Absent: one. */
  readonly parallel?: number;
  /** Counts rows of the same name in one run, from 1. Absent: the only one. */
  readonly repetition?: number;
  /** Bytes a second by elapsed time: the figure to compare. Absent where none can be known. */
  readonly bytesPerSecond?: number;
  /** What the tool's own figure says, taken by its words. `null` where it printed `inf` or `nan`. */
  readonly claimedBytesPerSecond?: number | null;
  /** What `claimedBytesPerSecond` was divided by. */
  readonly basis: Basis;
  readonly status: Status;
  /** `bytesPerSecond` rests on the nominal duration, not on a measured one. */
  readonly estimated: boolean;
  readonly doubts: readonly Doubt[];
  /** Where in the text, counted from 1. */
  readonly line?: number;
}

/** One key derivation. PBKDF2 has a rate; Argon2 has the parameters that were found to take `targetMs`. */
export interface KdfMeasurement {
  readonly kdf: 'pbkdf2' | 'argon2i' | 'argon2id' | 'argon2d';
  readonly algorithmText: string;
  /** PBKDF2's hash by hwcrypt's name, or as printed where the table lacks it. */
  readonly hash?: string;
  /** Length of the derived key. */
  readonly keyBits?: number;
  readonly iterationsPerSecond?: number;
  /** Argon2's time cost. */
  readonly iterations?: number;
  readonly memoryKiB?: number;
  readonly threads?: number;
  readonly targetMs?: number;
  readonly elapsedNs?: number;
  /** Of `iterationsPerSecond`, which is their median. */
  readonly rounds?: Rounds;
  readonly status: Status;
  readonly doubts: readonly Doubt[];
  readonly line?: number;
}

/** An OpenSSL engine that was asked for on the command line. */
export interface EngineUse {
  readonly requested: string;
  readonly loaded: 'yes' | 'no' | 'unconfirmed';
  /** Why not, in one line, where the error messages say. */
  readonly reason?: string;
}

/** What the whole process took, as `time` prints it. */
export interface ProcessTimes {
  readonly elapsedNs?: number;
  readonly userNs?: number;
  readonly systemNs?: number;
  /** (user + system) / elapsed as the tool rounded it; more than 100 on several CPUs. */
  readonly cpuPercent?: number;
}

/** What is known of a machine. Never its name. */
export interface MachineFacts {
  /** `MediaTek MT7621`, `Hardkernel ODROID-N2`. */
  readonly model?: string;
  readonly cpu?: string;
  readonly cpus?: number;
  /** As `uname -m` or a compiler's triplet has it: `aarch64`, `mipsel`. */
  readonly architecture?: string;
  /** Kernel release: `6.18.0`. */
  readonly kernel?: string;
  readonly os?: string;
  readonly memoryBytes?: number;
  /** CPU features as the tool prints them: `OPENSSL_ia32cap=0x…`. */
  readonly cpuFeatures?: string;
  /** The compiler's triplet, from `openssl speed`'s header. */
  readonly compiler?: string;
  /** One-minute load average before and after. */
  readonly loadBefore?: number;
  readonly loadAfter?: number;
}

/** A line that an importer saw and could not use. */
export interface SkippedLine {
  /** Counted from 1. */
  readonly line: number;
  /** One line with no trailing period. */
  readonly reason: string;
  /** The line itself, shortened, with secrets and control characters taken out. */
  readonly text: string;
}

/** What one invocation of a tool printed, or one configuration that was measured. */
export interface Run {
  /** What tells it from the others: a heading or the command line before it, a driver's name. */
  readonly label: string;
  /** The command line, where it is known. */
  readonly command?: string;
  readonly toolVersion?: string;
  readonly engine?: EngineUse;
  readonly processes?: number;
  readonly processTimes?: ProcessTimes;
  /** Facts that are this run's own, where a text holds several machines. */
  readonly machine?: MachineFacts;
  /** First and last line in the text, counted from 1. */
  readonly lines?: readonly [number, number];
  readonly measurements: readonly Measurement[];
  readonly kdfs: readonly KdfMeasurement[];
  /** Doubts about everything in this run. */
  readonly doubts: readonly Doubt[];
  readonly notes: readonly string[];
}

/** Everything that one tool printed into one text, or one session of hwcrypt measured. */
export interface ResultSet {
  readonly format: typeof RESULTS_FORMAT;
  readonly version: typeof RESULTS_VERSION;
  readonly tool: Tool;
  readonly toolVersion?: string;
  /** A file's name without its folders, `-`, or what the caller calls it. */
  readonly source: string;
  /** When it was measured, ISO 8601 in UTC, where known. */
  readonly measuredAt?: string;
  readonly machine: MachineFacts;
  readonly runs: readonly Run[];
  /** Lines that belong to this tool's output and could not be read, with the reason. */
  readonly skipped: readonly SkippedLine[];
  readonly notes: readonly string[];
}

/** The doubts that apply to a measurement: its own, and its run's. */
export function doubtsOf(run: Run, measurement: Measurement | KdfMeasurement): Doubt[] {
  const own = measurement.doubts;
  return [...own, ...run.doubts.filter(({ code }) => !own.some((doubt) => doubt.code === code))];
}

/** JSON Schema of a result file. Readers ignore properties that it does not name. */
export const RESULTS_SCHEMA: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'hwcrypt results',
  ...object(['format', 'version', 'tool', 'source', 'machine', 'runs', 'skipped', 'notes'], {
    format: { const: RESULTS_FORMAT },
    version: { const: RESULTS_VERSION },
    tool: oneOf(
      'hwcrypt',
      'openssl speed',
      'sbc-bench',
      'cryptsetup benchmark',
      'kcapi-speed',
      'qemu benchmark-crypto',
      'cryptodev speed',
    ),
    toolVersion: text,
    source: text,
    measuredAt: text,
    machine: ref('machine'),
    runs: list(ref('run')),
    skipped: list(object(['line', 'reason', 'text'], { line: count, reason: text, text })),
    notes: list(text),
  }),
  $defs: {
    status: oneOf('ok', 'failed', 'unavailable'),
    // The list of codes grows with the importers; a reader shows the words of one that it does not know.
    doubt: object(['code', 'text'], { code: text, text, correctedBytesPerSecond: amount }),
    machine: object([], {
      model: text,
      cpu: text,
      cpus: count,
      architecture: text,
      kernel: text,
      os: text,
      memoryBytes: count,
      cpuFeatures: text,
      compiler: text,
      loadBefore: amount,
      loadAfter: amount,
    }),
    run: object(['label', 'measurements', 'kdfs', 'doubts', 'notes'], {
      label: text,
      command: text,
      toolVersion: text,
      engine: object(['requested', 'loaded'], {
        requested: text,
        loaded: oneOf('yes', 'no', 'unconfirmed'),
        reason: text,
      }),
      processes: count,
      processTimes: object([], { elapsedNs: amount, userNs: amount, systemNs: amount, cpuPercent: amount }),
      machine: ref('machine'),
      lines: { ...list(count), minItems: 2, maxItems: 2 },
      measurements: list(ref('measurement')),
      kdfs: list(ref('kdf')),
      doubts: list(ref('doubt')),
      notes: list(text),
    }),
    measurement: object(['algorithmText', 'basis', 'status', 'estimated', 'doubts'], {
      algorithm: text,
      algorithmText: text,
      keyBits: count,
      operation: oneOf('encrypt', 'decrypt', 'digest', 'mac', 'random', 'cipher+mac'),
      driver: text,
      kernelDriver: text,
      driverHint: text,
      engine: text,
      cpu: text,
      requestBytes: count,
      requests: count,
      elapsedNs: amount,
      userNs: amount,
      systemNs: amount,
      latency: object(['p50Ns', 'p90Ns', 'p99Ns'], { p50Ns: amount, p90Ns: amount, p99Ns: amount }),
      interrupts: count,
      rounds: object(['count', 'spread'], { count, spread: amount }),
      parallel: count,
      repetition: count,
      bytesPerSecond: amount,
      claimedBytesPerSecond: { type: ['number', 'null'], minimum: 0 },
      basis: oneOf('elapsed', 'cpu', 'unknown'),
      status: ref('status'),
      estimated: { type: 'boolean' },
      doubts: list(ref('doubt')),
      line: count,
    }),
    kdf: object(['kdf', 'algorithmText', 'status', 'doubts'], {
      kdf: oneOf('pbkdf2', 'argon2i', 'argon2id', 'argon2d'),
      algorithmText: text,
      hash: text,
      keyBits: count,
      iterationsPerSecond: amount,
      iterations: count,
      memoryKiB: count,
      threads: count,
      targetMs: amount,
      elapsedNs: amount,
      rounds: object(['count', 'spread'], { count, spread: amount }),
      status: ref('status'),
      doubts: list(ref('doubt')),
      line: count,
    }),
  },
};
