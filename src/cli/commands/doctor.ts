/** `hwcrypt doctor`: what keeps crypto hardware from being used, on this machine or on one that sent its texts. */
import {
  type Diagnosis,
  diagnoseFacts,
  type Facts,
  gatherFacts,
  LOCAL_SHELL,
  measureHere,
  runProbe,
  type Source,
  seenHere,
  sshShell,
  worthMeasuring,
} from '../../doctor/index.js';
import { HwcryptError } from '../../errors.js';
import { checkOutput, openOutput } from '../../files/index.js';
import { diagnosisText } from '../../report/diagnosis.js';
import { inAscii } from '../../report/text.js';
import { report } from '../exit.js';
import { Interruption } from '../interruption.js';
import type { CommandSpec, Given } from '../options.js';
import { readTextFile } from '../results.js';
import { isTerminal, terminalColumns, utf8Locale, writeError, writeText } from '../stdio.js';

const EXIT_FINDINGS = 1;
const EXIT_UNREADABLE = 3;

export const command: CommandSpec = {
  name: 'doctor',
  summary: 'What keeps crypto hardware from being used, how sure that is, and what to do.',
  usage: '[FILE…] [options]',
  operands: Number.POSITIVE_INFINITY,
  options: [
    {
      names: ['--ssh'],
      value: 'USER@HOST',
      help: 'Run the probe there, through the system’s ssh; nothing is left behind',
    },
    { names: ['--quick'], help: 'Without timings: some seconds instead of up to a minute' },
    { names: ['--json'], help: 'JSON, as docs/json.md describes it' },
    {
      names: ['-o', '--html'],
      value: 'FILE',
      help: 'An HTML page, written whole or not at all; - is standard output',
    },
    { names: ['--verbose', '-v'], help: 'All evidence, and commands for all systems' },
  ],
  rules: [
    { of: '--verbose', beside: ['--json', '-o'] },
    { of: '--json', beside: ['-o'] },
  ],
  notes: `Without files: this machine. With files: a bundle of the probe (hwcrypt probe),
or whatever was pasted of /proc/crypto, lsmod, dmesg, openssl speed, openssl
engine, cryptsetup benchmark, luksDump, dmsetup table, error messages; - is
standard input. Several files are taken for one machine.

Exit status: 0 nothing to do, 1 findings, 2 wrong command line, 3 nothing that
could be read.`,
  run: async (given, operands) => {
    try {
      return await run(given, operands);
    } catch (error) {
      // A wrong command line is told as everywhere; whatever else goes wrong leaves the question open.
      if ((error as { code?: unknown }).code === 'USAGE') throw error;
      report(error, 'doctor');
      return EXIT_UNREADABLE;
    }
  },
};

async function run(given: Given, operands: readonly string[]): Promise<number> {
  const target = given.get('ssh');
  if (target !== undefined && operands.length > 0) {
    throw new HwcryptError('USAGE', 'files have no effect beside --ssh');
  }
  if (given.has('quick') && operands.length > 0) {
    throw new HwcryptError('USAGE', '--quick has no effect on files: nothing is timed for them');
  }
  if (operands.filter((operand) => operand === '-').length > 1) {
    throw new HwcryptError('USAGE', 'standard input can be read once only');
  }
  const page = given.get('o');
  const alsoRead = operands.filter((operand) => operand !== '-');
  if (page !== undefined) checkOutput(page, { secret: false, alsoRead });
  const quick = given.has('quick');
  const facts =
    operands.length > 0
      ? await fromFiles(operands)
      : target === undefined
        ? await fromHere(quick)
        : await fromThere(target, quick);
  const diagnosis = diagnoseFacts(facts);
  await print(diagnosis, facts, given, page, alsoRead);
  return diagnosis.healthy ? 0 : EXIT_FINDINGS;
}

async function fromFiles(operands: readonly string[]): Promise<Facts> {
  const sources: Source[] = [];
  for (const operand of operands) sources.push({ name: operand, text: await readTextFile(operand) });
  return gatherFacts(sources);
}

async function fromThere(target: string, quick: boolean): Promise<Facts> {
  const shell = sshShell(target);
  if (!quick && isTerminal())
    writeError(`hwcrypt: doctor: asking ${target}; with timings that takes up to a minute`);
  return gatherFacts([{ name: target.replace(/^.*@/, ''), text: await runProbe(shell, quick) }]);
}

async function fromHere(quick: boolean): Promise<Facts> {
  // The script's own timings are for machines without Node; hwcrypt measures more in less time.
  const text = await runProbe(LOCAL_SHELL, true);
  const facts = seenHere(gatherFacts([{ name: LOCAL_SHELL.name, text }]));
  if (quick || !worthMeasuring(facts)) return facts;
  if (isTerminal()) writeError('hwcrypt: doctor: measuring the engine for some seconds');
  const interruption = new Interruption();
  try {
    return await measureHere(facts, interruption.signal);
  } finally {
    interruption.settle();
  }
}

async function print(
  diagnosis: Diagnosis,
  facts: Facts,
  given: Given,
  page: string | undefined,
  alsoRead: readonly string[],
): Promise<void> {
  if (given.has('json')) {
    writeText(`${JSON.stringify(diagnosis, null, 2)}\n`);
    return;
  }
  if (page !== undefined) {
    const { diagnosisPage } = await import('../../report/html/diagnosis.js');
    const text = await diagnosisPage(diagnosis, facts.results.sets);
    if (page === '-') {
      writeText(text);
      return;
    }
    const output = openOutput(page, { secret: false, alsoRead });
    try {
      await output.write([Buffer.from(text, 'utf8')]);
      await output.commit();
    } finally {
      output.abort();
    }
    return;
  }
  const text = diagnosisText(diagnosis, { columns: terminalColumns(), verbose: given.has('verbose') });
  writeText(utf8Locale() ? text : inAscii(text));
}
