/**
 * Readers for the known answers in Debian's package python3-cryptography-vectors: NIST's CAVS response files and files
 * that were put into their shape. Nothing of the package is in this repository.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Algorithm } from '#src/algorithms.js';
import { findAlgorithm } from '#src/algorithms.js';

/** One known answer. */
export interface Vector {
  /** Its file, relative to `vectorsFolder()`. */
  readonly file: string;
  /** Where in the file: section and count. */
  readonly at: string;
  /** hwcrypt's name. */
  readonly algorithm: string;
  /** `digest` is a MAC where there is a key. */
  readonly op: 'encrypt' | 'decrypt' | 'digest';
  readonly key?: Uint8Array;
  readonly iv: Uint8Array | null;
  readonly aad?: Uint8Array;
  readonly input: Uint8Array;
  /** What must come out, from `offset` on. Empty for `fail`. */
  readonly output: Uint8Array;
  readonly tag?: Uint8Array;
  /** The tag is wrong: decryption must refuse it. */
  readonly fail?: true;
  /** Only the output from this byte on is known (RC4's keystream far from its start). */
  readonly offset?: number;
  /** Only so many bits of the output are known (1-bit CFB, whose messages are bits). */
  readonly bits?: number;
}

/** A hash of hashes: 1000 digests from one checkpoint to the next. */
export interface MonteCarlo {
  readonly file: string;
  readonly algorithm: string;
  readonly seed: Uint8Array;
  readonly checkpoints: readonly Uint8Array[];
}

const PACKAGE = 'usr/lib/python3/dist-packages/cryptography_vectors';
const GET_IT =
  'get them with: apt-get download python3-cryptography-vectors && dpkg -x python3-cryptography-vectors_*.deb .cache/vectors';

/**
 * The folder with `ciphers`, `hashes`, `HMAC` and `CMAC` in it: $HWCRYPT_VECTORS, or the package unpacked into
 * `.cache/vectors` of this repository, or the package as it is installed.
 * @throws Error that says how to get it.
 */
export function vectorsFolder(): string {
  const given = process.env['HWCRYPT_VECTORS'];
  const roots = given ? [given] : [join(repository(), '.cache', 'vectors'), '/'];
  for (const folder of roots.flatMap((root) => [root, join(root, PACKAGE)])) {
    if (existsSync(join(folder, 'ciphers')) && existsSync(join(folder, 'hashes'))) return folder;
  }
  throw new Error(
    given ? `no test vectors in HWCRYPT_VECTORS=${given}; ${GET_IT}` : `no test vectors; ${GET_IT}`,
  );
}

function repository(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const up = dirname(folder);
    if (up === folder) throw new Error('not inside the repository');
    folder = up;
  }
  return folder;
}

/** Is this algorithm wanted? A driver's `supports`, or a plain yes or no. */
export type Wanted = (algorithm: Algorithm) => boolean | { readonly supported: boolean };

/** Every vector of the algorithms that are wanted (all of the table's without `wanted`), file by file. */
export function* vectorsFor(wanted: Wanted = () => true): Generator<Vector> {
  const verdicts = new Map<string, boolean>();
  const isWanted = (name: string): boolean => {
    let verdict = verdicts.get(name);
    if (verdict === undefined) {
      const algorithm = findAlgorithm(name);
      const answer = algorithm ? wanted(algorithm) : false;
      verdict = typeof answer === 'boolean' ? answer : answer.supported;
      verdicts.set(name, verdict);
    }
    return verdict;
  };
  for (const { file, path, source, match } of files(SOURCES)) {
    if (!source.algorithms(match).some(isWanted)) continue;
    for (const draft of source.read(readFileSync(path, 'latin1'), match)) {
      if (isWanted(draft.algorithm)) yield { file, ...draft };
    }
  }
}

