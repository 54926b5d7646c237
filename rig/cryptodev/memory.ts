/**
 * The memory of the process that waits for an answer, read and written from outside (process_vm_readv(2)), several pieces
 * a system call. Where the kernel's copy_from_user or copy_to_user would fail, so do these, at the same address.
 */
import { address, type NativeFunction, processLibrary } from '#src/linux/ffi.js';

/** A piece of the caller's memory and what is read into or written from. */
export interface Piece {
  readonly at: bigint;
  readonly bytes: Uint8Array;
}

/** IOV_MAX is 1024; no request has more than a handful. */
const MAX_PIECES = 8;
const IOVEC_BYTES = 16;

type Transfer = NativeFunction<number>;

function bind(name: 'process_vm_readv' | 'process_vm_writev'): Transfer {
  const opened = processLibrary();
  if (!opened.library) throw new Error(opened.reason.message);
  return opened.library.func<number>(
    `long ${name}(int pid, uintptr_t local, unsigned long locals, uintptr_t remote, unsigned long remotes, unsigned long flags)`,
  );
}

export class CallerMemory {
  readonly #readv = bind('process_vm_readv');
  readonly #writev = bind('process_vm_writev');
  /** Iovecs: ours, then the caller's. */
  readonly #vectors = new BigUint64Array((2 * MAX_PIECES * IOVEC_BYTES) / 8);
  readonly #at = address(new Uint8Array(this.#vectors.buffer));

  /** True where all of it could be read. */
  read(pid: number, pieces: readonly Piece[]): boolean {
    return this.#transfer(this.#readv, pid, pieces) === total(pieces);
  }

  /** True where all of it could be written; else what precedes the fault has been. */
  write(pid: number, pieces: readonly Piece[]): boolean {
    return this.#transfer(this.#writev, pid, pieces) === total(pieces);
  }

  #transfer(call: Transfer, pid: number, pieces: readonly Piece[]): number {
    let count = 0;
    for (const { at, bytes } of pieces) {
      if (bytes.length === 0) continue;
      const length = BigInt(bytes.length);
      this.#vectors[2 * count] = BigInt(address(bytes));
      this.#vectors[2 * count + 1] = length;
      this.#vectors[2 * (MAX_PIECES + count)] = at;
      this.#vectors[2 * (MAX_PIECES + count) + 1] = length;
      count += 1;
    }
    if (count === 0) return 0;
    return call(pid, this.#at, count, this.#at + MAX_PIECES * IOVEC_BYTES, count, 0);
  }
}

function total(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
