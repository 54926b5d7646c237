import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { ERRNO, errnoName } from '#src/linux/errno.js';
import { address } from '#src/linux/ffi.js';
import * as libc from '#src/linux/libc.js';

test('errno by name and number', () => {
  assert.equal(errnoName(ERRNO.ENOENT), 'ENOENT');
  assert.equal(errnoName(-ERRNO.EAGAIN), 'EAGAIN');
  assert.equal(errnoName(-ERRNO.EOPNOTSUPP), 'EOPNOTSUPP');
  assert.equal(errnoName(129), 'EKEYREJECTED');
  assert.equal(errnoName(524), 'errno 524');
});

test('a failing call gives the negated errno, synchronously and from the pool', async () => {
  const buffer = new Uint8Array(8);
  assert.equal(libc.read(-1, address(buffer), 8), -ERRNO.EBADF);
  assert.equal(await libc.readAsync(-1, address(buffer), 8), -ERRNO.EBADF);
  assert.equal(libc.close(-1), -ERRNO.EBADF);
  const fd = libc.socket(9999, 5, 0);
  assert.ok(fd === -ERRNO.EAFNOSUPPORT || fd === -ERRNO.EINVAL, errnoName(fd));
});

test('reading, from one buffer and into several', async () => {
  const fd = openSync('/dev/zero', 'r');
  try {
    const buffer = new Uint8Array(8).fill(1);
    assert.equal(libc.read(fd, address(buffer), 4), 4);
    assert.deepEqual([...buffer], [0, 0, 0, 0, 1, 1, 1, 1]);
    assert.equal(await libc.readAsync(fd, address(buffer) + 4, 2), 2);
    assert.deepEqual([...buffer], [0, 0, 0, 0, 0, 0, 1, 1]);
    assert.equal(libc.pollOne(fd, libc.POLLIN, 100), libc.POLLIN);
  } finally {
    closeSync(fd);
  }
});

test('a lock keeps others out until its descriptor is closed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-test-'));
  after(() => rmSync(folder, { recursive: true }));
  const [one, other] = [openSync(folder, 'r'), openSync(folder, 'r')];
  assert.equal(libc.flock(one, libc.LOCK_EX | libc.LOCK_NB), 0);
  assert.equal(libc.flock(other, libc.LOCK_EX | libc.LOCK_NB), -ERRNO.EAGAIN);
  closeSync(one);
  assert.equal(libc.flock(other, libc.LOCK_EX | libc.LOCK_NB), 0);
  closeSync(other);
  assert.equal(libc.flock(-1, libc.LOCK_EX), -ERRNO.EBADF);
});

test('waiting has an end', () => {
  // An eventfd-like thing that never becomes readable: the read end of a socket nobody writes to.
  const fd = libc.socket(1 /* AF_UNIX */, 2 /* SOCK_DGRAM */, 0);
  assert.ok(fd >= 0);
  try {
    const start = performance.now();
    assert.equal(libc.pollOne(fd, libc.POLLIN, 30), 0);
    assert.ok(performance.now() - start >= 29);
  } finally {
    libc.close(fd);
  }
});

test('calls are counted', () => {
  libc.resetSyscallCounts();
  libc.close(-1);
  libc.close(-1);
  libc.read(-1, 0, 0);
  const counts = libc.syscallCounts();
  assert.deepEqual([counts.close, counts.read, counts.total], [2, 1, 3]);
  libc.resetSyscallCounts();
  assert.equal(libc.syscallCounts().total, 0);
});
