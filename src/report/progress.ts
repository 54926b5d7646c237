/**
 * A progress bar on standard error, for work that lasts over a second and only where somebody watches.
 *
 * Room `report`. cli-progress is loaded when the second is over, so that short work does not pay for it.
 */
import { isatty } from 'node:tty';
import type { SingleBar } from 'cli-progress';
import { onInterrupt } from '../enc/interrupt.js';

const DELAY_NS = 1_000_000_000n;

export class Progress {
  readonly #label: string;
  readonly #wanted = isatty(2);
  readonly #start = process.hrtime.bigint();
  #show: ((bytes: number) => void) | undefined;
  #bar: SingleBar | undefined;
  #settled: (() => void) | undefined;
  #loading = false;
  #stopped = false;

  constructor(label: string) {
    this.#label = label;
  }

  /** @param total undefined where nobody knows it, as with a pipe. */
  update(bytes: number, total?: number): void {
    if (!this.#wanted || this.#stopped) return;
    if (this.#show) {
      this.#show(bytes);
    } else if (!this.#loading && process.hrtime.bigint() - this.#start > DELAY_NS) {
      this.#loading = true;
      void this.#begin(bytes, total !== undefined && total > 0 ? total : undefined);
    }
  }

  async #begin(bytes: number, total: number | undefined): Promise<void> {
    const [{ default: progress }, { duration, megabytes, rate }] = await Promise.all([
      import('cli-progress'),
      import('./units.js'),
    ]);
    if (this.#stopped) return;
    const payload = (done: number): Record<string, string> => {
      const elapsedNs = Number(process.hrtime.bigint() - this.#start);
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
      stream: process.stderr,
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
    if (this.#bar) process.stderr.write('\r\x1b[K');
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#bar?.stop();
    this.#settled?.();
  }
}
