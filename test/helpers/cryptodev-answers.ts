/**
 * One conversation with a /dev/crypto, some three thousand ioctls long: what is asked, and what comes back of errno and bytes, as lines of
 * text. cryptodev-linux has answered it once (test/data/cryptodev); what claims to be like it must give the same lines.
 *
 * Left out is what makes the module's kernel crash: null pointers with a length and no copying, plain requests to an AEAD's session,
 * tag lengths that an AEAD does not have, results where nothing can be written (it then releases pages that it does not have).
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { errnoName } from '#src/linux/errno.js';
import { address, processLibrary } from '#src/linux/ffi.js';
import { ioctl } from '#src/linux/libc.js';
import * as abi from '../../rig/cryptodev/abi.js';

const { FLAG, SESSION_OP, CRYPT_OP, CRYPT_AUTH_OP, SESSION_INFO_OP } = abi;

const ARENA_BYTES = 16 << 20;
const PAGE = 4096;
/** Places in the arena, far enough from each other for the longest request. */
const SRC = 0;
const DST = 4 << 20;
const OTHER = 8 << 20;
const AUTH = 12 << 20;
const SMALL = 13 << 20;
const KEY = SMALL;
const IV = SMALL + PAGE;
const MAC = SMALL + 2 * PAGE;
const OP = SMALL + 3 * PAGE;

const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_PRIVATE_ANONYMOUS = 0x22;

/** Nothing is mapped there: the first page, and the kernel's half. */
const NOWHERE = 16n;
const KERNEL = 0xffff_8880_0000_0000n;

/** The ids that the header knows, and some that it does not. */
const HIGHEST_ID = 120;
const KEYS: Readonly<Record<number, number>> = {
  1: 8,
  2: 24,
  3: 16,
  11: 16,
  16: 0,
  21: 32,
  22: 32,
  23: 24,
  24: 16,
  25: 32,
  50: 16,
  51: 32,
  101: 16,
};
const PLAIN = [1, 2, 3, 11, 16, 21, 22, 23, 24, 25, 101];
const HASHES = [6, 7, 8, 13, 14, 18, 19, 20, 102, 103, 104, 105, 106, 107];

/** Around every length that some cipher takes. */
const KEY_LENGTHS = [
  0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 56, 57, 63, 64, 65, 66,
];

interface SessionFields {
  cipher?: number;
  mac?: number;
  keyBytes?: number;
  key?: bigint;
  macKeyBytes?: number;
  macKey?: bigint;
}

interface CryptFields {
  op?: number;
  flags?: number;
  length?: number;
  src?: bigint;
  dst?: bigint;
  mac?: bigint;
  iv?: bigint;
}

interface AuthFields extends Omit<CryptFields, 'mac'> {
  authLength?: number;
  authSrc?: bigint;
  tag?: bigint;
  tagBytes?: number;
  ivBytes?: number;
}

/** The lines of the whole conversation. `onLine` gets each as it comes: what is asked next may be the last thing. */
export function answers(device: string, onLine: (line: string) => void = () => {}): string[] {
  const talk = new Conversation(device, onLine);
  try {
    sessions(talk);
    ciphers(talk);
    lengths(talk);
    hashes(talk);
    cipherAndMac(talk);
    aeads(talk);
    tls(talk);
    srtp(talk);
    misuse(talk);
    return talk.lines;
  } finally {
    talk.close();
  }
}

class Conversation {
  readonly lines: string[] = [];
  readonly #onLine: (line: string) => void;
  readonly #fd: number;
  readonly #otherFd: number;
  readonly #arena: Uint8Array;
  readonly #base: number;
  readonly readOnly: bigint;

  constructor(device: string, onLine: (line: string) => void) {
    this.#onLine = onLine;
    this.#fd = openSync(device, 'r+');
    this.#otherFd = openSync(device, 'r+');
    const roomy = new Uint8Array(ARENA_BYTES + PAGE);
    this.#arena = roomy.subarray(-address(roomy) & (PAGE - 1)).subarray(0, ARENA_BYTES);
    this.#base = address(this.#arena);
    this.readOnly = readOnlyPage();
    this.fill(KEY, 1024, 'key');
  }

