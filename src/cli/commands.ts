/**
 * Commands by name, and commands of commands: `hwcrypt luks open`.
 *
 * Room `cli`. A command is loaded when it is asked for, so that none pays for another's start-up.
 */
import { EXIT_USAGE, report } from './exit.js';
import type { CommandSpec } from './options.js';
import { writeError, writeText } from './stdio.js';

/** A command that only leads to others. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: Commands;
  /** Printed below the list. */
  readonly notes?: string;
}

export interface Entry {
  readonly summary: string;
  /** Has it commands of its own? */
  readonly group?: true;
  readonly load: () => Promise<{ readonly command: CommandSpec } | { readonly group: CommandGroup }>;
}

export type Commands = Readonly<Record<string, Entry>>;

/** One line each. */
export function listOf(commands: Commands): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  return Object.entries(commands)
    .map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
    .join('\n');
}

/**
 * Runs the command of that name and returns its exit status.
 * @param above what stands before the name: `luks `
 */
export async function runFrom(
  commands: Commands,
  above: string,
  name: string,
  args: readonly string[],
): Promise<number> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) {
    const { nearest } = await import('./options.js');
    const [near] = nearest(name, Object.keys(commands));
    writeError(
      `hwcrypt: unknown command "${above}${name}" (${near ? `did you mean ${above}${near}?` : `see hwcrypt ${above}--help`})`,
    );
    return EXIT_USAGE;
  }
  try {
    const [loaded, { parse }] = await Promise.all([entry.load(), import('./options.js')]);
    if ('group' in loaded) return await runGroup(loaded.group, args);
    const { command } = loaded;
    const { given, operands, help, warnings } = parse(command, args);
    if (help) {
      const { helpText } = await import('./help.js');
      writeText(helpText(command));
      return 0;
    }
    for (const text of warnings) writeError(`hwcrypt: ${command.name}: warning: ${text}`);
    return (await command.run(given, operands)) ?? 0;
  } catch (error) {
    return report(error, `${above}${name}`);
  }
}

async function runGroup(group: CommandGroup, args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name !== undefined && !['--help', '-help', '-h'].includes(name)) {
    return runFrom(group.commands, `${group.name} `, name, rest);
  }
  const text = `Usage: hwcrypt ${group.name} COMMAND [options]

${group.summary}

Commands:
${listOf(group.commands)}

hwcrypt ${group.name} COMMAND --help tells more.${group.notes ? `\n\n${group.notes.trim()}` : ''}
`;
  if (name === undefined) {
    writeError(text.trimEnd());
    return EXIT_USAGE;
  }
  writeText(text);
  return 0;
}
