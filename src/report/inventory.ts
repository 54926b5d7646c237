/**
 * What this machine has: drivers, which algorithms each can do, and what the kernel has registered. As data and as text.
 *
 * Room `report`.
 */
import { type Algorithm, algorithms, byKernelName, type Kind, type Status } from '../algorithms.js';
import type { DriverName } from '../drivers/driver.js';
import { judgeHardware } from '../drivers/hardware.js';
import { allDrivers } from '../drivers/registry.js';
import { describeReason, type Reason } from '../errors.js';
import { listAlgorithms } from '../linux/netlink.js';
import { readKernelVersion, readModuleIndex } from '../linux/proc.js';
import type { QuarantineRecord } from '../routing/profile.js';
import { table } from './table.js';
import { wrap } from './text.js';

export interface DriverEntry {
  readonly name: DriverName;
  readonly available: boolean;
  readonly version?: string;
  readonly notes?: readonly string[];
  readonly reason?: Reason;
}

/** What one driver says of one algorithm. */
export interface SupportEntry {
  readonly supported: boolean;
  /** Who would do the work. */
  readonly implementation?: string;
  readonly hardware?: 'yes' | 'no' | 'unknown';
  readonly evidence?: readonly string[];
  readonly reason?: Reason;
}

export interface AlgorithmEntry {
  readonly name: string;
  readonly kind: Kind;
  readonly status: Status;
  readonly statusNote?: string;
  readonly drivers: Readonly<Partial<Record<DriverName, SupportEntry>>>;
}

export interface KernelEntry {
  /** `cra_name`: `cbc(aes)`. */
  readonly algorithm: string;
  /** `cra_driver_name`: `cbc-aes-aesni`. */
  readonly kernelDriver: string;
  readonly module: string;
  readonly type: string;
  readonly priority: number;
  /** Is this what the algorithm's name gets: the first by priority? */
  readonly chosen: boolean;
  readonly internal: boolean;
  readonly selftest?: string;
  readonly hardware: 'yes' | 'no' | 'unknown';
  readonly engine?: string;
  readonly evidence: readonly string[];
  /** hwcrypt's names of it. */
  readonly names: readonly string[];
}

export interface KernelInventory {
  readonly release?: string;
  readonly source: 'netlink' | 'proc' | 'none';
  readonly reason?: Reason;
  readonly implementations: readonly KernelEntry[];
}

export function driverInventory(): DriverEntry[] {
  return allDrivers().map((driver): DriverEntry => {
    const probe = driver.probe();
    return probe.available
      ? { name: driver.name, available: true, version: probe.version, notes: probe.notes }
      : { name: driver.name, available: false, reason: probe.reason };
  });
}

export function algorithmInventory(kinds?: readonly Kind[]): AlgorithmEntry[] {
  const drivers = allDrivers().filter((driver) => driver.probe().available);
  const wanted = algorithms().filter(({ kind }) => kinds === undefined || kinds.includes(kind));
  // All are tried before any is described: what the kernel loads for one may become the best of another.
  for (const driver of drivers) for (const algorithm of wanted) driver.supports(algorithm);
  return wanted.map((algorithm) => ({
    name: algorithm.name,
    kind: algorithm.kind,
    status: algorithm.status,
    ...(algorithm.statusNote === undefined ? {} : { statusNote: algorithm.statusNote }),
    drivers: Object.fromEntries(drivers.map((driver) => [driver.name, supportOf(driver, algorithm)])),
  }));
}

function supportOf(driver: ReturnType<typeof allDrivers>[number], algorithm: Algorithm): SupportEntry {
  const support = driver.supports(algorithm);
  if (!support.supported) return { supported: false, reason: support.reason };
  const who = driver.implementation(algorithm);
  if (!who) return { supported: true };
  return {
    supported: true,
    implementation: who.kernelDriver,
    hardware: who.hardware,
    evidence: who.evidence,
  };
}

