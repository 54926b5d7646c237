/**
 * The provider's process. A thread waits in read(2) on /dev/cuse and answers; this one speaks with whoever started it, and ends with it.
 *
 * It ends by a signal, from outside or from here: a thread that waits in the kernel cannot be asked to.
 */
import { chmodSync, existsSync, writeSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { serveCuse } from './cuse.js';
import { CryptoDevice } from './device.js';
import { Control, type Counters, type Knobs, readCounters, sharedState, writeKnobs } from './knobs.js';

export interface ServerArguments {
  readonly name: string;
  readonly knobs: Knobs;
}

export type Order =
  | { readonly id: number; readonly order: 'set'; readonly knobs: Knobs }
  | { readonly id: number; readonly order: 'counters' };

export type Report =
  | { readonly report: 'ready' }
  | { readonly report: 'failed'; readonly message: string }
  | { readonly report: 'done'; readonly id: number; readonly counters: Counters };

interface ThreadData {
  readonly name: string;
  readonly state: SharedArrayBuffer;
}

const APPEARS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 5;
/** The module's: anybody may use it. */
const MODE = 0o666;

if (isMainThread) main(JSON.parse(process.argv[2] ?? '{}') as ServerArguments);
else serve(workerData as ThreadData);

function end(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal is there before the call returns; this is for the compiler.
  throw new Error('SIGKILL was survived');
}

function serve({ name, state }: ThreadData): void {
  try {
    serveCuse(name, new CryptoDevice(new Control(state), end));
    parentPort!.postMessage('the kernel has closed the device');
  } catch (error) {
    parentPort!.postMessage((error as Error).message);
  }
}

function main({ name, knobs }: ServerArguments): void {
  const state = sharedState();
  writeKnobs(state, knobs);
  const tell = (report: Report): void => {
    process.send?.(report, undefined, undefined, (error: Error | null) => error && end());
  };
  const fail = (message: string): void => {
    process.send?.({ report: 'failed', message } satisfies Report, undefined, undefined, end);
  };
  process.on('disconnect', end);
  // Node's own way out would wait for the other thread for ever.
  process.on('uncaughtException', (error) => {
    writeSync(process.stderr.fd, `${error.stack}\n`);
    end();
  });
  process.on('message', (order: Order) => {
    if (order.order === 'set') writeKnobs(state, order.knobs);
    tell({ report: 'done', id: order.id, counters: readCounters(state) });
  });

  const thread = new Worker(new URL(import.meta.url), { workerData: { name, state } satisfies ThreadData });
  thread.on('message', fail);
  thread.on('error', (error) => fail(error.message));

  const device = `/dev/${name}`;
  const since = performance.now();
  const look = (): void => {
    if (existsSync(device)) {
      chmodSync(device, MODE);
      tell({ report: 'ready' });
    } else if (performance.now() - since > APPEARS_WITHIN_MS) {
      fail(`${device} did not appear`);
    } else {
      setTimeout(look, LOOK_EVERY_MS);
    }
  };
  look();
}
