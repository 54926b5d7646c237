/**
 * What is to be said about an image on this machine: facts with a verdict, no words for people but one line each.
 *
 * Room `luks`. `report` prints them.
 */
import { totalmem } from 'node:os';

import { cipherLike } from '../algorithms.js';
import type { Implementation } from '../drivers/driver.js';
import { allDrivers } from '../drivers/registry.js';
import { describeReason, HwcryptError, type Reason } from '../errors.js';
import { throughput } from '../routing/cost.js';
import type { Profile } from '../routing/profile.js';
import type { Device } from './device.js';
import { type LuksHeader, opensByPassphrase, type PassphraseKeyslot, type Segment } from './header/model.js';
import { availableMemory, checkArgon2, kdfLimits, kdfSeconds } from './keyslot/kdf.js';
import { parseSpecification, type SectorSpecification } from './sectors/specification.js';

export interface Judgement {
  /** Stable. */
  readonly code: JudgementCode;
  readonly verdict: 'good' | 'note' | 'warning';
  /** What it is about: `segment 0`, `keyslot 2`, `header`. */
  readonly about: string;
  readonly message: string;
  readonly cure?: string;
}

export type JudgementCode =
  | 'SECTOR_SIZE'
  | 'ALIGNMENT'
  | 'CIPHER_DRIVERS'
  | 'CIPHER_STRENGTH'
  | 'KDF_MEMORY'
  | 'KDF_TIME'
  | 'KDF_KIND'
  | 'HEADER_COPY'
  | 'REQUIREMENT'
  | 'FLAG'
  | 'KEYSLOTS'
  | 'SIZE'
  | 'GAIN';

/** Who could do a segment's cipher here. */
export interface CipherDriver {
  readonly driver: string;
  readonly supported: boolean;
  readonly implementation?: Implementation;
  readonly reason?: Reason;
}

export interface SegmentDrivers {
  readonly segment: number;
  /** hwcrypt's name of the cipher; undefined where it has none. */
  readonly algorithm?: string;
  readonly drivers: readonly CipherDriver[];
}

export interface Inspection {
  readonly image: string;
  readonly bytes: number;
  readonly header: LuksHeader;
  readonly device: {
    readonly block: boolean;
    readonly logicalSectorBytes: number;
    readonly physicalSectorBytes: number;
  };
  readonly ciphers: readonly SegmentDrivers[];
  /** Seconds that each keyslot takes here, by a short sample; only where it can be told. */
  readonly unlockSeconds: Readonly<Record<number, number>>;
  readonly judgements: readonly Judgement[];
}

/**
 * What a calibrated profile knows: bytes per second of one driver for requests of that many bytes.
 * @returns undefined where it was not measured
 */
export type RateOf = (algorithm: string, driver: string, requestBytes: number) => number | undefined;

/** Decrypting, by what `hwcrypt calibrate` measured on this machine. */
export function ratesOf(profile: Profile): RateOf {
  return (algorithm, driver, requestBytes) => {
    const { implementations = [] } = profile.entry(algorithm, 'decrypt') ?? {};
    const points = implementations.find((one) => one.driver === driver)?.points ?? [];
    return points.length === 0 ? undefined : throughput(points, requestBytes);
  };
}

export interface InspectOptions {
  /** Where there is a profile: then it is told what larger sectors would gain, in MB/s. */
  readonly rateOf?: RateOf;
}

const MIB = 2 ** 20;
/** What file systems and drives work in. */
const USUAL_SECTOR_BYTES = 4096;

