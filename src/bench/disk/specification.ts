/**
 * dm-crypt's cipher specifications: `aes-xts-plain64`, `aes-cbc-essiv:sha256`, `capi:xts(aes)-plain64`.
 *
 * Source: Documentation/admin-guide/device-mapper/dm-crypt.rst, drivers/md/dm-crypt.c.
 */
import { createCipheriv, createHash, getCipherInfo } from 'node:crypto';

export interface DiskCipher {
  /** As the mapping's table has it, with an IV. */
  readonly specification: string;
  /** As cryptsetup's table has it: `aes-xts`. */
  readonly name: string;
  readonly keyBits: number;
  /** What dm-crypt asks the kernel for: the first that it has (`essiv(…)` is a template from Linux 5.4 on). */
  readonly kernelNames: readonly string[];
}

/** What the modes are used with where nobody says: cryptsetup's choices. */
const USUAL_IV: Readonly<Record<string, string>> = { cbc: 'essiv:sha256', ecb: '' };

/** @returns undefined for what is no specification */
export function parseDiskCipher(text: string, keyBits: number): DiskCipher | undefined {
  const lower = text.toLowerCase();
  const capi = /^capi:([a-z0-9_(),-]+\))(?:-([a-z0-9]+(?::[a-z0-9_-]+)?))?$/.exec(lower);
  if (capi) {
    const [, kernel = '', iv = 'plain64'] = capi;
    return {
      specification: `capi:${kernel}-${iv}`,
      name: `capi:${kernel}`,
      keyBits,
      kernelNames: essiv(kernel, iv),
    };
  }
  const plain = /^([a-z0-9_,]+)(?:-([a-z0-9_]+)(?:-([a-z0-9]+(?::[a-z0-9_-]+)?))?)?$/.exec(lower);
  if (!plain) return undefined;
  // A bare cipher is CBC with the plain IV, as it always was to dm-crypt.
  const [, cipher = '', mode = 'cbc', named] = plain;
  const iv = named ?? (plain[2] === undefined ? 'plain' : (USUAL_IV[mode] ?? 'plain64'));
  const name = `${cipher}-${mode}`;
  return {
    specification: iv === '' ? name : `${name}-${iv}`,
    name,
    keyBits,
    kernelNames: essiv(mode === 'adiantum' ? `adiantum(${cipher})` : `${mode}(${cipher})`, iv),
  };
}

function essiv(kernel: string, iv: string): string[] {
  const hash = /^essiv:(.+)$/.exec(iv)?.[1];
  return hash === undefined ? [kernel] : [`essiv(${kernel},${hash})`, kernel];
}

/**
 * What dm-crypt makes of one sector, by node:crypto: what a mapping is checked against. `number` counts 512 bytes whatever the size of
 * a sector, as LUKS has it. Undefined for a cipher or an IV that node:crypto cannot do.
 */
export function encryptedSector(
  { specification }: DiskCipher,
  key: Uint8Array,
  number: number,
  data: Uint8Array,
): Buffer | undefined {
  const match = /^aes-(xts|cbc)-(plain64|plain|essiv:(\w+))$/.exec(specification);
  if (!match) return undefined;
  const [, mode, , hash] = match;
  const bits = (key.length * 8) / (mode === 'xts' ? 2 : 1);
  const name = `aes-${bits}-${mode}`;
  if (getCipherInfo(name) === undefined) return undefined;
  let iv: Buffer = Buffer.alloc(16);
  iv.writeBigUInt64LE(BigInt(number));
  if (hash !== undefined) {
    const salt = createHash(hash).update(key).digest();
    const salted = createCipheriv(`aes-${salt.length * 8}-ecb`, salt, null).setAutoPadding(false);
    iv = salted.update(iv);
    salt.fill(0);
  }
  const cipher = createCipheriv(name, key, iv).setAutoPadding(false);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}
