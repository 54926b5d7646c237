/**
 * The figures of one run of `openssl speed`, worked out from what its lines say: which divisor, which sizes, which engine, and how far each
 * number may be trusted.
 */
import type { Basis, Doubt, EngineUse, Measurement, Run, SkippedLine } from '../bench/model.js';
import type { Command, CommandOptions } from './command.js';
import { keyBitsOf, opensslAlgorithm, operationOf, squeeze } from './names.js';
import { type At, type Draft, rowKey } from './openssl-draft.js';
import type { Cell, DoingLine, HwcryptMark, MrLine, RowLine } from './openssl-lines.js';
import { doubt, type Page, present } from './page.js';
import { redact } from './redact.js';
import { rowCpu } from './sbc-bench.js';

/** What 1.1.0 and later measure, and what -aead does. 1.0 stops at 8192. */
const SIZES = [16, 64, 256, 1024, 8192, 16384];
const AEAD_SIZES = [2, 31, 136, 1024, 8192, 16384];

/** A figure shorter than this share of the nominal time is no jitter: the process slept. */
const CPU_SHARE = 0.9;
/** The same where the tool itself said that it takes the clock on the wall: on a slow machine its first second may be short. */
const CPU_SHARE_AGAINST_ITS_WORD = 0.5;
/** Times are printed to hundredths of a second. */
const HALF_TICK = 0.005;

/** One figure of a run before its doubts. */
interface Figure {
  readonly at: number;
  readonly prefix?: string | undefined;
  readonly name: string;
  readonly size?: number | undefined;
  readonly cell?: Cell | { readonly rate: number | null };
  readonly doing?: DoingLine | undefined;
  readonly parallel?: number | undefined;
  readonly repetition?: number | undefined;
  readonly cpu?: string | undefined;
  readonly doubts: readonly Doubt[];
}

/** sbc-bench's own command: `openssl speed -elapsed -evp …`. */
const SBC_OPTIONS: CommandOptions = { algorithms: [], elapsed: true, decrypt: false, aead: false };

/** Options that all command lines of a run agree on. */
function agreed(commands: readonly Command[]): CommandOptions | undefined {
  const [first, ...others] = commands.map(({ options }) => options);
  if (!first) return undefined;
  if (others.length === 0) return first;
  const same = (key: 'evp' | 'engine' | 'multi' | 'jobs' | 'bytes'): Partial<CommandOptions> =>
    first[key] !== undefined && others.every((other) => other[key] === first[key])
      ? { [key]: first[key] }
      : {};
  return {
    algorithms: [],
    elapsed: [first, ...others].every(({ elapsed }) => elapsed),
    decrypt: [first, ...others].every(({ decrypt }) => decrypt),
    aead: [first, ...others].every(({ aead }) => aead),
    ...same('evp'),
    ...same('engine'),
    ...same('multi'),
    ...same('jobs'),
    ...same('bytes'),
  };
}

/** What the words of a run say about its divisor, and whether its counts prove them wrong. */
function basisOf(
  draft: Draft,
  options: CommandOptions | undefined,
): { basis: Basis; slept: DoingLine | undefined } {
  const timed = draft.doings
    .map(({ value }) => value)
    .filter(({ nominalSeconds }) => nominalSeconds !== undefined);
  // hwcrypt's rounds may end early where a request takes longer than all of them should; its clock is still the wall's.
  const slept = draft.mark
    ? undefined
    : timed.find(
        ({ seconds, nominalSeconds }) =>
          seconds < nominalSeconds! * (draft.elapsed ? CPU_SHARE_AGAINST_ITS_WORD : CPU_SHARE),
      );
  if (slept) return { basis: 'cpu', slept };
  if (draft.elapsed || options?.elapsed || draft.sbc || parallelOf(draft, options) !== undefined) {
    return { basis: 'elapsed', slept };
  }
  if (timed.some(({ seconds, nominalSeconds }) => seconds < nominalSeconds! - HALF_TICK))
    return { basis: 'cpu', slept };
  // A command line without -elapsed, which the tool obeys.
  if (
    draft.commands.length > 0 &&
    draft.commands.every(({ strict, options: own }) => strict && !own.elapsed)
  ) {
    return { basis: 'cpu', slept };
  }
  return { basis: 'unknown', slept };
}

function parallelOf(draft: Draft, options: CommandOptions | undefined): number | undefined {
  return options?.multi ?? (draft.forked > 0 ? draft.forked : undefined);
}

