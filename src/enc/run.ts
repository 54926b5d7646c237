/**
 * `enc` as one call: opens, derives, pumps, and makes the output appear.
 *
 * Room `enc`. What is printed and warned about goes through `EncHooks`, so that a program can use this as the command
 * does.
 */
import { randomBytes } from 'node:crypto';
import type { CipherAlgorithm } from '../algorithms.js';
import type { Direction } from '../drivers/driver.js';
import { HwcryptError } from '../errors.js';
import { counted, Input } from '../files/io.js';
import { checkOutput, openOutput } from '../files/output.js';
import { Router, type RouterOptions } from '../routing/router.js';
import {
  candidates,
  Ends,
  type Fit,
  fits,
  judge,
  judgeable,
  type OpenSession,
  SAMPLE_BYTES,
  type Sample,
} from './autokdf.js';
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
import { deriveKey, type Kdf, type KeyAndIv } from './kdf.js';
import { pump } from './pipeline.js';
import { BAD_DECRYPT, CipherTransform, wrongFinalBlock } from './transform.js';

export interface EncOptions {
  readonly direction: Direction;
  /** Undefined: nothing is encrypted, only base64 is put on or taken off (`-none`). */
  readonly cipher?: CipherAlgorithm | undefined;
  /** Who may do the work, and how one of them is chosen. Default: the usual driver. */
  readonly routing?: Pick<RouterOptions, 'drivers' | 'policy' | 'verify'> | undefined;
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
  /** Files that hold the passphrase, by path: the output shall not take their place. */
  readonly alsoRead?: readonly string[] | undefined;
}

export interface EncHooks {
  /** A warning in OpenSSL's words. */
  warn(line: string): void;
  /** Something that hwcrypt itself has to say. */
  note(line: string): void;
  /** The lines that -p and -P print. They are secret. */
  print(lines: string): void;
  /** Bytes of the input that were taken; the first call is when the work begins. */
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
  const input = Input.open(options.input);
  try {
    return options.cipher
      ? await new CipherJob(options, options.cipher, hooks, input).run()
      : await transport(options, hooks, input, codecs(options));
  } finally {
    input.close();
  }
}

/** Base64 is on the encrypted side. */
function codecs({ base64, direction, oneLine }: EncOptions): Pick<Parts, 'encoder' | 'decoder'> {
  if (!base64) return {};
  return direction === 'encrypt' ? { encoder: new Base64Encoder(oneLine) } : { decoder: new Base64Decoder() };
}

/** One message under one key, from the passphrase to the last byte. */
class CipherJob {
  readonly #options: EncOptions;
  readonly #cipher: CipherAlgorithm;
  readonly #hooks: EncHooks;
  readonly #input: Input;
  readonly #codecs: Pick<Parts, 'encoder' | 'decoder'>;
  readonly #decrypting: boolean;
  #passphrase: Buffer | undefined;
  #salt: Buffer | undefined;
  #keys: KeyAndIv | undefined;
  /** To be written first, where there is one. */
  #header: Buffer | undefined;
  /** What was read to find the header, and what of it is ciphertext. */
  #head: Head = { data: Buffer.alloc(0), bytesRead: 0, ended: false };
  #ciphertext: Buffer = this.#head.data;

  constructor(options: EncOptions, cipher: CipherAlgorithm, hooks: EncHooks, input: Input) {
    this.#options = options;
    this.#cipher = cipher;
    this.#hooks = hooks;
    this.#input = input;
    this.#codecs = codecs(options);
    this.#decrypting = options.direction === 'decrypt';
  }

