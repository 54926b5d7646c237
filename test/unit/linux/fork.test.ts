/**
 * A forked child is told from its parent. Nobody forks here: V8 does not hand its heap on, so a child could not say what it sees. That the
 * kernel empties the page for it can be read off the flags of the mapping.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { address, ForkWatch, forkWatch, pageSize, processGeneration } from '#src/linux/index.js';

/** VmFlags of the mapping that an address lies in. */
function flagsAt(at: number): string[] {
  let inside = false;
  for (const line of readFileSync('/proc/self/smaps', 'latin1').split('\n')) {
    const range = /^([0-9a-f]+)-([0-9a-f]+) /.exec(line);
    if (range) inside = at >= Number.parseInt(range[1]!, 16) && at < Number.parseInt(range[2]!, 16);
    else if (inside && line.startsWith('VmFlags:')) return line.slice(8).trim().split(' ');
  }
  return [];
}

test('the kernel is to empty one page, and that only', (t) => {
  const { page } = forkWatch();
  if (!page) return t.skip('a kernel before Linux 4.14');
  const bytes = pageSize();
  const at = address(page);
  assert.equal(page.length, bytes);
  assert.ok(flagsAt(at).includes('wf'));
  assert.ok(!flagsAt(at - 1).includes('wf'));
  assert.ok(!flagsAt(at + bytes).includes('wf'));
});

test('an empty page is another process, and so is that one’s child', () => {
  const watch = new ForkWatch();
  const own = watch.generation();
  assert.equal(watch.generation(), own);
  const seen = [own];
  for (let i = 0; i < 3; i++) {
    // What the kernel does at fork().
    watch.page?.fill(0);
    seen.push(watch.generation());
    assert.equal(watch.generation(), seen.at(-1));
  }
  assert.equal(new Set(seen).size, watch.page ? 4 : 1);
});

test('without such pages the process is asked who it is', () => {
  const watch = new ForkWatch(false);
  assert.equal(watch.page, undefined);
  assert.equal(watch.generation(), watch.generation());
});

test('this process is one, with pages of a power of two', () => {
  assert.equal(processGeneration(), processGeneration());
  const bytes = pageSize();
  assert.ok(bytes >= 4096 && (bytes & (bytes - 1)) === 0);
});
