/**
 * A progress bar on standard error, for work that lasts over a second and only where somebody watches.
 *
 * Room `report`. cli-progress is loaded when the second is over, so that short work does not pay for it.
 */
import { fstatSync, statSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { SingleBar } from 'cli-progress';
import { onInterrupt } from '../files/interrupt.js';
import { descriptorOf } from '../files/io.js';

const DELAY_NS = 1_000_000_000n;

/**
 * May a bar be drawn beside output to `target` (a path; undefined or `-` for standard output)? Not where that is a pipe: whoever
 * reads it may write to the same terminal, another hwcrypt with a bar of its own, or a pager. And not across the output itself,
 * unless it is `lines`, before which the bar is cleared.
 */
export function watched(target: string | undefined, lines = false): boolean {
  if (!isatty(2)) return false;
  const fd = target === undefined || target === '-' ? 1 : descriptorOf(target);
  try {
    const stat = fd === undefined ? statSync(target as string) : fstatSync(fd);
    if (stat.isFIFO() || stat.isSocket()) return false;
  } catch {
    // It is to be made, or cannot be: not said here.
  }
  return lines || fd === undefined || !isatty(fd);
}

/** What tests put in the place of the terminal and the clock. */
export interface ProgressPlace {
  readonly stream?: NodeJS.WriteStream;
  readonly now?: () => bigint;
}

/** The clock starts with the first `update`: say 0 when the work begins, behind whatever is asked before. */
export class Progress {
  readonly #label: string;
  readonly #wanted: boolean;
  readonly #stream: NodeJS.WriteStream | undefined;
  readonly #now: () => bigint;
  #start: bigint | undefined;
  #show: ((bytes: number) => void) | undefined;
  #bar: SingleBar | undefined;
  #settled: (() => void) | undefined;
  #loading = false;
  #stopped = false;

  constructor(label: string, wanted: boolean, { stream, now = process.hrtime.bigint }: ProgressPlace = {}) {
    this.#label = label;
    this.#wanted = wanted;
    this.#stream = stream;
    this.#now = now;
  }

  /** @param total undefined where nobody knows it, as with a pipe. */
  update(bytes: number, total?: number): void {
    if (!this.#wanted || this.#stopped) return;
    this.#start ??= this.#now();
    if (this.#show) {
      this.#show(bytes);
    } else if (!this.#loading && this.#now() - this.#start > DELAY_NS) {
      this.#loading = true;
      void this.#begin(bytes, total !== undefined && total > 0 ? total : undefined, this.#start);
    }
  }

  async #begin(bytes: number, total: number | undefined, start: bigint): Promise<void> {
    const [{ default: progress }, { duration, megabytes, rate }] = await Promise.all([
      import('cli-progress'),
      import('./units.js'),
    ]);
    if (this.#stopped) return;
    const payload = (done: number): Record<string, string> => {
      const elapsedNs = Number(this.#now() - start);
      return {
        done: megabytes(done),
        rate: rate(done, elapsedNs),
        // cli-progress looks at the last updates only, which come by the hundred: its guess jumps up and down.
        left:
          total === undefined || done === 0 ? '' : duration((elapsedNs / done) * Math.max(0, total - done)),
      };
    };
    const bar = new progress.SingleBar({
      format: `${this.#label} ${total === undefined ? '' : '{bar} {percentage}% '}{done} {rate}${total === undefined ? '' : ' {left} left'}`,
      stream: this.#stream ?? process.stderr,
      barsize: 24,
      barCompleteChar: '#',
      barIncompleteChar: '-',
      hideCursor: false,
      // Left alone: it would stay changed after kill -9.
      linewrap: true,
      clearOnComplete: true,
      fps: 5,
    });
    this.#bar = bar;
    this.#settled = onInterrupt(() => bar.stop());
    this.#show = (done) => bar.update(total === undefined ? done : Math.min(done, total), payload(done));
    bar.start(total ?? Number.MAX_SAFE_INTEGER, bytes, payload(bytes));
  }

  /** Makes room for a line of text. */
  clear(): void {
    if (this.#bar) (this.#stream ?? process.stderr).write('\r\x1b[K');
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#bar?.stop();
    this.#settled?.();
  }
}
