/**
 * How fast an encrypted disk is, with the disk itself out of the way: reads and writes past the page cache through dm-crypt.
 *
 * A request is 1 MiB from one thread, one after another, as `dd bs=1M iflag=direct` makes them; dm-crypt cuts it into sectors, each a
 * request of its own to the cipher. So a measurement's `requestBytes` is the sector, and `requests` counts sectors.
 *
 * CPU time is not told: dm-crypt works in the kernel's threads, which are not this process's.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, writeSync } from 'node:fs';
import { freemem, loadavg } from 'node:os';
import { setImmediate as breathe } from 'node:timers/promises';

import { byCryptsetup } from '../../algorithms.js';
import type { Reason } from '../../errors.js';
import { DM_CONTROL } from '../../linux/device-mapper.js';
import { alignedBuffer } from '../../linux/direct-io.js';
import { readEngineInterrupts } from '../../linux/engine-interrupts.js';
import { ffiUnavailable } from '../../linux/ffi.js';
import { LOOP_CONTROL } from '../../linux/loop.js';
import { loadModule } from '../../linux/modules.js';
import { listAlgorithms } from '../../linux/netlink.js';
import { atLeast, readKernelVersion } from '../../linux/proc.js';
import { nowNs } from '../engine/clock.js';
import { machineFacts } from '../engine/machine.js';
import { NOISY_SPREAD } from '../engine/measure.js';
import { median, middleSpread, spread } from '../engine/statistics.js';
import {
  type Doubt,
  type Measurement,
  RESULTS_FORMAT,
  RESULTS_VERSION,
  type ResultSet,
  type Run,
} from '../model.js';
import { type BoundDriver, boundDriver, type PassedOver, passedOver } from './bound.js';
import { openDisk, type TemporaryDisk } from './mapping.js';
import { type DiskCipher, encryptedSector } from './specification.js';

const IO_BYTES = 1 << 20;
const MOST_BYTES = 64 << 20;
const LEAST_BYTES = 4 << 20;
const ROUNDS = 5;
/** How long Ctrl-C may go unheard. */
const SLICE_NS = 2e8;

export interface DiskPlan {
  readonly ciphers: readonly DiskCipher[];
  readonly sectors: readonly number[];
  /** For each direction of each cipher at each sector size. */
  readonly seconds: number;
  readonly toolVersion?: string;
  readonly signal?: AbortSignal;
}

export interface DiskPoint {
  readonly cipher?: DiskCipher;
  readonly sectorBytes?: number;
}

/** Both directions of a cipher at a sector size. */
export interface DiskRow {
  readonly cipher: DiskCipher;
  readonly sectorBytes: number;
  readonly write?: Measurement;
  readonly read?: Measurement;
  readonly bound?: BoundDriver;
  /** Why there are no figures. */
  readonly problem?: string;
}

export interface DiskHooks {
  begin?(point: DiskPoint, done: number, total: number): void;
  end?(row: DiskRow): void;
}

export interface DiskResult {
  readonly results: ResultSet;
  readonly rows: readonly DiskRow[];
  /** Of the memory without encryption, bytes a second. */
  readonly plain?: { readonly write: number; readonly read: number };
  readonly passedOver: readonly PassedOver[];
  /** What earlier runs had left. */
  readonly cleaned: readonly string[];
}

/** Why an encrypted disk cannot be measured here; undefined where it can. Loads the modules that are missing, as root's tools do. */
export function diskProblem(): Reason | undefined {
  const ffi = ffiUnavailable();
  if (ffi) return ffi;
  if (process.getuid?.() !== 0) {
    return {
      code: 'SYSTEM_ERROR',
      message: 'only root may make a mapping of device-mapper',
      cure: 'run it with sudo',
    };
  }
  for (const [path, module, option] of [
    [DM_CONTROL, 'dm_mod', 'CONFIG_BLK_DEV_DM'],
    [LOOP_CONTROL, 'loop', 'CONFIG_BLK_DEV_LOOP'],
  ] as const) {
    if (!existsSync(path)) loadModule(module);
    try {
      // A node may be there with nothing behind it, which only opening tells.
      closeSync(openSync(path, 'r+'));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const hollow = code === 'ENODEV' || code === 'ENXIO';
      const absent = code === 'ENOENT' || hollow;
      return {
        code: absent ? 'DEVICE_GONE' : 'SYSTEM_ERROR',
        message: hollow
          ? `the kernel has nothing behind ${path} (${code})`
          : absent
            ? `there is no ${path} here`
            : `${path} may not be opened`,
        cure: absent
          ? `modprobe ${module}; a kernel without ${option} has none, and a container shows it only where it was told to`
          : 'run it with sudo, outside a container',
        errno: code ?? '',
      };
    }
  }
  return undefined;
}

