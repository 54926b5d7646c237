/** What the AEAD sessions of all drivers have in common. */
import type { AeadAlgorithm } from '../algorithms.js';
import { HwcryptError } from '../errors.js';
import { checkedLength, pair } from './buffers.js';
import type { Direction } from './driver.js';
import { checkIv, checkRoom } from './parameters.js';
import { SessionBase, wrongWay } from './session.js';

export abstract class AeadSessionBase extends SessionBase {
  abstract readonly algorithm: AeadAlgorithm;
  abstract readonly direction: Direction;

  /** Checks the arguments of one whole message, but for its tag. Returns the length of the text. */
  protected checkMessage(
    asked: Direction,
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
  ): number {
    if (asked !== this.direction) throw wrongWay(this.driver, this.direction, asked);
    const ivBytes = checkIv(this.algorithm, iv);
    checkedLength(aad, 'aad');
    const length = pair(text, output);
    checkRoom(this.driver, this.algorithm, ivBytes, length);
    return length;
  }
}

/** For drivers that take a message in one piece only. */
export abstract class WholeAeadSessionBase extends AeadSessionBase {
  readonly incremental = false;
  /** What takes it so: `AF_ALG`. */
  protected abstract readonly interfaceName: string;

  begin(): void {
    this.#refuse();
  }
  aad(): void {
    this.#refuse();
  }
  update(): void {
    this.#refuse();
  }
  async updateAsync(): Promise<void> {
    this.#refuse();
  }
  finish(): void {
    this.#refuse();
  }

  #refuse(): never {
    throw new HwcryptError(
      'SESSION_UNUSABLE',
      `${this.driver}: ${this.interfaceName} takes an AEAD message in one piece only; use seal or open`,
    );
  }
}
