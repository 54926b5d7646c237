/** The test runner itself: a runner that loses a failure is worse than none. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, describe, test } from 'node:test';
import type { Layer } from '../helpers/layers.js';
import { compiledFile, findLayer, layers, testFiles } from '../helpers/layers.js';
import { describeFailures, describeSlowest, type FileResult, tally, tallyLine } from '../helpers/results.js';
import { parseRunArguments } from '../helpers/run-args.js';
import { eventsFile, runLayer, summaryFile } from '../helpers/run-layer.js';
import { Slots } from '../helpers/slots.js';

const resultsFolder = mkdtempSync(`${tmpdir()}/hwcrypt-runner-`);
after(() => rmSync(resultsFolder, { recursive: true, force: true }));

const fixtures: Layer = {
  name: 'fixtures',
  folder: 'helpers/fixtures',
  silenceSeconds: 6,
  farewellSeconds: 2,
};

interface Expectation {
  readonly counts: readonly [passed: number, failed: number, skipped: number];
  readonly told: readonly RegExp[];
}

/** What must come of each fixture, whether it has a process of its own or shares one. */
const expected: Record<string, Expectation> = {
  'a-passing': { counts: [4, 0, 3], told: [/left out with a reason: no such thing here/] },
  'b-failing': {
    counts: [0, 5, 0],
    told: [
      /b-failing\.test › differs/,
      /-\s+a: 2/,
      /test\/helpers\/fixtures\/b-failing\.test\.ts:7:/,
      /on the way to the difference/,
      /group › throws a string/,
      /with a broken hook.*\n.*the hook broke/,
      /parent › child\n.*the child broke/,
    ],
  },
  'c-crashing': { counts: [0, 1, 0], told: [/the process died of SIGSEGV\b.*: the crash/] },
  'd-exiting': { counts: [0, 1, 0], told: [/ended early with status 0\b.*: the exit/] },
  'e-hanging': { counts: [0, 1, 0], told: [/no sign of life for 6 s\b.*: the wait/] },
  'f-unloadable': { counts: [0, 1, 0], told: [/not loadable/] },
  'g-empty': { counts: [0, 1, 0], told: [/no test ran/] },
  'h-stray': { counts: [1, 1, 0], told: [/asynchronous activity.*the mine/] },
  'i-lingering': { counts: [1, 1, 0], told: [/something keeps the process alive/] },
};

function assertExpected(files: readonly FileResult[], except: Record<string, Expectation> = {}): void {
  assert.deepEqual(
    files.map(({ file }) => file),
    Object.keys(expected).map((name) => `helpers/fixtures/${name}.test`),
  );
  for (const file of files) {
    const name = file.file.split('/').at(-1)!.replace('.test', '');
    const { counts, told } = (except[name] ?? expected[name])!;
    const { passed, failed, skipped } = tally([file]);
    const text = describeFailures([file]);
    assert.deepEqual([passed, failed, skipped], counts, `${name}:\n${text}`);
    for (const pattern of told) assert.match(text, pattern);
  }
}

describe('a layer', { concurrency: 2 }, () => {
  test('a process a file: every failure is found and named', async () => {
    const folder = `${resultsFolder}/own`;
    const { files } = await runLayer(fixtures, { slots: new Slots(3), resultsFolder: folder });
    assertExpected(files);
    assert.deepEqual(JSON.parse(readFileSync(`${folder}/${summaryFile}`, 'utf8')).files, files);
    const last = readFileSync(`${folder}/${eventsFile}`, 'utf8').trimEnd().split('\n').at(-1)!;
    assert.ok(JSON.parse(last).type);
  });

  test('one process for all: the same, and one that dies does not take the rest along', async () => {
    const shared: Layer = { ...fixtures, guest: { kind: 'uml' } };
    const { files } = await runLayer(shared, {
      slots: new Slots(1),
      resultsFolder: `${resultsFolder}/shared`,
    });
    // node:test tells of it when the process ends by itself, which the lingering file then prevents.
    assertExpected(files, { 'h-stray': { counts: [1, 0, 0], told: [] } });
    const stray = await runLayer(shared, {
      filter: 'stray',
      slots: new Slots(1),
      resultsFolder: `${resultsFolder}/stray`,
    });
    assert.match(describeFailures(stray.files), /the mine/);
  });

  test('a filter: by file, else by test', async () => {
    const byFile = await runLayer(fixtures, {
      filter: 'a-passing',
      slots: new Slots(1),
      resultsFolder: `${resultsFolder}/file`,
    });
    assert.deepEqual(tally(byFile.files), { passed: 4, failed: 0, skipped: 3 });
    const byTest = await runLayer(fixtures, {
      filter: 'alone',
      slots: new Slots(3),
      resultsFolder: `${resultsFolder}/test`,
    });
    const ran = byTest.files.flatMap(({ tests }) => tests.filter(({ outcome }) => outcome === 'passed'));
    assert.deepEqual(
      ran.map(({ name }) => name),
      ['alone'],
    );
  });

  test('an end on request', async () => {
    const { files } = await runLayer(fixtures, {
      filter: 'e-hanging',
      slots: new Slots(1),
      resultsFolder: `${resultsFolder}/abort`,
      signal: AbortSignal.timeout(500),
    });
    assert.match(describeFailures(files), /interrupted/);
  });
});

