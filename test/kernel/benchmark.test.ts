/**
 * `benchmark` on a kernel with AF_ALG and dm-crypt: the tables, who did the work, and that nothing is left behind, however it ends. A figure means
 * nothing here.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  cleanLeftovers,
  diskProblem,
  liveLeftovers,
  openDisk,
  ownerLabel,
  parseDiskCipher,
} from '#src/bench/disk/index.js';
import { importOne, readJson } from '#src/interop/index.js';
import { DeviceMapper } from '#src/linux/device-mapper.js';
import { memoryLoops } from '#src/linux/loop.js';
import { projectFolder } from '../../rig/index.js';

const MAIN = `${projectFolder}/dist/cli/main.js`;

function benchmark(...options: string[]): { stdout: string; stderr: string; status: number | null } {
  return spawnSync(process.execPath, [MAIN, 'benchmark', ...options], { encoding: 'utf8', timeout: 120_000 });
}

/** Names of mappings and loop devices, ours and others'. */
function left(): string[] {
  const dm = DeviceMapper.open();
  try {
    return [...dm.names(), ...memoryLoops().map(({ label }) => label)];
  } finally {
    dm.close();
  }
}

async function until(what: () => boolean | Promise<boolean>, seconds = 30): Promise<void> {
  for (let i = 0; i < seconds * 20; i++) {
    if (await what()) return;
    await sleep(50);
  }
  throw new Error('it did not come to pass');
}

before(() => {
  // Also loads device-mapper and the loop driver, as the command does.
  assert.equal(diskProblem(), undefined);
});

