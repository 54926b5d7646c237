/** Memory for a trial: at a chosen distance from an aligned address, with margins that tell who wrote beside the output. */

const MARGIN = 32;
const MARK = 0xa5;
/** Of a long buffer only the ends are marked inside: filling all of it would take longer than the request. */
const MARKED_INSIDE = 4096;

export class Guarded {
  readonly view: Uint8Array;
  readonly #whole: Uint8Array;
  readonly #at: number;

  /** @param offset bytes from an address that is a multiple of 16, 0 … 15 */
  constructor(length: number, offset: number) {
    // V8's array buffers begin at a multiple of 16.
    this.#whole = new Uint8Array(length + 2 * MARGIN + 16);
    this.#at = MARGIN + (offset & 15);
    this.view = this.#whole.subarray(this.#at, this.#at + length);
    this.#whole.fill(MARK, 0, this.#at + Math.min(length, MARKED_INSIDE));
    this.#whole.fill(MARK, this.#at + Math.max(0, length - 64));
  }

  /** What was written before the view, or from `length` bytes of it on, in words. */
  damage(length: number): string | undefined {
    for (let i = 0; i < this.#at; i++) {
      if (this.#whole[i] !== MARK) return `${this.#at - i} bytes before the output were written`;
    }
    for (let i = this.#at + length; i < this.#whole.length; i++) {
      if (this.#whole[i] !== MARK) return `byte ${i - this.#at} of an output of ${length} was written`;
    }
    return undefined;
  }
}
