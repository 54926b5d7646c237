/**
 * The open device and its sessions. A session of /dev/crypto belongs to the open file that it was made on: one file for each
 * thread of ours (a worker has its own copy of this module), kept open from the first session on.
 *
 * After a fork the child has the parent's open file, and would use, or end, the parent's sessions with it. So each session
 * remembers the process that made it: in another one it is neither used nor ended, and new sessions get a new file.
 */
import { type HwcryptCode, type Reason, UnavailableError } from '../../errors.js';
import {
  address,
  closeCryptoDevice,
  cryptodevIoctls,
  decodeSessionInfo,
  ERRNO,
  encodeSessionOp,
  hostAbi,
  libc,
  openCryptoDevice,
  processGeneration,
  SESSION_INFO_BYTES,
  type SessionInfo,
  sessionOpLayout,
} from '../../linux/index.js';
import { lengthOf, wipe } from '../buffers.js';
import type { KernelFacts } from '../kernel-facts.js';
import { type Attempt, type Call, explain, forkedReason, lostReason } from './explain.js';

const abi = hostAbi();
export const IOCTL = cryptodevIoctls(abi);
const SES_AT = sessionOpLayout(abi).ses;

/** A result or the reason why there is none. */
export type Outcome<T> =
  | { readonly value: T; readonly reason?: undefined }
  | { readonly reason: Reason; readonly value?: undefined };

/** What a session is to be of. */
export interface Target {
  /** CRYPTO_* of a cipher or AEAD, 0 for none; and of a hash or MAC. */
  readonly cipher: number;
  readonly mac: number;
  /** The kernel's name of the algorithm, where cryptodev-linux has one for the id. */
  readonly kernel: string | undefined;
  /** The driver that it must turn out to be bound to. */
  readonly pinned?: string | undefined;
}

const WAY: ReadonlySet<string> = new Set([
  'NOT_LINUX',
  'FFI_UNAVAILABLE',
  'DEVICE_ABSENT',
  'DEVICE_DENIED',
  'DEVICE_FOREIGN',
]);

/** The error that a session throws when it cannot be made. */
export function unavailable(target: Target | undefined, what: string, reason: Reason): UnavailableError {
  let code: HwcryptCode = 'ALGORITHM_UNAVAILABLE';
  if (WAY.has(reason.code)) code = 'DRIVER_UNAVAILABLE';
  else if (target?.pinned !== undefined) code = 'KERNEL_DRIVER_UNAVAILABLE';
  return new UnavailableError(code, 'cryptodev', `cryptodev: ${what}`, reason);
}

/** Errors that say that whoever served the device is gone. */
const GONE: ReadonlySet<number> = new Set([
  ERRNO.ENODEV,
  ERRNO.ENXIO,
  ERRNO.ENOTCONN,
  ERRNO.ECONNABORTED,
  ERRNO.ECONNREFUSED,
  ERRNO.ESHUTDOWN,
  ERRNO.EBADF,
]);

/** One open file of the device. */
export class Device {
  readonly fd: number;
  readonly generation: number;
  /** Whoever served it is gone: no new session is made on it. */
  lost = false;
  #closed = false;
  readonly #facts: () => KernelFacts;

  private constructor(fd: number, facts: () => KernelFacts) {
    this.fd = fd;
    this.generation = processGeneration();
    this.#facts = facts;
  }

  static open(facts: () => KernelFacts): Outcome<Device> {
    const fd = openCryptoDevice();
    if (fd < 0)
      return { reason: explain({ call: 'open', cipher: 0, mac: 0, kernel: undefined }, fd, facts()) };
    return { value: new Device(fd, facts) };
  }

  /** Was this process forked from the one that opened it? */
  get inherited(): boolean {
    return processGeneration() !== this.generation;
  }

  get usable(): boolean {
    return !this.lost && !this.#closed && !this.inherited;
  }

