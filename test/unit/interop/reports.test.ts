/** The field reports: what their own numbers say when they are read as they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caseOf, codes, find, hasCases, only, rate, ratio, setOf } from './fixtures.js';

const here = hasCases ? {} : { skip: 'the collection of cases is not beside the repository' };

function near(actual: number, expected: number, decimals = 1): void {
  assert.equal(Number(actual.toFixed(decimals)), expected, `${actual}`);
}

test('MT7688: the claimed 414 times are 15.5 times at 8192 bytes and 0.22 at 16', here, () => {
  const engine = caseOf('reports/mt7688-mtk-aes.txt');
  const software = caseOf('reports/mt7688-software.txt');
  const at = (requestBytes: number) =>
    ({ algorithm: 'aes-128-cbc', operation: 'encrypt', requestBytes }) as const;
  const fast = find(engine, at(8192));
  const slow = find(software, at(8192));
  assert.equal(fast.requests, 45_879);
  assert.equal(slow.requests, 2953);
  assert.equal(fast.elapsedNs, 3e9);
  assert.equal(slow.elapsedNs, 3e9);
  near(fast.bytesPerSecond! / 1e6, 125.3);
  near(slow.bytesPerSecond! / 1e6, 8.06, 2);
  near(ratio(engine, software, at(8192)), 15.5);
  near(ratio(engine, software, at(16)), 0.22, 2);
  assert.ok(fast.estimated && slow.estimated);
  // What the report divided: the engine's last column by the software's last printed one, which is that of 1024 bytes.
  near(fast.claimedBytesPerSecond! / find(software, at(1024)).claimedBytesPerSecond!, 414.6);
  assert.ok(codes(fast).includes('CPU_TIME_DIVISOR'));
  assert.ok(codes(only(engine.runs)).includes('CPU_TIME_DIVISOR'));
  // 2.96 of 3 seconds is no sign of anything.
  assert.ok(!codes(only(software.runs)).includes('CPU_TIME_DIVISOR'));
  // The row lacks its last value, which comes from the counts.
  assert.match(only(software.skipped).reason, /row incomplete: 4 of 5 columns/);
  assert.deepEqual(codes(slow), ['FROM_COUNTS']);
});

test('MT7628: the engine loses at 16 bytes and wins at 8192', here, () => {
  for (const [mode, small, large] of [
    ['ecb', 0.33, 16.2],
    ['cbc', 0.38, 18.2],
  ] as const) {
    const engine = caseOf(`reports/mt7628-aes-256-${mode}-cryptodev.txt`);
    const software = caseOf(`reports/mt7628-aes-256-${mode}-software.txt`);
    const at = (requestBytes: number) => ({ algorithm: `aes-256-${mode}`, requestBytes });
    near(ratio(engine, software, at(16)), small, 2);
    near(ratio(engine, software, at(8192)), large);
    assert.ok(ratio(engine, software, at(64)) > 1, 'the crossover is between 16 and 64 bytes');
    assert.deepEqual(only(engine.runs).engine, { requested: 'cryptodev', loaded: 'yes' });
    assert.ok(
      only(engine.runs).measurements.every(
        ({ driver, basis }) => driver === 'cryptodev' && basis === 'elapsed',
      ),
    );
    assert.equal(engine.toolVersion, '1.0.2q');
    // The prompt holds the machine's name, which goes nowhere.
    assert.doesNotMatch(JSON.stringify(engine), /HC5861B/);
  }
});

test(
  'GnuBee: 3.5 times for aes-cbc 128, 2.6 for aes-xts 512, and nothing for serpent and twofish',
  here,
  () => {
    const before = caseOf('reports/gnubee-before.txt');
    const after = caseOf('reports/gnubee-after-eip93.txt');
    const gain = (algorithm: string): number => ratio(after, before, { algorithm, operation: 'encrypt' });
    near(gain('aes-128-cbc'), 3.5);
    near(gain('aes-256-xts'), 2.6);
    const others = ['serpent', 'twofish'].flatMap((family) =>
      ['128-cbc', '256-cbc', '128-xts', '256-xts'].map((rest) => gain(`${family}-${rest}`)),
    );
    near(Math.min(...others), 0.67, 2);
    near(Math.max(...others), 1.02, 2);
    for (const set of [before, after]) {
      assert.equal(only(set.runs).measurements.length, 24);
      assert.ok(
        only(set.runs).measurements.every((measurement) =>
          codes(measurement).includes('OVERSTATED_N_PLUS_1'),
        ),
      );
    }
  },
);

test(
  'QEMU: sha256 crosses between 1 and 2 KiB, hmac between 2 and 4, cbc(aes128) wins everywhere',
  here,
  () => {
    const set = caseOf('reports/qemu-afalg-nettle.txt');
    const [kernel, library] = set.runs;
    assert.deepEqual([kernel!.label, library!.label], ['afalg', 'nettle']);
    const gain = (algorithm: string, requestBytes: number): number =>
      ratio(kernel!, library!, { algorithm, requestBytes });
    assert.ok(gain('sha256', 1024) < 1);
    assert.ok(gain('sha256', 2048) > 1);
    // The hmac object is made anew for each chunk, which the kernel pays for longer: 180.96 against 203.24 at 2 KiB.
    near(gain('hmac-sha256', 2048), 0.89, 2);
    assert.ok(gain('hmac-sha256', 4096) > 1);
    for (let size = 512; size <= 65_536; size *= 2) assert.ok(gain('aes-128-cbc', size) > 1);
    assert.equal(find(kernel!, { algorithm: 'sha256', requestBytes: 512 }).kernelDriver, 'sha256-ssse3');
    assert.equal(
      find(kernel!, { algorithm: 'aes-128-cbc', requestBytes: 512 }).kernelDriver,
      'cbc-aes-aesni',
    );
  },
);

test('the same shapes with other numbers: user time against user time', () => {
  const engine = setOf('report-user-time-engine.txt');
  const software = setOf('report-user-time-software.txt');
  const which = { algorithm: 'aes-128-cbc', requestBytes: 8192 };
  const [fast, slow] = [find(engine, which), find(software, which)];
  assert.equal(fast.bytesPerSecond, (fast.requests! * 8192) / 3);
  near(ratio(engine, software, which), Number((fast.requests! / slow.requests!).toFixed(6)), 6);
  near(fast.claimedBytesPerSecond! / fast.bytesPerSecond!, Number((3 / 0.11).toFixed(1)));
  assert.match(only(software.skipped).reason, /4 of 5/);
});

test('the same shapes with other numbers: elapsed time, disks, tables of two drivers', () => {
  const engine = setOf('report-aes-256-cbc-cryptodev.txt');
  const software = setOf('report-aes-256-cbc-software.txt');
  assert.ok(ratio(engine, software, { algorithm: 'aes-256-cbc', requestBytes: 16 }) < 1);
  assert.ok(ratio(engine, software, { algorithm: 'aes-256-cbc', requestBytes: 8192 }) > 10);
  const [before, after] = [setOf('report-disk-before.txt'), setOf('report-disk-after.txt')];
  assert.equal(only(after.runs).label, 'AFTER');
  assert.ok(ratio(after, before, { algorithm: 'aes-128-cbc', operation: 'encrypt' }) > 2);
  const tables = setOf('report-qemu-tables.txt');
  assert.equal(tables.runs.length, 2);
  assert.equal(rate(tables.runs[1]!, { algorithm: 'sha256', requestBytes: 65_536 }), 182.59 * 2 ** 20);
});
