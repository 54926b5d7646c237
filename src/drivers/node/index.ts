/**
 * Driver `node`: node:crypto itself, the last resort where the Node binary exports no EVP symbols.
 *
 * Always there, and slower on short messages: an object of node:crypto's is made for every message.
 */
import {
  type CipherGCM,
  type Cipher as Cipheriv,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  type DecipherGCM,
  type Decipher as Decipheriv,
  getCipherInfo,
  type Hash,
  type Hmac,
  randomFillSync,
} from 'node:crypto';

import {
  type AeadAlgorithm,
  type Algorithm,
  type CipherAlgorithm,
  findAlgorithm,
  type HashAlgorithm,
  type MacAlgorithm,
} from '../../algorithms.js';
import { AuthenticationError, HwcryptError } from '../../errors.js';
import { AeadSessionBase } from '../aead.js';
import { bytes, copyOf, lengthOf, outputBytes, pair, part, wipe } from '../buffers.js';
import { ChainFollower } from '../chain.js';
import type {
  AeadSession,
  CipherOptions,
  CipherSession,
  DigestSession,
  Direction,
  Driver,
  Implementation,
  Probe,
} from '../driver.js';
import { LibraryDriver, type Look, type Sessions } from '../library-driver.js';
import { checkIv, checkKey, checkTagBytes } from '../parameters.js';
import { SessionBase } from '../session.js';
import { checkUnit } from '../xts.js';

const DRIVER = 'node';

/** node:crypto's name for an algorithm: OpenSSL's, which it takes in lower case and a few spellings of its own. */
function nodeName(algorithm: Algorithm): string {
  return (algorithm.names.openssl ?? algorithm.name).toLowerCase();
}

class NodeCipher extends SessionBase implements CipherSession {
  readonly driver = DRIVER;
  readonly partialBlocks = true;
  readonly algorithm: CipherAlgorithm;
  readonly direction: Direction;
  readonly #key: { bytes: Uint8Array };
  #cipher!: Cipheriv | Decipheriv;
  #chain: ChainFollower | undefined;

  constructor(algorithm: CipherAlgorithm, direction: Direction, key: Uint8Array, iv: Uint8Array | null) {
    super();
    checkKey(algorithm, key);
    checkIv(algorithm, iv);
    this.algorithm = algorithm;
    this.direction = direction;
    const held = { bytes: copyOf(key) };
    this.#key = held;
    this.own(() => wipe(held.bytes));
    this.#begin(iv);
  }

  #begin(iv: Uint8Array | null): void {
    const nonce = iv === null || lengthOf(iv) === 0 ? null : iv;
    this.#chain =
      nonce && this.algorithm.handover ? new ChainFollower(this.algorithm, this.direction, nonce) : undefined;
    const make = this.direction === 'encrypt' ? createCipheriv : createDecipheriv;
    this.#cipher = make(nodeName(this.algorithm), this.#key.bytes, nonce);
    this.#cipher.setAutoPadding(false);
  }

  update(input: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = pair(input, output, this.algorithm.blockBytes);
    if (length === 0) return;
    if (this.algorithm.mode === 'xts') checkUnit(DRIVER, length);
    const source = part(input, 0, length);
    let result: Buffer;
    try {
      result = this.#cipher.update(source);
    } catch (error) {
      throw this.fail(error);
    }
    if (result.length !== length) {
      throw this.fail(
        new HwcryptError('DRIVER_FAILED', `node: ${result.length} bytes came out of ${length}`),
      );
    }
    this.#chain?.before(source, length);
    this.#chain?.after(result, length);
    Uint8Array.prototype.set.call(output, result);
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.ready();
    pair(input, output, this.algorithm.blockBytes);
    await this.busy([input, output], yieldOnce);
    this.update(input, output);
  }

  restart(iv: Uint8Array | null, key?: Uint8Array): void {
    this.ready();
    checkIv(this.algorithm, iv);
    if (key !== undefined) {
      checkKey(this.algorithm, key);
      wipe(this.#key.bytes);
      this.#key.bytes = copyOf(key);
    }
    try {
      this.#begin(iv);
    } catch (error) {
      throw this.fail(error);
    }
  }

  chain(): Uint8Array | null {
    this.ready();
    return this.#chain?.value() ?? null;
  }
}

