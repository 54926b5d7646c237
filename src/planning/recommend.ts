/** Which line a disk should have, and why. */
import { requestSize } from '../bench/units.js';
import { megabytesPerSecond } from '../doctor/facts/results.js';
import type { CurrentVolume, DiskFacts } from './disk.js';
import { type DiskLine, isAes, isWeak, lineOf } from './lines.js';
import { LARGEST_SECTOR_BYTES as LARGEST, type Row, rateOf, SECTOR_BYTES, tells } from './rows.js';

export interface Recommendation {
  readonly row: Row;
  /** Figures decided; without any it is what is safe everywhere. */
  readonly byFigures: boolean;
  /** Sentences without their full stops. */
  readonly reasons: readonly string[];
}

/** Another mode has to be so much faster than XTS to be worth what it lacks. */
const WORTH_ANOTHER_MODE = 1.5;
/** A key of 256 bits is the usual one as long as it costs no more than this, or the CPU is fast. */
const WORTH_SHORTER_KEY = 1.15;
const FAST = 400e6;
/** A volume that is there is written anew, with another cipher or in larger sectors, for so much. */
export const WORTH_REENCRYPTING = 1.2;
/** Sectors larger than the device's own have to gain this much. */
const WORTH_TORN_SECTORS = 1.3;

export interface Circumstances {
  readonly disk: DiskFacts;
  readonly current?: CurrentVolume;
  readonly cpus?: number;
  readonly cpuAes: boolean;
  /** Linux 4.12 brought sectors other than 512 bytes. */
  readonly largeSectors: boolean;
}

export function recommend(rows: readonly Row[], circumstances: Circumstances): Recommendation {
  const reasons: string[] = [];
  const at = (bytes: number): Row[] => rows.filter(({ sectorBytes }) => sectorBytes === bytes);
  const largest = largestSector(circumstances, reasons);
  let row = bestLine(at(largest), circumstances, []);
  let sectorBytes = largest;
  const physical = circumstances.disk.physicalBytes;
  const smaller = Math.max(512, circumstances.disk.logicalBytes ?? 512);
  if (physical !== undefined && physical < largest && smaller < largest) {
    const gain = gainOf(at(smaller), row);
    if (gain === undefined ? row.hardware !== 'yes' : gain < WORTH_TORN_SECTORS) {
      sectorBytes = smaller;
      reasons.push(
        `sectors of ${smaller} bytes: the device writes ${physical} at once, and ${
          gain === undefined ? 'no figure shows that' : 'by the figures'
        } larger ones would gain ${gain === undefined ? 'anything' : `no more than ${Math.round((gain - 1) * 100)} %`}`,
      );
    } else {
      reasons.push(
        `sectors of ${largest} bytes although the device writes ${physical} at once: ${
          gain === undefined ? 'an engine is dear for each request' : `${gain.toFixed(1)} times as fast`
        }; see below what a power cut can do`,
      );
    }
  } else if (largest === LARGEST) {
    const gain = gainOf(at(512), row);
    reasons.push(
      `sectors of ${LARGEST} bytes: an eighth of the requests${
        gain === undefined
          ? ''
          : `, ${gain < 1.05 ? 'which makes no difference here' : `${gain.toFixed(1)} times as fast as with 512`}`
      }`,
    );
  }
  const sectorReasons = reasons.length;
  row = bestLine(at(sectorBytes), circumstances, reasons);
  const kept = keptLine(at(sectorBytes), row, circumstances);
  if (kept) {
    reasons.splice(sectorReasons, reasons.length, `the cipher stays as it is: ${kept.reason}`);
    row = kept.row;
  }
  return { row, byFigures: rateOf(row) !== undefined, reasons };
}

/** What is there stays, unless it is weak or another cipher is clearly faster: all the data would have to be written anew. */
function keptLine(
  rows: readonly Row[],
  best: Row,
  { current }: Circumstances,
): { row: Row; reason: string } | undefined {
  if (current?.cipher === undefined || isWeak(current.cipher)) return undefined;
  const line = lineOf(current.cipher, current.keyBits);
  const row = rows.find((one) => one.line === line);
  if (!row || row === best) return undefined;
  const [own, other] = [rateOf(row), rateOf(best)];
  if (own === undefined || other === undefined) {
    return own === undefined && other !== undefined && best.hardware === 'yes' && row.hardware !== 'yes'
      ? undefined
      : { row, reason: 'no figure shows that another would be faster' };
  }
  if (other >= own * WORTH_REENCRYPTING) return undefined;
  return {
    row,
    reason: `${best.cipher} with ${best.keyBits} bits would do ${megabytesPerSecond(other)}, this one does ${megabytesPerSecond(own)}`,
  };
}

function gainOf(small: readonly Row[], row: Row): number | undefined {
  const own = small.find(({ cipher, keyBits }) => cipher === row.cipher && keyBits === row.keyBits);
  const [before, after] = [own && rateOf(own), rateOf(row)];
  return tells(own) && tells(row) && before !== undefined && after !== undefined ? after / before : undefined;
}

