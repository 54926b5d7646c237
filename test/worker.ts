/**
 * The process that tests run in: `node --test-reporter=build/test/reporter.js build/test/worker.js FILE…`, with an IPC
 * channel to helpers/run-layer.ts. Takes several files one after the other, since Node starts slowly in a guest; each
 * becomes a suite, so hooks at a file's top level stay that file's.
 *
 * Events take their time on the way, and a process that dies of a signal takes them along. So the name of the test that
 * begins is also written to fd 4, at once.
 */
import { writeSync } from 'node:fs';
import { beforeEach, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { compiledFile } from './helpers/layers.js';
import type { Event } from './helpers/results.js';
import { nextFileEnd } from './worker-files.js';

// No worker outlives its runner. The listener alone would keep the process alive.
process.on('disconnect', () => process.exit(1));
process.channel?.unref();

// Between two files nothing else is there to wait for, and node:test would close its books.
const stay = setInterval(() => {}, 1_000_000);
for (const file of process.argv.slice(2)) {
  process.send?.({ type: 'file', file } satisfies Event);
  const ended = nextFileEnd();
  describe(file, async () => {
    beforeEach((context) => note((context as { name?: string }).name ?? ''));
    await import(pathToFileURL(compiledFile(file)).href);
  });
  await ended;
}
clearInterval(stay);

function note(name: string): void {
  try {
    writeSync(4, `${name.replaceAll('\n', ' ')}\n`);
  } catch {
    // The reader is behind, or there is none. It is only a hint.
  }
}
