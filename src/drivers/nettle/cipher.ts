/** Cipher sessions over nettle's block ciphers in its modes, ChaCha20 and RC4. */
import type { CipherAlgorithm } from '../../algorithms.js';
import { HwcryptError } from '../../errors.js';
import { copyOf, lengthOf, pair, part, unaliased } from '../buffers.js';
import type { CipherSession, Direction } from '../driver.js';
import { checkIv, checkKey } from '../parameters.js';
import { SessionBase } from '../session.js';
import { checkHalves } from '../xts.js';
import { type BlockCipher, type Call, type Nettle, type NettleSymbol, SIZES } from './library.js';
import { Memory, type Part } from './memory.js';
import { Pieces, pieceSizes } from './pieces.js';

/** A cipher in its mode, set up in a session's memory. */
interface Machine {
  readonly memory: Memory;
  /** Called with `prefix` before (length, output, input). */
  readonly crypt: Call;
  readonly prefix: readonly number[];
  setKey(key: Uint8Array): void;
  setIv(iv: Uint8Array | null): void;
  /** The IV or counter as it stands, in the form in which an IV is given; null for a mode without one. */
  chain(): Uint8Array | null;
  /** Where calls must be whole blocks, except the last. */
  readonly pieces?: Pieces;
}

/** Functions of the modes in which nettle carries the IV on; CTR has one for both directions. */
const MODES: Partial<Record<CipherAlgorithm['mode'], Record<Direction, NettleSymbol>>> = {
  cbc: { encrypt: 'nettle_cbc_encrypt', decrypt: 'nettle_cbc_decrypt' },
  ctr: { encrypt: 'nettle_ctr_crypt', decrypt: 'nettle_ctr_crypt' },
  cfb: { encrypt: 'nettle_cfb_encrypt', decrypt: 'nettle_cfb_decrypt' },
  cfb8: { encrypt: 'nettle_cfb8_encrypt', decrypt: 'nettle_cfb8_decrypt' },
  xts: { encrypt: 'nettle_xts_encrypt_message', decrypt: 'nettle_xts_decrypt_message' },
};

/** What nettle must have for a mode or a stream cipher, besides the block cipher. */
export function cipherSymbols({ mode, family }: CipherAlgorithm): readonly NettleSymbol[] {
  if (family === 'rc4') return ['nettle_arcfour_set_key', 'nettle_arcfour_crypt'];
  if (family === 'chacha20') {
    return [
      'nettle_chacha_set_key',
      'nettle_chacha_set_nonce',
      'nettle_chacha_set_counter',
      'nettle_chacha_crypt',
    ];
  }
  return Object.values(MODES[mode] ?? {});
}

/** Modes that need no functions of their own, or those of `MODES`. */
export function hasMode(mode: CipherAlgorithm['mode']): boolean {
  return mode === 'ecb' || mode === 'stream' || MODES[mode] !== undefined;
}

function arcfour(nettle: Nettle): Machine {
  const memory = new Memory([SIZES.arcfour, 256]);
  const context = memory.take(SIZES.arcfour);
  // RC4 has no IV to begin anew with: only its key does that, so it is kept.
  const kept = memory.take(256);
  const setKey = nettle.call('nettle_arcfour_set_key');
  let keyBytes = 0;
  return {
    memory,
    crypt: nettle.call('nettle_arcfour_crypt'),
    prefix: [context.address],
    setKey(key) {
      keyBytes = lengthOf(key);
      kept.bytes.fill(0);
      kept.bytes.set(key);
    },
    setIv: () => void setKey(context.address, keyBytes, kept.bytes),
    chain: () => null,
  };
}

/**
 * With the counter of 64 bits that nettle had first: it ends in the first word of the nonce, which is where OpenSSL carries to
 * as well.
 */
function chacha(nettle: Nettle): Machine {
  const memory = new Memory([SIZES.chacha, 16, ...pieceSizes(64, SIZES.chacha)]);
  const context = memory.take(SIZES.chacha);
  const start = memory.take(16);
  const setKey = nettle.call('nettle_chacha_set_key');
  const setNonce = nettle.call('nettle_chacha_set_nonce');
  const setCounter = nettle.call('nettle_chacha_set_counter');
  const crypt = nettle.call('nettle_chacha_crypt');
  const pieces = new Pieces(memory, 64, context, (length, to, from) => {
    crypt(context.address, length, to, from);
  });
  return {
    memory,
    crypt,
    prefix: [context.address],
    setKey: (key) => void setKey(context.address, key),
    setIv(iv) {
      start.bytes.set(iv as Uint8Array);
      setNonce(context.address, start.address + 8);
      setCounter(context.address, start.address);
    },
    chain() {
      // The last four words of the state, which are in the order of this machine.
      const { state } = pieces;
      const words = new Uint32Array(state.buffer, state.byteOffset + 48, 4);
      const value = new Uint8Array(16);
      const view = new DataView(value.buffer);
      for (const [i, word] of words.entries()) view.setUint32(4 * i, word, true);
      return value;
    },
    pieces,
  };
}

