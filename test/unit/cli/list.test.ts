/** `list --driver NAME`: what one driver does for each algorithm. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { algorithms } from '#src/algorithms.js';
import { command as list } from '#src/cli/commands/list.js';
import { CRYPTODEV_IDS } from '#src/drivers/cryptodev/ids.js';
import { getDriver } from '#src/drivers/registry.js';
import {
  type DriverAlgorithms,
  driverAlgorithms,
  driverAlgorithmsText,
} from '#src/report/driver-algorithms.js';
import type { Inventory } from '#src/report/index.js';
import { failure, hwcrypt, shell } from './helpers.js';

type Printed = DriverAlgorithms & Pick<Inventory, 'drivers'>;

function printed(...argv: string[]): Printed {
  const { stdout, stderr, status } = hwcrypt(['list', ...argv, '--json']);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Printed;
}

test('a library: a row for each algorithm that it does, the others with --all', () => {
  const short = hwcrypt(['list', '--driver', 'node']);
  assert.equal(short.status, 0, short.stderr);
  assert.match(
    short.stdout,
    /^driver +there +what it is, or why it is not there\nnode +yes +node:crypto of Node/,
  );
  assert.match(short.stdout, /^node: who does what\nalgorithm +work +kernel driver, or why it is not done$/m);
  assert.match(short.stdout, /^aes-128-cbc +software +\S+/m);
  assert.doesNotMatch(short.stdout, /^serpent-256-cbc /m);
  assert.match(short.stdout, /^\d+ more that it does not do \(--all\)$/m);
  const whole = hwcrypt(['list', '--driver', 'node', '--all']);
  assert.match(whole.stdout, /^serpent-256-cbc +no +\S+/m);
  assert.doesNotMatch(whole.stdout, /--all/);
});

test('as JSON: every algorithm, done by whom or not for what reason; topics narrow it down', () => {
  const { drivers, driver, pinned, algorithms: rows } = printed('--driver', 'node');
  assert.deepEqual([drivers?.map(({ name }) => name), driver, pinned], [['node'], 'node', undefined]);
  assert.deepEqual(
    rows.map(({ algorithm }) => algorithm),
    algorithms().map(({ name }) => name),
  );
  for (const row of rows) {
    assert.equal(row.reason === undefined, row.supported, row.algorithm);
    assert.equal((row.evidence?.length ?? 0) > 0, row.supported, row.algorithm);
    assert.deepEqual([row.id, row.idName, row.note], [undefined, undefined, undefined]);
  }
  const macs = printed('macs', '--driver', 'node').algorithms;
  assert.ok(macs.length > 0 && macs.every(({ kind }) => kind === 'mac'));
});

test('/dev/crypto where there is none: the cause and the cure, and its numbers all the same', {
  skip: existsSync('/dev/crypto') && 'there is one here',
}, () => {
  const text = hwcrypt(['list', '--driver', 'cryptodev']);
  assert.equal(text.status, 0, text.stderr);
  assert.match(text.stdout, /^cryptodev +no +/m);
  assert.doesNotMatch(text.stdout, /who does what/);
  const { drivers, algorithms: rows } = printed('--driver', 'cryptodev');
  assert.equal(drivers?.[0]?.available, false);
  assert.deepEqual(
    [...new Set(rows.map(({ id }) => id))],
    CRYPTODEV_IDS.map(({ id }) => id),
  );
  assert.ok(rows.every(({ supported, reason }) => !supported && reason));
  const cbc = rows.filter(({ id }) => id === 11);
  assert.deepEqual(
    cbc.map(({ idName, kernel, algorithm }) => [idName, kernel, algorithm]),
    [128, 192, 256].map((bits) => ['AES_CBC', 'cbc(aes)', `aes-${bits}-cbc`]),
  );
  // A number without an algorithm is in no topic.
  assert.ok(printed('ciphers', '--driver', 'cryptodev').algorithms.every(({ algorithm }) => algorithm));
});

test('an implementation that is pinned stands in the title, and in the JSON', () => {
  const choice = { driver: getDriver('afalg'), kernelDriver: 'cbc-aes-nobody' };
  const found = driverAlgorithms(choice, ['cipher']);
  assert.equal(found.pinned, 'cbc-aes-nobody');
  assert.match(
    driverAlgorithmsText(found, false),
    /^afalg:cbc-aes-nobody: who does what\n.*nothing\n\d+ more/s,
  );
});

test('wrong arguments', async () => {
  for (const [argv, message] of [
    [['--driver'], /--driver needs/],
    [['--driver', ''], /needs a name/],
    [['--driver', 'crytodev'], /there is no driver "crytodev" \(did you mean cryptodev\?\)/],
    [['--driver', 'node,libcrypto'], /takes one driver/],
    [['drivers', '--driver', 'node'], /no effect beside drivers/],
    [['kernel', '--driver', 'node'], /no effect beside kernel/],
    [['--driver', 'node', '--json', '--all'], /--all/],
    [['ciphers', 'hashes', '--driver', 'node'], /one argument too many: "hashes"/],
  ] as const) {
    const found = await failure(list, argv);
    assert.equal(found.status, 2, argv.join(' '));
    assert.match(found.message, message, argv.join(' '));
  }
});

test('a reader that goes away early is no error', () => {
  for (const form of ['', '--json', '--all']) {
    const { stdout, stderr, status } = shell(
      `set -o pipefail; hwcrypt list --driver node ${form} | head -c 1; exit "\${PIPESTATUS[0]}"`,
    );
    assert.deepEqual([stdout.length, stderr, [0, 141].includes(status ?? -1)], [1, '', true], form);
  }
});
