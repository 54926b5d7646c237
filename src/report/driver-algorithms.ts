/**
 * What one driver does for each algorithm: who does the work, whether that is hardware, or why it is not done. For a driver whose
 * interface numbers its algorithms (/dev/crypto) by number, with those that come to nothing. As data and as text.
 *
 * Room `report`.
 */
import { type Algorithm, algorithms, type Kind } from '../algorithms.js';
import type { Driver, DriverName, Implementation, Support } from '../drivers/driver.js';
import { type DriverChoice, optionsOf } from '../drivers/registry.js';
import type { Reason } from '../errors.js';
import { table } from './table.js';
import { wrap } from './text.js';

export interface DriverAlgorithm {
  /** The interface's number and its name for that, where it has numbers. */
  readonly id?: number;
  readonly idName?: string;
  /** What the kernel calls it. */
  readonly kernel?: string;
  /** hwcrypt's name; absent for a number that hwcrypt has no algorithm of. */
  readonly algorithm?: string;
  readonly kind?: Kind;
  readonly supported: boolean;
  /** `cra_driver_name`, or the library's provider. */
  readonly kernelDriver?: string;
  readonly module?: string;
  readonly priority?: number;
  readonly hardware?: Implementation['hardware'];
  readonly evidence?: readonly string[];
  readonly reason?: Reason;
  readonly note?: string;
}

export interface DriverAlgorithms {
  readonly driver: DriverName;
  /** The implementation that was pinned. */
  readonly pinned?: string;
  readonly algorithms: readonly DriverAlgorithm[];
}

function entryOf(
  algorithm: Algorithm | undefined,
  support: Support,
  who: Implementation | undefined,
): DriverAlgorithm {
  return {
    ...(algorithm ? { algorithm: algorithm.name, kind: algorithm.kind } : {}),
    supported: support.supported,
    ...(who
      ? {
          kernelDriver: who.kernelDriver,
          ...(who.module === undefined ? {} : { module: who.module }),
          ...(who.priority === undefined ? {} : { priority: who.priority }),
          hardware: who.hardware,
          evidence: who.evidence,
        }
      : {}),
    ...(support.supported ? {} : { reason: support.reason }),
  };
}

/** Every algorithm of these kinds, and every number. A number without an algorithm is of no kind, and there where all are. */
export function driverAlgorithms(choice: DriverChoice, kinds: readonly Kind[]): DriverAlgorithms {
  const { driver, kernelDriver } = choice;
  const rows =
    kernelDriver === undefined && driver.identifiers ? numbered(driver, kinds) : plain(choice, kinds);
  return {
    driver: driver.name,
    ...(kernelDriver === undefined ? {} : { pinned: kernelDriver }),
    algorithms: rows,
  };
}

function plain(choice: DriverChoice, kinds: readonly Kind[]): DriverAlgorithm[] {
  const { driver } = choice;
  const options = optionsOf(choice);
  const wanted = algorithms().filter(({ kind }) => kinds.includes(kind));
  // All are tried before any is described, as in the inventory.
  const supports = wanted.map((algorithm) => driver.supports(algorithm, options));
  return wanted.map((algorithm, i) =>
    entryOf(algorithm, supports[i]!, driver.implementation(algorithm, options)),
  );
}

function numbered(driver: Driver, kinds: readonly Kind[]): DriverAlgorithm[] {
  return (driver.identifiers?.() ?? [])
    .filter(({ algorithm }) => (algorithm ? kinds.includes(algorithm.kind) : kinds.length === 4))
    .map(({ id, idName, kernel, algorithm, support, implementation, note }) => ({
      id,
      idName,
      ...(kernel === undefined ? {} : { kernel }),
      ...entryOf(algorithm, support, implementation),
      ...(note === undefined ? {} : { note }),
    }));
}

const VERDICT = { yes: 'hardware', no: 'software', unknown: 'unknown' } as const;

/**
 * A row for each algorithm or number, those that are not done with the reason.
 *
 * @param all rows too of algorithms that are not done. Numbers are all shown: which come to nothing is what is asked.
 */
export function driverAlgorithmsText(found: DriverAlgorithms, all: boolean, width = 120): string {
  const byNumber = found.algorithms.some(({ id }) => id !== undefined);
  const shown = found.algorithms.filter(({ supported }) => supported || all || byNumber);
  const rows = shown.map((entry) => [
    ...(byNumber ? [String(entry.id), entry.idName ?? ''] : []),
    entry.algorithm ?? '-',
    entry.supported ? (entry.hardware ? VERDICT[entry.hardware] : 'yes') : 'no',
    told(entry),
  ]);
  const titles = [
    ...(byNumber ? [{ title: 'id', align: 'right' as const }, { title: 'CRYPTO_' }] : []),
    { title: 'algorithm' },
    { title: 'work' },
    { title: 'kernel driver, or why it is not done' },
  ];
  const name = found.pinned === undefined ? found.driver : `${found.driver}:${found.pinned}`;
  let text = `${name}: who does what\n`;
  text += rows.length > 0 ? table(titles, rows, width) : 'nothing\n';
  const hidden = found.algorithms.length - shown.length;
  if (hidden > 0) text += `${wrap(`${hidden} more that it does not do (--all)`, width).join('\n')}\n`;
  return text;
}

function told({ kernelDriver, priority, module, reason, note }: DriverAlgorithm): string {
  if (reason) return `${reason.message}${note === undefined ? '' : `: ${note}`}`;
  const facts = [
    kernelDriver ?? '',
    ...(priority === undefined ? [] : [`priority ${priority}`]),
    ...(module === undefined ? [] : [`module ${module}`]),
    ...(note === undefined ? [] : [note]),
  ];
  return facts.filter((fact) => fact !== '').join(', ');
}
