/** Every line at every sector size, with what it comes to and who would do it. */
import type { Quote } from '../doctor/facts/document.js';
import type { Facts } from '../doctor/facts/index.js';
import { kernelAtLeast } from '../doctor/facts/machine.js';
import { judgeHardware } from '../drivers/hardware.js';
import { choiceOf, type KernelChoice } from './choice.js';
import type { Figure } from './figures.js';
import type { DiskLine } from './lines.js';
import { callsOf, type Prediction, predictLine } from './predict.js';

/** What LUKS2 may have. */
export const SECTOR_BYTES = [512, 1024, 2048, 4096] as const;
export const LARGEST_SECTOR_BYTES = 4096;

/** A cipher, its key and its sector, with what that comes to. */
export interface Row extends Pick<DiskLine, 'cipher' | 'keyBits' | 'mode' | 'algorithm'> {
  readonly line: DiskLine;
  readonly sectorBytes: number;
  /** Whom dm-crypt would take, where the kernel's list or a figure says. */
  readonly kernelDriver?: string;
  readonly hardware: 'yes' | 'no' | 'unknown';
  /** Only the block cipher is the engine's. */
  readonly partly?: true;
  /** Decrypting, encrypting. Absent where nothing was measured that tells. */
  readonly read?: Prediction;
  readonly write?: Prediction;
}

/** Reading and writing alike: what both take together. */
export function rateOf({ read, write }: Pick<Row, 'read' | 'write'>): number | undefined {
  if (read && write) return 2 / (1 / read.bytesPerSecond + 1 / write.bytesPerSecond);
  return (read ?? write)?.bytesPerSecond;
}

/** Has it figures of this very size, which bounds are not? */
export const tells = (row: Row | undefined): boolean => {
  const known = [row?.read, row?.write].flatMap((one) => (one ? [one.certainty] : []));
  return known.length > 0 && !known.includes('at-most') && !known.includes('at-least');
};

/** Is what is known of it only what it does not surpass? */
export const isCeiling = (row: Row | undefined): boolean => {
  const known = [row?.read, row?.write].flatMap((one) => (one ? [one.certainty] : []));
  return known.includes('at-most') && !known.includes('at-least');
};

export function rowsOf(line: DiskLine, figures: readonly Figure[], facts: Facts): Row[] {
  const { cipher, keyBits, mode, algorithm } = line;
  const choice = choiceOf(facts, line.kernelNames);
  const options = { choice, afalgCutOff: kernelAtLeast(facts.machine, 7, 2), calls: callsOf(figures) };
  return SECTOR_BYTES.map((sectorBytes): Row => {
    const { read, write } = pairOf(figures, (own) => ({
      read: predictLine(own, line, sectorBytes, 'decrypt', options),
      write: predictLine(own, line, sectorBytes, 'encrypt', options),
    }));
    const kernelDriver = choice?.kernelDriver ?? (read ?? write)?.kernelDriver;
    return {
      line,
      cipher,
      keyBits,
      mode,
      algorithm,
      sectorBytes,
      ...(kernelDriver === undefined ? {} : { kernelDriver }),
      ...hardwareOf(choice, kernelDriver),
      ...(read ? { read } : {}),
      ...(write ? { write } : {}),
    };
  });
}

interface Pair {
  readonly read: Prediction | undefined;
  readonly write: Prediction | undefined;
}

/** Both directions from one text, where one has both: of two texts each may be of another machine. */
function pairOf(figures: readonly Figure[], predict: (figures: readonly Figure[]) => Pair): Pair {
  const all = predict(figures);
  const { read, write } = all;
  if (!read || !write || read.quote.source === write.quote.source) return all;
  const single = [read, write]
    .map(({ quote }) => predict(figures.filter((figure) => figure.quote.source === quote.source)))
    .filter((pair) => pair.read && pair.write);
  // What cannot be told is not promised.
  const [pair] = single.sort((a, b) => totalOf(a) - totalOf(b));
  if (!pair) return all;
  const doubted = (one: Prediction | undefined, other: Prediction): Prediction | undefined =>
    one && other.doubt !== undefined ? { ...one, doubt: other.doubt, sureness: 'possible' } : one;
  return { read: doubted(pair.read, read), write: doubted(pair.write, write) };
}

const totalOf = ({ read, write }: Pair): number => (read?.bytesPerSecond ?? 0) + (write?.bytesPerSecond ?? 0);

function hardwareOf(
  choice: KernelChoice | undefined,
  kernelDriver: string | undefined,
): Pick<Row, 'hardware' | 'partly'> {
  if (choice) return { hardware: choice.hardware, ...(choice.partly ? { partly: true as const } : {}) };
  if (kernelDriver === undefined) return { hardware: 'unknown' };
  const { hardware, partly } = judgeHardware({ driver: kernelDriver });
  return { hardware, ...(partly ? { partly } : {}) };
}

/** Where a plan's figures stand: lines of texts, each once, with what is said there. */
export function quotesOf(rows: readonly Row[]): Quote[] {
  const quotes = rows.flatMap(({ read, write }) => [read, write].flatMap((one) => (one ? [one.quote] : [])));
  const places = new Map<string, Quote>();
  for (const quote of quotes) {
    const known = places.get(placeOf(quote));
    const text =
      known && !known.text.includes(quote.text)
        ? `${known.text}; ${quote.text}`
        : (known?.text ?? quote.text);
    places.set(placeOf(quote), { ...quote, text });
  }
  return [...places.values()];
}

/** What was found out live has no line. */
export const placeOf = ({ source, line, text }: Quote): string =>
  line > 0 ? `${source}:${line}` : `${source}: ${text}`;
