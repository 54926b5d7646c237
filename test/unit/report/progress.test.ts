/** The bar's clock, on a clock of our own. Where a bar is drawn is tried at a terminal: cli/prompt.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Progress } from '#src/report/progress.js';

const SECOND = 1_000_000_000n;

/** A terminal that keeps what it is shown. */
function terminal(): { stream: NodeJS.WriteStream; shown: () => string } {
  let shown = '';
  const stream = {
    isTTY: true,
    columns: 80,
    write(text: string) {
      shown += text;
      return true;
    },
    cursorTo() {},
    clearLine() {},
    clearScreenDown() {},
    moveCursor() {},
    on() {},
    once() {},
    removeListener() {},
  } as unknown as NodeJS.WriteStream;
  return { stream, shown: () => shown };
}

test('time before the work begins is none of the work’s', async () => {
  const { stream, shown } = terminal();
  let now = 0n;
  const progress = new Progress('enc', true, { stream, now: () => now });
  // Somebody types a passphrase.
  now += 100n * SECOND;
  progress.update(0, 400_000_000);
  now += 2n * SECOND;
  progress.update(200_000_000, 400_000_000);
  for (let i = 0; i < 200 && shown() === ''; i++) await sleep(25);
  progress.stop();
  assert.match(shown(), /200\.0 MB 100 MB\/s 2 s left/);
});
