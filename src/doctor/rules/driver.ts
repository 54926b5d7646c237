/** Is there an engine, does its driver work, and does the kernel use it? */
import { judgeHardware } from '../../drivers/hardware.js';
import { moduleName, rulesFor } from '../../linux/proc.js';
import { type Case, engineEntry, engineNamesText, listed, loadedModule, usedFor } from '../case.js';
import { loadDriver } from '../cures.js';
import { behind, candidates, isHardware, type KernelEntry } from '../facts/algorithms.js';
import type { Quote } from '../facts/document.js';
import type { Found, Rule } from '../finding.js';
import { errnoText } from './log.js';

/** Not what disks, VPNs and TLS records are made of: an engine's RSA may fail and its AES be sound. */
const BESIDE = /rsa|pkcs1|ecdh|\bdh\b|ecdsa|kpp|akcipher|^sm2/i;

const selftestFailed: Rule = {
  id: 'selftest-failed',
  topic: 'driver',
  about: 'the kernel’s own test of an engine’s driver failed',
  examine: ({ facts }) => {
    const out: Found[] = [];
    const failed = facts.devices.troubles.filter(({ kind }) => kind === 'selftest');
    const real = failed.filter(({ subject, algorithm = '' }) => !BESIDE.test(`${subject} ${algorithm}`));
    const beside = failed.filter((trouble) => !real.includes(trouble));
    if (real.length > 0) {
      const drivers = [...new Set(real.map(({ subject }) => subject))];
      const hardware = drivers.some((driver) => judgeHardware({ driver }).hardware !== 'no');
      out.push({
        kind: 'problem',
        weight: hardware ? 93 : 80,
        sureness: 'certain',
        verdict: `${listed(drivers.slice(0, 3))} failed the kernel’s self-test, so the kernel refuses to use ${drivers.length > 1 ? 'them' : 'it'}`,
        details: [
          'Whatever asks for it by name gets ENOENT or ELIBBAD, and by algorithm the next one in priority: mostly software.',
          'Wrong bytes were computed, or none: this is a bug of the driver or a broken device, not of your set-up.',
        ],
        evidence: real.slice(0, 4).map(({ quote }) => quote),
        steps: [
          {
            text: 'See all that the kernel said of it, and report it to the driver’s maintainer with the kernel’s version',
            commands: ['dmesg | grep -i "alg:"'],
          },
          { text: 'Try a kernel with a newer driver; do not switch the tests off', commands: [] },
        ],
      });
    }
    if (beside.length > 0) {
      out.push({
        kind: 'fine',
        weight: 12,
        sureness: 'certain',
        verdict: `The self-test of ${beside[0]!.subject} failed; that is public-key cryptography, and its ciphers are not touched by it`,
        evidence: beside.slice(0, 2).map(({ quote }) => quote),
      });
    }
    const untested = facts.kernel.entries.filter(
      (entry) =>
        isHardware(entry) &&
        entry.selftest === 'unknown' &&
        !entry.internal &&
        !BESIDE.test(`${entry.name} ${entry.driver}`),
    );
    if (untested.length > 0) {
      out.push({
        kind: 'advice',
        weight: 57,
        sureness: 'possible',
        verdict: `${untested[0]!.driver} is registered, but its self-test is not passed`,
        details: [
          '`selftest : unknown` means not tested yet, or failed. Until it is passed nobody is given this driver.',
        ],
        evidence: untested.slice(0, 3).map(({ quote }) => quote),
        steps: [{ text: 'See why', commands: ['dmesg | grep -i "alg:"'] }],
      });
    }
    return out;
  },
};

