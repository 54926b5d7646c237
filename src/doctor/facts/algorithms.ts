/**
 * The kernel's implementations, from /proc/crypto as it is, as `grep` left it, or as netlink gives it; and who wins for a name.
 *
 * Priority decides who is used by name, and says nothing of hardware; `judgeHardware` weighs the rest.
 */
import { type HardwareVerdict, judgeHardware, leaves } from '../../drivers/hardware.js';
import { type KernelAlgorithm, parseProcCrypto } from '../../linux/proc.js';
import type { Document, DocumentLine, Quote } from './document.js';

export interface KernelEntry extends KernelAlgorithm {
  readonly verdict: HardwareVerdict;
  /** The driver's line, or the entry's first. */
  readonly quote: Quote;
  /** Fields are missing: the listing went through grep, or was cut. Its priority is then not known. */
  readonly partial: boolean;
}

export interface KernelList {
  readonly entries: readonly KernelEntry[];
  /** What is not in it is not there. A listing through grep, or a few pasted entries, is not complete. */
  readonly complete: boolean;
}

const FIELD =
  /^(?:\S{0,40}proc\/crypto[:-](?:\d{1,6}[:-])?\s{0,2})?(name|driver|module|priority|refcnt|selftest|internal|type|async|blocksize|min keysize|max keysize|ivsize|chunksize|walksize|statesize|reqsize|digestsize|maxauthsize|seedsize|geniv) {0,12}: {0,4}(\S.{0,200})$/;

/** So many entries are more than the header and one screen: somebody pasted the whole file. */
const WHOLE = 12;

export function readAlgorithms(document: Document): KernelList {
  const entries: KernelEntry[] = [];
  let fields = new Map<string, string>();
  let at: DocumentLine | undefined;
  let elided = false;
  const finish = (): void => {
    const entry = at && toEntry(fields, document.quote(at));
    if (entry) entries.push(entry);
    [fields, at] = [new Map(), undefined];
  };
  for (const line of document.in('crypto')) {
    const match = FIELD.exec(line.text);
    if (!match) {
      elided ||= /^[[(<]?(?:\.{3}|…)[\])>]?$/.test(line.text);
      continue;
    }
    const [, key, value] = match as unknown as [string, string, string];
    // Without blank lines between them, entries are told apart by the field that comes again.
    if (key === 'name' || fields.has(key)) finish();
    fields.set(key, value.trim());
    if (key === 'driver' || !at) at = line;
  }
  finish();
  const whole = entries.filter(({ partial }) => !partial).length;
  const inSection = document.sections.some(({ name }) => name === 'crypto') && !document.isCut('crypto');
  return {
    entries,
    complete: whole === entries.length && whole > 0 && !elided && (inSection || whole >= WHOLE),
  };
}

function toEntry(fields: ReadonlyMap<string, string>, quote: Quote): KernelEntry | undefined {
  const driver = unblanked(fields.get('driver') ?? '');
  const name = unblanked(fields.get('name') ?? nameFromDriver(driver) ?? '');
  if (driver === '' || name === '') return undefined;
  const text = [...fields]
    .filter(([key]) => key !== 'name' && key !== 'driver' && key !== 'type')
    .map(([key, value]) => `${key} : ${value}`);
  const [entry] = parseProcCrypto(
    [`name : ${name}`, `driver : ${driver}`, `type : ${fields.get('type') ?? 'unknown'}`, ...text].join('\n'),
  );
  if (!entry) return undefined;
  const partial = !['name', 'priority', 'type'].every((key) => fields.has(key));
  return { ...entry, verdict: judgeHardware(entry), quote, partial };
}

/** `authenc(hmac(md5-eip93), cbc(aes-eip93))`: some drivers have blanks in their names. */
const unblanked = (name: string): string => name.replace(/,\s+/g, ',');

/**
 * The algorithm behind a driver's name, where that can only be one: `ctr(aes-eip93)` is ctr(aes), `cbc-aes-caam` is cbc(aes). Undefined where it
 * could be another.
 */
