/** Headers that cryptsetup made are read as it reads them; damaged and hostile ones are refused in a line. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { HwcryptError } from '#src/errors.js';
import { decodeBinary, encodeHeader, HEADER_SIZES } from '#src/luks/header/binary.js';
import { readHeader } from '#src/luks/header/read.js';
import {
  bytesOf,
  CHEAP,
  changed,
  cryptsetup,
  format,
  memory,
  metadataOf,
  noCryptsetup,
  SMALL,
  withMetadata,
} from '../../helpers/luks.js';
import { scratch } from '../cli/helpers.js';

const skip = noCryptsetup;
const folder = scratch();
const path = (name: string): string => join(folder, name);

let luks2: Buffer;
let luks1: Buffer;
test('images to work on', { skip }, () => {
  format(path('two'), 4 * 2 ** 20, [
    ...CHEAP.argon2id,
    ...SMALL,
    '--label',
    'a label',
    '--subsystem',
    'sub',
    '--sector-size',
    '2048',
  ]);
  format(path('one'), 3 * 2 ** 20, ['--type', 'luks1', '--pbkdf-force-iterations', '1000']);
  // The part that counts: fuzzing a smaller buffer is quicker.
  luks2 = bytesOf(path('two')).subarray(0, 0x10000);
  luks1 = bytesOf(path('one'));
});

test('LUKS2: every fact that luksDump tells', { skip }, () => {
  const header = readHeader(memory(luks2));
  const dump = cryptsetup(['luksDump', path('two')]);
  const told = JSON.parse(cryptsetup(['luksDump', '--dump-json-metadata', path('two')]));
  assert.deepEqual(JSON.parse(JSON.stringify(header.luks2?.metadata)), told);
  assert.match(dump, new RegExp(`UUID:\\s+${header.uuid}`));
  assert.match(dump, new RegExp(`Epoch:\\s+${header.luks2?.seqid}\\n`));
  assert.deepEqual([header.label, header.subsystem], ['a label', 'sub']);
  const [slot] = header.keyslots;
  assert.ok(slot?.type === 'luks2' && 'kdf' in slot && slot.kdf.type === 'argon2id');
  assert.deepEqual([slot.kdf.iterations, slot.kdf.memoryKiB], [4, 64]);
  assert.equal(slot.area.encryption, 'aes-xts-plain64');
  assert.equal(header.segments[0]?.crypt?.sectorBytes, 2048);
  assert.equal(header.metadataBytes, 2 * 0x4000 + Number(told.config.keyslots_size));
});

test('LUKS1: every fact that luksDump tells', { skip }, () => {
  const header = readHeader(memory(luks1));
  const dump = cryptsetup(['luksDump', path('one')]);
  assert.match(dump, new RegExp(`UUID:\\s+${header.uuid}`));
  assert.equal(header.keyslots.length, 1);
  assert.equal(header.segments[0]?.crypt?.encryption, 'aes-xts-plain64');
  const offset = Number(/Payload offset:\s*(\d+)/.exec(dump)?.[1]) * 512;
  assert.equal(header.segments[0]?.offset, offset);
  const digest = /MK digest:\s*([0-9a-f ]+)/.exec(dump)?.[1]?.replace(/ /g, '');
  assert.equal(header.digests[0]?.digest.toString('hex'), digest);
});

test('a lost primary header: the secondary is found at every offset that the format has', { skip }, () => {
  for (const size of HEADER_SIZES) {
    const name = path(`meta-${size}`);
    format(name, 2 * size + 2 ** 20, [
      ...CHEAP.pbkdf2,
      '--luks2-metadata-size',
      String(size),
      '--luks2-keyslots-size',
      '512k',
    ]);
    const image = bytesOf(name);
    const whole = readHeader(memory(image));
    image.fill(0, 0, 4096);
    const rest = readHeader(memory(image));
    assert.equal(rest.uuid, whole.uuid, String(size));
    assert.equal(rest.luks2?.headerBytes, size);
    assert.deepEqual(
      rest.luks2?.copies.map(({ name, problem }) => [name, problem === undefined]),
      [
        ['secondary', true],
        ['primary', false],
      ],
    );
  }
});

test('the copy with the higher number counts; of equal ones the first', { skip }, () => {
  const binary = decodeBinary(luks2, 'primary', 0);
  const json = metadataOf(luks2);
  for (const [primary, secondary, counts] of [
    [7n, 7n, 'primary'],
    [7n, 8n, 'secondary'],
    [9n, 8n, 'primary'],
    [1n, 2n ** 64n - 1n, 'secondary'],
  ] as const) {
    const image = Buffer.from(luks2);
    encodeHeader({ ...binary, seqid: primary, label: 'primary' }, 'primary', json).copy(image);
    encodeHeader({ ...binary, seqid: secondary, label: 'secondary' }, 'secondary', json).copy(image, 0x4000);
    assert.equal(readHeader(memory(image)).label, counts);
  }
});

/** What reading it says; undefined where it can be read. */
function refusal(image: Buffer): HwcryptError | undefined {
  try {
    readHeader(memory(image));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof HwcryptError, String((error as Error).stack));
    return error;
  }
}

