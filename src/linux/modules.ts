/** Loading a kernel module, where the kernel would not do it of itself. */
import { execFileSync } from 'node:child_process';

/** Asks modprobe, as root's other tools do. True where it says that it is loaded. Blacklists and `install` lines are kept to. */
export function loadModule(name: string): boolean {
  try {
    execFileSync('modprobe', ['-q', '-b', name], {
      stdio: 'ignore',
      timeout: 10_000,
      env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/sbin:/usr/sbin` },
    });
    return true;
  } catch {
    return false;
  }
}
