/** Hostile arguments against everything that is exported, in a process that must live to its end. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SEED } from '../../helpers/random.js';

/** Long enough for some ten thousand calls on a slow machine. HWCRYPT_FUZZ_SECONDS is for those who want to know more. */
const SECONDS = Number(process.env['HWCRYPT_FUZZ_SECONDS'] ?? 12);
const program = fileURLToPath(new URL('../../helpers/api-fuzz.js', import.meta.url));

test(`no crash, no hang, no error without a code in ${SECONDS} s of hostile calls`, async (t) => {
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--no-warnings', program, String(SECONDS), String(SEED)],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: (SECONDS + 60) * 1000,
      // What the allocator gives out and takes back is filled, so that use of it shows sooner.
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, MALLOC_PERTURB_: '165' },
    },
  );
  const [out, err, [status, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  const again = `HWCRYPT_TEST_SEED=${SEED}; HWCRYPT_FUZZ_TRACE=1 names the last call`;
  assert.equal(signal, null, `ended by ${signal} (${again})\n${err}`);
  assert.equal(status, 0, `ended with ${status} (${again})\n${err}`);
  assert.match(out, /^done: (\d+) calls/);
  const calls = Number(/(\d+) calls/.exec(out)?.[1]);
  assert.ok(calls > 1000, `${calls} calls only`);
  t.diagnostic(out.trim());
});
