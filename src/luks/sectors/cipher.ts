/**
 * Sectors encrypted and decrypted as dm-crypt does it, many in one call.
 *
 * Room `luks`. A driver's session works on one message, and a sector is one. Three ways lead from many sectors to few calls:
 * - CBC, decrypting: the sectors are one long message but for the first block of each, and that is put right by XOR. So an engine that is
 *   dear per request gets requests as large as it likes.
 * - XTS over a driver's ECB (`xts.ts`), where that is quicker or the only way (`ways.ts`);
 * - a session's own call for many units, where it has one.
 * What is left goes sector by sector.
 */
import { type Algorithm, cipherLike } from '../../algorithms.js';
import type { CipherSession, Direction } from '../../drivers/driver.js';
import { checkHalves } from '../../drivers/xts.js';
import { type Route, Router } from '../../routing/router.js';
import type { SectorSpecification } from './specification.js';
import { Trial } from './trial.js';
import { type Ways, waysOf } from './ways.js';
import { BatchedXts } from './xts.js';

/** Sectors are counted in these, whatever their size. */
export const COUNTED_BYTES = 512;
const BLOCK = 16;
/** What the numbers of a run come to. */
const SMALL_BYTES = 4096;

export interface SectorOptions {
  readonly sectorBytes: number;
  /** Added to the number of a sector, in units of 512 bytes. */
  readonly ivTweak?: bigint;
  /**
   * The IV counts sectors of their own size and not units of 512 bytes: dm-crypt's `iv_large_sectors`, which plain mappings may have and
   * LUKS has not.
   */
  readonly ivLargeSectors?: boolean;
  readonly router: Router;
}

export class SectorCipher {
  readonly sectorBytes: number;
  /** Does it sector by sector, or CBC in one; undefined where XTS goes in batches only. */
  readonly #session: CipherSession | undefined;
  readonly #batched: BatchedXts | undefined;
  /** Where there are both. */
  readonly #trial: Trial | undefined;
  /** Encrypts the numbers of ESSIV. */
  readonly #essiv: CipherSession | undefined;
  readonly #spec: SectorSpecification;
  readonly #decrypting: boolean;
  readonly #tweak: bigint;
  readonly #large: boolean;
  #ivs = new Uint8Array(0);
  #saved = new Uint8Array(0);
  readonly #worked: { sectors?: true; batches?: true } = {};

