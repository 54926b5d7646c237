/**
 * Finds the header of an image and reads it: LUKS1, or the newer of LUKS2's two copies, or the one that is left.
 *
 * Room `luks`. Nothing is written: what is wrong with a copy is told, and put right by the next change of the header.
 */
import { isUtf8 } from 'node:buffer';

import { HwcryptError } from '../../errors.js';
import { damaged } from '../errors.js';
import {
  BINARY_BYTES,
  type BinaryHeader,
  type CopyName,
  decodeBinary,
  HEADER_SIZES,
  magicOf,
  verifyChecksum,
  versionOf,
} from './binary.js';
import { parseMetadata } from './checks.js';
import { decodeLuks1, LUKS1_BYTES } from './luks1.js';
import { readMetadata } from './metadata.js';
import type { HeaderCopy, JsonObject, LuksHeader } from './model.js';

/** What a header is read from. */
export interface Source {
  /** For messages. */
  readonly name: string;
  /** Fewer bytes than asked for where it ends. */
  readAt(offset: number, bytes: number): Buffer;
}

interface Copy {
  readonly binary: BinaryHeader;
  readonly metadata: JsonObject;
  readonly notUtf8: string | undefined;
  readonly parts: ReturnType<typeof readMetadata>;
}

/** @throws NOT_LUKS, LUKS_DAMAGED, LUKS_UNSUPPORTED */
export function readHeader(source: Source): LuksHeader {
  const start = source.readAt(0, BINARY_BYTES);
  if (magicOf(start) === 'primary') {
    const version = start.length < 8 ? 0 : versionOf(start);
    if (version === 1) return decodeLuks1(start.subarray(0, LUKS1_BYTES));
  }
  return readLuks2(source, start);
}

function readLuks2(source: Source, start: Buffer): LuksHeader {
  const primary = attempt(() => readCopy(source, 'primary', 0));
  const found = primary.copy ? [primary.copy.binary.headerBytes] : HEADER_SIZES;
  let secondary: { copy?: Copy; problem?: HwcryptError } = {};
  let [at, seen] = [found[0] as number, false];
  for (const offset of found) {
    const candidate = attempt(() => readCopy(source, 'secondary', offset));
    // Of several that are no header, the one that at least looks like one is told of.
    const looks = magicOf(source.readAt(offset, 8)) === 'secondary';
    if (candidate.copy || (looks && !seen)) [secondary, at, seen] = [candidate, offset, true];
    else if (!seen && !secondary.problem) secondary = candidate;
    if (candidate.copy) break;
  }
  if (!primary.copy && !secondary.copy) {
    if (magicOf(start) !== 'primary' && !seen) {
      throw new HwcryptError('NOT_LUKS', `${source.name} is no LUKS image: there is no header`);
    }
    const problem = magicOf(start) === 'primary' ? primary.problem : secondary.problem;
    throw damaged(`${source.name}: ${problem?.message}; no other copy of the header is whole`, problem);
  }
  const copies: HeaderCopy[] = [told('primary', 0, primary), told('secondary', at, secondary)];
  // Both whole: the higher number counts, and the primary where they are equal.
  const newer = !primary.copy || (secondary.copy && secondary.copy.binary.seqid > primary.copy.binary.seqid);
  const counts = (newer ? secondary.copy : primary.copy) as Copy;
  const { binary, metadata, notUtf8, parts } = counts;
  const { keyslotsBytes, ...rest } = parts;
  return {
    version: 2,
    uuid: binary.uuid,
    label: binary.label,
    subsystem: binary.subsystem,
    ...rest,
    luks2: {
      headerBytes: binary.headerBytes,
      keyslotsBytes,
      seqid: binary.seqid,
      checksum: binary.checksum,
      copies: newer ? copies.reverse() : copies,
      metadata,
      ...(notUtf8 === undefined ? {} : { notUtf8 }),
      salts: {
        primary: (primary.copy ?? counts).binary.salt,
        secondary: (secondary.copy ?? counts).binary.salt,
      },
    },
  };
}

function told(name: CopyName, offset: number, { copy, problem }: ReturnType<typeof attempt>): HeaderCopy {
  return copy
    ? { name, offset, seqid: copy.binary.seqid }
    : { name, offset, problem: problem?.message ?? 'it is not there' };
}

function attempt(read: () => Copy): { copy?: Copy; problem?: HwcryptError } {
  try {
    return { copy: read() };
  } catch (error) {
    if (error instanceof HwcryptError && error.code === 'LUKS_DAMAGED') return { problem: error };
    throw error;
  }
}

function readCopy(source: Source, name: CopyName, offset: number): Copy {
  const binary = decodeBinary(source.readAt(offset, BINARY_BYTES), name, offset);
  const header = source.readAt(offset, binary.headerBytes);
  if (header.length < binary.headerBytes) throw damaged(`LUKS2 ${name} header: the file ends within it`);
  verifyChecksum(header, name, binary.checksum);
  const area = header.subarray(BINARY_BYTES);
  const end = area.indexOf(0);
  if (end < 0) throw damaged(`LUKS2 ${name} header: its metadata has no end`);
  if (!area.subarray(end).equals(Buffer.alloc(area.length - end))) {
    throw damaged(`LUKS2 ${name} header: there is something behind its metadata`);
  }
  const json = area.subarray(0, end);
  const metadata = parseMetadata(json);
  const notUtf8 = isUtf8(json) ? binary.notUtf8 : 'metadata';
  return { binary, metadata, notUtf8, parts: readMetadata(metadata, binary.headerBytes) };
}
