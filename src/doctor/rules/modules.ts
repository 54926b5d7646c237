/** Modules that somebody tried to load, and packages of them; drivers that a kernel has and of which nothing more is told. */
import { moduleName } from '../../linux/proc.js';
import { loadDriver } from '../cures.js';
import { ENGINES, type Engine } from '../engines.js';
import type { Found, Rule } from '../finding.js';

/** Modules that concern the doctor, besides those of engines. */
const CONCERNED =
  /^(?:aes\w*|aesni_intel|sha\d+\w*|ghash\w*|xts|ecb|cbc|ctr|gcm|ccm|chacha\w*|adiantum|algif_\w+|af_alg|crypto_user|cryptodev|cryptd|crypto_\w+|dm_crypt|dm_mod|tcrypt|padlock\w*|serpent\w*|twofish\w*|camellia\w*|ocf|usdm_drv|intel_qat)$/;

const nameOf = (subject: string | undefined): string =>
  moduleName(
    (subject ?? '')
      .split('/')
      .at(-1)!
      .replace(/\.ko\S{0,4}$/, ''),
  );

const engineOfModule = (name: string): Engine | undefined =>
  ENGINES.find(({ modules }) => modules.some((module) => moduleName(module) === name));

const missing: Rule = {
  id: 'module-not-installed',
  topic: 'driver',
  about:
    'modprobe does not find a module: it is not built for this kernel, built in, or its package is missing',
  examine: ({ facts }) => {
    const out: Found[] = [];
    for (const { code, subject, quote } of facts.messages) {
      if (code !== 'MODULE_ABSENT' || out.length > 0) continue;
      const name = nameOf(subject);
      const engine = engineOfModule(name);
      if (!engine && !CONCERNED.test(name)) continue;
      out.push({
        kind: 'problem',
        weight: 86.5,
        sureness: 'certain',
        verdict: `The kernel that runs has no module ${name}${engine ? `, which is the driver of the ${engine.name}` : ''}: it was built without it, has it built in, or its package is not installed`,
        details: [
          'After an update of the kernel’s package the modules of the kernel that still runs are gone: a restart mends that.',
          ...(/^aes/.test(name)
            ? [
                'A module of AES instructions is missing on many small kernels because it is built in: /proc/crypto shows which code is used.',
              ]
            : []),
        ],
        evidence: [quote],
        steps: [
          {
            text: 'See which kernel runs, and whether there are modules for it, or the code is built in',
            commands: [
              'uname -r; ls /lib/modules',
              `grep -i ${name} /lib/modules/$(uname -r)/modules.builtin`,
              `zcat /proc/config.gz | grep ${engine?.config ?? 'CONFIG_CRYPTO_'}`,
            ],
          },
          ...(engine
            ? loadDriver(engine)
            : [
                {
                  system: 'openwrt' as const,
                  text: 'Find its package',
                  commands: [`opkg update && opkg list "kmod-*${name.split('_')[0]}*"`],
                },
                {
                  system: 'debian' as const,
                  text: 'Start the newest kernel that is installed, or install its modules',
                  commands: ['reboot', 'apt install linux-modules-extra-$(uname -r)   # Ubuntu'],
                },
              ]),
        ],
      });
    }
    return out;
  },
};

