/**
 * Who can do an algorithm here: every driver that has it, and accelerators of the kernel that its name does not lead to, since something
 * else has a higher priority. Those are reached by their own name only (`afalg:virtio_crypto_aes_cbc`).
 */
import type { Algorithm } from '../algorithms.js';
import type { Driver, Implementation } from '../drivers/driver.js';
import { judgeHardware } from '../drivers/hardware.js';
import { allDrivers, type DriverChoice } from '../drivers/registry.js';
import { type AlgorithmList, listAlgorithms } from '../linux/netlink.js';

export interface Able extends DriverChoice {
  /** `afalg`, `afalg:virtio_crypto_aes_cbc`: what `--driver` takes. */
  readonly label: string;
  /** Who would do the work; undefined where the driver cannot tell. */
  readonly implementation: Implementation | undefined;
}

/**
 * In the order of the drivers, with a driver's outranked accelerators behind it.
 *
 * @param listed what the kernel has registered
 */
export function ableTo(
  algorithm: Algorithm,
  drivers: readonly Driver[] = allDrivers(),
  listed: () => AlgorithmList = listAlgorithms,
): Able[] {
  const own = drivers
    .filter((driver) => driver.probe().available && driver.supports(algorithm).supported)
    .map(
      (driver): Able => ({ driver, label: driver.name, implementation: driver.implementation(algorithm) }),
    );
  const { kernel } = algorithm.names;
  if (kernel === undefined) return own;
  // After the names were bound, which is what makes the kernel load its modules.
  const engines = listed().algorithms.filter(
    (entry) => entry.name === kernel && !entry.internal && judgeHardware(entry).hardware !== 'no',
  );
  if (engines.length === 0) return own;
  const pinned = drivers
    .filter((driver) => driver.probe().available)
    .flatMap((driver) =>
      engines.flatMap(({ driver: kernelDriver }): Able[] => {
        if (driver.implementation(algorithm)?.kernelDriver === kernelDriver) return [];
        if (!driver.supports(algorithm, { kernelDriver }).supported) return [];
        const implementation = driver.implementation(algorithm, { kernelDriver });
        if (implementation?.hardware !== 'yes') return [];
        return [{ driver, kernelDriver, label: `${driver.name}:${kernelDriver}`, implementation }];
      }),
    );
  return drivers.flatMap((driver) => [...own, ...pinned].filter((one) => one.driver === driver));
}
