/** AF_ALG: absent, kept out, restricted, cut off from engines; and what its errors mean. */

import { ALLOWLIST } from '../../drivers/afalg/explain.js';
import { rulesFor } from '../../linux/proc.js';
import { type Case, engineNamesText, listed } from '../case.js';
import { kernelAtLeast } from '../facts/machine.js';
import type { Message, MessageCode } from '../facts/messages.js';
import type { QuotedRule } from '../facts/modules.js';
import type { Found, Rule, Step } from '../finding.js';

const CVE = 'CVE-2026-31431 (“Copy Fail”, a local user becomes root through algif_aead)';
const DEPRECATED = 'AF_ALG is deprecated from Linux 7.2 on: what can go another way should.';

const message = ({ facts }: Case, ...codes: MessageCode[]): Message | undefined =>
  facts.messages.find(({ code }) => codes.includes(code));

function blockers({ facts }: Case): QuotedRule[] {
  return ['af_alg', 'algif_skcipher', 'algif_hash', 'algif_aead', 'algif_rng'].flatMap(
    (module) => rulesFor(facts.modules.rules, module) as QuotedRule[],
  );
}

const WITHOUT: Step = {
  text: 'Programs can do without: OpenSSL’s own code is the faster one on most machines',
  commands: ['hwcrypt speed -evp aes-128-cbc --driver libcrypto'],
};

const masked: Rule = {
  id: 'af-alg-cut-off',
  topic: 'af-alg',
  about: 'from Linux 7.2 on AF_ALG reaches no accelerator',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const { kernel } = facts.machine;
    const { masked: seen } = facts.ways;
    // What was seen counts more than the version: distributions have it in older kernels too.
    if (!seen?.value && !kernelAtLeast(facts.machine, 7, 2)) return [];
    const engine = hardware.length > 0 || facts.devices.devices.length > 0;
    return [
      {
        kind: engine ? 'problem' : 'fine',
        weight: engine ? 75 : 22,
        sureness: 'certain',
        verdict: `AF_ALG of this kernel${kernel ? ` (${kernel.value.release})` : ''} reaches no accelerator${engine ? `: your ${hardware.length > 0 ? engineNamesText(subject) : facts.devices.devices[0]!.engine.name} serves dm-crypt and IPsec, but no program through AF_ALG` : ''}`,
        details: [
          'Linux 7.2 leaves out every driver that works off the CPU when a program asks through AF_ALG; whatever is measured there is software.',
        ],
        evidence: [
          ...(seen ? [seen.quote] : []),
          ...(kernel ? [kernel.quote] : []),
          ...hardware.slice(0, 1).map(({ quote }) => quote),
        ],
        steps: engine
          ? [
              {
                text: 'For programs only /dev/crypto is left (cryptodev-linux, out of tree)',
                commands: ['modprobe cryptodev', 'ls -l /dev/crypto'],
              },
            ]
          : [],
      },
    ];
  },
};

