/** `hwcrypt list`: what this machine has. */
import { findAlgorithm, type Kind } from '../../algorithms.js';
import { parseDriver } from '../../drivers/registry.js';
import { HwcryptError } from '../../errors.js';
import { driverAlgorithms, driverAlgorithmsText } from '../../report/driver-algorithms.js';
import {
  algorithmInventory,
  algorithmsText,
  driverInventory,
  driversText,
  type Inventory,
  kernelInventory,
  kernelText,
  PIPE_COLUMNS,
} from '../../report/inventory.js';
import { quarantineText } from '../../report/quarantine.js';
import { openProfile, type QuarantineRecord } from '../../routing/profile.js';
import { driversOf } from '../drivers.js';
import { type CommandSpec, type Given, nearest } from '../options.js';
import { terminalColumns, writeText } from '../stdio.js';

const KINDS: Readonly<Record<string, readonly Kind[]>> = {
  algorithms: ['cipher', 'aead', 'hash', 'mac'],
  ciphers: ['cipher', 'aead'],
  hashes: ['hash'],
  macs: ['mac'],
};

const TOPICS = ['drivers', ...Object.keys(KINDS), 'kernel'];

export const command: CommandSpec = {
  name: 'list',
  summary: 'What this machine has: drivers, algorithms, and what the kernel has registered.',
  usage: '[drivers|algorithms|ciphers|hashes|macs|kernel] [options]',
  operands: 1,
  options: [
    {
      names: ['--driver'],
      value: 'NAME[:IMPL]',
      help: 'What this driver does for each algorithm, and by whom; cryptodev by number (afalg:cbc-aes-aesni)',
    },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
    {
      names: ['--all'],
      help: 'Algorithms too that no driver here offers, and the kernel’s internal helpers',
    },
  ],
  // JSON has everything as it is.
  rules: [{ of: '--all', beside: ['--json'] }],
  notes: `Without a topic: drivers, algorithms and the kernel's implementations.
A driver that is not there is listed with the cause and the cure, and whoever gave
wrong results with the evidence.

  hwcrypt list --driver cryptodev
  hwcrypt list ciphers --driver afalg --all`,
  run,
};

async function run(given: Given, [topic]: readonly string[]): Promise<number> {
  if (topic !== undefined && !TOPICS.includes(topic)) {
    const [near] = nearest(topic, TOPICS);
    throw new HwcryptError(
      'USAGE',
      `there is no list of "${topic}" (${near ? `did you mean ${near}?` : TOPICS.join(', ')})`,
    );
  }
  if (topic === 'drivers' && given.has('all')) {
    throw new HwcryptError('USAGE', '--all has no effect beside drivers');
  }
  const kinds = topic === undefined ? KINDS['algorithms'] : KINDS[topic];
  const [named, ...more] = driversOf(given) ?? [];
  if (named !== undefined) {
    if (more.length > 0) throw new HwcryptError('USAGE', 'list --driver takes one driver');
    if (!kinds) throw new HwcryptError('USAGE', `--driver has no effect beside ${topic}`);
    return ofDriver(named, kinds, given);
  }
  const drivers = driverInventory();
  const algorithms = kinds ? algorithmInventory(kinds) : undefined;
  const kernel = topic === undefined || topic === 'kernel' ? kernelInventory() : undefined;
  const quarantine = topic === 'kernel' ? [] : quarantined(kinds);
  if (given.has('json')) {
    const found: Inventory = {
      ...(topic === undefined || topic === 'drivers' || kinds ? { drivers } : {}),
      ...(algorithms ? { algorithms } : {}),
      ...(kernel ? { kernel } : {}),
      ...(topic === 'kernel' ? {} : { quarantine }),
    };
    writeText(`${JSON.stringify(found, null, 2)}\n`);
    return 0;
  }
  const width = terminalColumns();
  const parts: string[] = [];
  if (topic === undefined || topic === 'drivers') parts.push(driversText(drivers, width));
  if (algorithms) parts.push(algorithmsText(algorithms, drivers, given.has('all'), width));
  if (quarantine.length > 0) parts.push(quarantineText(quarantine, width ?? PIPE_COLUMNS));
  if (kernel) parts.push(kernelText(kernel, given.has('all'), width));
  writeText(parts.join('\n'));
  return 0;
}

/** Of these kinds, and by this driver, where they are named. */
function quarantined(kinds: readonly Kind[] | undefined, driver?: string): QuarantineRecord[] {
  return openProfile()
    .quarantined()
    .filter(({ algorithm, driver: label }) => {
      const kind = findAlgorithm(algorithm)?.kind;
      if (kinds !== undefined && !(kind && kinds.includes(kind))) return false;
      return driver === undefined || label === driver || label.startsWith(`${driver}:`);
    });
}

/** One driver, algorithm by algorithm. */
function ofDriver(label: string, kinds: readonly Kind[], given: Given): number {
  const choice = parseDriver(label);
  const drivers = driverInventory().filter(({ name }) => name === choice.driver.name);
  const found = driverAlgorithms(choice, kinds);
  const quarantine = quarantined(kinds, label);
  if (given.has('json')) {
    writeText(`${JSON.stringify({ drivers, ...found, quarantine }, null, 2)}\n`);
    return 0;
  }
  const width = terminalColumns();
  const isThere = drivers.some(({ available }) => available);
  const parts = [driversText(drivers, width)];
  if (isThere) parts.push(driverAlgorithmsText(found, given.has('all'), width));
  if (quarantine.length > 0) parts.push(quarantineText(quarantine, width ?? PIPE_COLUMNS));
  writeText(parts.join('\n'));
  return 0;
}
