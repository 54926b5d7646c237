/** Images made by cryptsetup, which is what hwcrypt's are compared with, and headers made wrong on purpose. */
import { spawnSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import type { Disk } from '#src/luks/device.js';
import { type BinaryHeader, decodeBinary, encodeHeader } from '#src/luks/header/binary.js';
import type { Source } from '#src/luks/header/read.js';

const found = (name: string): boolean => !spawnSync(name, ['--version']).error;

export const noCryptsetup = found('cryptsetup')
  ? false
  : 'cryptsetup is not installed: it is what this test compares with';

/** Standard output of cryptsetup; throws with what it said. */
export function cryptsetup(args: readonly string[], input: string | Uint8Array = ''): string {
  const { status, stdout, stderr } = spawnSync('cryptsetup', args, { input, timeout: 60_000 });
  if (status !== 0) throw new Error(`cryptsetup ${args.join(' ')}: ${status} ${stderr}`);
  return stdout.toString();
}

/** The least that cryptsetup takes: what is tested is the format, not the patience. */
export const CHEAP = {
  pbkdf2: ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'],
  argon2i: ['--pbkdf', 'argon2i', '--pbkdf-force-iterations', '4', '--pbkdf-memory', '64'],
  argon2id: ['--pbkdf', 'argon2id', '--pbkdf-force-iterations', '4', '--pbkdf-memory', '64'],
} as const;

/** A small header area: two copies of 16 KiB, and room for some keyslots. */
export const SMALL = ['--luks2-metadata-size', '16k', '--luks2-keyslots-size', '3m'];

export const PASSPHRASE = 'correct horse';

/** A new image at `path`, opened by `PASSPHRASE`. */
export function format(path: string, bytes: number, args: readonly string[]): void {
  writeFileSync(path, '');
  truncateSync(path, bytes);
  cryptsetup(['luksFormat', '--batch-mode', ...args, path, '-'], PASSPHRASE);
}

/** The volume key by cryptsetup's account. */
export function volumeKey(path: string, passphrase = PASSPHRASE): string {
  const told = cryptsetup(
    ['luksDump', '--batch-mode', '--dump-volume-key', '--key-file', '-', path],
    passphrase,
  );
  const [, hex = ''] = /MK dump:([\s0-9a-f]+)/.exec(told) ?? [];
  return hex.replace(/\s/g, '');
}

export function memory(bytes: Buffer, name = 'image'): Source {
  return { name, readAt: (offset, length) => Buffer.from(bytes.subarray(offset, offset + length)) };
}

/** The metadata of a LUKS2 image, as text. */
export function metadataOf(image: Buffer): string {
  const { headerBytes } = decodeBinary(image, 'primary', 0);
  const area = image.subarray(4096, headerBytes);
  return area.toString('utf8', 0, area.indexOf(0));
}

/** Both headers anew, with checksums that fit. @param change of the binary header */
export function withMetadata(image: Buffer, json: string, change: Partial<BinaryHeader> = {}): Buffer {
  const copy = Buffer.from(image);
  const binary = { ...decodeBinary(copy, 'primary', 0), ...change };
  encodeHeader(binary, 'primary', json).copy(copy, 0);
  encodeHeader(binary, 'secondary', json).copy(copy, binary.headerBytes);
  return copy;
}

/** The metadata with one value set; `undefined` takes it away. */
export function changed(json: string, place: readonly string[], value: unknown): string {
  const metadata = JSON.parse(json);
  let target = metadata;
  for (const key of place.slice(0, -1)) target = target[key];
  target[place.at(-1) as string] = value;
  return JSON.stringify(metadata);
}

export const bytesOf = (path: string): Buffer => readFileSync(path);

/** An image in memory, with every write on record: what a disk holds after each of them can be had again. */
export class RecordedDisk implements Disk {
  readonly name = 'recorded';
  readonly bytes: Buffer;
  readonly #before: Buffer;
  readonly writes: { readonly offset: number; readonly bytes: Buffer }[] = [];
  /** How many writes were known to be on the disk, at each flush. */
  readonly flushed: number[] = [];

  constructor(image: Buffer) {
    this.bytes = Buffer.from(image);
    this.#before = Buffer.from(image);
  }

  readAt(offset: number, bytes: number): Buffer {
    return Buffer.from(this.bytes.subarray(offset, offset + bytes));
  }

  writeAt(offset: number, bytes: Uint8Array): void {
    this.bytes.set(bytes, offset);
    this.writes.push({ offset, bytes: Buffer.from(bytes) });
  }

  flush(): void {
    this.flushed.push(this.writes.length);
  }

  locked<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  /**
   * What may be on the disk when the power fails after so many writes were asked for: all that was flushed, and of the others any
   * sectors of 512 bytes.
   */
  powerCut(issued: number, random: { integer(least: number, most: number): number }): Buffer {
    const whole = Math.max(0, ...this.flushed.filter((count) => count <= issued - 1));
    const image = this.crashed(whole, 0);
    for (const { offset, bytes } of this.writes.slice(whole, issued)) {
      for (let at = 0; at < bytes.length; at += 512) {
        if (random.integer(0, 1) === 1) image.set(bytes.subarray(at, at + 512), offset + at);
      }
    }
    return image;
  }

  /**
   * What may be on the disk after a crash: the first `whole` writes, and of the next one so many bytes, which may be its first
   * or, as disks do not promise an order, its last.
   */
  crashed(whole: number, torn: number, last = false): Buffer {
    const image = Buffer.from(this.#before);
    for (const { offset, bytes } of this.writes.slice(0, whole)) image.set(bytes, offset);
    const next = this.writes[whole];
    if (next) {
      const from = last ? next.bytes.length - torn : 0;
      image.set(next.bytes.subarray(from, from + torn), next.offset + from);
    }
    return image;
  }
}
