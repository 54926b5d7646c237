/** Quarantine on the command line: listed with its evidence, lifted when told so, and a file that stays readable whatever a device calls itself. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProfile, type QuarantineRecord } from '#src/routing/profile.js';
import { hwcrypt, scratch } from './helpers.js';

const record = (algorithm: string, driver: string): QuarantineRecord => ({
  algorithm,
  driver,
  kernelDriver: 'cbc-aes-engine',
  since: '2026-11-30T12:34:56.000Z',
  evidence: 'encrypt of 4096 bytes, compared with libcrypto',
});

function withRecords() {
  const path = join(scratch(), 'profile.json');
  const profile = openProfile({ path });
  profile.saveQuarantine(record('aes-128-cbc', 'cryptodev'));
  profile.saveQuarantine(record('aes-128-cbc', 'afalg:cbc-aes-engine'));
  profile.saveQuarantine(record('sha256', 'cryptodev'));
  profile.saveQuarantine({ ...record('sha512', 'cryptodev'), until: '2026-11-30T12:34:57.000Z' });
  const run = (...args: string[]) => hwcrypt(args, { env: { HWCRYPT_PROFILE: path } });
  const listed = (...args: string[]): string[] => {
    const told = JSON.parse(run('list', ...args, '--json').stdout) as { quarantine?: QuarantineRecord[] };
    return (told.quarantine ?? []).map(({ algorithm, driver }) => `${algorithm} ${driver}`);
  };
  return { path, run, listed };
}

test('list tells who, from what, since when, and on what evidence', () => {
  const { run, listed } = withRecords();
  const all = ['aes-128-cbc cryptodev', 'aes-128-cbc afalg:cbc-aes-engine', 'sha256 cryptodev'];
  assert.deepEqual(listed('drivers'), all, 'what has run out is not told');
  assert.deepEqual(listed('ciphers'), all.slice(0, 2));
  assert.deepEqual(listed('hashes'), all.slice(2));
  assert.deepEqual(listed('ciphers', '--driver', 'afalg'), [all[1]]);
  assert.deepEqual(listed('kernel'), []);
  const { stdout, status } = run('list', 'drivers');
  assert.equal(status, 0);
  const text = stdout.replace(/\n {2}/g, ' ');
  assert.match(
    text,
    /^cryptodev is kept from sha256 since 2026-11-30T12:34:56\.000Z: encrypt of 4096 bytes, compared with libcrypto$/m,
  );
  assert.match(text, /calibrate --forget --quarantine lets them be tried again$/m);
  const none = hwcrypt(['list', 'drivers'], { env: { HWCRYPT_PROFILE: '' } });
  assert.doesNotMatch(none.stdout, /kept from|quarantine/);
});

test('a quarantine is ended for an algorithm, and for all; what was measured stays', () => {
  const { run, listed } = withRecords();
  assert.match(run('calibrate', '--forget').stderr, /nothing to forget/);
  assert.match(run('calibrate', '--forget', '--quarantine', 'aes-256-cbc').stderr, /nobody is in quarantine/);
  const one = run('calibrate', '--forget', '--quarantine', 'aes-128-cbc');
  assert.deepEqual([one.status, one.stdout], [0, '']);
  assert.match(one.stderr, /^hwcrypt: calibrate: 2 may work again, /);
  assert.deepEqual(listed('drivers'), ['sha256 cryptodev']);
  assert.match(run('calibrate', '--forget', '--quarantine').stderr, /: 2 may work again, /);
  assert.deepEqual(listed('drivers'), []);
  const alone = run('calibrate', '--quarantine');
  assert.equal(alone.status, 2);
  assert.match(alone.stderr, /--quarantine .*--forget/);
});

test('a device that calls itself what no terminal should see does not spoil the file', () => {
  const { path, listed } = withRecords();
  const hostile = '\u001b[2Jcbc\u0000\ud800\u202e';
  openProfile({ path }).saveQuarantine({
    ...record('md5', 'cryptodev'),
    kernelDriver: hostile,
    evidence: hostile.repeat(5000),
  });
  assert.deepEqual(openProfile({ path }).notes, []);
  assert.deepEqual(listed('hashes'), ['sha256 cryptodev', 'md5 cryptodev']);
});