  async run(): Promise<EncResult> {
    const options = this.#options;
    const { print, keyHex, kdf } = options;
    try {
      // What can go wrong without a passphrase should, before one is asked for. With -P nobody works.
      const open = print === 'only' ? undefined : this.#route();
      if (options.passphrase) this.#passphrase = await options.passphrase();
      else if (keyHex === undefined) throw new HwcryptError('PASSPHRASE', 'neither a passphrase nor a key');
      await this.#settleSalt();
      this.#keys = await this.#derive(kdf, this.#hooks);
      if (!open) {
        this.#hooks.print(keyLines(this.#salt, this.#keys));
        return { bytesRead: this.#head.bytesRead, bytesWritten: 0 };
      }
      const used = this.#canJudge ? await this.#checkPadding(kdf, open) : kdf;
      const result = await this.#work(open);
      return { ...result, ...(this.#passphrase ? { kdf: used } : {}) };
    } finally {
      if (this.#keys) wipe(this.#keys);
      this.#passphrase?.fill(0);
    }
  }

  /** Finds who does the work and where it goes. */
  #route(): OpenSession {
    const { routing, output, direction } = this.#options;
    const router = new Router({
      ...routing,
      onNote: (text) => this.#hooks.note(text),
      onFallback: ({ message }) => this.#hooks.note(message),
    });
    const route = router.route(this.#cipher);
    checkOutput(output, {
      secret: isSecret(this.#options),
      input: this.#input,
      alsoRead: this.#options.alsoRead ?? [],
    });
    return (key, iv) => route.driver.cipher(this.#cipher, direction, key, iv, route.options);
  }

  /** The salt: read from the file, given, or made. */
  async #settleSalt(): Promise<void> {
    const { salt, saltHex, print } = this.#options;
    const salted = this.#passphrase !== undefined && salt;
    const headed = salted && saltHex === undefined;
    const base64 = this.#codecs.decoder !== undefined;
    const saltBytes = saltLength(this.#options);
    // With -P and a key that does not depend on the input, openssl does not wait for any either.
    if (this.#decrypting && (headed || print !== 'only')) {
      this.#head = await loadHead(this.#input, this.#codecs.decoder);
      this.#ciphertext = this.#head.data;
    }
    if (headed && this.#decrypting) {
      const length = MAGIC.length + saltBytes;
      this.#salt = parseHeader(this.#ciphertext.subarray(0, length), saltBytes, base64);
      this.#ciphertext = this.#ciphertext.subarray(length);
    } else if (headed) {
      this.#salt = randomBytes(saltBytes);
      this.#header = encodeHeader(this.#salt);
    } else if (salted) {
      this.#salt = hex(saltHex as string, saltBytes, 'salt', this.#hooks);
    }
    if (this.#decrypting && !headed) warnOfHeader(this.#ciphertext, base64, this.#options, this.#hooks);
  }

  /** Key and IV from the passphrase, overridden by -K and -iv where those are given, with OpenSSL's warnings. */
  async #derive(kdf: Kdf, hooks?: EncHooks): Promise<KeyAndIv> {
    const { keyHex, ivHex } = this.#options;
    const { keyBytes, ivBytes, name } = this.#cipher;
    let keys: KeyAndIv = { key: Buffer.alloc(0), iv: Buffer.alloc(0) };
    if (this.#passphrase) {
      if (kdf.kind === 'bytes-to-key') hooks?.warn(DEPRECATED_KDF);
      keys = await deriveKey(kdf, this.#passphrase, this.#salt ?? null, keyBytes, ivBytes);
    }
    if (ivHex !== undefined) {
      if (ivBytes === 0) hooks?.warn('warning: iv not used by this cipher');
      else keys = { ...keys, iv: hex(ivHex, ivBytes, 'iv', hooks) };
    } else if (!this.#passphrase && ivBytes > 0) {
      throw new HwcryptError('USAGE', `iv undefined: ${name} needs -iv beside -K`);
    }
    if (keyHex !== undefined) keys = { ...keys, key: hex(keyHex, keyBytes, 'key', hooks) };
    return keys;
  }

  /** Is there padding by which a wrong key can be told? */
  get #canJudge(): boolean {
    return this.#decrypting && this.#options.padding && judgeable(this.#cipher);
  }

  /**
   * Looks at the padding before anything is written: OpenSSL notices a wrong passphrase only when the garbage is out.
   * Returns the key derivation that is used in the end.
   */
  async #checkPadding(kdf: Kdf, open: OpenSession): Promise<Kdf> {
    const { key, iv } = this.#keys as KeyAndIv;
    const sample = this.#preview(this.#options.autoKdf ? Number.POSITIVE_INFINITY : PREVIEW_BYTES);
    if (!sample || judge(this.#cipher, open, key, iv, sample).paddingBytes > 0) return kdf;
    const fit = await this.#explainFailure(open, sample, this.#options.autoKdf === true);
    const certainty = fit.certainty === 'sure' ? 'fits' : 'probably fits';
    this.#hooks.note(`the passphrase ${certainty} with ${fit.options} (${fit.writtenBy}): using that`);
    wipe(this.#keys as KeyAndIv);
    this.#keys = await this.#derive(fit.kdf);
    return fit.kdf;
  }

  async #work(open: OpenSession): Promise<EncResult> {
    const { key, iv } = this.#keys as KeyAndIv;
    const session = open(key, this.#cipher.ivBytes > 0 ? iv : null);
    try {
      const result = await transport(this.#options, this.#hooks, this.#input, {
        ...this.#codecs,
        transform: new CipherTransform(session, { padding: this.#options.padding }),
        header: this.#header,
        head: { ...this.#head, data: this.#ciphertext },
        lines: this.#options.print ? keyLines(this.#salt, { key, iv }) : undefined,
      });
      return { ...result, driver: session.driver };
    } catch (error) {
      if (!this.#canJudge || !this.#passphrase || !isBadDecrypt(error)) throw error;
      const sample = this.#preview(Number.POSITIVE_INFINITY);
      if (sample) await this.#explainFailure(open, sample, false);
      throw new HwcryptError(
        'BAD_DECRYPT',
        `${error.message} (other key derivations were not tried, since only the first ${HEAD_BYTES / 1024} KiB ` +
          'of a pipe are kept: use -in FILE)',
      );
    } finally {
      session.close();
    }
  }

  /**
   * The beginning and the end of the ciphertext, without reading on: from memory where the head was all, from the file
   * where it can be looked at anywhere. Base64 must be decoded from the start to find where its groups begin, which is
   * done for up to `limit` bytes of text.
   */
  #preview(limit: number): Sample | undefined {
    const data = this.#ciphertext;
    const first = data.subarray(0, SAMPLE_BYTES);
    if (this.#head.ended) {
      return { first, last: data.subarray(Math.max(0, data.length - SAMPLE_BYTES)), bytes: data.length };
    }
    const { size, seekable } = this.#input;
    if (!seekable || size === undefined) return undefined;
    const headerBytes = this.#head.data.length - data.length;
    if (!this.#codecs.decoder) {
      const last = this.#input.peek(Math.max(0, size - SAMPLE_BYTES), SAMPLE_BYTES);
      return { first, last, bytes: size - headerBytes };
    }
    if (size > limit) return undefined;
    const { last, bytes } = decodedEnds(this.#input);
    return { first, last, bytes: bytes - headerBytes };
  }

  /** Throws what is wrong, with the key derivation that fits if one does; returns it where it is to be used instead. */
  async #explainFailure(open: OpenSession, sample: Sample, use: boolean): Promise<Fit> {
    const { keyHex, ivHex, kdf } = this.#options;
    const cipher = this.#cipher;
    if (sample.bytes === 0 || sample.bytes % cipher.blockBytes !== 0) {
      throw wrongFinalBlock('bad decrypt', sample.bytes, cipher);
    }
    if (!this.#passphrase || keyHex !== undefined || ivHex !== undefined) {
      throw new HwcryptError('BAD_DECRYPT', BAD_DECRYPT);
    }
    const list = candidates({
      digest: kdf.digest,
      ...(kdf.kind === 'pbkdf2' ? { iterations: kdf.iterations } : {}),
    });
    const found = await fits(list, cipher, open, this.#passphrase, this.#salt ?? null, sample);
    const [best] = found;
    if (!best) {
      throw new HwcryptError(
        'BAD_DECRYPT',
        'bad decrypt: wrong passphrase or cipher, or the input is damaged (no other usual key derivation fits either)',
      );
    }
    if (use) return best;
    const names = found
      .filter(({ certainty }) => certainty === best.certainty)
      .map((fit) => `${fit.options} (${fit.writtenBy})`);
    throw new HwcryptError(
      'BAD_DECRYPT',
      `bad decrypt: the passphrase ${best.certainty === 'sure' ? 'fits' : 'probably fits'} with ${names.join(' or ')}`,
    );
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
  const output = openOutput(options.output, {
    secret: isSecret(options),
    input,
    alsoRead: options.alsoRead ?? [],
  });
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
    // From here on time is the work's: a passphrase was asked for, and a key made of it, before.
    hooks.progress?.(before, input.size);
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
      hooks.note(
        `what was written to ${output.name} (${counted(output.written, 'byte')}) is to be thrown away`,
      );
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

/** Decodes a base64 file from the start, for its end. */
function decodedEnds(input: Input): Ends {
  const decoder = new Base64Decoder();
  const output = Buffer.alloc(Base64Decoder.outputBytes(HEAD_BYTES));
  const ends = new Ends();
  for (let at = 0; ; at += HEAD_BYTES) {
    const text = input.peek(at, HEAD_BYTES);
    if (text.length === 0) break;
    ends.add(output.subarray(0, decoder.update(text, output)));
  }
  ends.add(output.subarray(0, decoder.final(output)));
  return ends;
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
