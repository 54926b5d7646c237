/**
 * What is known of this machine's drivers from one run to the next: what each size costs with each of them, and who gave wrong results.
 *
 * What was measured holds for the machine, kernel, libraries and kernel drivers that it was measured with. Where any of these is another
 * one the measurement is not used, and a note says so: a wrong profile is worse than none, which means software. A file that is damaged,
 * foreign or hostile is told and not used either, and never an error for who only reads it.
 */
import { type Algorithm, findAlgorithm } from '../algorithms.js';
import type { Direction, Driver } from '../drivers/driver.js';
import { allDrivers, optionsOf } from '../drivers/registry.js';
import { HwcryptError } from '../errors.js';
import { printable } from '../files/io.js';
import type { AlgorithmList } from '../linux/netlink.js';
import { amount, conform, count, list, object, oneOf, ref, type Schema, text } from '../schema.js';
import { ableTo } from './contestants.js';
import type { CostCurve, CostLine } from './cost.js';
import { type MachineKey, machineDifference, machineKey } from './machine.js';
import { profilePath, readProfileFile, replaceProfileFile } from './profile-file.js';

export const PROFILE_FORMAT = 'hwcrypt-profile';
/** Raised when an older reader would misunderstand a file. New optional fields do not raise it. */
export const PROFILE_VERSION = 1;

/** A MAC's is `digest`, as a hash's. */
export type ProfileOperation = 'encrypt' | 'decrypt' | 'digest';

export function operationOf({ kind }: Algorithm, direction: Direction): ProfileOperation {
  return kind === 'cipher' || kind === 'aead' ? direction : 'digest';
}

/** All operations of an algorithm. */
export function operationsOf(algorithm: Algorithm): readonly ProfileOperation[] {
  const operations = (['encrypt', 'decrypt'] as const).map((direction) => operationOf(algorithm, direction));
  return [...new Set(operations)];
}

/** One algorithm and direction, measured with everybody who can do it. */
export interface ProfileEntry {
  readonly algorithm: string;
  readonly operation: ProfileOperation;
  /** ISO 8601. */
  readonly measuredAt: string;
  /** How many of the points are doubtful, since their rounds were far apart: something else used the machine meanwhile. */
  readonly noisyPoints?: number;
  readonly implementations: readonly ProfileImplementation[];
}

export interface ProfileImplementation {
  /** As `--driver` takes it: `libcrypto`, `afalg:virtio_crypto_aes_cbc`. */
  readonly driver: string;
  /** Who does the work behind it. */
  readonly kernelDriver: string;
  readonly priority?: number;
  readonly hardware: 'yes' | 'no' | 'unknown';
  /** One request at a time. Empty where it gave no figure: it failed, or its bytes were wrong. */
  readonly points: CostCurve;
  /** The straight lines behind the points. */
  readonly lines: readonly CostLine[];
  /** So many requests at once, one from each of as many threads; what a request costs then. */
  readonly inFlight?: { readonly requests: number; readonly points: CostCurve };
  /** Why there are no points, or none from some size on. */
  readonly problem?: string;
}

/** A driver that is not to do an algorithm, since it did it wrong. */
export interface QuarantineRecord {
  readonly algorithm: string;
  /** As `--driver` takes it. */
  readonly driver: string;
  readonly kernelDriver: string;
  /** ISO 8601, both. Without `until`: until somebody clears it, or the kernel is another one. */
  readonly since: string;
  readonly until?: string;
  /** What it did, in one line. No data, no keys. */
  readonly evidence: string;
}

interface StoredEntry extends ProfileEntry {
  /** The drivers that were there, and what each found. */
  readonly drivers: readonly DriverVersion[];
}

interface DriverVersion {
  readonly name: string;
  readonly version: string;
}

/** The file. */
export interface StoredProfile {
  readonly format: typeof PROFILE_FORMAT;
  readonly version: typeof PROFILE_VERSION;
  readonly machine: MachineKey;
  readonly entries: readonly StoredEntry[];
  readonly quarantine: readonly QuarantineRecord[];
}

