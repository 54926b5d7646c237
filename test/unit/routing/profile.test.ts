/** The profile: kept whole, used only where it holds, and never an error for who only reads it. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import type { Driver, DriverName, Implementation } from '#src/drivers/index.js';
import type { HwcryptError } from '#src/errors.js';
import { ffiUnavailable, type KernelAlgorithm } from '#src/linux/index.js';
import type { MachineKey } from '#src/routing/machine.js';
import {
  openProfile,
  type Profile,
  type ProfileEntry,
  type ProfileNote,
  type ProfileOptions,
  type QuarantineRecord,
} from '#src/routing/profile.js';
import { profilePath } from '#src/routing/profile-file.js';
import { scratch } from '../cli/helpers.js';

const MACHINE: MachineKey = { kernel: '6.1.0', architecture: 'x64', cpu: 'A CPU', features: 'aes fpu sse2' };
const NONE = { algorithms: [], source: 'proc' } as const;

/** A driver as far as the profile looks at it. `bound`: what stands behind its own name; `pins`: what can be had by name besides. */
function driver(
  name: DriverName,
  { version = '1', bound = name as string, priority = 0, pins = [] as string[] } = {},
): Driver {
  const implementation: Driver['implementation'] = (_, options): Implementation => ({
    driver: name,
    kernelDriver: options?.kernelDriver ?? bound,
    ...(name === 'afalg' ? { priority } : {}),
    hardware: options?.kernelDriver === undefined ? 'no' : 'yes',
    evidence: [],
  });
  return {
    name,
    probe: () => ({ available: true, version, notes: [] }),
    supports: (_, options) =>
      options?.kernelDriver === undefined || pins.includes(options.kernelDriver)
        ? { supported: true }
        : { supported: false, reason: { code: 'KERNEL_DRIVER_ABSENT', message: 'no' } },
    implementation,
  } as Partial<Driver> as Driver;
}

const SOFT = { bound: 'cbc-aes-generic', priority: 100 };
const ENGINE = 'virtio_crypto_aes_cbc';
const engine = { name: 'cbc(aes)', driver: ENGINE, internal: false } as KernelAlgorithm;
const listed = () => ({ algorithms: [engine], source: 'proc' }) as const;

const curve = [16, 1024, 65_536].map((requestBytes) => ({
  requestBytes,
  elapsedNs: 100.5 + requestBytes,
  cpuNs: requestBytes,
}));

function entry(algorithm = 'aes-128-cbc', labels = ['libcrypto', 'afalg', `afalg:${ENGINE}`]): ProfileEntry {
  return {
    algorithm,
    operation: 'encrypt',
    measuredAt: '2026-11-30T12:00:00.000Z',
    implementations: labels.map((label) => ({
      driver: label,
      kernelDriver: label === 'afalg' ? SOFT.bound : label.replace(/^afalg:/, ''),
      ...(label.startsWith('afalg') ? { priority: 100 } : {}),
      hardware: label.includes(':') ? 'yes' : 'no',
      points: curve,
      lines: [{ fromBytes: 16, toBytes: 65_536, fixedNs: -0.5, nsPerByte: 1 }],
      inFlight: { requests: 4, points: curve },
    })),
  };
}

const drivers = (): Driver[] => [driver('libcrypto'), driver('afalg', { ...SOFT, pins: [ENGINE] })];

function open(path: string, surroundings: ProfileOptions['surroundings'] = {}): Profile {
  return openProfile({
    path,
    surroundings: { machine: MACHINE, drivers: drivers(), listed, ...surroundings },
  });
}

const record: QuarantineRecord = {
  algorithm: 'aes-128-cbc',
  driver: `afalg:${ENGINE}`,
  kernelDriver: ENGINE,
  since: '2026-11-30T12:00:00.000Z',
  evidence: 'wrong bytes at 4096 bytes',
};

const mode = (path: string): number => fs.statSync(path).mode & 0o777;

