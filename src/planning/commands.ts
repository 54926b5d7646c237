/** The plan in cryptsetup's words: what to look at first, and the commands with the reason for each option. Nothing here is run. */
import { type CurrentVolume, type DiskFacts, wholeDisk } from './disk.js';
import type { Row } from './rows.js';

export interface Step {
  /** Stable. */
  readonly purpose:
    | 'check'
    | 'format'
    | 'open'
    | 'tune'
    | 'backup'
    | 'convert'
    | 'reencrypt'
    | 'encrypt'
    | 'verify';
  /** What it is for, and why so, in a sentence without its full stop. */
  readonly text: string;
  readonly commands: readonly string[];
}

export interface CommandFacts {
  readonly row: Row;
  readonly disk: DiskFacts;
  readonly current?: CurrentVolume;
  /** As the owner named it; a placeholder where nobody did. */
  readonly device: string;
  readonly memoryKiB?: number;
  readonly cpus?: number;
  /** The commands are for the machine that this runs on. */
  readonly here: boolean;
  /** Is re-encrypting what is there worth it? */
  readonly worthwhile: boolean;
  /** Bounds only speak for that. */
  readonly measureFirst: boolean;
  /** The CPU does it by itself, quickly and at once: then dm-crypt's queues only cost time. */
  readonly fastCpu: boolean;
}

const MIB_KIB = 1024;
/** cryptsetup's own most, which it takes where a quarter of the memory is as much. */
const DEFAULT_MEMORY_KIB = 2 ** 20;
const LEAST_MEMORY_KIB = 4 * MIB_KIB;

/** Argon2's memory: a quarter of the machine's, in steps of 4 MiB. Undefined where cryptsetup's own choice is right. */
export function pbkdfMemoryKiB(memoryKiB: number | undefined): number | undefined {
  if (memoryKiB === undefined || memoryKiB / 4 >= DEFAULT_MEMORY_KIB) return undefined;
  const step = 4 * MIB_KIB;
  return Math.max(LEAST_MEMORY_KIB, Math.floor(memoryKiB / 4 / step) * step);
}

/** A path to paste into a shell: one word, and no option. */
export function shellWord(path: string): string {
  const named = path.startsWith('-') ? `./${path}` : path;
  return /^[\w./:@%+=-]+$/.test(named) ? named : `'${named.replaceAll("'", "'\\''")}'`;
}

export function stepsOf(facts: CommandFacts): Step[] {
  const { current } = facts;
  const steps: Step[] = [...checks(facts)];
  if (current === undefined || current.kind === 'plain') steps.push(...formatSteps(facts));
  if (current?.kind === 'plain') steps.push(...encryptSteps(facts));
  else if (current && facts.worthwhile) steps.push(...reencryptSteps(facts));
  steps.push(...openSteps(facts));
  return steps;
}

function checks({ disk, device, current, row }: CommandFacts): Step[] {
  if (disk.file || (disk.physicalBytes !== undefined && (disk.bytes ?? current?.dataBytes) !== undefined))
    return [];
  return [
    {
      purpose: 'check',
      text: `Look at the device first: logical sector, physical sector, bytes. The physical sector should be ${row.sectorBytes} or more (see below), the bytes a multiple of ${row.sectorBytes}. Without util-linux the sectors are in /sys, by the name of the whole disk`,
      commands: [
        `blockdev --getss --getpbsz --getsize64 ${shellWord(device)}`,
        `cat /sys/block/${device === PLACEHOLDER ? 'DISK' : shellWord(wholeDisk(device))}/queue/physical_block_size`,
      ],
    },
  ];
}

export const PLACEHOLDER = '/dev/DEVICE';

function dataOptions({ row }: CommandFacts): string {
  return `--cipher ${row.cipher} --key-size ${row.keyBits} --sector-size ${row.sectorBytes}`;
}

function keyOptions({ memoryKiB, cpus }: CommandFacts): string {
  const memory = pbkdfMemoryKiB(memoryKiB);
  return memory === undefined
    ? '--pbkdf argon2id'
    : `--pbkdf argon2id --pbkdf-memory ${memory}${cpus === undefined || cpus >= 4 ? '' : ` --pbkdf-parallel ${cpus}`}`;
}

