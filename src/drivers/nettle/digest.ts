/** Hash, HMAC and CMAC sessions. */
import type { HashAlgorithm, MacAlgorithm } from '../../algorithms.js';
import { checkedLength, lengthOf, outputBytes, part } from '../buffers.js';
import type { DigestSession } from '../driver.js';
import { checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import {
  type BlockCipher,
  type Call,
  type HashFunctions,
  type Nettle,
  type NettleSymbol,
  SIZES,
} from './library.js';
import { Memory } from './memory.js';

/** A hash or MAC set up in a session's memory. */
interface Machine {
  readonly memory: Memory;
  setKey(key: Uint8Array): void;
  /** Begins a message. */
  restart(): void;
  /** Called with `prefix` before (length, data). */
  readonly update: Call;
  readonly prefix: readonly number[];
  digest(length: number, output: Uint8Array): void;
}

/** Sets up one more of the same kind. */
type Make = () => Machine;

const CMAC: Record<8 | 16, readonly [NettleSymbol, NettleSymbol, NettleSymbol, NettleSymbol]> = {
  8: ['nettle_cmac64_set_key', 'nettle_cmac64_init', 'nettle_cmac64_update', 'nettle_cmac64_digest'],
  16: ['nettle_cmac128_set_key', 'nettle_cmac128_init', 'nettle_cmac128_update', 'nettle_cmac128_digest'],
};

/** What nettle must have for a MAC, besides the hash or the cipher. */
export function macSymbols({ construction, blockBytes }: MacAlgorithm): readonly NettleSymbol[] {
  return construction === 'hmac'
    ? ['nettle_hmac_set_key', 'nettle_hmac_digest']
    : CMAC[blockBytes === 8 ? 8 : 16];
}

function plain(hash: HashFunctions): Machine {
  const memory = new Memory([hash.contextBytes]);
  const { address } = memory.take(hash.contextBytes);
  return {
    memory,
    setKey: () => {},
    restart: () => void hash.init(address),
    update: hash.update,
    prefix: [address],
    digest: (length, output) => void hash.digest(address, length, output),
  };
}

function hmac(nettle: Nettle, hash: HashFunctions): Machine {
  const { contextBytes } = hash;
  const memory = new Memory([contextBytes, contextBytes, contextBytes]);
  const outer = memory.take(contextBytes);
  const inner = memory.take(contextBytes);
  const state = memory.take(contextBytes);
  const setKey = nettle.call('nettle_hmac_set_key');
  const digest = nettle.call('nettle_hmac_digest');
  const all = [outer.address, inner.address, state.address, hash.at];
  return {
    memory,
    setKey: (key) => void setKey(...all, lengthOf(key), key),
    restart: () => state.bytes.set(inner.bytes),
    update: hash.update,
    prefix: [state.address],
    digest: (length, output) => void digest(...all, length, output),
  };
}

function cmac(nettle: Nettle, cipher: BlockCipher): Machine {
  const { contextBytes, encryptAt } = cipher;
  const memory = new Memory([contextBytes, SIZES.cmacKey, SIZES.cmac]);
  const context = memory.take(contextBytes);
  const subkeys = memory.take(SIZES.cmacKey);
  const state = memory.take(SIZES.cmac);
  const [setKey, init, update, digest] = CMAC[cipher.blockBytes === 8 ? 8 : 16].map((symbol) =>
    nettle.call(symbol),
  ) as [Call, Call, Call, Call];
  return {
    memory,
    setKey(key) {
      cipher.setEncryptKey(context.address, key);
      setKey(subkeys.address, context.address, encryptAt);
    },
    restart: () => void init(state.address),
    update,
    prefix: [state.address, context.address, encryptAt],
    digest: (length, output) =>
      void digest(state.address, subkeys.address, context.address, encryptAt, length, output),
  };
}

export class NettleDigest extends SessionBase implements DigestSession {
  readonly driver = 'nettle';
  readonly algorithm: HashAlgorithm | MacAlgorithm;
  /** Not to be seen where a session gets into a log: a MAC's key is in it. */
  readonly #machine: Machine;
  readonly #make: Make;
  /** False from `digest` until `restart`. */
  #open = true;

  private constructor(algorithm: HashAlgorithm | MacAlgorithm, make: Make) {
    super();
    this.algorithm = algorithm;
    this.#make = make;
    const machine = make();
    this.#machine = machine;
    const { memory } = machine;
    this.own(() => memory.wipe());
  }

  static hash(algorithm: HashAlgorithm, hash: HashFunctions): NettleDigest {
    const session = new NettleDigest(algorithm, () => plain(hash));
    session.#machine.restart();
    return session;
  }

  /** `over` is the hash of an HMAC, the block cipher of a CMAC. */
  static mac(
    nettle: Nettle,
    algorithm: MacAlgorithm,
    over: HashFunctions | BlockCipher,
    key: Uint8Array,
  ): NettleDigest {
    checkKey(algorithm, key);
    const make = 'digest' in over ? () => hmac(nettle, over) : () => cmac(nettle, over);
    const session = new NettleDigest(algorithm, make);
    session.#machine.setKey(key);
    session.#machine.restart();
    return session;
  }

  update(data: Uint8Array): void {
    this.ready();
    const length = checkedLength(data, 'data');
    this.#unfinished();
    if (length > 0) this.#machine.update(...this.#machine.prefix, length, data);
  }

  async updateAsync(data: Uint8Array): Promise<void> {
    this.ready();
    const length = checkedLength(data, 'data');
    this.#unfinished();
    if (length === 0) return;
    const { update, prefix } = this.#machine;
    await this.busy([data], () => update.promise(...prefix, length, part(data, 0, length)));
  }

  digest(output: Uint8Array): void {
    this.ready();
    this.#unfinished();
    const { algorithm } = this;
    const length =
      algorithm.kind === 'hash' && algorithm.xof ? checkedLength(output, 'output') : algorithm.digestBytes;
    outputBytes(output, 'output', length);
    this.#open = false;
    if (length > 0) this.#machine.digest(length, output);
  }

  clone(): NettleDigest {
    this.ready();
    const copy = new NettleDigest(this.algorithm, this.#make);
    copy.#machine.memory.copyFrom(this.#machine.memory);
    copy.#open = this.#open;
    return copy;
  }

  restart(key?: Uint8Array): void {
    this.ready();
    if (key !== undefined && this.algorithm.kind === 'mac') {
      checkKey(this.algorithm, key);
      this.#machine.setKey(key);
    }
    this.#machine.restart();
    this.#open = true;
  }

  once(data: Uint8Array, output: Uint8Array): void {
    this.restart();
    this.update(data);
    this.digest(output);
  }

  async onceAsync(data: Uint8Array, output: Uint8Array): Promise<void> {
    this.restart();
    await this.updateAsync(data);
    this.digest(output);
  }

  #unfinished(): void {
    if (!this.#open) throw new Error('digest() was called: restart() the session first');
  }
}
