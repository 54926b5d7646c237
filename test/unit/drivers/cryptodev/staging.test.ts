/** When a request goes through memory of ours, and that this memory is what every driver takes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { aligned, BOUNCE_BYTES, REQUEST_BYTES, Staging, straight } from '#src/drivers/cryptodev/staging.js';
import { address } from '#src/linux/ffi.js';

const masks = fc.integer({ min: 0, max: 16 }).map((bits) => 2 ** bits - 1);

test('straight: what the module hands on as it is, and what fits its one page', () => {
  const at = 0x7f12_3456_7000;
  for (const [from, to, bytes, mask, expected] of [
    [at, at, 65_536, 15, true],
    [at + 8, at, 65_536, 15, false],
    [at, at + 4, 65_536, 15, false],
    [at + 4, at + 8, 65_536, 3, true],
    [at + 1, at + 3, 65_536, 0, true],
    [at + 1, at, BOUNCE_BYTES, 15, true],
    [at + 1, at, BOUNCE_BYTES + 1, 15, false],
    // Above 2^32, where an operator of JavaScript sees the low half only: enough.
    [0x1_0000_0001, 0x2_0000_0000, 5000, 15, false],
  ] as const) {
    assert.equal(straight(from, to, bytes, mask), expected, `${from} ${to} ${bytes} ${mask}`);
  }
});

test('aligned is what the module checks: each address by itself, to the mask plus one', () => {
  const addresses = fc.integer({ min: 0, max: 2 ** 47 });
  fc.assert(
    fc.property(addresses, addresses, masks, (from, to, mask) => {
      const unit = mask + 1;
      assert.equal(aligned(from, to, mask), from % unit === 0 && to % unit === 0);
    }),
  );
});

test('staging memory is long enough, aligned to page and mask, and used again', () => {
  const staging = new Staging();
  const sizes = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 * REQUEST_BYTES }), masks), { maxLength: 8 });
  fc.assert(
    fc.property(sizes, (requests) => {
      for (const [bytes, mask] of requests) {
        const { memory, address: at } = staging.reserve(bytes, mask);
        assert.ok(memory.length >= bytes);
        assert.equal(at, address(memory));
        assert.equal(at % Math.max(BOUNCE_BYTES, mask + 1), 0);
        memory[bytes - 1] = 1;
      }
    }),
    { numRuns: 30 },
  );
  const kept = new Staging();
  const first = kept.reserve(REQUEST_BYTES);
  assert.equal(kept.reserve(16).address, first.address);
  // What no request of a cipher needs is not kept.
  assert.notEqual(kept.reserve(4 * REQUEST_BYTES).address, first.address);
  assert.equal(kept.reserve(REQUEST_BYTES).address, first.address);
});
