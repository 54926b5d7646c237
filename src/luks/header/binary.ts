/**
 * LUKS2's binary header: 4096 bytes in front of each copy of the JSON metadata. All numbers are big-endian.
 *
 * Room `luks`. Source: LUKS2 On-Disk Format Specification 1.1.4, section 2.
 */
import { isUtf8 } from 'node:buffer';
import { createHash, getHashes } from 'node:crypto';

import { damaged } from '../errors.js';

export const BINARY_BYTES = 4096;

/** Where a secondary header may begin, which is how long a header may be. */
export const HEADER_SIZES = [
  0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000, 0x200000, 0x400000,
];

const MAGIC = {
  primary: Buffer.from('LUKS\xba\xbe', 'latin1'),
  secondary: Buffer.from('SKUL\xba\xbe', 'latin1'),
};
export const MAGIC_BYTES = 6;

const AT = {
  version: 6,
  headerBytes: 8,
  seqid: 16,
  label: 24,
  checksum: 72,
  salt: 104,
  uuid: 168,
  subsystem: 208,
  offset: 256,
  digest: 448,
} as const;
export const LABEL_BYTES = 48;
const CHECKSUM_NAME_BYTES = 32;
export const SALT_BYTES = 64;
const UUID_BYTES = 40;
const DIGEST_BYTES = 64;

export type CopyName = 'primary' | 'secondary';

export interface BinaryHeader {
  readonly headerBytes: number;
  readonly seqid: bigint;
  readonly label: string;
  readonly subsystem: string;
  readonly uuid: string;
  /** The hash of the checksum, by cryptsetup's name. */
  readonly checksum: string;
  readonly salt: Buffer;
  /** A text that is no UTF-8, so that what is shown of it is not what is there. */
  readonly notUtf8?: string | undefined;
}

/** Bytes up to the first zero. */
function fieldBytes(bytes: Buffer, at: number, length: number): Buffer {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return end < 0 ? field : field.subarray(0, end);
}

/** Text is UTF-8; what is none shows as U+FFFD. */
export const fieldText = (bytes: Buffer, at: number, length: number): string =>
  fieldBytes(bytes, at, length).toString('utf8');

/** Which header begins here, if one does. */
export function magicOf(bytes: Buffer): CopyName | undefined {
  if (bytes.length < MAGIC_BYTES) return undefined;
  const magic = bytes.subarray(0, MAGIC_BYTES);
  return magic.equals(MAGIC.primary) ? 'primary' : magic.equals(MAGIC.secondary) ? 'secondary' : undefined;
}

export const versionOf = (bytes: Buffer): number => bytes.readUInt16BE(AT.version);

/**
 * The header at `offset` of the image, all but its checksum examined.
 * @param bytes the first 4096 bytes of it
 * @throws LUKS_DAMAGED
 */
export function decodeBinary(bytes: Buffer, name: CopyName, offset: number): BinaryHeader {
  const fail = (why: string): Error => damaged(`LUKS2 ${name} header: ${why}`);
  if (bytes.length < BINARY_BYTES) throw fail('the file ends within it');
  if (magicOf(bytes) !== name) throw fail('it is not there');
  if (versionOf(bytes) !== 2) throw fail(`its version is ${versionOf(bytes)}`);
  const headerBytes = Number(bytes.readBigUInt64BE(AT.headerBytes));
  if (!HEADER_SIZES.includes(headerBytes)) throw fail('it has a size that the format does not have');
  if (bytes.readBigUInt64BE(AT.offset) !== BigInt(offset)) throw fail('it belongs at another offset');
  if (name === 'secondary' && headerBytes !== offset) throw fail('its size is not its offset');
  const texts = [
    ['label', AT.label, LABEL_BYTES],
    ['subsystem', AT.subsystem, LABEL_BYTES],
    ['uuid', AT.uuid, UUID_BYTES],
  ] as const;
  return {
    headerBytes,
    notUtf8: texts.find(([, at, length]) => !isUtf8(fieldBytes(bytes, at, length)))?.[0],
    seqid: bytes.readBigUInt64BE(AT.seqid),
    label: fieldText(bytes, AT.label, LABEL_BYTES),
    subsystem: fieldText(bytes, AT.subsystem, LABEL_BYTES),
    uuid: fieldText(bytes, AT.uuid, UUID_BYTES),
    checksum: fieldText(bytes, AT.checksum, CHECKSUM_NAME_BYTES),
    salt: Buffer.from(bytes.subarray(AT.salt, AT.salt + SALT_BYTES)),
  };
}

/** Over the whole header, its JSON area included, with the checksum itself as zeros. Undefined for a hash that is not here. */
export function checksumOf(header: Buffer, hash: string): Buffer | undefined {
  if (!getHashes().includes(hash)) return undefined;
  const made = createHash(hash)
    .update(header.subarray(0, AT.digest))
    .update(Buffer.alloc(DIGEST_BYTES))
    .update(header.subarray(AT.digest + DIGEST_BYTES))
    .digest();
  return made.length <= DIGEST_BYTES ? made : undefined;
}

/** @param header the whole header with its JSON area @throws LUKS_DAMAGED */
export function verifyChecksum(header: Buffer, name: CopyName, hash: string): void {
  const made = checksumOf(header, hash);
  if (made === undefined) throw damaged(`LUKS2 ${name} header: the hash of its checksum is not known`);
  if (!made.equals(header.subarray(AT.digest, AT.digest + made.length))) {
    throw damaged(`LUKS2 ${name} header: its checksum is wrong`);
  }
}

/**
 * A whole copy of the header, checksum included.
 * @param json the metadata as text; it must fit with a zero behind it
 */
export function encodeHeader(header: BinaryHeader, name: CopyName, json: string): Buffer {
  const bytes = Buffer.alloc(header.headerBytes);
  MAGIC[name].copy(bytes);
  bytes.writeUInt16BE(2, AT.version);
  bytes.writeBigUInt64BE(BigInt(header.headerBytes), AT.headerBytes);
  bytes.writeBigUInt64BE(header.seqid, AT.seqid);
  bytes.write(header.label, AT.label, LABEL_BYTES - 1, 'utf8');
  bytes.write(header.checksum, AT.checksum, CHECKSUM_NAME_BYTES - 1, 'latin1');
  header.salt.copy(bytes, AT.salt);
  bytes.write(header.uuid, AT.uuid, UUID_BYTES - 1, 'latin1');
  bytes.write(header.subsystem, AT.subsystem, LABEL_BYTES - 1, 'utf8');
  bytes.writeBigUInt64BE(BigInt(name === 'primary' ? 0 : header.headerBytes), AT.offset);
  bytes.write(json, BINARY_BYTES, 'utf8');
  (checksumOf(bytes, header.checksum) as Buffer).copy(bytes, AT.digest);
  return bytes;
}
