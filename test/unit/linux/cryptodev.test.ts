/** Layouts and numbers of /dev/crypto against what compilers made of crypto/cryptodev.h, for every ABI there is. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Abi } from '#src/linux/abi.js';
import {
  cryptAuthOpLayout,
  cryptOpLayout,
  cryptodevIoctls,
  decodeSessionInfo,
  encodeSessionOp,
  ioctlEncoding,
  openCryptoDevice,
  SESSION_INFO_BYTES,
  sessionOpLayout,
} from '#src/linux/cryptodev.js';
import { ERRNO } from '#src/linux/errno.js';

const WIDE: Abi = { wordBytes: 8, littleEndian: true };
const NARROW: Abi = { wordBytes: 4, littleEndian: true };

/** [name, 64-bit generic, 32-bit generic, 32-bit MIPS] */
const NUMBERS = [
  ['CRIOGET', 0xc0046365, 0xc0046365, 0xc0046365],
  ['CIOCGSESSION', 0xc0306366, 0xc01c6366, 0xc01c6366],
  ['CIOCFSESSION', 0x40046367, 0x40046367, 0x80046367],
  ['CIOCCRYPT', 0xc0306368, 0xc01c6368, 0xc01c6368],
  ['CIOCASYMFEAT', 0x8004636a, 0x8004636a, 0x4004636a],
  ['CIOCGSESSINFO', 0xc10c636b, 0xc10c636b, 0xc10c636b],
  ['CIOCAUTHCRYPT', 0xc048636d, 0xc02c636d, 0xc02c636d],
  ['CIOCASYNCCRYPT', 0x4030636e, 0x401c636e, 0x801c636e],
  ['CIOCASYNCFETCH', 0x8030636f, 0x801c636f, 0x401c636f],
  ['CIOCCPHASH', 0x40086370, 0x40086370, 0x80086370],
] as const;

test('ioctl numbers: 64 and 32 bits, and the other encoding of the direction', () => {
  const wide = cryptodevIoctls(WIDE, 'generic');
  const narrow = cryptodevIoctls(NARROW, 'generic');
  const mips = cryptodevIoctls(NARROW, 'mips');
  const powerpc = cryptodevIoctls({ wordBytes: 8, littleEndian: false }, 'mips');
  for (const [name, wide64, narrow32, mips32] of NUMBERS) {
    assert.deepEqual([wide[name], narrow[name], mips[name]], [wide64, narrow32, mips32], name);
    // Size and number are those of 64 bits, the direction is MIPS's.
    assert.equal(powerpc[name], ((mips32 & 0xe0000000) | (wide64 & 0x1fffffff)) >>> 0, name);
  }
  assert.equal(Object.keys(wide).length, NUMBERS.length);
});

test('which architectures encode the direction in three bits', () => {
  for (const arch of ['mips', 'mipsel', 'mips64', 'ppc', 'ppc64', 'powerpc', 'sparc64', 'alpha']) {
    assert.equal(ioctlEncoding(arch), 'mips', arch);
  }
  for (const arch of ['x64', 'ia32', 'arm', 'arm64', 'riscv64', 'loong64', 's390x']) {
    assert.equal(ioctlEncoding(arch), 'generic', arch);
  }
});

