/** `hwcrypt luks plan`: which cipher, key and sector a disk should have here, or on a machine that sent its texts, and cryptsetup's commands for it. */
import { existsSync, statSync } from 'node:fs';

import type { ResultSet } from '../../../bench/model.js';
import { gatherResults } from '../../../doctor/facts/results.js';
import {
  type Facts,
  gatherFacts,
  joinFacts,
  LOCAL_SHELL,
  readText,
  runProbe,
  type Source,
  seenHere,
} from '../../../doctor/index.js';
import { HwcryptError } from '../../../errors.js';
import { importResults } from '../../../interop/index.js';
import { Device } from '../../../luks/device.js';
import {
  type CurrentVolume,
  contradictions,
  currentOf,
  type DiskFacts,
  makePlan,
  measureHere,
  profileFigures,
} from '../../../planning/index.js';
import { planJsonText, planText } from '../../../report/plan.js';
import { StatusLine } from '../../../report/status-line.js';
import { inAscii } from '../../../report/text.js';
import { openProfile } from '../../../routing/profile.js';
import { Interruption } from '../../interruption.js';
import type { CommandSpec, Given } from '../../options.js';
import { readTextFile } from '../../results.js';
import { terminalColumns, utf8Locale, writeText } from '../../stdio.js';

export const command: CommandSpec = {
  name: 'luks plan',
  summary:
    'Which cipher, key and sector size a disk should have, how fast that is, and cryptsetup’s commands. Runs none of them.',
  usage: '[FILE…] [options]',
  operands: Number.POSITIVE_INFINITY,
  options: [
    {
      names: ['--for'],
      value: 'FILE',
      help: 'What there is now: an image, a device, or text of luksDump or dmsetup table',
      section: 'Disk',
    },
    {
      names: ['--device'],
      value: 'PATH',
      help: 'The device’s name for the commands; its sectors are looked up',
      section: 'Disk',
    },
    {
      names: ['--physical-sector'],
      value: 'N',
      help: 'Bytes that the device writes at once',
      section: 'Disk',
    },
    {
      names: ['--measure'],
      help: 'Measure AES in XTS and CBC here first, for some ten seconds: as root by dm-crypt itself, over memory',
      section: 'Figures',
    },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it', section: 'Output' },
  ],
  notes: `Without FILE: this machine, by what hwcrypt calibrate has kept. With FILE: another
one, by its texts: a bundle of hwcrypt probe, cryptsetup benchmark, openssl speed,
JSON of hwcrypt's, /proc/crypto, luksDump, dmsetup table; - is standard input.
Several files are taken for one machine.

  hwcrypt luks plan --measure
  hwcrypt luks plan router.txt --device /dev/sda1
  cryptsetup benchmark | hwcrypt luks plan - --for disk.img`,
  run,
};