test('metadata against the rules is refused, and the place is named', { skip }, () => {
  const json = metadataOf(luks2);
  const slot = JSON.parse(json).keyslots['0'];
  const cases: [place: string, value: unknown, says: RegExp][] = [
    ['keyslots', undefined, /keyslots is missing/],
    ['config', undefined, /config is missing/],
    ['segments', {}, /segments is empty/],
    ['keyslots.0.key_size', 2 ** 40, /keyslots\.0\.key_size is/],
    ['keyslots.0.key_size', 0, /key_size is 0/],
    ['keyslots.0.area', [], /area is no object/],
    ['keyslots.0.area.offset', '99999999999999999999', /offset does not fit/],
    ['keyslots.0.area.offset', '0x8000', /no decimal number/],
    ['keyslots.0.area.offset', 32768, /is no text/],
    ['keyslots.0.area.offset', '4096', /outside the keyslots area/],
    ['keyslots.0.area.size', '18446744073709551615', /beyond any disk/],
    ['keyslots.0.area.size', '4096', /too small/],
    ['keyslots.1', slot, /overlaps that of keyslot 0/],
    ['keyslots.x', slot, /no number/],
    ['keyslots.0.kdf.salt', 'not*base64', /kdf\.salt is no base64/],
    ['keyslots.0.kdf.salt', 'A', /no base64/],
    ['keyslots.0.kdf.salt', '', /has 0 bytes/],
    ['keyslots.0.kdf.memory', 2 ** 33, /kdf\.memory/],
    ['keyslots.0.kdf.memory', 1, /kdf\.memory/],
    ['keyslots.0.kdf.time', 0, /kdf\.time/],
    ['keyslots.0.kdf.cpus', -1, /kdf\.cpus/],
    ['keyslots.0.kdf.type', 'scrypt', /kdf\.type is not known/],
    ['digests.0.keyslots', ['3'], /not there/],
    ['digests.0.segments', [], /segments\.0 has no digest/],
    ['digests.0.digest', 'AAAA', /digest has 3 bytes/],
    ['segments.0.sector_size', 1536, /sector_size/],
    ['segments.0.offset', '513', /not aligned/],
    ['segments.0.offset', '4096', /within the keyslots area/],
    ['segments.0.size', '512', /multiple of the sector/],
    ['config.json_size', '1', /json_size/],
    ['config.keyslots_size', '999999999999', /keyslots_size/],
    ['tokens.0', { type: 'x', keyslots: ['9'] }, /tokens\.0\.keyslots/],
  ];
  for (const [place, value, says] of cases) {
    const error = refusal(withMetadata(luks2, changed(json, place.split('.'), value)));
    assert.equal(error?.code, 'LUKS_DAMAGED', place);
    assert.match(error.message, says);
    assert.ok(!error.message.includes('\n') && error.message.length < 300, error.message);
  }
});