/**
 * Measures every cipher at every sector size. After `signal` aborts, what is finished is returned and a note says so.
 * The mapping and the loop device are gone when it returns or throws.
 * @throws Error with the errno's name as `code` where there can be no mapping at all
 */
export async function measureDisk(plan: DiskPlan, hooks: DiskHooks = {}): Promise<DiskResult> {
  const machine = machineFacts();
  const measuredAt = new Date().toISOString();
  const rows: DiskRow[] = [];
  const notes: string[] = [];
  const left = new Map<string, PassedOver>();
  const total = plan.ciphers.length * plan.sectors.length;
  const refuses = atLeast(readKernelVersion(), 5, 9);
  let plain: DiskResult['plain'];
  const disk = openDisk(diskBytes());
  try {
    hooks.begin?.({}, 0, total);
    touch(disk);
    plain = await plainRates(disk, plan);
    for (const cipher of plan.ciphers) {
      for (const sectorBytes of plan.sectors) {
        if (plan.signal?.aborted) break;
        hooks.begin?.({ cipher, sectorBytes }, rows.length, total);
        const row = await measureRow(disk, cipher, sectorBytes, plan);
        if (row === undefined) break;
        rows.push(row);
        hooks.end?.(row);
        for (const one of passedOver(listAlgorithms().algorithms, cipher.kernelNames, row.bound, refuses))
          left.set(one.kernelDriver, one);
      }
    }
  } finally {
    disk.close();
  }
  for (const { problem } of rows) if (problem !== undefined && !notes.includes(problem)) notes.push(problem);
  notes.push(...[...left.values()].map(({ text }) => text));
  if (plain) {
    const mib = (rate: number): string => `${(rate / 2 ** 20).toFixed(1)} MiB/s`;
    notes.push(`the memory without encryption: write ${mib(plain.write)}, read ${mib(plain.read)}`);
  }
  const run: Run = {
    label: 'dm-crypt over memory',
    measurements: rows.flatMap(({ write, read }) => [...(write ? [write] : []), ...(read ? [read] : [])]),
    kdfs: [],
    doubts: [],
    notes,
  };
  const interrupted = plan.signal?.aborted && rows.length < total;
  return {
    results: {
      format: RESULTS_FORMAT,
      version: RESULTS_VERSION,
      tool: 'hwcrypt',
      ...(plan.toolVersion === undefined ? {} : { toolVersion: plan.toolVersion }),
      source: 'this machine',
      measuredAt,
      machine: { ...machine, loadAfter: loadavg()[0] as number },
      runs: [run],
      skipped: [],
      notes: interrupted ? [`interrupted after ${rows.length} of ${total} rows`] : [],
    },
    rows,
    ...(plain ? { plain } : {}),
    passedOver: [...left.values()],
    cleaned: disk.cleaned,
  };
}

/** An eighth of the free memory at most, since a router has little. */
function diskBytes(): number {
  const room = Math.floor(freemem() / 8 / IO_BYTES) * IO_BYTES;
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, room));
}

type Transfer = 'read' | 'write';

/** Goes through the device from its beginning to its end and again, a request at a time. */
class Transfers {
  readonly #request: () => void;

  constructor(fd: number, kind: Transfer, bytes: number, buffer: Buffer) {
    let at = 0;
    this.#request = () => {
      const { length } = buffer;
      const done =
        kind === 'read' ? readSync(fd, buffer, 0, length, at) : writeSync(fd, buffer, 0, length, at);
      if (done !== length) throw new Error(`${kind}: ${done} of ${length} bytes`);
      at = at + length >= bytes ? 0 : at + length;
    };
  }

  /**
   * For at least that long; undefined where it was interrupted. A request lasts so long that reading the clock for each costs nothing.
   * Signals are heard between slices, whose time alone counts.
   */
  async round(
    ns: number,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly requests: number; readonly elapsedNs: number } | undefined> {
    for (let requests = 0, elapsedNs = 0; ; ) {
      const start = nowNs();
      let sliceNs: number;
      do {
        this.#request();
        requests++;
        sliceNs = nowNs() - start;
      } while (sliceNs < SLICE_NS && elapsedNs + sliceNs < ns);
      elapsedNs += sliceNs;
      await breathe();
      if (signal?.aborted) return undefined;
      if (elapsedNs >= ns) return { requests, elapsedNs };
    }
  }
}