test('the file lies where the XDG specification says, or where the user says', () => {
  const at = (env: Record<string, string>): string | undefined => profilePath({ HOME: '/home/u', ...env });
  assert.equal(at({}), '/home/u/.local/state/hwcrypt/profile.json');
  assert.equal(at({ XDG_STATE_HOME: '/state' }), '/state/hwcrypt/profile.json');
  assert.equal(at({ XDG_STATE_HOME: 'state' }), '/home/u/.local/state/hwcrypt/profile.json');
  assert.equal(at({ XDG_STATE_HOME: '' }), '/home/u/.local/state/hwcrypt/profile.json');
  assert.equal(at({ HWCRYPT_PROFILE: '/x/p.json', XDG_STATE_HOME: '/state' }), '/x/p.json');
  assert.equal(at({ HWCRYPT_PROFILE: 'p.json' }), join(process.cwd(), 'p.json'));
  assert.equal(at({ HWCRYPT_PROFILE: '' }), undefined);
  assert.equal(at({ HOME: 'home' }), undefined);
  assert.equal(at({ HOME: '' }), undefined);
});

test('what was saved is found again, private, and beside what was there', () => {
  const path = join(scratch(), 'new', 'folder', 'profile.json');
  const profile = open(path);
  assert.deepEqual([profile.entry('aes-128-cbc', 'encrypt'), profile.notes], [undefined, []]);
  profile.saveEntries([entry()]);
  assert.deepEqual([mode(join(path, '..')), mode(join(path, '../..')), mode(path)], [0o700, 0o700, 0o600]);
  profile.saveQuarantine(record);
  profile.saveEntries([entry('aes-256-cbc'), { ...entry(), operation: 'decrypt' }]);
  const later = { ...entry(), measuredAt: '2026-12-01T12:00:00.000Z' };
  open(path).saveEntries([later]);
  profile.saveEntries([]);
  for (const own of [open(path), profile]) {
    assert.equal(own.stored?.entries.length, 3);
    const { drivers: with_, ...found } = own.entry('aes-128-cbc', 'encrypt') as never as Record<
      string,
      unknown
    >;
    assert.deepEqual(found, later);
    assert.deepEqual(with_, [
      { name: 'libcrypto', version: '1' },
      { name: 'afalg', version: '1' },
    ]);
    assert.ok(own.entry('aes-128-cbc', 'decrypt') && own.entry('aes-256-cbc', 'encrypt'));
    assert.equal(own.entry('aes-192-cbc', 'encrypt'), undefined);
    assert.deepEqual(own.quarantine('aes-128-cbc', `afalg:${ENGINE}`), record);
    assert.deepEqual(own.notes, []);
  }
  assert.deepEqual(fs.readdirSync(join(path, '..')), ['profile.json']);
});

test('quarantine: replaced, over when its time is, lifted for one or for all', () => {
  const path = join(scratch(), 'profile.json');
  const until = '2026-11-30T13:00:00.000Z';
  const profile = open(path, { now: () => Date.parse('2026-11-30T12:59:59Z') });
  profile.clearQuarantine();
  assert.ok(!fs.existsSync(path), 'nothing to lift, nothing written');
  profile.saveQuarantine(record);
  profile.saveQuarantine({ ...record, until });
  profile.saveQuarantine({ ...record, algorithm: 'aes-256-cbc' });
  profile.saveQuarantine({ ...record, driver: 'afalg' });
  assert.equal(profile.stored?.quarantine.length, 3);
  assert.equal(profile.quarantine('aes-128-cbc', record.driver)?.until, until);
  assert.equal(profile.quarantine('aes-128-cbc', 'libcrypto'), undefined);
  const after = open(path, { now: () => Date.parse(until) });
  assert.equal(after.quarantine('aes-128-cbc', record.driver), undefined);
  assert.ok(after.quarantine('aes-256-cbc', record.driver), 'without a time it stays');
  profile.clearQuarantine('aes-128-cbc', record.driver);
  assert.equal(profile.stored?.quarantine.length, 2);
  profile.clearQuarantine(undefined, 'afalg');
  assert.equal(profile.stored?.quarantine.length, 1);
  profile.saveEntries([entry()]);
  profile.clearEntries();
  assert.equal(profile.stored?.quarantine.length, 1);
  profile.clearQuarantine();
  assert.deepEqual([profile.stored?.quarantine, profile.stored?.entries], [[], []]);
});

