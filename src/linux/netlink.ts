/**
 * NETLINK_CRYPTO: the kernel's list of algorithms with what /proc/crypto leaves out, above all `cra_flags`.
 * Encoder and decoder are pure; `dumpAlgorithms` makes the call.
 *
 * It is offered by the module crypto_user, which the kernel loads at the first socket where it may; without it
 * `listAlgorithms` falls back to /proc/crypto. No privilege is needed to read.
 *
 * Source: linux/cryptouser.h, crypto/crypto_user.c, linux/netlink.h.
 */
import type { Reason } from '../errors.js';
import { type Abi, hostAbi } from './abi.js';
import { ERRNO, errnoName } from './errno.js';
import { address, ffiUnavailable } from './ffi.js';
import {
  AF_NETLINK,
  close,
  MSG_DONTWAIT,
  POLLIN,
  pollOne,
  recv,
  SOCK_CLOEXEC,
  SOCK_RAW,
  send,
  socket,
} from './libc.js';
import { type KernelAlgorithm, readProcCrypto } from './proc.js';

const NETLINK_CRYPTO = 21;
const NLM_F_REQUEST = 0x1;
const NLM_F_MULTI = 0x2;
const NLM_F_DUMP = 0x300;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
export const CRYPTO_MSG_GETALG = 0x13;
/** Messages of a dump come as NEWALG on some kernels and as GETALG on others. */
const CRYPTO_MSG_NEWALG = 0x10;

const HEADER_BYTES = 16;
/** struct crypto_user_alg: three names of 64 bytes, then type, mask, refcnt, flags. */
const USER_ALG_BYTES = 3 * 64 + 4 * 4;

/** `cra_flags` (include/linux/crypto.h). */
export const CRYPTO_ALG = {
  TYPE_MASK: 0xf,
  LARVAL: 0x10,
  DEAD: 0x20,
  DYING: 0x40,
  ASYNC: 0x80,
  NEED_FALLBACK: 0x100,
  TESTED: 0x400,
  INSTANCE: 0x800,
  KERN_DRIVER_ONLY: 0x1000,
  INTERNAL: 0x2000,
  OPTIONAL_KEY: 0x4000,
  ALLOCATES_MEMORY: 0x10000,
} as const;

/** What AF_ALG refuses from Linux 7.2 on: drivers that work off the CPU. */
export const OFF_CPU_MASK = CRYPTO_ALG.ASYNC | CRYPTO_ALG.ALLOCATES_MEMORY | CRYPTO_ALG.KERN_DRIVER_ONLY;

export function encodeGetAlgorithms(sequence: number, abi: Abi = hostAbi()): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + USER_ALG_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, abi.littleEndian);
  view.setUint16(4, CRYPTO_MSG_GETALG, abi.littleEndian);
  view.setUint16(6, NLM_F_REQUEST | NLM_F_DUMP, abi.littleEndian);
  view.setUint32(8, sequence, abi.littleEndian);
  return bytes;
}

export interface NetlinkMessage {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/** The messages in a datagram. A length that does not fit ends it: what was whole before is kept. */
export function decodeMessages(bytes: Uint8Array, abi: Abi = hostAbi()): NetlinkMessage[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: NetlinkMessage[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const length = view.getUint32(at, abi.littleEndian);
    if (length < HEADER_BYTES || at + length > bytes.length) break;
    messages.push({
      type: view.getUint16(at + 4, abi.littleEndian),
      flags: view.getUint16(at + 6, abi.littleEndian),
      sequence: view.getUint32(at + 8, abi.littleEndian),
      payload: bytes.subarray(at + HEADER_BYTES, at + length),
    });
    at += (length + 3) & ~3;
  }
  return messages;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end)).toString('latin1');
}

/** Names of `cra_flags & TYPE_MASK`, for an entry whose report does not name its type. */
const TYPES: Readonly<Record<number, string>> = {
  1: 'cipher',
  2: 'compression',
  3: 'aead',
  4: 'lskcipher',
  5: 'skcipher',
  6: 'akcipher',
  7: 'sig',
  8: 'kpp',
  10: 'acomp',
  11: 'scomp',
  12: 'rng',
  14: 'shash',
  15: 'ahash',
};

const PRIORITY = 1;
const REPORT_LARVAL = 2;
const REPORT_HASH = 3;
const REPORT_CIPHER_MODE = 4;
const REPORT_AEAD = 5;
const REPORT_RNG = 7;
const REPORT_CIPHER = 8;

type Mutable = { -readonly [K in keyof KernelAlgorithm]: KernelAlgorithm[K] };

