/** `speed` through a real kernel: it names who did the work, and prints what scripts parse. A figure means nothing here. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { findAlgorithm } from '#src/algorithms.js';
import { contestant, measure } from '#src/bench/engine/index.js';
import { importOne } from '#src/interop/index.js';
import { projectFolder } from '../../rig/index.js';

function speed(...options: string[]): { stdout: string; stderr: string; status: number | null } {
  const file = `${projectFolder}/dist/cli/main.js`;
  return spawnSync(process.execPath, [file, 'speed', ...options], { encoding: 'utf8', timeout: 120_000 });
}

test('speed over AF_ALG: the table, the kernel driver, and an engine by its OpenSSL name', () => {
  const { stdout, stderr, status } = speed(
    '-evp',
    'aes-128-cbc',
    '-seconds',
    '1',
    '-bytes',
    '1024',
    '-engine',
    'afalg',
  );
  assert.equal(status, 0, stderr);
  assert.match(stderr, /^hwcrypt: speed: engine "afalg": measured is hwcrypt's driver afalg/m);
  assert.match(stdout, /^options: hwcrypt \S+ driver=afalg:cbc\S+ operation=encrypt$/m);
  assert.match(stderr, /^# afalg: cbc\S+; software on the CPU/m);
  const set = importOne(stderr + stdout);
  const [own] = set.runs[0]!.measurements;
  assert.deepEqual(
    [own?.algorithm, own?.driver, own?.requestBytes, own?.status, own?.basis, own?.doubts],
    ['aes-128-cbc', 'afalg', 1024, 'ok', 'elapsed', []],
  );
  assert.match(own!.kernelDriver!, /^cbc/);
});

const aes = { algorithm: findAlgorithm('aes-128-cbc')!, operation: 'encrypt' } as const;

test('a kernel driver that is pinned is the one that works, and both stand side by side', async () => {
  const set = await measure({
    subjects: [aes],
    contestants: ['libcrypto', 'afalg:cbc(aes-generic)'].map(contestant),
    sizes: [4096],
    seconds: 0.2,
  });
  assert.deepEqual(
    set.runs.map(({ label, measurements }) => [label, measurements[0]?.status]),
    [
      ['libcrypto', 'ok'],
      ['afalg:cbc(aes-generic)', 'ok'],
    ],
  );
  assert.equal(set.runs[1]!.measurements[0]!.kernelDriver, 'cbc(aes-generic)');
});

test('two threads have two sockets in flight', async () => {
  const threads: number[] = [];
  const set = await measure(
    {
      subjects: [aes],
      contestants: [contestant('afalg')],
      sizes: [4096],
      seconds: 0.2,
      rounds: 2,
      parallel: 2,
    },
    {
      end: (_point, _own, _done, _total, detail) =>
        threads.push(...(detail.threads ?? []).map(({ requests }) => requests)),
    },
  );
  const own = set.runs[0]!.measurements[0];
  assert.equal(own?.status, 'ok', set.runs[0]!.notes.join());
  assert.equal(threads.length, 2);
  assert.ok(threads.every((requests) => requests > 0));
});