export type ProfileNoteCode =
  /** No place for a profile, or the file cannot be read. */
  | 'UNREADABLE'
  | 'DAMAGED'
  /** Written by a newer hwcrypt. */
  | 'NEWER_VERSION'
  | 'OTHER_MACHINE'
  | 'DRIVERS_CHANGED'
  | 'KERNEL_DRIVER_CHANGED';

/** Why a file, or an entry of it, is not used. */
export interface ProfileNote {
  readonly code: ProfileNoteCode;
  /** One line. */
  readonly message: string;
  /** Absent where it is about the whole file. */
  readonly algorithm?: string;
  readonly operation?: ProfileOperation;
}

export interface ProfileOptions {
  /** The file; empty: none. Default: see `profilePath`. */
  readonly path?: string;
  /** What tests put in the machine's place. */
  readonly surroundings?: {
    readonly machine?: MachineKey;
    readonly drivers?: readonly Driver[];
    readonly listed?: () => AlgorithmList;
    readonly now?: () => number;
  };
}

const MOST_ENTRIES = 500;
const MOST_IMPLEMENTATIONS = 16;
const MOST_POINTS = 64;
const MOST_CHARACTERS = 10_000;

const atMost = (maxItems: number, items: Schema): Schema => ({ ...list(items), maxItems });
const number: Schema = { type: 'number' };

/** JSON Schema of the file. Readers ignore properties that it does not name. */
export const PROFILE_SCHEMA: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'hwcrypt profile',
  ...object(['format', 'version', 'machine', 'entries', 'quarantine'], {
    format: { const: PROFILE_FORMAT },
    version: { const: PROFILE_VERSION },
    machine: object(['kernel', 'architecture', 'cpu', 'features'], {
      kernel: text,
      architecture: text,
      cpu: text,
      features: text,
    }),
    entries: atMost(MOST_ENTRIES, ref('entry')),
    quarantine: atMost(MOST_ENTRIES, ref('quarantine')),
  }),
  $defs: {
    entry: object(['algorithm', 'operation', 'measuredAt', 'drivers', 'implementations'], {
      algorithm: text,
      operation: oneOf('encrypt', 'decrypt', 'digest'),
      measuredAt: text,
      noisyPoints: count,
      drivers: atMost(MOST_IMPLEMENTATIONS, object(['name', 'version'], { name: text, version: text })),
      implementations: atMost(MOST_IMPLEMENTATIONS, ref('implementation')),
    }),
    implementation: object(['driver', 'kernelDriver', 'hardware', 'points', 'lines'], {
      driver: text,
      kernelDriver: text,
      priority: { type: 'integer' },
      hardware: oneOf('yes', 'no', 'unknown'),
      points: ref('curve'),
      lines: atMost(
        MOST_POINTS,
        object(['fromBytes', 'toBytes', 'fixedNs', 'nsPerByte'], {
          fromBytes: count,
          toBytes: count,
          fixedNs: number,
          nsPerByte: number,
        }),
      ),
      inFlight: object(['requests', 'points'], { requests: count, points: ref('curve') }),
      problem: text,
    }),
    curve: atMost(
      MOST_POINTS,
      object(['requestBytes', 'elapsedNs', 'cpuNs'], {
        requestBytes: count,
        elapsedNs: amount,
        cpuNs: amount,
      }),
    ),
    quarantine: object(['algorithm', 'driver', 'kernelDriver', 'since', 'evidence'], {
      algorithm: text,
      driver: text,
      kernelDriver: text,
      since: text,
      until: text,
      evidence: text,
    }),
  },
};

/** The profile of this machine. Nothing is measured, and no error is thrown for whatever there is in the file's place. */
export function openProfile(options: ProfileOptions = {}): Profile {
  return new Profile(options);
}

export class Profile {
  /** Undefined where there is none. */
  readonly path: string | undefined;
  readonly #machine: MachineKey;
  readonly #drivers: readonly Driver[];
  readonly #listed: (() => AlgorithmList) | undefined;
  readonly #now: () => number;
  readonly #notes: ProfileNote[] = [];
  #stored: StoredProfile | undefined;
  /** The stored is of this machine. */
  #holds = false;
  readonly #checked = new Map<StoredEntry, ProfileNote | undefined>();