/** @param data where the payload lies, which with a detached header is not where the header was read from */
export async function inspect(
  header: LuksHeader,
  data: Device,
  { rateOf }: InspectOptions = {},
): Promise<Inspection> {
  const judgements: Judgement[] = [];
  const say = (
    verdict: Judgement['verdict'],
    code: JudgementCode,
    about: string,
    message: string,
    cure?: string,
  ): void => void judgements.push({ code, verdict, about, message, ...(cure === undefined ? {} : { cure }) });

  for (const { name, problem } of header.luks2?.copies ?? []) {
    if (problem !== undefined) {
      say(
        'warning',
        'HEADER_COPY',
        'header',
        `the ${name} copy cannot be used: ${problem}`,
        'make a backup of the image; changing a key writes both copies anew',
      );
    }
  }
  const [first, second] = header.luks2?.copies ?? [];
  if (first?.seqid !== undefined && second?.seqid !== undefined && first.seqid !== second.seqid) {
    say('note', 'HEADER_COPY', 'header', `the ${second.name} copy is older: its change was interrupted`);
  }
  for (const requirement of header.requirements) {
    say(
      'warning',
      'REQUIREMENT',
      'header',
      `"${requirement}" is required, which is not supported: it can be looked at only`,
    );
  }
  judgeFlags(header, say);
  const ciphers: SegmentDrivers[] = [];
  for (const segment of header.segments) {
    if (segment.crypt) ciphers.push(judgeSegment(segment, header, data, rateOf, say));
  }
  const unlockSeconds: Record<number, number> = {};
  const slots = header.keyslots.filter(opensByPassphrase);
  if (slots.length === 0)
    say('warning', 'KEYSLOTS', 'header', 'no passphrase opens this image: it has no keyslot');
  for (const slot of slots) {
    const seconds = await judgeKdf(slot, say);
    if (seconds !== undefined) unlockSeconds[slot.id] = seconds;
  }
  const { block, logicalSectorBytes, physicalSectorBytes } = data;
  return {
    image: data.name,
    bytes: data.bytes,
    header,
    device: { block, logicalSectorBytes, physicalSectorBytes },
    ciphers,
    unlockSeconds,
    judgements,
  };
}

type Say = (
  verdict: Judgement['verdict'],
  code: JudgementCode,
  about: string,
  message: string,
  cure?: string,
) => void;

const FLAGS: Readonly<Record<string, string>> = {
  'allow-discards': 'discards pass through: which blocks are free can be seen from outside',
  'same-cpu-crypt': 'work stays on the CPU that asked: other cores do not help',
  'submit-from-crypt-cpus': 'writes go out from the threads that encrypt, in no sorted order',
  'no-read-workqueue':
    'reads are decrypted at once, without a queue: good for fast drives, bad for an asynchronous engine',
  'no-write-workqueue':
    'writes are encrypted at once, without a queue: good for fast drives, bad for an asynchronous engine',
  'no-journal': 'there is no journal: a lost power supply may tear a sector',
};

function judgeFlags({ flags }: LuksHeader, say: Say): void {
  for (const flag of flags) {
    const text = Object.hasOwn(FLAGS, flag) ? FLAGS[flag] : undefined;
    say('note', 'FLAG', flag, text ?? 'it is not known and has no effect here');
  }
}

