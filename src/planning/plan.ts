/** The plan: rows with figures, what is recommended, what is there now, the commands, what to beware of. Pure; nothing is run or read. */
import { derive } from '../doctor/case.js';
import type { Facts } from '../doctor/facts/index.js';
import { kernelMayBe } from '../doctor/facts/machine.js';
import { megabytesPerSecond } from '../doctor/facts/results.js';
import { type Caveat, caveatsOf } from './caveats.js';
import { choiceOf } from './choice.js';
import { PLACEHOLDER, type Step, stepsOf } from './commands.js';
import { type CurrentVolume, currentIn, type DiskFacts, diskIn } from './disk.js';
import { type Figure, figuresOf } from './figures.js';
import { isAes, isWeak, LINES, lineOf } from './lines.js';
import type { Prediction } from './predict.js';
import { recommend, WORTH_REENCRYPTING } from './recommend.js';
import { isCeiling, LARGEST_SECTOR_BYTES, type Row, rateOf, rowsOf, tells } from './rows.js';

export const PLAN_FORMAT = 'hwcrypt-luks-plan';
export const PLAN_VERSION = 1;

export interface PlanRequest {
  readonly facts: Facts;
  /** Beside those of the texts: from this machine's profile. */
  readonly figures?: readonly Figure[];
  /** The facts are this machine's. */
  readonly here: boolean;
  readonly device?: string;
  /** What is known of the device by itself; what is not is looked for in the facts. */
  readonly disk?: DiskFacts;
  /** What is on it; without it, whatever the facts have. */
  readonly current?: CurrentVolume;
  /** What there is to say of where the figures came from, or did not. */
  readonly notes?: readonly string[];
}

export interface Plan {
  readonly format: typeof PLAN_FORMAT;
  readonly version: typeof PLAN_VERSION;
  /** One sentence without its full stop. */
  readonly verdict: string;
  readonly machine: {
    readonly model?: string;
    readonly cpu?: string;
    readonly cpus?: number;
    readonly kernel?: string;
    readonly memoryKiB?: number;
  };
  readonly disk: DiskFacts & { readonly device?: string };
  readonly current?: CurrentVolume & { readonly row?: Row };
  readonly rows: readonly Row[];
  readonly recommended: {
    readonly row: Row;
    readonly byFigures: boolean;
    readonly reasons: readonly string[];
  };
  /** How much faster the best is than what is there now; absent where either is not known. */
  readonly gain?: number;
  /** Of an encrypted disk: is it worth writing all of it anew? */
  readonly reencrypt?: Worth;
  readonly steps: readonly Step[];
  readonly caveats: readonly Caveat[];
  readonly notes: readonly string[];
  readonly sources: readonly string[];
}

const FAST_CPU = 500e6;

export function makePlan(request: PlanRequest): Plan {
  const { facts, here, device = PLACEHOLDER } = request;
  const { machine } = facts;
  const figures = [...figuresOf(facts), ...(request.figures ?? [])];
  const disk: DiskFacts = {
    ...(request.device ? diskIn(facts, request.device) : onlyDisk(facts)),
    ...request.disk,
  };
  const current = request.current ?? currentIn(facts);
  const cpuAes = derive(facts).cpuAes.length > 0;
  const currentLine = current?.cipher === undefined ? undefined : lineOf(current.cipher, current.keyBits);
  const lines = LINES.filter(
    (line) =>
      line.usual || line === currentLine || figures.some(({ algorithm }) => algorithm === line.algorithm),
  );
  const rows = lines.flatMap((line) => rowsOf(line, figures, facts));
  const { row, byFigures, reasons } = recommend(rows, {
    disk,
    ...(current ? { current } : {}),
    ...(machine.cpus === undefined ? {} : { cpus: machine.cpus }),
    cpuAes,
    largeSectors: kernelMayBe(machine, 4, 12),
  });
  const now = rows.find((one) => one.line === currentLine && one.sectorBytes === current?.sectorBytes);
  const [before, after] = [now && rateOf(now), rateOf(row)];
  const gain = before === undefined || after === undefined ? undefined : after / before;
  const encrypted = current !== undefined && current.kind !== 'plain';
  const worth = encrypted ? worthOf(gain, now, row, current) : undefined;
  const worthwhile = worth === 'yes' || worth === 'possible';
  const leave = encrypted && !worthwhile;
  // What stays is what the commands and the marks are about.
  const kept = leave && now ? now : row;
  const common = { row: kept, disk, ...(current ? { current } : {}), device };
  const steps = stepsOf({
    ...common,
    here,
    worthwhile,
    measureFirst: worth === 'possible',
    ...(machine.memoryKiB ? { memoryKiB: machine.memoryKiB.value } : {}),
    ...(machine.cpus === undefined ? {} : { cpus: machine.cpus }),
    fastCpu: kept.hardware !== 'yes' && (rateOf(kept) ?? 0) >= FAST_CPU && kernelMayBe(machine, 5, 9),
  });
  return {
    format: PLAN_FORMAT,
    version: PLAN_VERSION,
    verdict: verdictOf(row, rows, {
      current,
      now,
      gain,
      worth,
      byFigures,
      portable: portableChoice(facts) !== undefined,
    }),
    machine: {
      ...(machine.model ? { model: machine.model.value } : {}),
      ...(machine.cpu ? { cpu: machine.cpu.value } : {}),
      ...(machine.cpus === undefined ? {} : { cpus: machine.cpus }),
      ...(machine.kernel ? { kernel: machine.kernel.value.release } : {}),
      ...(machine.memoryKiB ? { memoryKiB: machine.memoryKiB.value } : {}),
    },
    disk: { ...(request.device === undefined ? {} : { device }), ...disk },
    ...(current ? { current: { ...current, ...(now ? { row: now } : {}) } } : {}),
    rows,
    recommended: {
      row: kept,
      byFigures,
      reasons:
        kept === row
          ? reasons
          : [`what is there stays; the best besides would be ${lineText(row)}, since`, ...reasons],
    },
    ...(worth === undefined ? {} : { reencrypt: worth }),
    ...(gain === undefined ? {} : { gain }),
    steps,
    caveats: caveatsOf({ ...common, rows, machine, cpuAes, worthwhile }),
    notes: [...(request.notes ?? []), ...notesOf(facts, rows, current)],
    sources: facts.sources.map(({ name }) => name),
  };
}

