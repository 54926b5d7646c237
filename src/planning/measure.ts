/**
 * Figures of this machine, in some seconds: the usual ciphers by dm-crypt itself over memory, where root may make a mapping; else by the kernel's
 * ciphers as a program reaches them, and by OpenSSL, from which dm-crypt's speed has to be worked out.
 */
import { findAlgorithm } from '../algorithms.js';
import { diskProblem, measureDisk, parseDiskCipher } from '../bench/disk/index.js';
import type { Measurement, ResultSet } from '../bench/model.js';
import { ableTo } from '../routing/contestants.js';
import { OPERATIONS } from './figures.js';
import { LINES } from './lines.js';

/** The sectors that are compared. */
const SECTORS = [512, 4096];
const DISK_SECONDS = 0.25;
/** Beside the sectors, a size whose cost is that of its bytes alone. */
const SIZES = [...SECTORS, 65_536];
const SECONDS = 0.1;
const TELLING = new Set(['libcrypto', 'afalg', 'cryptodev']);

const USUAL = LINES.filter(({ usual }) => usual);

/** What is measured now, as words for a status line. */
export type Progress = (what: string, done: number, total: number) => void;

/** @param signal what is finished when it aborts is returned */
export async function measureHere(signal?: AbortSignal, progress?: Progress): Promise<ResultSet[]> {
  if (diskProblem() === undefined) {
    const { results, rows } = await measureDisk(
      {
        ciphers: USUAL.map(({ cipher, keyBits }) => parseDiskCipher(cipher, keyBits)!),
        sectors: SECTORS,
        seconds: DISK_SECONDS,
        ...(signal ? { signal } : {}),
      },
      {
        begin: ({ cipher, sectorBytes }, done, total) => {
          if (cipher) progress?.(`dm-crypt, ${cipher.name} in sectors of ${sectorBytes}`, done, total);
        },
      },
    );
    if (signal?.aborted || rows.some(({ read, write }) => [read, write].some((one) => one?.status === 'ok')))
      return [results];
  }
  return byDrivers(signal, progress);
}

async function byDrivers(
  signal: AbortSignal | undefined,
  progress: Progress | undefined,
): Promise<ResultSet[]> {
  const { measure } = await import('../bench/engine/index.js');
  const sets: ResultSet[] = [];
  for (const { algorithm: name } of USUAL) {
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
        begin: ({ operation, contestant, requestBytes }, done, total) =>
          progress?.(`${name} ${operation}, ${contestant.label} at ${requestBytes} bytes`, done, total),
        end: (_point, measurement, _done, _total, detail) => {
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