test('what is not known is left alone', { skip }, () => {
  const metadata = JSON.parse(metadataOf(luks2));
  metadata.config.requirements = { mandatory: ['from-the-future'], optional: 'x' };
  metadata.config.flags = ['allow-discards', 'no-such-flag'];
  metadata.tokens['3'] = { type: 'somebody-elses', keyslots: ['0'], more: { deep: [1] } };
  metadata.keyslots['5'] = {
    type: 'future',
    key_size: 1,
    area: { type: 'none', offset: '2097152', size: '4096' },
  };
  metadata.extra = { a: 1 };
  const header = readHeader(memory(withMetadata(luks2, JSON.stringify(metadata))));
  assert.deepEqual(header.requirements, ['from-the-future']);
  assert.deepEqual(header.flags, ['allow-discards', 'no-such-flag']);
  assert.deepEqual(header.tokens, [{ id: 3, type: 'somebody-elses', keyslots: [0] }]);
  assert.equal(header.keyslots.find(({ id }) => id === 5)?.type, 'future');
});

test('JSON that is none, too deep, or followed by something', { skip }, () => {
  const json = metadataOf(luks2);
  const deep = `${json.slice(0, -1)},"x":${'['.repeat(1000)}${']'.repeat(1000)}}`;
  for (const bad of ['', '[]', '{', json.slice(0, -1), deep, `${json}x`, '"text"', 'null']) {
    assert.equal(refusal(withMetadata(luks2, bad))?.code, 'LUKS_DAMAGED', bad.slice(0, 20));
  }
  // Brackets within text are none.
  assert.equal(refusal(withMetadata(luks2, `${json.slice(0, -1)},"x":"${'['.repeat(100)}\\"["}`)), undefined);
  const trailing = withMetadata(luks2, json);
  trailing[0x3fff] = 1;
  assert.match(String(refusal(trailing.subarray(0, 0x4000))?.message), /checksum is wrong/);
});

test('cut off anywhere: whole, or refused', { skip }, () => {
  for (const image of [luks1.subarray(0, 600), luks2.subarray(0, 0x8000 + 64)]) {
    const step = image.length > 1000 ? 61 : 1;
    for (let length = 0; length < image.length; length += step) {
      const error = refusal(image.subarray(0, length));
      if (error) assert.match(error.code, /^(NOT_LUKS|LUKS_DAMAGED)$/);
    }
  }
});

test('noise: read, or refused in one line', { skip }, () => {
  const flip = fc.array(fc.record({ at: fc.nat(4095), bits: fc.integer({ min: 1, max: 255 }) }), {
    minLength: 1,
    maxLength: 4,
  });
  for (const original of [luks1.subarray(0, 592), luks2]) {
    fc.assert(
      fc.property(flip, (flips) => {
        const image = Buffer.from(original);
        for (const { at, bits } of flips) image[at % Math.min(4096, image.length)]! ^= bits;
        const error = refusal(image);
        if (error) {
          assert.match(error.code, /^(NOT_LUKS|LUKS_DAMAGED|LUKS_UNSUPPORTED)$/);
          assert.ok(!error.message.includes('\n'));
        }
      }),
      { numRuns: 150 },
    );
  }
});

test('metadata of any shape, with checksums that fit: read, or refused in one line', { skip }, () => {
  const values = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      -1,
      0,
      1e308,
      2 ** 53,
      '',
      '0',
      '-1',
      '18446744073709551616',
      [],
      {},
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const original = metadataOf(luks2);
  const places: string[][] = [];
  const walk = (value: unknown, at: string[]): void => {
    if (at.length > 0) places.push(at);
    if (typeof value === 'object' && value !== null) {
      for (const [key, one] of Object.entries(value)) walk(one, [...at, key]);
    }
  };
  walk(JSON.parse(original), []);
  fc.assert(
    fc.property(fc.constantFrom(...places), values, (place, value) => {
      const json = changed(original, place, value);
      if (json.length > 0x4000 - 4096 - 1) return;
      const error = refusal(withMetadata(luks2, json));
      if (error) assert.equal(error.code, 'LUKS_DAMAGED');
    }),
    { numRuns: 400 },
  );
});

test('files that are no images', () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('x'),
    Buffer.alloc(10_000),
    Buffer.from('LUKS\xba\xbe', 'latin1'),
  ]) {
    const error = refusal(bytes);
    assert.match(String(error?.code), /^(NOT_LUKS|LUKS_DAMAGED)$/);
  }
});
