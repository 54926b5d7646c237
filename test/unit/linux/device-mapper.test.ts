/** The expected numbers and bytes were printed by a C program built with the kernel's own headers (linux/dm-ioctl.h, linux/loop.h). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DM_COMMAND,
  DM_FLAG,
  decodeDevice,
  decodeDm,
  decodeNames,
  decodeVersions,
  dmRequest,
  encodeDm,
  encodeTarget,
} from '#src/linux/device-mapper.js';
import { encodeLoopConfig, encodeLoopInfo, LOOP_CONFIG_BYTES, memoryLoops } from '#src/linux/loop.js';
import { parseProcessStart, processStart } from '#src/linux/processes.js';

/** Zeros, but for these bytes. */
function sparse(length: number, parts: Readonly<Record<number, string>>): string {
  const bytes = Buffer.alloc(length);
  for (const [at, hex] of Object.entries(parts)) bytes.write(hex, Number(at), 'hex');
  return bytes.toString('hex');
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

test('request numbers', () => {
  assert.deepEqual(
    (
      [
        'DEV_CREATE',
        'DEV_REMOVE',
        'DEV_SUSPEND',
        'DEV_STATUS',
        'TABLE_LOAD',
        'LIST_DEVICES',
        'LIST_VERSIONS',
      ] as const
    ).map((name) => dmRequest(DM_COMMAND[name]).toString(16)),
    ['c138fd03', 'c138fd04', 'c138fd06', 'c138fd07', 'c138fd09', 'c138fd02', 'c138fd0d'],
  );
});

test('a request with a table', () => {
  const payload = encodeTarget('crypt', 0x123456, Buffer.from('p q r'), true);
  // The compiler's program left 16 bytes for the parameters; six, padded to eight, are what they take.
  assert.equal(payload.length, 48);
  const bytes = encodeDm({ name: 'abc', uuid: 'U', flags: DM_FLAG.SECURE_DATA, targets: 1, payload }, true);
  assert.equal(
    hex(bytes),
    sparse(360, {
      0: '04000000',
      12: '68010000',
      16: '38010000',
      20: '01000000',
      28: '00800000',
      32: '00000f00',
      48: '616263',
      176: '55',
      320: '5634120000000000',
      332: '30000000',
      336: '6372797074',
      352: '7020712072',
    }),
  );
  const big = encodeDm({ name: 'abc', flags: 1 }, false);
  assert.equal(
    hex(big.subarray(0, 36)),
    '00000004000000000000000000000138000001380000000000000000000000010 00f0000'.replace(' ', ''),
  );
});

test('names that do not fit are refused', () => {
  for (const name of ['a'.repeat(128), 'a b', 'ä', 'a\0b']) {
    assert.throws(() => encodeDm({ name }), RangeError);
  }
  assert.equal(decodeDm(encodeDm({ name: 'a'.repeat(127), uuid: 'b'.repeat(128) })).name.length, 127);
});

test('device numbers, with minors beyond 255', () => {
  assert.deepEqual(decodeDevice(0x00fd00), { major: 253, minor: 0 });
  assert.deepEqual(decodeDevice(0x0010fd2c), { major: 253, minor: 0x12c });
});

function answer(records: readonly Buffer[]): Uint8Array {
  return encodeDm({ payload: Buffer.concat(records), bytes: 1024 }, true);
}

function nameRecord(name: string, last = false): Buffer {
  const bytes = Buffer.alloc(40);
  bytes.writeUInt32LE(0xfd00, 0);
  bytes.writeUInt32LE(last ? 0 : 40, 8);
  bytes.write(name, 12, 'latin1');
  return bytes;
}

test('lists of devices: none, some, and one that is broken off', () => {
  assert.deepEqual(decodeNames(answer([Buffer.alloc(12)]), true), []);
  assert.deepEqual(decodeNames(answer([nameRecord('one'), nameRecord('two', true)]), true), ['one', 'two']);
  const whole = answer([nameRecord('one'), nameRecord('two', true)]);
  for (let length = 312; length < 400; length++) decodeNames(whole.subarray(0, length), true);
  // A record that points at itself or far away ends the list.
  const wild = nameRecord('one');
  wild.writeUInt32LE(0xffffffff, 8);
  assert.deepEqual(decodeNames(answer([wild]), true), ['one']);
});

test('versions of targets', () => {
  const record = Buffer.alloc(32);
  record.writeUInt32LE(1, 4);
  record.writeUInt32LE(24, 8);
  record.write('crypt', 16, 'latin1');
  assert.deepEqual([...decodeVersions(answer([record]), true)], [['crypt', [1, 24, 0]]]);
});

test('a loop device that clears itself', () => {
  assert.equal(
    hex(encodeLoopConfig(7, 'name', true)),
    sparse(LOOP_CONFIG_BYTES, { 0: '07000000', 60: '04000000', 64: '6e616d65' }),
  );
  assert.equal(hex(encodeLoopInfo('n'.repeat(100), true)).slice(2 * 56, 2 * 120), `${'6e'.repeat(63)}00`);
  assert.deepEqual(memoryLoops('/nonexistent'), []);
});

test('when a process began, whatever its program is called', () => {
  const rest = Array.from({ length: 30 }, (_, i) => String(i + 3))
    .join(' ')
    .replace(/^3/, 'S');
  assert.equal(parseProcessStart(`12 (a b) c (d) ${rest}`), '22');
  assert.equal(parseProcessStart(''), undefined);
  assert.equal(parseProcessStart('12 (sh) S'), undefined);
  assert.match(processStart(process.pid) ?? '', /^\d+$/);
  assert.equal(processStart(0x3fffff), undefined);
});
