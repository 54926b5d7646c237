/** Which implementation of the kernel dm-crypt would take for a cipher, by the kernel's own list. */
import { allocatesMemory } from '../doctor/case.js';
import { candidates, isHardware, isPortableAes } from '../doctor/facts/algorithms.js';
import type { Facts } from '../doctor/facts/index.js';
import { kernelMayBe } from '../doctor/facts/machine.js';

export interface KernelChoice {
  /** `cra_driver_name`; of what dm-crypt wraps with ESSIV, what is inside. */
  readonly kernelDriver: string;
  readonly hardware: 'yes' | 'no' | 'unknown';
  /** Only the block cipher is the engine's: `xts(ecb-aes-caam)`. */
  readonly partly: boolean;
  /** Engines of a higher priority that it refuses, since they allocate memory. */
  readonly refused: readonly string[];
  /** Portable C, whatever instructions the CPU has. */
  readonly portable: boolean;
}

/** @returns undefined where the list does not say: there is none, or the algorithm is made when somebody asks for it */
export function choiceOf({ kernel, machine }: Facts, names: readonly string[]): KernelChoice | undefined {
  const refuses = kernelMayBe(machine, 5, 9);
  for (const name of names) {
    const usable = candidates(kernel, name).filter(
      ({ selftest, partial }) => selftest !== 'failed' && !partial,
    );
    const taken = usable.find((entry) => !(refuses && isHardware(entry) && allocatesMemory(entry)));
    // An instance of the ESSIV template says which cipher was the first when it was made, which need not be so now.
    if (!taken || /^essiv\(/.test(taken.driver)) continue;
    const { driver, verdict } = taken;
    return {
      kernelDriver: driver,
      hardware: verdict.hardware,
      partly: verdict.partly === true,
      refused: usable.slice(0, usable.indexOf(taken)).map((entry) => entry.driver),
      portable: isPortableAes(taken),
    };
  }
  return undefined;
}
