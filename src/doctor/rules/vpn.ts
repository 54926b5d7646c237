/** VPNs: what of them an engine can do at all, and what packets of 1500 bytes leave of it. */
import { type Case, engineEntry, engineNamesText, rateAt, usedFor } from '../case.js';
import { aesModes, behind, candidates, isHardware } from '../facts/algorithms.js';
import { megabytesPerSecond } from '../facts/results.js';
import type { VpnUse } from '../facts/vpn.js';
import type { Found, Rule } from '../finding.js';

/** What a packet through a tunnel holds. */
const PACKET = 1420;

const chacha: Rule = {
  id: 'vpn-never-offloaded',
  topic: 'vpn',
  about: 'WireGuard calls the kernel’s own ChaCha20, so no engine ever gets its packets',
  examine: ({ facts }) => {
    const use = facts.vpn.find(({ by }) => by === 'WireGuard');
    if (!use) return [];
    const code = facts.kernel.entries.find(({ name }) => name === 'chacha20' || name === 'chacha20-simd');
    return [
      {
        kind: 'fine',
        weight: use.mentioned ? 24 : 61.2,
        sureness: 'certain',
        verdict:
          'WireGuard never uses an accelerator: it calls the kernel’s ChaCha20-Poly1305 on the CPU directly',
        details: [
          'Engines on small chips do AES, and WireGuard has no AES to choose. Its speed is that of the CPU’s cores, and it uses several of them.',
          'A VPN that an engine can help is IPsec with AES-CBC and HMAC, where the engine’s driver has that pair.',
        ],
        evidence: [use.quote, ...(code ? [code.quote] : [])],
        steps: [
          {
            text: 'Measure what the CPU does of either, in packets’ sizes',
            commands: [
              'openssl speed -elapsed -bytes 1420 -evp chacha20-poly1305',
              'openssl speed -elapsed -bytes 1420 -evp aes-128-gcm',
            ],
          },
        ],
      },
    ];
  },
};

/** IPsec asks for `authenc(hmac(sha256),cbc(aes))`, or an AEAD. */
const wanted = ({ algorithm, mac }: VpnUse): string =>
  mac === undefined ? algorithm! : `authenc(${mac},${algorithm})`;

const engineOrNot: Rule = {
  id: 'vpn-cipher-and-engine',
  topic: 'vpn',
  about: 'an IPsec or OpenVPN tunnel and an engine: whether its cipher is one that the engine has',
  examine: (subject) => {
    const { facts, hardware } = subject;
    const device = facts.devices.devices[0];
    const use = facts.vpn.find(({ by, algorithm }) => by !== 'WireGuard' && algorithm !== undefined);
    if (!use || (hardware.length === 0 && !device)) return [];
    const name = hardware.length > 0 ? engineNamesText(subject) : device!.engine.name;
    return [use.by === 'OpenVPN' ? openvpn(use, name) : ipsec(subject, use, name)];
  },
};

function openvpn(use: VpnUse, name: string): Found {
  const gcm = use.algorithm !== 'cbc(aes)';
  return {
    kind: 'problem',
    weight: 77.5,
    sureness: 'likely',
    verdict: gcm
      ? `OpenVPN’s ${use.algorithm === 'gcm(aes)' ? 'AES-GCM' : 'cipher'} never reaches your ${name}: the engines of OpenSSL for it have CBC, CTR and ECB only`
      : `OpenVPN hands your ${name} one packet of at most 1500 bytes at a time, through OpenSSL: that is seldom faster than the CPU`,
    details: [
      'OpenVPN in user space asks OpenSSL for each packet and waits for it. An engine pays its fixed cost for each; measure at that size before you change the cipher.',
    ],
    evidence: [use.quote],
    steps: [
      {
        text: 'Measure packets and not large blocks',
        commands: [
          `openssl speed -elapsed -bytes ${PACKET} -evp aes-128-cbc`,
          `openssl speed -elapsed -bytes ${PACKET} -evp aes-128-cbc -engine devcrypto`,
          `openssl speed -elapsed -bytes ${PACKET} -evp chacha20-poly1305`,
        ],
      },
    ],
  };
}

