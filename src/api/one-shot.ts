/**
 * One message, one call: the cheapest path for short messages.
 *
 * A session is kept for each algorithm and direction and used again with the next message's key and IV, which saves what
 * making one costs. The key stays in it for at most a second after the last use; then the session is closed, which wipes it.
 */
import type { AeadAlgorithm, CipherAlgorithm, HashAlgorithm, MacAlgorithm } from '../algorithms.js';
import { lengthOf, part } from '../drivers/buffers.js';
import type { AeadSession, CipherSession, DigestSession, Direction } from '../drivers/driver.js';
import { checkIv, checkKey } from '../drivers/parameters.js';
import { AuthenticationError } from '../errors.js';
import type { Route } from '../routing/router.js';
import { resultBuffer } from './arguments.js';
import { unpaddedLength } from './blocks.js';
import { badDecrypt, wrongFinalBlockLength } from './openssl-errors.js';

/** How long an idle session may keep its key, in milliseconds. */
const IDLE_MS = 1000;

const NONE = new Uint8Array(0);

/** Key of the last message, so that the same key is not expanded again. */
class LastKey {
  #bytes: Uint8Array;
  #length = 0;

  constructor(key: Uint8Array) {
    this.#bytes = new Uint8Array(64);
    this.set(key);
  }

