/**
 * `openssl speed`, and sbc-bench, which runs it and keeps its rows.
 *
 * The lines are read one by one (`openssl-lines.ts`) and gathered into runs; then each run's figures are worked out. Three things make
 * that more than reading a table:
 *
 * - Without -elapsed the tool divides by user CPU time, which is near zero when an engine does the work. The alarm that ends a step cannot ring
 *   early, so a divisor that is shorter than the nominal seconds was CPU time, and count × size over the nominal seconds is the true rate.
 * - An engine that could not be loaded is a warning and a normal table of the CPU. Such a run is never filed under the engine.
 * - With -multi the children always use the clock on the wall, and print figures of their own (`Got: …`) that are summed.
 */
import type { ResultSet, SkippedLine } from '../bench/model.js';
import { readFacts } from './facts.js';
import { squeeze } from './names.js';
import { Draft, doingKey, rowKey } from './openssl-draft.js';
import { runsOf } from './openssl-figures.js';
import {
  type DoingLine,
  doingStart,
  type HwcryptMark,
  isHeaderPiece,
  isPublicKeyLine,
  isValuesOnly,
  type MrLine,
  type RowLine,
  readBeside,
  readDoing,
  readMark,
  readMr,
  readTable,
} from './openssl-lines.js';
import { type Context, type Page, present, resultSet } from './page.js';
import { redact } from './redact.js';
import { readSbcLine } from './sbc-bench.js';
import { MAX_LINE } from './text.js';
import { readTime } from './time.js';

/** Times are printed to hundredths of a second. */
const HALF_TICK = 0.005;

class Reader {
  readonly drafts: Draft[] = [];
  readonly skipped: SkippedLine[] = [];
  #draft = new Draft();
  /** The last line that belonged to a run: what stands after it may be the next run's heading. */
  #lastContent = -1;
  sbcVersion: string | undefined;
  model: string | undefined;
  publicKey = 0;

  /** What hwcrypt printed is in the text: lines that it alone prints mean something. */
  readonly #own: HwcryptMark | undefined;

  constructor(readonly page: Page) {
    const at = page.lines.findIndex((_, line) => readMark(page.text(line)) !== undefined);
    this.#own = at < 0 ? undefined : readMark(page.text(at));
  }

