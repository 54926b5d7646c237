/** One thread of a `ThreadPool`. */
import { parentPort } from 'node:worker_threads';

import { findAlgorithm } from '../../algorithms.js';
import { parseDriver } from '../../drivers/registry.js';
import type { WorkerAnswer, WorkerOrder, WorkerTask } from './parallel.js';
import { LocalRunner } from './runner.js';
import { makeWorkload } from './workload.js';

const port = parentPort;
if (port === null) throw new Error('this file is a worker thread');

const runners = new Map<number, LocalRunner>();

function open({ algorithm: name, operation, requestBytes, aadBytes, driver }: WorkerTask): LocalRunner {
  const algorithm = findAlgorithm(name);
  if (algorithm === undefined) throw new Error(`there is no algorithm ${name}`);
  const subject = { algorithm, operation, requestBytes, ...(aadBytes === undefined ? {} : { aadBytes }) };
  return new LocalRunner(makeWorkload(subject, parseDriver(driver)));
}

function obey(order: Exclude<WorkerOrder, { end: true }>): WorkerAnswer {
  const { id } = order;
  if ('open' in order) {
    runners.set(id, open(order.open));
    return { done: true };
  }
  const runner = runners.get(id);
  if ('close' in order) {
    runners.delete(id);
    runner?.close();
    return { done: true };
  }
  if (runner === undefined) throw new Error('there is no session of that number');
  if ('warmUpNs' in order) return { round: runner.warmUpNow(order.warmUpNs) };
  if ('roundNs' in order) return { round: runner.roundNow(order.roundNs) };
  return { right: runner.verifyNow() };
}

port.on('message', (order: WorkerOrder) => {
  if ('end' in order) {
    for (const runner of runners.values()) runner.close();
    port.close();
    return;
  }
  let answer: WorkerAnswer;
  try {
    answer = obey(order);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    answer = { error: { message, ...(code === undefined ? {} : { code }) } };
  }
  port.postMessage(answer);
});
