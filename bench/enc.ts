/** Whole commands on whole files: `hwcrypt enc` against `openssl enc`, in turn. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from '#src/bench/engine/statistics.js';
import { ratio, type Section } from './report.js';

export const HWCRYPT = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const KEY = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';
const IV = 'f0e0d0c0b0a090807060504030201000';

export interface Run {
  readonly seconds: number;
  /** Peak resident memory, as far as it was seen (the kernel's own high-water mark, read every 10 ms). */
  readonly peakBytes: number;
}

export function run(command: string, args: readonly string[]): Promise<Run> {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let peakBytes = 0;
    let complaint = '';
    child.stderr.on('data', (data: Buffer) => {
      complaint += data.toString();
    });
    const watch = setInterval(() => {
      try {
        const mark = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
        if (mark) peakBytes = Math.max(peakBytes, Number(mark[1]) * 1024);
      } catch {
        // It has ended between two looks.
      }
    }, 10);
    child.on('error', reject);
    child.on('close', (status) => {
      clearInterval(watch);
      const seconds = Number(process.hrtime.bigint() - start) / 1e9;
      if (status === 0) resolve({ seconds, peakBytes });
      else reject(new Error(`${command} ${args[1]} ended with ${status}: ${complaint}`));
    });
  });
}

export function fill(path: string, bytes: number): void {
  // Not all zeros, and not slow to make: a random block again and again.
  const block = randomBytes(2 ** 20);
  const fd = openSync(path, 'w', 0o600);
  for (let at = 0; at < bytes; at += block.length) {
    block.writeUInt32LE(at / block.length, 0);
    writeSync(fd, block, 0, Math.min(block.length, bytes - at));
  }
  closeSync(fd);
}

export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 2 ** 20 })) hash.update(piece as Buffer);
  return hash.digest('hex');
}

function keyArguments(cipher: string): string[] {
  const bits = Number(/-(\d{3})-/.exec(cipher)?.[1]);
  return [`-${cipher}`, '-K', KEY.slice(0, bits / 4), '-iv', IV];
}

/** A folder in memory if there is one with that much room, so that no disk is measured. */
export function roomyFolder(bytes: number, memory: boolean): string {
  for (const place of memory ? ['/dev/shm', tmpdir()] : [tmpdir()]) {
    if (!existsSync(place)) continue;
    const { bavail, bsize } = statfsSync(place);
    if (bavail * bsize > bytes) return mkdtempSync(join(place, 'hwcrypt-bench-'));
  }
  throw new Error(`no folder with ${bytes} bytes of room`);
}

const MiB = 2 ** 20;