const restricted: Rule = {
  id: 'af-alg-restricted',
  topic: 'af-alg',
  about: 'af_alg_restrict of Linux 7.3: a list of what is allowed, or nothing at all',
  examine: (subject) => {
    const { facts } = subject;
    const { restrict, privileged } = facts.ways;
    if (restrict?.value === 2) {
      return [
        {
          kind: 'problem',
          weight: 72,
          sureness: 'certain',
          verdict:
            'AF_ALG is switched off: /proc/sys/crypto/af_alg_restrict is 2, so every socket fails with EAFNOSUPPORT',
          details: [DEPRECATED, `Somebody decided so, probably because of ${CVE}.`],
          evidence: [restrict.quote, ...asked(subject, 'NO_FAMILY')],
          steps: [WITHOUT],
        },
      ];
    }
    const byDefault = restrict === undefined && kernelAtLeast(facts.machine, 7, 3);
    if (restrict?.value !== 1 && !byDefault) return [];
    const refused = message(subject, 'BIND_ENOENT', 'NO_KERNEL_INTERFACE', 'CIPHER_NOT_AVAILABLE');
    return [
      {
        kind: refused ? 'problem' : 'advice',
        weight: refused ? 76 : 60,
        sureness: byDefault ? 'likely' : 'certain',
        verdict: `AF_ALG is restricted${byDefault ? ' by default on this kernel' : ' (af_alg_restrict is 1)'}: only a list of names is allowed, and everything else fails with ENOENT`,
        details: [
          `Anyone may ask for ${listed([...ALLOWLIST.skcipher.anyone, ...ALLOWLIST.hash.anyone])}.`,
          `With CAP_NET_ADMIN or CAP_SYS_ADMIN${privileged === false ? ', which this process does not have,' : ''} also for ${listed([...ALLOWLIST.skcipher.privileged, ...ALLOWLIST.aead.privileged])}, and for SHA-2 and HMAC.`,
          'Names of drivers, gcm(aes), authenc(…) and random generators are never allowed.',
        ],
        evidence: [
          ...(restrict ? [restrict.quote] : [facts.machine.kernel!.quote]),
          ...(refused ? [refused.quote] : []),
        ],
        steps: [
          WITHOUT,
          {
            text: `0 would lift it for all users: it is there because of ${CVE} and the like, so do not do it on a machine with other users`,
            commands: ['sysctl crypto.af_alg_restrict'],
          },
        ],
      },
    ];
  },
};

const asked = (subject: Case, ...codes: MessageCode[]): Message['quote'][] => {
  const found = message(subject, ...codes);
  return found ? [found.quote] : [];
};

const keptOut: Rule = {
  id: 'af-alg-blacklisted',
  topic: 'af-alg',
  about: 'a line of modprobe.d keeps af_alg or an algif module out',
  examine: (subject) => {
    const rules = blockers(subject);
    // Only the AEAD module: what distributions did for the hole of 2026; ciphers and hashes go on.
    const whole = rules.filter(({ module }) => module !== 'algif_aead');
    if (rules.length === 0) return [];
    const shown = whole.length > 0 ? whole : rules;
    const modules = [...new Set(shown.map(({ module }) => module))];
    return [
      {
        kind: whole.length > 0 ? 'problem' : 'advice',
        weight: whole.length > 0 ? 73 : 42,
        sureness: 'certain',
        verdict: `AF_ALG is blacklisted: ${listed(modules)} ${modules.length > 1 ? 'are' : 'is'} kept out by \`${shown[0]!.line}\` in ${shown[0]!.file}`,
        details: [
          whole.length > 0
            ? 'So ciphers or hashes of the kernel cannot be asked for by programs: EAFNOSUPPORT from socket(), or ENOENT from bind().'
            : 'Ciphers and hashes go on; GCM and CCM through AF_ALG fail with ENOENT.',
          `Such lines came with ${CVE}.`,
        ],
        evidence: [
          ...shown.slice(0, 3).map(({ quote }) => quote),
          ...asked(subject, 'NO_FAMILY', 'BIND_ENOENT', 'NO_KERNEL_INTERFACE'),
        ],
        steps: [
          WITHOUT,
          {
            text: `Remove the line only on a kernel that has the fix of ${CVE}, and if whoever wrote it agrees`,
            commands: [`grep -rn -e af_alg -e algif /etc/modprobe.d /usr/lib/modprobe.d /run/modprobe.d`],
          },
        ],
      },
    ];
  },
};