const RESULT_JSON = /^\s*[[{][\s\S]{0,4000}"hwcrypt-results"/;
const MOST_TEXT = 16 * 2 ** 20;

async function run(given: Given, operands: readonly string[]): Promise<number | undefined> {
  const physical = given.number('physical-sector', 512, 2 ** 20);
  if (physical !== undefined && !Number.isInteger(Math.log2(physical)))
    throw new HwcryptError('USAGE', '--physical-sector is a power of two');
  if (operands.length > 0 && given.has('measure'))
    throw new HwcryptError('USAGE', '--measure has no effect on files: they are of another machine');
  const target = given.get('for');
  if ([...operands, target].filter((operand) => operand === '-').length > 1)
    throw new HwcryptError('USAGE', 'standard input can be read once only');
  const here = operands.length === 0;
  const texts: Source[] = [];
  const sets: ResultSet[] = [];
  for (const operand of operands) {
    const bytes = await readTextFile(operand);
    if (RESULT_JSON.test(Buffer.from(bytes.subarray(0, 8192)).toString('utf8')))
      sets.push(...importResults(bytes, { source: operand }).sets);
    else texts.push({ name: operand, text: bytes });
  }
  const own = target === undefined ? {} : await targetOf(target);
  if (here) texts.push({ name: LOCAL_SHELL.name, text: await runProbe(LOCAL_SHELL, true) });
  const read = texts.map(readText);
  let facts = joinFacts(read);
  if (here) facts = seenHere(facts);
  else if (!facts.understood && sets.length === 0) {
    throw new HwcryptError(
      'INPUT_FILE',
      `nothing in ${operands.join(', ')} is known: neither a bundle of hwcrypt probe nor a benchmark or a listing that is read here`,
    );
  }
  const notes: string[] =
    texts.length > 1
      ? [...contradictions(texts.map(({ name }, at) => ({ name, facts: joinFacts([read[at]!]) })))]
      : [];
  const interruption = new Interruption();
  try {
    if (given.has('measure')) sets.push(...(await measured(interruption.signal)));
  } finally {
    interruption.settle();
  }
  if (sets.length > 0) facts = { ...facts, results: gatherResults([...facts.results.sets, ...sets]) };
  if (own.text) facts = { ...facts, disks: { ...facts.disks, ...own.text.disks } };
  const figures = here ? fromProfile(given, notes) : [];
  const device = given.get('device') ?? own.image;
  const plan = makePlan({
    facts,
    figures,
    here,
    ...(device === undefined ? {} : { device }),
    disk: {
      ...(here && device !== undefined ? deviceFacts(device) : {}),
      ...(device === own.image ? own.disk : {}),
      ...(physical === undefined ? {} : { physicalBytes: physical }),
    },
    ...(own.current ? { current: own.current } : {}),
    notes,
  });
  if (given.has('json')) writeText(planJsonText(plan));
  else {
    const text = planText(plan, terminalColumns());
    writeText(utf8Locale() ? text : inAscii(text));
  }
  return interruption.status;
}

async function measured(signal: AbortSignal): Promise<ResultSet[]> {
  const status = new StatusLine();
  try {
    return await measureHere(signal, (what, done, total) => status.show(`${what}: ${done + 1} of ${total}`));
  } finally {
    status.clear();
  }
}

function fromProfile(given: Given, notes: string[]): ReturnType<typeof profileFigures> {
  const profile = openProfile();
  const figures = profileFigures(profile);
  notes.push(...profile.notes.map(({ message }) => message));
  if (figures.length === 0 && !given.has('measure'))
    notes.push(
      'no figures of this machine are kept: --measure takes some, or hwcrypt calibrate aes-128-xts aes-256-xts aes-128-cbc aes-256-cbc, which keeps them',
    );
  return figures;
}

interface Target {
  /** The path of an image or a device, which the commands are for unless another is named. */
  readonly image?: string;
  readonly current?: CurrentVolume;
  readonly disk?: DiskFacts;
  readonly text?: Facts;
}

/** An image, a device, or a text about one. */
async function targetOf(path: string): Promise<Target> {
  if (path !== '-' && !isText(path)) {
    const device = Device.open(path);
    try {
      if (device.bytes === 0)
        throw new HwcryptError('INPUT_FILE', `${device.name} is empty: there is nothing in it to plan for`);
      return {
        image: path,
        current: currentOf(device),
        disk: sectorsOf(device),
      };
    } finally {
      device.close();
    }
  }
  const text = gatherFacts([{ name: path, text: await readTextFile(path) }]);
  if (text.disks.headers.length + text.disks.tables.length === 0)
    throw new HwcryptError(
      'INPUT_FILE',
      `${path} is no image, and there is no luksDump or dmsetup table in it`,
    );
  return { text };
}

/** Text has no zeros; an image that small has no room for a header. */
function isText(path: string): boolean {
  if (!existsSync(path)) return false;
  const stat = statSync(path);
  if (!stat.isFile() || stat.size > MOST_TEXT) return false;
  const device = Device.open(path);
  try {
    const start = device.readAt(0, 4096);
    return start.length > 0 && !start.includes(0);
  } finally {
    device.close();
  }
}

/** Where it can be opened, which takes root as a rule; what cannot is looked up in /sys by its name. */
function deviceFacts(path: string): DiskFacts {
  if (!existsSync(path) || !statSync(path).isBlockDevice()) return {};
  try {
    const device = Device.open(path);
    device.close();
    return sectorsOf(device);
  } catch (error) {
    if (error instanceof HwcryptError) return {};
    throw error;
  }
}

/** A file has no sectors of its own: what it lies on is another question. */
const sectorsOf = ({ block, bytes, logicalSectorBytes, physicalSectorBytes }: Device): DiskFacts =>
  block
    ? { bytes, logicalBytes: logicalSectorBytes, physicalBytes: physicalSectorBytes }
    : { bytes, file: true };
