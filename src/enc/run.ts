/**
 * `enc` as one call: opens, derives, pumps, and makes the output appear.
 *
 * Room `enc`. What is printed and warned about goes through `EncHooks`, so that a program can use this as the command
 * does.
 */
import { randomBytes } from 'node:crypto';
import type { CipherAlgorithm } from '../algorithms.js';
import type { CipherSession, Direction } from '../drivers/driver.js';
import { HwcryptError } from '../errors.js';
import { Router } from '../routing/router.js';
import { candidates, type Fit, fits, judge, judgeable, type OpenSession, type Sample } from './autokdf.js';
import { Base64Decoder, Base64Encoder } from './base64.js';
import {
  DEFAULT_SALT_BYTES,
  encodeHeader,
  looksLikeBase64Header,
  MAGIC,
  MAX_SALT_BYTES,
  parseHeader,
  parseHex,
} from './format.js';
import { Input } from './io.js';
import { deriveKey, type Kdf, type KeyAndIv } from './kdf.js';
import { checkOutput, openOutput } from './output.js';
import { pump } from './pipeline.js';
import { BAD_DECRYPT, CipherTransform, wrongFinalBlock } from './transform.js';

export interface EncOptions {
  readonly direction: Direction;
  /** Undefined: nothing is encrypted, only base64 is put on or taken off (`-none`). */
  readonly cipher?: CipherAlgorithm | undefined;
  /** Pins a driver, `afalg` or `afalg:virtio_crypto_aes_cbc`; else the usual order is gone through. */
  readonly driver?: string | undefined;
  /** Paths; undefined or `-` for standard input and output. */
  readonly input?: string | undefined;
  readonly output?: string | undefined;
  /** Is called once, when it is needed; what it returns is wiped. Undefined where `keyHex` makes it needless. */
  readonly passphrase?: (() => Promise<Buffer>) | undefined;
  readonly kdf: Kdf;
  /** False is `-nosalt`. */
  readonly salt: boolean;
  /** `-saltlen`: 1 to 16, of effect with PBKDF2 only, as in OpenSSL. */
  readonly saltBytes?: number | undefined;
  /** `-S`, `-K` and `-iv`, in hex as given. */
  readonly saltHex?: string | undefined;
  readonly keyHex?: string | undefined;
  readonly ivHex?: string | undefined;
  /** False is `-nopad`. */
  readonly padding: boolean;
  readonly base64?: boolean | undefined;
  /** `-A`: base64 output in one line. */
  readonly oneLine?: boolean | undefined;
  /** `-p` prints key and IV and goes on, `-P` stops there. */
  readonly print?: 'also' | 'only' | undefined;
  /** When decrypting: use another key derivation that fits where the given one does not. */
  readonly autoKdf?: boolean | undefined;
}

export interface EncHooks {
  /** A warning in OpenSSL's words. */
  warn(line: string): void;
  /** Something that hwcrypt itself has to say. */
  note(line: string): void;
  /** The lines that -p and -P print. They are secret. */
  print(lines: string): void;
  progress?(bytes: number, total: number | undefined): void;
}

export interface EncResult {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Driver and implementation that did the work, where there was any. */
  readonly driver?: string;
  readonly kdf?: Kdf;
}

/** So much of the input is looked at before anything is written; a pipe cannot be rewound further. */
const HEAD_BYTES = 64 * 1024;

/** Base64 text up to this length is decoded once more to look at its end before anything is written. */
const PREVIEW_BYTES = 1024 * 1024;

const DEPRECATED_KDF =
  '*** WARNING : deprecated key derivation used.\nUsing -iter or -pbkdf2 would be better.';

