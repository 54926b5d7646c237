/**
 * Who may not be given work at the moment: drivers' implementations that gave a wrong result (quarantined, until somebody
 * looks at it) and those that keep failing (barred for a while, longer each time: a circuit breaker).
 *
 * All of it is about one algorithm of one driver: an engine whose GCM is broken may do CBC well.
 */
import { channel } from 'node:diagnostics_channel';

import type { Reason } from '../errors.js';

/** Why a driver gets no work for an algorithm. */
export interface Bar {
  readonly algorithm: string;
  /** As in `--driver`: `afalg`, `cryptodev`, `afalg:virtio_crypto_aes_cbc`. */
  readonly driver: string;
  readonly kind: 'wrong result' | 'keeps failing';
  /** ISO 8601. */
  readonly since: string;
  /** Milliseconds since the epoch at which it may be tried again; absent where it may not. */
  readonly until?: number;
  readonly reason: Reason;
}

/** What is published on `hwcrypt:quarantine`. */
export const QUARANTINE = channel('hwcrypt:quarantine');

/** Failures in a row after which a driver is barred. */
const TOLERATED = 3;
/** The first time for so long, then twice as long each time. */
const FIRST_MS = 10_000;
const LONGEST_MS = 10 * 60_000;

interface Condition {
  failures: number;
  bars: number;
  bar: Bar | undefined;
}

export interface HealthOptions {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Told of each new bar. */
  readonly onBar?: (bar: Bar) => void;
}

export class Health {
  readonly #records = new Map<string, Condition>();
  readonly #proved = new Set<string>();
  readonly #now: () => number;
  readonly #onBar: ((bar: Bar) => void) | undefined;
  /** Changes with each bar and each end of one, so that decisions made before it can be seen to be old. */
  #version = 0;
  #nextEnd = Number.POSITIVE_INFINITY;

  constructor({ now = Date.now, onBar }: HealthOptions = {}) {
    this.#now = now;
    this.#onBar = onBar;
  }

  /** Is cheap: decisions are compared with it at every request. */
  get version(): number {
    if (this.#nextEnd !== Number.POSITIVE_INFINITY && this.#now() >= this.#nextEnd) this.#release();
    return this.#version;
  }

  /** Why `driver` gets no work for `algorithm`; undefined where it may. */
  barred(algorithm: string, driver: string): Bar | undefined {
    void this.version;
    return this.#records.get(keyOf(algorithm, driver))?.bar;
  }

  bars(): Bar[] {
    void this.version;
    return [...this.#records.values()].flatMap(({ bar }) => bar ?? []);
  }

  /** Was it proved in this process, with known answers and against another driver? */
  isProved(algorithm: string, driver: string): boolean {
    return this.#proved.has(keyOf(algorithm, driver));
  }

  prove(algorithm: string, driver: string): void {
    this.#proved.add(keyOf(algorithm, driver));
  }

  /** A wrong result: no more work, whatever time passes. */
  quarantine(algorithm: string, driver: string, reason: Reason, since?: string): Bar {
    return this.#set(algorithm, driver, { kind: 'wrong result', reason, ...(since ? { since } : {}) });
  }

  /** A failure. `gone` leaves no hope for the next request. Returns the bar that it led to, if it did. */
  failed(algorithm: string, driver: string, reason: Reason, gone = false): Bar | undefined {
    const record = this.#record(algorithm, driver);
    record.failures++;
    if (!gone && record.failures < TOLERATED) return undefined;
    record.failures = 0;
    const ms = Math.min(LONGEST_MS, FIRST_MS * 2 ** record.bars);
    record.bars++;
    return this.#set(algorithm, driver, { kind: 'keeps failing', reason, until: this.#now() + ms });
  }

  /** A request that went well ends a row of failures, and a bar for failing that somebody worked in spite of. */
  succeeded(algorithm: string, driver: string): void {
    const record = this.#records.get(keyOf(algorithm, driver));
    if (record === undefined) return;
    record.failures = 0;
    if (record.bar?.kind !== 'keeps failing') return;
    record.bar = undefined;
    this.#version++;
  }

  /** Forgets everything, wrong results too. */
  clear(): void {
    this.#records.clear();
    this.#proved.clear();
    this.#nextEnd = Number.POSITIVE_INFINITY;
    this.#version++;
  }

  #record(algorithm: string, driver: string): Condition {
    const key = keyOf(algorithm, driver);
    let record = this.#records.get(key);
    if (record === undefined) {
      record = { failures: 0, bars: 0, bar: undefined };
      this.#records.set(key, record);
    }
    return record;
  }

  #set(
    algorithm: string,
    driver: string,
    what: Pick<Bar, 'kind' | 'reason' | 'until'> & Partial<Pick<Bar, 'since'>>,
  ): Bar {
    const record = this.#record(algorithm, driver);
    const { bar: before } = record;
    // What was found wrong stays so, whatever fails besides.
    if (before?.kind === 'wrong result' && what.kind !== 'wrong result') return before;
    const bar: Bar = { algorithm, driver, since: new Date(this.#now()).toISOString(), ...what };
    record.bar = bar;
    this.#version++;
    this.#nextEnd = Math.min(this.#nextEnd, bar.until ?? Number.POSITIVE_INFINITY);
    QUARANTINE.publish(bar);
    this.#onBar?.(bar);
    return bar;
  }

  /** Ends the bars whose time is over. The next failure bars again, for longer. */
  #release(): void {
    const now = this.#now();
    let next = Number.POSITIVE_INFINITY;
    for (const record of this.#records.values()) {
      const until = record.bar?.until;
      if (until === undefined) continue;
      if (until > now) next = Math.min(next, until);
      else {
        record.bar = undefined;
        record.failures = TOLERATED - 1;
      }
    }
    this.#nextEnd = next;
    this.#version++;
  }
}

const keyOf = (algorithm: string, driver: string): string => `${driver}\n${algorithm}`;

/** What this process has found out about this machine's drivers: it is the same for all instances. */
export const HEALTH = new Health();
