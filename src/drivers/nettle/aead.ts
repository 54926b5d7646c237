/** AEAD sessions: GCM, CCM and OCB over nettle's block ciphers, and ChaCha20-Poly1305. */
import { timingSafeEqual } from 'node:crypto';

import type { AeadAlgorithm } from '../../algorithms.js';
import { AuthenticationError, HwcryptError } from '../../errors.js';
import { AeadSessionBase } from '../aead.js';
import { bytes, checkedLength, lengthOf, outputBytes, pair, part, unaliased } from '../buffers.js';
import type { AeadSession, Direction } from '../driver.js';
import { checkIv, checkKey, checkTagBytes } from '../parameters.js';
import { type BlockCipher, type Call, type Nettle, type NettleSymbol, SIZES } from './library.js';
import { Memory, type Part } from './memory.js';
import { Pieces, pieceSizes } from './pieces.js';

const BLOCK = 16;

/** Additional data up to this many bytes is not worth a thread. */
const SHORT_AAD = 4096;

const { fill, set } = Uint8Array.prototype;

/** A function, and what it is called with before the lengths and views. */
interface Step {
  readonly call: Call;
  readonly prefix: readonly number[];
}

/** An AEAD set up in a session's memory. */
interface Machine {
  readonly memory: Memory;
  setKey(key: Uint8Array): void;
  /** Lengths of the whole message are only looked at by CCM. */
  start(iv: Uint8Array, aadBytes: number, textBytes: number): void;
  /** (length, data) */
  readonly aad: Step;
  /** (length, output, input) */
  readonly crypt: Step;
  /** (length, tag) */
  readonly digest: Step;
  /** Room for the tag. */
  readonly tag: Part;
  /** Where messages may come in pieces. */
  readonly incremental?: {
    readonly pieces: Pieces;
    readonly blockBytes: number;
    /** Additional data that does not fill a block yet. */
    readonly held: Part;
  };
}

const FUNCTIONS: Record<AeadAlgorithm['mode'], readonly NettleSymbol[]> = {
  gcm: [
    'nettle_gcm_set_key',
    'nettle_gcm_set_iv',
    'nettle_gcm_update',
    'nettle_gcm_encrypt',
    'nettle_gcm_decrypt',
    'nettle_gcm_digest',
  ],
  ccm: [
    'nettle_ccm_set_nonce',
    'nettle_ccm_update',
    'nettle_ccm_encrypt',
    'nettle_ccm_decrypt',
    'nettle_ccm_digest',
  ],
  ocb: [
    'nettle_ocb_set_key',
    'nettle_ocb_set_nonce',
    'nettle_ocb_update',
    'nettle_ocb_encrypt',
    'nettle_ocb_decrypt',
    'nettle_ocb_digest',
  ],
  'chacha20-poly1305': [
    'nettle_chacha_poly1305_set_key',
    'nettle_chacha_poly1305_set_nonce',
    'nettle_chacha_poly1305_update',
    'nettle_chacha_poly1305_encrypt',
    'nettle_chacha_poly1305_decrypt',
    'nettle_chacha_poly1305_digest',
  ],
};

/** What nettle must have for an AEAD, besides the block cipher. */
export function aeadSymbols({ mode }: AeadAlgorithm): readonly NettleSymbol[] {
  return FUNCTIONS[mode];
}

function gcm(nettle: Nettle, cipher: BlockCipher, direction: Direction): Machine {
  const memory = new Memory([
    cipher.contextBytes,
    SIZES.gcmKey,
    SIZES.gcm,
    BLOCK,
    BLOCK,
    ...pieceSizes(BLOCK, SIZES.gcm),
  ]);
  const context = memory.take(cipher.contextBytes);
  const key = memory.take(SIZES.gcmKey);
  const state = memory.take(SIZES.gcm);
  const tag = memory.take(BLOCK);
  const held = memory.take(BLOCK);
  const setKey = nettle.call('nettle_gcm_set_key');
  const setIv = nettle.call('nettle_gcm_set_iv');
  const call = nettle.call(direction === 'encrypt' ? 'nettle_gcm_encrypt' : 'nettle_gcm_decrypt');
  const prefix = [state.address, key.address, context.address, cipher.encryptAt];
  const pieces = new Pieces(memory, BLOCK, state, (length, to, from) => {
    call(...prefix, length, to, from);
  });
  return {
    memory,
    setKey(value) {
      cipher.setEncryptKey(context.address, value);
      setKey(key.address, context.address, cipher.encryptAt);
    },
    start: (iv) => void setIv(state.address, key.address, lengthOf(iv), iv),
    aad: { call: nettle.call('nettle_gcm_update'), prefix: [state.address, key.address] },
    crypt: { call, prefix },
    digest: { call: nettle.call('nettle_gcm_digest'), prefix },
    tag,
    incremental: { pieces, blockBytes: BLOCK, held },
  };
}

