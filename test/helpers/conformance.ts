/**
 * The suite that every driver passes: what src/drivers/driver.ts promises, for each algorithm that the driver says it
 * supports, against an independent implementation where there is one.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type AeadAlgorithm,
  type Algorithm,
  algorithms,
  type CipherAlgorithm,
  type HashAlgorithm,
  type MacAlgorithm,
} from '#src/algorithms.js';
import type { AeadSession, CipherSession, DigestSession, Direction, Driver } from '#src/drivers/driver.js';
import { mayRefuse } from '#src/routing/trust/refusal.js';
import { type Answer, answers, type Job } from './oracle.js';
import { Random, SEED } from './random.js';
import {
  matches,
  monteCarloFor,
  monteCarloStep,
  type Vector,
  vectorAlgorithms,
  vectorsFor,
} from './vectors.js';

export interface SuiteOptions {
  /** Drivers that are asked for the right answer where node:crypto has none. Without one: self-consistency and vectors. */
  readonly oracle?: readonly Driver[];
  /** Lengths of messages in bytes that are all tried; those off the block size are left out. Default: `usualLengths()`. */
  readonly lengths?: readonly number[];
  readonly budget?: Partial<Budget>;
  /** Algorithms to be tested, of those that the driver supports. Default: all. */
  readonly only?: (algorithm: Algorithm) => boolean;
  /** Kernel driver to bind (`cbc-aes-generic`). */
  readonly kernelDriver?: string;
  /** What stands before the algorithm in the names of the tests. Default: the driver's name. */
  readonly label?: string;
}

export interface Budget {
  /** Longest random message, in bytes; where the work is slow, SLOW_BYTES at most. */
  readonly largestBytes: number;
  /** Random messages for each algorithm and direction. */
  readonly rounds: number;
  /** Vectors for each algorithm; more are sampled evenly. 0: their files are not even read. */
  readonly vectors: number;
}

export const FULL: Budget = { largestBytes: 5 << 20, rounds: 4, vectors: Number.POSITIVE_INFINITY };

/**
 * For a guest where a system call costs 50 µs: block borders, page borders and what lies between them. No known answers:
 * the judge is node:crypto, and that it knows them is seen on the host.
 */
export const SAMPLED: Budget = { largestBytes: 200_000, rounds: 2, vectors: 0 };
export const SAMPLED_LENGTHS: readonly number[] = [
  ...Array.from({ length: 35 }, (_, i) => i),
  ...[48, 63, 64, 65, 128, 255, 256, 257, 511, 512, 513, 1000, 1024, 2048],
  ...[4080, 4095, 4096, 4097, 4112, 8191, 8192, 8193],
];

/** HWCRYPT_TEST_FULL=1: every length, and long messages whatever they cost. Before a release, and for a new driver. */
const IN_FULL = !['', '0'].includes(process.env['HWCRYPT_TEST_FULL'] ?? '');

const WIDEST_STEP_BYTES = 1024;

/**
 * A fifth of the lengths up to 4100, which finds what all of them do. What an implementation does with a length depends on what is left
 * after the steps of several blocks that it takes at once, and on whether there were none, one or more of these steps. The widest that
 * the libraries have is 1024 bytes (64 blocks of AES or Camellia, 16 of ChaCha20); most have 64 to 256. So: all lengths for two of the
 * usual steps; every whole number of blocks until past the widest, for those who take nothing else; behind that one length in each
 * 16 bytes, until four of the widest steps are done, so that a remainder of 256 bytes comes up but once; and both sides of the borders.
 * The faults in helpers/faulty.ts that depend on a length or an address are found by it.
 */
export function usualLengths(): number[] {
  const last = 4 * WIDEST_STEP_BYTES + 4;
  const all = Array.from({ length: last + 1 }, (_, i) => i);
  if (IN_FULL) return all;
  const [dense, whole] = [512, WIDEST_STEP_BYTES + 512];
  return all.filter((length) => {
    if (length <= dense) return true;
    const [block, rest] = [length >> 4, length & 15];
    if (rest === 0) return length <= whole || block % 4 === 0;
    // Odd factors: in 16 blocks each remainder of a block comes up once, in 16 times 16 each with each of the 16 blocks.
    if (rest === (block * 5 + (block >> 4) * 3) % 16) return true;
    return [512, 1024, 2048, 3072, 4096].some((border) => Math.abs(length - border) <= 1);
  });
}

/** How long messages get in algorithms for which CPUs have no instructions: past one and several pieces of 64 KiB. */
const SLOW_BYTES = 300_000;

function longestBytes({ budget }: Suite, { name }: Algorithm): number {
  const quick = /^(?:aes-|chacha20|(?:hmac-)?sha(?:1|256|512)$|cmac-aes-)/.test(name);
  return quick || IN_FULL ? budget.largestBytes : Math.min(budget.largestBytes, SLOW_BYTES);
}

/** Everything that the tests of one driver have in common. */
interface Suite {
  readonly driver: Driver;
  readonly lengths: readonly number[];
  readonly budget: Budget;
  readonly oracle: readonly Driver[];
  readonly options: { readonly kernelDriver?: string };
  readonly label: string;
  /** Fewer shapes too, where fewer lengths are asked for. */
  readonly sampled: boolean;
}

/** Registers the tests of a driver with node:test. */
export function driverSuite(driver: Driver, options: SuiteOptions = {}): void {
  const label = options.label ?? driver.name;
  const lengths = options.lengths ?? usualLengths();
  const suite: Suite = {
    driver,
    lengths,
    budget: { ...FULL, ...options.budget },
    oracle: options.oracle ?? [],
    options: options.kernelDriver === undefined ? {} : { kernelDriver: options.kernelDriver },
    label,
    sampled: lengths.length < 200,
  };
  const probe = driver.probe();
  if (!probe.available) {
    test(`${label} is not available here`, { skip: probe.reason.message }, () => {});
    return;
  }
  const chosen = algorithms().filter(
    (algorithm) => (options.only?.(algorithm) ?? true) && driver.supports(algorithm, suite.options).supported,
  );
  describe(`${label} (${probe.version})`, () => {
    test('it supports something', () => assert.notEqual(chosen.length, 0));
    // Each look may cost a guest two runs of modprobe: where the suite is about a few algorithms, so is this.
    const asked = options.only ? algorithms().filter(options.only) : algorithms();
    test('what it supports it has an implementation of, and of nothing else', () =>
      checkSupport(suite, asked));
    for (const algorithm of chosen) {
      switch (algorithm.kind) {
        case 'cipher':
          describe(algorithm.name, () => cipherTests(suite, algorithm));
          break;
        case 'aead':
          describe(algorithm.name, () => aeadTests(suite, algorithm));
          break;
        default:
          describe(algorithm.name, () => digestTests(suite, algorithm));
      }
    }
  });
}

function checkSupport({ driver, options }: Suite, asked: readonly Algorithm[]): void {
  for (const algorithm of asked) {
    const support = driver.supports(algorithm, options);
    const implementation = driver.implementation(algorithm, options);
    assert.equal(implementation !== undefined, support.supported, `${algorithm.name}: implementation()`);
    if (support.supported) {
      assert.equal(implementation?.driver, driver.name);
      assert.notEqual(implementation?.evidence.length, 0, `${algorithm.name}: a verdict without evidence`);
      continue;
    }
    assert.ok(support.reason.code && support.reason.message, `${algorithm.name}: refused without a reason`);
    assert.throws(
      () => openAny(driver, algorithm, options),
      (error: { code?: string; name?: string }) => error.name === 'UnavailableError',
      `${algorithm.name}: is not supported, but opens`,
    );
  }
}

