/**
 * What `hwcrypt benchmark` tells beside cryptsetup's own lines: small requests, who did the work, the disk.
 *
 * Room `report`. Lines beside cryptsetup's table begin with `#`, and none looks like one of its rows, so that whatever reads that table reads ours.
 */
import { findAlgorithm } from '../algorithms.js';
import type { DiskResult, DiskRow } from '../bench/disk/index.js';
import type { Measurement, Run } from '../bench/model.js';
import { table } from './table.js';
import { wrap } from './text.js';

const MIB = 2 ** 20;
const COLUMNS = 80;
const NOISY_TEXT = '~ the rounds of this figure spread widely: measure again on an idle machine';

/** `12345`, `123.4`: never more than five characters below 100 GiB/s; `~` where the rounds spread. */
function rate(measurement: Measurement | undefined): string {
  if (measurement?.bytesPerSecond === undefined) return measurement?.status === 'failed' ? 'WRONG' : '-';
  const value = measurement.bytesPerSecond / MIB;
  return `${value.toFixed(value < 999.95 ? 1 : 0)}${isNoisy(measurement) ? '~' : ' '}`;
}

function isNoisy({ doubts }: Pick<Measurement, 'doubts'>): boolean {
  return doubts.some(({ code }) => code === 'NOISY');
}

const sizeName = (bytes: number): string => (bytes < 8192 ? `${bytes} B` : `${bytes / 1024} KiB`);

/** `aes-xts`, 512: as cryptsetup counts. */
export function diskName({ algorithm, algorithmText, keyBits }: Measurement): { name: string; bits: number } {
  const known = algorithm === undefined ? undefined : findAlgorithm(algorithm);
  return { name: known?.names.cryptsetup ?? algorithmText, bits: keyBits ?? 0 };
}

/** A comment of one or more lines. */
export function comment(text: string, columns = COLUMNS): string {
  return `${wrap(text, columns - 2)
    .map((line) => `# ${line}`.trimEnd())
    .join('\n')}\n`;
}

interface SizeRow {
  readonly name: string;
  readonly bits: number;
  readonly label: string;
  readonly measurements: Measurement[];
}

/** Every driver's figures at every size, a row for each cipher and driver. */
export function sizesText(runs: readonly Run[]): string {
  const rows = sizeRows(runs);
  if (rows.length === 0) return '';
  const sizes = [
    ...new Set(rows.flatMap((row) => row.measurements.map((own) => own.requestBytes ?? 0))),
  ].sort((a, b) => a - b);
  const nameWidth = Math.max(9, ...rows.map(({ name }) => name.length));
  const labelWidth = Math.max(6, ...rows.map(({ label }) => label.length));
  const line = (name: string, bits: string, label: string, cells: readonly string[]): string =>
    `# ${name.padStart(nameWidth)}  ${bits.padStart(3)}  ${label.padEnd(labelWidth)}  ${cells.join('  ')}`.trimEnd();
  const find = (row: SizeRow, bytes: number, operation: string): Measurement | undefined =>
    row.measurements.find((own) => own.requestBytes === bytes && own.operation === operation);
  const lines = [
    line(
      'Algorithm',
      'Key',
      'Driver',
      sizes.map((bytes) => sizeName(bytes).padStart(12).padEnd(13)),
    ),
    ...rows.map((row) =>
      line(
        row.name,
        String(row.bits),
        row.label,
        sizes.map((bytes) =>
          ['encrypt', 'decrypt'].map((operation) => rate(find(row, bytes, operation)).padStart(6)).join(' '),
        ),
      ),
    ),
  ];
  const noisy = rows.some(({ measurements }) => measurements.some(isNoisy));
  const title = 'MiB/s, encryption and decryption, by bytes a request (disks: 512 or 4096):';
  return `#\n${comment(title)}${lines.join('\n')}\n${noisy ? comment(NOISY_TEXT) : ''}`;
}