/** node:crypto has no asynchronous form of any of this; yielding first at least lets other work in between. */
function yieldOnce(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * A message's text. An empty one goes as text: CCM makes its tag in this call, and OpenSSL takes the null pointer behind
 * some empty views for a call that only sets the length.
 */
function whole(cipher: CipherGCM | DecipherGCM, text: Uint8Array, length: number): Buffer {
  return length === 0 ? cipher.update('', 'latin1') : cipher.update(part(text, 0, length));
}

class NodeAead extends AeadSessionBase implements AeadSession {
  readonly driver = DRIVER;
  readonly algorithm: AeadAlgorithm;
  readonly direction: Direction;
  readonly tagBytes: number;
  readonly incremental: boolean;
  readonly #key: { bytes: Uint8Array };
  #current: CipherGCM | DecipherGCM | undefined;

  constructor(algorithm: AeadAlgorithm, direction: Direction, key: Uint8Array, tagBytes: number) {
    super();
    checkKey(algorithm, key);
    this.tagBytes = checkTagBytes(algorithm, tagBytes);
    this.algorithm = algorithm;
    this.direction = direction;
    this.incremental = algorithm.mode === 'gcm' || algorithm.mode === 'chacha20-poly1305';
    const held = { bytes: copyOf(key) };
    this.#key = held;
    this.own(() => wipe(held.bytes));
  }

  rekey(key: Uint8Array): void {
    this.ready();
    checkKey(this.algorithm, key);
    wipe(this.#key.bytes);
    this.#key.bytes = copyOf(key);
  }

  #make(iv: Uint8Array): CipherGCM | DecipherGCM {
    const make = (this.direction === 'encrypt' ? createCipheriv : createDecipheriv) as unknown as (
      name: string,
      key: Uint8Array,
      iv: Uint8Array,
      options: { authTagLength?: number },
    ) => CipherGCM | DecipherGCM;
    // GCM's tag length may stay open until the tag is there; the others must be told.
    const open = this.algorithm.mode === 'gcm' && this.direction === 'decrypt';
    return make(nodeName(this.algorithm), this.#key.bytes, iv, open ? {} : { authTagLength: this.tagBytes });
  }

  seal(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, output: Uint8Array, tag: Uint8Array): void {
    this.ready();
    const length = this.#check('encrypt', iv, aad, text, output);
    outputBytes(tag, 'tag', this.tagBytes);
    try {
      const cipher = this.#make(iv) as CipherGCM;
      if (lengthOf(aad) > 0) cipher.setAAD(aad, { plaintextLength: length });
      const head = whole(cipher, text, length);
      const tail = cipher.final();
      Uint8Array.prototype.set.call(output, head);
      Uint8Array.prototype.set.call(output, tail, head.length);
      Uint8Array.prototype.set.call(tag, cipher.getAuthTag());
    } catch (error) {
      throw this.fail(error);
    }
  }

  open(iv: Uint8Array, aad: Uint8Array, text: Uint8Array, tag: Uint8Array, output: Uint8Array): void {
    this.ready();
    const length = this.#check('decrypt', iv, aad, text, output);
    bytes(tag, 'tag', this.tagBytes);
    let decipher: DecipherGCM;
    try {
      decipher = this.#make(iv) as DecipherGCM;
      decipher.setAuthTag(tag);
      if (lengthOf(aad) > 0) decipher.setAAD(aad, { plaintextLength: length });
    } catch (error) {
      throw this.fail(error);
    }
    try {
      const head = whole(decipher, text, length);
      const tail = decipher.final();
      Uint8Array.prototype.set.call(output, head);
      Uint8Array.prototype.set.call(output, tail, head.length);
    } catch {
      Uint8Array.prototype.fill.call(output, 0, 0, length);
      throw new AuthenticationError();
    }
  }

  async sealAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    output: Uint8Array,
    tag: Uint8Array,
  ): Promise<void> {
    this.#check('encrypt', iv, aad, text, output);
    await this.busy([aad, text, output, tag], yieldOnce);
    this.seal(iv, aad, text, output, tag);
  }

  async openAsync(
    iv: Uint8Array,
    aad: Uint8Array,
    text: Uint8Array,
    tag: Uint8Array,
    output: Uint8Array,
  ): Promise<void> {
    this.#check('decrypt', iv, aad, text, output);
    await this.busy([aad, text, output, tag], yieldOnce);
    this.open(iv, aad, text, tag, output);
  }

  begin(iv: Uint8Array): void {
    this.ready();
    this.#incrementalOnly();
    checkIv(this.algorithm, iv);
    this.#current = this.#make(iv);
  }

  aad(data: Uint8Array): void {
    this.#begun().setAAD(bytes(data, 'aad'));
  }

  update(input: Uint8Array, output: Uint8Array): void {
    const cipher = this.#begun();
    const length = pair(input, output);
    if (length === 0) return;
    try {
      Uint8Array.prototype.set.call(output, cipher.update(part(input, 0, length)));
    } catch (error) {
      throw this.fail(error);
    }
  }

  async updateAsync(input: Uint8Array, output: Uint8Array): Promise<void> {
    this.#begun();
    pair(input, output);
    await this.busy([input, output], yieldOnce);
    this.update(input, output);
  }

  finish(tag: Uint8Array): void {
    const cipher = this.#begun();
    this.#current = undefined;
    if (this.direction === 'encrypt') {
      outputBytes(tag, 'tag', this.tagBytes);
      cipher.final();
      Uint8Array.prototype.set.call(tag, (cipher as CipherGCM).getAuthTag());
      return;
    }
    checkTagBytes(this.algorithm, lengthOf(bytes(tag, 'tag')));
    (cipher as DecipherGCM).setAuthTag(tag);
    try {
      cipher.final();
    } catch {
      throw new AuthenticationError();
    }
  }

  #begun(): CipherGCM | DecipherGCM {
    this.ready();
    this.#incrementalOnly();
    if (!this.#current) throw new HwcryptError('SESSION_UNUSABLE', 'node: begin() a message first');
    return this.#current;
  }

  #incrementalOnly(): void {
    if (!this.incremental) {
      throw new HwcryptError(
        'SESSION_UNUSABLE',
        `node: ${this.algorithm.name} takes a message in one piece only`,
      );
    }
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

class NodeDigest extends SessionBase implements DigestSession {
  readonly driver = DRIVER;
  readonly algorithm: HashAlgorithm | MacAlgorithm;
  #state: Hash | Hmac | undefined;
  /** A MAC's key; also its data so far, since an Hmac of node:crypto's cannot be copied. */
  readonly #secret: { key: Uint8Array; heard: Uint8Array[] };
  /** An XOF's length is known only at the end, when it is too late to tell node:crypto: the data is kept as well. */
  readonly #keeps: boolean;

  constructor(algorithm: HashAlgorithm | MacAlgorithm, key: Uint8Array | undefined, state?: Hash) {
    super();
    this.algorithm = algorithm;
    this.#keeps = algorithm.kind === 'mac' || algorithm.xof;
    const secret = { key: key ? copyOf(key) : new Uint8Array(0), heard: [] };
    this.#secret = secret;
    this.own(() => wipe(secret.key, ...secret.heard));
    this.#state = state ?? this.#fresh();
  }

  #fresh(outputLength?: number): Hash | Hmac | undefined {
    const { algorithm } = this;
    if (algorithm.kind === 'hash') {
      return createHash(nodeName(algorithm), outputLength === undefined ? undefined : { outputLength });
    }
    const over = findAlgorithm(algorithm.over);
    return createHmac(over ? nodeName(over) : algorithm.over, this.#secret.key);
  }

  update(data: Uint8Array): void {
    this.ready();
    const length = lengthOf(bytes(data, 'data'));
    this.#unfinished().update(part(data, 0, length));
    if (this.#keeps && length > 0) this.#secret.heard.push(copyOf(data));
  }

  async updateAsync(data: Uint8Array): Promise<void> {
    this.ready();
    bytes(data, 'data');
    await this.busy([data], yieldOnce);
    this.update(data);
  }

  digest(output: Uint8Array): void {
    this.ready();
    const state = this.#unfinished();
    const { algorithm } = this;
    if (algorithm.kind === 'hash' && algorithm.xof) {
      const length = lengthOf(outputBytes(output, 'output', 0));
      const whole = this.#fresh(length) as Hash;
      for (const piece of this.#secret.heard) whole.update(piece);
      if (length > 0) Uint8Array.prototype.set.call(output, whole.digest());
    } else {
      outputBytes(output, 'output', algorithm.digestBytes);
      Uint8Array.prototype.set.call(output, state.digest());
    }
    this.#state = undefined;
  }

  clone(): DigestSession {
    this.ready();
    const state = this.#unfinished();
    if (!this.#keeps) return new NodeDigest(this.algorithm, undefined, (state as Hash).copy());
    const copy = new NodeDigest(this.algorithm, this.#secret.key);
    for (const piece of this.#secret.heard) copy.update(piece);
    return copy;
  }

  restart(key?: Uint8Array): void {
    this.ready();
    if (key !== undefined && this.algorithm.kind === 'mac') {
      checkKey(this.algorithm, key);
      wipe(this.#secret.key);
      this.#secret.key = copyOf(key);
    }
    wipe(...this.#secret.heard);
    this.#secret.heard.length = 0;
    this.#state = this.#fresh();
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

  #unfinished(): Hash | Hmac {
    if (!this.#state) throw new Error('digest() was called: restart() the session first');
    return this.#state;
  }
}

const KNOWN_HASHES = new Set<string>();

/**
 * Can it make one? It is asked to, since getCipherInfo knows ciphers whose provider is not loaded; and when that is given a
 * key length it leaves an error in OpenSSL's queue, which turns up as the cause of the next failure of something else.
 */
function makes(algorithm: CipherAlgorithm | AeadAlgorithm): boolean {
  const name = nodeName(algorithm);
  if (getCipherInfo(name) === undefined) return false;
  // XTS refuses two equal halves.
  const key = Uint8Array.from({ length: algorithm.keyBytes }, (_, i) => i + 1);
  const iv = algorithm.ivBytes === 0 ? null : new Uint8Array(algorithm.ivBytes);
  const options = algorithm.kind === 'aead' ? { authTagLength: algorithm.defaultTagBytes } : {};
  try {
    (createCipheriv as (name: string, key: Uint8Array, iv: Uint8Array | null, options: object) => unknown)(
      name,
      key,
      iv,
      options,
    );
    return true;
  } catch {
    return false;
  }
}

/** Node knows the name, and OpenSSL keeps the algorithm in a provider that Node does not load. */
const LEGACY =
  'it is in OpenSSL’s legacy provider: use the libcrypto driver, or start node with --openssl-legacy-provider';

const OLD_HASHES: ReadonlySet<string> = new Set(['md4', 'whirlpool', 'mdc2']);

const HAS: Look<true> = { found: true };

/** Has node:crypto this algorithm? It says so of a cipher by name, of a hash only by trying. */
function look(algorithm: Algorithm, options: CipherOptions = {}): Look<true> {
  const no = (message: string, old = false): Look<true> => ({
    reason: { code: 'ALGORITHM_UNKNOWN', message, ...(old ? { cure: LEGACY } : {}) },
  });
  if (options.kernelDriver !== undefined && options.kernelDriver !== 'default') {
    return no(`node has no kernel driver to pin ("${options.kernelDriver}")`);
  }
  switch (algorithm.kind) {
    case 'cipher':
    case 'aead':
      return makes(algorithm)
        ? HAS
        : no(
            `node:crypto has no ${algorithm.name} of ${algorithm.keyBytes * 8} bits`,
            getCipherInfo(nodeName(algorithm)) !== undefined,
          );
    case 'hash': {
      const name = nodeName(algorithm);
      if (KNOWN_HASHES.has(name)) return HAS;
      try {
        createHash(name);
      } catch {
        return no(`node:crypto has no ${algorithm.name}`, OLD_HASHES.has(name));
      }
      KNOWN_HASHES.add(name);
      return HAS;
    }
    case 'mac': {
      if (algorithm.construction !== 'hmac') return no('node:crypto has no CMAC');
      const over = findAlgorithm(algorithm.over);
      return over ? look(over, options) : no(`node:crypto has no ${algorithm.over}`);
    }
  }
}

const SESSIONS: Sessions<true> = {
  cipher: (_, algorithm, direction, key, iv) => new NodeCipher(algorithm, direction, key, iv),
  aead: (_, algorithm, direction, key, tagBytes) => new NodeAead(algorithm, direction, key, tagBytes),
  hash: (_, algorithm) => new NodeDigest(algorithm, undefined),
  mac: (_, algorithm, key) => {
    checkKey(algorithm, key);
    return new NodeDigest(algorithm, key);
  },
};

class NodeDriver extends LibraryDriver<true> {
  readonly name = DRIVER;
  protected override readonly sessions = SESSIONS;

  probe(): Probe {
    return {
      available: true,
      version: `node:crypto of Node ${process.versions.node}, OpenSSL ${process.versions['openssl']}`,
      notes: [],
    };
  }

  reprobe(): Probe {
    KNOWN_HASHES.clear();
    return this.probe();
  }

  protected override look(algorithm: Algorithm, options?: CipherOptions): Look<true> {
    return look(algorithm, options);
  }

  protected override describe(): Pick<Implementation, 'kernelDriver' | 'evidence'> {
    return {
      kernelDriver: 'default',
      evidence: [
        `runs on the CPU, in the OpenSSL ${process.versions['openssl']} inside Node, with the CPU's own AES and SHA instructions where it has them`,
      ],
    };
  }

  random(output: Uint8Array): void {
    const length = lengthOf(outputBytes(output, 'output', 0));
    randomFillSync(part(output, 0, length));
  }
}

export const node: Driver = new NodeDriver();
