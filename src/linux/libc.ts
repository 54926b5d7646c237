/**
 * The C library's system call wrappers that hwcrypt uses, for glibc and musl alike, bound at first use.
 *
 * Conventions, which are the kernel's and not libc's:
 * - a result below 0 is the negated errno, so that no caller has to read errno in time;
 * - a call that a signal interrupted (EINTR) is made again, except `close`, after which Linux has closed the descriptor;
 * - pointers are numbers (see ffi.ts), and whoever passes one keeps the memory alive, over an asynchronous call too.
 *
 * Every call that goes to the kernel is counted (`syscallCounts`), so that tests can hold a driver to a number.
 */
import { constants as fsConstants } from 'node:fs';

import { ERRNO } from './errno.js';
import { address, errno, type NativeFunction, processLibrary } from './ffi.js';

// Numbers below are the same on every Linux architecture that Node runs on.
export const AF_NETLINK = 16;
export const AF_ALG = 38;
export const SOCK_RAW = 3;
export const SOCK_SEQPACKET = 5;
/** On Linux SOCK_CLOEXEC and SOCK_NONBLOCK are defined as the O_ flags of the architecture; Node exports only O_NONBLOCK. */
export const SOCK_NONBLOCK = fsConstants.O_NONBLOCK ?? 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
export const SO_SNDBUF = 7;
export const SO_RCVBUF = 8;
export const MSG_PEEK = 0x2;
export const MSG_TRUNC = 0x20;
export const MSG_DONTWAIT = 0x40;
export const MSG_NOSIGNAL = 0x4000;
export const MSG_MORE = 0x8000;
export const POLLIN = 0x1;
export const POLLOUT = 0x4;
export const LOCK_EX = 0x2;
export const LOCK_NB = 0x4;

const PROTOTYPES = {
  socket: 'int socket(int domain, int type, int protocol)',
  bind: 'int bind(int fd, uintptr_t addr, unsigned int len)',
  accept4: 'int accept4(int fd, uintptr_t addr, uintptr_t len, int flags)',
  setsockopt: 'int setsockopt(int fd, int level, int name, uintptr_t value, unsigned int len)',
  getsockopt: 'int getsockopt(int fd, int level, int name, uintptr_t value, uintptr_t len)',
  send: 'long send(int fd, uintptr_t buf, size_t len, int flags)',
  sendmsg: 'long sendmsg(int fd, uintptr_t msg, int flags)',
  recv: 'long recv(int fd, uintptr_t buf, size_t len, int flags)',
  read: 'long read(int fd, uintptr_t buf, size_t len)',
  readv: 'long readv(int fd, uintptr_t iov, int count)',
  poll: 'int poll(uintptr_t fds, unsigned long count, int timeout)',
  // Declared with a fixed third argument: on all these ABIs an integer after `...` is passed like any other.
  ioctl: 'int ioctl(int fd, unsigned long request, uintptr_t argument)',
  flock: 'int flock(int fd, int operation)',
  close: 'int close(int fd)',
} as const;

export type SyscallName = keyof typeof PROTOTYPES;
type Bound = Readonly<Record<SyscallName, NativeFunction<number>>>;

let table: Bound | undefined;

function bindAll(): Bound {
  const opened = processLibrary();
  if (!opened.library) throw new Error(opened.reason.message);
  const made: Partial<Record<SyscallName, NativeFunction<number>>> = {};
  for (const name of Object.keys(PROTOTYPES) as SyscallName[]) {
    made[name] = opened.library.func<number>(PROTOTYPES[name]);
  }
  return made as Bound;
}

function bound(): Bound {
  table ??= bindAll();
  return table;
}

const counts: Record<SyscallName, number> = Object.fromEntries(
  Object.keys(PROTOTYPES).map((name) => [name, 0]),
) as Record<SyscallName, number>;

/** How often each call was made since the last reset. Repeats after EINTR count. */
export function syscallCounts(): Readonly<Record<SyscallName, number>> & { readonly total: number } {
  return { ...counts, total: Object.values(counts).reduce((a, b) => a + b, 0) };
}

export function resetSyscallCounts(): void {
  for (const name of Object.keys(counts) as SyscallName[]) counts[name] = 0;
}

/** -1 becomes the negated errno. Must be called right after the call. */
function outcome(value: number): number {
  return value < 0 ? -errno() : value;
}

export function socket(domain: number, type: number, protocol: number): number {
  counts.socket++;
  return outcome(bound().socket(domain, type, protocol));
}

export function bind(fd: number, address: number, bytes: number): number {
  // May wait for a module to be loaded, and be interrupted while it does.
  for (;;) {
    counts.bind++;
    const value = outcome(bound().bind(fd, address, bytes));
    if (value !== -ERRNO.EINTR) return value;
  }
}

