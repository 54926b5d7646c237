/**
 * Images that somebody made to do harm: metadata against every rule of the format, with checksums that fit.
 *
 * The headers are put together by hand and not by the code under test, which would refuse to write most of them.
 */
import { createHash } from 'node:crypto';

export interface Hostile {
  readonly name: string;
  readonly image: Buffer;
  /** Opening it may cost more than a test has, so that nobody but the reader is asked. */
  readonly dear?: boolean;
}

const BINARY_BYTES = 4096;
const HEADER_BYTES = 0x4000;

/** What is to be in both copies of a LUKS2 header. */
export interface RawHeader {
  readonly json: string | Uint8Array;
  /** What the binary header says; where the secondary one begins. */
  readonly headerBytes?: number;
  /** Of the binary header, before its checksum is made. */
  readonly patch?: (header: Buffer, copy: 'primary' | 'secondary') => void;
}

/** @param base an image whose header has 16 KiB @returns one that is as long as it must be */
export function withRawHeader(base: Buffer, { json, headerBytes = HEADER_BYTES, patch }: RawHeader): Buffer {
  const image = Buffer.alloc(Math.max(base.length, 2 * headerBytes));
  base.copy(image);
  const text = Buffer.from(json);
  for (const copy of ['primary', 'secondary'] as const) {
    const offset = copy === 'primary' ? 0 : headerBytes;
    const header = image.subarray(offset, offset + headerBytes);
    header.fill(0);
    base.copy(header, 0, 0, BINARY_BYTES);
    header.write(copy === 'primary' ? 'LUKS' : 'SKUL', 'latin1');
    header.writeBigUInt64BE(BigInt(headerBytes), 8);
    header.writeBigUInt64BE(BigInt(offset), 256);
    text.copy(header, BINARY_BYTES);
    patch?.(header, copy);
    header.fill(0, 448, 512);
    createHash('sha256').update(header).digest().copy(header, 448);
  }
  return image;
}

// biome-ignore lint/suspicious/noExplicitAny: its shape is what is broken here
type Tree = { [key: string]: any };

const HUGE = [2n ** 31n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 512n]
  .flatMap((number) => [number - 4096n, number, number + 4096n])
  .map(String);
const NUMBERS: readonly unknown[] = [
  -1,
  0,
  0.5,
  1e308,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53,
  '1',
  null,
  [],
  {},
];
const NAMES: readonly unknown[] = [
  '',
  'no-such-thing',
  'aes-xts-plain64:sha256',
  'aes-xts-plain64:'.repeat(700),
  'x'.repeat(10_000),
  '../../etc/passwd',
  'capi:xts(aes)-plain64',
  'cipher_null-ecb',
  'aes-cbc-essiv',
  'aes-cbc-essiv:',
  'aes-cbc-essiv:md4',
  'aes-cbc-essiv:sha512',
  'aes--plain64',
  'AES-XTS-PLAIN64',
  'aes-xts-plain64 ',
  'aes-xts-plain64\n',
  'aes-xts-plain64\u0000x',
  '__proto__',
  'constructor',
  'toString',
  'shake128',
  'sha256\u001b[31m',
  1,
  null,
  [],
  {},
];
const BASE64: readonly unknown[] = [
  '',
  '=',
  '====',
  'A',
  'AAAA=',
  'A A=',
  'ÄÄÄÄ',
  'AAAA\n',
  'AA==AA==',
  '*'.repeat(44),
  'A'.repeat(4096),
  'A'.repeat(9000),
  7,
];
/** Names of entries that are no numbers, or look like ones. */
const KEYS = [
  '00',
  '-1',
  '01',
  '+1',
  ' 1',
  '1 ',
  '1.0',
  '1e1',
  '0x1',
  '33',
  '64',
  '999',
  '4294967296',
  '',
  '__proto__',
  'constructor',
  'ä',
];

