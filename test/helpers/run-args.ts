/** The command line of `npm test`. */
import { parseArgs } from 'node:util';
import { layers } from './layers.js';

export const usage = `Runs the tests: style and types, then every layer.

  npm test -- [options]

Options:
  --layer NAME     only this: check (style and types), ${layers.map(({ name }) => name).join(', ')} (repeatable)
  --filter TEXT    only the files whose name has TEXT in it; where there is none, the tests whose name has
  --minutes N      end what is not done after this long (default 9.5)
  --verbose        time of each layer and its slowest tests
  --help

Unless CI is set, a layer that cannot run here, or a test that is skipped, does not fail the run.
`;

export interface RunArguments {
  readonly help: boolean;
  /** Names, with `check` among them; in the order of the table. */
  readonly layers: readonly string[];
  readonly filter?: string | undefined;
  readonly minutes: number;
  readonly verbose: boolean;
}

export function parseRunArguments(args: readonly string[]): RunArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean', short: 'h' },
      layer: { type: 'string', multiple: true },
      filter: { type: 'string' },
      minutes: { type: 'string', default: '9.5' },
      verbose: { type: 'boolean' },
    },
  });
  const known = ['check', ...layers.map(({ name }) => name)];
  const unknown = values.layer?.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new RangeError(`no layer is called '${unknown}'; there are ${known.join(', ')}`);
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes < 10_000))
    throw new RangeError(`--minutes takes a number, not '${values.minutes}'`);
  // A filter is about tests, of which `check` has none.
  const chosen = values.layer ?? (values.filter === undefined ? known : known.slice(1));
  return {
    help: values.help ?? false,
    layers: known.filter((name) => chosen.includes(name)),
    filter: values.filter,
    minutes,
    verbose: values.verbose ?? false,
  };
}