function sizeRows(runs: readonly Run[]): SizeRow[] {
  const rows = new Map<string, SizeRow>();
  // In the first run's order of ciphers, with the other drivers' rows beneath each.
  const order = new Map<string, number>();
  for (const run of runs) {
    for (const measurement of run.measurements) {
      const { name, bits } = diskName(measurement);
      const cipher = `${name} ${bits}`;
      if (!order.has(cipher)) order.set(cipher, order.size);
      if (measurement.status === 'unavailable') continue;
      const key = `${cipher} ${run.label}`;
      const row = rows.get(key) ?? { name, bits, label: run.label, measurements: [] };
      row.measurements.push(measurement);
      rows.set(key, row);
    }
  }
  return [...rows.values()].sort(
    (a, b) => (order.get(`${a.name} ${a.bits}`) ?? 0) - (order.get(`${b.name} ${b.bits}`) ?? 0),
  );
}

/** Who did the work of a driver's figures. */
export interface Doer {
  readonly label: string;
  readonly kernelDriver: string;
  readonly hardware: 'yes' | 'no' | 'unknown';
  /** `aes-cbc 128`. */
  readonly ciphers: readonly string[];
}

const VERDICTS = { yes: 'hardware', no: 'software', unknown: 'hardware or not: unknown' } as const;

export function doersText(doers: readonly Doer[], columns = COLUMNS): string {
  if (doers.length === 0) return '';
  const labelWidth = Math.max(...doers.map(({ label }) => label.length));
  const lines = doers.map(({ label, kernelDriver, hardware, ciphers }) => {
    const head = `  ${label.padEnd(labelWidth)}  `;
    const text = wrap(
      `${kernelDriver} (${VERDICTS[hardware]}): ${ciphers.join(', ')}`,
      columns - 2 - head.length,
    );
    return text.map((line, i) => `# ${i === 0 ? head : ' '.repeat(head.length)}${line}`).join('\n');
  });
  return `#\n# Done by:\n${lines.join('\n')}\n`;
}

/** `~` as in the other table. */
const diskRate = (measurement: Measurement | undefined): string =>
  `${plainRate(measurement?.bytesPerSecond)}${measurement && isNoisy(measurement) ? '~' : ''}`;

const plainRate = (bytesPerSecond: number | undefined): string =>
  bytesPerSecond === undefined ? 'N/A' : (bytesPerSecond / MIB).toFixed(1);

/** The rows of the disk's table, and what is to be said of them. */
export function diskText(result: Omit<DiskResult, 'results'>, columns = COLUMNS): string {
  const { rows, plain, passedOver, cleaned } = result;
  const parts: string[] = [];
  if (rows.length > 0) {
    parts.push(
      table(
        [
          { title: 'cipher' },
          { title: 'key', align: 'right' },
          { title: 'sector', align: 'right' },
          { title: 'write MiB/s', align: 'right' },
          { title: 'read MiB/s', align: 'right' },
        ],
        [
          ...rows.map(({ cipher, sectorBytes, write, read }) => [
            cipher.specification,
            String(cipher.keyBits),
            String(sectorBytes),
            diskRate(write),
            diskRate(read),
          ]),
          ...(plain ? [['without encryption', '', '', plainRate(plain.write), plainRate(plain.read)]] : []),
        ],
      ),
    );
  }
  parts.push(doersText(diskDoers(rows), columns));
  const remarks = [
    ...new Set(rows.flatMap(({ problem }) => (problem === undefined ? [] : [problem]))),
    ...passedOver.map(({ text }) => text),
    ...(rows.some(({ write, read }) => [write, read].some((one) => one && isNoisy(one))) ? [NOISY_TEXT] : []),
    ...cleaned.map((name) => `removed ${name}, left by a run that was killed`),
  ];
  if (remarks.length > 0) parts.push(`#\n${remarks.map((text) => comment(text, columns)).join('')}`);
  return parts.join('');
}

function diskDoers(rows: readonly DiskRow[]): Doer[] {
  const doers = new Map<string, { bound: NonNullable<DiskRow['bound']>; ciphers: Set<string> }>();
  for (const { bound, cipher } of rows) {
    if (!bound) continue;
    const own = doers.get(bound.kernelDriver) ?? { bound, ciphers: new Set<string>() };
    own.ciphers.add(`${cipher.specification} ${cipher.keyBits}`);
    doers.set(bound.kernelDriver, own);
  }
  return [...doers.values()].map(({ bound, ciphers }) => ({
    label: 'dm-crypt',
    kernelDriver: bound.kernelDriver,
    hardware: bound.hardware,
    ciphers: [...ciphers],
  }));
}
