/** Encrypted disks: sectors, format, who is behind dm-crypt, memory for a passphrase. */
import { judgeHardware } from '../../drivers/hardware.js';
import { allocatesMemory, type Case, engineNamesText, usedFor } from '../case.js';
import { largerSectors } from '../cures.js';
import { engineOf } from '../engines.js';
import { isHardware } from '../facts/algorithms.js';
import type { Quote } from '../facts/document.js';
import { kernelAtLeast } from '../facts/machine.js';
import type { Rule } from '../finding.js';
import { sectorsText } from '../prediction.js';
import { usedEngine } from './driver.js';

/** Disks with their sectors and ciphers, from mappings and headers. */
function disksOf({
  facts,
}: Case): { cipher: string; algorithm?: string; sectorBytes: number; quote: Quote }[] {
  return [
    ...facts.disks.tables.map(({ cipher, kernelName, sectorBytes, quote }) => ({
      cipher,
      ...(kernelName === undefined ? {} : { algorithm: kernelName }),
      sectorBytes,
      quote,
    })),
    ...facts.disks.headers.flatMap(({ version, cipher, sectorBytes }) => {
      if (!cipher) {
        const told = sectorBytes?.value;
        return told === undefined
          ? []
          : [{ cipher: 'unknown', sectorBytes: told, quote: sectorBytes!.quote }];
      }
      const [, name, mode] = /^([a-z0-9_]+)-(cbc|xts)\b/.exec(cipher.value) ?? [];
      return [
        {
          cipher: cipher.value,
          ...(name === undefined ? {} : { algorithm: `${mode}(${name})` }),
          sectorBytes: sectorBytes?.value ?? (version === 1 ? 512 : 0),
          quote: sectorBytes?.quote ?? cipher.quote,
        },
      ];
    }),
  ].filter(({ cipher, sectorBytes }) => sectorBytes > 0 && !/cipher_null/.test(cipher));
}

const smallSectors: Rule = {
  id: 'disk-sector-512',
  topic: 'disk',
  about: 'sectors of 512 bytes: eight times the requests',
  examine: (subject) => {
    const small = disksOf(subject).filter(({ sectorBytes }) => sectorBytes === 512);
    const [first] = small;
    if (!first) return [];
    const { facts } = subject;
    const used = first.algorithm === undefined ? undefined : usedEngine(subject, first.algorithm);
    // Without the kernel's list: an engine that is known to be there, and a cipher that engines have.
    const engine =
      used !== undefined ||
      (facts.kernel.entries.length === 0 &&
        facts.devices.devices.length > 0 &&
        first.algorithm === 'cbc(aes)');
    const instructions = subject.cpuAes.length > 0 && !engine;
    const offloaded = subject.pairs[0];
    const gain = engine && offloaded ? sectorsText(offloaded.offloaded, offloaded.software) : undefined;
    // Which disk the mapping lies on the texts seldom tell, so it must be true of all.
    const { block } = facts.disks;
    const large = block.length > 0 && block.every(({ physicalBytes }) => physicalBytes >= 4096);
    return [
      {
        kind: 'advice',
        weight: engine ? 79.5 : instructions ? 29 : 66,
        sureness: engine ? 'certain' : 'likely',
        verdict: engine
          ? `Your disk has encryption sectors of 512 bytes, so the ${used?.verdict.engine === undefined ? engineNamesText(subject) || 'engine' : (engineOf(used.verdict.engine)?.name ?? used.verdict.engine)} gets eight requests where one of 4096 would do: most of what it could bring is lost`
          : `Your disk has encryption sectors of 512 bytes: sectors of 4096 would be an eighth of the requests${instructions ? ', which with AES instructions brings some 5 to 30 %' : ''}`,
        details: [
          'dm-crypt encrypts each sector as a request of its own. An engine costs the same for a small one as for a large one before the first byte is done.',
          large
            ? 'All disks here write 4096 bytes at once, so that a power cut tears none of such sectors.'
            : 'A device with physical sectors of 512 bytes may leave a torn sector of 4096 behind when the power goes: see /sys/block/DISK/queue/physical_block_size of the one that it lies on.',
        ],
        evidence: [
          ...small.slice(0, 2).map(({ quote }) => quote),
          ...(used ? [used.quote] : []),
          ...(large ? block.slice(0, 1).map(({ quote }) => quote) : []),
        ],
        steps: largerSectors(),
        ...(gain === undefined ? {} : { gain }),
      },
    ];
  },
};