function engineOf(draft: Draft, options: CommandOptions | undefined): EngineUse | undefined {
  const fromErrors = draft.engineErrors
    .map((line) => /\bid=(\w{1,40})/.exec(line)?.[1])
    .find((id) => id !== undefined);
  const requested = draft.engineInvalid ?? draft.engineSet ?? options?.engine ?? fromErrors;
  if (requested === undefined) return undefined;
  const major = Number.parseInt(draft.version ?? '', 10);
  if (draft.engineInvalid !== undefined || (draft.engineSet === undefined && fromErrors !== undefined)) {
    return { requested, loaded: 'no', reason: engineReason(draft.engineErrors) };
  }
  if (draft.engineSet !== undefined) return { requested, loaded: 'yes' };
  if (major >= 4) return { requested, loaded: 'no', reason: 'OpenSSL 4.0 and later have no engines' };
  return { requested, loaded: 'unconfirmed' };
}

/** From OpenSSL's error stack. Its last lines are a second attempt by another name, and mislead. */
function engineReason(errors: readonly string[]): string {
  const all = errors.join('\n');
  if (/init failed/.test(all)) {
    return /e_afalg\.c/.test(all)
      ? "the engine's module is there, but its self-check failed: the kernel is too old or has no AF_ALG"
      : "the engine's module is there, but its self-check failed";
  }
  if (/could not load the shared library/.test(all))
    return "the engine's module is not there: not installed, or not built";
  return 'no reason is given';
}

/** The driver that stands behind an engine's name. */
const ENGINE_DRIVERS: Readonly<Record<string, string>> = {
  afalg: 'afalg',
  devcrypto: 'cryptodev',
  cryptodev: 'cryptodev',
};

export function runsOf(page: Page, draft: Draft, skipped: SkippedLine[]): Run[] {
  const options = draft.sbc ? SBC_OPTIONS : agreed(draft.commands);
  const { basis, slept } = basisOf(draft, options);
  const engine = engineOf(draft, options);
  const parallel = parallelOf(draft, options);
  const notes: string[] = [];
  const runDoubts = doubtsOfRun(draft, basis, slept, engine);
  const figures = figuresOf(page, draft, options, parallel, skipped, notes);
  const allFromCounts = figures.length > 0 && figures.every(({ cell }) => cell === undefined);
  if (allFromCounts) {
    runDoubts.push(doubt('FROM_COUNTS', 'no printed figures: count × size over the printed seconds'));
  }
  const common = {
    command: commandOf(draft),
    toolVersion: draft.version,
    engine,
    processes: parallel,
    processTimes: Object.keys(draft.times).length > 0 ? draft.times : undefined,
    machine: Object.keys(draft.facts).length > 0 ? draft.facts : undefined,
    lines: [page.number(draft.first), page.number(draft.last)] as const,
    kdfs: [],
  };
  const context = {
    options,
    basis,
    engine,
    parallel,
    strictOnly: draft.commands.length === 1,
    version: draft.version,
    mark: draft.mark,
    subjects: new Map<string, Subject>(),
  };
  // Rows that begin with words of their own (`SW …`, `AF …`) are what those words tell apart.
  const groups = new Map<string, Measurement[]>();
  if (figures.length === 0) groups.set('', []);
  for (const figure of figures) {
    const measurement = measurementOf(page, figure, context);
    const own = groups.get(figure.prefix ?? '');
    if (own) own.push(measurement);
    else groups.set(figure.prefix ?? '', [measurement]);
  }
  return [...groups].map(([prefix, measurements], index) =>
    present<Run>({
      label: labelOf(draft, redact(prefix, 60), measurements),
      ...common,
      measurements,
      doubts: [...runDoubts, ...operationDoubt(options, measurements)],
      notes: index === 0 ? notes : [],
    }),
  );
}

function commandOf({ commands }: Draft): string | undefined {
  if (commands.length === 0) return undefined;
  return commands
    .map(({ text }) => text)
    .join('; ')
    .slice(0, 600);
}

function labelOf(draft: Draft, prefix: string, measurements: readonly Measurement[]): string {
  if (prefix !== '') return prefix;
  const names = [...new Set(measurements.map(({ algorithmText }) => algorithmText))].slice(0, 3).join(', ');
  return (
    draft.heading ?? draft.cluster ?? draft.commands.at(-1)?.text ?? (names === '' ? 'openssl speed' : names)
  );
}

