/** What a command reads it does not write over: hashed files, passphrase files; and nothing proved is not called proof. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../../dist/cli/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-kept-'));
after(() => rmSync(folder, { recursive: true }));
const data = join(folder, 'data');
const link = join(folder, 'link');
writeFileSync(data, 'data\n');
symlinkSync(data, link);

function hwcrypt(...args: string[]): { status: number | null; stderr: string; stdout: string } {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', cwd: folder });
}

test('dgst -out does not take the place of what it hashes, under whatever name', () => {
  for (const target of [data, link]) {
    const { status, stderr } = hwcrypt('dgst', '-out', target, data);
    assert.equal(status, 1);
    assert.match(stderr, /^hwcrypt: dgst: .* is read as well.*\n$/);
    assert.equal(readFileSync(data, 'utf8'), 'data\n');
  }
});

test('enc -out does not take the place of the file with the passphrase', () => {
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a passphrase\n');
  for (const option of [
    ['-pass', `file:${secret}`],
    ['-kfile', secret],
  ]) {
    const { status, stderr } = hwcrypt(
      'enc',
      '-aes-256-cbc',
      '-pbkdf2',
      ...option,
      '-in',
      data,
      '-out',
      secret,
    );
    assert.equal(status, 1);
    assert.match(stderr, /is read as well/);
    assert.equal(readFileSync(secret, 'utf8'), 'a passphrase\n');
  }
});

test('demo does not call it proof when nothing could be read', () => {
  const { status, stderr, stdout } = hwcrypt('demo', '-in', folder);
  assert.equal(status, 1);
  assert.match(stderr, /it is a directory/);
  assert.doesNotMatch(stdout, /byte for byte/);
});

test('a binary file given with -a is recognised', () => {
  const sealed = join(folder, 'sealed');
  assert.equal(hwcrypt('enc', '-aes-256-cbc', '-pbkdf2', '-k', 'x', '-in', data, '-out', sealed).status, 0);
  const { status, stderr } = hwcrypt('enc', '-d', '-a', '-aes-256-cbc', '-pbkdf2', '-k', 'x', '-in', sealed);
  assert.equal(status, 1);
  assert.match(stderr, /omit -a/);
});
