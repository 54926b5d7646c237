/** Which process is which: a number alone is used again, a number and the time it began is not. */
import { readText } from './proc.js';

/** When a process began, in clock ticks after the start of the machine: field 22 of /proc/PID/stat. Undefined where there is none. */
export function processStart(pid: number, root = '/'): string | undefined {
  return parseProcessStart(readText(`/proc/${pid}/stat`, root) ?? '');
}

/** The second field is the program's name in brackets, with any character in it, so counting begins behind the last of those. */
export function parseProcessStart(text: string): string | undefined {
  const rest = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const start = rest[19];
  return text.includes(')') && start !== undefined && /^\d+$/.test(start) ? start : undefined;
}

/**
 * Nanoseconds of CPU time that the calling thread has used, by the scheduler's own account. Undefined where the kernel keeps none
 * (CONFIG_SCHED_INFO).
 */
export function readThreadCpuNs(root = '/'): number | undefined {
  const ns = /^\d+/.exec(readText('/proc/thread-self/schedstat', root) ?? '')?.[0];
  return ns === undefined ? undefined : Number(ns);
}
