/**
 * The NBD protocol's numbers and layouts, newstyle with fixed negotiation and simple replies. All numbers are big-endian.
 *
 * Room `luks`. Source: NetworkBlockDevice/nbd doc/proto.md.
 */
export const INIT_MAGIC = 0x4e42444d41474943n;
export const OPTION_MAGIC = 0x49484156454f5054n;
const OPTION_REPLY_MAGIC = 0x0003e889045565a9n;
export const REQUEST_MAGIC = 0x25609513;
const REPLY_MAGIC = 0x67446698;

export const HANDSHAKE = { fixedNewstyle: 1, noZeroes: 2 } as const;

export const OPTION = { exportName: 1, abort: 2, list: 3, info: 6, go: 7 } as const;
export const OPTION_REPLY = {
  ack: 1,
  server: 2,
  info: 3,
  unsupported: 2 ** 31 + 1,
  invalid: 2 ** 31 + 3,
  unknown: 2 ** 31 + 6,
  tooBig: 2 ** 31 + 9,
} as const;
export const INFO = { export: 0, blockSize: 3 } as const;

export const FLAG = {
  has: 1,
  readOnly: 2,
  flush: 4,
  fua: 8,
  writeZeroes: 64,
  multipleConnections: 256,
} as const;

export const COMMAND = { read: 0, write: 1, disconnect: 2, flush: 3, writeZeroes: 6 } as const;
export const COMMAND_FLAG = { fua: 1, noHole: 2 } as const;
export const ERROR = { permission: 1, io: 5, invalid: 22, noSpace: 28 } as const;

export const OPTION_HEADER_BYTES = 16;
export const REQUEST_BYTES = 28;
const EXPORT_PADDING = 124;

export interface Request {
  readonly flags: number;
  readonly command: number;
  /** Opaque; comes back with the reply. */
  readonly cookie: bigint;
  readonly offset: bigint;
  readonly length: number;
}

export function greeting(): Buffer {
  const bytes = Buffer.alloc(18);
  bytes.writeBigUInt64BE(INIT_MAGIC, 0);
  bytes.writeBigUInt64BE(OPTION_MAGIC, 8);
  bytes.writeUInt16BE(HANDSHAKE.fixedNewstyle | HANDSHAKE.noZeroes, 16);
  return bytes;
}

export function optionReply(option: number, type: number, data: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(20);
  head.writeBigUInt64BE(OPTION_REPLY_MAGIC, 0);
  head.writeUInt32BE(option, 8);
  head.writeUInt32BE(type, 12);
  head.writeUInt32BE(data.length, 16);
  return Buffer.concat([head, data]);
}

export interface ExportFacts {
  readonly bytes: number;
  readonly flags: number;
}

/** What answers NBD_OPT_EXPORT_NAME, which has no header. */
export function exportReply({ bytes, flags }: ExportFacts, padded: boolean): Buffer {
  const data = Buffer.alloc(10 + (padded ? EXPORT_PADDING : 0));
  data.writeBigUInt64BE(BigInt(bytes), 0);
  data.writeUInt16BE(flags, 8);
  return data;
}

export function exportInfo({ bytes, flags }: ExportFacts): Buffer {
  const data = Buffer.alloc(12);
  data.writeUInt16BE(INFO.export, 0);
  data.writeBigUInt64BE(BigInt(bytes), 2);
  data.writeUInt16BE(flags, 10);
  return data;
}

export function blockSizeInfo(least: number, preferred: number, most: number): Buffer {
  const data = Buffer.alloc(14);
  data.writeUInt16BE(INFO.blockSize, 0);
  data.writeUInt32BE(least, 2);
  data.writeUInt32BE(preferred, 6);
  data.writeUInt32BE(most, 10);
  return data;
}

export function listEntry(name: string): Buffer {
  const text = Buffer.from(name, 'utf8');
  const data = Buffer.alloc(4 + text.length);
  data.writeUInt32BE(text.length, 0);
  text.copy(data, 4);
  return data;
}

/** The name in NBD_OPT_INFO and NBD_OPT_GO; undefined for what has no such form. */
export function requestedName(data: Buffer): string | undefined {
  if (data.length < 6) return undefined;
  const length = data.readUInt32BE(0);
  if (length > data.length - 6) return undefined;
  const count = data.readUInt16BE(4 + length);
  return data.length === 6 + length + 2 * count ? data.toString('utf8', 4, 4 + length) : undefined;
}

/** Undefined for what is no request. */
export function decodeRequest(bytes: Buffer): Request | undefined {
  if (bytes.readUInt32BE(0) !== REQUEST_MAGIC) return undefined;
  return {
    flags: bytes.readUInt16BE(4),
    command: bytes.readUInt16BE(6),
    cookie: bytes.readBigUInt64BE(8),
    offset: bytes.readBigUInt64BE(16),
    length: bytes.readUInt32BE(24),
  };
}

export function reply(cookie: bigint, error = 0): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(REPLY_MAGIC, 0);
  bytes.writeUInt32BE(error, 4);
  bytes.writeBigUInt64BE(cookie, 8);
  return bytes;
}
