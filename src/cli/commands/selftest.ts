/** `hwcrypt selftest`: does every driver compute what the others do? */
import { arch, release, type } from 'node:os';

import { type Algorithm, algorithms, byKernelName, findAlgorithm, suggest } from '../../algorithms.js';
import { parseDriver } from '../../drivers/registry.js';
import { HwcryptError } from '../../errors.js';
import { readProcCrypto } from '../../linux/proc.js';
import { failureText, type ReportFacts, triedText, untriedText, verdictText } from '../../report/selftest.js';
import { StatusLine } from '../../report/status-line.js';
import { type Selftest, type SelftestFailure, selftest } from '../../routing/selftest.js';
import { driversOf } from '../drivers.js';
import { abandonWork, EXIT_FAILURE } from '../exit.js';
import { Interruption } from '../interruption.js';
import type { CommandSpec, Given } from '../options.js';
import { terminalColumns, writeText } from '../stdio.js';
import { version } from '../version.js';

const DEFAULT_SECONDS = 10;
/** The status line need not be drawn for each of some hundred trials a second. */
const DRAWN_MS = 100;

export const command: CommandSpec = {
  name: 'selftest',
  summary: 'Holds every driver against another implementation, with requests drawn at random.',
  usage: '[ALGORITHM…] [options]',
  operands: 1000,
  options: [
    {
      names: ['--driver'],
      value: 'NAME[:IMPL]',
      help: 'Try only this driver; may be repeated, or several with commas (every driver here)',
      repeats: true,
    },
    { names: ['--seconds'], value: 'S', help: `How long to go on (${DEFAULT_SECONDS})` },
    { names: ['--seed'], value: 'N', help: 'The requests of another run again; it prints its seed' },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
  ],
  notes: `ALGORITHM is a name (aes-128-cbc), a family (aes) or the kernel's (cbc(aes)).

Lengths, requests a message, alignment, order, new keys and IVs, concurrent and
asynchronous sessions are drawn from the seed. What differs is made as small as
it goes, and reported with all that it takes to see it again.
Exit status: 0 all equal, 1 a difference or nothing to compare, 2 wrong usage.
Ctrl-C prints what was tried so far.

  hwcrypt selftest --driver afalg:cbc-aes-eip93 --seconds 60
  hwcrypt selftest aes-128-cbc --seed 4711`,
  run,
};

async function run(given: Given, operands: readonly string[]): Promise<number> {
  const seconds = secondsOf(given);
  const seed = given.number('seed', 0, 2 ** 32 - 1) ?? Math.floor(Math.random() * 2 ** 32);
  const wanted = operands.length > 0 ? [...new Set(operands.flatMap(algorithmsOf))] : undefined;
  const drivers = driversOf(given)?.map(parseDriver);
  const json = given.has('json');
  const status = new StatusLine();
  const interruption = new Interruption();
  let drawn = 0;
  let facts: ReportFacts | undefined;
  const say = (failure: SelftestFailure): void => {
    if (json) return;
    facts ??= factsOf(seed);
    status.clear();
    writeText(`${failureText(failure, facts)}\n`);
  };
  let found: Selftest;
  try {
    found = await selftest(
      { ...(wanted ? { algorithms: wanted } : {}), ...(drivers ? { drivers } : {}), seconds, seed },
      {
        signal: interruption.signal,
        failure: say,
        progress: ({ driver, algorithm, requests }) => {
          const now = Date.now();
          if (now - drawn < DRAWN_MS) return;
          drawn = now;
          status.show(`${driver} ${algorithm}: ${requests} requests`);
        },
      },
    );
  } finally {
    interruption.settle();
    status.clear();
  }
  if (json) {
    const head = { seed, program: `hwcrypt ${version()}`, kernel: kernelText() };
    writeText(`${JSON.stringify({ ...head, ...found }, null, 2)}\n`);
  } else {
    if (found.tried.length > 0) writeText(triedText(found.tried, terminalColumns()));
    writeText(untriedText(found.untried, wanted !== undefined) + verdictText(found));
  }
  if (interruption.status !== undefined) {
    abandonWork();
    return found.failures.length > 0 ? EXIT_FAILURE : interruption.status;
  }
  return found.failures.length > 0 || found.tried.length === 0 ? EXIT_FAILURE : 0;
}

function secondsOf(given: Given): number {
  const text = given.get('seconds');
  if (text === undefined) return DEFAULT_SECONDS;
  const value = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (value <= 0) throw new HwcryptError('USAGE', `--seconds takes a number above 0, not "${text}"`);
  return value;
}

/** @throws HwcryptError USAGE */
function algorithmsOf(text: string): readonly Algorithm[] {
  const name = text.toLowerCase();
  const one = findAlgorithm(name);
  if (one) return [one];
  const kernel = byKernelName(name);
  if (kernel.length > 0) return kernel;
  const family = algorithms().filter(
    (algorithm) =>
      algorithm.name.startsWith(`${name}-`) || ('family' in algorithm && algorithm.family === name),
  );
  if (family.length > 0) return family;
  const near = suggest(name);
  throw new HwcryptError(
    'USAGE',
    `there is no algorithm or family "${text}"${near.length > 0 ? ` (did you mean ${near.join(', ')}?)` : ''}`,
  );
}

const kernelText = (): string => `${type()} ${release()} ${arch()}`;

function factsOf(seed: number): ReportFacts {
  // Bound by now, so that the kernel has loaded what it needs.
  return {
    kernel: kernelText(),
    program: `hwcrypt ${version()}`,
    seed,
    registered: readProcCrypto() ?? [],
  };
}
