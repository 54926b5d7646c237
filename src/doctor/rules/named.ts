/** Where a text shows little: what is known of the chip that it names, what a key chip is, and what to give the doctor instead. */
import { loadedModule } from '../case.js';
import { loadDriver } from '../cures.js';
import { ENGINES } from '../engines.js';
import type { Rule } from '../finding.js';

const chipNamed: Rule = {
  id: 'chip-named',
  topic: 'driver',
  about: 'the text names a chip and shows nothing of its engine: what such a chip has',
  examine: ({ facts, hardware }) => {
    const { chip } = facts.machine;
    if (!chip || hardware.length > 0 || facts.devices.devices.length > 0 || facts.kernel.complete) return [];
    const { name, aes } = chip.value;
    const engine = ENGINES.find(({ id }) => id === chip.value.engine);
    // What is there, or was tried, is told of by other rules; to install it again would be no advice.
    if (
      engine &&
      (loadedModule(facts, engine) || facts.devices.troubles.some(({ subject }) => subject === engine.name))
    )
      return [];
    const cpu = aes ? 'its CPU has AES instructions' : 'its CPU has no AES instructions';
    return [
      {
        kind: engine && !aes ? 'advice' : 'fine',
        weight: 23,
        sureness: 'likely',
        verdict: engine
          ? `A ${name} has an engine, the ${engine.name} (driver ${engine.modules[0]}), and ${cpu}${aes ? ', so that programs seldom need the engine' : ''}`
          : `A ${name} has no crypto engine that Linux drives, and ${cpu}`,
        details: [
          'So much is known of the chip. Whether this machine uses it the text does not show.',
          ...(!engine && !aes
            ? [
                'There ChaCha20 and Adiantum, which need no such instructions, are the ciphers to measure: WireGuard uses the one, disks can use the other.',
              ]
            : []),
        ],
        evidence: [chip.quote],
        steps: engine ? loadDriver(engine) : [],
      },
    ];
  },
};

const keyChip: Rule = {
  id: 'key-chip-not-engine',
  topic: 'driver',
  about: 'a TPM or secure element keeps keys and signs; it accelerates nothing',
  examine: ({ facts, hardware }) => {
    const found = facts.messages.find(({ code }) => code === 'KEY_CHIP');
    if (!found || hardware.length > 0) return [];
    return [
      {
        kind: 'fine',
        weight: 19,
        sureness: 'certain',
        verdict:
          'A TPM or secure element is no accelerator: it keeps keys and signs with them, some times a second, and encrypts no disk, VPN or TLS stream',
        details: [
          'It hangs on I2C, SPI or LPC and moves some kilobytes a second. What encrypts your data is the CPU, or an engine on the chip.',
        ],
        evidence: [found.quote],
      },
    ];
  },
};

export const namedRules: readonly Rule[] = [chipNamed, keyChip];

/** Told where no other rule had anything to say, and the text cannot bear “nothing is wrong”. */
export const tooLittle: Rule = {
  id: 'too-little-told',
  topic: 'driver',
  about: 'nothing in the texts tells whether an engine is there or used, and what would',
  examine: ({ facts }) => {
    if (facts.kernel.complete) return [];
    return [
      {
        kind: 'advice',
        weight: 1,
        sureness: 'certain',
        verdict: 'These texts do not tell whether an accelerator is there, or whether it is used',
        details: ['Nothing in them that is read here points to a fault.'],
        steps: [
          {
            text: 'Run the probe on the machine, as root, and give its text to the doctor; it needs no Node and leaves nothing behind',
            commands: [
              'hwcrypt probe > hwcrypt-probe.sh',
              'sh hwcrypt-probe.sh > bundle.txt   # there',
              'hwcrypt doctor bundle.txt',
            ],
          },
          {
            text: 'Or paste what tells most',
            commands: [
              'cat /proc/crypto',
              'dmesg | grep -i -e crypto -e "alg:"',
              'openssl speed -elapsed -evp aes-128-cbc',
            ],
          },
        ],
      },
    ];
  },
};
