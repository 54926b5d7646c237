/** One thread of a `ParallelRunner`. */
import { parentPort, workerData } from 'node:worker_threads';

import { findAlgorithm } from '../../algorithms.js';
import { parseDriver } from '../../drivers/registry.js';
import type { WorkerAnswer, WorkerOrder, WorkerTask } from './parallel.js';
import { LocalRunner } from './runner.js';
import { makeWorkload } from './workload.js';

const port = parentPort;
if (port === null) throw new Error('this file is a worker thread');
const say = (message: WorkerAnswer): void => port.postMessage(message);

function failed(error: unknown): void {
  const { message, code } = error as Error & { code?: string };
  say({ error: { message, ...(code === undefined ? {} : { code }) } });
}

const task = workerData as WorkerTask;
try {
  const algorithm = findAlgorithm(task.algorithm);
  if (algorithm === undefined) throw new Error(`there is no algorithm ${task.algorithm}`);
  const subject = { algorithm, operation: task.operation, requestBytes: task.requestBytes };
  const runner = new LocalRunner(makeWorkload(subject, parseDriver(task.driver)));
  port.on('message', (order: WorkerOrder) => {
    try {
      if ('warmUpNs' in order) {
        runner.warmUpNow(order.warmUpNs);
        say({ ready: true });
      } else say({ round: runner.roundNow(order.roundNs) });
    } catch (error) {
      failed(error);
    }
  });
  say({ ready: true });
} catch (error) {
  failed(error);
}
