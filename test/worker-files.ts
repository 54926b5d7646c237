/** What the worker and its reporter share: they are loaded by different hands into one process. */

let next: (() => void) | undefined;

/** Resolves when the reporter has told of a file's end. */
export function nextFileEnd(): Promise<void> {
  return new Promise((resolve) => {
    next = resolve;
  });
}

export function fileEnded(): void {
  next?.();
}