test('another machine, kernel or CPU: told and not used, and replaced by what is saved', () => {
  const path = join(scratch(), 'profile.json');
  open(path).saveEntries([entry()]);
  open(path).saveQuarantine(record);
  for (const [other, words] of [
    [{ kernel: '6.2.0' }, /measured with Linux 6\.1\.0, and this is 6\.2\.0/],
    [{ cpu: 'B' }, /another CPU: A CPU \(x64\), and this is B/],
    [{ architecture: 'arm64' }, /another CPU/],
    [{ features: 'fpu sse2' }, /now without aes/],
    [{ features: 'aes fpu sse2 vaes' }, /now with vaes/],
  ] as const) {
    const profile = open(path, { machine: { ...MACHINE, ...other } });
    assert.equal(profile.notes[0]?.code, 'OTHER_MACHINE');
    assert.match(profile.notes[0].message, words);
    assert.equal(profile.entry('aes-128-cbc', 'encrypt'), undefined);
    assert.equal(profile.quarantine('aes-128-cbc', record.driver), undefined);
    assert.equal(profile.stored?.entries.length, 1, 'and can be shown');
    assert.equal(profile.problemOf(profile.stored.entries[0]!)?.code, 'OTHER_MACHINE');
  }
  const profile = open(path, { machine: { ...MACHINE, kernel: '6.2.0' } });
  profile.saveEntries([entry('aes-256-cbc')]);
  assert.deepEqual(profile.notes, []);
  assert.deepEqual(
    profile.stored?.entries.map(({ algorithm }) => algorithm),
    ['aes-256-cbc'],
  );
  assert.deepEqual(profile.stored.quarantine, []);
});

test('other drivers, other kernel drivers behind them, other priorities: told and not used', () => {
  const path = join(scratch(), 'profile.json');
  open(path).saveEntries([entry()]);
  const pins = [ENGINE];
  const soft = driver('afalg', { ...SOFT, pins });
  for (const [now, code, words] of [
    [[driver('libcrypto')], 'DRIVERS_CHANGED', /the driver afalg is gone/],
    [[...drivers(), driver('nettle')], 'DRIVERS_CHANGED', /the driver nettle is new/],
    [[driver('libcrypto', { version: '2' }), soft], 'DRIVERS_CHANGED', /libcrypto is 2 now, and was 1/],
    [
      [driver('libcrypto'), driver('afalg', { ...SOFT, bound: 'cbc-aes-aesni', pins })],
      'KERNEL_DRIVER_CHANGED',
      /behind afalg is cbc-aes-aesni now, and was cbc-aes-generic/,
    ],
    [
      [driver('libcrypto'), driver('afalg', { ...SOFT, priority: 400, pins })],
      'KERNEL_DRIVER_CHANGED',
      /priority of cbc-aes-generic is 400 now, and was 100/,
    ],
    [
      [driver('libcrypto'), driver('afalg', SOFT)],
      'KERNEL_DRIVER_CHANGED',
      /virtio_crypto_aes_cbc.* is gone/,
    ],
  ] as const) {
    const profile = open(path, { drivers: now });
    assert.deepEqual(profile.notes, [], 'drivers are looked at when an algorithm is asked for');
    assert.equal(profile.entry('aes-128-cbc', 'encrypt'), undefined);
    assert.equal(profile.entry('aes-128-cbc', 'encrypt'), undefined);
    assert.equal(profile.notes.length, 1, 'told once');
    const note = profile.notes[0] as ProfileNote | undefined;
    assert.deepEqual([note?.code, note?.algorithm, note?.operation], [code, 'aes-128-cbc', 'encrypt']);
    assert.match(note!.message, words);
  }
});

test('an accelerator that was not there is noticed, unless its driver was not asked for', () => {
  const path = join(scratch(), 'profile.json');
  const profile = open(path);
  profile.saveEntries([entry('aes-128-cbc', ['libcrypto', 'afalg'])]);
  assert.equal(profile.entry('aes-128-cbc', 'encrypt'), undefined);
  assert.match(profile.notes[0]?.message ?? '', /afalg:virtio_crypto_aes_cbc is new/);
  assert.ok(open(path, { listed: () => NONE }).entry('aes-128-cbc', 'encrypt'));
  profile.saveEntries([entry('aes-128-cbc', ['libcrypto'])]);
  assert.ok(profile.entry('aes-128-cbc', 'encrypt'));
  // Named, though the algorithm's own name leads to it too.
  const first = driver('afalg', { bound: ENGINE, priority: 100, pins: [ENGINE] });
  profile.saveEntries([entry('aes-128-cbc', ['libcrypto', `afalg:${ENGINE}`])]);
  const reached = open(path, { drivers: [driver('libcrypto'), first] });
  assert.ok(reached.entry('aes-128-cbc', 'encrypt'), JSON.stringify(reached.notes));
});