function judgeSegment(
  { id, offset, bytes, crypt }: Segment,
  header: LuksHeader,
  data: Device,
  rateOf: RateOf | undefined,
  say: Say,
): SegmentDrivers {
  const about = `segment ${id}`;
  const { sectorBytes, encryption } = crypt as NonNullable<Segment['crypt']>;
  const { physicalSectorBytes, block } = data;
  if (sectorBytes < USUAL_SECTOR_BYTES && physicalSectorBytes >= USUAL_SECTOR_BYTES) {
    say(
      'note',
      'SECTOR_SIZE',
      about,
      `encrypted in sectors of ${sectorBytes} bytes: each 4096 bytes are ${USUAL_SECTOR_BYTES / sectorBytes} requests to the cipher`,
      header.version === 1
        ? 'LUKS1 has no other; a new LUKS2 image has 4096-byte sectors'
        : 'a new image, or cryptsetup reencrypt --sector-size 4096 if its file system has blocks of 4096 bytes or more',
    );
  } else if (block && sectorBytes > physicalSectorBytes) {
    say(
      'warning',
      'SECTOR_SIZE',
      about,
      `sectors of ${sectorBytes} bytes on a device that writes ${physicalSectorBytes} at once: a lost power supply may tear one`,
    );
  } else
    say(
      'good',
      'SECTOR_SIZE',
      about,
      `sectors of ${sectorBytes} bytes fit the device's ${physicalSectorBytes}`,
    );

  if (offset % Math.max(sectorBytes, physicalSectorBytes) !== 0) {
    say(
      'warning',
      'ALIGNMENT',
      about,
      `the data begins at byte ${offset}, within a sector of ${physicalSectorBytes} bytes`,
    );
  } else if (offset % MIB !== 0) {
    say('note', 'ALIGNMENT', about, `the data begins at byte ${offset}, at no whole MiB`);
  } else say('good', 'ALIGNMENT', about, `the data begins at ${offset / MIB} MiB`);

  const end = offset + (bytes ?? 0);
  if (end > data.bytes)
    say('warning', 'SIZE', about, `it should end at byte ${end}, and the image ends at ${data.bytes}`);
  else if (bytes === undefined && data.bytes <= offset)
    say(
      'warning',
      'SIZE',
      about,
      'there are 0 bytes of data: the image ends where they should begin, or before',
    );
  else if (bytes === undefined && (data.bytes - offset) % sectorBytes !== 0) {
    say(
      'warning',
      'SIZE',
      about,
      'the image ends within a sector, which dm-crypt refuses; here it is left out',
    );
  }

  const keyBytes = keyBytesOf(header, id);
  let spec: SectorSpecification | undefined;
  try {
    if (keyBytes !== undefined) spec = parseSpecification(encryption, keyBytes);
  } catch (error) {
    if (!(error instanceof HwcryptError)) throw error;
    say('warning', 'CIPHER_DRIVERS', about, error.message);
  }
  if (!spec) return { segment: id, drivers: [] };
  const { algorithm, iv } = spec;
  if (algorithm.mode === 'ecb' || iv.kind === 'null' || iv.kind === 'none') {
    say(
      'warning',
      'CIPHER_STRENGTH',
      about,
      `${encryption} gives equal blocks equal ciphertext: it hides little`,
    );
  } else if (algorithm.mode === 'cbc' && iv.kind !== 'essiv') {
    say('warning', 'CIPHER_STRENGTH', about, `${encryption}: IVs that can be foretold let a watermark show`);
  }
  const drivers = driversFor(algorithm);
  const able = drivers.filter(({ supported }) => supported);
  if (able.length === 0) {
    const reasons = drivers.map(
      ({ driver, reason }) => `${driver}: ${reason ? describeReason(reason) : 'no'}`,
    );
    say('warning', 'CIPHER_DRIVERS', about, `no driver here has ${algorithm.name} (${reasons.join('; ')})`);
  } else {
    const engine = able.find(({ implementation }) => implementation?.hardware === 'yes');
    const others = otherModes(algorithm.name);
    if (engine) {
      say(
        'good',
        'CIPHER_DRIVERS',
        about,
        `${algorithm.name} is done by ${engine.implementation?.kernelDriver}, which is hardware`,
      );
    } else if (others !== undefined) {
      say(
        'note',
        'CIPHER_DRIVERS',
        about,
        `${algorithm.name} is done in software; ${others.kernelDriver}, which is hardware, has ${others.algorithm} only`,
      );
    } else
      say(
        'good',
        'CIPHER_DRIVERS',
        about,
        `${algorithm.name} is done by ${able.map(({ driver }) => driver).join(', ')}`,
      );
  }
  judgeGain(about, algorithm.name, able, sectorBytes, rateOf, say);
  return { segment: id, algorithm: algorithm.name, drivers };
}

function judgeGain(
  about: string,
  algorithm: string,
  able: readonly CipherDriver[],
  sectorBytes: number,
  rateOf: RateOf | undefined,
  say: Say,
): void {
  if (!rateOf) return;
  const mb = (value: number): string => `${(value / 1e6).toFixed(value < 1e8 ? 1 : 0)} MB/s`;
  let told = false;
  for (const { driver, implementation } of able) {
    const label = implementation?.hardware === 'yes' ? `${driver} (${implementation.kernelDriver})` : driver;
    const now = rateOf(algorithm, driver, sectorBytes);
    if (now === undefined) continue;
    told = true;
    const then = sectorBytes < USUAL_SECTOR_BYTES ? rateOf(algorithm, driver, USUAL_SECTOR_BYTES) : undefined;
    const gain =
      then === undefined
        ? ''
        : `; sectors of ${USUAL_SECTOR_BYTES} bytes would give ${mb(then)}, ${mb(Math.abs(then - now))} ${then < now ? 'less' : 'more'}`;
    say('note', 'GAIN', about, `${label} decrypts ${sectorBytes}-byte requests at ${mb(now)}${gain}`);
  }
  if (!told) {
    say('note', 'GAIN', about, 'how fast this is here was not measured', `hwcrypt calibrate ${algorithm}`);
  }
}