const misaligned: Rule = {
  id: 'disk-sector-misaligned',
  topic: 'disk',
  about: 'a device or offset that is no multiple of the encryption sector',
  examine: ({ facts }) => {
    const found = facts.messages.filter(({ code }) => code === 'SECTOR_MISALIGNED');
    const [first] = found;
    if (!first) return [];
    const odd = facts.disks.block.filter(({ sectors }) => (sectors * 512) % 4096 !== 0);
    return [
      {
        kind: 'problem',
        weight: 83,
        sureness: 'certain',
        verdict:
          'The device’s size or the data’s offset is not a multiple of the encryption sector of 4096 bytes, so the kernel refuses the mapping',
        details: [
          ...odd
            .slice(0, 1)
            .map(
              ({ name, sectors }) =>
                `${name} has ${sectors * 512} bytes, ${(sectors * 512) % 4096} more than a multiple of 4096: make the partition ${Math.floor((sectors * 512) / 4096) * 4096} bytes long.`,
            ),
          'The kernel names the mapping by its number; `dmsetup ls` has the name.',
        ],
        evidence: [
          ...found.slice(0, 3).map(({ quote }) => quote),
          ...odd.slice(0, 1).map(({ quote }) => quote),
        ],
        steps: [
          {
            text: 'Look at both numbers: the size must be divisible by 4096, and the start of the partition by 8 sectors',
            commands: ['blockdev --getsize64 DEVICE', 'cat /sys/class/block/NAME/start', 'dmsetup ls'],
          },
        ],
      },
    ];
  },
};

const passedOver: Rule = {
  id: 'dm-crypt-passes-over',
  topic: 'disk',
  about: 'dm-crypt does not take drivers that allocate memory (from Linux 5.9 on)',
  examine: (subject) => {
    const { facts, uses } = subject;
    const { kernel } = facts.machine;
    if (kernel && !kernelAtLeast(facts.machine, 5, 9)) return [];
    for (const { algorithm, by, quote } of uses) {
      const used = usedFor(subject, algorithm);
      if (!used || !isHardware(used) || !allocatesMemory(used)) continue;
      const disk = by !== 'cryptsetup benchmark';
      return [
        {
          kind: disk ? 'problem' : 'advice',
          weight: disk ? 85.5 : 63,
          sureness: kernel ? 'certain' : 'likely',
          verdict: `${disk ? 'Your disk does not' : 'A disk would not'} use the ${engineOf(used.verdict.engine)?.name ?? used.driver}: dm-crypt passes over drivers that allocate memory, and ${used.driver} does`,
          details: [
            'Its priority in /proc/crypto says nothing for disks: the flag CRYPTO_ALG_ALLOCATES_MEMORY is not shown there, and from Linux 5.9 on dm-crypt takes the next driver without it.',
          ],
          evidence: [quote, used.quote, ...(kernel ? [kernel.quote] : [])],
          steps: [
            {
              text: 'See which driver dm-crypt gets, in a mapping over memory',
              commands: ['hwcrypt benchmark --disk'],
            },
          ],
        },
      ];
    }
    return [];
  },
};

const pinned: Rule = {
  id: 'dm-crypt-pinned',
  topic: 'disk',
  about: '`capi:` with a driver’s name: an implementation that is fixed',
  examine: ({ facts }) => {
    for (const { cipher, quote } of facts.disks.tables) {
      const inner = /^capi:(.+?)(?:-(?:plain|plain64|essiv|benbi|null|random)\b.*)?$/.exec(cipher)?.[1];
      if (inner === undefined || /cipher_null/.test(inner)) continue;
      const leaf = /([a-z0-9_]+(?:-[a-z0-9_]+)+)\)*$/.exec(inner)?.[1];
      if (leaf === undefined) continue;
      const verdict = judgeHardware({ driver: leaf });
      if (verdict.hardware !== 'no') continue;
      return [
        {
          kind: 'problem',
          weight: 71.5,
          sureness: 'certain',
          verdict: `A mapping is pinned to software: ${inner} names ${leaf}, so no accelerator and no faster code will ever be used for it`,
          details: [...verdict.evidence.slice(0, 1)],
          evidence: [quote],
          steps: [
            {
              text: 'Open it without the driver’s name; the data stays as it is',
              commands: [
                'cryptsetup open --type plain -c aes-xts-plain64 …   # as it was opened, without capi:',
              ],
            },
          ],
        },
      ];
    }
    return [];
  },
};

