/**
 * A hash or MAC session over several drivers: whoever is best at the size of a whole message does it, or at the size of the first
 * piece. From then on the state is his alone, and his failure is the message's.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { HashAlgorithm, MacAlgorithm } from '../../algorithms.js';
import { checkedLength, copyOf, lengthOf, outputBytes, overlap } from '../../drivers/buffers.js';
import type { DigestSession } from '../../drivers/driver.js';
import { checkKey } from '../../drivers/parameters.js';
import { SessionBase } from '../../drivers/session.js';
import { blame } from '../faults.js';
import { Attempts, type Candidate, pause, type Squad } from '../squad.js';

interface Held {
  key: Uint8Array | undefined;
  readonly legs: (Leg | undefined)[];
  vouching: Leg | undefined;
}

interface Leg {
  readonly session: DigestSession;
  key: number;
}

const NOTHING = new Uint8Array(0);

/** A copy of what lies where the output will be: it is needed again when somebody fails. */
function apart(data: Uint8Array, output: Uint8Array): Uint8Array {
  return overlap(data, output) === 'none' ? data : copyOf(data);
}

export class RelayDigest extends SessionBase implements DigestSession {
  readonly algorithm: HashAlgorithm | MacAlgorithm;
  readonly #squad: Squad;
  readonly #held: Held;
  #key = 0;
  /** Who has the state; -1 before the first piece. */
  #at = -1;
  #last = -1;
  /** A library's session that is given the same message, where this one's digest is to be compared. */
  #vouched: DigestSession | undefined;

  /** @param running a session in the middle of a message, for `clone` */
  constructor(
    squad: Squad,
    algorithm: HashAlgorithm | MacAlgorithm,
    key: Uint8Array | undefined,
    running?: { index: number; session: DigestSession; vouched: DigestSession | undefined },
  ) {
    super();
    if (algorithm.kind === 'mac') checkKey(algorithm, key as Uint8Array);
    this.#squad = squad;
    this.algorithm = algorithm;
    const held: Held = { key: key && Uint8Array.from(key), legs: [], vouching: undefined };
    this.#held = held;
    this.own(() => {
      held.key?.fill(0);
      for (const leg of held.legs) leg?.session.close();
      held.vouching?.session.close();
    });
    if (running) {
      held.legs[running.index] = { session: running.session, key: 0 };
      this.#vouched = running.vouched;
      if (running.vouched) held.vouching = { session: running.vouched, key: 0 };
      this.#at = running.index;
      this.#last = running.index;
    }
  }

  /** The driver of this message; before its first piece, who would do a short one. */
  get driver(): string {
    const index = this.#last < 0 ? this.#squad.pick(0) : this.#last;
    return this.#held.legs[index]?.session.driver ?? this.#squad.candidates[index]!.label;
  }

