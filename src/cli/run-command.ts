/**
 * Runs one command: normalised arguments through commander, errors as one line.
 *
 * Room `cli`.
 */
import { Command, CommanderError, Option } from 'commander';
import { HwcryptError } from '../errors.js';
import { COMMON_OPTIONS, type CommandSpec, Given, key, normalise, type OptionSpec } from './options.js';
import { writeText } from './stdio.js';

/** @returns the exit status */
export async function runCommand(spec: CommandSpec, argv: readonly string[]): Promise<number> {
  const { options, operands, help } = normalise(spec, argv);
  if (help) {
    writeText(helpText(spec));
    return 0;
  }
  const values = new Map<string, string[]>();
  const command = new Command(spec.name)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .helpOption(false);
  for (const option of spec.options) {
    if (option.sets) continue;
    const name = key(option);
    command.addOption(new Option(option.value === undefined ? `--${name}` : `--${name} <${option.value}>`));
    command.on(`option:${name}`, (value: string | null) => {
      const list = values.get(name) ?? [];
      list.push(value ?? '');
      values.set(name, list);
    });
  }
  for (const { sets } of spec.options) {
    if (!sets || values.has(sets[0]) || command.options.some(({ long }) => long === `--${sets[0]}`)) continue;
    command.addOption(new Option(`--${sets[0]} <value>`));
    command.on(`option:${sets[0]}`, (value: string) => {
      values.set(sets[0], [value]);
    });
  }
  command.argument('[operands...]');
  try {
    command.parse([...options, '--', ...operands], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      throw new HwcryptError('USAGE', error.message.replace(/^error: /, ''), { cause: error });
    }
    throw error;
  }
  const most = spec.operands ?? 0;
  if (operands.length > most) {
    const extra = operands[most] as string;
    throw new HwcryptError(
      'USAGE',
      most === 0
        ? `unexpected argument "${extra}" (files are given with -in and -out)`
        : `too many arguments: "${extra}"`,
    );
  }
  return (await spec.run(new Given(values), operands)) ?? 0;
}

const HELP_COLUMNS = 80;

function helpText(spec: CommandSpec): string {
  const lines = [`Usage: hwcrypt ${spec.name} ${spec.usage}`, '', spec.summary];
  const sections = new Map<string, OptionSpec[]>();
  for (const option of [...spec.options, ...COMMON_OPTIONS]) {
    if (option.hidden) continue;
    const section = option.section ?? 'Options';
    sections.set(section, [...(sections.get(section) ?? []), option]);
  }
  const term = (option: OptionSpec): string =>
    option.names.join(', ') + (option.value === undefined ? '' : ` ${option.value}`);
  const shown = [...sections.values()].flat();
  const width = Math.min(26, Math.max(...shown.map((option) => term(option).length)));
  for (const [section, list] of sections) {
    lines.push('', `${section}:`);
    for (const option of list) {
      const left = `  ${term(option)}`;
      const text = wrap(option.help, HELP_COLUMNS - width - 4);
      if (left.length > width + 2) lines.push(left);
      else lines.push(`${left.padEnd(width + 4)}${text.shift() ?? ''}`.trimEnd());
      for (const line of text) lines.push(' '.repeat(width + 4) + line);
    }
  }
  if (spec.notes) lines.push('', spec.notes.trim());
  return `${lines.join('\n')}\n`;
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  if (line !== '') lines.push(line);
  return lines;
}