/** @throws HwcryptError, UnavailableError, DriverError: nothing is left under the output's name then. */
export async function runEnc(options: EncOptions, hooks: EncHooks): Promise<EncResult> {
  const { cipher, direction, print, keyHex } = options;
  const input = Input.open(options.input);
  let passphrase: Buffer | undefined;
  let keys: KeyAndIv | undefined;
  let session: CipherSession | undefined;
  try {
    const encoder =
      options.base64 && direction === 'encrypt' ? new Base64Encoder(options.oneLine) : undefined;
    const decoder = options.base64 && direction === 'decrypt' ? new Base64Decoder() : undefined;
    if (!cipher) return await transport(options, hooks, input, { encoder, decoder });

    // What can go wrong without a passphrase should, before one is asked for.
    const router = new Router({
      ...(options.driver === undefined ? {} : { drivers: options.driver }),
      onFallback: ({ message }) => hooks.note(message),
    });
    // With -P nobody works.
    const route = print === 'only' ? undefined : router.route(cipher);
    if (route) checkOutput(options.output, { secret: isSecret(options), input });
    if (options.passphrase) passphrase = await options.passphrase();
    else if (keyHex === undefined) throw new HwcryptError('PASSPHRASE', 'neither a passphrase nor a key');

    // The salt: read from the file, given, or made.
    const salted = passphrase !== undefined && options.salt;
    const headed = salted && options.saltHex === undefined;
    const saltBytes = saltLength(options);
    let salt: Buffer | undefined;
    let head: Head = { data: Buffer.alloc(0), bytesRead: 0, ended: false };
    let header: Buffer | undefined;
    // With -P and a key that does not depend on the input, openssl does not wait for any either.
    if (direction === 'decrypt' && (headed || print !== 'only')) head = await loadHead(input, decoder);
    let { data } = head;
    if (headed && direction === 'decrypt') {
      salt = parseHeader(data.subarray(0, MAGIC.length + saltBytes), saltBytes, decoder !== undefined);
      data = data.subarray(MAGIC.length + saltBytes);
    } else if (headed) {
      salt = randomBytes(saltBytes);
      header = encodeHeader(salt);
    } else if (salted) {
      salt = hex(options.saltHex as string, saltBytes, 'salt', hooks);
    }
    if (direction === 'decrypt' && !headed) warnOfHeader(data, decoder !== undefined, options, hooks);

    keys = await derive(options, options.kdf, cipher, passphrase, salt, hooks);
    if (!route) {
      hooks.print(keyLines(salt, keys));
      return { bytesRead: head.bytesRead, bytesWritten: 0 };
    }

    const open: OpenSession = (key, iv) => route.driver.cipher(cipher, direction, key, iv, route.options);

    let { kdf } = options;
    const judging = direction === 'decrypt' && options.padding && judgeable(cipher);
    const look = (limit: number): Sample | undefined =>
      preview(input, decoder !== undefined, head, data, limit);
    if (judging) {
      // Before anything is written: OpenSSL notices a wrong passphrase only when the garbage is out.
      const sample = look(options.autoKdf ? Number.POSITIVE_INFINITY : PREVIEW_BYTES);
      if (sample && judge(cipher, open, keys.key, keys.iv, sample).paddingBytes === 0) {
        const fit = await explainFailure(options, cipher, open, passphrase, salt, sample);
        const certainty = fit.certainty === 'sure' ? 'fits' : 'probably fits';
        hooks.note(`the passphrase ${certainty} with ${fit.options} (${fit.writtenBy}): using that`);
        kdf = fit.kdf;
        wipe(keys);
        keys = await derive(options, kdf, cipher, passphrase, salt);
      }
    }

    session = open(keys.key, cipher.ivBytes > 0 ? keys.iv : null);
    try {
      const result = await transport(options, hooks, input, {
        encoder,
        decoder,
        transform: new CipherTransform(session, { padding: options.padding }),
        header,
        head: { ...head, data },
        lines: print ? keyLines(salt, keys) : undefined,
      });
      return { ...result, driver: session.driver, ...(passphrase ? { kdf } : {}) };
    } catch (error) {
      if (judging && passphrase && isBadDecrypt(error)) {
        const sample = look(Number.POSITIVE_INFINITY);
        if (sample)
          await explainFailure({ ...options, autoKdf: false }, cipher, open, passphrase, salt, sample);
        throw new HwcryptError(
          'BAD_DECRYPT',
          `${error.message} (other key derivations were not tried, since only the first ${HEAD_BYTES / 1024} KiB ` +
            'of a pipe are kept: use -in FILE)',
        );
      }
      throw error;
    }
  } finally {
    session?.close();
    if (keys) wipe(keys);
    passphrase?.fill(0);
    input.close();
  }
}

interface Parts {
  readonly encoder?: Base64Encoder | undefined;
  readonly decoder?: Base64Decoder | undefined;
  readonly transform?: CipherTransform | undefined;
  /** To be written before anything else. */
  readonly header?: Buffer | undefined;
  /** Read already. */
  readonly head?: Head | undefined;
  /** What -p prints: after the header and before the data, as openssl does where all three go to stdout. */
  readonly lines?: string | undefined;
}