/** @param base made by cryptsetup with one keyslot of PBKDF2, header of 16 KiB */
export function* hostileLuks2(base: Buffer): Generator<Hostile> {
  const original = base.subarray(BINARY_BYTES, base.indexOf(0, BINARY_BYTES)).toString();
  const tree = (change: (metadata: Tree) => unknown): string => {
    const metadata = JSON.parse(original) as Tree;
    change(metadata);
    return JSON.stringify(metadata);
  };
  const at = (place: string, value: unknown): string =>
    tree((metadata) => {
      const path = place.split('.');
      const last = path.pop() as string;
      let target = metadata;
      for (const key of path) target = target[key];
      if (value === undefined) delete target[last];
      else target[last] = value;
    });
  const shown = (value: unknown): string => {
    const text = JSON.stringify(value) ?? 'absent';
    return text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text;
  };
  const raw = (
    name: string,
    json: string | Uint8Array,
    more: Partial<RawHeader> & { dear?: boolean } = {},
  ): Hostile => ({
    name,
    image: withRawHeader(base, { json, ...more }),
    dear: more.dear ?? false,
  });
  const argon2 = { type: 'argon2id', time: 4, memory: 64, cpus: 1, salt: `${'A'.repeat(43)}=` };

  for (const place of [
    'keyslots.0.area.offset',
    'keyslots.0.area.size',
    'segments.0.offset',
    'segments.0.size',
    'segments.0.iv_tweak',
    'config.json_size',
    'config.keyslots_size',
  ]) {
    for (const value of [
      ...HUGE,
      '0',
      '1',
      '512',
      '4096',
      '12288',
      '32768',
      '-4096',
      '0x1000',
      '1e6',
      ' 4096',
      '4096 ',
      '٣',
      '',
      'dynamic',
      4096,
      null,
      '9'.repeat(500),
    ]) {
      yield raw(`${place} = ${shown(value)}`, at(place, value));
    }
  }
  for (const place of [
    'keyslots.0.key_size',
    'keyslots.0.area.key_size',
    'keyslots.0.af.stripes',
    'keyslots.0.priority',
    'keyslots.0.kdf.iterations',
    'digests.0.iterations',
    'segments.0.sector_size',
  ]) {
    const dear = place.includes('iterations');
    for (const value of [...NUMBERS, 1, 63, 64, 513, 1536, 4000, 8192, 65536]) {
      yield raw(`${place} = ${shown(value)}`, at(place, value), { dear });
    }
  }
  for (const [field, values] of [
    ['time', NUMBERS],
    ['memory', [...NUMBERS, 7, 2 ** 22 + 1, 2 ** 30]],
    ['cpus', [...NUMBERS, 2, 5, 1000, 2 ** 24]],
    ['salt', BASE64],
  ] as const) {
    for (const value of values) {
      yield raw(`argon2id ${field} = ${shown(value)}`, at('keyslots.0.kdf', { ...argon2, [field]: value }), {
        dear: true,
      });
    }
  }
  for (const place of [
    'keyslots.0.type',
    'keyslots.0.area.type',
    'keyslots.0.area.encryption',
    'keyslots.0.af.type',
    'keyslots.0.af.hash',
    'keyslots.0.kdf.type',
    'keyslots.0.kdf.hash',
    'digests.0.type',
    'digests.0.hash',
    'segments.0.type',
    'segments.0.encryption',
  ]) {
    for (const value of NAMES) yield raw(`${place} = ${shown(value)}`, at(place, value));
  }
  for (const place of ['keyslots.0.kdf.salt', 'digests.0.salt', 'digests.0.digest']) {
    for (const value of BASE64) yield raw(`${place} = ${shown(value)}`, at(place, value));
  }
  for (const part of ['keyslots', 'segments', 'digests', 'tokens']) {
    for (const value of [undefined, null, [], {}, '', 0])
      yield raw(`${part} = ${shown(value)}`, at(part, value));
    for (const key of KEYS) {
      const entry =
        part === 'tokens'
          ? { type: 'x', keyslots: [] }
          : part === 'segments'
            ? { type: 'linear', offset: '1048576', size: '4096' }
            : part === 'digests'
              ? {
                  type: 'pbkdf2',
                  keyslots: [],
                  segments: [],
                  hash: 'sha256',
                  iterations: 1000,
                  salt: `${'A'.repeat(43)}=`,
                  digest: `${'A'.repeat(43)}=`,
                }
              : { type: 'future', key_size: 64, area: { type: 'none', offset: '294912', size: '4096' } };
      const json = original.replace(
        `"${part}":{`,
        `"${part}":{${JSON.stringify(key)}:${JSON.stringify(entry)}${part === 'tokens' ? '' : ','}`,
      );
      yield raw(`${part} has an entry ${shown(key)}`, json);
    }
  }
  for (const value of [[], ['0', '0'], ['1'], ['00'], ['-1'], [0], ['0', '1'], '0', null, ['__proto__']]) {
    for (const place of ['digests.0.keyslots', 'digests.0.segments'])
      yield raw(`${place} = ${shown(value)}`, at(place, value));
    yield raw(`tokens.0.keyslots = ${shown(value)}`, at('tokens.0', { type: 'x', keyslots: value }));
  }
  for (const value of [
    [],
    'x',
    ['allow-discards'],
    [1],
    null,
    Array(100).fill('x'),
    ['x'.repeat(9000)],
    {},
  ]) {
    yield raw(`config.flags = ${shown(value)}`, at('config.flags', value));
    yield raw(`segments.0.flags = ${shown(value)}`, at('segments.0.flags', value));
    yield raw(`config.requirements = ${shown(value)}`, at('config.requirements', value));
    yield raw(
      `config.requirements.mandatory = ${shown(value)}`,
      at('config.requirements', { mandatory: value }),
    );
  }
  for (const name of [
    'online-reencrypt',
    'online-reencrypt-v2',
    'offline-reencrypt',
    'opal',
    'inline-hw-tags',
    'unheard-of',
  ]) {
    yield raw(`requirement ${name}`, at('config.requirements', { mandatory: [name] }));
  }
  yield raw('config absent', at('config', undefined));
  yield raw(
    'integrity',
    at('segments.0.integrity', {
      type: 'hmac(sha256)',
      journal_encryption: 'none',
      journal_integrity: 'none',
    }),
  );
  yield raw('integrity of no type', at('segments.0.integrity', {}));

  const two = (offset: number, size = 258048): string =>
    tree((metadata) => {
      const slot = metadata['keyslots']['0'];
      metadata['keyslots']['1'] = {
        ...slot,
        area: { ...slot.area, offset: String(offset), size: String(size) },
      };
    });
  for (const offset of [
    0,
    4096,
    16384,
    28672,
    32768,
    36864,
    32768 + 258047,
    32768 + 258048,
    430080,
    688128,
  ]) {
    yield raw(`a second keyslot at ${offset}`, two(offset));
  }
  const segments = (...list: Tree[]): string =>
    tree((metadata) => {
      metadata['segments'] = Object.fromEntries(
        list.map((one, i) => [i, { ...metadata['segments']['0'], ...one }]),
      );
      metadata['digests']['0'].segments = list.map((_, i) => String(i));
    });
  const M = 2 ** 20;
  yield raw(
    'segments: a gap',
    segments({ offset: `${M}`, size: '4096' }, { offset: `${M + 65536}`, size: 'dynamic' }),
  );
  yield raw(
    'segments: the same twice',
    segments({ offset: `${M}`, size: '8192' }, { offset: `${M}`, size: '8192' }),
  );
  yield raw(
    'segments: overlapping',
    segments({ offset: `${M}`, size: '8192' }, { offset: `${M + 4096}`, size: '8192' }),
  );
  yield raw(
    'segments: backwards',
    segments({ offset: `${M + 8192}`, size: '4096' }, { offset: `${M}`, size: '4096' }),
  );
  yield raw(
    'segments: both dynamic',
    segments({ offset: `${M}`, size: 'dynamic' }, { offset: `${M + 4096}`, size: 'dynamic' }),
  );
  yield raw(
    'segments: dynamic, then one',
    segments({ offset: `${M}`, size: 'dynamic' }, { offset: `${M + 4096}`, size: '4096' }),
  );
  yield raw('segments: beyond the end', segments({ offset: `${M}`, size: `${2 ** 40}` }));
  yield raw('segments: begin beyond the end', segments({ offset: `${2 ** 40}` }));
  yield raw(
    'segments: numbers with a gap',
    original.replace('"segments":{"0"', '"segments":{"1"').replace('"segments":["0"]', '"segments":["1"]'),
  );
  yield raw(
    'segments: sizes whose sum overflows',
    segments(...Array.from({ length: 8 }, () => ({ offset: `${M}`, size: `${2 ** 50}` }))),
  );
  yield raw('digests without keyslots', at('digests.0.keyslots', []));
  yield raw(
    'an unbound keyslot alone',
    tree((m) => {
      m['digests']['0'].keyslots = [];
      m['digests']['1'] = { ...m['digests']['0'], keyslots: ['0'], segments: [] };
    }),
  );
  yield raw(
    'two digests for one segment',
    tree((m) => {
      m['digests']['1'] = { ...m['digests']['0'] };
    }),
  );
  yield raw(
    'two digests for one keyslot',
    tree((m) => {
      m['digests']['1'] = { ...m['digests']['0'], segments: [] };
    }),
  );
  yield raw(
    '9 digests',
    tree((m) => {
      for (let i = 1; i < 9; i++) m['digests'][i] = { ...m['digests']['0'], keyslots: [], segments: [] };
    }),
  );
  yield raw(
    '33 tokens',
    tree((m) => {
      for (let i = 0; i < 33; i++) m['tokens'][i] = { type: 'x', keyslots: [] };
    }),
  );
  yield raw(
    'a token of a known type without its fields',
    at('tokens.0', { type: 'luks2-keyring', keyslots: ['0'] }),
  );
  yield raw(
    'a reencrypt keyslot without a requirement',
    tree((m) => {
      m['keyslots']['1'] = {
        type: 'reencrypt',
        mode: 'reencrypt',
        direction: 'forward',
        key_size: 1,
        area: { type: 'none', offset: '290816', size: '4096' },
      };
    }),
  );

  const inside = (text: string): string => `${original.slice(0, -1)},"x":${text}}`;
  yield raw('an entry __proto__', inside('1').replace('"x"', '"__proto__"'));
  yield raw(
    'keyslots.__proto__ is a keyslot',
    original.replace('"keyslots":{', '"keyslots":{"__proto__":{"type":"luks2"},'),
  );
  yield raw(
    'keyslots by prototype',
    original.replace('"keyslots":', '"__proto__":{"keyslots":{}},"keyslots2":'),
  );
  yield raw('keyslots twice, the second empty', original.replace('"keyslots":', '"keyslots":{},"keyslots":'));
  yield raw('keyslots twice, the first whole', inside('{}').replace('"x"', '"keyslots"'));
  for (const depth of [29, 30, 31, 32, 33, 1000, 5000]) {
    yield raw(`${depth} lists within`, inside('['.repeat(depth) + ']'.repeat(depth)));
  }
  yield raw('deep objects', inside(`${'{"x":'.repeat(1000)}1${'}'.repeat(1000)}`));
  yield raw('brackets never closed', '['.repeat(12_000));
  yield raw('spaces in front', ` ${original}`);
  yield raw('spaces behind', `${original}   `);
  yield raw('nothing but spaces', ' '.repeat(12_287));
  yield raw('the area is full', original + ' '.repeat(12_288 - original.length));
  yield raw('full but for one', original + ' '.repeat(12_287 - original.length));
  yield raw('a second object', `${original}{}`);
  yield raw('something behind a zero', Buffer.concat([Buffer.from(original), Buffer.from([0, 1])]));
  yield raw('a zero within a text', Buffer.from(inside('"a\u0000b"'), 'latin1'));
  yield raw('an escaped zero', inside('"a\\u0000b"'));
  yield raw('no UTF-8', Buffer.from(inside('"\xff\xfe\xc0\x80"'), 'latin1'));
  yield raw('half a surrogate', inside('"\\ud800"'));
  yield raw('a byte order mark', `\ufeff${original}`);
  yield raw('UTF-16', Buffer.from(original, 'utf16le'));
  yield raw('a comment', `${original.slice(0, -1)}/* x */}`);
  yield raw('a comma too many', `${original.slice(0, -1)},}`);
  yield raw('single quotes', original.replace('"config"', "'config'"));
  yield raw('NaN', inside('NaN'));
  yield raw('a number of 5000 digits', inside('9'.repeat(5000)));
  yield raw('1e99999', inside('1e99999'));
  yield raw('a list', `[${original}]`);
  for (const text of ['', '{', '{}', 'null', 'true', '"', '0', '{"keyslots":{}}'])
    yield raw(`JSON ${shown(text)}`, text);

  for (const headerBytes of [0x8000, 0x400000]) {
    const jsonSize = (m: Tree): void => {
      m['config'].json_size = String(headerBytes - 4096);
      m['segments']['0'].offset = String(16 * M);
      m['keyslots']['0'].area.offset = String(2 * headerBytes);
    };
    const fill = headerBytes - 4096 - 1;
    yield raw(
      `a header of ${headerBytes}: many keyslots`,
      tree((m) => {
        jsonSize(m);
        const count = Math.min(100_000, Math.floor(fill / 42) - 100);
        for (let i = 1; i < count; i++) m['keyslots'][i] = { type: 'x' };
      }),
      { headerBytes },
    );
    yield raw(
      `a header of ${headerBytes}: many names`,
      tree((m) => {
        jsonSize(m);
        for (let i = 1; i < Math.min(250_000, fill / 16 - 200); i++) m[`k${i}`] = 1;
      }),
      { headerBytes },
    );
    yield raw(
      `a header of ${headerBytes}: one long text`,
      tree((m) => {
        jsonSize(m);
        m['x'] = 'x'.repeat(fill - 3000);
      }),
      { headerBytes },
    );
    yield raw(`a header of ${headerBytes}: spaces`, `${tree(jsonSize)}${' '.repeat(fill - 3000)}`, {
      headerBytes,
    });
  }
  const binary = (name: string, patch: RawHeader['patch']): Hostile =>
    raw(name, original, patch ? { patch } : {});
  for (const size of [0n, 1n, 4096n, 16383n, 16385n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n, 0x800000n]) {
    yield binary(`header size ${size}`, (header) => header.writeBigUInt64BE(size, 8));
  }
  for (const version of [0, 1, 3, 65535])
    yield binary(`version ${version}`, (header) => header.writeUInt16BE(version, 6));
  yield binary('a checksum by no hash', (header) => header.write('nohash\0', 72, 'latin1'));
  yield binary('a checksum by a name that never ends', (header) => header.fill('a', 72, 104));
  yield binary('a checksum by shake256', (header) => header.write('shake256\0', 72, 'latin1'));
  yield binary('another offset', (header) => header.writeBigUInt64BE(4096n, 256));
  yield binary('the highest sequence number', (header) => header.writeBigUInt64BE(2n ** 64n - 1n, 16));
  yield binary('texts that never end', (header) => header.fill(0xff, 24, 72).fill(0xfe, 168, 256));
  yield binary('texts with control characters', (header) => header.write('\u001b[2J\nx\0', 24, 'latin1'));
  yield binary('a secondary header that calls itself primary', (header) => header.write('LUKS', 'latin1'));
  yield binary('only noise in the padding', (header) => header.fill(0x5a, 512, 4096));
}

