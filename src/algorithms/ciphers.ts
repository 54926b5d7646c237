/**
 * Ciphers and AEADs: block ciphers as families, and how an entry of the table is made from a family and a mode;
 * stream ciphers; entries made on the fly.
 *
 * Sources: `openssl list -cipher-algorithms` (3.0) and providers/implementations/include/prov/names.h (3.5) for names
 * and object identifiers; crypto/*.c of Linux for kernel names; crypto/cryptodev.h of cryptodev-linux; gcrypt.h 1.10;
 * nettle 3.8 to 3.10; qapi/crypto.json of QEMU; NIST SP 800-38A to E, RFC 7253 for the modes.
 */
import type { AeadAlgorithm, AeadMode, CipherAlgorithm, CipherMode, Names, Status } from '../algorithms.js';

type BlockMode = Exclude<CipherMode, 'stream'>;
type BlockAead = Exclude<AeadMode, 'chacha20-poly1305'>;
type Mode = BlockMode | BlockAead;

/** One block cipher at one key length, with its name in each world and the modes that world has it in. */
interface BlockCipher {
  readonly family: string;
  /** What stands before the mode in hwcrypt's name: `aes-128`. */
  readonly stem: string;
  readonly keyBytes: number;
  readonly keyRange?: readonly [number, number];
  /** Bytes in a block: 8 or 16. */
  readonly block: 8 | 16;
  /** Modes of the table, in the order in which they are listed. */
  readonly modes: readonly Mode[];
  /** Modes in which OpenSSL has it, under the upper-case form of hwcrypt's name. */
  readonly openssl?: readonly Mode[];
  /** The cipher inside a kernel name: `aes` in `cbc(aes)`. */
  readonly kernel?: string;
  readonly cryptodev?: Partial<Record<Mode, number>>;
  /** GCRY_CIPHER_*. */
  readonly gcrypt?: number;
  readonly nettle?: string;
  /** Modes for which nettle has a named AEAD of this cipher. */
  readonly nettleAead?: readonly BlockAead[];
  readonly qemu?: string;
  readonly status?: Status;
  readonly note?: string;
  /** Further spellings, mode by mode, as OpenSSL knows them; object identifiers among them. */
  readonly aliases?: Partial<Record<Mode, readonly string[]>>;
}

const AES_MODES = words('ecb cbc ctr cfb cfb8 cfb1 ofb xts gcm ccm ocb');
const EVERY_MODE_BUT_AEAD = words('ecb cbc ctr cfb cfb8 cfb1 ofb');
const SM4_MODES = words('ecb cbc ctr cfb ofb gcm ccm');
const SERPENT_MODES = words('ecb cbc ctr cfb ofb xts gcm');
const CLASSIC_MODES = words('ecb cbc cfb ofb');

const SWEET32 = '64-bit block: repeats after some 32 GiB under one key (Sweet32)';

const aes = [128, 192, 256].map((bits, i): BlockCipher => {
  const oid = (n: number) => `2.16.840.1.101.3.4.1.${n + 20 * i}`;
  return {
    family: 'aes',
    stem: `aes-${bits}`,
    keyBytes: bits / 8,
    block: 16,
    modes: AES_MODES,
    // IEEE 1619 defines XTS for 128 and 256 bits only, and OpenSSL keeps to it.
    openssl: bits === 192 ? AES_MODES.filter((mode) => mode !== 'xts') : AES_MODES,
    kernel: 'aes',
    cryptodev: { cbc: 11, ctr: 21, xts: 22, ecb: 23, cfb: 24, ofb: 25, gcm: 50, ccm: 51 },
    gcrypt: 7 + i,
    nettle: `aes${bits}`,
    nettleAead: ['gcm', 'ccm'],
    qemu: `aes-${bits}`,
    aliases: {
      ecb: [oid(1)],
      cbc: [`aes${bits}`, oid(2)],
      ofb: [oid(3)],
      cfb: [oid(4)],
      xts: bits === 128 ? ['1.3.111.2.1619.0.1.1'] : bits === 256 ? ['1.3.111.2.1619.0.1.2'] : [],
      gcm: [`id-aes${bits}-gcm`, oid(6)],
      ccm: [`id-aes${bits}-ccm`, oid(7)],
    },
  };
});

