/**
 * The driver contract: what every way of getting crypto done looks like to the rest of hwcrypt.
 *
 * Room `drivers`: may import `linux`, `algorithms`, `errors`. A driver knows nothing of padding, streams, text
 * encodings or other drivers; it works on bytes that its caller owns.
 *
 * Rules that hold for every method below:
 * - Inputs and outputs are plain `Uint8Array` views (a Buffer is one). Lengths are checked by `drivers/buffers.ts`
 *   before any native call: a wrong one would be memory corruption, not an exception.
 * - `input` and `output` may be the same view (in place). Any other overlap is copied first, never corrupted.
 * - A synchronous method returns when the work is done. An asynchronous one does it off the event loop on the
 *   caller's memory, which the caller must leave alone until the promise settles; one at a time for each session
 *   (`SESSION_BUSY` otherwise). Memory whose size may change (resizable, growable) is refused there.
 * - After a failure of the driver the session is unusable and every further call throws `SESSION_UNUSABLE`.
 *   What is in `output` then is to be thrown away. A bad argument (caught before the driver is asked) leaves it usable.
 * - `close()` frees what the session holds and wipes the key; it may be called twice. So does `Symbol.dispose`.
 */
import type {
  AeadAlgorithm,
  Algorithm,
  CipherAlgorithm,
  HashAlgorithm,
  MacAlgorithm,
} from '../algorithms.js';
import type { Reason } from '../errors.js';

export type DriverName = 'libcrypto' | 'afalg' | 'cryptodev' | 'gcrypt' | 'nettle' | 'node';

export type Direction = 'encrypt' | 'decrypt';

export type Probe =
  | {
      readonly available: true;
      /** What was found, for people: `OpenSSL 3.0.19`, `AF_ALG of Linux 6.1.0` … */
      readonly version: string;
      /** Facts worth knowing that do not prevent use, e.g. that off-CPU drivers are masked on this kernel. */
      readonly notes: readonly string[];
    }
  | { readonly available: false; readonly reason: Reason };

export type Support = { readonly supported: true } | { readonly supported: false; readonly reason: Reason };

/** Who does the work behind an algorithm of a driver. */
export interface Implementation {
  readonly driver: DriverName;
  /** `cra_driver_name`, or the name of the library's provider: `cbc-aes-aesni`, `virtio_crypto_aes_cbc`, `default`. */
  readonly kernelDriver: string;
  /** Kernel module, where it is one. */
  readonly module?: string;
  readonly priority?: number;
  /** Does the work leave the CPU? */
  readonly hardware: 'yes' | 'no' | 'unknown';
  /** What the verdict rests on, one fact each. */
  readonly evidence: readonly string[];
}

/** What a driver does for one of the numbers by which its interface knows algorithms. */
export interface NumberedSupport {
  readonly id: number;
  /** The interface's own name for the number, without a prefix that all have: `AES_CBC`. */
  readonly idName: string;
  /** The kernel's name of what the number stands for: `cbc(aes)`. Absent where it stands for nothing. */
  readonly kernel?: string;
  /** hwcrypt's algorithm, one entry for each key length; absent for numbers that hwcrypt has none of. */
  readonly algorithm?: Algorithm;
  readonly support: Support;
  readonly implementation?: Implementation;
  /** What it is, where hwcrypt does not use it. */
  readonly note?: string;
}

interface Session {
  /** The driver that does the work, with the pinned or bound implementation after a colon: `afalg:cbc-aes-generic`. */
  readonly driver: string;
  /** False once the session failed or was closed. */
  readonly usable: boolean;
  close(): void;
  [Symbol.dispose](): void;
}

export interface CipherSession extends Session {
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  /**
   * May `update` be given any length in a stream mode (ctr, cfb, ofb) and go on in mid-block at the next call?
   * Where false, only the last call of a message may be off `cipherBlockBytes`.
   */
  readonly partialBlocks: boolean;
  /** Largest request that the driver takes in one go, where it has such a limit; longer ones it splits itself (not XTS). */
  readonly requestBytes?: number;
  /**
   * Encrypts or decrypts the next `input.length` bytes of the message into `output[0 … input.length)`.
   * `input.length` is a multiple of `algorithm.blockBytes`. Continues the chain of the previous call.
   * XTS: one call is one data unit (16 bytes or more) and uses the IV as set; it does not chain.
   */
  update(input: Uint8Array, output: Uint8Array): void;
  updateAsync(input: Uint8Array, output: Uint8Array): Promise<void>;
  /**
   * Memory of the driver's own for short messages, where it has a quicker way for them: the caller puts the input there, from
   * the first byte on, and calls `updateStaged`. Shared by the driver's sessions, so nothing may come in between.
   */
  readonly stage?: Uint8Array | undefined;
  /**
   * `update` of the first `length` bytes of `stage`. The result is a view of the driver's memory: copy it before the next
   * call of any session.
   */
  updateStaged?(length: number): Uint8Array;
  /**
   * Many messages of `unitBytes` each, the sectors of a disk, as `restart` with the next of `ivs` (one behind the other) and
   * `update` for each in turn. Only where a driver can do it in less time than those calls take. Then `restart` comes next, or this again.
   */
  updateUnits?(input: Uint8Array, output: Uint8Array, unitBytes: number, ivs: Uint8Array): void;
  /** Begins a new message: new IV (null for ECB and RC4) and, where given, a new key. Without `iv`, see `algorithm.ivBytes`. */
  restart(iv: Uint8Array | null, key?: Uint8Array): void;
  /** The chaining value with which the stream goes on (a copy), or null for a mode without one. Only at a block boundary. */
  chain(): Uint8Array | null;
}