const refused: Rule = {
  id: 'module-refused',
  topic: 'driver',
  about:
    'modprobe found a module and the kernel would not start it: no such device, a signature, another kernel',
  examine: ({ facts }) => {
    for (const { code, subject, quote } of facts.messages) {
      if (code !== 'MODULE_REFUSED') continue;
      const name = nameOf(subject);
      const engine = engineOfModule(name);
      if (!engine && !CONCERNED.test(name)) continue;
      const { text } = quote;
      const cpu = /aesni|aes_ce|padlock|ghash|_ce$|_ni_|avx|ssse3/.test(name);
      const why = /No such device/i.test(text)
        ? cpu
          ? 'the CPU, or the virtual machine, does not show the instructions that it needs'
          : 'it found no device that it can drive'
        : /Key was rejected|Required key not available|Operation not permitted|rejected by service/i.test(
              text,
            )
          ? 'the kernel takes signed modules only (Secure Boot), or a container may not load any'
          : /Exec format|invalid module format|version magic/i.test(text)
            ? 'it was built for another kernel'
            : /Unknown symbol/i.test(text)
              ? 'a module that it needs is missing'
              : /File exists/i.test(text)
                ? undefined
                : 'the kernel’s log says why';
      if (why === undefined) continue;
      const firmware = facts.devices.troubles.some(({ kind }) => kind === 'probe' || kind === 'firmware');
      return [
        {
          kind: 'problem',
          weight: firmware ? 76.5 : 86.3,
          sureness: 'certain',
          verdict: `The kernel refused the module ${name}${engine ? ` (${engine.name})` : ''}: ${why}`,
          evidence: [quote],
          steps: [
            { text: 'See the reason', commands: ['dmesg | tail -n 20'] },
            ...(cpu
              ? [
                  {
                    text: 'See whether the CPU shows the instructions',
                    commands: ['grep -o -w -m1 aes /proc/cpuinfo'],
                  },
                ]
              : []),
          ],
        },
      ];
    }
    return [];
  },
};

const otherKernel: Rule = {
  id: 'package-for-other-kernel',
  topic: 'driver',
  about: 'opkg or apk has kernel modules of another build than the firmware that runs',
  examine: ({ facts }) => {
    const found = facts.messages.find(({ code }) => code === 'OTHER_KERNEL');
    if (!found) return [];
    return [
      {
        kind: 'problem',
        weight: 87.2,
        sureness: 'certain',
        verdict:
          'The package cannot be installed: its kernel module was built for another kernel than the one that runs',
        details: [
          'Modules fit only the very build that they come from. A snapshot’s packages change daily, and those of a release fit that release.',
        ],
        evidence: [found.quote],
        steps: [
          {
            system: 'openwrt',
            text: 'Compare, then install the firmware of the release whose packages these are',
            commands: [
              'uname -r; cat /etc/openwrt_release',
              'cat /etc/opkg/distfeeds.conf',
              'sysupgrade -v /tmp/firmware.bin',
            ],
          },
          { text: 'Or make an image with the package in it, by the release’s Image Builder', commands: [] },
        ],
      },
    ];
  },
};

const builtIn: Rule = {
  id: 'driver-in-kernel',
  topic: 'driver',
  about:
    'the kernel’s configuration has an engine’s driver; whether it found its device the text does not show',
  examine: ({ facts, hardware }) => {
    if (hardware.length > 0 || facts.devices.devices.length > 0 || facts.kernel.complete) return [];
    if (facts.devices.troubles.length > 0) return [];
    // A whole configuration has the drivers of all machines.
    if (facts.modules.config.size > 200) return [];
    for (const engine of ENGINES) {
      const set = facts.modules.config.get(engine.config);
      if (!set || set.value === 'n') continue;
      return [
        {
          kind: 'advice',
          weight: 47.8,
          sureness: 'likely',
          verdict: `The kernel has the driver of the ${engine.name} (${engine.config}=${set.value}); if /proc/crypto shows nothing of it, it found no device`,
          details: [
            'A driver registers its algorithms when it has found its device and started it. No node in the device tree, `status = "disabled"`, or a secure world that keeps the engine for itself: then nothing is registered, and the log says so at best.',
          ],
          evidence: [set.quote],
          steps: [
            {
              text: 'Look for the device, what the driver said, and what is registered',
              commands: [
                'grep -rl -i crypto /proc/device-tree --include=compatible | while read -r f; do tr "\\0" " " < "$f"; echo; done',
                `dmesg | grep -i -e crypto -e ${engine.id}`,
                ...(set.value === 'm' ? [`modprobe ${engine.modules[0]}`] : []),
                'grep -c . /proc/crypto; grep "^driver" /proc/crypto | sort | uniq -c',
              ],
            },
          ],
        },
      ];
    }
    return [];
  },
};

export const moduleRules: readonly Rule[] = [missing, refused, otherKernel, builtIn];
