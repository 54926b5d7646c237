/** Key derivations of several results beside each other. Room `report`. */
import type { KdfComparison, KdfRow } from '../../bench/comparison/index.js';
import { type Cells, type Context, inTables, ratioText } from './layout.js';

/** Functions that more than one measured; nothing where there are none. */
export function kdfText(list: readonly KdfComparison[], context: Context): string {
  const compared = list.filter(({ rows }) => rows.length > 1);
  if (compared.length === 0) return '';
  const title = 'Key derivation';
  const costs = compared.filter(({ kdf }) => kdf !== 'pbkdf2');
  const rates = compared.filter(({ kdf }) => kdf === 'pbkdf2');
  return [
    `${title}\n${'-'.repeat(title.length)}\n`,
    rates.length > 0 ? tables('iterations a second', rates, context, rate) : '',
    rates.length > 0 && costs.length > 0 ? '\n' : '',
    costs.length > 0 ? tables(costTitle(costs), costs, context, cost) : '',
  ].join('');
}

/** Argon2 is given a time, and finds what it can do in it. */
function costTitle(list: readonly KdfComparison[]): string {
  const times = new Set(list.flatMap(({ rows }) => rows.map(({ measurement }) => measurement.targetMs)));
  const [time] = times;
  return times.size === 1 && time !== undefined
    ? `iterations and memory in ${time} ms`
    : 'iterations and memory';
}

function tables(
  title: string,
  list: readonly KdfComparison[],
  { letters, columns }: Context,
  cell: (row: KdfRow) => string,
): string {
  const labels = [...new Set(list.flatMap(({ rows }) => rows.map(({ label }) => label)))];
  const letter = (label: string): string => letters.get(label) ?? label;
  const rows = new Map(list.map((own) => [own, new Map(own.rows.map((row) => [row.label, row]))]));
  const rowOf = (own: KdfComparison, label: string): KdfRow | undefined => rows.get(own)?.get(label);
  const fixed: Cells[] = [{ title, cells: list.map(nameOf), align: 'left' }];
  const columnsOf = (label: string): Cells[] => {
    const ratios = list.map((own) => rowOf(own, label)?.ratio);
    return [
      {
        title: letter(label),
        cells: list.map((own) => {
          const row = rowOf(own, label);
          return row ? cell(row) : '-';
        }),
      },
      ...(ratios.some((ratio) => ratio !== undefined)
        ? [
            {
              title: `${letter(label)}/${letter(labels[0]!)}`,
              cells: ratios.map((ratio) => (ratio === undefined ? '-' : `${ratioText(ratio)}x`)),
            },
          ]
        : []),
    ];
  };
  return inTables([...fixed, ...columnsOf(labels[0]!)], labels.slice(1).map(columnsOf), columns);
}

/** `PBKDF2 sha256, 256 bits`. */
function nameOf({ kdf, hash, keyBits }: KdfComparison): string {
  const name = kdf === 'pbkdf2' ? `PBKDF2${hash === undefined ? '' : ` ${hash}`}` : kdf;
  return keyBits === undefined ? name : `${name}, ${keyBits} bits`;
}

const OTHERWISE = { ok: '-', failed: 'failed', unavailable: 'n/a' } as const;

function rate({ measurement: { status, iterationsPerSecond: value } }: KdfRow): string {
  return status !== 'ok' || value === undefined ? OTHERWISE[status] : String(Math.round(value));
}

/** `4 x 512 MiB, 4 threads`: what was found to take the time asked for. */
function cost({ measurement: { status, iterations, memoryKiB, threads } }: KdfRow): string {
  if (status !== 'ok' || iterations === undefined || memoryKiB === undefined) return OTHERWISE[status];
  const memory = memoryKiB < 1024 ? `${memoryKiB} KiB` : `${Math.round(memoryKiB / 1024)} MiB`;
  return `${iterations} x ${memory}${threads === undefined ? '' : `, ${threads} thr.`}`;
}
