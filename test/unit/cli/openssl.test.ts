/** `hwcrypt openssl` with made-up OpenSSLs on the path, and with this machine's. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { counts, ELAPSED, speed } from '../doctor/helpers.js';
import { hwcrypt, noOpenssl, scratch } from './helpers.js';

const cwd = scratch();

/** A folder with an openssl that answers so. */
function fake(
  name: string,
  version: string,
  engines: string,
  offloaded: string,
  engineGives = '"$text"',
): string {
  const folder = join(cwd, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'software'), `${ELAPSED}${speed('AES-128-CBC', counts(500, 82))}`);
  writeFileSync(join(folder, 'offloaded'), offloaded);
  writeFileSync(
    join(folder, 'openssl'),
    `#!/bin/sh
case "$*" in
'version -a') echo 'OpenSSL ${version} 3 Sep 2024' ;;
'list -providers') printf 'Providers:\\n  default\\n    name: OpenSSL Default Provider\\n' ;;
'engine -t -c '*) ${engines} ;;
'enc '*' -d '*) /bin/cat >/dev/null; /bin/cat '${folder}/text' ;;
'enc '*-engine*) text=$(/bin/cat); printf %s ${engineGives} ;;
'enc '*) text=$(/bin/cat; echo .); printf %s "\${text%.}" >'${folder}/text'; printf %s "\${text%?.}" ;;
*-engine*) /bin/cat '${folder}/offloaded' ;;
speed*) /bin/cat '${folder}/software' >&2 ;;
esac\n`,
  );
  chmodSync(join(folder, 'openssl'), 0o755);
  return folder;
}

const DEVCRYPTO = `case $4 in devcrypto) printf '(devcrypto) /dev/crypto engine\\n [AES-128-CBC, AES-256-CBC]\\n     [ available ]\\n' ;; *) echo "could not load the shared library: filename(/usr/lib/$4.so)" >&2 ;; esac`;
const ENGINE = `Engine "devcrypto" set.\n${ELAPSED}${speed('AES-128-CBC', counts(37_000, 16.4))}`;
const able = fake('able', '3.0.15', DEVCRYPTO, ENGINE);
const slow = fake(
  'slow',
  '3.0.15',
  DEVCRYPTO,
  `Engine "devcrypto" set.\n${ELAPSED}${speed('AES-128-CBC', counts(90_000, 200))}`,
);
const wrong = fake('wrong', '3.0.15', DEVCRYPTO, ENGINE, 'never-encrypted');
const four = fake('four', '4.0.1', 'exit 1', '');
const run = (args: readonly string[], ...folders: string[]) =>
  hwcrypt(['openssl', ...args], { cwd, env: { PATH: folders.join(':'), LC_ALL: 'C.UTF-8' } });

test('each OpenSSL on the path once, with its engines, what they need and whether they are used', () => {
  const again = join(cwd, 'again');
  mkdirSync(again);
  symlinkSync(join(able, 'openssl'), join(again, 'openssl3'));
  const { status, stdout } = run([], able, again, four);
  assert.equal(status, 0);
  assert.equal(stdout.match(/^OpenSSL 3\.0\.15, /gm)?.length, 1);
  assert.match(stdout, /^ {2}devcrypto {3}used: 20\.6x slower at 16 B/m);
  assert.match(stdout, /^ {2}afalg {7}not installed$/m);
  assert.match(stdout, /^OpenSSL 4\.0\.1, [^\n]*\n {2}devcrypto {3}OpenSSL 4 has no engines$/m);
  assert.match(stdout, /^OpenSSL \S+, inside of Node$/m);
});

test('--quick asks and measures nothing; --json', () => {
  assert.match(run(['--quick'], able).stdout, /^ {2}devcrypto {3}available$/m);
  const [first] = JSON.parse(run(['--json'], able).stdout);
  assert.equal(first.version, '3.0.15');
  const [devcrypto, afalg] = first.engines;
  assert.deepEqual(
    [devcrypto.id, devcrypto.state, devcrypto.used, devcrypto.crossover.kind],
    ['devcrypto', 'available', 'yes', 'crosses'],
  );
  assert.deepEqual(devcrypto.algorithms, ['AES-128-CBC', 'AES-256-CBC']);
  assert.deepEqual([afalg.id, afalg.state], ['afalg', 'absent']);
});

test('--config: on standard output and nowhere else; status 1 where there is nothing to turn on', () => {
  const cnf = run(['--config', 'cnf'], able);
  assert.equal(cnf.status, 0);
  assert.match(cnf.stdout, /^engine_id = devcrypto$/m);
  assert.match(run(['--config', 'uci'], able).stdout, /^uci set openssl\.devcrypto=engine$/m);
  for (const found of [
    run(['--config', 'cnf'], slow),
    run(['--config', 'cnf', '--engine', 'afalg'], able),
    run(['--config', 'cnf'], four),
  ]) {
    assert.equal(found.status, 1);
    assert.match(found.stdout, /^# Nothing to turn on/);
  }
});

test('an engine with wrong results is told of, and never configured', () => {
  assert.match(run([], wrong).stdout, /^ {2}devcrypto {3}gives wrong results: /m);
  assert.equal(JSON.parse(run(['--json'], wrong).stdout)[0].engines[0].used, 'wrong');
  const { status, stdout } = run(['--config', 'cnf'], wrong);
  assert.equal(status, 1);
  assert.match(stdout, /^# Nothing to turn on: devcrypto gives wrong results here/);
});

test('wrong command lines, and no OpenSSL at all', () => {
  for (const args of [
    ['--config', 'ini'],
    ['--engine', 'devcrypto'],
    ['file'],
    ['--json', '--config', 'cnf'],
    ['--quick', '--config', 'cnf'],
  ]) {
    assert.equal(run(args, able).status, 2, args.join(' '));
  }
  assert.equal(run(['--quick'], join(cwd, 'nowhere')).status, 1);
});

test('this machine’s own', { skip: noOpenssl }, () => {
  const { status, stdout } = hwcrypt(['openssl', '--quick'], { cwd });
  assert.equal(status, 0);
  assert.match(stdout, /^OpenSSL \d+\.\d+\.\d+\S*, \/\S*openssl$/m);
  assert.match(stdout, /^ {2}devcrypto /m);
});
