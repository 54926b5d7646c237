/**
 * Sectors encrypted and decrypted as dm-crypt does it, many in one call.
 *
 * Room `luks`. A driver's session works on one message, and a sector is one. Three ways lead from many sectors to few calls:
 * - CBC, decrypting: the sectors are one long message but for the first block of each, and that is put right by XOR. So an engine that is
 *   dear per request gets requests as large as it likes.
 * - a session's own call for many units, where it has one;
 * - sector by sector.
 */
import type { CipherSession, Direction } from '../../drivers/driver.js';
import type { Router } from '../../routing/router.js';
import type { SectorSpecification } from './specification.js';

/** Sectors are counted in these, whatever their size. */
export const COUNTED_BYTES = 512;
const BLOCK = 16;

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
  /** Who does it: `libcrypto`, `afalg:cbc-aes-neon`. */
  readonly driver: string;
  readonly sectorBytes: number;
  readonly #session: CipherSession;
  /** Encrypts the numbers of ESSIV. */
  readonly #essiv: CipherSession | undefined;
  readonly #spec: SectorSpecification;
  readonly #decrypting: boolean;
  readonly #tweak: bigint;
  readonly #large: boolean;
  #ivs = new Uint8Array(0);
  #saved = new Uint8Array(0);

  /** @throws UnavailableError where no driver has the cipher */
  constructor(spec: SectorSpecification, direction: Direction, key: Uint8Array, options: SectorOptions) {
    this.#spec = spec;
    this.#decrypting = direction === 'decrypt';
    this.sectorBytes = options.sectorBytes;
    this.#tweak = options.ivTweak ?? 0n;
    this.#large = options.ivLargeSectors ?? false;
    const { router } = options;
    const { algorithm, iv } = spec;
    const start = algorithm.ivBytes === 0 ? null : new Uint8Array(algorithm.ivBytes);
    const route = router.route(algorithm);
    this.#session = route.driver.cipher(algorithm, direction, key, start, route.options);
    this.driver = this.#session.driver;
    if (iv.kind === 'essiv') {
      const salt = new Uint8Array(iv.hash.digestBytes);
      try {
        const hasher = router.route(iv.hash);
        using hash = hasher.driver.hash(iv.hash, hasher.options);
        hash.once(key, salt);
        const salted = router.route(iv.cipher);
        this.#essiv = salted.driver.cipher(iv.cipher, 'encrypt', salt, null, salted.options);
      } catch (error) {
        this.#session.close();
        throw error;
      } finally {
        salt.fill(0);
      }
    }
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
    if (this.#spec.iv.kind === 'none') {
      session.update(data, data);
      return;
    }
    const ivs = this.#ivsFor(at, count);
    if (this.#decrypting && this.#spec.algorithm.mode === 'cbc') this.#cbcDecrypt(data, ivs, count);
    else if (session.updateUnits) session.updateUnits(data, data, sectorBytes, ivs);
    else {
      for (let i = 0; i < count; i++) {
        const sector = data.subarray(i * sectorBytes, (i + 1) * sectorBytes);
        session.restart(ivs.subarray(i * BLOCK, (i + 1) * BLOCK));
        session.update(sector, sector);
      }
    }
  }

  close(): void {
    this.#session.close();
    this.#essiv?.close();
    this.#ivs.fill(0);
    this.#saved.fill(0);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** As one message: what a sector's first block was chained with is taken off again, and its IV put on. */
  #cbcDecrypt(data: Uint8Array, ivs: Uint8Array, count: number): void {
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
    this.#session.restart(ivs.subarray(0, BLOCK));
    this.#session.update(data, data);
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
