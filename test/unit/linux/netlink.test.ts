/** Messages of one real dump: Linux 6.1, user-mode, little endian, after cbc, gcm, drbg and cryptd had been bound. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import {
  CRYPTO_ALG,
  decodeAlgorithm,
  decodeMessages,
  dumpAlgorithms,
  encodeGetAlgorithms,
  listAlgorithms,
  OFF_CPU_MASK,
} from '#src/linux/netlink.js';

const LITTLE = { wordBytes: 8, littleEndian: true } as const;
const BIG = { wordBytes: 8, littleEndian: false } as const;

/** Hexadecimal; `(n)` stands for n zero bytes. */
function unpack(text: string): Uint8Array {
  return Buffer.from(
    text.replaceAll(/\((\d+)\)/g, (_, n) => '00'.repeat(Number(n))),
    'hex',
  );
}

const RAW = {
  sha256: unpack(
    '340100001300020001000000aa020000736861323536(58)7368613235362d67656e65726963(50)6b65726e65' +
      '6c(66)010000000e04000008000100640000004c0003007368617368(59)4000000020000000',
  ),
  aes: unpack(
    '380100001300020001000000aa020000616573(61)6165732d67656e65726963(53)6b65726e656c(66)010000' +
      '0001040000080001006400000050000800636970686572(58)100000001000000020000000',
  ),
  cryptd: unpack(
    '7c0100001300020001000000aa0200006362632861657329(56)63727970746428636263286165732d67656e65' +
      '7269632929(40)637279707464(66)01000000850c0000080001009600000094000400736b636970686572(56)' +
      '3c6e6f6e653e(58)10000000100000002000000010000000',
  ),
  gcm: unpack(
    '780100001300020001000000aa02000067636d2861657329(56)67636d5f6261736528637472286165732d6765' +
      '6e65726963292c67686173682d67656e6572696329(24)67636d(69)01000000030c0000080001006400000090' +
      '00050061656164(60)3c6e6f6e653e(58)01000000100000000c000000',
  ),
  drbg: unpack(
    '300100001300020001000000aa020000737464726e67(58)647262675f6e6f70725f686d61635f736861323536' +
      '(43)64726267(68)010000000c04000008000100ce00000048000700726e67(65)',
  ),
  done: unpack('140000000300020001000000aa02(6)'),
};

function decode(bytes: Uint8Array) {
  const [message] = decodeMessages(bytes, LITTLE);
  assert.ok(message);
  return decodeAlgorithm(message.payload, LITTLE);
}

test('the request asks for a dump of everything', () => {
  const request = encodeGetAlgorithms(7, LITTLE);
  assert.equal(request.length, 16 + 208);
  assert.equal(Buffer.from(request.subarray(0, 16)).toString('hex'), 'e00000001300010307000000' + '00000000');
  assert.equal(
    Buffer.from(encodeGetAlgorithms(7, BIG).subarray(0, 16)).toString('hex'),
    '000000e000130301' + '0000000700000000',
  );
  assert.ok(request.subarray(16).every((byte) => byte === 0));
});

test('a cipher mode: sizes and flags, and that it is asynchronous software', () => {
  const entry = decode(RAW.cryptd);
  assert.deepEqual(entry, {
    name: 'cbc(aes)',
    driver: 'cryptd(cbc(aes-generic))',
    module: 'cryptd',
    type: 'skcipher',
    priority: 150,
    refcnt: 1,
    internal: false,
    selftest: 'passed',
    async: true,
    flags: 0xc85,
    blockBytes: 16,
    minKeyBytes: 16,
    maxKeyBytes: 32,
    ivBytes: 16,
  });
  assert.equal((entry?.flags ?? 0) & OFF_CPU_MASK, CRYPTO_ALG.ASYNC);
});

test('an AEAD, a hash, a generator and a bare cipher', () => {
  const gcm = decode(RAW.gcm);
  assert.deepEqual(
    [gcm?.name, gcm?.type, gcm?.blockBytes, gcm?.maxAuthBytes, gcm?.ivBytes, gcm?.async],
    ['gcm(aes)', 'aead', 1, 16, 12, false],
  );
  const sha = decode(RAW.sha256);
  assert.deepEqual([sha?.name, sha?.type, sha?.blockBytes, sha?.digestBytes], ['sha256', 'shash', 64, 32]);
  const drbg = decode(RAW.drbg);
  assert.deepEqual([drbg?.name, drbg?.type, drbg?.seedBytes], ['stdrng', 'rng', 0]);
  const aes = decode(RAW.aes);
  assert.deepEqual([aes?.type, aes?.minKeyBytes, aes?.maxKeyBytes], ['cipher', 16, 32]);
});

test('a datagram of several messages, and the end mark', () => {
  const datagram = Buffer.concat([RAW.aes, RAW.sha256, RAW.done]);
  const messages = decodeMessages(datagram, LITTLE);
  assert.deepEqual(
    messages.map(({ type, sequence, flags }) => [type, sequence, flags]),
    [
      [0x13, 1, 2],
      [0x13, 1, 2],
      [3, 1, 2],
    ],
  );
});

test('cut or corrupted messages never throw and never read past the end', () => {
  const whole = Buffer.concat(Object.values(RAW));
  for (let length = 0; length <= whole.length; length += 3) {
    for (const message of decodeMessages(whole.subarray(0, length), LITTLE)) {
      decodeAlgorithm(message.payload, LITTLE);
    }
  }
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 40 }),
      fc.boolean(),
      (changes, littleEndian) => {
        const bytes = Uint8Array.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        for (const message of decodeMessages(bytes, { wordBytes: 8, littleEndian })) {
          decodeAlgorithm(message.payload, { wordBytes: 8, littleEndian });
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('the real call gives a list or a reason, and the fallback one of the two', () => {
  const dump = dumpAlgorithms();
  if (dump.algorithms) assert.ok(dump.algorithms.length > 0);
  else {
    assert.match(dump.reason.message, /crypto|NETLINK/i);
    assert.ok(dump.reason.errno);
  }
  const list = listAlgorithms();
  if (list.source === 'netlink') assert.ok(list.algorithms.some((entry) => entry.flags !== undefined));
  else assert.ok(list.reason);
});
