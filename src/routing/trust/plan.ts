/**
 * The requests by which an implementation is judged before it is trusted: few, since a kernel takes 0.1 to 0.2 ms for each, and the
 * awkward ones, since those are what drivers get wrong: short and off-page lengths, unaligned and shared buffers, a stream in
 * several requests, above 64 KiB, a new key or IV in a session, two sessions in turns, counters that run over.
 */
import type {
  AeadAlgorithm,
  Algorithm,
  CipherAlgorithm,
  HashAlgorithm,
  MacAlgorithm,
} from '../../algorithms.js';
import { SeededRandom } from './random.js';
import { boundedIv, wrappingIvs } from './transcript.js';
import { type Message, message, type Task, type Trial, tasksOf } from './trial.js';

/** The seed is part of the plan: evidence names bytes, and they shall be the same everywhere. */
const SEED = 1;
const LONG_BYTES = 65_536;
/** A usual page, which a driver may have to map. */
const PAGE_BYTES = 4096;
/** CFB by bytes and bits calls the cipher for each. */
const SLOW_BYTES = 600;

/** The trials of an algorithm, the shortest first; the first message is one that every driver must take. */
export function planOf(algorithm: Algorithm): Trial[] {
  return tasksOf(algorithm).flatMap((task) => {
    const random = new SeededRandom(`${algorithm.name} ${task}`, SEED);
    switch (algorithm.kind) {
      case 'cipher':
        return algorithm.mode === 'xts'
          ? xtsPlan(algorithm, task, random)
          : cipherPlan(algorithm, task, random);
      case 'aead':
        return aeadPlan(algorithm, task, random);
      default:
        return digestPlan(algorithm, random);
    }
  });
}

export function ivFor(algorithm: CipherAlgorithm | AeadAlgorithm, random: SeededRandom): Uint8Array | null {
  return algorithm.ivBytes === 0 ? null : boundedIv(algorithm, random.bytes(algorithm.ivBytes));
}

function cipherPlan(algorithm: CipherAlgorithm, task: Task, random: SeededRandom): Trial[] {
  const { cipherBlockBytes: block, blockBytes, mode, keyBytes } = algorithm;
  const slow = /^cfb\d/.test(mode);
  const tail = blockBytes === 1 ? 5 : 0;
  const page = slow ? SLOW_BYTES - (SLOW_BYTES % block) : PAGE_BYTES;
  const next = (bytes: number, rest: Partial<Message> = {}): Message =>
    message(random.bytes(bytes), { iv: ivFor(algorithm, random), ...rest });
  const key = (): { key: Uint8Array } => ({ key: random.bytes(keyBytes) });
  const chained = [1, 2, 5, 1].map((blocks) => blocks * block);
  const long = slow ? SLOW_BYTES - (SLOW_BYTES % block) + tail : LONG_BYTES + 3 * block + tail;
  const one: Message[] = [
    next(block, key()),
    next(3 * block, { layout: 'in place', inputOffset: 1 }),
    next(page + block, { inputOffset: 1, outputOffset: 3 }),
    next(9 * block + tail, {
      pieces: [...chained, ...(tail ? [tail] : [])],
      inputOffset: 5,
      outputOffset: 9,
    }),
    next(2 * block + tail, { ...key(), layout: 'overlapping', outputOffset: 6 }),
    next(5 * block, {
      pieces: [3 * block, 2 * block],
      handoverAfter: 1,
      layout: 'in place',
      inputOffset: 4,
    }),
    next(2 * block, { staged: true }),
  ];
  const wraps = wrappingIvs(algorithm).map((iv) => next(4 * block, { iv, pieces: [block, 3 * block] }));
  const far = [
    next(long, {
      layout: task === 'decrypt' ? 'in place' : 'apart',
      inputOffset: 2,
      outputOffset: 7,
    }),
    next(block),
  ];
  return [
    { algorithm, task, sessions: [[...one, ...wraps, ...far]] },
    inTurns(algorithm, task, [
      [next(3 * block, { ...key(), pieces: [block, 2 * block] }), next(block)],
      [next(4 * block, { ...key(), pieces: [2 * block, 2 * block], layout: 'in place' }), next(2 * block)],
    ]),
  ];
}

