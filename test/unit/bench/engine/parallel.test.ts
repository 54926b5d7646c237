/** Several threads at once. No time is asserted: what counts is that each thread works, and what becomes of failures. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { contestant, type Detail, measure } from '#src/bench/engine/index.js';
import { summed, ThreadPool } from '#src/bench/engine/parallel.js';
import { cbc } from './fakes.js';

const TASK = { algorithm: 'aes-128-cbc', operation: 'encrypt', requestBytes: 64, driver: 'node' } as const;
const openFiles = (): number => readdirSync('/proc/self/fd').length;

test('N threads have N sessions, and the sums are theirs', async () => {
  const details: Detail[] = [];
  const set = await measure(
    {
      subjects: [{ algorithm: cbc, operation: 'encrypt' }],
      contestants: [contestant('node')],
      sizes: [64, 1024],
      seconds: 0.05,
      rounds: 2,
      parallel: 3,
    },
    { end: (_point, _measurement, _done, _total, detail) => details.push(detail) },
  );
  const measurements = set.runs[0]!.measurements;
  assert.equal(measurements.length, 2);
  for (const [i, { parallel, requests, status, latency }] of measurements.entries()) {
    const threads = details[i]!.threads!;
    assert.equal(status, 'ok');
    assert.equal(parallel, 3);
    assert.equal(threads.length, 3);
    assert.ok(threads.every((own) => own.requests > 0 && own.elapsedNs > 0));
    assert.equal(
      requests,
      threads.reduce((sum, own) => sum + own.requests, 0),
    );
    // A queue's length is not a driver's latency.
    assert.equal(latency, undefined);
  }
});

test('an order that fails in a thread fails here with its code, and the thread goes on', async () => {
  const pool = new ThreadPool(2);
  try {
    await assert.rejects(pool.open({ ...TASK, driver: 'node:nothing' }), ({ code }: { code?: string }) => {
      return code !== undefined;
    });
    await assert.rejects(pool.open({ ...TASK, requestBytes: 7 }), /takes no request of 7 bytes/);
    const runner = await pool.open(TASK);
    assert.ok((await runner.warmUp(1e6)).requests > 0);
    assert.equal((await runner.round(1e6)).threads?.length, 2);
    assert.equal(await runner.verify(), true);
    await runner.close();
    await assert.rejects(runner.round(1e6), /no session/);
  } finally {
    await pool.close();
  }
});

test('nothing is left open', async () => {
  const before = openFiles();
  const pool = new ThreadPool(2);
  const runner = await pool.open(TASK);
  await runner.round(1e6);
  // Not closed: the pool's end has to do.
  await pool.close();
  await assert.rejects(runner.round(1e6), /a worker thread ended/);
  assert.ok(openFiles() <= before + 1, `${openFiles()} files are open, ${before} were`);
});

test('rates add up', () => {
  const all = summed([
    { requests: 100, elapsedNs: 1e9 },
    { requests: 300, elapsedNs: 1e9 },
    { requests: 100, elapsedNs: 0.5e9 },
  ]);
  assert.equal(all.requests, 500);
  assert.ok(Math.abs(all.requests / all.elapsedNs - 600e-9) < 1e-15);
});
