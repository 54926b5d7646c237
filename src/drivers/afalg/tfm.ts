/**
 * A transformation: the bound AF_ALG socket with its key, and the operation sockets accepted from it.
 *
 * The kernel refuses a new key while operation sockets are open (EBUSY), so a session that changes its key re-uses its
 * transformation only if nobody shares it, and makes a new one otherwise.
 */
import { type HwcryptCode, type Reason, UnavailableError } from '../../errors.js';
import {
  ALG_SET_AEAD_AUTHSIZE,
  ALG_SET_KEY,
  address,
  addressProblem,
  ERRNO,
  hostAbi,
  libc,
  SOL_ALG,
  sockaddrAlg,
} from '../../linux/index.js';
import { lengthOf } from '../buffers.js';
import { type AlgType, type Call, explain } from './explain.js';
import type { Facts } from './facts.js';

/** What to bind. */
export interface Target {
  readonly type: AlgType;
  /** The kernel's name: `cbc(aes)`. */
  readonly algorithm: string;
  /** The driver to bind instead, where one is pinned. */
  readonly pinned?: string | undefined;
}

/** A result or the reason why there is none. */
export type Outcome<T> = { readonly value: T; readonly reason?: undefined } | { readonly reason: Reason };

/** Why a call on a target failed. */
export type Explain = (
  call: Call,
  errno: number,
  details?: { keyBytes?: number; tagBytes?: number; bytes?: number },
) => Reason;

export function explainer(target: Target, facts: () => Facts): Explain {
  return (call, errno, details) => explain({ call, ...target, ...details }, errno, facts());
}

const abi = hostAbi();

/** Codes of reasons that concern the way to the kernel and not one algorithm. */
const WAY: ReadonlySet<string> = new Set([
  'NOT_LINUX',
  'FFI_UNAVAILABLE',
  'AF_ALG_ABSENT',
  'AF_ALG_DISABLED',
]);

/** The error that a session throws when it cannot be made. */
export function unavailable(target: Target | undefined, what: string, reason: Reason): UnavailableError {
  let code: HwcryptCode = 'ALGORITHM_UNAVAILABLE';
  if (WAY.has(reason.code) || reason.syscall === 'socket') code = 'DRIVER_UNAVAILABLE';
  else if (target?.pinned !== undefined) code = 'KERNEL_DRIVER_UNAVAILABLE';
  return new UnavailableError(code, 'afalg', `afalg: ${what}`, reason);
}

export class Tfm {
  readonly target: Target;
  readonly explain: Explain;
  #fd: number;
  #users = 1;
  #tagBytes: number | undefined;

  private constructor(target: Target, fd: number, explain: Explain) {
    this.target = target;
    this.explain = explain;
    this.#fd = fd;
  }

  /** socket and bind: two system calls. Binding may load modules and put a template together. */
  static open(target: Target, facts: () => Facts): Outcome<Tfm> {
    const why = explainer(target, facts);
    const name = target.pinned ?? target.algorithm;
    const problem = addressProblem(target.type, name);
    if (problem) {
      return {
        reason: { code: 'ALGORITHM_UNKNOWN', message: `the kernel has no '${name}': the name ${problem}` },
      };
    }
    const fd = libc.socket(libc.AF_ALG, libc.SOCK_SEQPACKET | libc.SOCK_CLOEXEC, 0);
    if (fd < 0) return { reason: why('socket', fd) };
    const bytes = sockaddrAlg(abi, target.type, name);
    const bound = libc.bind(fd, address(bytes), bytes.length);
    if (bound < 0) {
      libc.close(fd);
      return { reason: why('bind', bound) };
    }
    return { value: new Tfm(target, fd, why) };
  }

