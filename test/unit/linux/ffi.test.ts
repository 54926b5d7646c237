import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';

import { address, errno, ffiUnavailable, loadFfi, openLibrary, processLibrary } from '#src/linux/ffi.js';

function libc() {
  const opened = processLibrary();
  assert.ok(opened.library, opened.reason?.message);
  return opened.library;
}

test('a platform without koffi yields a reason', () => {
  const { reason, koffi } = loadFfi(() => {
    throw new Error('Cannot find the native Koffi module\nmore');
  }, 'linux-mips');
  assert.equal(koffi, undefined);
  assert.equal(reason?.code, 'FFI_UNAVAILABLE');
  assert.match(reason?.message ?? '', /linux-mips: Cannot find the native Koffi module$/);
  assert.equal(ffiUnavailable(), undefined);
});

test('the process library binds functions and knows what is absent', () => {
  const library = libc();
  assert.ok(library.has('socket'));
  assert.ok(!library.has('no_such_symbol_anywhere'));
  assert.equal(library.symbolAddress('no_such_symbol_anywhere'), undefined);
  assert.throws(() => library.func('int no_such_symbol_anywhere(int a)'));
  const strnlen = library.func('size_t strnlen(uintptr_t s, size_t n)');
  const text = Buffer.from('abc\0', 'latin1');
  assert.equal(strnlen(address(text), 4), 3);
  assert.equal(address(text.subarray(1)) - address(text), 1);
});

test('an absent library yields a reason in the words of the loader', () => {
  const { reason } = openLibrary('libnot-there.so.1');
  assert.equal(reason?.code, 'LIBRARY_ABSENT');
  assert.match(
    reason?.message ?? '',
    /^(cannot open shared object file|Error loading shared library libnot-there\.so\.1): /,
  );
});

test('errno of a synchronous call, and of each of many asynchronous calls', async () => {
  const library = libc();
  const close = library.func('int close(int fd)');
  const access = library.func('int access(const char *path, int mode)');
  assert.equal(close(-1), -1);
  assert.equal(errno(), constants.errno.EBADF);

  // More calls than koffi takes at once, with two different errors, and synchronous errors in between.
  const calls = Array.from({ length: 600 }, (_, i) => {
    const call = i % 2 ? close.promise(-1) : access.promise('/no/such/path', 0);
    if (i % 3 === 0) close(-1);
    return call.then(({ value, errno: number }) => {
      assert.equal(value, -1);
      assert.equal(number, i % 2 ? constants.errno.EBADF : constants.errno.ENOENT);
    });
  });
  await Promise.all(calls);

  await new Promise<void>((resolve, reject) => {
    access.async('/no/such/path', 0, (error, value) => {
      const number = errno();
      if (error || value !== -1 || number !== constants.errno.ENOENT)
        reject(error ?? new Error(`errno ${number}`));
      else resolve();
    });
  });
});

test('a bad argument rejects instead of throwing', async () => {
  const close = libc().func('int close(int fd)');
  await assert.rejects(close.promise('x' as unknown as number), TypeError);
});