/** Where nobody names a device and there is one disk only, it is that. */
function onlyDisk({ disks }: Facts): DiskFacts | undefined {
  const real = disks.block.filter(({ name }) => !/^(?:loop|ram|zram|dm-|mtdblock|sr|md)/.test(name));
  const [only] = real;
  // Of a disk with partitions the size says nothing of the volume's.
  return only && real.length === 1
    ? { logicalBytes: only.logicalBytes, physicalBytes: only.physicalBytes }
    : undefined;
}

const isBad = (current: CurrentVolume): boolean => current.cipher !== undefined && isWeak(current.cipher);

/** `possible`: by bounds of what either does at most, to be measured first. `unknown`: no figure tells. */
export type Worth = 'yes' | 'possible' | 'no' | 'unknown';

function worthOf(gain: number | undefined, now: Row | undefined, row: Row, current: CurrentVolume): Worth {
  if (now === row) return 'no';
  if (isBad(current)) return 'yes';
  if (gain !== undefined && tellsGain(now, row)) return gain >= WORTH_REENCRYPTING ? 'yes' : 'no';
  // In large sectors a bound is not far from what comes out; in small ones what a request costs may be most of it.
  if (
    gain !== undefined &&
    gain >= WORTH_REENCRYPTING &&
    isCeiling(row) &&
    row.sectorBytes === LARGEST_SECTOR_BYTES
  )
    return 'possible';
  // Without figures that tell: for an engine, whose requests are dear, larger sectors are.
  if (row.hardware === 'yes' && (current.sectorBytes ?? row.sectorBytes) < row.sectorBytes) return 'possible';
  // What does no more than so much is not faster than what does that; and software's requests cost it little.
  const near = tells(now) || (isCeiling(now) && now?.hardware === 'no' && row.hardware === 'no');
  return gain !== undefined && isCeiling(row) && near ? 'no' : 'unknown';
}

/** What is slower than a ceiling is slower than what surpasses that. */
const tellsGain = (now: Row | undefined, row: Row): boolean => tells(row) && (tells(now) || isCeiling(now));

interface Judged {
  readonly current: CurrentVolume | undefined;
  readonly now: Row | undefined;
  readonly gain: number | undefined;
  readonly worth: Worth | undefined;
  readonly byFigures: boolean;
  /** The kernel runs portable C on a CPU with instructions for AES. */
  readonly portable: boolean;
}

