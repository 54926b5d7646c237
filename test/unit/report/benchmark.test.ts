/** What is told beside cryptsetup's table: lines that fit a terminal, and that no reader of that table takes for rows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DiskRow, parseDiskCipher } from '#src/bench/disk/index.js';
import type { Measurement, Run } from '#src/bench/model.js';
import { importResults } from '#src/interop/index.js';
import { diskText, doersText, sizesText } from '#src/report/benchmark.js';

const MIB = 2 ** 20;

function measurement(more: Partial<Measurement>): Measurement {
  return {
    algorithm: 'aes-256-xts',
    algorithmText: 'aes-256-xts',
    keyBits: 512,
    operation: 'encrypt',
    requestBytes: 512,
    basis: 'elapsed',
    status: 'ok',
    estimated: false,
    doubts: [],
    ...more,
  };
}

const run = (label: string, measurements: readonly Measurement[]): Run => ({
  label,
  measurements,
  kdfs: [],
  doubts: [],
  notes: [],
});

const fits = (text: string): boolean => text.split('\n').every((line) => line.length <= 80);

test('a row for each cipher and driver; noise, wrong output and what is missing are seen', () => {
  const noisy = [{ code: 'NOISY' as const, text: '' }];
  const text = sizesText([
    run('afalg', [
      measurement({ bytesPerSecond: 1.26 * MIB, doubts: noisy }),
      measurement({ operation: 'decrypt', bytesPerSecond: 12345.6 * MIB }),
      measurement({ requestBytes: 65536, bytesPerSecond: 999.96 * MIB }),
      measurement({ requestBytes: 65536, operation: 'decrypt', status: 'failed' }),
      measurement({ algorithm: 'serpent-128-cbc', status: 'unavailable' }),
    ]),
    run('libcrypto', [measurement({ bytesPerSecond: 2 * MIB })]),
  ]);
  const rows = text.split('\n').filter((line) => line.includes(' aes-xts '));
  assert.deepEqual(
    rows.map((line) => line.split(/ +/).slice(1)),
    [
      ['aes-xts', '512', 'afalg', '1.3~', '12346', '1000', 'WRONG'],
      ['aes-xts', '512', 'libcrypto', '2.0', '-', '-', '-'],
    ],
  );
  assert.doesNotMatch(text, /serpent/);
  assert.match(text, /^# ~ /m);
  assert.ok(text.split('\n').every((line) => line === '' || line.startsWith('#')));
  assert.ok(fits(text), text);
  assert.deepEqual(importResults(text).sets, []);
  assert.equal(sizesText([]), '');
});

test('who did it, in lines that fit', () => {
  const text = doersText([
    {
      label: 'afalg',
      kernelDriver: 'cbc(aes-eip93)',
      hardware: 'yes',
      ciphers: ['aes-cbc 128', 'aes-cbc 192', 'aes-cbc 256', 'des3_ede-cbc 192', 'des-cbc 64'],
    },
    { label: 'libcrypto', kernelDriver: 'default', hardware: 'no', ciphers: ['aes-cbc 128'] },
  ]);
  assert.match(text, /^# {3}afalg {6}cbc\(aes-eip93\) \(hardware\): aes-cbc 128,/m);
  assert.match(text, /^# {3}libcrypto {2}default \(software\): aes-cbc 128$/m);
  assert.ok(fits(text), text);
});

test('the disk: rows, memory, drivers, remarks once each', () => {
  const cipher = parseDiskCipher('aes-cbc', 128)!;
  const bound = {
    kernelDriver: 'essiv(cbc-aes-aesni,sha256-ni)',
    name: 'essiv(cbc(aes),sha256)',
    priority: 400,
    hardware: 'no',
    evidence: [],
  } as const;
  const problem = 'aes-cbc-essiv:sha256, 128 bits: dm-crypt does not take it (dmesg says why)';
  const rows: DiskRow[] = [
    {
      cipher,
      sectorBytes: 512,
      bound,
      write: measurement({ bytesPerSecond: 25.5 * MIB }),
      read: measurement({ bytesPerSecond: 31.7 * MIB, doubts: [{ code: 'NOISY', text: '' }] }),
    },
    { cipher, sectorBytes: 4096, problem },
    { cipher, sectorBytes: 4096, problem },
  ];
  const text = diskText({
    rows,
    plain: { write: 791.4 * MIB, read: 924.2 * MIB },
    passedOver: [{ kernelDriver: 'virtio', why: 'outranked', text: 'virtio (hardware) was not asked' }],
    cleaned: ['hwcrypt-bench-1-2-3'],
  });
  assert.match(text, /^aes-cbc-essiv:sha256 {2}128 {5}512 {9}25\.5 {7}31\.7~$/m);
  assert.match(text, /^# ~ the rounds of this figure spread widely/m);
  assert.match(text, /^aes-cbc-essiv:sha256 {2}128 {4}4096 {10}N\/A {9}N\/A$/m);
  assert.match(text, /^without encryption +791\.4 +924\.2$/m);
  assert.match(text, /^# {3}dm-crypt {2}essiv\(cbc-aes-aesni,sha256-ni\) \(software\):/m);
  assert.equal(text.split('dmesg says why').length, 2);
  assert.match(text, /^# virtio \(hardware\) was not asked$/m);
  assert.match(text, /^# removed hwcrypt-bench-1-2-3, left by a run that was killed$/m);
  assert.ok(fits(text), text);
  assert.deepEqual(importResults(text).sets, []);
  assert.equal(diskText({ rows: [], passedOver: [], cleaned: [] }), '');
});