  constructor({ path, surroundings = {} }: ProfileOptions) {
    this.path = path === undefined ? profilePath() : path || undefined;
    this.#machine = surroundings.machine ?? machineKey();
    this.#drivers = surroundings.drivers ?? allDrivers();
    this.#listed = surroundings.listed;
    this.#now = surroundings.now ?? Date.now;
    this.#load();
  }

  /** Why the file, or an entry that was asked for, is not used. */
  get notes(): readonly ProfileNote[] {
    return this.#notes;
  }

  /** What the file has, be it used or not; undefined where there is no file or none that can be read. */
  get stored(): StoredProfile | undefined {
    return this.#stored;
  }

  /** What was measured of an algorithm, where that still holds. The first question about an algorithm looks at the drivers. */
  entry(algorithm: string, operation: ProfileOperation): ProfileEntry | undefined {
    if (!this.#holds) return undefined;
    const found = this.#stored?.entries.find(
      (own) => own.algorithm === algorithm && own.operation === operation,
    );
    return found && this.problemOf(found) === undefined ? found : undefined;
  }

  /** Why an entry of the file is not used; undefined where it is. */
  problemOf(entry: ProfileEntry): ProfileNote | undefined {
    const own = entry as StoredEntry;
    if (!this.#holds) return this.#notes[0];
    if (!this.#checked.has(own)) {
      const note = this.#check(own);
      this.#checked.set(own, note);
      if (note) this.#notes.push(note);
    }
    return this.#checked.get(own);
  }

  /** Is a driver (as `--driver` takes it) kept from an algorithm, and why? What has run out is not told. */
  quarantine(algorithm: string, driver: string): QuarantineRecord | undefined {
    if (!this.#holds) return undefined;
    return this.#stored?.quarantine.find(
      (own) => own.algorithm === algorithm && own.driver === driver && !this.#isOver(own),
    );
  }

  /** Who is kept from what. What has run out is not told. */
  quarantined(): readonly QuarantineRecord[] {
    return this.#holds ? (this.#stored?.quarantine ?? []).filter((own) => !this.#isOver(own)) : [];
  }

  /**
   * Adds to the file, in the place of older entries for the same. Without a `path` nothing is kept.
   * @throws HwcryptError OUTPUT_FILE
   */
  saveEntries(entries: readonly ProfileEntry[]): void {
    const drivers = this.#present();
    const isNew = (own: ProfileEntry): boolean =>
      entries.some((entry) => entry.algorithm === own.algorithm && entry.operation === own.operation);
    this.#change((profile) => ({
      ...profile,
      entries: [
        ...profile.entries.filter((own) => !isNew(own)),
        ...entries.map((entry) => ({ ...entry, drivers })),
      ].slice(-MOST_ENTRIES),
    }));
  }

  /** @throws HwcryptError OUTPUT_FILE */
  saveQuarantine(given: QuarantineRecord): void {
    const { driver, kernelDriver, evidence } = given;
    // A device may call itself anything, and the file must be one that is read again.
    const record = {
      ...given,
      driver: kept(driver),
      kernelDriver: kept(kernelDriver),
      evidence: kept(evidence),
    };
    this.#change((profile) => ({
      ...profile,
      quarantine: [
        ...profile.quarantine.filter((own) => !isAbout(own, record.algorithm, record.driver)),
        record,
      ].slice(-MOST_ENTRIES),
    }));
  }

  /**
   * Lets a driver work again: for an algorithm, for all of its algorithms, or all drivers for all.
   * @throws HwcryptError OUTPUT_FILE
   */
  clearQuarantine(algorithm?: string, driver?: string): void {
    if (this.#stored === undefined) return;
    this.#change((profile) => ({
      ...profile,
      quarantine: profile.quarantine.filter(
        (own) =>
          (driver !== undefined && own.driver !== driver) ||
          (algorithm !== undefined && own.algorithm !== algorithm),
      ),
    }));
  }

  /** Forgets what was measured; who is in quarantine stays there. @throws HwcryptError OUTPUT_FILE */
  clearEntries(): void {
    if (this.#stored === undefined) return;
    this.#change((profile) => ({ ...profile, entries: [] }));
  }

  #isOver({ until }: QuarantineRecord): boolean {
    return until !== undefined && Date.parse(until) <= this.#now();
  }

  #load(): void {
    this.#notes.length = 0;
    this.#checked.clear();
    this.#stored = undefined;
    this.#holds = false;
    if (this.path === undefined) return;
    let found: string | undefined;
    try {
      found = readProfileFile(this.path);
    } catch (error) {
      this.#notes.push({ code: 'UNREADABLE', message: (error as Error).message });
      return;
    }
    if (found === undefined) return;
    const read = parseProfile(found);
    if ('code' in read) {
      this.#notes.push({ ...read, message: `${printable(this.path)} is not used: ${read.message}` });
      return;
    }
    this.#stored = read;
    const difference = machineDifference(read.machine, this.#machine);
    this.#holds = difference === undefined;
    if (difference !== undefined) {
      const message = `${printable(this.path)} is not used: ${difference}`;
      this.#notes.push({ code: 'OTHER_MACHINE', message });
    }
  }

  #present(): DriverVersion[] {
    return this.#drivers.flatMap((driver): DriverVersion[] => {
      const probe = driver.probe();
      return probe.available ? [{ name: driver.name, version: probe.version }] : [];
    });
  }

  #check(entry: StoredEntry): ProfileNote | undefined {
    const { algorithm: name, operation } = entry;
    const note = (code: ProfileNoteCode, what: string): ProfileNote => {
      const message = `what was measured of ${name} (${operation}) is not used: ${what}`;
      return { code, message, algorithm: name, operation };
    };
    const algorithm = findAlgorithm(name);
    if (algorithm === undefined) return note('DAMAGED', 'there is no such algorithm');
    const change = driversDifference(entry.drivers, this.#present());
    if (change !== undefined) return note('DRIVERS_CHANGED', change);
    for (const { driver: label, kernelDriver, priority } of entry.implementations) {
      const now = this.#behind(algorithm, label);
      if (now === undefined) return note('KERNEL_DRIVER_CHANGED', `${label} (${kernelDriver}) is gone`);
      if (now.kernelDriver !== kernelDriver) {
        const what = `behind ${label} is ${now.kernelDriver} now, and was ${kernelDriver}`;
        return note('KERNEL_DRIVER_CHANGED', what);
      }
      if (now.priority !== priority) {
        const what = `the priority of ${kernelDriver} is ${now.priority ?? 'unknown'} now, and was ${priority ?? 'unknown'}`;
        return note('KERNEL_DRIVER_CHANGED', what);
      }
    }
    // Somebody who measured with some drivers only has not asked for the others.
    const measured = new Set(entry.implementations.map(({ driver }) => driver.split(':', 1)[0]));
    const added = ableTo(algorithm, this.#drivers, this.#listed).find(
      ({ kernelDriver, driver }) =>
        kernelDriver !== undefined &&
        measured.has(driver.name) &&
        !entry.implementations.some((own) => own.kernelDriver === kernelDriver),
    );
    return added && note('KERNEL_DRIVER_CHANGED', `${added.label} is new`);
  }

  /** Who does the work of a driver by its label now; undefined where nobody does. */
  #behind(
    algorithm: Algorithm,
    label: string,
  ): { readonly kernelDriver: string; readonly priority: number | undefined } | undefined {
    const [name, kernelDriver] = label.split(/:(.*)/s) as [string, string | undefined];
    const driver = this.#drivers.find((own) => own.name === name);
    const options = optionsOf({ kernelDriver });
    if (!driver?.probe().available || !driver.supports(algorithm, options).supported) return undefined;
    const found = driver.implementation(algorithm, options);
    return { kernelDriver: found?.kernelDriver ?? label, priority: found?.priority };
  }

  #change(change: (profile: StoredProfile) => StoredProfile): void {
    const { path } = this;
    if (path === undefined) return;
    replaceProfileFile(path, () => {
      // As it is now, not as it was read: another process may have added to it.
      this.#load();
      this.#refuseOthers(path);
      const base: StoredProfile =
        this.#stored && this.#holds
          ? this.#stored
          : {
              format: PROFILE_FORMAT,
              version: PROFILE_VERSION,
              machine: this.#machine,
              entries: [],
              quarantine: [],
            };
      return `${JSON.stringify(change(base), null, 1)}\n`;
    });
    this.#load();
  }

  /** What a newer hwcrypt has written is not thrown away, and what is no profile at all still less: `HWCRYPT_PROFILE=/dev/null`. */
  #refuseOthers(path: string): void {
    const [note] = this.#notes;
    if (note === undefined || note.code === 'OTHER_MACHINE') return;
    const found = note.code === 'DAMAGED' ? readProfileFile(path) : undefined;
    if (found !== undefined && (found.trim() === '' || found.includes(`"${PROFILE_FORMAT}"`))) return;
    throw new HwcryptError('OUTPUT_FILE', `cannot write ${printable(path)}: ${note.message}`);
  }
}