function operationDoubt(options: CommandOptions | undefined, measurements: readonly Measurement[]): Doubt[] {
  if (options !== undefined || !measurements.some(({ operation }) => operation === undefined)) return [];
  return [doubt('OPERATION_UNKNOWN', 'no command line is shown; with -decrypt the output looks the same')];
}

function doubtsOfRun(
  draft: Draft,
  basis: Basis,
  slept: DoingLine | undefined,
  engine: EngineUse | undefined,
): Doubt[] {
  const out: Doubt[] = [];
  if (slept) {
    out.push(
      doubt(
        'CPU_TIME_DIVISOR',
        `the printed figures were divided by user CPU time, ${slept.seconds.toFixed(2)} s where ${slept.nominalSeconds} s passed: the process slept while the kernel ` +
          'or an engine worked, or other processes had the CPU. Counts over the nominal seconds give the estimate; -elapsed gives the true figure',
      ),
    );
  } else if (basis === 'cpu' && draft.doings.length === 0) {
    out.push(
      engine && engine.loaded !== 'no'
        ? doubt(
            'CPU_TIME_NO_COUNTS',
            'without -elapsed the figures are divided by user CPU time, of which an engine needs little; without the `Doing …` lines no true figure can be given',
          )
        : doubt(
            'CPU_TIME_DIVISOR',
            'without -elapsed the figures are divided by user CPU time: right for software on an idle machine, and for nothing else',
          ),
    );
  } else if (basis === 'unknown' && draft.doings.length === 0 && draft.hasFigures) {
    out.push(
      doubt('BASIS_UNKNOWN', 'nothing says whether the figures were divided by elapsed or by CPU time'),
    );
  }
  if (engine?.loaded === 'no') {
    out.push(
      doubt(
        'ENGINE_NOT_LOADED',
        `the engine "${engine.requested}" was not loaded (${engine.reason}): what is measured is OpenSSL on the CPU`,
      ),
    );
  }
  if (engine?.loaded === 'unconfirmed') {
    out.push(
      doubt(
        'ENGINE_UNCONFIRMED',
        `the engine "${engine.requested}" was asked for; no line says that it was loaded`,
      ),
    );
  }
  const complete = draft.isBeside || draft.hasTable || draft.children.length > 0;
  if (draft.cut || (!complete && draft.doings.length > 0)) {
    out.push(
      doubt(
        'TRUNCATED',
        draft.hasTable
          ? 'the text has a hole among its counts'
          : draft.headerSeen
            ? 'the text ends between the header and the table'
            : 'the text ends before the table',
      ),
    );
  }
  return out;
}

/** Counts and announcements of a run by name and size. */
class Counts {
  readonly all: readonly At<DoingLine>[];
  readonly #byName = new Map<string, Map<number, DoingLine>>();
  readonly #announced = new Map<string, Set<number>>();
  readonly #used = new Set<DoingLine>();

  constructor(draft: Draft, parallel: number | undefined) {
    this.all = summed(draft.doings, parallel);
    for (const { value } of this.all) {
      const key = squeeze(value.name);
      const own = this.#byName.get(key) ?? new Map<number, DoingLine>();
      if (!own.has(value.size)) own.set(value.size, value);
      this.#byName.set(key, own);
    }
    for (const { value } of [...draft.starts, ...draft.doings]) {
      const key = squeeze(value.name);
      this.#announced.set(key, (this.#announced.get(key) ?? new Set()).add(value.size));
    }
  }

