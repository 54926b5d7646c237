import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { counted } from '#src/files/io.js';
import { checksumLine, parseChecksum } from '#src/report/checksums.js';
import { table } from '#src/report/table.js';
import { columns, wrap } from '#src/report/text.js';
import { duration, megabytes, rate, seconds } from '#src/report/units.js';

test('a table is as wide as it needs, aligned, without blanks at the ends of lines', () => {
  const text = table(
    [{ title: 'name' }, { title: 'n', align: 'right' }, { title: 'note' }],
    [
      ['a', '1', 'x'],
      ['longer', '1000', ''],
    ],
  );
  assert.equal(text, 'name       n  note\na          1  x\nlonger  1000\n');
});

test('for a terminal the last column is wrapped, and nothing is lost', () => {
  const words = 'one two three four five six seven eight nine ten eleven twelve'.repeat(3);
  const text = table([{ title: 'k' }, { title: 'v' }], [['key', words]], 40);
  assert.ok(text.split('\n').every((line) => line.length <= 40));
  assert.equal(text.split('\n').slice(1).join(' ').replace(/\s+/g, ' ').trim(), `key ${words}`);
  assert.deepEqual(wrap('a verylongword b', 5), ['a', 'verylongword', 'b']);
  assert.deepEqual(wrap('', 5), ['']);
});

test('names in columns', () => {
  assert.equal(columns(['a', 'bb', 'ccc', 'd'], 10), 'a    bb\nccc  d\n');
  assert.equal(columns([], 10), '');
  assert.equal(columns(['wider than it all'], 5), 'wider than it all\n');
});

test('units', () => {
  assert.equal(megabytes(512), '512 B');
  assert.deepEqual(
    [counted(1, 'block'), counted(0, 'byte'), counted(2, 'byte')],
    ['1 block', '0 bytes', '2 bytes'],
  );
  assert.equal(megabytes(98_906_744), '98.9 MB');
  assert.equal(megabytes(1_073_741_824), '1.07 GB');
  assert.equal(rate(1_000_000_000, 1e9), '1000 MB/s');
  assert.equal(rate(1_000_000, 1e9), '1.00 MB/s');
  assert.equal(rate(1, 0), '-');
  assert.equal(rate(0, 1e9), '-');
  assert.equal(rate(6, 14e6), '429 B/s');
  assert.equal(rate(43_100, 1e9), '43.1 kB/s');
  assert.equal(seconds(1_234_567_890), '1.23 s');
  assert.equal(seconds(45_600_000), '45.6 ms');
  assert.equal(duration(7.2e9), '8 s');
  assert.equal(duration(185e9), '3:05');
  assert.equal(duration(3725e9), '1:02:05');
});

test('a checksum line is read back, whatever the name and the format', () => {
  const hex = 'ab'.repeat(32);
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }),
      fc.constantFrom('openssl', 'openssl-r', 'gnu', 'tag'),
      (name, format) => {
        // OpenSSL leaves a newline in one format and the backslash in the other as they are; a line end or NUL is none of a name.
        if (/[\n\r\0\\]/.test(name) && format.startsWith('openssl')) return;
        if (/[\0]/.test(name) || name.endsWith('\r')) return;
        const line = checksumLine({ name, hex, opensslName: 'SHA2-256', tagName: 'SHA256' }, { format });
        assert.equal(line.at(-1), '\n');
        const parsed = parseChecksum(line.slice(0, -1));
        assert.ok(parsed && parsed !== 'comment', line);
        assert.equal(parsed.name, name);
        assert.equal(parsed.hex, hex);
        assert.equal(
          parsed.tag,
          { openssl: 'SHA2-256', tag: 'SHA256', gnu: undefined, 'openssl-r': undefined }[format],
        );
      },
    ),
    { numRuns: 1000 },
  );
});

test('what is no checksum', () => {
  for (const line of [
    'junk',
    'abc  file',
    `${'a'.repeat(63)}  file`,
    `${'a'.repeat(64)}`,
    `${'a'.repeat(64)}  `,
    `\\${'a'.repeat(64)}  bad\\x`,
  ]) {
    assert.equal(parseChecksum(line), undefined, line);
  }
  assert.equal(parseChecksum('# a comment'), 'comment');
  assert.equal(parseChecksum('\r'), 'comment');
});