const camellia = [128, 192, 256].map((bits, i): BlockCipher => {
  const oid = (n: number) => `0.3.4401.5.3.1.9.${n + 20 * i}`;
  return {
    family: 'camellia',
    stem: `camellia-${bits}`,
    keyBytes: bits / 8,
    block: 16,
    modes: words('ecb cbc ctr cfb cfb8 cfb1 ofb xts gcm'),
    openssl: EVERY_MODE_BUT_AEAD,
    kernel: 'camellia',
    cryptodev: { cbc: 101 },
    gcrypt: 310 + i,
    nettle: `camellia${bits}`,
    nettleAead: bits === 192 ? [] : ['gcm'],
    aliases: {
      ecb: [oid(1)],
      cbc: [`camellia${bits}`, `1.2.392.200011.61.1.1.1.${2 + i}`],
      ofb: [oid(3)],
      cfb: [oid(4)],
      ctr: [oid(9)],
    },
  };
});

const aria = [128, 192, 256].map((bits, i): BlockCipher => {
  const oid = (n: number) => `1.2.410.200046.1.1.${n}`;
  return {
    family: 'aria',
    stem: `aria-${bits}`,
    keyBytes: bits / 8,
    block: 16,
    modes: words('ecb cbc ctr cfb cfb8 cfb1 ofb gcm ccm'),
    openssl: words('ecb cbc ctr cfb cfb8 cfb1 ofb gcm ccm'),
    kernel: 'aria',
    aliases: {
      ecb: [oid(1 + 5 * i)],
      cbc: [`aria${bits}`, oid(2 + 5 * i)],
      cfb: [oid(3 + 5 * i)],
      ofb: [oid(4 + 5 * i)],
      ctr: [oid(5 + 5 * i)],
      gcm: [oid(34 + i)],
      ccm: [oid(37 + i)],
    },
  };
});

// No `sm4-xts`: OpenSSL's is the one of GB/T 17964, the kernel's that of IEEE 1619, and they differ in every byte.
// The name stays OpenSSL's alone (see ad-hoc.ts), so that no two drivers can disagree about it.
const sm4: BlockCipher = {
  family: 'sm4',
  stem: 'sm4',
  keyBytes: 16,
  block: 16,
  modes: SM4_MODES,
  openssl: SM4_MODES,
  kernel: 'sm4',
  gcrypt: 318,
  nettle: 'sm4',
  nettleAead: ['gcm'],
  qemu: 'sm4',
  aliases: {
    ecb: ['1.2.156.10197.1.104.1'],
    cbc: ['sm4', '1.2.156.10197.1.104.2'],
    ofb: ['sm4-ofb128', '1.2.156.10197.1.104.3'],
    cfb: ['sm4-cfb128', '1.2.156.10197.1.104.4'],
    ctr: ['1.2.156.10197.1.104.7'],
    gcm: ['1.2.156.10197.1.104.8'],
    ccm: ['1.2.156.10197.1.104.9'],
  },
};

const serpent = [128, 192, 256].map(
  (bits, i): BlockCipher => ({
    family: 'serpent',
    stem: `serpent-${bits}`,
    keyBytes: bits / 8,
    block: 16,
    modes: SERPENT_MODES,
    kernel: 'serpent',
    gcrypt: 304 + i,
    nettle: `serpent${bits}`,
    qemu: `serpent-${bits}`,
  }),
);

const twofish = [128, 192, 256].map((bits): BlockCipher => {
  // libgcrypt has no Twofish with a 192-bit key.
  const gcrypt = bits === 128 ? 303 : bits === 256 ? 10 : undefined;
  return {
    family: 'twofish',
    stem: `twofish-${bits}`,
    keyBytes: bits / 8,
    block: 16,
    modes: SERPENT_MODES,
    kernel: 'twofish',
    ...(gcrypt === undefined ? {} : { gcrypt }),
    nettle: `twofish${bits}`,
    qemu: `twofish-${bits}`,
  };
});

