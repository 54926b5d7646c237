/**
 * Writes a cpio archive in the `newc` format, which the kernel unpacks as its first root
 * (Documentation/driver-api/early-userspace/buffer-format.rst). Files and folders, owned by root; no more is needed.
 */

export interface CpioEntry {
  /** Without a leading slash. Folders come before what is in them. */
  readonly path: string;
  readonly mode: number;
  /** Absent for a folder. */
  readonly data?: Uint8Array;
}

const folderType = 0o040000;
const fileType = 0o100000;

export function cpioArchive(entries: readonly CpioEntry[]): Buffer {
  const parts: Buffer[] = [];
  entries.forEach((entry, index) => {
    const type = entry.data === undefined ? folderType : fileType;
    parts.push(...record(entry.path, index + 1, type | entry.mode, entry.data ?? new Uint8Array()));
  });
  parts.push(...record('TRAILER!!!', 0, 0, new Uint8Array()));
  return Buffer.concat(parts);
}

function record(path: string, inode: number, mode: number, data: Uint8Array): Buffer[] {
  const name = Buffer.from(`${path}\0`);
  // inode, mode, uid, gid, links, mtime, size, device major and minor, rdev major and minor, name size, checksum
  const fields = [inode, mode, 0, 0, 1, 0, data.length, 0, 0, 0, 0, name.length, 0];
  const header = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`);
  const head = Buffer.concat([header, name]);
  return [head, padding(head.length), Buffer.from(data), padding(data.length)];
}

function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4);
}
