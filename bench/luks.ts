/** Whole disk images: `hwcrypt luks open` against `qemu-img convert` from its luks driver, in turn. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '#src/bench/engine/statistics.js';
import { fill, HWCRYPT, hashOf, type Run, roomyFolder, run } from './enc.js';
import { type Row, ratio, type Section } from './report.js';

const MiB = 2 ** 20;
const ROUNDS = 7;
const PASS = ['-pass', 'pass:bench'];
const SECRET = ['--object', 'secret,id=key,data=bench'];

function must(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
}

const TITLE = {
  title: 'A disk image of 1 GiB in memory',
  command: 'npm run bench -- luks',
  how: '`hwcrypt luks open` with all cores, and `qemu-img convert` from its luks driver, which knows LUKS1 and its 512-byte sectors only; with 16 requests in flight in any order (`-m 16 -W`), which is its quickest; whole processes in turn, 7 rounds, from tmpfs to a new file in tmpfs, so that neither waits for a disk or finds more in a cache; the outputs are compared first. Key derivation is in the times and as short as either makes it: qemu-img’s a millisecond, hwcrypt’s a tenth of a second, of which the digest of the volume key is most. The last row is mostly start-up, node’s own in it. Memory is the peak of hwcrypt’s process.',
  columns: ['hwcrypt', 'qemu-img', 'times as fast', 'memory', 'wanted'],
};

export async function images(): Promise<Section> {
  if (spawnSync('qemu-img', ['--version']).error) {
    return { ...TITLE, rows: [{ what: 'qemu-img is not installed (package qemu-utils)', cells: [] }] };
  }
  const size = 1024 * MiB;
  const folder = roomyFolder(6.2 * size, true);
  try {
    const path = (name: string): string => join(folder, name);
    const [ours, theirs] = [path('ours'), path('theirs')];
    const hwcrypt = (...args: string[]): void => must(process.execPath, [HWCRYPT, 'luks', ...args]);
    /** The same plaintext in a LUKS2 image of hwcrypt's and in a LUKS1 image of qemu-img's. */
    const images = async (bytes: number): Promise<{ large: string; small: string; want: string }> => {
      const [input, large, small] = ['in', 'luks2', 'luks1'].map((name) => path(`${name}-${bytes}`)) as [
        string,
        string,
        string,
      ];
      fill(input, bytes);
      // Opened at once: the payload is what is measured.
      const cheap = ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'];
      hwcrypt('format', large, '--size', `${bytes}`, ...cheap, ...PASS);
      hwcrypt('write', large, '-in', input, ...PASS);
      const how = 'key-secret=key,iter-time=1,cipher-alg=aes-256,cipher-mode=xts,ivgen-alg=plain64';
      must('qemu-img', ['convert', ...SECRET, '-f', 'raw', '-O', 'luks', '-o', how, input, small]);
      return { large, small, want: await hashOf(input) };
    };
    const whole = await images(size);
    const little = await images(8 * MiB);
    const rows: Row[] = [];
    for (const [what, { small, want }, image, least] of [
      ['aes-256-xts, sectors of 4096 bytes (LUKS2)', whole, whole.large, 0.9],
      ['aes-256-xts, sectors of 512 bytes (LUKS1)', whole, whole.small, 0.9],
      ['8 MiB, sectors of 4096 bytes: start-up', little, little.large, undefined],
    ] as const) {
      const source = `driver=luks,file.filename=${small},key-secret=key`;
      // As many requests at once as it takes, and in any order: its quickest.
      const convert = ['convert', '-W', '-m', '16', ...SECRET, '--image-opts', source, '-O', 'raw', theirs];
      const fresh = (command: string, out: string, ...args: string[]): Promise<Run> => {
        rmSync(out, { force: true });
        return run(command, args);
      };
      const own = (): Promise<Run> =>
        fresh(process.execPath, ours, HWCRYPT, 'luks', 'open', image, '-o', ours, ...PASS);
      const peer = (): Promise<Run> => fresh('qemu-img', theirs, ...convert);
      await own();
      await peer();
      if ((await hashOf(ours)) !== want || (await hashOf(theirs)) !== want)
        throw new Error(`${what}: the files differ`);
      const a: Run[] = [];
      const b: Run[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const turn = [async () => a.push(await own()), async () => b.push(await peer())];
        for (const one of round % 2 === 0 ? turn : turn.reverse()) await one();
      }
      const times = median(a.map((one, i) => b[i]!.seconds / one.seconds));
      const peak = Math.max(...a.map(({ peakBytes }) => peakBytes));
      rows.push({
        what,
        cells: [
          `${median(a.map(({ seconds }) => seconds)).toFixed(2)} s`,
          `${median(b.map(({ seconds }) => seconds)).toFixed(2)} s`,
          ratio(times),
          `${(peak / MiB).toFixed(0)} MiB`,
          least === undefined ? '' : `≥ ${least}x, < 250 MB`,
        ],
        ...(least === undefined ? {} : { met: times >= least && peak < 250e6 }),
      });
    }
    return { ...TITLE, rows };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
