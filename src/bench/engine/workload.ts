/**
 * One request at a time over a driver's session: what is timed, and how its result is proved right.
 *
 * The same request that other tools time, so that figures can be compared: a cipher's chain goes on from request to request in
 * place (openssl speed, cryptsetup), an AEAD seals a whole message under one nonce (openssl speed -aead), a hash is
 * begun and ended with each request (openssl speed, QEMU), a MAC likewise under one key.
 */
import { createHash } from 'node:crypto';

import type { AeadAlgorithm, Algorithm, CipherAlgorithm } from '../../algorithms.js';
import type { Direction } from '../../drivers/driver.js';
import { type DriverChoice, libraryDrivers, optionsOf } from '../../drivers/registry.js';
import type { Operation } from '../model.js';

export interface Workload {
  /** The implementation that is bound, by its own name: `cbc-aes-aesni`, `default`. */
  readonly kernelDriver?: string;
  readonly hardware?: 'yes' | 'no' | 'unknown';
  /**
   * Whose bytes this one's are compared with: another driver's name, `itself` where no other driver here has the algorithm and the inverse
   * has to do, undefined where there is not even that (a hash).
   */
  readonly vouchedBy?: string;
  /** One request. */
  request(): void;
  /** Fresh sessions give the right bytes. Throws what the driver throws. */
  check(): boolean;
  /** The next request of the very session that was timed gives the right bytes. Throws what the driver throws. */
  verify(): boolean;
  close(): void;
}

export interface Subject {
  readonly algorithm: Algorithm;
  readonly operation: Operation;
  /** Bytes of text in a request. */
  readonly requestBytes: number;
  /** An AEAD's additional data, besides; 0 if absent. */
  readonly aadBytes?: number;
}

/** Bytes that look random and are the same in every run, so that results can be compared between machines. */
export function material(label: string, bytes: number): Buffer {
  return createHash('shake256', { outputLength: bytes }).update(`hwcrypt bench ${label}`).digest();
}

/** XTS needs two different halves of the key, which these are. */
function keyOf(algorithm: Algorithm): Buffer {
  return material('key', algorithm.kind === 'hash' ? 0 : (algorithm.keyBytes ?? 32));
}