/** @param base made by cryptsetup: LUKS1, one keyslot */
export function* hostileLuks1(base: Buffer): Generator<Hostile> {
  const patched = (name: string, patch: (image: Buffer) => unknown, dear = false): Hostile => {
    const image = Buffer.from(base);
    patch(image);
    return { name: `LUKS1 ${name}`, image, dear };
  };
  const SLOT = 208;
  const WORDS = [0, 1, 7, 8, 4000, 4096, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
  for (const [field, offset] of [
    ['payload offset', 104],
    ['key bytes', 108],
    ['digest iterations', 164],
    ['keyslot 0 state', SLOT],
    ['keyslot 0 iterations', SLOT + 4],
    ['keyslot 0 offset', SLOT + 40],
    ['keyslot 0 stripes', SLOT + 44],
    ['keyslot 1 state', SLOT + 48],
    ['keyslot 1 offset', SLOT + 88],
    ['keyslot 1 stripes', SLOT + 92],
    ['keyslot 7 offset', SLOT + 48 * 7 + 40],
  ] as const) {
    for (const word of WORDS) {
      yield patched(
        `${field} = ${word}`,
        (image) => image.writeUInt32BE(word, offset),
        field.includes('iterations'),
      );
    }
  }
  yield patched('keyslot 1 in use, of nothing', (image) => {
    image.writeUInt32BE(0x00ac71f3, SLOT + 48);
    image.writeUInt32BE(1000, SLOT + 52);
  });
  yield patched('all keyslots at the first one’s place', (image) => {
    for (let slot = 1; slot < 8; slot++) image.copy(image, SLOT + 48 * slot, SLOT, SLOT + 48);
  });
  for (const [field, offset] of [
    ['cipher', 8],
    ['mode', 40],
    ['hash', 72],
  ] as const) {
    for (const text of [
      '',
      'x',
      'cipher_null',
      'ecb',
      'sha256\u001b[31m',
      '__proto__',
      'constructor',
      'xts-plain64:x',
      'cbc-essiv:',
      'cbc-essiv:sha256',
      '%s%n',
      '../x',
    ]) {
      yield patched(`${field} = ${JSON.stringify(text)}`, (image) =>
        image.fill(0, offset, offset + 32).write(text, offset, 'latin1'),
      );
    }
    yield patched(`${field} never ends`, (image) => image.fill('a', offset, offset + 32));
    yield patched(`${field} is no UTF-8`, (image) => image.fill(0xff, offset, offset + 32));
  }
  yield patched('version 0', (image) => image.writeUInt16BE(0, 6));
  yield patched('an uuid that never ends', (image) => image.fill(0xff, 168, 208));
  yield patched('a digest of zeros', (image) => image.fill(0, 112, 132));
}
