/**
 * Who would do a request, and why, as text.
 *
 * Room `report`.
 */
import { describeReason } from '../errors.js';
import type { Explanation } from '../routing/router.js';
import { table } from './table.js';
import { wrap } from './text.js';
import { rate, requestSize, roughSize, threeFigures } from './units.js';

/** The choice in a sentence, the candidates in a table, and what was left out of account. Ends with a newline. */
export function routingText(told: Explanation, width: number | undefined): string {
  const { algorithm, operation, requestBytes, driver, because, policy, borders, candidates } = told;
  const what = operation === 'digest' ? algorithm : `${algorithm}, ${operation}`;
  const lines = [
    ...wrap(
      `${what}, ${requestSize(requestBytes)}: ${driver} does it, since ${because}.`,
      width ?? Number.POSITIVE_INFINITY,
    ),
    '',
    `policy    ${policy}`,
  ];
  if (borders.length > 1) {
    const ranges = borders.map(({ fromBytes, driver: label }, i) =>
      i === 0
        ? `${label} below ${roughSize(borders[1]!.fromBytes)}`
        : `${label} from ${roughSize(fromBytes)} on`,
    );
    lines.push(`by size   ${ranges.join(', ')}`);
  }
  const { measuredAt, path, notes } = told.profile;
  if (measuredAt !== undefined) lines.push(`measured  ${measuredAt} (${path})`);
  for (const note of notes) lines.push(`profile   ${note}`);
  lines.push('');
  const rows = candidates.map((one) => [
    one.driver === driver ? '*' : '',
    one.driver,
    one.kernelDriver ?? '-',
    one.hardware ?? '-',
    one.elapsedNs === undefined ? '-' : threeFigures(one.elapsedNs / 1000),
    one.elapsedNs === undefined ? '-' : rate(requestBytes, one.elapsedNs),
    one.cpuNs === undefined ? '-' : threeFigures(one.cpuNs / 1000),
    one.barred ? `no work: ${describeReason(one.barred)}` : '',
  ]);
  const columns = [
    { title: '' },
    { title: 'driver' },
    { title: 'implementation' },
    { title: 'hardware' },
    { title: 'µs', align: 'right' as const },
    { title: 'rate', align: 'right' as const },
    { title: 'CPU µs', align: 'right' as const },
    { title: '' },
  ];
  const passed = told.passedOver.map(
    ({ driver: label, reason }) => `passed over: ${label}: ${describeReason(reason)}`,
  );
  return `${lines.join('\n')}\n${table(columns, rows, width)}${passed.map((line) => `${line}\n`).join('')}`;
}
