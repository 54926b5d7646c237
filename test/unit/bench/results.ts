/** Result sets for tests: made by hand, and texts with the numbers of the four field reports in as few lines as the importers take. */
import type { Measurement, ResultSet, Run } from '#src/bench/model.js';

export function row(
  requestBytes: number | undefined,
  bytesPerSecond: number | undefined,
  more: Partial<Measurement> = {},
): Measurement {
  return {
    algorithm: 'aes-128-cbc',
    algorithmText: 'aes-128-cbc',
    operation: 'encrypt',
    ...(requestBytes === undefined ? {} : { requestBytes }),
    ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
    basis: 'elapsed',
    status: 'ok',
    estimated: false,
    doubts: [],
    ...more,
  };
}

export function run(measurements: readonly Measurement[], more: Partial<Run> = {}): Run {
  return { label: 'run', measurements, kdfs: [], doubts: [], notes: [], ...more };
}

export function set(source: string, runs: readonly Run[], more: Partial<ResultSet> = {}): ResultSet {
  return {
    format: 'hwcrypt-results',
    version: 1,
    tool: 'hwcrypt',
    source,
    machine: {},
    runs,
    skipped: [],
    notes: [],
    ...more,
  };
}

/** A set of one run of one algorithm: rates by size. */
export function curve(
  source: string,
  rates: Readonly<Record<number, number>>,
  more: Partial<Measurement> = {},
): ResultSet {
  return set(source, [run(Object.entries(rates).map(([size, rate]) => row(Number(size), rate, more)))]);
}

/** `openssl speed`'s lines of counts. */
function counts(
  command: string,
  algorithm: string,
  lines: readonly (readonly [number, number, string])[],
): string {
  return [
    `$ openssl speed ${command}`,
    ...(command.includes('-engine') ? ['engine "cryptodev" set.'] : []),
    ...(command.includes('-elapsed')
      ? ['You have chosen to measure elapsed time instead of user CPU time.']
      : []),
    ...lines.map(
      ([size, count, seconds]) =>
        `Doing ${algorithm} for 3s on ${size} size blocks: ${count} ${algorithm}'s in ${seconds}s`,
    ),
    '',
  ].join('\n');
}

const TWO_SIZES = [16, 64, 8192] as const;
const elapsed = (...numbers: [number, number, number]): (readonly [number, number, string])[] =>
  numbers.map((count, i) => [TWO_SIZES[i]!, count, '3.00'] as const);

/** AES-128-CBC on an MT7688, without -elapsed: the seconds are CPU time. */
export const MT7688 = {
  software: counts('-evp aes-128-cbc', 'aes-128-cbc', [
    [16, 1_242_779, '2.96'],
    [64, 359_528, '2.95'],
    [256, 93_663, '2.95'],
    [8192, 2953, '2.96'],
  ]),
  engine: counts('-evp aes-128-cbc', 'aes-128-cbc', [
    [16, 276_231, '0.65'],
    [64, 270_678, '0.45'],
    [256, 243_448, '0.29'],
    [8192, 45_879, '0.11'],
  ]),
};

/** AES-256 on an MT7628 with -elapsed. */
export const MT7628 = {
  ecb: {
    software: counts('-evp aes-256-ecb -elapsed', 'aes-256-ecb', elapsed(1_160_640, 309_012, 2481)),
    engine: counts(
      '-evp aes-256-ecb -engine cryptodev -elapsed',
      'aes-256-ecb',
      elapsed(386_312, 355_617, 40_173),
    ),
  },
  cbc: {
    software: counts('-evp aes-256-cbc -elapsed', 'aes-256-cbc', elapsed(996_344, 271_735, 2188)),
    engine: counts(
      '-evp aes-256-cbc -engine cryptodev -elapsed',
      'aes-256-cbc',
      elapsed(376_354, 348_704, 39_748),
    ),
  },
};

function disk(rows: readonly (readonly [string, number, number, number])[]): string {
  return `#     Algorithm |       Key |      Encryption |      Decryption\n${rows
    .map(
      ([name, bits, encrypt, decrypt]) =>
        `${name.padStart(15)}  ${String(bits).padStart(9)}b  ${encrypt.toFixed(1).padStart(10)} MiB/s  ${decrypt.toFixed(1).padStart(10)} MiB/s`,
    )
    .join('\n')}\n`;
}

/** `cryptsetup benchmark` on a GnuBee before and after its engine's driver was there. */
export const GNUBEE = {
  before: disk([
    ['aes-cbc', 128, 11.3, 11.6],
    ['serpent-cbc', 256, 9.2, 9.5],
    ['serpent-xts', 256, 8.1, 9.5],
    ['twofish-xts', 256, 12.9, 12.9],
    ['aes-xts', 512, 9.1, 9.1],
  ]),
  after: disk([
    ['aes-cbc', 128, 39.3, 39.6],
    ['serpent-cbc', 256, 9.4, 9.5],
    ['serpent-xts', 256, 6.5, 9.5],
    ['twofish-xts', 256, 8.6, 12.7],
    ['aes-xts', 512, 23.3, 23.2],
  ]),
};

function tables(
  list: readonly (readonly [string, string, readonly (readonly [number, number, number])[]])[],
): string {
  return list
    .map(
      ([title, driver, rows]) =>
        `*${title}*\nchunk_size(bytes)   MB/sec(afalg:${driver})  MB/sec(nettle)\n${rows
          .map(([size, kernel, library]) => `${size}   ${kernel.toFixed(2)}   ${library.toFixed(2)}`)
          .join('\n')}\n`,
    )
    .join('\n');
}

/** QEMU's benchmarks over AF_ALG and nettle. */
export const QEMU = tables([
  [
    'sha256',
    'sha256-ssse3',
    [
      [512, 93.03, 185.87],
      [1024, 146.32, 201.78],
      [2048, 213.32, 210.93],
      [4096, 275.48, 215.26],
      [65_536, 375.79, 219.99],
    ],
  ],
  [
    'hmac(sha256)',
    'sha256-ssse3',
    [
      [512, 71.26, 165.55],
      [1024, 117.43, 189.15],
      [2048, 180.96, 203.24],
      [4096, 247.6, 211.38],
      [65_536, 377.92, 220.24],
    ],
  ],
  [
    'cbc(aes128)',
    'cbc-aes-aesni',
    [
      [512, 371.76, 188.41],
      [4096, 939.15, 192.4],
      [65_536, 1102.38, 190.4],
    ],
  ],
]);