/** Whatever lies there: no error, nothing used, and a note. */
function refused(path: string, code: string, words?: RegExp): void {
  const profile = open(path);
  assert.equal(profile.entry('aes-128-cbc', 'encrypt'), undefined);
  assert.equal(profile.quarantine('aes-128-cbc', record.driver), undefined);
  assert.equal(profile.stored, undefined);
  assert.equal(profile.notes.length, 1);
  assert.equal(profile.notes[0]?.code, code, profile.notes[0]?.message);
  if (words) assert.match(profile.notes[0].message, words);
}

test('damaged and hostile files are told and not used', () => {
  const folder = scratch();
  const path = join(folder, 'profile.json');
  open(path).saveEntries([entry()]);
  open(path).saveQuarantine(record);
  const whole = fs.readFileSync(path, 'utf8');
  const put = (change: (value: Record<string, never>) => void): void => {
    const value = JSON.parse(whole) as Record<string, never>;
    change(value);
    fs.writeFileSync(path, JSON.stringify(value).replaceAll('"HUGE"', '1e999'));
  };
  interface Any {
    [name: string]: Any;
    [index: number]: Any;
  }
  const points = (value: unknown): Any => (value as Any)['entries']![0]!['implementations']![0]!['points']!;
  for (const [change, words] of [
    [(value: Any) => Object.assign(points(value)[0]!, { elapsedNs: 'HUGE' }), /no number/],
    [(value: Any) => Object.assign(points(value)[0]!, { elapsedNs: -1 }), /below 0/],
    [(value: Any) => Object.assign(points(value)[0]!, { elapsedNs: null }), /no number/],
    [(value: Any) => Object.assign(points(value)[0]!, { requestBytes: 0.5 }), /no whole number/],
    [(value: Any) => Object.assign(points(value)[0]!, { requestBytes: 1024 }), /ascending/],
    [
      (value: Any) =>
        (points(value) as never as Any[]).push(...Array.from({ length: 100 }, () => points(value)[0]!)),
      /103 items/,
    ],
    [(value: Any) => Object.assign(value['machine']!, { cpu: 'a\u001b[31m' }), /not print/],
    [(value: Any) => Object.assign(value['machine']!, { cpu: 'x'.repeat(1e5) }), /too long/],
    [(value: Any) => Object.assign(value['entries']![0]!, { measuredAt: 'soon' }), /no time/],
    [(value: Any) => Object.assign(value['quarantine']![0]!, { until: 'soon' }), /no time/],
    [(value: Any) => Object.assign(value, { entries: {} }), /no list/],
    [(value: Any) => Object.assign(value, { version: 'one' }), /version/],
    [(value: Any) => Object.assign(value, { format: 'x' }), /no profile/],
  ] as const) {
    put(change as never);
    refused(path, 'DAMAGED', words);
  }
  put((value) => Object.assign(value, { version: 2 }));
  refused(path, 'NEWER_VERSION', /version is 2/);
  assert.throws(() => open(path).saveEntries([entry()]), { code: 'OUTPUT_FILE', message: /newer/ });
  put((value) => Object.assign(value['entries']![0]!, { algorithm: 'rot13' }));
  const unknown = open(path);
  assert.equal(unknown.problemOf(unknown.stored!.entries[0]!)?.code, 'DAMAGED');

  fs.writeFileSync(path, `${'['.repeat(1e6)}${']'.repeat(1e6)}`);
  refused(path, 'DAMAGED');
  fs.writeFileSync(
    path,
    `{"format":"hwcrypt-profile","version":1,"machine":${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}}`,
  );
  refused(path, 'DAMAGED');
  fs.writeFileSync(path, '');
  refused(path, 'DAMAGED');
  open(path).saveEntries([entry()]);
  fs.writeFileSync(path, whole.slice(0, 500));
  open(path).saveEntries([entry()]);
  assert.ok(open(path).entry('aes-128-cbc', 'encrypt'), 'a damaged profile is replaced by a new one');

  fs.truncateSync(path, 64 * 2 ** 20);
  refused(path, 'UNREADABLE', /larger than 16 MiB/);
  refused(folder, 'UNREADABLE', /no regular file/);
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  refused(fifo, 'UNREADABLE', /no regular file/);
});

