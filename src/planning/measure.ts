/** Figures of this machine where no calibration has them: the usual disk ciphers with everybody who can do them, in some seconds. */
import { findAlgorithm } from '../algorithms.js';
import type { Hooks } from '../bench/engine/index.js';
import type { ResultSet } from '../bench/model.js';
import { ableTo } from '../routing/contestants.js';
import { OPERATIONS } from './figures.js';
import { LINES } from './lines.js';

/** The sectors that are compared, and a size whose cost is that of its bytes alone. */
const SIZES = [512, 4096, 65_536];
const SECONDS = 0.05;
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
    sets.push(
      await measure(
        { subjects, contestants, sizes: SIZES, seconds: SECONDS, ...(signal ? { signal } : {}) },
        hooks,
      ),
    );
  }
  return sets;
}
