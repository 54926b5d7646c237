/** Encrypted disks: dm-crypt tables, LUKS headers, the block devices below. No key stays: it is taken out before anything else is read. */
import type { Document, DocumentLine, Quote, Sourced } from './document.js';

/** One `crypt` line of `dmsetup table`. */
export interface CryptTable {
  /** As dm-crypt has it: `aes-xts-plain64`, `capi:xts(ecb(aes-generic))-plain64`. */
  readonly cipher: string;
  /** The kernel's name of it: `xts(aes)`. Absent for what is no known form. */
  readonly kernelName?: string;
  readonly sectorBytes: number;
  /** Of the volume key, by the place where it stood or by its name in the keyring. */
  readonly keyBits?: number;
  readonly options: readonly string[];
  /** A volume key stood in the text, of so many bytes. */
  readonly leakedKeyBytes?: number;
  /** The option count and the options differ. */
  readonly countedOptions?: number;
  readonly quote: Quote;
}

/** `cryptsetup luksDump`, or what the probe took from a header. */
export interface LuksHeader {
  readonly version?: 1 | 2;
  readonly cipher?: Sourced<string>;
  readonly sectorBytes?: Sourced<number>;
  /** Of the volume key, by the first keyslot. */
  readonly keyBits?: number;
  /** Argon2's memory of each keyslot. */
  readonly memoryKiB: readonly Sourced<number>[];
  readonly flags: readonly string[];
  readonly quote: Quote;
}

export interface BlockDevice {
  readonly name: string;
  readonly logicalBytes: number;
  readonly physicalBytes: number;
  readonly sectors: number;
  readonly quote: Quote;
}

export interface Disks {
  readonly tables: readonly CryptTable[];
  readonly headers: readonly LuksHeader[];
  readonly block: readonly BlockDevice[];
  readonly cryptsetup?: Sourced<string>;
}

const TABLE =
  /^(?:[^\s:][^:]{0,126}:\s{1,4})?\d{1,20} \d{1,20} crypt (\S{1,200}) (\S{1,600}) (\d{1,20}) (\S{1,200}) (\d{1,20})(?: (\d{1,3})((?: \S{1,100}){0,24}))?$/;

export function readDisks(document: Document): Disks {
  const tables: CryptTable[] = [];
  const headers: LuksHeader[] = [];
  const block: BlockDevice[] = [];
  let cryptsetup: Sourced<string> | undefined;
  let header: Draft | undefined;
  let section: string | undefined;
  const flush = (): void => {
    if (header && (header.version !== undefined || header.cipher)) headers.push(header);
    header = undefined;
  };
  for (const line of document.lines) {
    const { text } = line;
    const table = readTable(line, document);
    if (table) tables.push(table);
    const version = /^cryptsetup (\d{1,2}\.\d{1,3}(?:\.\d{1,3})?\S{0,20})/.exec(text)?.[1];
    if (version !== undefined && !/benchmark/.test(text))
      cryptsetup ??= { value: version, quote: document.quote(line) };
    const device =
      /^(\S{1,32}) logical=(\d{1,6}) physical=(\d{1,6}) rotational=\d{0,1} sectors=(\d{1,18})(?: dev=\d{1,5}:\d{1,7})?$/.exec(
        text,
      );
    if (device) {
      block.push({
        name: device[1]!,
        logicalBytes: Number(device[2]),
        physicalBytes: Number(device[3]),
        sectors: Number(device[4]),
        quote: document.quote(line),
      });
    }
    const begins = /^LUKS header information\b/.test(text) || (line.section === 'luks' && section !== 'luks');
    section = line.section;
    const begin = /^Version:\s+[12]$/.test(text) && header?.version !== undefined;
    if (begins || begin) flush();
    if (begins || begin || /^Version:\s+[12]$/.test(text))
      header ??= { memoryKiB: [], flags: [], quote: document.quote(line) };
    // Quoted within a sentence.
    const told = header ? undefined : /\S.*\bsector: (512|4096) \[bytes\]/.exec(text)?.[1];
    if (told !== undefined) {
      const quote = document.quote(line);
      headers.push({ sectorBytes: { value: Number(told), quote }, memoryKiB: [], flags: [], quote });
    }
    if (header) readHeaderLine(header, line, document);
  }
  flush();
  return { tables, headers, block, ...(cryptsetup ? { cryptsetup } : {}) };
}

interface Draft {
  version?: 1 | 2;
  cipher?: Sourced<string>;
  sectorBytes?: Sourced<number>;
  keyBits?: number;
  memoryKiB: Sourced<number>[];
  flags: string[];
  quote: Quote;
  name?: string;
}

