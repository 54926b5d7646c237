/**
 * The expected bytes were printed by one C program built with the kernel's and the C library's own headers for x86-64,
 * i386, s390x and 32-bit big-endian MIPS.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  type Abi,
  ALG_LONG_NAME_MAX,
  ALG_OP_ENCRYPT,
  addressProblem,
  cmsgSpace,
  encodeRequest,
  hostAbi,
  iovecBytes,
  msghdrBytes,
  putIovec,
  putWord,
  requestLayout,
  sockaddrAlg,
} from '#src/linux/abi.js';

interface Expected {
  readonly abi: Abi;
  readonly sockaddr: string;
  readonly request: string;
}

const COMPILED: Readonly<Record<string, Expected>> = {
  '64le': {
    abi: { wordBytes: 8, littleEndian: true },
    sockaddr:
      '2600736b636970686572000000000000443322110d0c0b0a636263286165732900000000000000000000000000000000' +
      '00000000000000000000000000000000000000000000000000000000000000000000000000000000',
    request:
      '000000000000000000000000000000003850341200000000030000000000000068503412000000005000000000000000' +
      '000000000000000000100000000000000500000000000000002000000000000034120000000000000030000000000000' +
      '100000000000000014000000000000001701000003000000010000000000000020000000000000001701000002000000' +
      '0c000000a0a1a2a3a4a5a6a7a8a9aaab140000000000000017010000040000000500000000000000',
  },
  '32le': {
    abi: { wordBytes: 4, littleEndian: true },
    sockaddr:
      '2600736b636970686572000000000000443322110d0c0b0a636263286165732900000000000000000000000000000000' +
      '00000000000000000000000000000000000000000000000000000000000000000000000000000000',
    request:
      '00000000000000001c50341203000000345034123c000000000000000010000005000000002000003412000000300000' +
      '10000000100000001701000003000000010000001c00000017010000020000000c000000a0a1a2a3a4a5a6a7a8a9aaab' +
      '10000000170100000400000005000000',
  },
  '64be': {
    abi: { wordBytes: 8, littleEndian: false },
    sockaddr:
      '0026736b636970686572000000000000112233440a0b0c0d636263286165732900000000000000000000000000000000' +
      '00000000000000000000000000000000000000000000000000000000000000000000000000000000',
    request:
      '000000000000000000000000000000000000000012345038000000000000000300000000123450680000000000000050' +
      '000000000000000000000000000010000000000000000005000000000000200000000000000012340000000000003000' +
      '000000000000001000000000000000140000011700000003000000010000000000000000000000200000011700000002' +
      '0000000ca0a1a2a3a4a5a6a7a8a9aaab000000000000001400000117000000040000000500000000',
  },
  '32be': {
    abi: { wordBytes: 4, littleEndian: false },
    sockaddr:
      '0026736b636970686572000000000000112233440a0b0c0d636263286165732900000000000000000000000000000000' +
      '00000000000000000000000000000000000000000000000000000000000000000000000000000000',
    request:
      '00000000000000001234501c00000003123450340000003c000000000000100000000005000020000000123400003000' +
      '00000010000000100000011700000003000000010000001c00000117000000020000000ca0a1a2a3a4a5a6a7a8a9aaab' +
      '00000010000001170000000400000005',
  },
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

for (const [name, { abi, sockaddr, request }] of Object.entries(COMPILED)) {
  test(`sockaddr_alg, ${name}`, () => {
    assert.equal(
      hex(sockaddrAlg(abi, 'skcipher', 'cbc(aes)', { feat: 0x11223344, mask: 0x0a0b0c0d })),
      sockaddr,
    );
  });

  test(`an AEAD request: msghdr, three iovecs, three control messages, ${name}`, () => {
    const shape = { ivBytes: 12, aead: true, iovecs: 3 };
    const block = new Uint8Array(requestLayout(abi, shape).bytes + 7).fill(0xee);
    const layout = encodeRequest(block, 0x12345000, ALG_OP_ENCRYPT, shape, abi);
    const view = new DataView(block.buffer);
    putIovec(view, layout.iovec, 0, 0x1000, 5, abi);
    putIovec(view, layout.iovec, 1, 0x2000, 0x1234, abi);
    putIovec(view, layout.iovec, 2, 0x3000, 16, abi);
    for (let i = 0; i < 12; i++) block[layout.iv + i] = 0xa0 + i;
    view.setUint32(layout.assocLen, 5, abi.littleEndian);
    assert.equal(hex(block.subarray(0, layout.bytes)), request);
    // Nothing behind the block is touched.
    assert.equal(hex(block.subarray(layout.bytes)), 'ee'.repeat(7));
    putWord(view, layout.iovecCount, 2, abi);
    assert.notEqual(hex(block.subarray(0, layout.bytes)), request);
  });
}

test('sizes of the structures', () => {
  const wide = hostAbi('x64', 'LE');
  const narrow = hostAbi('arm', 'LE');
  assert.deepEqual(
    [msghdrBytes(wide), iovecBytes(wide, 1), msghdrBytes(narrow), iovecBytes(narrow, 1)],
    [56, 16, 28, 8],
  );
  assert.deepEqual(
    [4, 16, 20].map((n) => cmsgSpace(wide, n)),
    [24, 32, 40],
  );
  assert.deepEqual(
    [4, 16, 20].map((n) => cmsgSpace(narrow, n)),
    [16, 28, 32],
  );
  assert.deepEqual(hostAbi('s390x', 'BE'), { wordBytes: 8, littleEndian: false });
  assert.deepEqual(hostAbi('riscv64', 'LE'), { wordBytes: 8, littleEndian: true });
});

test('a request without an IV has no IV message, and without aad no length', () => {
  const layout = requestLayout(hostAbi('x64', 'LE'), { ivBytes: 0, aead: false, iovecs: 1 });
  assert.deepEqual([layout.iv, layout.assocLen, layout.controlBytes], [-1, -1, 24]);
});

test('addresses above 2^32 keep their high half', () => {
  const view = new DataView(new ArrayBuffer(8));
  putWord(view, 0, 0x7fff_1234_5678, { wordBytes: 8, littleEndian: true });
  assert.equal(view.getBigUint64(0, true), 0x7fff_1234_5678n);
  putWord(view, 0, 0x7fff_1234_5678, { wordBytes: 8, littleEndian: false });
  assert.equal(view.getBigUint64(0, false), 0x7fff_1234_5678n);
});

test('names: 63 bytes take the short address, 64 to 103 the long one, and the rest is refused', () => {
  const abi = hostAbi('x64', 'LE');
  assert.equal(sockaddrAlg(abi, 'hash', 'x'.repeat(63)).length, 88);
  const long = sockaddrAlg(abi, 'hash', 'x'.repeat(64));
  assert.equal(long.length, 24 + 64 + 1);
  assert.equal(long.at(-1), 0);
  assert.equal(sockaddrAlg(abi, 'hash', 'x'.repeat(ALG_LONG_NAME_MAX)).length, 128);
  for (const [type, name] of [
    ['hash', 'x'.repeat(ALG_LONG_NAME_MAX + 1)],
    ['hash', ''],
    ['', 'sha1'],
    ['a'.repeat(14), 'sha1'],
    ['hash', 'sha1\0'],
    ['hash', 'sha\u00e9'],
    ['hash', 'sha 1'],
    ['ha\0sh', 'sha1'],
  ] as const) {
    assert.notEqual(addressProblem(type, name), undefined, `${type} ${name}`);
    assert.throws(() => sockaddrAlg(abi, type, name), RangeError);
  }
  assert.equal(addressProblem('skcipher', 'authenc(hmac(sha256),cbc(aes))'), undefined);
});