function verdictOf(row: Row, rows: readonly Row[], judged: Judged): string {
  const { current, now, gain, worth, byFigures, portable } = judged;
  const line = lineText(row);
  if (!byFigures) {
    return `Nothing here says how fast a disk cipher is on this machine; without figures ${line} is right for most`;
  }
  const speed = rateText(row);
  const by =
    row.hardware === 'yes'
      ? ` by ${row.kernelDriver}`
      : row.hardware === 'no' || (row.read ?? row.write)?.by === 'program'
        ? ' on the CPU'
        : '';
  if (current && current.kind !== 'plain') {
    if (now === row) return `Leave it as it is: ${line} is what suits this machine, ${speed}${by}`;
    // The same bound for both says nothing.
    const than =
      now && rateOf(now) !== undefined && (tells(now) || now.line !== row.line)
        ? ` instead of ${rateText(now)}`
        : '';
    if (worth === 'yes' || worth === 'possible') {
      if (isBad(current))
        return `Re-encrypt it with ${line}: ${current.cipher} gives away what lies on the disk; ${speed}${by}`;
      if (!tellsGain(now, row) && gain !== undefined && gain >= WORTH_REENCRYPTING)
        return `Re-encrypt it with ${line}, if it bears a measurement first: ${speed}${by}${than}, possibly ${gain.toFixed(1)} times as fast; both are bounds, and what a request costs is in neither`;
      if (worth === 'possible')
        return `Re-encrypt it with ${line}: ${speed}${by}${than}; to an engine large requests matter most, how much these figures do not tell`;
      const factor =
        gain === undefined ? '' : `, ${tells(now) ? '' : 'at least '}${gain.toFixed(1)} times as fast`;
      return `Re-encrypt it with ${line}: ${speed}${by}${than}${factor}`;
    }
    if (worth === 'unknown')
      return `Leave it as it is until it was measured: whether ${line} would be faster, these figures do not tell (${speed}${by}${than})`;
    return `Leave it as it is: ${line} would give ${speed}${by}${than}, which is not worth writing everything anew`;
  }
  const [software] = rows
    .filter(
      (one) =>
        one.mode === 'xts' &&
        isAes(one.line) &&
        one.sectorBytes === row.sectorBytes &&
        rateOf(one) !== undefined,
    )
    .sort((a, b) => rateOf(b)! - rateOf(a)!);
  const against = row.mode !== 'xts' && software ? `, against ${rateText(software)} for XTS` : '';
  const fast = row.hardware !== 'yes' && (rateOf(row) ?? 0) >= FAST_CPU;
  const noEngine = !fast
    ? ''
    : portable
      ? ', once the kernel uses its instructions for AES, which it does not now'
      : ': the CPU is fast enough, you need no engine';
  return `Take ${line}: ${speed}${by}${against}${noEngine}`;
}

const lineText = ({ cipher, keyBits, sectorBytes }: Row): string =>
  `${cipher} with a key of ${keyBits} bits in sectors of ${sectorBytes} bytes`;

const BOUNDS: Partial<Readonly<Record<Prediction['certainty'], string>>> = {
  'at-most': 'at most',
  'at-least': 'at least',
};

/** As the row shows them: a mean of the two would be found nowhere. */
function rateText({ read, write }: Row): string {
  const text = ({ bytesPerSecond, certainty }: Prediction): string =>
    `${BOUNDS[certainty] ?? 'some'} ${megabytesPerSecond(bytesPerSecond)}`;
  if (!read || !write) return text((read ?? write)!);
  return text(read) === text(write) ? text(read) : `reading ${text(read)}, writing ${text(write)}`;
}

function notesOf(facts: Facts, rows: readonly Row[], current: CurrentVolume | undefined): string[] {
  const notes: string[] = [];
  const { kernel } = facts;
  if (kernel.entries.length === 0)
    notes.push('who would do the work is not known: the kernel’s list (/proc/crypto) is not among the texts');
  for (const [names, what] of [
    [['xts(aes)'], 'XTS'],
    [['cbc(aes)'], 'CBC'],
  ] as const) {
    const { refused = [], kernelDriver } = choiceOf(facts, names) ?? {};
    if (refused.length > 0)
      notes.push(
        `${refused.join(', ')} has the higher priority for ${what}, but dm-crypt refuses drivers that allocate memory (from Linux 5.9 on) and takes ${kernelDriver}`,
      );
  }
  const portable = portableChoice(facts);
  if (portable !== undefined)
    notes.push(
      `the kernel runs ${portable}, portable C, though the CPU has instructions for AES: load their module first (aesni_intel, aes_ce_blk), and measure again`,
    );
  if ((current?.others ?? 0) > 0)
    notes.push(
      `the texts have more than one encrypted disk; this is about the one of ${current!.from} (--for takes another)`,
    );
  if (rows.every((row) => !row.read && !row.write)) return notes;
  const missing = [...new Set(rows.filter((row) => !row.read && !row.write).map(({ line }) => line))];
  for (const { cipher, keyBits } of missing)
    notes.push(
      `${cipher}, ${keyBits} bits, was not measured: cryptsetup benchmark -c ${cipher.replace(/-(?:plain64|essiv:sha256)$/, '')} -s ${keyBits}`,
    );
  return notes;
}

/** The kernel's AES where it is portable C on a CPU that has instructions for it. */
function portableChoice(facts: Facts): string | undefined {
  const choice = choiceOf(facts, ['xts(aes)', 'cbc(aes)', 'ecb(aes)']);
  return facts.machine.aes?.value && choice?.portable ? choice.kernelDriver : undefined;
}
