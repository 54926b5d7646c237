/**
 * What has to be undone when the process is told to stop: temporary files removed, the terminal's echo restored.
 *
 * Room `files`. Signal handlers are installed while there is something to undo and no longer, so that importing this
 * room changes nothing in a program.
 */

/** What tells a process to stop. SIGQUIT is no request for a core here: a second one makes it. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

const undos = new Set<() => void>();

function stop(signal: NodeJS.Signals): void {
  for (const undo of [...undos].reverse()) {
    try {
      undo();
    } catch {
      // The next one must run all the same.
    }
  }
  undos.clear();
  watch(false);
  // Dies of the signal itself, so that a shell sees 130 and stops its loop as it would for any other program.
  process.kill(process.pid, signal);
}

let watching = false;

function watch(on: boolean): void {
  if (on === watching) return;
  watching = on;
  for (const signal of SIGNALS) {
    if (on) process.on(signal, stop);
    else process.off(signal, stop);
  }
}

/** Runs `undo` (synchronous) if SIGINT, SIGTERM, SIGHUP or SIGQUIT arrives before the function that is returned was called. */
export function onInterrupt(undo: () => void): () => void {
  undos.add(undo);
  watch(true);
  return () => {
    undos.delete(undo);
    if (undos.size === 0) watch(false);
  };
}
