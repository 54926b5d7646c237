/** Calibration on a machine whose clock the drivers move: what it finds is known beforehand. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import type { Algorithm } from '#src/algorithms.js';
import { getDriver } from '#src/drivers/index.js';
import { type CalibrateOptions, calibrate, calibrateInBackground } from '#src/routing/calibrate.js';
import { linesOf } from '#src/routing/calibrate-lines.js';
import { borders, pick, predict } from '#src/routing/cost.js';
import type { ProfileEntry } from '#src/routing/profile.js';
import { type Fake, type FakeOptions, fake, Machine } from '../bench/engine/fakes.js';

const reference = { driver: getDriver('node') };

type Cost = (bytes: number) => number;
const SOFTWARE: Cost = (bytes) => 5000 + 130 * bytes;
const ENGINE: Cost = (bytes) => 370_000 + 12 * bytes;

interface Setting {
  readonly machine: Machine;
  readonly fakes: readonly Fake[];
}

function setting(...contestants: readonly Omit<FakeOptions, 'name'>[]): Setting {
  const machine = new Machine();
  return { machine, fakes: contestants.map((own) => fake(machine, own)) };
}

async function run(
  { machine, fakes }: Setting,
  options: CalibrateOptions = {},
  algorithms: readonly string[] = ['aes-128-cbc'],
): Promise<ProfileEntry[]> {
  const able = (algorithm: Algorithm) =>
    fakes.map((own) => ({ ...own, implementation: own.driver.implementation(algorithm) }));
  const entries = await calibrate(algorithms, {
    inFlight: 0,
    surroundings: { instruments: machine, reference, able },
    ...options,
  });
  for (const { opened, closed } of fakes) assert.equal(closed, opened, 'every session is closed');
  return entries;
}

/** What a choice by the entry costs, over what the better one would, at its worst. */
function worst({ implementations }: ProfileEntry, costs: readonly Cost[]): number {
  const found = borders(
    implementations.map(({ points }) => points),
    'elapsedNs',
  );
  let most = 1;
  for (let bytes = 16; bytes <= 2 ** 20; bytes = Math.ceil((bytes * 1.07) / 16) * 16) {
    const all = costs.map((cost) => cost(bytes));
    most = Math.max(most, all[pick(found, bytes)]! / Math.min(...all));
  }
  return most;
}

test('the crossover is found to the per cent, whatever the grid', async () => {
  // Few, since whatever the clock says, requests of the fakes take their time too.
  for (const [quick, factors] of [
    [true, [0.1, 7]],
    [false, [1]],
  ] as const) {
    for (const factor of factors) {
      const engine: Cost = (bytes) => ENGINE(bytes) * factor;
      const entries = await run(
        setting({ label: 'software', costNs: SOFTWARE }, { label: 'engine', costNs: engine }),
        {
          quick,
        },
      );
      assert.deepEqual(
        entries.map(({ algorithm, operation }) => [algorithm, operation]),
        [
          ['aes-128-cbc', 'encrypt'],
          ['aes-128-cbc', 'decrypt'],
        ],
      );
      for (const entry of entries) {
        const share = worst(entry, [SOFTWARE, engine]);
        assert.ok(share < 1.021, `quick ${quick}, ${factor}: ${share}`);
        assert.equal(entry.noisyPoints, undefined);
      }
    }
  }
});

test('costs that are no straight line: the leads change several times, and each place is found', async () => {
  // A driver that copies what is short, and one that splits what is long.
  const short: Cost = (bytes) => (bytes <= 1500 ? 20_000 + 20 * bytes : 1_200_000 + 400 * bytes);
  const split: Cost = (bytes) => 180_000 * Math.ceil(bytes / 60_000) + 120 * bytes;
  const plain: Cost = (bytes) => 6_000_000 + 100 * bytes;
  const [entry] = await run(
    setting(
      { label: 'short', costNs: short },
      { label: 'split', costNs: split },
      { label: 'plain', costNs: plain },
    ),
  );
  assert.ok(worst(entry!, [short, split, plain]) < 1.05, `${worst(entry!, [short, split, plain])}`);
});