function block(
  nettle: Nettle,
  cipher: BlockCipher,
  algorithm: CipherAlgorithm,
  direction: Direction,
): Machine {
  const { mode, ivBytes } = algorithm;
  const { blockBytes, contextBytes } = cipher;
  // CTR and CFB make a stream of encrypted blocks, whichever the direction.
  const inverse = direction === 'decrypt' && (mode === 'ecb' || mode === 'cbc' || mode === 'xts');
  const crypt = inverse ? cipher.decrypt : cipher.encrypt;
  const cryptAt = inverse ? cipher.decryptAt : cipher.encryptAt;
  const xts = mode === 'xts';
  const streaming = mode === 'ctr' || mode === 'cfb';
  const memory = new Memory([
    contextBytes,
    blockBytes,
    ...(xts ? [contextBytes] : []),
    ...(streaming ? pieceSizes(blockBytes, blockBytes) : []),
  ]);
  const context = memory.take(contextBytes);
  const iv = memory.take(blockBytes);
  const schedule = (at: Part, key: Uint8Array): void => {
    if (inverse) cipher.setDecryptKey(at.address, key);
    else cipher.setEncryptKey(at.address, key);
  };
  const setIv = (value: Uint8Array | null): void => {
    if (ivBytes > 0) iv.bytes.set(value as Uint8Array);
  };
  const setKey = (key: Uint8Array) => schedule(context, key);
  const symbol = MODES[mode]?.[direction];
  if (symbol === undefined) {
    return { memory, crypt, prefix: [context.address], setKey, setIv, chain: () => null };
  }
  const call = nettle.call(symbol);
  if (xts) {
    const tweak = memory.take(contextBytes);
    return {
      memory,
      crypt: call,
      prefix: [
        context.address,
        tweak.address,
        cryptAt,
        // The tweak is always encrypted: decryption needs that function too.
        ...(inverse ? [cipher.encryptAt] : []),
        iv.address,
      ],
      setKey(key) {
        checkHalves(direction, key);
        const half = lengthOf(key) / 2;
        schedule(context, part(key, 0, half));
        cipher.setEncryptKey(tweak.address, part(key, half, half));
      },
      setIv,
      chain: () => null,
    };
  }
  if (cipher.cbcEncrypt && mode === 'cbc' && !inverse) {
    const prefix = [context.address, iv.address];
    return { memory, crypt: cipher.cbcEncrypt, prefix, setKey, setIv, chain: () => copyOf(iv.bytes) };
  }
  const prefix = [context.address, cryptAt, blockBytes, iv.address];
  const pieces = streaming
    ? new Pieces(memory, blockBytes, iv, (length, to, from) => {
        call(...prefix, length, to, from);
      })
    : undefined;
  return {
    memory,
    crypt: call,
    prefix,
    setKey,
    setIv,
    chain: () => copyOf(pieces?.state ?? iv.bytes),
    ...(pieces ? { pieces } : {}),
  };
}

export class NettleCipher extends SessionBase implements CipherSession {
  readonly driver = 'nettle';
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  readonly partialBlocks = true;
  /** Not to be seen where a session gets into a log: the key is in it. */
  readonly #machine: Machine;

  /** `cipher` is there for all but the stream ciphers. */
  constructor(
    nettle: Nettle,
    cipher: BlockCipher | undefined,
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
  ) {
    super();
    checkKey(algorithm, key);
    checkIv(algorithm, iv);
    this.algorithm = algorithm;
    this.direction = direction;
    const machine = cipher
      ? block(nettle, cipher, algorithm, direction)
      : algorithm.family === 'rc4'
        ? arcfour(nettle)
        : chacha(nettle);
    this.#machine = machine;
    const { memory } = machine;
    machine.setKey(key);
    machine.setIv(iv);
    this.own(() => memory.wipe());
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    const source = unaliased(input, output, length);
    const { crypt, prefix, pieces } = this.#machine;
    if (!pieces) {
      crypt(...prefix, length, output, source);
      return;
    }
    const head = pieces.head(source, output, length);
    const whole = this.#whole(length - head);
    if (whole > 0) crypt(...prefix, whole, part(output, head, whole), part(source, head, whole));
    pieces.tail(source, output, head + whole, length - head - whole);
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    const length = this.#check(input, output);
    if (length === 0) return;
    const source = unaliased(input, output, length);
    const { crypt, prefix, pieces } = this.#machine;
    await this.busy([input, output], async () => {
      const head = pieces?.head(source, output, length) ?? 0;
      const whole = pieces ? this.#whole(length - head) : length;
      if (whole > 0) {
        await crypt.promise(...prefix, whole, part(output, head, whole), part(source, head, whole));
      }
      pieces?.tail(source, output, head + whole, length - head - whole);
    });
  }

  restart(iv: Uint8Array | null, key?: Uint8Array): void {
    this.ready();
    checkIv(this.algorithm, iv);
    if (key !== undefined) {
      checkKey(this.algorithm, key);
      this.#machine.setKey(key);
    }
    this.#machine.pieces?.restart();
    this.#machine.setIv(iv);
  }

  chain(): Uint8Array | null {
    this.ready();
    return this.algorithm.handover ? this.#machine.chain() : null;
  }

  #whole(length: number): number {
    return length - (length % this.algorithm.cipherBlockBytes);
  }

  #check(input: Uint8Array, output: Uint8Array): number {
    const { blockBytes, minBytes = 0 } = this.algorithm;
    const length = pair(input, output, blockBytes);
    if (length > 0 && length < minBytes) {
      throw new HwcryptError('PARTIAL_BLOCK', `an XTS data unit is at least ${minBytes} bytes long`);
    }
    return length;
  }
}
