/**
 * A provider of /dev/crypto for the tests, over CUSE in the guests; OpenSSL answers. As strict as cryptodev-linux: whatever the module
 * refuses, it refuses, with the same errno; test/data/cryptodev has what the module said.
 *
 * Imports node:, its own folder, and of src the foreign functions alone (src/linux/ffi.ts): the driver that it is there to test has a
 * reading of the ABI of its own.
 *
 * What differs from the module:
 * - CRIOGET is ENOSYS: a process cannot be given a descriptor from outside.
 * - One request after the other, over all sessions and files.
 * - Where the module makes its kernel crash (see crypt.ts, auth-crypt.ts) there is an errno.
 * - The result of a hash that goes on after its end without RESET is another one each time.
 * - Within the MiB in which a request runs into memory that is not there, nothing is written; the module writes up to that page.
 */
import { execFileSync, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { CUSE_DEVICE } from './cuse.js';
import type { Counters, Knobs } from './knobs.js';
import type { Order, Report, ServerArguments } from './server.js';

export { type Claim, type Counters, type Fault, type Knobs, parseKnobs } from './knobs.js';

export interface CryptodevOptions extends Knobs {
  /** Under /dev. Default `crypto`. */
  readonly name?: string;
}

export interface Cryptodev {
  /** `/dev/crypto`. */
  readonly device: string;
  /** Other knobs in the place of all that were set. They hold for every ioctl after this; counting `after` begins anew. */
  set(knobs: Knobs): Promise<void>;
  counters(): Promise<Counters>;
  /** Ends it, whatever is under way: those who have the device open get errors. Resolves when the device is gone. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const GONE_WITHIN_MS = 10_000;

/**
 * Serves until `stop`, or until this process ends, however that comes about. Needs root and the module cuse, which it loads. Rejects where
 * there is a device of that name already.
 */
export async function serve({ name = 'crypto', ...knobs }: CryptodevOptions = {}): Promise<Cryptodev> {
  const device = `/dev/${name}`;
  if (existsSync(device)) throw new Error(`${device} is there already`);
  if (!existsSync(CUSE_DEVICE)) execFileSync('modprobe', ['cuse'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const child = fork(
    fileURLToPath(new URL('server.js', import.meta.url)),
    [JSON.stringify({ name, knobs } satisfies ServerArguments)],
    // DES and Blowfish are in OpenSSL's legacy provider. The own session keeps a Ctrl-C for the command from ending the device under it.
    {
      execArgv: ['--openssl-legacy-provider'],
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  const waiting = new Map<number, { resolve(counters: Counters): void; reject(error: Error): void }>();
  let nextId = 1;
  let ended = false;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const died = (): Error => new Error(`the provider of ${device} has ended`);

  await new Promise<void>((resolve, reject) => {
    child.on('message', (report: Report) => {
      if (report.report === 'ready') resolve();
      else if (report.report === 'failed') reject(new Error(report.message));
      else waiting.get(report.id)?.resolve(report.counters);
    });
    child.once('error', reject);
    child.once('exit', () => {
      ended = true;
      reject(died());
      for (const { reject: refuse } of waiting.values()) refuse(died());
    });
  });
  // A provider that was forgotten ends with this process, and does not keep it.
  child.unref();
  child.channel?.unref();

  const ask = async (order: Pick<Order, 'order'> & { readonly knobs?: Knobs }): Promise<Counters> => {
    if (ended) throw died();
    const id = nextId++;
    child.channel?.ref();
    try {
      return await new Promise<Counters>((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        child.send({ ...order, id }, (error) => error && reject(died()));
      });
    } finally {
      waiting.delete(id);
      child.channel?.unref();
    }
  };
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    child.ref();
    if (!ended) await exited;
    const until = performance.now() + GONE_WITHIN_MS;
    while (existsSync(device)) {
      if (performance.now() > until) throw new Error(`${device} stays`);
      await sleep(2);
    }
  };
  return {
    device,
    set: async (other) => {
      await ask({ order: 'set', knobs: other });
    },
    counters: () => ask({ order: 'counters' }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
