/** The CPU by itself. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RULES } from '#src/doctor/index.js';
import { ROOT } from '../../cli/helpers.js';
import {
  bundle,
  counts,
  diagnosed,
  ELAPSED,
  finding,
  GENERIC,
  ids,
  procCrypto,
  speed,
  VIRTIO,
} from '../helpers.js';

const FLAGS = 'flags\t\t: fpu vme de pse tsc aes avx avx2';
const FAST = `$ openssl speed -elapsed -evp aes-128-cbc\n${ELAPSED}${speed('aes-128-cbc', counts(12, 0.7))}`;

test('instructions that the kernel leaves unused', () => {
  assert.match(
    finding('cpu-instructions-unused', FLAGS, procCrypto(...GENERIC)).verdict,
    /but the kernel runs xts\(aes-generic\): portable C code/,
  );
  assert.ok(!ids(FLAGS.replace(' aes', ''), procCrypto(...GENERIC)).includes('cpu-instructions-unused'));
});

test('you do not need it', () => {
  const found = diagnosed(FAST);
  assert.equal(found.healthy, true);
  assert.match(
    found.verdict,
    /^You do not need an accelerator for speed: the CPU has instructions for AES: 1\d{3} MB\/s on one core$/,
  );
  assert.match(
    finding(
      'cpu-is-enough',
      FAST,
      procCrypto(VIRTIO, { name: 'cbc(aes)', driver: 'cbc-aes-aesni', priority: 400 }),
    ).verdict,
    /do not need the virtio-crypto device/,
  );
});

test('every rule has a name of its own, says what it is about, and stands in the documentation', () => {
  const documentation = readFileSync(join(ROOT, 'docs/doctor.md'), 'utf8');
  for (const { id } of RULES) assert.ok(documentation.includes(`| \`${id}\` |`), id);
  const names = RULES.map(({ id }) => id);
  assert.equal(new Set(names).size, names.length);
  for (const { id, about } of RULES) assert.match(`${id} ${about}`, /^[a-z0-9-]+ \S.{10,}$/);
});

const table = (rows: Readonly<Record<string, number>>): string =>
  `# Tests are approximate using memory only (no storage IO).\n#     Algorithm |       Key |      Encryption |      Decryption\n${Object.entries(
    rows,
  )
    .map(
      ([name, rate]) => `        ${name}        256b  ${rate.toFixed(1)} MiB/s  ${rate.toFixed(1)} MiB/s\n`,
    )
    .join('')}`;

test('no AES instructions: by the flags, by the benchmark, with what the text has of Adiantum', () => {
  const told = finding('cpu-without-aes', 'Features\t: fp asimd evtstrm crc32 cpuid');
  assert.equal(told.sureness, 'certain');
  const slow = finding('cpu-without-aes', table({ 'aes-cbc': 28, 'aes-xts': 31 }));
  assert.match(slow.verdict, /AES is plain software here, 32\.5 MB\/s/);
  // A fast CPU without them does AES no better than ciphers that never had any.
  assert.equal(
    finding('cpu-without-aes', table({ 'aes-xts': 210, 'serpent-xts': 190, 'twofish-xts': 200 })).sureness,
    'likely',
  );
  assert.match(
    finding('cpu-without-aes', table({ 'aes-xts': 60, 'xchacha12,aes-adiantum': 110 })).details[0]!,
    /Adiantum.*115 MB\/s.*cipher to choose/,
  );
  assert.doesNotMatch(slow.details[0]!, /MB\/s/, 'nothing is promised without figures');
  for (const text of [
    table({ 'aes-xts': 1700, 'serpent-xts': 90 }),
    table({ 'aes-cbc': 60, 'aes-xts': 30 }),
    'Features\t: fp asimd aes pmull sha1',
  ])
    assert.ok(!ids(text).includes('cpu-without-aes'), text);
});

test('a guest that does not see the instructions of its host', () => {
  const lscpu = (model: string, flags: string): string =>
    `Architecture:            x86_64\nModel name:              ${model}\nHypervisor vendor:       KVM\nFlags:                   fpu vme de pse tsc msr cx16 x2apic ${flags}\n`;
  const found = diagnosed(lscpu('Common KVM processor', 'hypervisor')).findings[0]!;
  assert.equal(found.id, 'vm-hides-aes');
  assert.equal(found.sureness, 'certain');
  assert.ok(found.steps[0]!.commands.some((line) => line.startsWith('qm set')));
  assert.ok(!ids(lscpu('Common KVM processor', 'aes hypervisor')).includes('vm-hides-aes'));
  assert.equal(
    diagnosed('flags\t\t: fpu vme de pse tsc msr hypervisor').findings[0]!.id,
    'vm-hides-aes',
    'by the flag alone',
  );
  assert.ok(!ids('flags\t\t: fpu vme de pse tsc msr').includes('vm-hides-aes'), 'an old machine');
});

test('flags that a terminal has wrapped, and gocryptfs’s line', () => {
  assert.equal(
    diagnosed('Flags:   fpu vme de pse tsc msr\nmca cmov pat pse36 clflush dts\nsse4_1 sse4_2 aes avx\n')
      .findings[0]!.id,
    'cpu-is-enough',
  );
  assert.equal(diagnosed('cpu: Some CPU @ 2.0GHz; with AES acceleration').findings[0]!.id, 'cpu-is-enough');
  assert.equal(
    diagnosed('cpu: QEMU Virtual CPU version 2.5+; without AES acceleration').findings[0]!.id,
    'vm-hides-aes',
  );
});

test('beside an engine the guest’s missing instructions come second', () => {
  const flags = 'flags\t\t: fpu vme de pse tsc msr hypervisor';
  const found = finding('vm-hides-aes', flags, procCrypto(VIRTIO, ...GENERIC));
  assert.deepEqual([found.kind, found.weight < 60], ['advice', true]);
});

test('the step names the module of the family that it is, and all of them where that is not told', () => {
  const modules = (...texts: string[]): string[] =>
    finding('cpu-instructions-unused', ...texts, procCrypto(...GENERIC)).steps.flatMap(
      ({ system, commands }) => (system === 'debian' ? commands : []),
    );
  assert.deepEqual(modules(FLAGS), ['modprobe aesni_intel']);
  assert.deepEqual(modules('Features\t: fp asimd aes pmull sha1'), ['modprobe aes_ce_blk']);
  assert.deepEqual(modules(bundle({ kernel: 'Linux 6.6.1 aarch64', cpuinfo: 'Features\t: aes crc32' })), [
    'modprobe aes_ce_blk',
  ]);
  assert.match(
    modules('cpu: some chip; with AES acceleration').join('; '),
    /aesni_intel +# x86; .*aes_ce_blk +# 64-bit Arm;/,
  );
});