const seed: BlockCipher = {
  family: 'seed',
  stem: 'seed',
  keyBytes: 16,
  block: 16,
  modes: CLASSIC_MODES,
  openssl: CLASSIC_MODES,
  kernel: 'seed',
  gcrypt: 309,
  status: 'legacy',
  note: 'replaced by ARIA in its own country',
  aliases: {
    ecb: ['1.2.410.200004.1.3'],
    cbc: ['seed', '1.2.410.200004.1.4'],
    cfb: ['seed-cfb128', '1.2.410.200004.1.5'],
    ofb: ['seed-ofb128', '1.2.410.200004.1.6'],
  },
};

const des: BlockCipher = {
  family: 'des',
  stem: 'des',
  keyBytes: 8,
  block: 8,
  modes: words('ecb cbc cfb cfb8 cfb1 ofb'),
  openssl: words('ecb cbc cfb cfb8 cfb1 ofb'),
  kernel: 'des',
  cryptodev: { cbc: 1 },
  gcrypt: 302,
  nettle: 'des',
  qemu: 'des',
  status: 'weak',
  note: '56-bit key: found by exhaustive search in hours',
  aliases: {
    ecb: ['1.3.14.3.2.6'],
    cbc: ['des', '1.3.14.3.2.7'],
    ofb: ['1.3.14.3.2.8'],
    cfb: ['1.3.14.3.2.9'],
  },
};

// The bare names are ECB in OpenSSL: `des-ede`, `des-ede3`. The kernel, libgcrypt and nettle take the two-key form only
// as a three-key one whose third key repeats the first.
const desEde: BlockCipher = {
  family: 'des-ede',
  stem: 'des-ede',
  keyBytes: 16,
  block: 8,
  modes: CLASSIC_MODES,
  openssl: CLASSIC_MODES,
  status: 'weak',
  note: `two keys: 80 bits of strength at most; ${SWEET32}`,
  aliases: { ecb: ['des-ede-ecb', '1.3.14.3.2.17'] },
};

const desEde3: BlockCipher = {
  family: 'des-ede3',
  stem: 'des-ede3',
  keyBytes: 24,
  block: 8,
  modes: words('ecb cbc cfb cfb8 cfb1 ofb'),
  openssl: words('ecb cbc cfb cfb8 cfb1 ofb'),
  kernel: 'des3_ede',
  cryptodev: { cbc: 2 },
  gcrypt: 2,
  nettle: 'des3',
  qemu: '3des',
  status: 'legacy',
  note: SWEET32,
  aliases: { ecb: ['des-ede3-ecb'], cbc: ['des3', '1.2.840.113549.3.7'] },
};

const cast5: BlockCipher = {
  family: 'cast5',
  stem: 'cast5',
  keyBytes: 16,
  keyRange: [5, 16],
  block: 8,
  modes: words('ecb cbc ctr cfb ofb'),
  openssl: CLASSIC_MODES,
  kernel: 'cast5',
  cryptodev: { cbc: 4 },
  gcrypt: 3,
  nettle: 'cast128',
  qemu: 'cast5-128',
  status: 'legacy',
  note: SWEET32,
  aliases: { cbc: ['cast', 'cast-cbc', '1.2.840.113533.7.66.10'] },
};

const blowfish: BlockCipher = {
  family: 'blowfish',
  stem: 'bf',
  keyBytes: 16,
  keyRange: [4, 56],
  block: 8,
  modes: words('ecb cbc ctr cfb ofb'),
  openssl: CLASSIC_MODES,
  kernel: 'blowfish',
  cryptodev: { cbc: 3 },
  gcrypt: 4,
  nettle: 'blowfish',
  status: 'legacy',
  note: SWEET32,
  aliases: { cbc: ['bf', 'blowfish', '1.3.6.1.4.1.3029.1.2'] },
};

const FAMILIES: readonly BlockCipher[] = [
  ...aes,
  ...camellia,
  ...aria,
  sm4,
  ...serpent,
  ...twofish,
  seed,
  desEde3,
  desEde,
  des,
  cast5,
  blowfish,
];

/** GCRY_CIPHER_MODE_*. libgcrypt has no 1-bit CFB. */
const GCRYPT_MODE: Partial<Record<Mode, number>> = {
  ecb: 1,
  cfb: 2,
  cbc: 3,
  ofb: 5,
  ctr: 6,
  ccm: 8,
  gcm: 9,
  ocb: 11,
  cfb8: 12,
  xts: 13,
};