const startFailed: Rule = {
  id: 'driver-failed-to-start',
  topic: 'driver',
  about: 'firmware is missing, or the driver’s probe failed',
  examine: (subject) => {
    const { facts } = subject;
    return facts.devices.troubles
      .filter(({ kind }) => kind === 'firmware' || kind === 'probe')
      .slice(0, 2)
      .map(({ kind, subject: engine, errno, quote }): Found => {
        const known = facts.devices.devices.find((device) => device.engine.name === engine)?.engine;
        return kind === 'firmware'
          ? {
              kind: 'problem',
              weight: 91,
              sureness: 'certain',
              verdict: `The ${engine} has no firmware, so its driver did not start`,
              evidence: [quote],
              steps: [
                {
                  system: 'debian',
                  text: 'Install it',
                  commands: ['apt install firmware-misc-nonfree', 'reboot'],
                },
                {
                  system: 'openwrt',
                  text: 'Install it',
                  commands: ['opkg update && opkg list | grep -i -e firmware -e eip197', 'reboot'],
                },
                {
                  system: 'buildroot',
                  text: 'Turn BR2_PACKAGE_LINUX_FIRMWARE and the file in question on',
                  commands: ['make menuconfig'],
                },
              ],
            }
          : /broken BIOS|no available CCPs|command queues/.test(quote.text)
            ? closed(engine, quote, subject.cpuAes.length > 0)
            : {
                kind: 'problem',
                weight: 90,
                sureness: 'certain',
                verdict: `The driver of the ${engine} did not start${errno === 517 || /deferred probe/.test(quote.text) ? ' yet: it waits for another driver' : ''}`,
                details: errnoText(errno) === undefined ? [] : [`The number says: ${errnoText(errno)}.`],
                evidence: [quote],
                steps: [
                  ...(known ? loadDriver(known) : []),
                  {
                    text: 'See what it waits for or complains of',
                    commands: [
                      'dmesg | grep -i -e crypto -e "probe of"',
                      'cat /sys/kernel/debug/devices_deferred   # as root, with debugfs mounted',
                    ],
                  },
                ],
              };
      });
  },
};

/** AMD's CCP, which the firmware of most desktops and laptops keeps for itself. */
function closed(engine: string, quote: Quote, aes: boolean): Found {
  return {
    kind: aes ? 'advice' : 'problem',
    weight: 90,
    sureness: 'certain',
    verdict: `The ${engine} cannot be used on this machine: its firmware gives Linux no access to it, and you miss nothing`,
    details: [
      'Every CPU that has a CCP has AES instructions too, and OpenSSL, disks and VPNs use those. No setting of Linux opens it; some makers do by an update of the firmware.',
    ],
    evidence: [quote],
    steps: [
      {
        text: 'See what the CPU does by itself',
        commands: ['grep -o -w -m1 aes /proc/cpuinfo', 'openssl speed -elapsed -evp aes-128-gcm'],
      },
    ],
  };
}

