/** Ends what runs when this process is told to end: Ctrl-C, SIGTERM, a closed terminal, a reader that went away. */
import { constants } from 'node:os';

export interface Interruption {
  readonly signal: AbortSignal;
  /** 128 + n of the signal that came; undefined where none did. */
  status(): number | undefined;
}

export function interruption(): Interruption {
  const controller = new AbortController();
  let status: number | undefined;
  const on = (name: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE') => {
    status ??= 128 + constants.signals[name];
    controller.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, on);
  // Node ignores SIGPIPE; the write fails instead.
  process.stdout.on('error', () => on('SIGPIPE'));
  return { signal: controller.signal, status: () => status };
}
