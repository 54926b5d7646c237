/**
 * Hash and MAC sessions: `update` is one send with MSG_MORE, `digest` one read (which also ends the operation), `once` one
 * send without MSG_MORE and one read, whatever the length: the kernel works the data off while it takes it.
 */
import type { HashAlgorithm, MacAlgorithm } from '../../algorithms.js';
import { DriverError, type Reason } from '../../errors.js';
import { address, libc } from '../../linux/index.js';
import { bytes, lengthOf, outputBytes } from '../buffers.js';
import type { DigestSession } from '../driver.js';
import { checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import type { Facts } from './facts.js';
import { patiently, patientlyAsync, Resources, unavailable } from './tfm.js';

const { MSG_MORE, MSG_NOSIGNAL, POLLIN, POLLOUT } = libc;

/** The kernel cuts one send at 2 GiB less a page without an error. */
const MAX_SEND = 0x4000_0000;

export interface DigestContext {
  readonly driver: string;
  readonly facts: () => Facts;
  /** The key as it is handed to the kernel (an empty or very long one is replaced by an equivalent). */
  readonly kernelKey: (key: Uint8Array) => Uint8Array;
}

export class AfalgDigest extends SessionBase implements DigestSession {
  readonly driver: string;
  readonly algorithm: HashAlgorithm | MacAlgorithm;
  readonly #context: DigestContext;
  readonly #held: Resources;
  /** `empty`: nothing sent. `open`: data sent with MSG_MORE. `done`: digest() was called. */
  #state: 'empty' | 'open' | 'done' = 'empty';
  /** Keeps the caller's memory alive while the pool works on its address. */
  protected inUse: Uint8Array | undefined;

  /** Takes over `held`, whose key is set and whose operation socket is open. */
  constructor(context: DigestContext, held: Resources, algorithm: HashAlgorithm | MacAlgorithm) {
    super();
    this.driver = context.driver;
    this.algorithm = algorithm;
    this.#context = context;
    this.#held = held;
    this.own(() => held.close());
  }

  update(data: Uint8Array): void {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    this.#unfinished();
    if (length > 0) this.#send(data, length, true);
  }

  async updateAsync(data: Uint8Array): Promise<void> {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    this.#unfinished();
    if (length === 0) return;
    await this.busy([data], () => this.#sendAsync(data, length, true));
  }

  digest(output: Uint8Array): void {
    this.ready();
    this.#unfinished();
    const size = this.#checkOutput(output);
    this.#read(output, size);
    this.#state = 'done';
  }

  clone(): AfalgDigest {
    this.ready();
    const { tfm, op } = this.#held;
    // A fresh socket is a copy of one that has seen nothing; accept on the operation socket copies what it has seen.
    const fd = this.#state === 'open' ? libc.accept4(op, libc.SOCK_CLOEXEC | libc.SOCK_NONBLOCK) : undefined;
    const reason = fd === undefined ? undefined : fd < 0 ? tfm.explain('accept', fd) : undefined;
    const accepted = fd === undefined ? tfm.accept() : { value: fd };
    const problem = reason ?? accepted.reason;
    if (problem) throw new DriverError(this.driver, `cannot copy a state of ${this.algorithm.name}`, problem);
    const copy = new AfalgDigest(
      this.#context,
      new Resources(tfm.retain(), (accepted as { value: number }).value),
      this.algorithm,
    );
    copy.#state = this.#state;
    return copy;
  }

  restart(key?: Uint8Array): void {
    this.ready();
    if (key !== undefined && this.algorithm.kind === 'mac') {
      checkKey(this.algorithm, key);
      const reason = this.#held.rekey(this.#context.kernelKey(key), this.#context.facts);
      if (reason)
        throw this.fail(unavailable(this.#held.tfm.target, `new key for ${this.algorithm.name}`, reason));
    } else this.#drain();
    this.#state = 'empty';
  }

  once(data: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    const size = this.#checkOutput(output);
    this.#drain();
    // A read without a send gives the digest of nothing.
    if (length > 0) this.#send(data, length, false);
    this.#read(output, size);
    this.#state = 'done';
  }

  async onceAsync(data: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    const size = this.#checkOutput(output);
    this.#drain();
    await this.busy([data, output], async () => {
      if (length > 0) await this.#sendAsync(data, length, false);
      // The work was done by the send; the result is only fetched.
      this.#read(output, size);
    });
    this.#state = 'done';
  }

  #checkOutput(output: Uint8Array): number {
    const { digestBytes } = this.algorithm;
    outputBytes(output, 'output', digestBytes);
    return digestBytes;
  }

  #unfinished(): void {
    if (this.#state === 'done') throw new Error('digest() was called: restart() the session first');
  }

  /** Ends an operation that has seen data and throws its result away: one read instead of a new socket. */
  #drain(): void {
    if (this.#state === 'open')
      this.#read(new Uint8Array(this.algorithm.digestBytes), this.algorithm.digestBytes);
    this.#state = 'empty';
  }

  #send(data: Uint8Array, length: number, more: boolean): void {
    const base = address(data);
    const { op } = this.#held;
    for (let at = 0; at < length; ) {
      const size = Math.min(MAX_SEND, length - at);
      const flags = MSG_NOSIGNAL | (more || at + size < length ? MSG_MORE : 0);
      let sent = libc.send(op, base + at, size, flags);
      if (sent < 0) sent = patiently(sent, op, POLLOUT, () => libc.send(op, base + at, size, flags));
      at += this.#taken(sent, size, flags);
    }
    this.#state = 'open';
  }

  async #sendAsync(data: Uint8Array, length: number, more: boolean): Promise<void> {
    this.inUse = data;
    try {
      const base = address(data);
      const { op } = this.#held;
      for (let at = 0; at < length; ) {
        const size = Math.min(MAX_SEND, length - at);
        const flags = MSG_NOSIGNAL | (more || at + size < length ? MSG_MORE : 0);
        const offset = at;
        const sent = await patientlyAsync(() => libc.sendAsync(op, base + offset, size, flags));
        at += this.#taken(sent, size, flags);
      }
      this.#state = 'open';
    } finally {
      this.inUse = undefined;
    }
  }

  /** A send that took only a part may go on only where the operation was left open. */
  #taken(sent: number, size: number, flags: number): number {
    if (sent === size || (sent > 0 && (flags & MSG_MORE) !== 0)) return sent;
    throw this.#failed('sendmsg', sent, size);
  }

  #read(output: Uint8Array, size: number): void {
    const { op } = this.#held;
    const to = address(output);
    let got = libc.read(op, to, size);
    if (got < 0) got = patiently(got, op, POLLIN, () => libc.read(op, to, size));
    if (got !== size) throw this.#failed('read', got, size);
  }

  #failed(call: 'sendmsg' | 'read', result: number, expected: number): DriverError {
    const reason: Reason =
      result < 0
        ? this.#held.tfm.explain(call, result, { bytes: expected })
        : {
            code: 'SYSTEM_ERROR',
            message: `the kernel ${call === 'read' ? 'answered with' : 'took'} ${result} of ${expected} bytes`,
            syscall: call,
          };
    return this.fail(new DriverError(this.driver, this.algorithm.name, reason));
  }
}
