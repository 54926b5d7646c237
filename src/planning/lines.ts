/** The ciphers that a disk may be encrypted with, in dm-crypt's terms and in hwcrypt's. */
import { byCryptsetup } from '../algorithms.js';
import { parseDiskCipher } from '../bench/disk/index.js';

export type DiskMode = 'xts' | 'cbc' | 'adiantum';

/** A cipher with its key: what `--cipher` and `--key-size` say. */
export interface DiskLine {
  /** dm-crypt's specification, as `--cipher` takes it. */
  readonly cipher: string;
  /** Of the whole key, as `--key-size` takes it: twice that of the block cipher in XTS. */
  readonly keyBits: number;
  readonly mode: DiskMode;
  /** Measurements are known by it: hwcrypt's name, or dm-crypt's where there is none. */
  readonly algorithm: string;
  /** What dm-crypt asks the kernel for, the first that it has. */
  readonly kernelNames: readonly string[];
  /** It is in the table whether it was measured or not. */
  readonly usual: boolean;
}

function line(cipher: string, keyBits: number, usual = false): DiskLine {
  const { kernelNames, name } = parseDiskCipher(cipher, keyBits)!;
  const mode = (/-(xts|cbc|adiantum)-/.exec(cipher)?.[1] ?? 'xts') as DiskMode;
  const algorithm = byCryptsetup(name, keyBits)?.name ?? name;
  return { cipher, keyBits, mode, algorithm, kernelNames, usual };
}

const ESSIV = 'cbc-essiv:sha256';

/**
 * What a disk may have. CBC comes with ESSIV only: with plain64 the IVs can be foretold, and a file made for it shows through the encryption. ECB, and
 * whatever the kernel has besides, is nothing for a disk.
 */
export const LINES: readonly DiskLine[] = [
  line('aes-xts-plain64', 256, true),
  line('aes-xts-plain64', 512, true),
  line(`aes-${ESSIV}`, 128, true),
  line(`aes-${ESSIV}`, 256, true),
  line('xchacha12,aes-adiantum-plain64', 256),
  line('xchacha20,aes-adiantum-plain64', 256),
  ...['serpent', 'twofish', 'camellia'].flatMap((name) => [
    line(`${name}-xts-plain64`, 256),
    line(`${name}-xts-plain64`, 512),
    line(`${name}-${ESSIV}`, 128),
    line(`${name}-${ESSIV}`, 256),
  ]),
];

/** A volume's own cipher, where it is one of those; CBC with any IV counts as CBC. */
export function lineOf(specification: string, keyBits: number | undefined): DiskLine | undefined {
  const own = parseDiskCipher(specification, keyBits ?? 0);
  if (!own) return undefined;
  const named = LINES.filter(({ cipher, keyBits: bits }) => parseDiskCipher(cipher, bits)!.name === own.name);
  return named.find((one) => one.keyBits === keyBits) ?? (keyBits === undefined ? named.at(-1) : undefined);
}

/** Gives it away what lies on the disk? IVs that can be foretold let a file made for it show; in ECB equal blocks are equal. */
export const isWeak = (specification: string): boolean =>
  /cipher_null|-ecb\b|-cbc-(?:plain|null|benbi)/.test(specification) || /^[a-z0-9_]+$/.test(specification);

/** Is it AES, whose speed depends on the CPU's instructions or an engine? */
export const isAes = ({ cipher }: DiskLine): boolean => /^aes-(?:xts|cbc)-/.test(cipher);