test('structures: every offset', () => {
  assert.deepEqual(sessionOpLayout(WIDE), {
    ...{ bytes: 48, cipher: 0, mac: 4, keylen: 8, key: 16, mackeylen: 24, mackey: 32, ses: 40 },
  });
  assert.deepEqual(sessionOpLayout(NARROW), {
    ...{ bytes: 28, cipher: 0, mac: 4, keylen: 8, key: 12, mackeylen: 16, mackey: 20, ses: 24 },
  });
  assert.deepEqual(cryptOpLayout(WIDE), {
    ...{ bytes: 48, ses: 0, op: 4, flags: 6, len: 8, src: 16, dst: 24, mac: 32, iv: 40 },
  });
  assert.deepEqual(cryptOpLayout(NARROW), {
    ...{ bytes: 28, ses: 0, op: 4, flags: 6, len: 8, src: 12, dst: 16, mac: 20, iv: 24 },
  });
  assert.deepEqual(cryptAuthOpLayout(WIDE), {
    ...{ bytes: 72, ses: 0, op: 4, flags: 6, len: 8, authLen: 12, authSrc: 16, src: 24, dst: 32, tag: 40 },
    ...{ tagLen: 48, iv: 56, ivLen: 64 },
  });
  assert.deepEqual(cryptAuthOpLayout(NARROW), {
    ...{ bytes: 44, ses: 0, op: 4, flags: 6, len: 8, authLen: 12, authSrc: 16, src: 20, dst: 24, tag: 28 },
    ...{ tagLen: 32, iv: 36, ivLen: 40 },
  });
});

/** The header's structures, written down anew from its description, for a compiler that is not ours. */
const PROGRAM = String.raw`
#include <stdio.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/ioctl.h>
typedef uint32_t u32; typedef uint16_t u16; typedef uint8_t *ptr;
struct session_op { u32 cipher, mac, keylen; ptr key; u32 mackeylen; ptr mackey; u32 ses; };
struct crypt_op { u32 ses; u16 op, flags; u32 len; ptr src, dst, mac, iv; };
struct crypt_auth_op { u32 ses; u16 op, flags; u32 len, authLen; ptr authSrc, src, dst, tag; u32 tagLen; ptr iv; u32 ivLen; };
struct name { char a[64], b[64]; };
struct session_info_op { u32 ses; struct name cipher, hash; u16 alignmask; u32 flags; };
struct cphash_op { u32 dst, src; };
#define F(s, f) printf("%s \"%s\":%zu", n++ ? "," : "", #f, offsetof(struct s, f));
#define S(s, ...) { int n = 0; printf("%s\"%s\":{", first ? "" : ",", #s); first = 0; __VA_ARGS__ \
  printf("%s \"bytes\":%zu}", n ? "," : "", sizeof(struct s)); }
int main(void) {
  int first = 1;
  printf("{");
  S(session_op, F(session_op, cipher) F(session_op, mac) F(session_op, keylen) F(session_op, key)
    F(session_op, mackeylen) F(session_op, mackey) F(session_op, ses))
  S(crypt_op, F(crypt_op, ses) F(crypt_op, op) F(crypt_op, flags) F(crypt_op, len) F(crypt_op, src)
    F(crypt_op, dst) F(crypt_op, mac) F(crypt_op, iv))
  S(crypt_auth_op, F(crypt_auth_op, ses) F(crypt_auth_op, op) F(crypt_auth_op, flags) F(crypt_auth_op, len)
    F(crypt_auth_op, authLen) F(crypt_auth_op, authSrc) F(crypt_auth_op, src) F(crypt_auth_op, dst)
    F(crypt_auth_op, tag) F(crypt_auth_op, tagLen) F(crypt_auth_op, iv) F(crypt_auth_op, ivLen))
  S(session_info_op, F(session_info_op, alignmask) F(session_info_op, flags))
  printf(",\"numbers\":[%u,%u,%u,%u,%u,%u,%u,%u,%u,%u]}", (unsigned)_IOWR('c', 101, u32),
    (unsigned)_IOWR('c', 102, struct session_op), (unsigned)_IOW('c', 103, u32),
    (unsigned)_IOWR('c', 104, struct crypt_op), (unsigned)_IOR('c', 106, u32),
    (unsigned)_IOWR('c', 107, struct session_info_op), (unsigned)_IOWR('c', 109, struct crypt_auth_op),
    (unsigned)_IOW('c', 110, struct crypt_op), (unsigned)_IOR('c', 111, struct crypt_op),
    (unsigned)_IOW('c', 112, struct cphash_op));
  return 0;
}
`;

