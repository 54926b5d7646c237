/**
 * The table against what other people's programs say: node:crypto, the openssl command, gcrypt.h and nettle's headers
 * where they are installed, and cryptodev-linux's ids as the field notes copied them from crypto/cryptodev.h.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  type AeadAlgorithm,
  type Algorithm,
  adHocCipher,
  adHocHash,
  algorithms,
  byCryptodevId,
  byCryptsetup,
  byKernelName,
  byQemuName,
  type CipherAlgorithm,
  cipherLike,
  findAlgorithm,
  hashAlgorithm,
  hmacOf,
  suggest,
} from '#src/algorithms.js';

const cipherEntries = algorithms('cipher');
const aeadEntries = algorithms('aead');
const hashEntries = algorithms('hash');
const macEntries = algorithms('mac');

/** Can this Node make a session of it? (`getCipherInfo` also knows ciphers of a provider that is not loaded.) */
function nodeCan(algorithm: CipherAlgorithm | AeadAlgorithm): boolean {
  try {
    nodeCipher('encrypt', algorithm, bytes(algorithm.keyBytes), ivFor(algorithm));
    return true;
  } catch {
    return false;
  }
}

function nodeCipher(
  direction: 'encrypt' | 'decrypt',
  algorithm: CipherAlgorithm | AeadAlgorithm,
  key: Uint8Array,
  iv: Uint8Array | null,
): crypto.Cipher | crypto.Decipher {
  const options = algorithm.kind === 'aead' ? { authTagLength: algorithm.defaultTagBytes } : {};
  const make = direction === 'encrypt' ? crypto.createCipheriv : crypto.createDecipheriv;
  const cipher = make(algorithm.name as 'aes-128-gcm', key, iv as Uint8Array, options);
  cipher.setAutoPadding(false);
  return cipher;
}

/** Bytes that are all different for a while, so that no two halves of a key are alike. */
function bytes(length: number, from = 1): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (from + i * 7 + (i >> 5)) & 255);
}

function ivFor(algorithm: CipherAlgorithm | AeadAlgorithm): Uint8Array | null {
  return algorithm.ivBytes === 0 ? null : bytes(algorithm.ivBytes, 3);
}

const openssl = (...args: string[]): string => {
  const run = spawnSync('openssl', args, { encoding: 'utf8' });
  return run.status === 0 ? run.stdout : '';
};
const PROVIDERS = ['-provider', 'default', '-provider', 'legacy'];

/** `{ oid, NAME, other } @ default` → each algorithm's names; also `NAME @ default`. */
function providedNames(list: string): string[][] {
  return [...list.matchAll(/^ {2}(?:\{ (.*) \}|(\S+)) @ /gm)].map((found) =>
    (found[1] ?? found[2]!).split(', '),
  );
}

test('every cipher has the sizes that node:crypto reports', () => {
  let compared = 0;
  for (const algorithm of [...cipherEntries, ...aeadEntries]) {
    const info = crypto.getCipherInfo(algorithm.name);
    if (!info) continue;
    compared++;
    assert.equal(info.keyLength, algorithm.keyBytes, `${algorithm.name} key`);
    assert.equal(info.ivLength ?? 0, algorithm.ivBytes, `${algorithm.name} iv`);
    if (algorithm.kind === 'cipher') {
      assert.equal(info.blockSize ?? 1, algorithm.blockBytes, `${algorithm.name} block`);
      assert.equal(info.mode, algorithm.mode.replace(/^cfb[18]$/, 'cfb'), `${algorithm.name} mode`);
    }
  }
  assert.ok(compared >= 110, `only ${compared} compared`);
});

test('the block inside a stream mode is as long as its IV, and as the block of the same cipher in CBC', () => {
  for (const algorithm of [...cipherEntries, ...aeadEntries]) {
    if (algorithm.mode === 'stream' || algorithm.mode === 'chacha20-poly1305') continue;
    const cbc = cipherEntries.find(
      (other) => other.family === algorithm.family && other.mode === 'cbc' && other.blockBytes > 1,
    );
    assert.equal(algorithm.cipherBlockBytes, cbc?.blockBytes, algorithm.name);
    if (algorithm.kind === 'cipher' && algorithm.ivBytes > 0) {
      assert.equal(algorithm.ivBytes, algorithm.cipherBlockBytes, algorithm.name);
    }
  }
});

