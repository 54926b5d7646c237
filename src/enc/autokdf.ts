/**
 * Which key derivation a file was written with, found by trying: nothing in the file says so, and a passphrase that fails
 * with the default of today (`-md sha256`) was more often than not used with the default of 2015 (`-md md5`).
 *
 * Room `enc`. What can be judged is the last block (is there padding?) and the first bytes (are they the beginning of
 * a known kind of file, or text?). A padding of one byte is right by chance once in 256, so a fit says how sure it is.
 */
import type { CipherAlgorithm } from '../algorithms.js';
import type { CipherSession } from '../drivers/driver.js';
import { DEFAULT_ITERATIONS, deriveKey, type Kdf, kdfOptions } from './kdf.js';
import { paddingBytes } from './transform.js';

export interface Candidate {
  readonly kdf: Kdf;
  /** Who writes files in this way. */
  readonly writtenBy: string;
}

/** What is known of a ciphertext without reading it all: enough to judge a key by. */
export interface Sample {
  /** Its beginning; two blocks or more where it has them. */
  readonly first: Uint8Array;
  /** Its end; two blocks or more where it has them. */
  readonly last: Uint8Array;
  /** Its length in bytes, without header. */
  readonly bytes: number;
}

/** Bytes of either end that are kept: enough for two blocks behind a header. */
export const SAMPLE_BYTES = 128;

/** Keeps both ends of a stream that goes by. */
export class Ends implements Sample {
  first: Buffer = Buffer.alloc(0);
  last: Buffer = Buffer.alloc(0);
  bytes = 0;

  add(piece: Buffer): void {
    this.bytes += piece.length;
    const missing = SAMPLE_BYTES - this.first.length;
    if (missing > 0) this.first = Buffer.concat([this.first, piece.subarray(0, missing)]);
    const joined = piece.length >= SAMPLE_BYTES ? piece : Buffer.concat([this.last, piece]);
    this.last = Buffer.from(joined.subarray(Math.max(0, joined.length - SAMPLE_BYTES)));
  }
}

export interface Fit extends Candidate {
  /** The passphrase fits with these options of `enc`: `-md md5`. */
  readonly options: string;
  readonly paddingBytes: number;
  /** What the plaintext looks like, where it looks like anything: `gzip`, `text` … */
  readonly looksLike?: string;
  /** `sure` where chance would need more luck than one in 65 536. */
  readonly certainty: 'sure' | 'probable';
}

