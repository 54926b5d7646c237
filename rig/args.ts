/** The command line of `npm run rig`: its grammar, its help, and nothing that acts. */
import { parseArgs } from 'node:util';
import { parseKnobs } from './cryptodev/knobs.js';
import type { GuestKind, GuestOptions } from './types.js';

export const usage = `Runs a command in a guest kernel, in the project's folder. The host's files are there read-only; one folder is not.

  npm run rig -- uml  [options] -- COMMAND [ARGUMENT…]     user-mode Linux: has AF_ALG; seconds; slow system calls
  npm run rig -- qemu [options] -- COMMAND [ARGUMENT…]     QEMU: has an accelerator too (virtio-crypto)

Options:
  --results DIR          the folder that the guest can write to, HWCRYPT_RESULTS in there (default results/uml, results/qemu)
  --env NAME=VALUE       set in the command's environment, which else holds little (repeatable)
  --module NAME          load a kernel module first (repeatable); the AF_ALG ones load themselves
  --modprobe-conf LINE   a line for the guest's modprobe.d: 'install algif_skcipher /bin/false' (repeatable)
  --cryptodev            with a provided /dev/crypto, for as long as the command runs (rig/cryptodev)
  --knobs JSON           … which claims, fails or delays: '{"claims":{"*":{"driver":"mtk-aes","hardware":true}}}'
  --memory MIB           the guest's memory (default 1024)
  --timeout SECONDS      end the guest after this long, booting included (default 600)
  --boot-timeout SECONDS … where it has not reached the command after this long (default uml 120, qemu 180)
  --verbose              show the kernel's console on stderr
  --cpu MODEL            qemu: processor (default max; 'max,-aes,-vaes' has no AES instructions)
  --smp N                qemu: processors (default 1)
  --no-accelerator       qemu: no virtio-crypto device
  --help

Exit status: the command's own (128 + n where signal n ended it); 124 time is up; 125 the guest died or could not be set
up; 129, 130, 143 this command was ended by SIGHUP, SIGINT, SIGTERM; 2 wrong usage.
`;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface RigCommand {
  readonly help: false;
  readonly verbose: boolean;
  readonly options: GuestOptions;
}

const qemuOnly = ['cpu', 'smp', 'no-accelerator'] as const;

export function parseRigArguments(args: readonly string[]): RigCommand | { readonly help: true } {
  const separator = args.indexOf('--');
  const own = separator < 0 ? args : args.slice(0, separator);
  const command = separator < 0 ? [] : args.slice(separator + 1);
  const { values, positionals } = parse(own);
  if (values.help) return { help: true };

  const [kind, ...extra] = positionals;
  if (kind !== 'uml' && kind !== 'qemu') {
    throw new UsageError(kind === undefined ? 'which guest: uml or qemu?' : `no guest is called '${kind}'`);
  }
  if (extra.length > 0) throw new UsageError(`'${extra[0]}' is too much; put -- before the command`);
  if (command.length === 0) throw new UsageError('there is no command; put it after --');
  refuseForeign(kind, values);

  return {
    help: false,
    verbose: values.verbose ?? false,
    options: {
      kind,
      command: withCryptodev(values, command),
      env: environment(values.env ?? []),
      modules: (values.module ?? []).map(moduleName),
      modprobeConf: values['modprobe-conf'] ?? [],
      ...optional('memoryMiB', whole('memory', values.memory, 128)),
      ...optional('timeoutSeconds', seconds('timeout', values.timeout)),
      ...optional('bootTimeoutSeconds', seconds('boot-timeout', values['boot-timeout'])),
      ...optional('resultsFolder', values.results),
      ...optional('cpu', values.cpu),
      ...optional('processors', whole('smp', values.smp, 1)),
      ...(values['no-accelerator'] ? { accelerator: false } : {}),
    },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        results: { type: 'string' },
        env: { type: 'string', multiple: true },
        module: { type: 'string', multiple: true },
        'modprobe-conf': { type: 'string', multiple: true },
        cryptodev: { type: 'boolean' },
        knobs: { type: 'string' },
        memory: { type: 'string' },
        timeout: { type: 'string' },
        'boot-timeout': { type: 'string' },
        verbose: { type: 'boolean' },
        cpu: { type: 'string' },
        smp: { type: 'string' },
        'no-accelerator': { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function refuseForeign(kind: GuestKind, values: Record<string, unknown>): void {
  if (kind === 'qemu') return;
  const foreign = qemuOnly.find((name) => values[name] !== undefined);
  if (foreign) throw new UsageError(`--${foreign} is for qemu`);
}

function withCryptodev(
  { cryptodev, knobs }: { cryptodev?: boolean | undefined; knobs?: string | undefined },
  command: readonly string[],
): readonly string[] {
  if (!cryptodev) {
    if (knobs !== undefined) throw new UsageError('--knobs are those of --cryptodev');
    return command;
  }
  try {
    parseKnobs(knobs ?? '{}');
  } catch (error) {
    throw new UsageError(`--knobs: ${(error as Error).message}`);
  }
  return [
    'node',
    'build/rig/cryptodev/main.js',
    ...(knobs === undefined ? [] : ['--knobs', knobs]),
    '--',
    ...command,
  ];
}

function environment(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at <= 0) throw new UsageError(`--env takes NAME=VALUE, not '${pair}'`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

function moduleName(name: string): string {
  if (!/^[\w-]+$/.test(name)) throw new UsageError(`'${name}' is not a module's name`);
  return name;
}

function seconds(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  // Beyond this a timer of Node's fires at once.
  if (!(value > 0 && value <= 2_000_000)) throw new UsageError(`--${name} takes seconds, not '${text}'`);
  return value;
}

function whole(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least) {
    throw new UsageError(`--${name} takes a whole number from ${least}, not '${text}'`);
  }
  return value;
}

function optional<Name extends string, Value>(name: Name, value: Value | undefined): { [N in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Value };
}