function openAny(driver: Driver, algorithm: Algorithm, options: Suite['options']): void {
  const random = new Random('open');
  const key = random.bytes(('keyBytes' in algorithm ? algorithm.keyBytes : undefined) ?? 16);
  const session =
    algorithm.kind === 'cipher'
      ? driver.cipher(algorithm, 'encrypt', key, ivOf(algorithm, random), options)
      : algorithm.kind === 'aead'
        ? driver.aead(algorithm, 'encrypt', key, options)
        : algorithm.kind === 'hash'
          ? driver.hash(algorithm, options)
          : driver.mac(algorithm, key, options);
  session.close();
}

// --- Memory ----------------------------------------------------------------------------------------------------------

const MARGIN = 32;
const MARK = 0xa5;

/** Memory with a margin on both sides that nobody may write to, at any distance from an aligned address. */
class Guarded {
  readonly view: Uint8Array;
  readonly #whole: Uint8Array;
  readonly #at: number;

  constructor(length: number, offset = 0, content?: Uint8Array) {
    this.#whole = new Uint8Array(length + 2 * MARGIN + 16);
    this.#at = MARGIN + (offset & 15);
    this.view = this.#whole.subarray(this.#at, this.#at + length);
    // Inside too: of an output that is longer than what is written to it, the end must keep its marks.
    this.#whole.fill(MARK, 0, this.#at + Math.min(length, 8192));
    this.#whole.fill(MARK, this.#at + Math.max(0, length - 64));
    if (content) this.view.set(content);
  }

  /** Fails where something was written outside of `view`, or inside from `length` on. */
  check(what: string, length: number = this.view.length): void {
    const end = this.#at + length;
    const unmarked = (byte: number) => byte !== MARK;
    const before = this.#whole.subarray(0, this.#at).findIndex(unmarked);
    if (before >= 0) assert.fail(`${what}: wrote ${this.#at - before} bytes before the output`);
    const after = this.#whole.subarray(end).findIndex(unmarked);
    if (after >= 0) assert.fail(`${what}: wrote to byte ${length + after} of an output of ${length}`);
  }
}

/** Equality with the shortest message that tells what to look for. */
function same(actual: Uint8Array, expected: Uint8Array, what: string): void {
  if (actual.length === expected.length && Buffer.compare(actual, expected) === 0) return;
  if (actual.length !== expected.length) {
    assert.fail(`${what}: ${actual.length} bytes instead of ${expected.length}; seed ${SEED}`);
  }
  const at = actual.findIndex((byte, i) => byte !== expected[i]);
  const hex = (bytes: Uint8Array) => Buffer.from(bytes.subarray(at, at + 8)).toString('hex');
  assert.fail(
    `${what}: differs from byte ${at} on: ${hex(actual)}… instead of ${hex(expected)}…; seed ${SEED}`,
  );
}

/** Fails where `act` does not throw an error with one of these codes. */
function refuses(act: () => unknown, codes: readonly string[], what: string): void {
  try {
    act();
  } catch (error) {
    const code = (error as { code?: string }).code ?? `no code (${error})`;
    assert.ok(codes.includes(code), `${what}: ${code} instead of ${codes.join(' or ')}`);
    return;
  }
  assert.fail(`${what}: was accepted`);
}

async function refusesAsync(
  act: () => Promise<unknown>,
  codes: readonly string[],
  what: string,
): Promise<void> {
  let thrown: unknown;
  try {
    await act();
  } catch (error) {
    thrown = error;
  }
  if (thrown === undefined) assert.fail(`${what}: was accepted`);
  refuses(
    () => {
      throw thrown;
    },
    codes,
    what,
  );
}

/** Codes of a driver that does not offer a length of tag or nonce which the algorithm has. */
const NOT_OFFERED = [
  'ALGORITHM_UNAVAILABLE',
  'ERR_CRYPTO_INVALID_IV',
  'ERR_CRYPTO_INVALID_AUTH_TAG',
  'MESSAGE_TOO_LARGE',
];

/** The value of `act`, or undefined where the driver has the right to refuse it. */
function unlessRefused<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (mayRefuse(error)) return undefined;
    throw error;
  }
}

const USED_UP = ['SESSION_UNUSABLE'];

/** Every method of a closed session says that it is closed; closing it again says nothing. */
function checkClosed(
  what: string,
  session: { close(): void; [Symbol.dispose](): void },
  uses: (() => unknown)[],
): void {
  session.close();
  session.close();
  for (const [i, use] of uses.entries()) refuses(use, USED_UP, `${what}: call ${i} after close()`);
  session[Symbol.dispose]();
}

// --- Ciphers ---------------------------------------------------------------------------------------------------------

function ivOf(algorithm: CipherAlgorithm | AeadAlgorithm, random: Random): Uint8Array | null {
  return algorithm.ivBytes === 0 ? null : random.bytes(algorithm.ivBytes);
}

/** Answers by node:crypto, or by another driver, or undefined where nobody is independent of the driver under test. */
function expected(suite: Suite, algorithm: Algorithm, jobs: readonly Job[]): Answer[] | undefined {
  const given = answers(jobs);
  if (given) return given;
  for (const driver of suite.oracle) {
    if (driver.name !== suite.driver.name && driver.supports(algorithm).supported) {
      return jobs.map((job) => byDriver(driver, algorithm, job, {}));
    }
  }
  return undefined;
}

/** One job by a driver, in one call. */
function byDriver(driver: Driver, algorithm: Algorithm, job: Job, options: Suite['options']): Answer {
  const output = new Uint8Array(job.input.length);
  switch (algorithm.kind) {
    case 'cipher': {
      using session = driver.cipher(algorithm, job.op as Direction, job.key!, job.iv ?? null, options);
      session.update(job.input, output);
      return { output };
    }
    case 'aead': {
      const tagBytes = job.tag?.length ?? job.tagBytes ?? algorithm.defaultTagBytes;
      using session = driver.aead(algorithm, job.op as Direction, job.key!, { ...options, tagBytes });
      const aad = job.aad ?? new Uint8Array();
      if (job.op === 'encrypt') {
        const tag = new Uint8Array(tagBytes);
        session.seal(job.iv!, aad, job.input, output, tag);
        return { output, tag };
      }
      session.open(job.iv!, aad, job.input, job.tag!, output);
      return { output };
    }
    case 'hash': {
      using session = driver.hash(algorithm, options);
      const digest = new Uint8Array(job.outputBytes ?? algorithm.digestBytes);
      session.once(job.input, digest);
      return { output: digest };
    }
    case 'mac': {
      using session = driver.mac(algorithm, job.key!, options);
      const digest = new Uint8Array(algorithm.digestBytes);
      session.once(job.input, digest);
      return { output: digest };
    }
  }
}

/** One answer: of an oracle, or of the driver itself in one call where there is none. */
function oneAnswer(suite: Suite, algorithm: Algorithm, job: Job): Answer {
  return expected(suite, algorithm, [job])?.[0] ?? byDriver(suite.driver, algorithm, job, suite.options);
}

/** In these modes the beginning of a message's output is the output of its beginning. */
const PREFIX = (algorithm: CipherAlgorithm) => algorithm.mode !== 'xts';

/** CFB in pieces of bytes and bits calls the cipher so often that long messages and many of them take minutes. */
function slow(algorithm: Algorithm): boolean {
  return algorithm.kind === 'cipher' && (algorithm.mode === 'cfb1' || algorithm.mode === 'cfb8');
}

function cipherLengths({ lengths }: Suite, algorithm: CipherAlgorithm): number[] {
  const { blockBytes, minBytes = 0, mode } = algorithm;
  return lengths.filter(
    (length) =>
      length % blockBytes === 0 &&
      length >= minBytes &&
      (mode !== 'cfb1' || length <= 130 || length % 113 === 0) &&
      (mode !== 'cfb8' || length <= 600 || length % 17 === 0),
  );
}

const CHANGING = ['ERR_INVALID_ARG_VALUE'];