  /** CIOCASYMFEAT, which cryptodev-linux answers with 0 whoever asks: is it that device at all? */
  check(): Reason | undefined {
    const cell = new Uint8Array(8);
    const result = libc.ioctl(this.fd, IOCTL.CIOCASYMFEAT, address(cell));
    if (result >= 0) return undefined;
    // A device with other ioctls says ENOTTY; whatever else may come of it, sessions will tell.
    return result === -ERRNO.ENOTTY || GONE.has(-result)
      ? explain({ call: 'CIOCASYMFEAT', cipher: 0, mac: 0, kernel: undefined }, result, this.#facts())
      : undefined;
  }

  /** Makes a session. The keys are copied by the kernel; whoever calls wipes them. */
  open(target: Target, key: Uint8Array | undefined, macKey?: Uint8Array): Outcome<KernelSession> {
    if (this.inherited) return { reason: forkedReason() };
    const keyBytes = key === undefined ? 0 : lengthOf(key);
    const macKeyBytes = macKey === undefined ? 0 : lengthOf(macKey);
    const op = encodeSessionOp(
      {
        cipher: target.cipher,
        mac: target.mac,
        keyBytes,
        key: key === undefined || keyBytes === 0 ? 0 : address(key),
        macKeyBytes,
        macKey: macKey === undefined || macKeyBytes === 0 ? 0 : address(macKey),
      },
      abi,
    );
    const result = libc.ioctl(this.fd, IOCTL.CIOCGSESSION, address(op));
    if (result < 0) {
      this.heed(result);
      return {
        reason: this.explain({ call: 'CIOCGSESSION', ...target, keyBytes: keyBytes || macKeyBytes }, result),
      };
    }
    const ses = new DataView(op.buffer).getUint32(SES_AT, abi.littleEndian);
    const session = new KernelSession(this, ses, target);
    const wrong = target.pinned === undefined ? undefined : session.otherDriver(target.pinned);
    if (wrong) {
      session.close();
      return { reason: wrong };
    }
    return { value: session };
  }

  /** Notes what a result says of the device itself. */
  heed(result: number): void {
    if (GONE.has(-result)) this.lost = true;
  }

  explain(attempt: Attempt, result: number): Reason {
    return this.lost ? lostReason(attempt, result) : explain(attempt, result, this.#facts());
  }

  /** Its sessions go with it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.lost = true;
    closeCryptoDevice(this.fd);
  }
}

/** A session of the device, held apart from our session object, so that the finalizer of that can hold it. */
export class KernelSession {
  readonly device: Device;
  readonly target: Target;
  readonly ses: number;
  /** What it is bound to; undefined where the device does not tell. */
  readonly info: SessionInfo | undefined;
  #open = true;

  constructor(device: Device, ses: number, target: Target) {
    this.device = device;
    this.ses = ses;
    this.target = target;
    this.info = this.#ask();
  }

  #ask(): SessionInfo | undefined {
    const bytes = new Uint8Array(SESSION_INFO_BYTES);
    new DataView(bytes.buffer).setUint32(0, this.ses, abi.littleEndian);
    const result = libc.ioctl(this.device.fd, IOCTL.CIOCGSESSINFO, address(bytes));
    if (result >= 0) return decodeSessionInfo(bytes, abi);
    this.device.heed(result);
    return undefined;
  }

  /** The kernel driver that does the work, '' where it is not known. */
  get kernelDriver(): string {
    const { info, target } = this;
    return (target.cipher !== 0 ? info?.cipher.kernelDriver : info?.hash.kernelDriver) ?? '';
  }

  /** What a session of ours calls itself. */
  get label(): string {
    const name = this.kernelDriver;
    return name === '' ? 'cryptodev' : `cryptodev:${name}`;
  }

  /** Which bits of an address must be zero. Without an answer as much as any driver known asks for. */
  get alignMask(): number {
    return this.info?.alignMask ?? 63;
  }

  /** Why this is not the driver that was pinned; undefined where it is. */
  otherDriver(pinned: string): Reason | undefined {
    const own = this.kernelDriver;
    if (own === pinned) return undefined;
    return {
      code: 'KERNEL_DRIVER_ABSENT',
      message:
        own === ''
          ? `this device does not say to which kernel driver a session is bound, so ${pinned} cannot be pinned`
          : `/dev/crypto binds ${this.target.kernel ?? 'the algorithm'} to ${own} here, not to ${pinned}`,
      cure: `/dev/crypto takes whatever driver has the highest priority: leave the driver to it, or pin ${own === '' ? 'none' : own}`,
    };
  }

  /** Why it must not be used; undefined where it may. Costs a memory access. */
  get barred(): Reason | undefined {
    if (this.device.inherited) return forkedReason();
    return this.device.lost ? lostReason({ call: 'CIOCCRYPT', ...this.target }, 0) : undefined;
  }

  /** Why a call failed, with what it says of the device noted. */
  failed(call: Call, result: number, details: Partial<Attempt> = {}): Reason {
    this.device.heed(result);
    return this.device.explain({ call, ...this.target, ...details }, result);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    // In a child the number means the parent's session; and the descriptor of a closed file may be another's by now.
    if (!this.device.usable) return;
    const cell = new Uint8Array(4);
    new DataView(cell.buffer).setUint32(0, this.ses, abi.littleEndian);
    libc.ioctl(this.device.fd, IOCTL.CIOCFSESSION, address(cell));
  }
}

/** A kernel session with what it takes to make another one like it: of another key, or to copy a hash to. */
export class Holder {
  session: KernelSession;
  /** Of a MAC, whose copies need it; ours to wipe. */
  #macKey: Uint8Array | undefined;
  readonly #open: (key: Uint8Array | undefined) => Outcome<KernelSession>;

  /** `open` makes a session of the same algorithm on whatever file is in use by then. */
  constructor(
    session: KernelSession,
    open: (key: Uint8Array | undefined) => Outcome<KernelSession>,
    macKey?: Uint8Array,
  ) {
    this.session = session;
    this.#open = open;
    this.#macKey = macKey;
  }

  /** A new kernel session in place of the old one, of another key. */
  rekey(key: Uint8Array, keep = false): Reason | undefined {
    const opened = this.#open(key);
    if (opened.reason) return opened.reason;
    this.session.close();
    this.session = opened.value;
    if (keep) {
      wipe(this.#macKey);
      this.#macKey = Uint8Array.from(key);
    }
    return undefined;
  }

  /** A second one like this, with nothing hashed in it. */
  twin(): Outcome<Holder> {
    const opened = this.#open(this.#macKey);
    if (opened.reason) return opened;
    const key = this.#macKey && Uint8Array.from(this.#macKey);
    return { value: new Holder(opened.value, this.#open, key) };
  }

  close(): void {
    this.session.close();
    wipe(this.#macKey);
  }
}
