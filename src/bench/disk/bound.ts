/**
 * Which kernel driver dm-crypt got, and which it could not take.
 *
 * The kernel tells nobody. What can be seen is that an algorithm's reference count is higher once the mapping is there.
 */
import { judgeHardware } from '../../drivers/hardware.js';
import { CRYPTO_ALG } from '../../linux/netlink.js';
import type { KernelAlgorithm } from '../../linux/proc.js';

export interface BoundDriver {
  /** `cra_driver_name`. */
  readonly kernelDriver: string;
  /** `cra_name` under which dm-crypt asked. */
  readonly name: string;
  readonly priority: number;
  readonly hardware: 'yes' | 'no' | 'unknown';
  readonly evidence: readonly string[];
}

/** The list of one moment and one a little later; of those with one of `names`, whose count has risen. */
export function boundDriver(
  before: readonly KernelAlgorithm[],
  after: readonly KernelAlgorithm[],
  names: readonly string[],
): BoundDriver | undefined {
  const counts = new Map(before.map((entry) => [id(entry), entry.refcnt]));
  for (const name of names) {
    const [found] = after
      // An entry that nobody uses counts 1.
      .filter(
        (entry) => entry.name === name && !entry.internal && entry.refcnt > (counts.get(id(entry)) ?? 1),
      )
      .sort((a, b) => b.priority - a.priority);
    if (!found) continue;
    const { hardware, evidence } = judgeHardware(found);
    return { kernelDriver: found.driver, name, priority: found.priority, hardware, evidence };
  }
  return undefined;
}

const id = ({ name, driver, type }: KernelAlgorithm): string => `${name} ${driver} ${type}`;

/** A hardware driver of the same algorithm that dm-crypt did not get. */
export interface PassedOver {
  readonly kernelDriver: string;
  /**
   * `allocates-memory`: refused, since it allocates memory for each request, which may fail or wait for the very disk
   * (CRYPTO_ALG_ALLOCATES_MEMORY, from Linux 5.9 on). `outranked`: its priority is lower. `unknown`: neither.
   */
  readonly why: 'allocates-memory' | 'outranked' | 'unknown';
  /** One line for people. */
  readonly text: string;
}

/**
 * @param refuses does this kernel's dm-crypt refuse drivers that allocate memory?
 * @param names in dm-crypt's own order; an engine counts under each of them
 */
export function passedOver(
  list: readonly KernelAlgorithm[],
  names: readonly string[],
  bound: BoundDriver | undefined,
  refuses: boolean,
): PassedOver[] {
  const seen = new Set<string>();
  return list.flatMap((entry): PassedOver[] => {
    const { driver, priority, flags } = entry;
    if (!names.includes(entry.name) || entry.internal || seen.has(driver)) return [];
    if (bound !== undefined && isPartOf(driver, bound.kernelDriver)) return [];
    // An instance of a template around an engine's driver says nothing that the driver itself does not.
    if (((flags ?? 0) & CRYPTO_ALG.INSTANCE) !== 0 || judgeHardware(entry).hardware !== 'yes') return [];
    seen.add(driver);
    if (refuses && flags !== undefined && (flags & CRYPTO_ALG.ALLOCATES_MEMORY) !== 0) {
      const text = `${driver} (hardware) was passed over: it allocates memory for each request, which dm-crypt refuses from Linux 5.9 on`;
      return [{ kernelDriver: driver, why: 'allocates-memory', text }];
    }
    const rival = list
      .filter((other) => other.name === entry.name && other.driver !== driver && !other.internal)
      .reduce((best, other) => Math.max(best, other.priority), 0);
    return rival > priority
      ? [
          {
            kernelDriver: driver,
            why: 'outranked',
            text: `${driver} (hardware) was not asked: its priority ${priority} is below another driver’s ${rival}`,
          },
        ]
      : [
          {
            kernelDriver: driver,
            why: 'unknown',
            text: `${driver} (hardware) has the highest priority and was not used: the likely reason is that it allocates memory, which dm-crypt refuses from Linux 5.9 on`,
          },
        ];
  });
}

/** `cbc-aes-aesni` is a part of `essiv(cbc-aes-aesni,sha256-ssse3)`. */
function isPartOf(driver: string, whole: string): boolean {
  const at = whole.indexOf(driver);
  if (at < 0) return false;
  const before = whole[at - 1] ?? '(';
  const after = whole[at + driver.length] ?? ')';
  return '(,'.includes(before) && '),'.includes(after);
}
