/**
 * What a LUKS header says, version 1 and 2 in the same terms. Sizes and offsets are in bytes from the start of the image (segments: of
 * the data, which with a detached header is another file).
 *
 * Room `luks`.
 */

/** Where a keyslot's material lies and how it is encrypted. */
export interface KeyArea {
  readonly offset: number;
  readonly bytes: number;
  /** dm-crypt's specification: `aes-xts-plain64`. */
  readonly encryption: string;
  readonly keyBytes: number;
}

export type KeyslotKdf =
  | { readonly type: 'pbkdf2'; readonly hash: string; readonly iterations: number; readonly salt: Buffer }
  | {
      readonly type: 'argon2i' | 'argon2id';
      readonly iterations: number;
      readonly memoryKiB: number;
      readonly threads: number;
      readonly salt: Buffer;
    };

/** A keyslot that a passphrase opens. */
export interface PassphraseKeyslot {
  readonly type: 'luks1' | 'luks2';
  readonly id: number;
  /** Length of the volume key in it. */
  readonly keyBytes: number;
  readonly area: KeyArea;
  readonly kdf: KeyslotKdf;
  readonly af: { readonly stripes: number; readonly hash: string };
  /** 0: only if it is named; 1: normal; 2: first. */
  readonly priority: number;
}

/** A keyslot of another type (`reencrypt` …): known to be there, and where. */
export interface OtherKeyslot {
  readonly type: string;
  readonly id: number;
  readonly keyBytes: number;
  readonly area: { readonly offset: number; readonly bytes: number };
  readonly priority: number;
}

export type Keyslot = PassphraseKeyslot | OtherKeyslot;

export function opensByPassphrase(slot: Keyslot): slot is PassphraseKeyslot {
  return slot.type === 'luks1' || slot.type === 'luks2';
}

/** Tells whether a volume key is the right one. */
export interface Digest {
  readonly id: number;
  /** `pbkdf2`; of another type nothing but the lists is known. */
  readonly type: string;
  readonly hash: string;
  readonly iterations: number;
  readonly salt: Buffer;
  readonly digest: Buffer;
  readonly keyslots: readonly number[];
  readonly segments: readonly number[];
}

export interface Segment {
  readonly id: number;
  /** `crypt`, `linear`, or one that is not done here. */
  readonly type: string;
  readonly offset: number;
  /** Undefined: to the end of the data. */
  readonly bytes?: number;
  readonly flags: readonly string[];
  /** Of `crypt` only. */
  readonly crypt?: {
    readonly encryption: string;
    /** Bytes of one encrypted unit: 512, 1024, 2048 or 4096. */
    readonly sectorBytes: number;
    /** Added to the number of the sector, in units of 512 bytes. */
    readonly ivTweak: bigint;
    /** dm-integrity's algorithm, where there is one below. */
    readonly integrity?: string;
  };
}

/** A segment that an unfinished re-encryption may need, and that is no part of the data. */
export const isBackup = (flags: readonly string[]): boolean =>
  flags.some((flag) => flag.startsWith('backup-'));

export interface Token {
  readonly id: number;
  readonly type: string;
  readonly keyslots: readonly number[];
}

/** How one of the two copies of a LUKS2 header was found. */
export interface HeaderCopy {
  readonly name: 'primary' | 'secondary';
  readonly offset: number;
  /** Undefined where the copy is not usable; then `problem` says why. */
  readonly seqid?: bigint;
  readonly problem?: string;
}

/** What only LUKS2 has. */
export interface Luks2Facts {
  /** Binary header and JSON area together: where the secondary header begins. */
  readonly headerBytes: number;
  readonly keyslotsBytes: number;
  readonly seqid: bigint;
  readonly checksum: string;
  /** The copy that counts first. */
  readonly copies: readonly HeaderCopy[];
  /** The metadata as it was found, fields that are not known here among them: an update must keep those. */
  readonly metadata: JsonObject;
  /** What of the header has bytes that are no UTF-8, which a change would lose. */
  readonly notUtf8?: string;
  /** Random bytes of both copies, which are no secret. */
  readonly salts: { readonly primary: Buffer; readonly secondary: Buffer };
}

export interface LuksHeader {
  readonly version: 1 | 2;
  readonly uuid: string;
  readonly label: string;
  readonly subsystem: string;
  readonly keyslots: readonly Keyslot[];
  readonly digests: readonly Digest[];
  readonly segments: readonly Segment[];
  readonly tokens: readonly Token[];
  /** `allow-discards` …: how the volume is to be opened. */
  readonly flags: readonly string[];
  /** What a program must be able to do before it may open or change the volume. */
  readonly requirements: readonly string[];
  /** The end of everything that is no data. */
  readonly metadataBytes: number;
  readonly luks2?: Luks2Facts;
}

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}
