/** An engine is there and works, but not for the mode that is wanted. */
import { type Case, engineNamesText, listed, usedFor } from '../case.js';
import { aesModes, behind } from '../facts/algorithms.js';
import type { Quote } from '../facts/document.js';
import type { Found, Rule, Step } from '../finding.js';

const WANTED = ['xts', 'gcm'] as const;

/** Modes of the engine, from the kernel's list or, where there is none, from what an engine of OpenSSL says is behind it. */
function modesOf(subject: Case): Map<string, 'whole' | 'partly'> {
  const modes = aesModes(subject.hardware);
  for (const { driver, verdict, algorithm } of subject.facts.openssl.dumps) {
    const mode = /^AES-\d{3}-(ECB|CBC|CTR|XTS|GCM|CCM)$/.exec(algorithm)?.[1]?.toLowerCase();
    if (driver !== undefined && verdict?.hardware === 'yes' && mode !== undefined && !modes.has(mode))
      modes.set(mode, 'whole');
  }
  return modes;
}

const ORDER = ['ecb', 'cbc', 'ctr', 'xts', 'gcm', 'ccm'];

const modesText = (modes: ReadonlyMap<string, unknown>): string =>
  listed(ORDER.filter((mode) => modes.has(mode)));

const lacking: Rule = {
  id: 'mode-lacking',
  topic: 'modes',
  about: 'a disk uses a mode that the engine does not have (XTS as a rule)',
  examine: (subject) => {
    const modes = aesModes(subject.hardware);
    if (modes.size === 0) return [];
    const out: Found[] = [];
    const told = new Set<string>();
    for (const { algorithm, by, quote } of subject.uses) {
      const mode = /^(\w+)\(aes\)$/.exec(algorithm)?.[1];
      if (mode === undefined || modes.has(mode) || told.has(mode)) continue;
      told.add(mode);
      // A benchmark of everything is no wish for a mode, and yet what shows the difference.
      const benchmark = by === 'cryptsetup benchmark';
      const instead = usedFor(subject, algorithm);
      out.push({
        kind: 'problem',
        weight: benchmark ? 78 : 86,
        sureness: subject.facts.kernel.complete || instead ? 'certain' : 'likely',
        verdict: `Your ${engineNamesText(subject)} is present and loaded, but ${benchmark ? `aes-${mode}` : by} does not use it: ${mode} is not among its modes (${modesText(modes)})`,
        details: [
          instead
            ? `${algorithm} is done by ${instead.driver}, ${behind(instead)}.`
            : `Whoever does ${algorithm}, it is not the engine: software on the CPU.`,
          ...(mode === 'xts'
            ? [
                'XTS can be put together around an engine’s ECB (`xts(ecb-…)`) by some drivers; this one does not.',
              ]
            : []),
        ],
        evidence: [quote, ...evidence(subject)],
        steps: insteadOf(mode, modes),
      });
    }
    return out;
  },
};

function insteadOf(mode: string, modes: ReadonlyMap<string, unknown>): Step[] {
  const cbc = modes.has('cbc');
  if (mode !== 'xts' || !cbc)
    return [
      { text: 'Leave this to software, and give the engine what it can do', commands: ['hwcrypt benchmark'] },
    ];
  return [
    {
      text: 'For a new disk: CBC with ESSIV is what this engine can do, and only with large sectors is it worth it. CBC guards less against somebody who changes the disk behind your back',
      commands: [
        'cryptsetup luksFormat --type luks2 -c aes-cbc-essiv:sha256 -s 256 --sector-size 4096 DEVICE   # everything on it is lost',
      ],
    },
    {
      text: 'Measure first what either is worth',
      commands: [
        'hwcrypt benchmark --disk -c aes-cbc-essiv:sha256',
        'hwcrypt benchmark --disk -c aes-xts-plain64',
      ],
    },
  ];
}

function evidence({ hardware }: Case): Quote[] {
  return hardware
    .filter(({ name }) => /\(aes\)$/.test(name))
    .slice(0, 3)
    .map(({ quote }) => quote);
}

const general: Rule = {
  id: 'modes-of-engine',
  topic: 'modes',
  about: 'which modes an engine does not have: GCM for TLS and VPNs, XTS for disks',
  examine: (subject) => {
    const modes = modesOf(subject);
    const missing = WANTED.filter((mode) => !modes.has(mode));
    if (modes.size === 0 || missing.length === 0) return [];
    const { kernel, openssl } = subject.facts;
    const dumped = kernel.entries.length === 0 && openssl.dumps.length > 0;
    // What an engine of OpenSSL offers are its own rows; neither of the two has XTS or GCM, whatever the kernel has.
    const names = dumped ? 'The engine’s hardware' : `Your ${engineNamesText(subject)}`;
    const software = openssl.dumps.filter(
      ({ verdict, kind }) => kind === 'cipher' && verdict?.hardware === 'no',
    );
    return [
      {
        kind: 'advice',
        weight: dumped ? 52 : 56,
        sureness: kernel.complete ? 'certain' : 'likely',
        verdict: `${names} does ${modesText(modes)} of AES, ${missing.length > 1 ? `and neither ${listed([...missing], 'nor')}` : `and not ${missing[0]}`}: ${consequence(missing)}`,
        details: [
          ...(missing.includes('gcm')
            ? [
                'For a VPN: IPsec with AES-CBC and HMAC can be offloaded where the driver has authenc(…); AES-GCM and WireGuard’s ChaCha20 stay with the CPU.',
              ]
            : []),
          ...(software.length > 0
            ? [
                `${software
                  .map(({ algorithm }) => algorithm)
                  .slice(0, 3)
                  .join(
                    ', ',
                  )} ${software.length > 1 ? 'are' : 'is'} software in the kernel (${software[0]!.driver}): handing it over only costs.`,
              ]
            : []),
        ],
        evidence: dumped
          ? openssl.dumps
              .filter(({ verdict }) => verdict?.hardware === 'yes')
              .slice(0, 3)
              .map(({ quote }) => quote)
          : evidence(subject),
        steps: [
          {
            text: 'Choose ciphers that it has where you have the choice: for OpenSSL and OpenVPN',
            commands: [
              'openssl speed -elapsed -evp aes-128-cbc -engine devcrypto',
              'openvpn --data-ciphers AES-128-CBC --auth SHA256 …',
            ],
          },
        ],
      },
    ];
  },
};

function consequence(missing: readonly string[]): string {
  const who = [
    ...(missing.includes('gcm') ? ['TLS and VPNs with AES-GCM'] : []),
    ...(missing.includes('xts') ? ['disks with aes-xts'] : []),
  ];
  return `${listed(who)} stay in software`;
}

const partly: Rule = {
  id: 'mode-partly',
  topic: 'modes',
  about: 'a mode of which only the block cipher is the engine’s: `xts(ecb-aes-caam)`',
  examine: (subject) => {
    const entries = subject.hardware.filter(
      ({ verdict, name }) => verdict.partly && /^(?:xts|gcm|ctr|cbc)\(aes\)$/.test(name),
    );
    const [first] = entries;
    if (!first) return [];
    return [
      {
        kind: 'fine',
        weight: 37,
        sureness: 'certain',
        verdict: `${first.name} is partly accelerated: ${first.driver} gives the engine the block cipher and does the rest on the CPU`,
        details: ['So it is supported, and gains less than a mode that the engine does as a whole.'],
        evidence: entries.slice(0, 2).map(({ quote }) => quote),
      },
    ];
  },
};

export const modeRules: readonly Rule[] = [lacking, general, partly];