function largestSector({ disk, current, largeSectors }: Circumstances, reasons: string[]): number {
  if (!largeSectors) {
    reasons.push('sectors of 512 bytes: this kernel knows no others (Linux 4.12 brought them)');
    return 512;
  }
  let most = LARGEST;
  const limit = (bytes: number, why: string): void => {
    if (bytes >= most) return;
    most = bytes;
    reasons.push(`no sectors larger than ${bytes} bytes: ${why}`);
  };
  const { fileSystem, dataBytes } = current ?? {};
  if (fileSystem) {
    const bytes = Math.min(fileSystem.blockBytes, fileSystem.sectorBytes ?? fileSystem.blockBytes);
    limit(largestDividing(bytes), `the file system on it works in ${requestSize(bytes)}`);
  }
  const bytes = dataBytes ?? disk.bytes;
  if (bytes !== undefined && bytes % LARGEST !== 0) {
    const rest = bytes % LARGEST;
    limit(
      largestDividing(bytes),
      `the data has ${bytes} bytes, ${rest} more than a multiple of ${LARGEST}; with ${bytes - rest} bytes it could have ${LARGEST}`,
    );
  }
  return Math.max(most, disk.logicalBytes ?? 512);
}

const largestDividing = (bytes: number): number =>
  SECTOR_BYTES.toReversed().find((size) => bytes % size === 0) ?? 512;

function bestLine(rows: readonly Row[], { cpus = 1, cpuAes }: Circumstances, reasons: string[]): Row {
  const of = (take: (line: DiskLine) => boolean): Row | undefined =>
    withKey(rows.filter(({ line }) => take(line)));
  const rate = (row: Row | undefined): number => (row && rateOf(row)) ?? 0;
  const xts = of((line) => line.mode === 'xts' && isAes(line))!;
  const cbc = of((line) => line.mode === 'cbc' && isAes(line));
  const adiantum = rows
    .filter(({ line }) => line.mode === 'adiantum' && rate(xts) > 0)
    .sort((a, b) => rate(b) - rate(a))[0];
  let best = xts;
  if (cbc && rate(cbc) > 0 && rate(xts) > 0 && cbc.hardware === 'yes') {
    const ratio = rate(cbc) / rate(xts);
    // XTS on the CPU may have all of its cores, an engine is one.
    const cores = xts.hardware === 'yes' ? 1 : cpus;
    if (ratio >= WORTH_ANOTHER_MODE && ratio >= cores) best = cbc;
    if (ratio > 1.1) {
      const figures = `CBC by ${cbc.kernelDriver} does ${megabytesPerSecond(rate(cbc))}, XTS ${megabytesPerSecond(rate(xts))}${
        cores > 1 ? ` on each of ${cores} cores` : ''
      }`;
      reasons.push(
        best === cbc
          ? `CBC with ESSIV, not XTS: ${figures}`
          : `XTS, not CBC: ${figures}, which is not enough for the weaker mode; where the CPU has other work it may be`,
      );
    }
  } else if (cbc?.hardware === 'yes' && rate(cbc) > 0 && rate(xts) === 0) {
    reasons.push(
      `CBC by ${cbc.kernelDriver} does ${megabytesPerSecond(rate(cbc))}, and XTS was not measured: measure it before you decide`,
    );
  }
  if (adiantum && rate(adiantum) >= WORTH_ANOTHER_MODE * rate(best)) {
    best = adiantum;
    reasons.push(
      `Adiantum: ${megabytesPerSecond(rate(adiantum))} against ${megabytesPerSecond(rate(xts))} for AES, without instructions or an engine for either`,
    );
  }
  if (rate(best) === 0) {
    reasons.push('nothing here was measured: this is what suits most machines, and is safe on all');
  } else if (best === xts && best.hardware !== 'yes' && (cpuAes || rate(xts) >= FAST)) {
    reasons.push(
      `the CPU does ${megabytesPerSecond(rate(xts))} on one core by itself: an engine is not needed`,
    );
  }
  if (best.mode === 'xts' || best.mode === 'cbc') reasons.push(keyReason(best, rows));
  return best;
}

const aesBits = ({ mode, keyBits }: Pick<DiskLine, 'mode' | 'keyBits'>): number =>
  mode === 'xts' ? keyBits / 2 : keyBits;

/** AES-256 unless that costs much where speed is short. */
function withKey(rows: readonly Row[]): Row | undefined {
  const [short, long] = [
    rows.find(({ line }) => aesBits(line) === 128),
    rows.find(({ line }) => aesBits(line) === 256),
  ];
  const [fast, slow] = [short && rateOf(short), long && rateOf(long)];
  if (!short || !long) return short ?? long;
  if (fast === undefined || slow === undefined)
    return slow === undefined && fast !== undefined ? short : long;
  return slow >= FAST || fast < slow * WORTH_SHORTER_KEY ? long : short;
}

function keyReason(row: Row, rows: readonly Row[]): string {
  const other = rows.find(({ cipher, keyBits }) => cipher === row.cipher && keyBits !== row.keyBits);
  const [own, rate] = [rateOf(row), other && rateOf(other)];
  const doubled =
    row.mode === 'xts' ? `; XTS takes two keys, so ${row.keyBits} bits are AES-${aesBits(row)}` : '';
  if (aesBits(row) === 256) {
    return own !== undefined && rate !== undefined
      ? `a key of 256 bits: one of 128 would be ${rate <= own ? 'no' : `${Math.round((rate / own - 1) * 100)} %`} faster${doubled}`
      : `a key of 256 bits${doubled}`;
  }
  return own !== undefined && rate !== undefined
    ? `a key of 128 bits, which nobody can guess: one of 256 costs ${Math.round((1 - rate / own) * 100)} % of the speed${doubled}`
    : `a key of 128 bits, since 256 were not measured${doubled}`;
}
