/** Figures of this machine where no calibration has them: the usual disk ciphers with everybody who can do them, in some seconds. */
import { findAlgorithm } from '../algorithms.js';
import type { Hooks } from '../bench/engine/index.js';
import type { Measurement, ResultSet } from '../bench/model.js';
import { ableTo } from '../routing/contestants.js';
import { OPERATIONS } from './figures.js';
import { LINES } from './lines.js';

/** The sectors that are compared, and a size whose cost is that of its bytes alone. */
const SIZES = [512, 4096, 65_536];
const SECONDS = 0.1;
const TELLING = new Set(['libcrypto', 'afalg', 'cryptodev']);

/** @param signal what is finished when it aborts is returned */
export async function measureHere(signal?: AbortSignal, hooks?: Hooks): Promise<ResultSet[]> {
  const { measure } = await import('../bench/engine/index.js');
  const sets: ResultSet[] = [];
  for (const { algorithm: name } of LINES.filter(({ usual }) => usual)) {
    if (signal?.aborted) break;
    const algorithm = findAlgorithm(name)!;
    // The kernel's, which disks use, and OpenSSL's, which is like it; others would only take time.
    const contestants = ableTo(algorithm).filter(({ driver }) => TELLING.has(driver.name));
    if (contestants.length === 0) continue;
    const subjects = OPERATIONS.map((operation) => ({ algorithm, operation }));
    // Where others had the CPU in most rounds, the fastest one says what the machine can do.
    const fastest = new Map<Measurement, Measurement>();
    const set = await measure(
      { subjects, contestants, sizes: SIZES, seconds: SECONDS, ...(signal ? { signal } : {}) },
      {
        ...hooks,
        end: (point, measurement, done, total, detail) => {
          hooks?.end?.(point, measurement, done, total, detail);
          const { doubts, requestBytes = 0 } = measurement;
          if (detail.fastestNs === undefined || !doubts.some(({ code }) => code === 'NOISY')) return;
          fastest.set(measurement, {
            ...measurement,
            bytesPerSecond: (requestBytes * 1e9) / detail.fastestNs,
          });
        },
      },
    );
    sets.push({
      ...set,
      runs: set.runs.map((run) => ({
        ...run,
        measurements: run.measurements.map((own) => fastest.get(own) ?? own),
      })),
    });
  }
  return sets;
}