/** Kernel templates. `cfb` and `ofb` left Linux in 6.8; `ocb`, `cfb8` and `cfb1` never were in it. */
const KERNEL_TEMPLATES: readonly Mode[] = words('ecb cbc ctr cfb ofb xts gcm ccm');

/** Modes that nettle has for any block cipher. */
const NETTLE_MODES: readonly Mode[] = words('ecb cbc ctr cfb cfb8 xts');

/** Modes of QCryptoCipherMode. */
const QEMU_MODES: readonly Mode[] = words('ecb cbc ctr xts');

/** Modes that dm-crypt volumes are made with. */
const DM_CRYPT_MODES: readonly Mode[] = words('ecb cbc ctr xts gcm ccm');

/** What a mode by itself does to an entry's status. */
const MODE_STATUS: Partial<Record<Mode, { readonly status: Status; readonly note: string }>> = {
  ecb: { status: 'weak', note: 'ECB: equal blocks of plaintext give equal blocks of ciphertext' },
  cfb8: { status: 'legacy', note: 'one cipher call for every byte' },
  cfb1: { status: 'legacy', note: 'one cipher call for every bit' },
};

/** In which directions pieces of a message can be worked on independently. */
const PARALLEL: Record<BlockMode, CipherAlgorithm['parallel']> = {
  ecb: 'both',
  ctr: 'both',
  cbc: 'decrypt',
  cfb: 'decrypt',
  cfb8: 'decrypt',
  cfb1: 'decrypt',
  ofb: 'none',
  xts: 'none',
};

/** Lengths of an AEAD's nonce and tag: NIST SP 800-38C and D, RFC 7253. OpenSSL refuses a GCM nonce above 128 bytes. */
const AEAD_LENGTHS: Record<BlockAead, Pick<AeadAlgorithm, 'ivBytes' | 'ivRange' | 'tagBytes'>> = {
  gcm: { ivBytes: 12, ivRange: [1, 128], tagBytes: [4, 8, 12, 13, 14, 15, 16] },
  ccm: { ivBytes: 12, ivRange: [7, 13], tagBytes: [4, 6, 8, 10, 12, 14, 16] },
  ocb: { ivBytes: 12, ivRange: [1, 15], tagBytes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] },
};

/** GCRY_CIPHER_MODE_STREAM and GCRY_CIPHER_MODE_POLY1305. */
const GCRYPT_STREAM = 4;
const GCRYPT_POLY1305 = 10;

const RC4_NOTE = 'keystream biases recover plaintext (RFC 7465 forbids it in TLS)';

const STREAM_CIPHERS: readonly (CipherAlgorithm | AeadAlgorithm)[] = [
  {
    kind: 'cipher',
    name: 'chacha20',
    aliases: [],
    names: {
      openssl: 'ChaCha20',
      kernel: 'chacha20',
      gcrypt: { algo: 316, mode: GCRYPT_STREAM },
      nettle: 'chacha',
    },
    status: 'current',
    family: 'chacha20',
    mode: 'stream',
    keyBytes: 32,
    // 32-bit little-endian block counter, then the 96-bit nonce: OpenSSL, Linux and libgcrypt all take it so. That is
    // why the stream can be handed over: the next IV is this one with its counter moved on.
    ivBytes: 16,
    blockBytes: 1,
    cipherBlockBytes: 64,
    parallel: 'both',
    handover: true,
  },
  {
    kind: 'aead',
    name: 'chacha20-poly1305',
    aliases: [],
    names: {
      openssl: 'ChaCha20-Poly1305',
      kernel: 'rfc7539(chacha20,poly1305)',
      gcrypt: { algo: 316, mode: GCRYPT_POLY1305 },
      nettle: 'chacha_poly1305',
    },
    status: 'current',
    family: 'chacha20',
    mode: 'chacha20-poly1305',
    keyBytes: 32,
    ivBytes: 12,
    ivRange: [12, 12],
    // RFC 8439 knows 16 only; OpenSSL and so node:crypto cut it to any length that is asked for.
    tagBytes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    defaultTagBytes: 16,
    cipherBlockBytes: 64,
    parallel: 'none',
    handover: false,
  },
  {
    kind: 'cipher',
    name: 'rc4',
    aliases: ['1.2.840.113549.3.4'],
    names: {
      openssl: 'RC4',
      // A stream cipher under a template's name: Linux has had no other for it since 5.3.
      kernel: 'ecb(arc4)',
      cryptodev: 12,
      gcrypt: { algo: 301, mode: GCRYPT_STREAM },
      nettle: 'arcfour',
    },
    status: 'weak',
    statusNote: RC4_NOTE,
    family: 'rc4',
    mode: 'stream',
    keyBytes: 16,
    keyRange: [1, 256],
    ivBytes: 0,
    blockBytes: 1,
    cipherBlockBytes: 1,
    parallel: 'none',
    handover: false,
  },
  {
    kind: 'cipher',
    name: 'rc4-40',
    aliases: [],
    names: {
      openssl: 'RC4-40',
      kernel: 'ecb(arc4)',
      cryptodev: 12,
      gcrypt: { algo: 301, mode: GCRYPT_STREAM },
      nettle: 'arcfour',
    },
    status: 'weak',
    statusNote: `40-bit key; ${RC4_NOTE}`,
    family: 'rc4',
    mode: 'stream',
    keyBytes: 5,
    ivBytes: 0,
    blockBytes: 1,
    cipherBlockBytes: 1,
    parallel: 'none',
    handover: false,
  },
];