export interface AeadSession extends Session {
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  /** Can a message be handed over in pieces (`begin`, `aad`, `update`, `finish`)? AF_ALG and CCM cannot. */
  readonly incremental: boolean;
  /** Largest aad + text + tag in one message, where the driver has such a limit. */
  readonly messageBytes?: number;
  /** New key for the messages to come. */
  rekey(key: Uint8Array): void;
  /** One whole message. `output.length >= text.length`; `tag.length === tagBytes`. */
  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void;
  sealAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Promise<void>;
  /**
   * `seal` with the tag written right behind the text, into `output[0 … text.length + tagBytes)`. Only where a driver
   * can do it in less time than `seal` and a second view take, which for a short message is a tenth of all.
   */
  sealAppended?(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array): void;
  /** As `seal`; throws `AuthenticationError` on a wrong tag and then leaves zeros in `output`. The session stays usable. */
  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void;
  openAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    tag: Uint8Array,
    output: Uint8Array,
  ): Promise<void>;
  /** Incremental form; `SESSION_UNUSABLE` where `incremental` is false. */
  begin(iv: Uint8Array): void;
  aad(data: Uint8Array): void;
  update(input: Uint8Array, output: Uint8Array): void;
  updateAsync(input: Uint8Array, output: Uint8Array): Promise<void>;
  /**
   * encrypt: writes the tag, `tagBytes` long. decrypt: reads it, of any legal length, and throws `AuthenticationError` where
   * it is wrong.
   */
  finish(tag: Uint8Array): void;
}

/** A hash in progress; a MAC is the same with a key. */
export interface DigestSession extends Session {
  readonly algorithm: HashAlgorithm | MacAlgorithm;
  update(data: Uint8Array): void;
  updateAsync(data: Uint8Array): Promise<void>;
  /** Writes `output.length` bytes (`digestBytes`, or any length of an XOF). The session must be `restart`ed after it. */
  digest(output: Uint8Array): void;
  /** A second session in the same state. `DriverError` where the driver cannot copy. */
  clone(): DigestSession;
  /** Forgets what was hashed; keeps the key of a MAC unless a new one is given. */
  restart(key?: Uint8Array): void;
  /** restart, update, digest: one whole message in as few calls as the driver can. */
  once(data: Uint8Array, output: Uint8Array): void;
  onceAsync(data: Uint8Array, output: Uint8Array): Promise<void>;
}

export interface CipherOptions {
  /** Bind this implementation and no other (`virtio_crypto_aes_cbc`). */
  readonly kernelDriver?: string;
}

export interface AeadOptions extends CipherOptions {
  readonly tagBytes?: number;
}

export interface DigestOptions extends CipherOptions {}

export interface Driver {
  readonly name: DriverName;
  /**
   * May it refuse a request of an algorithm that it supports, for the nonce, the tag or the length? It does so before it begins
   * (`ALGORITHM_UNAVAILABLE`, `MESSAGE_TOO_LARGE`), so that another driver can do it.
   */
  readonly restricted?: true;
  /**
   * Does something else than a library do the work, which can fail or vanish in the middle of a message and whose results depend on
   * the machine: the kernel, an engine? Such work is checked before it is trusted, and can be done again by another driver.
   */
  readonly fallible?: true;
  /** Is the driver there? Never throws. Remembered until `reprobe`. */
  probe(): Probe;
  /** Forgets what was remembered, of algorithms too, and looks again. */
  reprobe(): Probe;
  /** Can it do this algorithm here and now? Never throws. */
  supports(algorithm: Algorithm, options?: CipherOptions): Support;
  /** Who would do the work; undefined where nobody would. Never throws. */
  implementation(algorithm: Algorithm, options?: CipherOptions): Implementation | undefined;
  /** Where the interface numbers its algorithms: every number that it has, those that do nothing too. Never throws. */
  identifiers?(): readonly NumberedSupport[];
  /**
   * Sessions. They throw `UnavailableError` with the typed reason where the driver or the algorithm is not there,
   * and Node's own coded errors for a wrong key or IV length.
   */
  cipher(
    algorithm: CipherAlgorithm,
    direction: Direction,
    key: Uint8Array,
    iv: Uint8Array | null,
    options?: CipherOptions,
  ): CipherSession;
  aead(algorithm: AeadAlgorithm, direction: Direction, key: Uint8Array, options?: AeadOptions): AeadSession;
  hash(algorithm: HashAlgorithm, options?: DigestOptions): DigestSession;
  mac(algorithm: MacAlgorithm, key: Uint8Array, options?: DigestOptions): DigestSession;
  /** Fills `output` with random bytes, where the driver has a generator. */
  random?(output: Uint8Array, options?: CipherOptions): void;
}
