/** One thread of a copy. */
import { parentPort, workerData } from 'node:worker_threads';

import { type ChunkTask, runChunks } from './chunks.js';
import type { ChunkAnswer } from './copy.js';

let answer: ChunkAnswer = { done: true };
try {
  for (const _ of runChunks(workerData as ChunkTask));
} catch (error) {
  const { message, code } = error as Error & { code?: string };
  answer = { error: { message, ...(code === undefined ? {} : { code }) } };
}
parentPort?.postMessage(answer);
