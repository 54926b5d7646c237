/**
 * Ctrl-C for work that has something to show for itself: the first signal asks it to end, a second one ends the process.
 *
 * Room `cli`.
 */
import { constants } from 'node:os';

import { SIGNALS } from '../files/interrupt.js';

export class Interruption {
  readonly #controller = new AbortController();
  #by: (typeof SIGNALS)[number] | undefined;
  readonly #listener = (signal: NodeJS.Signals): void => {
    this.#by = signal as (typeof SIGNALS)[number];
    this.settle();
    this.#controller.abort();
  };

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#listener);
  }

  /** Aborts when the first signal comes. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What a shell makes of a process that the signal ended: 130 for Ctrl-C. Undefined where none came. */
  get status(): number | undefined {
    return this.#by && 128 + constants.signals[this.#by];
  }

  /** Signals are nobody's business any more. */
  settle(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listener);
  }
}