function keyText({ memoryKiB, here }: CommandFacts): string {
  const memory = pbkdfMemoryKiB(memoryKiB);
  return memory === undefined
    ? ''
    : `; Argon2 gets ${memory / MIB_KIB} MiB, a quarter of the machine's memory${here ? '' : '. Run it on that machine: a faster one would choose more rounds than it can bear'}`;
}

function formatSteps(facts: CommandFacts): Step[] {
  return [
    {
      purpose: 'format',
      text: `Make a new volume; everything on the device is lost. LUKS2, since LUKS1 knows no sectors but those of 512 bytes${keyText(facts)}`,
      commands: [
        `cryptsetup luksFormat --type luks2 ${dataOptions(facts)} ${keyOptions(facts)} ${shellWord(facts.device)}`,
      ],
    },
  ];
}

/** Recovery by checksums trusts that a block is written whole or not at all. */
const resilience = ({ disk, row }: CommandFacts): string =>
  disk.physicalBytes !== undefined && disk.physicalBytes < row.sectorBytes ? '--resilience journal ' : '';

function reencryptSteps(facts: CommandFacts): Step[] {
  const { current, row } = facts;
  const device = shellWord(facts.device);
  const steps: Step[] = [
    ...(facts.measureFirst ? measureSteps(facts) : []),
    {
      purpose: 'backup',
      text: 'Make a backup of the data, then one of the header; keep it off this disk, and destroy it when all is done: it opens with the old passphrases',
      commands: [`cryptsetup luksHeaderBackup ${device} --header-backup-file luks-header.img`],
    },
  ];
  if (current?.kind === 'dm-crypt') {
    steps.push({
      purpose: 'check',
      text: 'A mapping does not say what is behind it: LUKS1 has to be converted first (cryptsetup convert --type luks2), and a plain mapping has no header and must be copied to a new volume',
      commands: [`cryptsetup luksDump ${device} | grep Version`],
    });
  }
  if (current?.sectorBytes !== undefined && row.sectorBytes > current.sectorBytes)
    steps.push(blockCheck(row));
  if (current?.kind === 'luks1') {
    steps.push({
      purpose: 'convert',
      text: 'LUKS1 has no large sectors: unmount and close the volume, make a LUKS2 header of it, and give its keyslots Argon2',
      commands: [
        `cryptsetup convert ${device} --type luks2`,
        `cryptsetup luksConvertKey ${keyOptions(facts)} ${device}`,
      ],
    });
  }
  const journal = resilience(facts);
  steps.push({
    purpose: 'reencrypt',
    text: `Re-encrypt it in place, unmounted and closed. It can be interrupted and goes on with the same command${
      journal === '' ? '' : '; with a journal, since the device does not write such a sector at once'
    }${facts.disk.file ? '; of a file cryptsetup cannot tell whether it is open, so see to that yourself' : ''}${keyText(facts)}`,
    commands: [
      `cryptsetup reencrypt ${facts.disk.file ? '--force-offline-reencrypt ' : ''}${dataOptions(facts)} ${journal}${keyOptions(facts)} ${device}`,
    ],
  });
  return steps;
}

/** Both ciphers in their own sectors, by dm-crypt itself. */
function measureSteps(facts: CommandFacts): Step[] {
  const { row, current } = facts;
  const benchmark = (cipher: string, keyBits: number): string =>
    `hwcrypt benchmark --disk -c ${cipher} -s ${keyBits}`;
  const spare = (cipher: string, keyBits: number, sector: number): string[] => [
    `cryptsetup luksFormat --type luks2 --cipher ${cipher} --key-size ${keyBits} --sector-size ${sector} ${keyOptions(facts)} spare.img`,
    'cryptsetup open spare.img spare && dd if=/dev/mapper/spare of=/dev/null bs=1M; cryptsetup close spare',
  ];
  const old = current?.cipher === undefined || current.keyBits === undefined ? undefined : current;
  return [
    {
      purpose: 'check',
      text: 'Measure on that machine first, what is there and what is to come: what is known so far are bounds. Without hwcrypt a spare file in memory tells, of either',
      commands: [
        ...new Set([
          ...(old ? [benchmark(old.cipher!, old.keyBits!)] : []),
          benchmark(row.cipher, row.keyBits),
        ]),
        'truncate -s 80M spare.img   # in /dev/shm or another tmpfs',
        ...(old ? spare(old.cipher!, old.keyBits!, old.sectorBytes ?? 512) : []),
        ...spare(row.cipher, row.keyBits, row.sectorBytes),
      ],
    },
  ];
}

