/**
 * A trial: what sessions of a driver are made to do, as data. It can be repeated, made smaller, and printed; the known answers, the check
 * before first use and the fuzz all make trials, and one file (`perform.ts`) does them.
 */
import type { Algorithm } from '../../algorithms.js';

/** `digest` is a hash or a MAC. */
export type Task = 'encrypt' | 'decrypt' | 'digest';

/** How the output lies to the input in memory. `overlapping`: some bytes further on the input itself. */
export type Layout = 'apart' | 'in place' | 'overlapping';

export interface Message {
  /** Key from this message on. The first message of a session has one, except for a hash. */
  readonly key?: Uint8Array;
  /** Null for a mode that takes none, and for digests. */
  readonly iv: Uint8Array | null;
  /** Additional data of an AEAD. */
  readonly aad?: Uint8Array;
  /** What goes in. For an AEAD always the plaintext: to decrypt, it is sealed first (by the reference, where there is one). */
  readonly input: Uint8Array;
  /** Lengths of the requests, which add up to the input's. A single one is a whole message in one call. */
  readonly pieces: readonly number[];
  /** Distance of input and output from an address that is a multiple of 16, in bytes. */
  readonly inputOffset: number;
  readonly outputOffset: number;
  readonly layout: Layout;
  /** By the asynchronous form of the call. */
  readonly asynchronous?: true;
  /** By way of the driver's own memory for short messages (`CipherSession.stage`), where it has such. */
  readonly staged?: true;
  /** After so many pieces another session goes on: from `chain()` for a cipher, as a `clone()` for a digest. */
  readonly handoverAfter?: number;
  /** AEAD, decrypt: one bit of this is turned over, and the driver must refuse the message. */
  readonly forged?: 'tag' | 'text' | 'aad';
}

export interface Trial {
  readonly algorithm: Algorithm;
  readonly task: Task;
  /** AEAD; its usual tag where absent. */
  readonly tagBytes?: number;
  /** Extendable hash; its usual digest where absent. */
  readonly outputBytes?: number;
  /** Messages of each session, one after the other. */
  readonly sessions: readonly (readonly Message[])[];
  /**
   * Of several sessions: request by request in turns (asynchronous requests of different sessions are then under way together), or
   * session by session.
   */
  readonly interleaved?: true;
}

/** A message as it is done unless something else is asked for: whole, aligned, from one buffer into another. */
export function message(input: Uint8Array, rest: Partial<Message> = {}): Message {
  return {
    iv: null,
    input,
    pieces: [input.length],
    inputOffset: 0,
    outputOffset: 0,
    layout: 'apart',
    ...rest,
  };
}

/** The key that a message is done with: its own, or that of the last before it which has one. */
export function keyAt(messages: readonly Message[], at: number): Uint8Array {
  for (let i = at; i >= 0; i--) {
    const { key } = messages[i]!;
    if (key) return key;
  }
  return new Uint8Array();
}

export const tasksOf = (algorithm: Algorithm): readonly Task[] =>
  algorithm.kind === 'hash' || algorithm.kind === 'mac' ? ['digest'] : ['encrypt', 'decrypt'];