/** Length of a segment's volume key, where a keyslot has it. */
export function keyBytesOf({ keyslots, digests }: LuksHeader, segment: number): number | undefined {
  const digest = digests.find(({ segments }) => segments.includes(segment));
  return keyslots.find(({ id }) => digest?.keyslots.includes(id))?.keyBytes;
}

function driversFor(algorithm: SectorSpecification['algorithm']): CipherDriver[] {
  return allDrivers().map((driver): CipherDriver => {
    const probe = driver.probe();
    if (!probe.available) return { driver: driver.name, supported: false, reason: probe.reason };
    const support = driver.supports(algorithm);
    if (!support.supported) return { driver: driver.name, supported: false, reason: support.reason };
    const implementation = driver.implementation(algorithm);
    return { driver: driver.name, supported: true, ...(implementation ? { implementation } : {}) };
  });
}

/** Hardware for another mode of the same cipher, where there is some. */
function otherModes(name: string): { readonly kernelDriver: string; readonly algorithm: string } | undefined {
  const match = /^(.*)-(\d+)-xts$/.exec(name);
  const cbc = match ? cipherLike(`${match[1]}-${match[2]}-cbc`) : undefined;
  if (!cbc) return undefined;
  for (const driver of allDrivers()) {
    if (!driver.probe().available || !driver.supports(cbc).supported) continue;
    const implementation = driver.implementation(cbc);
    if (implementation?.hardware === 'yes') {
      return { kernelDriver: implementation.kernelDriver, algorithm: cbc.name };
    }
  }
  return undefined;
}

/** PBKDF2 of less than that is quickly guessed (OWASP, for SHA-256: 600 000). */
const FEW_ROUNDS = 100_000;

async function judgeKdf({ type, id, kdf, area }: PassphraseKeyslot, say: Say): Promise<number | undefined> {
  const about = `keyslot ${id}`;
  if (kdf.type === 'pbkdf2') {
    if (kdf.iterations < FEW_ROUNDS) {
      say(
        'warning',
        'KDF_KIND',
        about,
        `PBKDF2 of ${kdf.iterations} rounds is quickly guessed`,
        type === 'luks1' ? 'cryptsetup luksChangeKey' : 'change the key: hwcrypt luks change-key',
      );
    }
  } else {
    const bytes = kdf.memoryKiB * 1024;
    const mib = (value: number): string =>
      value < MIB ? `${value / 1024} KiB` : `${Math.round(value / MIB)} MiB`;
    if (bytes > totalmem()) {
      say(
        'warning',
        'KDF_MEMORY',
        about,
        `${kdf.type} wants ${mib(bytes)}, this machine has ${mib(totalmem())}: it cannot be opened here`,
        'add a key with less memory on a larger machine',
      );
      return undefined;
    }
    try {
      checkArgon2(kdf, kdfLimits(), 'it');
    } catch (error) {
      say('warning', 'KDF_MEMORY', about, (error as Error).message);
      return undefined;
    }
    say(
      'good',
      'KDF_MEMORY',
      about,
      `${kdf.type} wants ${mib(bytes)}, and ${mib(availableMemory())} are available`,
    );
  }
  try {
    const seconds = await kdfSeconds(kdf, area.keyBytes);
    const took =
      seconds < 0.1
        ? 'it takes less than a tenth of a second to open here'
        : `it takes about ${seconds.toFixed(1)} s to open here`;
    say(seconds > 10 ? 'note' : 'good', 'KDF_TIME', about, took);
    return seconds;
  } catch (error) {
    if (!(error instanceof HwcryptError)) throw error;
    say('warning', 'KDF_KIND', about, error.message);
    return undefined;
  }
}