const absent: Rule = {
  id: 'af-alg-absent',
  topic: 'af-alg',
  about: 'the kernel has no AF_ALG, or its modules are missing; which of the causes of EAFNOSUPPORT it is',
  examine: (subject) => {
    const { facts } = subject;
    const { modules, ways } = facts;
    const failed = message(subject, 'NO_FAMILY');
    const interfaceMissing = message(subject, 'NO_KERNEL_INTERFACE', 'NO_WRAPPER');
    // AF_ALG itself is there, and what lacks is its part for ciphers, a module of its own.
    const split =
      ways.registered?.value === true && interfaceMissing?.code === 'NO_KERNEL_INTERFACE' && !failed;
    if ((ways.registered?.value && !split) || modules.loaded.has('algif_skcipher')) return [];
    if (ways.restrict?.value === 2 || blockers(subject).some(({ module }) => module !== 'algif_aead'))
      return [];
    const config =
      modules.config.get('CONFIG_CRYPTO_USER_API_SKCIPHER') ?? modules.config.get('CONFIG_CRYPTO_USER_API');
    const file = modules.files.get('algif_skcipher') ?? (split ? undefined : modules.files.get('af_alg'));
    const builtin =
      modules.builtin.get('algif_skcipher') ?? (split ? undefined : modules.builtin.get('af_alg'));
    const refused = facts.openssl.loadFailures.get('afalg');
    // Modules that are loaded when they are asked for are no finding; what failed, or cannot be there, is.
    const cannot =
      config?.value === 'n' ||
      (modules.config.size > 50 && config === undefined && ways.registered?.value === false);
    if (!failed && !interfaceMissing && !cannot && refused?.why !== 'refused') return [];
    const cause: Pick<Found, 'verdict' | 'sureness' | 'details'> =
      split && !file && !builtin && !cannot
        ? {
            verdict:
              'AF_ALG is there, but not its part for ciphers: this kernel has no module algif_skcipher',
            sureness: 'certain',
            details: ['Opening a socket works, and bind() of any cipher fails with ENOENT.'],
          }
        : cannot
          ? {
              verdict: 'This kernel was built without AF_ALG (CONFIG_CRYPTO_USER_API_SKCIPHER is not set)',
              sureness: 'certain',
              details: [],
            }
          : file
            ? {
                verdict: 'AF_ALG is installed as modules, but was not loaded',
                sureness: 'certain',
                details: ['A container cannot load modules: do so on the host.'],
              }
            : builtin
              ? {
                  verdict:
                    'The kernel has AF_ALG, but something hides it from this process: a seccomp filter, a sandbox, or an initcall blacklist',
                  sureness: 'likely',
                  details: [],
                }
              : {
                  verdict: failed
                    ? 'AF_ALG is not there: the kernel was built without it, or its module is missing or kept out'
                    : 'AF_ALG is not there: cryptsetup’s benchmark needs it (algif_skcipher), your encrypted disk does not',
                  sureness: 'likely',
                  details:
                    ways.restrict === undefined
                      ? [
                          'On Linux 7.3 and later af_alg_restrict = 2 gives the same error; the text does not show it.',
                        ]
                      : ['There is no af_alg_restrict here, so it is not switched off by that.'],
                };
    // Neither of the two doors is open.
    const shut = ways.device?.value === false;
    const complaint = failed?.asked || interfaceMissing?.asked;
    const needed = subject.hardware.length > 0 || facts.devices.devices.length > 0;
    return [
      {
        // Who has no engine and did not complain misses nothing.
        kind: complaint ? 'problem' : needed ? (shut ? 'problem' : 'advice') : 'fine',
        weight: complaint ? 68 : needed ? (shut ? 74.5 : 55.5) : 26,
        ...cause,
        details: [
          ...(cause.details ?? []),
          'dm-crypt asks the kernel directly and goes on without it; opening a keyslot works as root by a temporary mapping, and in cryptsetup 2.8 and later in user space.',
          DEPRECATED,
        ],
        evidence: [
          ...(failed ? [failed.quote] : []),
          ...(interfaceMissing ? [interfaceMissing.quote] : []),
          ...(config ? [config.quote] : []),
          ...(file ? [file] : []),
          ...(ways.registered ? [ways.registered.quote] : []),
          ...(ways.restrict ? [ways.restrict.quote] : []),
          ...(refused && !failed ? [refused.quote] : []),
        ].slice(0, 5),
        steps: [
          ...(file ? [{ text: 'Load it', commands: ['modprobe algif_skcipher'] }] : []),
          {
            system: 'openwrt' as const,
            text: 'Install it, where this release still has it',
            commands: ['opkg update && opkg install kmod-crypto-user'],
          },
          { system: 'debian' as const, text: 'Load it', commands: ['modprobe -a algif_skcipher algif_hash'] },
          {
            system: 'buildroot' as const,
            text: 'Turn CONFIG_CRYPTO_USER_API_SKCIPHER on in the kernel’s configuration',
            commands: ['make linux-menuconfig'],
          },
          { text: 'See how fast the disk is without it', commands: ['hwcrypt benchmark --disk'] },
        ],
      },
    ];
  },
};

