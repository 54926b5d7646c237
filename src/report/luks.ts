/**
 * A disk image's header as text, in cryptsetup luksDump's terms, and as JSON.
 *
 * Room `report`.
 */

import { describeReason } from '../errors.js';
import { printable } from '../files/io.js';
import { type Keyslot, type LuksHeader, opensByPassphrase, type Segment } from '../luks/header/model.js';
import type { Inspection } from '../luks/inspect.js';
import { wrap } from './text.js';

const COLUMNS = 100;
const MARKS = { good: ' ok ', note: 'note', warning: 'WARN' } as const;

const pair = (name: string, value: string | number | bigint): string => `${`${name}:`.padEnd(16)}${value}`;

/** Text of a header may be anything: it is shown, not obeyed. */
const shown = (text: string): string => printable(text);

export function inspectionText(inspection: Inspection): string {
  const { header } = inspection;
  const lines = [
    `LUKS header information for ${inspection.image}`,
    '',
    pair('Version', header.version),
    ...factsOf(header),
    '',
    'Data segments:',
    ...header.segments.flatMap(segmentLines),
    '',
    'Keyslots:',
    ...header.keyslots.flatMap((slot) => keyslotLines(slot, header)),
  ];
  if (header.tokens.length > 0) lines.push('', 'Tokens:');
  for (const { id, type, keyslots } of header.tokens) {
    lines.push(`  ${id}: ${shown(type)}`, `\tKeyslots:   ${keyslots.join(', ') || '(none)'}`);
  }
  lines.push('', 'Digests:');
  for (const { id, type, hash, iterations, segments } of header.digests) {
    lines.push(`  ${id}: ${shown(type)}`);
    if (type === 'pbkdf2') lines.push(`\tHash:       ${shown(hash)}`, `\tIterations: ${iterations}`);
    lines.push(`\tSegments:   ${segments.join(', ') || '(none)'}`);
  }
  lines.push('', 'On this machine:');
  for (const { segment, algorithm, drivers } of inspection.ciphers) {
    for (const { driver, supported, implementation, reason } of drivers) {
      const who = implementation
        ? `${implementation.kernelDriver}, hardware: ${implementation.hardware}`
        : reason
          ? describeReason(reason)
          : '';
      lines.push(
        `  segment ${segment}: ${algorithm} by ${driver}: ${supported ? 'yes' : 'no'}${who && ` (${who})`}`,
      );
    }
  }
  lines.push('', 'Judgement:');
  for (const { verdict, about, message, cure } of inspection.judgements) {
    const text = `${about}: ${message}${cure === undefined ? '' : ` (${cure})`}`;
    const [first = '', ...more] = wrap(shown(text), COLUMNS - 8);
    lines.push(`  [${MARKS[verdict]}] ${first}`, ...more.map((line) => `         ${line}`));
  }
  return `${lines.join('\n')}\n`;
}

function factsOf({
  luks2,
  uuid,
  label,
  subsystem,
  flags,
  requirements,
  metadataBytes,
}: LuksHeader): string[] {
  const list = (items: readonly string[]): string => items.map(shown).join(' ') || '(none)';
  const lines = [pair('UUID', shown(uuid))];
  if (!luks2) return [...lines, pair('Header ends at', `${metadataBytes} [bytes]`)];
  return [
    pair('Epoch', luks2.seqid),
    pair('Metadata area', `${luks2.headerBytes} [bytes]`),
    pair('Keyslots area', `${luks2.keyslotsBytes} [bytes]`),
    ...lines,
    pair('Label', shown(label || '(no label)')),
    pair('Subsystem', shown(subsystem || '(no subsystem)')),
    pair('Flags', list(flags)),
    pair('Requirements', list(requirements)),
    pair('Checksum', shown(luks2.checksum)),
    ...luks2.copies.map(({ name, offset, seqid, problem }) =>
      pair(
        `Copy at ${offset}`,
        `${name}, ${problem === undefined ? `epoch ${seqid}` : `unusable: ${shown(problem)}`}`,
      ),
    ),
  ];
}

function segmentLines({ id, type, offset, bytes, flags, crypt }: Segment): string[] {
  const lines = [
    `  ${id}: ${shown(type)}`,
    `\toffset: ${offset} [bytes]`,
    `\tlength: ${bytes === undefined ? '(whole device)' : `${bytes} [bytes]`}`,
  ];
  if (crypt) {
    lines.push(`\tcipher: ${shown(crypt.encryption)}`, `\tsector: ${crypt.sectorBytes} [bytes]`);
    if (crypt.ivTweak !== 0n) lines.push(`\tIV starts at: ${crypt.ivTweak}`);
    if (crypt.integrity !== undefined) lines.push(`\tintegrity: ${shown(crypt.integrity)}`);
  }
  if (flags.length > 0) lines.push(`\tflags : ${flags.map(shown).join(', ')}`);
  return lines;
}

const PRIORITY = ['ignored', 'normal', 'preferred'];

function keyslotLines(slot: Keyslot, { digests }: LuksHeader): string[] {
  const { id, type, keyBytes, area, priority } = slot;
  const lines = [
    `  ${id}: ${shown(type)}`,
    `\tKey:        ${keyBytes * 8} bits`,
    `\tPriority:   ${PRIORITY[priority]}`,
  ];
  if (opensByPassphrase(slot)) {
    const { kdf, af } = slot;
    lines.push(
      `\tCipher:     ${shown(slot.area.encryption)}`,
      `\tCipher key: ${slot.area.keyBytes * 8} bits`,
      `\tPBKDF:      ${kdf.type}`,
    );
    if (kdf.type === 'pbkdf2') {
      lines.push(`\tHash:       ${shown(kdf.hash)}`, `\tIterations: ${kdf.iterations}`);
    } else {
      lines.push(
        `\tTime cost:  ${kdf.iterations}`,
        `\tMemory:     ${kdf.memoryKiB}`,
        `\tThreads:    ${kdf.threads}`,
      );
    }
    lines.push(
      `\tSalt:       ${kdf.salt.toString('hex')}`,
      `\tAF stripes: ${af.stripes}`,
      `\tAF hash:    ${shown(af.hash)}`,
    );
  }
  lines.push(`\tArea offset:${area.offset} [bytes]`, `\tArea length:${area.bytes} [bytes]`);
  const digest = digests.find(({ keyslots }) => keyslots.includes(id));
  lines.push(`\tDigest ID:  ${digest?.id ?? '(none: it holds no key of this volume)'}`);
  return lines;
}

/** No key is in it: salts and digests are as public as the header. */
export function inspectionJson({ header, ...rest }: Inspection): unknown {
  const { luks2, ...facts } = header;
  return {
    ...rest,
    header: {
      ...facts,
      ...(luks2
        ? {
            headerBytes: luks2.headerBytes,
            keyslotsBytes: luks2.keyslotsBytes,
            seqid: luks2.seqid,
            checksum: luks2.checksum,
            copies: luks2.copies,
          }
        : {}),
    },
  };
}

/** JSON text: 64-bit numbers as decimal text, as LUKS2's own metadata has them, and bytes in base64. */
export function inspectionJsonText(inspection: Inspection): string {
  const plain = (_: string, value: unknown): unknown => {
    if (typeof value === 'bigint') return String(value);
    const bytes = value as { type?: unknown; data?: unknown } | null;
    if (bytes?.type === 'Buffer' && Array.isArray(bytes.data))
      return Buffer.from(bytes.data).toString('base64');
    return value;
  };
  return `${JSON.stringify(inspectionJson(inspection), plain, 2)}\n`;
}