function ipsec(subject: Case, use: VpnUse, name: string): Found {
  const { facts, hardware } = subject;
  const asked = wanted(use);
  const own = usedFor(subject, asked);
  const modes = aesModes(hardware);
  const mode = /^(\w+)\(/.exec(use.algorithm!)![1]!;
  const evidence = [
    use.quote,
    ...(own ? [own.quote] : []),
    ...hardware.slice(0, 2).map(({ quote }) => quote),
  ];
  const pair = subject.pairs[0];
  const figures =
    pair &&
    [rateAt(pair.offloaded, PACKET), rateAt(pair.software, PACKET)].every((rate) => rate !== undefined)
      ? {
          gain: `By the figures in this text, at ${PACKET} bytes: ${megabytesPerSecond(rateAt(pair.offloaded, PACKET)!)} against ${megabytesPerSecond(rateAt(pair.software, PACKET)!)} in software`,
        }
      : {};
  const measure = {
    text: 'Measure the tunnel itself with the driver and without it, and look at the engine’s interrupts',
    commands: ['grep -A3 "authenc" /proc/crypto', 'cat /proc/interrupts', 'iperf3 -c PEER'],
  };
  if (own && isHardware(own)) {
    return {
      kind: 'fine',
      weight: 49.5,
      sureness: 'likely',
      verdict: `Your IPsec tunnel’s ${asked} is the ${name}’s: ${own.driver} is the kernel’s first choice for it`,
      details: [
        'Each packet is a request of its own, so the engine’s fixed cost is paid for every 1500 bytes.',
      ],
      evidence,
      steps: [measure],
      ...figures,
    };
  }
  const lacks = hardware.length > 0 && modes.size > 0 && !modes.has(mode) && !engineEntry(subject, asked);
  if (lacks || own) {
    return {
      kind: 'problem',
      weight: 86.2,
      sureness: facts.kernel.complete || own ? 'certain' : 'likely',
      verdict: lacks
        ? `Your IPsec tunnel does not use the ${name}: ${mode} is not among its modes (${[...modes.keys()].join(', ')})`
        : `Your IPsec tunnel does not use the ${name}: ${asked} is done by ${own!.driver}, ${behind(own!)}`,
      details: [
        mode === 'gcm'
          ? 'Choose AES-CBC with HMAC for the tunnel, at both ends, if the driver has authenc(…): then cipher and HMAC are its own.'
          : 'IPsec asks for cipher and HMAC as one: only a driver that has authenc(…) takes the packet as a whole.',
      ],
      evidence,
      steps: [
        {
          text: 'What the engine has that IPsec can use',
          commands: ['grep -A1 "^name.*authenc" /proc/crypto', 'swanctl --list-sas'],
        },
        measure,
      ],
      ...figures,
    };
  }
  return {
    kind: 'advice',
    weight: 60.5,
    sureness: 'possible',
    verdict: `IPsec asks the kernel for ${asked}: your ${name} takes such packets only if its driver has that very name, with the highest priority`,
    details: [
      ...(candidates(facts.kernel, asked).length === 0
        ? [
            'The text does not show who does that; a driver with cbc(aes) alone gets a part of each packet, and the HMAC stays with the CPU.',
          ]
        : []),
      'The processor for the network is often what is slow: with packets of 1500 bytes the engine’s fixed cost comes with each one.',
    ],
    evidence,
    steps: [{ text: 'See who does it', commands: [`grep -A6 -F "${asked}" /proc/crypto`] }, measure],
    ...figures,
  };
}

const card: Rule = {
  id: 'nic-offload-not-engine',
  topic: 'vpn',
  about: '“HW offload” of strongSwan, libreswan and ethtool is the network card’s, and no crypto engine’s',
  examine: ({ facts }) => {
    const found = facts.messages.find(({ code }) => code === 'NIC_OFFLOAD');
    if (!found) return [];
    return [
      {
        kind: 'advice',
        weight: 62.5,
        sureness: 'certain',
        verdict:
          'Hardware offload of an IPsec connection means the network card, which must do ESP itself; a crypto engine needs no such option, and is not reached by it',
        details: [
          'The kernel asks a crypto engine by itself, for any tunnel whose cipher its driver has: leave hw_offload and nic-offload off. Cards that can do ESP are found in data centres.',
        ],
        evidence: [found.quote],
        steps: [
          { text: 'See whether the card can', commands: ['ethtool -k DEVICE | grep esp'] },
          {
            text: 'See whether the engine has what the tunnel asks for',
            commands: ['grep -A6 authenc /proc/crypto', 'swanctl --list-sas'],
          },
        ],
      },
    ];
  },
};

export const vpnRules: readonly Rule[] = [chacha, engineOrNot, card];
