/**
 * One line on standard error that says what is being done, where somebody watches; it leaves nothing behind.
 *
 * Room `report`. For work of some tens of steps of known number; bytes that go through something have `progress.ts`.
 */
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';

export class StatusLine {
  readonly #wanted: boolean;
  #shown = false;

  constructor(wanted = isatty(2)) {
    this.#wanted = wanted;
  }

  show(text: string): void {
    if (!this.#wanted) return;
    this.#shown = true;
    const width = process.stderr.columns || 80;
    // Not into the last column: some terminals go on to the next line then.
    this.#write(`\r\x1b[K${text.slice(0, width - 1)}`);
  }

  /** Before anything else is printed, and at the end. */
  clear(): void {
    if (!this.#shown) return;
    this.#shown = false;
    this.#write('\r\x1b[K');
  }

  #write(text: string): void {
    try {
      writeSync(2, text);
    } catch {
      // Nobody watches any more.
    }
  }
}
