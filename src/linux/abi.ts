/**
 * Byte layouts of the structures that the AF_ALG interface takes: pure encoders, for 64-bit and 32-bit words and
 * either byte order. Nothing here makes a call; addresses are numbers that the caller supplies.
 *
 * Source: linux/if_alg.h, linux/socket.h and asm-generic/socket.h of the kernel; checked against a C compiler's layout
 * (test/unit/linux/abi.test.ts).
 */
import { endianness } from 'node:os';

/** What the layouts depend on. */
export interface Abi {
  /** Size of a pointer, a size_t and a long. */
  readonly wordBytes: 4 | 8;
  readonly littleEndian: boolean;
}

/** The ABI of this process (of the Node binary: a 32-bit one on a 64-bit kernel uses the 32-bit layouts). */
export function hostAbi(arch: string = process.arch, order: 'LE' | 'BE' = endianness()): Abi {
  const narrow = arch === 'arm' || arch === 'ia32' || arch === 'mips' || arch === 'mipsel' || arch === 'ppc';
  return { wordBytes: narrow ? 4 : 8, littleEndian: order === 'LE' };
}

export const SOL_ALG = 279;
export const ALG_SET_KEY = 1;
export const ALG_SET_IV = 2;
export const ALG_SET_OP = 3;
export const ALG_SET_AEAD_ASSOCLEN = 4;
export const ALG_SET_AEAD_AUTHSIZE = 5;
export const ALG_OP_DECRYPT = 0;
export const ALG_OP_ENCRYPT = 1;

const AF_ALG = 38;
const SOCKADDR_ALG_BYTES = 88;
const NAME_OFFSET = 24;
/** `salg_type` is 14 bytes with its terminator. */
export const ALG_TYPE_MAX = 13;
/** `salg_name` is 64 bytes with its terminator in struct sockaddr_alg … */
export const ALG_NAME_MAX = 63;
/** … and what is left of a sockaddr_storage (128 bytes) in sockaddr_alg_new, Linux 4.12 and later. */
export const ALG_LONG_NAME_MAX = 128 - NAME_OFFSET - 1;

/** Writes a word (pointer, size_t) of the ABI. `value` is a whole number below 2^53. */
export function putWord(view: DataView, offset: number, value: number, abi: Abi): void {
  if (abi.wordBytes === 4) {
    view.setUint32(offset, value, abi.littleEndian);
    return;
  }
  const high = Math.floor(value / 0x1_0000_0000);
  view.setUint32(offset + (abi.littleEndian ? 4 : 0), high, abi.littleEndian);
  view.setUint32(offset + (abi.littleEndian ? 0 : 4), value, abi.littleEndian);
}

/** Why a type and name cannot be put into a socket address at all; undefined where they can. */
export function addressProblem(type: string, name: string): string | undefined {
  // What is sent is bytes that end at the first NUL, so one inside would name something else than was asked for.
  if (/[^\x21-\x7e]/.test(type) || /[^\x21-\x7e]/.test(name)) {
    return 'contains a character that no kernel algorithm name has';
  }
  if (type.length === 0 || name.length === 0) return 'is empty';
  if (type.length > ALG_TYPE_MAX) return `is of a type longer than ${ALG_TYPE_MAX} bytes`;
  if (name.length > ALG_LONG_NAME_MAX) return `is longer than the ${ALG_LONG_NAME_MAX} bytes that fit`;
  return undefined;
}

/**
 * struct sockaddr_alg. A name of 64 bytes or more takes the longer address of Linux 4.12 and later (older kernels
 * answer EINVAL); a shorter one takes the 88 bytes that every kernel accepts.
 * @throws RangeError for what `addressProblem` names.
 */
export function sockaddrAlg(
  abi: Abi,
  type: string,
  name: string,
  options: { feat?: number; mask?: number } = {},
): Uint8Array {
  const problem = addressProblem(type, name);
  if (problem) throw new RangeError(`kernel algorithm name '${name}' ${problem}`);
  const bytes = new Uint8Array(
    name.length <= ALG_NAME_MAX ? SOCKADDR_ALG_BYTES : NAME_OFFSET + name.length + 1,
  );
  const view = new DataView(bytes.buffer);
  view.setUint16(0, AF_ALG, abi.littleEndian);
  bytes.set(Buffer.from(type, 'latin1'), 2);
  view.setUint32(16, options.feat ?? 0, abi.littleEndian);
  view.setUint32(20, options.mask ?? 0, abi.littleEndian);
  bytes.set(Buffer.from(name, 'latin1'), NAME_OFFSET);
  return bytes;
}

/** Bytes of `count` struct iovec. */
export function iovecBytes(abi: Abi, count: number): number {
  return count * 2 * abi.wordBytes;
}

