/** What has been seen of one run of `openssl speed`, line by line, before its figures are worked out. */
import type { MachineFacts, ProcessTimes } from '../bench/model.js';
import type { Command } from './command.js';
import { squeeze } from './names.js';
import type { DoingLine, HwcryptMark, MrLine, RowLine } from './openssl-lines.js';

export interface At<T> {
  /** Index of the line. */
  readonly at: number;
  readonly value: T;
}

type Rates = Extract<MrLine, { kind: 'rates' }>;
interface Start {
  readonly name: string;
  readonly size: number;
  readonly nominalSeconds?: number;
}

export class Draft {
  commands: readonly Command[] = [];
  heading: string | undefined;
  quote = 0;
  first = -1;
  last = -1;
  engineSet: string | undefined;
  engineInvalid: string | undefined;
  readonly engineErrors: string[] = [];
  elapsed = false;
  /** It was hwcrypt that printed this. */
  mark: HwcryptMark | undefined;
  version: string | undefined;
  sbc = false;
  sizes: readonly number[] | undefined;
  forked = 0;
  times: ProcessTimes = {};
  facts: MachineFacts = {};
  /** The header's lines were seen, after which the table comes. */
  headerSeen = false;
  cut = false;
  cluster: string | undefined;
  readonly doings: At<DoingLine>[] = [];
  readonly starts: At<Start>[] = [];
  readonly rows: At<RowLine>[] = [];
  readonly rates: At<Rates>[] = [];
  readonly children: At<Rates>[] = [];
  /** hwcrypt's lines about other drivers, by their labels. */
  readonly beside = new Map<string, Draft>();
  /** This is one of those: it has no table. */
  isBeside = false;
  /** Keys of what was seen, so that a repetition is noticed at once. */
  readonly #seen = new Set<string>();
  /** Announcements (+DT) of a name that no result (+R) has answered. */
  readonly #open = new Map<string, Start[]>();

  get hasFigures(): boolean {
    return (
      this.doings.length + this.rows.length + this.rates.length + this.children.length + this.starts.length >
      0
    );
  }
  get hasTable(): boolean {
    return this.rows.length + this.rates.length > 0;
  }
  /** Was this key there before? Remembers it. */
  saw(kind: 'doing' | 'row' | 'rates', key: string): boolean {
    const full = `${kind}\u0000${key}`;
    const was = this.#seen.has(full);
    this.#seen.add(full);
    return was;
  }
  has(kind: 'doing' | 'row' | 'rates', key: string): boolean {
    return this.#seen.has(`${kind}\u0000${key}`);
  }

  announce(at: number, start: Start): void {
    this.starts.push({ at, value: start });
    const open = this.#open.get(start.name);
    if (open) open.push(start);
    else this.#open.set(start.name, [start]);
  }
  /** The announcement that a result answers: the earliest of its name, since children of -multi are interleaved. */
  answer(name: string): Start | undefined {
    return this.#open.get(name)?.shift();
  }

  get isEmpty(): boolean {
    return !this.hasFigures && this.engineInvalid === undefined && this.engineErrors.length === 0;
  }
}

export function doingKey({ name, size }: DoingLine): string {
  return `${squeeze(name)}\u0000${size}`;
}

export function rowKey({ prefix, name }: RowLine): string {
  return `${prefix ?? ''}\u0000${squeeze(name ?? '')}`;
}
