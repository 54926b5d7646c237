/**
 * What `hwcrypt speed` prints: openssl speed's lines while it works, its table at the end, and the drivers side by side.
 *
 * Room `cli`. Rates in OpenSSL's layout are counts over seconds as shown beside them, as there; the medians of the rounds are in the section
 * below, and in JSON.
 */
import { isatty } from 'node:tty';
import type { Contestant, Detail, Hooks, Point } from '../bench/engine/index.js';
import type { Measurement, ResultSet } from '../bench/model.js';
import {
  doingLine,
  doneLine,
  ELAPSED_SENTENCE,
  mrDoingLine,
  mrDoneLine,
  type OpensslStep,
  opensslChildren,
  opensslForked,
  opensslMrTable,
  opensslTable,
} from '../interop/openssl-write.js';
import { qemuLine, qemuSubject, qemuTable } from '../interop/qemu-write.js';
import { sideBySide } from '../report/side-by-side.js';
import type { SpeedSubject } from './speed-subjects.js';
import { terminalColumns, utf8Locale, writeError, writeErrorText, writeText } from './stdio.js';

export type SpeedForm = 'text' | 'mr' | 'chunks' | 'chunks-mr' | 'data';

export interface SpeedLayout {
  readonly form: SpeedForm;
  readonly subjects: readonly SpeedSubject[];
  /** Whose figures are the table's, for each subject; undefined where nobody has it. */
  readonly leaders: ReadonlyMap<SpeedSubject, Contestant | undefined>;
  readonly contestants: readonly Contestant[];
  /** Seconds of a step, as announced. */
  readonly seconds: number;
  readonly parallel?: number;
  readonly version: string;
  readonly hasDirection: boolean;
  readonly decrypt: boolean;
}

interface Step {
  readonly subject: SpeedSubject;
  readonly label: string;
  readonly measurement: Measurement;
  readonly detail: Detail;
}

export class SpeedOutput {
  readonly #layout: SpeedLayout;
  readonly #steps: Step[] = [];
  /** A `Doing …` that waits for its result. */
  #open = false;

  constructor(layout: SpeedLayout) {
    this.#layout = layout;
  }

  get failed(): boolean {
    return this.#steps.some(({ measurement: { status } }) => status === 'failed');
  }

  begin(): void {
    const { form, parallel } = this.#layout;
    if (form !== 'text' && form !== 'mr') return;
    if (parallel !== undefined) writeText(opensslForked(parallel));
    else if (form === 'text') writeErrorText(ELAPSED_SENTENCE);
  }

  get hooks(): Hooks {
    return {
      begin: (point) => this.#begin(point),
      end: (point, measurement, _done, _total, detail) => this.#end(point, measurement, detail),
    };
  }

