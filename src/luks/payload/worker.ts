/** One thread of a copy. */
import { parentPort, workerData } from 'node:worker_threads';

import type { Fallback } from '../../routing/router.js';
import { type ChunkTask, runChunks } from './chunks.js';
import type { ChunkAnswer } from './copy.js';

const say = (answer: ChunkAnswer): void => parentPort?.postMessage(answer);
try {
  const chunks = runChunks(workerData as ChunkTask, (fallback: Fallback) => say({ fallback }));
  let step = chunks.next();
  while (!step.done) step = chunks.next();
  say({ doneBy: step.value });
} catch (error) {
  const { message, code } = error as Error & { code?: string };
  say({ error: { message, ...(code === undefined ? {} : { code }) } });
}
