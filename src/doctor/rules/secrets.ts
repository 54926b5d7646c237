/** Things in the text that must not be there, and disks that are not encrypted at all. Before everything else. */
import { listed } from '../case.js';
import type { Rule } from '../finding.js';

const volumeKey: Rule = {
  id: 'volume-key-in-text',
  topic: 'secrets',
  about: 'a dm-crypt table with its key in hexadecimal',
  examine: ({ facts }) => {
    const leaked = facts.disks.tables.filter(({ leakedKeyBytes }) => leakedKeyBytes !== undefined);
    if (leaked.length === 0) return [];
    return [
      {
        kind: 'problem',
        weight: 100,
        sureness: 'certain',
        verdict:
          'The text holds a volume key: whoever has read it can read the disk, so take the key for leaked',
        details: [
          'A line of `dmsetup table --showkeys` has the key of the volume in hexadecimal. hwcrypt neither keeps nor prints it, but the text was perhaps sent or posted.',
          'Another passphrase does not help: the volume key stays the same.',
        ],
        evidence: leaked.map(({ quote }) => quote),
        steps: [
          {
            text: 'Delete the text where it was posted, then give the volume a new key (a long job; with a backup)',
            commands: ['cryptsetup reencrypt DEVICE'],
          },
          { text: 'To show a table without keys', commands: ['dmsetup table --target crypt'] },
        ],
      },
    ];
  },
};

const otherKeys: Rule = {
  id: 'key-in-text',
  topic: 'secrets',
  about: 'private keys of VPNs and certificates, keys of IPsec, a dumped volume key',
  examine: ({ facts }) => {
    if (facts.secrets.length === 0) return [];
    return [
      {
        kind: 'problem',
        weight: 99,
        sureness: 'certain',
        verdict: `The text holds ${listed(facts.secrets.map(({ what }) => what))}: whoever has read it can use ${facts.secrets.length > 1 ? 'them' : 'it'}, so take ${facts.secrets.length > 1 ? 'them' : 'it'} for leaked`,
        details: ['hwcrypt neither keeps nor prints it, but the text was perhaps sent or posted.'],
        evidence: facts.secrets.map(({ quote }) => quote),
        steps: [
          {
            text: 'Delete the text where it was posted, and make new keys',
            commands: [
              'wg genkey   # WireGuard',
              'cryptsetup reencrypt DEVICE   # a volume key; with a backup',
            ],
          },
        ],
      },
    ];
  },
};

const nullCipher: Rule = {
  id: 'not-encrypted',
  topic: 'disk',
  about: 'a mapping whose cipher is cipher_null',
  examine: ({ facts }) => {
    const found = [
      ...facts.disks.tables.filter(({ cipher }) => /cipher_null/.test(cipher)).map(({ quote }) => quote),
      ...facts.disks.headers.flatMap(({ cipher }) =>
        /^cipher_null\b|cipher_null-/.test(cipher?.value ?? '') ? [cipher!.quote] : [],
      ),
    ];
    if (found.length === 0) return [];
    return [
      {
        kind: 'problem',
        weight: 97,
        sureness: 'certain',
        verdict: 'A mapping encrypts nothing: its cipher is cipher_null',
        details: [
          'It looks like an encrypted disk and its data lies there in the clear. cipher_null is for tests, and for a moment during re-encryption.',
        ],
        evidence: found,
        steps: [{ text: 'Encrypt it, with a backup at hand', commands: ['cryptsetup reencrypt DEVICE'] }],
      },
    ];
  },
};

export const secretRules: readonly Rule[] = [volumeKey, otherKeys, nullCipher];
