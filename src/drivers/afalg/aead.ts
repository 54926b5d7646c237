/**
 * AEAD sessions: one message is one sendmsg (aad, text and, to open, tag) and one readv. Nothing can be split or streamed.
 *
 * Layout from Linux 4.9 on: seal sends aad ‖ text and receives aad ‖ ciphertext ‖ tag; open sends aad ‖ ciphertext ‖ tag and
 * receives aad ‖ text. The echo of the aad goes into scratch memory. A wrong tag is EBADMSG from readv.
 */
import type { AeadAlgorithm } from '../../algorithms.js';
import {
  AuthenticationError,
  DriverError,
  HwcryptError,
  type Reason,
  UnavailableError,
} from '../../errors.js';
import {
  ALG_OP_DECRYPT,
  ALG_OP_ENCRYPT,
  address,
  ERRNO,
  encodeRequest,
  hostAbi,
  iovecBytes,
  libc,
  putIovec,
  putWord,
  type RequestLayout,
  requestLayout,
} from '../../linux/index.js';
import { WholeAeadSessionBase } from '../aead.js';
import { bytes, lengthOf, outputBytes } from '../buffers.js';
import type { AeadSession, Direction } from '../driver.js';
import { kernelIvBytes, nonceProblem, putNonce } from '../kernel-nonce.js';
import { checkKey } from '../parameters.js';
import type { Facts } from './facts.js';
import { type Limits, patiently, patientlyAsync, type Resources, unavailable } from './tfm.js';

const abi = hostAbi();
const { MSG_NOSIGNAL, POLLIN, POLLOUT } = libc;
const SEND_HERE_BYTES = 16_384;

export interface AeadContext {
  readonly driver: string;
  readonly limits: Limits;
  readonly facts: () => Facts;
}

export class AfalgAead extends WholeAeadSessionBase implements AeadSession {
  readonly driver: string;
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  protected readonly interfaceName = 'AF_ALG';
  readonly messageBytes: number;
  readonly #context: AeadContext;
  readonly #held: Resources;
  readonly #encrypt: boolean;
  readonly #request: Uint8Array;
  readonly #view: DataView;
  readonly #message: number;
  readonly #layout: RequestLayout;
  /** Three struct iovec for readv: echo of the aad, text, tag. */
  readonly #reply: Uint8Array;
  readonly #replyView: DataView;
  /** Where the echo of the aad goes. Never empty: a readv of nothing would not run the operation. */
  #echo = new Uint8Array(64);
  /** Keeps the caller's memory alive while the pool works on its address. */
  protected inUse: readonly Uint8Array[] = [];

  /** Takes over `held`, whose key and tag length are set and whose operation socket is open. */
  constructor(
    context: AeadContext,
    held: Resources,
    algorithm: AeadAlgorithm,
    direction: Direction,
    tagBytes: number,
  ) {
    super();
    this.driver = context.driver;
    this.algorithm = algorithm;
    this.direction = direction;
    this.tagBytes = tagBytes;
    this.messageBytes = context.limits.requestBytes;
    this.#context = context;
    this.#held = held;
    this.#encrypt = direction === 'encrypt';
    const shape = { ivBytes: kernelIvBytes(algorithm), aead: true, iovecs: 3 };
    this.#request = new Uint8Array(requestLayout(abi, shape).bytes);
    this.#view = new DataView(this.#request.buffer);
    this.#message = address(this.#request);
    const operation = this.#encrypt ? ALG_OP_ENCRYPT : ALG_OP_DECRYPT;
    this.#layout = encodeRequest(this.#request, this.#message, operation, shape, abi);
    this.#reply = new Uint8Array(iovecBytes(abi, 3));
    this.#replyView = new DataView(this.#reply.buffer);
    this.own(() => held.close());
  }