export async function files(): Promise<Section> {
  const size = 1024 * MiB;
  const folder = roomyFolder(3.5 * size, true);
  try {
    const input = join(folder, 'in');
    const ours = join(folder, 'ours');
    const theirs = join(folder, 'theirs');
    fill(input, size);
    const rows = [];
    for (const [cipher, decrypt, least] of [
      ['aes-128-cbc', false, 1.5],
      ['aes-256-ctr', false, 1.5],
      ['aes-128-ecb', false, 1.5],
      ['aes-256-cbc', false, undefined],
      ['aes-128-cbc', true, 1.5],
    ] as const) {
      const source = decrypt ? join(folder, 'source') : input;
      if (decrypt) spawnSync('openssl', ['enc', ...keyArguments(cipher), '-in', input, '-out', source]);
      const direction = decrypt ? ['-d'] : [];
      const args = (out: string): string[] => [
        'enc',
        ...direction,
        ...keyArguments(cipher),
        '-in',
        source,
        '-out',
        out,
      ];
      await run(process.execPath, [HWCRYPT, ...args(ours)]);
      await run('openssl', args(theirs));
      if ((await hashOf(ours)) !== (await hashOf(theirs))) throw new Error(`${cipher}: the files differ`);
      const a: Run[] = [];
      const b: Run[] = [];
      // Each makes its file anew: hwcrypt keeps a file that is there until the new one is whole, openssl empties it first, and
      // then it would be the memory of a second GiB that is measured.
      const fresh = (command: string, out: string, ...first: string[]): Promise<Run> => {
        rmSync(out, { force: true });
        return run(command, [...first, ...args(out)]);
      };
      for (let round = 0; round < 7; round++) {
        const turn = [
          async () => a.push(await fresh(process.execPath, ours, HWCRYPT)),
          async () => b.push(await fresh('openssl', theirs)),
        ];
        for (const one of round % 2 === 0 ? turn : turn.reverse()) await one();
      }
      const times = median(a.map((one, i) => b[i]!.seconds / one.seconds));
      const peak = Math.max(...a.map(({ peakBytes }) => peakBytes)) / MiB;
      rows.push({
        what: `enc ${decrypt ? '-d ' : ''}-${cipher}`,
        cells: [
          `${median(a.map(({ seconds }) => seconds)).toFixed(2)} s`,
          `${median(b.map(({ seconds }) => seconds)).toFixed(2)} s`,
          ratio(times),
          `${peak.toFixed(0)} MiB`,
          least === undefined ? '< 150 MB' : `≥ ${least}x, < 150 MB`,
        ],
        met: (least === undefined || times >= least) && peak * MiB < 150e6,
      });
      if (decrypt) rmSync(source);
    }
    return {
      title: 'A file of 1 GiB in memory',
      command: 'npm run bench -- enc',
      how: '`hwcrypt enc` and `openssl enc`, whole processes in turn, 7 rounds, from tmpfs to a new file in tmpfs; the outputs are compared first. Memory is the peak of hwcrypt’s process.',
      columns: ['hwcrypt', 'openssl', 'times as fast', 'memory', 'wanted'],
      rows,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** 5 GiB: past every 32-bit length. Once, since it takes a while. */
export async function large(): Promise<Section> {
  const size = 5 * 1024 * MiB + 1;
  const folder = roomyFolder(3.2 * size, false);
  try {
    const input = join(folder, 'in');
    const ours = join(folder, 'ours');
    const back = join(folder, 'back');
    fill(input, size);
    const want = await hashOf(input);
    const rows = [];
    for (const cipher of ['aes-256-cbc']) {
      const keyed = keyArguments(cipher);
      const there = await run(process.execPath, [HWCRYPT, 'enc', ...keyed, '-in', input, '-out', ours]);
      const reference = spawn('openssl', ['enc', ...keyed, '-in', input], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const hash = createHash('sha256');
      for await (const piece of reference.stdout) hash.update(piece as Buffer);
      const equal = hash.digest('hex') === (await hashOf(ours));
      const again = await run(process.execPath, [HWCRYPT, 'enc', '-d', ...keyed, '-in', ours, '-out', back]);
      const returned = (await hashOf(back)) === want;
      rmSync(back);
      rows.push({
        what: `enc -${cipher}, ${size} bytes`,
        cells: [
          `${there.seconds.toFixed(1)} s`,
          `${again.seconds.toFixed(1)} s`,
          equal ? 'equal to openssl enc' : 'DIFFERS from openssl enc',
          returned ? 'comes back whole' : 'COMES BACK CHANGED',
          `${(Math.max(there.peakBytes, again.peakBytes) / MiB).toFixed(0)} MiB`,
        ],
        met: equal && returned && Math.max(there.peakBytes, again.peakBytes) < 150e6,
      });
    }
    return {
      title: 'A file of 5 GiB',
      command: 'npm run bench -- large',
      how: 'Encrypted, compared with what `openssl enc` makes of it (by SHA-256), decrypted, compared with the original. From disk to disk, so the times are the disk’s.',
      columns: ['encrypt', 'decrypt', 'result', 'round trip', 'memory'],
      rows,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
