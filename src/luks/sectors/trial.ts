/**
 * The quicker of two ways to the same bytes, found out at the work itself: each does a few long runs in turn, and the one with the best of
 * all times goes on. What it takes depends on the driver, the processor and the kernel, and nobody has to have measured it before.
 *
 * Room `luks`.
 */
const TRIES = 3;
/** Shorter runs tell of what surrounds them. */
const LEAST_BYTES = 64 * 1024;

export type Way = 'sectors' | 'batches';

export class Trial {
  readonly #best: Record<Way, number> = {
    sectors: Number.POSITIVE_INFINITY,
    batches: Number.POSITIVE_INFINITY,
  };
  #left = 2 * TRIES;

  /** Which way the next run of so many bytes goes. Short ones go sector by sector, which needs no second request. */
  next(bytes: number): Way {
    if (bytes < LEAST_BYTES) return 'sectors';
    if (this.#left > 0) return this.#left % 2 === 0 ? 'sectors' : 'batches';
    return this.#best.batches < this.#best.sectors ? 'batches' : 'sectors';
  }

  /** What the run took. */
  took(way: Way, bytes: number, elapsedNs: number): void {
    if (bytes < LEAST_BYTES || this.#left === 0) return;
    this.#left--;
    this.#best[way] = Math.min(this.#best[way], elapsedNs / bytes);
  }
}