/** Null for a mode that takes none. */
function ivOf(algorithm: CipherAlgorithm | AeadAlgorithm): Buffer | null {
  return algorithm.ivBytes > 0 ? material('iv', algorithm.ivBytes) : null;
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

/** May a request be this long? */
export function takes(algorithm: Algorithm, bytes: number): boolean {
  if (bytes < 0 || !Number.isSafeInteger(bytes)) return false;
  if (algorithm.kind !== 'cipher') return true;
  return bytes >= (algorithm.minBytes ?? 1) && bytes % algorithm.blockBytes === 0;
}

/** Longer requests are checked by shorter ones: what proves a GiB right takes longer than to measure it. */
const MOST_CHECKED_BYTES = 1024 * 1024;

/**
 * Sessions of a driver for a subject.
 * @param reference who vouches for the bytes; by default the first other driver that can
 * @throws UnavailableError where the driver or the algorithm is not there; RangeError for a size that the algorithm cannot take.
 */
export function makeWorkload(subject: Subject, choice: DriverChoice, reference?: DriverChoice): Workload {
  const { algorithm, requestBytes } = subject;
  if (!takes(algorithm, requestBytes)) {
    throw new RangeError(`${algorithm.name} takes no request of ${requestBytes} bytes`);
  }
  const who = choice.driver.implementation(algorithm, optionsOf(choice));
  const other = reference ?? referenceFor(choice, algorithm);
  const timed = sessionOf(subject, choice, other);
  const vouchedBy =
    other?.driver.name ?? (algorithm.kind === 'cipher' || algorithm.kind === 'aead' ? 'itself' : undefined);
  const checked = { ...subject, requestBytes: Math.min(requestBytes, MOST_CHECKED_BYTES) };
  return {
    ...(who ? { kernelDriver: who.kernelDriver, hardware: who.hardware } : {}),
    ...(vouchedBy === undefined ? {} : { vouchedBy }),
    ...timed,
    verify: () => requestBytes > 16 * MOST_CHECKED_BYTES || timed.verify(),
    check: () => {
      const got = resultOf(checked, choice);
      const expected = other && expectedOf(checked, other);
      return expected ? got.equals(expected) : comesBack(checked, choice, got);
    },
  };
}

const directionOf = (operation: Operation): Direction => (operation === 'decrypt' ? 'decrypt' : 'encrypt');

/**
 * Who may vouch for a driver: a library, by another way than its own. For libcrypto and node:crypto that is the other of the two; the code
 * behind them is the same, and what is proved then is that we call it right.
 */
function referenceFor({ driver }: DriverChoice, algorithm: Algorithm): DriverChoice | undefined {
  for (const other of libraryDrivers()) {
    if (other.name === driver.name || !other.probe().available) continue;
    if (other.supports(algorithm).supported) return { driver: other };
  }
  return undefined;
}

type Timed = Pick<Workload, 'request' | 'verify' | 'close'>;

function sessionOf(subject: Subject, choice: DriverChoice, other: DriverChoice | undefined): Timed {
  const { algorithm } = subject;
  if (algorithm.kind === 'cipher') return cipherSession(algorithm, subject, choice, other);
  if (algorithm.kind === 'aead') return aeadSession(algorithm, subject, choice, other);
  const data = filled(subject.requestBytes);
  const output = Buffer.alloc(algorithm.digestBytes);
  const options = optionsOf(choice);
  const session =
    algorithm.kind === 'hash'
      ? choice.driver.hash(algorithm, options)
      : choice.driver.mac(algorithm, keyOf(algorithm), options);
  return {
    request: () => session.once(data, output),
    verify: () => {
      session.once(data, output);
      const expected = other && expectedOf(subject, other);
      return expected === undefined || output.equals(expected);
    },
    close: () => session.close(),
  };
}

function cipherSession(
  algorithm: CipherAlgorithm,
  { operation, requestBytes }: Subject,
  choice: DriverChoice,
  other: DriverChoice | undefined,
): Timed {
  const direction = directionOf(operation);
  const key = keyOf(algorithm);
  const iv = ivOf(algorithm);
  const data = filled(requestBytes);
  const session = choice.driver.cipher(algorithm, direction, key, iv, optionsOf(choice));
  // A request that ends within a block ends its message: not every driver can go on from there.
  const isMessage = algorithm.mode !== 'xts' && requestBytes % algorithm.cipherBlockBytes !== 0;
  const request = isMessage
    ? () => {
        session.restart(iv);
        session.update(data, data);
      }
    : () => session.update(data, data);
  return {
    request,
    verify: () => {
      const startsAnew = isMessage || iv === null || algorithm.mode === 'xts';
      // RC4's state cannot be told.
      if (other === undefined || (algorithm.mode === 'stream' && !algorithm.handover)) return true;
      const from = startsAnew ? iv : session.chain();
      const before = Buffer.from(data);
      request();
      try {
        using vouching = other.driver.cipher(algorithm, direction, key, from, optionsOf(other));
        vouching.update(before, before);
      } catch {
        return true;
      }
      return before.equals(data);
    },
    close: () => session.close(),
  };
}

function aeadSession(
  algorithm: AeadAlgorithm,
  { operation, requestBytes, aadBytes = 0 }: Subject,
  choice: DriverChoice,
  other: DriverChoice | undefined,
): Timed {
  const { driver } = choice;
  const key = keyOf(algorithm);
  const iv = material('iv', algorithm.ivBytes);
  const aad = material('aad', aadBytes);
  const tag = Buffer.alloc(algorithm.defaultTagBytes);
  const data = filled(requestBytes);
  if (operation === 'decrypt') {
    // A message that stays whole: opened into another buffer, or the second opening would fail.
    const text = Buffer.alloc(requestBytes);
    using sealing = driver.aead(algorithm, 'encrypt', key, optionsOf(choice));
    sealing.seal(iv, aad, data, text, tag);
    const session = driver.aead(algorithm, 'decrypt', key, optionsOf(choice));
    const request = (): void => session.open(iv, aad, text, tag, data);
    return {
      request,
      verify: () => {
        data.fill(0);
        request();
        return data.equals(filled(requestBytes));
      },
      close: () => session.close(),
    };
  }
  const session = driver.aead(algorithm, 'encrypt', key, optionsOf(choice));
  const request = (): void => session.seal(iv, aad, data, data, tag);
  return {
    request,
    verify: () => {
      if (other === undefined) return true;
      const before = Buffer.from(data);
      request();
      const expected = Buffer.alloc(tag.length);
      try {
        using vouching = other.driver.aead(algorithm, 'encrypt', key, optionsOf(other));
        vouching.seal(iv, aad, before, before, expected);
      } catch {
        return true;
      }
      return before.equals(data) && expected.equals(tag);
    },
    close: () => session.close(),
  };
}

/** What fresh sessions give for the subject's data. */
function resultOf(subject: Subject, choice: DriverChoice): Buffer {
  const { algorithm, operation, requestBytes, aadBytes = 0 } = subject;
  const { driver } = choice;
  const options = optionsOf(choice);
  const data = filled(requestBytes);
  if (algorithm.kind === 'cipher') {
    using session = driver.cipher(
      algorithm,
      directionOf(operation),
      keyOf(algorithm),
      ivOf(algorithm),
      options,
    );
    session.update(data, data);
    // Twice, since what a driver hands on from one request to the next is the first thing to go wrong.
    if (chains(subject)) session.update(data, data);
    return data;
  }
  if (algorithm.kind === 'aead') {
    const key = keyOf(algorithm);
    const [iv, aad] = [material('iv', algorithm.ivBytes), material('aad', aadBytes)];
    const tag = Buffer.alloc(algorithm.defaultTagBytes);
    using sealing = driver.aead(algorithm, 'encrypt', key, options);
    sealing.seal(iv, aad, data, data, tag);
    if (operation !== 'decrypt') return Buffer.concat([data, tag]);
    using opening = driver.aead(algorithm, 'decrypt', key, options);
    opening.open(iv, aad, data, tag, data);
    return data;
  }
  const output = Buffer.alloc(algorithm.digestBytes);
  using session =
    algorithm.kind === 'hash'
      ? driver.hash(algorithm, options)
      : driver.mac(algorithm, keyOf(algorithm), options);
  session.once(data, output);
  return output;
}

function chains({ algorithm, requestBytes }: Subject): boolean {
  return (
    algorithm.kind === 'cipher' && algorithm.mode !== 'xts' && requestBytes % algorithm.cipherBlockBytes === 0
  );
}

/** Undefined where whoever vouches cannot do it either, which says nothing about the other. */
function expectedOf(subject: Subject, other: DriverChoice): Buffer | undefined {
  try {
    return resultOf(subject, other);
  } catch {
    return undefined;
  }
}

/** Nobody else has the algorithm: at least the driver's own inverse gives the data back. */
function comesBack(subject: Subject, choice: DriverChoice, got: Buffer): boolean {
  const { algorithm, operation, requestBytes } = subject;
  // Opening a message that was sealed has proved itself by its tag.
  if (algorithm.kind !== 'cipher') return true;
  const inverse = operation === 'decrypt' ? 'encrypt' : 'decrypt';
  const data = filled(requestBytes);
  const back = Buffer.from(got);
  const undo = (): void => {
    using session = choice.driver.cipher(
      algorithm,
      inverse,
      keyOf(algorithm),
      ivOf(algorithm),
      optionsOf(choice),
    );
    session.update(back, back);
  };
  if (!chains(subject)) {
    undo();
    return back.equals(data) && !got.equals(data);
  }
  // The second request went on with the first one's chain, in place: what it began with is known only for the first.
  const once = filled(requestBytes);
  using session = choice.driver.cipher(
    algorithm,
    directionOf(operation),
    keyOf(algorithm),
    ivOf(algorithm),
    optionsOf(choice),
  );
  session.update(once, once);
  once.copy(back);
  undo();
  return back.equals(data) && !once.equals(data);
}
