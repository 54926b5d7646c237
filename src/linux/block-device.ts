/**
 * What a block device says of itself: its size, its sectors, may it be written.
 *
 * Source: linux/fs.h, blkdev(7). `BLKGETSIZE64` is made with the width of a size_t, and with the bits that the architecture has for "read".
 */
import { hostAbi } from './abi.js';
import { address } from './ffi.js';
import { ioctl } from './libc.js';

const BLKROGET = 0x125e;
const BLKSSZGET = 0x1268;
const BLKPBSZGET = 0x127b;

/** _IOR(0x12, 114, size_t). */
function blkGetSize64(): number {
  const { wordBytes } = hostAbi();
  // PowerPC, MIPS and SPARC keep the direction in three bits.
  const read = ['ppc', 'ppc64', 'mips', 'mipsel'].includes(process.arch) ? 0x4000_0000 : 0x8000_0000;
  return read + (wordBytes << 16) + 0x1272;
}

export interface BlockDevice {
  readonly bytes: number;
  readonly logicalSectorBytes: number;
  readonly physicalSectorBytes: number;
  /** Opening one for writing may succeed all the same, and each write fails. */
  readonly readOnly: boolean;
}

/** @returns undefined where it does not answer */
export function blockDevice(fd: number): BlockDevice | undefined {
  const { littleEndian } = hostAbi();
  const cell = new Uint8Array(new ArrayBuffer(128), 0, 8);
  const view = new DataView(cell.buffer);
  if (ioctl(fd, blkGetSize64(), address(cell)) < 0) return undefined;
  const bytes = Number(view.getBigUint64(0, littleEndian));
  if (ioctl(fd, BLKSSZGET, address(cell)) < 0) return undefined;
  const logicalSectorBytes = view.getInt32(0, littleEndian);
  if (ioctl(fd, BLKPBSZGET, address(cell)) < 0) return undefined;
  const physicalSectorBytes = view.getUint32(0, littleEndian);
  if (ioctl(fd, BLKROGET, address(cell)) < 0) return undefined;
  return { bytes, logicalSectorBytes, physicalSectorBytes, readOnly: view.getInt32(0, littleEndian) !== 0 };
}
