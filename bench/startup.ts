/** How long a command takes before it does anything, above what Node itself takes. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median } from '#src/bench/engine/statistics.js';
import type { Section } from './report.js';

const HWCRYPT = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

function seconds(args: readonly string[]): number {
  const start = process.hrtime.bigint();
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
  return Number(process.hrtime.bigint() - start) / 1e9;
}

export function startup(): Section {
  const commands: [string, string[]][] = [
    ['hwcrypt --version', [HWCRYPT, '--version']],
    ['hwcrypt list', [HWCRYPT, 'list']],
  ];
  const bare: number[] = [];
  const taken = commands.map(() => [] as number[]);
  for (let round = 0; round < 21; round++) {
    bare.push(seconds(['-e', '0']));
    for (const [i, [, args]] of commands.entries()) taken[i]!.push(seconds(args));
  }
  const ms = (value: number): string => `${(value * 1000).toFixed(0)} ms`;
  return {
    title: 'Start-up',
    command: 'npm run bench -- startup',
    how: 'Whole processes in turn with `node -e 0`, 21 rounds; the median of the differences.',
    columns: ['command', 'node -e 0', 'more', 'wanted'],
    rows: commands.map(([what], i) => {
      const more = median(taken[i]!.map((value, round) => value - bare[round]!));
      return {
        what,
        cells: [ms(median(taken[i]!)), ms(median(bare)), ms(more), '< 150 ms'],
        met: more < 0.15,
      };
    }),
  };
}