  rekey(key: Uint8Array): void {
    this.ready();
    checkKey(this.algorithm, key);
    const reason = this.#held.rekey(key, this.#context.facts, this.tagBytes);
    if (reason)
      throw this.fail(unavailable(this.#held.tfm.target, `new key for ${this.algorithm.name}`, reason));
  }

  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void {
    this.ready();
    const length = this.#check('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    this.#run(this.#prepare(iv, aad, text, tag, output, length));
  }

  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    if (!this.#run(this.#prepare(iv, aad, text, tag, output, length))) {
      Uint8Array.prototype.fill.call(output, 0, 0, length);
      throw new AuthenticationError();
    }
  }

  async sealAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Promise<void> {
    this.ready();
    const length = this.#check('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    const plan = this.#prepare(iv, aad, text, tag, output, length);
    this.inUse = [aad, text, tag, output];
    await this.busy(this.inUse, () => this.#runAsync(plan));
  }

  async openAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    tag: Uint8Array,
    output: Uint8Array,
  ): Promise<void> {
    this.ready();
    const length = this.#check('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    const plan = this.#prepare(iv, aad, text, tag, output, length);
    this.inUse = [aad, text, tag, output];
    await this.busy(this.inUse, async () => {
      if (await this.#runAsync(plan)) return;
      Uint8Array.prototype.fill.call(output, 0, 0, length);
      // A forged message is no failure of the session; close() may have been called meanwhile.
      if (this.life === 'busy') this.life = 'ready';
      throw new AuthenticationError();
    });
  }

  #check(
    direction: Direction,
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
  ): number {
    const { algorithm } = this;
    const length = this.checkMessage(direction, iv, aad, text, output);
    const problem = nonceProblem(algorithm, lengthOf(iv));
    if (problem)
      throw new UnavailableError(
        'ALGORITHM_UNAVAILABLE',
        'afalg',
        `${this.driver}: ${algorithm.name}`,
        problem,
      );
    const total = lengthOf(aad) + length + this.tagBytes;
    if (total <= this.messageBytes) return length;
    const message = `the kernel takes aad, text and tag of one message in one request of at most ${this.messageBytes} bytes; this one has ${total}`;
    throw new HwcryptError('MESSAGE_TOO_LARGE', `${this.driver}: ${message}`, {
      reason: { code: 'MESSAGE_TOO_LARGE', message, cure: 'use the libcrypto driver, or smaller messages' },
    });
  }

  /** Fills the request and the reply for one message. */
  #prepare(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    tag: Uint8Array,
    output: Uint8Array,
    length: number,
  ): Plan {
    const { tagBytes } = this;
    const layout = this.#layout;
    const request = this.#request;
    putNonce(this.algorithm, iv, request, layout.iv);
    const aadBytes = lengthOf(aad);
    this.#view.setUint32(layout.assocLen, aadBytes, abi.littleEndian);

    let pieces = 0;
    const send = (view: Uint8Array, size: number): void => {
      if (size > 0) putIovec(this.#view, layout.iovec, pieces++, address(view), size, abi);
    };
    send(aad, aadBytes);
    send(text, length);
    if (!this.#encrypt) send(tag, tagBytes);
    putWord(this.#view, layout.iovecCount, pieces, abi);

    if (this.#echo.length < aadBytes) this.#echo = new Uint8Array(aadBytes);
    let replies = 0;
    const receive = (view: Uint8Array, size: number): void => {
      if (size > 0) putIovec(this.#replyView, 0, replies++, address(view), size, abi);
    };
    receive(this.#echo, aadBytes);
    receive(output, length);
    if (this.#encrypt) receive(tag, tagBytes);
    // One byte to receive makes the kernel check the tag of a message that is nothing but a tag.
    else if (aadBytes + length === 0) receive(this.#echo, 1);
    return {
      sent: aadBytes + length + (this.#encrypt ? 0 : tagBytes),
      got: aadBytes + length + (this.#encrypt ? tagBytes : 0),
      replies,
    };
  }

  /** False for a wrong tag. */
  #run({ sent, got, replies }: Plan): boolean {
    const { op } = this.#held;
    let result = this.#send();
    if (result !== sent) throw this.#failed('sendmsg', result, sent);
    const iovecs = address(this.#reply);
    result = libc.readv(op, iovecs, replies);
    if (result === -ERRNO.EAGAIN) {
      result = patiently(result, op, POLLIN, () => libc.readv(op, iovecs, replies));
    }
    return this.#outcome(result, got);
  }

  #send(): number {
    const { op } = this.#held;
    const result = libc.sendmsg(op, this.#message, MSG_NOSIGNAL);
    return result !== -ERRNO.EAGAIN
      ? result
      : patiently(result, op, POLLOUT, () => libc.sendmsg(op, this.#message, MSG_NOSIGNAL));
  }

  async #runAsync({ sent, got, replies }: Plan): Promise<boolean> {
    try {
      const { op } = this.#held;
      let result =
        sent <= SEND_HERE_BYTES
          ? this.#send()
          : await patientlyAsync(() => libc.sendmsgAsync(op, this.#message, MSG_NOSIGNAL));
      if (result !== sent) throw this.#failed('sendmsg', result, sent);
      const iovecs = address(this.#reply);
      result = await patientlyAsync(() => libc.readvAsync(op, iovecs, replies));
      return this.#outcome(result, got);
    } finally {
      this.inUse = [];
    }
  }

  #outcome(result: number, expected: number): boolean {
    if (result === expected) return true;
    if (result === -ERRNO.EBADMSG) return false;
    throw this.#failed('read', result, expected);
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

interface Plan {
  /** Bytes that sendmsg must take. */
  readonly sent: number;
  /** Bytes that readv must give. */
  readonly got: number;
  /** How many iovecs the reply has. */
  readonly replies: number;
}
