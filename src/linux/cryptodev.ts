/**
 * /dev/crypto of cryptodev-linux: ioctl numbers and structure layouts, for 64-bit and 32-bit words, either byte order and
 * both encodings of an ioctl's direction; and opening the device. Pure but for `openCryptoDevice`.
 *
 * A 32-bit program on a 64-bit kernel uses the 32-bit layouts: the module translates CIOCGSESSION and CIOCCRYPT, and has
 * forgotten CIOCAUTHCRYPT and CIOCCPHASH, which are EINVAL then.
 *
 * Source: crypto/cryptodev.h, ioctl.c and cryptodev_int.h of cryptodev-linux 1.14; asm/ioctl.h of the architectures.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';

import { type Abi, hostAbi, putWord } from './abi.js';
import { ERRNO } from './errno.js';

export const CRYPTO_DEVICE = '/dev/crypto';

/** `crypt_op.op`. */
export const COP_ENCRYPT = 0;
export const COP_DECRYPT = 1;

/** `crypt_op.flags`. */
export const COP_FLAG = {
  UPDATE: 1,
  FINAL: 2,
  WRITE_IV: 4,
  NO_ZC: 8,
  AEAD_TLS_TYPE: 16,
  AEAD_SRTP_TYPE: 32,
  /** With UPDATE: forget what was hashed before. Since 2012. */
  RESET: 64,
} as const;

/** `session_info_op.flags`: the bound driver has CRYPTO_ALG_KERN_DRIVER_ONLY. */
export const SIOP_FLAG_KERNEL_DRIVER_ONLY = 1;

/** Longest keys that a session takes, in bytes (CRYPTO_CIPHER_MAX_KEY_LEN, CRYPTO_HMAC_MAX_KEY_LEN). */
export const CIPHER_KEY_MAX = 64;
export const MAC_KEY_MAX = 512;
/** Bytes of the IV that the module's request has room for (EALG_MAX_BLOCK_LEN). */
export const IV_MAX = 16;
/** Bytes of the longest digest (AALG_MAX_RESULT_LEN). */
export const DIGEST_MAX = 64;

/**
 * How an ioctl's direction is written: three bits with NONE 1, READ 2, WRITE 4 on MIPS, PowerPC, SPARC and Alpha, two
 * bits with NONE 0, WRITE 1, READ 2 everywhere else.
 */
export type IoctlEncoding = 'generic' | 'mips';

/** Of the architecture, by Node's or the kernel's name for it. */
export function ioctlEncoding(arch: string = process.arch): IoctlEncoding {
  return /^(?:mips|ppc|powerpc|sparc|alpha)/.test(arch) ? 'mips' : 'generic';
}

type Direction = 'R' | 'W' | 'RW';

/** _IOC(direction, 'c', number, bytes), as an unsigned number. */
function ioc(encoding: IoctlEncoding, direction: Direction, number: number, bytes: number): number {
  const bits =
    encoding === 'mips' ? { R: 2, W: 4, RW: 6 }[direction] << 29 : { R: 2, W: 1, RW: 3 }[direction] << 30;
  return (bits | (bytes << 16) | ('c'.charCodeAt(0) << 8) | number) >>> 0;
}

/** struct session_op: what CIOCGSESSION takes; `ses` comes back. Offsets in bytes. */
export interface SessionOpLayout {
  readonly bytes: number;
  readonly cipher: number;
  readonly mac: number;
  readonly keylen: number;
  readonly key: number;
  readonly mackeylen: number;
  readonly mackey: number;
  readonly ses: number;
}

/** struct crypt_op: one request of a cipher or a hash. `op` and `flags` are 16 bits wide. */
export interface CryptOpLayout {
  readonly bytes: number;
  readonly ses: number;
  readonly op: number;
  readonly flags: number;
  readonly len: number;
  readonly src: number;
  readonly dst: number;
  readonly mac: number;
  readonly iv: number;
}