/** The payload of one message of the dump; undefined where it is too short to be one. */
export function decodeAlgorithm(payload: Uint8Array, abi: Abi = hostAbi()): KernelAlgorithm | undefined {
  if (payload.length < USER_ALG_BYTES) return undefined;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const u32 = (at: number): number => view.getUint32(at, abi.littleEndian);
  const flags = u32(204);
  const entry: Mutable = {
    name: text(payload, 0, 64),
    driver: text(payload, 64, 64),
    module: text(payload, 128, 64),
    type: TYPES[flags & CRYPTO_ALG.TYPE_MASK] ?? 'unknown',
    priority: 0,
    refcnt: u32(200),
    internal: (flags & CRYPTO_ALG.INTERNAL) !== 0,
    selftest: (flags & CRYPTO_ALG.TESTED) !== 0 ? 'passed' : 'unknown',
    async: (flags & CRYPTO_ALG.ASYNC) !== 0,
    flags,
  };
  if (entry.name === '' || entry.driver === '') return undefined;
  let at = USER_ALG_BYTES;
  while (at + 4 <= payload.length) {
    const length = view.getUint16(at, abi.littleEndian);
    const type = view.getUint16(at + 2, abi.littleEndian);
    if (length < 4 || at + length > payload.length) break;
    const data = at + 4;
    const size = length - 4;
    // Every report starts with its type in 64 bytes; modes and AEADs go on with the IV generator's name.
    if (type === PRIORITY && size >= 4) entry.priority = view.getInt32(data, abi.littleEndian);
    else if (type >= REPORT_LARVAL && type <= 11 && size >= 64) {
      const named = text(payload, data, 64);
      if (named !== '') entry.type = named;
      if (type === REPORT_HASH && size >= 72) {
        entry.blockBytes = u32(data + 64);
        entry.digestBytes = u32(data + 68);
      } else if (type === REPORT_CIPHER_MODE && size >= 144) {
        entry.blockBytes = u32(data + 128);
        entry.minKeyBytes = u32(data + 132);
        entry.maxKeyBytes = u32(data + 136);
        entry.ivBytes = u32(data + 140);
      } else if (type === REPORT_AEAD && size >= 140) {
        entry.blockBytes = u32(data + 128);
        entry.maxAuthBytes = u32(data + 132);
        entry.ivBytes = u32(data + 136);
      } else if (type === REPORT_RNG && size >= 68) entry.seedBytes = u32(data + 64);
      else if (type === REPORT_CIPHER && size >= 76) {
        entry.blockBytes = u32(data + 64);
        entry.minKeyBytes = u32(data + 68);
        entry.maxKeyBytes = u32(data + 72);
      }
    }
    at += (length + 3) & ~3;
  }
  return entry;
}

export type AlgorithmDump =
  | { readonly algorithms: KernelAlgorithm[]; readonly reason?: undefined }
  | { readonly algorithms?: undefined; readonly reason: Reason };

const TIMEOUT_MS = 2000;
const RECEIVE_BYTES = 64 * 1024;

function failed(call: string, errno: number): AlgorithmDump {
  const name = errnoName(errno);
  if (call === 'socket' && (errno === -ERRNO.EPROTONOSUPPORT || errno === -ERRNO.EAFNOSUPPORT)) {
    return {
      reason: {
        code: 'ALGIF_MISSING',
        message:
          'this kernel does not list its algorithms over netlink: module crypto_user is absent or blocked',
        cure: 'modprobe crypto_user (CONFIG_CRYPTO_USER)',
        syscall: call,
        errno: name,
      },
    };
  }
  const code = errno === -ERRNO.EACCES ? 'LSM_DENIED' : errno === -ERRNO.EPERM ? 'SECCOMP' : 'SYSTEM_ERROR';
  return {
    reason: { code, message: `NETLINK_CRYPTO: ${call} failed with ${name}`, syscall: call, errno: name },
  };
}

/** Every algorithm that the kernel has registered now, by netlink. A few system calls and well under a millisecond. */
export function dumpAlgorithms(): AlgorithmDump {
  const ffi = ffiUnavailable();
  if (ffi) return { reason: ffi };
  const abi = hostAbi();
  const fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_CRYPTO);
  if (fd < 0) return failed('socket', fd);
  try {
    const sequence = 1;
    const request = encodeGetAlgorithms(sequence, abi);
    const sent = send(fd, address(request), request.length, 0);
    if (sent < 0) return failed('send', sent);
    const buffer = new Uint8Array(RECEIVE_BYTES);
    const base = address(buffer);
    const algorithms: KernelAlgorithm[] = [];
    for (;;) {
      const got = recv(fd, base, buffer.length, MSG_DONTWAIT);
      if (got === -ERRNO.EAGAIN) {
        const ready = pollOne(fd, POLLIN, TIMEOUT_MS);
        if (ready < 0) return failed('poll', ready);
        if (ready === 0) return failed('recv', -ERRNO.ETIMEDOUT);
        continue;
      }
      if (got < 0) return failed('recv', got);
      if (got === 0) return { algorithms };
      for (const message of decodeMessages(buffer.subarray(0, got), abi)) {
        if (message.sequence !== sequence) continue;
        if (message.type === NLMSG_DONE) return { algorithms };
        if (message.type === NLMSG_ERROR) {
          const view = new DataView(message.payload.buffer, message.payload.byteOffset);
          return failed('send', view.getInt32(0, abi.littleEndian));
        }
        if (message.type !== CRYPTO_MSG_NEWALG && message.type !== CRYPTO_MSG_GETALG) continue;
        const entry = decodeAlgorithm(message.payload, abi);
        if (entry) algorithms.push(entry);
        // An answer that is not a dump ends with its only message.
        if ((message.flags & NLM_F_MULTI) === 0) return { algorithms };
      }
    }
  } finally {
    close(fd);
  }
}

export interface AlgorithmList {
  readonly algorithms: readonly KernelAlgorithm[];
  /** Where they come from; only netlink knows `flags`. `none`: neither could be read. */
  readonly source: 'netlink' | 'proc' | 'none';
  /** Why it is not netlink. */
  readonly reason?: Reason;
}

/** By netlink where that is offered, else from /proc/crypto. Never throws. */
export function listAlgorithms(): AlgorithmList {
  const dump = dumpAlgorithms();
  if (dump.algorithms) return { algorithms: dump.algorithms, source: 'netlink' };
  const algorithms = readProcCrypto();
  return algorithms
    ? { algorithms, source: 'proc', reason: dump.reason }
    : { algorithms: [], source: 'none', reason: dump.reason };
}