export function nameFromDriver(driver: string): string | undefined {
  const bracketed =
    /^(ebc|ecb|cbc|ctr|xts|gcm|ccm|rfc3686\(ctr|essiv\(cbc)\((aes|des3_ede|des)-\w{1,20}\)+$/.exec(driver);
  // The EIP93 driver of Linux has this slip in a name.
  if (bracketed)
    return `${bracketed[1] === 'ebc' ? 'ecb' : bracketed[1]}(${bracketed[2]})${bracketed[1]!.includes('(') ? ')' : ''}`;
  const words = driver.toLowerCase().split(/[-_]/);
  const cipher = words.includes('aes')
    ? 'aes'
    : words.includes('des3')
      ? 'des3_ede'
      : words.includes('des')
        ? 'des'
        : undefined;
  const modes = words.filter((word) => /^(?:ecb|cbc|ctr|xts|gcm|ccm)$/.test(word));
  if (
    cipher === undefined ||
    modes.length !== 1 ||
    words.some((word) => /^(?:authenc|hmac|sha\d+|md5|essiv)$/.test(word))
  )
    return undefined;
  return `${modes[0]}(${cipher})`;
}

/** Entries of a name that a program can ask for, the one that is used first. */
export function candidates(list: KernelList, name: string): KernelEntry[] {
  return list.entries
    .filter((entry) => entry.name === name && !entry.internal && !entry.name.startsWith('__'))
    .sort((a, b) => b.priority - a.priority);
}

/** Does a listing say who is used for a name? Undefined where it names nobody, or does not give priorities. */
export function winner(list: KernelList, name: string): KernelEntry | undefined {
  const [first] = candidates(list, name).filter(({ selftest }) => selftest !== 'failed');
  return first && !first.partial ? first : undefined;
}

export const isHardware = ({ verdict }: KernelEntry): boolean => verdict.hardware === 'yes';

/** Engines' entries, no helpers. */
export function hardwareEntries(list: KernelList): KernelEntry[] {
  return list.entries.filter((entry) => isHardware(entry) && !entry.internal && !entry.name.startsWith('__'));
}

/** Whole entries for modes of AES that an engine does itself: `cbc`, `ctr` … ; `partly` where only the block cipher is the engine's. */
export function aesModes(entries: readonly KernelEntry[]): Map<string, 'whole' | 'partly'> {
  const modes = new Map<string, 'whole' | 'partly'>();
  for (const { name, verdict } of entries) {
    const mode = /^(ecb|cbc|ctr|xts|gcm|ccm)\(aes\)$/.exec(name)?.[1];
    if (mode === undefined) continue;
    if (!verdict.partly) modes.set(mode, 'whole');
    else if (!modes.has(mode)) modes.set(mode, 'partly');
  }
  return modes;
}

/** Is it AES in portable C, whatever instructions the CPU has? */
export const isPortableAes = ({ driver }: Pick<KernelEntry, 'driver'>): boolean =>
  /aes-(?:generic|fixed-time|lib)\b/.test(driver);

/** What stands behind a driver in words: `NEON or cryptography instructions of an Arm CPU`. */
export function behind({ verdict, driver }: Pick<KernelEntry, 'verdict' | 'driver'>): string {
  if (verdict.engine !== undefined) return verdict.engine;
  const words = /^(?:.{0,80}?) is (.{1,80})$/.exec(verdict.evidence[0] ?? '')?.[1];
  return words ?? leaves(driver).join(', ');
}

/** The same implementation once, the fuller entry of two. */
export function mergeLists(lists: readonly KernelList[]): KernelList {
  const merged = new Map<string, KernelEntry>();
  for (const { entries } of lists) {
    for (const entry of entries) {
      const key = `${entry.name} ${entry.driver}`;
      const known = merged.get(key);
      if (!known || (known.partial && !entry.partial)) merged.set(key, entry);
    }
  }
  return { entries: [...merged.values()], complete: lists.some(({ complete }) => complete) };
}
