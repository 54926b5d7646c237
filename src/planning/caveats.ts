/** What to beware of, for what is recommended. */
import type { Machine } from '../doctor/facts/machine.js';
import type { CurrentVolume, DiskFacts } from './disk.js';
import type { Row } from './rows.js';

export interface Caveat {
  /** Stable: `TORN_WRITE`. */
  readonly code: string;
  /** Sentences. */
  readonly text: string;
}

export interface CaveatFacts {
  readonly row: Row;
  readonly rows: readonly Row[];
  readonly disk: DiskFacts;
  readonly current?: CurrentVolume;
  readonly machine: Machine;
  readonly cpuAes: boolean;
  readonly worthwhile: boolean;
}

export function caveatsOf(facts: CaveatFacts): Caveat[] {
  return [...meaning(facts), ...torn(facts), ...alignment(facts), ...mode(facts), ...others(facts)];
}

function meaning({ row, rows, machine }: CaveatFacts): Caveat[] {
  const known = rows.filter(({ read, write }) => read || write);
  if (known.length === 0) return [];
  const single = known.some(({ hardware }) => hardware !== 'yes');
  const bound = known.some(({ read, write }) => [read, write].some((one) => one?.certainty === 'at-most'));
  const measured = known.every(({ read, write }) =>
    [read, write].every((one) => one === undefined || one.by === 'dm-crypt'),
  );
  if (measured) {
    return [
      {
        code: 'WHAT_THE_FIGURES_ARE',
        text: 'MB/s (10^6 bytes) of dm-crypt itself over memory, a request of 1 MiB after the other. The disk itself is another limit, and the slower of the two counts.',
      },
    ];
  }
  return [
    {
      code: 'WHAT_THE_FIGURES_ARE',
      text: `MB/s (10^6 bytes) of the cipher alone, one sector after the other${
        single ? ', in software on one core: dm-crypt spreads requests that come together over all' : ''
      }${single && (machine.cpus ?? 1) > 1 ? ` (${machine.cpus} here)` : ''}. The disk itself is another limit, and the slower of the two counts. A disk makes no system calls: of what was measured through them they are taken out where that is known.${
        row.hardware === 'yes'
          ? ' An engine has a queue of its own: requests that come together cost it less each.'
          : ''
      }`,
    },
    ...(bound
      ? [
          {
            code: 'BOUND_ONLY',
            text: '"at most": only requests larger than a sector were measured (cryptsetup benchmark makes them of 64 KiB). What a request costs however small it is cannot be told from that. It matters little to software, and much to an engine. A fast CPU may do somewhat more than that, since system calls are in that figure.',
          },
        ]
      : []),
  ];
}

function torn({ row, disk }: CaveatFacts): Caveat[] {
  const { physicalBytes } = disk;
  if (row.sectorBytes === 512 || (physicalBytes !== undefined && physicalBytes >= row.sectorBytes)) return [];
  const broken = {
    // Each block of XTS stands alone, so a sector that is half old and half new decrypts to just that.
    xts: 'what is read then is half old, half new, as on a disk without encryption',
    cbc: 'what is read then is half old, half new, with 16 bytes of rubbish between the two',
    adiantum: 'what is read then is rubbish from one end to the other, since each byte depends on all',
  }[row.mode];
  return [
    {
      code: 'TORN_WRITE',
      text: `${
        physicalBytes === undefined
          ? `How much the device writes at once is not known. Where that is less than ${row.sectorBytes} bytes`
          : `The device writes ${physicalBytes} bytes at once, by its own account:`
      } a power cut can leave a sector of ${row.sectorBytes} bytes half written; ${broken}. A journal or checksums of the file system are made for that, a database that trusts in sectors of 512 bytes is not. Disks with 512e or 4Kn write 4096 at once. SSDs and SD cards often say 512 whatever they do.`,
    },
  ];
}

function alignment({ row, current, worthwhile }: CaveatFacts): Caveat[] {
  if (row.sectorBytes === 512) return [];
  const existing = worthwhile && current?.kind !== 'plain' && (current?.sectorBytes ?? 512) < row.sectorBytes;
  return [
    ...(existing
      ? [
          {
            code: 'FILE_SYSTEM_BLOCKS',
            text: `The volume shows sectors of ${row.sectorBytes} bytes afterwards. A file system with smaller blocks (ext4 of less than 512 MiB has 1024, XFS made on 512 has sectors of 512, old FAT) is whole, but no kernel mounts it any more; nor is a partition table inside found, which counts in sectors. cryptsetup looks for that only while the volume is open.`,
          },
        ]
      : []),
    {
      code: 'ALIGNMENT',
      text: `The device, or partition, has to be a multiple of ${row.sectorBytes} bytes long and should begin at one: otherwise luksFormat says "Device size is not aligned to requested sector size", or the kernel refuses the mapping.`,
    },
  ];
}

function mode({ row }: CaveatFacts): Caveat[] {
  if (row.mode !== 'cbc') return [];
  return [
    {
      code: 'CBC_MALLEABLE',
      text: 'CBC with ESSIV keeps a stolen disk secret as XTS does. Who can write to the disk, and wait until you use it again, can do more with CBC: flip bits of his choice in a block, at the price of rubbish in the one before; in XTS only rubbish. Neither notices a change. Never cbc-plain64, whose IVs can be foretold, so that a file made for it is found through the encryption, and never ecb.',
    },
  ];
}

function others({ row, rows, cpuAes }: CaveatFacts): Caveat[] {
  const adiantum = rows.some((one) => one.mode === 'adiantum');
  const slow = !cpuAes && row.hardware !== 'yes' && row.mode !== 'adiantum';
  return [
    ...(slow && !adiantum
      ? [
          {
            code: 'ADIANTUM_NOT_MEASURED',
            text: 'For a CPU with neither instructions for AES nor an engine there is Adiantum (Linux 5.0, CONFIG_CRYPTO_ADIANTUM), which is several times as fast as AES on small Arm cores. It was not measured: cryptsetup benchmark -c xchacha12,aes-adiantum -s 256.',
          },
        ]
      : []),
    {
      code: 'DISCARDS',
      text: 'TRIM is off. --allow-discards lets a flash disk know what is free, and anybody who has it, too: how full the disk is, and often which file system. A virtual or thin disk needs it more than an SSD does.',
    },
  ];
}
