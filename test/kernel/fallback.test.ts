/** What the kernel does not take of an algorithm that it has goes to the next driver, audibly and with the right result. */
import assert from 'node:assert/strict';
import { type CipherGCM, createCipheriv as nodeCipheriv } from 'node:crypto';
import { test } from 'node:test';

import { type Fallback, open } from '#src/index.js';

const key = Buffer.alloc(32, 7);

function reference(
  algorithm: string,
  iv: Buffer,
  data: Buffer,
  aad?: Buffer,
  authTagLength?: number,
): Buffer {
  const options = authTagLength === undefined ? {} : { authTagLength };
  const cipher = nodeCipheriv(algorithm, key, iv, options as never) as unknown as CipherGCM;
  if (aad) cipher.setAAD(aad);
  const text = Buffer.concat([cipher.update(data), cipher.final()]);
  return algorithm.endsWith('xts') ? text : Buffer.concat([text, cipher.getAuthTag()]);
}

const CASES: readonly {
  what: string;
  algorithm: string;
  iv: Buffer;
  data: Buffer;
  aad?: Buffer;
  tag?: number;
}[] = [
  {
    what: 'a nonce that the kernel does not take',
    algorithm: 'aes-256-gcm',
    iv: Buffer.alloc(16, 3),
    data: Buffer.from('text'),
  },
  {
    what: 'a tag that the kernel does not take',
    algorithm: 'chacha20-poly1305',
    iv: Buffer.alloc(12, 3),
    data: Buffer.from('text'),
    tag: 12,
  },
  {
    what: 'a message that is too long for one request',
    algorithm: 'aes-256-gcm',
    iv: Buffer.alloc(12, 3),
    data: Buffer.alloc(5_000_000, 5),
  },
  {
    what: 'additional data that is too long',
    algorithm: 'aes-256-gcm',
    iv: Buffer.alloc(12, 3),
    data: Buffer.from('text'),
    aad: Buffer.alloc(1_000_000, 1),
  },
];

for (const { what, algorithm, iv, data, aad, tag } of CASES) {
  test(`${what}: ${algorithm}, ${data.length} bytes`, async () => {
    const heard: Fallback[] = [];
    using instance = open({
      drivers: ['afalg', 'libcrypto'],
      onFallback: (fallback) => heard.push(fallback),
    });
    const right = reference(algorithm, iv, data, aad, tag);
    const options = { ...(aad ? { aad } : {}), ...(tag ? { authTagLength: tag } : {}) };
    assert.ok(instance.encrypt(algorithm, key, iv, data, options).equals(right));
    assert.equal(heard.length, 1);
    assert.equal(heard[0]!.driver, 'libcrypto');
    // Changed at once by the caller, as he may.
    const own = Buffer.from(data);
    const later = instance.encryptAsync(algorithm, key, iv, own, options);
    own.fill(0);
    assert.ok((await later).equals(right));
    assert.ok(instance.decrypt(algorithm, key, iv, right, options).equals(data));
    const cipher = instance.createCipheriv(algorithm, key, iv, { ...options, aad: undefined } as never);
    if (aad) (cipher as unknown as CipherGCM).setAAD(aad);
    const streamed = Buffer.concat([cipher.update(data), cipher.final(), cipher.getAuthTag()]);
    assert.ok(streamed.equals(right));
    assert.equal(cipher.driver, 'libcrypto');
    assert.equal(heard.length, 1, 'told once');
    // What the kernel does take, it still does.
    const usual = instance.createCipheriv('aes-256-gcm', key, Buffer.alloc(12));
    assert.match(usual.driver, /^afalg/);
    usual.destroy();
    // And nobody stands in where one driver was pinned.
    using pinned = open({ drivers: 'afalg' });
    assert.throws(() => pinned.encrypt(algorithm, key, iv, data, options), {
      code: /ALGORITHM_UNAVAILABLE|MESSAGE_TOO_LARGE/,
    });
  });
}

test('a data unit of XTS that is longer than a request', () => {
  const heard: string[] = [];
  using instance = open({ drivers: ['afalg', 'libcrypto'], onFallback: ({ driver }) => heard.push(driver) });
  const halves = Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 2)]);
  const iv = Buffer.alloc(16, 3);
  const data = Buffer.alloc(5_000_000, 9);
  const cipher = nodeCipheriv('aes-256-xts', halves, iv);
  const right = Buffer.concat([cipher.update(data), cipher.final()]);
  assert.ok(instance.encrypt('aes-256-xts', halves, iv, data).equals(right));
  assert.deepEqual(heard, ['libcrypto']);
});
