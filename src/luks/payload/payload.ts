/**
 * The plaintext of a volume, read and written at any place and length, by one thread.
 *
 * Room `luks`.
 */
import fs from 'node:fs';

import type { Direction } from '../../drivers/driver.js';
import { HwcryptError } from '../../errors.js';
import { systemMessage } from '../../files/io.js';
import type { Router } from '../../routing/router.js';
import { SectorCipher } from '../sectors/cipher.js';
import { parseSpecification } from '../sectors/specification.js';
import type { PayloadPlan, Piece } from './plan.js';

export interface PayloadFile {
  readonly fd: number;
  /** For messages. */
  readonly name: string;
}

interface Part extends Piece {
  readonly ciphers: { decrypt?: SectorCipher; encrypt?: SectorCipher };
}

export class Payload {
  readonly bytes: number;
  readonly #file: PayloadFile;
  readonly #parts: readonly Part[];
  readonly #open: (part: Part, direction: Direction) => SectorCipher;
  readonly #wipe: () => void;
  #sector = Buffer.alloc(0);

  /** @param key is copied @throws UnavailableError, LUKS_UNSUPPORTED */
  constructor(plan: PayloadPlan, file: PayloadFile, key: Uint8Array, router: Router) {
    this.bytes = plan.bytes;
    this.#file = file;
    this.#parts = plan.pieces.map((piece) => ({ ...piece, ciphers: {} }));
    const own = Buffer.alloc(key.length);
    own.set(key);
    this.#wipe = () => own.fill(0);
    this.#open = (part, direction) => {
      const { crypt, sectorBytes, ciphers } = part;
      if (!crypt) throw new Error('this part is not encrypted');
      const spec = parseSpecification(crypt.encryption, own.length);
      const options = { sectorBytes, ivTweak: crypt.ivTweak, router };
      const made = new SectorCipher(spec, direction, own, options);
      ciphers[direction] = made;
      return made;
    };
    // What nobody can do is found out before anything is read.
    for (const part of this.#parts) if (part.crypt) this.#open(part, 'decrypt');
  }

  /** Who has worked, each once; before that, who would decrypt. Empty where nothing is encrypted. */
  get doneBy(): readonly string[] {
    const all = this.#parts.flatMap(({ ciphers }) => Object.values(ciphers) as SectorCipher[]);
    const begun = all.filter((cipher) => cipher.begun);
    return [...new Set((begun.length > 0 ? begun : all).flatMap(({ doneBy }) => doneBy))];
  }

  /** Fills `buffer` from `offset` of the volume on, which must reach so far. */
  read(buffer: Uint8Array, offset: number): void {
    this.#each(offset, buffer.length, (part, at, start, length) => {
      const view = buffer.subarray(start, start + length);
      const { sectorBytes } = part;
      const [head, tail] = [at % sectorBytes, (at + length) % sectorBytes];
      if (head === 0 && tail === 0) {
        this.#readSectors(part, view, at);
        return;
      }
      // Only the sectors at the ends go through memory of their own.
      let done = 0;
      if (head !== 0) {
        done = Math.min(length, sectorBytes - head);
        view.set(this.#oneSector(part, at - head).subarray(head, head + done));
      }
      const whole = Math.floor((length - done) / sectorBytes) * sectorBytes;
      if (whole > 0) this.#readSectors(part, view.subarray(done, done + whole), at + done);
      done += whole;
      if (done < length) view.set(this.#oneSector(part, at + done).subarray(0, length - done), done);
    });
  }

  /** Writes `data`, which is overwritten with its ciphertext on the way. */
  write(data: Uint8Array, offset: number): void {
    this.#each(offset, data.length, (part, at, start, length) => {
      const view = data.subarray(start, start + length);
      const { sectorBytes } = part;
      const head = at % sectorBytes;
      let done = 0;
      if (head !== 0) {
        done = Math.min(length, sectorBytes - head);
        const sector = this.#oneSector(part, at - head);
        sector.set(view.subarray(0, done), head);
        this.#writeSectors(part, sector, at - head);
      }
      const whole = Math.floor((length - done) / sectorBytes) * sectorBytes;
      if (whole > 0) this.#writeSectors(part, view.subarray(done, done + whole), at + done);
      done += whole;
      if (done < length) {
        const sector = this.#oneSector(part, at + done);
        sector.set(view.subarray(done));
        this.#writeSectors(part, sector, at + done);
      }
    });
  }

  close(): void {
    for (const { ciphers } of this.#parts) {
      ciphers.decrypt?.close();
      ciphers.encrypt?.close();
    }
    this.#sector.fill(0);
    this.#wipe();
  }

  /** The parts that a range lies in. */
  #each(
    offset: number,
    length: number,
    work: (part: Part, at: number, start: number, length: number) => void,
  ): void {
    if (offset < 0 || offset + length > this.bytes) throw new RangeError('beyond the end of the volume');
    for (const part of this.#parts) {
      const from = Math.max(offset, part.from);
      const to = Math.min(offset + length, part.from + part.bytes);
      if (from < to) work(part, from - part.from, from - offset, to - from);
    }
  }

  /** One decrypted sector, in memory that the next call uses again. */
  #oneSector(part: Part, at: number): Buffer {
    if (this.#sector.length !== part.sectorBytes) this.#sector = Buffer.alloc(part.sectorBytes);
    this.#readSectors(part, this.#sector, at);
    return this.#sector;
  }

  #readSectors(part: Part, view: Uint8Array, at: number): void {
    const { fd, name } = this.#file;
    let done = 0;
    try {
      while (done < view.length) {
        const some = fs.readSync(fd, view, done, view.length - done, part.at + at + done);
        if (some === 0) throw new Error('it has become shorter');
        done += some;
      }
    } catch (error) {
      throw new HwcryptError('INPUT_FILE', `cannot read ${name}: ${systemMessage(error)}`, { cause: error });
    }
    if (part.crypt) (part.ciphers.decrypt ?? this.#open(part, 'decrypt')).run(view, at);
  }

  #writeSectors(part: Part, view: Uint8Array, at: number): void {
    const { fd, name } = this.#file;
    if (part.crypt) (part.ciphers.encrypt ?? this.#open(part, 'encrypt')).run(view, at);
    let done = 0;
    try {
      while (done < view.length) {
        done += fs.writeSync(fd, view, done, view.length - done, part.at + at + done);
      }
    } catch (error) {
      throw new HwcryptError('OUTPUT_FILE', `cannot write ${name}: ${systemMessage(error)}`, {
        cause: error,
      });
    }
  }
}