  read(): void {
    const { page } = this;
    for (let at = 0; at < page.lines.length; at++) {
      if (page.isClaimed(at)) {
        this.#touch(at);
        continue;
      }
      const text = page.text(at).replace(/^[| ]+|[| ]+$/g, '');
      if (text === '') continue;
      if (page.command(at, 'openssl speed')?.strict === true && this.#draft.hasFigures) this.#next();
      at = this.#line(at, text);
    }
    this.#next();
    this.#merge();
  }

  /** Reads the line at an index and returns the index of the last line that went into it. */
  #line(at: number, text: string): number {
    const doing = readDoing(text);
    if (doing === 'open') return this.#openDoing(at);
    if (doing) {
      this.#doing(at, doing);
      return at;
    }
    if (this.#own && this.#beside(at, text)) return at;
    if (this.#sentence(at, text)) return at;
    const mr = readMr(text);
    if (mr) return this.#mr(at, text, mr);
    if (isPublicKeyLine(text)) {
      this.page.claim(at);
      this.publicKey++;
      return at;
    }
    if (this.#boilerplate(at, text)) return at;
    return this.#table(at, text);
  }

  // --- runs ---

  #next(): void {
    if (!this.#draft.isEmpty) this.drafts.push(this.#draft);
    this.#draft = new Draft();
  }

  #context(at: number): Context {
    return this.page.context(this.#lastContent, at, 'openssl speed');
  }

  #touch(at: number): void {
    this.#lastContent = at;
  }

  /** A line of a run: of a new one, if the present one cannot have it. */
  #content(at: number, isNew: boolean, context = this.#context(at)): Draft {
    const { page } = this;
    const quote = page.lines[at]!.quote;
    const draft = this.#draft;
    if (draft.hasFigures && (isNew || quote !== draft.quote)) this.#next();
    // A command line begins a run even where the one before has only its opening lines.
    else if (context.commands.some(({ strict }) => strict) && draft.first >= 0) this.#next();
    const own = this.#draft;
    if (own.first < 0) {
      own.first = at;
      own.quote = quote;
    }
    if (context.commands.length > 0 && (own.commands.length === 0 || context.commands[0]!.strict)) {
      own.commands = [...own.commands.filter(({ strict }) => strict), ...context.commands];
    }
    own.heading ??= context.heading;
    own.last = Math.max(own.last, at);
    page.claim(at);
    this.#touch(at);
    return own;
  }

  /**
   * Standard output may come before standard error, in a file or a paste. Then a table without counts is followed by counts without a table;
   * they are one run if they say the same.
   */
  #merge(): void {
    const out: Draft[] = [];
    for (const counts of this.drafts) {
      const table = out.at(-1);
      if (!table || !isSplit(table, counts)) {
        out.push(counts);
        continue;
      }
      table.doings.push(...counts.doings);
      table.starts.push(...counts.starts);
      table.elapsed ||= counts.elapsed;
      table.engineSet ??= counts.engineSet;
      table.engineInvalid ??= counts.engineInvalid;
      table.engineErrors.push(...counts.engineErrors);
      for (const [label, own] of counts.beside) table.beside.set(label, own);
      table.last = counts.last;
    }
    // A driver's counts are that driver's run, after the table's.
    const all = out.flatMap((draft) => [
      draft,
      ...[...draft.beside.values()].map((own) => this.#apart(own, draft)),
    ]);
    this.drafts.splice(0, this.drafts.length, ...all);
  }

  /** What the table's run says of both. */
  #apart(own: Draft, table: Draft): Draft {
    const { driver, kernelDriver, ...shared } = table.mark ?? this.#own ?? {};
    own.mark = { ...shared, ...own.mark };
    own.version = table.version;
    own.forked = table.forked;
    own.commands = table.commands;
    return own;
  }

  // --- counts ---

