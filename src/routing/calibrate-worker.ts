/** The thread of `calibrateInBackground`. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

import { nowNs } from '../bench/engine/clock.js';
import { HwcryptError } from '../errors.js';
import { readThreadCpuNs } from '../linux/processes.js';
import { type BackgroundAnswer, calibrate } from './calibrate.js';

const port = parentPort;
if (port === null) throw new Error('this file is a worker thread');

/** On Linux that is this thread's own, and the program's other threads keep theirs. */
const NICE = 10;

async function answer(): Promise<BackgroundAnswer> {
  try {
    setPriority(0, NICE);
  } catch {
    // Then it works at the priority of the others.
  }
  try {
    const usage = readThreadCpuNs();
    return {
      entries: await calibrate([workerData as string], {
        quick: true,
        ...(usage === undefined
          ? {}
          : {
              surroundings: {
                // The process’s own would have the other threads’ work in it.
                instruments: {
                  now: nowNs,
                  cpu: () => ({ userNs: readThreadCpuNs() ?? 0, systemNs: 0 }),
                  interrupts: () => undefined,
                },
              },
            }),
      }),
    };
  } catch (error) {
    const { message, code, reason } = error as HwcryptError;
    const isOurs = error instanceof HwcryptError;
    return {
      error: {
        message,
        ...(isOurs ? { code } : {}),
        ...(isOurs && reason !== undefined ? { reason } : {}),
      },
    };
  }
}

port.postMessage(await answer());