const notLoaded: Rule = {
  id: 'driver-not-loaded',
  topic: 'driver',
  about: 'a device is there, and no driver has registered anything for it',
  examine: (subject) => {
    const { facts, idleDevices } = subject;
    const out: Found[] = [];
    const told = new Set<string>();
    for (const device of idleDevices) {
      const { engine, driver, disabled, ready, quote } = device;
      if (told.has(engine.id)) continue;
      // Without the kernel's list it is not known what has registered; a device without a driver is enough.
      if (driver !== null && !disabled && !facts.kernel.complete) continue;
      told.add(engine.id);
      const blockers = engine.modules.flatMap((module) =>
        rulesFor(facts.modules.rules, module).map((rule) => (rule as typeof rule & { quote: Quote }).quote),
      );
      const loaded = loadedModule(facts, engine);
      const file = engine.modules.map(moduleName).find((module) => facts.modules.files.has(module));
      const evidence = [quote, ...blockers, ...(file === undefined ? [] : [facts.modules.files.get(file)!])];
      if (disabled) {
        out.push({
          kind: 'problem',
          weight: 87,
          sureness: 'certain',
          verdict: `The ${engine.name} is switched off in the device tree`,
          details: [`Its node has a status other than okay, so no driver will ever find it.`],
          evidence,
          steps: [
            {
              text: 'Set status = "okay" in the board’s device tree (an overlay, or another firmware image), and report it to whoever makes that',
              commands: [],
            },
          ],
        });
      } else if (
        ready &&
        driver !== null &&
        blockers.length === 0 &&
        loaded === undefined &&
        facts.kernel.complete
      ) {
        out.push({
          kind: 'problem',
          weight: 79,
          sureness: 'likely',
          verdict: `The driver of the ${engine.name} started, but no algorithm of it is in /proc/crypto`,
          details: ['It registered nothing, or was taken out again after it failed its tests.'],
          evidence: [quote],
          steps: [{ text: 'See what the kernel says', commands: ['dmesg | grep -i -e crypto -e "alg:"'] }],
        });
      } else {
        out.push({
          kind: 'problem',
          weight: 88,
          sureness: driver === null || facts.modules.complete ? 'certain' : 'likely',
          verdict:
            blockers.length > 0
              ? `There is an engine in this machine (${engine.name}), but its driver is blacklisted`
              : loaded === undefined
                ? `There is an engine in this machine (${engine.name}), but no driver for it is loaded`
                : `The driver of the ${engine.name} is loaded, but has registered no algorithm`,
          details: [
            ...(blockers.length > 0
              ? [
                  'A line of modprobe.d keeps it out. Whoever wrote it may have had a reason: ask before you remove it.',
                ]
              : []),
            ...(file !== undefined && loaded === undefined
              ? [`The module ${file} is installed: it only needs to be loaded.`]
              : []),
            ...(subject.cpuAes.length > 0
              ? [
                  'The CPU has instructions for AES, which are faster than most engines: it may not be worth it.',
                ]
              : []),
          ],
          evidence,
          steps: loadDriver(engine),
        });
      }
    }
    return out;
  },
};

/** Modes for which it counts who is used. */
const COUNTED =
  /^(?:ecb|cbc|ctr|xts|gcm|ccm)\((?:aes|des3_ede)\)$|^(?:sha1|sha256|sha512|hmac\(sha(?:1|256)\))$/;

const outranked: Rule = {
  id: 'driver-outranked',
  topic: 'driver',
  about: 'an engine’s driver is registered, and another one has the higher priority',
  examine: (subject) => {
    const { hardware } = subject;
    const lost = hardware.flatMap((entry): { entry: KernelEntry; by: KernelEntry }[] => {
      const by = usedFor(subject, entry.name);
      return !entry.partial &&
        by &&
        !isHardware(by) &&
        by.priority >= entry.priority &&
        COUNTED.test(entry.name)
        ? [{ entry, by }]
        : [];
    });
    if (lost.length === 0) return [];
    // Ciphers of AES first: that is what people ask about.
    lost.sort((a, b) => Number(/\(aes\)$/.test(b.entry.name)) - Number(/\(aes\)$/.test(a.entry.name)));
    const [first] = lost as [(typeof lost)[number], ...typeof lost];
    const names = [...new Set(lost.map(({ entry }) => entry.name))];
    const instructions = /instructions/.test(behind(first.by));
    return [
      {
        kind: instructions ? 'advice' : 'problem',
        weight: 84.8,
        sureness: 'certain',
        verdict: `Your ${engineNamesText(subject)} is loaded but not used for ${listed(names.slice(0, 4))}: ${first.by.driver} has the higher priority (${first.by.priority} against ${first.entry.priority})`,
        details: [
          `${first.by.driver} is ${behind(first.by)}.`,
          instructions
            ? 'These are usually faster than an engine, at small sizes by far, so the kernel’s choice is mostly the right one: measure before you change it.'
            : 'The kernel takes the highest priority for a name, whether that is hardware or not.',
        ],
        evidence: [first.entry.quote, first.by.quote],
        steps: [
          {
            text: 'Measure both: each can be asked for by its own name (up to Linux 7.1)',
            commands: [
              `hwcrypt speed -evp aes-128-cbc --driver afalg:${first.entry.driver},afalg:${first.by.driver},libcrypto`,
            ],
          },
          ...(first.by.module === 'kernel' || first.by.module === ''
            ? []
            : [
                {
                  text: 'Only if the engine wins at your sizes: keep the other module out (this takes its ciphers from everything, disks and VPN too)',
                  commands: [
                    `echo "blacklist ${first.by.module}" > /etc/modprobe.d/prefer-engine.conf`,
                    'reboot',
                  ],
                },
              ]),
        ],
      },
    ];
  },
};