  update(data: Uint8Array): void {
    this.ready();
    const length = checkedLength(data, 'data');
    if (this.#at >= 0) this.#go((session) => session.update(data), length);
    else {
      const attempts = new Attempts(this.#squad, length);
      this.#try(attempts, (session) => session.update(data));
      this.#start(attempts.index, length);
    }
    this.#vouch((session) => session.update(data));
  }

  async updateAsync(data: Uint8Array): Promise<void> {
    this.ready();
    const length = checkedLength(data, 'data');
    await this.busy([data], async () => {
      const attempts = new Attempts(this.#squad, length, this.#at < 0 ? undefined : this.#at);
      await this.#tryAsync(attempts, (session) => session.updateAsync(data), this.#at >= 0);
      if (this.#at < 0) this.#start(attempts.index, length);
      else this.#squad.done(attempts.index, length);
      this.#vouch((session) => session.update(data));
    });
  }

  #start(index: number, length: number): void {
    this.#at = index;
    this.#last = index;
    this.#squad.done(index, length);
    this.#vouched = this.#squad.verifies(index) ? this.#vouching() : undefined;
  }

  /** Lets whoever vouches for this message do the same. If he does not take it, nobody vouches. */
  #vouch(action: (session: DigestSession) => void): void {
    const vouched = this.#vouched;
    if (vouched === undefined) return;
    try {
      action(vouched);
    } catch (error) {
      this.#vouched = undefined;
      if (blame(error) !== 'refusal') throw this.fail(error);
    }
  }

  /** Whoever vouches, at the beginning of a message; undefined where he does not take it. */
  #vouching(): DigestSession | undefined {
    const { reference } = this.#squad;
    if (reference === undefined) return undefined;
    const held = this.#held;
    try {
      if (held.vouching?.session.usable && held.vouching.key === this.#key) held.vouching.session.restart();
      else {
        held.vouching?.session.close();
        held.vouching = this.#open(reference);
      }
      return held.vouching.session;
    } catch (error) {
      if (blame(error) !== 'refusal') throw this.fail(error);
      return undefined;
    }
  }

  /** The next piece of a message whose state is in one session. */
  #go(action: (session: DigestSession) => void, length: number): void {
    const index = this.#at;
    try {
      this.#squad.check(index);
      action(this.#held.legs[index]!.session);
    } catch (error) {
      this.#spent(index, error);
    }
    this.#squad.done(index, length);
  }

  /** @throws error: nobody can go on from a state that was lost. */
  #spent(index: number, error: unknown): never {
    if (blame(error) === 'caller') throw error;
    this.#drop(index);
    try {
      new Attempts(this.#squad, 0, index).failed(error, true);
    } catch {}
    throw this.fail(error);
  }

  digest(output: Uint8Array): void {
    this.ready();
    outputBytes(output, 'output', 0);
    if (this.#at < 0) {
      const attempts = new Attempts(this.#squad, 0);
      this.#try(attempts, (session) => session.once(NOTHING, output));
      this.#last = attempts.index;
      this.#squad.done(attempts.index, 0);
      return;
    }
    const index = this.#at;
    try {
      this.#squad.check(index);
      this.#held.legs[index]!.session.digest(output);
    } catch (error) {
      this.#spent(index, error);
    }
    if (this.#vouched === undefined) return;
    const expected = new Uint8Array(lengthOf(output));
    this.#vouch((session) => session.digest(expected));
    if (this.#vouched !== undefined) this.#compare(index, expected, output, 'a message in pieces');
    this.#vouched = undefined;
  }

  /** Holds a digest against what it should be, and puts the right one in its place. */
  #compare(index: number, expected: Uint8Array, output: Uint8Array, what: string): void {
    const right = Buffer.compare(expected, output) === 0;
    this.#squad.verified(index, right, `${this.algorithm.name} of ${what}`);
    if (right) return;
    output.set(expected);
    this.#drop(index);
  }

  clone(): DigestSession {
    this.ready();
    const key = this.#held.key;
    if (this.#at < 0) return new RelayDigest(this.#squad, this.algorithm, key);
    const session = this.#held.legs[this.#at]!.session.clone();
    const vouched = this.#vouched?.clone();
    return new RelayDigest(this.#squad, this.algorithm, key, { index: this.#at, session, vouched });
  }

  restart(key?: Uint8Array): void {
    this.ready();
    if (key !== undefined) {
      if (this.algorithm.kind === 'mac') checkKey(this.algorithm, key);
      const held = this.#held;
      held.key?.fill(0);
      held.key = Uint8Array.from(key);
      this.#key++;
    }
    this.#at = -1;
    this.#vouched = undefined;
  }

  once(data: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = checkedLength(data, 'data');
    outputBytes(output, 'output', 0);
    this.restart();
    const source = apart(data, output);
    const attempts = new Attempts(this.#squad, length);
    this.#try(attempts, (session) => session.once(source, output));
    this.#accept(attempts.index, source, output, length);
  }

  async onceAsync(data: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = checkedLength(data, 'data');
    outputBytes(output, 'output', 0);
    this.restart();
    const source = apart(data, output);
    await this.busy([data, output], async () => {
      const attempts = new Attempts(this.#squad, length);
      await this.#tryAsync(attempts, (session) => session.onceAsync(source, output), false);
      this.#accept(attempts.index, source, output, length);
    });
  }

  #try(attempts: Attempts, action: (session: DigestSession) => void): void {
    for (;;) {
      try {
        action(this.#fresh(attempts.index));
        return;
      } catch (error) {
        pause(this.#failed(attempts, error, false));
      }
    }
  }

  async #tryAsync(
    attempts: Attempts,
    action: (session: DigestSession) => Promise<void>,
    begun: boolean,
  ): Promise<void> {
    for (;;) {
      try {
        await action(begun ? this.#held.legs[attempts.index]!.session : this.#fresh(attempts.index));
        return;
      } catch (error) {
        await sleep(this.#failed(attempts, error, begun));
      }
    }
  }

  #failed(attempts: Attempts, error: unknown, begun: boolean): number {
    if (blame(error) === 'fault') this.#drop(attempts.index);
    try {
      return attempts.failed(error, begun);
    } catch (final) {
      throw blame(final) === 'fault' ? this.fail(final) : final;
    }
  }

  #accept(index: number, data: Uint8Array, output: Uint8Array, length: number): void {
    this.#last = index;
    this.#squad.done(index, length);
    if (!this.#squad.verifies(index)) return;
    const expected = new Uint8Array(lengthOf(output));
    this.#vouched = this.#vouching();
    this.#vouch((session) => session.once(data, expected));
    if (this.#vouched !== undefined) this.#compare(index, expected, output, `${length} bytes`);
    this.#vouched = undefined;
  }

  /** The session of a candidate, at the beginning of a message. */
  #fresh(index: number): DigestSession {
    this.#squad.check(index);
    const held = this.#held;
    const leg = held.legs[index];
    if (leg?.session.usable) {
      leg.session.restart(leg.key === this.#key ? undefined : held.key);
      leg.key = this.#key;
      return leg.session;
    }
    leg?.session.close();
    const opened = this.#open(this.#squad.candidates[index]!);
    held.legs[index] = opened;
    return opened.session;
  }

  #open({ driver, options }: Candidate): Leg {
    const { algorithm } = this;
    const session =
      algorithm.kind === 'mac'
        ? driver.mac(algorithm, this.#held.key ?? NOTHING, options)
        : driver.hash(algorithm, options);
    return { session, key: this.#key };
  }

  #drop(index: number): void {
    this.#held.legs[index]?.session.close();
    this.#held.legs[index] = undefined;
    if (this.#at === index) this.#at = -1;
  }
}
