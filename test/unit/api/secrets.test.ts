/** What objects show of themselves, what is left behind, and what must not be taken for a result. */
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';

import { loadEvp } from '#src/drivers/libcrypto/evp.js';
import { getDriver } from '#src/drivers/registry.js';
import { createCipheriv, createHash, createHmac, type Hmac, open } from '#src/index.js';

const SECRET = 'attack at dawn, 4111 of them';

function ivFor(algorithm: string): Buffer {
  return Buffer.alloc(algorithm.endsWith('gcm') ? 12 : 16, 1);
}

describe('objects in a log', () => {
  const makers = {
    Hash: [() => createHash('sha256'), () => crypto.createHash('sha256')],
    Hmac: [() => createHmac('sha256', 'k'), () => crypto.createHmac('sha256', 'k')],
    Cipheriv: [
      () => createCipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16)),
      () => crypto.createCipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16)),
    ],
  } as const;
  for (const [name, [ours, theirs]] of Object.entries(makers)) {
    test(`${name} shows nothing that other messages left`, () => {
      using instance = open();
      for (const algorithm of ['aes-128-cbc', 'aes-128-gcm'])
        instance.encrypt(algorithm, Buffer.alloc(16), ivFor(algorithm), SECRET);
      instance.digest('sha256', SECRET);
      const object = ours();
      const said = JSON.stringify({ object }) + inspect(object, { depth: null, showHidden: true });
      assert.ok(!said.includes(SECRET));
      assert.ok(!said.includes(Buffer.from(SECRET).join(',')), 'the bytes of it, as numbers');
      assert.ok(said.length < 2000, `${said.length} characters`);
      const hidden = new Set(Object.keys(theirs()));
      for (const key of Object.keys(object)) assert.ok(key === '_options' || hidden.has(key), key);
    });
  }
});

test('closing leaves nothing of short messages in memory that others read', () => {
  const { evp } = loadEvp();
  assert.ok(evp);
  const left = () => Buffer.from(evp.scratch.bytes).toString('latin1');
  const instance = open({ drivers: 'libcrypto' });
  const key = Buffer.alloc(16, 0x6b);
  const text = Buffer.from(SECRET);
  for (const work of [
    () => instance.encrypt('aes-128-cbc', key, ivFor('cbc'), text),
    () => instance.encrypt('aes-128-gcm', key, ivFor('gcm'), text),
    () => {
      const sealed = instance.encrypt('aes-128-gcm', key, ivFor('gcm'), text);
      instance.decrypt('aes-128-gcm', key, ivFor('gcm'), sealed);
    },
    () => instance.digest('sha256', text),
    () => instance.hmac('sha256', key, text),
  ]) {
    work();
    instance.close();
    assert.ok(!left().includes(SECRET), String(work));
    assert.ok(!left().includes('kkkkkkkk'), 'the key');
  }
});

describe('a destroyed digest gives no digest', () => {
  const ends: Record<string, (hmac: Hmac) => unknown> = {
    destroy: (hmac) => hmac.destroy(),
    dispose: (hmac) => hmac[Symbol.dispose](),
    'a pipeline that failed': (hmac) =>
      pipeline(
        new Readable({
          read() {
            this.destroy(new Error('no more'));
          },
        }),
        hmac as unknown as NodeJS.WritableStream,
      ).catch(() => {}),
  };
  for (const [name, end] of Object.entries(ends)) {
    test(name, async () => {
      for (const make of [() => createHmac('sha1', 'k'), () => createHash('sha1') as unknown as Hmac]) {
        const object = make();
        object.on('error', () => {});
        object.update('message');
        await end(object);
        await new Promise((resolve) => setImmediate(resolve));
        for (const ask of [() => object.digest('hex'), () => object.digest(), () => object.update('x')])
          assert.throws(ask, { code: 'ERR_STREAM_DESTROYED' });
      }
    });
  }
});

describe('options that an algorithm cannot heed are refused', () => {
  using instance = open();
  const key = Buffer.alloc(16);
  const iv = Buffer.alloc(16);
  for (const options of [{ aad: 'abc' }, { aad: 5 }, { authTagLength: 99 }, { authTagLength: 16 }]) {
    test(`${JSON.stringify(options)} with CBC`, async () => {
      const wrong = options as never;
      assert.throws(() => instance.encrypt('aes-128-cbc', key, iv, 'x', wrong), {
        code: 'ERR_INVALID_ARG_VALUE',
      });
      await assert.rejects(instance.encryptAsync('aes-128-cbc', key, iv, 'x', wrong), {
        code: 'ERR_INVALID_ARG_VALUE',
      });
    });
  }
  test('autoPadding that is no boolean, outputLength of a MAC, an onFallback that is no function', () => {
    const no = { autoPadding: 'no' } as never;
    assert.throws(() => instance.encrypt('aes-128-cbc', key, iv, 'x', no), { code: 'ERR_INVALID_ARG_TYPE' });
    const five = { outputLength: 5 } as never;
    assert.throws(() => instance.hmac('sha256', key, 'x', five), { code: 'ERR_INVALID_ARG_VALUE' });
    assert.throws(() => open({ onFallback: 5 as never }), { code: 'ERR_INVALID_ARG_TYPE' });
    assert.throws(() => open({ drivers: [5] as never }), /Received type number \(5\)/);
  });
});

test('a shortage that passes decides nothing for good', (context) => {
  const node = getDriver('node');
  let short = true;
  const supports = node.supports.bind(node);
  const reason = { code: 'TOO_MANY_FILES', message: 'too many open files' } as const;
  context.mock.method(node, 'supports', (...args: Parameters<typeof supports>) =>
    short ? { supported: false, reason } : supports(...args),
  );
  const heard: string[] = [];
  using instance = open({ drivers: ['node', 'libcrypto'], onFallback: ({ driver }) => heard.push(driver) });
  const by = () => instance.createHash('sha256').driver;
  assert.equal(by(), 'libcrypto');
  assert.equal(by(), 'libcrypto');
  assert.deepEqual(heard, ['libcrypto'], 'told once');
  instance.digest('sha256', 'x');
  short = false;
  assert.equal(by(), 'node');
  instance.digest('sha256', 'x');
  assert.equal(instance.route('sha256').label, 'node');
});

test('a listener that throws spoils no result', async () => {
  const errors: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.once('uncaughtException', (error) => errors.push(error));
  try {
    using instance = open({
      drivers: ['node', 'libcrypto'],
      onFallback: () => {
        throw new Error('mine');
      },
    });
    // Only libcrypto has it.
    assert.equal(instance.hmac('cmac-aes-128', Buffer.alloc(16), 'x').length, 16);
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
  assert.match(String(errors[0]), /mine/);
});