const luks1: Rule = {
  id: 'disk-luks1',
  topic: 'disk',
  about: 'LUKS1 knows sectors of 512 bytes only',
  examine: ({ facts }) => {
    const old = facts.disks.headers.filter(({ version }) => version === 1);
    if (old.length === 0) return [];
    return [
      {
        kind: 'advice',
        weight: 50.5,
        sureness: 'certain',
        verdict: 'The disk has a LUKS1 header, which knows no sectors but those of 512 bytes, and no Argon2',
        evidence: old.map(({ quote }) => quote),
        steps: [
          {
            text: 'With a backup of the header, offline; sectors stay at 512 until it is re-encrypted',
            commands: [
              'cryptsetup luksHeaderBackup DEVICE --header-backup-file luks1.header',
              'cryptsetup convert DEVICE --type luks2',
              'cryptsetup reencrypt --sector-size 4096 DEVICE',
            ],
          },
        ],
      },
    ];
  },
};

const argonMemory: Rule = {
  id: 'keyslot-memory',
  topic: 'disk',
  about: 'a keyslot’s Argon2 wants more memory than the machine has',
  examine: ({ facts }) => {
    const failed = facts.messages.find(({ code }) => code === 'KEYSLOT_MEMORY');
    const most = facts.disks.headers
      .flatMap(({ memoryKiB }) => memoryKiB)
      .sort((a, b) => b.value - a.value)[0];
    const there = facts.machine.availableKiB ?? facts.machine.memoryKiB;
    const tooLarge = most && there && most.value > there.value;
    if (!failed && !tooLarge) return [];
    return [
      {
        kind: 'problem',
        weight: 87.5,
        sureness: 'certain',
        verdict: `A keyslot cannot be opened here: its Argon2 wants ${most ? `${Math.round(most.value / 1024)} MiB` : 'more'} of memory${there ? `, and ${Math.round(there.value / 1024)} MiB are available` : ' than there is'}`,
        details: [
          'It was made on a larger machine. The key is sound: only the way from the passphrase to it must be made cheaper, on a machine that can open it.',
        ],
        evidence: [
          ...(failed ? [failed.quote] : []),
          ...(most ? [most.quote] : []),
          ...(there ? [there.quote] : []),
        ],
        steps: [
          {
            text: 'On the machine that made it (or add a keyslot for this one)',
            commands: [
              'cryptsetup luksConvertKey --pbkdf argon2id --pbkdf-memory 65536 DEVICE',
              'cryptsetup luksAddKey --pbkdf pbkdf2 DEVICE',
            ],
          },
        ],
      },
    ];
  },
};

const tableOptions: Rule = {
  id: 'dm-crypt-options',
  topic: 'disk',
  about: 'options of a mapping that miss, contradict or help little',
  examine: (subject) => {
    const { tables } = subject.facts.disks;
    const unknown = subject.facts.messages.find(({ code }) => code === 'DM_OPTION');
    const miscounted = tables.find(({ countedOptions }) => countedOptions !== undefined);
    const queues = tables.find(
      ({ options, kernelName }) =>
        options.some((option) => /^no_(?:read|write)_workqueue$/.test(option)) &&
        kernelName !== undefined &&
        usedEngine(subject, kernelName) !== undefined,
    );
    return [
      ...(unknown
        ? [
            {
              kind: 'problem' as const,
              weight: 82.6,
              sureness: 'likely' as const,
              verdict:
                'dm-crypt of this kernel does not know an option that the mapping asks for, so the mapping is refused or comes up without it',
              details: [
                'no_read_workqueue and no_write_workqueue need Linux 5.9, sector_size needs 4.12, same_cpu_crypt and submit_from_crypt_cpus 4.0. They are for speed: the data is the same without them.',
              ],
              evidence: [unknown.quote],
              steps: [
                {
                  text: 'Compare',
                  commands: [
                    'uname -r',
                    'dmsetup targets | grep crypt',
                    'cryptsetup luksDump DEVICE | grep -i flags',
                  ],
                },
                { text: 'Open it without them', commands: ['cryptsetup refresh --persistent NAME'] },
              ],
            },
          ]
        : []),
      ...(miscounted
        ? [
            {
              kind: 'advice' as const,
              weight: 27,
              sureness: 'certain' as const,
              verdict: `A table announces ${miscounted.countedOptions} options and has ${miscounted.options.length}: it was cut, or would be refused`,
              evidence: [miscounted.quote],
            },
          ]
        : []),
      ...(queues
        ? [
            {
              kind: 'advice' as const,
              weight: 31,
              sureness: 'likely' as const,
              verdict:
                'no_read_workqueue and no_write_workqueue help fast synchronous ciphers; with an engine, which is asynchronous, they do little',
              evidence: [queues.quote],
            },
          ]
        : []),
    ];
  },
};

