/** `--driver` with a list, in the commands that do work. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { splitDrivers } from '#src/cli/drivers.js';
import { failure, hwcrypt, scratch } from './helpers.js';

const cwd = scratch();
writeFileSync(join(cwd, 'hello'), 'hello');

test('a list is parted at commas, and not within the name of a kernel driver', () => {
  assert.deepEqual(splitDrivers('libcrypto, node,,'), ['libcrypto', 'node']);
  assert.deepEqual(splitDrivers('afalg:gcm_base(ctr(aes-generic),ghash-generic),node'), [
    'afalg:gcm_base(ctr(aes-generic),ghash-generic)',
    'node',
  ]);
});

test('the first that can does it, and who was passed over is told', () => {
  // No kernel has such an implementation, and none is needed.
  const list = ['--driver', 'afalg:nobody,node'];
  const key = ['-K', '00112233445566778899aabbccddeeff', '-iv', '00112233445566778899aabbccddeeff'];
  const enc = hwcrypt(['enc', '-aes-128-cbc', ...key, '-v', ...list, '-in', 'hello'], { cwd });
  assert.equal(enc.status, 0, enc.stderr);
  assert.match(enc.stderr, /^hwcrypt: enc: aes-128-cbc is done by node, since afalg:nobody: /m);
  assert.match(enc.stderr, /^driver {7}: node$/m);
  const dgst = hwcrypt(['dgst', ...list, 'hello'], { cwd });
  assert.match(dgst.stdout, /^SHA256\(hello\)= 2cf24dba5fb0a30e/);
  assert.match(dgst.stderr, /^hwcrypt: dgst: sha256 is done by node, since afalg:nobody: /);
  const rand = hwcrypt(['rand', '--driver', 'node,libcrypto', '-hex', '4'], { cwd });
  assert.match(rand.stdout, /^[0-9a-f]{8}\n$/, rand.stderr);
  assert.equal(rand.stderr, '');
});

test('names that no driver has, anywhere in the list', async () => {
  const { command: enc } = await import('#src/cli/commands/enc.js');
  const { command: dgst } = await import('#src/cli/commands/dgst.js');
  const { command: rand } = await import('#src/cli/commands/rand.js');
  for (const [command, ...argv] of [
    [enc, '-aes-128-cbc', '-k', 'x', '-in', join(cwd, 'hello')],
    [enc, '--explain', join(cwd, 'hello')],
    [dgst, join(cwd, 'hello')],
    [rand, '4'],
  ] as const) {
    for (const [list, message] of [
      ['libcrypto,nod', 'there is no driver "nod" (did you mean node?)'],
      [',', '--driver needs a name (see hwcrypt list drivers)'],
    ] as const) {
      assert.deepEqual(await failure(command, [...argv, '--driver', list]), { message, status: 2 });
    }
  }
});
