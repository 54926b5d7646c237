/** What the kernel's log tells of engines: crashes, errors of work, tests that say nothing, and a driver that started. */
import { listed, loadedModule } from '../case.js';
import { ENGINES } from '../engines.js';
import type { Rule } from '../finding.js';

const crashed: Rule = {
  id: 'driver-crashed',
  topic: 'driver',
  about: 'the kernel crashed in the code of an engine’s driver',
  examine: ({ facts }) => {
    const found = facts.devices.troubles.filter(({ kind }) => kind === 'crash');
    const [first] = found;
    if (!first) return [];
    return [
      {
        kind: 'problem',
        weight: 94,
        sureness: 'certain',
        verdict: `The kernel crashed in the driver ${first.subject}: keep it from loading until a newer kernel has it repaired`,
        details: [
          'This is a bug of the driver and nothing that a setting mends. Without it the kernel uses software, and disks and VPNs go on working.',
        ],
        evidence: found.slice(0, 2).map(({ quote }) => quote),
        steps: [
          {
            text: 'Keep the driver out, and start again',
            commands: [
              `echo "blacklist ${first.subject}" > /etc/modprobe.d/no-${first.subject}.conf`,
              'reboot',
            ],
          },
          {
            system: 'openwrt',
            text: 'Keep the driver out (it is loaded from there at every start)',
            commands: [`grep -l ${first.subject} /etc/modules.d/*`, 'reboot'],
          },
          {
            text: 'Report the whole text of the crash, with the kernel’s version',
            commands: ['uname -a', 'dmesg'],
          },
        ],
      },
    ];
  },
};

const faults: Rule = {
  id: 'engine-faults',
  topic: 'driver',
  about: 'an engine that took work does not finish it: time-outs, errors of its own',
  examine: ({ facts }) => {
    const found = facts.devices.troubles.filter(({ kind }) => kind === 'fault');
    const [first] = found;
    if (!first) return [];
    const waits = /time(?:d )?-?out|hung|hang/i.test(first.quote.text);
    return [
      {
        kind: 'problem',
        weight: 89.5,
        sureness: 'likely',
        verdict: `The ${first.subject} ${waits ? 'does not answer in time' : 'reports errors of its own'}: what was handed to it failed or hung`,
        details: [
          'Whoever waits for it gets an error, or waits for ever: a disk or a VPN can stand still. Take the driver out until it is mended; software does the same work.',
        ],
        evidence: found.slice(0, 3).map(({ quote }) => quote),
        steps: [
          {
            text: 'Take it out and see whether the trouble goes with it',
            commands: (ENGINES.find(({ name }) => name === first.subject)?.modules ?? [])
              .slice(0, 1)
              .map((module) => `modprobe -r ${module}`),
          },
          { text: 'Look for more of the same', commands: ['dmesg | grep -i -e crypto -e timeout -e "alg:"'] },
        ],
      },
    ];
  },
};

const notBuilt: Rule = {
  id: 'selftest-says-nothing',
  topic: 'driver',
  about:
    'rc=-2 of tcrypt and `No test for`: the algorithm is not built, or nobody wrote a test; neither is a fault',
  examine: ({ facts }) => {
    const found = facts.devices.troubles.filter(({ kind }) => kind === 'not-built');
    const [first] = found;
    if (!first) return [];
    return [
      {
        kind: 'fine',
        weight: 11,
        sureness: 'certain',
        verdict: `No driver failed its self-test: rc=-2 says that this kernel has no ${first.subject}, so there was nothing to test`,
        details: ['The module tcrypt asks for every algorithm that it has tests for.'],
        evidence: found.slice(0, 2).map(({ quote }) => quote),
      },
    ];
  },
};

