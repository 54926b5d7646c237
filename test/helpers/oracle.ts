/**
 * Right answers from elsewhere: node:crypto in this process, node:crypto in a process with OpenSSL's legacy provider for
 * DES, Blowfish, CAST5, RC4, SEED, MD4 and Whirlpool, and from node:crypto's ECB the modes that it lacks (CTR, XTS and
 * CMAC over any block cipher, written out here from the standards).
 */
import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { type Algorithm, findAlgorithm } from '#src/algorithms.js';

/** One operation on one whole message. A `digest` is a MAC where there is a key. */
export interface Job {
  /** hwcrypt's name. */
  readonly algorithm: string;
  readonly op: 'encrypt' | 'decrypt' | 'digest';
  readonly key?: Uint8Array | undefined;
  readonly iv?: Uint8Array | null | undefined;
  readonly aad?: Uint8Array | undefined;
  readonly input: Uint8Array;
  /** The tag to be checked at decryption. */
  readonly tag?: Uint8Array | undefined;
  /** Length of the tag to be made at encryption. */
  readonly tagBytes?: number | undefined;
  /** Length of an extendable hash's output. */
  readonly outputBytes?: number | undefined;
}

export interface Answer {
  readonly output: Uint8Array;
  readonly tag?: Uint8Array;
  /** The tag was wrong. */
  readonly refused?: true;
}

const LEGACY = '--openssl-legacy-provider';

/** Answers by algorithm and provider that were found out once: can node:crypto do it, here or with the legacy provider? */
const reach = new Map<string, 'here' | 'legacy' | 'nowhere'>();

/** Is there an independent implementation of this algorithm? */
export function hasOracle(algorithm: Algorithm): boolean {
  return reachOf(algorithm.name) !== 'nowhere';
}

/** The answers to a list of jobs for one algorithm, in order. Undefined where nobody knows. */
export function answers(jobs: readonly Job[]): Answer[] | undefined {
  const first = jobs[0];
  if (!first) return [];
  switch (reachOf(first.algorithm)) {
    case 'here':
      return jobs.map(answer);
    case 'legacy':
      return withLegacyProvider(jobs);
    case 'nowhere':
      return undefined;
  }
}

function reachOf(name: string): 'here' | 'legacy' | 'nowhere' {
  let known = reach.get(name);
  if (known === undefined) {
    const probe = probeJob(name);
    known = 'nowhere';
    try {
      answer(probe);
      known = 'here';
    } catch {
      if (maybeLegacy(name)) {
        try {
          withLegacyProvider([probe]);
          known = 'legacy';
        } catch {
          // Neither: `nowhere`.
        }
      }
    }
    reach.set(name, known);
  }
  return known;
}

const maybeLegacy = (name: string) =>
  /^(hmac-)?(des|cast5|bf|rc4|seed|md4|whirlpool)/.test(name) || findAlgorithm(name) === undefined;

/** A short message for the algorithm, to see whether it works at all. */
function probeJob(name: string): Job {
  const algorithm = findAlgorithm(name);
  if (!algorithm) throw new Error(`${name} is not in the table`);
  const input = new Uint8Array(64);
  if (algorithm.kind === 'hash') return { algorithm: name, op: 'digest', input };
  const key = Uint8Array.from({ length: algorithm.keyBytes ?? 16 }, (_, i) => i * 7 + (i >> 3) + 1);
  if (algorithm.kind === 'mac') return { algorithm: name, op: 'digest', key, input };
  const iv = algorithm.ivBytes === 0 ? null : new Uint8Array(algorithm.ivBytes);
  return { algorithm: name, op: 'encrypt', key, iv, input };
}

/**
 * A process of Node's with the legacy provider loaded, spoken to through two named pipes: a test can wait for an answer
 * without giving up its place in a synchronous function, and thousands of questions cost one start.
 */
interface Peer {
  readonly to: number;
  readonly from: number;
}

let peer: Peer | undefined;

function withLegacyProvider(jobs: readonly Job[]): Answer[] {
  if (process.execArgv.includes(LEGACY)) return jobs.map(answer);
  peer ??= startPeer();
  send(peer.to, jobs);
  const reply = receive(peer.from) as { answers?: Answer[]; error?: string } | undefined;
  if (!reply?.answers) throw new Error(reply?.error ?? 'the process with the legacy provider died');
  return reply.answers;
}

