/**
 * Argon2 (RFC 9106), version 1.3.
 *
 * By the system's libargon2 where that is installed, which is wherever cryptsetup of the years up to 2024 is: the very code that unlocks disks,
 * with a thread for each lane. Elsewhere by hash-wasm, which runs on any machine, on one thread.
 */
import { Worker } from 'node:worker_threads';

import { HwcryptError } from '../errors.js';
import { type NativeFunction, openLibrary } from '../linux/ffi.js';

export type Argon2Kind = 'argon2i' | 'argon2id' | 'argon2d';

export interface Argon2Cost {
  /** Passes over the memory, 1 or more. */
  readonly iterations: number;
  /** 8 KiB a lane or more. */
  readonly memoryKiB: number;
  /** Lanes, 1 or more: they change the result, whether or not threads work on them. */
  readonly threads: number;
}

export interface Derived {
  readonly key: Buffer;
  readonly elapsedNs: number;
}

/** One implementation. */
export interface Argon2 {
  readonly name: 'libargon2' | 'hash-wasm';
  /** A thread for each lane? */
  readonly threaded: boolean;
  /**
   * @param password hash-wasm refuses an empty one
   * @param salt 8 bytes or more
   * @param keyBytes 4 or more
   * @throws HwcryptError KDF_FAILED, as where there is not so much memory
   */
  derive(
    kind: Argon2Kind,
    password: Uint8Array,
    salt: Uint8Array,
    cost: Argon2Cost,
    keyBytes: number,
  ): Promise<Derived>;
}

type Hash = NativeFunction<number>;

/** ARGON2_MEMORY_ALLOCATION_ERROR (argon2.h). */
const NO_MEMORY = -22;

function system(): Argon2 | undefined {
  const { library } = openLibrary('libargon2.so.1');
  if (!library) return undefined;
  const functions = new Map<Argon2Kind, Hash>();
  for (const kind of ['argon2i', 'argon2id', 'argon2d'] as const) {
    const name = `${kind}_hash_raw`;
    if (!library.has(name)) return undefined;
    functions.set(
      kind,
      library.func(
        `int ${name}(uint32_t t_cost, uint32_t m_cost, uint32_t parallelism, void *pwd, size_t pwdlen, void *salt, size_t saltlen, void *hash, size_t hashlen)`,
      ),
    );
  }
  return {
    name: 'libargon2',
    threaded: true,
    async derive(kind, password, salt, { iterations, memoryKiB, threads }, keyBytes) {
      // Of their own, so that neither lies in V8's heap, which may move while another thread writes.
      const [own, key] = [outside(password), Buffer.from(new ArrayBuffer(keyBytes))];
      const hash = functions.get(kind) as Hash;
      const start = process.hrtime.bigint();
      const { value } = await hash.promise(
        iterations,
        memoryKiB,
        threads,
        own,
        own.length,
        outside(salt),
        salt.length,
        key,
        keyBytes,
      );
      const elapsedNs = Number(process.hrtime.bigint() - start);
      own.fill(0);
      if (value !== 0)
        throw failed(value === NO_MEMORY ? `${memoryKiB} KiB cannot be had` : `error ${value}`);
      return { key, elapsedNs };
    },
  };
}

function outside(bytes: Uint8Array): Buffer {
  // Not empty, since there has to be an address.
  const copy = Buffer.from(new ArrayBuffer(Math.max(1, bytes.length))).subarray(0, bytes.length);
  copy.set(bytes);
  return copy;
}

const failed = (why: string): HwcryptError => new HwcryptError('KDF_FAILED', `argon2: ${why}`);

const portable: Argon2 = {
  name: 'hash-wasm',
  threaded: false,
  derive(kind, password, salt, cost, keyBytes) {
    return new Promise((resolve, reject) => {
      const worker = new Worker(new URL('./argon2-worker.js', import.meta.url), {
        workerData: { kind, password, salt, cost, keyBytes },
      });
      worker.once('message', ({ key, elapsedNs }: { key: Uint8Array; elapsedNs: number }) =>
        resolve({ key: Buffer.from(key.buffer, key.byteOffset, key.length), elapsedNs }),
      );
      worker.once('error', (error) => reject(failed(error.message)));
      worker.once('exit', () => reject(failed('the worker thread ended')));
    });
  },
};

/** An implementation by name; undefined where it is not installed. */
export function argon2By(name: Argon2['name']): Argon2 | undefined {
  return name === 'libargon2' ? system() : portable;
}

let chosen: Argon2 | undefined;

/** The best that is here; there always is one. */
export function argon2(): Argon2 {
  chosen ??= system() ?? portable;
  return chosen;
}
