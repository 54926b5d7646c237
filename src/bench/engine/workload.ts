/**
 * One request at a time over a driver's session: what is timed, and how its result is proved right.
 *
 * The same request that other tools time, so that figures can be compared: a cipher's chain goes on from request to request in
 * place (openssl speed, cryptsetup), an AEAD seals a whole message with a nonce and no additional data, a hash is
 * begun and ended with each request (openssl speed, QEMU), a MAC likewise under one key.
 */
import { createHash } from 'node:crypto';

import type { AeadAlgorithm, Algorithm, CipherAlgorithm } from '../../algorithms.js';
import { type DriverChoice, getDriver } from '../../drivers/registry.js';
import type { Operation } from '../model.js';

export interface Workload {
  /** The implementation that is bound, by its own name: `cbc-aes-aesni`, `default`. */
  readonly kernelDriver?: string;
  readonly hardware?: 'yes' | 'no' | 'unknown';
  /** One request. */
  request(): void;
  /** Several in flight at once, for drivers that can; settles when all are done. Off the event loop. */
  requestAsync(): Promise<void>;
  /** A fresh session over the same key gives the same bytes as another implementation. */
  check(): boolean;
  close(): void;
}

export interface Subject {
  readonly algorithm: Algorithm;
  readonly operation: Operation;
  readonly requestBytes: number;
}

/** Bytes that look random and are the same in every run, so that results can be compared between machines. */
export function material(label: string, bytes: number): Buffer {
  return createHash('shake256', { outputLength: bytes }).update(`hwcrypt bench ${label}`).digest();
}

/** Key, nonce and data of a subject. XTS needs two different halves, which these are. */
function inputs(algorithm: Algorithm, bytes: number): { key: Buffer; iv: Buffer; data: Buffer } {
  const keyBytes = algorithm.kind === 'hash' ? 0 : (algorithm.keyBytes ?? 32);
  const ivBytes = 'ivBytes' in algorithm ? algorithm.ivBytes : 0;
  return { key: material('key', keyBytes), iv: material('iv', ivBytes), data: filled(bytes) };
}

/** Making a MiB of it anew for every size would take longer than measuring. */
let block: Buffer | undefined;
function filled(bytes: number): Buffer {
  block ??= material('data', 65_536);
  // Not from Node's pool: what is measured shall lie at the start of a page, as files' and sockets' buffers do.
  const data = Buffer.from(new ArrayBuffer(bytes + 4096));
  for (let at = 0; at < bytes; at += block.length)
    block.copy(data, at, 0, Math.min(block.length, bytes - at));
  return data.subarray(0, bytes);
}

/**
 * Sessions of a driver for a subject.
 * @throws UnavailableError where the driver or the algorithm is not there; RangeError for a size that the algorithm cannot take.
 */
export function makeWorkload(subject: Subject, choice: DriverChoice, reference?: DriverChoice): Workload {
  const { algorithm, requestBytes } = subject;
  if (!takes(algorithm, requestBytes)) {
    throw new RangeError(`${algorithm.name} takes no request of ${requestBytes} bytes`);
  }
  const options = choice.kernelDriver === undefined ? {} : { kernelDriver: choice.kernelDriver };
  const who = choice.driver.implementation(algorithm, options);
  const facts = who ? { kernelDriver: who.kernelDriver, hardware: who.hardware } : {};
  const other = reference ?? referenceFor(choice, algorithm);
  const check = (): boolean => {
    const expected = other && resultOf(subject, other);
    const got = resultOf(subject, choice);
    return got !== undefined && (expected === undefined || got.equals(expected));
  };
  return { ...facts, check, ...sessionOf(subject, choice, options) };
}

/** May a request be this long? */
export function takes(algorithm: Algorithm, bytes: number): boolean {
  if (bytes < 0 || !Number.isSafeInteger(bytes)) return false;
  if (algorithm.kind !== 'cipher') return true;
  return bytes >= (algorithm.minBytes ?? 1) && bytes % algorithm.blockBytes === 0;
}

type Timed = Pick<Workload, 'request' | 'requestAsync' | 'close'>;

