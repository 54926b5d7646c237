/**
 * A progress bar on standard error, for work that lasts over a second and only where somebody watches.
 *
 * Room `report`. cli-progress is loaded when the second is over, so that short work does not pay for it.
 */
import { isatty } from 'node:tty';
import type { SingleBar } from 'cli-progress';

const DELAY_NS = 1_000_000_000n;

export class Progress {
  readonly #label: string;
  readonly #wanted = isatty(2);
  readonly #start = process.hrtime.bigint();
  #bar: SingleBar | undefined;
  #units: typeof import('./units.js') | undefined;
  #loading = false;
  #stopped = false;
  #bytes = 0;

  constructor(label: string) {
    this.#label = label;
  }

  /** @param total undefined where nobody knows it, as with a pipe. */
  update(bytes: number, total?: number): void {
    if (!this.#wanted || this.#stopped) return;
    this.#bytes = bytes;
    const elapsed = process.hrtime.bigint() - this.#start;
    if (this.#bar && this.#units) {
      this.#bar.update(total === undefined ? bytes : Math.min(bytes, total), {
        done: this.#units.megabytes(bytes),
        rate: this.#units.rate(bytes, Number(elapsed)),
      });
    } else if (!this.#loading && elapsed > DELAY_NS) {
      this.#loading = true;
      void this.#show(total);
    }
  }

  async #show(total: number | undefined): Promise<void> {
    const [{ default: progress }, units] = await Promise.all([import('cli-progress'), import('./units.js')]);
    if (this.#stopped) return;
    this.#units = units;
    const known = total !== undefined && total > 0;
    this.#bar = new progress.SingleBar({
      format: known
        ? `${this.#label} {bar} {percentage}% {done} {rate} {eta_formatted} left`
        : `${this.#label} {done} {rate}`,
      stream: process.stderr,
      barsize: 24,
      barCompleteChar: '#',
      barIncompleteChar: '-',
      hideCursor: false,
      clearOnComplete: true,
      fps: 5,
      etaBuffer: 100,
    });
    this.#bar.start(known ? total : 1, 0, { done: units.megabytes(this.#bytes), rate: '' });
  }

  /** Makes room for a line of text. */
  clear(): void {
    if (this.#bar) process.stderr.write('\r\x1b[K');
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#bar?.stop();
  }
}