/** Writes struct iovec number `index` of an array that starts at `offset`. */
export function putIovec(
  view: DataView,
  offset: number,
  index: number,
  base: number,
  length: number,
  abi: Abi,
): void {
  const at = offset + index * 2 * abi.wordBytes;
  putWord(view, at, base, abi);
  putWord(view, at + abi.wordBytes, length, abi);
}

const align = (bytes: number, abi: Abi): number => (bytes + abi.wordBytes - 1) & -abi.wordBytes;
/** struct cmsghdr: size_t length, int level, int type. */
const cmsgHeaderBytes = (abi: Abi): number => align(abi.wordBytes + 8, abi);

/** CMSG_SPACE: what one control message of `dataBytes` takes in the control buffer. */
export function cmsgSpace(abi: Abi, dataBytes: number): number {
  return cmsgHeaderBytes(abi) + align(dataBytes, abi);
}

/** struct msghdr: 56 or 28 bytes. */
export function msghdrBytes(abi: Abi): number {
  return abi.wordBytes === 8 ? 56 : 28;
}

export interface RequestShape {
  /** Bytes of the IV to send, 0 for none (ECB). */
  readonly ivBytes: number;
  /** Does the request carry ALG_SET_AEAD_ASSOCLEN? */
  readonly aead: boolean;
  /** How many iovecs the data is sent in, at most. */
  readonly iovecs: number;
}

/** Offsets inside the one block of memory that holds a request: msghdr, iovecs, control messages. */
export interface RequestLayout {
  readonly bytes: number;
  readonly iovec: number;
  readonly control: number;
  readonly controlBytes: number;
  /** Of the operation's u32. */
  readonly op: number;
  /** Of the first byte of the IV; -1 without one. */
  readonly iv: number;
  /** Of the associated data's u32 length; -1 without one. */
  readonly assocLen: number;
  /** Of msg_iovlen. */
  readonly iovecCount: number;
}

export function requestLayout(abi: Abi, shape: RequestShape): RequestLayout {
  const header = cmsgHeaderBytes(abi);
  const iovec = msghdrBytes(abi);
  const control = iovec + iovecBytes(abi, shape.iovecs);
  let at = control;
  const op = at + header;
  at += cmsgSpace(abi, 4);
  let iv = -1;
  if (shape.ivBytes > 0) {
    // struct af_alg_iv: u32 length, then the bytes.
    iv = at + header + 4;
    at += cmsgSpace(abi, 4 + shape.ivBytes);
  }
  let assocLen = -1;
  if (shape.aead) {
    assocLen = at + header;
    at += cmsgSpace(abi, 4);
  }
  return {
    bytes: at,
    iovec,
    control,
    controlBytes: at - control,
    op,
    iv,
    assocLen,
    // name pointer, name length (padded to a word), iovec pointer, then the count
    iovecCount: 3 * abi.wordBytes,
  };
}

function putCmsg(view: DataView, at: number, type: number, dataBytes: number, abi: Abi): void {
  putWord(view, at, cmsgHeaderBytes(abi) + dataBytes, abi);
  view.setInt32(at + abi.wordBytes, SOL_ALG, abi.littleEndian);
  view.setInt32(at + abi.wordBytes + 4, type, abi.littleEndian);
}

/**
 * Fills a block of `layout.bytes` with everything of a request that does not change: pointers inside the block,
 * control message headers, the operation. What changes (IV, lengths, data pointers) is written at the layout's offsets.
 * `base` is the address that the block has.
 */
export function encodeRequest(
  bytes: Uint8Array,
  base: number,
  operation: number,
  shape: RequestShape,
  abi: Abi,
): RequestLayout {
  const layout = requestLayout(abi, shape);
  bytes.fill(0, 0, layout.bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, layout.bytes);
  const word = abi.wordBytes;
  putWord(view, 2 * word, base + layout.iovec, abi);
  putWord(view, 3 * word, shape.iovecs, abi);
  putWord(view, 4 * word, base + layout.control, abi);
  putWord(view, 5 * word, layout.controlBytes, abi);
  const header = cmsgHeaderBytes(abi);
  putCmsg(view, layout.op - header, ALG_SET_OP, 4, abi);
  view.setUint32(layout.op, operation, abi.littleEndian);
  if (layout.iv >= 0) {
    putCmsg(view, layout.iv - 4 - header, ALG_SET_IV, 4 + shape.ivBytes, abi);
    view.setUint32(layout.iv - 4, shape.ivBytes, abi.littleEndian);
  }
  if (layout.assocLen >= 0) putCmsg(view, layout.assocLen - header, ALG_SET_AEAD_ASSOCLEN, 4, abi);
  return layout;
}