/** Algorithms for which there may be vectors, by the names of the files alone. */
export function vectorAlgorithms(): ReadonlySet<string> {
  const names = [...files(SOURCES)].flatMap(({ source, match }) => source.algorithms(match));
  return new Set(names);
}

/** Every Monte Carlo chain of a hash that is wanted; SHAKE's, which also vary the output's length, left out. */
export function* monteCarloFor(wanted: Wanted = () => true): Generator<MonteCarlo> {
  for (const { file, path, match } of files([{ pattern: /^hashes\/SHA\d\/(SHA\d+(?:_\d+)?)Monte\.rsp$/ }])) {
    const name = hashName(match[1]!);
    const algorithm = findAlgorithm(name);
    const answer = algorithm ? wanted(algorithm) : false;
    if (!(typeof answer === 'boolean' ? answer : answer.supported)) continue;
    const all = [...records(readFileSync(path, 'latin1'), 'COUNT')];
    yield {
      file,
      algorithm: name,
      seed: hex(all[0]!.fields['SEED']),
      checkpoints: all.map((record) => hex(record.fields['MD'])),
    };
  }
}

/** From one checkpoint of a chain to the next, by SHAVS 6.4 (SHA-1, SHA-2: three digests joined) or SHA3VS 6.2.3. */
export function monteCarloStep(
  algorithm: string,
  seed: Uint8Array,
  digest: (data: Uint8Array) => Uint8Array,
): Uint8Array {
  let last = [seed, seed, seed];
  for (let i = 0; i < 1000; i++) {
    const data = algorithm.startsWith('sha3-') ? last[2]! : Buffer.concat(last);
    last = [last[1]!, last[2]!, digest(data)];
  }
  return last[2]!;
}

/** Does `actual` hold what the vector knows of the output? */
export function matches(vector: Vector, actual: Uint8Array): boolean {
  const { output, offset = 0, bits } = vector;
  const known = actual.subarray(offset);
  if (known.length !== output.length) return false;
  const whole = bits === undefined ? output.length : bits >> 3;
  if (Buffer.compare(known.subarray(0, whole), output.subarray(0, whole)) !== 0) return false;
  if (bits === undefined || bits % 8 === 0) return true;
  const mask = 0xff00 >> (bits % 8);
  return ((known[whole]! ^ output[whole]!) & mask & 0xff) === 0;
}

// ---------------------------------------------------------------------------------------------------------------------

type Draft = Omit<Vector, 'file'>;

interface Source {
  readonly pattern: RegExp;
  /** Algorithms that the file may have vectors of. */
  algorithms(match: RegExpExecArray): string[];
  read(text: string, match: RegExpExecArray): Iterable<Draft>;
}

function* files<S extends { readonly pattern: RegExp }>(
  sources: readonly S[],
): Generator<{ file: string; path: string; source: S; match: RegExpExecArray }> {
  const root = vectorsFolder();
  for (const file of filesIn(root)) {
    for (const source of sources) {
      const match = source.pattern.exec(file);
      if (match) yield { file, path: join(root, file), source, match };
    }
  }
}

/** A folder's files, listed once: a suite asks for one algorithm after the other, and in a guest each look is dear. */
function filesIn(root: string): readonly string[] {
  let list = listed.get(root);
  if (!list) {
    list = ['ciphers', 'hashes', 'HMAC', 'CMAC'].flatMap((top) =>
      readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
        .sort()
        .map((name) => `${top}/${name}`),
    );
    listed.set(root, list);
  }
  return list;
}

const listed = new Map<string, readonly string[]>();

/** A record of a file in CAVS's shape: what stands in it, and before it in brackets or alone. Names in upper case. */
interface Entry {
  /** `ENCRYPT`, `DECRYPT`, or empty. */
  readonly section: string;
  readonly fields: Record<string, string | undefined>;
}

/**
 * Reads `NAME = value` lines. A record begins with the field `first`; what comes before it, alone or in brackets, holds
 * for every record up to the next bracket.
 */
