/** What was calibrated, in words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryText, leadText, profileText, withLeads } from '#src/report/calibration.js';
import type { ProfileEntry, ProfileImplementation } from '#src/routing/profile.js';

const ENGINE = 'afalg:virtio_crypto_aes_cbc';

function implementation(driver: string, fixedNs: number, nsPerByte: number): ProfileImplementation {
  return {
    driver,
    kernelDriver: driver.includes(':') ? 'virtio_crypto_aes_cbc' : 'default',
    hardware: driver.includes(':') ? 'yes' : 'no',
    points: [16, 1024, 65_536].map((requestBytes) => ({
      requestBytes,
      elapsedNs: fixedNs + nsPerByte * requestBytes,
      cpuNs: driver.includes(':') ? 20_000 : fixedNs + nsPerByte * requestBytes,
    })),
    lines: [{ fromBytes: 16, toBytes: 65_536, fixedNs, nsPerByte }],
  };
}

function entry(...implementations: ProfileImplementation[]): ProfileEntry {
  return {
    algorithm: 'aes-128-cbc',
    operation: 'encrypt',
    measuredAt: '2026-11-30T12:34:56.000Z',
    implementations,
  };
}

const software = implementation('libcrypto', 2000, 130);
const engine = implementation(ENGINE, 370_000, 12);
const BORDER = 3119;

test('who wins from which size on, and by how much', () => {
  assert.equal(
    leadText(entry(software, engine)),
    `libcrypto up to 3 KiB, ${ENGINE} from there; 7.4x at 64 KiB`,
  );
  assert.equal(leadText(entry(software)), 'libcrypto at all sizes');
  assert.equal(leadText(entry({ ...software, points: [] })), 'no figures, so nobody is chosen');
  const middle = {
    ...software,
    driver: 'nettle',
    points: software.points.map((own) => ({ ...own, elapsedNs: 20_000 + 60 * own.requestBytes })),
  };
  assert.equal(
    leadText(entry(software, middle, engine)),
    `libcrypto up to 260 B, nettle from 260 B to 7.1 KiB, ${ENGINE} from there; 7.4x at 64 KiB`,
  );
  // Where it is only ahead for what is larger than all that is told.
  const late = implementation(ENGINE, 13_000_000, 12);
  assert.equal(
    leadText(entry(software, late)),
    `libcrypto up to 110 KiB, ${ENGINE} from there; 3.1x at 430 KiB`,
  );
});

test('as data: the borders by elapsed and by CPU time', () => {
  const { leads, cpuLeads } = withLeads(entry(software, engine));
  assert.deepEqual(leads, [
    { fromBytes: 0, driver: 'libcrypto' },
    { fromBytes: BORDER, driver: ENGINE },
  ]);
  assert.deepEqual(cpuLeads, [
    { fromBytes: 0, driver: 'libcrypto' },
    { fromBytes: 139, driver: ENGINE },
  ]);
});

test('the table', () => {
  const bent = {
    ...engine,
    lines: [
      { fromBytes: 16, toBytes: 1024, fixedNs: 370_000, nsPerByte: 12 },
      { fromBytes: 4096, toBytes: 65_536, fixedNs: 1_500_000, nsPerByte: 0.0521 },
    ],
  };
  const broken = { ...software, driver: 'node', points: [], lines: [], problem: 'at 16 bytes: wrong' };
  assert.equal(
    entryText({ ...entry(software, bent, broken), noisyPoints: 3 }),
    [
      'aes-128-cbc encrypt',
      'driver                       sizes            a request     a byte  done by',
      'libcrypto                    16 B to 64 KiB     2.00 us     130 ns  default',
      'afalg:virtio_crypto_aes_cbc  16 B to 1 KiB       370 us    12.0 ns  virtio_crypto_aes_cbc, hardware',
      '                             4 KiB to 64 KiB    1.50 ms  0.0521 ns',
      'node                         -                        -          -  default',
      `libcrypto up to 3 KiB, ${ENGINE} from there; 7.4x at 64 KiB`,
      'node: at 16 bytes: wrong',
      'something else used the machine meanwhile: 3 of the figures are doubtful; calibrate again when it is idle',
      '',
    ].join('\n'),
  );
  for (const line of entryText(entry(software, bent), 80).split('\n')) assert.ok(line.length <= 100);
});

test('the profile: where, of which machine, what is used and what is not', () => {
  const machine = { kernel: '6.1.0', architecture: 'x64', cpu: 'A CPU', features: 'aes' };
  const none = { entries: [], quarantine: [], notes: [] };
  assert.match(profileText(none), /HWCRYPT_PROFILE is empty/);
  assert.match(profileText({ ...none, path: '/p' }), /no profile in \/p/);
  const note = { code: 'KERNEL_DRIVER_CHANGED', message: 'it is gone' } as const;
  const text = profileText({
    path: '/p',
    machine,
    entries: [
      { ...withLeads(entry(software, engine)), used: true },
      { ...withLeads(entry(software, engine)), used: false, note },
    ],
    quarantine: [
      { algorithm: 'aes-128-cbc', driver: ENGINE, kernelDriver: 'x', since: '2026', evidence: 'wrong bytes' },
    ],
    notes: [],
  });
  assert.match(text, /^\/p\nA CPU \(x64\), Linux 6\.1\.0\n\n/);
  assert.match(text, /\nmeasured 2026-11-30 12:34 UTC; used\n/);
  assert.match(text, /\nmeasured 2026-11-30 12:34 UTC; not used: it is gone\n/);
  assert.match(text, /\nafalg:virtio_crypto_aes_cbc is kept from aes-128-cbc since 2026: wrong bytes\n$/);
  const unread = profileText({
    ...none,
    path: '/p',
    notes: [{ code: 'DAMAGED', message: '/p is not used: no JSON' }],
  });
  assert.equal(unread, '/p\n/p is not used: no JSON\n');
});