  #doing(at: number, value: DoingLine): void {
    const key = doingKey(value);
    const draft = this.#content(at, this.#draft.hasTable || this.#draft.has('doing', key));
    draft.saw('doing', key);
    draft.doings.push({ at, value });
  }

  /** Another driver's counts of the step that was announced last. True if the line is that. */
  #beside(at: number, text: string): boolean {
    const line = readBeside(text);
    const draft = this.#draft;
    const step = draft.doings.at(-1)?.value;
    if (!line || step?.size !== line.size || draft.hasTable) return false;
    const { driver, kernelDriver, ...counts } = line;
    const label = kernelDriver === undefined ? driver : `${driver}:${kernelDriver}`;
    const own = draft.beside.get(label) ?? new Draft();
    draft.beside.set(label, own);
    if (own.first < 0) own.first = at;
    own.last = at;
    own.isBeside = true;
    own.heading = label;
    own.elapsed = true;
    own.mark = { driver, ...(kernelDriver === undefined ? {} : { kernelDriver }) };
    own.doings.push({ at, value: { name: step.name, ...counts } });
    this.page.claim(at);
    this.#touch(at);
    return true;
  }

  /** A `Doing` line that does not end where the line does: wrapped by a terminal or an editor, or broken by a message in its middle. */
  #openDoing(at: number): number {
    const { page } = this;
    let open = page.rawText(at).trimStart();
    const used: number[] = [];
    for (let next = at + 1; next <= at + 4 && next < page.lines.length; next++) {
      const raw = page.rawText(next);
      const piece = raw.trim();
      if (piece.startsWith('Doing ')) break;
      // Cut in the middle of a word, between words, or by a message that came after the colon.
      const start = doingStart(open);
      const joined = [
        open + raw.trimEnd(),
        `${open.trimEnd()} ${piece}`,
        ...(start === undefined ? [] : [start + piece]),
      ].map((candidate) => readDoing(candidate));
      const whole = joined.find((result) => typeof result === 'object');
      if (whole) {
        this.#doing(at, whole);
        for (const index of [...used, next]) page.claim(index);
        this.#touch(next);
        return next;
      }
      // Part of it, if the two still make a beginning; a message between them otherwise.
      if (piece !== '' && joined[0] === 'open' && isPiece(piece)) {
        open = open + raw.trimEnd();
        used.push(next);
      }
    }
    const draft = this.#content(at, this.#draft.hasTable);
    draft.cut = true;
    this.skipped.push(page.skip(at, 'cut off before the count and the seconds'));
    return at;
  }

  // --- -mr ---

  #mr(at: number, text: string, first: MrLine | 'broken'): number {
    const { page } = this;
    let mr = first;
    let end = at;
    const sizes = this.#draft.sizes;
    if (mr === 'broken' || (mr.kind === 'rates' && sizes !== undefined && mr.rates.length < sizes.length)) {
      // Wrapped: its parts are digits, points and colons.
      const next = page.text(at + 1);
      const joined = /^[\d.:]{1,200}$/.test(next) ? readMr(text + next) : undefined;
      if (joined && joined !== 'broken') {
        mr = joined;
        end = at + 1;
        page.claim(end);
      }
    }
    if (mr === 'broken') {
      this.skipped.push(page.skip(at, 'a line of -mr that is not whole'));
      this.#draft.cut = true;
      return at;
    }
    const draft = this.#draft;
    switch (mr.kind) {
      case 'start': {
        this.#content(at, draft.hasTable).announce(at, mr);
        break;
      }
      case 'result': {
        const { name, count, seconds } = mr;
        const start = draft.answer(name);
        if (!start) {
          this.skipped.push(page.skip(at, 'a result (+R) without the line (+DT) that tells its size'));
          break;
        }
        const value = present<DoingLine>({
          name,
          count,
          seconds,
          size: start.size,
          nominalSeconds: start.nominalSeconds,
        });
        this.#content(at, draft.hasTable).doings.push({ at, value });
        break;
      }
      case 'sizes': {
        const own = this.#content(
          at,
          draft.rows.length > 0 || (mr.child === undefined && draft.rates.length > 0),
        );
        own.sizes = mr.sizes;
        if (mr.child !== undefined) own.forked = Math.max(own.forked, mr.child + 1);
        break;
      }
      case 'rates': {
        const value = mr;
        const again = value.child === undefined && draft.has('rates', value.name);
        const own = this.#content(at, again);
        if (value.child === undefined) {
          own.saw('rates', value.name);
          own.rates.push({ at, value });
        } else {
          own.children.push({ at, value });
          own.forked = Math.max(own.forked, value.child + 1);
        }
        break;
      }
    }
    return end;
  }

  // --- table ---

  #table(at: number, text: string): number {
    let table = readTable(text, this.#draft.sizes?.length);
    let end = at;
    if (!table) {
      // A row that is cut within a value is none by itself.
      const columns = this.#draft.sizes?.length;
      const cut =
        /\dk? {1,8}\d+(?:[.,]\d?)?$/.test(text) && columns !== undefined
          ? this.#wholeRow(at, columns)
          : undefined;
      if (!cut) return at;
      table = { rows: [cut.value], open: false };
      end = cut.end;
    }
    if (table.sizes) {
      // A header goes on in the next line where its last size is cut, or where that line is nothing but sizes.
      const whole =
        table.rows.length === 0
          ? this.#wrapped(at, isHeaderPiece, (candidate) => {
              const header = readTable(candidate, undefined);
              return header?.sizes && !header.open && header.sizes.length > table!.sizes!.length
                ? header
                : undefined;
            })
          : undefined;
      if (!whole && table.open) return at;
      if (whole) {
        table = whole.value;
        end = whole.end;
      }
      this.#content(at, this.#draft.rows.length > 0).sizes = table.sizes!;
      this.#claimUpTo(at, end);
    }
    const width = this.#draft.sizes?.length;
    for (const [index, row] of table.rows.entries()) {
      const last = index === table.rows.length - 1;
      const whole = last && end === at ? this.#wrappedRow(at, row, width) : undefined;
      end = whole?.end ?? end;
      if (!this.#row(at, whole?.value ?? row)) return end;
      this.#claimUpTo(at, end);
    }
    return end;
  }

  /** A row that lacks values, or the last value's `k`, and goes on in lines that are nothing but values. */
  #wrappedRow(
    at: number,
    row: RowLine,
    width: number | undefined,
  ): { value: RowLine; end: number } | undefined {
    const isShort = width !== undefined && row.cells.length < width;
    const isCut = row.cells.length > 1 && row.cells.at(-1)!.thousands === false && row.cells[0]!.thousands;
    if ((!isShort && !isCut) || !/^[\d.,']*$/.test(row.rest)) return undefined;
    return this.#wholeRow(at, width ?? row.cells.length);
  }

  #wholeRow(at: number, width: number): { value: RowLine; end: number } | undefined {
    return this.#wrapped(at, isValuesOnly, (candidate) => {
      const rows: readonly RowLine[] = readTable(candidate, width)?.rows ?? [];
      const joined = rows[0];
      const isWhole = joined && rows.length === 1 && joined.rest === '';
      return isWhole && joined.cells.length === width && joined.cells.every(({ thousands }) => thousands)
        ? joined
        : undefined;
    });
  }

  /**
   * Joins a line with the next few as long as those are pieces of its kind. It may have been cut between words or in the middle of one, so both
   * ways are tried at every joint. The last join that reads is the one, since a header reads before its end.
   */
  #wrapped<T>(
    at: number,
    isPiece: (text: string) => boolean,
    read: (candidate: string) => T | undefined,
  ): { value: T; end: number } | undefined {
    const { page } = this;
    let candidates = [page.rawText(at)];
    let found: { value: T; end: number } | undefined;
    for (let next = at + 1; next <= at + 4 && next < page.lines.length; next++) {
      const raw = page.rawText(next).trimEnd();
      if (page.isClaimed(next) || !isPiece(raw.trim())) break;
      candidates = candidates.flatMap((candidate) => [candidate + raw, `${candidate} ${raw}`]);
      for (const candidate of candidates) {
        const value = read(candidate.trim());
        if (value === undefined) continue;
        found = { value, end: next };
        candidates = [candidate];
        break;
      }
    }
    return found;
  }

  #claimUpTo(at: number, end: number): void {
    for (let index = at; index <= end; index++) this.page.claim(index);
    if (end > at) this.#touch(end);
  }

  #row(at: number, row: RowLine): boolean {
    const draft = this.#draft;
    const context = this.#context(at);
    const { heading, commands } = context;
    if (row.name === undefined) {
      // A row without its name can only be what the command measured.
      const all = [...draft.commands, ...commands];
      if (all.length !== 1 || all[0]!.options.evp === undefined) {
        if (draft.sizes && row.cells.length === draft.sizes.length) {
          this.skipped.push(this.page.skip(at, 'values without the name of what was measured'));
        }
        this.#touch(at);
        return false;
      }
    }
    const key = rowKey(row);
    // The same name again under a heading of its own is another run; without one it is a repetition.
    const isNew =
      draft.hasTable && !draft.sbc && heading !== undefined && (draft.has('row', key) || commands.length > 0);
    const { sizes, cluster } = draft;
    const own = this.#content(at, isNew, context);
    if (isNew && own !== draft) {
      own.heading = heading;
      // The header above still names the columns, if no command came between.
      if (commands.length === 0 && sizes) own.sizes = sizes;
    }
    own.cluster ??= cluster;
    own.saw('row', key);
    own.rows.push({ at, value: row });
    return true;
  }

  // --- the rest ---

  /** Sentences and settings around the figures. True if the line was one. */
  #sentence(at: number, text: string): boolean {
    if (text.startsWith('You have chosen to measure elapsed time')) {
      this.#content(at, true).elapsed = true;
      const rest = 'You have chosen to measure elapsed time instead of user CPU time.'
        .slice(text.length)
        .trim();
      if (rest !== '' && this.page.text(at + 1) === rest) this.page.claim(at + 1);
      return true;
    }
    const engine = /^(invalid )?engine "([^"]{1,60})"( set)?/i.exec(text);
    if (engine && (engine[1] ?? engine[3])) {
      const name = redact(engine[2]!, 60);
      const draft = this.#content(at, true);
      if (engine[1]) draft.engineInvalid = name;
      else draft.engineSet = name;
      return true;
    }
    const error = /:error:[0-9a-f]{6,10}:[^:]{0,80}:(.{0,400})$/i.exec(text);
    if (error) {
      if (!/engine|dso|e_\w+\.c/i.test(error[1]! + text)) return false;
      this.#content(at, this.#draft.hasFigures).engineErrors.push(text);
      return true;
    }
    const forked = /^Forked child (\d{1,4})$/.exec(text);
    if (forked) {
      const draft = this.#content(at, forked[1] === '0');
      draft.forked = Math.max(draft.forked, Number(forked[1]) + 1);
      return true;
    }
    const version = readVersion(text);
    if (version) {
      const draft = this.#content(
        at,
        this.#draft.hasTable || (this.#draft.version !== undefined && this.#draft.hasFigures),
      );
      draft.version = version.version;
      draft.sbc ||= version.sbc;
      draft.headerSeen ||= !version.sbc;
      draft.cluster = this.#cluster;
      return true;
    }
    const time = readTime(text);
    if (time) {
      this.page.claim(at);
      this.#draft.times = { ...this.#draft.times, ...time };
      return true;
    }
    return false;
  }

  /** The end of a sentence that was wrapped. */
  #claimRest(at: number, text: string, sentence: string): void {
    const rest = sentence.slice(text.length).trim();
    if (rest !== '' && sentence.startsWith(text) && this.page.text(at + 1) === rest) this.page.claim(at + 1);
  }

  #cluster: string | undefined;

  #boilerplate(at: number, text: string): boolean {
    const sbc = readSbcLine(text);
    if (sbc) {
      this.sbcVersion ??= sbc.version;
      this.model ??= sbc.model;
      this.#cluster = sbc.cluster ?? this.#cluster;
      this.page.claim(at);
      return true;
    }
    const known = BOILERPLATE.find((start) => text.startsWith(start));
    if (known === undefined) {
      // What is left of a header's line that was wrapped: a compiler's flags, the end of a bit mask.
      if (this.#draft.headerSeen && !this.#draft.hasTable && isFlags(text)) {
        this.page.claim(at);
        this.#touch(at);
        return true;
      }
      return false;
    }
    this.page.claim(at);
    const rest = this.page.text(at + 1);
    const whole = known === 'CPUINFO:' && /^[0-9a-fx:]{1,40}$/i.test(rest) ? text + rest : text;
    if (whole !== text) this.page.claim(at + 1);
    const mark = known === 'options:' ? readMark(text) : undefined;
    if (mark) {
      this.#draft.mark = mark;
      // hwcrypt knows no other time.
      this.#draft.elapsed = true;
    }
    this.#draft.facts = { ...this.#draft.facts, ...readFacts(whole) };
    this.#claimRest(at, text, "The 'numbers' are in 1000s of bytes per second processed.");
    if (known === 'compiler:' || known === 'options:') this.#draft.headerSeen = true;
    if (this.#draft.first >= 0) this.#touch(at);
    return true;
  }
}