test('structures and numbers are what a C compiler makes of them', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-abi-'));
  try {
    writeFileSync(join(folder, 'abi.c'), PROGRAM);
    try {
      execFileSync('cc', ['-o', join(folder, 'abi'), join(folder, 'abi.c')], { stdio: 'pipe' });
    } catch {
      t.skip('no C compiler here');
      return;
    }
    const made = JSON.parse(execFileSync(join(folder, 'abi'), { encoding: 'utf8' }));
    assert.deepEqual(made.session_op, sessionOpLayout(WIDE));
    assert.deepEqual(made.crypt_op, cryptOpLayout(WIDE));
    assert.deepEqual(made.crypt_auth_op, cryptAuthOpLayout(WIDE));
    assert.deepEqual(made.session_info_op, { alignmask: 260, flags: 264, bytes: SESSION_INFO_BYTES });
    const own = cryptodevIoctls(WIDE, 'generic');
    assert.deepEqual(
      made.numbers,
      NUMBERS.map(([name]) => own[name]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what CIOCGSESSION is given', () => {
  const request = { cipher: 11, mac: 0, keyBytes: 16, key: 0x7fff_1234_5678, macKeyBytes: 3, macKey: 0x42 };
  const bytes = encodeSessionOp(request, WIDE);
  const view = new DataView(bytes.buffer);
  assert.equal(view.getUint32(0, true), 11);
  assert.equal(view.getBigUint64(16, true), 0x7fff_1234_5678n);
  assert.equal(view.getUint32(24, true), 3);
  const big = encodeSessionOp({ ...request, key: 0x7890 }, { wordBytes: 4, littleEndian: false });
  assert.equal(new DataView(big.buffer).getUint32(12, false), 0x7890);
  assert.equal(big.length, 28);
});

test('CIOCGSESSINFO: names, mask and flag, in either byte order', () => {
  for (const littleEndian of [true, false]) {
    const bytes = new Uint8Array(SESSION_INFO_BYTES);
    const view = new DataView(bytes.buffer);
    const put = (at: number, text: string) => bytes.set(Buffer.from(text, 'latin1'), at);
    put(4, 'cbc(aes)');
    put(68, 'cbc(aes-eip93)');
    put(132, 'sha1');
    put(196, 'x'.repeat(64));
    view.setUint16(260, 15, littleEndian);
    view.setUint32(264, 1, littleEndian);
    assert.deepEqual(decodeSessionInfo(bytes, { wordBytes: 8, littleEndian }), {
      cipher: { algorithm: 'cbc(aes)', kernelDriver: 'cbc(aes-eip93)' },
      hash: { algorithm: 'sha1', kernelDriver: 'x'.repeat(64) },
      alignMask: 15,
      kernelDriverOnly: true,
    });
  }
});

test('whatever a device answers is a mask of the form 2^n - 1 and names that can be printed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: SESSION_INFO_BYTES, maxLength: SESSION_INFO_BYTES }), (bytes) => {
      const info = decodeSessionInfo(bytes, WIDE);
      assert.equal((info.alignMask + 1) & info.alignMask, 0);
      const given = new DataView(bytes.buffer, bytes.byteOffset).getUint16(260, true);
      assert.ok(info.alignMask >= given);
      for (const { algorithm, kernelDriver } of [info.cipher, info.hash]) {
        assert.match(algorithm + kernelDriver, /^[\x20-\x7e]{0,128}$/);
      }
    }),
  );
});

test('a device that is none is refused, and its file closed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-device-'));
  try {
    assert.equal(openCryptoDevice(join(folder, 'absent')), -ERRNO.ENOENT);
    writeFileSync(join(folder, 'file'), '');
    assert.equal(openCryptoDevice(join(folder, 'file')), -ERRNO.ENOTTY);
    assert.equal(openCryptoDevice(folder), -ERRNO.EISDIR);
    symlinkSync(join(folder, 'loop'), join(folder, 'loop'));
    assert.equal(openCryptoDevice(join(folder, 'loop')), -ERRNO.ELOOP);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
