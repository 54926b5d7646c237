/** Work side by side, as far as there is room: at most so many pieces at a time, in the order in which they asked. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Handed on directly, so that nobody who comes now gets in before those who wait.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