function startPeer(): Peer {
  const env = { ...process.env, NODE_OPTIONS: undefined, NODE_TEST_CONTEXT: undefined };
  // Opening a pipe waits for the other side, so there must be no doubt that it will come.
  const able = spawnSync(process.execPath, [LEGACY, '--eval', '0'], { env });
  if (able.status !== 0) throw new Error(`this Node has no ${LEGACY}`);
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-oracle-'));
  const [questions, replies] = [join(folder, 'questions'), join(folder, 'replies')];
  const made = spawnSync('mkfifo', [questions, replies]);
  if (made.status !== 0) throw new Error(`mkfifo: ${made.error ?? made.stderr}`);
  const args = [LEGACY, import.meta.filename, 'serve', questions, replies];
  spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).unref();
  const to = openSync(questions, 'w');
  const from = openSync(replies, 'r');
  rmSync(folder, { recursive: true });
  return { to, from };
}

/** The other side. Ends when the questions do, which is when the process that asks them does. */
function serve(questions: string, replies: string): void {
  const from = openSync(questions, 'r');
  const to = openSync(replies, 'w');
  for (;;) {
    const jobs = receive(from) as Job[] | undefined;
    if (!jobs) return;
    try {
      send(to, { answers: jobs.map(answer) });
    } catch (error) {
      send(to, { error: String(error) });
    }
  }
}

function send(to: number, value: unknown): void {
  const body = serialize(value);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  for (const part of [head, body]) {
    for (let at = 0; at < part.length; ) at += writeSync(to, part, at);
  }
}

function receive(from: number): unknown {
  const exactly = (length: number): Buffer | undefined => {
    const buffer = Buffer.alloc(length);
    for (let at = 0; at < length; ) {
      const count = readSync(from, buffer, at, length - at, null);
      if (count === 0) return undefined;
      at += count;
    }
    return buffer;
  };
  const body = exactly(4);
  const value = body && exactly(body.readUInt32LE());
  return value && deserialize(value);
}

/** One job by node:crypto, or from its ECB. Throws where it cannot. */
function answer(job: Job): Answer {
  const { algorithm: name, op, input } = job;
  const algorithm = findAlgorithm(name);
  if (!algorithm) throw new Error(`${name} is not in the table`);
  const key = job.key ?? new Uint8Array();
  switch (algorithm.kind) {
    case 'hash': {
      const options = algorithm.xof ? { outputLength: job.outputBytes ?? algorithm.digestBytes } : {};
      return { output: crypto.createHash(name, options).update(input).digest() };
    }
    case 'mac':
      if (algorithm.construction === 'cmac') return { output: cmac(algorithm.over, key, input) };
      return { output: crypto.createHmac(algorithm.over, key).update(input).digest() };
    case 'aead':
      return aead(job, key, algorithm.defaultTagBytes);
    case 'cipher': {
      const iv = job.iv ?? null;
      // AES-192-XTS and such: OpenSSL has the cipher, not the mode.
      if (algorithm.mode === 'xts' && !crypto.getCipherInfo(name)) {
        return { output: xts(op !== 'decrypt', name.replace('-xts', '-ecb'), key, iv!, input) };
      }
      if (algorithm.mode === 'ctr' && !crypto.getCipherInfo(name)) {
        return { output: ctr(name.replace('-ctr', '-ecb'), key, iv!, input) };
      }
      return { output: plain(op !== 'decrypt', name, key, iv, input) };
    }
  }
}

function plain(
  encrypt: boolean,
  name: string,
  key: Uint8Array,
  iv: Uint8Array | null,
  input: Uint8Array,
): Buffer {
  const cipher = encrypt ? crypto.createCipheriv(name, key, iv) : crypto.createDecipheriv(name, key, iv);
  cipher.setAutoPadding(false);
  // An XTS data unit of no bytes is refused, and so is any `final` after an empty `update` of it.
  const output = cipher.update(input);
  return name.endsWith('-xts') ? output : Buffer.concat([output, cipher.final()]);
}

function aead(job: Job, key: Uint8Array, defaultTagBytes: number): Answer {
  const name = job.algorithm as 'aes-128-gcm';
  const authTagLength = job.tag?.length ?? job.tagBytes ?? defaultTagBytes;
  const aad = job.aad ?? new Uint8Array();
  // For CCM the text must be named even if there is none, and by an address that is not null.
  const input = job.input.length > 0 ? job.input : Buffer.alloc(1).subarray(1);
  const lengths = { plaintextLength: input.length };
  if (job.op === 'encrypt') {
    const cipher = crypto.createCipheriv(name, key, job.iv!, { authTagLength });
    if (aad.length > 0) cipher.setAAD(aad, lengths);
    const output = cipher.update(input);
    const rest = cipher.final();
    return { output: Buffer.concat([output, rest]), tag: cipher.getAuthTag() };
  }
  const decipher = crypto.createDecipheriv(name, key, job.iv!, { authTagLength });
  decipher.setAuthTag(job.tag!);
  if (aad.length > 0) decipher.setAAD(aad, lengths);
  try {
    const output = decipher.update(input);
    return { output: Buffer.concat([output, decipher.final()]) };
  } catch {
    return { output: new Uint8Array(), refused: true };
  }
}

