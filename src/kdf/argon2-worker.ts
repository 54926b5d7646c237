/** One derivation by hash-wasm, which would otherwise hold the event loop up for seconds. */
import { parentPort, workerData } from 'node:worker_threads';
import { argon2d, argon2i, argon2id } from 'hash-wasm';

import type { Argon2Cost, Argon2Kind } from './argon2.js';

const FUNCTIONS = { argon2i, argon2id, argon2d };

const { kind, password, salt, cost, keyBytes } = workerData as {
  readonly kind: Argon2Kind;
  readonly password: Uint8Array;
  readonly salt: Uint8Array;
  readonly cost: Argon2Cost;
  readonly keyBytes: number;
};
const start = process.hrtime.bigint();
const key = await FUNCTIONS[kind]({
  password,
  salt,
  iterations: cost.iterations,
  memorySize: cost.memoryKiB,
  parallelism: cost.threads,
  hashLength: keyBytes,
  outputType: 'binary',
});
password.fill(0);
parentPort?.postMessage({ key, elapsedNs: Number(process.hrtime.bigint() - start) });