  /** `evp` in a table is whatever was counted, if that is one thing. */
  #key(name: string): string {
    const key = squeeze(name);
    const [only] = this.#announced.keys();
    return key === 'evp' && this.#announced.size === 1 && only !== undefined ? only : key;
  }

  find(name: string, size: number | undefined): DoingLine | undefined {
    return size === undefined ? undefined : this.#byName.get(this.#key(name))?.get(size);
  }

  /** The counts behind a printed figure, which are then no figure of their own. */
  take(name: string, size: number | undefined): DoingLine | undefined {
    const found = this.find(name, size);
    if (found) this.#used.add(found);
    return found;
  }

  sizes(name: string): number[] {
    return [...(this.#announced.get(this.#key(name)) ?? [])];
  }

  /** What no printed figure took. */
  rest(): At<DoingLine>[] {
    return this.all.filter(({ value }) => !this.#used.has(value));
  }
}

/** Sizes of a row's columns, and how they are known. */
function sizesOf(
  draft: Draft,
  counts: Counts,
  row: RowLine,
  options: CommandOptions | undefined,
): { sizes: readonly number[]; doubts: Doubt[] } {
  const n = row.cells.length;
  if (draft.sizes && draft.sizes.length >= n) return { sizes: draft.sizes, doubts: [] };
  const own = counts.sizes(row.name ?? 'evp');
  if (own.length === n) return { sizes: own, doubts: [] };
  if (options?.bytes !== undefined && n === 1) return { sizes: [options.bytes], doubts: [] };
  if (options?.aead && n === AEAD_SIZES.length) {
    return {
      sizes: AEAD_SIZES,
      doubts: [doubt('SIZES_ASSUMED', 'no header: the sizes are the usual ones of -aead')],
    };
  }
  if (n === 6 || n === 5) {
    const usual = SIZES.slice(0, n);
    return {
      sizes: usual,
      doubts: [
        doubt(
          'SIZES_ASSUMED',
          `no header: the sizes are the usual ones of ${n} columns, ${usual.join(', ')}`,
        ),
      ],
    };
  }
  return {
    sizes: [],
    doubts: [doubt('SIZE_UNKNOWN', 'no header, and not a number of columns that tells the sizes')],
  };
}

function figuresOf(
  page: Page,
  draft: Draft,
  options: CommandOptions | undefined,
  parallel: number | undefined,
  skipped: SkippedLine[],
  notes: string[],
): Figure[] {
  const counts = new Counts(draft, parallel);
  const evp = evpName(draft, options);
  const out: Figure[] = [];
  const totals = new Map<string, number>();
  for (const { value } of draft.rows) totals.set(rowKey(value), (totals.get(rowKey(value)) ?? 0) + 1);
  /** Names with several rows: which of them their counts belong to is not known. */
  const ambiguous = new Set(
    draft.rows
      .filter(({ value }) => totals.get(rowKey(value))! > 1)
      .map(({ value }) => squeeze(value.name ?? '')),
  );
  const seen = new Map<string, number>();
  for (const { at, value: row } of draft.rows) {
    const key = rowKey(row);
    const total = totals.get(key)!;
    const repetition = (seen.get(key) ?? 0) + 1;
    seen.set(key, repetition);
    const { sizes, doubts } = sizesOf(draft, counts, row, options);
    const name = isEvp(row.name) ? evp : row.name!;
    const shared = [...doubts];
    const cpu = draft.sbc ? (rowCpu(row.rest) ?? draft.cluster) : undefined;
    if (total > 1) shared.push(repeatedDoubt(total, draft, cpu));
    if (row.rest !== '' && rowCpu(row.rest) === undefined)
      notes.push(`${redact(row.name ?? '', 40)}: ${redact(row.rest, 80)}`);
    if (draft.sizes !== undefined && row.cells.length < draft.sizes.length) {
      const reason = `row incomplete: ${row.cells.length} of ${draft.sizes.length} columns`;
      skipped.push({ line: page.number(at), reason, text: redact(page.text(at)) });
      shared.push(doubt('ROW_INCOMPLETE', `${reason}; the values are taken for the first ones, in order`));
    }
    for (const [column, cell] of withUnits(row.cells, sizes, (size) => counts.find(name, size)).entries()) {
      const size = sizes[column];
      out.push({
        at,
        name,
        cell,
        prefix: row.prefix,
        size,
        doing: ambiguous.has(squeeze(row.name ?? '')) ? undefined : counts.take(name, size),
        parallel,
        cpu,
        repetition: total > 1 ? repetition : undefined,
        doubts: cell.assumed
          ? [
              ...shared,
              doubt(
                'UNIT_ASSUMED',
                'the value has no k, but fits its counts or the values beside it only with one',
              ),
            ]
          : shared,
      });
    }
    const missing =
      draft.doings.length > 0 ? sizes.filter((size) => counts.find(name, size) === undefined) : [];
    if (missing.length > 0 && missing.length < sizes.length) {
      notes.push(`the \`Doing …\` lines of ${redact(name, 40)} for ${missing.join(', ')} bytes are missing`);
    }
  }

  for (const { at, value } of draft.hasTable ? draft.rates : sumOfChildren(draft)) {
    const own = counts.sizes(value.name);
    const sizes = draft.sizes ?? (own.length === value.rates.length ? own : []);
    const doubts: Doubt[] = [];
    if (draft.sizes && value.rates.length < draft.sizes.length) {
      const reason = `row incomplete: ${value.rates.length} of ${draft.sizes.length} columns`;
      skipped.push({ line: page.number(at), reason, text: redact(page.text(at)) });
      doubts.push(doubt('ROW_INCOMPLETE', `${reason}; the values are taken for the first ones, in order`));
    }
    for (const [column, rate] of value.rates.entries()) {
      const size = sizes[column];
      out.push({
        at,
        name: value.name,
        cell: { rate },
        size,
        doing: counts.take(value.name, size),
        parallel,
        doubts:
          size === undefined
            ? [...doubts, doubt('SIZE_UNKNOWN', 'the line with the sizes (+H) is missing')]
            : doubts,
      });
    }
  }

  for (const { at, value } of counts.rest()) {
    if (ambiguous.has(squeeze(value.name))) continue;
    out.push({
      at,
      name: value.name,
      size: value.size,
      doing: value,
      parallel,
      doubts: [],
    });
  }
  return out;
}

/**
 * Up to 10 000 bytes a second the tool prints bytes and no `k`; a copy may also have lost a `k`, or been cut before it. Counts decide; without
 * them the values beside it do, since from one size to a larger one the rate grows at most as the size does, and falls by little.
 */
function withUnits(
  cells: readonly Cell[],
  sizes: readonly number[],
  counted: (size: number | undefined) => DoingLine | undefined,
): (Cell & { assumed: boolean })[] {
  const withUnit = cells.flatMap(({ thousands, rate }, column) =>
    thousands && rate ? [{ column, rate }] : [],
  );
  return cells.map((cell, column) => {
    const { rate } = cell;
    if (cell.thousands || !rate || withUnit.length === 0) return { ...cell, assumed: false };
    const doing = counted(sizes[column]);
    const byCounts = doing && doing.seconds > 0 ? (doing.count * doing.size) / doing.seconds : undefined;
    const fits = (candidate: number): boolean =>
      byCounts !== undefined
        ? Math.abs(candidate - byCounts) < 0.1 * byCounts
        : withUnit.every((other) => isPlausible({ column, rate: candidate }, other, sizes));
    const assumed = rate > 10_000 ? byCounts === undefined || !fits(rate) : fits(rate * 1000) && !fits(rate);
    return assumed ? { ...cell, rate: rate * 1000, assumed } : { ...cell, assumed };
  });
}

interface Point {
  readonly column: number;
  readonly rate: number;
}

function isPlausible(a: Point, b: Point, sizes: readonly number[]): boolean {
  const [small, large] = a.column < b.column ? [a, b] : [b, a];
  // Usual sizes grow fourfold, or eightfold.
  const growth = (sizes[large.column] ?? 8 ** large.column) / (sizes[small.column] ?? 8 ** small.column);
  return large.rate <= small.rate * growth * 1.5 && large.rate >= small.rate / 20;
}

/** With -multi every child counts for itself: the counts of one name and size are added, over the longest of their times. */
function summed(doings: readonly At<DoingLine>[], parallel: number | undefined): At<DoingLine>[] {
  if (parallel === undefined) return [...doings];
  const out = new Map<string, At<DoingLine>>();
  for (const { at, value } of doings) {
    const key = `${squeeze(value.name)}\u0000${value.size}`;
    const other = out.get(key);
    out.set(key, {
      at: other?.at ?? at,
      value: other
        ? {
            ...value,
            count: other.value.count + value.count,
            seconds: Math.max(other.value.seconds, value.seconds),
          }
        : value,
    });
  }
  return [...out.values()];
}

/** The text ended before the sum, or a filter kept only the children. */
function sumOfChildren(draft: Draft): At<Extract<MrLine, { kind: 'rates' }>>[] {
  const out = new Map<string, At<Extract<MrLine, { kind: 'rates' }>>>();
  for (const { at, value } of draft.children) {
    const other = out.get(value.name);
    const rates = value.rates.map((rate, column) => {
      const before = other?.value.rates[column];
      return other === undefined ? rate : rate === null || typeof before !== 'number' ? null : rate + before;
    });
    out.set(value.name, { at: other?.at ?? at, value: { ...value, rates } });
  }
  return [...out.values()];
}

/** What `evp` stands for, which is what 1.x calls whatever -evp measures: the one name among the counts, or the command line's. */
function evpName(draft: Draft, options: CommandOptions | undefined): string {
  const names = new Set([...draft.doings, ...draft.starts, ...draft.children].map(({ value }) => value.name));
  const [only] = names;
  return names.size === 1 && only !== undefined && only.toLowerCase() !== 'evp'
    ? only
    : (options?.evp ?? 'evp');
}

function isEvp(name: string | undefined): boolean {
  return name === undefined || name.toLowerCase() === 'evp';
}

function repeatedDoubt(times: number, draft: Draft, cpu: string | undefined): Doubt {
  const where = /twice/.test(draft.cluster ?? '')
    ? 'measured twice on one cluster'
    : 'probably different CPU clusters';
  return doubt(
    'REPEATED_ROW',
    `${times} rows of this name: ${cpu !== undefined && draft.cluster === undefined ? 'one for each CPU named' : where}`,
  );
}

interface FigureContext {
  readonly options: CommandOptions | undefined;
  readonly basis: Basis;
  readonly engine: EngineUse | undefined;
  readonly parallel: number | undefined;
  readonly strictOnly: boolean;
  readonly version: string | undefined;
  readonly mark: HwcryptMark | undefined;
  readonly subjects: Map<string, Subject>;
}

/** What is the same for all figures of a name in a run. */
interface Subject {
  readonly parts: Pick<
    Measurement,
    'algorithm' | 'algorithmText' | 'keyBits' | 'operation' | 'driver' | 'kernelDriver' | 'engine'
  >;
  readonly engine: string | undefined;
  readonly isNotEvp: boolean;
  readonly doubts: readonly Doubt[];
}

function subjectOf(name: string, context: FigureContext): Subject {
  const known = context.subjects.get(name);
  if (known) return known;
  const { options, mark } = context;
  const algorithm = opensslAlgorithm(name);
  const doubts: Doubt[] = [];
  if (!algorithm) {
    doubts.push(
      isEvp(name)
        ? doubt(
            'ALGORITHM_UNKNOWN',
            '`evp` is what 1.x calls anything that -evp measures; no command line names it',
          )
        : doubt('ALGORITHM_UNKNOWN', 'no algorithm of this name in the table'),
    );
  }
  // hwcrypt has no other way than EVP.
  const notEvp = mark || options?.own ? undefined : isNotEvp(name, context);
  if (notEvp !== undefined) doubts.push(doubt('NOT_EVP', notEvp));
  const isCipher = algorithm === undefined || algorithm.kind === 'cipher' || algorithm.kind === 'aead';
  const operation =
    operationOf(algorithm) ??
    (isCipher ? (options ? (options.decrypt ? 'decrypt' : 'encrypt') : mark?.operation) : undefined);
  const engine =
    context.engine && context.engine.loaded !== 'no' && notEvp === undefined
      ? context.engine.requested
      : undefined;
  const subject: Subject = {
    parts: present<Subject['parts']>({
      algorithm: algorithm?.name,
      algorithmText: redact(name, 60),
      keyBits: keyBitsOf(algorithm),
      operation,
      driver: engine !== undefined ? ENGINE_DRIVERS[engine.toLowerCase()] : mark?.driver,
      kernelDriver: mark?.kernelDriver,
      engine,
    }),
    engine,
    isNotEvp: notEvp !== undefined,
    doubts,
  };
  context.subjects.set(name, subject);
  return subject;
}

function measurementOf(page: Page, figure: Figure, context: FigureContext): Measurement {
  const { size, cell, doing } = figure;
  const { basis } = context;
  const subject = subjectOf(figure.name, context);
  const doubts = [...figure.doubts, ...subject.doubts];
  const nominal = doing?.nominalSeconds;
  const isOverNominal = doing !== undefined && nominal !== undefined && basis === 'cpu';
  const byCounts = doing
    ? doing.seconds > 0
      ? (doing.count * doing.size) / doing.seconds
      : null
    : undefined;
  const claimed = cell ? cell.rate : byCounts;
  const failed = claimed === 0 || doing?.count === 0;
  const estimate = isOverNominal ? (doing.count * doing.size) / nominal : undefined;
  const rate = failed ? undefined : rateOf(context, claimed, estimate, subject.isNotEvp);

  if (
    cell &&
    typeof byCounts === 'number' &&
    typeof cell.rate === 'number' &&
    figure.parallel === undefined &&
    cell.rate > 0
  ) {
    const off = Math.abs(byCounts - cell.rate) / cell.rate;
    if (off > 0.01 + HALF_TICK / doing!.seconds) {
      doubts.push(
        doubt('CLAIM_MISMATCH', 'the printed figure and its own count and seconds differ', byCounts),
      );
    }
  }
  if (!cell && doing)
    doubts.push(doubt('FROM_COUNTS', 'no printed figure: count × size over the printed seconds'));
  if (isOverNominal && doing.seconds < nominal * CPU_SHARE) {
    doubts.push(
      doubt(
        'CPU_TIME_DIVISOR',
        doing.seconds > 0
          ? `divided by ${doing.seconds.toFixed(2)} s of user CPU time where ${nominal} s passed: ${times(nominal / doing.seconds)} too high`
          : `divided by 0.00 s of user CPU time where ${nominal} s passed: endlessly too high`,
      ),
    );
  }

  // With an unknown basis the printed seconds are the nominal ones, which passed in any case.
  const elapsedSeconds = isOverNominal ? nominal : basis === 'cpu' ? undefined : doing?.seconds;
  return present<Measurement>({
    ...subject.parts,
    cpu: figure.cpu,
    requestBytes: size,
    requests: doing?.count,
    elapsedNs: elapsedSeconds !== undefined ? Math.round(elapsedSeconds * 1e9) : undefined,
    userNs: basis === 'cpu' && doing ? Math.round(doing.seconds * 1e9) : undefined,
    parallel: inFlight(figure.parallel, context.options?.jobs),
    repetition: figure.repetition,
    bytesPerSecond: rate,
    claimedBytesPerSecond: claimed,
    basis,
    status: failed ? 'failed' : 'ok',
    estimated: rate !== undefined && rate === estimate,
    doubts,
    line: page.number(figure.at),
  });
}

/** Processes, and requests that each has in flight. */
function inFlight(processes: number | undefined, jobs: number | undefined): number | undefined {
  return processes === undefined && jobs === undefined
    ? undefined
    : (processes ?? 1) * Math.max(1, jobs ?? 1);
}

/** The figure by elapsed time, or none where none can be known. */
function rateOf(
  { basis, engine }: FigureContext,
  claimed: number | null | undefined,
  estimate: number | undefined,
  isSoftware: boolean,
): number | undefined {
  if (estimate !== undefined) return estimate;
  if (typeof claimed !== 'number') return undefined;
  // CPU time is the elapsed time of software that has a CPU to itself, and nothing of the sort for an engine.
  if (basis === 'cpu' && engine && engine.loaded !== 'no' && !isSoftware) return undefined;
  return claimed;
}

/**
 * Measured by the low-level functions that 1.x has beside EVP? Its names for those have a blank (`aes-128 cbc`); else a command line without
 * -evp says so; else, in 3.x, a cipher in lower case, since -evp prints it in upper case there.
 */
function isNotEvp(name: string, { options, strictOnly, version }: FigureContext): string | undefined {
  const consequence = 'OpenSSL’s own code was measured, and no engine can stand behind it';
  const algorithm = opensslAlgorithm(name);
  if (algorithm === undefined) return undefined;
  if (/^(?:aes|camellia|des|idea|seed|rc2|rc4|rc5|blowfish|cast)[-\w/]* (?:cbc|ige|ede3)$/.test(name)) {
    return `the name has a blank, as without -evp: ${consequence}`;
  }
  // -evp takes one name; what else is on the command line is measured without it.
  const isExtra =
    options?.evp !== undefined &&
    squeeze(options.evp) !== squeeze(name) &&
    options.algorithms.some((own) => squeeze(own) === squeeze(name));
  if (strictOnly && isExtra) return `on the command line the name is not -evp's: ${consequence}`;
  if (strictOnly && options && options.evp === undefined && !options.aead && options.algorithms.length > 0) {
    return `the command line has no -evp: ${consequence}`;
  }
  if (/^[3-9]\./.test(version ?? '') && /^aes-\d{3}-cbc$/.test(name)) {
    return options?.evp === undefined
      ? `3.x prints this name in lower case without -evp: ${consequence}`
      : undefined;
  }
  return undefined;
}

function times(factor: number): string {
  return `${factor < 10 ? factor.toFixed(1) : Math.round(factor)} times`;
}
