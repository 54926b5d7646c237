/**
 * A cipher session that is a relay of drivers' sessions: each request is done by whoever is best at its size, and the chain
 * is handed over at block boundaries. When a driver fails, another goes on from the last value of the chain that is known.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import type { CipherAlgorithm } from '../../algorithms.js';
import { copyOf, overlap, pair, part, unaliased } from '../../drivers/buffers.js';
import { addBigEndian, Chain } from '../../drivers/chain.js';
import type { CipherSession, Direction } from '../../drivers/driver.js';
import { checkIv, checkKey } from '../../drivers/parameters.js';
import { SessionBase } from '../../drivers/session.js';
import { HwcryptError } from '../../errors.js';
import { blame } from '../faults.js';
import { Attempts, pause, type Range, type Squad } from '../squad.js';
import { count } from '../stats.js';

/** What is given to a driver that can fail in one go: so much is done again when it does. A multiple of every block. */
const PIECE_BYTES = 1024 * 1024;

/** A share of a message that is worth a thread's wake-up, up to 60 µs in a virtual machine. */
const LANE_BYTES = 256 * 1024;
/** Node's pool has four threads unless told otherwise. */
const MOST_LANES = 4;

/** What must be let go of at the end; apart from the session, which the garbage collector could not collect otherwise. */
interface Held {
  readonly key: Uint8Array;
  keyBytes: number;
  readonly legs: (Leg | undefined)[];
  vouching: Leg | undefined;
  lanes: RelayCipher[];
}

interface Leg {
  readonly session: CipherSession;
  /** Which of the keys that the relay had so far. */
  key: number;
}

/**
 * Memory for what is worked on in place, used again: a new buffer each time costs several times the copy. Whoever has it has it alone,
 * since a listener that hears of a failure may encrypt something itself.
 */
let spare: ArrayBuffer | undefined;
/** How much of it may hold somebody's text. Wiped when a session ends, since after each request it would cost as much as the copy. */
let stained = 0;

function wipeSpare(): void {
  if (spare !== undefined && stained > 0)
    new Uint8Array(spare, 0, Math.min(stained, spare.byteLength)).fill(0);
  stained = 0;
}

function keep(view: Uint8Array, size: number): Uint8Array {
  const room = spare !== undefined && spare.byteLength >= size ? spare : new ArrayBuffer(size);
  spare = undefined;
  const copy = new Uint8Array(room, 0, size);
  copy.set(view);
  return copy;
}

function letGo(copy: Uint8Array): void {
  const { buffer } = copy;
  if (buffer.byteLength > PIECE_BYTES) {
    copy.fill(0);
    return;
  }
  spare = buffer as ArrayBuffer;
  stained = Math.max(stained, copy.length);
}

/** Longest key that the relay keeps without a new buffer. */
const KEY_BYTES = 64;

export class RelayCipher extends SessionBase implements CipherSession {
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  readonly partialBlocks = false;
  readonly #squad: Squad;
  readonly #held: Held;
  /** Where the chain is while no session of a library holds it. */
  readonly #iv: Uint8Array;
  readonly #chain: Chain;
  readonly #block: number;
  /** The state cannot be told, so whoever begins a message ends it (RC4 …). */
  readonly #sticky: boolean;
  readonly #units: boolean;
  /** Who holds the chain; -1 while it is only in `#iv`. */
  #at = -1;
  /** His session, where he is a library and has done something since the last restart, and the sizes that are his. */
  #steady: (Range & { readonly session: CipherSession }) | undefined;
  /** Has anything been done since the last restart? */
  #begun = false;
  /** Generation of the key. */
  #key = 0;
  /** Who has worked so far, a bit each. Not forgotten at a restart: a stream may need some for one message. */
  #worked = 0;
  /** Is this message compared, where the state cannot be told? */
  #compared = false;
  /** Whose memory `stage` is. */
  #staging = -1;