const denied: Rule = {
  id: 'af-alg-denied',
  topic: 'af-alg',
  about: 'EPERM or EACCES: seccomp, a security module',
  examine: (subject) => {
    const found = message(subject, 'SOCKET_DENIED');
    if (!found) return [];
    const lsm = /EACCES|Permission denied/.test(found.quote.text);
    const { seccomp } = subject.facts.ways;
    return [
      {
        kind: found.asked || subject.hardware.length > 0 ? 'problem' : 'advice',
        weight: found.asked || subject.hardware.length > 0 ? 74 : 43,
        sureness: seccomp?.value === 2 ? 'certain' : 'likely',
        verdict: lsm
          ? 'A security module (SELinux, AppArmor) forbids AF_ALG to this process'
          : 'A seccomp filter forbids AF_ALG to this process: Docker’s default does since May 2026',
        details: [`It is there because of ${CVE}.`],
        evidence: [found.quote, ...(seccomp ? [seccomp.quote] : [])],
        steps: [
          WITHOUT,
          {
            text: lsm
              ? 'The audit log names the rule'
              : 'Outside of the container it may work; a profile of your own can allow socket(AF_ALG)',
            commands: lsm ? ['ausearch -m avc -ts recent'] : ['grep Seccomp /proc/self/status'],
          },
        ],
      },
    ];
  },
};

const enoent: Rule = {
  id: 'bind-enoent',
  topic: 'af-alg',
  about: 'bind of an AF_ALG socket fails with ENOENT, which has six causes',
  examine: (subject) => {
    const found = message(subject, 'BIND_ENOENT');
    if (!found) return [];
    const { facts } = subject;
    const known =
      facts.ways.restrict?.value === 1 || kernelAtLeast(facts.machine, 7, 2) || blockers(subject).length > 0;
    return [
      {
        kind: 'problem',
        weight: known ? 61 : 71,
        sureness: known ? 'likely' : 'possible',
        verdict:
          'No file is missing: ENOENT from bind means that the kernel gives AF_ALG no such algorithm, and that has six causes',
        details: [
          'In the order in which to look: (1) the name is of another type than was asked for (a cipher as a hash); (2) the type is akcipher or kpp, which mainline’s AF_ALG does not have; (3) from Linux 7.3 on it is not on the list of af_alg_restrict; (4) it is the name of a driver that works off the CPU, which 7.2 masks and 7.3’s list never has; (5) the module algif_… is missing or blacklisted; (6) the algorithm itself is not built.',
        ],
        evidence: [found.quote],
        steps: [
          {
            text: 'Each in turn',
            commands: [
              'uname -r; cat /proc/sys/crypto/af_alg_restrict',
              'grep -rn -e algif -e af_alg /etc/modprobe.d /usr/lib/modprobe.d',
              'modprobe -a algif_skcipher algif_hash algif_aead',
              'grep -A12 "^name *: cbc(aes)$" /proc/crypto',
              'hwcrypt list   # names the cause for each algorithm of this machine',
            ],
          },
        ],
      },
    ];
  },
};

