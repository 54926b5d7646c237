/**
 * Is this process still the one that opened something, or a child that was forked from it? A child shares the open files of
 * its parent, and with them what the kernel keeps for them.
 *
 * A page that the kernel hands to children empty (MADV_WIPEONFORK, Linux 4.14) tells for nothing but a memory access; where
 * there is none, getpid() does, which Node's `process.pid` does not ask.
 */
import { address, type NativeFunction, processLibrary } from './ffi.js';

const MADV_WIPEONFORK = 18;

interface Watch {
  /** First byte of the page; absent without MADV_WIPEONFORK. */
  readonly page: Uint8Array | undefined;
  readonly getpid: NativeFunction<number> | undefined;
  pid: number;
}

let watch: Watch | undefined;
let generation = 1;

function begin(): Watch {
  const { library } = processLibrary();
  if (!library) return { page: undefined, getpid: undefined, pid: 0 };
  const getpid = library.func<number>('int getpid(void)');
  const pageBytes = library.func<number>('int getpagesize(void)')();
  const madvise = library.func<number>('int madvise(uintptr_t address, size_t bytes, int advice)');
  // The kernel advises on whole pages, and nobody else's memory may be emptied.
  const memory = new Uint8Array(2 * pageBytes);
  const offset = (pageBytes - (address(memory) % pageBytes)) % pageBytes;
  const page = memory.subarray(offset, offset + pageBytes);
  const taken = madvise(address(page), pageBytes, MADV_WIPEONFORK) === 0;
  page[0] = 1;
  return { page: taken ? page : undefined, getpid, pid: getpid() };
}

/**
 * A number that is another one in each process: what was made under one must not be used under another. Costs a few
 * nanoseconds, or one system call on kernels before 4.14.
 */
export function processGeneration(): number {
  watch ??= begin();
  const { page } = watch;
  if (page) {
    if (page[0] === 0) {
      page[0] = 1;
      generation++;
    }
  } else if (watch.getpid) {
    const pid = watch.getpid();
    if (pid !== watch.pid) {
      watch.pid = pid;
      generation++;
    }
  }
  return generation;
}

/** Bytes of a page of memory of this kernel; 4096 where nobody can be asked. */
export function pageSize(): number {
  const { library } = processLibrary();
  return library?.has('getpagesize') ? library.func<number>('int getpagesize(void)')() : 4096;
}
