/**
 * For `node --import`, which threads inherit: cryptodev as an engine that has AES in ECB and nothing else, and that fails for good, in
 * each thread, after as many requests of 1 MiB as $HWCRYPT_TEST_REQUESTS. Those are the work, and shorter ones the checks before it.
 */
import type { Algorithm } from '#src/algorithms.js';
import type { Driver } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import { flaky } from './flaky.js';

const most = Number(process.env['HWCRYPT_TEST_REQUESTS'] ?? 'Infinity');
const WORK_BYTES = 2 ** 20;
let length = 0;
let done = 0;
const fake = flaky(() => (length < WORK_BYTES || done++ < most ? 'works' : { errno: 'EIO', spoils: true }));
const has = ({ name }: Algorithm): boolean => /^aes-\d+-ecb$/.test(name);
const reason = { code: 'ALGORITHM_NOT_OFFERED', message: 'it has not' } as const;
const engine: Pick<Driver, 'probe' | 'supports' | 'implementation' | 'cipher'> = {
  probe: () => ({ available: true, version: 'test', notes: [] }),
  supports: (algorithm) => (has(algorithm) ? { supported: true } : { supported: false, reason }),
  implementation: (algorithm) =>
    has(algorithm)
      ? { driver: 'cryptodev', kernelDriver: 'ecb-aes-test', hardware: 'yes', evidence: [] }
      : undefined,
  cipher: (...args) =>
    new Proxy(fake.cipher(...args), {
      get(session, property) {
        if (property !== 'update') return Reflect.get(session, property, session);
        return (input: Uint8Array, output: Uint8Array): void => {
          length = input.length;
          session.update(input, output);
        };
      },
    }),
};
Object.assign(getDriver('cryptodev'), engine);