  /** Sets the key. Undefined where it was taken, else why not (`KEY_BUSY` while operation sockets are open). */
  setKey(key: Uint8Array): Reason | undefined {
    const bytes = lengthOf(key);
    const result = libc.setsockopt(this.#fd, SOL_ALG, ALG_SET_KEY, address(key), bytes);
    return result < 0 ? this.explain('setkey', result, { keyBytes: bytes }) : undefined;
  }

  /** Length of the tag, before the first accept. */
  setTagBytes(tagBytes: number): Reason | undefined {
    if (this.#tagBytes === tagBytes) return undefined;
    // The length goes where the option's length goes; there is no option value.
    const result = libc.setsockopt(this.#fd, SOL_ALG, ALG_SET_AEAD_AUTHSIZE, 0, tagBytes);
    if (result < 0) return this.explain('authsize', result, { tagBytes });
    this.#tagBytes = tagBytes;
    return undefined;
  }

  /** A new operation socket, not blocking, so that no misunderstanding with the kernel can hang the process. */
  accept(): Outcome<number> {
    const fd = libc.accept4(this.#fd, libc.SOCK_CLOEXEC | libc.SOCK_NONBLOCK);
    return fd < 0 ? { reason: this.explain('accept', fd) } : { value: fd };
  }

  /** True while one session only holds it. */
  get exclusive(): boolean {
    return this.#users === 1;
  }

  get closed(): boolean {
    return this.#users === 0;
  }

  retain(): this {
    this.#users++;
    return this;
  }

  release(): void {
    if (this.#users === 0) return;
    this.#users--;
    if (this.#users === 0) {
      libc.close(this.#fd);
      this.#fd = -1;
    }
  }
}

/** What a session holds natively. Kept apart from the session, so that the finalizer of the session can hold it. */
export class Resources {
  tfm: Tfm;
  /** The operation socket. */
  op: number;

  constructor(tfm: Tfm, op: number) {
    this.tfm = tfm;
    this.op = op;
  }

  /** A fresh operation socket in place of the old one, which may hold half a request. */
  reopen(): Reason | undefined {
    if (this.op >= 0) libc.close(this.op);
    this.op = -1;
    const accepted = this.tfm.accept();
    if (accepted.reason) return accepted.reason;
    this.op = accepted.value;
    return undefined;
  }

  /** A new key: on the same transformation where it is ours alone, else on a new one. Then a fresh operation socket. */
  rekey(key: Uint8Array, facts: () => Facts, tagBytes?: number): Reason | undefined {
    if (this.op >= 0) libc.close(this.op);
    this.op = -1;
    let reason = this.tfm.exclusive ? this.tfm.setKey(key) : undefined;
    if (!this.tfm.exclusive || reason?.code === 'KEY_BUSY') {
      const opened = Tfm.open(this.tfm.target, facts);
      if (opened.reason) return opened.reason;
      this.tfm.release();
      this.tfm = opened.value;
      reason = this.tfm.setKey(key);
      if (reason === undefined && tagBytes !== undefined) reason = this.tfm.setTagBytes(tagBytes);
    }
    return reason ?? this.reopen();
  }

  close(): void {
    if (this.op >= 0) libc.close(this.op);
    this.op = -1;
    this.tfm.release();
  }
}

/** How much one request may have. */
export interface Limits {
  /** Bytes of a piece of a longer message. */
  readonly pieceBytes: number;
  /** Bytes of something that cannot be split: an XTS data unit; aad, text and tag of an AEAD message. */
  readonly requestBytes: number;
}

/** A size at which the fixed cost of a request is well spread. */
const PIECE_BYTES = 65_536;
/**
 * Before Linux 4.14 a request was worked off in portions of ALG_MAX_PAGES, 16 pages of output, between which the kernel
 * relied on the driver's IV: one page less is one portion from any address.
 */
const OLD_PIECE_BYTES = 15 * 4096;
/** Largest page size of the architectures: socket buffers count in whole pages. */
const PAGE_BYTES = 65_536;

/** From the socket buffers of an operation socket (net.core.wmem_default and rmem_default unless somebody changed them). */
export function readLimits(op: number, several: boolean): Limits {
  const cell = new Uint8Array(16);
  const view = new DataView(cell.buffer);
  const base = address(cell);
  const read = (option: number): number => {
    view.setUint32(8, 4, abi.littleEndian);
    const result = libc.getsockopt(op, libc.SOL_SOCKET, option, base, base + 8);
    return result < 0 ? PIECE_BYTES : view.getInt32(0, abi.littleEndian);
  };
  return limitsOf(read(libc.SO_SNDBUF), read(libc.SO_RCVBUF), several);
}

/** `several`: does the kernel take more than ALG_MAX_PAGES in a request (Linux 4.14 and later)? */
export function limitsOf(sendBuffer: number, receiveBuffer: number, several: boolean): Limits {
  const least = Math.min(sendBuffer, receiveBuffer);
  // Rounded to the largest page there is; a buffer of less counts in 4 KiB pages, of which the kernel grants at least one.
  const whole = least >= PAGE_BYTES ? least - (least % PAGE_BYTES) : Math.max(4096, least - (least % 4096));
  const pieceBytes = Math.min(several ? PIECE_BYTES : OLD_PIECE_BYTES, whole);
  return { pieceBytes, requestBytes: several ? whole : pieceBytes };
}

/** How long a request may keep us waiting for the kernel's readiness. */
export const TIMEOUT_MS = 10_000;

/**
 * `result` of a first call, or, as long as that is EAGAIN, of the calls made again once the socket is ready; EAGAIN after
 * the time-out.
 */
export function patiently(first: number, fd: number, events: number, again: () => number): number {
  let result = first;
  while (result === -ERRNO.EAGAIN) {
    const ready = libc.pollOne(fd, events, TIMEOUT_MS);
    if (ready < 0) return ready;
    if (ready === 0) return -ERRNO.EAGAIN;
    result = again();
  }
  return result;
}

/** The same for a call in the thread pool; it waits without holding up the event loop. */
export async function patientlyAsync(call: () => Promise<number>): Promise<number> {
  const until = performance.now() + TIMEOUT_MS;
  for (;;) {
    const result = await call();
    if (result !== -ERRNO.EAGAIN || performance.now() > until) return result;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