test('key ranges hold in node:crypto', (t) => {
  if (!nodeCan(cipherLike('bf-cbc')!)) return t.skip('OpenSSL’s legacy provider is not loaded');
  for (const algorithm of cipherEntries) {
    if (!algorithm.keyRange || !algorithm.names.openssl) continue;
    for (const length of algorithm.keyRange) {
      nodeCipher('encrypt', algorithm, bytes(length), ivFor(algorithm));
    }
  }
});

test('AEAD tag and nonce lengths are those that node:crypto accepts, and no others', () => {
  let compared = 0;
  for (const algorithm of aeadEntries) {
    if (!nodeCan(algorithm)) continue;
    compared++;
    const key = bytes(algorithm.keyBytes);
    const seals = (ivBytes: number, authTagLength: number): boolean => {
      try {
        const cipher = crypto.createCipheriv(algorithm.name as 'aes-128-gcm', key, bytes(ivBytes), {
          authTagLength,
        });
        cipher.update(bytes(5));
        cipher.final();
        return cipher.getAuthTag().length === authTagLength;
      } catch {
        return false;
      }
    };
    const tags = Array.from({ length: 17 }, (_, i) => i).filter((n) => seals(algorithm.ivBytes, n));
    assert.deepEqual(tags, algorithm.tagBytes, `${algorithm.name} tags`);
    const [shortest, longest] = algorithm.ivRange;
    assert.ok(seals(shortest, algorithm.defaultTagBytes), `${algorithm.name} nonce of ${shortest}`);
    assert.ok(seals(longest, algorithm.defaultTagBytes), `${algorithm.name} nonce of ${longest}`);
    assert.ok(!seals(shortest - 1, algorithm.defaultTagBytes), `${algorithm.name} nonce of ${shortest - 1}`);
    assert.ok(!seals(longest + 1, algorithm.defaultTagBytes), `${algorithm.name} nonce of ${longest + 1}`);
    assert.ok(algorithm.tagBytes.includes(algorithm.defaultTagBytes));
  }
  assert.ok(compared >= 16, `only ${compared} compared`);
});

test('XTS takes 16 bytes and more, not 15', () => {
  for (const algorithm of cipherEntries) {
    assert.equal(algorithm.minBytes, algorithm.mode === 'xts' ? 16 : undefined, algorithm.name);
    if (algorithm.mode !== 'xts' || !nodeCan(algorithm)) continue;
    const run = (length: number) =>
      nodeCipher('encrypt', algorithm, bytes(algorithm.keyBytes), ivFor(algorithm)).update(bytes(length));
    assert.equal(run(16).length, 16);
    assert.throws(() => run(15));
  }
});

/** The chaining value after `at` bytes of a message, made as the docstring of `handover` says. */
function chainAt(
  algorithm: CipherAlgorithm,
  iv: Uint8Array,
  plain: Uint8Array,
  coded: Uint8Array,
  at: number,
): Uint8Array {
  const block = algorithm.cipherBlockBytes;
  const next = Uint8Array.from(iv);
  switch (algorithm.mode) {
    case 'cbc':
    case 'cfb':
    case 'cfb8':
    case 'cfb1':
      return coded.slice(at - block, at);
    case 'ofb':
      return plain.slice(at - block, at).map((byte, i) => byte ^ coded[at - block + i]!);
    case 'ctr':
      for (let n = 0; n < at / block; n++) {
        for (let i = block - 1; i >= 0; i--) {
          next[i] = next[i]! + 1;
          if (next[i] !== 0) break;
        }
      }
      return next;
    case 'stream': {
      const view = new DataView(next.buffer);
      view.setUint32(0, view.getUint32(0, true) + at / block, true);
      return next;
    }
    default:
      throw new Error(`no chaining value for ${algorithm.mode}`);
  }
}