const started: Rule = {
  id: 'engine-started',
  topic: 'driver',
  about: 'an engine’s driver started, says the log; whether anything uses it the text does not show',
  examine: ({ facts, hardware }) => {
    const device = facts.devices.devices.find(({ ready, driver }) => ready || typeof driver === 'string');
    const troubled = facts.devices.troubles.some(({ kind }) => kind !== 'not-built');
    if (!device || hardware.length > 0 || facts.kernel.complete || troubled) return [];
    const { engine, quote } = device;
    const names = facts.devices.registered.get(engine.id) ?? [];
    const aes = names.filter((name) => /aes/.test(name));
    const shown = (aes.length > 0 ? aes : names).slice(0, 6);
    return [
      {
        kind: 'advice',
        weight: 48.5,
        sureness: 'likely',
        verdict: `The driver of your ${engine.name} has started${shown.length > 0 ? ` and registered ${listed(shown)}` : ''}; that it is used by anybody this text does not show`,
        details: [
          'The kernel’s own users (dm-crypt, IPsec) come to it by themselves where its driver has the highest priority for their cipher. Programs need a door, AF_ALG or /dev/crypto, and must be told to use it.',
          ...(names.length > 0 && !names.some((name) => /xts/.test(name))
            ? ['XTS, which disks use, is not among what it registered.']
            : []),
        ],
        evidence: [quote],
        steps: [
          {
            text: 'See who is first for the cipher that you use, and whether the engine’s interrupts rise while it is used',
            commands: [
              'grep -A4 "^name *: cbc(aes)$" /proc/crypto',
              'grep -i -e crypto -e aes -e cesa -e eip -e caam -e qat /proc/interrupts   # before and after',
            ],
          },
          {
            text: 'Or let hwcrypt look at everything at once',
            commands: ['hwcrypt doctor', 'hwcrypt list kernel'],
          },
        ],
      },
    ];
  },
};

const loaded: Rule = {
  id: 'engine-module-loaded',
  topic: 'driver',
  about:
    'the module of an engine’s driver is loaded; whether it found its device and is used the text does not show',
  examine: ({ facts, hardware, cpuAes }) => {
    const told = facts.devices.devices.length > 0 || facts.devices.troubles.length > 0;
    if (told || hardware.length > 0 || facts.kernel.complete) return [];
    const engine = ENGINES.find((one) => loadedModule(facts, one) !== undefined);
    const module = engine && loadedModule(facts, engine);
    if (!engine || module === undefined) return [];
    return [
      {
        kind: cpuAes.length > 0 ? 'fine' : 'advice',
        weight: 24,
        sureness: 'likely',
        verdict: `The driver of the ${engine.name} (${module}) is loaded; whether it works and anybody uses it these texts do not show`,
        details: [
          'A module can be loaded and find no device, be outranked, or lack the mode that is asked for: XTS for disks, GCM for TLS.',
        ],
        evidence: [facts.modules.loaded.get(module)!],
        steps: [
          {
            text: 'See what it registered, and who is first for the cipher that you use',
            commands: ['cat /proc/crypto', 'dmesg | grep -i -e crypto -e "alg:"'],
          },
        ],
      },
    ];
  },
};

export const logRules: readonly Rule[] = [crashed, faults, notBuilt, started, loaded];

/** Plain words for the error numbers with which drivers of devices fail. */
export function errnoText(errno: number | undefined): string | undefined {
  const words: Readonly<Record<number, string>> = {
    2: 'something it needs is not there: a clock, a firmware file, a node of the device tree (ENOENT)',
    12: 'it got no memory (ENOMEM)',
    16: 'the device is taken by something else, the secure world as a rule (EBUSY)',
    19: 'the device does not answer, or is not what the driver knows (ENODEV)',
    22: 'a property of its device-tree node is wrong or missing (EINVAL)',
    110: 'the device did not answer in time: no clock, no power, or held in reset (ETIMEDOUT)',
    517: 'it waits for another driver: a clock, a power domain, a DMA controller that is not loaded (EPROBE_DEFER)',
  };
  return errno === undefined ? undefined : words[errno];
}
