/**
 * `node build/rig/cryptodev/main.js [--name NAME] [--knobs JSON] -- COMMAND…`: a command with a provided /dev/crypto, inside a guest;
 * `npm run rig -- uml --cryptodev -- COMMAND…` is the way to it from outside. The exit status is the command's.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { parseArgs } from 'node:util';

import { parseKnobs, serve } from './index.js';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const at = args.indexOf('--');
  const [command, ...rest] = at < 0 ? [] : args.slice(at + 1);
  if (command === undefined) throw new Error('there is no command; put it after --');
  const { values } = parseArgs({
    args: args.slice(0, at),
    options: { name: { type: 'string', default: 'crypto' }, knobs: { type: 'string', default: '{}' } },
  });
  const provider = await serve({ ...parseKnobs(values.knobs), name: values.name });
  // Until the command has ended: it gets the same signals from the terminal.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const child = spawn(command, rest, { stdio: 'inherit' });
  const status = await new Promise<number>((resolve) => {
    child.once('error', (error) => {
      process.stderr.write(`${command}: ${error.message}\n`);
      resolve(127);
    });
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
  await provider.stop();
  return status;
}
