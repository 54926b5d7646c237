/**
 * `enc --explain`: what can be told of an encrypted file by looking at it and, with a passphrase, by trying.
 *
 * Room `enc`. The format records neither cipher nor key derivation, so this reports what is possible and what is not,
 * and never a guess as a fact.
 */
import { algorithms, type CipherAlgorithm } from '../algorithms.js';
import { Input } from '../files/io.js';
import { Router } from '../routing/router.js';
import {
  candidates,
  Ends,
  type Fit,
  fits,
  judgeable,
  type OpenSession,
  recognise,
  SAMPLE_BYTES,
  type Sample,
} from './autokdf.js';
import { Base64Decoder } from './base64.js';
import { DEFAULT_SALT_BYTES, looksLikeBase64Header, MAGIC } from './format.js';
import { deriveKey, kdfOptions } from './kdf.js';
import { BUFFER_BYTES } from './pipeline.js';

export interface ExplainOptions {
  readonly input?: string | undefined;
  /** True: the input is base64; undefined: it is if it begins like it. */
  readonly base64?: boolean | undefined;
  readonly driver?: string | readonly string[] | undefined;
  /** Try this passphrase with every usual pair of cipher and key derivation. Wiped afterwards. */
  readonly passphrase?: (() => Promise<Buffer>) | undefined;
  /** Try only this cipher. */
  readonly cipher?: CipherAlgorithm | undefined;
  readonly digest?: string | undefined;
  readonly iterations?: number | undefined;
}

export interface ExplainedFit extends Fit {
  readonly cipher: string;
}

export interface Explanation {
  readonly name: string;
  /** Length of the input as it is, base64 included. */
  readonly bytes: number;
  readonly encoding: 'binary' | 'base64';
  /** Does it begin with `Salted__`? */
  readonly header: boolean;
  /** The 8 bytes after it, in hex. */
  readonly salt?: string;
  readonly ciphertextBytes: number;
  /** The largest block of 16, 8 or 1 bytes that the ciphertext is whole blocks of. */
  readonly blockBytes: 16 | 8 | 1;
  /** What the length allows and what it rules out, a line each. */
  readonly ciphers: readonly string[];
  /** How the key may have been derived, the likeliest first. */
  readonly kdfs: readonly { readonly options: string; readonly writtenBy: string }[];
  /** With a passphrase: the pairs with which it fits. */
  readonly fits?: readonly ExplainedFit[];
}

export async function explainFile(options: ExplainOptions): Promise<Explanation> {
  const input = Input.open(options.input);
  try {
    const scanned = await scan(input, options.base64);
    const { first, last, bytes: total } = scanned.ends;
    const header =
      first.subarray(0, MAGIC.length).equals(MAGIC) && total >= MAGIC.length + DEFAULT_SALT_BYTES;
    const headerBytes = header ? MAGIC.length + DEFAULT_SALT_BYTES : 0;
    const salt = header ? Buffer.from(first.subarray(MAGIC.length, headerBytes)) : undefined;
    const ciphertextBytes = total - headerBytes;
    const explanation: Explanation = {
      name: input.name,
      bytes: scanned.bytes,
      encoding: scanned.base64 ? 'base64' : 'binary',
      header,
      ...(salt ? { salt: salt.toString('hex') } : {}),
      ciphertextBytes,
      blockBytes: ciphertextBytes % 16 === 0 ? 16 : ciphertextBytes % 8 === 0 ? 8 : 1,
      ciphers: possibleCiphers(ciphertextBytes),
      kdfs: candidates(given(options)).map(({ kdf, writtenBy }) => ({ options: kdfOptions(kdf), writtenBy })),
    };
    if (!options.passphrase) return explanation;
    const passphrase = await options.passphrase();
    try {
      const keep = Math.min(ciphertextBytes, SAMPLE_BYTES / 2);
      const sample: Sample = {
        first: first.subarray(headerBytes, headerBytes + keep),
        last: last.subarray(last.length - keep),
        bytes: ciphertextBytes,
      };
      return { ...explanation, fits: await tryAll(options, passphrase, salt ?? null, sample) };
    } finally {
      passphrase.fill(0);
    }
  } finally {
    input.close();
  }
}

