/**
 * Which way XTS goes with the drivers at hand: sector by sector in the driver's own XTS, or many sectors at once over its ECB or CBC.
 *
 * Room `luks`. The order of what counts:
 * 1. who can at all: an engine may have ECB and CBC and no XTS, as EIP93 has;
 * 2. under the policy `hardware`, an engine before none; under `fastest` and `cpu`, what was measured;
 * 3. whoever was named first. Where the one has both, both ways are tried at the work itself (`trial.ts`).
 */
import { type CipherAlgorithm, cipherLike } from '../../algorithms.js';
import type { Direction } from '../../drivers/driver.js';
import type { Prospect, Router } from '../../routing/router.js';
import { BATCH_BYTES, CAN_BATCH, whiten } from './xts.js';

export interface Ways {
  readonly sectors: boolean;
  /** The mode that a batch is done in. */
  readonly batches?: CipherAlgorithm;
}

const ONLY_SECTORS: Ways = { sectors: true };

/** A change of way has to be worth more than this. */
const WORTH = 1.1;

export function waysOf(
  router: Router,
  algorithm: CipherAlgorithm,
  direction: Direction,
  sectorBytes: number,
): Ways {
  if (algorithm.mode !== 'xts' || !CAN_BATCH) return ONLY_SECTORS;
  const batch = batchOf(router, algorithm, direction);
  // Where nobody can do either, it is XTS whose lack is told.
  if (batch === undefined) return ONLY_SECTORS;
  const { batches, who } = batch;
  const single = router.prospect(algorithm, sectorBytes, direction);
  if (single === undefined) return { sectors: false, batches };
  if (router.policy === 'hardware' && single.engine !== who.engine) {
    return single.engine ? ONLY_SECTORS : { sectors: false, batches };
  }
  if (single.label === who.label) {
    // To cut CBC apart again is only worth it where there is nothing better.
    return batches.mode === 'ecb' ? { sectors: true, batches } : ONLY_SECTORS;
  }
  if (single.costNs !== undefined && who.costNs !== undefined) {
    const each = who.costNs / BATCH_BYTES + whiteningNs();
    return each * WORTH < single.costNs / sectorBytes ? { sectors: false, batches } : ONLY_SECTORS;
  }
  return who.place < single.place ? { sectors: false, batches } : ONLY_SECTORS;
}

/** The better of ECB and, to decrypt, CBC. */
function batchOf(
  router: Router,
  algorithm: CipherAlgorithm,
  direction: Direction,
): { readonly batches: CipherAlgorithm; readonly who: Prospect } | undefined {
  const found = (['ecb', 'cbc'] as const).flatMap((mode) => {
    if (mode === 'cbc' && direction === 'encrypt') return [];
    const batches = cipherLike(`${algorithm.family}-${algorithm.keyBytes * 4}-${mode}`);
    if (batches?.kind !== 'cipher') return [];
    const who = router.prospect(batches, BATCH_BYTES, direction);
    return who ? [{ batches, who }] : [];
  });
  const [ecb, cbc] = found;
  if (ecb === undefined || cbc === undefined) return ecb;
  const engine = router.policy === 'hardware' && cbc.who.engine !== ecb.who.engine;
  if (engine) return cbc.who.engine ? cbc : ecb;
  return cbc.who.place < ecb.who.place ? cbc : ecb;
}

let whitening: number | undefined;

/** Nanoseconds a byte that the XORs around a batch take here. */
function whiteningNs(): number {
  if (whitening !== undefined) return whitening;
  const words = new Int32Array(16 * 1024);
  const tweaks = new Int32Array(words.length / 32);
  let least = Number.POSITIVE_INFINITY;
  // Often enough for the compiler to have done its work.
  for (let i = 0; i < 16; i++) {
    const start = process.hrtime.bigint();
    whiten(words, words, tweaks, 128);
    whiten(words, words, tweaks, 128);
    least = Math.min(least, Number(process.hrtime.bigint() - start));
  }
  whitening = least / (words.length * 4);
  return whitening;
}
