import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bytes, outputBytes, overlap, pair, unaliased, wipe } from '#src/drivers/buffers.js';

test('bytes accepts any Uint8Array and names what it refuses as Node does', () => {
  const view = new Uint8Array(4);
  assert.equal(bytes(view, 'input'), view);
  const buffer = Buffer.alloc(3);
  assert.equal(bytes(buffer, 'input', 3), buffer);
  assert.equal(bytes(new Uint8Array(new SharedArrayBuffer(5)), 'input').length, 5);
  assert.equal(bytes(new Uint8Array(0), 'input', 0).length, 0);
  for (const [value, text] of [
    [undefined, 'Received undefined'],
    [null, 'Received null'],
    ['abc', "Received type string ('abc')"],
    [7, 'Received type number (7)'],
    [{}, 'Received an instance of Object'],
    [new ArrayBuffer(8), 'Received an instance of ArrayBuffer'],
    [new Uint16Array(2), 'Received an instance of Uint16Array'],
    [new DataView(new ArrayBuffer(2)), 'Received an instance of DataView'],
  ] as const) {
    assert.throws(
      () => bytes(value, 'key'),
      (e: Error & { code: string }) =>
        e instanceof TypeError && e.code === 'ERR_INVALID_ARG_TYPE' && e.message.endsWith(text),
    );
  }
});

test('a detached view is refused, also where any length would do', () => {
  const view = new Uint8Array(16);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  assert.equal(view.byteLength, 0);
  assert.throws(() => bytes(view, 'input'), { code: 'ERR_INVALID_STATE' });
  assert.throws(() => outputBytes(view, 'output', 0), { code: 'ERR_INVALID_STATE' });
  assert.throws(() => pair(view, new Uint8Array(16)), { code: 'ERR_INVALID_STATE' });
});

test('a view that its resizable buffer no longer covers is refused', () => {
  const resizable = ArrayBuffer as unknown as {
    new (n: number, o: { maxByteLength: number }): ArrayBuffer & { resize(n: number): void };
  };
  const buffer = new resizable(32, { maxByteLength: 64 });
  const view = new Uint8Array(buffer, 16, 16);
  assert.equal(bytes(view, 'input').length, 16);
  buffer.resize(8);
  assert.throws(() => bytes(view, 'input'), { code: 'ERR_INVALID_STATE' });
});

test('lengths: exact, at least, and multiples of the block', () => {
  assert.throws(() => bytes(new Uint8Array(15), 'iv', 16), { code: 'ERR_OUT_OF_RANGE' });
  assert.throws(() => outputBytes(new Uint8Array(15), 'output', 16), { code: 'ERR_OUT_OF_RANGE' });
  assert.equal(pair(new Uint8Array(32), new Uint8Array(40), 16), 32);
  assert.throws(() => pair(new Uint8Array(33), new Uint8Array(40), 16), { code: 'ERR_OUT_OF_RANGE' });
  assert.throws(() => pair(new Uint8Array(32), new Uint8Array(31), 16), { code: 'ERR_OUT_OF_RANGE' });
});

test('overlap tells in place from trouble', () => {
  const memory = new Uint8Array(64);
  const at = (start: number, length: number) => memory.subarray(start, start + length);
  assert.equal(overlap(at(0, 16), new Uint8Array(16)), 'none');
  assert.equal(overlap(at(0, 16), at(16, 16)), 'none');
  assert.equal(overlap(at(16, 16), at(0, 16)), 'none');
  assert.equal(overlap(at(0, 16), at(0, 16)), 'same');
  assert.equal(overlap(at(0, 16), at(0, 64)), 'same');
  assert.equal(overlap(at(0, 16), at(15, 16)), 'partial');
  assert.equal(overlap(at(15, 16), at(0, 16)), 'partial');
  // Only what is written counts: a roomy output whose tail reaches the input is no overlap.
  assert.equal(overlap(at(16, 16), at(0, 48), 16), 'none');
  assert.equal(unaliased(at(0, 16), at(0, 16)).buffer, memory.buffer);
  const copy = unaliased(at(0, 16), at(1, 16));
  assert.notEqual(copy.buffer, memory.buffer);
  assert.equal(copy.length, 16);
});

test('wipe overwrites and takes nothing for an answer', () => {
  const key = new Uint8Array([1, 2, 3]);
  wipe(key, undefined, null);
  assert.deepEqual([...key], [0, 0, 0]);
});