test('a file that is no profile is not overwritten', () => {
  const folder = scratch();
  const precious = join(folder, 'precious.json');
  fs.writeFileSync(precious, '{"mine":true}');
  for (const path of [precious, '/dev/null', folder]) {
    assert.throws(() => open(path).saveEntries([entry()]), { code: 'OUTPUT_FILE' });
    assert.throws(() => open(path).saveQuarantine(record), { code: 'OUTPUT_FILE' });
  }
  assert.equal(fs.readFileSync(precious, 'utf8'), '{"mine":true}');
  assert.ok(fs.statSync('/dev/null').isCharacterDevice());
  assert.deepEqual(fs.readdirSync(folder), ['precious.json']);
});

test('nowhere to write: no error for a reader, a typed one for a writer; no place named: nothing', () => {
  const file = join(scratch(), 'file');
  fs.writeFileSync(file, '');
  const path = join(file, 'hwcrypt', 'profile.json');
  const profile = open(path);
  assert.deepEqual([profile.notes, profile.stored], [[], undefined]);
  assert.throws(
    () => profile.saveEntries([entry()]),
    (error: HwcryptError) => error.code === 'OUTPUT_FILE' && /not a directory/.test(error.message),
  );
  const none = open('');
  none.saveEntries([entry()]);
  none.saveQuarantine(record);
  assert.deepEqual([none.path, none.stored, none.notes], [undefined, undefined, []]);
});

test('a link stays one, and what it leads to is written', () => {
  const folder = scratch();
  const [real, link] = [join(folder, 'real.json'), join(folder, 'link.json')];
  open(real).saveEntries([]);
  fs.symlinkSync(real, link);
  open(link).saveEntries([entry()]);
  assert.ok(fs.lstatSync(link).isSymbolicLink());
  assert.ok(open(real).entry('aes-128-cbc', 'encrypt'));
});

test('several processes at once lose nothing', {
  skip: ffiUnavailable() ? 'no locking without koffi' : false,
}, async () => {
  const path = join(scratch(), 'profile.json');
  const module = import.meta.resolve('#src/routing/profile.js');
  const program = `
    import { openProfile } from ${JSON.stringify(module)};
    const machine = ${JSON.stringify(MACHINE)};
    const profile = openProfile({ path: ${JSON.stringify(path)}, surroundings: { machine, drivers: [] } });
    for (let i = 0; i < 8; i++) profile.saveQuarantine({ ...${JSON.stringify(record)}, driver: process.argv[1] + i });
  `;
  const names = ['a', 'b', 'c'];
  await Promise.all(
    names.map((name) => promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, name])),
  );
  const kept = open(path).stored!.quarantine.map((own) => own.driver);
  assert.deepEqual(
    kept.sort(),
    names.flatMap((name) => Array.from({ length: 8 }, (_, i) => `${name}${i}`)),
  );
});

test('fuzz: cut anywhere, or with any byte or any value changed, it is used whole or not at all', () => {
  const path = join(scratch(), 'profile.json');
  open(path).saveEntries([entry()]);
  open(path).saveQuarantine(record);
  const whole = fs.readFileSync(path);
  const look = (bytes: Uint8Array | string): void => {
    fs.writeFileSync(path, bytes);
    const profile = open(path);
    profile.entry('aes-128-cbc', 'encrypt');
    profile.quarantine('aes-128-cbc', record.driver);
    for (const own of profile.stored?.entries ?? []) profile.problemOf(own);
    // An entry of no algorithm that there is says so of itself.
    const whole = profile.notes.filter(({ algorithm }) => algorithm === undefined);
    assert.equal(
      profile.stored === undefined,
      whole.some(({ code }) => /DAMAGED|NEWER/.test(code)),
    );
  };
  fc.assert(
    fc.property(fc.nat(whole.length - 3), (length) => {
      look(whole.subarray(0, length));
      assert.equal(open(path).notes[0]?.code, 'DAMAGED');
    }),
    { numRuns: 60 },
  );
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
      const bytes = Buffer.from(whole);
      bytes[at] = byte;
      look(bytes);
    }),
    { numRuns: 120 },
  );
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.nat(40), (value, nth) => {
      // The nth value of the file by any other.
      let count = 0;
      const changed = JSON.stringify(JSON.parse(whole.toString()), (_, own: unknown) =>
        count++ === nth ? 'HERE' : own,
      );
      look(changed.replace('"HERE"', value));
    }),
    { numRuns: 120 },
  );
});