  close(): void {
    closeSync(this.#fd);
    closeSync(this.#otherFd);
  }

  at(offset: number): bigint {
    return BigInt(this.#base + offset);
  }

  fill(offset: number, bytes: number, seed: string): void {
    const stream = createHash('sha256').update(seed).digest();
    for (let done = 0; done < bytes; done++) {
      this.#arena[offset + done] = stream[done % 32]! ^ (done >> 5) ^ (done >> 13);
    }
  }

  clear(offset: number, bytes: number): void {
    this.#arena.fill(0xee, offset, offset + bytes);
  }

  copy(from: number, to: number, bytes: number): void {
    this.#arena.copyWithin(to, from, from + bytes);
  }

  poke(offset: number, values: readonly number[]): void {
    this.#arena.set(values, offset);
  }

  bytes(offset: number, length: number): string {
    const part = this.#arena.subarray(offset, offset + length);
    if (length <= 16) return Buffer.from(part).toString('hex');
    return createHash('sha256').update(part).digest('hex').slice(0, 12);
  }

  say(what: string, ...rest: readonly (string | number)[]): void {
    const line = [what, ...rest].join(' ');
    this.lines.push(line);
    this.#onLine(line);
  }

  ioctl(command: number, argument: bigint | number, fd = this.#fd): string {
    const value = ioctl(fd, command, argument as number);
    return value < 0 ? errnoName(-value) : String(value);
  }

  get op(): Buffer {
    return Buffer.from(this.#arena.buffer, this.#arena.byteOffset + OP, 512);
  }

  session(fields: SessionFields, argument = this.at(OP), other = false): { result: string; id: number } {
    const { op } = this;
    op.fill(0);
    op.writeUInt32LE(fields.cipher ?? 0, SESSION_OP.cipher);
    op.writeUInt32LE(fields.mac ?? 0, SESSION_OP.mac);
    op.writeUInt32LE(fields.keyBytes ?? KEYS[fields.cipher ?? 0] ?? 0, SESSION_OP.keylen);
    op.writeBigUInt64LE(fields.key ?? this.at(KEY), SESSION_OP.key);
    op.writeUInt32LE(fields.macKeyBytes ?? 0, SESSION_OP.mackeylen);
    op.writeBigUInt64LE(fields.macKey ?? this.at(KEY + 64), SESSION_OP.mackey);
    const result = this.ioctl(abi.CIOCGSESSION, argument, other ? this.#otherFd : this.#fd);
    return { result, id: op.readUInt32LE(SESSION_OP.ses) };
  }

  open(fields: SessionFields, other = false): number {
    const { result, id } = this.session(fields, this.at(OP), other);
    if (result !== '0') throw new Error(`a session with ${JSON.stringify(fields)} is refused with ${result}`);
    return id;
  }

  free(id: number, other = false): string {
    this.op.writeUInt32LE(id, 0);
    return this.ioctl(abi.CIOCFSESSION, this.at(OP), other ? this.#otherFd : this.#fd);
  }

  /** The result, and the flags as they come back. */
  crypt(id: number, fields: CryptFields, argument = this.at(OP)): string {
    const { op } = this;
    op.fill(0);
    op.writeUInt32LE(id, CRYPT_OP.ses);
    op.writeUInt16LE(fields.op ?? abi.COP_ENCRYPT, CRYPT_OP.op);
    op.writeUInt16LE(fields.flags ?? 0, CRYPT_OP.flags);
    op.writeUInt32LE(fields.length ?? 0, CRYPT_OP.len);
    op.writeBigUInt64LE(fields.src ?? this.at(SRC), CRYPT_OP.src);
    op.writeBigUInt64LE(fields.dst ?? this.at(DST), CRYPT_OP.dst);
    op.writeBigUInt64LE(fields.mac ?? 0n, CRYPT_OP.mac);
    op.writeBigUInt64LE(fields.iv ?? 0n, CRYPT_OP.iv);
    const result = this.ioctl(abi.CIOCCRYPT, argument);
    return `${result} flags=${op.readUInt16LE(CRYPT_OP.flags)} len=${op.readUInt32LE(CRYPT_OP.len)}`;
  }

  auth(id: number, fields: AuthFields, argument = this.at(OP)): string {
    const { op } = this;
    const dst = fields.dst ?? this.at(DST);
    op.fill(0);
    op.writeUInt32LE(id, CRYPT_AUTH_OP.ses);
    op.writeUInt16LE(fields.op ?? abi.COP_ENCRYPT, CRYPT_AUTH_OP.op);
    op.writeUInt16LE(fields.flags ?? 0, CRYPT_AUTH_OP.flags);
    op.writeUInt32LE(fields.length ?? 0, CRYPT_AUTH_OP.len);
    op.writeUInt32LE(fields.authLength ?? 0, CRYPT_AUTH_OP.authLen);
    op.writeBigUInt64LE(fields.authSrc ?? this.at(AUTH), CRYPT_AUTH_OP.authSrc);
    op.writeBigUInt64LE(fields.src ?? this.at(SRC), CRYPT_AUTH_OP.src);
    op.writeBigUInt64LE(dst, CRYPT_AUTH_OP.dst);
    op.writeBigUInt64LE(fields.tag ?? 0n, CRYPT_AUTH_OP.tag);
    op.writeUInt32LE(fields.tagBytes ?? 0, CRYPT_AUTH_OP.tagLen);
    op.writeBigUInt64LE(fields.iv ?? 0n, CRYPT_AUTH_OP.iv);
    op.writeUInt32LE(fields.ivBytes ?? 0, CRYPT_AUTH_OP.ivLen);
    const result = this.ioctl(abi.CIOCAUTHCRYPT, argument);
    const tag = op.readBigUInt64LE(CRYPT_AUTH_OP.tag);
    const where =
      tag === 0n ? 'null' : tag >= dst && tag - dst < BigInt(1 << 20) ? `dst+${tag - dst}` : 'elsewhere';
    return [
      result,
      `len=${op.readUInt32LE(CRYPT_AUTH_OP.len)}`,
      `tag_len=${op.readUInt32LE(CRYPT_AUTH_OP.tagLen)}`,
      `tag=${where}`,
    ].join(' ');
  }

  info(id: number, argument = this.at(OP)): string {
    const { op } = this;
    op.fill(0x55);
    op.writeUInt32LE(id, SESSION_INFO_OP.ses);
    const result = this.ioctl(abi.CIOCGSESSINFO, argument);
    const name = (at: number): string => {
      const text = op.toString('latin1', at, at + SESSION_INFO_OP.nameBytes);
      // What is behind the end shows whether the rest was left alone.
      return text.includes('\0')
        ? `${text.split('\0', 1)[0]}/${text.endsWith('U') ? 'rest kept' : 'rest lost'}`
        : 'kept';
    };
    return [
      result,
      name(SESSION_INFO_OP.cipherName),
      name(SESSION_INFO_OP.hashName),
      op.readUInt16LE(SESSION_INFO_OP.alignmask),
      op.readUInt32LE(SESSION_INFO_OP.flags),
    ].join(' ');
  }

  copyHash(dst: number, src: number): string {
    this.op.writeUInt32LE(dst, abi.CPHASH_OP.dst);
    this.op.writeUInt32LE(src, abi.CPHASH_OP.src);
    return this.ioctl(abi.CIOCCPHASH, this.at(OP));
  }

  readAndWrite(): string[] {
    const code = (act: () => number): string => {
      try {
        return String(act());
      } catch (error) {
        return String((error as NodeJS.ErrnoException).code);
      }
    };
    return [
      code(() => readSync(this.#fd, this.#arena, DST, 16, null)),
      code(() => writeSync(this.#fd, this.#arena, SRC, 16, null)),
    ];
  }
}

function readOnlyPage(): bigint {
  const { library } = processLibrary();
  const mmap = library!.func(
    'uintptr_t mmap(uintptr_t addr, size_t length, int prot, int flags, int fd, long offset)',
  );
  const mprotect = library!.func('int mprotect(uintptr_t addr, size_t length, int prot)');
  const at = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
  if (mprotect(at, PAGE, PROT_READ) !== 0) throw new Error('mprotect failed');
  return BigInt(at);
}

function sessions(talk: Conversation): void {
  for (let cipher = 0; cipher <= HIGHEST_ID; cipher++) {
    const accepted: number[] = [];
    const refused = new Set<string>();
    // Where an id is not known at all, one length is enough.
    for (const keyBytes of cipher in KEYS ? KEY_LENGTHS : [0]) {
      const { result, id } = talk.session({ cipher, keyBytes });
      if (result === '0') {
        accepted.push(keyBytes);
        talk.free(id);
      } else refused.add(result);
    }
    talk.say(
      `cipher ${cipher}:`,
      'keys',
      accepted.join(',') || 'none',
      'else',
      [...refused].join(',') || '-',
    );
  }
  for (let mac = 0; mac <= HIGHEST_ID; mac++) {
    const results = [0, 512, 513].map((macKeyBytes) => {
      const { result, id } = talk.session({ mac, macKeyBytes });
      if (result === '0') talk.free(id);
      return result;
    });
    talk.say(`mac ${mac}:`, ...results);
  }
  const tries: readonly (readonly [string, SessionFields])[] = [
    ['cipher and mac', { cipher: 11, mac: 7, macKeyBytes: 20 }],
    ['cipher and unknown mac', { cipher: 11, mac: 9 }],
    ['cipher and mac with a key too long', { cipher: 11, mac: 7, macKeyBytes: 513 }],
    ['unknown cipher and mac', { cipher: 4, mac: 7 }],
    ['aead and mac', { cipher: 50, mac: 7 }],
    ['aead and unknown mac', { cipher: 50, mac: 9 }],
    ['aead and a mac key', { cipher: 50, mac: 7, macKeyBytes: 16 }],
    ['aead and a mac key that makes 32 bytes', { cipher: 50, keyBytes: 8, macKeyBytes: 16 }],
    ['aead and a mac key too long', { cipher: 50, macKeyBytes: 513 }],
    ['aead and a mac key nowhere', { cipher: 50, macKeyBytes: 16, macKey: NOWHERE }],
    ['ccm and a mac key that makes 24 bytes', { cipher: 51, keyBytes: 0, macKeyBytes: 16 }],
    ['key nowhere', { cipher: 11, key: NOWHERE }],
    ['key null', { cipher: 11, key: 0n }],
    ['key in the kernel', { cipher: 11, key: KERNEL }],
    ['key null of no bytes', { cipher: 11, key: 0n, keyBytes: 0 }],
    ['key too long and nowhere', { cipher: 11, key: NOWHERE, keyBytes: 65 }],
    ['key of a wrong length, nowhere', { cipher: 11, key: NOWHERE, keyBytes: 17 }],
    ['key for the null cipher, nowhere', { cipher: 16, key: NOWHERE, keyBytes: 16 }],
    ['mac key nowhere', { mac: 7, macKeyBytes: 20, macKey: NOWHERE }],
    ['mac key null', { mac: 7, macKeyBytes: 20, macKey: 0n }],
    ['mac key null of no bytes', { mac: 7, macKeyBytes: 0, macKey: 0n }],
    ['hash with a key nowhere', { mac: 14, macKeyBytes: 20, macKey: NOWHERE }],
    ['hash with a key null', { mac: 14, macKeyBytes: 20, macKey: 0n }],
    ['hash with a key too long', { mac: 14, macKeyBytes: 513 }],
    ['xts with equal halves', { cipher: 22, key: talk.at(OTHER) }],
    ['weak des key', { cipher: 1, key: talk.at(OTHER) }],
    ['3des with equal keys', { cipher: 2, key: talk.at(OTHER) }],
    ['huge ids', { cipher: 0xffff_ffff, mac: 0xffff_ffff }],
    ['huge key length', { cipher: 11, keyBytes: 0xffff_ffff }],
    ['huge mac key length', { mac: 7, macKeyBytes: 0xffff_ffff }],
  ];
  talk.poke(OTHER, new Array<number>(64).fill(1));
  for (const [what, fields] of tries) talk.say(`session, ${what}:`, talk.session(fields).result);
  for (const [what, at] of places(talk)) {
    talk.say(`session_op ${what}:`, talk.session({ cipher: 11 }, at).result);
  }
  for (const fields of [...Object.keys(KEYS)].map((id) => ({ cipher: Number(id) }))) {
    talk.say(`info of cipher ${fields.cipher}:`, talk.info(talk.open(fields)));
  }
  for (const mac of HASHES) talk.say(`info of mac ${mac}:`, talk.info(talk.open({ mac, macKeyBytes: 20 })));
  const both = talk.open({ cipher: 22, mac: 18, macKeyBytes: 20 });
  talk.say('info of cipher 22 and mac 18:', talk.info(both));
  for (const [what, at] of places(talk)) talk.say(`session_info_op ${what}:`, talk.info(both, at));
}

/** Where an ioctl's argument may be that is no good. */
function places(talk: Conversation): readonly (readonly [string, bigint])[] {
  return [
    ['null', 0n],
    ['nowhere', NOWHERE],
    ['in the kernel', KERNEL],
    ['read-only', talk.readOnly],
    ['half mapped', talk.readOnly + BigInt(PAGE - 4)],
  ];
}

function ciphers(talk: Conversation): void {
  talk.fill(SRC, 1 << 20, 'text');
  const iv = talk.at(IV);
  for (const cipher of PLAIN) {
    const id = talk.open({ cipher });
    const name = `cipher ${cipher}`;
    const request = (what: string, fields: CryptFields): void => {
      const length = fields.length ?? 0;
      const dst = fields.dst === undefined ? DST : Number(fields.dst - talk.at(0));
      talk.clear(dst, Math.min(length, 1 << 20) + 32);
      const said = talk.crypt(id, fields);
      talk.say(
        `${name}, ${what}:`,
        said,
        talk.bytes(dst, Math.min(length, 1 << 20) + 32),
        talk.bytes(IV, 16),
      );
    };
    for (const op of [abi.COP_ENCRYPT, abi.COP_DECRYPT]) {
      const way = op === abi.COP_ENCRYPT ? 'encrypt' : 'decrypt';
      for (const length of [0, 1, 8, 16, 17, 24, 100, 4096, 4112, 65536]) {
        talk.fill(IV, 32, 'iv');
        request(`${way} ${length}`, { op, length, iv, flags: FLAG.WRITE_IV });
        request(`${way} ${length}, going on`, { op, length });
      }
      talk.fill(IV, 32, 'iv');
      for (const [what, more] of [
        ['copied', { flags: FLAG.NO_ZC | FLAG.WRITE_IV }],
        ['copied, IV not asked for', { flags: FLAG.NO_ZC }],
        ['from an odd address', { src: talk.at(SRC + 1), flags: FLAG.WRITE_IV }],
        ['to an odd address', { dst: talk.at(DST + 3), flags: FLAG.WRITE_IV }],
        ['from and to 8 bytes on', { src: talk.at(SRC + 8), dst: talk.at(DST + 8) }],
        ['across pages', { src: talk.at(SRC + 4000), dst: talk.at(DST + 2048), flags: FLAG.WRITE_IV }],
        ['with every flag', { flags: 0xffff & ~FLAG.NO_ZC }],
        ['from nowhere', { src: NOWHERE, flags: FLAG.NO_ZC }],
        ['from nowhere, not copied', { src: NOWHERE }],
        ['to nowhere', { dst: NOWHERE + talk.at(0) * 0n, flags: FLAG.NO_ZC }],
        ['with its IV nowhere', { iv: NOWHERE }],
        ['with its IV read-only', { iv: talk.readOnly, flags: FLAG.WRITE_IV }],
        ['with its IV read-only, not asked for', { iv: talk.readOnly }],
      ] as const) {
        const fields = { op, length: 16384, iv, ...more };
        if (what === 'to nowhere') talk.say(`${name}, ${way} ${what}:`, talk.crypt(id, fields));
        else request(`${way} ${what}`, fields);
      }
      talk.copy(SRC, OTHER, 8192);
      const inPlace = talk.crypt(id, { op, length: 8192, iv, src: talk.at(OTHER), dst: talk.at(OTHER) });
      talk.say(`${name}, ${way} in place:`, inPlace, talk.bytes(OTHER, 8192));
      const readOnly = { op, length: 64, dst: talk.readOnly, flags: FLAG.NO_ZC };
      talk.say(`${name}, ${way} to read-only memory:`, talk.crypt(id, readOnly));
    }
    for (const op of [2, 3, 0xffff]) talk.say(`${name}, op ${op}:`, talk.crypt(id, { op, length: 16, iv }));
    talk.say(`${name}, op 2, IV nowhere:`, talk.crypt(id, { op: 2, length: 16, iv: NOWHERE }));
    talk.say(`${name}, 17 bytes, IV nowhere:`, talk.crypt(id, { length: 17, iv: NOWHERE }));
    for (const [what, at] of places(talk)) {
      if (what === 'read-only') continue;
      talk.say(`${name}, crypt_op ${what}:`, talk.crypt(id, { length: 16, iv }, at));
    }
    talk.say(`${name}, closed:`, talk.free(id));
    talk.say(`${name}, after that:`, talk.crypt(id, { length: 16, iv }));
  }
}

function lengths(talk: Conversation): void {
  const id = talk.open({ cipher: 11 });
  const iv = talk.at(IV);
  for (const length of [0x7fff_fff0, 0xffff_fff0, 0x8000_0000, 64 << 20]) {
    // From the last mebibyte of what is mapped, and on into what may be anything: it starts nowhere.
    talk.say(`${length} bytes from nowhere:`, talk.crypt(id, { length, iv, src: NOWHERE }));
    talk.say(
      `${length} bytes from nowhere, copied:`,
      talk.crypt(id, { length, iv, src: NOWHERE, flags: FLAG.NO_ZC }),
    );
  }
  for (const length of [131072 - 16, 131072, 131072 + 16, 1 << 20, (1 << 20) + 16, 4 << 20]) {
    talk.fill(IV, 32, 'iv');
    talk.clear(DST, length);
    const said = talk.crypt(id, { length, iv, flags: FLAG.WRITE_IV });
    talk.say(`${length} bytes:`, said, talk.bytes(DST, length), talk.bytes(IV, 16));
  }
  const mac = talk.open({ mac: 104 });
  for (const length of [131072, 4 << 20]) {
    talk.clear(MAC, 64);
    talk.say(`${length} bytes of hash:`, talk.crypt(mac, { length, mac: talk.at(MAC) }), talk.bytes(MAC, 32));
  }
}

function hashes(talk: Conversation): void {
  talk.fill(SRC, 1 << 20, 'text');
  for (const mac of HASHES) {
    const id = talk.open({ mac, macKeyBytes: 20 });
    const name = `mac ${mac}`;
    const request = (what: string, fields: CryptFields): void => {
      talk.clear(MAC, 80);
      const said = talk.crypt(id, { mac: talk.at(MAC), dst: 0n, ...fields });
      talk.say(`${name}, ${what}:`, said, talk.bytes(MAC, 80));
    };
    for (const length of [0, 1, 64, 111, 4097, 65536]) {
      request(`${length} bytes`, { length });
      request(`${length} bytes, copied`, { length, flags: FLAG.NO_ZC | FLAG.RESET });
    }
    request('begun', { length: 100, flags: FLAG.UPDATE | FLAG.RESET });
    request('gone on', { length: 4096, flags: FLAG.UPDATE });
    request('gone on, copied', { length: 5000, flags: FLAG.UPDATE | FLAG.NO_ZC });
    request('from an odd address', { length: 77, src: talk.at(SRC + 3), flags: FLAG.UPDATE });
    request('ended', { length: 0, flags: FLAG.FINAL });
    request('begun again', { length: 64, flags: FLAG.UPDATE | FLAG.RESET });
    request('ended with text', { length: 65, flags: FLAG.UPDATE | FLAG.FINAL });
    request('all at once', { length: 65, flags: FLAG.UPDATE | FLAG.FINAL | FLAG.RESET });
    request('an update of nothing', { length: 0, flags: FLAG.UPDATE | FLAG.RESET });
    request('reset alone', { length: 10, flags: FLAG.RESET });
    request('with every flag', { length: 10, flags: 0xffff & ~FLAG.NO_ZC });
    request('op 2', { length: 10, op: 2 });
    request('decrypt, copied', { length: 100, op: 1, flags: FLAG.NO_ZC | FLAG.RESET });
    request('decrypt, of what is at dst', { length: 100, op: 1, dst: talk.at(SRC + 200) });
    request('with an IV nowhere', { length: 10, iv: NOWHERE });
    request('result nowhere', { length: 10, mac: NOWHERE });
    request('result null', { length: 10, mac: 0n });
    request('result read-only', { length: 10, mac: talk.readOnly });
    request('of read-only memory', { length: 10, src: talk.readOnly });
    request('of read-only memory in place', { length: 10, src: talk.readOnly, dst: talk.readOnly });
    request('from nowhere', { length: 10, src: NOWHERE });
    request('from nowhere, copied', { length: 10, src: NOWHERE, flags: FLAG.NO_ZC | FLAG.RESET });

    // A copy goes on by itself, and keeps its own key.
    const twin = talk.open({ mac, macKeyBytes: 33 });
    request('begun to be copied', { length: 70, flags: FLAG.UPDATE | FLAG.RESET });
    talk.say(`${name}, copied:`, talk.copyHash(twin, id));
    request('the original', { length: 3, flags: FLAG.UPDATE | FLAG.FINAL });
    talk.clear(MAC, 80);
    const said = talk.crypt(twin, { length: 3, mac: talk.at(MAC), dst: 0n, flags: FLAG.UPDATE | FLAG.FINAL });
    talk.say(`${name}, the copy:`, said, talk.bytes(MAC, 80));
    talk.say(`${name}, copied onto itself:`, talk.copyHash(id, id));
    talk.say(`${name}, copied from nothing:`, talk.copyHash(id, another(id)));
    talk.say(`${name}, closed:`, talk.free(id), talk.free(twin));
  }
  const cipher = talk.open({ cipher: 11 });
  const hash = talk.open({ mac: 14 });
  talk.say('a hash copied from a cipher:', talk.copyHash(hash, cipher));
  talk.say('a hash copied to a cipher:', talk.copyHash(cipher, hash));
  for (const [what, at] of places(talk)) talk.say(`cphash_op ${what}:`, talk.ioctl(abi.CIOCCPHASH, at));
}

function cipherAndMac(talk: Conversation): void {
  talk.fill(SRC, 1 << 20, 'text');
  const iv = talk.at(IV);
  for (const [cipher, mac] of [
    [11, 7],
    [21, 18],
    [1, 13],
    [16, 106],
  ] as const) {
    const id = talk.open({ cipher, mac, macKeyBytes: 20 });
    for (const op of [abi.COP_ENCRYPT, abi.COP_DECRYPT]) {
      for (const flags of [
        0,
        FLAG.NO_ZC | FLAG.RESET,
        FLAG.UPDATE | FLAG.RESET,
        FLAG.UPDATE,
        FLAG.FINAL,
        FLAG.WRITE_IV,
      ]) {
        for (const length of [0, 17, 4096, 8208]) {
          talk.fill(IV, 32, 'iv');
          talk.clear(MAC, 80);
          talk.clear(DST, length + 32);
          const said = talk.crypt(id, { op, flags, length, iv, mac: talk.at(MAC) });
          // FINAL without RESET, after an end, goes on from a state that says nothing.
          const digest = flags === FLAG.FINAL || flags === FLAG.WRITE_IV ? '' : talk.bytes(MAC, 80);
          talk.say(
            `cipher ${cipher} and mac ${mac}, op ${op}, flags ${flags}, ${length} bytes:`,
            said,
            digest,
            talk.bytes(DST, length + 32),
            talk.bytes(IV, 16),
          );
        }
      }
    }
  }
}

function aeads(talk: Conversation): void {
  talk.fill(SRC, 1 << 20, 'text');
  talk.fill(AUTH, 8192, 'auth');
  const iv = talk.at(IV);
  for (const cipher of [50, 51]) {
    const ivBytes = (): void => {
      talk.fill(IV, 32, 'iv');
      // CCM: a counter of four bytes.
      if (cipher === 51) talk.poke(IV, [3]);
    };
    let id = talk.open({ cipher });
    const name = `aead ${cipher}`;
    const request = (what: string, fields: AuthFields): string => {
      const length = fields.length ?? 0;
      const dst = fields.dst === undefined ? DST : Number(fields.dst - talk.at(0));
      ivBytes();
      talk.clear(dst, length + 64);
      const said = talk.auth(id, { iv, ...fields });
      talk.say(`${name}, ${what}:`, said, talk.bytes(dst, length + 64), talk.bytes(IV, 16));
      return said;
    };
    for (const length of [0, 1, 16, 17, 4097, 65536]) {
      for (const authLength of [0, 20, 4096]) {
        request(`${length} bytes and ${authLength}`, { length, authLength, flags: FLAG.WRITE_IV });
        // And back, from where the result is.
        talk.copy(DST, OTHER, length + 16);
        const back = { op: abi.COP_DECRYPT, src: talk.at(OTHER), length: length + 16, authLength };
        request(`${length} bytes and ${authLength}, back`, back);
        talk.poke(OTHER + length + 3, [0]);
        request(`${length} bytes and ${authLength}, forged`, back);
      }
    }
    for (const authLength of [4097, 65536, 0xffff_ffff])
      request(`${authLength} bytes beside`, { length: 16, authLength });
    request('data beside from nowhere', { length: 16, authLength: 16, authSrc: NOWHERE });
    request('from nowhere', { length: 16, src: NOWHERE });
    request('from the kernel', { length: 16, src: KERNEL });
    talk.say(`${name}, IV nowhere:`, talk.auth(id, { length: 16, iv: NOWHERE }));
    ivBytes();
    talk.copy(SRC, OTHER, 100);
    talk.say(
      `${name}, in place:`,
      talk.auth(id, { length: 100, iv, authLength: 20, src: talk.at(OTHER), dst: talk.at(OTHER) }),
      talk.bytes(OTHER, 150),
    );
    talk.say(
      `${name}, in place, back:`,
      talk.auth(id, {
        op: 1,
        length: 116,
        iv,
        authLength: 20,
        src: talk.at(OTHER),
        dst: talk.at(OTHER),
      }),
      talk.bytes(OTHER, 150),
    );
    request('without an IV', { length: 16, iv: 0n });
    request('with an IV length of 3', { length: 16, ivBytes: 3 });
    request('op 2', { length: 16, op: 2 });
    request('decrypt of too little', { length: 15, op: 1 });
    request('decrypt of a tag alone', { length: 16, op: 1 });
    request('TLS flag, not in place', { length: 16, flags: FLAG.AEAD_TLS });
    request('SRTP flag, not in place', { length: 16, flags: FLAG.AEAD_SRTP });
    talk.say(
      `${name}, SRTP flag, in place:`,
      talk.auth(id, { length: 16, iv, flags: FLAG.AEAD_SRTP, src: talk.at(DST), authLength: 32 }),
    );
    ivBytes();
    talk.clear(OTHER, 64);
    talk.say(
      `${name}, TLS flag, in place:`,
      talk.auth(id, { length: 16, iv, flags: FLAG.AEAD_TLS, src: talk.at(OTHER), dst: talk.at(OTHER) }),
      talk.bytes(OTHER, 64),
    );
    request('odd flags', { length: 16, flags: 0xff80 | FLAG.NO_ZC });
    request('from and to odd addresses', {
      length: 1000,
      src: talk.at(SRC + 1),
      dst: talk.at(DST + 3),
      authLength: 13,
    });
    // A tag length stays, and no longer one is taken after it.
    for (const tagBytes of [17, 16, 0, 14, 12, 16, 0, 8, 12, 4, 4, 8, 0]) {
      request(`tag of ${tagBytes}`, { length: 40, authLength: 20, tagBytes });
    }
    for (const [what, at] of places(talk)) {
      if (what === 'read-only') continue;
      talk.say(`${name}, crypt_auth_op ${what}:`, talk.auth(id, { length: 16, iv }, at));
    }
    talk.free(id);
    request('closed', { length: 16 });
    id = talk.open({ cipher, keyBytes: 24 });
    request('with a key of 24 bytes', { length: 33, authLength: 5 });
    id = talk.open({ cipher, keyBytes: 8, macKeyBytes: 16 });
    request('with a key for authenc()', { length: 33, authLength: 5 });
  }
  const id = talk.open({ cipher: 51 });
  for (let counter = 0; counter < 9; counter++) {
    for (const length of [16, 256, 65535, 70000]) {
      talk.fill(IV, 32, 'iv');
      talk.poke(IV, [counter]);
      talk.clear(DST, length + 32);
      const said = talk.auth(id, { length, iv, flags: FLAG.WRITE_IV });
      talk.say(
        `ccm with IV[0] ${counter}, ${length} bytes:`,
        said,
        talk.bytes(DST, length + 32),
        talk.bytes(IV, 16),
      );
    }
  }
  const plain = talk.open({ cipher: 11 });
  talk.say('no aead:', talk.auth(plain, { length: 16, iv }));
  const stream = talk.open({ cipher: 21 });
  talk.say('no aead, a stream:', talk.auth(stream, { length: 16, iv }));
  const hash = talk.open({ mac: 14 });
  talk.say('no cipher:', talk.auth(hash, { length: 16, iv }));
}

function tls(talk: Conversation): void {
  talk.fill(AUTH, 8192, 'auth');
  const iv = talk.at(IV);
  for (const [cipher, mac] of [
    [11, 7],
    [2, 18],
    [21, 7],
    [11, 0],
    [101, 20],
  ] as const) {
    const id = talk.open({ cipher, mac, macKeyBytes: 20 });
    const name = `tls with cipher ${cipher} and mac ${mac}`;
    const record = { iv, flags: FLAG.AEAD_TLS, src: talk.at(DST), authLength: mac === 0 ? 0 : 13 };
    for (const length of [0, 1, 16, 20, 4096]) {
      for (const tagBytes of [0, 10]) {
        if (mac === 0 && tagBytes > 0) continue;
        talk.fill(DST, length + 128, 'text');
        talk.fill(IV, 32, 'iv');
        const said = talk.auth(id, { ...record, length, tagBytes });
        talk.say(`${name}, ${length} bytes, tag ${tagBytes}:`, said, talk.bytes(DST, length + 128));
        const sealed = Number(/len=(\d+)/.exec(said)![1]);
        if (!said.startsWith('0 ')) continue;
        talk.copy(DST, OTHER, length + 128);
        const back = { ...record, op: abi.COP_DECRYPT, length: sealed, tagBytes };
        talk.say(`${name}, ${length} bytes, back:`, talk.auth(id, back), talk.bytes(DST, length + 128));
        for (const at of [0, sealed - 17, sealed - 1]) {
          if (at < 0) continue;
          talk.copy(OTHER, DST, length + 128);
          talk.poke(DST + at, [0x5a]);
          talk.say(
            `${name}, ${length} bytes, byte ${at} changed:`,
            talk.auth(id, back),
            talk.bytes(DST, length + 128),
          );
        }
      }
    }
    talk.say(`${name}, decrypt of 16:`, talk.auth(id, { ...record, op: 1, length: 16 }));
    talk.say(`${name}, decrypt of 17:`, talk.auth(id, { ...record, op: 1, length: 17 }));
    talk.say(`${name}, decrypt of 0:`, cipher === 11 ? talk.auth(id, { ...record, op: 1, length: 0 }) : '');
    talk.say(`${name}, 4097 beside:`, talk.auth(id, { ...record, length: 16, authLength: 4097 }));
    talk.say(`${name}, nothing at dst:`, talk.auth(id, { ...record, length: 16, src: 0n, dst: 0n }));
    talk.say(`${name}, nowhere:`, talk.auth(id, { ...record, length: 16, src: NOWHERE, dst: NOWHERE }));
    talk.say(
      `${name}, read-only:`,
      talk.auth(id, { ...record, length: 16, src: talk.readOnly, dst: talk.readOnly }),
    );
    if (mac !== 0) {
      talk.say(`${name}, beside nowhere:`, talk.auth(id, { ...record, length: 16, authSrc: NOWHERE }));
    }
    talk.say(`${name}, not in place:`, talk.auth(id, { ...record, length: 16, src: talk.at(SRC) }));
  }
}

function srtp(talk: Conversation): void {
  const iv = talk.at(IV);
  const header = 12;
  for (const [cipher, mac] of [
    [21, 7],
    [16, 7],
    [21, 0],
    [11, 7],
    [24, 7],
  ] as const) {
    const id = talk.open({ cipher, mac, macKeyBytes: 20 });
    const name = `srtp with cipher ${cipher} and mac ${mac}`;
    const packet = {
      iv,
      flags: FLAG.AEAD_SRTP,
      src: talk.at(DST + header),
      dst: talk.at(DST + header),
      authSrc: talk.at(DST),
      tag: talk.at(MAC),
    };
    for (const length of [1, 16, 100, 4096]) {
      for (const tagBytes of [0, 10]) {
        talk.fill(DST, length + 128, 'text');
        talk.fill(IV, 32, 'iv');
        talk.clear(MAC, 64);
        const fields = { ...packet, length, authLength: length + header, tagBytes };
        talk.say(
          `${name}, ${length} bytes, tag ${tagBytes}:`,
          talk.auth(id, fields),
          talk.bytes(DST, length + 128),
          talk.bytes(MAC, 64),
        );
        const back = { ...fields, op: abi.COP_DECRYPT };
        talk.say(`${name}, ${length} bytes, back:`, talk.auth(id, back), talk.bytes(DST, length + 128));
        talk.poke(MAC, [1]);
        talk.say(`${name}, ${length} bytes, forged:`, talk.auth(id, back), talk.bytes(DST, length + 128));
      }
    }
    const fields = { ...packet, length: 100, authLength: 112, tagBytes: 10 };
    talk.say(`${name}, tag nowhere:`, talk.auth(id, { ...fields, tag: NOWHERE }));
    talk.say(`${name}, tag nowhere, back:`, talk.auth(id, { ...fields, op: 1, tag: NOWHERE }));
    talk.say(`${name}, nothing authenticated:`, talk.auth(id, { ...fields, authLength: 0 }));
    talk.say(`${name}, authenticated elsewhere:`, talk.auth(id, { ...fields, authSrc: talk.at(SRC) }));
    talk.say(`${name}, text before that:`, talk.auth(id, { ...fields, authSrc: talk.at(DST + 64) }));
    talk.say(
      `${name}, authenticated nowhere:`,
      talk.auth(id, { ...fields, src: NOWHERE, dst: NOWHERE, authSrc: NOWHERE }),
    );
    talk.say(`${name}, all null:`, talk.auth(id, { ...fields, src: 0n, dst: 0n, authSrc: 0n }));
    talk.say(
      `${name}, tag longer than the text:`,
      talk.auth(id, { ...fields, op: 1, length: 5, tagBytes: 10 }),
    );
    talk.say(`${name}, tag of 65, back:`, mac === 0 ? '' : talk.auth(id, { ...fields, op: 1, tagBytes: 65 }));
    talk.say(
      `${name}, with the TLS flag too:`,
      talk.auth(id, { ...fields, flags: FLAG.AEAD_SRTP | FLAG.AEAD_TLS }),
    );
  }
}

/** An id that is nobody's, but for a chance of one in a thousand million. */
function another(id: number): number {
  return (id ^ 1) >>> 0;
}

function misuse(talk: Conversation): void {
  const id = talk.open({ cipher: 11 });
  const other = talk.open({ cipher: 11 }, true);
  const iv = talk.at(IV);
  talk.say("another file's session:", talk.crypt(other, { length: 16, iv }), talk.info(other).split(' ')[0]!);
  talk.say("another file's session, freed here:", talk.free(other));
  talk.say(
    'no session:',
    talk.crypt(another(id), { length: 16, iv }),
    talk.auth(another(id), { length: 16, iv }),
  );
  talk.say('info of no session:', talk.info(another(id)).split(' ')[0]!);
  talk.say('freed:', talk.free(id), 'freed again:', talk.free(id), 'never there:', talk.free(12345));
  for (const [what, at] of places(talk)) {
    talk.say(`CIOCFSESSION ${what}:`, talk.ioctl(abi.CIOCFSESSION, at));
    talk.say(`CIOCASYMFEAT ${what}:`, talk.ioctl(abi.CIOCASYMFEAT, at));
  }
  talk.op.fill(0xff);
  talk.say('CIOCASYMFEAT:', talk.ioctl(abi.CIOCASYMFEAT, talk.at(OP)), talk.op.readUInt32LE(0));
  for (const [name, command] of [
    ['CIOCKEY', abi.CIOCKEY],
    ['CIOCASYNCCRYPT', abi.CIOCASYNCCRYPT],
    ['CIOCASYNCFETCH', abi.CIOCASYNCFETCH],
    ['32-bit CIOCGSESSION', 0xc01c6366],
    ['32-bit CIOCCRYPT', 0xc01c6368],
    ['32-bit CIOCAUTHCRYPT', 0xc02c636d],
    ['32-bit CIOCASYNCCRYPT', 0x401c636b],
    ['MIPS CIOCFSESSION', 0x80046367],
    ['BSD CIOCGSESSION2', 0xc040636a],
    ['BSD CIOCFINDDEV', 0xc0246371],
    ['number 0', 0],
    ['TCGETS', 0x5401],
    ['a number of another size', 0xc0316368],
  ] as const) {
    talk.say(`${name}:`, talk.ioctl(command, talk.at(OP)), talk.ioctl(command, 0n));
  }
  talk.say('read, write:', ...talk.readAndWrite());
  const many = Array.from({ length: 200 }, () => talk.open({ cipher: 11 }));
  talk.say('200 sessions, of as many ids:', new Set(many).size);
  talk.say('the first still works:', talk.crypt(many[0]!, { length: 16, iv }));
}