/** accept4(2) without the peer's address. */
export function accept4(fd: number, flags: number): number {
  for (;;) {
    counts.accept4++;
    const value = outcome(bound().accept4(fd, 0, 0, flags));
    if (value !== -ERRNO.EINTR) return value;
  }
}

export function setsockopt(fd: number, level: number, name: number, value: number, bytes: number): number {
  counts.setsockopt++;
  return outcome(bound().setsockopt(fd, level, name, value, bytes));
}

export function getsockopt(fd: number, level: number, name: number, value: number, length: number): number {
  counts.getsockopt++;
  return outcome(bound().getsockopt(fd, level, name, value, length));
}

export function send(fd: number, buffer: number, bytes: number, flags: number): number {
  for (;;) {
    counts.send++;
    const value = outcome(bound().send(fd, buffer, bytes, flags));
    if (value !== -ERRNO.EINTR) return value;
  }
}

export function sendmsg(fd: number, message: number, flags: number): number {
  for (;;) {
    counts.sendmsg++;
    const value = outcome(bound().sendmsg(fd, message, flags));
    if (value !== -ERRNO.EINTR) return value;
  }
}

export function recv(fd: number, buffer: number, bytes: number, flags: number): number {
  for (;;) {
    counts.recv++;
    const value = outcome(bound().recv(fd, buffer, bytes, flags));
    if (value !== -ERRNO.EINTR) return value;
  }
}

export function read(fd: number, buffer: number, bytes: number): number {
  for (;;) {
    counts.read++;
    const value = outcome(bound().read(fd, buffer, bytes));
    if (value !== -ERRNO.EINTR) return value;
  }
}

export function readv(fd: number, iovecs: number, count: number): number {
  for (;;) {
    counts.readv++;
    const value = outcome(bound().readv(fd, iovecs, count));
    if (value !== -ERRNO.EINTR) return value;
  }
}

export function ioctl(fd: number, request: number, argument: number): number {
  for (;;) {
    counts.ioctl++;
    const value = outcome(bound().ioctl(fd, request, argument));
    if (value !== -ERRNO.EINTR) return value;
  }
}

/** flock(2): an advisory lock on an open file or folder, which ends with its descriptor. -EAGAIN where LOCK_NB would have to wait. */
export function flock(fd: number, operation: number): number {
  for (;;) {
    counts.flock++;
    const value = outcome(bound().flock(fd, operation));
    if (value !== -ERRNO.EINTR) return value;
  }
}

export function close(fd: number): number {
  counts.close++;
  return outcome(bound().close(fd));
}

const pollMemory = new Uint8Array(8);
const pollView = new DataView(pollMemory.buffer);
const hostLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Waits up to `timeoutMs` for `events` on one descriptor. Returns revents, 0 after the time, or the negated errno. */
export function pollOne(fd: number, events: number, timeoutMs: number): number {
  const until = performance.now() + timeoutMs;
  for (;;) {
    pollView.setInt32(0, fd, hostLittleEndian);
    pollView.setInt16(4, events, hostLittleEndian);
    pollView.setInt16(6, 0, hostLittleEndian);
    counts.poll++;
    const left = Math.max(0, Math.ceil(until - performance.now()));
    const value = outcome(bound().poll(address(pollMemory), 1, left));
    if (value === -ERRNO.EINTR) continue;
    return value > 0 ? pollView.getInt16(6, hostLittleEndian) : value;
  }
}

/** The calls that may take long, in the thread pool. Same conventions. */
async function inPool(
  name: 'sendmsg' | 'read' | 'readv' | 'send' | 'ioctl',
  args: number[],
): Promise<number> {
  for (;;) {
    counts[name]++;
    const { value, errno: number } = await bound()[name].promise(...args);
    if (value >= 0) return value;
    if (number !== ERRNO.EINTR) return -number;
  }
}

export const sendmsgAsync = (fd: number, message: number, flags: number): Promise<number> =>
  inPool('sendmsg', [fd, message, flags]);
export const sendAsync = (fd: number, buffer: number, bytes: number, flags: number): Promise<number> =>
  inPool('send', [fd, buffer, bytes, flags]);
export const readAsync = (fd: number, buffer: number, bytes: number): Promise<number> =>
  inPool('read', [fd, buffer, bytes]);
export const readvAsync = (fd: number, iovecs: number, count: number): Promise<number> =>
  inPool('readv', [fd, iovecs, count]);
export const ioctlAsync = (fd: number, request: number, argument: number): Promise<number> =>
  inPool('ioctl', [fd, request, argument]);