/** Every cipher and AEAD of the table. */
export function ciphers(): (CipherAlgorithm | AeadAlgorithm)[] {
  return [
    ...FAMILIES.flatMap((cipher) => cipher.modes.map((mode) => entry(cipher, mode))),
    ...STREAM_CIPHERS,
  ];
}

function entry(cipher: BlockCipher, mode: Mode): CipherAlgorithm | AeadAlgorithm {
  const bare = mode === 'ecb' && cipher.stem.startsWith('des-ede');
  const name = bare ? cipher.stem : `${cipher.stem}-${mode}`;
  const base = {
    name,
    aliases: cipher.aliases?.[mode] ?? [],
    names: namesOf(cipher, mode, name),
    ...verdict(cipher, mode),
    family: cipher.family,
  };
  if (isAead(mode)) {
    return {
      kind: 'aead',
      ...base,
      mode,
      keyBytes: cipher.keyBytes,
      ...AEAD_LENGTHS[mode],
      defaultTagBytes: 16,
      cipherBlockBytes: cipher.block,
      parallel: 'none',
      handover: false,
    };
  }
  const wholeBlocks = mode === 'ecb' || mode === 'cbc';
  return {
    kind: 'cipher',
    ...base,
    mode,
    keyBytes: mode === 'xts' ? cipher.keyBytes * 2 : cipher.keyBytes,
    ...(cipher.keyRange ? { keyRange: cipher.keyRange } : {}),
    ivBytes: mode === 'ecb' ? 0 : cipher.block,
    blockBytes: wholeBlocks ? cipher.block : 1,
    ...(mode === 'xts' ? { minBytes: cipher.block } : {}),
    cipherBlockBytes: cipher.block,
    parallel: PARALLEL[mode],
    handover: mode !== 'xts',
  };
}

function namesOf(cipher: BlockCipher, mode: Mode, name: string): Names {
  const { kernel, gcrypt, nettle, qemu } = cipher;
  const gcryptMode = GCRYPT_MODE[mode];
  const cryptodev = cipher.cryptodev?.[mode];
  const names: { -readonly [world in keyof Names]: Names[world] } = {};
  if (cipher.openssl?.includes(mode)) names.openssl = name.toUpperCase();
  if (kernel && KERNEL_TEMPLATES.includes(mode)) names.kernel = `${mode}(${kernel})`;
  if (cryptodev !== undefined) names.cryptodev = cryptodev;
  if (gcrypt !== undefined && gcryptMode !== undefined) names.gcrypt = { algo: gcrypt, mode: gcryptMode };
  if (nettle) {
    if (NETTLE_MODES.includes(mode)) names.nettle = nettle;
    else if (isAead(mode) && cipher.nettleAead?.includes(mode)) names.nettle = `${mode}_${nettle}`;
  }
  if (qemu && QEMU_MODES.includes(mode)) names.qemu = `${qemu}-${mode}`;
  if (kernel && DM_CRYPT_MODES.includes(mode)) names.cryptsetup = `${kernel}-${mode}`;
  return names;
}