test('where `handover` is set, key and chaining value are all it takes to go on, in both directions', () => {
  let compared = 0;
  for (const algorithm of cipherEntries) {
    if (!nodeCan(algorithm)) continue;
    assert.equal(
      algorithm.handover,
      algorithm.mode !== 'xts' && algorithm.family !== 'rc4',
      `${algorithm.name} handover`,
    );
    if (!algorithm.handover) continue;
    compared++;
    const block = algorithm.cipherBlockBytes;
    const key = bytes(algorithm.keyBytes);
    // A counter that wraps after one block shows whether the whole of it counts.
    const iv = algorithm.mode === 'ctr' ? new Uint8Array(block).fill(255) : ivFor(algorithm);
    const plain = bytes(6 * block, 11);
    const coded = nodeCipher('encrypt', algorithm, key, iv).update(plain);
    for (const at of [block, 4 * block]) {
      const next = iv && chainAt(algorithm, iv, plain, coded, at);
      const rest = nodeCipher('encrypt', algorithm, key, next).update(plain.subarray(at));
      assert.deepEqual(rest, coded.subarray(at), `${algorithm.name} encrypt after ${at}`);
      const back = nodeCipher('decrypt', algorithm, key, next).update(coded.subarray(at));
      assert.deepEqual(Uint8Array.from(back), plain.slice(at), `${algorithm.name} decrypt after ${at}`);
    }
  }
  assert.ok(compared >= 70, `only ${compared} compared`);
});

test('`parallel` follows from what a chaining value is made of', () => {
  for (const { name, mode, parallel, handover } of cipherEntries) {
    const expected =
      mode === 'ecb' || mode === 'ctr' || name === 'chacha20'
        ? 'both'
        : /^(cbc|cfb)/.test(mode)
          ? 'decrypt'
          : 'none';
    assert.equal(parallel, expected, name);
    if (parallel !== 'none') assert.ok(handover, name);
  }
});

test('every hash and HMAC has the length that is really made', () => {
  let compared = 0;
  for (const hash of hashEntries) {
    const digest = realDigest(hash.name, new Uint8Array());
    if (!digest) continue;
    compared++;
    assert.equal(digest.length, hash.digestBytes, hash.name);
  }
  assert.ok(compared >= 17, `only ${compared} compared`);
  for (const mac of macEntries.filter((entry) => entry.construction === 'hmac')) {
    assert.equal(mac.digestBytes, hashAlgorithm(mac.over)?.digestBytes, mac.name);
    assert.equal(mac.blockBytes, hashAlgorithm(mac.over)?.blockBytes, mac.name);
    assert.ok(hmacOf(mac.over) === mac);
  }
});

/** A digest by node:crypto, or by the openssl command with its legacy provider, or undefined. */
function realDigest(name: string, data: Uint8Array): Uint8Array | undefined {
  try {
    return crypto.createHash(name).update(data).digest();
  } catch {
    const run = spawnSync('openssl', ['dgst', ...PROVIDERS, '-binary', `-${name}`], { input: data });
    return run.status === 0 ? run.stdout : undefined;
  }
}

test('a hash reads blocks of the length given: a key one byte longer is hashed first (RFC 2104)', () => {
  let compared = 0;
  for (const hash of hashEntries) {
    if (hash.xof) continue;
    const hmac = (key: Uint8Array): string | undefined => {
      try {
        return crypto.createHmac(hash.name, key).update('message').digest('hex');
      } catch {
        return undefined;
      }
    };
    const digest = (key: Uint8Array) => crypto.createHash(hash.name).update(key).digest();
    const whole = bytes(hash.blockBytes);
    const longer = bytes(hash.blockBytes + 1);
    if (hmac(whole) === undefined) continue;
    compared++;
    assert.notEqual(hmac(whole), hmac(digest(whole)), `${hash.name}: a key of one block was hashed`);
    assert.equal(
      hmac(longer),
      hmac(digest(longer)),
      `${hash.name}: a key longer than a block was not hashed`,
    );
  }
  assert.ok(compared >= 15, `only ${compared} compared`);
});