interface Rounds {
  readonly rates: number[];
  requests: number;
  elapsedNs: number;
  interrupts: number | undefined;
}

/** Rounds of writing and reading in turn; undefined where they were interrupted. */
async function alternate(
  fd: number,
  bytes: number,
  seconds: number,
  signal?: AbortSignal,
): Promise<Record<Transfer, Rounds> | undefined> {
  const buffer = alignedBuffer(IO_BYTES);
  randomBytes(4096).copy(buffer);
  const make = (kind: Transfer) => ({
    transfers: new Transfers(fd, kind, bytes, buffer),
    rounds: { rates: [], requests: 0, elapsedNs: 0, interrupts: 0 } as Rounds,
  });
  const sides = [make('write'), make('read')];
  const roundNs = (seconds * 1e9) / ROUNDS;
  for (const { transfers } of sides) await transfers.round(roundNs / 2, signal);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { transfers, rounds } of sides) {
      if (signal?.aborted) return undefined;
      const before = readEngineInterrupts();
      const done = await transfers.round(roundNs, signal);
      if (done === undefined) return undefined;
      const { requests, elapsedNs } = done;
      const after = readEngineInterrupts();
      rounds.rates.push((requests * IO_BYTES * 1e9) / elapsedNs);
      rounds.requests += requests;
      rounds.elapsedNs += elapsedNs;
      rounds.interrupts =
        before === undefined || after === undefined || rounds.interrupts === undefined
          ? undefined
          : rounds.interrupts + after - before;
    }
  }
  return { write: sides[0]!.rounds, read: sides[1]!.rounds };
}

/** Memory costs most at its first use, which is not what is measured. */
function touch({ backingFd, bytes }: TemporaryDisk): void {
  const buffer = alignedBuffer(IO_BYTES);
  for (let at = 0; at < bytes; at += IO_BYTES) writeSync(backingFd, buffer, 0, IO_BYTES, at);
}

async function plainRates(disk: TemporaryDisk, plan: DiskPlan): Promise<DiskResult['plain']> {
  const found = await alternate(disk.backingFd, disk.bytes, plan.seconds / 2, plan.signal);
  return found && { write: median(found.write.rates), read: median(found.read.rates) };
}

async function measureRow(
  disk: TemporaryDisk,
  cipher: DiskCipher,
  sectorBytes: number,
  plan: DiskPlan,
): Promise<DiskRow | undefined> {
  const key = randomBytes(cipher.keyBits / 8);
  const before = listAlgorithms().algorithms;
  try {
    const mapping = disk.map(cipher, key, sectorBytes);
    try {
      const bound = boundDriver(before, listAlgorithms().algorithms, cipher.kernelNames);
      const common = { cipher, sectorBytes, ...(bound ? { bound } : {}) };
      const isRight = (): boolean => check(disk, mapping.fd, cipher, key, sectorBytes);
      if (!isRight()) return { ...common, ...wrongRow(common, 'before') };
      const found = await alternate(mapping.fd, disk.bytes, plan.seconds, plan.signal);
      if (found === undefined) return undefined;
      if (!isRight()) return { ...common, ...wrongRow(common, 'after') };
      return {
        ...common,
        write: measurement(common, 'encrypt', found.write),
        read: measurement(common, 'decrypt', found.read),
      };
    } finally {
      mapping.close();
    }
  } catch (error) {
    const common = { cipher, sectorBytes };
    return { ...common, problem: inWords(error, disk, cipher, sectorBytes), ...missingRow(common) };
  } finally {
    key.fill(0);
  }
}