test('points, lines, who does the work, and CPU time', async () => {
  const [entry] = await run(
    setting({ label: 'software', costNs: SOFTWARE }, { label: 'engine', costNs: ENGINE, cpuShare: 0.25 }),
    {},
    ['aes-256-ctr'],
  );
  const [software, engine] = entry!.implementations;
  assert.deepEqual(
    [software?.driver, software?.kernelDriver, software?.hardware],
    ['software', 'software-fake', 'unknown'],
  );
  for (const { requestBytes, elapsedNs, cpuNs } of engine!.points) {
    assert.ok(Math.abs(elapsedNs / ENGINE(requestBytes) - 1) < 1e-3, `${requestBytes}`);
    assert.ok(Math.abs(cpuNs / elapsedNs - 0.25) < 1e-3);
  }
  assert.deepEqual(
    software!.lines.map(({ fromBytes, toBytes, fixedNs, nsPerByte }) => [
      fromBytes,
      toBytes,
      Math.round(fixedNs / 100),
      Math.round(nsPerByte),
    ]),
    [[16, software!.points.at(-1)!.requestBytes, 50, 130]],
  );
  assert.equal(engine!.points.at(-1)!.requestBytes, 2 ** 20);
  assert.equal(software!.points.at(-1)!.requestBytes, 65_536, 'a MiB would have taken 136 ms a request');
  assert.ok(Math.abs(predict(software!.points, 2 ** 20, 'elapsedNs') / SOFTWARE(2 ** 20) - 1) < 0.01);
});

test('wrong bytes: no points at all; a failure on the way: those before it', async () => {
  const [entry] = await run(
    setting(
      { label: 'good', costNs: SOFTWARE },
      {
        label: 'bad',
        costNs: ENGINE,
        onRequest: ({ requestBytes }) => (requestBytes === 4096 ? 'wrong' : undefined),
      },
      {
        label: 'short',
        costNs: ENGINE,
        onRequest: ({ requestBytes }) => {
          if (requestBytes > 20_000) throw new Error('too long');
          return undefined;
        },
      },
    ),
  );
  const [good, bad, short] = entry!.implementations;
  assert.equal(good?.problem, undefined);
  assert.deepEqual(bad?.points, []);
  assert.match(bad.problem ?? '', /^at 4096 bytes: the output before/);
  assert.ok(short!.points.at(-1)!.requestBytes <= 20_000 && short!.points.length > 3);
  assert.match(short!.problem ?? '', /^at 65536 bytes: too long$/);
});

test('what was disturbed is measured once more, and told where that does not help', async () => {
  let calls = 0;
  const at = (bytes: number, count: number): number =>
    // Another process had the CPU in the first measurement of this size.
    bytes === 1024 && calls++ < 60 ? SOFTWARE(bytes) * (8 + (count % 5)) : SOFTWARE(bytes);
  const [entry] = await run(setting({ label: 'a', costNs: at }, { label: 'b', costNs: ENGINE }));
  const point = entry!.implementations[0]!.points.find(({ requestBytes }) => requestBytes === 1024)!;
  assert.ok(Math.abs(point.elapsedNs / SOFTWARE(1024) - 1) < 0.01, `${point.elapsedNs}`);

  let rounds = 0;
  const restless: FakeOptions['costNs'] = (bytes) => ENGINE(bytes) * (1 + (rounds++ % 23) / 10);
  const [noisy] = await run(setting({ label: 'a', costNs: SOFTWARE }, { label: 'b', costNs: restless }));
  assert.ok(noisy!.noisyPoints! > 0);
});

test('nothing to choose from: no entry', async () => {
  assert.deepEqual(await run(setting({ label: 'a', costNs: SOFTWARE })), []);
  assert.deepEqual(await run(setting()), []);
});

test('a key stream is the same both ways and measured once', async () => {
  let encryptions = 0;
  const two = setting({ label: 'a', costNs: SOFTWARE }, { label: 'b', costNs: ENGINE });
  const [encrypt, decrypt] = await run(
    two,
    { quick: true, hooks: { step: ({ operation }) => void (operation === 'decrypt' && encryptions++) } },
    ['aes-128-ctr'],
  );
  assert.equal(encryptions, 0);
  assert.deepEqual(decrypt, { ...encrypt, operation: 'decrypt' });
});