function sessionOf(
  { algorithm, operation, requestBytes }: Subject,
  { driver }: DriverChoice,
  options: { kernelDriver?: string },
): Timed {
  const { key, iv, data } = inputs(algorithm, requestBytes);
  if (algorithm.kind === 'cipher') {
    const direction = operation === 'decrypt' ? 'decrypt' : 'encrypt';
    const session = driver.cipher(algorithm, direction, key, ivFor(algorithm, iv), options);
    return {
      request: () => session.update(data, data),
      requestAsync: () => session.updateAsync(data, data),
      close: () => session.close(),
    };
  }
  if (algorithm.kind === 'aead') {
    const none = new Uint8Array(0);
    const tag = Buffer.alloc(algorithm.defaultTagBytes);
    if (operation === 'decrypt') {
      // A message that stays whole: opened into another buffer, or the second opening would fail.
      using sealing = driver.aead(algorithm, 'encrypt', key, options);
      const text = Buffer.alloc(requestBytes);
      sealing.seal(iv, none, data, text, tag);
      const session = driver.aead(algorithm, 'decrypt', key, options);
      return {
        request: () => session.open(iv, none, text, tag, data),
        requestAsync: () => session.openAsync(iv, none, text, tag, data),
        close: () => session.close(),
      };
    }
    const session = driver.aead(algorithm, 'encrypt', key, options);
    return {
      request: () => session.seal(iv, none, data, data, tag),
      requestAsync: () => session.sealAsync(iv, none, data, data, tag),
      close: () => session.close(),
    };
  }
  const output = Buffer.alloc(algorithm.digestBytes);
  const session =
    algorithm.kind === 'hash' ? driver.hash(algorithm, options) : driver.mac(algorithm, key, options);
  return {
    request: () => session.once(data, output),
    requestAsync: () => session.onceAsync(data, output),
    close: () => session.close(),
  };
}

const ivFor = (algorithm: CipherAlgorithm | AeadAlgorithm, iv: Buffer): Buffer | null =>
  algorithm.ivBytes > 0 ? iv : null;

/** Who may vouch for a driver: one that does not share its code. */
function referenceFor(choice: DriverChoice, algorithm: Algorithm): DriverChoice | undefined {
  const names = choice.driver.name === 'libcrypto' ? ['node', 'afalg'] : ['libcrypto', 'node'];
  for (const name of names) {
    const driver = getDriver(name);
    if (
      driver.name !== choice.driver.name &&
      driver.probe().available &&
      driver.supports(algorithm).supported
    )
      return { driver };
  }
  return undefined;
}

/** What one request on a fresh session gives; undefined where the driver fails. */
function resultOf({ algorithm, operation, requestBytes }: Subject, choice: DriverChoice): Buffer | undefined {
  const { driver, kernelDriver } = choice;
  const options = kernelDriver === undefined ? {} : { kernelDriver };
  const { key, iv, data } = inputs(algorithm, requestBytes);
  try {
    if (algorithm.kind === 'cipher') {
      const direction = operation === 'decrypt' ? 'decrypt' : 'encrypt';
      using session = driver.cipher(algorithm, direction, key, ivFor(algorithm, iv), options);
      session.update(data, data);
      // Twice, since what a driver hands on from one request to the next is the first thing to go wrong.
      if (algorithm.mode !== 'xts') session.update(data, data);
      return data;
    }
    if (algorithm.kind === 'aead') {
      const tag = Buffer.alloc(algorithm.defaultTagBytes);
      const none = new Uint8Array(0);
      using sealing = driver.aead(algorithm, 'encrypt', key, options);
      sealing.seal(iv, none, data, data, tag);
      if (operation !== 'decrypt') return Buffer.concat([data, tag]);
      using opening = driver.aead(algorithm, 'decrypt', key, options);
      opening.open(iv, none, data, tag, data);
      return data;
    }
    const output = Buffer.alloc(algorithm.digestBytes);
    using session =
      algorithm.kind === 'hash' ? driver.hash(algorithm, options) : driver.mac(algorithm, key, options);
    session.once(data, output);
    return output;
  } catch {
    return undefined;
  }
}
