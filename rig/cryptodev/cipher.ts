/**
 * Ciphers as the kernel's drivers run them: whole blocks, no padding, and an IV that a request takes from the session and
 * leaves there for the next one. What is left is the generic drivers'; with some modes it differs from driver to driver.
 *
 * OpenSSL does the work, through node:crypto. XTS is made of its ECB, since OpenSSL refuses keys that the kernel takes.
 */
import { type Cipher, createCipheriv, createDecipheriv } from 'node:crypto';

import type { CipherAlgorithm } from './algorithms.js';

/** One request of the driver: pieces in, as many bytes out. All pieces but the last are whole blocks of 16 bytes. */
export interface CipherRun {
  update(piece: Uint8Array): Uint8Array;
  /** The IV that a request after this one goes on with. */
  end(): Uint8Array;
}

export interface KeyedCipher {
  start(encrypt: boolean, iv: Uint8Array): CipherRun;
}

const NONE = new Uint8Array(0);

export function keyedCipher({ mode, openssl, blockBytes }: CipherAlgorithm, key: Uint8Array): KeyedCipher {
  if (mode === 'null')
    return { start: () => ({ update: (piece) => Uint8Array.from(piece), end: () => NONE }) };
  if (mode === 'xts') return xts(key);
  const sized = openssl === 'aes' || openssl === 'camellia' ? `${openssl}-${key.length * 8}` : openssl;
  const name = `${sized}-${mode}`;
  const make = (encrypt: boolean, iv: Uint8Array): Cipher => {
    const given = mode === 'ecb' ? null : iv;
    const made = encrypt ? createCipheriv(name, key, given) : createDecipheriv(name, key, given);
    return made.setAutoPadding(false);
  };
  switch (mode) {
    case 'ecb':
      return {
        start(encrypt, iv) {
          const cipher = make(encrypt, iv);
          return { update: (piece) => cipher.update(piece), end: () => NONE };
        },
      };
    case 'ctr':
      return {
        start(encrypt, iv) {
          const cipher = make(encrypt, iv);
          let blocks = 0;
          return {
            update(piece) {
              blocks += Math.ceil(piece.length / 16);
              return cipher.update(piece);
            },
            end: () => advanced(iv, blocks),
          };
        },
      };
    case 'ofb':
      return {
        start(encrypt, iv) {
          const cipher = make(encrypt, iv);
          let last = iv;
          return {
            update(piece) {
              const out = cipher.update(piece);
              // The keystream is the chain; of a block that was begun the rest is used up too.
              const rest = -piece.length & 15;
              const tail = cipher.update(new Uint8Array(rest));
              if (piece.length > 0) {
                const at = piece.length + rest - 16;
                const known = exclusiveOr(piece.subarray(at), out.subarray(at));
                last = Buffer.concat([known, tail]);
              }
              return out;
            },
            end: () => last,
          };
        },
      };
    default: {
      // CBC and CFB: the last whole block of ciphertext.
      const unit = Math.max(blockBytes, openssl === 'aes' || openssl === 'camellia' ? 16 : 8);
      return {
        start(encrypt, iv) {
          const cipher = make(encrypt, iv);
          let last = iv;
          return {
            update(piece) {
              const out = cipher.update(piece);
              const whole = piece.length - (piece.length % unit);
              if (whole > 0) last = Uint8Array.from((encrypt ? out : piece).subarray(whole - unit, whole));
              return out;
            },
            end: () => last,
          };
        },
      };
    }
  }
}

/** A big-endian counter of 16 bytes, so many blocks on. */
export function advanced(counter: Uint8Array, blocks: number): Uint8Array {
  const next = Uint8Array.from(counter);
  let carry = blocks;
  for (let at = next.length - 1; at >= 0 && carry > 0; at--) {
    carry += next[at]!;
    next[at] = carry & 0xff;
    carry = Math.floor(carry / 256);
  }
  return next;
}

function exclusiveOr(one: Uint8Array, other: Uint8Array): Uint8Array {
  return one.map((byte, index) => byte ^ other[index]!);
}

/** IEEE 1619 without ciphertext stealing: the module takes whole blocks only. The IV stays what it was. */
function xts(key: Uint8Array): KeyedCipher {
  const half = key.length / 2;
  const name = `aes-${half * 8}-ecb`;
  const data = key.subarray(0, half);
  const tweakKey = key.subarray(half);
  return {
    start(encrypt, iv) {
      const cipher = encrypt ? createCipheriv(name, data, null) : createDecipheriv(name, data, null);
      cipher.setAutoPadding(false);
      let tweak: Uint8Array = createCipheriv(name, tweakKey, null).update(iv);
      return {
        update(piece) {
          const mask = new Uint8Array(piece.length);
          for (let at = 0; at < piece.length; at += 16) {
            mask.set(tweak, at);
            tweak = doubled(tweak);
          }
          return exclusiveOr(cipher.update(exclusiveOr(piece, mask)), mask);
        },
        end: () => iv,
      };
    },
  };
}

/** Times x in GF(2^128), little-endian. */
function doubled(block: Uint8Array): Uint8Array {
  const result = new Uint8Array(16);
  let carry = 0;
  for (let at = 0; at < 16; at++) {
    result[at] = (block[at]! << 1) | carry;
    carry = block[at]! >> 7;
  }
  if (carry) result[0]! ^= 0x87;
  return result;
}
