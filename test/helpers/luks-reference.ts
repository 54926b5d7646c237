/**
 * What dm-crypt makes of a sector, written down from the definitions of XTS, CBC and the IVs and from nothing else: one sector at a time, over a
 * block cipher in ECB. For comparison only.
 */
import { createCipheriv as byNode, createHash, createDecipheriv as decipherByNode } from 'node:crypto';
import { createCipheriv, createDecipheriv } from '#src/index.js';

const BLOCK = 16;

type Blocks = (data: Uint8Array) => Buffer;

/** AES is Node's own; of the others hwcrypt's drivers have the block cipher. */
function blocksOf(family: string, key: Uint8Array, direction: 'encrypt' | 'decrypt'): Blocks {
  const name = `${family}-${key.length * 8}-ecb`;
  return (data) => {
    const cipher =
      direction === 'encrypt'
        ? (family === 'aes' ? byNode : createCipheriv)(name, key, null)
        : (family === 'aes' ? decipherByNode : createDecipheriv)(name, key, null);
    cipher.setAutoPadding(false);
    return Buffer.concat([cipher.update(data), cipher.final()]);
  };
}

const xor = (data: Uint8Array, other: Uint8Array): Buffer =>
  Buffer.from(data.map((byte, i) => byte ^ (other[i] as number)));

/** α times the tweak, of each block in turn: IEEE 1619, 5.2. */
function tweaks(first: Buffer, bytes: number): Buffer {
  const all = Buffer.alloc(bytes);
  const tweak = Buffer.from(first);
  for (let at = 0; at < bytes; at += BLOCK) {
    tweak.copy(all, at);
    let carry = 0;
    for (let i = 0; i < BLOCK; i++) {
      const byte = (tweak[i] as number) * 2 + carry;
      tweak[i] = byte & 0xff;
      carry = byte >> 8;
    }
    if (carry) tweak[0] = (tweak[0] as number) ^ 0x87;
  }
  return all;
}

/**
 * The plaintext of whole sectors.
 * @param specification `serpent-cbc-essiv:sha256`
 * @param sector number of the first one, in units of 512 bytes
 */
export function decryptSectors(
  specification: string,
  key: Uint8Array,
  sectorBytes: number,
  data: Buffer,
  sector = 0,
): Buffer {
  const [family, mode, iv] = specification.split('-') as [string, string, string];
  const half = mode === 'xts' ? key.length / 2 : key.length;
  const decrypt = blocksOf(family, key.subarray(0, half), 'decrypt');
  const hashed = iv.startsWith('essiv:') ? createHash(iv.slice(6)).update(key).digest() : undefined;
  const second = mode === 'xts' ? key.subarray(half) : hashed;
  const encrypt = second && blocksOf(family, second, 'encrypt');
  const made: Buffer[] = [];
  for (let at = 0; at < data.length; at += sectorBytes) {
    const own = data.subarray(at, at + sectorBytes);
    const number = Buffer.alloc(BLOCK);
    number.writeBigUInt64LE(BigInt(sector + at / 512));
    const start = encrypt ? encrypt(number) : number;
    if (mode === 'xts') {
      const masks = tweaks(start, own.length);
      made.push(xor(decrypt(xor(own, masks)), masks));
    } else made.push(xor(decrypt(own), Buffer.concat([start, own.subarray(0, -BLOCK)])));
  }
  return Buffer.concat(made);
}