function* records(text: string, first: string): Generator<Entry> {
  let section = '';
  let common: Record<string, string> = {};
  let fields: Record<string, string> | undefined;
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('[')) {
      if (fields) yield { section, fields };
      fields = undefined;
      const inside = line.slice(1, line.lastIndexOf(']'));
      if (!inside.includes('=')) section = inside.toUpperCase();
      for (const pair of inside.split(',')) assign(common, pair);
      continue;
    }
    const name = line.split('=', 1)[0]!.trim().toUpperCase();
    if (name === first) {
      if (fields) yield { section, fields };
      fields = { ...common };
    }
    if (fields) assign(fields, line);
    else {
      common = { ...common };
      assign(common, line);
    }
  }
  if (fields) yield { section, fields };
}

function assign(fields: Record<string, string>, line: string): void {
  const at = line.indexOf('=');
  const name = (at < 0 ? line : line.slice(0, at)).trim().toUpperCase();
  fields[name] = at < 0 ? '' : line.slice(at + 1).trim();
}

/** Hexadecimal digits, or text in quotes; nothing where there is no such field. */
function hex(value: string | undefined): Uint8Array {
  if (value === undefined || value === '') return new Uint8Array();
  if (value.startsWith('"')) return new Uint8Array(Buffer.from(value.slice(1, -1), 'latin1'));
  const bytes = new Uint8Array(Buffer.from(value, 'hex'));
  if (bytes.length * 2 !== value.length) throw new Error(`not hexadecimal: ${value.slice(0, 40)}`);
  return bytes;
}

/** `1101` → the bits from the top of a byte on, the rest zero. */
function bitString(value: string): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(value.length / 8));
  for (const [i, digit] of [...value].entries()) if (digit === '1') bytes[i >> 3]! |= 0x80 >> (i % 8);
  return bytes;
}

/** The operations of a plaintext and its ciphertext: the one that the section names, or both where it names none. */
function* bothWays(
  { section, fields }: Entry,
  algorithm: string,
  key: Uint8Array,
  iv: Uint8Array | null,
  options: { bits?: boolean; stated: boolean },
): Generator<Draft> {
  const plain = fields['PLAINTEXT'] ?? fields['PT'] ?? '';
  const coded = fields['CIPHERTEXT'] ?? fields['CT'] ?? '';
  const read = options.bits ? bitString : hex;
  const [plaintext, ciphertext] = [read(plain), read(coded)];
  const rest = {
    at: `${section} ${fields['COUNT'] ?? ''}`.trim(),
    algorithm,
    key,
    iv,
    ...(options.bits ? { bits: plain.length } : {}),
  };
  if (!options.stated || section !== 'DECRYPT') {
    yield { ...rest, op: 'encrypt', input: plaintext, output: ciphertext };
  }
  if (!options.stated || section !== 'ENCRYPT') {
    yield { ...rest, op: 'decrypt', input: ciphertext, output: plaintext };
  }
}

const AES = (mode: string) => [`aes-128-${mode}`, `aes-192-${mode}`, `aes-256-${mode}`];
const CAMELLIA = (mode: string) => AES(mode).map((name) => name.replace('aes', 'camellia'));

function hashName(file: string): string {
  return file
    .toLowerCase()
    .replace('_', '-')
    .replace(/^sha3_/, 'sha3-');
}

/** KEY1…KEY3, or one key for all three. */
function tripleKey(fields: Entry['fields']): Uint8Array {
  const parts = [1, 2, 3].map((n) => hex(fields[`KEY${n}`] ?? fields['KEYS']));
  return new Uint8Array(Buffer.concat(parts));
}

/** Ciphers whose files have a key and an IV in every record and name the mode: `stem-mode`. */
const plainFiles = (pattern: RegExp, stem: string): Source => ({
  pattern,
  algorithms: (match) => [`${stem}-${match[1]!.toLowerCase()}`],
  *read(text, match) {
    for (const record of records(text, 'COUNT')) {
      const iv = record.fields['IV'] === undefined ? null : hex(record.fields['IV']);
      yield* bothWays(record, `${stem}-${match[1]!.toLowerCase()}`, hex(record.fields['KEY']), iv, {
        stated: false,
      });
    }
  },
});

