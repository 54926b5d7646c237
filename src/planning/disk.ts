/** The disk that is planned for: its sectors, and what is on it now, from the device, a header or a text. */
import type { Facts } from '../doctor/facts/index.js';
import { printable } from '../files/io.js';
import type { Device } from '../luks/device.js';
import { opensByPassphrase } from '../luks/header/model.js';
import { readHeader } from '../luks/header/read.js';
import { keyBytesOf } from '../luks/inspect.js';

export interface DiskFacts {
  readonly logicalBytes?: number;
  /** What the device writes at once, by its own account. */
  readonly physicalBytes?: number;
  readonly bytes?: number;
  /** An image in a file. */
  readonly file?: true;
}

/** One that lies open, with the sizes that encryption sectors must not exceed. */
export interface FileSystem {
  readonly type: 'ext' | 'xfs';
  readonly blockBytes: number;
  /** XFS has a sector of its own, and will not be mounted on a device with larger ones. */
  readonly sectorBytes?: number;
}

export interface CurrentVolume {
  readonly kind: 'luks1' | 'luks2' | 'dm-crypt' | 'plain';
  /** Absent for `plain`: nothing is encrypted. */
  readonly cipher?: string;
  readonly keyBits?: number;
  readonly sectorBytes?: number;
  /** Where the data begins, and how long it is; where known. */
  readonly dataOffset?: number;
  readonly dataBytes?: number;
  /** The most that a keyslot's Argon2 wants. */
  readonly memoryKiB?: number;
  readonly fileSystem?: FileSystem;
  /** Where that stands: a file's name, a line of a text. */
  readonly from: string;
  /** How many more the texts have; this is the first. */
  readonly others: number;
}

/** What an image or a device holds. @throws HwcryptError INPUT_FILE, LUKS_FORMAT for a header that is damaged */
export function currentOf(device: Device): CurrentVolume {
  const from = printable(device.name);
  const start = device.readAt(0, 6).toString('latin1');
  if (!/^(?:LUKS|SKUL)\xba\xbe$/.test(start)) {
    const fileSystem = fileSystemOf(device.readAt(0, 2048));
    return {
      kind: 'plain',
      dataOffset: 0,
      dataBytes: device.bytes,
      ...(fileSystem ? { fileSystem } : {}),
      from,
      others: 0,
    };
  }
  const header = readHeader(device);
  const segment = header.segments.find(({ crypt }) => crypt !== undefined);
  const memory = header.keyslots
    .filter(opensByPassphrase)
    .flatMap(({ kdf }) => ('memoryKiB' in kdf ? [kdf.memoryKiB] : []));
  const keyBytes = segment && keyBytesOf(header, segment.id);
  return {
    kind: header.version === 1 ? 'luks1' : 'luks2',
    ...(segment?.crypt
      ? {
          cipher: segment.crypt.encryption,
          sectorBytes: segment.crypt.sectorBytes,
          dataOffset: segment.offset,
          dataBytes: segment.bytes ?? device.bytes - segment.offset,
        }
      : {}),
    ...(keyBytes === undefined ? {} : { keyBits: keyBytes * 8 }),
    ...(memory.length > 0 ? { memoryKiB: Math.max(...memory) } : {}),
    from,
    others: 0,
  };
}

/** ext2 to ext4 and XFS, whose blocks may be smaller than 4096 bytes. */
function fileSystemOf(start: Buffer): FileSystem | undefined {
  if (start.length < 2048) return undefined;
  const shift = start.readUInt32LE(1024 + 24);
  if (start.readUInt16LE(1024 + 56) === 0xef53 && shift <= 6)
    return { type: 'ext', blockBytes: 1024 << shift };
  if (start.toString('latin1', 0, 4) !== 'XFSB') return undefined;
  return { type: 'xfs', blockBytes: start.readUInt32BE(4), sectorBytes: start.readUInt16BE(102) };
}

/** What the texts have of encrypted disks: a mapping that is open says more than a header. */
export function currentIn({ disks }: Facts): CurrentVolume | undefined {
  const volumes = [
    ...disks.headers.flatMap(({ version, cipher, sectorBytes, keyBits, memoryKiB, quote }) =>
      cipher === undefined
        ? []
        : [
            {
              kind: version === 1 ? ('luks1' as const) : ('luks2' as const),
              cipher: cipher.value,
              keyBits,
              sectorBytes: sectorBytes?.value ?? (version === 1 ? 512 : undefined),
              memoryKiB: memoryKiB.map(({ value }) => value).sort((a, b) => b - a)[0],
              quote,
            },
          ],
    ),
    ...disks.tables.map(({ cipher, keyBits, sectorBytes, quote }) => ({
      kind: 'dm-crypt' as const,
      cipher,
      keyBits,
      sectorBytes,
      memoryKiB: undefined,
      quote,
    })),
  ];
  const distinct = new Map(
    volumes.map((one) => [`${one.cipher} ${one.sectorBytes}`, one] as const).reverse(),
  );
  const first = volumes[0];
  if (!first) return undefined;
  const { kind, cipher, quote } = first;
  // The same volume by its mapping may tell the key's length, which a cut header does not.
  const same = volumes.filter((one) => one.cipher === cipher);
  const known = <T>(values: readonly (T | undefined)[]): T | undefined =>
    values.find((value) => value !== undefined);
  const keyBits = known(same.map((one) => one.keyBits));
  const sectorBytes = known(same.map((one) => one.sectorBytes));
  const memoryKiB = known(same.map((one) => one.memoryKiB));
  return {
    kind: cipher.includes('cipher_null') ? 'plain' : kind,
    ...(cipher.includes('cipher_null') ? {} : { cipher }),
    ...(keyBits === undefined ? {} : { keyBits }),
    ...(sectorBytes === undefined ? {} : { sectorBytes }),
    ...(memoryKiB === undefined ? {} : { memoryKiB }),
    from: `${quote.source}:${quote.line}`,
    others: distinct.size - 1,
  };
}

/** Of the device of that name, or of the disk that it is a partition of: sectors are the disk's. */
export function diskIn({ disks }: Facts, path: string): DiskFacts | undefined {
  const name = path.replace(/^.*\//, '');
  const own = disks.block.find((one) => one.name === name);
  const whole = own ?? disks.block.find((one) => one.name === wholeDisk(name));
  if (!whole) return undefined;
  const { logicalBytes, physicalBytes, sectors } = whole;
  return { logicalBytes, physicalBytes, ...(own ? { bytes: sectors * 512 } : {}) };
}

/** `sda` of `/dev/sda1`, `mmcblk0` of `/dev/mmcblk0p2`; what is no partition stays. */
export function wholeDisk(device: string): string {
  const name = device.replace(/^.*\//, '');
  return name.replace(/^(.*\d)p\d{1,3}$|^((?:[shv]|xv|ub)d[a-z]+)\d{1,3}$/, '$1$2');
}