const stillInterrupts: Rule = {
  id: 'engine-never-interrupted',
  topic: 'driver',
  about: 'the engine’s interrupts did not rise while something was timed that should have used it',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const still = facts.devices.growth.filter(({ before, after }) => after <= before);
    const grown = facts.devices.growth.filter(({ before, after }) => after > before);
    const timed = facts.results.subjects.flatMap(({ curves }) =>
      curves.filter(({ place, series }) => place === 'offloaded' && series.points.length > 0),
    );
    if (still.length === 0 || grown.length > 0 || timed.length === 0) return [];
    return [
      {
        kind: 'problem',
        weight: 82,
        sureness: 'likely',
        verdict: `Your ${hardware.length > 0 ? engineNamesText(subject) : 'engine'} did nothing: its interrupts did not rise while encryption was timed through the kernel`,
        details: [
          'What was measured went to software, whatever the flags of the drivers say. (A few drivers poll and never interrupt; their curves give them away.)',
        ],
        evidence: [...still.flatMap(({ quotes }) => quotes), ...timed.slice(0, 1).map(({ quote }) => quote)],
        steps: [
          {
            text: 'See who is asked',
            commands: ['hwcrypt list kernel', 'openssl engine -pre DUMP_INFO devcrypto'],
          },
        ],
      },
    ];
  },
};

const used: Rule = {
  id: 'engine-used',
  topic: 'driver',
  about: 'an engine is the kernel’s first choice, with whatever proves that it works',
  examine: (subject) => {
    const { hardware, facts } = subject;
    const first = [...new Set(hardware.map(({ name }) => name))].flatMap((name) => {
      const own = usedFor(subject, name);
      return own && isHardware(own) && COUNTED.test(name) ? [own] : [];
    });
    const grown = facts.devices.growth.filter(({ before, after }) => after > before);
    if (first.length === 0) return [];
    const names = first.map(({ name }) => name);
    return [
      {
        kind: 'fine',
        weight: 35,
        sureness: grown.length > 0 ? 'certain' : 'likely',
        verdict: `Your ${engineNamesText(subject)} is the kernel’s first choice for ${listed(names.slice(0, 6))}${
          grown[0] ? `, and it worked: its interrupts rose by ${grown[0].after - grown[0].before}` : ''
        }`,
        details: [
          ...new Set(first.flatMap(({ verdict }) => verdict.evidence.slice(0, 1))),
          ...(grown.length > 0
            ? []
            : ['Its interrupts in /proc/interrupts, before and after, would prove that it is used.']),
        ].slice(0, 4),
        evidence: [
          ...first.slice(0, 2).map(({ quote }) => quote),
          ...grown.slice(0, 1).flatMap(({ quotes }) => quotes),
        ],
      },
    ];
  },
};

const asyncSoftware: Rule = {
  id: 'asynchronous-software',
  topic: 'driver',
  about: 'drivers that look like hardware by a flag and are not: cryptd, SIMD wrappers',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const wrapped = facts.kernel.entries.filter(
      ({ driver, verdict, internal, async }) =>
        !internal && verdict.hardware === 'no' && (async === true || /^(?:cryptd|pcrypt)\(/.test(driver)),
    );
    if (wrapped.length === 0 || hardware.length > 0) return [];
    const [first] = wrapped as [KernelEntry, ...KernelEntry[]];
    return [
      {
        kind: 'fine',
        weight: 39,
        sureness: 'certain',
        verdict: `${first.driver} is asynchronous, and yet software: ${/^(?:cryptd|pcrypt)\(/.test(first.driver) ? 'it only queues the work for the CPU' : `it is ${behind(first)}`}`,
        details: ['Neither `async : yes` nor a high priority means hardware.'],
        evidence: wrapped.slice(0, 3).map(({ quote }) => quote),
      },
    ];
  },
};

