/**
 * A plan for an encrypted disk as text: the verdict, the table, the reasons, the commands, what to beware of; and as JSON.
 *
 * Room `report`.
 */
import type { Quote } from '../doctor/index.js';
import type { Plan, Prediction, Row } from '../planning/index.js';
import { placeOf, quotesOf } from '../planning/index.js';
import { table } from './table.js';
import { wrap } from './text.js';
import { threeFigures } from './units.js';

const PIPE_COLUMNS = 80;
const NARROWEST = 60;
/** Sectors that disks have; the others are in the JSON. */
const SHOWN = [512, 4096];
const MARKS: Readonly<Record<Prediction['certainty'], string>> = {
  measured: '',
  between: '~',
  beyond: '~',
  'at-most': '<=',
  'at-least': '>=',
};

export function planText(plan: Plan, columns?: number): string {
  const width = Math.max(NARROWEST, columns ?? PIPE_COLUMNS);
  const { recommended, caveats, notes } = plan;
  const quotes = quotesOf(shownRows(plan));
  const lines = [...wrap(`${plan.verdict}.`, width), ''];
  const known = knownLine(plan);
  if (known !== '') lines.push(...wrap(known, width), '');
  lines.push(table(TITLES, tableRows(plan, quotes), width));
  lines.push(...legend(plan, quotes, width));
  lines.push('Why:', ...recommended.reasons.flatMap((reason) => hanging(`- ${reason}.`, 2, width)), '');
  if (notes.length > 0)
    lines.push('To be told:', ...notes.flatMap((note) => hanging(`- ${note}.`, 2, width)), '');
  lines.push('Commands (none of them was run):');
  for (const { text, commands } of plan.steps) {
    lines.push(...hanging(`# ${text}.`, 2, width, '# '), ...commands.map((command) => `  ${command}`));
  }
  lines.push('', 'Beware:', ...caveats.flatMap(({ text }) => hanging(`- ${text}`, 2, width)));
  return `${lines.join('\n')}\n`;
}

/** As `PLAN_SCHEMA` describes it. */
export function planJsonText(plan: Plan): string {
  // What a row was made of is no part of it.
  const replacer = (key: string, value: unknown): unknown =>
    key === 'line' && typeof value === 'object' ? undefined : value;
  return `${JSON.stringify(plan, replacer, 2)}\n`;
}

const TITLES = [
  { title: '' },
  { title: 'cipher' },
  { title: 'key', align: 'right' },
  { title: 'sector', align: 'right' },
  { title: 'read', align: 'right' },
  { title: 'write', align: 'right' },
  { title: 'sure' },
  { title: 'from' },
  { title: 'by' },
] as const;

/** Of Serpent and its like, which no engine does and no instructions, the figures are in the JSON. */
const isShown = ({ sectorBytes, cipher }: Row): boolean =>
  SHOWN.includes(sectorBytes) && /^aes-|,aes-/.test(cipher);

const SURENESS = ['certain', 'likely', 'possible'] as const;

function shownRows({ rows, recommended, current }: Plan): Row[] {
  return rows.filter((row) => isShown(row) || row === recommended.row || row === current?.row);
}

function tableRows(plan: Plan, quotes: readonly Quote[]): string[][] {
  const { recommended, current } = plan;
  return shownRows(plan).map((row) => {
    const predictions = [row.read, row.write].flatMap((one) => (one ? [one] : []));
    const sure = SURENESS.findLast((one) => predictions.some(({ sureness }) => sureness === one)) ?? '';
    const from = [...new Set(predictions.map(({ quote }) => numberOf(quote, quotes)))];
    return [
      row === recommended.row ? '->' : row === current?.row ? 'is' : '',
      row.cipher,
      String(row.keyBits),
      String(row.sectorBytes),
      megabytes(row.read),
      megabytes(row.write),
      sure,
      from.map((number) => `[${number}]`).join(''),
      byText(row),
    ];
  });
}