/** By code point: localeCompare loads ICU's collation, which costs more than all the rest of the list. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function kernelInventory(): KernelInventory {
  const list = listAlgorithms();
  const release = readKernelVersion()?.release;
  const index = release === undefined ? undefined : readModuleIndex(release);
  const best = new Map<string, number>();
  for (const entry of list.algorithms) {
    if (entry.internal) continue;
    best.set(entry.name, Math.max(best.get(entry.name) ?? Number.NEGATIVE_INFINITY, entry.priority));
  }
  const implementations = list.algorithms.map((entry): KernelEntry => {
    const verdict = judgeHardware({ ...entry, modulePath: index?.files.get(entry.module) });
    return {
      algorithm: entry.name,
      kernelDriver: entry.driver,
      module: entry.module,
      type: entry.type,
      priority: entry.priority,
      chosen: !entry.internal && best.get(entry.name) === entry.priority,
      internal: entry.internal,
      ...(entry.selftest === undefined ? {} : { selftest: entry.selftest }),
      hardware: verdict.hardware,
      ...(verdict.engine === undefined ? {} : { engine: verdict.engine }),
      evidence: verdict.evidence,
      names: byKernelName(entry.name).map(({ name }) => name),
    };
  });
  implementations.sort(
    (a, b) =>
      compare(a.algorithm, b.algorithm) || b.priority - a.priority || compare(a.kernelDriver, b.kernelDriver),
  );
  return {
    ...(release === undefined ? {} : { release }),
    source: list.source,
    ...(list.reason === undefined ? {} : { reason: list.reason }),
    implementations,
  };
}

export interface Inventory {
  readonly drivers?: readonly DriverEntry[];
  readonly algorithms?: readonly AlgorithmEntry[];
  readonly kernel?: KernelInventory;
  /** Who is kept from an algorithm, since he did it wrong. */
  readonly quarantine?: readonly QuarantineRecord[];
}

/** Where there is no terminal: wide enough for a row of facts, and still readable where it is pasted. */
export const PIPE_COLUMNS = 120;
/** A narrower column of verdicts is no use on a terminal: there each implementation takes some lines of its own instead. */
const LEAST_VERDICT = 40;

/** @param width of the terminal, where it is one. The last column is wrapped. */
export function driversText(drivers: readonly DriverEntry[], width = PIPE_COLUMNS): string {
  const rows = drivers.map(({ name, available, version, reason }) => [
    name,
    available ? 'yes' : 'no',
    available ? (version ?? '') : reason ? describeReason(reason) : '',
  ]);
  let text = table(
    [{ title: 'driver' }, { title: 'there' }, { title: 'what it is, or why it is not there' }],
    rows,
    width,
  );
  for (const { name, notes = [] } of drivers) {
    for (const note of notes) text += lines(`${name}: ${note}`, width);
  }
  return text;
}

function lines(text: string, width: number): string {
  // What goes on is set in by two columns.
  return `${wrap(text, width - 2).join('\n  ')}\n`;
}

const KIND_TITLES: Readonly<Record<Kind, string>> = {
  cipher: 'cipher',
  aead: 'authenticated cipher',
  hash: 'hash',
  mac: 'MAC',
};

/**
 * The matrix; a mark in the last column refers to a note below.
 *
 * @param all rows too that no driver here has.
 */