test('names and aliases are lower case and nobody else’s', () => {
  const owners = new Map<string, string>();
  for (const algorithm of algorithms()) {
    for (const spelling of [algorithm.name, ...algorithm.aliases]) {
      assert.equal(spelling, spelling.toLowerCase());
      assert.equal(
        owners.get(spelling),
        undefined,
        `${spelling}: ${owners.get(spelling)}, ${algorithm.name}`,
      );
      owners.set(spelling, algorithm.name);
      assert.equal(findAlgorithm(spelling.toUpperCase()), algorithm);
    }
  }
});

test('every name of getCiphers() is found, but for key wrapping and TLS’s own', () => {
  for (const name of crypto.getCiphers()) {
    const info = crypto.getCipherInfo(name);
    const found = cipherLike(name);
    if (info?.mode === 'wrap' || /-hmac-|-siv$|-cts$|wrap/i.test(name)) {
      assert.equal(found, undefined, name);
    } else if (!found) {
      // Names that a later OpenSSL has brought are not wrong, only unknown: an entry is made on the fly.
      assert.match(name, /^(sm4-xts|rc2|idea|rc5|desx|ascon)/i, `${name} is not in the table`);
    } else {
      assert.equal(crypto.getCipherInfo(found.name)?.nid, info?.nid, `${name} is not ${found.name}`);
    }
  }
});

test('every name of getHashes() is found, as the hash that it makes', () => {
  for (const name of crypto.getHashes()) {
    const found = hashAlgorithm(name);
    if (!found) {
      assert.match(name, /^(rsa-)?(mdc2|md2|keccak-)/i, `${name} is not in the table`);
      continue;
    }
    const options = found.xof ? { outputLength: found.digestBytes } : {};
    const made = crypto.createHash(name, options).update('abc').digest('hex');
    assert.equal(made, crypto.createHash(found.name, options).update('abc').digest('hex'), name);
  }
});

test('aliases and OIDs that this OpenSSL lists belong to the entry that it says', (t) => {
  const ciphers = providedNames(openssl('list', '-cipher-algorithms', ...PROVIDERS));
  const digests = providedNames(openssl('list', '-digest-algorithms', ...PROVIDERS));
  if (ciphers.length === 0) return t.skip('no openssl command');
  let compared = 0;
  for (const names of [...ciphers, ...digests]) {
    const found = new Set(names.map((name) => findAlgorithm(name)?.name));
    if (found.size === 1 && found.has(undefined)) {
      assert.match(
        names[0]!,
        /NULL|wrap|siv|cts|hmac|rc2|rc5|idea|desx|kmac|keccak|mdc2|md2|xts|1\.2\.840\.113549\.(1\.9|3\.2$)|2\.16\.840\.1\.101\.3\.4\.1\.\d*[58]$/i,
        `${names} is not in the table`,
      );
    } else {
      assert.equal(found.size, 1, `${names.join(', ')} are ${[...found].join(', ')}`);
      compared++;
    }
  }
  assert.ok(compared >= 120, `only ${compared} compared`);
});

test('OpenSSL knows each name that the table gives as its own', (t) => {
  const names = (list: string) =>
    new Set(
      providedNames(list)
        .flat()
        .map((name) => name.toLowerCase()),
    );
  const ciphers = names(openssl('list', '-cipher-algorithms', ...PROVIDERS));
  const digests = names(openssl('list', '-digest-algorithms', ...PROVIDERS));
  const macs = names(openssl('list', '-mac-algorithms'));
  if (ciphers.size === 0) return t.skip('no openssl command');
  // SM4-GCM and SM4-CCM came with OpenSSL 3.1; a build may leave out what is out of use.
  const absent = /^(sm4-gcm|sm4-ccm|md4|seed-|whirlpool)/;
  for (const algorithm of algorithms()) {
    const name = algorithm.names.openssl?.toLowerCase();
    if (name === undefined) continue;
    const known = algorithm.kind === 'hash' ? digests : algorithm.kind === 'mac' ? macs : ciphers;
    assert.ok(known.has(name) || absent.test(name), `${algorithm.name}: ${name}`);
  }
});