/** The worse of what the cipher and the mode deserve, with the reasons of both. */
function verdict(cipher: BlockCipher, mode: Mode): { status: Status; statusNote?: string } {
  const order: Status[] = ['current', 'legacy', 'weak'];
  const byMode = MODE_STATUS[mode];
  const worst = Math.max(
    order.indexOf(cipher.status ?? 'current'),
    order.indexOf(byMode?.status ?? 'current'),
  );
  const notes = [cipher.note, byMode?.note].filter((note) => note !== undefined);
  return { status: order[worst]!, ...(notes.length > 0 ? { statusNote: notes.join('; ') } : {}) };
}

function isAead(mode: string): mode is BlockAead {
  return Object.hasOwn(AEAD_LENGTHS, mode);
}

function isBlockMode(mode: string): mode is BlockMode {
  return Object.hasOwn(PARALLEL, mode);
}

function words<T extends Mode>(list: string): T[] {
  return list.split(' ') as T[];
}

const UNJUDGED = 'not in the table: nothing is known of it but what OpenSSL says';

/** What is known of a cipher that is not in the table: the fields of node:crypto's `getCipherInfo`, by hwcrypt's names. Lengths in bytes. */
export interface AdHocCipher {
  readonly name: string;
  readonly keyBytes: number;
  /** 0 or absent for a cipher without one. */
  readonly ivBytes?: number;
  /** Absent for a stream cipher, as node:crypto leaves it out. */
  readonly blockBytes?: number;
  /** node:crypto's mode: `cbc`, `ccm`, `cfb`, `ctr`, `ecb`, `gcm`, `ocb`, `ofb`, `stream`, `wrap`, `xts`. */
  readonly mode: string;
}

/**
 * An entry for a cipher that only OpenSSL knows. Undefined for what a driver's session cannot express: key wrapping,
 * whose output is longer than its input, and the SIV modes, which read the whole message before they write any of it.
 */
export function adHocCipher(cipher: AdHocCipher): CipherAlgorithm | AeadAlgorithm | undefined {
  const { keyBytes, ivBytes = 0, blockBytes = 1 } = cipher;
  const name = cipher.name.toLowerCase();
  const base = {
    name,
    aliases: [],
    names: { openssl: cipher.name },
    status: 'legacy',
    statusNote: UNJUDGED,
    adHoc: true,
    family: name.replace(/-(ecb|cbc|ctr|cfb1?8?|ofb|xts|gcm|ccm|ocb)\b.*$/, ''),
    keyBytes,
  } as const;
  const given = cipher.mode.toLowerCase();
  if (isAead(given)) {
    return {
      kind: 'aead',
      ...base,
      mode: given,
      ...AEAD_LENGTHS[given],
      ivBytes: ivBytes || AEAD_LENGTHS[given].ivBytes,
      defaultTagBytes: 16,
      cipherBlockBytes: 16,
      parallel: 'none',
      handover: false,
    };
  }
  // node:crypto calls every width of feedback `cfb`; the name tells them apart.
  const mode = given === 'cfb' ? (/-(cfb[18])$/.exec(name)?.[1] ?? 'cfb') : given;
  if (mode !== 'stream' && !isBlockMode(mode)) return undefined;
  const wholeBlocks = mode === 'ecb' || mode === 'cbc';
  // A MAC inside (TLS's cbc-hmac) or stolen ciphertext (cts) makes more of the stream than key and chaining value, and
  // a stream cipher that is not in the table may hide state anywhere: nothing is taken for granted about either.
  const opaque = mode === 'stream' || /-(hmac|cts)\b/.test(name);
  return {
    kind: 'cipher',
    ...base,
    mode,
    ivBytes,
    blockBytes: wholeBlocks ? blockBytes : 1,
    ...(mode === 'xts' ? { minBytes: 16 } : {}),
    cipherBlockBytes: wholeBlocks ? blockBytes : mode === 'stream' ? 1 : ivBytes,
    parallel: opaque ? 'none' : PARALLEL[mode],
    handover: !opaque && mode !== 'xts',
  };
}