  #subject({ algorithm }: Point): SpeedSubject {
    return this.#layout.subjects.find((own) => own.algorithm === algorithm) as SpeedSubject;
  }

  #begin(point: Point): void {
    const subject = this.#subject(point);
    const { form, leaders, parallel, seconds } = this.#layout;
    if (leaders.get(subject) !== point.contestant || (form !== 'text' && form !== 'mr')) return;
    const step: OpensslStep = { name: subject.printed, seconds, requestBytes: point.requestBytes };
    if (form === 'mr' || parallel !== undefined) writeErrorText(mrDoingLine(step).repeat(parallel ?? 1));
    else {
      writeErrorText(doingLine(step));
      this.#open = true;
    }
  }

  #end(point: Point, measurement: Measurement, detail: Detail): void {
    const subject = this.#subject(point);
    const { label } = point.contestant;
    this.#steps.push({ subject, label, measurement, detail });
    const { form, leaders, parallel } = this.#layout;
    // Whoever reads the data knows what it says; somebody at a terminal sees that it goes on.
    if ((form === 'data' && !isatty(2)) || measurement.status === 'unavailable') return;
    const { requests = 0, elapsedNs = 0, requestBytes } = measurement;
    const isLeader = leaders.get(subject) === point.contestant;
    if (measurement.status !== 'ok') {
      if (isLeader) this.settle();
      writeError(
        `hwcrypt: speed: ${label}: ${subject.printed} at ${requestBytes} bytes failed: ${detail.problem ?? 'no reason is known'}`,
      );
    } else if (isLeader && (form === 'text' || form === 'mr')) {
      this.#open = false;
      if (parallel !== undefined) {
        for (const thread of detail.threads ?? [])
          writeErrorText(mrDoneLine(subject.printed, thread.requests, thread.elapsedNs / 1e9));
      } else {
        const done = form === 'mr' ? mrDoneLine : doneLine;
        writeErrorText(done(subject.printed, requests, elapsedNs / 1e9));
      }
    } else {
      const name = isLeader ? `${label}: ${subject.printed}` : label;
      writeError(`  ${name}: ${requests} of ${requestBytes} bytes in ${(elapsedNs / 1e9).toFixed(2)}s`);
    }
  }

  /** The end of a line that an interruption left open. */
  settle(): void {
    if (this.#open) writeErrorText('\n');
    this.#open = false;
  }

  /** Standard output, after everything, or as much as there is of it. */
  print(set: ResultSet): void {
    const { form } = this.#layout;
    if (form === 'text') this.#text(set);
    else if (form === 'mr') this.#mr();
    else if (form === 'chunks') this.#chunks(set);
    else if (form === 'chunks-mr') this.#chunkLines();
  }

  #text(set: ResultSet): void {
    const rows = this.#layout.subjects.flatMap((subject) => {
      const leader = this.#layout.leaders.get(subject);
      return leader ? this.#row(subject, leader.label) : [];
    });
    const several = new Set(this.#steps.map(({ label }) => label)).size > 1;
    if (rows.length > 0) {
      const sizes = sizesOf(rows);
      const table = { sizes, rows: rows.map((row) => ({ name: row.name, rates: ratesAt(row, sizes) })) };
      writeText(
        this.#children(rows, sizes) +
          opensslTable(table, this.#header(rows), this.#layout.parallel === undefined),
      );
    }
    const section = this.#section(set);
    if (section === '') return;
    // With one driver standard output is openssl's, and what there is to add goes beside it.
    if (several) writeText(`\n${section}`);
    else writeErrorText(section);
  }

  #mr(): void {
    const { parallel } = this.#layout;
    for (const [i, { label }] of this.#layout.contestants.entries()) {
      const rows = this.#layout.subjects.flatMap((subject) => this.#row(subject, label));
      if (rows.length === 0) continue;
      if (i > 0 && parallel !== undefined) writeText(opensslForked(parallel));
      const sizes = sizesOf(rows);
      const table = { sizes, rows: rows.map((row) => ({ name: row.name, rates: ratesAt(row, sizes) })) };
      writeText(this.#children(rows, sizes) + opensslMrTable(table, undefined, parallel === undefined));
    }
    const labels = [...new Set(this.#steps.map(({ label }) => label))];
    if (labels.length > 1)
      writeError(`hwcrypt: speed: the drivers of the blocks, in order: ${labels.join(', ')}`);
  }

  #chunks(set: ResultSet): void {
    for (const subject of this.#layout.subjects) {
      const columns = this.#layout.contestants.flatMap(({ label }) => {
        const steps = this.#figures(subject, label);
        const [first] = steps;
        if (first === undefined) return [];
        const [driver, pinned] = label.split(/:(.*)/s) as [string, string | undefined];
        const kernelDriver = pinned ?? first.measurement.kernelDriver;
        return [
          {
            driver,
            ...(kernelDriver === undefined ? {} : { kernelDriver }),
            measurements: steps.map(({ measurement }) => measurement),
          },
        ];
      });
      const [first] = columns.flatMap(({ measurements }) => measurements);
      if (first) writeText(`${qemuTable(qemuSubject(first), columns)}\n`);
    }
    const section = this.#section(set);
    if (section !== '') writeText(`# MB in the tables above is 2^20 bytes, as in QEMU's.\n\n${section}`);
  }

  #section(set: ResultSet): string {
    const columns = terminalColumns();
    return sideBySide(set, {
      hardware: (label, algorithm) => this.#hardware(label, algorithm),
      columns,
      // One is looked at; several are scrolled past.
      plot:
        columns === undefined || this.#layout.subjects.length > 2
          ? undefined
          : utf8Locale()
            ? 'unicode'
            : 'ascii',
    });
  }

  #chunkLines(): void {
    const several = this.#layout.contestants.length > 1;
    for (const { label } of this.#layout.contestants) {
      const lines = this.#layout.subjects
        .flatMap((subject) => this.#figures(subject, label))
        .map(({ measurement }) => qemuLine(measurement))
        .join('');
      if (lines !== '') writeText(`${several ? `# ${label}\n` : ''}${lines}`);
    }
  }

  #figures(subject: SpeedSubject, label: string): Step[] {
    return this.#steps.filter(
      (step) => step.subject === subject && step.label === label && step.measurement.status === 'ok',
    );
  }

  #row(subject: SpeedSubject, label: string): Row[] {
    const steps = this.#steps.filter(
      (step) => step.subject === subject && step.label === label && step.measurement.status !== 'unavailable',
    );
    return steps.length === 0 ? [] : [{ name: subject.printed, steps }];
  }

  #children(rows: readonly Row[], sizes: readonly number[]): string {
    const { parallel } = this.#layout;
    if (parallel === undefined) return '';
    const children = Array.from({ length: parallel }, (_, thread) => ({
      rates: rows.map((row) =>
        sizes.map((size) => {
          const step = stepAt(row, size);
          const own = step?.detail.threads?.[thread];
          return own && (own.requests * size * 1e9) / own.elapsedNs;
        }),
      ),
    }));
    return opensslChildren(
      children,
      rows.map(({ name }) => name),
      sizes,
    );
  }

  #header(rows: readonly Row[]): { version?: string; options: string } {
    const { version, hasDirection, decrypt } = this.#layout;
    const labels = new Set(rows.flatMap(({ steps }) => steps.map(({ label }) => label)));
    const bound = new Set(
      rows.flatMap(({ steps }) => steps.map(({ measurement }) => measurement.kernelDriver)),
    );
    const [label] = labels;
    const [kernelDriver] = bound;
    // Our own importer reads this line; what differs from row to row cannot be said in it.
    const driver =
      labels.size !== 1 || label === undefined
        ? ''
        : ` driver=${label.includes(':') || bound.size !== 1 || kernelDriver === undefined ? label : `${label}:${kernelDriver}`}`;
    const operation = hasDirection ? ` operation=${decrypt ? 'decrypt' : 'encrypt'}` : '';
    const openssl = process.versions.openssl?.split('+')[0];
    return {
      ...(openssl === undefined ? {} : { version: openssl }),
      options: `hwcrypt ${version}${driver}${operation}`,
    };
  }

  #hardware(label: string, algorithm: string): 'yes' | 'no' | 'unknown' | undefined {
    return this.#steps.find((step) => step.label === label && step.subject.algorithm.name === algorithm)
      ?.detail.hardware;
  }
}

interface Row {
  readonly name: string;
  readonly steps: readonly Step[];
}

function sizesOf(rows: readonly Row[]): number[] {
  const all = rows.flatMap(({ steps }) => steps.map(({ measurement }) => measurement.requestBytes as number));
  return [...new Set(all)].sort((a, b) => a - b);
}

function stepAt({ steps }: Row, size: number): Step | undefined {
  return steps.find(({ measurement }) => measurement.requestBytes === size);
}

function ratesAt(row: Row, sizes: readonly number[]): (number | undefined)[] {
  return sizes.map((size) => {
    const { requests, elapsedNs } = stepAt(row, size)?.measurement ?? {};
    return requests === undefined || !elapsedNs ? undefined : (requests * size * 1e9) / elapsedNs;
  });
}