test('every entry that is not current says why, and only those', () => {
  for (const algorithm of algorithms()) {
    assert.equal(algorithm.status !== 'current', algorithm.statusNote !== undefined, algorithm.name);
  }
  const status = (name: string) => findAlgorithm(name)?.status;
  for (const name of ['des-cbc', 'rc4', 'rc4-40', 'md4', 'md5', 'aes-256-ecb', 'des-ede-cbc']) {
    assert.equal(status(name), 'weak', name);
  }
  for (const name of ['des-ede3-cbc', 'bf-cbc', 'cast5-cbc', 'ripemd160', 'sha1', 'hmac-md5', 'hmac-sha1']) {
    assert.equal(status(name), 'legacy', name);
  }
  for (const name of ['aes-128-gcm', 'aes-256-xts', 'chacha20', 'serpent-256-xts', 'sha256', 'hmac-sha256']) {
    assert.equal(status(name), 'current', name);
  }
});

test('cryptodev ids are those of crypto/cryptodev.h', () => {
  // Field notes, section 2. Ids without an entry: SKIPJACK 5, NULL 16, TLS 1.1 and 1.2 108 and 109.
  const header: Record<number, string[]> = {
    1: ['des-cbc'],
    2: ['des-ede3-cbc'],
    3: ['bf-cbc'],
    4: ['cast5-cbc'],
    6: ['hmac-md5'],
    7: ['hmac-sha1'],
    8: ['hmac-ripemd160'],
    11: ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc'],
    12: ['rc4', 'rc4-40'],
    13: ['md5'],
    14: ['sha1'],
    18: ['hmac-sha256'],
    19: ['hmac-sha384'],
    20: ['hmac-sha512'],
    21: ['aes-128-ctr', 'aes-192-ctr', 'aes-256-ctr'],
    22: ['aes-128-xts', 'aes-192-xts', 'aes-256-xts'],
    23: ['aes-128-ecb', 'aes-192-ecb', 'aes-256-ecb'],
    24: ['aes-128-cfb', 'aes-192-cfb', 'aes-256-cfb'],
    25: ['aes-128-ofb', 'aes-192-ofb', 'aes-256-ofb'],
    50: ['aes-128-gcm', 'aes-192-gcm', 'aes-256-gcm'],
    51: ['aes-128-ccm', 'aes-192-ccm', 'aes-256-ccm'],
    101: ['camellia-128-cbc', 'camellia-192-cbc', 'camellia-256-cbc'],
    102: ['ripemd160'],
    103: ['sha224'],
    104: ['sha256'],
    105: ['sha384'],
    106: ['sha512'],
    107: ['hmac-sha224'],
  };
  for (let id = 0; id < 200; id++) {
    assert.deepEqual(namesOf(byCryptodevId(id)), header[id] ?? [], `id ${id}`);
  }
});

const namesOf = (found: readonly Algorithm[]) => found.map((algorithm) => algorithm.name);