/** struct crypt_auth_op: one message of an AEAD. The module writes it back: `len`, `tag` and `tag_len` are not kept. */
export interface CryptAuthOpLayout {
  readonly bytes: number;
  readonly ses: number;
  readonly op: number;
  readonly flags: number;
  readonly len: number;
  readonly authLen: number;
  readonly authSrc: number;
  readonly src: number;
  readonly dst: number;
  readonly tag: number;
  readonly tagLen: number;
  readonly iv: number;
  readonly ivLen: number;
}

/** Places of fields by the C rule: each at a multiple of its size, the whole at a multiple of the largest. */
function place<T extends string>(
  { wordBytes }: Abi,
  fields: readonly (readonly [name: T, kind: 'u16' | 'u32' | 'pointer'])[],
): Readonly<Record<T | 'bytes', number>> {
  const placed: Partial<Record<T | 'bytes', number>> = {};
  let at = 0;
  let largest = 1;
  for (const [name, kind] of fields) {
    const size = kind === 'u16' ? 2 : kind === 'u32' ? 4 : wordBytes;
    at = Math.ceil(at / size) * size;
    placed[name] = at as (typeof placed)[T];
    at += size;
    largest = Math.max(largest, size);
  }
  return { ...placed, bytes: Math.ceil(at / largest) * largest } as Record<T | 'bytes', number>;
}

export function sessionOpLayout(abi: Abi): SessionOpLayout {
  return place(abi, [
    ['cipher', 'u32'],
    ['mac', 'u32'],
    ['keylen', 'u32'],
    ['key', 'pointer'],
    ['mackeylen', 'u32'],
    ['mackey', 'pointer'],
    ['ses', 'u32'],
  ]);
}

export function cryptOpLayout(abi: Abi): CryptOpLayout {
  return place(abi, [
    ['ses', 'u32'],
    ['op', 'u16'],
    ['flags', 'u16'],
    ['len', 'u32'],
    ['src', 'pointer'],
    ['dst', 'pointer'],
    ['mac', 'pointer'],
    ['iv', 'pointer'],
  ]);
}

export function cryptAuthOpLayout(abi: Abi): CryptAuthOpLayout {
  return place(abi, [
    ['ses', 'u32'],
    ['op', 'u16'],
    ['flags', 'u16'],
    ['len', 'u32'],
    ['authLen', 'u32'],
    ['authSrc', 'pointer'],
    ['src', 'pointer'],
    ['dst', 'pointer'],
    ['tag', 'pointer'],
    ['tagLen', 'u32'],
    ['iv', 'pointer'],
    ['ivLen', 'u32'],
  ]);
}

/** struct session_info_op has no pointer: the same everywhere. */
export const SESSION_INFO_BYTES = 268;
const INFO_NAME_BYTES = 64;
const INFO_CIPHER_AT = 4;
const INFO_HASH_AT = INFO_CIPHER_AT + 2 * INFO_NAME_BYTES;
const INFO_ALIGNMASK_AT = 260;
const INFO_FLAGS_AT = 264;

/** struct cphash_op: dst_ses, src_ses. */
export const CPHASH_OP_BYTES = 8;

/** The ioctl numbers of an ABI. */
export interface CryptodevIoctls {
  readonly CRIOGET: number;
  readonly CIOCGSESSION: number;
  readonly CIOCFSESSION: number;
  readonly CIOCCRYPT: number;
  readonly CIOCASYMFEAT: number;
  readonly CIOCGSESSINFO: number;
  readonly CIOCAUTHCRYPT: number;
  readonly CIOCASYNCCRYPT: number;
  readonly CIOCASYNCFETCH: number;
  readonly CIOCCPHASH: number;
}

export function cryptodevIoctls(
  abi: Abi = hostAbi(),
  encoding: IoctlEncoding = ioctlEncoding(),
): CryptodevIoctls {
  const cryptOp = cryptOpLayout(abi).bytes;
  return {
    CRIOGET: ioc(encoding, 'RW', 101, 4),
    CIOCGSESSION: ioc(encoding, 'RW', 102, sessionOpLayout(abi).bytes),
    CIOCFSESSION: ioc(encoding, 'W', 103, 4),
    CIOCCRYPT: ioc(encoding, 'RW', 104, cryptOp),
    CIOCASYMFEAT: ioc(encoding, 'R', 106, 4),
    CIOCGSESSINFO: ioc(encoding, 'RW', 107, SESSION_INFO_BYTES),
    CIOCAUTHCRYPT: ioc(encoding, 'RW', 109, cryptAuthOpLayout(abi).bytes),
    CIOCASYNCCRYPT: ioc(encoding, 'W', 110, cryptOp),
    CIOCASYNCFETCH: ioc(encoding, 'R', 111, cryptOp),
    CIOCCPHASH: ioc(encoding, 'W', 112, CPHASH_OP_BYTES),
  };
}

