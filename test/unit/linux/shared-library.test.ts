import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { type OpenedLibrary, openLibrary, processLibrary } from '#src/linux/ffi.js';
import { openSharedLibrary, type SharedLibrary } from '#src/linux/shared-library.js';

const WANTED: SharedLibrary = {
  title: 'libthing',
  sonames: ['libthing.so.9', 'libthing.so.8'],
  symbols: ['thing_new', 'thing_free'],
  since: '1.8',
  packages: { Debian: 'libthing9', Alpine: 'thing', OpenWrt: 'thing' },
};

const PACKAGES = 'libthing9 (Debian), thing (Alpine, OpenWrt)';

// As koffi hands it on: without the name of the file that was asked for.
const GLIBC = () => 'cannot open shared object file: No such file or directory';
const MUSL = (name: string) => `Error loading shared library ${name}: No such file or directory`;

const failed = (message: string): OpenedLibrary => ({ reason: { code: 'LIBRARY_ABSENT', message } });

/** A library with these symbols. */
function withSymbols(name: string, symbols: readonly string[]): OpenedLibrary {
  return {
    library: {
      name,
      func: () => assert.fail('nothing is to be bound'),
      has: (symbol) => symbols.includes(symbol),
      symbolAddress: () => undefined,
    },
  };
}

test('an absent library names its sonames and, for each system, its package', () => {
  for (const words of [GLIBC, MUSL, undefined]) {
    const { library, reason } = openSharedLibrary(
      WANTED,
      words ? (soname) => failed(words(soname)) : openLibrary,
    );
    assert.equal(library, undefined);
    assert.deepEqual(reason, {
      code: 'LIBRARY_ABSENT',
      message: 'libthing is not installed (looked for libthing.so.9, libthing.so.8)',
      cure: `install ${PACKAGES}`,
    });
  }
});

test('the first soname that has every symbol is taken', () => {
  const tried: string[] = [];
  const { library } = openSharedLibrary(WANTED, (soname) => {
    tried.push(soname);
    return soname === 'libthing.so.9' ? failed(GLIBC()) : withSymbols(soname, WANTED.symbols);
  });
  assert.equal(library?.name, 'libthing.so.8');
  assert.deepEqual(tried, WANTED.sonames);
  const older = openSharedLibrary(WANTED, (soname) =>
    withSymbols(soname, soname === 'libthing.so.8' ? WANTED.symbols : ['thing_new']),
  );
  assert.equal(older.library?.name, 'libthing.so.8');
});

test('a library without a symbol says which, and which version has it', () => {
  const { reason } = openSharedLibrary(WANTED, (soname) =>
    soname === 'libthing.so.9' ? withSymbols(soname, ['thing_new']) : failed(MUSL(soname)),
  );
  assert.deepEqual(reason, {
    code: 'SYMBOLS_ABSENT',
    message: 'libthing.so.9 has no function thing_free, which libthing 1.8 and later have',
    cure: `install libthing 1.8 or later: ${PACKAGES}`,
  });
});

test('a library that is there and cannot be loaded is not called absent', () => {
  for (const told of [
    'libgpg-error.so.0: cannot open shared object file: No such file or directory',
    'Error loading shared library libgpg-error.so.0: No such file or directory (needed by /usr/lib/libthing.so.9)',
    'Error relocating libthing.so.9: gpg_err_code: symbol not found',
    '/lib/libthing.so.9: wrong ELF class: ELFCLASS32',
  ]) {
    const { reason } = openSharedLibrary(WANTED, (soname) =>
      failed(soname === 'libthing.so.9' ? told : GLIBC()),
    );
    assert.equal(reason?.code, 'LIBRARY_ABSENT');
    assert.equal(reason?.message, `libthing is there, but cannot be loaded: ${told}`);
    assert.match(reason?.cure ?? '', /^install it anew, with what it needs/);
  }
});

test('a file that is no library is no crash', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-shared-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'libthing.so.9');
  for (const content of ['', 'no library', '\x7fELF\x02\x01\x01']) {
    writeFileSync(file, content, 'latin1');
    const { reason } = openSharedLibrary({ ...WANTED, sonames: [file] });
    assert.match(reason?.message ?? '', /^libthing is there, but cannot be loaded: /);
  }
});

test('without koffi that is the reason, at the first name', () => {
  let asked = 0;
  const reason = { code: 'FFI_UNAVAILABLE', message: 'no koffi' } as const;
  const opened = openSharedLibrary(WANTED, () => {
    asked++;
    return { reason };
  });
  assert.equal(opened.reason, reason);
  assert.equal(asked, 1);
});

test('a library of this system is found by its soname', (t) => {
  // The C library itself: there wherever Node runs, under one of these names.
  if (process.platform !== 'linux') return t.skip('no ELF sonames here');
  assert.ok(processLibrary().library);
  const libc = { ...WANTED, title: 'libc', symbols: ['strnlen', 'memcpy'] };
  const sonames = ['libnot-there.so.1', 'libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];
  const { library, reason } = openSharedLibrary({ ...libc, sonames });
  assert.match(library?.name ?? reason?.message ?? '', /^libc\./);
  assert.ok(library?.has('strnlen'));
});
