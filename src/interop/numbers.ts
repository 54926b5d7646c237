/**
 * Numbers as tools and people write them: decimal point or comma, thousands in groups, units.
 *
 * A tool's locale and a reader's are both unknown, so a number is read by what it shows and by how many decimals the tool prints. Where both
 * readings are possible (`646,811` in a place that wants two decimals) there is none.
 */

/** Longer than any number that a tool prints. */
const MAX_DIGITS = 24;

interface Shape {
  /** Digits before, between and after the separators. */
  readonly groups: readonly string[];
  readonly separators: readonly string[];
}

function shape(token: string): Shape | undefined {
  if (token.length === 0 || token.length > MAX_DIGITS) return undefined;
  const groups: string[] = [''];
  const separators: string[] = [];
  for (const character of token) {
    if (character >= '0' && character <= '9') {
      groups[groups.length - 1] += character;
    } else if (character === '.' || character === ',' || character === "'" || character === '_') {
      separators.push(character);
      groups.push('');
    } else {
      return undefined;
    }
  }
  return groups.includes('') ? undefined : { groups, separators };
}

/** 1 234 567, 1.234.567, 1,234,567, 1'234'567, and 12,34,567 as it is grouped in India. */
function isGrouped(groups: readonly string[]): boolean {
  if (groups.length === 1) return true;
  const [first, ...rest] = groups as [string, ...string[]];
  return (
    first.length <= 3 && rest.at(-1)!.length === 3 && rest.every(({ length }) => length === 3 || length === 2)
  );
}

/** A whole number: `1365333`, `1,365,333`, `1'365'333`. */
export function readInteger(token: string): number | undefined {
  const found = shape(token);
  if (!found || !isGrouped(found.groups) || new Set(found.separators).size > 1) return undefined;
  const value = Number(found.groups.join(''));
  return Number.isSafeInteger(value) ? value : undefined;
}

/** `decimals` are the digits after the decimal mark, as printed. */
export interface Decimal {
  readonly value: number;
  readonly decimals: number;
}

/**
 * A number from a place where the tool prints `expected` decimals. One separator before exactly three digits is thousands there or decimals
 * here, and is not read, unless three are expected.
 */
export function readDecimal(token: string, expected: number): Decimal | undefined {
  const found = shape(token);
  if (!found) return undefined;
  const { groups, separators } = found;
  const last = separators.at(-1);
  const before = separators.slice(0, -1);
  if (last === undefined) return whole(groups);
  // An apostrophe never marks decimals, and no mark does that is there twice.
  if (last === "'" || last === '_' || before.includes(last)) {
    return isGrouped(groups) && new Set(separators).size === 1 ? whole(groups) : undefined;
  }
  const fraction = groups.at(-1)!;
  const integer = groups.slice(0, -1);
  if (!isGrouped(integer) || new Set(before).size > 1) return undefined;
  if (before.length === 0 && fraction.length === 3 && expected !== 3 && groups[0]!.length <= 3)
    return undefined;
  const value = Number(`${integer.join('')}.${fraction}`);
  return Number.isFinite(value) ? { value, decimals: fraction.length } : undefined;
}

function whole(groups: readonly string[]): Decimal | undefined {
  const value = Number(groups.join(''));
  return Number.isSafeInteger(value) ? { value, decimals: 0 } : undefined;
}

/** Bytes a second in one of a unit. `k` alone is openssl's, and a thousand; `MB` is 10^6 here, and whoever means 2^20 by it says so. */
const RATES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** `MiB/s`, `MB/sec`, `kB/s`, and without the slash: bytes in one. `Mbps` is bits, and is none of these. */
export function unitBytes(token: string): number | undefined {
  const name = token
    .toLowerCase()
    .replace(/\/(?:s|sec|secs|second)$/, '')
    .replace(/bytes?$/, 'b');
  return Object.hasOwn(RATES, name) ? RATES[name] : undefined;
}

/** Does the unit say that it is a rate? */
export function isRateUnit(token: string): boolean {
  return /\/(?:s|sec|secs|second)$/i.test(token) && unitBytes(token) !== undefined;
}

/** A request size: `16`, `16B`, `1024bytes`, `1KB`, `8KiB`. Blocks are counted in powers of two whatever the unit's spelling. */
export function readSize(token: string): number | undefined {
  const match = /^(\d{1,9})([a-zA-Z]{0,5})$/.exec(token);
  if (!match) return undefined;
  const factor = SIZES[match[2]!.toLowerCase()];
  if (factor === undefined) return undefined;
  const value = Number(match[1]) * factor;
  return value > 0 && value <= 2 ** 32 ? value : undefined;
}

const SIZES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  byte: 1,
  bytes: 1,
  k: 2 ** 10,
  kb: 2 ** 10,
  kib: 2 ** 10,
  m: 2 ** 20,
  mb: 2 ** 20,
  mib: 2 ** 20,
};

/** Seconds, with their `s`: `3s`, `0.11s`, `0,65s`. */
export function readSeconds(token: string): number | undefined {
  const body = token.endsWith('s') ? token.slice(0, -1) : undefined;
  if (body === undefined) return undefined;
  return readDecimal(body, body.includes('.') || body.includes(',') ? fractionLength(body) : 2)?.value;
}

function fractionLength(body: string): number {
  return body.length - 1 - Math.max(body.lastIndexOf('.'), body.lastIndexOf(','));
}

/** `%.*f` as C prints it: correctly rounded from the exact value, ties to even. */
export function fixed(value: number, decimals: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (Math.abs(value) >= 1e21)
    return `${BigInt(Math.trunc(value))}${decimals > 0 ? `.${'0'.repeat(decimals)}` : ''}`;
  const rounded = value.toFixed(decimals);
  // toFixed takes the larger of two equally near numbers. A tie is exact, so its digits end with 5.
  const exact = value.toFixed(Math.min(100, decimals + 60));
  const cut = exact.length - (Math.min(100, decimals + 60) - decimals);
  if (exact[cut] !== '5' || /[1-9]/.test(exact.slice(cut + 1))) return rounded;
  const down = exact.slice(0, decimals === 0 ? cut - 1 : cut);
  return (down.charCodeAt(down.length - 1) - 48) % 2 === 0 ? down : rounded;
}
