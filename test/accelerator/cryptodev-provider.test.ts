/** The provider of /dev/crypto in this guest too; test/kernel has the rest of its tests. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { serve } from '../../rig/cryptodev/index.js';
import { projectFolder } from '../../rig/index.js';

test('a client opens a session and encrypts a page', async () => {
  const provider = await serve();
  execFileSync(process.execPath, [
    `${projectFolder}/build/test/helpers/cryptodev-client.js`,
    provider.device,
  ]);
  const { ioctls, requests, bytes, sessionsOpened, filesOpen } = await provider.counters();
  assert.deepEqual([ioctls, requests, bytes, sessionsOpened, filesOpen], [2, 1, 4096, 1, 0]);
  await provider.stop();
  assert.ok(!existsSync(provider.device));
});