function ccm(nettle: Nettle, cipher: BlockCipher, direction: Direction, tagBytes: number): Machine {
  const memory = new Memory([cipher.contextBytes, SIZES.ccm, BLOCK]);
  const context = memory.take(cipher.contextBytes);
  const state = memory.take(SIZES.ccm);
  const tag = memory.take(BLOCK);
  const setNonce = nettle.call('nettle_ccm_set_nonce');
  const prefix = [state.address, context.address, cipher.encryptAt];
  return {
    memory,
    setKey: (key) => cipher.setEncryptKey(context.address, key),
    start: (iv, aadBytes, textBytes) =>
      void setNonce(...prefix, lengthOf(iv), iv, aadBytes, textBytes, tagBytes),
    aad: { call: nettle.call('nettle_ccm_update'), prefix },
    crypt: {
      call: nettle.call(direction === 'encrypt' ? 'nettle_ccm_encrypt' : 'nettle_ccm_decrypt'),
      prefix,
    },
    digest: { call: nettle.call('nettle_ccm_digest'), prefix },
    tag,
  };
}

function ocb(nettle: Nettle, cipher: BlockCipher, direction: Direction, tagBytes: number): Machine {
  const { contextBytes } = cipher;
  const memory = new Memory([contextBytes, contextBytes, SIZES.ocbKey, SIZES.ocb, BLOCK]);
  const context = memory.take(contextBytes);
  const inverse = memory.take(contextBytes);
  const key = memory.take(SIZES.ocbKey);
  const state = memory.take(SIZES.ocb);
  const tag = memory.take(BLOCK);
  const setKey = nettle.call('nettle_ocb_set_key');
  const setNonce = nettle.call('nettle_ocb_set_nonce');
  const prefix = [state.address, key.address, context.address, cipher.encryptAt];
  return {
    memory,
    setKey(value) {
      cipher.setEncryptKey(context.address, value);
      cipher.setDecryptKey(inverse.address, value);
      setKey(key.address, context.address, cipher.encryptAt);
    },
    start: (iv) =>
      void setNonce(state.address, context.address, cipher.encryptAt, tagBytes, lengthOf(iv), iv),
    aad: { call: nettle.call('nettle_ocb_update'), prefix },
    crypt:
      direction === 'encrypt'
        ? { call: nettle.call('nettle_ocb_encrypt'), prefix }
        : {
            call: nettle.call('nettle_ocb_decrypt'),
            prefix: [...prefix, inverse.address, cipher.decryptAt],
          },
    digest: { call: nettle.call('nettle_ocb_digest'), prefix },
    tag,
  };
}

function chachaPoly1305(nettle: Nettle, contextBytes: number, direction: Direction): Machine {
  const blockBytes = 64;
  const memory = new Memory([contextBytes, BLOCK, BLOCK, ...pieceSizes(blockBytes, contextBytes)]);
  const context = memory.take(contextBytes);
  const tag = memory.take(BLOCK);
  const held = memory.take(BLOCK);
  const setKey = nettle.call('nettle_chacha_poly1305_set_key');
  const setNonce = nettle.call('nettle_chacha_poly1305_set_nonce');
  const call = nettle.call(
    direction === 'encrypt' ? 'nettle_chacha_poly1305_encrypt' : 'nettle_chacha_poly1305_decrypt',
  );
  const prefix = [context.address];
  const pieces = new Pieces(memory, blockBytes, context, (length, to, from) => {
    call(context.address, length, to, from);
  });
  return {
    memory,
    setKey: (key) => void setKey(context.address, key),
    start: (iv) => void setNonce(context.address, iv),
    aad: { call: nettle.call('nettle_chacha_poly1305_update'), prefix },
    crypt: { call, prefix },
    digest: { call: nettle.call('nettle_chacha_poly1305_digest'), prefix },
    tag,
    incremental: { pieces, blockBytes, held },
  };
}

/** What an AEAD is made over: a block cipher, or for ChaCha20-Poly1305 the bytes of its context. */
export type AeadBase = BlockCipher | number;

