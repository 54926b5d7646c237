/** `npm run rig -- uml|qemu [options] -- COMMAND…`: a command in a guest kernel; see `usage` in args.ts. */
import { parseRigArguments, type RigCommand, UsageError, usage } from './args.js';
import { runInGuest, status } from './guest.js';
import { interruption } from './signals.js';
import { RigUnavailableError } from './types.js';

const wrongUsage = 2;

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const command = parseRigArguments(process.argv.slice(2));
    if (command.help) {
      process.stdout.write(usage);
      return 0;
    }
    return await run(command);
  } catch (error) {
    if (error instanceof UsageError || error instanceof RangeError) {
      process.stderr.write(`rig: ${error.message}\nSee: npm run rig -- --help\n`);
      return wrongUsage;
    }
    if (error instanceof RigUnavailableError) {
      process.stderr.write(`rig: ${error.message}\n`);
      return status.failed;
    }
    throw error;
  }
}

async function run({ options, verbose }: RigCommand): Promise<number> {
  const { signal, status: interrupted } = interruption();
  const result = await runInGuest({
    ...options,
    signal,
    ...(verbose ? { onConsole: (text: string) => void process.stderr.write(text) } : {}),
  });
  const by = interrupted();
  if (result.message !== undefined && by === undefined) {
    process.stderr.write(`rig: ${result.message}\n`);
    if (result.outcome === 'failed' && !verbose) process.stderr.write(consoleExcerpt(result.console));
  }
  return result.outcome === 'aborted' && by !== undefined ? by : result.status;
}

/** What a dying kernel says last is what one wants to know: from its panic on, where it had time for one. */
function consoleExcerpt(text: string): string {
  const lines = text.trimEnd().split(/\r?\n/);
  const panic = lines.findLastIndex((line) => /Kernel panic|\bBUG:|\bOops:/.test(line));
  const excerpt = panic < 0 ? lines.slice(-40) : lines.slice(panic, panic + 40);
  return excerpt.map((line) => `  ${line}\n`).join('');
}
