import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { Base64Decoder, Base64Encoder } from '#src/enc/base64.js';
import { DATA, noOpenssl, openssl } from './helpers.js';

/** Cuts at the given places, in order; what lies outside is ignored. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const ends = [...at, bytes.length];
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : (ends[i - 1] as number), end));
}

/** `shift` puts the output on an odd address, where the fast way cannot go. */
function encode(bytes: Uint8Array, oneLine: boolean, cuts: readonly number[] = [], shift = 0): string {
  const encoder = new Base64Encoder(oneLine);
  let text = '';
  for (const piece of pieces(bytes, cuts)) {
    const output = Buffer.alloc(Base64Encoder.outputBytes(piece.length) + shift).subarray(shift);
    text += output.toString('latin1', 0, encoder.update(piece, output));
  }
  const output = Buffer.alloc(Base64Encoder.outputBytes(0));
  return text + output.toString('latin1', 0, encoder.final(output));
}

function decode(text: string | Uint8Array, cuts: readonly number[] = []): Buffer {
  const decoder = new Base64Decoder();
  const found: Buffer[] = [];
  for (const piece of pieces(Buffer.from(text as string, 'latin1'), cuts)) {
    const output = Buffer.alloc(Base64Decoder.outputBytes(piece.length));
    found.push(output.subarray(0, decoder.update(piece, output)));
  }
  const output = Buffer.alloc(3);
  found.push(output.subarray(0, decoder.final(output)));
  return Buffer.concat(found);
}

const cuts = fc.array(fc.nat(), { maxLength: 12 });

test('lines of 64 characters, each with its newline, wherever the input is cut', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1000 }), cuts, fc.nat(1), (bytes, at, shift) => {
      const wanted = Buffer.from(bytes)
        .toString('base64')
        .replace(/.{1,64}/g, '$&\n');
      assert.equal(encode(bytes, false, at, shift), wanted);
    }),
    { numRuns: 500 },
  );
});

test('-A is one line without a newline', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1000 }), cuts, fc.nat(1), (bytes, at, shift) => {
      assert.equal(encode(bytes, true, at, shift), Buffer.from(bytes).toString('base64'));
    }),
    { numRuns: 500 },
  );
});

test('byte for byte as openssl, at the lengths around a line', { skip: noOpenssl }, () => {
  for (const length of [0, 1, 2, 3, 47, 48, 49, 95, 96, 97, 1000, 8192, 100_001]) {
    const bytes = Buffer.alloc(length, 'öpenssl');
    assert.equal(encode(bytes, false), openssl(['enc', '-a'], bytes).toString(), `-a, ${length} bytes`);
    assert.equal(encode(bytes, true), openssl(['enc', '-a', '-A'], bytes).toString(), `-A, ${length} bytes`);
  }
});

test('reads what it wrote, cut anywhere, in any line length, with any line end and blanks in between', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 700 }),
      cuts,
      fc.integer({ min: 1, max: 900 }),
      fc.constantFrom('\n', '\r\n', ' ', '\t', '\n\n', ' \r\n '),
      fc.boolean(),
      fc.boolean(),
      (bytes, at, columns, end, last, padded) => {
        let text = Buffer.from(bytes).toString('base64');
        if (!padded) text = text.replace(/=+$/, '');
        text = text.match(new RegExp(`.{1,${columns}}`, 'g'))?.join(end) ?? '';
        if (last) text += end;
        assert.deepEqual(decode(text, at), Buffer.from(bytes));
      },
    ),
    { numRuns: 500 },
  );
});

test('in place: the decoded bytes may lie eight bytes before the text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), cuts, (bytes, at) => {
      const decoder = new Base64Decoder();
      const found: Buffer[] = [];
      for (const piece of pieces(Buffer.from(Buffer.from(bytes).toString('base64')), at)) {
        const memory = Buffer.alloc(8 + piece.length);
        memory.set(piece, 8);
        const length = decoder.update(memory.subarray(8), memory);
        found.push(Buffer.from(memory.subarray(0, length)));
      }
      const rest = Buffer.alloc(3);
      found.push(rest.subarray(0, decoder.final(rest)));
      assert.deepEqual(Buffer.concat(found), Buffer.from(bytes));
    }),
  );
});

test('files of case 48: one long line, and wrapped with CR LF', () => {
  for (const name of ['oneline-hello-pbkdf2.b64', 'wrapped-crlf-hello-pbkdf2.b64']) {
    const bytes = decode(readFileSync(join(DATA, name)));
    assert.equal(bytes.length, 624, name);
    assert.equal(bytes.toString('latin1', 0, 8), 'Salted__', name);
  }
});

test('a byte order mark is skipped, alone or with the text', () => {
  assert.equal(decode('\u00ef\u00bb\u00bfaGVsbG8=').toString(), 'hello');
});

test('what is not base64 is named with its place', () => {
  const cases: [text: string, message: RegExp][] = [
    ['aGVs!bG8=', /byte 0x21 at offset 4\); did you mean to omit -a/],
    ['aGVsbG8=aGVs', /goes on after its padding, at offset 8/],
    ['aGVsbG8==', /byte 0x3d at offset 8\); padding in a wrong place/],
    ['a=', /byte 0x3d at offset 1\)/],
    ['=', /byte 0x3d at offset 0\)/],
    ['aGVsbG8=\n\naGVs', /goes on after its padding/],
    ['aGVsb', /its last group has only one character/],
    ['aGVs-_==', /byte 0x2d at offset 4\); that is the URL-safe alphabet/],
    ['aGV_bG8=', /byte 0x5f at offset 3\); that is the URL-safe alphabet/],
    ['-----BEGIN MESSAGE-----', /a PEM line/],
    ['\u00ff\u00fea\0G\0', /byte 0xff at offset 0\).*UTF-16/],
    ['\u007fELF', /byte 0x7f at offset 0\); did you mean to omit -a/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => decode(text), { code: 'BAD_BASE64', message }, JSON.stringify(text));
    // The offset is that in the whole text, not in the piece.
    assert.throws(() => decode(text, [1, 2, 3, 5, 7]), { code: 'BAD_BASE64' }, JSON.stringify(text));
  }
  assert.throws(() => decode(`${'aGVs'.repeat(30)}!`, [50]), /offset 120/);
});

test('unused bits of a last group are ignored, as openssl does', () => {
  assert.equal(decode('aGVsbG9=').toString(), 'hello');
});
