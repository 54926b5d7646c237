import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeHeader, looksLikeBase64Header, parseHeader, parseHex } from '#src/enc/format.js';

test('hex as -K, -iv and -S read it', () => {
  assert.deepEqual(parseHex('0102', 2), { ok: true, bytes: Buffer.from([1, 2]) });
  assert.deepEqual(parseHex('012', 4), {
    ok: true,
    bytes: Buffer.from([1, 0x20, 0, 0]),
    warning: 'hex string is too short, padding with zero bytes to length',
  });
  assert.deepEqual(parseHex('', 1), {
    ok: true,
    bytes: Buffer.alloc(1),
    warning: 'hex string is too short, padding with zero bytes to length',
  });
  // OpenSSL does not look at what it ignores.
  assert.deepEqual(parseHex('0102zz', 2), {
    ok: true,
    bytes: Buffer.from([1, 2]),
    warning: 'hex string is too long, ignoring excess',
  });
  assert.deepEqual(parseHex('0g', 2), { ok: false, problem: 'non-hex digit' });
});

test('a header is read back', () => {
  const salt = Buffer.from('0102030405060708', 'hex');
  assert.deepEqual(parseHeader(encodeHeader(salt), 8, false), salt);
  assert.deepEqual(parseHeader(encodeHeader(Buffer.alloc(16, 3)), 16, false), Buffer.alloc(16, 3));
});

test('what is wrong with a header is said', () => {
  const text = (t: string) => Buffer.from(t, 'latin1');
  assert.throws(() => parseHeader(text(''), 8, false), { code: 'TRUNCATED_INPUT', message: /it is empty/ });
  assert.throws(() => parseHeader(text('Salt'), 8, false), {
    code: 'TRUNCATED_INPUT',
    message: /after 4 bytes/,
  });
  assert.throws(() => parseHeader(text('Salted__1234'), 8, false), {
    code: 'TRUNCATED_INPUT',
    message: /middle of the salt/,
  });
  assert.throws(() => parseHeader(text('Unsalted12345678'), 8, false), {
    code: 'BAD_MAGIC',
    message: /bad magic number: the input does not begin with Salted__/,
  });
  assert.throws(() => parseHeader(text('U2FsdGVkX19abcde'), 8, false), {
    code: 'BAD_MAGIC',
    message: /the input is base64: add -a/,
  });
  assert.throws(() => parseHeader(text('U2FsdGVkX19abcde'), 8, true), {
    message: /does not begin with Salted__/,
  });
});

test('base64 with a header is known by its first characters', () => {
  for (const text of [
    'U2FsdGVkX1',
    'U2FsdGVkX1+abc',
    '\n U2FsdGVkX1',
    '\u00ef\u00bb\u00bfU2FsdGVkX1',
    'U2FsdGV',
  ]) {
    assert.ok(looksLikeBase64Header(Buffer.from(text, 'latin1')), text);
  }
  for (const text of ['', 'U2F', 'Salted__', 'U2FsdGVkYY']) {
    assert.ok(!looksLikeBase64Header(Buffer.from(text, 'latin1')), text);
  }
});
