/**
 * An AEAD session that is a relay of drivers' sessions: each message is done by whoever is best at its size, and by the next when he
 * fails. A message in pieces stays with the driver that its first piece chose, among those that take pieces.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { AeadAlgorithm } from '../../algorithms.js';
import {
  bytes,
  copyOf,
  lengthOf,
  outputBytes,
  overlap,
  pair,
  part,
  unaliased,
} from '../../drivers/buffers.js';
import type { AeadSession, Direction } from '../../drivers/driver.js';
import { checkIv, checkKey, checkTagBytes } from '../../drivers/parameters.js';
import { SessionBase, wrongWay } from '../../drivers/session.js';
import { HwcryptError } from '../../errors.js';
import { blame } from '../faults.js';
import { Attempts, type Candidate, pause, type Squad } from '../squad.js';

interface Held {
  readonly key: Uint8Array;
  readonly legs: (Leg | undefined)[];
  vouching: Leg | undefined;
}

interface Leg {
  readonly session: AeadSession;
  key: number;
}

/** One message, as `seal` and `open` take it. */
interface Message {
  readonly iv: Uint8Array;
  readonly aad: Uint8Array;
  /** Never the memory of `output` where the driver can fail. So is none of the others. */
  text: Uint8Array;
  readonly length: number;
  readonly tag: Uint8Array;
  readonly output: Uint8Array;
  /** `text` is the memory of `output`. */
  inPlace: boolean;
}

/** A copy of what lies where the output will be: it is needed again when somebody fails. */
function apart(view: Uint8Array, output: Uint8Array, length: number): Uint8Array {
  return overlap(view, output, length) === 'none' ? view : copyOf(view);
}

export class RelayAead extends SessionBase implements AeadSession {
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  /** True where anybody takes a message in pieces. */
  readonly incremental: boolean;
  readonly #squad: Squad;
  readonly #held: Held;
  readonly #encrypt: boolean;
  #key = 0;
  #last = -1;
  /** Who does the message that comes in pieces. */
  #running = -1;
  /** A message in pieces that has begun, but nobody was chosen for it yet. */
  #begun: { iv: Uint8Array; aad: Uint8Array[] } | undefined;

  constructor(
    squad: Squad,
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    tagBytes: number,
  ) {
    super();
    const keyBytes = checkKey(algorithm, key);
    this.tagBytes = checkTagBytes(algorithm, tagBytes);
    this.#squad = squad;
    this.algorithm = algorithm;
    this.direction = direction;
    this.#encrypt = direction === 'encrypt';
    const held: Held = { key: new Uint8Array(keyBytes), legs: [], vouching: undefined };
    held.key.set(key);
    this.#held = held;
    this.own(() => {
      held.key.fill(0);
      for (const leg of held.legs) leg?.session.close();
      held.vouching?.session.close();
    });
    this.incremental = this.#streaming() >= 0;
  }

  /** The driver of the last message; before the first, who would do a short one. */
  get driver(): string {
    const index = this.#last < 0 ? this.#squad.pick(0) : this.#last;
    return this.#held.legs[index]?.session.driver ?? this.#squad.candidates[index]!.label;
  }

  rekey(key: Uint8Array): void {
    this.ready();
    checkKey(this.algorithm, key);
    this.#held.key.set(key);
    this.#key++;
    this.#running = -1;
    this.#begun = undefined;
  }

  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void {
    this.#whole(this.#message('encrypt', iv, aad, text, output, tag));
  }

  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void {
    this.#whole(this.#message('decrypt', iv, aad, text, output, tag));
  }

  async sealAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Promise<void> {
    const message = this.#message('encrypt', iv, aad, text, output, tag);
    await this.#unhurt([iv, aad, text, output, tag], message);
  }