/** SP 800-38A 6.5 with the whole block as a big-endian counter. */
function ctr(ecb: string, key: Uint8Array, iv: Uint8Array, input: Uint8Array): Uint8Array {
  const block = iv.length;
  const counters = new Uint8Array(Math.ceil(input.length / block) * block);
  const counter = Uint8Array.from(iv);
  for (let at = 0; at < counters.length; at += block) {
    counters.set(counter, at);
    for (let i = block - 1; i >= 0; i--) {
      counter[i]!++;
      if (counter[i] !== 0) break;
    }
  }
  const stream = plain(true, ecb, key, null, counters);
  return input.map((byte, i) => byte ^ stream[i]!);
}

/** IEEE 1619: one data unit of 16 bytes or more, the last two blocks with ciphertext stealing. */
function xts(encrypt: boolean, ecb: string, key: Uint8Array, iv: Uint8Array, input: Uint8Array): Uint8Array {
  const half = key.length / 2;
  const block = (direction: boolean, data: Uint8Array, tweak: Uint8Array) => {
    const mixed = data.map((byte, i) => byte ^ tweak[i]!);
    return plain(direction, ecb, key.subarray(0, half), null, mixed).map((byte, i) => byte ^ tweak[i]!);
  };
  const tweaks: Uint8Array[] = [plain(true, ecb, key.subarray(half), null, iv)];
  for (let n = 1; n <= input.length / 16; n++) tweaks.push(double(tweaks[n - 1]!, true));
  const output = new Uint8Array(input.length);
  const whole = Math.floor(input.length / 16);
  const rest = input.length % 16;
  for (let n = 0; n < (rest === 0 ? whole : whole - 1); n++) {
    output.set(block(encrypt, input.subarray(16 * n, 16 * n + 16), tweaks[n]!), 16 * n);
  }
  if (rest > 0) {
    const last = whole - 1;
    const [first, second] = encrypt ? [tweaks[last]!, tweaks[whole]!] : [tweaks[whole]!, tweaks[last]!];
    const swapped = block(encrypt, input.subarray(16 * last, 16 * whole), first);
    output.set(swapped.subarray(0, rest), 16 * whole);
    const filled = Uint8Array.from(swapped);
    filled.set(input.subarray(16 * whole));
    output.set(block(encrypt, filled, second), 16 * last);
  }
  return output;
}

/** Multiplication by x in GF(2^128) (or GF(2^64) for a block of 8), low byte first or high byte first. */
function double(value: Uint8Array, littleEndian: boolean): Uint8Array {
  const bytes = littleEndian ? Array.from(value).reverse() : Array.from(value);
  const carry = bytes[0]! >> 7;
  const shifted = bytes.map((byte, i) => ((byte << 1) & 255) | ((bytes[i + 1] ?? 0) >> 7));
  if (carry) shifted[shifted.length - 1]! ^= value.length === 16 ? 0x87 : 0x1b;
  return Uint8Array.from(littleEndian ? shifted.reverse() : shifted);
}

/** SP 800-38B. */
function cmac(cbc: string, key: Uint8Array, input: Uint8Array): Uint8Array {
  const block = crypto.getCipherInfo(cbc)!.blockSize!;
  const zero = new Uint8Array(block);
  const once = double(plain(true, cbc, key, zero, zero), false);
  const complete = input.length > 0 && input.length % block === 0;
  const message = new Uint8Array(complete ? input.length : (Math.floor(input.length / block) + 1) * block);
  message.set(input);
  if (!complete) message[input.length] = 0x80;
  const mask = complete ? once : double(once, false);
  const last = message.length - block;
  for (let i = 0; i < block; i++) message[last + i]! ^= mask[i]!;
  return plain(true, cbc, key, zero, message).subarray(last);
}

/** For a test of their own: AES has these modes in OpenSSL too. */
export const fromEcb = { ctr, xts };

if (process.argv[1] === import.meta.filename && process.argv[2] === 'serve') {
  serve(process.argv[3]!, process.argv[4]!);
}