const none: Rule = {
  id: 'no-engine',
  topic: 'driver',
  about: 'nothing that is registered, loaded or connected is a crypto engine',
  examine: (subject) => {
    const { facts, hardware, cpuAes } = subject;
    const { kernel, devices, openssl } = facts;
    if (hardware.length > 0 || devices.devices.length > 0) return [];
    if (
      openssl.dumps.some(({ verdict }) => verdict?.hardware === 'yes') ||
      openssl.sessions.some(({ verdict }) => verdict.hardware === 'yes')
    )
      return [];
    const cpuOnly = kernel.entries.filter(({ verdict, internal }) => verdict.hardware === 'no' && !internal);
    const names = ['cbc(aes)', 'xts(aes)', 'ctr(aes)', 'ecb(aes)', 'gcm(aes)', 'aes', 'chacha20', 'sha256'];
    const winners = names
      .flatMap((name) => usedFor(subject, name) ?? [])
      .filter((entry) => !isHardware(entry));
    if (cpuOnly.length === 0 || winners.length === 0) return [];
    const unknown = kernel.entries.filter(
      ({ verdict, internal }) => verdict.hardware === 'unknown' && !internal,
    );
    const sure = kernel.complete && unknown.length === 0;
    const evidence = [...new Set(winners.slice(0, 3).map(({ quote }) => quote)), ...cpuAes.slice(0, 1)];
    const what = winners.find(({ name }) => name.includes('aes')) ?? winners[0]!;
    // Asynchronous, first choice, and nobody knows its name: that may be an engine.
    if (what.verdict.hardware === 'unknown' && what.async === true) return [];
    const instructions = /instructions/.test(behind(what));
    // Templates are put together when somebody asks: a kernel that nobody has asked yet lists no mode of AES at all.
    if (!what.name.includes('aes') && cpuAes.length > 0) {
      return [
        {
          kind: 'fine',
          weight: 46,
          sureness: sure ? 'certain' : 'likely',
          verdict: 'You need no accelerator: none is there, and the CPU has instructions for AES',
          evidence,
        },
      ];
    }
    return [
      instructions || cpuAes.length > 0
        ? {
            kind: 'fine',
            weight: 46,
            sureness: sure ? 'certain' : 'likely',
            verdict: `You need no accelerator: ${what.name} runs on the CPU${instructions ? `, by ${behind(what)} (${what.driver})` : ', which has instructions for AES'}`,
            details: [
              'No engine’s driver is registered. With such instructions there is seldom anything to win by one but CPU time.',
            ],
            evidence,
          }
        : {
            kind: 'advice',
            weight: 45,
            sureness: sure ? 'certain' : 'likely',
            verdict: `There is no accelerator among what the kernel has registered: ${what.name} is ${what.driver}, ${behind(what)}`,
            details: [
              'If the chip has an engine, its driver is not loaded or not built, or the device tree has no node for it.',
            ],
            evidence,
            steps: [
              {
                text: 'See what the machine says of itself; as root, with the kernel’s log',
                commands: ['hwcrypt probe > hwcrypt-probe.sh; sh hwcrypt-probe.sh'],
              },
              {
                system: 'openwrt',
                text: 'Look for a driver',
                commands: ['opkg update && opkg list "kmod-crypto-hw-*"'],
              },
            ],
          },
    ];
  },
};

export const driverRules: readonly Rule[] = [
  selftestFailed,
  startFailed,
  notLoaded,
  outranked,
  stillInterrupts,
  used,
  asyncSoftware,
  none,
];

/** For rules of other topics: the engine's entry for a name that the kernel really uses. */
export function usedEngine(subject: Case, algorithm: string): KernelEntry | undefined {
  const own = usedFor(subject, algorithm);
  if (own) return isHardware(own) ? own : undefined;
  // A listing through grep gives no priorities; then the engine's entry is all that is known.
  return candidates(subject.facts.kernel, algorithm).length > 0 ? engineEntry(subject, algorithm) : undefined;
}