/** Data units, each whole: short ones, disk sectors, and all that steal ciphertext from their last whole block. */
function xtsPlan(algorithm: CipherAlgorithm, task: Task, random: SeededRandom): Trial[] {
  const next = (bytes: number, rest: Partial<Message> = {}): Message =>
    message(random.bytes(bytes), { iv: ivFor(algorithm, random), ...rest });
  const key = (): { key: Uint8Array } => ({ key: random.bytes(algorithm.keyBytes) });
  // Where ciphertext is not stolen, each such unit is refused; apart, so that the others are done.
  const units = [32, 512, 520, 47, 17, 31, PAGE_BYTES, PAGE_BYTES + 15];
  return [
    {
      algorithm,
      task,
      sessions: [
        [
          next(16, key()),
          ...units.map((bytes, i) =>
            next(bytes, {
              layout: i % 3 === 1 ? 'in place' : 'apart',
              inputOffset: (i * 3) & 15,
              outputOffset: (i * 5) & 15,
              ...(i === 3 ? key() : {}),
            }),
          ),
          next(33, { layout: 'overlapping', outputOffset: 4 }),
        ],
      ],
    },
    inTurns(algorithm, task, [
      [next(512, key()), next(528)],
      [next(512, key()), next(16, { layout: 'in place' })],
    ]),
    { algorithm, task, sessions: [[next(LONG_BYTES - 16, { ...key(), inputOffset: 1, outputOffset: 2 })]] },
  ];
}

function aeadPlan(algorithm: AeadAlgorithm, task: Task, random: SeededRandom): Trial[] {
  const next = (aadBytes: number, bytes: number, rest: Partial<Message> = {}): Message =>
    message(random.bytes(bytes), {
      iv: random.bytes(algorithm.ivBytes),
      aad: random.bytes(aadBytes),
      ...rest,
    });
  const key = (): { key: Uint8Array } => ({ key: random.bytes(algorithm.keyBytes) });
  const forgeries: Message[] =
    task === 'decrypt'
      ? [
          next(13, 40, { forged: 'tag' }),
          next(13, 40, { forged: 'text', layout: 'in place' }),
          next(13, 0, { forged: 'aad' }),
        ]
      : [];
  return [
    {
      algorithm,
      task,
      sessions: [
        [
          next(20, 32, key()),
          next(0, 16, { layout: 'in place', inputOffset: 1 }),
          next(0, 0),
          next(13, 1, { outputOffset: 3 }),
          ...forgeries,
          next(33, 47, { inputOffset: 5, outputOffset: 9, ...key() }),
          next(16, PAGE_BYTES + 15, { inputOffset: 1, outputOffset: 3 }),
          next(7, 100, { pieces: [16, 1, 40, 43] }),
          next(8, 64, { layout: 'overlapping', outputOffset: 5 }),
          next(5, 20, { staged: true }),
        ],
      ],
    },
    inTurns(algorithm, task, [
      [next(8, 64, key()), next(0, 31)],
      [next(12, 33, key()), next(1, 48, { layout: 'in place' })],
    ]),
    {
      algorithm,
      task,
      sessions: [[next(13, LONG_BYTES + 33, { ...key(), inputOffset: 2, outputOffset: 7 }), next(3, 16)]],
    },
  ];
}

function digestPlan(algorithm: HashAlgorithm | MacAlgorithm, random: SeededRandom): Trial[] {
  const block = algorithm.blockBytes;
  const mac = algorithm.kind === 'mac';
  const next = (bytes: number, rest: Partial<Message> = {}): Message => message(random.bytes(bytes), rest);
  const key = (bytes = algorithm.kind === 'mac' ? (algorithm.keyBytes ?? 20) : 0): { key?: Uint8Array } =>
    mac ? { key: random.bytes(bytes) } : {};
  // HMAC hashes a key above the block size, and pads a shorter one.
  const longKey = mac && algorithm.keyBytes === undefined ? block + 1 : undefined;
  const pieces = [1, block - 1, 7, 2 * block, 60];
  const total = pieces.reduce((sum, bytes) => sum + bytes, 0);
  return [
    {
      algorithm,
      task: 'digest',
      sessions: [
        [
          next(3, key()),
          next(0),
          next(Math.max(2, block - 9), { inputOffset: 1 }),
          next(block - 1, { outputOffset: 3 }),
          next(block, key()),
          next(block + 1, { inputOffset: 5, ...key(longKey) }),
          next(total, { pieces, inputOffset: 3 }),
          next(total, { pieces, handoverAfter: 2, inputOffset: 9 }),
          next(PAGE_BYTES + 1, { inputOffset: 1 }),
        ],
      ],
    },
    inTurns(algorithm, 'digest', [
      [next(block + 5, { ...key(), pieces: [block, 5] }), next(7)],
      [next(2 * block, { ...key(), pieces: [block, block] }), next(block)],
    ]),
    { algorithm, task: 'digest', sessions: [[next(LONG_BYTES + 7, { ...key(), inputOffset: 7 })]] },
  ];
}

const inTurns = (algorithm: Algorithm, task: Task, sessions: readonly (readonly Message[])[]): Trial => ({
  algorithm,
  task,
  sessions,
  interleaved: true,
});
