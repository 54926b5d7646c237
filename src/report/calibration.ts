/**
 * What was calibrated, for people and as data: what each driver costs, and who is cheapest from which size on.
 *
 * Room `report`.
 */
import { borders, predict } from '../routing/cost.js';
import type {
  ProfileEntry,
  ProfileImplementation,
  ProfileNote,
  QuarantineRecord,
  StoredProfile,
} from '../routing/profile.js';
import { quarantineLine } from './quarantine.js';
import { table } from './table.js';
import { wrap } from './text.js';
import { requestSize, requestTime, roughSize, threeFigures, times } from './units.js';

/** A driver by the size from which on it is the cheapest. */
export interface Lead {
  readonly fromBytes: number;
  readonly driver: string;
}

/** An entry with what follows from it. */
export interface CalibratedEntry extends ProfileEntry {
  /** By elapsed time, one request at a time. Empty where nobody has a figure. */
  readonly leads: readonly Lead[];
  /** By CPU time. */
  readonly cpuLeads: readonly Lead[];
}

export function withLeads(entry: ProfileEntry): CalibratedEntry {
  return { ...entry, leads: leadsOf(entry, 'elapsedNs'), cpuLeads: leadsOf(entry, 'cpuNs') };
}

function leadsOf({ implementations }: ProfileEntry, by: 'elapsedNs' | 'cpuNs'): Lead[] {
  const curves = implementations.map(({ points }) => points);
  return borders(curves, by).map(({ fromBytes, index }) => ({
    fromBytes,
    driver: implementations[index]!.driver,
  }));
}

/** The sizes at which a gain is told: what a block of a file, a large record, or a disk's request comes to. */
const TOLD_BYTES = [65_536, 16_384, 4096];

/** `libcrypto up to 3.1 KiB, afalg:virtio_crypto_aes_cbc from there; 7.9x at 64 KiB`. */
export function leadText(entry: ProfileEntry): string {
  const leads = leadsOf(entry, 'elapsedNs');
  const [first, ...later] = leads;
  if (first === undefined) return 'no figures, so nobody is chosen';
  if (later.length === 0) return `${first.driver} at all sizes`;
  const stretches = leads.map(({ driver, fromBytes }, i) => {
    const next = leads[i + 1];
    if (next === undefined) return `${driver} from there`;
    return i === 0
      ? `${driver} up to ${roughSize(next.fromBytes)}`
      : `${driver} from ${roughSize(fromBytes)} to ${roughSize(next.fromBytes)}`;
  });
  const last = leads.at(-1)!;
  const at = TOLD_BYTES.find((bytes) => bytes > last.fromBytes) ?? 4 * last.fromBytes;
  const cost = (driver: string): number =>
    predict(entry.implementations.find((own) => own.driver === driver)!.points, at, 'elapsedNs');
  const told =
    last.driver === first.driver
      ? ''
      : `; ${times(cost(first.driver) / cost(last.driver))} at ${roughSize(at)}`;
  return `${stretches.join(', ')}${told}`;
}

/** A heading, a line for each straight stretch of each driver, and who is cheapest where. */
export function entryText(entry: ProfileEntry, columns?: number): string {
  const { algorithm, operation, implementations, noisyPoints } = entry;
  const rows = implementations.flatMap((own) => rowsOf(own));
  const text = table(
    [
      { title: 'driver' },
      { title: 'sizes' },
      { title: 'a request', align: 'right' },
      { title: 'a byte', align: 'right' },
      { title: 'done by' },
    ],
    rows,
    columns,
  );
  const notes = [
    leadText(entry),
    ...implementations.flatMap(({ driver, problem }) =>
      problem === undefined ? [] : [`${driver}: ${problem}`],
    ),
    ...(noisyPoints === undefined
      ? []
      : [
          `something else used the machine meanwhile: ${noisyPoints} of the figures ${noisyPoints === 1 ? 'is' : 'are'} doubtful; calibrate again when it is idle`,
        ]),
  ];
  const lines = notes.flatMap((note) => wrap(note, columns ?? Number.POSITIVE_INFINITY));
  return `${algorithm} ${operation}\n${text}${lines.join('\n')}\n`;
}

function rowsOf({ driver, kernelDriver, hardware, lines }: ProfileImplementation): string[][] {
  const who = hardware === 'yes' ? `${kernelDriver}, hardware` : kernelDriver;
  if (lines.length === 0) return [[driver, '-', '-', '-', who]];
  return lines.map(({ fromBytes, toBytes, fixedNs, nsPerByte }, i) => [
    i === 0 ? driver : '',
    `${requestSize(fromBytes)} to ${requestSize(toBytes)}`,
    requestTime(fixedNs),
    `${threeFigures(nsPerByte)} ns`,
    i === 0 ? who : '',
  ]);
}

export interface ShownEntry extends CalibratedEntry {
  readonly used: boolean;
  /** Why not. */
  readonly note?: ProfileNote;
}

/** The profile as it is kept, and what of it is used. */
export interface ShownProfile {
  /** Absent where HWCRYPT_PROFILE is empty, or there is no home folder. */
  readonly path?: string;
  readonly machine?: StoredProfile['machine'];
  readonly entries: readonly ShownEntry[];
  readonly quarantine: readonly QuarantineRecord[];
  /** Why the whole file is not used. */
  readonly notes: readonly ProfileNote[];
}

export function profileText(
  { path, machine, entries, quarantine, notes }: ShownProfile,
  columns?: number,
): string {
  const width = columns ?? Number.POSITIVE_INFINITY;
  const paragraph = (text: string): string => `${wrap(text, width).join('\n')}\n`;
  if (path === undefined)
    return paragraph('There is no profile: HWCRYPT_PROFILE is empty, or there is no home folder.');
  if (machine === undefined && notes.length === 0) {
    return paragraph(
      `There is no profile in ${path}: nothing was calibrated, and software does all the work.`,
    );
  }
  const parts = [
    paragraph(path) +
      (machine === undefined
        ? ''
        : paragraph(`${machine.cpu} (${machine.architecture}), Linux ${machine.kernel}`)) +
      notes.map(({ message }) => paragraph(message)).join(''),
    ...entries.map((entry) => {
      const when = `measured ${entry.measuredAt.slice(0, 16).replace('T', ' ')} UTC`;
      const state = entry.used ? `${when}; used` : `${when}; not used: ${entry.note?.message ?? ''}`;
      return entryText(entry, columns) + paragraph(state);
    }),
    ...quarantine.map((record) => paragraph(quarantineLine(record))),
  ];
  return parts.join('\n');
}