  async openAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    tag: Uint8Array,
    output: Uint8Array,
  ): Promise<void> {
    const message = this.#message('decrypt', iv, aad, text, output, tag);
    await this.#unhurt([iv, aad, text, output, tag], message);
  }

  /** Forged messages, and those that nobody takes, are no failure of the session. */
  async #unhurt(views: readonly Uint8Array[], message: Message): Promise<void> {
    await this.busy(views, async () => {
      try {
        await this.#wholeAsync(message);
      } catch (error) {
        // close() may have been called meanwhile.
        if (blame(error) !== 'fault' && this.life === 'busy') this.life = 'ready';
        throw error;
      }
    });
  }

  #message(
    direction: Direction,
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Message {
    this.ready();
    if (direction !== this.direction) throw wrongWay(this.driver, this.direction, direction);
    checkIv(this.algorithm, iv);
    bytes(aad, 'aad');
    const length = pair(text, output);
    if (this.#encrypt) outputBytes(tag, 'tag', this.tagBytes);
    else bytes(tag, 'tag', this.tagBytes);
    const source = unaliased(text, output, length);
    return {
      iv: apart(iv, output, length),
      aad: apart(aad, output, length),
      text: source,
      length,
      tag: this.#encrypt ? tag : apart(tag, output, length),
      output,
      inPlace: overlap(source, output, length) !== 'none',
    };
  }

  /** Who can fail gets a copy of what is worked on in place: it must outlive the failure. */
  #secure(attempts: Attempts, message: Message): void {
    if (!message.inPlace || !attempts.candidate.driver.fallible) return;
    message.text = copyOf(part(message.text, 0, message.length));
    message.inPlace = false;
  }

  #attempts(message: Message): Attempts {
    const attempts = new Attempts(this.#squad, message.length);
    this.#secure(attempts, message);
    return attempts;
  }

  #whole(message: Message): void {
    const attempts = this.#attempts(message);
    for (;;) {
      try {
        const { session } = this.#leg(attempts.index);
        const { iv, aad, text, output, tag } = message;
        if (this.#encrypt) session.seal(iv, aad, text, output, tag);
        else session.open(iv, aad, text, tag, output);
        break;
      } catch (error) {
        if (this.#judged(attempts.index, message, error)) return;
        pause(this.#failed(attempts, message, error));
      }
    }
    this.#accept(attempts.index, message);
  }

  async #wholeAsync(message: Message): Promise<void> {
    const attempts = this.#attempts(message);
    for (;;) {
      try {
        const { session } = this.#leg(attempts.index);
        const { iv, aad, text, output, tag } = message;
        if (this.#encrypt) await session.sealAsync(iv, aad, text, output, tag);
        else await session.openAsync(iv, aad, text, tag, output);
        break;
      } catch (error) {
        if (this.#judged(attempts.index, message, error)) return;
        await sleep(this.#failed(attempts, message, error));
      }
    }
    this.#accept(attempts.index, message);
  }

  /** Returns the milliseconds to wait before the next attempt. @throws what it all came to */
  #failed(attempts: Attempts, message: Message, error: unknown): number {
    const whose = blame(error);
    const spoilt = message.inPlace && !attempts.candidate.driver.fallible && whose === 'fault';
    if (whose === 'fault') this.#drop(attempts.index);
    try {
      const ms = attempts.failed(error, spoilt);
      this.#secure(attempts, message);
      return ms;
    } catch (final) {
      if (blame(final) !== 'fault') throw final;
      // Half a text that nobody has authenticated is not to be found there.
      Uint8Array.prototype.fill.call(message.output, 0, 0, message.length);
      throw this.fail(final);
    }
  }

  /**
   * Whoever can fail can also take a good message for a forged one: another has the last word. True where the message was good
   * after all; `output` has its text then.
   * @throws AuthenticationError where it is forged
   */
  #judged(index: number, message: Message, error: unknown): boolean {
    if (blame(error) !== 'forged') return false;
    const { iv, aad, text, tag, output, length } = message;
    this.#last = index;
    const vouching = this.#squad.candidates[index]!.driver.fallible ? this.#vouching() : undefined;
    if (vouching === undefined) {
      this.#squad.done(index, length);
      throw error;
    }
    try {
      vouching.open(iv, aad, text, tag, output);
    } catch (second) {
      if (blame(second) !== 'forged') throw error;
      this.#squad.done(index, length);
      this.#squad.verified(index, true, '');
      throw error;
    }
    this.#squad.verified(index, false, `it took a good message of ${length} bytes for a forged one`);
    this.#drop(index);
    return true;
  }

  #accept(index: number, message: Message): void {
    this.#last = index;
    this.#squad.done(index, message.length);
    if (this.#squad.verifies(index) && !this.#verify(index, message)) this.#drop(index);
  }

  /** Compares the result with another driver's, and puts the right one in its place. */
  #verify(index: number, { iv, aad, text, length, output, tag }: Message): boolean {
    const vouching = this.#vouching();
    if (vouching === undefined) return true;
    const expected = new Uint8Array(length);
    const expectedTag = new Uint8Array(this.tagBytes);
    const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, part(b, 0, lengthOf(a))) === 0;
    let right = true;
    try {
      if (this.#encrypt) vouching.seal(iv, aad, text, expected, expectedTag);
      else vouching.open(iv, aad, text, tag, expected);
      right = same(expected, output) && (!this.#encrypt || same(expectedTag, tag));
    } catch (error) {
      if (blame(error) === 'refusal') return true;
      if (blame(error) !== 'forged') throw this.fail(error);
      // What it opened is forged: the worst of all wrong results.
      this.#squad.verified(index, false, `it took a forged message of ${length} bytes for a good one`);
      this.#drop(index);
      Uint8Array.prototype.fill.call(output, 0, 0, length);
      throw error;
    }
    this.#squad.verified(index, right, `${this.direction} of ${length} bytes`);
    if (right) return true;
    output.set(expected);
    if (this.#encrypt) tag.set(expectedTag);
    return false;
  }

  /** Whoever vouches; undefined where he does not take such a key, nonce or tag. */
  #vouching(): AeadSession | undefined {
    const { reference } = this.#squad;
    if (reference === undefined) return undefined;
    const held = this.#held;
    try {
      if (held.vouching === undefined || !held.vouching.session.usable) {
        held.vouching?.session.close();
        held.vouching = this.#open(reference);
      } else if (held.vouching.key !== this.#key) {
        held.vouching.session.rekey(held.key);
        held.vouching.key = this.#key;
      }
      return held.vouching.session;
    } catch (error) {
      if (blame(error) !== 'refusal') throw this.fail(error);
      return undefined;
    }
  }

  #leg(index: number): Leg {
    this.#squad.check(index);
    const held = this.#held;
    let leg = held.legs[index];
    if (leg === undefined || !leg.session.usable) {
      leg?.session.close();
      leg = this.#open(this.#squad.candidates[index]!);
      held.legs[index] = leg;
    } else if (leg.key !== this.#key) {
      leg.session.rekey(held.key);
      leg.key = this.#key;
    }
    return leg;
  }

  #open({ driver, options }: Candidate): Leg {
    const more = { ...options, tagBytes: this.tagBytes };
    return { session: driver.aead(this.algorithm, this.direction, this.#held.key, more), key: this.#key };
  }

  #drop(index: number): void {
    this.#held.legs[index]?.session.close();
    this.#held.legs[index] = undefined;
  }

  // --- in pieces -------------------------------------------------------------------------------------------------------

  begin(iv: Uint8Array): void {
    this.ready();
    checkIv(this.algorithm, iv);
    this.#begun = { iv: copyOf(iv), aad: [] };
    this.#running = -1;
  }

  aad(data: Uint8Array): void {
    this.ready();
    const begun = this.#started();
    if (this.#running >= 0) this.#run((session) => session.aad(data));
    else begun.aad.push(copyOf(bytes(data, 'aad')));
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = pair(input, output);
    this.#set(length);
    this.#run((session) => session.update(input, output));
    this.#squad.done(this.#running, length);
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = pair(input, output);
    this.#set(length);
    const { session } = this.#leg(this.#running);
    await this.busy([input, output], () => session.updateAsync(input, output));
    this.#squad.done(this.#running, length);
  }

  finish(tag: Uint8Array): void {
    this.ready();
    this.#set(0);
    this.#begun = undefined;
    const index = this.#running;
    this.#running = -1;
    this.#run((session) => session.finish(tag), index);
  }

  #started(): { iv: Uint8Array; aad: Uint8Array[] } {
    if (this.#begun !== undefined) return this.#begun;
    throw new HwcryptError('SESSION_UNUSABLE', `${this.driver}: no message has begun`);
  }

  /** Chooses who does the message, when its first piece is there. */
  #set(length: number): void {
    const { iv, aad } = this.#started();
    if (this.#running >= 0) return;
    const wanted = this.#squad.pick(length);
    const index = this.#takesPieces(wanted) ? wanted : this.#streaming();
    if (index < 0) {
      throw new HwcryptError(
        'SESSION_UNUSABLE',
        `${this.driver}: no driver takes ${this.algorithm.name} in pieces; use seal or open`,
      );
    }
    this.#running = index;
    this.#last = index;
    this.#run((session) => {
      session.begin(iv);
      for (const piece of aad) session.aad(piece);
    });
  }

  /** A message in pieces exists only in the one session: when that fails, all of it is lost. */
  #run(action: (session: AeadSession) => void, index = this.#running): void {
    try {
      action(this.#leg(index).session);
    } catch (error) {
      throw blame(error) === 'fault' ? this.fail(error) : error;
    }
  }

  #takesPieces(index: number): boolean {
    try {
      return this.#leg(index).session.incremental;
    } catch {
      return false;
    }
  }

  /** The first candidate that takes a message in pieces; -1 where nobody does. */
  #streaming(): number {
    return this.#squad.candidates.findIndex(
      ({ driver }, index) => !driver.fallible && this.#takesPieces(index),
    );
  }
}
