/** Sectors as dm-crypt encrypts them, written out anew over node:crypto, for every IV and size and over every driver that is here. */
import assert from 'node:assert/strict';
import { createCipheriv, createHash } from 'node:crypto';
import { test } from 'node:test';
import { allDrivers } from '#src/drivers/registry.js';
import { SectorCipher } from '#src/luks/sectors/cipher.js';
import { parseSpecification } from '#src/luks/sectors/specification.js';
import { Router } from '#src/routing/router.js';
import { Random } from '../../helpers/random.js';

interface Case {
  readonly spec: string;
  readonly keyBytes: number;
  readonly sectorBytes: number;
  readonly tweak: bigint;
  readonly large: boolean;
}

/** One sector, by the kernel's documentation. */
function reference(
  { spec, keyBytes, sectorBytes, tweak, large }: Case,
  key: Uint8Array,
  at: number,
  plain: Uint8Array,
): Buffer {
  const [, mode = '', generator = '', hash] = /^aes-(\w+)-(\w+)(?::(\w+))?$/.exec(spec) ?? [];
  let number = BigInt.asUintN(64, tweak + BigInt(at / 512));
  if (large) number /= BigInt(sectorBytes / 512);
  let iv = Buffer.alloc(16);
  if (generator === 'plain') iv.writeUInt32LE(Number(number & 0xffff_ffffn));
  else if (generator === 'plain64be') iv.writeBigUInt64BE(number, 8);
  else if (generator !== 'null') iv.writeBigUInt64LE(number);
  if (hash !== undefined) {
    const salt = createHash(hash).update(key).digest();
    const ecb = createCipheriv(`aes-${salt.length * 8}-ecb`, salt, null).setAutoPadding(false);
    iv = Buffer.concat([ecb.update(iv), ecb.final()]);
  }
  const bits = (keyBytes * 8) / (mode === 'xts' ? 2 : 1);
  const cipher = createCipheriv(`aes-${bits}-${mode}`, key, iv).setAutoPadding(false);
  return Buffer.concat([cipher.update(plain), cipher.final()]);
}

const SPECS: readonly [string, number][] = [
  ['aes-xts-plain64', 64],
  ['aes-xts-plain64', 32],
  ['aes-xts-plain', 32],
  ['aes-xts-plain64be', 32],
  ['aes-xts-essiv:sha256', 32],
  ['aes-cbc-plain64', 16],
  ['aes-cbc-plain', 32],
  ['aes-cbc-null', 24],
  ['aes-cbc-essiv:sha256', 32],
  ['aes-cbc-essiv:md5', 16],
];

for (const { name } of allDrivers().filter((driver) => driver.probe().available)) {
  test(`${name}: every IV, sector size and convention`, () => {
    const random = new Random(`sectors ${name}`);
    const router = new Router({ drivers: [name, 'node'], onFallback: () => {} });
    for (const [spec, keyBytes] of SPECS) {
      for (const sectorBytes of [512, 1024, 2048, 4096]) {
        // Numbers that pass 2^32, and 2^64, in the middle of a run.
        const tweak = random.pick([0n, 5n, 2n ** 32n - 4n, 2n ** 64n - 4n, 2n ** 40n]);
        const one: Case = { spec, keyBytes, sectorBytes, tweak, large: random.integer(0, 1) === 1 };
        const key = random.bytes(keyBytes);
        const at = random.pick([0, sectorBytes * 3, sectorBytes * 1_000_003]);
        const count = random.integer(1, 9);
        const plain = Buffer.from(random.bytes(count * sectorBytes));
        const wanted = Buffer.concat(
          Array.from({ length: count }, (_, i) =>
            reference(one, key, at + i * sectorBytes, plain.subarray(i * sectorBytes, (i + 1) * sectorBytes)),
          ),
        );
        const options = { sectorBytes, ivTweak: tweak, ivLargeSectors: one.large, router };
        const label = `${spec} ${keyBytes * 8} ${sectorBytes} ${tweak} ${one.large} ${at} ${count}`;
        const parsed = parseSpecification(spec, keyBytes);
        // Off any alignment, with something on both sides that must stay.
        const room = Buffer.alloc(plain.length + 7, 0xaa);
        const data = room.subarray(3, 3 + plain.length);
        data.set(plain);
        using encrypt = new SectorCipher(parsed, 'encrypt', key, options);
        encrypt.run(data, at);
        assert.ok(data.equals(wanted), `${label}: encrypted`);
        using decrypt = new SectorCipher(parsed, 'decrypt', key, options);
        decrypt.run(data, at);
        assert.ok(data.equals(plain), `${label}: decrypted`);
        assert.deepEqual([room[2], room.at(-1)], [0xaa, 0xaa]);
      }
    }
  });
}

test('what is no specification, or nobody has, is refused', () => {
  for (const [spec, bytes] of [
    ['', 32],
    ['aes', 32],
    ['aes-xts', 32],
    ['aes-xts-plain64', 31],
    ['aes-cbc-essiv', 32],
    ['aes-cbc-essiv:nohash', 32],
    ['aes-cbc-benbi', 32],
    ['aes-xts-plain64:x', 32],
    ['des3_ede-cbc-plain64', 24],
    ['aes-gcm-random', 32],
    ['\u001b[2J-cbc-plain', 32],
  ] as const) {
    assert.throws(
      () => parseSpecification(spec, bytes),
      (error: Error & { code: string }) => {
        assert.equal(error.code, 'LUKS_UNSUPPORTED', spec);
        return !error.message.includes('\u001b');
      },
    );
  }
});
