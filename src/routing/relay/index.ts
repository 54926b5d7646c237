/**
 * A relay: several drivers behind the contract of one (`drivers/driver.ts`), so that whoever opens sessions need not know how many
 * there are. It exists for one algorithm; a squad for each direction says who gets which request.
 */
import type {
  AeadAlgorithm,
  Algorithm,
  CipherAlgorithm,
  HashAlgorithm,
  MacAlgorithm,
} from '../../algorithms.js';
import type {
  AeadOptions,
  AeadSession,
  CipherSession,
  DigestSession,
  Direction,
  Driver,
  DriverName,
  Implementation,
  Probe,
  Support,
} from '../../drivers/driver.js';
import type { Squad } from '../squad.js';
import { RelayAead } from './aead.js';
import { RelayCipher } from './cipher.js';
import { RelayDigest } from './digest.js';

export class Relay implements Driver {
  readonly #squadFor: (direction: Direction) => Squad;

  /** @param squadFor the squad of a direction; `encrypt` stands for hashing too. Asked at each session's opening. */
  constructor(squadFor: (direction: Direction) => Squad) {
    this.#squadFor = squadFor;
  }

  /** Who does a short request. */
  get #first(): Driver {
    const squad = this.#squadFor('encrypt');
    return squad.candidates[squad.pick(0)]!.driver;
  }

  get name(): DriverName {
    return this.#first.name;
  }

  probe(): Probe {
    return this.#first.probe();
  }

  reprobe(): Probe {
    return this.#first.reprobe();
  }

  supports(algorithm: Algorithm): Support {
    return this.#first.supports(algorithm);
  }

  implementation(algorithm: Algorithm): Implementation | undefined {
    const squad = this.#squadFor('encrypt');
    const { driver, options } = squad.candidates[squad.pick(0)]!;
    return driver.implementation(algorithm, options);
  }

  cipher(
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
  ): CipherSession {
    return new RelayCipher(this.#squadFor(direction), algorithm, direction, key, iv);
  }

  aead(
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    options: AeadOptions = {},
  ): AeadSession {
    const { tagBytes = algorithm.defaultTagBytes } = options;
    return new RelayAead(this.#squadFor(direction), algorithm, direction, key, tagBytes);
  }

  hash(algorithm: HashAlgorithm): DigestSession {
    return new RelayDigest(this.#squadFor('encrypt'), algorithm, undefined);
  }

  mac(algorithm: MacAlgorithm, key: Uint8Array): DigestSession {
    return new RelayDigest(this.#squadFor('encrypt'), algorithm, key);
  }
}
