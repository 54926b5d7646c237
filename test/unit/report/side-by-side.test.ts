/** Drivers side by side, from figures that are made up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Measurement, ResultSet } from '#src/bench/model.js';
import { sideBySide } from '#src/report/side-by-side.js';

const SIZES = [16, 1024, 65536];

/** Costs so many nanoseconds a request and a byte, of elapsed time and of CPU time. */
function run(
  label: string,
  [fixed, perByte]: readonly [number, number],
  cpuNsPerByte: number,
  parts: Partial<Measurement> = {},
): ResultSet['runs'][number] {
  const measurements = SIZES.map((requestBytes): Measurement => {
    const requestNs = fixed + perByte * requestBytes;
    const requests = Math.round(1e9 / requestNs);
    return {
      algorithm: 'aes-128-cbc',
      algorithmText: 'aes-128-cbc',
      operation: 'encrypt',
      driver: label.split(':')[0]!,
      requestBytes,
      requests,
      elapsedNs: 1e9,
      userNs: 0,
      systemNs: cpuNsPerByte * requests * requestBytes,
      rounds: { count: 7, spread: 0.01 },
      bytesPerSecond: (requestBytes * 1e9) / requestNs,
      basis: 'elapsed',
      status: 'ok',
      estimated: false,
      doubts: [],
      ...parts,
    };
  });
  return { label, measurements, kdfs: [], doubts: [], notes: [] };
}

function set(...runs: ResultSet['runs']): ResultSet {
  return {
    format: 'hwcrypt-results',
    version: 1,
    tool: 'hwcrypt',
    source: 'this machine',
    machine: {},
    runs,
    skipped: [],
    notes: [],
  };
}

const software = run('libcrypto', [0, 100], 100, { kernelDriver: 'default', interrupts: 0 });
const engine = run('afalg', [100_000, 10], 2, { kernelDriver: 'cbc-aes-eip93', interrupts: 500 });
const hardware = (label: string): 'yes' | 'no' => (label === 'afalg' ? 'yes' : 'no');

test('rates, ratios, CPU time, interrupts, who it was, and from where on it pays', () => {
  const text = sideBySide(set(software, engine), { hardware });
  const lines = text.split('\n');
  assert.match(
    lines[0]!,
    /^# aes-128-cbc, encrypt: MB\/s of 10\^6 bytes, median of the rounds; ratio to libcrypto/,
  );
  assert.match(text, /^# request +libcrypto +CPU +afalg +ratio +CPU +irq$/m);
  assert.match(text, /^# +16 B +10\.0 +100 +0\.16 +0\.016x +2\.00 +500$/m);
  assert.match(text, /^# +64 KiB +10\.0 +100 +86\.8 +8\.7x +2\.00 +500$/m);
  assert.match(text, /^# libcrypto: default; software on the CPU; no interrupt of an engine meanwhile$/m);
  assert.match(text, /^# afalg: cbc-aes-eip93; hardware; 1500 interrupts of the engine for \d+ requests$/m);
  assert.match(text.replaceAll('\n# ', ' '), /Below about 1\.1 KiB libcrypto is faster, above it afalg/);
  assert.ok(lines.every((line) => line.length <= 100));
  // Whoever picks the rows of the table above by their names finds none here.
  assert.ok(lines.every((line) => line === '' || line.startsWith('# ')));
});

test('long names become letters where the table would not fit', () => {
  const long = run('afalg:virtio_crypto_aes_cbc', [1000, 10], 2, { interrupts: 7 });
  const other = run('afalg:cbc(aes-generic)', [1000, 20], 20);
  const text = sideBySide(set(software, other, long), { columns: 80 });
  assert.match(text, /^# request +A +CPU +B +ratio +CPU +C +ratio +CPU +irq$/m);
  assert.match(text, /^# A libcrypto: default; no interrupt/m);
  assert.match(text, /^# C afalg:virtio_crypto_aes_cbc: 21 interrupts/m);
  assert.ok(text.split('\n').every((line) => line.length <= 80));
});

test('a plot has the letters of the table; one driver or one size has none', () => {
  const text = sideBySide(set(software, engine), { columns: 80, plot: 'ascii' });
  assert.match(text, /^# request +A +CPU +B +ratio +CPU +irq$/m);
  assert.match(text, /^# A libcrypto: /m);
  assert.match(text, /^ *[\d.]* *[+|].*A/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what ASCII is
  assert.match(text, /^[\x00-\x7f]*$/);
  assert.ok(text.split('\n').every((line) => line.length <= 80));
  assert.equal(sideBySide(set(software), { plot: 'ascii' }), sideBySide(set(software)));
});

test('doubtful figures are marked, missing ones are told with the reason', () => {
  const noisy = run('libcrypto', [0, 100], 100, {
    doubts: [{ code: 'NOISY', text: 'the rounds lie 30 % apart' }],
  });
  const broken = {
    ...engine,
    measurements: engine.measurements.map(({ bytesPerSecond, ...own }): Measurement => {
      return { ...own, status: 'failed', doubts: [{ code: 'WRONG_OUTPUT', text: 'the output was wrong' }] };
    }),
  };
  const text = sideBySide(set(noisy, broken));
  assert.match(text, /^# +16 B +10\.0! +100$/m);
  assert.match(text, /! the rounds[\s#]+spread/);
  assert.match(text, /^# afalg: no figure: the output was wrong$/m);
});

test('what was found on the way is told below the figures', () => {
  const note = 'aes-128-cbc: nobody else here has it, so no output was compared';
  const text = sideBySide(set({ ...software, notes: [note, 'sha256: of no concern here'] }));
  assert.ok(text.includes(`meanwhile\n# ${note}\n`), text);
  assert.doesNotMatch(text, /of no concern/);
});

test('nothing measured, nothing said', () => {
  assert.equal(sideBySide(set()), '');
});