/** Views of memory whose size may change, which no asynchronous call takes. They are younger than the language level. */
function changing(length: number): Uint8Array[] {
  const [own, shared] = [ArrayBuffer, SharedArrayBuffer] as unknown as (new (
    length: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer)[];
  return [own!, shared!].map((make) => new Uint8Array(new make(length, { maxByteLength: 2 * length })));
}

function cipherTests(suite: Suite, algorithm: CipherAlgorithm): void {
  const { driver, options } = suite;
  const open = (direction: Direction, key: Uint8Array, iv: Uint8Array | null): CipherSession =>
    driver.cipher(algorithm, direction, key, iv, options);

  for (const direction of ['encrypt', 'decrypt'] as const) {
    const what = `${algorithm.name} ${direction}`;

    test(`${direction}: lengths of every kind, from any address, with nothing written beside`, async () => {
      const random = new Random(`${what} lengths`);
      const lengths = cipherLengths(suite, algorithm);
      const key = random.bytes(algorithm.keyBytes);
      const iv = ivOf(algorithm, random);
      const message = random.bytes(Math.max(...lengths));
      const job = (length: number): Job => ({
        algorithm: algorithm.name,
        op: direction,
        key,
        iv,
        input: message.subarray(0, length),
      });
      const jobs = PREFIX(algorithm) ? [job(message.length)] : lengths.map(job);
      const given = expected(suite, algorithm, jobs);
      const own = () => {
        using whole = open(direction, key, iv);
        const output = new Uint8Array(message.length);
        whole.update(message, output);
        return output;
      };
      const longest = given?.at(-1)?.output ?? own();
      using session = open(direction, key, iv);
      for (const [i, length] of lengths.entries()) {
        const input = new Guarded(length, random.integer(0, 15), message.subarray(0, length));
        const output = new Guarded(length + 5, random.integer(0, 15));
        if (i > 0) session.restart(iv);
        if (length % 41 === 7) await session.updateAsync(input.view, output.view);
        else session.update(input.view, output.view);
        output.check(`${what}, ${length} bytes`, length);
        same(input.view, message.subarray(0, length), `${what}, ${length} bytes: the input afterwards`);
        const right = PREFIX(algorithm) ? longest.subarray(0, length) : (given?.[i]?.output ?? null);
        if (right) same(output.view.subarray(0, length), right, `${what}, ${length} bytes`);
      }
    });

    test(`${direction}: long messages in random pieces, sync and async, in place and overlapping`, async () => {
      const random = new Random(`${what} pieces`);
      const key = random.bytes(algorithm.keyBytes);
      using session = open(direction, key, ivOf(algorithm, random));
      const unit = session.partialBlocks ? algorithm.blockBytes : algorithm.cipherBlockBytes;
      const xts = algorithm.mode === 'xts';
      let most = slow(algorithm)
        ? algorithm.mode === 'cfb1'
          ? 10_000
          : 40_000
        : longestBytes(suite, algorithm);
      if (xts) most = Math.min(most, session.requestBytes ?? most);
      for (let round = 0; round < suite.budget.rounds; round++) {
        // The first round is as long as may be, the others of any length.
        const wanted = round === 0 ? most : Math.floor(most ** (0.3 + 0.7 * (random.word() / 2 ** 32)));
        const floor = Math.max(wanted, algorithm.minBytes ?? 1);
        const length = Math.max(algorithm.blockBytes, floor - (floor % algorithm.blockBytes));
        const iv = ivOf(algorithm, random);
        const message = random.bytes(length);
        const right = oneAnswer(suite, algorithm, {
          algorithm: algorithm.name,
          op: direction,
          key,
          iv,
          input: message,
        });
        session.restart(iv);
        const form = random.pick(['apart', 'in place', 'overlapping'] as const);
        const shift = random.integer(1, 40);
        const memory = new Guarded(length + shift, random.integer(0, 15));
        const apart = new Guarded(length, random.integer(0, 15));
        const input = memory.view.subarray(0, length);
        input.set(message);
        // Overlapping: the output lies on what comes next of the input, so there can be one piece only.
        const pieces = xts || form === 'overlapping' ? [length] : random.pieces(length, unit);
        const here = `${what}, ${length} bytes in ${pieces.length} pieces ${form}`;
        let at = 0;
        for (const piece of pieces) {
          const from = input.subarray(at, at + piece);
          const to =
            form === 'apart'
              ? apart.view.subarray(at, at + piece)
              : form === 'in place'
                ? from
                : memory.view.subarray(at + shift, at + shift + piece);
          if (random.integer(0, 3) === 0) await session.updateAsync(from, to);
          else if (session.stage && piece <= session.stage.length) {
            session.stage.set(from);
            to.set(session.updateStaged!(piece));
          } else session.update(from, to);
          at += piece;
        }
        const output =
          form === 'apart' ? apart.view : form === 'in place' ? input : memory.view.subarray(shift);
        memory.check(here);
        apart.check(here);
        same(output, right.output, here);
      }
    });

    test(`${direction}: a new message begins with its own IV and key, wherever the last one stopped`, async () => {
      const random = new Random(`${what} restart`);
      let key = random.bytes(algorithm.keyBytes);
      using session = open(direction, key, ivOf(algorithm, random));
      const unit = session.partialBlocks ? algorithm.blockBytes : algorithm.cipherBlockBytes;
      for (let round = 0; round < 8; round++) {
        const length = Math.max(random.integer(1, 9) * unit, algorithm.minBytes ?? 0);
        const input = random.bytes(length);
        const iv = ivOf(algorithm, random);
        const fresh = random.integer(0, 1) === 1 || round === 1;
        if (fresh) key = random.bytes(algorithm.keyBytes);
        const held = Uint8Array.from(key);
        if (fresh) session.restart(iv, held);
        else session.restart(iv);
        // The caller may wipe its key at once: the session has its own.
        if (fresh) held.fill(0);
        const output = new Uint8Array(length);
        session.update(input, output);
        const right = oneAnswer(suite, algorithm, {
          algorithm: algorithm.name,
          op: direction,
          key,
          iv,
          input,
        });
        same(
          output,
          right.output,
          `${what}, ${length} bytes after restart ${round}${fresh ? ' with a new key' : ''}`,
        );
      }
    });

    if (algorithm.ivBytes > 0) {
      test(`${direction}: many units at once, as one after the other, with nothing written beside`, () => {
        const random = new Random(`${what} units`);
        using session = open(direction, random.bytes(algorithm.keyBytes), ivOf(algorithm, random));
        using single = open(direction, random.bytes(algorithm.keyBytes), ivOf(algorithm, random));
        // Whoever has no quicker way need not have it; libcrypto does.
        assert.ok(session.updateUnits || driver.name !== 'libcrypto');
        if (!session.updateUnits) return;
        for (const [unitBytes, count] of [
          [512, 9],
          [Math.max(algorithm.minBytes ?? 1, algorithm.blockBytes) * 3, 5],
          [4096, 1],
          [512, 0],
        ] as const) {
          const key = random.bytes(algorithm.keyBytes);
          const input = random.bytes(unitBytes * count);
          const ivs = random.bytes(algorithm.ivBytes * count);
          const right = new Uint8Array(input.length);
          for (let i = 0; i < count; i++) {
            const [from, to] = [i * unitBytes, (i + 1) * unitBytes];
            single.restart(ivs.subarray(i * algorithm.ivBytes, (i + 1) * algorithm.ivBytes), key);
            single.update(input.subarray(from, to), right.subarray(from, to));
          }
          session.restart(random.bytes(algorithm.ivBytes), key);
          // In place, off any alignment, and over its own input by a few bytes.
          for (const shift of [0, 3]) {
            const room = new Uint8Array(input.length + 16).fill(0xaa);
            room.set(input, 5);
            const output = room.subarray(5 + shift, 5 + shift + input.length);
            session.updateUnits(room.subarray(5, 5 + input.length), output, unitBytes, ivs);
            same(output, right, `${what}: ${count} units of ${unitBytes} bytes, shifted by ${shift}`);
            assert.ok(room.subarray(5 + shift + input.length).every((byte) => byte === 0xaa));
          }
        }
        const [data, ivs] = [new Uint8Array(1024), new Uint8Array(2 * algorithm.ivBytes)];
        const units = (unitBytes: number, own: Uint8Array = ivs): void =>
          session.updateUnits?.(data, data, unitBytes, own);
        refuses(() => units(1000), ['ERR_OUT_OF_RANGE'], 'units that do not fill it');
        refuses(() => units(0), ['ERR_OUT_OF_RANGE'], 'units of no bytes');
        refuses(() => units(512, ivs.subarray(1)), ['ERR_OUT_OF_RANGE'], 'too few IVs');
        refuses(() => units(512, null as never), ['ERR_INVALID_ARG_TYPE'], 'no IVs');
        session.close();
        refuses(() => units(512), ['SESSION_UNUSABLE'], 'units after close()');
      });
    }

    test(`${direction}: another session goes on from chain()`, () => {
      const random = new Random(`${what} chain`);
      const block = algorithm.cipherBlockBytes;
      for (let round = 0; round < 6; round++) {
        const key = random.bytes(algorithm.keyBytes);
        // Counters run over: all ones is the IV that shows how wide they are.
        const iv =
          round === 0 && algorithm.mode === 'ctr' ? new Uint8Array(block).fill(255) : ivOf(algorithm, random);
        using first = open(direction, key, iv);
        if (!algorithm.handover) {
          assert.equal(first.chain(), null, `${what}: a chaining value although there is no handover`);
          return;
        }
        const start = first.chain();
        if (iv === null) assert.equal(start, null, `${what}: a chaining value without an IV`);
        else same(start!, iv, `${what}: chain() before any data`);
        const head = random.integer(1, 5) * block;
        const message = random.bytes(head + random.integer(1, 5) * block);
        const right = oneAnswer(suite, algorithm, {
          algorithm: algorithm.name,
          op: direction,
          key,
          iv,
          input: message,
        });
        const output = new Uint8Array(message.length);
        const parts = round % 2 === 0 || head === block ? [head] : [block, head - block];
        let at = 0;
        for (const part of parts) {
          first.update(message.subarray(at, at + part), output.subarray(at, at + part));
          at += part;
        }
        const value = first.chain();
        if (iv !== null) {
          const [plain, coded] = direction === 'encrypt' ? [message, right.output] : [right.output, message];
          same(value!, chainAt(algorithm, iv, plain, coded, head), `${what}: chain() after ${head} bytes`);
        }
        // A copy: what is done to it is not done to the session.
        const given = value && Uint8Array.from(value);
        value?.fill(0);
        using second = open(direction, key, given);
        second.update(message.subarray(head), output.subarray(head));
        same(output, right.output, `${what}: handed over after ${head} bytes`);
        const rest = new Uint8Array(message.length - head);
        first.update(message.subarray(head), rest);
        same(rest, right.output.subarray(head), `${what}: the first session after chain()`);
      }
    });
  }

  const { keyRange } = algorithm;
  if (keyRange)
    test('keys of every legal length', () => {
      const random = new Random(`${algorithm.name} keys`);
      const [least, most] = keyRange;
      let done = 0;
      for (let length = least; length <= most; length++) {
        const key = random.bytes(length);
        const iv = ivOf(algorithm, random);
        const session = unlessRefused(() => open('encrypt', key, iv));
        if (!session) continue;
        done++;
        const input = random.bytes(4 * algorithm.cipherBlockBytes);
        const output = new Uint8Array(input.length);
        session.update(input, output);
        session.close();
        const right = expected(suite, algorithm, [
          { algorithm: algorithm.name, op: 'encrypt', key, iv, input },
        ]);
        if (right) same(output, right[0]!.output, `${algorithm.name} with a key of ${length} bytes`);
      }
      assert.notEqual(done, 0, 'every key length was refused');
    });

  if (algorithm.mode === 'xts') {
    test('two equal halves of a key encrypt nothing, at the beginning or later', () => {
      const random = new Random(`${algorithm.name} halves`);
      const half = random.bytes(algorithm.keyBytes / 2);
      const equal = Buffer.concat([half, half]);
      const iv = ivOf(algorithm, random);
      const codes = ['ERR_OSSL_XTS_DUPLICATED_KEYS'];
      refuses(() => open('encrypt', equal, iv), codes, 'open');
      using session = open('encrypt', random.bytes(algorithm.keyBytes), iv);
      refuses(() => session.restart(iv, equal), codes, 'restart');
      // What was written so must be read.
      using back = open('decrypt', equal, iv);
      back.update(new Uint8Array(32), new Uint8Array(32));
    });
  }

  test('wrong arguments are refused and leave the session usable', () => {
    const random = new Random(`${algorithm.name} arguments`);
    const key = random.bytes(algorithm.keyBytes);
    const iv = ivOf(algorithm, random);
    const block = algorithm.cipherBlockBytes;
    const keyCodes = ['ERR_CRYPTO_INVALID_KEYLEN'];
    const [least, most] = algorithm.keyRange ?? [algorithm.keyBytes, algorithm.keyBytes];
    for (const length of [0, least - 1, most + 1]) {
      if (length < least || length > most) {
        refuses(
          () => open('encrypt', new Uint8Array(Math.max(0, length)), iv),
          keyCodes,
          `a key of ${length} bytes`,
        );
      }
    }
    const ivCodes = ['ERR_CRYPTO_INVALID_IV'];
    refuses(
      () => open('encrypt', key, new Uint8Array(algorithm.ivBytes + 1)),
      ivCodes,
      'an IV that is too long',
    );
    if (algorithm.ivBytes > 0) {
      refuses(() => open('encrypt', key, null), ivCodes, 'no IV');
      refuses(
        () => open('encrypt', key, new Uint8Array(algorithm.ivBytes - 1)),
        ivCodes,
        'an IV that is too short',
      );
    }
    using session = open('encrypt', key, iv);
    const input = random.bytes(2 * Math.max(block, 16));
    const lengthCodes = ['ERR_OUT_OF_RANGE', 'PARTIAL_BLOCK'];
    const output = new Uint8Array(input.length);
    refuses(() => session.update(input, output.subarray(1)), lengthCodes, 'too short an output');
    if (algorithm.blockBytes > 1) {
      refuses(() => session.update(input.subarray(1), output), lengthCodes, 'a length off the block size');
    }
    if (algorithm.minBytes !== undefined) {
      const short = input.subarray(0, algorithm.minBytes - 1);
      refuses(() => session.update(short, output), lengthCodes, 'too short a data unit');
    }
    refuses(
      () => session.update('text' as unknown as Uint8Array, output),
      ['ERR_INVALID_ARG_TYPE'],
      'a string',
    );
    refuses(() => session.update(input, {} as Uint8Array), ['ERR_INVALID_ARG_TYPE'], 'an object for output');
    const { stage } = session;
    if (stage) {
      for (const length of [0, -block, stage.length + block, Number.NaN, 2 ** 32 + block, block + 0.5])
        refuses(() => session.updateStaged!(length), lengthCodes, `${length} bytes staged`);
      if (algorithm.blockBytes > 1)
        refuses(() => session.updateStaged!(block + 1), lengthCodes, 'staged off the block size');
    }
    refuses(() => session.restart(iv, new Uint8Array(most + 1)), keyCodes, 'a long key at restart');
    refuses(() => session.restart(new Uint8Array(algorithm.ivBytes + 1)), ivCodes, 'a long IV at restart');
    session.update(input, output);
    const right = oneAnswer(suite, algorithm, { algorithm: algorithm.name, op: 'encrypt', key, iv, input });
    same(output, right.output, `${algorithm.name} after wrong arguments`);
  });

  test('asynchronous calls take no memory whose size may change, and leave the session as it was', async () => {
    const random = new Random(`${algorithm.name} resizable`);
    const length = Math.max(algorithm.blockBytes, algorithm.minBytes ?? 1, 16);
    const [key, iv] = [random.bytes(algorithm.keyBytes), ivOf(algorithm, random)];
    using session = open('encrypt', key, iv);
    const [fixed, output, wanted] = [random.bytes(length), new Uint8Array(length), new Uint8Array(length)];
    for (const view of changing(length)) {
      await refusesAsync(() => session.updateAsync(view, output), CHANGING, 'input');
      await refusesAsync(() => session.updateAsync(fixed, view), CHANGING, 'output');
    }
    await session.updateAsync(fixed, output);
    using other = open('encrypt', key, iv);
    other.update(fixed, wanted);
    same(output, wanted, 'afterwards');
  });

  test('one asynchronous call at a time; closed is closed', async () => {
    const random = new Random(`${algorithm.name} life`);
    const key = random.bytes(algorithm.keyBytes);
    const iv = ivOf(algorithm, random);
    const block = algorithm.cipherBlockBytes;
    const input = random.bytes(4096);
    const output = new Uint8Array(4096);
    const session = open('encrypt', key, iv);
    assert.equal(session.algorithm, algorithm);
    assert.equal(session.direction, 'encrypt');
    assert.ok(session.driver === driver.name || session.driver.startsWith(`${driver.name}:`), session.driver);
    const first = session.updateAsync(input, output);
    refuses(() => session.update(input, new Uint8Array(4096)), ['SESSION_BUSY'], 'update() meanwhile');
    refuses(() => session.restart(iv), ['SESSION_BUSY'], 'restart() meanwhile');
    await refusesAsync(
      () => session.updateAsync(input, new Uint8Array(4096)),
      ['SESSION_BUSY'],
      'updateAsync() meanwhile',
    );
    await first;
    const right = oneAnswer(suite, algorithm, { algorithm: algorithm.name, op: 'encrypt', key, iv, input });
    same(output, right.output, `${algorithm.name} while others were refused`);
    checkClosed(algorithm.name, session, [
      () => session.update(input, output),
      () => session.restart(iv),
      () => session.chain(),
      ...(session.stage ? [() => session.updateStaged!(block)] : []),
    ]);
    await refusesAsync(() => session.updateAsync(input, output), USED_UP, 'updateAsync() after close()');
    // Closing under a running call waits for nobody and breaks nothing.
    const dying = open('encrypt', key, iv);
    const last = dying.updateAsync(input, output);
    dying.close();
    await last.catch((error: { code?: string }) => assert.equal(error.code, 'SESSION_UNUSABLE'));
  });

  vectorTest(suite, algorithm, (vector) => {
    const session = unlessRefused(() => open(vector.op as Direction, vector.key!, vector.iv));
    if (!session) return false;
    const output = new Uint8Array(vector.input.length);
    session.update(vector.input, output);
    session.close();
    return output;
  });
}

/** The chaining value after `at` bytes of a message, made as the docstring of `handover` in src/algorithms.ts says. */
function chainAt(
  algorithm: CipherAlgorithm,
  iv: Uint8Array,
  plain: Uint8Array,
  coded: Uint8Array,
  at: number,
): Uint8Array {
  const block = algorithm.cipherBlockBytes;
  const next = Uint8Array.from(iv);
  switch (algorithm.mode) {
    case 'ofb':
      return plain.slice(at - block, at).map((byte, i) => byte ^ coded[at - block + i]!);
    case 'ctr':
      for (let n = 0; n < at / block; n++) {
        for (let i = block - 1; i >= 0; i--) {
          next[i]!++;
          if (next[i] !== 0) break;
        }
      }
      return next;
    case 'stream': {
      const view = new DataView(next.buffer);
      view.setUint32(0, view.getUint32(0, true) + at / block, true);
      return next;
    }
    default:
      return coded.slice(at - block, at);
  }
}

// --- AEADs -----------------------------------------------------------------------------------------------------------

function aeadTests(suite: Suite, algorithm: AeadAlgorithm): void {
  const { driver, options } = suite;
  const { name, defaultTagBytes } = algorithm;
  const open = (direction: Direction, key: Uint8Array, tagBytes?: number): AeadSession =>
    driver.aead(algorithm, direction, key, tagBytes === undefined ? options : { ...options, tagBytes });

  test('texts of every kind of length, from any address, with nothing written beside', async () => {
    const random = new Random(`${name} lengths`);
    const key = random.bytes(algorithm.keyBytes);
    const message = random.bytes(Math.max(...suite.lengths));
    const jobs = suite.lengths.map(
      (length): Job => ({
        algorithm: name,
        op: 'encrypt',
        key,
        iv: random.bytes(algorithm.ivBytes),
        aad: random.bytes(length % 37),
        input: message.subarray(0, length),
        tagBytes: defaultTagBytes,
      }),
    );
    const given = expected(suite, algorithm, jobs);
    using sealer = open('encrypt', key);
    using opener = open('decrypt', key);
    assert.equal(sealer.tagBytes, defaultTagBytes);
    for (const [i, { iv, aad, input }] of jobs.entries()) {
      const what = `${name} encrypt, ${input.length} bytes, aad ${aad!.length}`;
      const text = new Guarded(input.length, random.integer(0, 15), input);
      const output = new Guarded(input.length + 5, random.integer(0, 15));
      const tag = new Guarded(defaultTagBytes, random.integer(0, 15));
      const asynchronous = input.length % 41 === 7;
      if (asynchronous) await sealer.sealAsync(iv!, aad!, text.view, output.view, tag.view);
      else sealer.seal(iv!, aad!, text.view, output.view, tag.view);
      output.check(what, input.length);
      tag.check(`${what}: tag`);
      const sealed = output.view.subarray(0, input.length);
      if (given) {
        same(sealed, given[i]!.output, what);
        same(tag.view, given[i]!.tag!, `${what}: tag`);
      }
      const back = new Guarded(input.length + 5, random.integer(0, 15));
      const coded = Uint8Array.from(sealed);
      if (asynchronous) await opener.openAsync(iv!, aad!, coded, tag.view, back.view);
      else opener.open(iv!, aad!, coded, tag.view, back.view);
      back.check(`${name} decrypt, ${input.length} bytes`, input.length);
      same(
        back.view.subarray(0, input.length),
        input,
        `${name} decrypt, ${input.length} bytes, aad ${aad!.length}`,
      );
    }
  });

  test('every length of tag, nonce and additional data, with text and without', () => {
    const random = new Random(`${name} shapes`);
    const key = random.bytes(algorithm.keyBytes);
    const [shortest, longest] = algorithm.ivRange;
    const ivs = [...new Set([algorithm.ivBytes, shortest, longest, 8, 13, 16, 60, 64])].filter(
      (length) => length >= shortest && length <= longest,
    );
    // 0xfeff and 0xff00 are where CCM writes the length of the additional data in another form.
    const aads = suite.sampled
      ? [0, 1, 14, 16, 17, 4096, 0xff00, 70_000]
      : [0, 1, 13, 14, 15, 16, 17, 31, 32, 255, 4096, 0xfeff, 0xff00, 0xff01, 70_000];
    let done = 0;
    const attempt = (ivBytes: number, aadBytes: number, textBytes: number, tagBytes: number) => {
      const job: Job = {
        algorithm: name,
        op: 'encrypt',
        key,
        iv: random.bytes(ivBytes),
        aad: random.bytes(aadBytes),
        input: random.bytes(textBytes),
        tagBytes,
      };
      const usual = ivBytes === algorithm.ivBytes && aadBytes <= 4096 && tagBytes === defaultTagBytes;
      const act = () => byDriver(driver, algorithm, job, options);
      const sealed = usual ? act() : unlessRefused(act);
      if (!sealed) return;
      done++;
      const what = `${name}: nonce ${ivBytes}, aad ${aadBytes}, text ${textBytes}, tag ${tagBytes}`;
      const right = expected(suite, algorithm, [job])?.[0];
      if (right) {
        same(sealed.output, right.output, what);
        same(sealed.tag!, right.tag!, `${what}: the tag itself`);
      }
      const back = byDriver(
        driver,
        algorithm,
        { ...job, op: 'decrypt', input: sealed.output, tag: sealed.tag },
        options,
      );
      same(back.output, job.input, `${what}: opened again`);
    };
    const texts = suite.sampled ? [0, 100] : [0, 1, 16, 100];
    for (const textBytes of texts) {
      for (const aadBytes of aads) attempt(algorithm.ivBytes, aadBytes, textBytes, defaultTagBytes);
      for (const tagBytes of algorithm.tagBytes) attempt(algorithm.ivBytes, 20, textBytes, tagBytes);
      for (const ivBytes of ivs) attempt(ivBytes, 20, textBytes, defaultTagBytes);
    }
    assert.ok(
      done >= texts.length * aads.filter((length) => length <= 4096).length,
      `only ${done} shapes were accepted`,
    );
  });

  test('a forgery is refused, leaves zeros, and leaves the session usable', async () => {
    const random = new Random(`${name} forgery`);
    const key = random.bytes(algorithm.keyBytes);
    using opener = open('decrypt', key);
    for (const length of suite.sampled ? [0, 1, 100, 5000] : [0, 1, 15, 16, 17, 100, 1000, 5000, 70_000]) {
      if (opener.messageBytes !== undefined && length > opener.messageBytes) continue;
      const iv = random.bytes(algorithm.ivBytes);
      const aad = random.bytes(20);
      const input = random.bytes(length);
      const sealed = oneAnswer(suite, algorithm, { algorithm: name, op: 'encrypt', key, iv, aad, input });
      const good = { iv, aad, text: Uint8Array.from(sealed.output), tag: Uint8Array.from(sealed.tag!) };
      const bend = (bytes: Uint8Array): Uint8Array => {
        const bent = Uint8Array.from(bytes);
        bent[random.integer(0, bent.length - 1)]! ^= 1 << random.integer(0, 7);
        return bent;
      };
      const forgeries = [
        { ...good, tag: bend(good.tag) },
        { ...good, aad: bend(good.aad) },
        { ...good, iv: bend(good.iv) },
        ...(length > 0 ? [{ ...good, text: bend(good.text) }] : []),
      ];
      for (const [i, forged] of forgeries.entries()) {
        const what = `${name}, ${length} bytes, forgery ${i}`;
        for (const inPlace of [false, true]) {
          const output = inPlace ? Uint8Array.from(forged.text) : new Uint8Array(length).fill(MARK);
          const text = inPlace ? output : forged.text;
          const act = [forged.iv, forged.aad, text, forged.tag, output] as const;
          if ((i + length) % 2 === 0) refuses(() => opener.open(...act), ['AUTH_FAILED'], what);
          else await refusesAsync(() => opener.openAsync(...act), ['AUTH_FAILED'], what);
          same(output, new Uint8Array(length), `${what}: what is left in the output`);
        }
      }
      const output = new Uint8Array(length);
      opener.open(good.iv, good.aad, good.text, good.tag, output);
      same(output, input, `${name}, ${length} bytes, the genuine message after forgeries`);
    }
  });

  test('long messages, in place and overlapping, with new keys', async () => {
    const random = new Random(`${name} long`);
    let key = random.bytes(algorithm.keyBytes);
    using sealer = open('encrypt', key);
    using opener = open('decrypt', key);
    const room = (sealer.messageBytes ?? Number.POSITIVE_INFINITY) - 40 - defaultTagBytes;
    const most = Math.min(longestBytes(suite, algorithm), room);
    for (let round = 0; round < suite.budget.rounds; round++) {
      const length = round === 0 ? most : Math.floor(most ** (0.3 + 0.7 * (random.word() / 2 ** 32)));
      const iv = random.bytes(algorithm.ivBytes);
      const aad = random.bytes(random.integer(0, 40));
      const message = random.bytes(length);
      if (round % 2 === 1) {
        key = random.bytes(algorithm.keyBytes);
        const held = Uint8Array.from(key);
        sealer.rekey(held);
        opener.rekey(held);
        held.fill(0);
      }
      const right = oneAnswer(suite, algorithm, {
        algorithm: name,
        op: 'encrypt',
        key,
        iv,
        aad,
        input: message,
      });
      const shift = round % 3 === 2 ? random.integer(1, 40) : 0;
      const memory = new Guarded(length + shift, random.integer(0, 15));
      memory.view.set(message);
      const output = memory.view.subarray(shift);
      const tag = new Uint8Array(defaultTagBytes);
      const what = `${name} encrypt, ${length} bytes ${shift ? `onto itself ${shift} bytes further` : 'in place'}`;
      if (round % 2 === 0) await sealer.sealAsync(iv, aad, memory.view.subarray(0, length), output, tag);
      else sealer.seal(iv, aad, memory.view.subarray(0, length), output, tag);
      memory.check(what);
      same(output, right.output, what);
      same(tag, right.tag!, `${what}: tag`);
      const back = memory.view.subarray(0, length);
      if (round % 2 === 0) opener.open(iv, aad, output, tag, back);
      else await opener.openAsync(iv, aad, output, tag, back);
      memory.check(`${what}, opened back`);
      same(back, message, `${what}, opened back`);
    }
  });

  test('in pieces, where the driver says so', async () => {
    const random = new Random(`${name} incremental`);
    const key = random.bytes(algorithm.keyBytes);
    using sealer = open('encrypt', key);
    using opener = open('decrypt', key);
    if (!sealer.incremental) {
      refuses(() => sealer.begin(random.bytes(algorithm.ivBytes)), USED_UP, `${name}: begin()`);
      return;
    }
    for (const length of [0, 1, 16, 17, 1000, Math.min(200_000, suite.budget.largestBytes)]) {
      const iv = random.bytes(algorithm.ivBytes);
      const aad = random.bytes(random.pick([0, 1, 16, 33, 300]));
      const message = random.bytes(length);
      const right = oneAnswer(suite, algorithm, {
        algorithm: name,
        op: 'encrypt',
        key,
        iv,
        aad,
        input: message,
      });
      const pour = async (session: AeadSession, input: Uint8Array): Promise<Uint8Array> => {
        const output = new Guarded(length, random.integer(0, 15));
        session.begin(iv);
        let at = 0;
        for (const piece of random.pieces(aad.length, 1)) {
          session.aad(aad.subarray(at, at + piece));
          at += piece;
        }
        at = 0;
        for (const piece of random.pieces(length, 1)) {
          const from = input.subarray(at, at + piece);
          const to = output.view.subarray(at, at + piece);
          if (random.integer(0, 3) === 0) await session.updateAsync(from, to);
          else session.update(from, to);
          at += piece;
        }
        output.check(`${name}, ${length} bytes in pieces`);
        return output.view;
      };
      const what = `${name}, ${length} bytes in pieces, aad ${aad.length}`;
      const tag = new Uint8Array(defaultTagBytes);
      same(await pour(sealer, message), right.output, `${what}: encrypt`);
      sealer.finish(tag);
      same(tag, right.tag!, `${what}: tag`);
      const back = await pour(opener, right.output);
      opener.finish(tag);
      same(back, message, `${what}: decrypt`);
      await pour(opener, right.output);
      tag[0]! ^= 1;
      refuses(() => opener.finish(tag), ['AUTH_FAILED'], `${what}: a wrong tag`);
    }
  });

  if (algorithm.mode === 'ccm') {
    test('a text that its nonce leaves no room for is refused before it begins, either way', async () => {
      const random = new Random(`${name} room`);
      const key = random.bytes(algorithm.keyBytes);
      using sealer = open('encrypt', key);
      using opener = open('decrypt', key);
      const [nonce, none] = [random.bytes(13), new Uint8Array()];
      const text = random.bytes(0x1_0000);
      const output = new Uint8Array(text.length);
      const tag = new Uint8Array(defaultTagBytes);
      const codes = ['MESSAGE_TOO_LARGE'];
      refuses(() => sealer.seal(nonce, none, text, output, tag), codes, 'seal');
      await refusesAsync(() => sealer.sealAsync(nonce, none, text, output, tag), codes, 'sealAsync');
      refuses(() => opener.open(nonce, none, text, tag, output), codes, 'open');
      await refusesAsync(() => opener.openAsync(nonce, none, text, tag, output), codes, 'openAsync');
      same(output, new Uint8Array(text.length), `${name}: the output of what was refused`);
      const input = text.subarray(1);
      const sealed = output.subarray(1);
      const longest = () => {
        sealer.seal(nonce, none, input, sealed, tag);
        return true;
      };
      if (!unlessRefused(longest)) return;
      const job: Job = { algorithm: name, op: 'encrypt', key, iv: nonce, input, tagBytes: tag.length };
      const right = expected(suite, algorithm, [job])?.[0];
      if (right) same(sealed, right.output, `${name}, the longest text for the nonce`);
      if (right) same(tag, right.tag!, `${name}, the longest text for the nonce: tag`);
      opener.open(nonce, none, sealed, tag, sealed);
      same(sealed, input, `${name}, the longest text for the nonce, opened`);
    });
  }

  test('wrong arguments are refused and leave the session usable; closed is closed', async () => {
    const random = new Random(`${name} arguments`);
    const key = random.bytes(algorithm.keyBytes);
    const iv = random.bytes(algorithm.ivBytes);
    const aad = random.bytes(20);
    const text = random.bytes(100);
    const output = new Uint8Array(100);
    const tag = new Uint8Array(defaultTagBytes);
    const keyCodes = ['ERR_CRYPTO_INVALID_KEYLEN'];
    const ivCodes = ['ERR_CRYPTO_INVALID_IV'];
    const lengthCodes = ['ERR_OUT_OF_RANGE', 'ERR_CRYPTO_INVALID_AUTH_TAG'];
    refuses(() => open('encrypt', key.subarray(1)), keyCodes, 'a short key');
    refuses(() => open('encrypt', new Uint8Array(algorithm.keyBytes + 1)), keyCodes, 'a long key');
    refuses(() => open('encrypt', key, 17), ['ERR_CRYPTO_INVALID_AUTH_TAG'], 'a tag of 17 bytes');
    const session = open('encrypt', key);
    const long = new Uint8Array(algorithm.ivRange[1] + 1);
    refuses(() => session.seal(long, aad, text, output, tag), ivCodes, 'a long nonce');
    refuses(() => session.seal(new Uint8Array(0), aad, text, output, tag), ivCodes, 'an empty nonce');
    refuses(() => session.seal(iv, aad, text, output.subarray(1), tag), lengthCodes, 'a short output');
    refuses(() => session.seal(iv, aad, text, output, tag.subarray(1)), lengthCodes, 'a short tag');
    for (const view of changing(100)) {
      await refusesAsync(() => session.sealAsync(iv, aad, view, output, tag), CHANGING, 'resizable text');
      await refusesAsync(() => session.sealAsync(iv, view, text, output, tag), CHANGING, 'resizable aad');
      await refusesAsync(() => session.sealAsync(iv, aad, text, view, tag), CHANGING, 'resizable output');
    }
    refuses(
      () => session.seal(iv, 'aad' as unknown as Uint8Array, text, output, tag),
      ['ERR_INVALID_ARG_TYPE'],
      'a string',
    );
    refuses(() => session.rekey(key.subarray(1)), keyCodes, 'a short new key');
    refuses(() => session.open(iv, aad, text, tag, output), USED_UP, 'open() of a session that seals');
    const first = session.sealAsync(iv, aad, text, output, tag);
    refuses(
      () => session.seal(iv, aad, text, new Uint8Array(100), new Uint8Array(defaultTagBytes)),
      ['SESSION_BUSY'],
      'seal() meanwhile',
    );
    await first;
    const right = oneAnswer(suite, algorithm, { algorithm: name, op: 'encrypt', key, iv, aad, input: text });
    same(output, right.output, `${name} after wrong arguments`);
    same(tag, right.tag!, `${name} after wrong arguments: tag`);
    using opener = open('decrypt', key);
    refuses(
      () => opener.open(iv, aad, output, tag.subarray(1), new Uint8Array(100)),
      lengthCodes,
      'a short tag',
    );
    checkClosed(name, session, [
      () => session.seal(iv, aad, text, output, tag),
      () => session.rekey(key),
      () => session.begin(iv),
    ]);
    await refusesAsync(
      () => session.sealAsync(iv, aad, text, output, tag),
      USED_UP,
      'sealAsync() after close()',
    );
  });

  vectorTest(suite, algorithm, (vector) => {
    const { key, iv, aad, input, tag, op, fail } = vector;
    return (
      unlessRefused(() => {
        using session = open(op as Direction, key!, tag!.length);
        const output = new Uint8Array(input.length);
        if (op === 'encrypt') {
          const made = new Uint8Array(tag!.length);
          session.seal(iv!, aad!, input, output, made);
          same(made, tag!, `${vector.file}, ${vector.at}: tag`);
          return output;
        }
        if (fail) {
          const act = () => session.open(iv!, aad!, input, tag!, output);
          refuses(act, ['AUTH_FAILED', ...NOT_OFFERED], `${vector.file}, ${vector.at}`);
          same(output, new Uint8Array(input.length), `${vector.file}, ${vector.at}: what is left`);
          return new Uint8Array();
        }
        session.open(iv!, aad!, input, tag!, output);
        return output;
      }) ?? false
    );
  });
}

// --- Hashes and MACs -------------------------------------------------------------------------------------------------

function digestTests(suite: Suite, algorithm: HashAlgorithm | MacAlgorithm): void {
  const { driver, options } = suite;
  const { name, digestBytes } = algorithm;
  const mac = algorithm.kind === 'mac';
  const usualKey = (random: Random) => random.bytes(mac ? (algorithm.keyBytes ?? 20) : 0);
  const open = (key: Uint8Array): DigestSession =>
    mac ? driver.mac(algorithm, key, options) : driver.hash(algorithm, options);
  const job = (key: Uint8Array, input: Uint8Array, outputBytes = digestBytes): Job => ({
    algorithm: name,
    op: 'digest',
    ...(mac ? { key } : {}),
    input,
    outputBytes,
  });

  test('lengths of every kind, from any address, at once and in pieces', async () => {
    const random = new Random(`${name} lengths`);
    const key = usualKey(random);
    const message = random.bytes(Math.max(...suite.lengths));
    const given = expected(
      suite,
      algorithm,
      suite.lengths.map((length) => job(key, message.subarray(0, length))),
    );
    using session = open(key);
    for (const [i, length] of suite.lengths.entries()) {
      const what = `${name}, ${length} bytes`;
      const data = new Guarded(length, random.integer(0, 15), message.subarray(0, length));
      const output = new Guarded(digestBytes, random.integer(0, 15));
      if (length % 41 === 7) await session.onceAsync(data.view, output.view);
      else session.once(data.view, output.view);
      output.check(what);
      same(data.view, message.subarray(0, length), `${what}: the input afterwards`);
      if (given) same(output.view, given[i]!.output, what);
      if (i % 5 !== 0) continue;
      const again = new Uint8Array(digestBytes);
      session.restart();
      let at = 0;
      for (const piece of random.pieces(length, 1)) {
        session.update(data.view.subarray(at, at + piece));
        at += piece;
      }
      session.digest(again);
      same(again, output.view, `${what}: in pieces`);
    }
  });

  test('long messages in random pieces, sync and async', async () => {
    const random = new Random(`${name} long`);
    const key = usualKey(random);
    using session = open(key);
    for (let round = 0; round < suite.budget.rounds; round++) {
      const most = longestBytes(suite, algorithm);
      const length = round === 0 ? most : Math.floor(most ** (0.3 + 0.7 * (random.word() / 2 ** 32)));
      const data = new Guarded(length, random.integer(0, 15), random.bytes(length));
      const right = oneAnswer(suite, algorithm, job(key, data.view));
      session.restart();
      const pieces = random.pieces(length, 1);
      let at = 0;
      for (const piece of pieces) {
        const part = data.view.subarray(at, at + piece);
        if (random.integer(0, 3) === 0) await session.updateAsync(part);
        else session.update(part);
        at += piece;
      }
      const output = new Uint8Array(digestBytes);
      session.digest(output);
      same(output, right.output, `${name}, ${length} bytes in ${pieces.length} pieces`);
    }
  });

  test('a clone goes its own way', () => {
    const random = new Random(`${name} clone`);
    const key = usualKey(random);
    for (const head of [0, 1, algorithm.blockBytes - 1, algorithm.blockBytes, 1000]) {
      const [start, left, right] = [random.bytes(head), random.bytes(50), random.bytes(70)];
      using session = open(key);
      session.update(start);
      let copy: DigestSession;
      try {
        copy = session.clone();
      } catch (error) {
        // A driver that cannot copy says so, and loses nothing by it.
        assert.equal((error as { code?: string }).code, 'DRIVER_FAILED', String(error));
        return;
      }
      session.update(left);
      copy.update(right);
      const outputs = [new Uint8Array(digestBytes), new Uint8Array(digestBytes)] as const;
      session.digest(outputs[0]);
      session.close();
      copy.digest(outputs[1]);
      for (const [i, rest] of [left, right].entries()) {
        const whole = new Uint8Array(Buffer.concat([start, rest]));
        const wanted = oneAnswer(suite, algorithm, job(key, whole));
        same(outputs[i]!, wanted.output, `${name}: ${i ? 'the clone' : 'the original'} after ${head} bytes`);
      }
      // It is a whole session: it can begin again, with the same key.
      copy.once(left, outputs[0]);
      same(outputs[0], oneAnswer(suite, algorithm, job(key, left)).output, `${name}: the clone, once more`);
      copy.close();
    }
  });

  if (!mac && algorithm.xof) {
    test('output of any length', () => {
      const random = new Random(`${name} output`);
      using session = open(new Uint8Array());
      for (const length of [...Array.from({ length: 200 }, (_, i) => i + 1), 335, 336, 337, 1000, 5000]) {
        const data = random.bytes(random.integer(0, 300));
        const output = new Guarded(length, random.integer(0, 15));
        session.once(data, output.view);
        output.check(`${name}, ${length} bytes of output`);
        const right = expected(suite, algorithm, [job(new Uint8Array(), data, length)]);
        if (right) same(output.view, right[0]!.output, `${name}, ${length} bytes of output`);
      }
    });
  }

  if (mac) {
    test('keys of any legal length, also at restart', () => {
      const random = new Random(`${name} keys`);
      const block = algorithm.blockBytes;
      const lengths = algorithm.keyBytes
        ? [algorithm.keyBytes, algorithm.keyBytes]
        : [0, 1, digestBytes, block - 1, block, block + 1, 200, 1000];
      using session = open(usualKey(random));
      for (const length of lengths) {
        const key = random.bytes(length);
        const data = random.bytes(60);
        const held = Uint8Array.from(key);
        const usual = length > 0 && length <= 200;
        const rekeyed = () => {
          session.restart(held);
          return true;
        };
        if (!(usual ? rekeyed() : unlessRefused(rekeyed))) continue;
        held.fill(0);
        const output = new Uint8Array(digestBytes);
        session.update(data);
        session.digest(output);
        const right = oneAnswer(suite, algorithm, job(key, data));
        same(output, right.output, `${name} with a key of ${length} bytes`);
        session.once(data, output);
        same(output, right.output, `${name} with a key of ${length} bytes, once more`);
      }
      if (algorithm.keyBytes) {
        const codes = ['ERR_CRYPTO_INVALID_KEYLEN'];
        refuses(() => open(new Uint8Array(algorithm.keyBytes! + 1)), codes, 'a long key');
        refuses(() => session.restart(new Uint8Array(1)), codes, 'a short key at restart');
      }
    });
  }

  test('wrong arguments are refused and leave the session usable; closed is closed', async () => {
    const random = new Random(`${name} arguments`);
    const key = usualKey(random);
    const data = random.bytes(100);
    const output = new Uint8Array(digestBytes);
    const session = open(key);
    assert.equal(session.algorithm, algorithm);
    session.update(data);
    refuses(() => session.update('text' as unknown as Uint8Array), ['ERR_INVALID_ARG_TYPE'], 'a string');
    for (const view of changing(100))
      await refusesAsync(() => session.updateAsync(view), CHANGING, 'resizable data');
    if (mac || !algorithm.xof) {
      refuses(() => session.digest(output.subarray(1)), ['ERR_OUT_OF_RANGE'], 'a short output');
    }
    const first = session.updateAsync(data);
    refuses(() => session.update(data), ['SESSION_BUSY'], 'update() meanwhile');
    await first;
    session.digest(output);
    const whole = new Uint8Array(Buffer.concat([data, data]));
    same(output, oneAnswer(suite, algorithm, job(key, whole)).output, `${name} after wrong arguments`);
    checkClosed(name, session, [
      () => session.update(data),
      () => session.digest(output),
      () => session.restart(),
      () => session.clone(),
      () => session.once(data, output),
    ]);
    await refusesAsync(() => session.updateAsync(data), USED_UP, 'updateAsync() after close()');
    await refusesAsync(() => session.onceAsync(data, output), USED_UP, 'onceAsync() after close()');
  });

  vectorTest(suite, algorithm, (vector) => {
    const session = unlessRefused(() => open(vector.key ?? new Uint8Array()));
    if (!session) return false;
    const output = new Uint8Array(vector.output.length);
    session.once(vector.input, output);
    session.close();
    return output;
  });

  const chains =
    suite.budget.vectors > 0 && knownAlgorithms() ? [...monteCarloFor((other) => other.name === name)] : [];
  if (chains.length > 0) {
    test('the first link of a Monte Carlo chain', () => {
      using session = open(new Uint8Array());
      const output = new Uint8Array(digestBytes);
      const digest = (data: Uint8Array) => {
        session.once(data, output);
        return Uint8Array.from(output);
      };
      for (const { seed, checkpoints, file } of chains) {
        same(monteCarloStep(name, seed, digest), checkpoints[0]!, file);
      }
    });
  }
}

// --- Vectors ---------------------------------------------------------------------------------------------------------

/** Algorithms that there may be known answers of, or undefined where the package is not there. */
let known: ReadonlySet<string> | null | undefined;

function knownAlgorithms(): ReadonlySet<string> | undefined {
  if (known === undefined) {
    try {
      known = vectorAlgorithms();
    } catch {
      known = null;
    }
  }
  return known ?? undefined;
}

/** Registers a test of the known answers, if there are any. `run` gives the output, or false where it was refused. */
function vectorTest(suite: Suite, algorithm: Algorithm, run: (vector: Vector) => Uint8Array | false): void {
  if (suite.budget.vectors === 0) return;
  const named = knownAlgorithms();
  if (named && !named.has(algorithm.name)) return;
  test('known answers', (t) => {
    if (!named) return t.skip('no vectors here');
    const all = [...vectorsFor((other) => other.name === algorithm.name)];
    if (all.length === 0) return t.skip('there are none');
    const step = Math.max(1, all.length / suite.budget.vectors);
    let done = 0;
    for (let at = 0; at < all.length; at += step) {
      const vector = all[Math.floor(at)]!;
      const output = run(vector);
      if (output === false) continue;
      done++;
      if (vector.fail || matches(vector, output)) continue;
      same(output.subarray(vector.offset ?? 0), vector.output, `${vector.file}, ${vector.at}, ${vector.op}`);
    }
    assert.notEqual(done, 0, 'every one of them was refused');
  });
}