const numberOf = (quote: Quote, quotes: readonly Quote[]): number =>
  quotes.findIndex((own) => placeOf(own) === placeOf(quote)) + 1;

function megabytes(prediction: Prediction | undefined): string {
  if (!prediction) return '-';
  return `${MARKS[prediction.certainty]}${threeFigures(prediction.bytesPerSecond / 1e6)}`;
}

function byText({ kernelDriver, hardware, partly, read, write }: Row): string {
  if (kernelDriver === undefined) return (read ?? write)?.by === 'program' ? 'CPU' : '';
  return `${kernelDriver}${hardware === 'yes' ? (partly ? ', partly hardware' : ', hardware') : ''}`;
}

function legend(plan: Plan, quotes: readonly Quote[], width: number): string[] {
  const predictions = shownRows(plan).flatMap(({ read, write }) =>
    [read, write].flatMap((one) => (one ? [one] : [])),
  );
  if (predictions.length === 0) return [];
  const used = new Set(predictions.map(({ certainty }) => MARKS[certainty]));
  const marks = [
    `read and write in MB/s; -> recommended${plan.current?.row ? '; is: as it is now' : ''}`,
    ...(used.has('~') ? ['~ worked out from other sizes, or without system calls'] : []),
    ...(used.has('<=') ? ['<= at most'] : []),
    ...(used.has('>=') ? ['>= at least'] : []),
  ];
  const doubts = new Map(
    predictions.flatMap(({ quote, doubt }) =>
      doubt === undefined ? [] : [[numberOf(quote, quotes), doubt]],
    ),
  );
  return [
    ...wrap(marks.join('; '), width),
    ...quotes.flatMap((quote, index) => {
      const doubt = doubts.get(index + 1);
      const place = quote.line === 0 ? quote.source : `${quote.source}:${quote.line}`;
      return hanging(
        `[${index + 1}] ${place}: ${quote.text}${doubt === undefined ? '' : ` (${doubt})`}`,
        4,
        width,
      );
    }),
    '',
  ];
}

function knownLine({ machine, disk, current }: Plan): string {
  const { model, cpu, cpus, kernel, memoryKiB } = machine;
  const parts = [
    model,
    cpu,
    cpus === undefined ? undefined : `${cpus} CPU${cpus === 1 ? '' : 's'}`,
    kernel === undefined ? undefined : `Linux ${kernel}`,
    memoryKiB === undefined ? undefined : `${Math.round(memoryKiB / 1024)} MiB of memory`,
    disk.device,
    disk.physicalBytes === undefined
      ? undefined
      : `sectors of ${disk.logicalBytes ?? '?'} bytes, physical ${disk.physicalBytes}`,
  ].filter((part) => part !== undefined);
  const is = current
    ? `Now (${current.from}): ${
        current.kind === 'plain'
          ? current.fileSystem
            ? `not encrypted, ${current.fileSystem.type} with blocks of ${current.fileSystem.blockBytes} bytes`
            : current.dataOffset === undefined
              ? 'not encrypted'
              : 'no LUKS header: unencrypted, plain dm-crypt, or its header is lost'
          : `${{ luks1: 'LUKS1', luks2: 'LUKS2', 'dm-crypt': 'dm-crypt' }[current.kind]}, ${current.cipher ?? 'cipher not known'}${current.keyBits === undefined ? '' : `, ${current.keyBits} bits`}${current.sectorBytes === undefined ? '' : `, sectors of ${current.sectorBytes} bytes`}`
      }.`
    : '';
  return [parts.length > 0 ? `${parts.join(', ')}.` : '', is].filter((part) => part !== '').join(' ');
}

function hanging(text: string, indent: number, width: number, lead = ' '.repeat(indent)): string[] {
  const [first = '', ...more] = wrap(text, width - indent);
  return [first, ...more.map((line) => `${lead}${line}`)];
}