/** The derivations that are met with, the likeliest first. */
export function candidates(given: { digest?: string; iterations?: number } = {}): Candidate[] {
  const iterations = given.iterations ?? DEFAULT_ITERATIONS;
  const all: Candidate[] = [
    { kdf: { kind: 'bytes-to-key', digest: 'sha256' }, writtenBy: 'OpenSSL 1.1.0 and later' },
    {
      kdf: { kind: 'pbkdf2', digest: 'sha256', iterations: DEFAULT_ITERATIONS },
      writtenBy: 'openssl enc -pbkdf2',
    },
    {
      kdf: { kind: 'bytes-to-key', digest: 'md5' },
      writtenBy: 'OpenSSL before 1.1.0, LibreSSL before 2.9, crypto-js',
    },
    { kdf: { kind: 'pbkdf2', digest: 'sha256', iterations }, writtenBy: `openssl enc -iter ${iterations}` },
    { kdf: { kind: 'pbkdf2', digest: 'sha512', iterations }, writtenBy: 'openssl enc -pbkdf2 -md sha512' },
    { kdf: { kind: 'pbkdf2', digest: 'sha1', iterations }, writtenBy: 'openssl enc -pbkdf2 -md sha1' },
    { kdf: { kind: 'bytes-to-key', digest: 'sha1' }, writtenBy: 'openssl enc -md sha1' },
    { kdf: { kind: 'bytes-to-key', digest: 'sha512' }, writtenBy: 'openssl enc -md sha512' },
  ];
  if (given.digest !== undefined) {
    all.push(
      { kdf: { kind: 'pbkdf2', digest: given.digest, iterations }, writtenBy: 'the digest as given' },
      { kdf: { kind: 'bytes-to-key', digest: given.digest }, writtenBy: 'the digest as given' },
    );
  }
  const seen = new Set<string>();
  return all.filter(({ kdf }) => {
    const key = kdfOptions(kdf);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Can a wrong key be told at all? Only where there is padding. */
export function judgeable(algorithm: CipherAlgorithm): boolean {
  return algorithm.blockBytes > 1;
}

export type OpenSession = (key: Uint8Array, iv: Uint8Array | null) => CipherSession;

/** What a key makes of the sample: its padding (0: wrong) and what the beginning looks like. */
export function judge(
  algorithm: CipherAlgorithm,
  open: OpenSession,
  key: Uint8Array,
  iv: Uint8Array,
  sample: Sample,
): { paddingBytes: number; looksLike?: string } {
  const block = algorithm.blockBytes;
  if (sample.bytes === 0 || sample.bytes % block !== 0) return { paddingBytes: 0 };
  const chained = algorithm.ivBytes > 0;
  // In CBC the block before the last is the last one's IV; ECB has none.
  const before = sample.bytes > block ? sample.last.subarray(-2 * block, -block) : iv;
  const session = open(key, chained ? before : null);
  try {
    const last = decrypted(session, sample.last.subarray(-block));
    const padding = paddingBytes(last);
    if (padding === 0) return { paddingBytes: 0 };
    let head: Uint8Array = last.subarray(0, block - padding);
    if (sample.bytes > block) {
      session.restart(chained ? iv : null);
      const whole = Math.min(Math.floor(sample.first.length / block) * block, sample.bytes - block);
      head = decrypted(session, sample.first.subarray(0, whole));
    }
    const looksLike = recognise(head);
    return looksLike === undefined ? { paddingBytes: padding } : { paddingBytes: padding, looksLike };
  } finally {
    session.close();
  }
}

function decrypted(session: CipherSession, ciphertext: Uint8Array): Uint8Array {
  const output = new Uint8Array(ciphertext.length);
  session.update(ciphertext, output);
  return output;
}

/** All of `list` with which the passphrase fits, the surest first. */
export async function fits(
  list: readonly Candidate[],
  algorithm: CipherAlgorithm,
  open: OpenSession,
  passphrase: Uint8Array,
  salt: Uint8Array | null,
  sample: Sample,
): Promise<Fit[]> {
  const found: Fit[] = [];
  for (const candidate of list) {
    const { key, iv } = await deriveKey(
      candidate.kdf,
      passphrase,
      salt,
      algorithm.keyBytes,
      algorithm.ivBytes,
    );
    const verdict = judge(algorithm, open, key, iv, sample);
    key.fill(0);
    iv.fill(0);
    if (verdict.paddingBytes === 0) continue;
    found.push({
      ...candidate,
      ...verdict,
      options: kdfOptions(candidate.kdf),
      certainty: verdict.paddingBytes > 2 || verdict.looksLike !== undefined ? 'sure' : 'probable',
    });
  }
  return found.sort((a, b) => Number(b.certainty === 'sure') - Number(a.certainty === 'sure'));
}

const SIGNATURES: readonly (readonly [string, string])[] = [
  ['gzip', '1f8b08'],
  ['xz', 'fd377a585a00'],
  ['zstd', '28b52ffd'],
  ['bzip2', '425a68'],
  ['zip', '504b0304'],
  ['7z', '377abcaf271c'],
  ['PDF', '25504446'],
  ['PNG', '89504e47'],
  ['JPEG', 'ffd8ff'],
  ['ELF', '7f454c46'],
  ['SQLite', '53514c69746520'],
  ['LUKS', '4c554b53babe'],
];

/** What kind of file begins like this: a known signature of three bytes or more, or at least eight bytes of text. */
export function recognise(head: Uint8Array): string | undefined {
  const hex = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 16)).toString('hex');
  for (const [name, signature] of SIGNATURES) {
    if (hex.startsWith(signature)) return name;
  }
  return head.length >= 8 && isText(head) ? 'text' : undefined;
}

function isText(bytes: Uint8Array): boolean {
  // The end may be in the middle of a character, so three bytes of it are not held against it.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let cut = 0; cut <= 3; cut++) {
    try {
      const text = decoder.decode(bytes.subarray(0, bytes.length - cut));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what text does not have
      return !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f\u007f]/.test(text);
    } catch {
      // Try with one byte less.
    }
  }
  return false;
}
