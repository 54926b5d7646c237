/** Hashes and HMACs as the kernel's shash drivers run them: one state a session, which can be copied into another's. */
import { createHash, type Hash, randomBytes } from 'node:crypto';

import type { HashAlgorithm } from './algorithms.js';

export class HashState {
  readonly algorithm: HashAlgorithm;
  readonly #innerPad: Uint8Array;
  readonly #outerPad: Uint8Array;
  #state: Hash;

  constructor(algorithm: HashAlgorithm, key: Uint8Array) {
    this.algorithm = algorithm;
    const { keyed, openssl, blockBytes } = algorithm;
    const short = key.length > blockBytes ? createHash(openssl).update(key).digest() : key;
    const pad = (value: number): Uint8Array => {
      if (!keyed) return new Uint8Array(0);
      const bytes = new Uint8Array(blockBytes);
      bytes.set(short);
      return bytes.map((byte) => byte ^ value);
    };
    this.#innerPad = pad(0x36);
    this.#outerPad = pad(0x5c);
    this.#state = this.#fresh();
  }

  reset(): void {
    this.#state = this.#fresh();
  }

  update(bytes: Uint8Array): void {
    this.#state.update(bytes);
  }

  final(): Uint8Array {
    const inner = this.#state.digest();
    this.#state = this.#garbage();
    return this.algorithm.keyed
      ? createHash(this.algorithm.openssl).update(this.#outerPad).update(inner).digest()
      : inner;
  }

  /** The kernel copies the state alone, and does not ask whether it is one of the same algorithm. The key stays ours. */
  copyFrom(other: HashState): void {
    const alike = other.algorithm.openssl === this.algorithm.openssl;
    this.#state = alike ? other.#state.copy() : this.#garbage();
  }

  #fresh(): Hash {
    return createHash(this.algorithm.openssl).update(this.#innerPad);
  }

  /**
   * A state that has given its digest goes on from zeros in the kernel, one of another algorithm from whatever that means.
   * Either way the digest is of nothing that was asked for; here it differs from time to time, so that no test can come to rely on it.
   */
  #garbage(): Hash {
    return createHash(this.algorithm.openssl).update(randomBytes(64));
  }
}