test('libgcrypt ids are those of gcrypt.h', (t) => {
  const header = ['/usr/include/gcrypt.h', '/usr/local/include/gcrypt.h'].find((file) => existsSync(file));
  if (!header) return t.skip('gcrypt.h is not installed (libgcrypt20-dev)');
  const ids = new Map(
    [...readFileSync(header, 'utf8').matchAll(/^\s*(GCRY_[A-Z0-9_]+)\s*=\s*(\d+)/gm)].map((found) => [
      found[1]!,
      Number(found[2]),
    ]),
  );
  const irregular: Record<string, string> = {
    AES128: 'AES',
    DES_EDE3: '3DES',
    TWOFISH256: 'TWOFISH',
    BF: 'BLOWFISH',
    RC4: 'ARCFOUR',
    RC4_40: 'ARCFOUR',
    MD_RIPEMD160: 'RMD160',
    MD_BLAKE2B512: 'BLAKE2B_512',
    MD_BLAKE2S256: 'BLAKE2S_256',
    CMAC_DES_EDE3: 'CMAC_3DES',
  };
  let compared = 0;
  for (const { name, kind, names, ...rest } of algorithms()) {
    if (!names.gcrypt) continue;
    compared++;
    const constant = (text: string) => text.toUpperCase().replaceAll('-', '_');
    if (kind === 'cipher' || kind === 'aead') {
      const { mode } = rest as CipherAlgorithm;
      const stem = constant(name.replace(/-(ecb|cbc|ctr|cfb8?|ofb|xts|gcm|ccm|ocb|poly1305)$/, '')).replace(
        /_(128|192|256)$/,
        '$1',
      );
      assert.equal(names.gcrypt.algo, ids.get(`GCRY_CIPHER_${irregular[stem] ?? stem}`), name);
      const modeName = mode === ('chacha20-poly1305' as string) ? 'POLY1305' : mode.toUpperCase();
      assert.equal(names.gcrypt.mode, ids.get(`GCRY_CIPHER_MODE_${modeName}`), name);
    } else if (kind === 'hash') {
      const stem = constant(name);
      assert.equal(names.gcrypt.algo, ids.get(`GCRY_MD_${irregular[`MD_${stem}`] ?? stem}`), name);
    } else {
      const [construction, over] = [name.slice(0, 4).toUpperCase(), constant(name.slice(5))];
      const stem =
        construction === 'HMAC' ? (irregular[`MD_${over}`] ?? over) : over.replace(/_(128|192|256)$/, '');
      const own = irregular[`${construction}_${stem}`] ?? `${construction}_${stem}`;
      assert.equal(names.gcrypt.algo, ids.get(`GCRY_MAC_${own}`), name);
    }
  }
  assert.ok(compared >= 120, `only ${compared} compared`);
});

test('nettle stems are symbols of its headers', (t) => {
  const folder = '/usr/include/nettle';
  if (!existsSync(folder)) return t.skip('nettle’s headers are not installed (nettle-dev)');
  const read = (file: string) =>
    existsSync(`${folder}/${file}.h`) ? readFileSync(`${folder}/${file}.h`, 'utf8') : '';
  const meta = read('nettle-meta');
  const functions = ['des', 'blowfish', 'arcfour', 'chacha', 'ccm', 'sm4'].map(read).join('\n');
  const since39 = /sm4$/;
  let compared = 0;
  for (const { name, names } of algorithms()) {
    const stem = names.nettle;
    if (stem === undefined || since39.test(stem)) continue;
    compared++;
    const structure = new RegExp(`struct nettle_(cipher|hash|aead|mac) nettle_${stem};`).test(meta);
    const setter = new RegExp(`\\bnettle_${stem}_set_(encrypt_)?key\\b`).test(functions);
    assert.ok(structure || setter, `${name}: ${stem}`);
  }
  assert.ok(compared >= 60, `only ${compared} compared`);
});

test('kernel names are found with every key length', () => {
  const kernel = (name: string) => namesOf(byKernelName(name));
  assert.deepEqual(kernel('cbc(aes)'), ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc']);
  assert.deepEqual(kernel('xts(serpent)'), ['serpent-128-xts', 'serpent-192-xts', 'serpent-256-xts']);
  assert.deepEqual(kernel('ctr(aes)'), ['aes-128-ctr', 'aes-192-ctr', 'aes-256-ctr']);
  assert.deepEqual(kernel('cbc(des3_ede)'), ['des-ede3-cbc']);
  assert.deepEqual(kernel('ecb(des3_ede)'), ['des-ede3']);
  assert.deepEqual(kernel('ecb(arc4)'), ['rc4', 'rc4-40']);
  assert.deepEqual(kernel('rfc7539(chacha20,poly1305)'), ['chacha20-poly1305']);
  assert.deepEqual(kernel('hmac(sha256)'), ['hmac-sha256']);
  assert.deepEqual(kernel('hmac(rmd160)'), ['hmac-ripemd160']);
  assert.deepEqual(kernel('cmac(aes)'), ['cmac-aes-128', 'cmac-aes-192', 'cmac-aes-256']);
  assert.deepEqual(kernel('rmd160'), ['ripemd160']);
  assert.deepEqual(kernel('blake2b-512'), ['blake2b512']);
  assert.deepEqual(kernel('sha3-256'), ['sha3-256']);
  assert.deepEqual(kernel('wp512'), ['whirlpool']);
  assert.deepEqual(kernel('cbc-aes-aesni'), []);
});

test('QEMU names are found as its benchmarks print them', () => {
  const qemu = (name: string) => byQemuName(name)?.name;
  for (const bits of [128, 256]) {
    for (const mode of ['ecb', 'cbc', 'ctr', 'xts']) {
      assert.equal(qemu(`aes-${bits}-${mode}`), `aes-${bits}-${mode}`);
      assert.equal(qemu(`${mode}-aes-${bits}`), `aes-${bits}-${mode}`);
      assert.equal(qemu(`${mode}(aes-${bits})`), `aes-${bits}-${mode}`);
    }
  }
  assert.equal(qemu('3des-cbc'), 'des-ede3-cbc');
  assert.equal(qemu('cast5-128-cbc'), 'cast5-cbc');
  for (const name of ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'ripemd160']) {
    assert.equal(qemu(name), name);
  }
  assert.equal(qemu('hmac(sha256)'), 'hmac-sha256');
  assert.equal(qemu('aes-128'), undefined);
});

