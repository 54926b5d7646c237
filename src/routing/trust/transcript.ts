/**
 * The trial whose outputs `known-answers.ts` knows by their SHA-256: key, IVs and data by a rule, lengths around every border. Changing
 * anything here changes every answer.
 */
import { createHash } from 'node:crypto';

import type { Algorithm, CipherAlgorithm } from '../../algorithms.js';
import { joined } from './failure.js';
import type { Outcome } from './perform.js';
import { type Message, message, type Trial } from './trial.js';

/**
 * Byte i is the top byte of x(i + 1), where x(0) is the start and x(n + 1) = 1664525 x(n) + 1013904223 modulo 2^32 (the generator
 * of Numerical Recipes): no tables needed to make it anywhere.
 */
export function ruleBytes(start: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let x = start;
  for (let i = 0; i < length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    bytes[i] = x >>> 24;
  }
  return bytes;
}

const KEY_START = 1;
const DATA_START = 2;
/** The IV of message i starts from this plus i. */
const IV_START = 1000;
const AAD_START = 3;

const LENGTHS = [1, 15, 16, 17, 31, 32, 33, 48, 65, 128, 255, 257, 1000, 4112, 4097];
const AAD_LENGTHS = [0, 1, 13, 16, 20, 33];
/** CFB by bytes and bits calls the cipher for each. */
const SLOW_BYTES = 300;
const HMAC_KEY_BYTES = 20;

/** A stream's IV whose counter stays clear of its end: what follows is not the same everywhere (see `handover` in algorithms.ts). */
export function boundedIv(algorithm: Algorithm, iv: Uint8Array): Uint8Array {
  if (algorithm.kind === 'cipher' && algorithm.mode === 'stream' && iv.length > 3) iv[3] = 0;
  return iv;
}

/** Counter blocks that run over within three blocks: at 2^32, at 2^64, and the whole block. */
export function wrappingIvs(algorithm: CipherAlgorithm): Uint8Array[] {
  if (algorithm.mode !== 'ctr') return [];
  const { ivBytes } = algorithm;
  return [4, 8, ivBytes].flatMap((bytes, i, all) => {
    if (all.indexOf(bytes) !== i) return [];
    const iv = ruleBytes(IV_START, ivBytes);
    iv.fill(0xff, ivBytes - bytes);
    iv[ivBytes - 1] = 0xfe;
    return [iv];
  });
}

export function transcriptKey(algorithm: Algorithm): Uint8Array {
  if (algorithm.kind === 'hash') return new Uint8Array();
  return ruleBytes(KEY_START, algorithm.keyBytes ?? HMAC_KEY_BYTES);
}

/** All of it encrypted or digested, whole messages in one session. */
export function transcript(algorithm: Algorithm): Trial {
  const slow = algorithm.kind === 'cipher' && /^cfb\d/.test(algorithm.mode);
  const most = slow ? SLOW_BYTES : Number.POSITIVE_INFINITY;
  const unit = algorithm.kind === 'cipher' ? algorithm.blockBytes : 1;
  const least = algorithm.kind === 'cipher' ? Math.max(unit, algorithm.minBytes ?? 1) : 0;
  const rounded = LENGTHS.map((length) => length - (length % unit)).filter(
    (length) => length >= least && length <= most,
  );
  const lengths = [...(least === 0 ? [0] : []), ...new Set(rounded)];
  const data = ruleBytes(DATA_START, Math.max(...lengths));
  const messages: Message[] = lengths.map((length, i) => {
    const input = data.subarray(0, length);
    switch (algorithm.kind) {
      case 'cipher': {
        const iv = algorithm.ivBytes === 0 ? null : ruleBytes(IV_START + i, algorithm.ivBytes);
        return message(input, { iv: iv && boundedIv(algorithm, iv) });
      }
      case 'aead':
        return message(input, {
          iv: ruleBytes(IV_START + i, algorithm.ivBytes),
          aad: ruleBytes(AAD_START, AAD_LENGTHS[i % AAD_LENGTHS.length]!),
        });
      default:
        return message(input);
    }
  });
  if (algorithm.kind === 'cipher') {
    const input = data.subarray(0, 4 * algorithm.cipherBlockBytes);
    for (const iv of wrappingIvs(algorithm)) messages.push(message(input, { iv }));
  }
  const key = algorithm.kind === 'hash' ? {} : { key: transcriptKey(algorithm) };
  messages[0] = { ...messages[0]!, ...key };
  return {
    algorithm,
    task: algorithm.kind === 'cipher' || algorithm.kind === 'aead' ? 'encrypt' : 'digest',
    sessions: [messages],
  };
}

/** The first 16 bytes of SHA-256 over all outputs, each with its tag behind it, in hex. */
export function transcriptDigest(outcomes: readonly Outcome[]): string {
  const hash = createHash('sha256');
  for (const outcome of outcomes) hash.update(joined(outcome));
  return hash.digest('hex').slice(0, 32);
}
