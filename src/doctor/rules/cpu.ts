/** The CPU itself: whether it needs help at all, and whether the kernel uses what it has. */
import { type Case, engineNamesText, usedFor } from '../case.js';
import { behind, isPortableAes } from '../facts/algorithms.js';
import { isTableRow, megabytesPerSecond, tableRate, tableRows } from '../facts/results.js';
import type { Rule } from '../finding.js';

/** The kernel's code for AES instructions, by family. `signs`: how /proc/cpuinfo calls the flags, and `uname -m`; RISC-V's module is there from Linux 6.9 on. */
const FAMILIES = [
  {
    name: 'x86',
    signs: /^flags:|\b(?:x86_64|amd64|i[3-6]86)\b/,
    module: 'aesni_intel',
    config: 'CONFIG_CRYPTO_AES_NI_INTEL',
  },
  {
    name: '64-bit Arm',
    signs: /^Features:|\b(?:aarch64|arm64)\b/,
    module: 'aes_ce_blk',
    config: 'CONFIG_CRYPTO_AES_ARM64_CE_BLK',
  },
  {
    name: 'RISC-V',
    signs: /^isa:|\briscv64\b/,
    module: 'aes_riscv64',
    config: 'CONFIG_CRYPTO_AES_RISCV64',
  },
];

/** The family of this machine, or all of them where the texts do not tell. */
function families({ facts }: Case): typeof FAMILIES {
  const { aes, kernel } = facts.machine;
  const text = `${aes?.quote.text ?? ''} ${kernel?.quote.text ?? ''}`;
  const found = FAMILIES.filter(({ signs }) => signs.test(text));
  return found.length === 1 ? found : FAMILIES;
}

