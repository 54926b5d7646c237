/**
 * `npm run demo`: the command of that name here, and where this kernel lacks AF_ALG once more in a guest whose kernel has it,
 * so that every driver is seen at work.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { runInGuest, status } from './guest.js';
import { projectFolder } from './paths.js';
import { interruption } from './signals.js';
import { RigUnavailableError } from './types.js';

const HWCRYPT = join('dist', 'cli', 'main.js');

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const { signal, status: interrupted } = interruption();
  // In its own process: the exit status is then the command's, whatever way it ends.
  const child = spawn(process.execPath, [join(projectFolder, HWCRYPT), 'demo', ...args], {
    stdio: 'inherit',
  });
  signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (interrupted() !== undefined) return interrupted() as number;
  // One document of JSON is not followed by another.
  if (code !== 0 || args.some((arg) => /^--?(json|h|help)$/.test(arg)) || kernelShown()) return code ?? 1;
  process.stdout.write(
    '\nThe same in a guest with a kernel that has AF_ALG (starting it takes some seconds):\n\n',
  );
  try {
    const result = await runInGuest({
      kind: 'uml',
      command: ['node', HWCRYPT, 'demo', ...args],
      timeoutSeconds: 300,
      signal,
    });
    if (result.outcome === 'exited') return result.status;
    if (interrupted() !== undefined) return interrupted() as number;
    process.stderr.write(`demo: ${result.message}\n`);
    return status.failed;
  } catch (error) {
    if (!(error instanceof RigUnavailableError)) throw error;
    process.stdout.write(`There is no guest here: ${error.message}\n`);
    return 0;
  }
}

/** Was the kernel's driver among those that just ran? */
function kernelShown(): boolean {
  const asked = spawnSync(process.execPath, [join(projectFolder, HWCRYPT), 'list', '--json'], {
    encoding: 'utf8',
  });
  try {
    const { drivers } = JSON.parse(asked.stdout) as { drivers: { name: string; available: boolean }[] };
    return drivers.some(({ name, available }) => name === 'afalg' && available);
  } catch {
    return true;
  }
}