/** What was written reads back the same, and lies encrypted in the memory as dm-crypt's format wants it. */
function check(
  disk: TemporaryDisk,
  fd: number,
  cipher: DiskCipher,
  key: Uint8Array,
  sectorBytes: number,
): boolean {
  const bytes = 2 * sectorBytes;
  const at = disk.bytes - bytes;
  const text = alignedBuffer(bytes);
  randomBytes(bytes).copy(text);
  const back = alignedBuffer(bytes);
  const stored = alignedBuffer(bytes);
  writeSync(fd, text, 0, bytes, at);
  readSync(fd, back, 0, bytes, at);
  readSync(disk.backingFd, stored, 0, bytes, at);
  if (!back.equals(text) || stored.equals(text)) return false;
  return [0, sectorBytes].every((offset) => {
    const data = text.subarray(offset, offset + sectorBytes);
    const expected = encryptedSector(cipher, key, (at + offset) / 512, data);
    return expected === undefined || expected.equals(stored.subarray(offset, offset + sectorBytes));
  });
}

type Common = Pick<DiskRow, 'cipher' | 'sectorBytes' | 'bound'>;

function described({ cipher, sectorBytes, bound }: Common, operation: 'encrypt' | 'decrypt') {
  const algorithm = byCryptsetup(cipher.specification, cipher.keyBits);
  return {
    ...(algorithm ? { algorithm: algorithm.name } : {}),
    algorithmText: cipher.specification,
    keyBits: cipher.keyBits,
    operation,
    driver: 'dm-crypt',
    ...(bound ? { kernelDriver: bound.kernelDriver } : {}),
    requestBytes: sectorBytes,
    basis: 'elapsed' as const,
    estimated: false,
  };
}

function measurement(common: Common, operation: 'encrypt' | 'decrypt', rounds: Rounds): Measurement {
  const middle = middleSpread(rounds.rates);
  const doubts: Doubt[] =
    middle > NOISY_SPREAD
      ? [{ code: 'NOISY', text: `the middle half of the rounds lies ${Math.round(middle * 100)} % apart` }]
      : [];
  return {
    ...described(common, operation),
    requests: (rounds.requests * IO_BYTES) / common.sectorBytes,
    elapsedNs: Math.round(rounds.elapsedNs),
    ...(rounds.interrupts === undefined ? {} : { interrupts: rounds.interrupts }),
    rounds: { count: rounds.rates.length, spread: Math.round(spread(rounds.rates) * 1e4) / 1e4 },
    bytesPerSecond: median(rounds.rates),
    status: 'ok',
    doubts,
  };
}

function wrongRow(common: Common, when: 'before' | 'after'): Pick<DiskRow, 'write' | 'read' | 'problem'> {
  const text = `what dm-crypt wrote or read ${when} the measurement was wrong`;
  const failed = (operation: 'encrypt' | 'decrypt'): Measurement => ({
    ...described(common, operation),
    status: 'failed',
    doubts: [{ code: 'WRONG_OUTPUT', text }],
  });
  return { write: failed('encrypt'), read: failed('decrypt'), problem: text };
}

function missingRow(common: Common): Pick<DiskRow, 'write' | 'read'> {
  const none = (operation: 'encrypt' | 'decrypt'): Measurement => ({
    ...described(common, operation),
    status: 'unavailable',
    doubts: [],
  });
  return { write: none('encrypt'), read: none('decrypt') };
}

/** dm-crypt says why only in the kernel's log; what can be told from here is told. */
function inWords(error: unknown, disk: TemporaryDisk, cipher: DiskCipher, sectorBytes: number): string {
  const { message, code } = error as NodeJS.ErrnoException;
  const version = disk.targets().get('crypt');
  const what = `${cipher.specification}, ${cipher.keyBits} bits`;
  if (version === undefined && code === 'EINVAL')
    return 'this kernel has no dm-crypt (modprobe dm_crypt; CONFIG_DM_CRYPT)';
  const [major = 0, minor = 0] = version ?? [];
  if (sectorBytes !== 512 && major === 1 && minor < 17)
    return `dm-crypt ${major}.${minor} knows only sectors of 512 bytes (Linux 4.12 brought larger ones)`;
  if (code === 'ENOENT') return `${what}: this kernel has no such cipher`;
  if (code === 'EINVAL') return `${what}: dm-crypt does not take it (dmesg says why)`;
  return `${what}: ${message}`;
}
