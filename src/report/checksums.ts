/**
 * Checksum lists as text: written and read in the formats of sha256sum (GNU and, with --tag, BSD) and openssl dgst.
 *
 * Room `report`. Follows coreutils 9.1 (src/digest.c) and OpenSSL 3.0 (apps/dgst.c), their escaping of names included.
 */

export type ChecksumFormat = 'openssl' | 'openssl-r' | 'gnu' | 'tag';

export interface ChecksumLine {
  readonly name: string;
  readonly hex: string;
  /** In the format `openssl`: `SHA2-256`, `HMAC-SHA2-256`. */
  readonly opensslName: string;
  /** In the format `tag`: `SHA256`. */
  readonly tagName: string;
}

export interface ChecksumStyle {
  readonly format: ChecksumFormat;
  /** Lines end in NUL instead of newline, and names are not escaped. */
  readonly zero?: boolean;
  /** `ab:cd:…`, in the format `openssl` only. */
  readonly colons?: boolean;
}

export function checksumLine(line: ChecksumLine, style: ChecksumStyle): string {
  const end = style.zero ? '\0' : '\n';
  const { hex, name } = line;
  switch (style.format) {
    case 'openssl': {
      const digits = style.colons ? (hex.match(/../g) ?? []).join(':') : hex;
      return `${line.opensslName}(${name})= ${digits}${end}`;
    }
    case 'openssl-r': {
      // OpenSSL escapes the newline but not the backslash.
      if (style.zero || !name.includes('\n')) return `${hex} *${name}${end}`;
      return `\\${hex} *${name.replaceAll('\n', '\\n')}${end}`;
    }
    case 'gnu': {
      const [prefix, shown] = style.zero ? ['', name] : escaped(name);
      return `${prefix}${hex}  ${shown}${end}`;
    }
    case 'tag': {
      const [prefix, shown] = style.zero ? ['', name] : escaped(name);
      return `${prefix}${line.tagName} (${shown}) = ${hex}${end}`;
    }
  }
}

/** GNU's escaping: a backslash in front of the line says that the name has escapes. */
function escaped(name: string): readonly [string, string] {
  if (!/[\\\n\r]/.test(name)) return ['', name];
  return ['\\', name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')];
}

export interface ParsedChecksum {
  readonly name: string;
  /** Lower case. */
  readonly hex: string;
  /** The algorithm that a tagged line names, as written there. */
  readonly tag?: string;
}

/**
 * Reads one line of a checksum list: `HEX  NAME`, `HEX *NAME`, `HEX NAME`, `ALGORITHM (NAME) = HEX`, `ALGORITHM(NAME)= HEX`,
 * with blanks in front or a carriage return at the end. `comment` for an empty line or one that begins with `#`;
 * undefined for anything else.
 *
 * @param zero of a list whose lines end in NUL: names are not escaped there, and a carriage return is part of one.
 */
export function parseChecksum(text: string, zero = false): ParsedChecksum | 'comment' | undefined {
  let line = text.endsWith('\r') && !zero ? text.slice(0, -1) : text;
  if (line === '' || line.startsWith('#')) return 'comment';
  line = line.replace(/^[ \t]+/, '');
  const hasEscapes = !zero && line.startsWith('\\');
  if (hasEscapes) line = line.slice(1);
  const tagged = /^([A-Za-z0-9][A-Za-z0-9/_-]*) ?\((.*)\) ?= ?([0-9a-fA-F]+)$/s.exec(line);
  const plain = tagged ? null : /^([0-9a-fA-F]{8,})(?: [ *](.+)|[ \t]([^ *].*))$/s.exec(line);
  const hex = (tagged?.[3] ?? plain?.[1])?.toLowerCase();
  const raw = tagged?.[2] ?? plain?.[2] ?? plain?.[3];
  if (hex === undefined || raw === undefined || raw === '' || hex.length % 2 !== 0) return undefined;
  const name = hasEscapes ? unescaped(raw) : raw;
  if (name === undefined) return undefined;
  return tagged ? { name, hex, tag: tagged[1] as string } : { name, hex };
}

function unescaped(text: string): string | undefined {
  let name = '';
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (character !== '\\') {
      name += character;
      continue;
    }
    const next = text[++i];
    if (next === 'n') name += '\n';
    else if (next === 'r') name += '\r';
    else if (next === '\\') name += '\\';
    else return undefined;
  }
  return name;
}

/** `NAME: OK`; a name with a newline is escaped, as coreutils does. */
export function verdictLine(name: string, verdict: 'OK' | 'FAILED' | 'FAILED open or read'): string {
  const [prefix, shown] = name.includes('\n') ? escaped(name) : ['', name];
  return `${prefix}${shown}: ${verdict}\n`;
}

/** What is to be said at the end of a list, in coreutils' words. */
export function checkSummary(improper: number, unreadable: number, mismatched: number): string[] {
  const lines: string[] = [];
  if (improper > 0) {
    lines.push(
      improper === 1 ? '1 line is improperly formatted' : `${improper} lines are improperly formatted`,
    );
  }
  if (unreadable > 0) {
    lines.push(
      unreadable === 1 ? '1 listed file could not be read' : `${unreadable} listed files could not be read`,
    );
  }
  if (mismatched > 0) {
    lines.push(
      mismatched === 1
        ? '1 computed checksum did NOT match'
        : `${mismatched} computed checksums did NOT match`,
    );
  }
  return lines.map((line) => `WARNING: ${line}`);
}