const unused: Rule = {
  id: 'cpu-instructions-unused',
  topic: 'cpu',
  about: 'the CPU has instructions for AES, and the kernel runs portable C',
  examine: (subject) => {
    const { facts } = subject;
    const { aes } = facts.machine;
    const winner =
      usedFor(subject, 'xts(aes)') ?? usedFor(subject, 'cbc(aes)') ?? usedFor(subject, 'ecb(aes)');
    if (!aes?.value || !winner || winner.verdict.hardware !== 'no' || !isPortableAes(winner)) return [];
    const own = families(subject);
    const engine = facts.openssl.sessions.some(({ verdict }) => verdict.hardware === 'yes');
    const several = own.length > 1;
    const used = subject.uses.some(({ by }) => by !== 'cryptsetup benchmark');
    return [
      {
        kind: 'advice',
        // Whoever has an engine that is reached asks about that one.
        weight: used ? 78.5 : engine ? 30 : 47,
        sureness: 'certain',
        verdict: `The CPU has instructions for AES, but the kernel runs ${winner.driver}: ${behind(winner)}`,
        details: [
          'Programs that use OpenSSL have the instructions all the same; disks, IPsec and AF_ALG have not.',
        ],
        evidence: [aes.quote, winner.quote],
        steps: [
          {
            system: 'debian',
            text: 'Load the kernel’s own code for them, and at every start',
            commands: own.map(({ name, module }) => `modprobe ${module}${several ? `    # ${name}` : ''}`),
          },
          {
            system: 'openwrt',
            text: 'Install it',
            commands: ['opkg update && opkg install kmod-crypto-misc'],
          },
          {
            text: `Where the kernel was built without: ${own
              .map(({ name, config }) => `${config}${several ? ` (${name})` : ''}`)
              .join(', ')}`,
            commands: [],
          },
        ],
      },
    ];
  },
};

const enough: Rule = {
  id: 'cpu-is-enough',
  topic: 'cpu',
  about: 'the CPU’s own instructions for AES make an accelerator unnecessary',
  examine: (subject) => {
    const { cpuAes, hardware, softwareRate, facts } = subject;
    const [sign] = cpuAes;
    if (!sign) return [];
    const engine = hardware.length > 0;
    const speed =
      softwareRate && softwareRate.bytesPerSecond > 50e6
        ? `: ${megabytesPerSecond(softwareRate.bytesPerSecond)} on one core`
        : '';
    // A listing without an engine has a finding of its own that says the same.
    if (!engine && speed === '' && facts.kernel.entries.length > 0) return [];
    return [
      {
        kind: 'fine',
        weight: 44,
        sureness: softwareRate ? 'certain' : 'likely',
        verdict: `You do not need ${engine ? `the ${engineNamesText(subject)}` : 'an accelerator'} for speed: the CPU has instructions for AES${speed}`,
        details: [
          'An engine can still take load off the CPU, at large requests; measure CPU time for that, not MB/s.',
        ],
        evidence: [sign, ...(softwareRate && softwareRate.quote !== sign ? [softwareRate.quote] : [])],
      },
    ];
  },
};

/** What cryptsetup's table has for a cipher, be the key what it may. */
function benchmarkRate({ facts }: Case, name: string): ReturnType<typeof tableRate> {
  const found = tableRows(facts.results).find(
    ({ row }) => row.algorithmText === name && row.status === 'ok' && row.bytesPerSecond !== undefined,
  );
  return found && tableRate(found, name);
}

/** CBC well ahead of XTS, or the same row at two speeds: something else than the CPU is at work. */
function engineLikely({ facts }: Case): boolean {
  const rows = tableRows(facts.results);
  const rates = (name: string): number[] => {
    const found = rows.filter((one) => isTableRow(one, name, 'encrypt'));
    // One of each run.
    const firsts = found.filter(({ run }, at) => found.findIndex((one) => one.run === run) === at);
    return firsts.flatMap(({ row }) => row.bytesPerSecond ?? []);
  };
  const [cbc, xts] = [rates('aes-cbc 256'), rates('aes-xts 256')];
  return Math.max(...cbc, 0) > Math.min(...xts) * 1.25 || Math.max(...xts, 0) > Math.min(...xts) * 1.3;
}

/** Slower than this no CPU with AES instructions is, the smallest Arm core included. */
const SLOW_XTS = 150e6;

const lacking: Rule = {
  id: 'cpu-without-aes',
  topic: 'cpu',
  about:
    'a CPU without AES instructions and no engine: AES is portable code, and ChaCha20 or Adiantum the faster ciphers',
  examine: (subject) => {
    const { facts, hardware, cpuAes } = subject;
    const { aes, guest, chip } = facts.machine;
    if (hardware.length > 0 || facts.devices.devices.length > 0 || cpuAes.length > 0 || guest) return [];
    const xts = benchmarkRate(subject, 'aes-xts') ?? benchmarkRate(subject, 'aes-cbc');
    const others = ['serpent-xts', 'twofish-xts'].flatMap((name) => benchmarkRate(subject, name) ?? []);
    // With instructions AES is several times as fast as the ciphers that have none.
    const level = xts && others.length > 0 && others.some(({ value }) => value > xts.value * 0.6);
    const slow = xts && (level || xts.value < SLOW_XTS);
    const told = aes?.value === false;
    if (!told && engineLikely(subject)) return [];
    if (!told && !slow) return [];
    const adiantum =
      benchmarkRate(subject, 'xchacha12,aes-adiantum') ?? benchmarkRate(subject, 'xchacha20,aes-adiantum');
    const what = chip && !chip.value.aes ? ` (${chip.value.name})` : '';
    return [
      {
        kind: 'advice',
        weight: 44.8,
        sureness: told ? 'certain' : 'likely',
        verdict: told
          ? `The CPU${what} has no AES instructions${xts ? ` and does ${megabytesPerSecond(xts.value)} of AES` : ''}: whatever no engine does of AES is slow software`
          : `AES is plain software here${what}, ${megabytesPerSecond(xts!.value)}: the CPU has no AES instructions that are used, and no engine shows`,
        details: [
          ...(adiantum && xts
            ? [
                `Adiantum, which needs no AES instructions, does ${megabytesPerSecond(adiantum.value)} by the same benchmark${adiantum.value > xts.value ? ': it is the cipher to choose for a disk' : ''}.`,
              ]
            : [
                'Ciphers made for such CPUs are Adiantum for disks and ChaCha20-Poly1305 for VPNs and TLS. How much they bring on this one the commands below tell.',
              ]),
          ...(chip?.value.engine !== undefined
            ? [`The ${chip.value.name} has an engine, of which the text shows nothing.`]
            : []),
        ],
        evidence: [
          ...(told ? [aes.quote] : []),
          ...(xts ? [xts.quote] : []),
          ...others.slice(0, 1).map(({ quote }) => quote),
        ],
        steps: [
          {
            text: 'Compare in memory; nothing on the disk is touched',
            commands: [
              'cryptsetup benchmark -c xchacha20,aes-adiantum-plain64 -s 256',
              'cryptsetup benchmark -c xchacha12,aes-adiantum-plain64 -s 256',
              'cryptsetup benchmark -c aes-xts-plain64 -s 256',
              'openssl speed -elapsed -evp chacha20-poly1305',
            ],
          },
          {
            text: 'For a new disk, if it wins',
            commands: [
              'cryptsetup luksFormat --type luks2 -c xchacha20,aes-adiantum-plain64 -s 256 --sector-size 4096 DEVICE   # everything on it is lost',
            ],
          },
          {
            text: 'See whether the chip has an engine after all',
            commands: ['hwcrypt doctor', 'cat /proc/crypto'],
          },
        ],
      },
    ];
  },
};

const hidden: Rule = {
  id: 'vm-hides-aes',
  topic: 'cpu',
  about: 'a virtual machine whose model of CPU has no AES instructions, though the host’s has',
  examine: ({ facts, hardware }) => {
    const { aes, guest, cpu } = facts.machine;
    if (!guest || aes?.value !== false) return [];
    // Who asks about an engine hears of that first.
    const aside =
      hardware.length > 0 ||
      facts.devices.devices.length > 0 ||
      facts.sources.some(({ bundle }) => bundle !== 'none');
    return [
      {
        kind: aside ? 'advice' : 'problem',
        weight: aside ? 50.3 : 85.2,
        sureness: /QEMU|KVM/i.test(guest.value) ? 'certain' : 'likely',
        verdict: `This virtual machine does not see AES instructions${cpu ? ` (its CPU is a “${cpu.value.slice(0, 40)}”)` : ''}: give it the host’s model of CPU`,
        details: [
          'The guest has the instructions of the model that it was given, and the default models of QEMU and Proxmox have none for AES. Nothing inside of the guest can change that.',
          'Whether the host has them its own /proc/cpuinfo says; nearly all servers of the last ten years do.',
        ],
        evidence: [
          guest.quote,
          aes.quote,
          ...(cpu && cpu.quote.text !== guest.quote.text ? [cpu.quote] : []),
        ],
        steps: [
          {
            text: 'On the host, with the guest off (Proxmox, libvirt, QEMU)',
            commands: [
              'grep -o -w -m1 aes /proc/cpuinfo',
              'qm set VMID --cpu host',
              "virsh edit NAME   # <cpu mode='host-passthrough'/>",
              'qemu-system-x86_64 -enable-kvm -cpu host …',
            ],
          },
          {
            text: 'Then, in the guest',
            commands: ['grep -o -w -m1 aes /proc/cpuinfo', 'openssl speed -elapsed -evp aes-128-gcm'],
          },
        ],
      },
    ];
  },
};

export const cpuRules: readonly Rule[] = [unused, enough, lacking, hidden];