const small: Rule = {
  id: 'af-alg-usage',
  topic: 'af-alg',
  about: 'other errors of AF_ALG users: libkcapi without crypto_user, keys, streams longer than 64 KiB',
  examine: (subject) => {
    const out: Found[] = [];
    const add = (code: MessageCode, verdict: string, details: string[], steps: Step[], weight = 58): void => {
      const found = message(subject, code);
      if (found?.asked)
        out.push({
          kind: 'problem',
          weight,
          sureness: 'likely',
          verdict,
          details,
          evidence: [found.quote],
          steps,
        });
    };
    add(
      'NO_NETLINK',
      'libkcapi needs NETLINK_CRYPTO, and the module crypto_user is not there',
      ['It asks there for block and IV sizes before it does anything.'],
      [
        { system: 'openwrt', text: 'Install it', commands: ['opkg update && opkg install kmod-crypto-user'] },
        { text: 'Load it', commands: ['modprobe crypto_user'] },
      ],
    );
    add(
      'DIFFER_AT_64K',
      'The IV was not carried from one AF_ALG request to the next: the kernel takes at most 64 KiB at once, and each new IV starts the chain again',
      [
        'The first 65536 bytes are right. In CBC only the first block of each further request is wrong, in CTR everything.',
      ],
      [
        {
          text: 'Give the last block of ciphertext (CBC), or the counter gone on (CTR), as the next request’s IV; `hwcrypt enc --driver afalg` does',
          commands: [],
        },
      ],
      66,
    );
    add(
      'SETKEY_EBUSY',
      'The key cannot be changed while requests are open on the socket (EBUSY)',
      [],
      [{ text: 'Close them first, or bind a socket for each key', commands: [] }],
    );
    add(
      'SETKEY_EINVAL',
      'The kernel refuses the key’s length (EINVAL)',
      ['An engine’s wrapped keys, tk(…) and paes, have lengths of their own; XTS takes two keys in one.'],
      [{ text: 'See the lengths', commands: ['grep -A12 "^name *: cbc(aes)$" /proc/crypto'] }],
    );
    add(
      'ALG_SEND_EINVAL',
      'AF_ALG refuses the request (EINVAL): an IV of the wrong length, or data that is no multiple of the block',
      [
        'ECB takes no IV at all, and older kernels took one; CBC and XTS take 16 bytes. The length of each request must be a multiple of the cipher’s block.',
      ],
      [
        {
          text: 'See the length of the IV',
          commands: ['grep -A12 "^name *: ecb(aes)$" /proc/crypto | grep ivsize'],
        },
      ],
    );
    add(
      'ALG_UNSUPPORTED',
      'The kernel’s driver behind this AF_ALG name does not do what was asked of it (EOPNOTSUPP)',
      [
        'Some engines’ drivers have keys or operations of their own: AES-GCM of ZynqMP takes keys of the device, hashes may be without import and export, which accept() needs.',
      ],
      [
        {
          text: 'See which driver it is, and try its name of portable code',
          commands: ['grep -B1 -A8 "^driver" /proc/crypto | less', 'hwcrypt list kernel'],
        },
      ],
    );
    add(
      'BIND_EINVAL',
      'AF_ALG refuses the name (EINVAL): the kernel has the algorithm, and not as a type that a socket can ask for',
      [
        'Public-key algorithms (pkcs1pad, rsa, ecdsa) are none of AF_ALG’s, and templates with arguments of the wrong kind fail so too.',
      ],
      [
        {
          text: 'See its type',
          commands: [
            'grep -A9 "^name *: NAME$" /proc/crypto   # skcipher, ahash, shash, aead, rng are AF_ALG’s',
          ],
        },
      ],
    );
    add(
      'CIPHER_NOT_AVAILABLE',
      'cryptsetup could not measure this cipher: the kernel offers it to no program',
      [
        'AF_ALG is missing or restricted, or the cipher’s module is not installed. dm-crypt may have it all the same.',
      ],
      [
        {
          system: 'openwrt',
          text: 'Install the modules',
          commands: ['opkg update && opkg install kmod-crypto-user kmod-crypto-xts kmod-crypto-cbc'],
        },
        { text: 'Look', commands: ['hwcrypt list kernel'] },
      ],
      49,
    );
    return out;
  },
};

export const wayRules: readonly Rule[] = [masked, restricted, keptOut, absent, denied, enoent, small];
