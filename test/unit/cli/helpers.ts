import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CommandSpec, parse } from '#src/cli/options.js';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
export const MAIN = fileURLToPath(import.meta.resolve('#src/cli/main.js'));

export interface Result {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Runs a program to its end. */
export function program(file: string, args: readonly string[], options: RunOptions = {}): Result {
  const { status, signal, stdout, stderr, error } = spawnSync(file, args, {
    input: options.input ?? '',
    cwd: options.cwd,
    env: { ...process.env, HWCRYPT_DEBUG: undefined, ...options.env },
    maxBuffer: 2 ** 28,
    timeout: 60_000,
  });
  if (error) throw error;
  return { status, signal, stdout: stdout.toString(), stderr: stderr.toString(), bytes: stdout };
}

export function hwcrypt(args: readonly string[], options?: RunOptions): Result {
  return program(process.execPath, [MAIN, ...args], options);
}

export function start(args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], options);
}

export function ended(
  child: ChildProcess,
): Promise<{ status: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => {
    child.on('close', (status, signal) => resolve({ status, signal }));
  });
}

/** A command line in which `hwcrypt` is the program under test, for pipes and redirections. */
export function shell(script: string, options: RunOptions = {}): Result {
  const quoted = [process.execPath, MAIN].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return program('bash', ['-c', `hwcrypt() { ${quoted} "$@"; }; ${script}`], options);
}

/**
 * What a command line that must fail comes to, without a process of its own: message and exit status, as `main` would
 * give them.
 */
export async function failure(
  command: CommandSpec,
  argv: readonly string[],
): Promise<{ readonly message: string; readonly status: number }> {
  try {
    const { given, operands } = parse(command, argv);
    await command.run(given, operands);
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    const usage = code === 'USAGE' || code === 'ERR_INVALID_ARG_VALUE';
    return { message, status: usage ? 2 : 1 };
  }
  throw new Error(`${argv.join(' ')}: it did not fail`);
}

export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function missing(name: string, args: readonly string[]): false | string {
  return spawnSync(name, args).error ? `${name} is not installed: it is what this test compares with` : false;
}

export const noOpenssl = missing('openssl', ['version']);
export const noCoreutils = missing('sha256sum', ['--version']);
/** util-linux's script, which gives a program a terminal. */
export const noTerminal = missing('script', ['--version']);