  /** @throws as a driver's own session for a wrong key or IV; what else is wrong with them shows at the first request. */
  constructor(
    squad: Squad,
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
  ) {
    super();
    checkIv(algorithm, iv);
    const keyBytes = checkKey(algorithm, key);
    this.#squad = squad;
    this.#block = algorithm.cipherBlockBytes;
    this.algorithm = algorithm;
    this.direction = direction;
    this.#units = algorithm.mode === 'xts';
    // CFB of single bytes or bits, which no device has, is not followed either.
    const followed = algorithm.handover && algorithm.mode !== 'cfb8' && algorithm.mode !== 'cfb1';
    this.#sticky = !followed && !this.#units;
    this.#iv = iv === null ? new Uint8Array(algorithm.ivBytes) : copyOf(iv);
    this.#chain = new Chain(algorithm, direction, this.#iv);
    const held: Held = {
      key: new Uint8Array(Math.max(KEY_BYTES, keyBytes, algorithm.keyRange?.[1] ?? 0)),
      keyBytes,
      legs: [],
      vouching: undefined,
      lanes: [],
    };
    held.key.set(key);
    this.#held = held;
    this.own(() => {
      held.key.fill(0);
      wipeSpare();
      for (const leg of held.legs) leg?.session.close();
      held.vouching?.session.close();
      for (const lane of held.lanes) lane.close();
    });
  }