test('cryptsetup specifications are found with their key size', () => {
  const cryptsetup = (spec: string, bits: number) => byCryptsetup(spec, bits)?.name;
  // The default rows of `cryptsetup benchmark`.
  for (const cipher of ['aes', 'serpent', 'twofish']) {
    assert.equal(cryptsetup(`${cipher}-cbc`, 128), `${cipher}-128-cbc`);
    assert.equal(cryptsetup(`${cipher}-cbc`, 256), `${cipher}-256-cbc`);
    assert.equal(cryptsetup(`${cipher}-xts`, 256), `${cipher}-128-xts`);
    assert.equal(cryptsetup(`${cipher}-xts`, 512), `${cipher}-256-xts`);
  }
  assert.equal(cryptsetup('aes-xts-plain64', 512), 'aes-256-xts');
  assert.equal(cryptsetup('aes-cbc-essiv:sha256', 256), 'aes-256-cbc');
  assert.equal(cryptsetup('aes', 256), 'aes-256-cbc');
  assert.equal(cryptsetup('capi:xts(aes)-plain64', 256), 'aes-128-xts');
  assert.equal(cryptsetup('capi:cbc(camellia)', 192), 'camellia-192-cbc');
  assert.equal(cryptsetup('des3_ede-cbc-plain', 192), 'des-ede3-cbc');
  assert.equal(cryptsetup('blowfish-cbc', 448), 'bf-cbc');
  assert.equal(cryptsetup('aes-gcm-random', 256), 'aes-256-gcm');
  assert.equal(cryptsetup('aes-xts', 128), undefined);
  assert.equal(cryptsetup('xchacha12,aes-adiantum', 256), undefined);
  assert.equal(cryptsetup('capi:authenc(hmac(sha256),cbc(aes))-plain64', 512), undefined);
});

test('HMAC goes by any spelling of its hash', () => {
  assert.equal(findAlgorithm('HMAC-SHA2-256')?.name, 'hmac-sha256');
  assert.equal(findAlgorithm('hmac-rsa-sha512')?.name, 'hmac-sha512');
  assert.equal(hmacOf('RIPEMD')?.name, 'hmac-ripemd160');
  assert.equal(hmacOf('shake128'), undefined);
  assert.equal(findAlgorithm('hmac-nothing'), undefined);
});

test('lookups keep to their kind, and to own properties', () => {
  assert.equal(cipherLike('sha256'), undefined);
  assert.equal(hashAlgorithm('aes-128-cbc'), undefined);
  for (const name of ['__proto__', 'constructor', 'toString', ''])
    assert.equal(findAlgorithm(name), undefined);
  assert.equal(
    algorithms().length,
    (['cipher', 'aead', 'hash', 'mac'] as const).flatMap((k) => algorithms(k)).length,
  );
});

