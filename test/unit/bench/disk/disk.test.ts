/** An encrypted disk's parts that need no device: specifications, the mapping's table, who was bound, what is cleaned away. */
import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  boundDriver,
  cleanLeftovers,
  type Leftovers,
  ownerLabel,
  parseDiskCipher,
  passedOver,
} from '#src/bench/disk/index.js';
import { tableLine } from '#src/bench/disk/mapping.js';
import { encryptedSector } from '#src/bench/disk/specification.js';
import type { DmDevice } from '#src/linux/device-mapper.js';
import { CRYPTO_ALG } from '#src/linux/netlink.js';
import type { KernelAlgorithm } from '#src/linux/proc.js';

test('specifications: what is left out is what cryptsetup takes', () => {
  const told = (text: string): unknown => {
    const found = parseDiskCipher(text, 256);
    return found && [found.specification, found.name, ...found.kernelNames];
  };
  assert.deepEqual(told('aes-xts'), ['aes-xts-plain64', 'aes-xts', 'xts(aes)']);
  assert.deepEqual(told('AES-XTS-plain64'), ['aes-xts-plain64', 'aes-xts', 'xts(aes)']);
  assert.deepEqual(told('aes-cbc'), [
    'aes-cbc-essiv:sha256',
    'aes-cbc',
    'essiv(cbc(aes),sha256)',
    'cbc(aes)',
  ]);
  assert.deepEqual(told('aes'), ['aes-cbc-plain', 'aes-cbc', 'cbc(aes)']);
  assert.deepEqual(told('aes-ecb'), ['aes-ecb', 'aes-ecb', 'ecb(aes)']);
  assert.deepEqual(told('capi:xts(aes)-plain64'), ['capi:xts(aes)-plain64', 'capi:xts(aes)', 'xts(aes)']);
  assert.deepEqual(told('xchacha12,aes-adiantum-plain64'), [
    'xchacha12,aes-adiantum-plain64',
    'xchacha12,aes-adiantum',
    'adiantum(xchacha12,aes)',
  ]);
  for (const text of ['', 'aes xts', 'aes-xts-plain64 0', 'aes-xts\n', '-', 'capi:', 'a-b-c-d']) {
    assert.equal(parseDiskCipher(text, 256), undefined, text);
  }
});

test('the mapping’s table is what dm-crypt reads, with the key in bytes that can be wiped', () => {
  const cipher = parseDiskCipher('aes-cbc', 128)!;
  const key = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
  const line = (sector: number): string =>
    Buffer.from(tableLine(cipher, key, sector, { major: 7, minor: 3 })).toString('latin1');
  assert.equal(line(512), 'aes-cbc-essiv:sha256 00112233445566778899aabbccddeeff 0 7:3 0');
  assert.equal(
    line(4096),
    'aes-cbc-essiv:sha256 00112233445566778899aabbccddeeff 0 7:3 0 1 sector_size:4096',
  );
});

test('a sector as dm-crypt encrypts it', () => {
  const data = randomBytes(4096);
  const xts = randomBytes(64);
  const iv = Buffer.alloc(16);
  iv.writeUInt32LE(8);
  const direct = createCipheriv('aes-256-xts', xts, iv);
  assert.deepEqual(
    encryptedSector(parseDiskCipher('aes-xts', 512)!, xts, 8, data),
    Buffer.concat([direct.update(data), direct.final()]),
  );
  // ESSIV: each sector begins otherwise, and decrypts with its own IV only.
  const cbc = randomBytes(16);
  const essiv = parseDiskCipher('aes-cbc', 128)!;
  const [one, two] = [8, 16].map((number) => encryptedSector(essiv, cbc, number, data)!);
  assert.notDeepEqual(one, two);
  const back = createDecipheriv('aes-128-cbc', cbc, iv).setAutoPadding(false);
  assert.deepEqual(back.update(one!).subarray(16), data.subarray(16));
  assert.equal(encryptedSector(parseDiskCipher('serpent-xts', 512)!, xts, 0, data), undefined);
});

function entry(driver: string, more: Partial<KernelAlgorithm> = {}): KernelAlgorithm {
  return {
    name: 'cbc(aes)',
    driver,
    module: 'm',
    type: 'skcipher',
    priority: 100,
    refcnt: 1,
    internal: false,
    flags: 0,
    ...more,
  };
}

const VIRTIO = entry('virtio_crypto_aes_cbc', {
  priority: 150,
  flags: CRYPTO_ALG.ASYNC | CRYPTO_ALG.ALLOCATES_MEMORY,
});

test('who was bound is who is used more than before', () => {
  const before = [entry('cbc-aes-aesni', { priority: 400, refcnt: 3 }), entry('cbc(aes-generic)')];
  const names = ['essiv(cbc(aes),sha256)', 'cbc(aes)'];
  assert.equal(boundDriver(before, before, names), undefined);
  const plain = [entry('cbc-aes-aesni', { priority: 400, refcnt: 4 }), entry('cbc(aes-generic)')];
  const found = boundDriver(before, plain, names);
  assert.deepEqual([found?.kernelDriver, found?.hardware], ['cbc-aes-aesni', 'no']);
  // A template that was made for it counts before what is inside.
  const essiv = entry('essiv(cbc-aes-aesni,sha256-ni)', { name: 'essiv(cbc(aes),sha256)', refcnt: 2 });
  assert.equal(boundDriver(before, [...plain, essiv], names)?.kernelDriver, essiv.driver);
  // One that is only there, and not used, is not it.
  assert.equal(
    boundDriver(before, [...plain, { ...essiv, refcnt: 1 }], names)?.kernelDriver,
    'cbc-aes-aesni',
  );
});

