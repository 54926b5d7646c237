/** Who does the work behind a name of the kernel's crypto API: an entry of its list, as the contract describes it. */
import { type KernelAlgorithm, readKernelVersion, readModuleIndex } from '../linux/index.js';
import type { DriverName, Implementation } from './driver.js';
import { judgeHardware } from './hardware.js';

/**
 * @param name of the kernel driver, where the list's is cut short
 * @param evidence of that it is this one
 */
export function implementationOf(
  driver: DriverName,
  entry: KernelAlgorithm,
  evidence: readonly string[],
  name: string = entry.driver,
): Implementation {
  let verdict = judgeHardware(entry);
  if (verdict.hardware === 'unknown') {
    const modulePath = readModuleIndex(readKernelVersion()?.release ?? '').files.get(entry.module);
    verdict = judgeHardware({ ...entry, modulePath });
  }
  return {
    driver,
    kernelDriver: name,
    ...(entry.module === '' || entry.module === 'kernel' ? {} : { module: entry.module }),
    priority: entry.priority,
    hardware: verdict.hardware,
    evidence: [...verdict.evidence, ...evidence],
  };
}
