/** The engine on a machine whose clock the drivers move, so that every figure is known beforehand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Hooks, measure, type Plan } from '#src/bench/engine/index.js';
import type { Measurement, ResultSet } from '#src/bench/model.js';
import { getDriver } from '#src/drivers/index.js';
import { readJson, writeJson } from '#src/interop/index.js';
import { cbc, type Fake, fake, Machine } from './fakes.js';

const reference = { driver: getDriver('node') };
const MS = 1e6;

async function run(
  machine: Machine,
  contestants: readonly Fake[],
  plan: Partial<Plan> = {},
  hooks: Hooks = {},
): Promise<ResultSet> {
  const set = await measure(
    {
      subjects: [{ algorithm: cbc, operation: 'encrypt' }],
      contestants,
      sizes: [16, 1024],
      seconds: 1,
      ...plan,
    },
    hooks,
    { instruments: machine, reference },
  );
  // Whatever comes of it is a result file.
  assert.deepEqual(readJson(writeJson(set)), [set]);
  for (const { opened, closed } of contestants) assert.equal(closed, opened, 'every session is closed');
  return set;
}

function at(set: ResultSet, label: string, bytes: number): Measurement {
  const found = set.runs
    .find((own) => own.label === label)
    ?.measurements.find(({ requestBytes }) => requestBytes === bytes);
  assert.ok(found, `${label} at ${bytes} bytes`);
  return found;
}

const near = (value: number | undefined, wanted: number, share = 0.001): void =>
  assert.ok(Math.abs((value ?? 0) / wanted - 1) <= share, `${value} is not ${wanted}`);

test('known costs give known figures', async () => {
  const machine = new Machine();
  const slow = fake(machine, {
    label: 'slow',
    costNs: (bytes) => MS + 100 * bytes,
    cpuShare: 0.5,
  });
  const set = await run(machine, [slow]);
  const small = at(set, 'slow', 16);
  near(small.bytesPerSecond, (16 * 1e9) / (MS + 1600));
  near(at(set, 'slow', 1024).bytesPerSecond, (1024 * 1e9) / (MS + 102_400));
  assert.equal(small.status, 'ok');
  assert.equal(small.kernelDriver, 'slow-fake');
  assert.deepEqual(small.doubts, []);
  assert.equal(small.rounds?.spread, 0);
  near(small.elapsedNs, small.requests! * (MS + 1600));
  assert.ok(small.elapsedNs! >= 1e9 && small.elapsedNs! < 1.2e9, `${small.elapsedNs}`);
  near(small.userNs! + small.systemNs!, small.elapsedNs! * 0.5);
  near(small.userNs, small.elapsedNs! * 0.125);
  assert.deepEqual(small.latency, { p50Ns: MS + 1600, p90Ns: MS + 1600, p99Ns: MS + 1600 });
  assert.equal(small.interrupts, undefined);
});

test('what the clock costs is taken off each latency, and the clock is not read for each request', async () => {
  const machine = new Machine();
  machine.readingNs = 40;
  const quick = fake(machine, { label: 'quick', costNs: () => 20_000 });
  const set = await run(machine, [quick], { sizes: [16] });
  const { latency, requests } = at(set, 'quick', 16);
  assert.equal(latency?.p50Ns, 20_000);
  // Latencies read it once each; what is left is the rounds' part.
  const forLatencies = 0.15e9 / 20_000 + 3 * 2001 * 2;
  assert.ok(machine.readings - forLatencies < requests! / 20, `${machine.readings} readings`);
});

test('contestants take turns, and who begins changes', async () => {
  const machine = new Machine();
  const order: string[] = [];
  const spy = (label: string): Fake =>
    fake(machine, {
      label,
      costNs: () => 10 * MS,
      onRequest: () => {
        if (order.at(-1) !== label) order.push(label);
        return undefined;
      },
    });
  await run(machine, [spy('a'), spy('b'), spy('c')], { sizes: [16], rounds: 3 });
  const text = order.join('');
  // Checks in order, warm-up in order, then three rounds that begin with a, b and c, then latencies or checks in order.
  assert.match(text, /^(?:abc)+abcbcacab(?:abc)*$/);
});

test('wrong bytes from the start: no figure', async () => {
  const machine = new Machine();
  const bad = fake(machine, { label: 'bad', costNs: () => MS, onRequest: () => 'wrong' });
  const good = fake(machine, { label: 'good', costNs: () => MS });
  const set = await run(machine, [bad, good]);
  const { status, doubts, bytesPerSecond } = at(set, 'bad', 16);
  assert.equal(status, 'failed');
  assert.equal(bytesPerSecond, undefined);
  assert.equal(doubts[0]?.code, 'WRONG_OUTPUT');
  assert.match(doubts[0]!.text, /before/);
  assert.equal(at(set, 'good', 16).status, 'ok');
});

test('bytes that go wrong in the timed session only, after a while', async () => {
  const machine = new Machine();
  const tired = fake(machine, {
    label: 'tired',
    costNs: () => MS,
    onRequest: ({ count }) => (count > 500 ? 'wrong' : undefined),
  });
  const { status, doubts, bytesPerSecond } = at(await run(machine, [tired]), 'tired', 16);
  assert.equal(status, 'failed');
  assert.equal(bytesPerSecond, undefined);
  assert.match(doubts[0]!.text, /after/);
});

test('bytes that go wrong in new sessions only, after a while', async () => {
  const machine = new Machine();
  let sessions = 0;
  const broken = fake(machine, {
    label: 'broken',
    costNs: () => MS,
    onRequest: ({ count }) => {
      if (count === 1) sessions++;
      return sessions > 2 ? 'wrong' : undefined;
    },
  });
  const set = await run(machine, [broken], { sizes: [16] });
  assert.equal(at(set, 'broken', 16).doubts[0]?.code, 'WRONG_OUTPUT');
});

test('a driver that fails on the way is out at that size, and nobody else is', async () => {
  const machine = new Machine();
  const frail = fake(machine, {
    label: 'frail',
    costNs: () => MS,
    onRequest: ({ count, requestBytes }) => {
      if (requestBytes === 16 && count > 300) throw new Error('the device is gone');
      return undefined;
    },
  });
  const firm = fake(machine, { label: 'firm', costNs: () => MS });
  const set = await run(machine, [frail, firm]);
  assert.equal(at(set, 'frail', 16).status, 'failed');
  assert.equal(at(set, 'frail', 16).bytesPerSecond, undefined);
  assert.equal(at(set, 'frail', 1024).status, 'ok');
  assert.equal(at(set, 'firm', 16).status, 'ok');
  assert.deepEqual(set.runs[0]?.notes, ['aes-128-cbc encrypt, 16 bytes: the device is gone']);
});

test('a driver that lacks the algorithm is unavailable, for its own reason, told once', async () => {
  const machine = new Machine();
  const without = fake(machine, { label: 'without', costNs: () => MS, unavailable: true });
  const set = await run(machine, [without]);
  assert.equal(at(set, 'without', 16).status, 'unavailable');
  assert.equal(at(set, 'without', 1024).status, 'unavailable');
  assert.deepEqual(set.runs[0]?.notes, ['without: this kernel has no cbc(aes)']);
});

test('abortion between sizes keeps what is finished', async () => {
  const machine = new Machine();
  const controller = new AbortController();
  const one = fake(machine, { label: 'one', costNs: () => MS });
  const set = await run(
    machine,
    [one],
    { signal: controller.signal },
    {
      end: () => controller.abort(),
    },
  );
  assert.deepEqual(
    set.runs[0]?.measurements.map(({ requestBytes }) => requestBytes),
    [16],
  );
  assert.deepEqual(set.notes, ['interrupted after 1 of 2 measurements']);
});

test('abortion within a size drops that size', async () => {
  const machine = new Machine();
  const controller = new AbortController();
  const one = fake(machine, {
    label: 'one',
    costNs: () => MS,
    onRequest: ({ count, requestBytes }) => {
      if (requestBytes === 1024 && count === 400) controller.abort();
      return undefined;
    },
  });
  const set = await run(machine, [one], { signal: controller.signal });
  assert.deepEqual(
    set.runs[0]?.measurements.map(({ requestBytes, status }) => [requestBytes, status]),
    [[16, 'ok']],
  );
  assert.deepEqual(set.notes, ['interrupted after 1 of 2 measurements']);
});

test('nothing is measured after an abortion that came before', async () => {
  const machine = new Machine();
  const one = fake(machine, { label: 'one', costNs: () => MS });
  const set = await run(machine, [one], { signal: AbortSignal.abort() });
  assert.deepEqual(set.runs[0]?.measurements, []);
  assert.equal(one.opened, 0);
});

test('a request that outlasts the whole budget is made a few times, not hundreds', async () => {
  const machine = new Machine();
  let requests = 0;
  const giant = fake(machine, {
    label: 'giant',
    costNs: () => 5e9,
    onRequest: () => {
      requests++;
      return undefined;
    },
  });
  const set = await run(machine, [giant], { sizes: [16] });
  const { rounds, doubts, latency, bytesPerSecond } = at(set, 'giant', 16);
  assert.equal(rounds?.count, 1);
  assert.deepEqual(
    doubts.map(({ code }) => code),
    ['FEW_REQUESTS'],
  );
  assert.equal(latency, undefined);
  near(bytesPerSecond, 16 / 5);
  // One to warm up, one that counts; two in each check, one in the timed session's.
  assert.ok(requests <= 7, `${requests} requests`);
});

test('rounds that spread are marked, and counted all the same', async () => {
  const machine = new Machine();
  const uneasy = fake(machine, {
    label: 'uneasy',
    costNs: () => (Math.floor(machine.ns / 150e6) % 2 === 0 ? MS : 2 * MS),
  });
  const { doubts, bytesPerSecond, rounds } = at(await run(machine, [uneasy], { sizes: [16] }), 'uneasy', 16);
  assert.deepEqual(
    doubts.map(({ code }) => code),
    ['NOISY'],
  );
  assert.ok(rounds!.spread > 0.3, `${rounds!.spread}`);
  assert.ok(bytesPerSecond! > 0);
});

test('interrupts go to whoever was at work', async () => {
  const machine = new Machine();
  machine.irqs = 4_000_000_000;
  const engine = fake(machine, { label: 'engine', costNs: () => MS, irqsPerRequest: 1 });
  const software = fake(machine, { label: 'software', costNs: () => MS });
  const set = await run(machine, [engine, software]);
  for (const bytes of [16, 1024]) {
    const { interrupts, requests } = at(set, 'engine', bytes);
    assert.equal(interrupts, requests);
    assert.equal(at(set, 'software', bytes).interrupts, 0);
  }
});

test('a counter that wraps or goes away tells nothing', async () => {
  const machine = new Machine();
  machine.irqs = 1e6;
  const one = fake(machine, { label: 'one', costNs: () => MS, irqsPerRequest: -1 });
  assert.equal(at(await run(machine, [one]), 'one', 16).interrupts, undefined);
});

test('hooks count points, and are told why there is no figure', async () => {
  const machine = new Machine();
  const seen: string[] = [];
  const good = fake(machine, { label: 'good', costNs: () => MS });
  const bad = fake(machine, { label: 'bad', costNs: () => MS, onRequest: () => 'wrong' });
  await run(
    machine,
    [good, bad],
    { sizes: [16, 17, 32] },
    {
      begin: ({ contestant, requestBytes }, done, total) =>
        seen.push(`begin ${contestant.label} ${requestBytes} ${done}/${total}`),
      end: ({ contestant }, { status }, done, total, { problem, hardware }) =>
        seen.push(`end ${contestant.label} ${status} ${done}/${total} ${hardware} ${problem ?? ''}`.trim()),
    },
  );
  // 17 bytes are no whole block.
  assert.deepEqual(seen.slice(0, 5), [
    'begin good 16 0/4',
    'begin bad 16 0/4',
    'end good ok 1/4 unknown',
    'end bad failed 2/4 unknown the output before the measurement was not what another implementation gives',
    'begin good 32 2/4',
  ]);
  assert.equal(seen.length, 8);
});

test('a plan by which nothing would be measured, or without end, is refused', async () => {
  const wrong: Record<string, Partial<Plan>> = {
    'no number of seconds': { seconds: Number.NaN },
    'seconds below zero': { seconds: -1 },
    'no seconds': { seconds: 0 },
    'seconds without end': { seconds: Number.POSITIVE_INFINITY },
    'no sizes': { sizes: [] },
    'sizes off the block': { sizes: [17, 0, -16, 1.5] },
    'nobody to measure': { contestants: [] },
    'nothing to measure': { subjects: [] },
    'half a round': { rounds: 0.5 },
    'no threads': { parallel: 0 },
    'sizes that are no list': { sizes: 16 as never },
  };
  for (const [what, plan] of Object.entries(wrong)) {
    await assert.rejects(
      run(new Machine(), [fake(new Machine(), { label: 'one', costNs: () => MS })], plan),
      { code: /^ERR_/ },
      what,
    );
  }
});