function given({ digest, iterations }: ExplainOptions): { digest?: string; iterations?: number } {
  return {
    ...(digest === undefined ? {} : { digest }),
    ...(iterations === undefined ? {} : { iterations }),
  };
}

interface Scanned {
  /** Decoded. */
  readonly ends: Ends;
  /** Length of the input as it is. */
  readonly bytes: number;
  readonly base64: boolean;
}

async function scan(input: Input, asked: boolean | undefined): Promise<Scanned> {
  const raw = Buffer.alloc(BUFFER_BYTES);
  const text = Buffer.alloc(Base64Decoder.outputBytes(BUFFER_BYTES));
  const ends = new Ends();
  let bytes = 0;
  let base64 = asked ?? false;
  let decoder: Base64Decoder | undefined;
  for (;;) {
    const length = await input.readFull(raw, 0, BUFFER_BYTES);
    if (bytes === 0) {
      base64 = asked ?? looksLikeBase64Header(raw.subarray(0, Math.min(length, 64)));
      if (base64) decoder = new Base64Decoder();
    }
    bytes += length;
    const piece = raw.subarray(0, length);
    ends.add(decoder ? text.subarray(0, decoder.update(piece, text)) : piece);
    if (length < BUFFER_BYTES) break;
  }
  if (decoder) ends.add(text.subarray(0, decoder.final(text)));
  return { ends, bytes, base64 };
}

function possibleCiphers(bytes: number): string[] {
  if (bytes === 0) {
    return [
      'nothing is encrypted here: not even a block of padding, so at most an empty message in a stream mode',
    ];
  }
  const stream = 'modes without padding: -*-ctr, -*-cfb, -*-ofb, chacha20, rc4';
  if (bytes % 16 === 0) {
    return [
      'blocks of 16 bytes: aes, camellia, aria, sm4, seed in cbc or ecb (-aes-256-cbc is the likeliest)',
      'blocks of 8 bytes: des, des-ede3, bf, cast5, rc2 in cbc or ecb',
      stream,
    ];
  }
  if (bytes % 8 === 0) {
    return [
      'blocks of 8 bytes: des, des-ede3, bf, cast5, rc2 in cbc or ecb',
      stream,
      'not aes-*-cbc or any other cipher with blocks of 16 bytes, unless the end is missing',
    ];
  }
  return [stream, 'no cbc or ecb: it would be whole blocks, unless bytes are missing or were added'];
}

async function tryAll(
  options: ExplainOptions,
  passphrase: Buffer,
  salt: Buffer | null,
  sample: Sample,
): Promise<ExplainedFit[]> {
  const list = candidates(given(options));
  const router = new Router({
    ...(options.driver === undefined ? {} : { drivers: options.driver }),
    // Who does the trying is of no interest.
    onFallback: () => {},
  });
  const found: ExplainedFit[] = [];
  const ciphers = options.cipher
    ? [options.cipher]
    : algorithms('cipher').filter(({ mode }) => mode !== 'xts');
  for (const cipher of ciphers) {
    let open: OpenSession;
    try {
      const { driver, options: pin } = router.route(cipher);
      open = (key, iv) => driver.cipher(cipher, 'decrypt', key, iv, pin);
    } catch {
      continue; // nobody here can do it, so nobody can tell
    }
    if (judgeable(cipher)) {
      if (sample.bytes % cipher.blockBytes !== 0 || sample.bytes === 0) continue;
      const some = await fits(list, cipher, open, passphrase, salt, sample);
      for (const fit of some) found.push({ ...fit, cipher: cipher.name });
      continue;
    }
    // Without padding only a beginning that looks like something can speak for a key.
    for (const candidate of list) {
      const { key, iv } = await deriveKey(candidate.kdf, passphrase, salt, cipher.keyBytes, cipher.ivBytes);
      const session = open(key, cipher.ivBytes > 0 ? iv : null);
      const head = new Uint8Array(sample.first.length);
      session.update(sample.first, head);
      session.close();
      key.fill(0);
      iv.fill(0);
      const looksLike = recognise(head);
      if (looksLike === undefined) continue;
      found.push({
        ...candidate,
        cipher: cipher.name,
        options: kdfOptions(candidate.kdf),
        paddingBytes: 0,
        looksLike,
        certainty: 'sure',
      });
    }
  }
  return found.sort((a, b) => Number(b.certainty === 'sure') - Number(a.certainty === 'sure'));
}
