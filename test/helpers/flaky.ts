/**
 * A driver that fails when it is told to: libcrypto's sessions in the clothes of a device. For tests of what happens then.
 */
import type { AeadSession, CipherSession, DigestSession, Driver } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import { DriverError, type Reason } from '#src/errors.js';

/** What becomes of one request. */
export type Fate =
  | 'works'
  /** Nothing is done, and this errno is told. */
  | { readonly errno: string }
  /** Half the output is written, with rubbish, and then this errno is told. */
  | { readonly errno: string; readonly spoils: true }
  /** A bit of the output is wrong, and nothing is told. */
  | 'lies';

export interface Flaky extends Driver {
  /** Requests so far. */
  readonly requests: number;
  /** Sessions that are open. */
  readonly open: number;
}

type Sessions = CipherSession & AeadSession & DigestSession;

/** @param fate of the request with this number, counted from 0 over all sessions */
export function flaky(fate: (request: number) => Fate): Flaky {
  const inner = getDriver('libcrypto');
  const count = { requests: 0, open: 0 };
  const name = 'cryptodev';

  /** Runs a request by its fate. `outputs` is what it writes. */
  const run = <T>(state: State, outputs: readonly Uint8Array[], work: () => T): T => {
    const what = fate(count.requests++);
    if (what === 'works') return work();
    if (what === 'lies') {
      const result = work();
      const spoil = (): void => {
        const [output] = outputs;
        if (output && output.length > 0) output[output.length >> 1]! ^= 0x10;
      };
      if (result instanceof Promise) return result.then(spoil) as T;
      spoil();
      return result;
    }
    state.failed = true;
    if ('spoils' in what) for (const output of outputs) output.fill(0xa5, 0, Math.ceil(output.length / 2));
    const reason: Reason = {
      code: 'SYSTEM_ERROR',
      message: `it fails with ${what.errno}`,
      errno: what.errno,
    };
    throw new DriverError(name, 'test', reason);
  };

  interface State {
    failed: boolean;
  }

  const wrap = (session: Sessions): Sessions => {
    const state: State = { failed: false };
    count.open++;
    let closed = false;
    const proxy: Sessions = new Proxy(session, {
      get(target, property) {
        if (property in overrides) return overrides[property as keyof typeof overrides];
        const value = Reflect.get(target, property, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const usable = (): void => {
      if (state.failed) throw new Error('a session that failed is used again');
    };
    const sync =
      (method: 'update' | 'seal' | 'open' | 'once' | 'digest', outputsAt: readonly number[]) =>
      (...args: Uint8Array[]): unknown => {
        usable();
        return run(state, outputsAt.map((i) => args[i]!).filter(Boolean), () =>
          (session[method] as (...all: Uint8Array[]) => unknown)(...args),
        );
      };
    const async_ =
      (method: 'updateAsync' | 'sealAsync' | 'openAsync' | 'onceAsync', outputsAt: readonly number[]) =>
      async (...args: Uint8Array[]): Promise<unknown> => {
        usable();
        await Promise.resolve();
        return run(state, outputsAt.map((i) => args[i]!).filter(Boolean), () =>
          (session[method] as (...all: Uint8Array[]) => Promise<unknown>)(...args),
        );
      };
    const overrides = {
      driver: name,
      // As the kernel's: whole blocks, messages in one piece, no memory of its own.
      partialBlocks: false,
      incremental: false,
      stage: undefined,
      sealAppended: undefined,
      get usable() {
        return !state.failed && session.usable;
      },
      update: sync('update', [1]),
      updateAsync: async_('updateAsync', [1]),
      seal: sync('seal', [3, 4]),
      sealAsync: async_('sealAsync', [3, 4]),
      open: sync('open', [4]),
      openAsync: async_('openAsync', [4]),
      once: sync('once', [1]),
      onceAsync: async_('onceAsync', [1]),
      digest: sync('digest', [0]),
      clone: () => wrap((session as DigestSession).clone() as Sessions),
      close: () => {
        if (!closed) count.open--;
        closed = true;
        session.close();
      },
    };
    return proxy;
  };

  return {
    name,
    fallible: true,
    probe: () => inner.probe(),
    reprobe: () => inner.reprobe(),
    supports: (algorithm) => inner.supports(algorithm),
    implementation: (algorithm) => {
      const who = inner.implementation(algorithm);
      return who && { ...who, driver: name, kernelDriver: 'flaky-engine', hardware: 'yes' };
    },
    cipher: (...args) => wrap(inner.cipher(...args) as Sessions),
    aead: (...args) => wrap(inner.aead(...args) as Sessions),
    hash: (...args) => wrap(inner.hash(...args) as Sessions),
    mac: (...args) => wrap(inner.mac(...args) as Sessions),
    get requests() {
      return count.requests;
    },
    get open() {
      return count.open;
    },
  };
}