export function algorithmsText(
  entries: readonly AlgorithmEntry[],
  drivers: readonly DriverEntry[],
  all: boolean,
  width = PIPE_COLUMNS,
): string {
  const present = drivers.filter(({ available }) => available).map(({ name }) => name);
  const notes: string[] = [];
  const mark = ({ status, statusNote }: AlgorithmEntry): string => {
    if (status === 'current') return '';
    if (statusNote === undefined) return status;
    let at = notes.indexOf(statusNote);
    if (at < 0) at = notes.push(statusNote) - 1;
    return `${status} [${at + 1}]`;
  };
  const sections: string[] = [];
  const shown = entries.filter(
    (entry) => all || Object.values(entry.drivers).some(({ supported }) => supported),
  );
  for (const kind of ['cipher', 'aead', 'hash', 'mac'] as const) {
    const rows = shown
      .filter((entry) => entry.kind === kind)
      .map((entry) => [entry.name, ...present.map((name) => cell(entry.drivers[name])), mark(entry)]);
    if (rows.length === 0) continue;
    sections.push(
      table(
        [{ title: KIND_TITLES[kind] }, ...present.map((name) => ({ title: name })), { title: 'status' }],
        rows,
      ),
    );
  }
  let legend = '';
  const hidden = entries.length - shown.length;
  if (hidden > 0) legend += lines(`${hidden} more that no driver here offers (--all)`, width);
  legend += lines('yes: on the CPU; hw: by an accelerator; hw?: nobody knows by what; -: not at all', width);
  for (const [i, note] of notes.entries()) legend += lines(`[${i + 1}] ${note}`, width);
  return [...sections, legend].join('\n');
}

function cell(entry: SupportEntry | undefined): string {
  if (!entry?.supported) return '-';
  return entry.hardware === 'yes' ? 'hw' : entry.hardware === 'unknown' ? 'hw?' : 'yes';
}

/** Compression and public keys: in the kernel's list, and nothing that hwcrypt does. */
const OTHER_TYPES = /comp|akcipher|kpp|sig/;

export function kernelText(kernel: KernelInventory, all: boolean, columns?: number): string {
  const width = columns ?? PIPE_COLUMNS;
  const heading = lines(
    `Linux ${kernel.release ?? 'of unknown release'}: implementations by priority, * is what the name gets`,
    width,
  );
  if (kernel.source === 'none') {
    return `${heading}${lines(`neither netlink nor /proc/crypto tells${kernel.reason ? `: ${describeReason(kernel.reason)}` : ''}`, width)}`;
  }
  const shown = kernel.implementations.filter(
    ({ internal, type }) => all || (!internal && !OTHER_TYPES.test(type)),
  );
  const rows = shown.map((entry) => [
    entry.algorithm,
    `${entry.chosen ? '*' : ' '}${entry.kernelDriver}`,
    String(entry.priority),
    entry.module,
    `${entry.internal ? 'internal; ' : ''}${entry.selftest !== undefined && entry.selftest !== 'passed' ? `self-test ${entry.selftest}; ` : ''}${entry.hardware}: ${entry.evidence.join('; ')}`,
  ]);
  const hidden = kernel.implementations.length - shown.length;
  return (
    heading +
    layOut(
      [
        { title: 'algorithm' },
        { title: ' kernel driver' },
        { title: 'priority', align: 'right' },
        { title: 'module' },
        { title: 'hardware' },
      ],
      rows,
      width,
      columns !== undefined,
    ) +
    (hidden > 0 ? `${hidden} more: internal helpers, compression or public keys (--all)\n` : '')
  );
}

/** A row for each implementation; on a terminal that is too narrow for five columns of kernel names, lines below each algorithm. */
function layOut(
  titles: Parameters<typeof table>[0],
  rows: readonly (readonly string[])[],
  width: number,
  terminal: boolean,
): string {
  const facts = [0, 1, 2, 3].map((i) => Math.max(...rows.map((row) => (row[i] ?? '').length), 8) + 2);
  if (!terminal || facts.reduce((sum, wide) => sum + wide, LEAST_VERDICT) <= width) {
    return table(titles, rows, width);
  }
  let text = '';
  let above = '';
  for (const [algorithm = '', driver = '', priority = '', module = '', verdict = ''] of rows) {
    if (algorithm !== above) text += `${algorithm}\n`;
    above = algorithm;
    const fact = `${driver.slice(1)}, priority ${priority}, module ${module}`;
    text += `  ${driver[0]}${wrap(fact, width - 6).join('\n      ')}\n`;
    text += `      ${wrap(`hardware: ${verdict}`, width - 6).join('\n      ')}\n`;
  }
  return text;
}