  /** Whoever has worked so far, joined by `+`; before that, who would do a short request. */
  get driver(): string {
    const { candidates } = this.#squad;
    if (this.#worked === 0) return this.#name(this.#squad.pick(0));
    return candidates.flatMap((_, i) => (this.#worked & (1 << i) ? [this.#name(i)] : [])).join('+');
  }

  /** A session knows better than its label what it is bound to; one is opened to ask it, where there is none. */
  #name(index: number): string {
    if (this.life === 'ready' && this.#at < 0) {
      try {
        return this.#leg(index).session.driver;
      } catch {
        // It will say so when there is work to do.
      }
    }
    return this.#held.legs[index]?.session.driver ?? this.#squad.candidates[index]!.label;
  }

  /** The first driver's, where it does all messages that fit in. */
  get stage(): Uint8Array | undefined {
    const { borders } = this.#squad;
    const { index } = borders[0]!;
    const { driver } = this.#squad.candidates[index]!;
    if (driver.fallible || this.#units || this.life !== 'ready') return undefined;
    try {
      const stage = this.#leg(index).session.stage;
      const room = borders[1]?.fromBytes ?? Number.POSITIVE_INFINITY;
      this.#staging = index;
      return stage !== undefined && room > stage.length ? stage : undefined;
    } catch {
      // `update` has more ways.
      return undefined;
    }
  }

  updateStaged(length: number): Uint8Array {
    this.ready();
    // Not whoever is first by now: the message lies in the other's memory.
    const index = this.#staging;
    const result = this.#leg(index).session.updateStaged!(length);
    this.#finished(index, length);
    return result;
  }

  update(input: Uint8Array, output: Uint8Array): void {
    // The next piece for the library that had the last one, which checks it: what a short request costs is all in here.
    const steady = this.#steady;
    if (steady !== undefined && this.life === 'ready') {
      // Only to choose by. Whoever lies about it is found out by the session.
      const size = input?.length;
      const { from, below, version, health, tally, session } = steady;
      if (size > from && size < below && size % this.#block === 0 && health.version === version) {
        try {
          session.update(input, output);
        } catch (error) {
          if (blame(error) !== 'refusal') throw this.#lost(error);
          this.#carefully(this.#at, input, output, pair(input, output));
          return;
        }
        count(tally, size);
        return;
      }
    }
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    const index = this.#choose(length);
    const { fallible } = this.#squad.candidates[index]!.driver;
    if (fallible) {
      this.#fetch();
      if (this.#piece(length) < length || overlap(input, output, length) !== 'none') {
        this.#carefully(index, input, output, length);
        return;
      }
      // The usual request: in one piece, and the input is still there if it fails.
      this.#chain.before(input, 0, length);
    }
    try {
      this.#leg(index).session.update(input, output);
    } catch (error) {
      if (!fallible && blame(error) !== 'refusal') throw this.#lost(error);
      this.#carefully(index, input, output, length, error);
      return;
    }
    if (fallible) this.#accept(index, input, output, length);
    else {
      // The sizes of his that this one is among.
      this.#steady = undefined;
      this.#finished(index, length);
    }
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    await this.busy([input, output], async () => {
      const lanes = this.#lanes(length);
      if (lanes > 1) await this.#sideBySide(lanes, input, output, length);
      else await this.#carefullyAsync(input, output, length);
    });
  }

  restart(iv: Uint8Array | null, key?: Uint8Array): void {
    this.ready();
    checkIv(this.algorithm, iv);
    if (key !== undefined) {
      const keyBytes = checkKey(this.algorithm, key);
      const held = this.#held;
      held.key.fill(0);
      held.key.set(key);
      held.keyBytes = keyBytes;
      this.#key++;
    }
    if (iv !== null) this.#iv.set(iv);
    this.#chain.restart();
    this.#at = -1;
    this.#steady = undefined;
    this.#begun = false;
  }

  chain(): Uint8Array | null {
    this.ready();
    const { ivBytes, handover } = this.algorithm;
    if (!handover || ivBytes === 0) return null;
    if (this.#chain.ended) throw this.#ended();
    if (this.#sticky && this.#at >= 0) return this.#held.legs[this.#at]!.session.chain();
    this.#fetch();
    return copyOf(this.#iv);
  }

  #check(input: Uint8Array, output: Uint8Array): number {
    const { blockBytes, cipherBlockBytes } = this.algorithm;
    const length = pair(input, output, blockBytes);
    if (length > 0 && this.#chain.ended) throw this.#ended();
    // A bad argument, and so to be found out before anybody is asked.
    if (this.#units && length > 0 && length < cipherBlockBytes) {
      throw new HwcryptError('PARTIAL_BLOCK', `an XTS data unit is at least ${cipherBlockBytes} bytes long`);
    }
    return length;
  }

  #ended(): HwcryptError {
    return new HwcryptError(
      'PARTIAL_BLOCK',
      `${this.driver}: the message ended with a part of a block; restart() the session`,
    );
  }

  #choose(length: number): number {
    return this.#sticky && this.#begun ? this.#at : this.#squad.pick(length);
  }

  /** Brings the chain into `#iv`, wherever it is. */
  #fetch(): void {
    const at = this.#at;
    if (at < 0 || this.#sticky || this.#units) return;
    // Of those that can fail the chain is followed, since it cannot be asked of them when they have.
    if (this.#squad.candidates[at]!.driver.fallible) return;
    const value = this.#held.legs[at]!.session.chain();
    if (value !== null) this.#iv.set(value);
  }

  /** The session of a candidate, at the place where the message goes on. */
  #leg(index: number): Leg {
    this.#squad.check(index);
    const held = this.#held;
    let leg = held.legs[index];
    if (index === this.#at && leg !== undefined) return leg;
    this.#fetch();
    this.#steady = undefined;
    const iv = this.algorithm.ivBytes > 0 ? this.#iv : null;
    if (leg?.session.usable) {
      leg.session.restart(iv, leg.key === this.#key ? undefined : part(held.key, 0, held.keyBytes));
      leg.key = this.#key;
    } else {
      leg = this.#open(index, iv);
      held.legs[index] = leg;
    }
    this.#at = index;
    return leg;
  }

  #open(index: number, iv: Uint8Array | null): Leg {
    const { driver, options } = this.#squad.candidates[index]!;
    const key = part(this.#held.key, 0, this.#held.keyBytes);
    return { session: driver.cipher(this.algorithm, this.direction, key, iv, options), key: this.#key };
  }

  /** Lets go of a session that failed. The chain is what it was before its last request. */
  #drop(index: number): void {
    this.#held.legs[index]?.session.close();
    this.#held.legs[index] = undefined;
    this.#at = -1;
    this.#steady = undefined;
  }

  #finished(index: number, length: number): void {
    this.#begun = true;
    this.#worked |= 1 << index;
    this.#squad.done(index, length);
    if (this.#squad.candidates[index]!.driver.fallible) return;
    if (length % this.#block !== 0 && !this.#units) {
      // A message may end within a block; what is behind it belongs to another one.
      this.#chain.after(NOTHING, 0, length);
      this.#steady = undefined;
      return;
    }
    const session = this.#held.legs[index]?.session;
    this.#steady ??= session && { ...this.#squad.range(index, length), session };
  }

  /** The error of a request that nobody could do. A bad argument leaves the session as it was. */
  #lost(error: unknown): unknown {
    return error instanceof HwcryptError && error.code !== 'PARTIAL_BLOCK' ? this.fail(error) : error;
  }

  /** How much of `left` bytes goes to a driver that can fail in one request. */
  #piece(left: number): number {
    return this.#units ? left : Math.min(left, this.#chain.limit(PIECE_BYTES));
  }

  /** @param failure what `first` made of the whole of it already */
  #carefully(first: number, input: Uint8Array, output: Uint8Array, length: number, failure?: unknown): void {
    const source = unaliased(input, output, length);
    let index = first;
    let earlier = failure;
    for (let at = 0; at < length; ) {
      const size = this.#piece(length - at);
      const attempts = new Attempts(this.#squad, length - at, index);
      const to = part(output, at, size);
      const given = part(source, at, size);
      // What is worked on in place must outlive a failure.
      const from = overlap(given, to) === 'none' ? given : keep(given, size);
      if (earlier !== undefined) {
        pause(this.#failed(attempts, earlier));
        earlier = undefined;
      }
      this.#chain.before(from, 0, size);
      for (;;) {
        try {
          this.#leg(attempts.index).session.update(from, to);
          break;
        } catch (error) {
          pause(this.#failed(attempts, error));
        }
      }
      this.#accept(attempts.index, from, to, size);
      if (from !== given) letGo(from);
      at += size;
      if (at < length) index = this.#choose(length - at);
    }
  }

  async #carefullyAsync(input: Uint8Array, output: Uint8Array, length: number): Promise<void> {
    const source = unaliased(input, output, length);
    this.#fetch();
    for (let at = 0; at < length; ) {
      const attempts = new Attempts(this.#squad, length - at, this.#choose(length - at));
      const size = attempts.candidate.driver.fallible ? this.#piece(length - at) : length - at;
      const to = part(output, at, size);
      let from = part(source, at, size);
      const secure = (): void => {
        if (attempts.candidate.driver.fallible && overlap(from, to) !== 'none') from = copyOf(from);
      };
      secure();
      this.#chain.before(from, 0, size);
      for (;;) {
        try {
          await this.#leg(attempts.index).session.updateAsync(from, to);
          break;
        } catch (error) {
          await sleep(this.#failed(attempts, error));
          secure();
        }
      }
      this.#accept(attempts.index, from, to, size);
      at += size;
    }
  }

  /** Returns the milliseconds to wait before the next attempt. @throws what it all came to */
  #failed(attempts: Attempts, error: unknown): number {
    // A library that fails may have spoilt what it was working on in place.
    const spoilt = !attempts.candidate.driver.fallible && blame(error) === 'fault';
    const last = spoilt || (this.#sticky && this.#begun);
    // Whoever refuses has done nothing, and may hold the chain.
    if (blame(error) === 'refusal' && !this.#sticky) this.#fetch();
    this.#drop(attempts.index);
    try {
      return attempts.failed(error, last);
    } catch (final) {
      throw this.#lost(final);
    }
  }

  /** A piece is done: proves it where it is its turn, and moves the chain on. */
  #accept(index: number, from: Uint8Array, to: Uint8Array, size: number): void {
    const { driver } = this.#squad.candidates[index]!;
    if (driver.fallible) {
      let right = true;
      try {
        if (this.#compares(index)) right = this.#verify(index, from, to, size);
      } catch (error) {
        // Whoever vouches does not take it: it stays as it is. But where he fails, nobody knows.
        if (blame(error) !== 'refusal') throw this.fail(error);
      }
      if (!this.#sticky) {
        this.#chain.after(to, 0, size);
        // Its own chain may be as wrong as its result.
        if (!right) this.#drop(index);
      }
    }
    this.#finished(index, size);
  }

  /** Is it this request's turn? Of a message that only one can do, each is compared or none. */
  #compares(index: number): boolean {
    if (!this.#sticky) return this.#squad.verifies(index);
    if (!this.#begun) this.#compared = this.#squad.verifies(index);
    return this.#compared;
  }

  /** Compares the result with another driver's, and puts the right one in its place. */
  #verify(index: number, from: Uint8Array, to: Uint8Array, size: number): boolean {
    const held = this.#held;
    const { driver, options } = this.#squad.reference!;
    const iv = this.algorithm.ivBytes > 0 ? this.#iv : null;
    const expected = new Uint8Array(size);
    const key = part(held.key, 0, held.keyBytes);
    if (held.vouching?.session.usable) {
      if (!this.#sticky || !this.#begun) held.vouching.session.restart(iv, key);
    } else {
      held.vouching?.session.close();
      const session = driver.cipher(this.algorithm, this.direction, key, iv, options);
      held.vouching = { session, key: this.#key };
    }
    held.vouching.session.update(from, expected);
    const right = Buffer.compare(expected, part(to, 0, size)) === 0;
    this.#squad.verified(index, right, `${this.direction} of ${size} bytes`);
    if (!right) to.set(expected);
    return right;
  }

  // --- several at once -------------------------------------------------------------------------------------------------

  /** Into how many shares a message of so many bytes is cut; 1 where the mode does not allow it. */
  #lanes(length: number): number {
    const { mode, cipherBlockBytes } = this.algorithm;
    const apart =
      mode === 'ecb' ||
      mode === 'ctr' ||
      (this.direction === 'decrypt' && (mode === 'cbc' || mode === 'cfb'));
    if (!apart || length % cipherBlockBytes !== 0) return 1;
    const most = Math.min(MOST_LANES, Math.max(availableParallelism(), this.#engineLanes(length)));
    return Math.max(1, Math.min(most, Math.floor(length / LANE_BYTES)));
  }

  /** An engine works while the processor prepares the next request for it. */
  #engineLanes(length: number): number {
    const { driver, options } = this.#squad.candidates[this.#squad.pick(length)]!;
    return driver.fallible && driver.implementation(this.algorithm, options)?.hardware === 'yes' ? 2 : 1;
  }

  async #sideBySide(lanes: number, input: Uint8Array, output: Uint8Array, length: number): Promise<void> {
    this.#fetch();
    const { mode, cipherBlockBytes: block } = this.algorithm;
    const source = unaliased(input, output, length);
    const share = Math.ceil(length / lanes / block) * block;
    const starts: Uint8Array[] = [];
    // All of them first: in place, a share's beginning depends on what another share overwrites.
    for (let at = 0; at <= length; at = at < length ? Math.min(length, at + share) : length + 1) {
      const iv = copyOf(this.#iv);
      if (mode === 'ctr') addBigEndian(iv, at / block);
      else if (mode !== 'ecb' && at > 0) iv.set(part(source, at - block, block));
      starts.push(iv);
    }
    const held = this.#held;
    const key = part(held.key, 0, held.keyBytes);
    const runs: Promise<void>[] = [];
    for (let i = 0; i * share < length; i++) {
      const at = i * share;
      const size = Math.min(share, length - at);
      const iv = this.algorithm.ivBytes > 0 ? starts[i]! : null;
      let lane = held.lanes[i];
      if (lane?.usable) lane.restart(iv, key);
      else {
        lane = new RelayCipher(this.#squad, this.algorithm, this.direction, key, iv);
        held.lanes[i] = lane;
      }
      runs.push(lane.#carefullyAsync(part(source, at, size), part(output, at, size), size));
    }
    // Nobody may go on writing into memory that the caller takes for his own again.
    const outcomes = await Promise.allSettled(runs);
    for (const lane of held.lanes) this.#worked |= lane.#worked;
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    this.#iv.set(starts.at(-1)!);
    this.#at = -1;
    this.#steady = undefined;
    this.#begun = true;
  }
}

const NOTHING = new Uint8Array(0);