describe('results', () => {
  const file: FileResult = {
    file: 'x.test',
    tests: [
      { name: 'slow', outcome: 'passed', ms: 1500 },
      { name: 'quick', outcome: 'passed', ms: 1 },
    ],
    troubles: ['one'],
    output: '',
  };

  test('what went wrong outside of tests counts as failed', () => {
    assert.deepEqual(tally([file]), { passed: 2, failed: 1, skipped: 0 });
  });

  test('the closing line names what was skipped only where something was', () => {
    assert.equal(tallyLine({ passed: 2, failed: 0, skipped: 0 }), '2 passed, 0 failed');
    assert.equal(tallyLine({ passed: 2, failed: 1, skipped: 3 }), '2 passed, 1 failed, 3 skipped');
  });

  test('what is skipped for one reason is told once', () => {
    const skipped = (name: string, message: string) =>
      ({ name, outcome: 'skipped', ms: 0, message }) as const;
    const tests = [skipped('a', 'no driver'), skipped('b', 'no driver'), skipped('c', '')];
    assert.equal(
      describeFailures([{ ...file, troubles: [], tests }]),
      '- skipped: x.test › a and 1 more: no driver\n- skipped: x.test › c\n',
    );
  });

  test('the slowest come first', () => {
    assert.match(describeSlowest([file], 1), /^ +1\.50 s +x\.test › slow\n$/);
  });
});

describe('layers', () => {
  test('no file belongs to two, and each is compiled from its source', () => {
    const all = layers.flatMap((layer) => testFiles(layer));
    assert.equal(new Set(all).size, all.length);
    assert.ok(testFiles(findLayer('unit')).includes('unit/rig-runner.test'));
    assert.match(compiledFile('unit/rig-runner.test'), /\/build\/test\/unit\/rig-runner\.test\.js$/);
  });

  test('a layer may leave a folder to another', () => {
    const except = { ...fixtures, folder: 'helpers', except: 'fixtures' };
    assert.deepEqual(testFiles(except), []);
  });
});

describe('the command line', () => {
  test('everything by default; a filter leaves out what has no tests', () => {
    assert.deepEqual(parseRunArguments([]).layers, ['check', ...layers.map(({ name }) => name)]);
    assert.ok(!parseRunArguments(['--filter', 'x']).layers.includes('check'));
  });

  test('layers come in the order of the table', () => {
    assert.deepEqual(parseRunArguments(['--layer', 'kernel', '--layer', 'check']).layers, [
      'check',
      'kernel',
    ]);
    assert.throws(() => parseRunArguments(['--layer', 'moon']), /no layer is called 'moon'/);
  });
});

describe('slots', () => {
  async function order(pieces: number, slots: number): Promise<string> {
    let log = '';
    const room = new Slots(slots);
    const piece = (index: number) =>
      room.use(async () => {
        log += `${index}(`;
        await new Promise((resolve) => setTimeout(resolve, 10 * (index + 1)));
        log += `)${index} `;
      });
    await Promise.all(Array.from({ length: pieces }, (_, index) => piece(index)));
    return log;
  }

  test('as many pieces at a time as there is room for, first come first served', async () => {
    assert.equal(await order(3, 1), '0()0 1()1 2()2 ');
    assert.equal(await order(3, 2), '0(1()0 2()1 )2 ');
  });

  test('a piece that fails is told, and gives its slot back', async () => {
    const room = new Slots(1);
    await assert.rejects(
      room.use(() => Promise.reject(new Error('no'))),
      /no/,
    );
    assert.equal(await room.use(async () => 1), 1);
  });
});