function machineFor(
  nettle: Nettle,
  base: AeadBase,
  { mode }: AeadAlgorithm,
  direction: Direction,
  tagBytes: number,
): Machine {
  if (typeof base === 'number') return chachaPoly1305(nettle, base, direction);
  switch (mode) {
    case 'ccm':
      return ccm(nettle, base, direction, tagBytes);
    case 'ocb':
      return ocb(nettle, base, direction, tagBytes);
    default:
      return gcm(nettle, base, direction);
  }
}

export class NettleAead extends AeadSessionBase implements AeadSession {
  readonly driver = 'nettle';
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  /** CCM needs the lengths first. nettle's OCB is not asked for pieces. */
  readonly incremental: boolean;
  /** Not to be seen where a session gets into a log: the key is in it. */
  readonly #machine: Machine;
  /** How far a message in pieces is: between messages, at its additional data, at its text. */
  #stage: 'none' | 'aad' | 'text' = 'none';
  #heldBytes = 0;

  constructor(
    nettle: Nettle,
    base: AeadBase,
    algorithm: AeadAlgorithm,
    direction: Direction,
    key: Uint8Array,
    tagBytes: number,
  ) {
    super();
    checkKey(algorithm, key);
    this.tagBytes = checkTagBytes(algorithm, tagBytes);
    this.algorithm = algorithm;
    this.direction = direction;
    const machine = machineFor(nettle, base, algorithm, direction, tagBytes);
    this.#machine = machine;
    this.incremental = machine.incremental !== undefined;
    const { memory } = machine;
    machine.setKey(key);
    this.own(() => memory.wipe());
  }