/** What a session is opened with. Addresses are the caller's to keep alive; 0 for none. */
export interface SessionRequest {
  readonly cipher: number;
  readonly mac: number;
  readonly keyBytes: number;
  readonly key: number;
  readonly macKeyBytes: number;
  readonly macKey: number;
}

export function encodeSessionOp(request: SessionRequest, abi: Abi): Uint8Array {
  const layout = sessionOpLayout(abi);
  const bytes = new Uint8Array(layout.bytes);
  const view = new DataView(bytes.buffer);
  const little = abi.littleEndian;
  view.setUint32(layout.cipher, request.cipher, little);
  view.setUint32(layout.mac, request.mac, little);
  view.setUint32(layout.keylen, request.keyBytes, little);
  putWord(view, layout.key, request.key, abi);
  view.setUint32(layout.mackeylen, request.macKeyBytes, little);
  putWord(view, layout.mackey, request.macKey, abi);
  return bytes;
}

/** What a session is bound to, by CIOCGSESSINFO. */
export interface SessionInfo {
  /** `cra_name` and `cra_driver_name` of the cipher or AEAD, and of the hash; empty where the session has none. */
  readonly cipher: { readonly algorithm: string; readonly kernelDriver: string };
  readonly hash: { readonly algorithm: string; readonly kernelDriver: string };
  /** An address is aligned where none of these bits is set in it. */
  readonly alignMask: number;
  readonly kernelDriverOnly: boolean;
}

/** `bytes` must be SESSION_INFO_BYTES long. What it says is not trusted: names end at their field, a mask is 2^n - 1. */
export function decodeSessionInfo(bytes: Uint8Array, abi: Abi): SessionInfo {
  const view = new DataView(bytes.buffer, bytes.byteOffset, SESSION_INFO_BYTES);
  const name = (at: number): string => {
    const field = bytes.subarray(at, at + INFO_NAME_BYTES);
    const end = field.indexOf(0);
    const text = Buffer.from(end < 0 ? field : field.subarray(0, end)).toString('latin1');
    // It is printed: no control characters, whoever serves the device.
    return text.replace(/[^\x20-\x7e]/g, '?');
  };
  const pair = (at: number) => ({ algorithm: name(at), kernelDriver: name(at + INFO_NAME_BYTES) });
  let mask = view.getUint16(INFO_ALIGNMASK_AT, abi.littleEndian);
  for (const shift of [1, 2, 4, 8]) mask |= mask >> shift;
  return {
    cipher: pair(INFO_CIPHER_AT),
    hash: pair(INFO_HASH_AT),
    alignMask: mask,
    kernelDriverOnly: (view.getUint32(INFO_FLAGS_AT, abi.littleEndian) & SIOP_FLAG_KERNEL_DRIVER_ONLY) !== 0,
  };
}

/**
 * Opens the device: a descriptor, or the negated errno. `ENOTTY` for a file of that name that is no device. It is not
 * inherited by programs that are started.
 */
export function openCryptoDevice(path: string = CRYPTO_DEVICE): number {
  let fd: number;
  try {
    // Never created, and a FIFO of that name would not hold us up.
    fd = openSync(path, constants.O_RDWR | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    return -((error as NodeJS.ErrnoException).errno === undefined
      ? ERRNO.EIO
      : Math.abs((error as NodeJS.ErrnoException).errno as number));
  }
  if (fstatSync(fd).isCharacterDevice()) return fd;
  closeSync(fd);
  return -ERRNO.ENOTTY;
}

/** Closes what `openCryptoDevice` opened. */
export function closeCryptoDevice(fd: number): void {
  closeSync(fd);
}
