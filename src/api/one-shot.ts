/**
 * One message, one call: the cheapest path for short messages.
 *
 * A session is kept for each algorithm and direction and used again with the next message's key and IV, which saves what
 * making one costs. The key stays in it for at most a second after the last use; then the session is closed, which wipes it.
 */
import type {
  AeadAlgorithm,
  Algorithm,
  CipherAlgorithm,
  HashAlgorithm,
  MacAlgorithm,
} from '../algorithms.js';
import { copyOf, lengthOf, part } from '../drivers/buffers.js';
import type { AeadSession, CipherSession, DigestSession, Direction } from '../drivers/driver.js';
import { checkIv, checkKey } from '../drivers/parameters.js';
import { AuthenticationError } from '../errors.js';
import type { Route } from '../routing/router.js';
import { type NonSharedBuffer, resultBuffer } from './arguments.js';
import { unpaddedLength } from './blocks.js';
import { badDecrypt, wrongFinalBlockLength } from './openssl-errors.js';

/** How long an idle session may keep its key, in milliseconds. */
const IDLE_MS = 1000;

const NONE = new Uint8Array(0);

/** Key of the last message, so that the same key is not expanded again. */
class LastKey {
  #bytes = new Uint8Array(64);
  #length = -1;

  /** Compares in a time that does not depend on where the keys differ. */
  is(key: Uint8Array): boolean {
    const length = lengthOf(key);
    if (length !== this.#length) return false;
    const own = this.#bytes;
    let difference = 0;
    let i = 0;
    // Eight at a time: this is a twentieth of what a short message takes.
    for (; i + 8 <= length; i += 8) {
      difference |=
        (own[i]! ^ key[i]!) |
        (own[i + 1]! ^ key[i + 1]!) |
        (own[i + 2]! ^ key[i + 2]!) |
        (own[i + 3]! ^ key[i + 3]!) |
        (own[i + 4]! ^ key[i + 4]!) |
        (own[i + 5]! ^ key[i + 5]!) |
        (own[i + 6]! ^ key[i + 6]!) |
        (own[i + 7]! ^ key[i + 7]!);
    }
    for (; i < length; i++) difference |= own[i]! ^ key[i]!;
    return difference === 0;
  }

  set(key: Uint8Array): void {
    const length = lengthOf(key);
    if (length > this.#bytes.length) {
      this.#bytes.fill(0);
      this.#bytes = new Uint8Array(length);
    }
    this.#bytes.set(key);
    this.#length = length;
  }

  wipe(): void {
    this.#bytes.fill(0);
    this.#length = -1;
  }
}

type AnySession = CipherSession | AeadSession | DigestSession;

/** The place of one session, for one algorithm, direction and driver. Empty before the first use and after idling. */
export class Keeper<S extends AnySession> {
  readonly key = new LastKey();
  #session: S | undefined;
  readonly #cache: SessionCache;

  constructor(cache: SessionCache) {
    this.#cache = cache;
  }

  /** The session, if there is one that still works. */
  get(): S | undefined {
    this.#cache.touch();
    const session = this.#session;
    if (session === undefined || session.usable) return session;
    this.clear();
    return undefined;
  }

  put(session: S, key: Uint8Array): S {
    this.#session = session;
    this.key.set(key);
    this.#cache.add(this);
    return session;
  }

  clear(): void {
    this.key.wipe();
    this.#session?.close();
    this.#session = undefined;
  }
}

/** What idles is emptied. One a `Hwcrypt`. */
export class SessionCache {
  readonly #filled = new Set<{ clear(): void }>();
  #timer: NodeJS.Timeout | undefined;
  #used = false;

  touch(): void {
    this.#used = true;
  }

  add(keeper: { clear(): void }): void {
    this.#filled.add(keeper);
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => {
      if (this.#used) this.#used = false;
      else this.clear();
    }, IDLE_MS);
    // Nobody shall have to wait for it to end the process.
    this.#timer.unref();
  }

