/** Stream ciphers: ChaCha20 (RFC 8439), alone and with Poly1305, and RC4. */
import type { AeadAlgorithm, CipherAlgorithm } from '../algorithms.js';

/** GCRY_CIPHER_MODE_STREAM and GCRY_CIPHER_MODE_POLY1305. */
const GCRYPT_STREAM = 4;
const GCRYPT_POLY1305 = 10;

const RC4_NOTE = 'keystream biases recover plaintext (RFC 7465 forbids it in TLS)';

export const STREAM_CIPHERS: readonly (CipherAlgorithm | AeadAlgorithm)[] = [
  {
    kind: 'cipher',
    name: 'chacha20',
    aliases: [],
    names: {
      openssl: 'ChaCha20',
      kernel: 'chacha20',
      gcrypt: { algo: 316, mode: GCRYPT_STREAM },
      nettle: 'chacha',
    },
    status: 'current',
    family: 'chacha20',
    mode: 'stream',
    keyBytes: 32,
    // 32-bit little-endian block counter, then the 96-bit nonce: OpenSSL, Linux and libgcrypt all take it so. That is
    // why the stream can be handed over: the next IV is this one with its counter moved on.
    ivBytes: 16,
    blockBytes: 1,
    cipherBlockBytes: 64,
    parallel: 'both',
    handover: true,
  },
  {
    kind: 'aead',
    name: 'chacha20-poly1305',
    aliases: [],
    names: {
      openssl: 'ChaCha20-Poly1305',
      kernel: 'rfc7539(chacha20,poly1305)',
      gcrypt: { algo: 316, mode: GCRYPT_POLY1305 },
      nettle: 'chacha_poly1305',
    },
    status: 'current',
    family: 'chacha20',
    mode: 'chacha20-poly1305',
    keyBytes: 32,
    ivBytes: 12,
    ivRange: [12, 12],
    // RFC 8439 knows 16 only; OpenSSL and so node:crypto cut it to any length that is asked for.
    tagBytes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    defaultTagBytes: 16,
    cipherBlockBytes: 64,
    parallel: 'none',
    handover: false,
  },
  {
    kind: 'cipher',
    name: 'rc4',
    aliases: ['1.2.840.113549.3.4'],
    names: {
      openssl: 'RC4',
      // A stream cipher under a template's name: Linux has had no other for it since 5.3.
      kernel: 'ecb(arc4)',
      cryptodev: 12,
      gcrypt: { algo: 301, mode: GCRYPT_STREAM },
      nettle: 'arcfour',
    },
    status: 'weak',
    statusNote: RC4_NOTE,
    family: 'rc4',
    mode: 'stream',
    keyBytes: 16,
    keyRange: [1, 256],
    ivBytes: 0,
    blockBytes: 1,
    cipherBlockBytes: 1,
    parallel: 'none',
    handover: false,
  },
  {
    kind: 'cipher',
    name: 'rc4-40',
    aliases: [],
    names: {
      openssl: 'RC4-40',
      kernel: 'ecb(arc4)',
      cryptodev: 12,
      gcrypt: { algo: 301, mode: GCRYPT_STREAM },
      nettle: 'arcfour',
    },
    status: 'weak',
    statusNote: `40-bit key; ${RC4_NOTE}`,
    family: 'rc4',
    mode: 'stream',
    keyBytes: 5,
    ivBytes: 0,
    blockBytes: 1,
    cipherBlockBytes: 1,
    parallel: 'none',
    handover: false,
  },
];