async function transport(
  options: EncOptions,
  hooks: EncHooks,
  input: Input,
  parts: Parts,
): Promise<EncResult> {
  const { encoder, decoder, transform, header, head, lines } = parts;
  const output = openOutput(options.output, { secret: isSecret(options), input });
  try {
    if (header) {
      let bytes: Uint8Array = header;
      if (encoder) {
        const text = new Uint8Array(Base64Encoder.outputBytes(header.length));
        bytes = text.subarray(0, encoder.update(header, text));
      }
      await output.write([bytes]);
    }
    if (lines) hooks.print(lines);
    const before = head?.bytesRead ?? 0;
    const { read } = await pump(input, output, {
      encoder,
      decoder,
      transform,
      head: head?.data,
      ended: head?.ended ?? false,
      progress: hooks.progress && ((bytes) => hooks.progress?.(before + bytes, input.size)),
    });
    await output.commit();
    return { bytesRead: before + read, bytesWritten: output.written };
  } catch (error) {
    output.abort();
    if (isBadDecrypt(error) && !output.atomic && output.written > 0 && transform) {
      hooks.note(`what was written to ${output.name} (${output.written} bytes) is to be thrown away`);
    }
    throw error;
  }
}

function isBadDecrypt(error: unknown): error is HwcryptError {
  return error instanceof HwcryptError && error.code === 'BAD_DECRYPT';
}

/** Is what comes out plaintext that was not there before? */
function isSecret({ direction, cipher }: EncOptions): boolean {
  return direction === 'decrypt' && cipher !== undefined;
}

interface Head {
  /** Decoded. */
  readonly data: Buffer;
  /** Bytes taken from the input for it, before decoding. */
  readonly bytesRead: number;
  /** There is nothing after it. */
  readonly ended: boolean;
}

async function loadHead(input: Input, decoder: Base64Decoder | undefined): Promise<Head> {
  const raw = Buffer.alloc(HEAD_BYTES);
  const bytesRead = await input.readFull(raw, 0, HEAD_BYTES);
  const ended = bytesRead < HEAD_BYTES;
  if (!decoder) return { data: raw.subarray(0, bytesRead), bytesRead, ended };
  const data = Buffer.alloc(Base64Decoder.outputBytes(HEAD_BYTES));
  let length = decoder.update(raw.subarray(0, bytesRead), data);
  if (ended) length += decoder.final(data.subarray(length));
  return { data: data.subarray(0, length), bytesRead, ended };
}

const SAMPLE_BYTES = 64;

/**
 * The beginning and the end of the ciphertext, without reading on: from memory where the head was all, from the file where
 * it can be looked at anywhere. `data` is the head without the header. Base64 must be decoded from the start to find
 * where its groups begin, which is done up to `limit` bytes of text.
 */
function preview(input: Input, base64: boolean, head: Head, data: Buffer, limit: number): Sample | undefined {
  const first = data.subarray(0, SAMPLE_BYTES);
  if (head.ended) {
    return { first, last: data.subarray(Math.max(0, data.length - SAMPLE_BYTES)), bytes: data.length };
  }
  if (!input.seekable || input.size === undefined) return undefined;
  if (!base64) {
    const bytes = input.size - (head.data.length - data.length);
    return { first, last: input.peek(Math.max(0, input.size - SAMPLE_BYTES), SAMPLE_BYTES), bytes };
  }
  if (input.size > limit) return undefined;
  const decoder = new Base64Decoder();
  const headerBytes = head.data.length - data.length;
  let last = Buffer.alloc(0);
  let total = 0;
  const keep = (piece: Buffer): void => {
    total += piece.length;
    const joined = piece.length >= SAMPLE_BYTES ? piece : Buffer.concat([last, piece]);
    last = Buffer.from(joined.subarray(Math.max(0, joined.length - SAMPLE_BYTES)));
  };
  const output = Buffer.alloc(Base64Decoder.outputBytes(HEAD_BYTES));
  for (let at = 0; ; at += HEAD_BYTES) {
    const text = input.peek(at, HEAD_BYTES);
    if (text.length === 0) break;
    keep(output.subarray(0, decoder.update(text, output)));
  }
  keep(output.subarray(0, decoder.final(output)));
  return { first, last, bytes: total - headerBytes };
}