test('an interruption keeps what is finished and nothing else', async () => {
  const controller = new AbortController();
  const finished: string[] = [];
  const entries = await run(
    setting({ label: 'a', costNs: SOFTWARE }, { label: 'b', costNs: ENGINE }),
    {
      quick: true,
      signal: controller.signal,
      hooks: {
        step: ({ operation, requestBytes }) => {
          if (operation === 'decrypt' && requestBytes === 1024) controller.abort();
        },
        entry: ({ operation }, done, total) => finished.push(`${operation} ${done}/${total}`),
      },
    },
    ['aes-128-cbc', 'aes-256-cbc'],
  );
  assert.deepEqual(
    entries.map(({ algorithm, operation }) => `${algorithm} ${operation}`),
    ['aes-128-cbc encrypt'],
  );
  assert.deepEqual(finished, ['encrypt 1/4']);
});

test('names that nobody has are refused with their code', async () => {
  await assert.rejects(calibrate(['rot13']), { code: 'ALGORITHM_UNAVAILABLE' });
  await assert.rejects(calibrate(['sha256'], { drivers: ['abacus'] }), { code: 'ERR_INVALID_ARG_VALUE' });
  const keep = setInterval(() => {}, 1000);
  await assert.rejects(calibrateInBackground('rot13'), { code: 'ALGORITHM_UNAVAILABLE' });
  clearInterval(keep);
});

test('lines: one where it describes the points, several where it does not, none for two points', () => {
  const curve = (cost: Cost, sizes: readonly number[]) =>
    sizes.map((requestBytes) => ({ requestBytes, elapsedNs: cost(requestBytes), cpuNs: 0 }));
  const sizes = [16, 64, 256, 1024, 4096, 16_384, 65_536];
  assert.equal(linesOf(curve(ENGINE, sizes)).length, 1);
  const bent = linesOf(curve((bytes) => (bytes < 2000 ? 100 + bytes : 50_000 + 20 * bytes), sizes));
  assert.deepEqual(
    bent.map(({ fromBytes, toBytes, fixedNs, nsPerByte }) =>
      [fromBytes, toBytes, fixedNs, nsPerByte].map(Math.round),
    ),
    [
      [16, 1024, 100, 1],
      [4096, 65_536, 50_000, 20],
    ],
  );
  assert.deepEqual(linesOf(curve(ENGINE, [16, 64])), []);
  assert.deepEqual(linesOf([]), []);
});

test('here, with threads: everybody has a figure, and several in flight', async () => {
  const [entry, ...rest] = await calibrate(['sha256'], {
    quick: true,
    inFlight: 2,
    drivers: ['libcrypto', 'node'],
  });
  assert.deepEqual(rest, []);
  assert.equal(entry?.operation, 'digest');
  for (const { driver, points, inFlight, problem } of entry.implementations) {
    assert.equal(problem, undefined, driver);
    assert.ok(points.length >= 5);
    assert.equal(inFlight?.requests, 2);
    for (const { elapsedNs, cpuNs } of [...points, ...inFlight.points])
      assert.ok(elapsedNs > 0 && cpuNs >= 0);
  }
});

test('in the background: the same, in a thread that does not keep the process alive', async () => {
  const keep = setInterval(() => {}, 1000);
  try {
    const entries = await calibrateInBackground('sha256');
    assert.deepEqual(
      entries.map(({ algorithm, operation }) => [algorithm, operation]),
      [['sha256', 'digest']],
    );
    assert.ok(entries[0]!.implementations.some(({ points }) => points.length >= 5));
  } finally {
    clearInterval(keep);
  }
  const module = import.meta.resolve('#src/routing/calibrate.js');
  const program = `
    import { calibrateInBackground } from ${JSON.stringify(module)};
    calibrateInBackground('aes-256-cbc').then(() => console.log('finished'));
  `;
  const told = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  assert.equal(told, '');
});
