/**
 * Runs the conformance suite on drivers with one fault each, to see that the suite finds it: a suite for each, under the fault's name. The
 * fault is put around the sessions of driver `node`.
 */
import { describe } from 'node:test';

import type { AeadSession, CipherSession, DigestSession, Driver } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import { driverSuite } from './conformance.js';

export type Sessions = CipherSession & AeadSession & DigestSession;
export type Fault = (session: Sessions) => Partial<Sessions>;

export const FAULTS: Record<string, Fault> = {
  'the last byte of long messages is wrong': (session) => ({
    update(input: Uint8Array, output?: Uint8Array) {
      session.update(input, output!);
      if (output && input.length > 4096) output[input.length - 1]! ^= 1;
    },
  }),
  // What only some lengths or addresses show: the suite does not try them all.
  ...Object.fromEntries(
    Object.entries({
      'one remainder behind the widest steps is wrong': ({ length }) => length > 1024 && length % 16 === 5,
      'one remainder of 256 bytes is wrong behind the first step': ({ length }) =>
        length > 256 && length % 256 === 0xe7,
      'whole blocks are wrong behind the widest step': ({ length }) => length > 1024 && length % 16 === 0,
      'an odd number of blocks is wrong': ({ length }) => length > 600 && length % 32 === 16,
      'a last byte before a border is wrong': ({ length }) => length === 2047,
      'one input address is wrong': ({ length, byteOffset }) => length > 64 && byteOffset % 16 === 9,
      'one output address is wrong': ({ length }, output) => length > 64 && output.byteOffset % 16 === 3,
    } satisfies Record<string, (input: Uint8Array, output: Uint8Array) => boolean>).map(([name, wrong]) => [
      name,
      (session: Sessions): Partial<Sessions> => ({
        update(input: Uint8Array, output?: Uint8Array) {
          session.update(input, output!);
          if (output && input.length > 0 && wrong(input, output)) output[input.length - 1]! ^= 1;
        },
        once(data: Uint8Array, output: Uint8Array) {
          session.once(data, output);
          if (wrong(data, output)) output[0]! ^= 1;
        },
      }),
    ]),
  ),
  'one byte too many is written': (session) => ({
    update(input: Uint8Array, output?: Uint8Array) {
      session.update(input, output!);
      if (output) new Uint8Array(output.buffer)[output.byteOffset + input.length] = 0;
    },
  }),
  'the input is changed': (session) => ({
    update(input: Uint8Array, output?: Uint8Array) {
      session.update(input, output!);
      if (output && output !== input && input.length > 0) input[0]! ^= 1;
    },
  }),
  'an overlapping input is overwritten while it is read': (session) => ({
    update(input: Uint8Array, output?: Uint8Array) {
      if (output && output.buffer === input.buffer && output.byteOffset > input.byteOffset) output[0] = 0;
      session.update(input, output!);
    },
  }),
  'asynchronous work ends after the promise': (session) => ({
    async updateAsync(input: Uint8Array, output?: Uint8Array) {
      void Promise.resolve(session.updateAsync(input, output!)).catch(() => {});
    },
  }),
  'restart() keeps the old IV': (session) => {
    let first: Uint8Array | null | undefined;
    return {
      restart(iv?: Uint8Array | null, key?: Uint8Array) {
        if (iv instanceof Uint8Array) first ??= Uint8Array.from(iv);
        session.restart(iv instanceof Uint8Array ? (first as Uint8Array) : (iv as null), key as Uint8Array);
      },
    } as Partial<Sessions>;
  },
  'restart() keeps the old key': (session) =>
    ({ restart: (iv: Uint8Array | null) => session.restart(iv) }) as Partial<Sessions>,
  'chain() gives the IV': (session) => {
    const start = session.chain?.();
    return { chain: () => start } as Partial<Sessions>;
  },
  'a closed session works on': () => ({ close() {} }),
  'a wrong tag is accepted': (session) => ({
    open(iv, aad, text, tag, output) {
      try {
        session.open(iv, aad, text, tag, output);
      } catch {
        // As if all were well.
      }
    },
  }),
  'plaintext of a forgery stays in the output': (session) => ({
    open(iv, aad, text, tag, output) {
      try {
        session.open(iv, aad, text, tag, output);
      } catch (error) {
        output.fill(7, 0, text.length);
        throw error;
      }
    },
  }),
  'the tag is cut': (session) => ({
    seal(iv, aad, text, output, tag) {
      session.seal(iv, aad, text, output, tag);
      tag[tag.length - 1] = 0;
    },
  }),
  'additional data above 64 KiB is left out': (session) => ({
    seal: (iv, aad, text, output, tag) =>
      session.seal(iv, aad.length > 0xffff ? aad.subarray(0, 0xffff) : aad, text, output, tag),
  }),
  'a clone is the same session': (session) => ({ clone: () => session as DigestSession }),
  'empty updates end the message': (session) => ({
    once(data: Uint8Array, output: Uint8Array) {
      session.once(data, output);
      if (data.length === 0) output.fill(0);
    },
  }),
  // The last, so that it would fail were anything of the others left behind.
  none: () => ({}),
};

/** The driver with a fault in its sessions. */
export function wrap(driver: Driver, fault: Fault): Driver {
  const faulty = <T extends object>(session: T): T => {
    const own = fault(session as unknown as Sessions) as Record<PropertyKey, unknown>;
    return new Proxy(session, {
      get(target, property) {
        const value = property in own ? own[property] : Reflect.get(target, property, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  return {
    name: driver.name,
    probe: () => driver.probe(),
    reprobe: () => driver.reprobe(),
    supports: (...args) => driver.supports(...args),
    implementation: (...args) => driver.implementation(...args),
    cipher: (...args) => faulty(driver.cipher(...args)),
    aead: (...args) => faulty(driver.aead(...args)),
    hash: (...args) => faulty(driver.hash(...args)),
    mac: (...args) => faulty(driver.mac(...args)),
  };
}

if (process.argv[1] === import.meta.filename) {
  const names = ['aes-128-ctr', 'aes-256-gcm', 'sha256', 'hmac-sha512'];
  for (const [name, fault] of Object.entries(FAULTS)) {
    describe(name, () =>
      driverSuite(wrap(getDriver('node'), fault), {
        only: (algorithm) => names.includes(algorithm.name),
        // Known answers take a second to read, and any driver that is wrong in them is wrong elsewhere too.
        budget: { largestBytes: 100_000, rounds: 6, vectors: name === 'none' ? 50 : 0 },
      }),
    );
  }
}