/** Lines that say nothing about the figures. The first words are enough: the rest may be wrapped, or replaced by an ellipsis. */
const BOILERPLATE = [
  'built on:',
  'options:',
  'compiler:',
  'CPUINFO:',
  "The 'numbers' are in 1000s of bytes",
  'available timing options:',
  'timing function used:',
  'To get the most accurate results, try to run this',
  'program when this computer is idle.',
  'nohup: ',
];

function isFlags(text: string): boolean {
  return (
    text.length < MAX_LINE &&
    (/^-[A-Za-z]\S{1,80}(?: |$)/.test(text) ||
      text.split(' ').filter((token) => /^-[A-Za-z]/.test(token)).length > 1)
  );
}

function readVersion(text: string): { version: string; sbc: boolean } | undefined {
  if (text.length > 160) return undefined;
  const match =
    /^(?:version: |OpenSSL (?:\(version )?)(\d{1,2}\.\d{1,2}[\w.+-]{0,24})(.*)$/.exec(text) ??
    /^(LibreSSL \d[\w.]{0,12})(.*)$/.exec(text);
  if (!match) return undefined;
  const rest = match[2]!.trim();
  const sbc = /^,? built on /.test(rest);
  const dated = /^(?:\d{1,2}|xx) \S{3,5} \S{4}/.test(rest);
  return rest === '' || sbc || dated ? { version: match[1]!.replace(/,$/, ''), sbc } : undefined;
}

/** Part of a `Doing` line, rather than a message of the kernel or another program that fell into it. */
function isPiece(text: string): boolean {
  return text.length < 100 && !/^\[|: /.test(text.replace(/ size blocks: /, ' '));
}

/** Is this a table without counts, and these the counts that it was made of? */
function isSplit(table: Draft, counts: Draft): boolean {
  if (table.doings.length > 0 || !table.hasTable || counts.hasTable || counts.doings.length === 0)
    return false;
  if (counts.commands.length > 0 || table.quote !== counts.quote) return false;
  const printed = new Map<string, number | null>();
  for (const { value } of [...table.rates, ...table.rows]) {
    const rates = 'rates' in value ? value.rates : value.cells.map(({ rate }) => rate);
    for (const [column, rate] of rates.entries()) {
      printed.set(`${squeeze(value.name ?? '')}\u0000${table.sizes?.[column]}`, rate);
    }
  }
  return counts.doings.every(({ value }) => {
    const figure = printed.get(doingKey(value));
    if (typeof figure !== 'number' || value.seconds === 0) return figure === null && value.seconds === 0;
    const own = (value.count * value.size) / value.seconds;
    return Math.abs(own - figure) <= figure * (0.001 + HALF_TICK / value.seconds);
  });
}

/** Everything that a page holds of `openssl speed` and sbc-bench: none, one or two sets. */
export function readOpenssl(page: Page): ResultSet[] {
  const reader = new Reader(page);
  reader.read();
  const out: ResultSet[] = [];
  for (const tool of ['openssl speed', 'sbc-bench'] as const) {
    const drafts = reader.drafts.filter(({ sbc }) => sbc === (tool === 'sbc-bench'));
    // Lines that could not be read are the first set's, whichever it is.
    const skipped: SkippedLine[] =
      out.length === 0 && (drafts.length > 0 || tool === 'sbc-bench') ? [...reader.skipped] : [];
    const notes: string[] = [];
    const runs = drafts.flatMap((draft) => runsOf(page, draft, skipped));
    if (runs.length === 0 && skipped.length === 0) continue;
    if (reader.publicKey > 0) {
      notes.push(
        `${reader.publicKey} lines of public-key results were passed over: they have no bytes a second`,
      );
    }
    if (tool === 'sbc-bench' && runs.length > 0) {
      notes.push('sbc-bench runs `openssl speed -elapsed -evp`: the figures are by elapsed time');
    }
    const set = resultSet(page, runs.length > 0 ? tool : 'openssl speed', {
      runs,
      skipped: skipped.sort((a, b) => a.line - b.line),
      notes,
      machine: tool === 'sbc-bench' && reader.model !== undefined ? { model: reader.model } : {},
    });
    const version = tool === 'sbc-bench' ? reader.sbcVersion : undefined;
    out.push(version === undefined ? set : { ...set, toolVersion: version });
  }
  return out;
}
