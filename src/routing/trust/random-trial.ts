/** Trials drawn at random: what `plan.ts` tries by design, in combinations that nobody thought of. */
import type { AeadAlgorithm, Algorithm, CipherAlgorithm } from '../../algorithms.js';
import { ivFor } from './plan.js';
import type { SeededRandom } from './random.js';
import { wrappingIvs } from './transcript.js';
import { type Message, type Task, type Trial, tasksOf } from './trial.js';

/** Beyond the 64 KiB that AF_ALG takes in one request. */
const LONGEST_BYTES = 200_000;
/** CFB by bytes and bits calls the cipher for each. */
const SLOW_BYTES = 2000;
/** The largest data unit: a kernel takes no more than 64 KiB, and a unit cannot be split. */
const UNIT_BYTES = 65_520;
const BORDERS = [16, 64, 128, 256, 512, 1024, 4096, 8192, 16_384, 32_768, 65_536, 131_072];
const MOST_PIECES = 12;
/** A forgery is accepted by chance once in 256 to the power of this. */
const SURE_TAG_BYTES = 8;
const HMAC_KEYS = [1, 16, 20, 32, 63, 64, 65, 127, 128, 129, 200];

/** A trial of an algorithm; the same from the same state of `random`. */
export function randomTrial(algorithm: Algorithm, random: SeededRandom): Trial {
  const task = random.pick(tasksOf(algorithm));
  const count = random.pick([1, 1, 1, 2, 3]);
  const sessions = Array.from({ length: count }, () => sessionOf(algorithm, task, random));
  return {
    algorithm,
    task,
    ...(algorithm.kind === 'aead' && oneIn(random, 5)
      ? {
          tagBytes: random.pick(
            algorithm.tagBytes.filter((bytes) => task === 'encrypt' || bytes >= SURE_TAG_BYTES),
          ),
        }
      : {}),
    ...(algorithm.kind === 'hash' && algorithm.xof && oneIn(random, 3)
      ? { outputBytes: random.integer(1, 500) }
      : {}),
    sessions,
    ...(count > 1 && !oneIn(random, 4) ? { interleaved: true } : {}),
  };
}

const oneIn = (random: SeededRandom, times: number): boolean => random.integer(1, times) === 1;

function sessionOf(algorithm: Algorithm, task: Task, random: SeededRandom): Message[] {
  const count = random.pick([1, 1, 2, 3, 5]);
  return Array.from({ length: count }, (_, i) => messageOf(algorithm, task, random, i === 0));
}

function messageOf(algorithm: Algorithm, task: Task, random: SeededRandom, first: boolean): Message {
  const bytes = lengthOf(algorithm, random);
  const input = random.bytes(bytes);
  const keyed = algorithm.kind !== 'hash' && (first || oneIn(random, 4));
  const unit = algorithm.kind === 'cipher' ? algorithm.blockBytes : 1;
  const split = oneIn(random, 2) && bytes > unit;
  const layout = random.pick(['apart', 'apart', 'in place', 'overlapping'] as const);
  // A stream is handed over at the end of a block.
  const handover = oneIn(random, 3);
  const step = handover && algorithm.kind === 'cipher' ? algorithm.cipherBlockBytes : unit;
  const pieces = split && layout !== 'overlapping' ? piecesOf(random, bytes, step) : [bytes];
  const rest: Pick<Message, 'iv' | 'aad' | 'forged'> =
    algorithm.kind === 'cipher'
      ? { iv: cipherIv(algorithm, random) }
      : algorithm.kind === 'aead'
        ? aeadParts(algorithm, task, random, bytes)
        : { iv: null };
  return {
    ...(keyed ? { key: keyOf(algorithm, random) } : {}),
    ...rest,
    input,
    pieces,
    inputOffset: oneIn(random, 2) ? 0 : random.integer(0, 15),
    outputOffset: oneIn(random, 2) ? 0 : random.integer(0, 15),
    layout,
    ...(oneIn(random, 3) ? { asynchronous: true } : {}),
    ...(oneIn(random, 6) ? { staged: true } : {}),
    ...(pieces.length > 1 && handover ? { handoverAfter: random.integer(1, pieces.length - 1) } : {}),
  };
}

/** As many short as long ones, and more than their share about the borders. */
function lengthOf(algorithm: Algorithm, random: SeededRandom): number {
  const cipher = algorithm.kind === 'cipher' ? algorithm : undefined;
  const unit = cipher?.blockBytes ?? 1;
  const least = cipher ? (cipher.minBytes ?? unit) : 0;
  const most = !cipher
    ? LONGEST_BYTES
    : /^cfb\d/.test(cipher.mode)
      ? SLOW_BYTES
      : cipher.mode === 'xts'
        ? UNIT_BYTES
        : LONGEST_BYTES;
  const drawn = oneIn(random, 3)
    ? random.pick(BORDERS) + random.integer(-17, 17)
    : Math.floor(most ** (random.word() / 2 ** 32)) - (least === 0 ? 1 : 0);
  const whole = Math.min(most, Math.max(0, drawn));
  return Math.max(least, whole - (whole % unit));
}

function piecesOf(random: SeededRandom, bytes: number, unit: number): number[] {
  const pieces = random.pieces(bytes, unit);
  const rest = pieces.splice(MOST_PIECES - 1).reduce((sum, piece) => sum + piece, 0);
  return rest > 0 ? [...pieces, rest] : pieces;
}

function keyOf(algorithm: Exclude<Algorithm, { kind: 'hash' }>, random: SeededRandom): Uint8Array {
  if (algorithm.kind === 'cipher' && algorithm.keyRange && oneIn(random, 4)) {
    return random.bytes(random.integer(...algorithm.keyRange));
  }
  return random.bytes(algorithm.keyBytes ?? random.pick(HMAC_KEYS));
}

function cipherIv(algorithm: CipherAlgorithm, random: SeededRandom): Uint8Array | null {
  const wraps = wrappingIvs(algorithm);
  return wraps.length > 0 && oneIn(random, 4) ? random.pick(wraps) : ivFor(algorithm, random);
}

function aeadParts(
  algorithm: AeadAlgorithm,
  task: Task,
  random: SeededRandom,
  bytes: number,
): Pick<Message, 'iv' | 'aad' | 'forged'> {
  const aad = random.bytes(oneIn(random, 12) ? random.integer(4000, 70_000) : random.integer(0, 70));
  const iv = random.bytes(
    oneIn(random, 8) ? random.integer(...ivRange(algorithm, bytes)) : algorithm.ivBytes,
  );
  if (task !== 'decrypt' || !oneIn(random, 4)) return { iv, aad };
  const forged = random.pick([
    'tag' as const,
    ...(bytes > 0 ? ['text' as const] : []),
    ...(aad.length > 0 ? ['aad' as const] : []),
  ]);
  return { iv, aad, forged };
}

/** CCM has 15 bytes for the nonce and the length of the text together. */
function ivRange({ mode, ivRange: [least, most] }: AeadAlgorithm, bytes: number): readonly [number, number] {
  const left = mode === 'ccm' && bytes >= 2 ** 16 ? 12 : most;
  return [least, Math.min(most, left)];
}
