/** Does `hwcrypt speed` say the same of OpenSSL as `openssl speed -elapsed` does? Two honest clocks over one library must agree. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median } from '#src/bench/engine/statistics.js';
import { importOne, readJson } from '#src/interop/index.js';
import { type Row, ratio, type Section } from './report.js';

const HWCRYPT = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const ROUNDS = 7;
const BYTES = 16_384;

const SUBJECTS: readonly (readonly string[])[] = [
  ['-evp', 'aes-128-cbc'],
  ['-evp', 'aes-128-cbc', '-decrypt'],
  ['-evp', 'aes-256-gcm', '-aead'],
  ['-evp', 'sha256'],
  ['-hmac', 'sha256'],
];

const COMMON = ['-elapsed', '-seconds', '1', '-bytes', String(BYTES)];

function output(file: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** MB/s by openssl speed. */
function theirs(subject: readonly string[]): number {
  const args = ['speed', ...COMMON, ...subject];
  const set = importOne(`$ openssl ${args.join(' ')}\n${output('openssl', args)}`);
  return (set.runs[0]?.measurements[0]?.bytesPerSecond ?? Number.NaN) / 1e6;
}

/** MB/s by hwcrypt speed, the median of its rounds. */
function ours(subject: readonly string[]): number {
  const args = [HWCRYPT, 'speed', ...COMMON, '--driver', 'libcrypto', '--json', ...subject];
  const [set] = readJson(output(process.execPath, args));
  return (set?.runs[0]?.measurements[0]?.bytesPerSecond ?? Number.NaN) / 1e6;
}

export function speeds(): Section {
  return {
    title: 'hwcrypt speed against openssl speed',
    command: 'npm run bench -- speed',
    how:
      `The driver \`libcrypto\` by \`hwcrypt speed\` and the installed OpenSSL by \`openssl speed -elapsed\`, requests of 16 KiB, in turn, one second each, ` +
      `${ROUNDS} rounds; the ratio is the median of the rounds’ ratios. Node's OpenSSL and the installed one are two builds of one version. ` +
      'Where a request takes a microsecond or two, what is missing is what a call from JavaScript costs.',
    columns: ['hwcrypt MB/s', 'openssl MB/s', 'ratio', 'range', 'wanted'],
    rows: SUBJECTS.map((subject): Row => {
      const own: number[] = [];
      const other: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        // Who is first changes, since a busy machine is seldom busy for one of them only.
        if (round % 2 === 0) own.push(ours(subject));
        other.push(theirs(subject));
        if (round % 2 === 1) own.push(ours(subject));
      }
      const ratios = own.map((value, i) => value / other[i]!);
      const middle = median(ratios);
      return {
        what: subject.join(' '),
        cells: [
          median(own).toFixed(0),
          median(other).toFixed(0),
          ratio(middle),
          `${ratio(Math.min(...ratios))}…${ratio(Math.max(...ratios))}`,
          '0.95x…1.05x',
        ],
        met: middle >= 0.95 && middle <= 1.05,
      };
    }),
  };
}