function readHeaderLine(header: Draft, line: DocumentLine, document: Document): void {
  const { text } = line;
  const quote = (): Quote => document.quote(line);
  // `"sector_size":4096` is what the probe takes from a header where there is no cryptsetup.
  const [, key = '', value = ''] =
    /^([A-Z][A-Za-z ]{1,20}|cipher|sector|offset):\s{1,40}(\S.{0,100})$/.exec(text) ??
    /^"(encryption|sector_size|memory)":"?([^"]{1,60})"?$/.exec(text) ??
    [];
  switch (key) {
    case 'Version':
      if (value === '1' || value === '2') header.version ??= Number(value) as 1 | 2;
      break;
    case 'cipher':
    case 'encryption':
      header.cipher ??= { value, quote: quote() };
      if (key === 'encryption') header.version ??= 2;
      break;
    case 'Cipher name':
      header.name = value;
      break;
    case 'Cipher mode':
      header.cipher ??= { value: `${header.name ?? 'aes'}-${value}`, quote: quote() };
      break;
    case 'sector':
    case 'sector_size': {
      const bytes = /^(\d{3,5})\b/.exec(value)?.[1];
      if (bytes !== undefined) header.sectorBytes ??= { value: Number(bytes), quote: quote() };
      break;
    }
    case 'Key':
    case 'MK bits': {
      const bits = /^(\d{2,4})(?: bits)?$/.exec(value)?.[1];
      if (bits !== undefined) header.keyBits ??= Number(bits);
      break;
    }
    case 'Memory':
    case 'memory':
      if (/^\d{1,9}$/.test(value)) header.memoryKiB.push({ value: Number(value), quote: quote() });
      break;
    case 'Flags':
      if (!value.startsWith('(')) header.flags.push(...value.split(/\s+/));
      break;
  }
}

function readTable(line: DocumentLine, document: Document): CryptTable | undefined {
  if (!line.text.includes(' crypt ')) return undefined;
  const match = TABLE.exec(line.text);
  if (!match) return undefined;
  const [, cipher, key, , , , counted, rest = ''] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
    string?,
    string?,
  ];
  const options = rest
    .trim()
    .split(' ')
    .filter((word) => word !== '');
  const sector = options
    .map((option) => /^sector_size:(\d{3,5})$/.exec(option)?.[1])
    .find((bytes) => bytes !== undefined);
  // Zeros are what dmsetup shows in the key's place without --showkeys.
  const leaked = /^[0-9a-fA-F]{16,600}$/.test(key) && key.length % 2 === 0 && !/^0+$/.test(key);
  const kernelName = kernelNameOf(cipher);
  const keyBytes = Number(
    /^:(\d{1,4}):/.exec(key)?.[1] ?? (/^(?:[0-9a-fA-F]{2})+$/.test(key) ? key.length / 2 : 0),
  );
  // Neither the key nor the mapping's name, which is the owner's word, is carried on.
  const shown = line.text
    .replace(/^.*?(\d+ \d+ crypt )/, '$1')
    .replace(` ${key} `, ` ${leaked ? `<redacted ${key.length / 2} bytes>` : '<key>'} `);
  return {
    cipher,
    ...(kernelName === undefined ? {} : { kernelName }),
    sectorBytes: sector === undefined ? 512 : Number(sector),
    ...(keyBytes > 0 ? { keyBits: keyBytes * 8 } : {}),
    options,
    ...(leaked ? { leakedKeyBytes: key.length / 2 } : {}),
    ...(counted !== undefined && Number(counted) !== options.length
      ? { countedOptions: Number(counted) }
      : {}),
    quote: document.quote({ number: line.number, text: shown }),
  };
}

/** `aes-xts-plain64` and `capi:xts(aes)-plain64` → `xts(aes)`; undefined for a driver's name in brackets. */
export function kernelNameOf(cipher: string): string | undefined {
  const capi = /^capi:(.+?)(?:-(?:plain|plain64|plain64be|essiv|benbi|null|eboiv|random|lmk|tcw)\b.*)?$/.exec(
    cipher,
  )?.[1];
  if (capi !== undefined) return /^[a-z0-9]+\([a-z0-9_]+\)$/.test(capi) ? capi : undefined;
  const plain = /^([a-z0-9_]+)-(cbc|xts|ecb|ctr|lrw|pcbc)(?:-.{0,60})?$/.exec(cipher);
  return plain ? `${plain[2]}(${plain[1]})` : undefined;
}