const unusable: Rule = {
  id: 'dm-crypt-cannot',
  topic: 'disk',
  about: 'the kernel lacks dm-crypt or the cipher of the disk, so the mapping is refused',
  examine: ({ facts }) => {
    const unset = facts.modules.config.get('CONFIG_DM_CRYPT');
    const refused = facts.messages.find(({ code }) => code === 'DM_RELOAD');
    const target =
      facts.messages.find(({ code }) => code === 'DM_TARGET') ??
      (refused && unset?.value === 'n' ? { quote: unset.quote } : undefined);
    const option = facts.messages.some(({ code }) => code === 'DM_OPTION' || code === 'SECTOR_MISALIGNED');
    const cipher = facts.messages.find(({ code }) => code === 'DM_CIPHER') ?? (option ? undefined : refused);
    const found = target ?? cipher;
    if (!found) return [];
    const named =
      facts.messages.find(({ code, subject }) => code === 'DM_CIPHER' && subject !== undefined)?.subject ??
      facts.disks.headers[0]?.cipher?.value;
    return [
      {
        kind: 'problem',
        weight: 87.8,
        sureness: 'certain',
        verdict: target
          ? 'The kernel that runs has no dm-crypt: its module is not built, not installed, or belongs to another kernel'
          : `The kernel cannot put the disk’s cipher${named === undefined ? '' : ` (${named})`} together: a module of it is missing`,
        details: [
          target
            ? 'After an update of the kernel the modules of the one that still runs are gone; a restart mends that.'
            : 'XTS needs the modules xts, ecb and aes; CBC with ESSIV needs cbc, essiv and the hash. “No such file or directory” means that, and no file.',
          'The disk is not damaged, and no accelerator is involved.',
        ],
        evidence: [...(target ? [target.quote] : []), ...(cipher ? [cipher.quote] : [])],
        steps: [
          {
            system: 'openwrt',
            text: 'Install the modules, of the very release that runs',
            commands: [
              'opkg update && opkg install kmod-crypto-ecb kmod-crypto-xts kmod-crypto-cbc kmod-crypto-sha256 kmod-crypto-user kmod-dm',
              'uname -r; cat /etc/openwrt_release',
            ],
          },
          {
            system: 'debian',
            text: 'Load them, and have them in the initial RAM disk',
            commands: [
              'modprobe -a dm_crypt xts ecb cbc',
              'printf "dm_crypt\\nxts\\necb\\n" >> /etc/initramfs-tools/modules && update-initramfs -u',
            ],
          },
          {
            system: 'buildroot',
            text: 'Turn CONFIG_DM_CRYPT, CONFIG_CRYPTO_XTS, CONFIG_CRYPTO_ECB, CONFIG_CRYPTO_AES and CONFIG_CRYPTO_USER_API_SKCIPHER on',
            commands: ['make linux-menuconfig'],
          },
          {
            text: 'Look what the kernel says, and what it has',
            commands: ['dmesg | tail -n 5', 'grep -A1 -e "xts" -e "cbc(aes)" /proc/crypto'],
          },
        ],
      },
    ];
  },
};

export const diskRules: readonly Rule[] = [
  unusable,
  smallSectors,
  misaligned,
  passedOver,
  pinned,
  luks1,
  argonMemory,
  tableOptions,
];
