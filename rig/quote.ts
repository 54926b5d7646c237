/**
 * Quoting for the four readers that a guest's settings pass through: sh, the kernel's command line, QEMU's option
 * lists, and a shell's human. Folders with spaces, commas and quotes in their names must come through all of them.
 *
 * Room `rig`: imports node: modules and itself only.
 */

/** One word for sh: single quotes, since nothing is special inside them. */
export function shellQuote(word: string): string {
  if (word !== '' && /^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

export function shellCommand(words: readonly string[]): string {
  return words.map(shellQuote).join(' ');
}

/**
 * `name=value` for the kernel's command line. The kernel splits at white space outside double quotes and knows no
 * escape for a double quote itself, so a value with one cannot be passed.
 */
export function kernelParameter(name: string, value: string): string {
  if (/["\n]/.test(value))
    throw new RangeError(`no kernel parameter can hold a quote or a line break: ${value}`);
  return /\s/.test(value) ? `${name}="${value}"` : `${name}=${value}`;
}

/** A value inside one of QEMU's comma-separated options: a comma is doubled. */
export function qemuValue(value: string): string {
  return value.replaceAll(',', ',,');
}