  /** @throws UnavailableError where no driver has the cipher */
  constructor(spec: SectorSpecification, direction: Direction, key: Uint8Array, options: SectorOptions) {
    this.#spec = spec;
    this.#decrypting = direction === 'decrypt';
    this.sectorBytes = options.sectorBytes;
    this.#tweak = options.ivTweak ?? 0n;
    this.#large = options.ivLargeSectors ?? false;
    const { router, sectorBytes } = options;
    const { algorithm, iv } = spec;
    try {
      const ways = waysOf(router, algorithm, direction, sectorBytes);
      if (ways.sectors) {
        const start = algorithm.ivBytes === 0 ? null : new Uint8Array(algorithm.ivBytes);
        const route = router.route(algorithm);
        this.#session = route.driver.cipher(algorithm, direction, key, start, route.options);
      }
      // Whoever has a call for many sectors has nothing to gain.
      if (ways.batches && !this.#session?.updateUnits) {
        this.#batched = batched(ways.batches, direction, key, options);
        if (ways.sectors) this.#trial = new Trial();
      }
      if (iv.kind === 'essiv') {
        const salt = new Uint8Array(iv.hash.digestBytes);
        try {
          const hasher = smallWork(router, iv.hash);
          using hash = hasher.driver.hash(iv.hash, hasher.options);
          hash.once(key, salt);
          const salted = smallWork(router, iv.cipher);
          this.#essiv = salted.driver.cipher(iv.cipher, 'encrypt', salt, null, salted.options);
        } finally {
          salt.fill(0);
        }
      }
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Has it done anything yet? */
  get begun(): boolean {
    return this.#worked.sectors === true || this.#worked.batches === true;
  }

  /** Who does it, each once, with the way where it is not the driver's own: `libcrypto`, `afalg:ecb-aes-neon (XTS over its ECB)`. */
  get doneBy(): readonly string[] {
    const { sectors, batches } = this.#worked;
    const own = (sectors || !batches) && this.#session ? this.#session.driver.split('+') : [];
    const { mode, driver } = this.#batched ?? {};
    const made = (batches || !this.#session) && driver ? driver.split('+') : [];
    return [...own, ...made.map((name) => `${name} (XTS over its ${mode?.toUpperCase()})`)];
  }

  /**
   * In place.
   * @param data whole sectors
   * @param at where they begin, in bytes from the start of what the sectors are counted from; a multiple of the sector
   */
  run(data: Uint8Array, at: number): void {
    const { sectorBytes } = this;
    const count = data.length / sectorBytes;
    if (count === 0) return;
    const session = this.#session;
    if (session && this.#spec.iv.kind === 'none') {
      this.#worked.sectors = true;
      session.update(data, data);
      return;
    }
    const ivs = this.#ivsFor(at, count);
    if (this.#trial) this.#tried(this.#trial, data, ivs, count);
    else if (session) this.#bySectors(session, data, ivs, count);
    else this.#inBatches(data, ivs);
  }

  close(): void {
    this.#session?.close();
    this.#batched?.close();
    this.#essiv?.close();
    this.#ivs.fill(0);
    this.#saved.fill(0);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #tried(trial: Trial, data: Uint8Array, ivs: Uint8Array, count: number): void {
    const way = trial.next(data.length);
    const start = process.hrtime.bigint();
    if (way === 'sectors') this.#bySectors(this.#session as CipherSession, data, ivs, count);
    else this.#inBatches(data, ivs);
    trial.took(way, data.length, Number(process.hrtime.bigint() - start));
  }

  #inBatches(data: Uint8Array, ivs: Uint8Array): void {
    this.#worked.batches = true;
    this.#batched?.run(data, ivs);
  }

  #bySectors(session: CipherSession, data: Uint8Array, ivs: Uint8Array, count: number): void {
    const { sectorBytes } = this;
    this.#worked.sectors = true;
    if (this.#decrypting && this.#spec.algorithm.mode === 'cbc') this.#cbcDecrypt(session, data, ivs, count);
    else if (session.updateUnits) session.updateUnits(data, data, sectorBytes, ivs);
    else {
      for (let i = 0; i < count; i++) {
        const sector = data.subarray(i * sectorBytes, (i + 1) * sectorBytes);
        session.restart(ivs.subarray(i * BLOCK, (i + 1) * BLOCK));
        session.update(sector, sector);
      }
    }
  }

  /** As one message: what a sector's first block was chained with is taken off again, and its IV put on. */
  #cbcDecrypt(session: CipherSession, data: Uint8Array, ivs: Uint8Array, count: number): void {
    const { sectorBytes } = this;
    if (this.#saved.length < count * BLOCK) this.#saved = new Uint8Array(count * BLOCK);
    const chained = this.#saved;
    // In place: the ciphertext is gone afterwards.
    for (let i = 1; i < count; i++) {
      const end = i * sectorBytes;
      for (let k = 0; k < BLOCK; k++) {
        chained[i * BLOCK + k] = data[end - BLOCK + k]! ^ ivs[i * BLOCK + k]!;
      }
    }
    session.restart(ivs.subarray(0, BLOCK));
    session.update(data, data);
    for (let i = 1; i < count; i++) {
      const start = i * sectorBytes;
      for (let k = 0; k < BLOCK; k++) data[start + k]! ^= chained[i * BLOCK + k]!;
    }
  }

  #ivsFor(at: number, count: number): Uint8Array {
    const bytes = count * BLOCK;
    if (this.#ivs.length < bytes) this.#ivs = new Uint8Array(bytes);
    const ivs = this.#ivs.subarray(0, bytes);
    const { iv } = this.#spec;
    const step = this.sectorBytes / COUNTED_BYTES;
    const units = BigInt(step);
    const first = this.#tweak + BigInt(at / COUNTED_BYTES);
    ivs.fill(0);
    if (iv.kind === 'null') return ivs;
    const view = new DataView(ivs.buffer, ivs.byteOffset, bytes);
    let [low, high] = [0, 0];
    const seek = (sector: number): void => {
      const counted = BigInt.asUintN(64, first + BigInt(sector) * units);
      const number = this.#large ? counted / units : counted;
      [low, high] = [Number(number & 0xffff_ffffn), Number(number >> 32n)];
    };
    // The numbers count up in 32 bits, which is quicker; where those are used up, and for the rare convention, it is begun anew.
    seek(0);
    for (let sector = 0; sector < count; sector++, low += step) {
      if (this.#large || low > 0xffff_ffff) seek(sector);
      const i = sector * BLOCK;
      if (iv.kind === 'plain64be') {
        view.setUint32(i + 8, high);
        view.setUint32(i + 12, low);
      } else {
        view.setUint32(i, low, true);
        if (iv.kind !== 'plain') view.setUint32(i + 4, high, true);
      }
    }
    this.#essiv?.update(ivs, ivs);
    return ivs;
  }
}

let libraries: Router | undefined;

/**
 * Who does what is not the work itself: the hash of a key, 16 bytes for each sector. A library, where the drivers that were named
 * cannot, since a pinned one has one algorithm only, or where an engine was asked for and has none of this: nobody needs to be told.
 */
function smallWork(router: Router, algorithm: Algorithm): Route {
  const who = router.prospect(algorithm, SMALL_BYTES, 'encrypt');
  if (who && (router.policy !== 'hardware' || who.engine)) return router.route(algorithm);
  libraries ??= new Router({ policy: 'library', onFallback: () => {} });
  const software = libraries.prospect(algorithm, SMALL_BYTES, 'encrypt');
  return (software ? libraries : router).route(algorithm);
}

function batched(
  algorithm: NonNullable<Ways['batches']>,
  direction: Direction,
  key: Uint8Array,
  { router, sectorBytes }: SectorOptions,
): BatchedXts {
  checkHalves(direction, key);
  const half = key.length / 2;
  const ecb = cipherLike(`${algorithm.family}-${half * 8}-ecb`);
  if (ecb?.kind !== 'cipher') throw new Error(`${algorithm.family} has no ECB`);
  const start = algorithm.ivBytes === 0 ? null : new Uint8Array(algorithm.ivBytes);
  const { driver, options } = router.route(algorithm);
  const blocks = driver.cipher(algorithm, direction, key.subarray(0, half), start, options);
  try {
    const small = smallWork(router, ecb);
    const tweaks = small.driver.cipher(ecb, 'encrypt', key.subarray(half), null, small.options);
    return new BatchedXts(blocks, tweaks, sectorBytes);
  } catch (error) {
    blocks.close();
    throw error;
  }
}