test('a name that is near to one of the table gets a suggestion, and nonsense none', () => {
  assert.equal(suggest('aes128cbc')[0], 'aes-128-cbc');
  assert.equal(suggest('aes-256-gmc')[0], 'aes-256-gcm');
  assert.equal(suggest('sha_256')[0], 'sha256');
  assert.equal(suggest('sha25')[0], 'sha256');
  assert.equal(suggest('3des')[0], 'des-ede3-cbc');
  assert.equal(suggest('blowfish-cbc')[0], 'bf-cbc');
  assert.deepEqual(suggest('cbc(aes)'), ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc']);
  assert.equal(suggest('AES/CBC/NoPadding', 10).includes('aes-256-cbc'), true);
  assert.notEqual(suggest('serpent').length, 0);
  assert.deepEqual(suggest('foo'), []);
  assert.deepEqual(suggest(''), []);
});

test('an entry made on the fly says of a known cipher what the table says', () => {
  for (const algorithm of [...cipherEntries, ...aeadEntries]) {
    const info = crypto.getCipherInfo(algorithm.name);
    if (!info || algorithm.mode === 'stream' || algorithm.mode === 'chacha20-poly1305') continue;
    const made = adHocCipher({
      name: algorithm.name,
      keyBytes: info.keyLength,
      ...(info.ivLength === undefined ? {} : { ivBytes: info.ivLength }),
      ...(info.blockSize === undefined ? {} : { blockBytes: info.blockSize }),
      mode: info.mode,
    });
    const { aliases, names, status, statusNote, family, keyRange, ...facts } = algorithm as CipherAlgorithm;
    for (const [field, value] of Object.entries(facts)) {
      assert.deepEqual(made?.[field as keyof typeof made], value, `${algorithm.name} ${field}`);
    }
    assert.ok(made?.adHoc);
  }
});

test('an entry made on the fly takes nothing for granted', () => {
  const rc2 = adHocCipher({ name: 'RC2-CBC', keyBytes: 16, ivBytes: 8, blockBytes: 8, mode: 'cbc' });
  assert.ok(rc2?.kind === 'cipher');
  assert.deepEqual(
    [
      rc2.name,
      rc2.names.openssl,
      rc2.family,
      rc2.blockBytes,
      rc2.cipherBlockBytes,
      rc2.parallel,
      rc2.handover,
    ],
    ['rc2-cbc', 'RC2-CBC', 'rc2', 8, 8, 'decrypt', true],
  );
  const tls = { name: 'AES-128-CBC-HMAC-SHA1', keyBytes: 16, ivBytes: 16, blockBytes: 16, mode: 'cbc' };
  assert.equal((adHocCipher(tls) as CipherAlgorithm).handover, false);
  const stream = adHocCipher({ name: 'NEW', keyBytes: 16, ivBytes: 16, mode: 'stream' });
  assert.ok(stream?.kind === 'cipher' && !stream.handover && stream.parallel === 'none');
  assert.equal(
    adHocCipher({ name: 'AES-128-WRAP', keyBytes: 16, ivBytes: 8, blockBytes: 8, mode: 'wrap' }),
    undefined,
  );
  assert.equal(adHocCipher({ name: 'AES-128-SIV', keyBytes: 32, mode: 'siv' }), undefined);
  const hash = adHocHash({ name: 'KECCAK-256', digestBytes: 32, blockBytes: 136 });
  assert.deepEqual(
    [hash.name, hash.names.openssl, hash.digestBytes, hash.blockBytes, hash.xof],
    ['keccak-256', 'KECCAK-256', 32, 136, false],
  );
});

// DES, Blowfish, CAST5, RC4, SEED, MD4 and Whirlpool are in a provider that Node loads only when it is told to.
const LEGACY = '--openssl-legacy-provider';
test('all of the above with OpenSSL’s legacy provider', { skip: process.execArgv.includes(LEGACY) }, () => {
  const run = spawnSync(process.execPath, [LEGACY, '--test-reporter=tap', import.meta.filename], {
    encoding: 'utf8',
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  assert.equal(run.status, 0, run.stdout + run.stderr);
});
