/** node:crypto is the other opinion: a message in pieces, each with the chain's IV, must equal the message in one. */
import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';

import { type CipherAlgorithm, findAlgorithm } from '#src/algorithms.js';
import { addBigEndian, addLittleEndian, Chain } from '#src/drivers/chain.js';
import type { Direction } from '#src/drivers/driver.js';

function cipher(name: string): CipherAlgorithm {
  const found = findAlgorithm(name);
  assert.equal(found?.kind, 'cipher');
  return found as CipherAlgorithm;
}

function whole(
  name: string,
  direction: Direction,
  key: Uint8Array,
  iv: Uint8Array | null,
  data: Uint8Array,
): Buffer {
  const it = direction === 'encrypt' ? createCipheriv(name, key, iv) : createDecipheriv(name, key, iv);
  it.setAutoPadding(false);
  return Buffer.concat([it.update(data), it.final()]);
}

const NAMES = [
  'aes-128-cbc',
  'aes-256-ctr',
  'aes-192-cfb',
  'aes-128-ofb',
  'des-ede3-cbc',
  'des-ede3-cfb',
  'aes-128-ecb',
  'chacha20',
];

for (const name of NAMES) {
  for (const direction of ['encrypt', 'decrypt'] as const) {
    test(`${name}, ${direction}: any pieces, apart and in place`, () => {
      const algorithm = cipher(name);
      const block = algorithm.cipherBlockBytes;
      fc.assert(
        fc.property(
          fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }),
          fc.nat(block - 1),
          fc.boolean(),
          fc.boolean(),
          (blocks, rest, inPlace, carry) => {
            const tail = algorithm.blockBytes === 1 ? rest : 0;
            const key = randomBytes(algorithm.keyBytes);
            const iv = randomBytes(algorithm.ivBytes);
            if (carry) iv.fill(0xff);
            const sizes = [...blocks.map((n) => n * block), ...(tail > 0 ? [tail] : [])];
            const data = randomBytes(sizes.reduce((a, b) => a + b, 0));
            const expected = whole(name, direction, key, iv.length > 0 ? Buffer.from(iv) : null, data);
            const chain = new Chain(algorithm, direction, Uint8Array.from(iv));
            const memory = Uint8Array.from(data);
            const output = inPlace ? memory : new Uint8Array(data.length);
            for (let at = 0, i = 0; i < sizes.length; ) {
              const left = sizes[i] as number;
              const size = chain.limit(left);
              chain.before(memory, at, size);
              const piece = whole(
                name,
                direction,
                key,
                iv.length > 0 ? chain.iv : null,
                memory.slice(at, at + size),
              );
              output.set(piece, at);
              chain.after(output, at, size);
              at += size;
              if (size === left) i++;
              else sizes[i] = left - size;
            }
            assert.deepEqual(Buffer.from(output), expected);
            assert.equal(chain.ended, tail > 0);
          },
        ),
        { numRuns: 60 },
      );
    });
  }
}

test('counters carry through every byte, and wrap', () => {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  const counter = new Uint8Array(16).fill(0xff);
  addBigEndian(counter, 1);
  assert.equal(hex(counter), '00'.repeat(16));
  addBigEndian(counter, 2 ** 40 + 258);
  assert.equal(hex(counter), '00000000000000000000010000000102');
  const small = Uint8Array.of(0xff, 0xfe);
  addBigEndian(small, 3);
  assert.equal(hex(small), '0001');
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 128n - 1n), fc.maxSafeNat(), (start, add) => {
      const bytes = Buffer.from(start.toString(16).padStart(32, '0'), 'hex');
      addBigEndian(bytes, add);
      assert.equal(BigInt(`0x${hex(bytes)}`), (start + BigInt(add)) % 2n ** 128n);
    }),
  );
  const little = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 7, 0, 0, 0, 9);
  addLittleEndian(little, 8, 2);
  assert.equal(hex(little), '010000000800000009');
});

test('a piece of ChaCha20 ends where its 32-bit counter does', () => {
  const chain = new Chain(
    cipher('chacha20'),
    'encrypt',
    Uint8Array.from(Buffer.from('fdffffff000000000000000000000000', 'hex')),
  );
  assert.equal(chain.limit(1000), 192);
  assert.equal(chain.limit(100), 100);
  chain.after(new Uint8Array(192), 0, 192);
  assert.equal(Buffer.from(chain.iv).toString('hex'), '00000000010000000000000000000000');
  const other = new Chain(cipher('aes-128-ctr'), 'encrypt', new Uint8Array(16));
  assert.equal(other.limit(1000), 1000);
});

test('XTS and ECB have nothing to carry', () => {
  const iv = randomBytes(16);
  const chain = new Chain(cipher('aes-128-xts'), 'encrypt', Uint8Array.from(iv));
  chain.before(new Uint8Array(64), 0, 64);
  chain.after(new Uint8Array(64), 0, 64);
  assert.deepEqual(Buffer.from(chain.iv), iv);
});
