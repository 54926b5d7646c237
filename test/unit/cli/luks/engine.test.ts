/** An engine without XTS under `luks open` and `luks write`, in all threads; and one that fails in the middle of a copy. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { projectFolder } from '../../../../rig/index.js';
import { Random } from '../../../helpers/random.js';
import { scratch } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const PRELOAD = fileURLToPath(new URL('../../../helpers/engine-preload.js', import.meta.url));
/** More than one thread's worth: `payload/copy.ts` does 8 MiB alone. */
const BYTES = 12 * 2 ** 20;

function luks(requests: number | undefined, ...args: string[]): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', PRELOAD, `${projectFolder}/dist/cli/main.js`, 'luks', ...args, '-pass', 'pass:x'],
    {
      encoding: 'utf8',
      env: {
        ...process.env,
        HWCRYPT_PROFILE: '',
        ...(requests === undefined ? {} : { HWCRYPT_TEST_REQUESTS: String(requests) }),
      },
    },
  );
  return { status, stderr };
}

test('all threads use an engine’s ECB; one that fails is told of and the output is right; alone, there is no output', () => {
  const plain = Buffer.from(new Random('engine').bytes(BYTES));
  writeFileSync(path('plain'), plain);
  const quick = ['--pbkdf', 'pbkdf2', '--pbkdf-force-iterations', '1000'];
  assert.equal(luks(undefined, 'format', path('img'), '--size', String(BYTES), ...quick).status, 0);
  const hardware = ['--policy', 'hardware', '-v'];
  const written = luks(undefined, 'write', path('img'), '-in', path('plain'), ...hardware);
  assert.equal(written.status, 0, written.stderr);
  assert.match(written.stderr, /^driver : cryptodev \(XTS over its ECB\)$/m);
  assert.doesNotMatch(written.stderr, /is done by/);

  // By a library, what the engine wrote.
  const library = luks(undefined, 'open', path('img'), '-o', path('library'), '-v');
  assert.match(library.stderr, /^driver : libcrypto$/m);
  assert.ok(readFileSync(path('library')).equals(plain));

  // Some chunks go well in each thread, and not all.
  const requests = 4;
  const failing = luks(requests, 'open', path('img'), '-o', path('failing'), ...hardware);
  assert.equal(failing.status, 0, failing.stderr);
  assert.ok(readFileSync(path('failing')).equals(plain));
  const told = failing.stderr.match(/aes-256-ecb is done by libcrypto, since cryptodev: it fails with EIO/g);
  assert.equal(told?.length, 1, failing.stderr);
  assert.match(failing.stderr, /^driver : cryptodev \(XTS over its ECB\), libcrypto \(XTS over its ECB\)$/m);

  const alone = luks(requests, 'open', path('img'), '-o', path('alone'), '--driver', 'cryptodev');
  assert.equal(alone.status, 1, alone.stderr);
  assert.match(alone.stderr, /^hwcrypt: luks open: .*EIO/m);
  assert.ok(!existsSync(path('alone')));
});
