/** Drivers whose costs are known, on a machine whose clock only they move. Their bytes are node:crypto's. */
import type { CipherAlgorithm } from '#src/algorithms.js';
import { findAlgorithm } from '#src/algorithms.js';
import type { Contestant, Instruments } from '#src/bench/engine/index.js';
import { type CipherSession, type Driver, type DriverName, getDriver } from '#src/drivers/index.js';
import { UnavailableError } from '#src/errors.js';

export const cbc = findAlgorithm('aes-128-cbc') as CipherAlgorithm;

export class Machine implements Instruments {
  ns = 0;
  cpuNs = 0;
  /** Of the engines; undefined: none is counted. */
  irqs: number | undefined;
  /** What a reading of the clock takes. */
  readingNs = 0;
  readings = 0;

  readonly now = (): number => {
    this.readings++;
    this.ns += this.readingNs;
    return this.ns;
  };
  readonly cpu = (): { userNs: number; systemNs: number } => ({
    userNs: this.cpuNs * 0.25,
    systemNs: this.cpuNs * 0.75,
  });
  readonly interrupts = (): number | undefined => this.irqs;
}

export interface FakeOptions {
  readonly name?: DriverName;
  readonly label?: string;
  /** Elapsed nanoseconds of a request. `count` counts the session's requests from 1. */
  readonly costNs: (bytes: number, count: number) => number;
  /** Share of the elapsed time that is CPU time. */
  readonly cpuShare?: number;
  readonly irqsPerRequest?: number;
  /** Called before each request; may throw, or say that this one's bytes are to be wrong. */
  readonly onRequest?: (session: FakeSession) => 'wrong' | undefined;
  readonly unavailable?: true;
}

export interface FakeSession {
  readonly requestBytes: number;
  /** How many requests it has had, this one included. */
  count: number;
  readonly label: string;
}

export interface Fake extends Contestant {
  opened: number;
  closed: number;
}

export function fake(machine: Machine, options: FakeOptions): Fake {
  const node = getDriver('node');
  const label = options.label ?? options.name ?? 'afalg';
  const own: Fake = { label, driver: undefined as never, opened: 0, closed: 0 };
  const reason = { code: 'ALGORITHM_NOT_BUILT', message: 'this kernel has no cbc(aes)' } as const;
  const cipher: Driver['cipher'] = (algorithm, direction, key, iv) => {
    if (options.unavailable) throw new UnavailableError('ALGORITHM_UNAVAILABLE', label, label, reason);
    const real = node.cipher(algorithm, direction, key, iv);
    own.opened++;
    const session: FakeSession = { requestBytes: 0, count: 0, label };
    return new Proxy(real, {
      get(target, property) {
        if (property === 'update') {
          return (input: Uint8Array, output: Uint8Array): void => {
            session.count++;
            const wrong = options.onRequest?.(Object.assign(session, { requestBytes: input.length }));
            const ns = options.costNs(input.length, session.count);
            machine.ns += ns;
            machine.cpuNs += ns * (options.cpuShare ?? 1);
            if (machine.irqs !== undefined) machine.irqs += options.irqsPerRequest ?? 0;
            target.update(input, output);
            if (wrong) output[0]! ^= 1;
          };
        }
        if (property === 'close' || property === Symbol.dispose) {
          return (): void => {
            own.closed++;
            target.close();
          };
        }
        const value = Reflect.get(target, property) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as CipherSession;
  };
  const driver: Driver = {
    name: options.name ?? 'afalg',
    probe: () => ({ available: true, version: 'fake', notes: [] }),
    reprobe: () => ({ available: true, version: 'fake', notes: [] }),
    supports: () => (options.unavailable ? { supported: false, reason } : { supported: true }),
    implementation: () => ({
      driver: options.name ?? 'afalg',
      kernelDriver: `${label}-fake`,
      hardware: 'unknown',
      evidence: [],
    }),
    cipher,
    aead: node.aead.bind(node),
    hash: node.hash.bind(node),
    mac: node.mac.bind(node),
  };
  return Object.assign(own, { driver });
}