  clear(): void {
    for (const keeper of this.#filled) keeper.clear();
    this.#filled.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** An algorithm with its driver and the places of its sessions: all that a one-shot call needs to know of a name. */
export class OneShot<A extends Algorithm> {
  readonly algorithm: A;
  readonly route: Route;
  readonly #cache: SessionCache;
  readonly #keepers: Keeper<AnySession>[] = [];

  constructor(algorithm: A, route: Route, cache: SessionCache) {
    this.algorithm = algorithm;
    this.route = route;
    this.#cache = cache;
  }

  /** `slot` tells apart sessions that cannot be used for one another: direction, tag length. */
  keeper<S extends AnySession>(slot: number): Keeper<S> {
    this.#keepers[slot] ??= new Keeper<AnySession>(this.#cache);
    return this.#keepers[slot] as unknown as Keeper<S>;
  }
}

const slotOf = (direction: Direction, tagBytes = 0): number =>
  (direction === 'encrypt' ? 0 : 1) + 2 * tagBytes;

export interface CipherRequest {
  readonly direction: Direction;
  readonly key: Uint8Array;
  readonly iv: Uint8Array | null;
  readonly data: Uint8Array;
  readonly output: unknown;
}

/** A session with this key and IV, begun anew. */
function cipherSession(
  shot: OneShot<CipherAlgorithm>,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array | null,
): CipherSession {
  const { algorithm, route } = shot;
  const keeper = shot.keeper<CipherSession>(slotOf(direction));
  const session = keeper.get();
  if (session !== undefined && keeper.key.is(key)) {
    session.restart(iv);
    return session;
  }
  // In node:crypto's order: the IV is looked at before the key.
  checkIv(algorithm, iv);
  if (session === undefined) {
    return keeper.put(route.driver.cipher(algorithm, direction, key, iv, route.options), key);
  }
  checkKey(algorithm, key);
  keeper.key.set(key);
  session.restart(iv, key);
  return session;
}

export function cipherOnce(
  shot: OneShot<CipherAlgorithm>,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array | null,
  data: Uint8Array,
  padding: boolean,
  given: unknown,
): NonSharedBuffer {
  const block = shot.algorithm.blockBytes;
  const length = lengthOf(data);
  const session = cipherSession(shot, direction, key, iv);
  const { stage } = session;
  // A caller's output for text that was padded must have room for the padding too; that is checked below.
  const roomy = given !== undefined && padding && block > 1 && direction === 'decrypt';
  if (stage !== undefined && length < stage.length && !roomy) {
    return staged(session, stage, direction, data, length, padding, given);
  }
  if (block === 1) {
    const output = resultBuffer(length, given);
    if (length > 0) session.update(data, output);
    return output;
  }
  if (direction === 'encrypt') {
    if (!padding) {
      if (length % block !== 0) throw wrongFinalBlockLength();
      const output = resultBuffer(length, given);
      if (length > 0) session.update(data, output);
      return output;
    }
    const padded = length - (length % block) + block;
    const output = resultBuffer(padded, given);
    // The text is moved to where its ciphertext will be, since the last block needs room behind it.
    output.set(data);
    const fill = padded - length;
    for (let i = length; i < padded; i++) output[i] = fill;
    session.update(output, output);
    return output;
  }
  if (length % block !== 0 || (padding && length === 0)) throw wrongFinalBlockLength();
  const output = resultBuffer(length, given);
  if (length > 0) session.update(data, output);
  if (!padding) return output;
  const text = unpaddedLength(output.subarray(length - block));
  if (text < 0) {
    output.fill(0);
    throw badDecrypt();
  }
  // Whoever gave the output shall not find padding behind the text.
  output.fill(0, length - block + text);
  return output.subarray(0, length - block + text);
}

/** A short message by way of the driver's own memory. */
function staged(
  session: CipherSession,
  stage: Uint8Array,
  direction: Direction,
  data: Uint8Array,
  length: number,
  padding: boolean,
  given: unknown,
): NonSharedBuffer {
  const block = session.algorithm.blockBytes;
  const padded = block > 1 && padding;
  let size = length;
  stage.set(data);
  if (padded && direction === 'encrypt') {
    const fill = block - (length % block);
    size = length + fill;
    for (let i = length; i < size; i++) stage[i] = fill;
  } else if (length % block !== 0 || (padded && length === 0)) throw wrongFinalBlockLength();
  if (size === 0) return resultBuffer(0, given);
  let result = session.updateStaged!(size);
  if (padded && direction === 'decrypt') {
    const text = unpaddedLength(part(result, size - block, block));
    if (text < 0) throw badDecrypt();
    result = part(result, 0, size - block + text);
  }
  const output = resultBuffer(lengthOf(result), given);
  output.set(result);
  return output;
}

export function aeadOnce(
  shot: OneShot<AeadAlgorithm>,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array,
  data: Uint8Array,
  aad: Uint8Array,
  tagBytes: number,
  given: unknown,
): NonSharedBuffer {
  const { algorithm, route } = shot;
  const keeper = shot.keeper<AeadSession>(slotOf(direction, tagBytes));
  let session = keeper.get();
  if (session === undefined) {
    checkIv(algorithm, iv);
    session = keeper.put(route.driver.aead(algorithm, direction, key, { ...route.options, tagBytes }), key);
  } else if (!keeper.key.is(key)) {
    checkIv(algorithm, iv);
    checkKey(algorithm, key);
    keeper.key.set(key);
    session.rekey(key);
  }
  const length = lengthOf(data);
  if (direction === 'encrypt') {
    const output = resultBuffer(length + tagBytes, given);
    if (session.sealAppended) session.sealAppended(iv, aad, data, output);
    else session.seal(iv, aad, data, output, part(output, length, tagBytes));
    return output;
  }
  const textLength = length - tagBytes;
  if (textLength < 0) throw new AuthenticationError();
  const output = resultBuffer(textLength, given);
  session.open(iv, aad, part(data, 0, textLength), part(data, textLength, tagBytes), output);
  return output;
}

export function digestOnce(
  shot: OneShot<HashAlgorithm>,
  data: Uint8Array,
  output: NonSharedBuffer,
): NonSharedBuffer {
  const keeper = shot.keeper<DigestSession>(0);
  const session =
    keeper.get() ?? keeper.put(shot.route.driver.hash(shot.algorithm, shot.route.options), NONE);
  session.once(data, output);
  return output;
}

export function macOnce(
  shot: OneShot<MacAlgorithm>,
  key: Uint8Array,
  data: Uint8Array,
  output: NonSharedBuffer,
): NonSharedBuffer {
  const { algorithm, route } = shot;
  const keeper = shot.keeper<DigestSession>(0);
  let session = keeper.get();
  if (session === undefined) {
    session = keeper.put(route.driver.mac(algorithm, key, route.options), key);
  } else if (!keeper.key.is(key)) {
    checkKey(algorithm, key);
    keeper.key.set(key);
    session.restart(key);
  }
  session.once(data, output);
  return output;
}

/**
 * The asynchronous forms: a session of their own each, since several may be under way, and copies of all that the
 * caller could change or detach while another thread reads it.
 */
export async function cipherOnceAsync(
  { algorithm, route }: OneShot<CipherAlgorithm>,
  request: CipherRequest,
  padding: boolean,
): Promise<NonSharedBuffer> {
  const { direction, key, iv, data } = request;
  checkIv(algorithm, iv);
  const session = route.driver.cipher(algorithm, direction, key, iv, route.options);
  try {
    const block = algorithm.blockBytes;
    const length = lengthOf(data);
    const padded =
      block > 1 && padding && direction === 'encrypt' ? length - (length % block) + block : length;
    if (padded % block !== 0 || (block > 1 && padding && padded === 0)) throw wrongFinalBlockLength();
    const work = Buffer.allocUnsafeSlow(padded);
    work.set(data);
    if (padded > length) work.fill(padded - length, length);
    if (padded > 0) await session.updateAsync(work, work);
    let text = padded;
    if (block > 1 && padding && direction === 'decrypt') {
      const last = unpaddedLength(work.subarray(padded - block));
      if (last < 0) {
        work.fill(0);
        throw badDecrypt();
      }
      text = padded - block + last;
    }
    return deliver(work.subarray(0, text), request.output);
  } finally {
    session.close();
  }
}

export async function aeadOnceAsync(
  { algorithm, route }: OneShot<AeadAlgorithm>,
  request: CipherRequest,
  aad: Uint8Array,
  tagBytes: number,
): Promise<NonSharedBuffer> {
  const { direction, key, data } = request;
  const iv = copyOf(request.iv ?? NONE);
  checkIv(algorithm, iv);
  const session = route.driver.aead(algorithm, direction, key, { ...route.options, tagBytes });
  try {
    const own = copyOf(aad);
    const length = lengthOf(data);
    if (direction === 'encrypt') {
      const work = Buffer.allocUnsafeSlow(length + tagBytes);
      work.set(data);
      const text = work.subarray(0, length);
      await session.sealAsync(iv, own, text, text, work.subarray(length));
      return deliver(work, request.output);
    }
    if (length < tagBytes) throw new AuthenticationError();
    const work = Buffer.allocUnsafeSlow(length);
    work.set(data);
    const text = work.subarray(0, length - tagBytes);
    await session.openAsync(iv, own, text, work.subarray(length - tagBytes), text);
    return deliver(text, request.output);
  } finally {
    session.close();
  }
}

export async function digestOnceAsync(
  session: DigestSession,
  data: Uint8Array,
  length: number,
  output: unknown,
): Promise<NonSharedBuffer> {
  try {
    const result = Buffer.allocUnsafeSlow(length);
    await session.onceAsync(copyOf(data), result);
    return deliver(result, output);
  } finally {
    session.close();
  }
}

function deliver(result: NonSharedBuffer, output: unknown): NonSharedBuffer {
  if (output === undefined) return result;
  const given = resultBuffer(result.length, output);
  given.set(result);
  return given;
}