  rekey(key: Uint8Array): void {
    this.ready();
    checkKey(this.algorithm, key);
    this.#machine.setKey(key);
    this.#stage = 'none';
  }

  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void {
    const length = this.#checkSeal(iv, aad, text, output, tag);
    this.#whole(iv, aad, text, output, length);
    set.call(tag, this.#digest());
  }

  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void {
    const length = this.#checkOpen(iv, aad, text, tag, output);
    this.#whole(iv, aad, text, output, length);
    this.#verify(tag, output, length);
  }

  async sealAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Promise<void> {
    const length = this.#checkSeal(iv, aad, text, output, tag);
    await this.busy([aad, text, output, tag], async () => {
      await this.#wholeAsync(iv, aad, text, output, length);
      set.call(tag, this.#digest());
    });
  }

  async openAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    tag: Uint8Array,
    output: Uint8Array,
  ): Promise<void> {
    const length = this.#checkOpen(iv, aad, text, tag, output);
    await this.busy([aad, text, output, tag], async () => {
      await this.#wholeAsync(iv, aad, text, output, length);
      try {
        this.#verify(tag, output, length);
      } catch (error) {
        // A forged message is no failure of the driver: the session goes on.
        if (this.life === 'busy') this.life = 'ready';
        throw error;
      }
    });
  }

  begin(iv: Uint8Array): void {
    this.ready();
    const { pieces } = this.#inPieces();
    checkIv(this.algorithm, iv);
    this.#machine.start(iv, 0, 0);
    pieces.restart();
    this.#heldBytes = 0;
    this.#stage = 'aad';
  }

  aad(data: Uint8Array): void {
    this.ready();
    const { held } = this.#begun();
    const length = checkedLength(data, 'aad');
    if (this.#stage === 'text') {
      throw new HwcryptError('SESSION_UNUSABLE', 'nettle: additional data comes before the text');
    }
    // nettle takes whole blocks, and ends the additional data with the first that is none.
    let at = 0;
    if (this.#heldBytes > 0) {
      at = Math.min(length, BLOCK - this.#heldBytes);
      held.bytes.set(part(data, 0, at), this.#heldBytes);
      this.#heldBytes += at;
      if (this.#heldBytes < BLOCK) return;
      this.#flushAad();
    }
    const whole = (length - at) & -BLOCK;
    if (whole > 0) this.#step(this.#machine.aad, whole, part(data, at, whole));
    held.bytes.set(part(data, at + whole, length - at - whole));
    this.#heldBytes = length - at - whole;
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const { pieces, blockBytes } = this.#begun();
    const length = pair(input, output);
    if (length === 0) return;
    this.#beginText();
    const source = unaliased(input, output, length);
    const head = pieces.head(source, output, length);
    const whole = length - head - ((length - head) % blockBytes);
    if (whole > 0)
      this.#step(this.#machine.crypt, whole, part(output, head, whole), part(source, head, whole));
    pieces.tail(source, output, head + whole, length - head - whole);
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const { pieces, blockBytes } = this.#begun();
    const length = pair(input, output);
    if (length === 0) return;
    const source = unaliased(input, output, length);
    await this.busy([input, output], async () => {
      this.#beginText();
      const head = pieces.head(source, output, length);
      const whole = length - head - ((length - head) % blockBytes);
      if (whole > 0) {
        const { call, prefix } = this.#machine.crypt;
        await call.promise(...prefix, whole, part(output, head, whole), part(source, head, whole));
      }
      pieces.tail(source, output, head + whole, length - head - whole);
    });
  }

  finish(tag: Uint8Array): void {
    this.ready();
    this.#begun();
    const encrypt = this.direction === 'encrypt';
    if (encrypt) outputBytes(tag, 'tag', this.tagBytes);
    else checkTagBytes(this.algorithm, checkedLength(tag, 'tag'));
    this.#beginText();
    this.#stage = 'none';
    if (encrypt) set.call(tag, this.#digest());
    else this.#verify(tag, new Uint8Array(0), 0);
  }

  #inPieces(): NonNullable<Machine['incremental']> {
    const { incremental } = this.#machine;
    if (incremental) return incremental;
    throw new HwcryptError(
      'SESSION_UNUSABLE',
      `nettle: ${this.algorithm.name} takes a message in one piece only`,
    );
  }

  #begun(): NonNullable<Machine['incremental']> {
    const incremental = this.#inPieces();
    if (this.#stage !== 'none') return incremental;
    throw new HwcryptError('SESSION_UNUSABLE', 'nettle: begin() a message first');
  }

  #flushAad(): void {
    const { held } = this.#inPieces();
    if (this.#heldBytes > 0)
      this.#step(this.#machine.aad, this.#heldBytes, part(held.bytes, 0, this.#heldBytes));
    this.#heldBytes = 0;
  }

  #beginText(): void {
    this.#flushAad();
    this.#stage = 'text';
  }

  #step({ call, prefix }: Step, length: number, ...views: Uint8Array[]): void {
    call(...prefix, length, ...views);
  }

  #whole(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, length: number): void {
    const aadBytes = lengthOf(aad);
    this.#start(iv, aadBytes, length);
    if (aadBytes > 0) this.#step(this.#machine.aad, aadBytes, aad);
    if (length > 0) this.#step(this.#machine.crypt, length, output, unaliased(text, output, length));
  }

  async #wholeAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    length: number,
  ): Promise<void> {
    const machine = this.#machine;
    const aadBytes = lengthOf(aad);
    const source = unaliased(text, output, length);
    this.#start(iv, aadBytes, length);
    if (aadBytes > SHORT_AAD) {
      await machine.aad.call.promise(...machine.aad.prefix, aadBytes, part(aad, 0, aadBytes));
    } else if (aadBytes > 0) this.#step(machine.aad, aadBytes, aad);
    if (length === 0) return;
    const { call, prefix } = machine.crypt;
    await call.promise(...prefix, length, part(output, 0, length), part(source, 0, length));
  }

  #start(iv: Uint8Array, aadBytes: number, textBytes: number): void {
    this.#stage = 'none';
    this.#machine.start(iv, aadBytes, textBytes);
  }

  /** The tag of the message that ended. A view of the session's memory. */
  #digest(): Uint8Array {
    const { digest, tag, incremental } = this.#machine;
    // Where the length of the tag is no part of its making, a shorter one is the beginning of the whole.
    const length = incremental ? BLOCK : this.tagBytes;
    this.#step(digest, length, tag.bytes);
    return part(tag.bytes, 0, this.tagBytes);
  }

  #verify(given: Uint8Array, output: Uint8Array, length: number): void {
    this.#digest();
    const tagBytes = lengthOf(given);
    const made = part(this.#machine.tag.bytes, 0, tagBytes);
    if (timingSafeEqual(made, part(given, 0, tagBytes))) return;
    fill.call(output, 0, 0, length);
    throw new AuthenticationError();
  }

  #checkSeal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): number {
    const length = this.#check('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    return length;
  }

  #checkOpen(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): number {
    const length = this.#check('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    return length;
  }

  #check(
    direction: Direction,
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
  ): number {
    this.ready();
    return this.checkMessage(direction, iv, aad, text, output);
  }
}