function blockCheck(row: Row): Step {
  return {
    purpose: 'check',
    text: `See that the file system inside has blocks of ${row.sectorBytes} bytes or more (of XFS: sectsz, too): with smaller ones it cannot be mounted afterwards`,
    commands: [
      'blkid -p -s TYPE -s BLOCK_SIZE /dev/mapper/NAME',
      "dumpe2fs -h /dev/mapper/NAME | grep 'Block size'",
      'xfs_info MOUNTPOINT',
    ],
  };
}

function encryptSteps(facts: CommandFacts): Step[] {
  const { current } = facts;
  const device = shellWord(facts.device);
  const steps: Step[] = [];
  if (current?.fileSystem?.type !== 'xfs') {
    steps.push({
      purpose: 'check',
      text: `Or encrypt what is there in place${
        current?.fileSystem
          ? ''
          : ', if it is unencrypted: there is no LUKS header, and of plain dm-crypt, or where the header is lost, this leaves nothing'
      }. With a backup; unmounted; its file system made 32 MiB shorter first, which is where the header goes`,
      commands: [
        `e2fsck -f ${device}`,
        current?.fileSystem && current.dataBytes !== undefined
          ? `resize2fs ${device} ${Math.floor((current.dataBytes - 32 * 2 ** 20) / 4096) * 4}K`
          : `resize2fs ${device} NEW_SIZE   # blockdev --getsize64, less 33554432`,
      ],
    });
    steps.push({
      purpose: 'encrypt',
      text: `Its last 32 MiB must be free${keyText(facts)}`,
      commands: [
        `cryptsetup reencrypt --encrypt --type luks2 --reduce-device-size 32M ${dataOptions(facts)} ${keyOptions(facts)} ${device}`,
      ],
    });
  } else {
    steps.push({
      purpose: 'encrypt',
      text: `Or encrypt what is there in place. XFS cannot be made shorter, so the header goes into a file of its own, without which nothing opens${keyText(facts)}`,
      commands: [
        `cryptsetup reencrypt --encrypt --type luks2 --header luks-header.img ${dataOptions(facts)} ${keyOptions(facts)} ${device}`,
      ],
    });
  }
  return steps;
}

const QUEUES = '--perf-no_read_workqueue --perf-no_write_workqueue';

function openSteps(facts: CommandFacts): Step[] {
  const { row, fastCpu, current, worthwhile } = facts;
  const stays = current !== undefined && current.kind !== 'plain' && !worthwhile;
  const own = {
    cipher: (stays ? current.cipher : undefined) ?? row.cipher,
    keyBits: (stays ? current.keyBits : undefined) ?? row.keyBits,
  };
  const header = facts.current?.kind === 'plain' && facts.current.fileSystem?.type === 'xfs';
  const device = shellWord(facts.device);
  const steps: Step[] = [
    {
      purpose: 'open',
      text: `Open it${
        row.hardware === 'yes'
          ? '. No options: the engine works on its own, and dm-crypt’s queues keep it fed'
          : ''
      }${header ? '; with --header luks-header.img where the header is a file' : ''}`,
      commands: [`cryptsetup open ${device} NAME`],
    },
  ];
  if (fastCpu) {
    steps.push({
      purpose: 'tune',
      text: 'On an SSD, while it is open: without dm-crypt’s queues each request is encrypted at once, which takes less time for each where the CPU is fast (Linux 5.9, LUKS2 to keep it). Measure with and without; a hard disk gains nothing',
      commands: [`cryptsetup refresh --persistent ${QUEUES} NAME`],
    });
  }
  steps.push({
    purpose: 'verify',
    text: `See which driver dm-crypt gets, and what it does in sectors of 512 and 4096 bytes, over memory (-s is the key’s length in bits)`,
    commands: [`hwcrypt benchmark --disk -c ${own.cipher} -s ${own.keyBits}`],
  });
  return steps;
}