  /** Compares in a time that does not depend on where the keys differ. */
  is(key: Uint8Array): boolean {
    const length = lengthOf(key);
    if (length !== this.#length) return false;
    const own = this.#bytes;
    let difference = 0;
    for (let i = 0; i < length; i++) difference |= own[i]! ^ key[i]!;
    return difference === 0;
  }

  set(key: Uint8Array): void {
    const length = lengthOf(key);
    if (length > this.#bytes.length) this.#bytes = new Uint8Array(length);
    this.#bytes.set(key);
    this.#length = length;
  }

  wipe(): void {
    this.#bytes.fill(0);
    this.#length = 0;
  }
}

interface Kept<S> {
  readonly session: S;
  readonly key: LastKey;
}

/** Sessions by what they do. One instance a `Hwcrypt`. */
export class SessionCache {
  readonly #kept = new Map<string, Kept<CipherSession | AeadSession | DigestSession>>();
  #timer: NodeJS.Timeout | undefined;
  #used = false;

  get<S extends CipherSession | AeadSession | DigestSession>(id: string): Kept<S> | undefined {
    this.#used = true;
    return this.#kept.get(id) as Kept<S> | undefined;
  }

  put<S extends CipherSession | AeadSession | DigestSession>(
    id: string,
    session: S,
    key: Uint8Array,
  ): Kept<S> {
    const kept = { session, key: new LastKey(key) };
    this.#kept.set(id, kept);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#tick(), IDLE_MS);
      this.#timer.unref();
    }
    return kept;
  }

  /** Throws a session away that failed. */
  drop(id: string): void {
    const kept = this.#kept.get(id);
    if (!kept) return;
    this.#kept.delete(id);
    kept.key.wipe();
    kept.session.close();
  }

  #tick(): void {
    if (this.#used) this.#used = false;
    else this.clear();
  }

  clear(): void {
    for (const id of [...this.#kept.keys()]) this.drop(id);
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Runs `work` on a kept session; whatever it throws but a wrong tag or wrong padding costs the session its place. */
function guarded<T>(cache: SessionCache, id: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AuthenticationError)) cache.drop(id);
    throw error;
  }
}

export interface CipherRequest {
  readonly route: Route;
  readonly direction: Direction;
  readonly key: Uint8Array;
  readonly iv: Uint8Array | null;
  readonly data: Uint8Array;
  readonly output: unknown;
}

export function cipherOnce(
  cache: SessionCache,
  id: string,
  algorithm: CipherAlgorithm,
  request: CipherRequest,
  padding: boolean,
): Buffer {
  const { route, direction, key, iv, data } = request;
  let kept = cache.get<CipherSession>(id);
  if (kept === undefined) {
    checkIv(algorithm, iv);
    kept = cache.put(id, route.driver.cipher(algorithm, direction, key, iv, route.options), key);
  } else if (kept.key.is(key)) {
    kept.session.restart(iv);
  } else {
    checkIv(algorithm, iv);
    checkKey(algorithm, key);
    kept.key.set(key);
    const { session } = kept;
    guarded(cache, id, () => session.restart(iv, key));
  }
  const { session } = kept;
  const block = algorithm.blockBytes;
  const length = lengthOf(data);
  if (block === 1) {
    const output = resultBuffer(length, request.output);
    if (length > 0) guarded(cache, id, () => session.update(data, output));
    return output;
  }
  if (direction === 'encrypt') {
    if (!padding && length % block !== 0) throw wrongFinalBlockLength();
    const padded = padding ? length - (length % block) + block : length;
    const output = resultBuffer(padded, request.output);
    if (!padding) {
      if (length > 0) guarded(cache, id, () => session.update(data, output));
      return output;
    }
    // The text is moved to where its ciphertext will be, since the last block needs room behind it.
    output.set(data);
    const fill = padded - length;
    for (let i = length; i < padded; i++) output[i] = fill;
    guarded(cache, id, () => session.update(output, output));
    return output;
  }
  if (length % block !== 0 || (padding && length === 0)) throw wrongFinalBlockLength();
  const output = resultBuffer(length, request.output);
  if (length > 0) guarded(cache, id, () => session.update(data, output));
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

export function aeadOnce(
  cache: SessionCache,
  id: string,
  algorithm: AeadAlgorithm,
  request: CipherRequest,
  aad: Uint8Array,
  tagBytes: number,
): Buffer {
  const { route, direction, key, data } = request;
  const iv = request.iv ?? NONE;
  const length = lengthOf(data);
  let kept = cache.get<AeadSession>(id);
  if (kept === undefined) {
    checkIv(algorithm, iv);
    kept = cache.put(id, route.driver.aead(algorithm, direction, key, { ...route.options, tagBytes }), key);
  } else if (!kept.key.is(key)) {
    checkIv(algorithm, iv);
    checkKey(algorithm, key);
    kept.key.set(key);
    const { session } = kept;
    guarded(cache, id, () => session.rekey(key));
  }
  const { session } = kept;
  if (direction === 'encrypt') {
    const output = resultBuffer(length + tagBytes, request.output);
    const tag = output.subarray(length);
    guarded(cache, id, () => session.seal(iv, aad, data, output, tag));
    return output;
  }
  const textLength = length - tagBytes;
  if (textLength < 0) throw new AuthenticationError();
  const output = resultBuffer(textLength, request.output);
  const text = part(data, 0, textLength);
  const tag = part(data, textLength, tagBytes);
  guarded(cache, id, () => session.open(iv, aad, text, tag, output));
  return output;
}

export function digestOnce(
  cache: SessionCache,
  id: string,
  algorithm: HashAlgorithm,
  route: Route,
  data: Uint8Array,
  output: Buffer,
): Buffer {
  const kept =
    cache.get<DigestSession>(id) ?? cache.put(id, route.driver.hash(algorithm, route.options), NONE);
  guarded(cache, id, () => kept.session.once(data, output));
  return output;
}

export function macOnce(
  cache: SessionCache,
  id: string,
  algorithm: MacAlgorithm,
  route: Route,
  key: Uint8Array,
  data: Uint8Array,
  output: Buffer,
): Buffer {
  let kept = cache.get<DigestSession>(id);
  if (kept === undefined) {
    kept = cache.put(id, route.driver.mac(algorithm, key, route.options), key);
  } else if (!kept.key.is(key)) {
    checkKey(algorithm, key);
    kept.key.set(key);
    const { session } = kept;
    guarded(cache, id, () => session.restart(key));
  }
  const { session } = kept;
  guarded(cache, id, () => session.once(data, output));
  return output;
}

/**
 * The asynchronous forms: a session of their own each, since several may be under way, and copies of all that the
 * caller could change or detach while another thread reads it.
 */
export async function cipherOnceAsync(
  algorithm: CipherAlgorithm,
  request: CipherRequest,
  padding: boolean,
): Promise<Buffer> {
  const { route, direction, key, iv, data } = request;
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
  algorithm: AeadAlgorithm,
  request: CipherRequest,
  aad: Uint8Array,
  tagBytes: number,
): Promise<Buffer> {
  const { route, direction, key, data } = request;
  const iv = Uint8Array.prototype.slice.call(request.iv ?? NONE);
  checkIv(algorithm, iv);
  const session = route.driver.aead(algorithm, direction, key, { ...route.options, tagBytes });
  try {
    const own = Uint8Array.prototype.slice.call(aad);
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
): Promise<Buffer> {
  try {
    const result = Buffer.allocUnsafeSlow(length);
    await session.onceAsync(Uint8Array.prototype.slice.call(data), result);
    return deliver(result, output);
  } finally {
    session.close();
  }
}

function deliver(result: Buffer, output: unknown): Buffer {
  if (output === undefined) return result;
  const given = resultBuffer(result.length, output);
  given.set(result);
  return given;
}
