/** `hwcrypt calibrate`: what it prints, what it keeps, and what becomes of a run that ends early. No time is asserted. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { algorithms } from '#src/algorithms.js';
import { command } from '#src/cli/commands/calibrate.js';
import type { CalibratedEntry, ShownProfile } from '#src/report/calibration.js';
import { ableTo } from '#src/routing/contestants.js';
import { PROFILE_SCHEMA, type StoredProfile } from '#src/routing/profile.js';
import { conform } from '#src/schema.js';
import { ended, failure, hwcrypt, scratch, start } from './helpers.js';

const at = (path: string) => ({ env: { HWCRYPT_PROFILE: path } });

test('interrupted: what is finished is printed, kept, shown, and forgotten when told so', async () => {
  const path = join(scratch(), 'state', 'profile.json');
  const names = [
    'sha256',
    'aes-128-cbc',
    'sha512',
    'aes-256-cbc',
    'sha1',
    'aes-128-ctr',
    'md5',
    'aes-256-ctr',
  ];
  const child = start(['calibrate', '--quick', '--json', ...names], {
    env: { ...process.env, HWCRYPT_PROFILE: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout!.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr!.on('data', (chunk) => {
    stderr += chunk;
  });
  const end = ended(child);
  while (!existsSync(path) && child.exitCode === null) await sleep(20);
  child.kill('SIGINT');
  assert.equal((await end).status, 130, stderr);
  const told = JSON.parse(stdout) as {
    path: string;
    kept: boolean;
    entries: readonly CalibratedEntry[];
    skipped: readonly unknown[];
  };
  assert.deepEqual([told.path, told.kept, told.skipped], [path, true, []]);
  const [first] = told.entries;
  assert.deepEqual([first?.algorithm, first?.operation], ['sha256', 'digest']);
  assert.ok(told.entries.length < 12, `${told.entries.length}`);
  assert.equal(first!.leads[0]?.fromBytes, 0);
  for (const { driver, points } of first!.implementations) assert.ok(points.length >= 4, driver);
  assert.match(stderr, /interrupted after \d+ measurements\n/);
  assert.match(stderr, /kept in .*profile\.json\n$/);

  const stored = JSON.parse(readFileSync(path, 'utf8')) as StoredProfile;
  assert.deepEqual(
    conform(PROFILE_SCHEMA, stored, 'the file'),
    stored,
    'nothing that the schema does not name',
  );
  assert.equal(stored.entries.length, told.entries.length);

  const shown = JSON.parse(
    hwcrypt(['calibrate', '--show', '--json', 'sha256'], at(path)).stdout,
  ) as ShownProfile;
  assert.equal(shown.entries.length, 1);
  const { used, ...entry } = shown.entries[0]!;
  assert.equal(used, true);
  assert.deepEqual({ ...entry, drivers: undefined }, { ...first, drivers: undefined });
  const text = hwcrypt(['calibrate', '--show'], at(path)).stdout;
  assert.match(text, /\nsha256 digest\ndriver +sizes +a request +a byte +done by\n/);
  assert.match(text, /\nmeasured \S+ \S+ UTC; used\n/);

  writeFileSync(path, JSON.stringify({ ...stored, machine: { ...stored.machine, kernel: '2.4.0' } }));
  const foreign = hwcrypt(['calibrate', '--show'], at(path)).stdout;
  assert.match(foreign, /is not used: it was measured with Linux 2\.4\.0, and this is /);

  const forgotten = hwcrypt(['calibrate', '--forget'], at(path));
  assert.deepEqual([forgotten.status, forgotten.stdout], [0, '']);
  assert.match(forgotten.stderr, /forgotten: \d+ measurements\n$/);
  assert.match(hwcrypt(['calibrate', '--forget'], at(path)).stderr, /nothing to forget/);
  assert.deepEqual((JSON.parse(readFileSync(path, 'utf8')) as StoredProfile).entries, []);
});

test('where it cannot be kept, it is printed all the same, and the status says so', () => {
  const { status, stdout, stderr } = hwcrypt(['calibrate', '--quick', 'sha256'], at('/dev/null'));
  assert.equal(status, 1);
  assert.match(stdout, /^sha256 digest\ndriver +sizes +a request +a byte +done by\n\S+ +\d+ B to \d+/);
  assert.match(
    stderr,
    /^hwcrypt: calibrate: nothing is kept: cannot write \/dev\/null: .*no regular file\n$/m,
  );
});

test('no profile: shown as none, whatever the reason', () => {
  assert.match(hwcrypt(['calibrate', '--show'], at('')).stdout, /HWCRYPT_PROFILE is empty/);
  const path = join(scratch(), 'p.json');
  assert.match(hwcrypt(['calibrate', '--show'], at(path)).stdout, /There is no profile in /);
  const home = { env: { HWCRYPT_PROFILE: undefined, XDG_STATE_HOME: undefined, HOME: '/nowhere' } };
  assert.match(
    hwcrypt(['calibrate', '--show'], home).stdout,
    /no profile in \/nowhere\/\.local\/state\/hwcrypt\/profile\.json/,
  );
  writeFileSync(path, 'x');
  assert.match(hwcrypt(['calibrate', '--show'], at(path)).stdout, /is not used: it is not whole JSON/);
});

test('wrong command lines', async () => {
  for (const [argv, words] of [
    [['rot13'], /there is no algorithm "rot13"/],
    [['rsa2048'], /public-key/],
    [['--quick', '--show'], /--quick has no effect beside --show/],
    [['--quick', '--forget'], /--quick has no effect beside --forget/],
    [['--forget', '--json'], /--forget has no effect beside --json/],
    [['--forget', '--show'], /--forget has no effect beside --show/],
    [['--forget', 'sha256'], /takes no algorithm/],
    [['--quarantine'], /--quarantine/],
    [['--forget', '--quarantine', 'rot13'], /there is no algorithm "rot13"/],
    [['--fast'], /unknown option --fast/],
  ] as const) {
    const { message, status } = await failure(command, argv);
    assert.match(message, words);
    assert.equal(status, 2, argv.join(' '));
  }
  const lonely = algorithms().find((own) => ableTo(own).length < 2);
  if (lonely) {
    const { message, status } = await failure(command, ['--quick', lonely.name]);
    assert.deepEqual([message, status], ['there is nothing to choose between', 1]);
  }
});
