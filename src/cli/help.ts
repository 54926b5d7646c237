/**
 * The help of a command, from the description of its options.
 *
 * Room `cli`.
 */
import { wrap } from '../report/text.js';
import { COMMON_OPTIONS, type CommandSpec, type OptionSpec } from './options.js';

const HELP_COLUMNS = 80;

export function helpText(spec: CommandSpec): string {
  const lines = [`Usage: hwcrypt ${spec.name} ${spec.usage}`, '', spec.summary];
  const sections = new Map<string, OptionSpec[]>();
  const own = new Set(spec.options.flatMap(({ names }) => names));
  // A command may have a use of its own for `-h`.
  const common = COMMON_OPTIONS.map((option) => ({
    ...option,
    names: option.names.filter((name) => !own.has(name)),
  }));
  for (const option of [...spec.options, ...common]) {
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