const isAbout = (own: QuarantineRecord, algorithm: string, driver: string): boolean =>
  own.algorithm === algorithm && own.driver === driver;

/** @returns a note without the file's name where the text is no profile that can be used */
function parseProfile(text: string): StoredProfile | ProfileNote {
  const damaged = (message: string): ProfileNote => ({ code: 'DAMAGED', message });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return damaged('it is not whole JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return damaged('it is no profile');
  const { format, version } = value as { format?: unknown; version?: unknown };
  if (format !== PROFILE_FORMAT) return damaged('it is no profile');
  if (typeof version === 'number' && version > PROFILE_VERSION) {
    const message = `its version is ${version}, which is newer than this hwcrypt knows (${PROFILE_VERSION})`;
    return { code: 'NEWER_VERSION', message };
  }
  try {
    const profile = conform(PROFILE_SCHEMA, value, 'the profile', plain) as StoredProfile;
    for (const entry of profile.entries) checkEntry(entry);
    for (const { since, until } of profile.quarantine) {
      checkTime(since);
      if (until !== undefined) checkTime(until);
    }
    return profile;
  } catch (error) {
    return damaged((error as Error).message);
  }
}

/** Text as `plain` takes it. */
function kept(text: string): string {
  return text.slice(0, MOST_CHARACTERS).replace(/\p{C}/gu, '\ufffd');
}

/** It is shown in terminals. */
function plain(text: string): string {
  if (text.length <= MOST_CHARACTERS && !/\p{C}/u.test(text)) return text;
  throw new HwcryptError('INPUT_FILE', 'the profile has text that is not print, or too long');
}

function checkEntry({ measuredAt, implementations }: StoredEntry): void {
  checkTime(measuredAt);
  for (const { points, inFlight } of implementations) {
    checkCurve(points);
    if (inFlight) checkCurve(inFlight.points);
  }
}

function checkCurve(points: CostCurve): void {
  for (const [i, { requestBytes }] of points.entries()) {
    if (i > 0 && requestBytes <= points[i - 1]!.requestBytes)
      throw new HwcryptError('INPUT_FILE', 'the points of a curve are not in ascending order');
  }
}

function checkTime(text: string): void {
  if (Number.isNaN(Date.parse(text))) throw new HwcryptError('INPUT_FILE', `"${text}" is no time`);
}

/** What differs between two lists of drivers, in words; undefined where nothing does. */
function driversDifference(was: readonly DriverVersion[], is: readonly DriverVersion[]): string | undefined {
  for (const { name, version } of was) {
    const now = is.find((own) => own.name === name);
    if (now === undefined) return `the driver ${name} is gone`;
    if (now.version !== version) return `the driver ${name} is ${now.version} now, and was ${version}`;
  }
  const added = is.find(({ name }) => !was.some((own) => own.name === name));
  return added && `the driver ${added.name} is new`;
}
