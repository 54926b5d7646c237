/** The CPU itself: whether it needs help at all, and whether the kernel uses what it has. */
import { engineNamesText, usedFor } from '../case.js';
import { behind } from '../facts/algorithms.js';
import { megabytesPerSecond } from '../facts/results.js';
import type { Rule } from '../finding.js';

const unused: Rule = {
  id: 'cpu-instructions-unused',
  topic: 'cpu',
  about: 'the CPU has instructions for AES, and the kernel runs portable C',
  examine: (subject) => {
    const { facts } = subject;
    const { aes } = facts.machine;
    const winner =
      usedFor(subject, 'xts(aes)') ?? usedFor(subject, 'cbc(aes)') ?? usedFor(subject, 'ecb(aes)');
    if (
      !aes?.value ||
      !winner ||
      winner.verdict.hardware !== 'no' ||
      !/aes-(?:generic|fixed-time|lib)\b/.test(winner.driver)
    )
      return [];
    const used = subject.uses.some(({ by }) => by !== 'cryptsetup benchmark');
    return [
      {
        kind: 'advice',
        weight: used ? 78.5 : 47,
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
            commands: ['modprobe aesni_intel    # x86', 'modprobe aes_ce_blk    # 64-bit Arm'],
          },
          {
            system: 'openwrt',
            text: 'Install it',
            commands: ['opkg update && opkg install kmod-crypto-misc'],
          },
          {
            text: 'Where the kernel was built without: CONFIG_CRYPTO_AES_NI_INTEL (x86), CONFIG_CRYPTO_AES_ARM64_CE_BLK (Arm)',
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

export const cpuRules: readonly Rule[] = [unused, enough];