const SOURCES: readonly Source[] = [
  {
    pattern: /^ciphers\/AES\/(ECB|CBC|OFB|CFB)\/(?:ECB|CBC|OFB|CFB(1|8|128))[A-Z]\w*?(128|192|256)\.rsp$/,
    algorithms: (match) => [aesName(match)],
    *read(text, match) {
      for (const record of records(text, 'COUNT')) {
        const iv = match[1] === 'ECB' ? null : hex(record.fields['IV']);
        yield* bothWays(record, aesName(match), hex(record.fields['KEY']), iv, {
          bits: match[2] === '1',
          stated: true,
        });
      }
    },
  },
  {
    pattern: /^ciphers\/AES\/CTR\/aes-(128|192|256)-ctr\.txt$/,
    algorithms: (match) => [`aes-${match[1]}-ctr`],
    *read(text, match) {
      for (const record of records(text, 'COUNT')) {
        yield* bothWays(record, `aes-${match[1]}-ctr`, hex(record.fields['KEY']), hex(record.fields['IV']), {
          stated: false,
        });
      }
    },
  },
  {
    pattern: /^ciphers\/AES\/XTS\/tweak-\w+\/XTSGenAES(128|256)\.rsp$/,
    algorithms: (match) => [`aes-${match[1]}-xts`],
    *read(text, match) {
      for (const record of records(text, 'COUNT')) {
        const { fields } = record;
        // hwcrypt works on bytes: data units of 130 bits are none.
        if (Number(fields['DATAUNITLEN']) % 8 !== 0) continue;
        const tweak = new Uint8Array(16);
        if (fields['I'] !== undefined) tweak.set(hex(fields['I']));
        else new DataView(tweak.buffer).setBigUint64(0, BigInt(fields['DATAUNITSEQNUMBER']!), true);
        yield* bothWays(record, `aes-${match[1]}-xts`, hex(fields['KEY']), tweak, { stated: true });
      }
    },
  },
  {
    pattern: /^ciphers\/AES\/GCM\/gcm(EncryptExtIV|Decrypt)(128|192|256)\.rsp$/,
    algorithms: (match) => [`aes-${match[2]}-gcm`],
    *read(text, match) {
      const op = match[1] === 'Decrypt' ? 'decrypt' : 'encrypt';
      for (const { fields } of records(text, 'COUNT')) {
        const fail = fields['FAIL'] !== undefined;
        const [plain, coded] = [hex(fields['PT']), hex(fields['CT'])];
        yield {
          at: `IVlen ${fields['IVLEN']} PTlen ${fields['PTLEN']} AADlen ${fields['AADLEN']} Taglen ${fields['TAGLEN']} ${fields['COUNT']}`,
          algorithm: `aes-${match[2]}-gcm`,
          op,
          key: hex(fields['KEY']),
          iv: hex(fields['IV']),
          aad: hex(fields['AAD']),
          input: op === 'encrypt' ? plain : coded,
          output: op === 'encrypt' ? coded : plain,
          tag: hex(fields['TAG']),
          ...(fail ? { fail } : {}),
        };
      }
    },
  },
  {
    pattern: /^ciphers\/AES\/CCM\/(DVPT|VADT|VNT|VPT|VTT)(128|192|256)\.rsp$/,
    algorithms: (match) => [`aes-${match[2]}-ccm`],
    *read(text, match) {
      for (const { fields } of records(text, 'COUNT')) {
        // An empty field is written `00`; its length says that it is empty.
        const take = (name: string, length: string) => hex(fields[name]).subarray(0, Number(fields[length]));
        const op = match[1] === 'DVPT' ? 'decrypt' : 'encrypt';
        const fail = fields['RESULT']?.startsWith('Fail') === true;
        const sealed = hex(fields['CT']);
        const textBytes = Number(fields['PLEN']);
        const plain = fail ? new Uint8Array() : take('PAYLOAD', 'PLEN');
        const coded = sealed.subarray(0, textBytes);
        yield {
          at: `Alen ${fields['ALEN']} Plen ${fields['PLEN']} Nlen ${fields['NLEN']} Tlen ${fields['TLEN']} ${fields['COUNT']}`,
          algorithm: `aes-${match[2]}-ccm`,
          op,
          key: hex(fields['KEY']),
          iv: hex(fields['NONCE']),
          aad: take('ADATA', 'ALEN'),
          input: op === 'encrypt' ? plain : coded,
          output: op === 'encrypt' ? coded : plain,
          tag: sealed.subarray(textBytes),
          ...(fail ? { fail } : {}),
        };
      }
    },
  },
  {
    pattern: /^ciphers\/AES\/OCB3\/[\w-]+\.txt$/,
    algorithms: () => AES('ocb'),
    *read(text) {
      for (const { fields } of records(text, 'COUNT')) {
        const key = hex(fields['KEY']);
        const plain = hex(fields['PLAINTEXT']);
        const sealed = hex(fields['CIPHERTEXT']);
        const rest = {
          at: `${fields['COUNT']}`,
          algorithm: `aes-${key.length * 8}-ocb`,
          key,
          iv: hex(fields['NONCE']),
          aad: hex(fields['AAD']),
          tag: sealed.subarray(plain.length),
        };
        const coded = sealed.subarray(0, plain.length);
        yield { ...rest, op: 'encrypt', input: plain, output: coded };
        yield { ...rest, op: 'decrypt', input: coded, output: plain };
      }
    },
  },
  {
    // Not the interleaved modes: TCBCI…, TOFBI…, TCFBP….
    pattern: /^ciphers\/3DES\/(ECB|CBC|OFB|CFB)\/T(?:ECB|CBC|OFB|CFB(1|8|64))(?![IP])\w+\.rsp$/,
    algorithms: (match) => ['des-ede3', 'des-ede', 'des'].map((stem) => desName(stem, match)),
    *read(text, match) {
      for (const record of records(text, 'COUNT')) {
        const key = tripleKey(record.fields);
        const iv = match[1] === 'ECB' ? null : hex(record.fields['IV']);
        const options = { bits: match[2] === '1', stated: true };
        yield* bothWays(record, desName('des-ede3', match), key, iv, options);
        // The same answer holds for two keys where the third is the first, and for DES where all are one.
        const part = (n: number) => Buffer.from(key.subarray(8 * n, 8 * n + 8)).toString('hex');
        if (part(0) !== part(2)) continue;
        yield* bothWays(record, desName('des-ede', match), key.subarray(0, 16), iv, options);
        if (part(0) === part(1))
          yield* bothWays(record, desName('des', match), key.subarray(0, 8), iv, options);
      }
    },
  },
  {
    pattern: /^ciphers\/Camellia\/camellia-(128|192|256)-ecb\.txt$/,
    algorithms: (match) => [`camellia-${match[1]}-ecb`],
    *read(text, match) {
      let key = new Uint8Array();
      let plain = '';
      for (const [, field, number, value] of text.matchAll(/^([KPC]) No\.(\d+) : ([0-9A-F ]+)$/gm)) {
        const digits = value!.replaceAll(' ', '');
        if (field === 'K') key = Uint8Array.from(hex(digits));
        else if (field === 'P') plain = digits;
        else {
          const record = { section: '', fields: { COUNT: number!, PLAINTEXT: plain, CIPHERTEXT: digits } };
          yield* bothWays(record, `camellia-${match[1]}-ecb`, key, null, { stated: false });
        }
      }
    },
  },
  {
    pattern: /^ciphers\/Camellia\/camellia-(cbc|cfb|ofb)\.txt$/,
    algorithms: (match) => CAMELLIA(match[1]!),
    *read(text, match) {
      for (const record of records(text, 'COUNT')) {
        const key = hex(record.fields['KEY']);
        yield* bothWays(record, `camellia-${key.length * 8}-${match[1]}`, key, hex(record.fields['IV']), {
          stated: false,
        });
      }
    },
  },
  plainFiles(/^ciphers\/CAST5\/cast5-(ecb|cbc|cfb|ofb|ctr)\.txt$/, 'cast5'),
  plainFiles(/^ciphers\/Blowfish\/bf-(ecb|cbc|cfb|ofb)\.txt$/, 'bf'),
  plainFiles(/^ciphers\/SEED\/seed-(cfb|ofb)\.txt$/, 'seed'),
  plainFiles(/^ciphers\/SM4\/draft-ribose-cfrg-sm4-10-(ecb|cbc|ctr|cfb|ofb)\.txt$/, 'sm4'),
  {
    pattern: /^ciphers\/SEED\/rfc-(4269|4196)\.txt$/,
    algorithms: (match) => [match[1] === '4269' ? 'seed-ecb' : 'seed-cbc'],
    *read(text, match) {
      const name = match[1] === '4269' ? 'seed-ecb' : 'seed-cbc';
      for (const record of records(text, 'COUNT')) {
        const iv = name === 'seed-ecb' ? null : hex(record.fields['IV']);
        yield* bothWays(record, name, hex(record.fields['KEY']), iv, { stated: false });
      }
    },
  },
  {
    pattern: /^ciphers\/ARC4\/[\w-]+\.txt$/,
    algorithms: () => ['rc4', 'rc4-40'],
    *read(text) {
      for (const { fields } of records(text, 'COUNT')) {
        const key = hex(fields['KEY']);
        const offset = Number(fields['OFFSET']);
        const lead = new Uint8Array(offset);
        const plain = hex(fields['PLAINTEXT']);
        const rest = { at: `${fields['COUNT']}`, op: 'encrypt', key, iv: null, offset } as const;
        const input = new Uint8Array(Buffer.concat([lead, plain]));
        const output = hex(fields['CIPHERTEXT']);
        yield { ...rest, algorithm: 'rc4', input, output };
        if (key.length === 5) yield { ...rest, algorithm: 'rc4-40', input, output };
      }
    },
  },
  {
    pattern: /^ciphers\/ChaCha20\/rfc7539\.txt$/,
    algorithms: () => ['chacha20'],
    *read(text) {
      for (const record of records(text, 'COUNT')) {
        const iv = new Uint8Array(16);
        new DataView(iv.buffer).setUint32(0, Number(record.fields['INITIAL_BLOCK_COUNTER']), true);
        iv.set(hex(record.fields['NONCE']), 4);
        yield* bothWays(record, 'chacha20', hex(record.fields['KEY']), iv, { stated: false });
      }
    },
  },
  {
    pattern: /^ciphers\/ChaCha20Poly1305\/(?:boringssl|openssl)\.txt$/,
    algorithms: () => ['chacha20-poly1305'],
    *read(text) {
      for (const { fields } of records(text, 'COUNT')) {
        const plain = hex(fields['IN'] ?? fields['PLAINTEXT']);
        const coded = hex(fields['CT'] ?? fields['CIPHERTEXT']);
        const rest = {
          at: `${fields['COUNT']}`,
          algorithm: 'chacha20-poly1305',
          key: hex(fields['KEY']),
          iv: hex(fields['NONCE'] ?? fields['IV']),
          aad: hex(fields['AD'] ?? fields['AAD']),
          tag: hex(fields['TAG']),
        };
        if (fields['RESULT'] !== undefined) {
          yield { ...rest, op: 'decrypt', input: coded, output: new Uint8Array(), fail: true };
          continue;
        }
        yield { ...rest, op: 'encrypt', input: plain, output: coded };
        yield { ...rest, op: 'decrypt', input: coded, output: plain };
      }
    },
  },
  {
    pattern: /^hashes\/(?:SHA\d|SHAKE)\/(SHA\d+(?:_\d+)?|SHAKE\d+)(?:Short|Long)Msg\.rsp$/,
    algorithms: (match) => [hashName(match[1]!)],
    read: (text, match) => digests(text, hashName(match[1]!)),
  },
  {
    pattern: /^hashes\/SHAKE\/(SHAKE\d+)VariableOut\.rsp$/,
    algorithms: (match) => [hashName(match[1]!)],
    *read(text, match) {
      for (const { fields } of records(text, 'COUNT')) {
        yield {
          at: `Outputlen ${fields['OUTPUTLEN']} ${fields['COUNT']}`,
          algorithm: hashName(match[1]!),
          op: 'digest',
          iv: null,
          input: hex(fields['MSG']),
          output: hex(fields['OUTPUT']),
        };
      }
    },
  },
  ...Object.entries({
    'MD5/rfc-1321.txt': 'md5',
    'ripemd160/ripevectors.txt': 'ripemd160',
    'SM3/oscca.txt': 'sm3',
    'blake2/blake2b.txt': 'blake2b512',
    'blake2/blake2s.txt': 'blake2s256',
  }).map(
    ([file, name]): Source => ({
      pattern: new RegExp(`^hashes/${file}$`),
      algorithms: () => [name],
      read: (text) => digests(text, name),
    }),
  ),
  {
    pattern: /^HMAC\/rfc-\d+-(\w+)\.txt$/,
    algorithms: (match) => [`hmac-${match[1]}`],
    read: (text, match) => digests(text, `hmac-${match[1]}`),
  },
  {
    pattern: /^CMAC\/nist-800-38b-(?:aes(128|192|256)|3des)\.txt$/,
    algorithms: (match) => [match[1] ? `cmac-aes-${match[1]}` : 'cmac-des-ede3'],
    *read(text, match) {
      for (const { fields } of records(text, 'COUNT')) {
        const keys = { ...fields, KEY3: fields['KEY3'] ?? fields['KEY1'] };
        yield {
          at: `${fields['COUNT']}`,
          algorithm: match[1] ? `cmac-aes-${match[1]}` : 'cmac-des-ede3',
          op: 'digest',
          key: match[1] ? hex(fields['KEY']) : tripleKey(keys),
          iv: null,
          input: hex(fields['MESSAGE']),
          output: hex(fields['OUTPUT']),
        };
      }
    },
  },
];

/** Records of Len (in bits; an empty message is written `00`), Msg, MD or Output, and Key for an HMAC. */
function* digests(text: string, algorithm: string): Generator<Draft> {
  let count = 0;
  for (const { fields } of records(text, 'LEN')) {
    const key = fields['KEY'];
    yield {
      at: `Len ${fields['LEN']} ${count++}`,
      algorithm,
      op: 'digest',
      ...(key === undefined ? {} : { key: hex(key) }),
      iv: null,
      input: Number(fields['LEN']) === 0 ? new Uint8Array() : hex(fields['MSG']),
      output: hex(fields['MD'] ?? fields['OUTPUT']),
    };
  }
}

function aesName(match: RegExpExecArray): string {
  const mode = match[2] === '1' ? 'cfb1' : match[2] === '8' ? 'cfb8' : match[1]!.toLowerCase();
  return `aes-${match[3]}-${mode}`;
}

function desName(stem: string, match: RegExpExecArray): string {
  const mode = match[2] === '1' ? 'cfb1' : match[2] === '8' ? 'cfb8' : match[1]!.toLowerCase();
  return mode === 'ecb' && stem !== 'des' ? stem : `${stem}-${mode}`;
}
