/**
 * Is this process still the one that opened something, or a child that was forked from it? A child shares the open files of
 * its parent, and with them what the kernel keeps for them.
 *
 * Children that Node starts run another program, or are threads of this process. JavaScript that goes on after a native fork() is
 * possible only where V8 was built to hand its heap on, which it is not by default on Linux.
 *
 * A page that the kernel hands to children empty (MADV_WIPEONFORK, Linux 4.14) tells for nothing but a memory access; where
 * there is none, getpid() does, which Node's `process.pid` does not ask.
 */
import { address, type NativeFunction, processLibrary } from './ffi.js';

const MADV_WIPEONFORK = 18;

/** What tells one process from its child. */
export class ForkWatch {
  /** Empty in a child; absent where the kernel does not empty it. */
  readonly page: Uint8Array | undefined;
  readonly #getpid: NativeFunction<number> | undefined;
  #pid = 0;
  #generation = 1;

  /** @param wipe false: by getpid() alone, as on older kernels */
  constructor(wipe = true) {
    const { library } = processLibrary();
    if (!library) return;
    this.#getpid = library.func<number>('int getpid(void)');
    this.#pid = this.#getpid();
    if (!wipe) return;
    const bytes = pageSize();
    const madvise = library.func<number>('int madvise(uintptr_t address, size_t bytes, int advice)');
    // The kernel advises on whole pages, and nobody else's memory may be emptied.
    const memory = new Uint8Array(2 * bytes);
    const offset = (bytes - (address(memory) % bytes)) % bytes;
    const page = memory.subarray(offset, offset + bytes);
    page[0] = 1;
    if (madvise(address(page), bytes, MADV_WIPEONFORK) === 0) this.page = page;
  }

  /** A number that is another one in each process. */
  generation(): number {
    const { page } = this;
    if (page) {
      if (page[0] === 0) {
        page[0] = 1;
        this.#generation++;
      }
    } else if (this.#getpid) {
      const pid = this.#getpid();
      if (pid !== this.#pid) {
        this.#pid = pid;
        this.#generation++;
      }
    }
    return this.#generation;
  }
}

let watch: ForkWatch | undefined;

/** That of this thread, for as long as it lives: what the page was is never given back. */
export function forkWatch(): ForkWatch {
  watch ??= new ForkWatch();
  return watch;
}

/** What was made under one number must not be used under another. Costs a few nanoseconds, or a system call before Linux 4.14. */
export function processGeneration(): number {
  return forkWatch().generation();
}

/** Bytes of a page of memory of this kernel; 4096 where nobody can be asked. */
export function pageSize(): number {
  const { library } = processLibrary();
  return library?.has('getpagesize') ? library.func<number>('int getpagesize(void)')() : 4096;
}