test('one cipher through the kernel and OpenSSL, with the kernel driver’s name', () => {
  const { stdout, stderr, status } = benchmark('-c', 'aes-cbc', '-s', '128', '--seconds', '0.05');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^ {4}aes-cbc {8}128b {2}[ \d]{8}\.\d MiB\/s {2}[ \d]{8}\.\d MiB\/s$/m);
  assert.match(stdout, /^# +aes-cbc {2}128 {2}afalg /m);
  assert.match(stdout, /^# +aes-cbc {2}128 {2}libcrypto /m);
  assert.match(stdout, /^# +afalg +cbc\S+ \(software\): aes-cbc 128$/m);
  const set = importOne(stdout);
  assert.deepEqual(
    set.runs[0]!.measurements.map(({ algorithm, operation }) => `${algorithm} ${operation}`),
    ['aes-128-cbc encrypt', 'aes-128-cbc decrypt'],
  );
});

test('what cryptsetup prints beside it is the same but for the numbers', (t) => {
  const peer = spawnSync('cryptsetup', ['benchmark', '-c', 'serpent-xts', '-s', '512'], { encoding: 'utf8' });
  if (peer.error) return t.skip('cryptsetup is not installed');
  const { stdout } = benchmark('-c', 'serpent-xts', '-s', '512', '--seconds', '0.05');
  const bare = (text: string): string => text.replaceAll(/[ \d]{8}\.\d(?= MiB)/g, 'RATE');
  const own = stdout.split('\n').slice(0, 3).join('\n');
  assert.equal(bare(own), bare(peer.stdout.trimEnd()));
});

test('the disk: figures, the kernel driver, and nothing left', () => {
  const { stdout, stderr, status } = benchmark('--disk', '--seconds', '0.1');
  assert.equal(status, 0, stderr);
  for (const [cipher, bits] of [
    ['aes-xts-plain64', 512],
    ['aes-cbc-essiv:sha256', 128],
    ['aes-cbc-essiv:sha256', 256],
  ] as const) {
    for (const sector of [512, 4096])
      assert.match(stdout, new RegExp(`^${cipher} +${bits} +${sector} +[\\d.]+~? +[\\d.]+~?$`, 'm'));
  }
  assert.match(stdout, /^without encryption +[\d.]+ +[\d.]+$/m);
  assert.match(stdout, /^# +dm-crypt +essiv\(cbc\S+ \(software\):/m);
  assert.match(stdout, /^# +dm-crypt +xts\S+ \(software\): aes-xts-plain64 512$/m);
  assert.deepEqual(left(), []);
});

test('the disk as JSON, with another cipher, and one that dm-crypt does not take', () => {
  const { stdout, status } = benchmark(
    '--disk',
    '-c',
    'serpent-xts-plain64',
    '-s',
    '256',
    '--seconds',
    '0.1',
    '--json',
  );
  assert.equal(status, 0);
  const [set] = readJson(stdout);
  assert.deepEqual(
    set!.runs[0]!.measurements.map(({ driver, operation, requestBytes, keyBits, status: own }) => [
      driver,
      operation,
      requestBytes,
      keyBits,
      own,
    ]),
    [512, 4096].flatMap((bytes) =>
      ['encrypt', 'decrypt'].map((operation) => ['dm-crypt', operation, bytes, 256, 'ok']),
    ),
  );
  assert.match(set!.runs[0]!.measurements[0]!.kernelDriver!, /^xts.*serpent/);
  const refused = benchmark('--disk', '-c', 'nonsense-xts-plain64', '-s', '256', '--seconds', '0.1');
  assert.equal(refused.status, 1);
  assert.match(refused.stdout, /nonsense-xts-plain64, 256 bits: this kernel has no such cipher/);
  assert.deepEqual(left(), []);
});

function startDisk(): { readonly child: ChildProcess; readonly text: () => string } {
  const child = spawn(process.execPath, [MAIN, 'benchmark', '--disk', '--seconds', '2'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (text += data));
  return { child, text: () => text };
}

for (const [signal, expected] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} ends it, and mapping and loop device are gone`, async () => {
    const { child, text } = startDisk();
    const end = new Promise((resolve) => child.on('close', resolve));
    await until(() => left().length === 2);
    assert.ok(left().every((name) => name.startsWith(`hwcrypt-bench-${child.pid}-`)));
    // The key is in no place where another user sees it.
    assert.doesNotMatch(readFileSync(`/proc/${child.pid}/cmdline`, 'latin1'), /[0-9a-f]{32}/);
    child.kill(signal);
    assert.equal(await end, expected);
    assert.match(text(), /# interrupted: what is above was finished/);
    assert.deepEqual(left(), []);
  });
}

test('SIGKILL: the kernel takes both away with the process', async () => {
  const { child } = startDisk();
  const end = new Promise((resolve) => child.on('close', resolve));
  await until(() => left().length === 2);
  child.kill('SIGKILL');
  await end;
  await until(() => left().length === 0, 5);
});

test('what a run left that died too early for that is removed by the next; others’ mappings are not', () => {
  const dm = DeviceMapper.open();
  const dead = ownerLabel(0x3ffffe, '1');
  const makers: readonly (readonly [name: string, uuid: string])[] = [
    [`${dead}-1`, `HWCRYPT-${dead}-1`],
    // The same name by somebody else's hand, and another's altogether.
    [`${dead}-2`, ''],
    ['not-ours', 'HWCRYPT-not-ours'],
    // Of a process that lives.
    [`${ownerLabel()}-9`, `HWCRYPT-${ownerLabel()}-9`],
  ];
  try {
    for (const [name, uuid] of makers) assert.equal(typeof dm.create(name, uuid), 'object', name);
    const { stdout, status } = benchmark('--disk', '-c', 'aes-xts', '-s', '512', '--seconds', '0.1');
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^# removed ${dead}-1, left by a run that was killed$`, 'm'));
    assert.deepEqual(
      dm.names().sort(),
      makers
        .slice(1)
        .map(([name]) => name)
        .sort(),
    );
  } finally {
    for (const [name] of makers) dm.remove(name);
    dm.close();
  }
  assert.deepEqual(left(), []);
});

test('a mapping that is in use is not removed, whoever its maker was', () => {
  const disk = openDisk(4 << 20);
  try {
    const mapping = disk.map(parseDiskCipher('aes-xts', 512)!, randomBytes(64), 4096);
    const dm = DeviceMapper.open();
    try {
      const system = { ...liveLeftovers(dm), processStart: () => undefined, loops: () => [] };
      assert.deepEqual(cleanLeftovers(system), []);
      assert.ok(dm.names().includes(mapping.name));
    } finally {
      dm.close();
    }
  } finally {
    disk.close();
    disk.close();
  }
  assert.deepEqual(left(), []);
});

test('the mapping is what dmsetup shows: cipher, sectors, and no key', (t) => {
  const version = spawnSync('dmsetup', ['targets'], { encoding: 'utf8' });
  if (version.error) return t.skip('dmsetup is not installed');
  const disk = openDisk(4 << 20);
  try {
    const mapping = disk.map(parseDiskCipher('aes-cbc', 256)!, randomBytes(32), 4096);
    const table = execFileSync('dmsetup', ['table', mapping.name], { encoding: 'utf8' });
    assert.match(table, /^0 8192 crypt aes-cbc-essiv:sha256 0{64} 0 7:\d+ 0 1 sector_size:4096$/m);
  } finally {
    disk.close();
  }
});