test('an engine that dm-crypt passes over is named, with the reason', () => {
  const names = ['cbc(aes)'];
  const generic = entry('cbc(aes-generic)', { refcnt: 2 });
  const bound = boundDriver([], [generic], names);
  const why = (list: readonly KernelAlgorithm[], refuses: boolean): string[] =>
    passedOver(list, names, bound, refuses).map((one) => `${one.kernelDriver} ${one.why}`);
  assert.deepEqual(why([generic, VIRTIO], true), ['virtio_crypto_aes_cbc allocates-memory']);
  assert.match(
    passedOver([generic, VIRTIO], names, bound, true)[0]!.text,
    /^virtio_crypto_aes_cbc \(hardware\) was passed over: it allocates memory/,
  );
  // Without netlink there are no flags.
  const { flags, ...unknown } = VIRTIO;
  assert.deepEqual(why([generic, unknown], true), ['virtio_crypto_aes_cbc unknown']);
  const aesni = entry('cbc-aes-aesni', { priority: 400 });
  assert.deepEqual(why([generic, aesni, unknown], true), ['virtio_crypto_aes_cbc outranked']);
  assert.deepEqual(why([generic, aesni, VIRTIO], false), ['virtio_crypto_aes_cbc outranked']);
  // The one that was bound was not passed over, inside a template neither.
  const eip93 = entry('cbc(aes-eip93)', { priority: 1500, refcnt: 2, flags: CRYPTO_ALG.ASYNC });
  assert.deepEqual(passedOver([eip93], names, boundDriver([], [eip93], names), true), []);
  const essiv = entry('essiv(cbc(aes-eip93),sha256-generic)', { name: 'essiv(cbc(aes),sha256)', refcnt: 2 });
  const inside = boundDriver([], [essiv], [essiv.name]);
  assert.deepEqual(passedOver([eip93, essiv], [essiv.name, 'cbc(aes)'], inside, true), []);
  assert.deepEqual(why([generic, aesni], true), []);
});

const UUID = (name: string): string => `HWCRYPT-${name}`;

/** Devices and processes that are only in memory. */
class FakeSystem implements Leftovers {
  readonly removed: string[] = [];
  readonly cleared: string[] = [];
  readonly devices: Map<string, { uuid: string; openCount: number; busy?: boolean }>;
  readonly loopList: { path: string; label: string }[];
  constructor(
    devices: Record<string, { uuid?: string; openCount?: number; busy?: boolean }>,
    loops: Record<string, string> = {},
  ) {
    this.devices = new Map(
      Object.entries(devices).map(([name, own]) => [name, { uuid: UUID(name), openCount: 0, ...own }]),
    );
    this.loopList = Object.entries(loops).map(([path, label]) => ({ path, label }));
  }
  names = (): string[] => [...this.devices.keys()];
  status = (name: string): DmDevice | number => {
    const own = this.devices.get(name);
    return own ? { name, ...own, device: { major: 253, minor: 0 }, flags: 0 } : -6;
  };
  remove = (name: string): number => {
    if (this.devices.get(name)?.busy) return -16;
    this.removed.push(name);
    return 0;
  };
  loops = (): { path: string; label: string }[] => this.loopList;
  clearLoop = (path: string): number => {
    this.cleared.push(path);
    return 0;
  };
  /** Process 100 began at 5000 and lives; there are no others. */
  processStart = (pid: number): string | undefined => (pid === 100 ? '5000' : undefined);
}

test('only what a dead run of ours left is removed', () => {
  const system = new FakeSystem(
    {
      'hwcrypt-bench-99-1-1': {},
      'hwcrypt-bench-100-4000-1': {},
      'hwcrypt-bench-100-5000-1': {},
      'hwcrypt-bench-98-1-1': { openCount: 1 },
      'hwcrypt-bench-97-1-1': { uuid: 'CRYPT-PLAIN-hwcrypt-bench-97-1-1' },
      'hwcrypt-bench-96-1-1': { uuid: '' },
      'hwcrypt-bench-95-1-1': { busy: true },
      'hwcrypt-bench-': {},
      'my-hwcrypt-bench-99-1-1': {},
      cryptroot: { uuid: 'CRYPT-LUKS2-0-cryptroot' },
    },
    {
      '/dev/loop0': 'hwcrypt-bench-99-1',
      '/dev/loop1': 'hwcrypt-bench-100-5000',
      '/dev/loop2': 'something-else',
    },
  );
  assert.deepEqual(cleanLeftovers(system), [
    'hwcrypt-bench-99-1-1',
    // The number is in use again, by a process that began later.
    'hwcrypt-bench-100-4000-1',
    '/dev/loop0',
  ]);
  assert.deepEqual(system.removed, ['hwcrypt-bench-99-1-1', 'hwcrypt-bench-100-4000-1']);
  assert.deepEqual(system.cleared, ['/dev/loop0']);
});

test('a label is its process’s', () => {
  assert.match(ownerLabel(), new RegExp(`^hwcrypt-bench-${process.pid}-[1-9]\\d*$`));
  assert.equal(ownerLabel(7, undefined).startsWith('hwcrypt-bench-7-'), true);
});