/** Throws what is wrong, with the key derivation that fits if one does; returns it where it is to be used instead. */
async function explainFailure(
  options: EncOptions,
  cipher: CipherAlgorithm,
  open: OpenSession,
  passphrase: Buffer | undefined,
  salt: Buffer | undefined,
  sample: Sample,
): Promise<Fit> {
  if (sample.bytes === 0 || sample.bytes % cipher.blockBytes !== 0) {
    throw wrongFinalBlock('bad decrypt', sample.bytes, cipher);
  }
  if (!passphrase || options.keyHex !== undefined || options.ivHex !== undefined) {
    throw new HwcryptError('BAD_DECRYPT', BAD_DECRYPT);
  }
  const { kdf } = options;
  const list = candidates({
    digest: kdf.digest,
    ...(kdf.kind === 'pbkdf2' ? { iterations: kdf.iterations } : {}),
  });
  const found = await fits(list, cipher, open, passphrase, salt ?? null, sample);
  const [best] = found;
  if (!best) {
    throw new HwcryptError(
      'BAD_DECRYPT',
      'bad decrypt: wrong passphrase or cipher, or the input is damaged (no other usual key derivation fits either)',
    );
  }
  if (options.autoKdf) return best;
  const names = found
    .filter(({ certainty }) => certainty === best.certainty)
    .map((fit) => `${fit.options} (${fit.writtenBy})`);
  throw new HwcryptError(
    'BAD_DECRYPT',
    `bad decrypt: the passphrase ${best.certainty === 'sure' ? 'fits' : 'probably fits'} with ${names.join(' or ')}`,
  );
}

/** Key and IV from the passphrase, overridden by -K and -iv where those are given, with OpenSSL's warnings. */
async function derive(
  options: EncOptions,
  kdf: Kdf,
  cipher: CipherAlgorithm,
  passphrase: Buffer | undefined,
  salt: Buffer | undefined,
  hooks?: EncHooks,
): Promise<KeyAndIv> {
  const { keyHex, ivHex } = options;
  let keys: KeyAndIv = { key: Buffer.alloc(0), iv: Buffer.alloc(0) };
  if (passphrase) {
    if (kdf.kind === 'bytes-to-key') hooks?.warn(DEPRECATED_KDF);
    keys = await deriveKey(kdf, passphrase, salt ?? null, cipher.keyBytes, cipher.ivBytes);
  }
  if (ivHex !== undefined) {
    if (cipher.ivBytes === 0) hooks?.warn('warning: iv not used by this cipher');
    else keys = { ...keys, iv: hex(ivHex, cipher.ivBytes, 'iv', hooks) };
  } else if (!passphrase && cipher.ivBytes > 0) {
    throw new HwcryptError('USAGE', `iv undefined: ${cipher.name} needs -iv beside -K`);
  }
  if (keyHex !== undefined) keys = { ...keys, key: hex(keyHex, cipher.keyBytes, 'key', hooks) };
  return keys;
}

function hex(text: string, bytes: number, what: string, hooks: EncHooks | undefined): Buffer {
  const parsed = parseHex(text, bytes);
  if (!parsed.ok) throw new HwcryptError('USAGE', `invalid hex ${what} value: ${parsed.problem}`);
  if (parsed.warning) hooks?.warn(parsed.warning);
  return parsed.bytes;
}

function saltLength({ kdf, saltBytes }: EncOptions): number {
  if (saltBytes === undefined || kdf.kind !== 'pbkdf2') return DEFAULT_SALT_BYTES;
  if (!Number.isInteger(saltBytes) || saltBytes < 1 || saltBytes > MAX_SALT_BYTES) {
    throw new HwcryptError('USAGE', `the salt's length is 1 to ${MAX_SALT_BYTES} bytes`);
  }
  return saltBytes;
}

/** With -K, -S or -nosalt OpenSSL decrypts a header as if it were data. So do we, but not without a word. */
function warnOfHeader(data: Buffer, decoded: boolean, options: EncOptions, hooks: EncHooks): void {
  if (data.subarray(0, MAGIC.length).equals(MAGIC)) {
    const cause = options.keyHex !== undefined ? '-K' : options.saltHex !== undefined ? '-S' : '-nosalt';
    hooks.note(
      `the input has a header (Salted__), which with ${cause} is decrypted as if it were data` +
        (cause === '-K' ? '' : `: leave ${cause} out?`),
    );
  } else if (!decoded && looksLikeBase64Header(data.subarray(0, 64))) {
    hooks.note('the input looks like base64: add -a?');
  }
}

/** As `openssl enc -p` prints them: the blank before `=` of the IV is OpenSSL's. */
function keyLines(salt: Buffer | undefined, { key, iv }: KeyAndIv): string {
  const line = (name: string, bytes: Uint8Array): string =>
    `${name}=${Buffer.from(bytes).toString('hex').toUpperCase()}\n`;
  return (
    (salt ? line('salt', salt) : '') +
    (key.length > 0 ? line('key', key) : '') +
    (iv.length > 0 ? line('iv ', iv) : '')
  );
}

function wipe(keys: KeyAndIv): void {
  keys.key.fill(0);
  keys.iv.fill(0);
}
