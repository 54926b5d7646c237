/** Counters: what each driver was given, and what became of it. */

export interface Tally {
  /** Calls of a session: an `update`, a whole message, a piece of a longer one. */
  requests: number;
  bytes: number;
  /** Requests that the driver failed at, or refused. */
  errors: number;
  /** Requests that another driver did after that. */
  rescued: number;
  /** Requests whose result was compared with another driver's. */
  verified: number;
  /** Of those, the ones that were wrong. */
  wrong: number;
}

/** Counters at nought. */
export const noTally = (): Tally => ({
  requests: 0,
  bytes: 0,
  errors: 0,
  rescued: 0,
  verified: 0,
  wrong: 0,
});

/** A request of so many bytes was done. */
export function count(tally: Tally, bytes: number): void {
  tally.requests++;
  tally.bytes += bytes;
}

/** A driver's counters for one algorithm. */
export interface DriverStats extends Readonly<Tally> {
  readonly algorithm: string;
  readonly driver: string;
}

export class Stats {
  readonly #tallies = new Map<string, { algorithm: string; driver: string; tally: Tally }>();

  tally(algorithm: string, driver: string): Tally {
    const key = `${driver}\n${algorithm}`;
    let entry = this.#tallies.get(key);
    if (entry === undefined) {
      entry = { algorithm, driver, tally: noTally() };
      this.#tallies.set(key, entry);
    }
    return entry.tally;
  }

  /** Those that were given anything, by algorithm and driver. */
  all(): DriverStats[] {
    return [...this.#tallies.values()]
      .filter(({ tally }) => tally.requests + tally.errors > 0)
      .map(({ algorithm, driver, tally }) => ({ algorithm, driver, ...tally }))
      .sort((a, b) => compare(a.algorithm, b.algorithm) || compare(a.driver, b.driver));
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
