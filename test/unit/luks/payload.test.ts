/** Any range of a volume is read and written like a file: against a model in memory, and by threads. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { copy } from '#src/luks/payload/copy.js';
import { Payload } from '#src/luks/payload/payload.js';
import type { PayloadPlan } from '#src/luks/payload/plan.js';
import { Router } from '#src/routing/router.js';
import { Random } from '../../helpers/random.js';
import { scratch } from '../cli/helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const router = new Router();
const random = new Random('payload');
const key = random.bytes(64);

const crypt = { encryption: 'aes-xts-plain64', ivTweak: 7n };
/** Three pieces, not in the order of the image, with sectors of their own. */
const PLAN: PayloadPlan = {
  bytes: 12288 + 5 * 512 + 8192,
  pieces: [
    { from: 0, at: 16384, bytes: 12288, sectorBytes: 4096, crypt },
    { from: 12288, at: 1024, bytes: 5 * 512, sectorBytes: 512 },
    { from: 12288 + 2560, at: 40960, bytes: 8192, sectorBytes: 2048, crypt },
  ],
};

test('ranges at any place and length', () => {
  const name = path('image');
  const around = Buffer.from(random.bytes(65536));
  writeFileSync(name, around);
  const fd = openSync(name, 'r+');
  const payload = new Payload(PLAN, { fd, name }, key, router);
  const model = Buffer.alloc(PLAN.bytes);
  payload.read(model, 0);
  for (let i = 0; i < 300; i++) {
    const offset = random.integer(0, PLAN.bytes - 1);
    const length = random.integer(0, Math.min(PLAN.bytes - offset, random.pick([20, 1500, PLAN.bytes])));
    if (random.integer(0, 1) === 1) {
      const data = random.bytes(length);
      model.set(data, offset);
      payload.write(data.slice(), offset);
    }
    const seen = Buffer.alloc(length);
    payload.read(seen, offset);
    assert.ok(seen.equals(model.subarray(offset, offset + length)), `${i}: ${offset} + ${length}`);
  }
  assert.throws(() => payload.read(Buffer.alloc(2), PLAN.bytes - 1), RangeError);
  assert.throws(() => payload.write(Buffer.alloc(1), -1), RangeError);
  payload.close();
  closeSync(fd);
  // What is no part of the volume is as it was.
  const now = readFileSync(name);
  for (const [from, to] of [
    [0, 1024],
    [1024 + 2560, 16384],
    [16384 + 12288, 40960],
    [40960 + 8192, 65536],
  ] as const) {
    assert.ok(now.subarray(from, to).equals(around.subarray(from, to)), `${from}`);
  }
});

test('many threads make what one makes, into a file, in order, and back', async () => {
  const bytes = 11 * 2 ** 20 + 4096 * 3;
  const plan: PayloadPlan = { bytes, pieces: [{ from: 0, at: 4096, bytes, sectorBytes: 4096, crypt }] };
  const plain = Buffer.from(random.bytes(bytes));
  plain.fill(0, 2 ** 20, 2 ** 20 + 300_000);
  writeFileSync(path('plain'), plain);
  writeFileSync(path('big'), Buffer.alloc(bytes + 4096));
  const open = (name: string, flags = 'r+'): { fd: number; name: string } => ({
    fd: openSync(path(name), flags),
    name,
  });
  const volume = open('big');
  // Off the grid at both ends: what is there before must survive.
  const [offset, length] = [12_345, bytes - 23_456];
  const source = open('plain', 'r');
  const write = { direction: 'write', plan, volume, routing: {} } as const;
  await copy({ ...write, offset: 0, bytes, file: { ...source, offset: 0 } }, key);
  await copy({ ...write, offset, bytes: length, file: { ...source, offset } }, key);
  const seen: number[] = [];
  for (const [name, extra] of [
    ['sparse', { offset: 0, sparse: true }],
    ['ordered', {}],
  ] as const) {
    const out = open(name, 'w');
    const read = { direction: 'read', plan, volume, routing: {} } as const;
    await copy({ ...read, offset, bytes: length, file: { ...out, ...extra } }, key, {
      progress: (n) => seen.push(n),
    });
    closeSync(out.fd);
    const made = readFileSync(path(name));
    assert.ok(made.equals(plain.subarray(offset, offset + made.length)), name);
    assert.equal(made.length, length, name);
  }
  assert.ok(seen.every((n) => n >= 0 && n <= length));
  closeSync(volume.fd);
  closeSync(source.fd);
});

test('threads that end early leave the others their turn: a slow pipe, and more threads than chunks in the end', async () => {
  const bytes = 10 * 2 ** 20;
  const plan: PayloadPlan = { bytes, pieces: [{ from: 0, at: 0, bytes, sectorBytes: 4096, crypt }] };
  writeFileSync(path('slow'), random.bytes(bytes));
  execFileSync('mkfifo', [path('fifo')]);
  // Reads a piece now and then, so that whoever has the last chunks waits for those before.
  const script = `exec < ${path('fifo')}; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.05; head -c 1100000; done; cat`;
  const reader = spawn('sh', ['-c', script], { stdio: ['ignore', openSync(path('read'), 'w'), 'inherit'] });
  const ended = new Promise((resolve) => reader.once('close', resolve));
  const volume = { fd: openSync(path('slow'), 'r'), name: 'slow' };
  const out = { fd: openSync(path('fifo'), 'w'), name: 'fifo' };
  const task = { direction: 'read', plan, volume, offset: 0, bytes, routing: {} } as const;
  await copy({ ...task, file: out }, key, { most: 6 });
  closeSync(out.fd);
  await ended;
  const whole = openSync(path('whole'), 'w');
  await copy({ ...task, file: { fd: whole, name: 'whole', offset: 0 } }, key, { most: 1 });
  closeSync(whole);
  closeSync(volume.fd);
  assert.ok(readFileSync(path('read')).equals(readFileSync(path('whole'))));
});

test('an error in a thread ends them all, with its code', async () => {
  const bytes = 20 * 2 ** 20;
  const plan: PayloadPlan = { bytes, pieces: [{ from: 0, at: 0, bytes, sectorBytes: 4096, crypt }] };
  writeFileSync(path('short'), Buffer.alloc(9 * 2 ** 20));
  const fd = openSync(path('short'), 'r');
  const out = openSync(path('out'), 'w');
  await assert.rejects(
    copy(
      {
        direction: 'read',
        plan,
        volume: { fd, name: 'short' },
        offset: 0,
        bytes,
        file: { fd: out, name: 'out' },
        routing: {},
      },
      key,
    ),
    { code: 'INPUT_FILE', message: 'cannot read short: it has become shorter' },
  );
  closeSync(fd);
  closeSync(out);
});
