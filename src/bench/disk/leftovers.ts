/**
 * What a run that was killed may have left, and taking it away.
 *
 * A mapping goes by itself when its last user closes it, also one that is killed (mapping.ts). What stays is a mapping whose maker died
 * in the milliseconds before that was set up, or any on a kernel before 3.13. It is known by its name and by its UUID,
 * which both hold the maker's process number and the time at which that process began; it is removed only if that process is no more and
 * nobody has the device open.
 */
import type { DmDevice } from '../../linux/device-mapper.js';
import { ERRNO } from '../../linux/errno.js';
import { clearLoop, memoryLoops } from '../../linux/loop.js';
import { processStart } from '../../linux/processes.js';

export const UUID_PREFIX = 'HWCRYPT-';
const LABEL = /^hwcrypt-bench-(\d{1,10})-(\d{1,20})(?:-\d{1,4})?$/;

/** `hwcrypt-bench-1234-567890`: whose a device is. */
export function ownerLabel(pid = process.pid, start = processStart(pid)): string {
  return `hwcrypt-bench-${pid}-${start ?? '0'}`;
}

/** What cleaning looks at and does; a test has one of its own. */
export interface Leftovers {
  names(): readonly string[];
  status(name: string): DmDevice | number;
  remove(name: string): number;
  loops(): readonly { readonly path: string; readonly label: string }[];
  clearLoop(path: string): number;
  /** When a process began, undefined where there is none of that number. */
  processStart(pid: number): string | undefined;
}

export function liveLeftovers(dm: Pick<Leftovers, 'names' | 'status' | 'remove'>): Leftovers {
  return {
    names: () => dm.names(),
    status: (name) => dm.status(name),
    remove: (name) => dm.remove(name),
    loops: () => memoryLoops(),
    clearLoop: (path) => clearLoop(path),
    processStart: (pid) => processStart(pid),
  };
}

function isAbandoned(label: string, system: Leftovers): boolean {
  const [, pid, start] = LABEL.exec(label) ?? [];
  return pid !== undefined && system.processStart(Number(pid)) !== start;
}

/** Removes what dead runs left. Returns its names. Never throws for one that resists. */
export function cleanLeftovers(system: Leftovers): string[] {
  const removed: string[] = [];
  for (const name of system.names()) {
    if (!isAbandoned(name, system)) continue;
    const found = system.status(name);
    // Not of our making, whatever its name; or in use.
    if (typeof found === 'number' || found.uuid !== UUID_PREFIX + name || found.openCount > 0) continue;
    const status = system.remove(name);
    if (status === 0 || status === -ERRNO.ENXIO) removed.push(name);
  }
  // Those of the mappings above have cleared themselves.
  for (const { path, label } of system.loops()) {
    if (isAbandoned(label, system) && system.clearLoop(path) === 0) removed.push(path);
  }
  return removed;
}
