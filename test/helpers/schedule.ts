/** Jobs side by side, as far as there are processors for them. */

export interface CostedJob {
  /** How many processors it keeps busy. */
  readonly cost: number;
  readonly run: () => Promise<void>;
}

/** In order, except that a job too big for what is free now lets smaller ones pass. One too big for all runs alone. */
export async function schedule(jobs: readonly CostedJob[], processors: number): Promise<void> {
  const waiting = [...jobs];
  const running = new Set<Promise<void>>();
  let free = processors;
  while (waiting.length > 0 || running.size > 0) {
    const fits = waiting.findIndex(({ cost }) => cost <= free || running.size === 0);
    const job = fits < 0 ? undefined : waiting.splice(fits, 1)[0];
    if (job === undefined) {
      await Promise.race(running);
      continue;
    }
    free -= job.cost;
    const promise: Promise<void> = job.run().finally(() => {
      free += job.cost;
      running.delete(promise);
    });
    running.add(promise);
  }
}
